/*
 * A running process that has our engine: its control word (core/observe/control.h), by which a tool asks the engine to
 * observe, and the files in which the engine keeps what it saw.
 *
 *	attach_process(pid, &a);		ends evsmp with a message if that cannot be done
 *	attach_want(&a, EC_OBSERVE_TRACE);	and again at least each second, while it is wanted
 *	attach_wait(&a, EC_OBSERVE_TRACE, 2000);
 *	attach_open(&a, &a.control.files[i]);
 *
 * At the end there is nothing to do: another tool may want the same, and what nobody asks for ends within seconds.
 */
#ifndef EVSMP_ATTACH_H
#define EVSMP_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/observe/control.h"
#include "process.h"

struct attached {
	struct process process;
	pid_t own_pid;			/* as the process sees it */
	int memory;			/* a descriptor of its memory */
	unsigned long long at;		/* the control word, in the memory of the process */
	struct ec_control control;	/* as it was read last */
	bool has_objects;		/* traces are to tell what callbacks are about */
};

/* The process that a word means: a number; NULL: the only one of this user that has our engine. Ends evsmp if none. */
pid_t attach_pid(const char *command, const char *word);

void attach_process(pid_t pid, struct attached *ret);

/* The same for a process that need not be there. NULL: it is attached; or why not, a sentence. */
const char *attach_try(pid_t pid, struct attached *ret, enum status *ret_status);

void attach_close(struct attached *a);

/* Reads the control word. False: the process has ended, or is another program now. */
bool attach_read(struct attached *a);

/*
 * Asks for `bit`, for the next few seconds: repeat it. A tool that is killed so leaves nothing on. False: as
 * attach_read.
 */
bool attach_want(struct attached *a, unsigned bit);

/* The same in the place of the environment, which wanted it for good. */
bool attach_take_over(struct attached *a, unsigned bit);

/* Waits until a base has `bit` on. False: none has, after `wait_ms`: no loop has turned since. */
bool attach_wait(struct attached *a, unsigned bit, unsigned wait_ms);

/* A sentence, after attach_wait() has returned false. */
const char *attach_why_not_yet(const struct attached *a);

/* A file of its table, for reading. -1: it is gone, or is another one by now. */
int attach_open(const struct attached *a, const struct ec_control_file *f);

/* What follows from errno, for a message: a sentence, and what to do. */
const char *attach_why(int err);

#endif
