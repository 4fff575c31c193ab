/*
 * Reads AppArmor's profiles as far as this question needs it: does the profile of a program let it read and map one
 * file? Rules on paths, includes and variables count; conditions do not. A profile that cannot be read forbids nothing
 * here: `evsmp status` and `evsmp ps` tell what really happened.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mac.h"

#define PROFILES "/etc/apparmor.d"

enum { INCLUDES_MAX = 8, VARIABLES_DEPTH_MAX = 32 };

struct variable {
	const char *name;	/* with @{ } */
	const char *values;	/* with commas between them */
};

struct reader {
	struct variable variables[128];
	size_t variables_num;
	struct list lines;	/* of a profile's file and all that it includes, without comments */
};

/* ---------------------------------------------------------------- names with wildcards */

static bool matches(const char *pattern, const char *path);

/* The end of a { } group, or of the text. */
static const char *group_end(const char *p)
{
	unsigned depth = 0;

	for (; *p != '\0'; p++) {
		depth += *p == '{';
		if (*p == '}' && --depth == 0)
			return p;
	}
	return p;
}

/* `pattern` begins with {: does one of the alternatives match, with what follows the group? */
static bool group_matches(const char *pattern, const char *path)
{
	const char *end = group_end(pattern), *from = pattern + 1, *p;
	unsigned depth = 0;

	for (p = from; p <= end; p++) {
		if (depth == 0 && (*p == ',' || p == end)) {
			if (matches(text("%.*s%s", (int)(p - from), from, *end == '\0' ? "" : end + 1), path))
				return true;
			from = p + 1;
		}
		depth += *p == '{';
		depth -= *p == '}' && depth != 0;
	}
	return false;
}

/* `pattern` begins with *: any row of characters, and of slashes too if there are two. */
static bool star_matches(const char *pattern, const char *path)
{
	bool is_deep = pattern[1] == '*';
	const char *rest = pattern + (is_deep ? 2 : 1);

	for (;; path++) {
		if (matches(rest, path))
			return true;
		if (*path == '\0' || (*path == '/' && !is_deep))
			return false;
	}
}

static bool set_matches(const char *pattern, const char *path, const char **ret_rest)
{
	bool is_not = pattern[1] == '^', is_in = false;
	const char *p = pattern + (is_not ? 2 : 1);

	for (; *p != '\0' && *p != ']'; p++) {
		if (p[1] == '-' && p[2] != ']' && p[2] != '\0') {
			is_in = is_in || (*path >= p[0] && *path <= p[2]);
			p += 2;
		} else {
			is_in = is_in || *path == *p;
		}
	}
	*ret_rest = *p == '\0' ? p : p + 1;
	return *path != '\0' && is_in != is_not;
}

static bool matches(const char *pattern, const char *path)
{
	const char *rest;

	for (; *pattern != '\0'; pattern++, path++) {
		switch (*pattern) {
		case '{': return group_matches(pattern, path);
		case '*': return star_matches(pattern, path);
		case '[': return set_matches(pattern, path, &rest) && matches(rest, path + 1);
		case '?':
			if (*path == '\0' || *path == '/')
				return false;
			break;
		case '\\':
			pattern++;
			if (*pattern == '\0' || *pattern != *path)
				return false;
			break;
		default:
			if (*pattern != *path)
				return false;
		}
	}
	return *path == '\0';
}

/* ---------------------------------------------------------------- variables and includes */

/* @{NAME} becomes {value,value}. */
static const char *expand(const struct reader *r, const char *s, unsigned depth)
{
	const char *at = strstr(s, "@{"), *end;
	size_t i;

	if (at == NULL || depth == VARIABLES_DEPTH_MAX || (end = strchr(at, '}')) == NULL)
		return s;
	for (i = 0; i < r->variables_num; i++) {
		if (strlen(r->variables[i].name) == (size_t)(end + 1 - at) &&
		    starts_with(at, r->variables[i].name))
			return expand(r, text("%.*s{%s}%s", (int)(at - s), s, r->variables[i].values, end + 1),
				      depth + 1);
	}
	return text("%.*s%s", (int)(end + 1 - s), s, expand(r, end + 1, depth));
}

