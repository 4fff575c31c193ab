/*
 * What a process has mapped, and what the engine in it tells.
 */
#ifndef EVSMP_PROCESS_H
#define EVSMP_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "say.h"

struct process {
	pid_t pid;
	const char *program;		/* the name of its file */
	const char *engine;		/* the path of its ENGINE; NULL: it has none */
	bool is_replaced;		/* that file was deleted or replaced since */
	const char *version;		/* of the engine; NULL: not known */
	bool has_numbers;
	uint32_t bases, threads, colors;	/* if has_numbers; see core/os/process.h */
	const char *stock;		/* a libevent 2.1 that is not ours; NULL: none */
};

/* False: there is no such process, or this user may not look (errno EACCES or EPERM). */
bool process_read(pid_t pid, struct process *ret);

/* Calls fn for each process there is. */
void process_each(void (*fn)(pid_t pid, void *arg), void *arg);

/* Is it in the control group of that unit of systemd? */
bool process_is_in_unit(pid_t pid, const char *unit);

#endif
