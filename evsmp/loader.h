/*
 * What the loader would do, as the loader itself tells: it runs with the environment that `run` makes, and only lists.
 */
#ifndef EVSMP_LOADER_H
#define EVSMP_LOADER_H

#include "program.h"

struct loaded {
	const char *name;	/* as the program needs it */
	const char *path;	/* NULL: not found */
	bool is_unasked;	/* no program needs it by this name: preloaded, or needed with its path */
};

struct loader_answer {
	struct loaded *objects;
	size_t num;
	struct list undefined;	/* functions and variables that nobody has */
	const char *error;	/* its first complaint about anything else, or NULL */
};

/* `library_path`: LD_LIBRARY_PATH; NULL: as the system is. */
struct loader_answer loader_ask(const struct program *program, const char *library_path);

#endif
