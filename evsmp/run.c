/*
 * run, check and env: one program. They judge it in the same way, so `run` starts what `check` finds good, and refuses
 * the rest with the same words and the same status.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "judge.h"
#include "signals.h"

static const char *search_path(void)
{
	const char *path = getenv("PATH");

	return path == NULL ? "/usr/local/bin:/usr/bin:/bin" : path;
}

static struct verdict judge_by_name(const char *name)
{
	struct caller caller = caller_self();

	return judge(program_find(name, search_path()), &caller);
}

/* Ends the process unless the program can be started. */
static void insist(const struct verdict *v)
{
	if (v->status == EVSMP_UNKNOWN)
		say_note("%s", v->reason);
	else if (v->status != EVSMP_OK)
		die(v->status, "%s", v->reason);
}

_Noreturn void run_program(const char *workers, char **argv)
{
	struct verdict v = judge_by_name(argv[0]);

	insist(&v);
	if (setenv("LD_LIBRARY_PATH", libdir_before_others(v.library_path), 1) < 0 ||
	    (workers != NULL && setenv("EVENT_WORKERS", workers, 1) < 0))
		die(EVSMP_SYSTEM, "out of memory");
	signals_give_back();
	execv(v.program.path, argv);
	die(errno == ENOENT ? EVSMP_NOT_FOUND : EVSMP_NOT_EXECUTABLE, "%s cannot be started: %s.", v.program.path,
	    strerror(errno));
}

enum status command_run(int argc, char **argv)
{
	const char *workers = NULL;
	int first = command_options("run", argc, argv, &workers, NULL, NULL);

	if (argc == first)
		die(EVSMP_USAGE, "run: which program? (evsmp --help tells)");
	run_program(workers, argv + first);
}

static void show(const struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->program.scripts.num; i++)
		printf("%s is a script; it is run by %s\n", shown(v->program.scripts.at[i]),
		       shown(i + 1 < v->program.scripts.num ? v->program.scripts.at[i + 1] : v->program.binary));
	if (v->facts.num != 0 && v->program.scripts.num == 0)
		printf("%s loads:\n", shown(v->program.binary));
	for (i = 0; i < v->facts.num; i++)
		printf("  %s\n", shown(v->facts.at[i]));
	if (v->status == EVSMP_OK)
		puts("All functions that it needs are there: it runs on libevent-smp.");
}

enum status command_check(int argc, char **argv)
{
	struct verdict v;
	int first = command_options("check", argc, argv, NULL, NULL, NULL);

	if (argc - first != 1)
		die(EVSMP_USAGE, "check: one program, please (evsmp --help tells).");
	v = judge_by_name(argv[first]);
	show(&v);
	if (v.status != EVSMP_OK)
		die(v.status, "%s", v.reason);
	return EVSMP_OK;
}

enum status command_env(int argc, char **argv)
{
	int first = command_options("env", argc, argv, NULL, NULL, NULL);
	const char *name;
	struct verdict v;

	argc -= first;
	argv += first;
	if (argc > 1)
		die(EVSMP_USAGE, "env: one program at most, please (evsmp --help tells).");
	if (argc == 1) {
		v = judge_by_name(argv[0]);
		insist(&v);
		name = v.library_path;
	} else {
		name = libdir_name_for_loader(libdir_for(NULL, NULL).path);
	}
	printf("LD_LIBRARY_PATH=%s\n", libdir_before_others(name));
	return EVSMP_OK;
}