/* "@{NAME}=value value", "@{NAME}+=value" */
static void set_variable(struct reader *r, const char *line)
{
	const char *end = strchr(line, '}'), *equals = strchr(line, '='), *values = "";
	struct list parts = { 0 };
	bool is_more;
	size_t i;

	if (end == NULL || equals == NULL)
		return;
	is_more = equals[-1] == '+';
	list_split(&parts, equals + 1, " \t\"");
	for (i = 0; i < parts.num; i++)
		values = text("%s%s%s", values, i == 0 ? "" : ",", parts.at[i]);
	for (i = 0; i < r->variables_num; i++) {
		struct variable *v = &r->variables[i];

		if (strlen(v->name) == (size_t)(end + 1 - line) && starts_with(line, v->name)) {
			v->values = is_more ? text("%s,%s", v->values, values) : values;
			return;
		}
	}
	if (r->variables_num < sizeof(r->variables) / sizeof(*r->variables))
		r->variables[r->variables_num++] =
			(struct variable){ text("%.*s", (int)(end + 1 - line), line), values };
}

static void read_file(struct reader *r, const char *path, unsigned depth);

/* A directory stands for all files in it. */
static void include(struct reader *r, const char *path, unsigned depth)
{
	struct list names = { 0 };
	struct dirent *entry;
	DIR *dir = opendir(path);
	size_t i;

	if (dir == NULL) {
		read_file(r, path, depth);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			list_add(&names, entry->d_name);
	}
	closedir(dir);
	list_sort(&names);
	for (i = 0; i < names.num; i++)
		read_file(r, text("%s/%s", path, names.at[i]), depth);
}

/* "include <NAME>", "include if exists "PATH"", with or without # before; NULL: another line. */
static const char *included(const char *line)
{
	const char *s = line + (*line == '#'), *end;

	if (!starts_with(s, "include") || strchr(" \t<\"", s[7]) == NULL)
		return NULL;
	s += strcspn(s, "<\"");
	end = *s == '\0' ? s : strpbrk(s + 1, ">\"");
	if (end == NULL || *s == '\0')
		return NULL;
	return *s == '<' ? rooted(text(PROFILES "/%.*s", (int)(end - s - 1), s + 1)) :
			   rooted(text("%.*s", (int)(end - s - 1), s + 1));
}

static void read_line(struct reader *r, char *line, unsigned depth)
{
	const char *file;
	size_t len;

	line += strspn(line, " \t");
	file = included(line);
	if (file != NULL) {
		if (depth < INCLUDES_MAX)
			include(r, file, depth + 1);
		return;
	}
	line[strcspn(line, "#")] = '\0';
	for (len = strlen(line); len != 0 && strchr(" \t\r", line[len - 1]) != NULL; len--)
		line[len - 1] = '\0';
	if (starts_with(line, "@{") && strchr(line, '=') != NULL)
		set_variable(r, line);
	else if (*line != '\0')
		list_add(&r->lines, line);
}

static void read_file(struct reader *r, const char *path, unsigned depth)
{
	const char *data = file_read(path, NULL);
	struct list lines = { 0 };
	size_t i;

	if (data == NULL)
		return;
	list_split(&lines, data, "\n");
	for (i = 0; i < lines.num; i++)
		read_line(r, lines.at[i], depth);
}

/* ---------------------------------------------------------------- rules */

/* What a profile says of one file. */
struct answer {
	bool can_read, can_map, is_denied;
};

static bool is_permissions(const char *s)
{
	return *s != '\0' && s[strspn(s, "rwamlkxiIpPcCuU")] == '\0';
}

/* "[owner] PATH PERMISSIONS,", "deny …", "PERMISSIONS PATH,", "file," */
static void read_rule(const struct reader *r, const char *line, const char *file, struct answer *answer)
{
	struct list words = { 0 };
	bool is_deny = false;
	const char *path, *permissions;
	size_t i = 0;

	list_split(&words, ends_with(line, ",") ? text("%.*s", (int)strlen(line) - 1, line) : line, " \t\"");
	for (; i < words.num; i++) {
		is_deny = is_deny || strcmp(words.at[i], "deny") == 0;
		if (strcmp(words.at[i], "audit") != 0 && strcmp(words.at[i], "allow") != 0 &&
		    strcmp(words.at[i], "owner") != 0 && strcmp(words.at[i], "quiet") != 0 &&
		    strcmp(words.at[i], "deny") != 0 && strcmp(words.at[i], "file") != 0)
			break;
	}
	if (i == words.num && i != 0 && strcmp(words.at[i - 1], "file") == 0 && !is_deny) {
		answer->can_read = answer->can_map = true;
		return;
	}
	if (words.num - i < 2)
		return;
	path = words.at[i];
	permissions = words.at[i + 1];
	if (is_permissions(path)) {
		path = words.at[i + 1];
		permissions = words.at[i];
	}
	if ((*path != '/' && *path != '@' && *path != '{') || !is_permissions(permissions) ||
	    !matches(expand(r, path, 0), file))
		return;
	if (is_deny) {
		answer->is_denied = answer->is_denied || strpbrk(permissions, "rm") != NULL;
	} else {
		answer->can_read = answer->can_read || strchr(permissions, 'r') != NULL;
		answer->can_map = answer->can_map || strchr(permissions, 'm') != NULL;
	}
}

