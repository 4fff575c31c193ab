#include "libdir.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *resolved(const char *path)
{
	char *real = realpath(path, NULL);

	return real == NULL ? text("%s", path) : real;
}

/* Of the library's file: see core/os/process.h. */
static const char *version_of(const struct elf *engine)
{
	struct elf_symbol s;

	/* The file's text ends in 0, whatever the library says. */
	return elf_symbol(engine, "ec_process", &s) ? engine->data + s.offset : NULL;
}

static bool read_libdir(const char *path, struct libdir *ret)
{
	struct libdir dir = { .path = path };

	if (elf_read(text("%s/%s", path, ENGINE), &dir.engine) != ELF_FILE)
		return false;
	dir.version = version_of(&dir.engine);
	*ret = dir;
	return true;
}

/* ---------------------------------------------------------------- where they are */

static void add_matches(struct list *paths, const char *pattern)
{
	glob_t found;
	size_t i;

	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		char *path = resolved(found.gl_pathv[i]);

		if (!list_has(paths, path))
			list_add(paths, path);
	}
	globfree(&found);
}

/* Installed: PREFIX/bin/evsmp and PREFIX/lib/…; in a build tree: BUILD/evsmp/evsmp and BUILD/libdir. */
static void add_places(struct list *paths)
{
	static const char *const places[] = { "../lib/libevent-smp", "../lib/*/libevent-smp", "../lib64/libevent-smp",
					      "../lib32/libevent-smp", "../libdir" };
	char *here = dir_name(resolved("/proc/self/exe"));
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		add_matches(paths, text("%s/%s", text_for_glob(here), places[i]));
}

size_t libdir_list(struct libdir **ret)
{
	const char *named = getenv("EVSMP_LIBDIR");
	struct list paths = { 0 };
	size_t num = 0, i;

	if (named != NULL && *named == '/')
		list_add(&paths, named);
	else if (named != NULL && *named != '\0')
		list_add(&paths, text("%s/%s", resolved("."), named));
	else
		add_places(&paths);
	*ret = must(calloc(paths.num + 1, sizeof(**ret)));
	for (i = 0; i < paths.num; i++)
		num += read_libdir(paths.at[i], *ret + num);
	return num;
}

static _Noreturn void die_without(void)
{
	const char *named = getenv("EVSMP_LIBDIR");

	if (named != NULL && *named != '\0')
		die(EVSMP_NO_LIBRARIES,
		    "EVSMP_LIBDIR=%s holds no " ENGINE ". Unset it, or name the directory of the libraries.", named);
	die(EVSMP_NO_LIBRARIES, "the libraries are neither installed beside %s nor built. "
				"Install them, or name their directory in EVSMP_LIBDIR.",
	    dir_name(resolved("/proc/self/exe")));
}

static _Noreturn void die_of_machine(const struct elf *program, const char *path, const struct libdir *dirs,
				     size_t num)
{
	const char *have = "";
	size_t i;

	for (i = 0; i < num; i++)
		have = text("%s%s%s", have, i == 0 ? "" : ", ", elf_machine_name(&dirs[i].engine));
	die(EVSMP_NO_ARCHITECTURE,
	    "%s is a program for %s, but libevent-smp is here for %s. Install it for %s, too (Debian: "
	    "libevent-smp1:%s).",
	    path, elf_machine_name(program), have, elf_machine_name(program), elf_machine_name(program));
}

struct libdir libdir_for(const struct elf *program, const char *program_path)
{
	struct libdir *dirs;
	size_t num = libdir_list(&dirs), i;
	struct elf self;

	if (num == 0)
		die_without();
	if (program == NULL) {
		if (elf_read("/proc/self/exe", &self) != ELF_FILE)
			return dirs[0];
		for (i = 0; i < num; i++) {
			if (elf_same_machine(&self, &dirs[i].engine))
				return dirs[i];
		}
		return dirs[0];
	}
	for (i = 0; i < num; i++) {
		if (elf_same_machine(program, &dirs[i].engine))
			return dirs[i];
	}
	die_of_machine(program, program_path, dirs, num);
}

/* ---------------------------------------------------------------- names for the loader */

bool libdir_is_plain(const char *path)
{
	return path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+@%=-")] == '\0';
}

/* `others`: who else may not write there. */
static bool is_mine(const char *path, mode_t others)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & others) == 0;
}

/* Nobody else can exchange what is in it. */
static bool make_cache(const char *cache, const char *dir)
{
	if (!libdir_is_plain(dir) || (mkdir(cache, 0700) < 0 && errno != EEXIST) ||
	    (mkdir(dir, 0700) < 0 && errno != EEXIST))
		return false;
	return is_mine(cache, S_IWOTH) && is_mine(dir, S_IWOTH | S_IWGRP);
}

static const char *cache_home(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache != NULL && *cache != '\0')
		return cache;
	return text("%s/.cache", home == NULL ? "" : home);
}

/* The same link for the same directory, so that no run leaves another one. NULL: there is no place for it. */
static const char *make_link(const char *path)
{
	const char *cache = cache_home(), *dir = text("%s/evsmp", cache), *name, *fresh;
	char target[PATH_MAX];
	ssize_t len;

	if (*cache != '/' || !make_cache(cache, dir))
		return NULL;
	name = text("%s/%016llx", dir, (unsigned long long)text_hash(path));
	len = readlink(name, target, sizeof(target) - 1);
	if (len > 0 && strlen(path) == (size_t)len && memcmp(path, target, (size_t)len) == 0)
		return name;
	fresh = text("%s.%d", name, (int)getpid());
	(void)unlink(fresh);
	if (symlink(path, fresh) < 0 || rename(fresh, name) < 0)
		return NULL;
	return name;
}

const char *libdir_name_for_loader(const char *path)
{
	const char *link;

	if (libdir_is_plain(path))
		return path;
	link = make_link(path);
	if (link != NULL)
		return link;
	if (strpbrk(path, ":;$") != NULL)
		die(EVSMP_NAME,
		    "the loader cannot be told of \"%s\". "
		    "Make a link to it without : ; $ in its name, and name that in EVSMP_LIBDIR.",
		    path);
	return path;
}

/* An empty element is the current directory, from which nobody wants libraries. */
char *libdir_before(const char *name, const char *others)
{
	struct list dirs = { 0 };
	char *path = text("%s", name);
	size_t i;

	if (others != NULL)
		list_split(&dirs, others, ":;");
	for (i = 0; i < dirs.num; i++)
		path = text("%s:%s", path, dirs.at[i]);
	return path;
}

char *libdir_before_others(const char *name)
{
	return libdir_before(name, getenv("LD_LIBRARY_PATH"));
}
