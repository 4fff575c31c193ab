#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdir.h"
#include "maps.h"
#include "unit.h"

#define DELETED " (deleted)"

/* libevent-2.1.so.7.0.1, libevent_core-2.1.so.7, … */
static bool is_libevent(const char *path)
{
	const char *name = base_name(path);

	return starts_with(name, "libevent") && strstr(name, "-2.1.so.7") != NULL;
}

static bool is_engine(const char *path)
{
	return starts_with(base_name(path), ENGINE);
}

/* ---------------------------------------------------------------- what the engine tells */

/* struct ec_process of core/os/process.h */
struct told {
	char version[16];
	uint32_t bases, threads, colors;
};

int process_open_memory(pid_t pid, int flags)
{
	int fd = open(maps_file_of(pid, "mem"), flags | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		errno = ESRCH;
	return fd;
}

/* After a transfer of `n` of `len` bytes: a process that has ended has no memory, and gives 0. */
static bool is_whole(ssize_t n, size_t len)
{
	if (n >= 0 && n != (ssize_t)len)
		errno = ESRCH;
	return n == (ssize_t)len;
}

bool process_read_memory(int memory, unsigned long long at, void *to, size_t len)
{
	return is_whole(pread64(memory, to, len, (off64_t)at), len);
}

bool process_write_memory(int memory, unsigned long long at, const void *from, size_t len)
{
	return is_whole(pwrite64(memory, from, len, (off64_t)at), len);
}

/* Not one that it would block on: a file, whatever the process has there by now. */
int process_open_fd(pid_t pid, int fd)
{
	return open(maps_file_of(pid, text("fd/%d", fd)), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool process_variable(const struct process *p, const char *name, unsigned long long *ret_at, uint64_t *ret_size)
{
	struct mapping m = {
		.from = p->engine_at,
		.to = p->engine_end,
		.path = p->engine,
		.is_deleted = p->is_replaced,
	};
	struct elf_symbol symbol;
	struct elf library;

	errno = 0;
	if (p->engine == NULL || !maps_read_file(p->pid, &m, &library))
		return false;
	errno = 0;
	if (!elf_symbol(&library, name, &symbol))
		return false;
	*ret_at = p->engine_at + symbol.address;
	*ret_size = symbol.size;
	return true;
}

/* `m`: the engine's first mapping. */
static void ask_engine(struct process *p, const struct mapping *m)
{
	struct elf_symbol symbol;
	struct told told;
	struct elf library;
	bool is_read;
	int memory;

	if (!maps_read_file(p->pid, m, &library) || !elf_symbol(&library, "ec_process", &symbol))
		return;
	p->version = text("%.*s", (int)sizeof(told.version), library.data + symbol.offset);
	memory = symbol.size < sizeof(told) ? -1 : process_open_memory(p->pid, O_RDONLY);
	if (memory < 0)
		return;
	is_read = process_read_memory(memory, m->from + symbol.address, &told, sizeof(told));
	close(memory);
	if (!is_read)
		return;
	p->version = text("%.*s", (int)sizeof(told.version), told.version);
	p->bases = told.bases;
	p->threads = told.threads;
	p->colors = told.colors;
	p->has_numbers = true;
}

/* ---------------------------------------------------------------- a process */

/* "NSpid:	4711	17": the last one is that of the innermost namespace */
pid_t process_own_pid(pid_t pid)
{
	char *status = file_read(maps_file_of(pid, "status"), NULL), *at, *last;

	at = status == NULL ? NULL : strstr(status, "\nNSpid:");
	if (at == NULL)
		return pid;
	at[1 + strcspn(at + 1, "\n")] = '\0';
	last = strrchr(at, '\t');
	return last == NULL ? pid : (pid_t)atoi(last + 1);
}

static const char *program_of(pid_t pid)
{
	char target[4096], *name;
	ssize_t len = readlink(maps_file_of(pid, "exe"), target, sizeof(target) - 1);

	if (len > 0) {
		target[len] = '\0';
		if (ends_with(target, DELETED))
			target[len - (ssize_t)strlen(DELETED)] = '\0';
		return text("%s", base_name(target));
	}
	name = file_read(maps_file_of(pid, "comm"), NULL);
	if (name == NULL)
		return "?";
	name[strcspn(name, "\n")] = '\0';
	return name;
}

bool process_read(pid_t pid, struct process *ret)
{
	struct process p = { .pid = pid };
	const struct mapping *m;
	struct mapping engine = { 0 };
	struct maps maps;
	size_t i;

	if (!maps_read(pid, &maps))
		return false;
	for (i = 0; i < maps.num; i++) {
		m = &maps.at[i];
		if (is_engine(m->path) && engine.path == NULL && m->offset == 0)
			engine = *m;
	}
	for (i = 0; i < maps.num; i++) {
		/* Ours are beside the engine. */
		m = &maps.at[i];
		if (!is_libevent(m->path))
			continue;
		if (engine.path == NULL || strcmp(dir_name(engine.path), dir_name(m->path)) != 0)
			p.stock = m->path;
	}
	p.program = program_of(pid);
	p.engine = engine.path;
	p.engine_at = engine.from;
	p.engine_end = engine.to;
	p.is_replaced = engine.is_deleted;
	if (engine.path != NULL)
		ask_engine(&p, &engine);
	*ret = p;
	return true;
}

/* The words of /proc/PID/stat from the state on, which is number 3. NULL: there is no such process. */
static char *read_stat(pid_t pid)
{
	char *stat = file_read(maps_file_of(pid, "stat"), NULL), *end, *words = NULL;

	/* The name before it may have anything in it. */
	end = stat == NULL ? NULL : strrchr(stat, ')');
	if (end != NULL && end[1] == ' ')
		words = text("%s", end + 2);
	free(stat);
	return words;
}

char process_state(pid_t pid)
{
	char *words = read_stat(pid), state = words == NULL ? '\0' : *words;

	free(words);
	return state;
}

pid_t process_parent(pid_t pid)
{
	char *words = read_stat(pid);
	int parent = words == NULL ? 0 : atoi(words + 1);

	free(words);
	return parent;
}

/* Number 22. */
unsigned long long process_start(pid_t pid)
{
	char *words = read_stat(pid), *at = words;
	unsigned long long start;
	unsigned i;

	for (i = 3; at != NULL && i < 22; i++) {
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	start = at == NULL ? 0 : strtoull(at, NULL, 10);
	free(words);
	return start;
}

/* "Uid:	0	1000	…": the real one, the effective one */
bool process_has_user(pid_t pid, uid_t user)
{
	char *status = file_read(maps_file_of(pid, "status"), NULL), *at;
	unsigned real, effective;
	bool is_one = false;

	at = status == NULL ? NULL : strstr(status, "\nUid:");
	if (at != NULL && sscanf(at + 1, "Uid: %u %u", &real, &effective) == 2)
		is_one = real == user || effective == user;
	free(status);
	return is_one;
}

void process_each(void (*fn)(pid_t pid, void *arg), void *arg)
{
	struct dirent *entry;
	DIR *dir = opendir(rooted("/proc"));

	if (dir == NULL)
		die(EVSMP_SYSTEM, "/proc cannot be read: %s. Mount it.", strerror(errno));
	while ((entry = readdir(dir)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]))
			fn((pid_t)atoi(entry->d_name), arg);
	}
	closedir(dir);
}

/* "0::/system.slice/NAME", "1:name=systemd:/system.slice/NAME/…" */
const char *process_unit(pid_t pid, const char *unit)
{
	char *groups = file_read(maps_file_of(pid, "cgroup"), NULL);
	struct list parts = { 0 };
	size_t i;

	if (groups == NULL)
		return NULL;
	list_split(&parts, groups, "/\n");
	for (i = 0; i < parts.num; i++) {
		if (unit_covers(unit, parts.at[i]))
			return parts.at[i];
	}
	return NULL;
}
