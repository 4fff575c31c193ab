#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/observe/cpu_time.h"

enum { WAIT_MS = 1500 };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = { 0, 0 };

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t source_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ---------------------------------------------------------------- files */

static struct source_file *file_find(struct source *s, uint64_t device, uint64_t inode)
{
	unsigned i;

	for (i = 0; i < s->files_num; i++) {
		if (s->files[i].device == device && s->files[i].inode == inode)
			return &s->files[i];
	}
	return NULL;
}

/* Takes `fd`. */
static void file_add(struct source *s, int fd)
{
	struct stat st;

	if (s->files_num == SOURCE_FILES || fstat(fd, &st) < 0) {
		close(fd);
		return;
	}
	s->files[s->files_num++] = (struct source_file){ fd, st.st_dev, st.st_ino, true };
}

/* Bases that were freed. */
static void files_drop(struct source *s)
{
	unsigned i, kept = 0;

	for (i = 0; i < s->files_num; i++) {
		if (s->files[i].is_listed)
			s->files[kept++] = s->files[i];
		else
			close(s->files[i].fd);
	}
	s->files_num = kept;
}

static void files_update(struct source *s)
{
	const struct ec_control_file *f;
	struct source_file *known;
	unsigned i;
	int fd;

	for (i = 0; i < s->files_num; i++)
		s->files[i].is_listed = false;
	for (i = 0; i < EC_CONTROL_FILES; i++) {
		f = &s->attached.control.files[i];
		if (f->kind != EC_OBSERVE_COUNT)
			continue;
		known = file_find(s, f->device, f->inode);
		if (known != NULL)
			known->is_listed = true;
		else if ((fd = attach_open(&s->attached, f)) >= 0)
			file_add(s, fd);
	}
	files_drop(s);
}

/* Of CLOCK_MONOTONIC, which does not count the time that the machine was suspended: at least so long ago. */
static uint64_t start_ns(const struct source *s)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t since_boot = s->start / hz * 1000000000 + s->start % hz * 1000000000 / hz;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);	/* first, so that the difference is not too small */
	uint64_t suspended = clock_ns(CLOCK_BOOTTIME) - now_ns;

	return since_boot > suspended ? since_boot - suspended : 0;
}

/* A process that was killed leaves its files, and its number may be another one's now. */
static bool is_of_process(const struct source *s, int fd)
{
	struct ec_stats_header h;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && process_has_user(s->pid, st.st_uid) &&
	       pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) && h.pid == s->pid && h.began_ns >= start_ns(s);
}

/* What a process of this user keeps in its runtime directory. */
static void files_of_runtime_dir(struct source *s)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	glob_t found;
	size_t i;
	int fd;

	if (dir == NULL || glob(text("%s/libevent-smp/%d-*", text_for_glob(dir), (int)s->pid), 0, NULL, &found) != 0)
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && is_of_process(s, fd))
			file_add(s, fd);
		else if (fd >= 0)
			close(fd);
	}
	globfree(&found);
}

/* ---------------------------------------------------------------- a source */

/* ASCII, for a terminal and for JSON: files may have names in any encoding, or none. */
static void make_plain(char *to, const char *from, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i] != '\0'; i++)
		to[i] = from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
	to[i] = '\0';
}

/* May this user look into the process? */
static bool may_attach(pid_t pid)
{
	int fd = process_open_memory(pid, O_RDWR);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

static void attach(struct source *s)
{
	attach_process(s->pid, &s->attached);
	s->is_attached = true;
	s->program = s->attached.process.program;
	if (!attach_wait(&s->attached, EC_OBSERVE_COUNT, WAIT_MS) && attach_read(&s->attached))
		say_note("%s", attach_why_not_yet(&s->attached));
	files_update(s);
}

void source_open(pid_t pid, struct source *s)
{
	struct process p;
	char *plain;

	memset(s, 0, sizeof(*s));
	s->pid = pid;
	s->start = process_start(pid);
	s->program = "?";
	s->bytes = must(malloc(STATS_FILE_MAX));
	if (!may_attach(pid))
		files_of_runtime_dir(s);
	if (s->files_num == 0)
		attach(s);
	s->symbols = symbols_new(pid);
	if (!s->is_attached && process_read(pid, &p))
		s->program = p.program;
	plain = must(malloc(strlen(s->program) + 1));
	make_plain(plain, s->program, strlen(s->program) + 1);
	s->program = plain;
}

bool source_update(struct source *s)
{
	if (!s->is_attached)
		return process_start(s->pid) == s->start;
	if (!attach_want(&s->attached, EC_OBSERVE_COUNT))
		return false;
	files_update(s);
	return true;
}

unsigned source_not_turned(const struct source *s)
{
	uint32_t bases_num = s->is_attached ? s->attached.control.bases_num : 0;

	return bases_num > s->files_num && bases_num < INT32_MAX ? bases_num - s->files_num : 0;
}

/* A thread that is not there under this number, as in another PID namespace: not known. */
static uint64_t no_cpu_ns(const struct source *s, uint64_t tid)
{
	char path[80], line[128] = "";
	struct ec_cpu_time t;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%llu/schedstat", (int)s->pid, (unsigned long long)tid);
	fd = tid == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, line, sizeof(line) - 1) <= 0 || !ec_cpu_time_parse(line, &t))
		t.waited_ns = 0;
	close(fd);
	return t.waited_ns;
}

static bool parse(struct source *s, size_t len, struct stats *ret)
{
	unsigned i;

	if (!stats_parse(s->bytes, len, source_now_ns(), ret))
		return false;
	for (i = 0; i < ret->workers_num; i++) {
		if (ret->workers[i].is_on)
			ret->workers[i].no_cpu_since_ns = no_cpu_ns(s, ret->workers[i].tid);
	}
	return true;
}

bool source_read(struct source *s, unsigned i, struct stats *ret)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = pread64(s->files[i].fd, (char *)s->bytes + len, STATS_FILE_MAX - len, (off64_t)len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return parse(s, len, ret);
}

void source_close(struct source *s)
{
	if (s->is_attached)
		attach_close(&s->attached);
	while (s->files_num > 0)
		close(s->files[--s->files_num].fd);
	if (s->symbols != NULL)
		symbols_free(s->symbols);
	free(s->bytes);
}

/* ---------------------------------------------------------------- names */

const char *source_name_or_address(struct source *s, uint64_t site)
{
	static char name[128];

	if (s->symbols == NULL)
		(void)snprintf(name, sizeof(name), "%#llx", (unsigned long long)site);
	else
		make_plain(name, symbols_name(s->symbols, site), sizeof(name));
	return name;
}

const char *source_name(void *source, uint64_t site)
{
	struct source *s = source;

	if (s->symbols == NULL || symbols_find(s->symbols, site).file == NULL)
		return NULL;
	return source_name_or_address(s, site);
}
