/*
 * What a command or a script starts in turn, as far as its words tell. Nothing is parsed as a shell does it: a cautious
 * look at words finds the programs that are named, and reasons to doubt that these get our libraries.
 */
#ifndef EVSMP_STARTS_H
#define EVSMP_STARTS_H

#include "say.h"

/* A program that starts others where neither its environment nor its files are. */
struct launcher {
	const char *name, *what, *advice;
	bool is_english;		/* its name is also a word of plain texts */
};

/* The system's program at `path`; anybody may have another one of that name. NULL: it is none of them. */
const struct launcher *launcher_of(const char *path);

struct starts {
	bool is_root;			/* who starts it: set-user-ID programs take LD_LIBRARY_PATH from others */
	struct list programs;		/* named by their absolute paths; they can be executed, and load a libevent */
	const char *doubt;		/* why they may not get our libraries, and what to do; NULL: nothing says so */
};

void starts_of_script(struct starts *s, const char *path);
/* Of the words behind a program, which may be commands, as for sh -c, or a command in parts, as for nice. */
void starts_of_words(struct starts *s, const struct list *words);

/* Does the command at `at` start others without the LD_LIBRARY_PATH that it has? env -i does, su -, and exec -c. */
bool starts_anew(const struct list *words, size_t at);

enum env_kind {
	ENV_KEEPS,			/* LD_LIBRARY_PATH, and where the program is found */
	ENV_TAKES,			/* it takes LD_LIBRARY_PATH away */
	ENV_UNSURE,			/* it changes what else decides which libevent is loaded */
};

/* What env(1) does with the words behind it, from `at` on. `rest`: its program and the arguments. */
enum env_kind starts_of_env(const struct list *words, size_t at, struct list *rest);

#endif
