/*
 * The program that a name means, and what the kernel does with it: scripts are followed to their interpreter.
 */
#ifndef EVSMP_PROGRAM_H
#define EVSMP_PROGRAM_H

#include <sys/types.h>

#include "elf.h"

struct program {
	const char *path;		/* as it was found: what is executed */
	struct list scripts;		/* `path` and further scripts, if it is one: outermost first */
	const char *binary;		/* what runs in the end: `path`, or the interpreter */
	struct elf elf;			/* its head */
};

/* Who will start it: set-user-ID and capabilities make a difference only to others than the file's user, and root. */
struct caller {
	uid_t uid;
	gid_t gid;
	const char *profile;		/* of AppArmor, which the program will have; NULL: the one for its path */
	const char *search;		/* PATH */
};

struct caller caller_self(void);

/* As execvp() finds it. `search` is a PATH. Ends the process if there is none, or if it cannot be executed. */
const char *program_find(const char *name, const char *search);

/* Ends the process where the kernel would not start it, or where it cannot be followed. */
struct program program_open(const char *path, const struct caller *caller);

#endif
