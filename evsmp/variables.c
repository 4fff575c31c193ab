#include "variables.h"

#include <glob.h>
#include <string.h>

/* ---------------------------------------------------------------- files */

/* The value in "NAME = value", without quotes around it; NULL: the line sets something else. */
static const char *value_in(const char *line, const char *name)
{
	size_t len;

	line += strspn(line, " \t");
	if (!starts_with(line, name))
		return NULL;
	line += strlen(name);
	line += strspn(line, " \t");
	if (*line != '=')
		return NULL;
	line++;
	line += strspn(line, " \t");
	for (len = strlen(line); len > 0 && strchr(" \t", line[len - 1]) != NULL; len--)
		;
	if (len > 1 && strchr("\"'", *line) != NULL && line[len - 1] == *line) {
		line++;
		len -= 2;
	}
	return text("%.*s", (int)len, line);
}

/* The last line counts. NULL: none sets it. */
static const char *value_in_file(const char *path, const char *name)
{
	const char *data = file_read(path, NULL), *value, *last = NULL;
	struct list lines = { 0 };
	size_t i;

	if (data == NULL)
		return NULL;
	list_split(&lines, data, "\r\n");
	for (i = 0; i < lines.num; i++) {
		value = value_in(lines.at[i], name);
		if (value != NULL)
			last = value;
	}
	return last;
}

/*
 * The last file of EnvironmentFile=, whose value is a pattern of glob(3), that sets the variable. NULL: none.
 * `ret_value`: to what, or NULL.
 */
static const char *file_that_sets(const struct unit *u, const char *name, const char **ret_value)
{
	struct list patterns = unit_values(u, "EnvironmentFile");
	const char *root = rooted(""), *last = NULL, *value;
	glob_t files;
	size_t i, j;

	for (i = 0; i < patterns.num; i++) {
		const char *pattern = patterns.at[i] + (patterns.at[i][0] == '-');

		if (glob(text("%s%s", text_for_glob(root), pattern), 0, NULL, &files) != 0)
			continue;
		for (j = 0; j < files.gl_pathc; j++) {
			value = value_in_file(files.gl_pathv[j], name);
			if (value == NULL)
				continue;
			last = text("%s", files.gl_pathv[j] + strlen(root));
			if (ret_value != NULL)
				*ret_value = value;
		}
		globfree(&files);
	}
	return last;
}

/* ---------------------------------------------------------------- what the service gets */

/* "NAME", or "NAME=VALUE" for that value alone; NULL stands for any. */
static bool is_unset(const struct unit *u, const char *name, const char *value)
{
	struct list unset = unit_words(u, "UnsetEnvironment");
	size_t i;

	for (i = 0; i < unset.num && value == NULL; i++) {
		if (starts_with(unset.at[i], text("%s=", name)))
			return true;
	}
	return list_has(&unset, name) || (value != NULL && list_has(&unset, text("%s=%s", name, value)));
}

const char *variables_get(const struct unit *u, const char *name)
{
	const char *value = unit_variable(u, name);

	(void)file_that_sets(u, name, &value);
	return value == NULL || is_unset(u, name, value) ? NULL : value;
}

/* ---------------------------------------------------------------- what a drop-in cannot set */

/* A file counts more than Environment=, and what it sets is not known to be the same tomorrow. */
const char *variables_forbid(const struct unit *u, const char *workers)
{
	const char *file;

	if (is_unset(u, "LD_LIBRARY_PATH", NULL))
		return text("UnsetEnvironment= of %s takes LD_LIBRARY_PATH away. Remove it there (systemctl edit %s).",
			    u->name, text_for_shell(u->name));
	file = file_that_sets(u, "LD_LIBRARY_PATH", NULL);
	if (file != NULL)
		return text("%s sets LD_LIBRARY_PATH for %s, and counts more than a drop-in. Remove the line there.",
			    file, u->name);
	if (workers == NULL)
		return NULL;
	if (is_unset(u, "EVENT_WORKERS", workers))
		return text("UnsetEnvironment= of %s takes EVENT_WORKERS away, so --workers would have no effect. "
			    "Remove it there (systemctl edit %s).",
			    u->name, text_for_shell(u->name));
	file = file_that_sets(u, "EVENT_WORKERS", NULL);
	if (file == NULL)
		return NULL;
	return text("%s sets EVENT_WORKERS for %s, and counts more than a drop-in, so --workers would have no effect. "
		    "Write the number there, and leave --workers out.",
		    file, u->name);
}
