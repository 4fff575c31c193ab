#include "observe.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counters.h"
#include "ec.h"
#include "os/clock.h"
#include "stall.h"
#include "trace.h"

/* In the order in which they are told. */
static const struct ec_consumer *const consumers[] = {
	&ec_counters_consumer,
	&ec_trace_consumer,
	&ec_stall_consumer,
};

#define CONSUMERS (sizeof(consumers) / sizeof(*consumers))

_Static_assert(CONSUMERS <= EC_CONSUMERS, "a probe has room for all");

/*
 * Guards switching. A worker only tries to take it, so a child whose parent's thread held it does not wait for ever: it
 * is not observed. ec_observer_free waits, but not in a child, whose probes are empty.
 */
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static uint32_t bases_num;		/* mu: observed so far */
static unsigned probes_on;		/* mu: of all bases */
static unsigned told;			/* mu: consumers that refused a base; there may be many bases */
static unsigned open_num[EC_CONTROL_BITS]; /* mu: consumers of all probes, for each bit */

/* ---------------------------------------------------------------- memory */

/* The kernel clears it in a child. NULL: errno says why. */
static void *wiped_alloc(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, size, MADV_WIPEONFORK) == 0)
		return p;
	(void)munmap(p, size);
	errno = ENOSYS;
	return NULL;
}

/* mu */
static struct ec_observer *observer_new(unsigned workers_max)
{
	size_t size = sizeof(struct ec_observer) + workers_max * sizeof(struct ec_probe);
	struct ec_observer *o = wiped_alloc(size);
	unsigned i;

	if (o == NULL)
		return NULL;
	o->base = ++bases_num;
	o->workers_max = workers_max;
	o->size = size;
	for (i = 0; i < workers_max; i++) {
		o->probes[i].observer = o;
		o->probes[i].worker = i;
	}
	return o;
}

/* ---------------------------------------------------------------- switching; mu is held */

static unsigned bit_number(unsigned bit)
{
	return (unsigned)__builtin_ctz(bit);
}

/* `on` of the control word, and whether a turn needs attention. */
static void tell_control(struct ec_observer *o, unsigned bit, unsigned by)
{
	unsigned on = ec_load_relaxed(&ec_control_own.on), n = bit_number(bit);

	o->open_num[n] += by;
	open_num[n] += by;
	on = open_num[n] != 0 ? on | bit : on & ~bit;
	ec_store_release(&ec_control_own.on, on);		/* meets the tool's read: the files come before */
}

static void consumer_open(struct ec_probe *p, const struct ec_consumer *c)
{
	struct ec_observer *o = p->observer;
	int r;

	if ((o->refused & c->bit) != 0)
		return;
	r = c->open(p);
	if (r < 0) {
		o->refused |= c->bit;
		if ((told & c->bit) == 0)
			ec_log_errno(EC_LOG_WARN, -r, "cannot keep %s of this event_base (said once)",
				     c->name);
		told |= c->bit;
		return;
	}
	p->consumers[p->consumers_num++] = c;
	tell_control(o, c->bit, 1);
}

static void consumers_close(struct ec_probe *p)
{
	unsigned i;

	for (i = 0; i < p->consumers_num; i++) {
		p->consumers[i]->close(p);
		tell_control(p->observer, p->consumers[i]->bit, -1u);
	}
	p->consumers_num = 0;
}

/* All that is on ends first, so that the order of consumers is always the same. */
static void probe_switch(struct ec_probe *p, unsigned wanted)
{
	bool was_on = p->on != 0, is_on = wanted != 0;
	unsigned i;

	consumers_close(p);
	p->on = wanted;
	p->now = p->mark = p->since = ec_clock_ticks();
	for (i = 0; i < CONSUMERS; i++) {
		if ((wanted & consumers[i]->bit) != 0)
			consumer_open(p, consumers[i]);
	}
	p->is_cycles = ec_clock_ticks_are_cycles();
	p->is_brief = p->is_cycles && p->consumers_num == 1 && p->trace != NULL && !p->trace->has_objects;
	p->observer->probes_on += (unsigned)is_on - (unsigned)was_on;
	probes_on += (unsigned)is_on - (unsigned)was_on;
	ec_store_relaxed(&ec_control_own.is_observed, probes_on != 0);
	ec_watch_set(EC_WATCH_CALLS, probes_on != 0);
}

/* A child: nothing is on. */
static void process_note(void)
{
	if (ec_load_relaxed(&ec_control_own.pid) == getpid())
		return;
	ec_control_note_process();
	bases_num = probes_on = 0;
	memset(open_num, 0, sizeof(open_num));
	ec_store_relaxed(&ec_control_own.is_observed, false);
	ec_watch_set(EC_WATCH_CALLS, false);
}

static struct ec_observer *observer_find(_Atomic(struct ec_observer *) *slot, unsigned workers_max)
{
	struct ec_observer *o = ec_load_relaxed(slot);

	if (o != NULL && o->size != 0)
		return o;
	/* The parent's is left alone: `o` is empty, and its size is not known. */
	o = observer_new(workers_max);
	if (o == NULL)
		ec_log_errno(EC_LOG_WARN, errno, "cannot observe this event_base");
	ec_store_release(slot, o);		/* meets the loads of threads that post */
	return o;
}

static struct ec_probe *turn_locked(_Atomic(struct ec_observer *) *slot, unsigned worker, unsigned workers_max)
{
	struct ec_observer *o;
	struct ec_probe *p;
	unsigned wanted;

	process_note();		/* first: what the parent was asked for counts, though its lease may have run out */
	wanted = ec_control_wanted();
	o = wanted != 0 ? observer_find(slot, workers_max) : ec_load_relaxed(slot);
	if (o == NULL || o->size == 0)
		return NULL;
	p = &o->probes[worker];
	/* In a callback, the callback goes on as it began. */
	if (p->on != wanted && p->call == NULL)
		probe_switch(p, wanted);
	return p->on != 0 ? p : NULL;
}

/* A child, also of clone, may have got it from a thread that it does not have. */
static bool lock(bool may_wait)
{
	if (may_wait && ec_load_relaxed(&ec_control_own.pid) == getpid())
		return pthread_mutex_lock(&mu) == 0;
	return pthread_mutex_trylock(&mu) == 0;
}

struct ec_probe *ec_observe_turn(_Atomic(struct ec_observer *) *slot, unsigned worker, unsigned workers_max,
				 bool may_wait)
{
	struct ec_observer *o = ec_load_acquire(slot);			/* meets observer_find */
	struct ec_probe *p = o != NULL && o->size != 0 ? &o->probes[worker] : NULL;

	if (p != NULL && p->on == ec_control_wanted())
		return p->on != 0 ? p : NULL;
	if (lock(may_wait)) {
		p = turn_locked(slot, worker, workers_max);
		(void)pthread_mutex_unlock(&mu);
	}
	return p != NULL && p->on != 0 ? p : NULL;
}

void ec_observer_free(struct ec_observer *o)
{
	unsigned i;

	if (o == NULL || o->size == 0)		/* of the parent: all that is left is its memory, of unknown size */
		return;
	(void)pthread_mutex_lock(&mu);
	for (i = 0; i < o->workers_max; i++) {
		o->probes[i].call = NULL;
		if (o->probes[i].on != 0)
			probe_switch(&o->probes[i], 0);
	}
	for (i = 0; i < CONSUMERS; i++) {
		if (consumers[i]->fini != NULL)
			consumers[i]->fini(o);
	}
	(void)pthread_mutex_unlock(&mu);
	(void)munmap(o, o->size);
}
