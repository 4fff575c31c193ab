#include "recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEEP_NUM = 1 << 20, FILES_MAX = 256 };	/* 32 to 64 MiB for each worker */

static const char *add(struct recording *r, int fd, pid_t pid, recording_filter_fn is_ours, void *arg)
{
	struct recorded new = { .pid = pid };
	const char *why;
	struct stat st;
	size_t i;

	if (fstat(fd, &st) < 0 || r->num == FILES_MAX) {
		close(fd);
		return "there are too many";
	}
	for (i = 0; i < r->num; i++) {
		if (r->at[i].dev == st.st_dev && r->at[i].ino == st.st_ino) {
			close(fd);
			return NULL;
		}
	}
	new.dev = st.st_dev;
	new.ino = st.st_ino;
	why = rings_open(fd, KEEP_NUM, &new.rings);
	if (why != NULL) {
		close(fd);
		return why;
	}
	if (is_ours != NULL && !is_ours(&new.rings, st.st_uid, arg)) {
		rings_close(&new.rings);
		return "it is another process's";
	}
	r->at = must(realloc(r->at, (r->num + 1) * sizeof(*r->at)));
	r->at[r->num++] = new;
	return NULL;
}

const char *recording_add(struct recording *r, int fd, pid_t pid)
{
	return add(r, fd, pid, NULL, NULL);
}

/* A file that has just been made may not have a head yet: the next time it has. */
void recording_add_directory(struct recording *r, const char *dir, recording_filter_fn is_ours, void *arg)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int fd;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (fd >= 0)
			(void)add(r, fd, 0, is_ours, arg);
	}
	if (d != NULL)
		closedir(d);
}

void recording_read(struct recording *r)
{
	size_t i;

	for (i = 0; i < r->num; i++)
		rings_read(&r->at[i].rings);
}

bool recording_is_closed(const struct recording *r)
{
	size_t i;

	for (i = 0; i < r->num; i++) {
		if (!r->at[i].rings.is_closed)
			return false;
	}
	return r->num != 0;
}

static int compare(const void *a, const void *b)
{
	const struct ec_trace_head *g = &((const struct recorded *)a)->rings.head;
	const struct ec_trace_head *h = &((const struct recorded *)b)->rings.head;

	if (g->pid != h->pid)
		return g->pid < h->pid ? -1 : 1;
	return g->base < h->base ? -1 : g->base > h->base;
}

/*
 * A process that runs may have loaded libraries since its mappings were recorded. One that has ended has none, also
 * while its parent has not waited for it, and one that has called exec has others.
 */
static struct symbols *symbols_of(const struct recorded *f)
{
	struct symbols *now = f->pid == 0 ? NULL : symbols_new(f->pid), *then;
	char *maps = rings_maps(&f->rings), none[] = "";

	then = symbols_of_maps(maps == NULL ? none : maps);
	free(maps);
	if (now != NULL && (symbols_start(then) == 0 || symbols_start(now) == symbols_start(then))) {
		symbols_free(then);
		return now;
	}
	if (now != NULL)
		symbols_free(now);
	return then;
}

void recording_finish(struct recording *r, struct timeline *ret)
{
	struct symbols *symbols;
	size_t i;

	*ret = (struct timeline){ .from_ns = r->from_ns };
	if (r->num != 0)
		qsort(r->at, r->num, sizeof(*r->at), compare);
	for (i = 0; i < r->num; i++) {
		symbols = symbols_of(&r->at[i]);
		timeline_add(ret, &r->at[i].rings, symbols_program(symbols), symbols);
	}
	timeline_finish(ret);
}

/* ---------------------------------------------------------------- counts */

/* Of all rings: what `offset` in each of them counts. */
static uint64_t total(const struct recording *r, size_t offset)
{
	uint64_t num = 0, one;
	size_t i, j;

	for (i = 0; i < r->num; i++) {
		for (j = 0; j < r->at[i].rings.head.rings_num; j++) {
			memcpy(&one, (const char *)&r->at[i].rings.rings[j] + offset, sizeof(one));
			num += one;
		}
	}
	return num;
}

uint64_t recording_lost(const struct recording *r)
{
	return total(r, offsetof(struct ring, lost));
}

uint64_t recording_gaps(const struct recording *r)
{
	return total(r, offsetof(struct ring, gaps));
}

uint64_t recording_damaged(const struct recording *r)
{
	return total(r, offsetof(struct ring, damaged));
}
