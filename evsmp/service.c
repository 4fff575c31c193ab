/*
 * enable and disable: a drop-in for a service of systemd that sets LD_LIBRARY_PATH.
 *
 * The environment, and not another ExecStart=: it reaches the program also through wrapper scripts, and stays right
 * when the unit's command changes. It does not if the unit's own LD_LIBRARY_PATH does, and `status` tells that.
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "dropin.h"
#include "judge.h"
#include "mac.h"
#include "owner.h"
#include "sandbox.h"
#include "systemctl.h"
#include "unit.h"
#include "variables.h"

/* systemd's own PATH */
#define SEARCH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum { FLAG_DRY_RUN = 1, FLAG_NOW = 2 };

static const char *const flags[] = { "--dry-run", "--now", NULL };

/* ---------------------------------------------------------------- can it work? */

/* The loader is asked with what the service will have, not with what the shell of its administrator has. */
static void use_environment_of(const struct unit *u)
{
	static const char *const names[] = { "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = variables_get(u, names[i]);

		if (value == NULL ? unsetenv(names[i]) : setenv(names[i], value, 1))
			die(EVSMP_SYSTEM, "out of memory");
	}
}

static struct caller caller_of(const struct unit *u)
{
	const char *user = unit_last(u, "User"), *profile = unit_last(u, "AppArmorProfile");
	const struct passwd *pw = user == NULL ? NULL : getpwnam(user);
	struct caller caller = { .profile = profile == NULL ? NULL : profile + (*profile == '-'),
				 .search = SEARCH };

	if (unit_is_on(u, "DynamicUser") || (user != NULL && pw == NULL)) {
		caller.uid = 65534;
		caller.gid = 65534;
	} else if (pw != NULL) {
		caller.uid = pw->pw_uid;
		caller.gid = pw->pw_gid;
	}
	return caller;
}

/* The words of an ExecStart= without what stands before the program's path. */
static struct list command_words(const char *value)
{
	bool has_name = value[strspn(value, "-:+!|")] == '@';
	struct list words = unit_split(value + strspn(value, "@-:+!|"));

	if (has_name && words.num > 1) {	/* the second word is the program's name for itself */
		memmove(&words.at[1], &words.at[2], (words.num - 1) * sizeof(*words.at));
		words.num--;
	}
	return words;
}

static struct verdict judge_start(const struct unit *u, const char *value)
{
	struct list words = command_words(value);
	struct caller caller = caller_of(u);

	if (words.num == 0 || strpbrk(words.at[0], "%$") != NULL)
		die(EVSMP_CANNOT_FOLLOW,
		    "which program %s starts cannot be told from \"%s\". Use evsmp env in the unit itself.", u->name,
		    value);
	return judge(&words, &caller);
}

/* The best verdict of all commands. Ends the process where none of them can use the libraries. */
static struct verdict judge_service(const struct unit *u)
{
	struct list starts = unit_values(u, "ExecStart");
	struct verdict best = { .status = EVSMP_OK }, v;
	size_t i;

	if (starts.num == 0)
		die(EVSMP_NO_SERVICE, "%s starts no program. Name a service that does.", u->name);
	for (i = 0; i < starts.num; i++) {
		v = judge_start(u, starts.at[i]);
		if (i == 0 || v.status == EVSMP_OK)
			best = v;
	}
	if (best.status != EVSMP_OK && best.status != EVSMP_UNKNOWN)
		die(best.status, "%s", best.reason);
	return best;
}

/* ---------------------------------------------------------------- what systemd must do */

static void restart_or_say(const char *name, unsigned on)
{
	const char *command;

	if ((on & FLAG_NOW) != 0 && systemctl_restart(name))
		return;
	command = systemctl_restart_command(name);
	if (command != NULL)
		printf("It takes effect with the next start: %s\n", command);
	else
		puts("It takes effect with the next start of an instance; none runs now.");
}

static void apply(const char *name, unsigned on, const char *done)
{
	systemctl_reload();
	printf("%s %s.\n", name, done);
	restart_or_say(name, on);
}

/* The file is as it should be. But systemd may have failed to read it, or the service did not start since. */
static void apply_again(const char *name, unsigned on)
{
	if ((on & FLAG_DRY_RUN) != 0)
		return;
	systemctl_reload();
	if ((on & FLAG_NOW) != 0)
		restart_or_say(name, on);
}

/* ---------------------------------------------------------------- enable */

static void show(const char *path, const char *content)
{
	printf("%s:\n\n%s\n", path, content);
	fflush(stdout);
}

/* Without a directory there is nothing that `enable` of another service could have left. */
static void make_dir(const char *dir)
{
	(void)umask(022);	/* others may read what is set for a service, as all of its files */
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		die(EVSMP_SYSTEM, "%s cannot be made: %s. Run evsmp as root, on a system with systemd.", dir,
		    strerror(errno));
}

