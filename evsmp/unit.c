#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ETC "/etc/systemd/system"

/* From the strongest to the weakest. */
static const char *const places[] = {
	"/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient",
	"/run/systemd/generator.early", ETC, "/etc/systemd/system.attached", "/run/systemd/system",
	"/run/systemd/system.attached", "/run/systemd/generator", "/usr/local/lib/systemd/system",
	"/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/generator.late",
};

enum { PLACES_NUM = sizeof(places) / sizeof(*places), ALIASES_MAX = 8 };

/* ---------------------------------------------------------------- text */

struct list unit_split(const char *line)
{
	struct list words = { 0 };
	char *word = text("%s", line), *out = word, quote = 0;
	bool is_any = false;

	for (;; line++) {
		if (*line == '\0' || (quote == 0 && strchr(" \t", *line) != NULL)) {
			*out = '\0';
			if (is_any)
				list_add(&words, word);
			if (*line == '\0')
				return words;
			out = word;
			is_any = false;
			continue;
		}
		is_any = true;
		if (quote != 0 && *line == quote) {
			quote = 0;
		} else if (quote == 0 && (*line == '"' || *line == '\'')) {
			quote = *line;
		} else if (*line == '\\' && line[1] != '\0') {
			*out++ = *++line;
		} else {
			*out++ = *line;
		}
	}
}

static void add_setting(struct unit *u, const char *line)
{
	const char *equals = strchr(line, '='), *end = equals;
	char *value, *last;

	if (equals == NULL)
		return;
	while (end > line && strchr(" \t", end[-1]) != NULL)
		end--;
	for (value = text("%s", equals + 1 + strspn(equals + 1, " \t")), last = value + strlen(value);
	     last > value && strchr(" \t", last[-1]) != NULL; last--)
		last[-1] = '\0';
	u->settings = must(realloc(u->settings, (u->num + 1) * sizeof(*u->settings)));
	u->settings[u->num++] = (struct setting){ text("%.*s", (int)(end - line), line), value };
}

/* Lines that end in a backslash go on in the next one; comments in between do not end them. */
static void read_settings(struct unit *u, const char *path)
{
	char *data = file_read(path, NULL), *line, *next;
	const char *whole = "";
	bool is_service = false;

	for (line = data; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		line += strspn(line, " \t");
		line[strcspn(line, "\r")] = '\0';
		if (*line == '#' || *line == ';')
			continue;
		whole = text("%s%s", whole, line);
		if (next != NULL && ends_with(whole, "\\")) {
			whole = text("%.*s ", (int)strlen(whole) - 1, whole);
			continue;
		}
		if (*whole == '[')
			is_service = starts_with(whole, "[Service]");
		else if (is_service)
			add_setting(u, whole);
		whole = "";
	}
}

/* ---------------------------------------------------------------- names */

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool unit_is_template(const char *name)
{
	const char *at = strchr(name, '@');

	return at != NULL && strcmp(at, "@.service") == 0;
}

const char *unit_template(const char *name)
{
	const char *at = strchr(name, '@');

	return at == NULL || unit_is_template(name) ? NULL : text("%.*s@.service", (int)(at - name), name);
}

bool unit_covers(const char *name, const char *other)
{
	const char *template = unit_is_template(name) && ends_with(other, ".service") ? unit_template(other) : NULL;

	return strcmp(name, other) == 0 || (template != NULL && strcmp(name, template) == 0);
}

/* The strongest file of that name; NULL: none. */
static const char *find_fragment(const char *name)
{
	const char *path;
	size_t i;

	for (i = 0; i < PLACES_NUM; i++) {
		path = rooted(text("%s/%s", places[i], name));
		if (is_there(path))
			return path;
	}
	return unit_template(name) == NULL ? NULL : find_fragment(unit_template(name));
}

/* A link to a file with another name is an alias. */
static const char *alias_target(const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	if (len <= 0)
		return NULL;
	target[len] = '\0';
	return text("%s", target);
}

static void check_name(const char *name)
{
	if (*name == '\0' || *name == '-' || strpbrk(name, "/ \t\n\"'%") != NULL)
		die(EVSMP_USAGE, "\"%s\" is no name of a service. systemctl list-units --type=service lists them.",
		    name);
}

/* ---------------------------------------------------------------- drop-ins */

/* The directories that hold drop-ins of the unit, the most specific first: name.d; for a-b: a-.service.d; service.d. */
static struct list dropin_dirs(const char *name)
{
	struct list dirs = { 0 };
	const char *dash;
	char *prefix;

	list_add(&dirs, text("%s.d", name));
	if (unit_template(name) != NULL)
		list_add(&dirs, text("%s.d", unit_template(name)));
	prefix = text("%.*s", (int)(strlen(name) - strlen(".service")), name);
	while ((dash = strrchr(prefix, '-')) != NULL) {
		prefix[dash - prefix + 1] = '\0';
		list_add(&dirs, text("%s.service.d", prefix));
		prefix[dash - prefix] = '\0';
	}
	list_add(&dirs, "service.d");
	return dirs;
}

static void add_dropins_of(struct list *names, struct list *paths, const char *dir)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (!ends_with(entry->d_name, ".conf") || strcmp(entry->d_name, UNIT_DROPIN) == 0 ||
		    list_has(names, entry->d_name))
			continue;
		list_add(names, entry->d_name);
		list_add(paths, text("%s\n%s/%s", entry->d_name, dir, entry->d_name));
	}
	if (d != NULL)
		closedir(d);
}

