#include "stats_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ec.h"
#include "mapped.h"

enum { PATH_LEN_MAX = 4096 };

/* ---------------------------------------------------------------- its name */

/* Is it a directory that only this user can change? */
static bool is_private(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

/* $XDG_RUNTIME_DIR/libevent-smp, made if need be. 0 or -errno. */
static int runtime_dir(char *ret, size_t size)
{
	const char *dir = secure_getenv("XDG_RUNTIME_DIR");

	ret[0] = '\0';
	if (dir == NULL || dir[0] != '/')
		return -ENOENT;
	if ((size_t)snprintf(ret, size, "%s/libevent-smp", dir) >= size)
		return -ENAMETOOLONG;
	if (mkdir(ret, 0700) < 0 && errno != EEXIST)
		return -errno;
	return is_private(ret) ? 0 : -EPERM;
}

/* The name in the runtime directory. */
static int runtime_path(uint32_t base, char *ret, size_t size)
{
	int r = runtime_dir(ret, size);
	size_t len;

	if (r < 0)
		return r;
	len = strlen(ret);
	if ((size_t)snprintf(ret + len, size - len, "/%d-%u", (int)getpid(), base) >= size - len)
		return -ENAMETOOLONG;
	/* Only this user writes there: a file of that name is left from a process that ended, and had this number. */
	(void)unlink(ret);
	return 0;
}

/* The name that the environment asks for; *ret is empty if it asks for none. 0 or -errno. */
static int path_of(uint32_t base, char *ret, size_t size)
{
	const char *wanted = ec_control_stats_path();
	int len;

	ret[0] = '\0';
	if (wanted == NULL)
		return 0;
	if (strcmp(wanted, "1") == 0)
		return runtime_path(base, ret, size);
	len = base == 1 ? snprintf(ret, size, "%s", wanted) : snprintf(ret, size, "%s.%u", wanted, base);
	return (size_t)len < size ? 0 : -ENAMETOOLONG;
}

/* ---------------------------------------------------------------- opening */

static int open_named(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : ec_mapped_fd(fd);
}

/* A file without a name. Where the kernel has no memfd, one whose name is removed at once. */
static int open_unnamed(uint32_t base)
{
	char path[PATH_LEN_MAX];
	int fd = memfd_create("libevent-smp", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

	if (fd >= 0)
		return ec_mapped_fd(fd);
	r = -errno;
	if (r != -ENOSYS)
		return r;
	r = runtime_path(base, path, sizeof(path));
	if (r < 0)
		return r;
	fd = open_named(path);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

static void tell_failure(int err, const char *path)
{
	static const char instead[] = "evsmp top still finds the counters by the number of this process";

	if (err == ENOENT && path[0] == '\0')
		ec_log(EC_LOG_WARN, "EVENT_SMP_STATS=1 needs XDG_RUNTIME_DIR, which is not set: give the path of a "
				    "file in its place; %s", instead);
	else if (err == EEXIST)
		ec_log(EC_LOG_WARN, "EVENT_SMP_STATS: %s is there already: the parent of this process has it, an "
				    "earlier one left it, or it is a link; %s", path, instead);
	else
		ec_log_errno(EC_LOG_WARN, err, "EVENT_SMP_STATS: cannot make the file%s%s; %s",
			     path[0] != '\0' ? " " : "", path, instead);
}

/* A descriptor; *path is where its file is, empty if nowhere. If the name fails, one without. */
static int open_any(uint32_t base, char *path, size_t size)
{
	int r = path_of(base, path, size);

	if (r == 0 && path[0] != '\0') {
		r = open_named(path);
		if (r >= 0)
			return r;
	}
	if (r < 0)
		tell_failure(-r, path);
	path[0] = '\0';
	return open_unnamed(base);
}

static void header_init(struct ec_stats_header *h, const struct ec_observer *o)
{
	h->layout = EC_STATS_LAYOUT;
	h->header_size = sizeof(*h);
	h->worker_size = sizeof(struct ec_stats_worker);
	h->workers_num = o->workers_max;
	h->colors_num = EC_STATS_COLORS;
	h->sites_num = EC_STATS_SITES;
	h->buckets_num = EC_HISTOGRAM_BUCKETS;
	h->pid = getpid();
	h->base = o->base;
	ec_store_relaxed(&h->began_ns, (uint64_t)ec_monotonic_ns());
	memcpy(h->magic, EC_STATS_MAGIC, sizeof(h->magic));
}

/* Of an open file. 0 or -errno. */
static int map(struct ec_stats_file *f, const struct ec_observer *o)
{
	void *p;
	int r;

	f->size = sizeof(struct ec_stats_header) + o->workers_max * sizeof(struct ec_stats_worker);
	r = fchmod(f->fd, 0600) < 0 ? -errno : ec_mapped_resize(f->fd, f->size);
	if (r < 0)
		return r;
	if (f->path == NULL)
		ec_mapped_seal(f->fd);
	r = ec_mapped_reserve_in(f->fd, 0, sizeof(struct ec_stats_header));
	if (r < 0)
		return r;
	p = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	/* A child has no probe that writes to it: see probe.h. So it need not have the memory either. */
	(void)madvise(p, f->size, MADV_DONTFORK);
	f->header = p;
	header_init(f->header, o);
	return 0;
}

static void file_free(struct ec_stats_file *f)
{
	(void)munmap(f->header, f->size);
	ec_free(f->path);
	ec_free(f);
}

/* Can tools open it? If not, its name, if it had one, is another file's by now. */
static bool is_there(const struct ec_stats_file *f)
{
	return ec_control_has_file(f->at) || (f->path != NULL && ec_control_reopen_file(f->at, f->path));
}

static void file_leave(struct ec_observer *o)
{
	struct ec_stats_file *f = o->stats;

	o->stats = NULL;
	ec_control_remove_file(f->at);
	if (f->open_num == 0)
		file_free(f);
}

int ec_stats_file_open(struct ec_observer *o)
{
	char path[PATH_LEN_MAX];
	struct ec_stats_file *f;
	int r;

	if (o->stats != NULL && is_there(o->stats))
		return 0;
	if (o->stats != NULL)
		file_leave(o);
	f = ec_calloc(1, sizeof(*f));
	if (f == NULL)
		return -ENOMEM;
	r = f->fd = open_any(o->base, path, sizeof(path));
	if (r < 0)
		goto free_file;
	f->path = path[0] != '\0' ? ec_strdup(path) : NULL;
	r = path[0] != '\0' && f->path == NULL ? -ENOMEM : map(f, o);
	if (r < 0)
		goto close_fd;
	f->at = ec_control_add_file(EC_OBSERVE_COUNT, f->fd, o->base);
	r = f->at < 0 ? -ENOSPC : 0;
	if (r < 0)
		goto unmap;
	o->stats = f;
	return 0;

unmap:
	(void)munmap(f->header, f->size);
close_fd:
	(void)close(f->fd);
	if (path[0] != '\0')
		(void)unlink(path);
	ec_free(f->path);
free_file:
	ec_free(f);
	return r;
}

struct ec_stats_worker *ec_stats_file_worker(struct ec_observer *o, unsigned worker)
{
	struct ec_stats_file_layout *file = (struct ec_stats_file_layout *)(void *)o->stats->header;
	struct ec_stats_worker *w = &file->workers[worker];
	int r = ec_control_reserve(o->stats->at, (size_t)((char *)w - (char *)file), sizeof(*w));

	if (r < 0) {
		errno = -r;
		return NULL;
	}
	o->stats->open_num++;
	return w;
}

void ec_stats_file_put(struct ec_observer *o, struct ec_stats_file *f)
{
	if (--f->open_num == 0 && f != o->stats)
		file_free(f);
}

void ec_stats_file_close(struct ec_observer *o)
{
	struct ec_stats_file *f = o->stats;

	if (f == NULL)
		return;
	o->stats = NULL;
	ec_control_remove_file(f->at);
	if (f->path != NULL)
		(void)unlink(f->path);
	file_free(f);
}
