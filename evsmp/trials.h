/*
 * Trials: runs of one program under schedules, several at a time. Each has its process group, which ends with it, no
 * input, and two files in a directory of ours: what it wrote, and the switches of its schedule.
 */
#ifndef EVSMP_TRIALS_H
#define EVSMP_TRIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "say.h"

enum { TRIALS_MAX = 64 };		/* at a time */

/* What runs. */
struct trials {
	const char *path;		/* of the program */
	char **argv;
	const char *directory;		/* for the files; the trials' own */
	const char *time;		/* EVENT_SMP_TIME */
	unsigned timeout_s;
	struct trial *running[TRIALS_MAX];
	uint64_t num;			/* begun so far */
};

/* A schedule: a seed with a policy, or a file. */
struct plan {
	const char *seed, *policy;	/* or NULL */
	const char *file;		/* or NULL */
};

enum ending { TRIAL_PASSED, TRIAL_STATUS, TRIAL_SIGNAL, TRIAL_TIMEOUT };

struct trial {
	uint64_t tag;			/* the caller's */
	pid_t pid;
	int64_t deadline_ns;
	enum ending ending;
	int number;			/* the exit status or the signal */
	const char *output, *switches;	/* the files; switches: there is none if the program read no schedule */
};

/* Makes the directory, and removes it when the process exits or is interrupted. */
void trials_begin(struct trials *t);

/* There is a free place. Ends the process if the program cannot be started. */
void trial_start(struct trials *t, const struct plan *plan, uint64_t tag);

/* Waits for the end of any; NULL: none runs. The caller frees it. */
struct trial *trial_wait(struct trials *t);

/* One alone. */
struct trial *trial_run(struct trials *t, const struct plan *plan);

/* Ends those with a tag above `tag`; nothing remains of them. */
void trials_drop(struct trials *t, uint64_t tag);

/* Its files go, too. NULL: nothing. */
void trial_free(struct trial *trial);

int64_t trials_now_ns(void);

bool trial_is_alike(const struct trial *a, const struct trial *b);	/* they ended in the same way */
const char *trial_ending(const struct trials *t, const struct trial *trial);	/* in words */

#endif
