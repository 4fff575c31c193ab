/*
 * Whether a program can run on our libraries: one answer for `check`, `run`, `env` and `enable`.
 */
#ifndef EVSMP_JUDGE_H
#define EVSMP_JUDGE_H

#include "libdir.h"
#include "loader.h"
#include "program.h"

struct verdict {
	enum status status;		/* EVSMP_OK; EVSMP_UNKNOWN; or why it cannot */
	struct list facts;		/* what was found out, a line each */
	const char *reason;		/* unless EVSMP_OK: what is wrong, and what to do */
	const char *path;		/* of the command's program: what is executed */
	struct program program;		/* the same, or what env starts */
	bool has_followed;		/* the facts are about programs that it names */
	struct list named;		/* programs that can run, if the program loads no libevent but names these */
	const char *libdir;		/* of the libraries */
	const char *library_path;	/* what LD_LIBRARY_PATH must begin with */
};

/*
 * A program's name or path, and its arguments, which may name what it starts. `caller`: who starts it. May end the
 * process for what is wrong before the loader is asked.
 */
struct verdict judge(const struct list *words, const struct caller *caller);
/* The same for a command line of this process. */
struct verdict judge_arguments(char **argv);

#endif
