/*
 * A trace file: what engine and tools agree on. The engine writes it (trace.c), evsmp reads it (evsmp/rings.c).
 *
 *	head | ring of worker 0 | ring of worker 1 | … | the process's mappings, as text
 *
 * A ring is a struct ec_trace_ring, then `records_num` records of four words. Record n is at place n % records_num, so
 * a new one takes the place of the oldest. All numbers are of the byte order and size of the machine.
 *
 * A reader finds out which records are whole, and stops nobody:
 *
 *	worker					reader
 *	W1 writes the four words of record n	R1 reads `num`: records before it are there
 *	W2 writes num = n + 1			R2 reads them
 *						R3 reads `num` again, say m: a record up to m - records_num may
 *						   have been overwritten meanwhile, and is dropped
 *
 * All writes are releases, all reads acquires. If R2 read a word that W1 wrote for record n, then R3 reads what W2
 * wrote before it: m >= n. The record that was there before is n - records_num, and is dropped.
 *
 * The callback that runs has its words in the place of record `num`, which is not there yet; the first word has type
 * EC_TRACE_RUNS instead of EC_TRACE_CALL, and is written last. Its end adds the length, changes the type, and counts
 * it. If another record comes first, the words of the callback move to `current`:
 *
 *	worker					reader
 *	C1 writes words 1 to 3			D1 reads word 0 of place `num`: of type EC_TRACE_RUNS?
 *	C2 writes word 0			D2 reads words 1 to 3
 *	C3 writes word 0 before all others	D3 reads word 0 again: the same as before
 *
 * If D2 read a word that was written after C3, D3 would read what C3 wrote. Only the length is written before C3, as
 * the callback ends: a reader does not use it.
 */
#ifndef EC_TRACE_LAYOUT_H
#define EC_TRACE_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#define EC_TRACE_MAGIC "evtrace"

enum {
	EC_TRACE_LAYOUT = 3,
	EC_TRACE_WORDS = 4,
	EC_TRACE_RECORDS_MIN = 1 << 6,
	EC_TRACE_RECORDS = 1 << 16,	/* 2 MiB */
	EC_TRACE_RECORDS_MAX = 1 << 22,
	EC_TRACE_RINGS_MAX = 1 << 16,
	EC_TRACE_MAPS = 1 << 20,
};

struct ec_trace_head {
	/* const */
	char magic[8];
	uint32_t layout;
	uint32_t size;			/* of this struct */
	uint64_t file_size;
	uint64_t tick_mult;		/* nanoseconds of a tick, times 2^32, to a few parts in a thousand */
	uint32_t pid;
	uint32_t base;			/* a number that no other base of the process had */
	uint32_t rings_num;
	uint32_t records_num;		/* of each ring; a power of 2 */
	uint64_t rings_at, ring_size;
	uint64_t maps_at, maps_cap;

	/* atomic: written as the file is made, and as it is closed */
	_Atomic(uint64_t) maps_len;
	_Atomic(uint64_t) is_closed;
};

struct ec_trace_ring {
	/* atomic: the worker writes, tools read */
	_Atomic(uint64_t) num;		/* of records written so far, those included that were overwritten */
	/* The callback that runs, unless it is in the place of record `num`; as EC_TRACE_CALL; first word 0: none. */
	_Atomic(uint64_t) current[EC_TRACE_WORDS];
	uint64_t unused[3];
	_Atomic(uint64_t) records[];
};

/*
 * The first word of a record: its type in the low 8 bits, above them ticks: the beginning, or the time of what has no
 * duration. Ticks have 56 bits and wrap, once in months.
 */
enum ec_trace_type {
	EC_TRACE_NONE,
	EC_TRACE_CALL,		/* written as it ends; the words are described below */
	EC_TRACE_POLL,		/* 1: its length in ticks */
	EC_TRACE_SLEEP,		/* the same; a poll that was to block */
	EC_TRACE_SPIN,		/* the same; 2: steals that found nothing */
	EC_TRACE_STEAL,		/* 1: number of colors; 2: color */
	EC_TRACE_POST,		/* to a color; 1: the time of the post, in ticks; 2: color */
	EC_TRACE_WAKEUP,	/* sent; 1: to which worker */
	EC_TRACE_MOVE,		/* 2: the color whose home is now this worker */
	EC_TRACE_QUEUE,		/* 1: the number of tasks that wait; only if it differs from the one before */
	EC_TRACE_CLOCK,		/* 1: nanoseconds of CLOCK_MONOTONIC at that time */
	EC_TRACE_OBJECT,	/* right before the EC_TRACE_CALL that it belongs to; only if objects were asked for */
	EC_TRACE_TOUCH,		/* the same: the callback that runs adds or deletes an event of another object */
	EC_TRACE_TYPES,
	EC_TRACE_RUNS = 0xff,	/* no record yet: an EC_TRACE_CALL that has not ended */
};

/*
 * EC_TRACE_CALL, from the low bits up:
 *	1: fn 48, home worker 8, results 8
 *	2: color 32, descriptor 24, kind 4, priority 4
 *	3: length 32, queueing delay 32
 * A number that is too large is the largest. Of descriptors that means "none".
 */
#define EC_TRACE_FN(w1) EC_TRACE_ADDRESS(w1)
#define EC_TRACE_HOME(w1) ((unsigned)((w1) >> 48 & 0xff))
#define EC_TRACE_RES(w1) ((unsigned)((w1) >> 56))
#define EC_TRACE_COLOR(w2) ((uint32_t)(w2))
#define EC_TRACE_FD(w2) ((unsigned)((w2) >> 32 & 0xffffff))
#define EC_TRACE_KIND(w2) ((unsigned)((w2) >> 56 & 0xf))
#define EC_TRACE_PRI(w2) ((unsigned)((w2) >> 60))
#define EC_TRACE_LEN(w3) ec_trace_unpack((uint32_t)(w3))
#define EC_TRACE_WAIT(w3) ec_trace_unpack((uint32_t)((w3) >> 32))
#define EC_TRACE_HAS_WAIT(w3) ((uint32_t)((w3) >> 32) != EC_TRACE_UNKNOWN)

/*
 * EC_TRACE_OBJECT, from the low bits up. Addresses are names: nothing may be there any more.
 *	1: object (the argument of the event) 48, its kind 8 (enum ec_object)
 *	2: function of the program 48
 *	3: event 48
 * EC_TRACE_TOUCH:
 *	1: object 48
 *	2: descriptor 24 at bit 32, as in EC_TRACE_CALL
 *	3: event 48
 */
#define EC_TRACE_ADDRESS(w) ((w) & ((UINT64_C(1) << 48) - 1))
#define EC_TRACE_OBJECT_KIND(w1) ((unsigned)((w1) >> 48 & 0xff))

enum { EC_TRACE_NO_FD = 0xffffff };
#define EC_TRACE_UNKNOWN UINT32_MAX

/* Ticks in 32 bits: exact up to 2^31 - 1 (about a second); above, in units of 4096 up to an hour. */
static inline uint32_t ec_trace_pack(uint64_t ticks)
{
	const uint64_t top = UINT64_C(1) << 31;

	if (__builtin_expect(ticks < top, 1))
		return (uint32_t)ticks;
	return ticks >> 12 < top - 1 ? (uint32_t)(top | ticks >> 12) : EC_TRACE_UNKNOWN - 1;
}

static inline uint64_t ec_trace_unpack(uint32_t packed)
{
	const uint32_t top = UINT32_C(1) << 31;

	return packed < top ? packed : (uint64_t)(packed & ~top) << 12;
}

#endif
