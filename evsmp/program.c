#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "starts.h"

enum { SCRIPTS_MAX = 5 };		/* the kernel's limit is 4 */

struct caller caller_self(void)
{
	const char *path = getenv("PATH");

	return (struct caller){ .uid = getuid(),
				.gid = getgid(),
				.search = path == NULL ? "/usr/local/bin:/usr/bin:/bin" : path };
}

/* ---------------------------------------------------------------- by name */

static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* A path with a slash, or NULL. `*ret_other`: a file of that name that cannot be executed. */
static const char *search_for(const char *name, const char *search, const char **ret_other)
{
	const char *path;
	size_t len;

	for (;; search += len + 1) {
		len = strcspn(search, ":");
		path = len == 0 ? text("./%s", name) : text("%.*s/%s", (int)len, search, name);
		if (is_executable(path))
			return path;
		if (*ret_other == NULL && access(path, F_OK) == 0)
			*ret_other = path;
		if (search[len] == '\0')
			return NULL;
	}
}

static _Noreturn void die_not_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		die(EVSMP_NOT_EXECUTABLE, "%s is a directory. Name a program in it.", path);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		die(EVSMP_NOT_EXECUTABLE, "%s is a pipe, a socket or a device. Name a program.", path);
	die(EVSMP_NOT_EXECUTABLE, "%s cannot be executed by this user. If it is a program, chmod +x makes it one.",
	    path);
}

const char *program_find(const char *name, const char *search)
{
	const char *path, *other = NULL;

	if (*name == '\0')
		die(EVSMP_NOT_FOUND, "the program's name is empty. If it comes from a variable, set that.");
	if (strchr(name, '/') != NULL) {
		if (is_executable(name))
			return name;
		if (access(name, F_OK) < 0)
			die(EVSMP_NOT_FOUND, "%s: no such program. Check the path.", name);
		die_not_executable(name);
	}
	path = search_for(name, search, &other);
	if (path != NULL)
		return path;
	if (other != NULL)
		die_not_executable(other);
	die(EVSMP_NOT_FOUND,
	    "%s: no such program in PATH. "
	    "Name its file; a command of the shell itself is no program, and needs a shell: evsmp run sh -c '%s …'.",
	    name, name);
}

/* ---------------------------------------------------------------- what the loader will not obey */

/* Programs that get other rights when they start: the loader then ignores LD_LIBRARY_PATH (AT_SECURE). */
static void check_rights(const char *path, const struct caller *caller)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) < 0 || (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0))
		return;
	if (((st.st_mode & S_ISUID) != 0 && st.st_uid != caller->uid) ||
	    ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != caller->gid))
		die(EVSMP_SET_ID,
		    "%s changes its user or group when it starts (set-user-ID), so the loader ignores other "
		    "libraries. "
		    "Start it as the user that owns it, or start a copy without that bit.",
		    path);
	if (caller->uid != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		die(EVSMP_CAPABILITIES,
		    "%s gets capabilities from its file when it starts, so the loader ignores other libraries. "
		    "Give them to the service instead (AmbientCapabilities=), and remove them here (setcap -r).",
		    path);
}

/* ---------------------------------------------------------------- scripts */

struct shebang {
	const char *interpreter;
	const char *argument;	/* the rest of the line; NULL: none */
};

static struct shebang read_shebang(const struct elf *file, const char *path)
{
	struct shebang line = { 0 };
	char *s = text("%.*s", (int)strcspn(file->data + 2, "\n"), file->data + 2), *end;

	s += strspn(s, " \t");
	if (ends_with(s, "\r"))
		die(EVSMP_CANNOT_FOLLOW, "the first line of %s ends in a carriage return, so no system starts it. "
					 "Convert the file (sed -i 's/\\r$//').",
		    path);
	for (end = s + strlen(s); end > s && strchr(" \t", end[-1]) != NULL; end--)
		end[-1] = '\0';
	line.interpreter = s;
	s += strcspn(s, " \t");
	if (*s != '\0') {
		*s++ = '\0';
		line.argument = s + strspn(s, " \t");
	}
	if (*line.interpreter == '\0')
		die(EVSMP_CANNOT_FOLLOW, "the first line of %s names no interpreter. Write one behind #!.", path);
	return line;
}

/* What env(1) starts; `path` is the script. The kernel gives it the rest of the line as one word. */
static const char *behind_env(const struct shebang *line, const char *path, const struct caller *caller)
{
	const char *found, *other = NULL;
	struct list words = { 0 }, rest = { 0 };

	if (line->argument != NULL)
		list_add(&words, line->argument);
	do {
		if (starts_of_env(&words, 0, &rest) == ENV_TAKES)
			die(EVSMP_CANNOT_FOLLOW,
			    "%s starts its interpreter by \"env %s\", which takes the libraries' directory from the "
			    "environment. "
			    "Change its first line.",
			    path, line->argument);
		if (rest.num == 0)
			die(EVSMP_CANNOT_FOLLOW,
			    "the first line of %s names no interpreter behind env. Write one there.", path);
		words = (struct list){ rest.at + 1, rest.num - 1 };
	} while (strcmp(base_name(rest.at[0]), "env") == 0);
	found = strchr(rest.at[0], '/') != NULL ? rest.at[0] : search_for(rest.at[0], caller->search, &other);
	if (found == NULL || !is_executable(found))
		die(EVSMP_CANNOT_FOLLOW, "%s needs the interpreter %s, which is not in PATH. Install it.", path,
		    rest.at[0]);
	return found;
}

struct program program_open(const char *path, const struct caller *caller)
{
	struct program p = { .path = path, .binary = path };
	struct shebang line;

	for (;;) {
		switch (elf_read(p.binary, &p.elf)) {
		case ELF_FILE:
			check_rights(p.binary, caller);
			return p;
		case ELF_SCRIPT: break;
		case ELF_FOREIGN:
			if (errno != 0)
				die(EVSMP_CANNOT_FOLLOW, "%s cannot be read (%s), so nothing can be said of it. "
							 "Run evsmp as a user that may read it.",
				    p.binary, strerror(errno));
			die(EVSMP_NOT_EXECUTABLE,
			    "%s is neither a program nor a script that names its interpreter. "
			    "If it is a shell's script, write #!/bin/sh as its first line.",
			    p.binary);
		}
		if (p.scripts.num == SCRIPTS_MAX)
			die(EVSMP_CANNOT_FOLLOW, "%s: its interpreters are scripts that never end in a program. "
						 "Change its first line.",
			    path);
		list_add(&p.scripts, p.binary);
		line = read_shebang(&p.elf, p.binary);
		if (!is_executable(line.interpreter))
			die(EVSMP_CANNOT_FOLLOW, "%s needs the interpreter %s, which is not there. Install it.",
			    p.binary, line.interpreter);
		/* The loader would look for a name without a slash in its own directories. */
		p.binary = strchr(line.interpreter, '/') != NULL ? line.interpreter : text("./%s", line.interpreter);
		if (strcmp(base_name(line.interpreter), "env") == 0)
			p.binary = behind_env(&line, p.scripts.at[p.scripts.num - 1], caller);
	}
}