static void say_of_selinux(void)
{
	if (mac_is_selinux_enforcing())
		say_note("SELinux is on, and may let the loader ignore the setting. evsmp status tells once the "
			 "service runs.");
}

/* Ends the process where the service cannot run on the libraries. */
static struct verdict insist(const struct unit *u, const char *workers)
{
	struct verdict v = judge_service(u);
	const char *reason, *real;

	/* Not a link to it in the home directory of one user. */
	if (!libdir_is_plain(v.libdir))
		die(EVSMP_NAME,
		    "the name of \"%s\" has letters that systemd or the loader would split. "
		    "Make a link to it without them, which all may read, and name that in EVSMP_LIBDIR.",
		    v.libdir);
	reason = owner_objects(v.libdir);
	if (reason != NULL)
		die(EVSMP_REPLACEABLE,
		    "%s, and so could replace libraries of a service. Install libevent-smp where only root may write.",
		    reason);
	reason = variables_forbid(u, workers);
	if (reason == NULL)
		reason = sandbox_forbids(u, v.libdir);
	if (reason == NULL && (real = realpath(v.libdir, NULL)) != NULL)
		reason = sandbox_forbids(u, real);
	if (reason != NULL)
		die(EVSMP_SANDBOX, "%s", reason);
	return v;
}

static void write_dropin(const struct unit *u, const char *content, bool is_dir_new)
{
	const char *dir = unit_dropin_dir(u->name), *path = unit_dropin_path(u->name), *reason;

	make_dir(dir);
	if (dropin_write(path, content))
		return;
	reason = strerror(errno);
	if (is_dir_new)
		(void)rmdir(dir);
	die(EVSMP_SYSTEM, "%s cannot be written: %s. Run evsmp as root.", path, reason);
}

enum status command_enable(int argc, char **argv)
{
	const char *workers = NULL, *path, *content, *old;
	bool is_dir_made;
	struct verdict v;
	struct unit u;
	unsigned on = 0;
	int first = command_options("enable", argc, argv, &workers, flags, &on);

	u = unit_read(command_one_service("enable", argc - first, argv + first));
	use_environment_of(&u);
	v = insist(&u, workers);
	if (v.status == EVSMP_UNKNOWN)
		say_note("%s", v.reason);

	path = unit_dropin_path(u.name);
	old = file_read(path, NULL);
	if (old != NULL)
		dropin_insist_on_ours(path, old);
	is_dir_made = old == NULL ? access(unit_dropin_dir(u.name), F_OK) < 0 : dropin_made_dir(old);
	content = dropin_compose(&u, v.libdir, workers, is_dir_made);
	if (old != NULL && strcmp(old, content) == 0) {
		printf("%s is enabled already (%s).\n", u.name, path);
		apply_again(u.name, on);
		return EVSMP_OK;
	}
	show(path, content);
	say_of_selinux();
	if ((on & FLAG_DRY_RUN) != 0)
		return EVSMP_OK;
	write_dropin(&u, content, is_dir_made && old == NULL);
	apply(u.name, on, "is enabled");
	return EVSMP_OK;
}

/* ---------------------------------------------------------------- disable */

/* What is enabled for all instances cannot be disabled for one. */
static void insist_on_no_template(const char *name)
{
	const char *template = unit_template(name);

	if (template != NULL && access(unit_dropin_path(template), F_OK) == 0)
		die(EVSMP_USAGE, "%s is enabled with all instances of %s. Disable them all: evsmp disable %s.", name,
		    template, text_for_shell(template));
}

enum status command_disable(int argc, char **argv)
{
	const char *name, *path, *content;
	unsigned on = 0;
	int first = command_options("disable", argc, argv, NULL, flags, &on);

	name = unit_enabled_name(command_one_service("disable", argc - first, argv + first));
	path = unit_dropin_path(name);
	content = file_read(path, NULL);
	if (content == NULL) {
		insist_on_no_template(name);
		printf("%s is not enabled.\n", name);
		apply_again(name, on);
		return EVSMP_OK;
	}
	dropin_insist_on_ours(path, content);
	show(path, content);
	if ((on & FLAG_DRY_RUN) != 0)
		return EVSMP_OK;
	if (unlink(path) < 0)
		die(EVSMP_SYSTEM, "%s cannot be removed: %s. Run evsmp as root.", path, strerror(errno));
	if (dropin_made_dir(content))
		(void)rmdir(unit_dropin_dir(name));	/* it stays if others have put something into it */
	apply(name, on, "is disabled; the file is removed");
	return EVSMP_OK;
}
