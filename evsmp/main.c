#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "core/os/version.h"
#include "help.h"
#include "signals.h"

static const char usage[] =
	"usage: evsmp run [--workers N] PROGRAM [ARGUMENT...]\n"
	"       evsmp check PROGRAM [ARGUMENT...]\n"
	"       evsmp env [PROGRAM [ARGUMENT...]]\n"
	"       evsmp explore [OPTION...] PROGRAM [ARGUMENT...]\n"
	"       evsmp enable [--dry-run] [--now] [--workers N] SERVICE\n"
	"       evsmp disable [--dry-run] [--now] SERVICE\n"
	"       evsmp status [SERVICE]\n"
	"       evsmp ps\n"
	"       evsmp top [--once] [--json] [--seconds N] [--sort KEY] [--total] [PID]\n"
	"       evsmp metrics [--listen unix:PATH|127.0.0.1:PORT|[::1]:PORT] [PID]\n"
	"       evsmp which\n"
	"       evsmp doctor [PROGRAM]\n"
	"       evsmp trace [--seconds N] [-o FILE] [--latency] PID | PROGRAM [ARGUMENT...]\n"
	"       evsmp advise [--seconds N] [--json] [--svg FILE] PID | PROGRAM [ARGUMENT...]\n"
	"       evsmp check-colors [--color-by=RULE] [--libraries] [--workers N] PROGRAM [ARGUMENT...]\n"
	"       evsmp --help | COMMAND --help | --version\n"
	"\n"
	"Runs programs that were built for libevent 2.1 on libevent-smp. Only the program or service that\n"
	"you name sees the other libraries; nothing else on the system changes.\n"
	"\n"
	"  run      start PROGRAM with libevent-smp in place of libevent\n"
	"  check    can PROGRAM run on libevent-smp? If not: why, and what to do\n"
	"  env      print the setting that `run` makes, for a shell or a service file\n"
	"  explore  run PROGRAM under many orders of its callbacks, and show one that makes it fail\n"
	"  enable   let a service of systemd run on libevent-smp, from its next start on\n"
	"  disable  undo that\n"
	"  status   does SERVICE run on libevent-smp? Without SERVICE: all services that are enabled\n"
	"  ps       processes that have libevent-smp loaded\n"
	"  top      what the workers and colors of a running process do, and what to do about it\n"
	"  metrics  the same numbers for Prometheus\n"
	"  which    the directory and version of the libraries\n"
	"  doctor   what a bug report needs\n"
	"  trace    what each worker does when, as a page for a browser: evsmp-trace(1)\n"
	"  advise   what to color in a program that runs on one thread, and how much faster it will be:\n"
	"           evsmp-advise(1)\n"
	"  check-colors  find races between colors, in a program compiled with -fsanitize=thread:\n"
	"           evsmp-check-colors(1)\n"
	"\n"
	"  --workers N  how many threads run callbacks (EVENT_WORKERS; default: as many as CPUs); 1 turns\n"
	"               parallelism off. A program that colors nothing has one thread either way.\n"
	"  --dry-run    only show what would be written or removed\n"
	"  --now        also restart the service\n"
	"\n"
	"The manual page evsmp(1) has the exit statuses and examples.\n";

static const struct {
	const char *name;
	enum status (*run)(int argc, char **argv);
} commands[] = {
	{ "run", command_run },
	{ "check", command_check },
	{ "env", command_env },
	{ "explore", command_explore },
	{ "enable", command_enable },
	{ "disable", command_disable },
	{ "status", command_status },
	{ "ps", command_ps },
	{ "top", command_top },
	{ "metrics", command_metrics },
	{ "which", command_which },
	{ "doctor", command_doctor },
	{ "trace", command_trace },
	{ "advise", command_advise },
	{ "check-colors", command_check_colors },
};

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* ---------------------------------------------------------------- options */

const char *command_workers(const char *number)
{
	if (number == NULL || *number == '\0' || number[strspn(number, "0123456789")] != '\0')
		die(EVSMP_USAGE, "--workers needs a number, not \"%s\".", number == NULL ? "" : number);
	if (strlen(number) > 4 || atoi(number) < 1 || atoi(number) > 1024)
		die(EVSMP_USAGE, "--workers needs a number from 1 to 1024.");
	return number;
}

static unsigned flag(const char *word, const char *const *flags)
{
	unsigned i;

	for (i = 0; flags != NULL && flags[i] != NULL; i++) {
		if (strcmp(word, flags[i]) == 0)
			return 1U << i;
	}
	return 0;
}

int command_options(const char *command, int argc, char **argv, const char **ret_workers, const char *const *flags,
		    unsigned *ret_flags)
{
	unsigned bit;
	int i;

	for (i = 0; i < argc && argv[i][0] == '-'; i++) {
		bit = flag(argv[i], flags);
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		if (bit != 0) {
			*ret_flags |= bit;
		} else if (ret_workers != NULL && strcmp(argv[i], "--workers") == 0) {
			*ret_workers = command_workers(argv[i + 1]);
			i++;
		} else if (ret_workers != NULL && starts_with(argv[i], "--workers=")) {
			*ret_workers = command_workers(argv[i] + strlen("--workers="));
		} else {
			die(EVSMP_USAGE, "%s has no option %s (evsmp %s --help lists them).", command, argv[i],
			    command);
		}
	}
	return i;
}

const char *command_one_service(const char *command, int argc, char **argv)
{
	if (argc != 1)
		die(EVSMP_USAGE, "%s: one service, please (evsmp --help tells).", command);
	return argv[0];
}

/* ---------------------------------------------------------------- main */

/* What was to be printed may not have been: a full disk, for instance. */
static int end(enum status status)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return (int)status;
	if (signals_pipe_is_broken())
		exit(128 + SIGPIPE);	/* as the shell tells of a program that the signal ends */
	die(EVSMP_SYSTEM, "the answer cannot be written: %s. Free some room, or write it elsewhere.",
	    strerror(errno));
}

int main(int argc, char **argv)
{
	size_t i;

	signals_begin();
	if (argc < 2) {
		fputs(usage, stderr);
		return EVSMP_USAGE;
	}
	if (is_help(argv[1])) {
		fputs(usage, stdout);
		return end(EVSMP_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("evsmp " EC_VERSION);
		return end(EVSMP_OK);
	}
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (argc > 2 && is_help(argv[2])) {
			help_put(commands[i].name, usage);
			return end(EVSMP_OK);
		}
		return end(commands[i].run(argc - 2, argv + 2));
	}
	die(EVSMP_USAGE, "there is no command %s (evsmp --help lists them).", argv[1]);
}
