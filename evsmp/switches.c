#include "switches.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char HEAD[] = "libevent-smp schedule 1\n";

static void add(struct switches *s, struct one_switch one)
{
	if ((s->num & (s->num - 1)) == 0)
		s->at = must(realloc(s->at, (s->num == 0 ? 1 : s->num * 2) * sizeof(*s->at)));
	s->at[s->num++] = one;
}

struct switches switches_read(const char *path)
{
	struct switches s = { .num = 0 };
	struct one_switch one;
	const char *note = "";
	char *data = file_read(path, NULL), *line;

	if (data == NULL)
		return s;
	s.is_known = true;
	if (!starts_with(data, HEAD))
		die(EVSMP_SYSTEM, "%s is no schedule. Is the disk full?", path);
	for (line = strtok(data + strlen(HEAD), "\n"); line != NULL; line = strtok(NULL, "\n")) {
		if (*line == '#') {
			note = line + strspn(line, "# ");
			continue;
		}
		/* A crash may have cut the last one. */
		if (sscanf(line, "%" SCNu64 " %" SCNu32 " %" SCNu32, &one.step, &one.choice, &one.num) != 3)
			continue;
		one.note = text("%s", note);
		add(&s, one);
	}
	free(data);
	return s;
}

static void write_to(FILE *file, const char *path, const struct switches *s, const char *note)
{
	size_t i;

	fprintf(file, "%s%s", HEAD, note);
	for (i = 0; i < s->num; i++) {
		if (*s->at[i].note != '\0')
			fprintf(file, "# %s\n", s->at[i].note);
		fprintf(file, "%" PRIu64 " %" PRIu32 " %" PRIu32 "\n", s->at[i].step, s->at[i].choice, s->at[i].num);
	}
	if (ferror(file) != 0 || fclose(file) != 0)
		die(EVSMP_SYSTEM, "%s cannot be written: %s. Free some room.", path, strerror(errno));
}

static FILE *file_make(const char *path, int flags, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, mode);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (file == NULL && errno != EEXIST)
		die(EVSMP_SYSTEM, "%s cannot be made: %s. Name another file with --out.", path, strerror(errno));
	return file;
}

void switches_write(const char *path, const struct switches *s, const char *note)
{
	write_to(must(file_make(path, O_TRUNC, 0600)), path, s, note);
}

bool switches_write_new(const char *path, const struct switches *s, const char *note)
{
	FILE *file = file_make(path, O_EXCL, 0666);

	if (file == NULL)
		return false;
	write_to(file, path, s, note);
	return true;
}

struct switches switches_without(const struct switches *s, size_t from, size_t to)
{
	struct switches left = { .is_known = true };
	size_t i;

	for (i = 0; i < s->num; i++) {
		if (i < from || i >= to)
			add(&left, s->at[i]);
	}
	return left;
}

void switches_free(struct switches *s)
{
	free(s->at);
	*s = (struct switches){ .num = 0 };
}
