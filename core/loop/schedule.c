#include "schedule.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ec.h"
#include "os/file_limit.h"
#include "os/number.h"
#include "os/thread.h"

static const char HEAD[] = "libevent-smp schedule 1\n";

/* ---------------------------------------------------------------- reading */

/* One line with its end. */
static bool line_parse(const char *s, struct ec_switch *ret)
{
	uint64_t choice, num;

	if (!ec_number_read(&s, INT64_MAX, &ret->step) || *s++ != ' ')
		return false;
	if (!ec_number_read(&s, UINT32_MAX, &choice) || *s++ != ' ')
		return false;
	if (!ec_number_read(&s, UINT32_MAX, &num) || *s != '\n' || choice == 0 || choice >= num)
		return false;
	ret->choice = (uint32_t)choice;
	ret->num = (uint32_t)num;
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = ((const struct ec_switch *)a)->step, right = ((const struct ec_switch *)b)->step;

	return (left > right) - (left < right);
}

static size_t lines_count(const char *text, size_t len)
{
	const char *end = text + len;
	size_t num = 0;

	while (text < end && (text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		text++;
		num++;
	}
	return num;
}

/* Has each step one line? */
static bool is_unique(const struct ec_switch *list, size_t num)
{
	size_t i;

	for (i = 1; i < num; i++) {
		if (list[i].step == list[i - 1].step)
			return false;
	}
	return true;
}

/* All lines, each with its end, into `list`, which has room. False: *line is wrong. */
static bool lines_parse(const char *text, const char *end, struct ec_switch *list, size_t *num, size_t *line)
{
	*num = 0;
	*line = 1;
	if ((size_t)(end - text) < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) != 0 || end[-1] != '\n')
		return false;
	for (;;) {
		text = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;
		if (text == end)
			return true;
		++*line;
		if (*text == '#')
			continue;
		if (!line_parse(text, &list[*num]))
			return false;
		++*num;
	}
}

int ec_schedule_parse(const char *text, size_t len, struct ec_switch **ret, size_t *num, size_t *line)
{
	struct ec_switch *list = ec_calloc(lines_count(text, len) + 1, sizeof(*list));

	if (list == NULL)
		return -ENOMEM;
	if (!lines_parse(text, text + len, list, num, line)) {
		ec_free(list);
		return -EINVAL;
	}
	if (*num != 0)
		qsort(list, *num, sizeof(*list), compare);
	if (!is_unique(list, *num)) {
		ec_free(list);
		return -EINVAL;
	}
	*ret = list;
	return 0;
}

static int read_all(int fd, char *text, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = read(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -EIO : -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int read_open(int fd, struct ec_switch **ret, size_t *num, size_t *line)
{
	struct stat st;
	size_t len;
	char *text;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	if (st.st_size > EC_SCHEDULE_SIZE_MAX)
		return -EFBIG;
	len = (size_t)st.st_size;
	text = ec_malloc(len + 1);
	if (text == NULL)
		return -ENOMEM;
	r = read_all(fd, text, len);
	if (r == 0)
		r = ec_schedule_parse(text, len, ret, num, line);
	ec_free(text);
	return r;
}

int ec_schedule_read(const char *path, struct ec_switch **ret, size_t *num, size_t *line)
{
	int fd, r, state = ec_cancel_hold();

	/* Not to wait for the writer of a FIFO. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		r = -errno;
	} else {
		r = read_open(fd, ret, num, line);
		close(fd);
	}
	ec_cancel_release(state);
	return r;
}

/* ---------------------------------------------------------------- writing */

static int write_all(int fd, const char *s, size_t len)
{
	struct ec_file_hold hold;
	ssize_t n;
	int r = 0;

	ec_file_hold(&hold);
	while (len > 0 && r == 0) {
		n = write(fd, s, len);
		if (n < 0 && errno != EINTR)
			r = -errno;
		if (n < 0)
			continue;
		s += n;
		len -= (size_t)n;
	}
	ec_file_release(&hold);
	return r;
}

int ec_schedule_create(const char *path)
{
	int fd, r, state = ec_cancel_hold();

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0600);
	r = fd < 0 ? -errno : write_all(fd, HEAD, strlen(HEAD));
	if (fd >= 0 && r < 0)
		close(fd);
	ec_cancel_release(state);
	return r < 0 ? r : fd;
}

enum { DUE_MAX = 200 };

/* As addr2line takes it, where the dynamic linker knows no name. Control characters in it are not repeated. */
static void due_text(const struct ec_due *due, char text[DUE_MAX])
{
	const char *file;
	Dl_info info;
	char *c;

	if (due->fn == NULL) {
		snprintf(text, DUE_MAX, "the clock");
		return;
	}
	if (dladdr(due->fn, &info) == 0 || info.dli_fname == NULL) {
		snprintf(text, DUE_MAX, "color %u (%p)", due->color, due->fn);
		return;
	}
	file = strrchr(info.dli_fname, '/');
	file = file == NULL ? info.dli_fname : file + 1;
	if (info.dli_sname != NULL && info.dli_saddr == due->fn)
		snprintf(text, DUE_MAX, "color %u (%.60s in %.60s)", due->color, info.dli_sname, file);
	else
		snprintf(text, DUE_MAX, "color %u (%.60s+0x%tx)", due->color, file,
			 (const char *)due->fn - (const char *)info.dli_fbase);
	for (c = text; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ')
			*c = '?';
	}
}

int ec_schedule_write(int fd, const struct ec_switch *s, const struct ec_due *ran, const struct ec_due *first)
{
	char lines[2 * DUE_MAX + 100], ran_text[DUE_MAX], first_text[DUE_MAX];
	int r, state = ec_cancel_hold();

	due_text(ran, ran_text);
	due_text(first, first_text);
	r = snprintf(lines, sizeof(lines), "# %s before %s\n%llu %u %u\n", ran_text, first_text,
		     (unsigned long long)s->step, s->choice, s->num);
	r = write_all(fd, lines, (size_t)r);
	ec_cancel_release(state);
	return r;
}
