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
	struct program program;
	const char *libdir;		/* of the libraries */
	const char *library_path;	/* what LD_LIBRARY_PATH must begin with */
};

/* `caller`: who starts it. Ends the process for what is wrong before the loader is asked. */
struct verdict judge(const char *path, const struct caller *caller);
/* The same for a program's path and its arguments, which may name what it starts, as those of a shell do. */
struct verdict judge_command(const struct list *words, const struct caller *caller);

#endif
