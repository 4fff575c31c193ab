#include "systemctl.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "unit.h"

static bool has_systemd(void)
{
	return !is_rooted() && access("/run/systemd/system", F_OK) == 0;
}

/* False: it failed, and has said why. */
static bool systemctl(const char *command, const struct list *units)
{
	struct list words = { 0 };
	size_t i;

	int status = -1;
	pid_t pid;

	list_add(&words, "systemctl");
	list_add(&words, command);
	for (i = 0; i < units->num; i++)
		list_add(&words, units->at[i]);
	(void)signal(SIGCHLD, SIG_DFL);		/* ignored, it would take the status away */
	pid = fork();
	if (pid == 0) {
		execvp(words.at[0], words.at);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

void systemctl_reload(void)
{
	struct list none = { 0 };

	if (has_systemd() && !systemctl("daemon-reload", &none))
		die(EVSMP_SYSTEM, "systemctl daemon-reload failed. Run the same command again when systemd works.");
}

/* ---------------------------------------------------------------- restart */

struct running {
	const char *template;
	struct list instances;
};

static void add_instance(pid_t pid, void *arg)
{
	struct running *r = arg;
	const char *name = process_unit(pid, r->template);

	if (name != NULL && !list_has(&r->instances, name))
		list_add(&r->instances, name);
}

/* What is to be restarted: the service, or the instances of a template that run. */
static struct list units_of(const char *name)
{
	struct running r = { .template = name };

	if (!unit_is_template(name)) {
		list_add(&r.instances, name);
		return r.instances;
	}
	process_each(add_instance, &r);
	list_sort(&r.instances);
	return r.instances;
}

const char *systemctl_restart_command(const char *name)
{
	struct list units = units_of(name);
	const char *command = "systemctl restart";
	size_t i;

	for (i = 0; i < units.num; i++)
		command = text("%s %s", command, text_for_shell(units.at[i]));
	return units.num == 0 ? NULL : command;
}

bool systemctl_restart(const char *name)
{
	struct list units = units_of(name);

	if (!has_systemd() || units.num == 0)
		return false;
	if (!systemctl("try-restart", &units))
		die(EVSMP_SYSTEM,
		    "%s did not start again. See journalctl -u %s; evsmp disable undoes evsmp enable.",
		    unit_is_template(name) ? text("an instance of %s", name) : name,
		    unit_is_template(name) ? text("'%.*s@*'", (int)strcspn(name, "@"), name) : text_for_shell(name));
	return true;
}
