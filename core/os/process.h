/*
 * What a process tells of itself to others: the numbers that `evsmp ps` reads from outside.
 */
#ifndef EC_PROCESS_H
#define EC_PROCESS_H

#include <stdint.h>

enum { EC_PROCESS_VERSION_LEN = 16 };

/*
 * libevent_smp.so.1 has one, named ec_process. evsmp finds it by its name in the library's file and reads it from the
 * process's memory (evsmp/process.c). So the layout stays as it is, and grows at its end; a new one gets another name.
 */
struct ec_process {
	char version[EC_PROCESS_VERSION_LEN];	/* const: of the library; the rest of the bytes is 0 */

	/* atomic: counters; no thread of this process reads them */
	uint32_t bases;				/* made and not freed */
	uint32_t threads;			/* that bases started: those of the loops are not among them */
	uint32_t colors;			/* the most that each of these bases had at one time, without color 0 */
};

extern struct ec_process ec_process;

/* `num` more; -1u is one less. */
static inline void ec_process_count(uint32_t *counter, uint32_t num)
{
	(void)__atomic_fetch_add(counter, num, __ATOMIC_RELAXED);
}

#endif
