#include "systemctl.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

void systemctl_reload(void)
{
	if (has_systemd() && !systemctl("daemon-reload", NULL))
		die(EVSMP_SYSTEM, "systemctl daemon-reload failed. Run the same command again when systemd works.");
}

bool systemctl_restart(const char *name)
{
	if (!has_systemd())
		return false;
	if (!systemctl("try-restart", name))
		die(EVSMP_SYSTEM,
		    "%s did not start again. See journalctl -u %s; evsmp disable undoes evsmp enable.", name, name);
	return true;
}
