#include "sandbox.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdir.h"

/* ---------------------------------------------------------------- system calls */

/*
 * The calls that the libraries make beyond what every program makes, and systemd's groups that have them
 * (`systemd-analyze syscall-filter`). @known has all. Those of @default are allowed wherever a filter allows anything.
 */
static const struct {
	const char *name, *groups;
} calls[] = {
	{ "clone3", "@process @system-service" },
	{ "close", "@basic-io @file-system @system-service" },
	{ "epoll_create1", "@io-event @system-service" },
	{ "epoll_ctl", "@io-event @system-service" },
	{ "epoll_wait", "@io-event @system-service" },
	{ "eventfd2", "@io-event @system-service" },
	{ "futex", "@default @system-service" },
	{ "madvise", "@system-service" },
	{ "membarrier", "@default @system-service" },
	{ "newfstatat", "@file-system @system-service" },
	{ "openat", "@file-system @system-service" },
	{ "read", "@basic-io @system-service" },
	{ "recvfrom", "@network-io @system-service" },
	{ "recvmsg", "@network-io @system-service" },
	{ "rt_sigprocmask", "@signal @system-service" },
	{ "sched_getaffinity", "@default @system-service" },
	{ "sched_yield", "@default @system-service" },
	{ "sendmsg", "@network-io @system-service" },
	{ "sendto", "@network-io @system-service" },
	{ "write", "@basic-io @system-service" },
};

static bool has_word(const char *words, const char *word)
{
	struct list list = { 0 };

	list_split(&list, words, " ");
	return list_has(&list, word);
}

/* A word of a filter may end in ":EPERM". */
static bool names_call(const struct list *words, const char *name, const char *groups)
{
	size_t i;

	for (i = 0; i < words->num; i++) {
		const char *word = text("%.*s", (int)strcspn(words->at[i], ":"), words->at[i]);

		if (strcmp(word, name) == 0 || strcmp(word, "@known") == 0 || has_word(groups, word))
			return true;
	}
	return false;
}

/*
 * The first line says whether the filter lists what is allowed or (with ~) what is not; the last one that names the
 * call counts.
 */
static bool is_allowed(const struct list *lines, const char *name, const char *groups)
{
	bool is_allowed = lines->at[0][0] == '~' || has_word(groups, "@default");
	struct list words;
	size_t i;

	for (i = 0; i < lines->num; i++) {
		bool is_denial = lines->at[i][0] == '~';

		words = unit_split(lines->at[i] + is_denial);
		if (names_call(&words, name, groups))
			is_allowed = !is_denial;
	}
	return is_allowed;
}

static const char *filter_forbids(const struct unit *u)
{
	struct list lines = unit_values(u, "SystemCallFilter");
	const char *lacking = "";
	size_t i;

	if (lines.num == 0)
		return NULL;
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!is_allowed(&lines, calls[i].name, calls[i].groups))
			lacking = text("%s %s", lacking, calls[i].name);
	}
	if (*lacking == '\0')
		return NULL;
	return text("SystemCallFilter= of %s lacks system calls that libevent-smp makes:%s. "
		    "Add them: systemctl edit %s, then [Service] and SystemCallFilter=%s.",
		    u->name, lacking, u->name, lacking + 1);
}

/* ---------------------------------------------------------------- files */

/* Without slashes at its end. */
static size_t length(const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	return len;
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = length(dir);

	return strncmp(path, dir, len) == 0 && (len == 1 || path[len] == '/' || path[len] == '\0');
}

/* A path of a list may begin with - or +, and with what follows a colon: TemporaryFileSystem=/var:ro. */
static const char *path_of(const char *word)
{
	word += strspn(word, "-+");
	return text("%.*s", (int)strcspn(word, ":"), word);
}

static const char *hiding(const struct list *paths, const char *libdir)
{
	size_t i;

	for (i = 0; i < paths->num; i++) {
		const char *path = path_of(paths->at[i]);

		if (is_below(libdir, path))
			return path;
	}
	return NULL;
}

/* What the service finds at `to` is `from`. */
struct bind {
	const char *setting, *from, *to;
};

/* The bind mount nearest to the directory: "[-]SOURCE[:DESTINATION[:OPTIONS]]". */
static bool find_bind(const struct unit *u, const char *libdir, struct bind *ret)
{
	static const char *const settings[] = { "BindPaths", "BindReadOnlyPaths" };
	struct bind best = { NULL, NULL, NULL }, one;
	size_t i, j;

	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		struct list words = unit_words(u, settings[i]);

		for (j = 0; j < words.num; j++) {
			const char *colon = strchr(words.at[j], ':');

			one = (struct bind){ settings[i], path_of(words.at[j]), path_of(words.at[j]) };
			if (colon != NULL && colon[1] != '\0')
				one.to = path_of(colon + 1);
			if (is_below(libdir, one.to) && (best.to == NULL || length(one.to) > length(best.to)))
				best = one;
		}
	}
	*ret = best;
	return best.to != NULL;
}

static bool has_libraries(const struct bind *bind, const char *libdir)
{
	return strcmp(bind->from, bind->to) == 0 || strchr(bind->from, '%') != NULL ||
	       access(text("%s/%s/" ENGINE, bind->from, libdir + length(bind->to)), F_OK) == 0;
}

/* What is mounted at `hidden` is empty. Does a bind mount below it show the libraries again? */
static bool is_shown(const struct unit *u, const char *libdir, const char *hidden)
{
	struct bind bind;

	return find_bind(u, libdir, &bind) && length(bind.to) > length(hidden) && has_libraries(&bind, libdir);
}

