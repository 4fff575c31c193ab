#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *must(void *p)
{
	if (p == NULL) {
		fputs("evsmp: out of memory\n", stderr);
		exit(EVSMP_SYSTEM);
	}
	return p;
}

static void vsay(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		s = must(NULL);
	fflush(stdout);		/* in the order in which it was said, also where both go to one file */
	fprintf(stderr, "evsmp: %s\n", shown(s));
	free(s);
}

void say_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
}

static struct caught *die_to;

void die_into(struct caught *caught)
{
	die_to = caught;
}

void die(enum status status, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (die_to != NULL && status != EVSMP_SYSTEM) {
		die_to->status = status;
		die_to->reason = vasprintf(&s, fmt, ap) < 0 ? must(NULL) : s;
		va_end(ap);
		longjmp(die_to->back, 1);
	}
	vsay(fmt, ap);
	va_end(ap);
	exit((int)status);
}

/* ---------------------------------------------------------------- text */

#define HOMES "/home"

static bool is_hiding_homes;

void say_hide_homes(void)
{
	is_hiding_homes = true;
}

static bool is_end_of_name(char c)
{
	return c == '\0' || strchr("/:\"' \t\n),;", c) != NULL;
}

/* The length of a home directory that begins at `s`, and what to show for it; 0: none does. */
static size_t home_at(const char *s, const char **ret)
{
	const char *home = getenv("HOME");
	size_t len = home == NULL ? 0 : strlen(home);

	while (len > 1 && home[len - 1] == '/')
		len--;
	if (len > 1 && strncmp(s, home, len) == 0 && is_end_of_name(s[len])) {
		*ret = "~";
		return len;
	}
	if (!starts_with(s, HOMES) || s[strlen(HOMES)] != '/')
		return 0;
	*ret = HOMES "/…";
	for (len = strlen(HOMES "/"); !is_end_of_name(s[len]); len++)
		;
	return len;
}

static char plain(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
}

const char *shown(const char *s)
{
	char *out = text("%s", s), *c;
	const char *instead = "";
	size_t i, len;

	for (c = out; *c != '\0'; c++)
		*c = plain(*c);
	for (i = 0; is_hiding_homes && out[i] != '\0'; i++) {
		len = home_at(out + i, &instead);
		if (len == 0)
			continue;
		out = text("%.*s%s%s", (int)i, out, instead, out + i + len);
		i += strlen(instead) - 1;
	}
	return out;
}

void put_shown(FILE *out, const char *s)
{
	for (; *s != '\0'; s++)
		putc(plain(*s), out);
}

const char *text_for_glob(const char *s)
{
	char *out = must(malloc(2 * strlen(s) + 1)), *to = out;

	for (; *s != '\0'; s++) {
		if (strchr("*?[]\\", *s) != NULL)
			*to++ = '\\';
		*to++ = *s;
	}
	*to = '\0';
	return out;
}

const char *text_for_shell(const char *s)
{
	return strpbrk(s, " \t\n\"'\\$&;()<>|*?[]#~`!{}") == NULL ? s : text("'%s'", s);
}

char *text(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&s, fmt, ap);
	va_end(ap);
	return must(len < 0 ? NULL : s);
}

uint64_t text_hash(const char *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return h;
}

bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool ends_with(const char *s, const char *suffix)
{
	size_t len = strlen(s), end = strlen(suffix);

	return len >= end && strcmp(s + len - end, suffix) == 0;
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

char *dir_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return text(".");
	return text("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* ---------------------------------------------------------------- lists */

void list_add(struct list *list, const char *s)
{
	list->at = must(realloc(list->at, (list->num + 2) * sizeof(*list->at)));
	list->at[list->num++] = text("%s", s);
	list->at[list->num] = NULL;
}

bool list_has(const struct list *list, const char *s)
{
	size_t i;

	for (i = 0; i < list->num; i++) {
		if (strcmp(list->at[i], s) == 0)
			return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void list_sort(struct list *list)
{
	if (list->num != 0)
		qsort(list->at, list->num, sizeof(*list->at), compare);
}

void list_split(struct list *list, const char *s, const char *separators)
{
	size_t len;

	for (; *s != '\0'; s += len) {
		s += strspn(s, separators);
		len = strcspn(s, separators);
		if (len != 0)
			list_add(list, text("%.*s", (int)len, s));
	}
}

/* ---------------------------------------------------------------- files */

enum { FILE_MAX = 1 << 30 };

char *file_read_all(int fd, size_t *ret_len)
{
	size_t len = 0, cap = 4096;
	char *data = must(malloc(cap));
	ssize_t n;
	int err;

	while ((n = read(fd, data + len, cap - len - 1)) > 0) {
		len += (size_t)n;
		if (len >= FILE_MAX) {
			errno = EFBIG;
			n = -1;
			break;
		}
		if (len + 1 == cap)
			data = must(realloc(data, cap *= 2));
	}
	err = errno;
	close(fd);
	errno = err;
	if (n < 0) {
		free(data);
		return NULL;
	}
	data[len] = '\0';
	if (ret_len != NULL)
		*ret_len = len;
	return data;
}

char *file_read(const char *path, size_t *ret_len)
{
	/* Not to wait where the path is a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		close(fd);
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return NULL;
	}
	return file_read_all(fd, ret_len);
}

bool is_rooted(void)
{
	const char *root = getenv("EVSMP_ROOT");

	return root != NULL && *root != '\0';
}

char *rooted(const char *path)
{
	return text("%s%s", is_rooted() ? getenv("EVSMP_ROOT") : "", path);
}
