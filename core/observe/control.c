#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ec.h"
#include "mapped.h"
#include "os/atomic.h"
#include "settings.h"

struct ec_control ec_control_own = {
	.magic = EC_CONTROL_MAGIC,
	.layout = EC_CONTROL_LAYOUT,
	.size = sizeof(struct ec_control),
};

extern struct ec_control ec_control __attribute__((alias("ec_control_own")));

/* atomic: each base sets them anew, always to what the environment says; several threads may make bases at a time */
static _Atomic(const char *) stats_path;
static _Atomic(const char *) trace_path;

/* ---------------------------------------------------------------- what is wanted */

/* Not ec_monotonic_ns(), which may be a test's: the tool has another process's clock. Each turn reads it. */
static uint32_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec;
}

static void forget_objects(uint64_t bits)
{
	_Atomic(uint64_t) *objects = &ec_control_own.trace[1];

	ec_store_relaxed(objects, ec_load_relaxed(objects) & ~bits);
}

unsigned ec_control_wanted(void)
{
	struct ec_control *c = &ec_control_own;
	unsigned wanted = ec_load_relaxed(&c->wanted), i;
	uint32_t lease_s;

	for (i = 0; i < EC_CONTROL_BITS && wanted != 0; i++) {
		lease_s = (wanted & 1u << i) != 0 ? ec_load_relaxed(&c->lease_s[i]) : 0;
		if (lease_s == 0 || (int32_t)(lease_s - now_s()) >= 0)
			continue;
		wanted &= ~(1u << i);
		ec_store_relaxed(&c->wanted, (uint8_t)wanted);
		if (1u << i == EC_OBSERVE_TRACE)
			forget_objects(EC_CONTROL_TRACE_OBJECTS);
	}
	return (wanted | ec_load_relaxed(&c->wanted_here)) & EC_OBSERVE_ALL;
}

/* ---------------------------------------------------------------- the environment */

/* A name that a terminal shows as it is. */
static bool is_plain(const char *s)
{
	enum { LEN_MAX = 4000 };
	size_t i;

	for (i = 0; s[i] != '\0'; i++) {
		if (i == LEN_MAX || (unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	}
	return i != 0;
}

static void want_here(unsigned bit)
{
	ec_store_relaxed(&ec_control_own.wanted_here, (uint8_t)(ec_load_relaxed(&ec_control_own.wanted_here) | bit));
}

static void want_trace(bool has_objects)
{
	_Atomic(uint64_t) *objects = &ec_control_own.trace[1];

	if (has_objects)
		ec_store_relaxed(objects, ec_load_relaxed(objects) | EC_CONTROL_TRACE_OBJECTS_HERE);
	want_here(EC_OBSERVE_TRACE);
}

/* "yes", "2" and the like are no paths, but mistakes, which would make files of these names. */
static bool is_path(const char *s)
{
	return is_plain(s) && strchr(s, '/') != NULL;
}

/* Nothing of this happens in a set-user-ID program: secure_getenv. `word` also has a meaning, unless it is NULL. */
static const char *read_path(const char *name, const char *word, const char *refusal)
{
	const char *value = secure_getenv(name);

	if (value == NULL || strcmp(value, "0") == 0)
		return NULL;
	if ((word == NULL || strcmp(value, word) != 0) && !is_path(value)) {
		ec_log(EC_LOG_WARN, "%s is %s", name, refusal);
		return NULL;
	}
	return value;
}

static bool is_on(const char *value)
{
	return value != NULL && strcmp(value, "1") == 0;
}

void ec_control_read_environment(void)
{
	const char *stats = read_path("EVENT_SMP_STATS", "1", "neither 1 nor the path of a file, with a /: no "
								     "counters are kept");
	const char *trace = read_path("EVENT_SMP_TRACE", NULL, "not the path of a file, with a /: nothing is "
								      "traced");

	if (stats != NULL)
		want_here(EC_OBSERVE_COUNT);
	ec_store_release(&stats_path, stats);
	/* Once: a tool may have taken it over since. */
	if (trace != NULL && ec_swap_acq_rel(&trace_path, trace) == NULL)
		want_trace(is_on(secure_getenv("EVENT_SMP_TRACE_OBJECTS")));
	if (ec_load_relaxed(&ec_control_own.pid) == 0)
		ec_store_relaxed(&ec_control_own.pid, getpid());
	if (ec_stall_settings()->limit_ms != 0)
		want_here(EC_OBSERVE_STALL);
}

const char *ec_control_stats_path(void)
{
	return ec_load_acquire(&stats_path);
}

const char *ec_control_trace_path(void)
{
	return ec_load_acquire(&trace_path);
}

void ec_control_base_begins(void)
{
	(void)ec_add_relaxed(&ec_control_own.bases_num, 1);
}

void ec_control_base_ends(void)
{
	(void)ec_add_relaxed(&ec_control_own.bases_num, -1u);
}

/* ---------------------------------------------------------------- files */

int ec_control_add_file(unsigned kind, int fd, uint32_t base)
{
	struct ec_control_file *f;
	struct stat st;
	int i;

	if (fstat(fd, &st) < 0)
		return -1;
	for (i = 0; i < EC_CONTROL_FILES; i++) {
		f = &ec_control_own.files[i];
		if (ec_load_relaxed(&f->kind) != 0)
			continue;
		f->fd = fd;
		f->base = base;
		f->device = st.st_dev;
		f->inode = st.st_ino;
		ec_store_release(&f->kind, kind);		/* meets the tool's read of the whole struct */
		return i;
	}
	return -1;
}

static bool is_of(const struct ec_control_file *f, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode;
}

void ec_control_remove_file(int at)
{
	struct ec_control_file *f = &ec_control_own.files[at];

	ec_store_release(&f->kind, 0);
	if (is_of(f, f->fd))
		(void)close(f->fd);
}

bool ec_control_has_file(int at)
{
	const struct ec_control_file *f = &ec_control_own.files[at];

	return is_of(f, f->fd);
}

bool ec_control_reopen_file(int at, const char *path)
{
	struct ec_control_file *f = &ec_control_own.files[at];
	int fd = ec_mapped_fd(open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));

	if (fd < 0)
		return false;
	if (!is_of(f, fd)) {
		(void)close(fd);
		return false;
	}
	f->fd = fd;
	return true;
}

int ec_control_reserve(int at, size_t from, size_t len)
{
	return ec_control_has_file(at) ? ec_mapped_reserve_in(ec_control_own.files[at].fd, from, len) : -ESTALE;
}

void ec_control_note_process(void)
{
	struct ec_control *c = &ec_control_own;
	pid_t pid = getpid();
	const char *path;
	int i;

	if (ec_load_relaxed(&c->pid) == pid)
		return;
	for (i = 0; i < EC_CONTROL_FILES; i++) {
		if (ec_load_relaxed(&c->files[i].kind) != 0)
			ec_control_remove_file(i);
	}
	/* Its parent's tool finds it by the name of its file, and then takes over again; unless it has removed all. */
	path = ec_control_trace_path();
	if ((ec_load_relaxed(&c->wanted) & EC_OBSERVE_TRACE) != 0 && path != NULL && access(path, F_OK) == 0)
		want_trace(ec_load_relaxed(&c->trace[1]) != 0);
	ec_store_relaxed(&c->on, 0);
	ec_store_relaxed(&c->pid, pid);
}
