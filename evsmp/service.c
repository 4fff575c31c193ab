/*
 * enable, disable and status: a drop-in for a service of systemd that sets LD_LIBRARY_PATH.
 *
 * The environment, and not another ExecStart=: it reaches the program also through wrapper scripts, and stays right
 * when the unit changes. `disable` removes exactly what `enable` wrote: the file has a checksum of itself, and says
 * whether its directory was made for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "judge.h"
#include "mac.h"
#include "process.h"
#include "sandbox.h"
#include "unit.h"

#define CHECKSUM "# checksum: "
#define MADE "# directory: made with this file\n"

enum { FLAG_DRY_RUN = 1, FLAG_NOW = 2 };

static const char *const flags[] = { "--dry-run", "--now", NULL };

/* ---------------------------------------------------------------- the drop-in */

/* % begins a specifier. */
static const char *escape(const char *s)
{
	const char *out = "";
	size_t len;

	for (; *s != '\0'; s += len) {
		len = strcspn(s, "%");
		out = text("%s%.*s%s", out, (int)len, s, s[len] == '%' ? "%%" : "");
		len += s[len] == '%';
	}
	return out;
}

/* What the unit has in a variable; NULL: it does not set it. */
static const char *variable(const struct unit *u, const char *name)
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

/* Within quotes, and a % begins a specifier already where the unit has one. */
static const char *quote(const char *s)
{
	const char *out = "";

	for (; *s != '\0'; s++)
		out = text("%s%s%c", out, *s == '"' || *s == '\\' ? "\\" : "", *s);
	return out;
}

static const char *compose(const struct unit *u, const char *libdir, const char *workers, bool is_dir_made)
{
	const char *others = variable(u, "LD_LIBRARY_PATH");
	const char *body = text("# Lets %s run on libevent-smp. Written by evsmp enable; evsmp disable removes it.\n"
				"%s[Service]\nEnvironment=\"LD_LIBRARY_PATH=%s\"\n",
				u->name, is_dir_made ? MADE : "",
				libdir_before(escape(libdir), others == NULL ? NULL : quote(others)));

	if (workers != NULL)
		body = text("%sEnvironment=\"EVENT_WORKERS=%s\"\n", body, workers);
	return text(CHECKSUM "%016" PRIx64 "\n%s", text_hash(body), body);
}

/* Is it as compose() made it? */
static bool is_ours(const char *content)
{
	const char *body = strchr(content, '\n');

	return starts_with(content, CHECKSUM) && body != NULL &&
	       strtoull(content + strlen(CHECKSUM), NULL, 16) == text_hash(body + 1);
}

static void check_ours(const char *path, const char *content)
{
	if (!is_ours(content))
		die(EVSMP_NOT_OURS,
		    "%s was changed after evsmp wrote it. Remove it yourself, then run systemctl daemon-reload.",
		    path);
}

/* In one step: systemd never reads half of it. False: errno says why, and nothing has changed. */
static bool write_file(const char *path, const char *content)
{
	const char *fresh = text("%s.new", path);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	ssize_t n;
	int err;

	if (fd < 0)
		return false;
	errno = ENOSPC;		/* for a write that is not whole */
	n = write(fd, content, strlen(content));
	if (n == (ssize_t)strlen(content) && fchmod(fd, 0644) == 0 && fsync(fd) == 0 && rename(fresh, path) == 0) {
		close(fd);
		return true;
	}
	err = errno;
	close(fd);
	(void)unlink(fresh);
	errno = err;
	return false;
}

/* ---------------------------------------------------------------- systemd */

static bool has_systemd(void)
{
	return !is_rooted() && access("/run/systemd/system", F_OK) == 0;
}