/* In the order of their names, wherever they are; of one name, only the strongest counts. */
static void read_dropins(struct unit *u)
{
	struct list dirs = dropin_dirs(u->name), names = { 0 }, paths = { 0 };
	size_t i, j;

	for (i = 0; i < PLACES_NUM; i++) {
		for (j = 0; j < dirs.num; j++)
			add_dropins_of(&names, &paths, rooted(text("%s/%s", places[i], dirs.at[j])));
	}
	list_sort(&paths);
	for (i = 0; i < paths.num; i++)
		read_settings(u, strchr(paths.at[i], '\n') + 1);
}

/* ---------------------------------------------------------------- a unit */

/* Follows aliases to the unit's file. NULL, or why there is none. */
static const char *resolve(struct unit *u)
{
	const char *target;
	unsigned aliases;

	for (aliases = 0;; aliases++) {
		u->fragment = find_fragment(u->name);
		if (u->fragment == NULL || aliases == ALIASES_MAX)
			return text("there is no service %s. systemctl list-unit-files --type=service lists them.",
				    u->name);
		target = alias_target(u->fragment);
		if (target != NULL && strcmp(target, "/dev/null") == 0)
			return text("the service %s is masked. systemctl unmask makes it a service again.", u->name);
		if (target == NULL || strcmp(base_name(target), base_name(u->fragment)) == 0)
			break;
		if (unit_template(u->name) != NULL && strcmp(base_name(target), unit_template(u->name)) == 0)
			break;
		u->name = text("%s", base_name(target));
	}
	if (target != NULL && *target == '/')
		u->fragment = rooted(target);
	return NULL;
}

static const char *full_name(const char *name)
{
	return ends_with(name, ".service") ? name : text("%s.service", name);
}

static const char *read_unit(struct unit *u)
{
	const char *reason = resolve(u);

	if (reason != NULL)
		return reason;
	read_settings(u, u->fragment);
	read_dropins(u);
	return NULL;
}

struct unit unit_read(const char *name)
{
	struct unit u = { .name = full_name(name) };
	const char *reason;

	check_name(name);
	if (strchr(name, '.') != NULL && !ends_with(name, ".service") && find_fragment(name) != NULL)
		die(EVSMP_USAGE, "%s is no service. Name the service that it starts.", name);
	reason = read_unit(&u);
	if (reason != NULL)
		die(EVSMP_NO_SERVICE, "%s", reason);
	return u;
}

bool unit_exists(const char *name, struct unit *ret)
{
	struct unit u = { .name = full_name(name) };

	if (read_unit(&u) != NULL)
		return false;
	*ret = u;
	return true;
}

const char *unit_last(const struct unit *u, const char *key)
{
	const char *value = NULL;
	size_t i;

	for (i = 0; i < u->num; i++) {
		if (strcmp(u->settings[i].key, key) == 0)
			value = u->settings[i].value;
	}
	return value == NULL || *value == '\0' ? NULL : value;
}

bool unit_is_on(const struct unit *u, const char *key)
{
	const char *value = unit_last(u, key);

	return value != NULL &&
	       (strcmp(value, "1") == 0 || strcasecmp(value, "yes") == 0 || strcasecmp(value, "y") == 0 ||
		strcasecmp(value, "true") == 0 || strcasecmp(value, "t") == 0 || strcasecmp(value, "on") == 0);
}

bool unit_is_off(const struct unit *u, const char *key)
{
	const char *value = unit_last(u, key);

	return value == NULL || strcmp(value, "0") == 0 || strcasecmp(value, "no") == 0 ||
	       strcasecmp(value, "n") == 0 || strcasecmp(value, "false") == 0 || strcasecmp(value, "f") == 0 ||
	       strcasecmp(value, "off") == 0;
}

struct list unit_values(const struct unit *u, const char *key)
{
	struct list values = { 0 };
	size_t i;

	for (i = 0; i < u->num; i++) {
		if (strcmp(u->settings[i].key, key) != 0)
			continue;
		if (u->settings[i].value[0] == '\0')
			values = (struct list){ 0 };
		else
			list_add(&values, u->settings[i].value);
	}
	return values;
}

struct list unit_words(const struct unit *u, const char *key)
{
	struct list values = unit_values(u, key), words = { 0 }, some;
	size_t i, j;

	for (i = 0; i < values.num; i++) {
		some = unit_split(values.at[i]);
		for (j = 0; j < some.num; j++)
			list_add(&words, some.at[j]);
	}
	return words;
}

const char *unit_variable(const struct unit *u, const char *name)
{
	struct list words = unit_words(u, "Environment");
	const char *prefix = text("%s=", name), *value = NULL;
	size_t i;

	for (i = 0; i < words.num; i++) {
		if (starts_with(words.at[i], prefix))
			value = words.at[i] + strlen(prefix);
	}
	return value;
}

/* ---------------------------------------------------------------- what enable writes */

const char *unit_dropin_dir(const char *name)
{
	return rooted(text(ETC "/%s.d", name));
}

const char *unit_dropin_path(const char *name)
{
	return text("%s/%s", unit_dropin_dir(name), UNIT_DROPIN);
}

const char *unit_enabled_name(const char *name)
{
	const char *full = full_name(name);

	return strchr(full, '/') == NULL && access(unit_dropin_path(full), F_OK) == 0 ? full : unit_read(name).name;
}

struct list unit_enabled_list(void)
{
	struct list names = { 0 };
	struct dirent *entry;
	DIR *dir = opendir(rooted(ETC));
	const char *name;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (!ends_with(entry->d_name, ".service.d"))
			continue;
		name = text("%.*s", (int)strlen(entry->d_name) - 2, entry->d_name);
		if (is_there(unit_dropin_path(name)))
			list_add(&names, name);
	}
	if (dir != NULL)
		closedir(dir);
	list_sort(&names);
	return names;
}
