#include "lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* "/src/server.c:63 (discriminator 1)": the name of the file is enough. "??:0", "server.c:?": nothing. */
char *line_parse(const char *output)
{
	size_t len = strcspn(output, " \n");
	char *line = text("%.*s", (int)(len < 4096 ? len : 0), output);
	char *colon = strrchr(line, ':'), *shorter = NULL;

	if (colon != NULL && colon[1] >= '1' && colon[1] <= '9' && line[0] != '?')
		shorter = text("%s", base_name(line));
	free(line);
	return shorter;
}

static _Noreturn void addr2line(int out, const char *file, uint64_t address)
{
	char number[32];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(number, sizeof(number), "0x%llx", (unsigned long long)address);
	if (null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(null, 2) == 2)
		execlp("addr2line", "addr2line", "-e", file, number, (char *)NULL);
	_exit(127);
}

/* What it prints, up to `size` - 1 bytes. */
static void read_output(int fd, char *output, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size - 1 && (n = read(fd, output + len, size - 1 - len)) > 0)
		len += (size_t)n;
	output[len] = '\0';
}

char *line_of(struct symbols *s, uint64_t address)
{
	struct symbol symbol = symbols_find(s, address);
	char output[4096] = "";
	int ends[2];
	pid_t pid;

	if (symbol.file == NULL || symbol.file[0] != '/' || pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		addr2line(ends[1], symbol.file, symbol.at);
	close(ends[1]);
	if (pid > 0) {
		read_output(ends[0], output, sizeof(output));
		(void)waitpid(pid, NULL, 0);
	}
	close(ends[0]);
	return line_parse(output);
}
