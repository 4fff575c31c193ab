/*
 * The control word: how a tool outside switches observation of this process on and off, and finds the results.
 *
 * libevent_smp.so.1 has one, named ec_control. A tool finds it by its name in the library's file, reads it from the
 * process's memory, and writes `wanted` there (process_vm_writev, which needs the same rights as a debugger). So a
 * process that was started plainly can be observed later, and has no thread, file or descriptor for that before. Each
 * base reads `attention` once a turn.
 *
 *	tool				base, once a turn
 *	writes lease_s, then wanted	attention != 0: reads wanted and the leases
 *					switches on: files[i], then `on`
 *	reads `on`, then files[i]
 *	renews the lease
 *	ends, or is killed		the lease has run out: clears the bit in `wanted`, switches off
 *
 * A tool that ends clears nothing, for another one may want the same. A tool that started the program with
 * EVENT_SMP_TRACE takes the wish over: it writes lease_s and wanted, and clears the bit in `wanted_here`.
 *
 * Who may write the memory of the process may do anything with it. So these fields are not checked against an attacker,
 * only against mistakes. The tools read them as they read any input: they may hold anything.
 */
#ifndef EC_CONTROL_H
#define EC_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EC_CONTROL_LAYOUT = 1, EC_CONTROL_FILES = 64, EC_CONTROL_BITS = 8 };
#define EC_CONTROL_MAGIC "ec-ctrl"

/* What is observed. */
enum {
	EC_OBSERVE_COUNT = 1,
	EC_OBSERVE_TRACE = 2,
	EC_OBSERVE_STALL = 4,
	EC_OBSERVE_ALL = 7,
};

/* What else a turn may have to do. */
enum {
	EC_TURN_FN = 1,			/* a face wants a call: io/polling.c */
	EC_TURN_LATE = 2,		/* messages wait: late.c */
};

/* Also which object each callback is about, and what else it touches. */
enum {
	EC_CONTROL_TRACE_OBJECTS = 1,	/* a tool wants it, while the trace's lease runs */
	EC_CONTROL_TRACE_OBJECTS_HERE = 2, /* the environment does */
};

/* A mapped file. A tool opens it as /proc/PID/fd/FD. */
struct ec_control_file {
	/* observe.c's lock; `kind` is written last (release), and 0 means that the place is free */
	_Atomic(uint32_t) kind;		/* EC_OBSERVE_COUNT, EC_OBSERVE_TRACE */
	int32_t fd;
	uint32_t base;			/* a number that no other base of the process had */
	uint32_t unused;
	uint64_t device, inode;		/* of the file: by now the descriptor may be another file's */
};

struct ec_control {
	/* const */
	char magic[8];
	uint32_t layout;
	uint32_t size;			/* of this struct */

	union {
		struct {
			_Atomic(uint8_t) wanted; /* bits; tools set, control.c clears */
			_Atomic(uint8_t) wanted_here; /* bits that the environment wants; a tool may clear them */
			_Atomic(uint8_t) is_observed; /* a base is; any thread of a base, under observe.c's lock */
			_Atomic(uint8_t) turn;	/* bits: EC_TURN_… */
		};
		_Atomic(uint32_t) attention; /* none of that: one load a turn */
	};
	_Atomic(uint32_t) on;		/* bits: what at least one base has on; observe.c's lock */
	_Atomic(int32_t) pid;		/* whose `on` and `files` these are: a child has those of its parent at first */
	_Atomic(uint32_t) bases_num;	/* that there are, observed or not; 0: not known */

	/* a tool: by the number of the bit, the second of CLOCK_MONOTONIC until which it is wanted; 0: until cleared */
	_Atomic(uint32_t) lease_s[EC_CONTROL_BITS];
	/* a tool: records of a ring, 0 for the default; EC_CONTROL_TRACE_OBJECTS…; the others are 0 */
	_Atomic(uint64_t) trace[4];

	struct ec_control_file files[EC_CONTROL_FILES];
};

_Static_assert(sizeof(struct ec_control) == 96 + 32 * EC_CONTROL_FILES, "the same on all machines");

/* The name by which tools find it is an alias: the engine's own accesses need no table of addresses. */
extern struct ec_control ec_control_own __attribute__((visibility("hidden")));
extern struct ec_control ec_control;

/* Must a worker do more after a poll than to take what it reported? */
#define ec_control_attention() ec_load_relaxed(&ec_control_own.attention)

/* What is wanted now. Leases that have run out are ended. any thread */
unsigned ec_control_wanted(void);

/* Once, as the first base is made: what the environment wants. Hostile values are refused with a message. */
void ec_control_read_environment(void);
const char *ec_control_stats_path(void);	/* the value of EVENT_SMP_STATS; NULL: not set, or refused */
const char *ec_control_trace_path(void);	/* the same of EVENT_SMP_TRACE */

/* any thread: a base was made, or is freed. A tool so knows of bases whose loop does not turn. */
void ec_control_base_begins(void);
void ec_control_base_ends(void);

/* observe.c's lock. The place of a file in the table; -1: the table is full. It closes `fd` when it is removed. */
int ec_control_add_file(unsigned kind, int fd, uint32_t base);
void ec_control_remove_file(int at);

/*
 * observe.c's lock. A program may close descriptors that it does not know, and open its own files, which then get these
 * numbers. Is the descriptor still that file's?
 */
bool ec_control_has_file(int at);

/* The same: opens the file at `path` in its place, if it is the same one. False: it is not, or cannot be opened. */
bool ec_control_reopen_file(int at, const char *path);

/* The same: ec_mapped_reserve_in() for that file and no other one. 0 or -errno; -ESTALE: its descriptor is gone. */
int ec_control_reserve(int at, size_t from, size_t len);

/* observe.c's lock: in a child, forgets what the parent had on, and closes its files. */
void ec_control_note_process(void);

#endif
