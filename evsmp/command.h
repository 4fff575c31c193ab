/*
 * The commands. Each gets the words behind its name, and returns what evsmp exits with.
 */
#ifndef EVSMP_COMMAND_H
#define EVSMP_COMMAND_H

#include "say.h"

enum status command_run(int argc, char **argv);
enum status command_check(int argc, char **argv);
enum status command_env(int argc, char **argv);
enum status command_explore(int argc, char **argv);
enum status command_enable(int argc, char **argv);
enum status command_disable(int argc, char **argv);
enum status command_status(int argc, char **argv);
enum status command_ps(int argc, char **argv);
enum status command_top(int argc, char **argv);
enum status command_metrics(int argc, char **argv);
enum status command_which(int argc, char **argv);
enum status command_doctor(int argc, char **argv);
enum status command_trace(int argc, char **argv);
enum status command_advise(int argc, char **argv);
enum status command_check_colors(int argc, char **argv);

/* What `run` does: this process becomes the program, or ends with a message. `workers`: NULL, or EVENT_WORKERS. */
_Noreturn void run_program(const char *workers, char **argv);
/* The value of --workers; ends the process if it is none. */
const char *command_workers(const char *number);

/* The one word behind `enable` and its like; ends the process if there are none, or more. */
const char *command_one_service(const char *command, int argc, char **argv);

/*
 * Options before the other words. `--workers N` and `--workers=N` set *ret_workers (NULL: the command has no such
 * option); each name in `flags` sets the bit of its place. Returns the number of words that were options.
 */
int command_options(const char *command, int argc, char **argv, const char **ret_workers, const char *const *flags,
		    unsigned *ret_flags);

#endif