/* ---------------------------------------------------------------- profiles */

/* What runs, and under which profile; NULL: under the one for its path. */
struct confined {
	const char *program, *profile;
	bool is_found;			/* a file has that profile */
};

/* The profile that a line opens for it: its name, or NULL. `*ret_is_lax`: it forbids nothing. */
static const char *opened(const struct reader *r, const char *line, const struct confined *what, bool *ret_is_lax)
{
	struct list words = { 0 };
	const char *name, *attachment;
	size_t first;

	list_split(&words, text("%.*s", (int)strlen(line) - 1, line), " \t\"");
	if (words.num == 0)
		return NULL;
	first = strcmp(words.at[0], "profile") == 0 && words.num > 1;
	name = words.at[first];
	attachment = first == 1 && words.num > 2 && strchr("/@{", words.at[2][0]) != NULL ? words.at[2] : name;
	*ret_is_lax = strstr(line, "complain") != NULL || strstr(line, "unconfined") != NULL;
	if (what->profile != NULL)
		return strcmp(name, what->profile) == 0 ? name : NULL;
	if (strchr("/@{", *attachment) == NULL)
		return NULL;
	return matches(expand(r, attachment, 0), what->program) ? name : NULL;
}

/* Is the profile loaded, and enforced? What is loaded may be root's secret: then its file counts. */
static bool is_enforced(const char *name)
{
	const char *loaded = file_read(rooted("/sys/kernel/security/apparmor/profiles"), NULL);

	return loaded == NULL || starts_with(loaded, text("%s (enforce)", name)) ||
	       strstr(loaded, text("\n%s (enforce)", name)) != NULL;
}

static const char *look_in(const char *file, struct confined *what, const char *library)
{
	struct reader *r = must(calloc(1, sizeof(*r)));
	struct answer answer = { 0 };
	const char *name = NULL;
	unsigned depth = 0;
	bool is_lax = false;
	size_t i;

	read_file(r, rooted(text(PROFILES "/%s", file)), 0);
	for (i = 0; i < r->lines.num; i++) {
		const char *line = r->lines.at[i];

		if (ends_with(line, "{")) {
			if (depth == 0)
				name = opened(r, line, what, &is_lax);
			depth++;
		} else if (*line == '}') {
			depth -= depth != 0;
			if (depth == 0 && name != NULL)
				break;
		} else if (depth == 1 && name != NULL) {
			read_rule(r, line, library, &answer);
		}
	}
	what->is_found = what->is_found || name != NULL;
	if (name == NULL || is_lax || !is_enforced(name) || (answer.can_read && answer.can_map && !answer.is_denied))
		return NULL;
	return text("AppArmor's profile %s keeps %s from %s. Add \"%s/** mr,\" to " PROFILES "/local/%s, "
		    "and load it: apparmor_parser -r " PROFILES "/%s.",
		    name, what->program, dir_name(library), dir_name(library), file, file);
}

static bool is_switched_off(const char *file)
{
	return access(rooted(text(PROFILES "/disable/%s", file)), F_OK) == 0 ||
	       access(rooted(text(PROFILES "/force-complain/%s", file)), F_OK) == 0;
}

const char *apparmor_forbids(const char *path, const char *profile, const char *library)
{
	struct confined what = { .program = path, .profile = profile };
	const char *reason = NULL;
	struct list files = { 0 };
	struct dirent *entry;
	DIR *dir = opendir(rooted(PROFILES));
	size_t i;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.' && strchr(entry->d_name, '~') == NULL &&
		    strstr(entry->d_name, ".dpkg-") == NULL)
			list_add(&files, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	list_sort(&files);
	for (i = 0; i < files.num && reason == NULL; i++) {
		if (!is_switched_off(files.at[i]))
			reason = look_in(files.at[i], &what, library);
	}
	/* systemd goes on without a profile that is not there, if told to. */
	if (profile != NULL && !what.is_found)
		return apparmor_forbids(path, NULL, library);
	return reason;
}
