#include "mac.h"

#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

static bool file_begins_with(const char *path, char c)
{
	const char *s = file_read(rooted(path), NULL);

	return s != NULL && *s == c;
}

bool mac_is_selinux_enforcing(void)
{
	return file_begins_with("/sys/fs/selinux/enforce", '1');
}

static bool is_apparmor_on(void)
{
	return file_begins_with("/sys/module/apparmor/parameters/enabled", 'Y');
}

const char *mac_name(void)
{
	if (mac_is_selinux_enforcing())
		return "SELinux, enforcing";
	if (file_begins_with("/sys/fs/selinux/enforce", '0'))
		return "SELinux, permissive";
	return is_apparmor_on() ? "AppArmor" : "none";
}

/* The type in a label USER:ROLE:TYPE:LEVEL; NULL: no label. */
static const char *selinux_type(const char *path)
{
	char label[256];
	ssize_t len = getxattr(path, "security.selinux", label, sizeof(label) - 1);
	struct list parts = { 0 };

	if (len <= 0)
		return NULL;
	label[len] = '\0';
	list_split(&parts, label, ":");
	return parts.num < 3 ? NULL : parts.at[2];
}

/* Every domain may map what is labelled as a library. Only programs with a type of their own have their own domain. */
static const char *selinux_forbids(const char *path, const char *library)
{
	const char *own = selinux_type(path), *type = selinux_type(library);

	if (own == NULL || type == NULL || !ends_with(own, "_exec_t"))
		return NULL;
	if (strcmp(type, "lib_t") == 0 || strcmp(type, "textrel_shlib_t") == 0)
		return NULL;
	return text("SELinux keeps %s (%s) from %s, which has the type %s and not lib_t. Run restorecon -R %s; for a "
		    "directory of "
		    "your own, first semanage fcontext -a -t lib_t '%s(/.*)?'.",
		    path, own, library, type, dir_name(library), dir_name(library));
}

const char *mac_forbids(const struct program *program, const struct caller *caller, const char *library)
{
	char *path = realpath(program->path, NULL), *real = realpath(library, NULL);
	const char *reason = NULL;

	if (path == NULL || real == NULL)
		return NULL;
	if (is_apparmor_on() && (caller->profile == NULL || strcmp(caller->profile, "unconfined") != 0))
		reason = apparmor_forbids(path, caller->profile, real);
	if (reason == NULL && mac_is_selinux_enforcing())
		reason = selinux_forbids(path, real);
	return reason;
}