/* A setting that keeps the service from the libraries, as "NAME=VALUE"; NULL: none. */
static const char *root_hides(const struct unit *u, const char *libdir)
{
	static const char *const roots[] = { "RootDirectory", "RootImage" };
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		value = unit_last(u, roots[i]);
		if (value != NULL && strcmp(value, "/") != 0 && !is_shown(u, libdir, ""))
			return text("%s=%s", roots[i], value);
	}
	return NULL;
}

static const char *list_hides(const struct unit *u, const char *libdir)
{
	struct list closed = unit_words(u, "InaccessiblePaths"), empty = unit_words(u, "TemporaryFileSystem"),
		    no_exec = unit_words(u, "NoExecPaths"), exec = unit_words(u, "ExecPaths");
	const char *path = hiding(&closed, libdir);
	size_t i;

	if (path != NULL)
		return text("InaccessiblePaths=%s", path);
	for (i = 0; i < empty.num; i++) {
		path = path_of(empty.at[i]);
		if (is_below(libdir, path) && !is_shown(u, libdir, path))
			return text("TemporaryFileSystem=%s", path);
	}
	path = hiding(&no_exec, libdir);
	return path == NULL || hiding(&exec, libdir) != NULL ? NULL : text("NoExecPaths=%s", path);
}

static const char *home_hides(const struct unit *u, const char *libdir)
{
	static const char *const homes[] = { "/home", "/root", "/run/user" };
	const char *value = unit_last(u, "ProtectHome");
	bool is_empty = value != NULL && strcmp(value, "tmpfs") == 0;
	size_t i;

	for (i = 0; i < sizeof(homes) / sizeof(*homes) && (is_empty || unit_is_on(u, "ProtectHome")); i++) {
		if (is_below(libdir, homes[i]) && !(is_empty && is_shown(u, libdir, homes[i])))
			return text("ProtectHome=%s", value);
	}
	return NULL;
}

/* DynamicUser= implies PrivateTmp=. */
static const char *tmp_hides(const struct unit *u, const char *libdir)
{
	static const char *const dirs[] = { "/tmp", "/var/tmp" };
	const char *setting = unit_is_on(u, "DynamicUser") ? "DynamicUser" : "PrivateTmp";
	const char *value = unit_last(u, setting);
	size_t i;

	if (!unit_is_on(u, setting) && (value == NULL || strcmp(value, "disconnected") != 0))
		return NULL;
	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (is_below(libdir, dirs[i]) && !is_shown(u, libdir, dirs[i]))
			return text("%s=%s", setting, value);
	}
	return NULL;
}

static const char *bind_hides(const struct unit *u, const char *libdir)
{
	struct bind bind;

	return !find_bind(u, libdir, &bind) || has_libraries(&bind, libdir) ?
		       NULL :
		       text("%s=%s:%s", bind.setting, bind.from, bind.to);
}

static const char *files_forbid(const struct unit *u, const char *libdir)
{
	static const char *(*const hides[])(const struct unit *u, const char *libdir) = {
		root_hides, list_hides, home_hides, tmp_hides, bind_hides
	};
	const char *setting = NULL;
	size_t i;

	for (i = 0; i < sizeof(hides) / sizeof(*hides) && setting == NULL; i++)
		setting = hides[i](u, libdir);
	if (setting == NULL)
		return NULL;
	return text("%s of %s keeps the service from %s. Install libevent-smp where the service can see it.", setting,
		    u->name, libdir);
}

/* ---------------------------------------------------------------- users */

static bool is_open_to_all(const char *path, mode_t needs)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & needs) == needs;
}

/* The first directory or file on the way to the libraries that other users may not use; NULL: none. */
static const char *closed(const char *libdir)
{
	const char *path, *first = NULL;
	glob_t found;
	size_t i;

	for (path = libdir; strcmp(path, "/") != 0; path = dir_name(path)) {
		if (!is_open_to_all(path, S_IXOTH))
			first = path;
	}
	if (first != NULL || glob(text("%s/libevent*.so.*", text_for_glob(libdir)), 0, NULL, &found) != 0)
		return first;
	for (i = 0; i < found.gl_pathc && first == NULL; i++) {
		if (!is_open_to_all(found.gl_pathv[i], S_IROTH))
			first = text("%s", found.gl_pathv[i]);
	}
	globfree(&found);
	return first;
}

static const char *user_forbids(const struct unit *u, const char *libdir)
{
	const char *user = unit_last(u, "User"), *who, *path;

	if (!unit_is_off(u, "PrivateUsers"))
		who = text("a user namespace (PrivateUsers=%s), where other users' files count as nobody's",
			   unit_last(u, "PrivateUsers"));
	else if (unit_is_on(u, "DynamicUser"))
		who = "a user of its own (DynamicUser=)";
	else if (user != NULL && strcmp(user, "root") != 0 && strcmp(user, "0") != 0)
		who = text("the user %s", user);
	else
		return NULL;
	path = closed(libdir);
	if (path == NULL)
		return NULL;
	return text("%s runs as %s, which may not use %s. Make it readable (chmod o+rX), or install libevent-smp "
		    "elsewhere.",
		    u->name, who, path);
}

/* ---------------------------------------------------------------- all of them */

const char *sandbox_forbids(const struct unit *u, const char *libdir)
{
	const char *reason = files_forbid(u, libdir);

	if (reason == NULL)
		reason = user_forbids(u, libdir);
	if (reason == NULL)
		reason = filter_forbids(u);
	return reason;
}
