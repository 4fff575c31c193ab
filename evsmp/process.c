#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdir.h"

#define DELETED " (deleted)"

static const char *file_of(pid_t pid, const char *name)
{
	return rooted(text("/proc/%d/%s", (int)pid, name));
}

/* ---------------------------------------------------------------- its mappings */

struct mapping {
	unsigned long long from, to, offset;
	const char *path;
	bool is_deleted;
};

static bool read_mapping(char *line, struct mapping *ret)
{
	char *path = strchr(line, '/');

	if (path == NULL || sscanf(line, "%llx-%llx %*s %llx", &ret->from, &ret->to, &ret->offset) != 3)
		return false;
	ret->is_deleted = ends_with(path, DELETED);
	if (ret->is_deleted)
		path[strlen(path) - strlen(DELETED)] = '\0';
	ret->path = path;
	return true;
}

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

/* The library's file, as the process has it: the link in map_files also leads to a deleted one, but only for root. */
static bool read_library(pid_t pid, const struct mapping *m, struct elf *ret)
{
	if (elf_read(file_of(pid, text("map_files/%llx-%llx", m->from, m->to)), ret) == ELF_FILE)
		return true;
	return !m->is_deleted && elf_read(file_of(pid, text("root%s", m->path)), ret) == ELF_FILE;
}

static bool read_memory(pid_t pid, unsigned long long at, void *to, size_t len)
{
	int fd = open(file_of(pid, "mem"), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = pread64(fd, to, len, (off64_t)at);
	close(fd);
	return n == (ssize_t)len;
}

/* `m`: the engine's first mapping. */
static void ask_engine(struct process *p, const struct mapping *m)
{
	struct elf_symbol symbol;
	struct told told;
	struct elf library;

	if (!read_library(p->pid, m, &library) || !elf_symbol(&library, "ec_process", &symbol))
		return;
	p->version = text("%.*s", (int)sizeof(told.version), library.data + symbol.offset);
	if (symbol.size < sizeof(told) || !read_memory(p->pid, m->from + symbol.address, &told, sizeof(told)))
		return;
	p->version = text("%.*s", (int)sizeof(told.version), told.version);
	p->bases = told.bases;
	p->threads = told.threads;
	p->colors = told.colors;
	p->has_numbers = true;
}

/* ---------------------------------------------------------------- a process */

static const char *program_of(pid_t pid)
{
	char target[4096], *name;
	ssize_t len = readlink(file_of(pid, "exe"), target, sizeof(target) - 1);

	if (len > 0) {
		target[len] = '\0';
		if (ends_with(target, DELETED))
			target[len - (ssize_t)strlen(DELETED)] = '\0';
		return text("%s", base_name(target));
	}
	name = file_read(file_of(pid, "comm"), NULL);
	if (name == NULL)
		return "?";
	name[strcspn(name, "\n")] = '\0';
	return name;
}

bool process_read(pid_t pid, struct process *ret)
{
	struct process p = { .pid = pid };
	char *maps = file_read(file_of(pid, "maps"), NULL);
	struct mapping m, engine = { 0 };
	struct list lines = { 0 };
	size_t i;

	if (maps == NULL)
		return false;
	list_split(&lines, maps, "\n");
	for (i = 0; i < lines.num; i++) {
		if (!read_mapping(lines.at[i], &m))
			continue;
		if (is_engine(m.path) && engine.path == NULL && m.offset == 0)
			engine = m;
	}
	for (i = 0; i < lines.num; i++) {
		/* Ours are beside the engine. */
		if (!read_mapping(lines.at[i], &m) || !is_libevent(m.path))
			continue;
		if (engine.path == NULL || strcmp(dir_name(engine.path), dir_name(m.path)) != 0)
			p.stock = m.path;
	}
	p.program = program_of(pid);
	p.engine = engine.path;
	p.is_replaced = engine.is_deleted;
	if (engine.path != NULL)
		ask_engine(&p, &engine);
	*ret = p;
	return true;
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
bool process_is_in_unit(pid_t pid, const char *unit)
{
	char *groups = file_read(file_of(pid, "cgroup"), NULL);
	struct list lines = { 0 };
	size_t i;

	if (groups == NULL)
		return false;
	list_split(&lines, groups, "\n");
	for (i = 0; i < lines.num; i++) {
		if (ends_with(lines.at[i], text("/%s", unit)) || strstr(lines.at[i], text("/%s/", unit)) != NULL)
			return true;
	}
	return false;
}
