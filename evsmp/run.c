/*
 * run, check and env: a program with its arguments. They judge it in the same way, so `run` starts what `check` finds
 * good, and refuses the rest with the same words and the same status.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "judge.h"
#include "signals.h"

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
	struct verdict v = judge_arguments(argv);

	insist(&v);
	if (setenv("LD_LIBRARY_PATH", libdir_before_others(v.library_path), 1) < 0 ||
	    (workers != NULL && setenv("EVENT_WORKERS", workers, 1) < 0))
		die(EVSMP_SYSTEM, "out of memory");
	signals_give_back();
	execv(v.path, argv);
	die(errno == ENOENT ? EVSMP_NOT_FOUND : EVSMP_NOT_EXECUTABLE, "%s cannot be started: %s.", v.path,
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
	if (v->facts.num != 0 && v->program.scripts.num == 0 && !v->has_followed)
		printf("%s loads:\n", shown(v->program.binary));
	for (i = 0; i < v->facts.num; i++)
		printf("  %s\n", shown(v->facts.at[i]));
	for (i = 0; v->status == EVSMP_OK && i < v->named.num; i++)
		printf("%s names %s, which can run on libevent-smp.\n", shown(v->program.path),
		       shown(v->named.at[i]));
	if (v->status == EVSMP_OK && v->named.num == 0)
		puts("All functions that it needs are there: it runs on libevent-smp.");
}

enum status command_check(int argc, char **argv)
{
	struct verdict v;
	int first = command_options("check", argc, argv, NULL, NULL, NULL);

	if (argc == first)
		die(EVSMP_USAGE, "check: which program? (evsmp --help tells)");
	v = judge_arguments(argv + first);
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
	if (argc > 0) {
		v = judge_arguments(argv);
		insist(&v);
		name = v.library_path;
	} else {
		name = libdir_name_for_loader(libdir_for(NULL, NULL).path);
	}
	printf("LD_LIBRARY_PATH=%s\n", libdir_before_others(name));
	return EVSMP_OK;
}
