/*
 * What resolv.conf and hosts files have in common: they are read whole, and are lines of words.
 */
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 256 << 20 };	/* bytes: block lists in hosts files have millions of lines */

static int read_all(int fd, char *text, size_t len)
{
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		n = read(fd, text + got, len - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return CONF_READ;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	text[got] = '\0';
	return 0;
}

int le_dns_file_read(const char *path, char **ret)
{
	struct stat st;
	char *text;
	int fd, r;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return CONF_OPEN;
	r = CONF_STAT;
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		goto close_fd;
	r = CONF_LARGE;
	if (st.st_size > FILE_MAX)
		goto close_fd;
	r = CONF_MEMORY;
	text = ec_malloc((size_t)st.st_size + 1);
	if (text == NULL)
		goto close_fd;
	r = read_all(fd, text, (size_t)st.st_size);
	if (r != 0)
		ec_free(text);
	else
		*ret = text;
close_fd:
	close(fd);
	return r;
}

char *le_dns_next_line(char **at, const char *end)
{
	char *line = *at, *newline;

	if (line == NULL)
		return NULL;
	newline = memchr(line, '\n', (size_t)(end - line));
	if (newline != NULL)
		*newline++ = '\0';
	*at = newline;
	return line;
}

char *le_dns_next_word(char **at, const char *blanks)
{
	char *word = *at + strspn(*at, blanks);

	if (*word == '\0')
		return NULL;
	*at = word + strcspn(word, blanks);
	if (**at != '\0')
		*(*at)++ = '\0';
	return word;
}
