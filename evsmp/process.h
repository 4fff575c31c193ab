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
	unsigned long long engine_at, engine_end; /* its first mapping */
};

/* False: there is no such process, or this user may not look (errno EACCES or EPERM). */
bool process_read(pid_t pid, struct process *ret);

/* The letter of its state in /proc/PID/stat: Z has ended, T is stopped; 0: not known. */
char process_state(pid_t pid);

/* 0: not known. */
pid_t process_parent(pid_t pid);

/* When it began, in ticks of sysconf(_SC_CLK_TCK) of CLOCK_BOOTTIME. Others of its number differ. 0: not known. */
unsigned long long process_start(pid_t pid);

/* Is this user its real or its effective one? */
bool process_has_user(pid_t pid, uid_t user);

/* Its number as it sees it itself: in a container, another one. */
pid_t process_own_pid(pid_t pid);

/* A variable of its engine: where it is in the memory of the process, and how large. False: errno says why, or is 0. */
bool process_variable(const struct process *p, const char *name, unsigned long long *ret_at, uint64_t *ret_size);

/*
 * The memory of a process; -1: errno says why. All `len` bytes or none. False: errno says why; ESRCH: the process has
 * ended.
 */
int process_open_memory(pid_t pid, int flags);
bool process_read_memory(int memory, unsigned long long at, void *to, size_t len);
bool process_write_memory(int memory, unsigned long long at, const void *from, size_t len);

/* A file that the process has open, for reading. -1: errno says why. */
int process_open_fd(pid_t pid, int fd);

/* Calls fn for each process there is. */
void process_each(void (*fn)(pid_t pid, void *arg), void *arg);

/* The name of its control group, if that is the unit of systemd, or an instance of that template. Else NULL. */
const char *process_unit(pid_t pid, const char *unit);

#endif
