/*
 * What a process tells of itself: the line of EVENT_SMP_VERBOSE, and the numbers that `evsmp ps` reads from outside.
 */
#ifndef EC_ANNOUNCE_H
#define EC_ANNOUNCE_H

#include "ec.h"

enum { EC_PROCESS_VERSION_LEN = 16 };

/*
 * libevent_smp.so.1 has one, named ec_process. evsmp finds it by its name in the library's file and reads it from the
 * process's memory (evsmp/process.c). So the layout stays as it is; a new one gets another name.
 */
struct ec_process {
	char version[EC_PROCESS_VERSION_LEN];	/* const: of the library; the rest of the bytes is 0 */

	/* atomic: counters; no thread of this process reads them */
	uint32_t bases;				/* made and not freed */
	uint32_t threads;			/* that bases started: those of the loops are not among them */
};

extern struct ec_process ec_process;

/* `num` more; -1u is one less. */
static inline void ec_process_count(uint32_t *counter, uint32_t num)
{
	(void)__atomic_fetch_add(counter, num, __ATOMIC_RELAXED);
}

/* A base was made. The first one of the process logs the line, if the environment asks for it. */
void ec_announce(struct ec_base *base, const struct ec_config *cfg);

#endif
