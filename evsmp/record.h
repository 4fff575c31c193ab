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
	bool has_objects;		/* also what each callback is about */
};

/* The value of `--name VALUE` or `--name=VALUE`; NULL: it is another option. */
const char *record_value(const char *command, const char *name, int argc, char **argv, int *i);
double record_seconds(const char *s);

/*
 * `argv`: a process or a program with its arguments; nothing if o->read. What a program exits with, if it has ended;
 * else EVSMP_OK. The program goes on when the time is up: it is not evsmp's to end.
 */
enum status record_any(struct record_options *o, int argc, char **argv, struct recording *ret);

#endif
