#include "signals.h"

#include <signal.h>
#include <stddef.h>

static struct sigaction child_before, file_size_before;

static void note_nothing(int sig)
{
	(void)sig;
}

void signals_begin(void)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	/* Beyond a limit for the size of files, a write fails and is reported. */
	const struct sigaction nothing = { .sa_handler = note_nothing, .sa_flags = SA_RESTART };

	(void)sigaction(SIGCHLD, &by_default, &child_before);
	(void)sigaction(SIGXFSZ, &nothing, &file_size_before);
}

void signals_give_back(void)
{
	(void)sigaction(SIGCHLD, &child_before, NULL);
	(void)sigaction(SIGXFSZ, &file_size_before, NULL);
}

bool signals_pipe_is_broken(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}