/* False: it failed, and has said why. */
static bool systemctl(const char *command, const char *unit)
{
	int status = -1;
	pid_t pid;

	(void)signal(SIGCHLD, SIG_DFL);		/* ignored, it would take the status away */
	pid = fork();
	if (pid == 0) {
		execlp("systemctl", "systemctl", command, unit, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

static void reload(void)
{
	if (has_systemd() && !systemctl("daemon-reload", NULL))
		die(EVSMP_SYSTEM, "systemctl daemon-reload failed. Run it when systemd works again.");
}

static void restart_or_say(const char *name, unsigned on)
{
	if ((on & FLAG_NOW) != 0 && has_systemd()) {
		if (!systemctl("try-restart", name))
			die(EVSMP_SYSTEM,
			    "%s did not start again. See journalctl -u %s; evsmp disable undoes evsmp enable.", name,
			    name);
		return;
	}
	printf("It takes effect with the next start: systemctl restart %s\n", name);
}

/* ---------------------------------------------------------------- can it work? */

/* The loader is asked with what the service will have, not with what the shell of its administrator has. */
static void use_environment_of(const struct unit *u)
{
	static const char *const names[] = { "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = variable(u, names[i]);

		if (value == NULL ? unsetenv(names[i]) : setenv(names[i], value, 1))
			die(EVSMP_SYSTEM, "out of memory");
	}
}

static struct caller caller_of(const struct unit *u)
{
	const char *user = unit_last(u, "User");
	const struct passwd *pw = user == NULL ? NULL : getpwnam(user);

	if (unit_is_on(u, "DynamicUser") || (user != NULL && pw == NULL))
		return (struct caller){ 65534, 65534 };
	return pw == NULL ? (struct caller){ 0, 0 } : (struct caller){ pw->pw_uid, pw->pw_gid };
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

/* The verdict on what a command starts: also a program that its arguments name, if it is a shell or the like. */
static struct verdict judge_command(const struct unit *u, const char *value)
{
	struct list words = command_words(value), named = { 0 };
	struct caller caller = caller_of(u);
	struct verdict v, inner;
	size_t i;

	if (words.num == 0 || strpbrk(words.at[0], "%$") != NULL)
		die(EVSMP_CANNOT_FOLLOW,
		    "which program %s starts cannot be told from \"%s\". Use evsmp env in the unit itself.", u->name,
		    value);
	v = judge(program_find(words.at[0], "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), &caller);
	if (v.status != EVSMP_UNKNOWN)
		return v;
	for (i = 1; i < words.num; i++)
		program_add_named(&named, words.at[i]);
	for (i = 0; i < named.num; i++) {
		inner = judge(named.at[i], &caller);
		if (i == 0 || inner.status == EVSMP_OK)
			v = inner;
	}
	return v;
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
		v = judge_command(u, starts.at[i]);
		if (i == 0 || v.status == EVSMP_OK)
			best = v;
	}
	if (best.status != EVSMP_OK && best.status != EVSMP_UNKNOWN)
		die(best.status, "%s", best.reason);
	return best;
}

/* ---------------------------------------------------------------- enable */

static const char *one_service(const char *command, int argc, char **argv)
{
	if (argc != 1)
		die(EVSMP_USAGE, "%s: one service, please (evsmp --help tells).", command);
	return argv[0];
}

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

enum status command_enable(int argc, char **argv)
{
	const char *workers = NULL, *dir, *path, *content, *old, *reason, *real;
	bool is_dir_made;
	struct verdict v;
	struct unit u;
	unsigned on = 0;
	int first = command_options("enable", argc, argv, &workers, flags, &on);

	u = unit_read(one_service("enable", argc - first, argv + first));
	use_environment_of(&u);
	v = judge_service(&u);
	/* Not a link to it in the home directory of one user. */
	if (!libdir_is_plain(v.libdir))
		die(EVSMP_NAME,
		    "the name of \"%s\" has letters that systemd or the loader would split. "
		    "Make a link to it without them, which all may read, and name that in EVSMP_LIBDIR.",
		    v.libdir);
	reason = sandbox_forbids(&u, v.libdir);
	if (reason == NULL && (real = realpath(v.libdir, NULL)) != NULL)
		reason = sandbox_forbids(&u, real);
	if (reason != NULL)
		die(EVSMP_SANDBOX, "%s", reason);
	if (v.status == EVSMP_UNKNOWN)
		say_note("%s", v.reason);

	dir = unit_dropin_dir(u.name);
	path = unit_dropin_path(u.name);
	old = file_read(path, NULL);
	if (old != NULL)
		check_ours(path, old);
	is_dir_made = old == NULL ? access(dir, F_OK) < 0 : strstr(old, MADE) != NULL;
	content = compose(&u, v.libdir, workers, is_dir_made);
	if (old != NULL && strcmp(old, content) == 0) {
		printf("%s is enabled already (%s).\n", u.name, path);
		return EVSMP_OK;
	}
	show(path, content);
	say_of_selinux();
	if ((on & FLAG_DRY_RUN) != 0)
		return EVSMP_OK;
	make_dir(dir);
	if (!write_file(path, content)) {
		reason = strerror(errno);
		if (is_dir_made && old == NULL)
			(void)rmdir(dir);
		die(EVSMP_SYSTEM, "%s cannot be written: %s. Run evsmp as root.", path, reason);
	}
	reload();
	printf("%s is enabled.\n", u.name);
	restart_or_say(u.name, on);
	return EVSMP_OK;
}

/* ---------------------------------------------------------------- disable */

/* The service may be gone, and what enabled it not. */
static const char *enabled_name(const char *name)
{
	const char *full = ends_with(name, ".service") ? name : text("%s.service", name);

	return strchr(full, '/') == NULL && access(unit_dropin_path(full), F_OK) == 0 ? full : unit_read(name).name;
}

enum status command_disable(int argc, char **argv)
{
	const char *name, *path, *content;
	unsigned on = 0;
	int first = command_options("disable", argc, argv, NULL, flags, &on);

	name = enabled_name(one_service("disable", argc - first, argv + first));
	path = unit_dropin_path(name);
	content = file_read(path, NULL);
	if (content == NULL) {
		printf("%s is not enabled.\n", name);
		return EVSMP_OK;
	}
	check_ours(path, content);
	show(path, content);
	if ((on & FLAG_DRY_RUN) != 0)
		return EVSMP_OK;
	if (unlink(path) < 0)
		die(EVSMP_SYSTEM, "%s cannot be removed: %s. Run evsmp as root.", path, strerror(errno));
	if (strstr(content, MADE) != NULL)
		(void)rmdir(unit_dropin_dir(name));	/* it stays if others have put something into it */
	reload();
	printf("%s is disabled; the file is removed.\n", name);
	restart_or_say(name, on);
	return EVSMP_OK;
}

/* ---------------------------------------------------------------- status */

struct usage {
	const char *unit;
	unsigned ours, stock, others, hidden;
};

static void show_process(pid_t pid, void *arg)
{
	struct usage *usage = arg;
	struct process p;

	if (!process_is_in_unit(pid, usage->unit))
		return;
	if (!process_read(pid, &p)) {
		usage->hidden += errno == EACCES || errno == EPERM;
		return;
	}
	if (p.engine != NULL)
		printf("  %d %s: libevent-smp %s in %s%s\n", (int)pid, shown(p.program),
		       p.version == NULL ? "?" : shown(p.version), shown(dir_name(p.engine)),
		       p.is_replaced ? ", replaced since" : "");
	if (p.stock != NULL)
		printf("  %d %s: %s, not libevent-smp\n", (int)pid, shown(p.program), shown(p.stock));
	usage->ours += p.engine != NULL;
	usage->stock += p.stock != NULL;
	usage->others += p.engine == NULL && p.stock == NULL;
}

/* What the drop-in names: between `before` and one of `end`; NULL: nothing. */
static const char *named_in(const char *content, const char *before, const char *end)
{
	const char *at = strstr(content, before);

	return at == NULL ? NULL : text("%.*s", (int)strcspn(at + strlen(before), end), at + strlen(before));
}

static bool show_enabled(const char *name, const char *content)
{
	const char *workers, *dir;

	if (content == NULL) {
		printf("%s: not enabled\n", name);
		return false;
	}
	workers = named_in(content, "\"EVENT_WORKERS=", "\"");
	dir = named_in(content, "\"LD_LIBRARY_PATH=", ":\"");
	printf("%s: enabled%s%s%s\n", name, workers == NULL ? "" : ", workers: ", workers == NULL ? "" : workers,
	       is_ours(content) ? "" : " (the drop-in was changed after evsmp wrote it)");
	if (dir != NULL && strchr(dir, '%') == NULL && access(text("%s/%s", dir, ENGINE), F_OK) < 0)
		printf("  %s holds no libraries any more: evsmp enable %s, or disable it\n", dir, name);
	return true;
}

static enum status status_of(const char *name)
{
	struct usage usage = { .unit = name };
	bool is_enabled = show_enabled(name, file_read(unit_dropin_path(name), NULL));

	process_each(show_process, &usage);
	if (usage.hidden != 0) {
		printf("  processes of it that could not be looked at: %u; root sees them\n", usage.hidden);
		return EVSMP_UNKNOWN;
	}
	if (usage.ours + usage.stock + usage.others == 0)
		puts("  it does not run");
	else if (usage.ours + usage.stock == 0)
		puts("  it runs, and no process of it has a libevent loaded");
	else if (is_enabled && usage.stock != 0)
		printf("  it began before it was enabled, or does not obey: systemctl restart %s\n", name);
	else if (!is_enabled && usage.ours != 0)
		printf("  it began before it was disabled, or was set up otherwise: systemctl restart %s\n", name);
	return usage.ours != 0 && usage.stock == 0 ? EVSMP_OK : EVSMP_NOT_IN_USE;
}

enum status command_status(int argc, char **argv)
{
	int first = command_options("status", argc, argv, NULL, NULL, NULL);
	enum status all = EVSMP_OK, one;
	struct list names;
	size_t i;

	if (argc - first > 0)
		return status_of(enabled_name(one_service("status", argc - first, argv + first)));
	names = unit_enabled_list();
	if (names.num == 0)
		puts("No service is enabled.");
	for (i = 0; i < names.num; i++) {
		one = status_of(names.at[i]);
		if (all == EVSMP_OK)
			all = one;
	}
	return all;
}
