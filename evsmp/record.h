/*
 * Recording a program that is started, a process that runs, or a file that was written before: for all commands that
 * show what was recorded.
 */
#ifndef EVSMP_RECORD_H
#define EVSMP_RECORD_H

#include "recording.h"

struct record_options {
	const char *command;		/* for messages */
	double seconds;			/* 0: until it ends */
	const char *read;		/* a trace file; NULL: a process */
	const char *workers;
	const char *workers_asked;	/* by --workers; or NULL */
	bool has_objects;		/* also what each callback is about */
	bool owns_stdout;		/* a page goes there: a program that is started writes to stderr instead */
};

/* The value of `--name VALUE` or `--name=VALUE`; NULL: it is another option. */
const char *record_value(const char *command, const char *name, int argc, char **argv, int *i);
double record_seconds(const char *s);

/*
 * `argv`: a process or a program with its arguments; nothing if o->read. What a program exits with, if it has ended;
 * else EVSMP_OK. The program goes on when the time is up: it is not evsmp's to end.
 */
enum status record_any(struct record_options *o, int argc, char **argv, struct recording *ret);

/* The same, as a timeline. False: nothing was recorded, for the program has failed: *ret has its status. */
bool record_timeline(struct record_options *o, int argc, char **argv, struct recording *r, struct timeline *t,
		     enum status *ret);

struct attached;

/* For those who record: until the time is up, or an interrupt. */
enum { RECORD_ASK_EVERY = 50 };		/* moments between two renewals of a lease: half a second */
void record_catch_interrupts(void);	/* the first one ends the recording, the second one this process */
bool record_is_over(const struct record_options *o, int64_t start_ns);
void record_wait_a_moment(void);
int64_t record_now_ns(void);

/* The files of a process, as its control word was read last. */
void record_add_files(const struct attached *a, struct recording *r);

/* A file for what is shown. Errors end evsmp; `how` another file is chosen, for their message: " with -o", or "". */
void record_new_file_test(const char *path, const char *option);	/* the same of a file that must not exist */
/* `flags`: O_NOFOLLOW for a name that the user did not give, which another user may have put there; else 0 */
void record_page_test(const char *path, int flags, const char *how);	/* before the work: can it be written? */
FILE *record_page_open(const char *path, int flags, const char *how);
void record_page_close(FILE *out, const char *path, const char *how);

#endif
