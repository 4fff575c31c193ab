/*
 * The simulator finds what it is for: each classic mistake in a few hundred seeds, and
 * nothing wrong in its corrected twin. A mistake that it stopped finding fails here, before
 * it hides one in the engine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/os/thread.h"
#include "core/lock/sync.h"
#include "driver.h"
#include "sched.h"

enum variant { RIGHT, WRONG };

static const enum variant right = RIGHT, wrong = WRONG;

/* ---------------------------------------------------------------- a lost counter */

static _Atomic(unsigned) counter;

static void count_torn(void *arg)
{
	(void)arg;
	ec_store_release(&counter, ec_load_acquire(&counter) + 1);
}

static void count_whole(void *arg)
{
	(void)arg;
	ec_add_acq_rel(&counter, 1);
}

static void torn_counter(const void *arg)
{
	void (*fn)(void *) = *(const enum variant *)arg == WRONG ? count_torn : count_whole;
	int a, b;

	counter = 0;
	a = sim_start("a", fn, NULL);
	b = sim_start("b", fn, NULL);
	sim_join(a);
	sim_join(b);
	sim_check(counter == 2);
}

/* ---------------------------------------------------------------- locks in two orders */

static struct ec_spin locks[2];

static void lock_both(struct ec_spin *first, struct ec_spin *second)
{
	ec_spin_lock(first);
	ec_spin_lock(second);
	ec_spin_unlock(second);
	ec_spin_unlock(first);
}

static void lock_ab(void *arg)
{
	(void)arg;
	lock_both(&locks[0], &locks[1]);
}

static void lock_ba(void *arg)
{
	(void)arg;
	lock_both(&locks[1], &locks[0]);
}

static void lock_order(const void *arg)
{
	ec_spin_init(&locks[0], EC_RANK_SOURCE);
	ec_spin_init(&locks[1], EC_RANK_RUNQ);
	sim_start("ab", lock_ab, NULL);
	sim_start("other", *(const enum variant *)arg == WRONG ? lock_ba : lock_ab, NULL);
}

/* ---------------------------------------------------------------- sleeping on a flag */

static _Atomic(uint32_t) flag;

/* Looks, and then sleeps whatever became of the flag meanwhile. */
static void sleep_blindly(void *arg)
{
	(void)arg;
	if (ec_load_acquire(&flag) == 0) {
		EC_POINT();
		sim_block(&flag, SIM_FOREVER, "the flag");
	}
}

static void sleep_on_value(void *arg)
{
	(void)arg;
	while (ec_load_acquire(&flag) == 0)
		ec_futex_wait(&flag, 0, NULL);
}

static void lost_wakeup(const void *arg)
{
	flag = 0;
	sim_start("sleeper", *(const enum variant *)arg == WRONG ? sleep_blindly : sleep_on_value, NULL);
	ec_store_release(&flag, 1);
	ec_futex_wake(&flag, 1);
}

/* ---------------------------------------------------------------- waiting for one another */

static void deadlock(const void *arg)
{
	(void)arg;
	flag = 0;
	sim_start("a", sleep_on_value, NULL);
	sleep_on_value(NULL);
}

static void spin_on_flag(void *arg)
{
	(void)arg;
	while (ec_load_acquire(&flag) == 0)
		ec_cpu_relax();
}

static void livelock(const void *arg)
{
	flag = 0;
	sim_start("spinner", spin_on_flag, NULL);
	if (*(const enum variant *)arg == WRONG)
		spin_on_flag(NULL);
	else
		ec_store_release(&flag, 1);
}

/* Runs, and never waits for anything. */
static void busy_loop(const void *arg)
{
	(void)arg;
	for (flag = 0; ec_load_acquire(&flag) == 0;)
		;
}

/* A thread that is not the one it waits for must get its turn, whatever the strategy. */
static void set_flag(void *arg)
{
	(void)arg;
	ec_store_release(&flag, 1);
}

static void patience(const void *arg)
{
	(void)arg;
	flag = 0;
	sim_start("setter", set_flag, NULL);
	while (ec_load_acquire(&flag) == 0)
		;
}

/* ---------------------------------------------------------------- memory */

struct cell {
	_Atomic(unsigned) refs;
	unsigned value;
};

static struct cell *cell;

static void use_torn(void *arg)
{
	(void)arg;
	if (ec_load_acquire(&cell->refs) == 1) {
		free(cell);
		cell = NULL;
	} else {
		ec_store_release(&cell->refs, 1);
	}
}

static void use_whole(void *arg)
{
	(void)arg;
	if (ec_sub_acq_rel(&cell->refs, 1) == 1) {
		free(cell);
		cell = NULL;
	}
}

static void refcount(const void *arg)
{
	void (*fn)(void *) = *(const enum variant *)arg == WRONG ? use_torn : use_whole;
	int a, b;

	cell = calloc(1, sizeof(*cell));
	if (cell == NULL)
		sim_fail("no memory");
	cell->refs = 2;
	a = sim_start("a", fn, NULL);
	b = sim_start("b", fn, NULL);
	sim_join(a);
	sim_join(b);
	sim_check(cell == NULL);
}

/* ---------------------------------------------------------------- time */

static void timed_out(const void *arg)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	int64_t start = sim_clock_ns();
	int r;

	(void)arg;
	flag = 0;
	do {
		r = ec_futex_wait(&flag, 0, &ms);
	} while (r == -EINTR);
	sim_check(r == -ETIMEDOUT);
	sim_check(sim_clock_ns() == start + 1000000);
}

static void sleep_long(void *arg)
{
	int64_t start = *(int64_t *)arg;

	sim_sleep(start + 3000 - sim_clock_ns());
	sim_check(sim_clock_ns() == start + 3000);
	sim_check(counter == 1);
}

static void order_of_deadlines(const void *arg)
{
	int64_t start = sim_clock_ns();
	int id;

	(void)arg;
	counter = 0;
	id = sim_start("long", sleep_long, &start);
	sim_sleep(2000);
	sim_check(sim_clock_ns() == start + 2000);
	ec_add_acq_rel(&counter, 1);
	sim_join(id);
}

/* ---------------------------------------------------------------- each thread's own pointer */

static void self_is_mine(void *arg)
{
	sim_check(ec_self() == NULL);
	ec_set_self(arg);
	ec_add_acq_rel(&counter, 1);
	sim_check(ec_self() == arg);
}

static void own_pointers(const void *arg)
{
	struct ec_osthread a, b;

	(void)arg;
	ec_set_self(&counter);
	sim_check(ec_osthread_start(&a, self_is_mine, &a) == 0);
	sim_check(ec_osthread_start(&b, self_is_mine, &b) == 0);
	ec_osthread_join(&a);
	ec_osthread_join(&b);
	sim_check(ec_self() == &counter);
}

/* ---------------------------------------------------------------- weakly ordered memory */

/* Two words, and how the threads order their accesses. */
static _Atomic(unsigned) words[2], both_missed;
static struct ec_spin words_lock;

struct orders {
	bool is_release, is_acquire;
};

static const struct orders ordered = { true, true }, store_early = { false, true }, load_early = { true, false };

static void send_message(void *arg)
{
	const struct orders *o = arg;

	ec_store_relaxed(&words[0], 1);
	if (o->is_release)
		ec_store_release(&words[1], 1);
	else
		ec_store_relaxed(&words[1], 1);
}

static void message(const void *arg)
{
	const struct orders *o = arg;
	unsigned has_come;

	words[0] = words[1] = 0;
	sim_start("sender", send_message, (void *)(uintptr_t)arg);
	do {
		has_come = o->is_acquire ? ec_load_acquire(&words[1]) : ec_load_relaxed(&words[1]);
	} while (!has_come);
	sim_check(ec_load_relaxed(&words[0]) == 1);
}

/* Each says that it is there, then looks for the other. By two words, both may miss; by one, or under a lock, not. */
enum meeting { TWO_WORDS, ONE_WORD, LOCK };

static const enum meeting two_words = TWO_WORDS, one_word = ONE_WORD, by_lock = LOCK;

struct guest {
	enum meeting how;
	unsigned number;
};

static void arrive(void *arg)
{
	const struct guest *g = arg;
	bool sees;

	switch (g->how) {
	case TWO_WORDS:
		ec_swap_acq_rel(&words[g->number], 1);
		sees = ec_load_acquire(&words[!g->number]) != 0;
		break;
	case ONE_WORD:
		sees = ec_add_acq_rel(&words[0], 1) != 0;
		break;
	default:
		ec_spin_lock(&words_lock);
		ec_store_relaxed(&words[g->number], 1);
		sees = ec_load_relaxed(&words[!g->number]) != 0;
		ec_spin_unlock(&words_lock);
		break;
	}
	if (!sees)
		ec_add_acq_rel(&both_missed, 1);
}

static void meeting(const void *arg)
{
	static struct guest guests[2];
	unsigned i;
	int ids[2];

	words[0] = words[1] = both_missed = 0;
	ec_spin_init(&words_lock, EC_RANK_LEAF);
	for (i = 0; i < 2; i++) {
		guests[i] = (struct guest){ *(const enum meeting *)arg, i };
		ids[i] = sim_start("guest", arrive, &guests[i]);
	}
	for (i = 0; i < 2; i++)
		sim_join(ids[i]);
	sim_check(both_missed == 1);
}

/* What a thread has read or written once, it does not forget. */
static void write_twice(void *arg)
{
	(void)arg;
	ec_store_relaxed(&words[0], 1);
	ec_store_relaxed(&words[0], 2);
	sim_check(ec_load_relaxed(&words[0]) >= 2);
}

static void no_way_back(const void *arg)
{
	unsigned i, last = 0, value;

	(void)arg;
	words[0] = 0;
	sim_start("writer", write_twice, NULL);
	for (i = 0; i < 20; i++) {
		value = ec_load_relaxed(&words[0]);
		sim_check(value >= last);
		last = value;
	}
}

/* ---------------------------------------------------------------- a seed is a schedule */

enum { DRAWS = 64 };

static unsigned char drawn[DRAWS];
static unsigned drawn_num;

static void draw(void *arg)
{
	unsigned i;

	for (i = 0; i < DRAWS / 4; i++) {
		ec_load_relaxed(&counter);
		drawn[drawn_num++] = *(const unsigned char *)arg;
	}
}

/* The order of one run, in a buffer of the caller's. */
static void interleave(const void *arg)
{
	static unsigned char names[4] = "abcd";
	int ids[4];
	unsigned i;

	(void)arg;
	drawn_num = 0;
	for (i = 0; i < 4; i++)
		ids[i] = sim_start("drawer", draw, &names[i]);
	for (i = 0; i < 4; i++)
		sim_join(ids[i]);
}

/* Outside the driver's cases, since it runs schedules of its own. */
static int check_replay(void)
{
	static struct sim_report report;
	unsigned char first[DRAWS];
	unsigned seed, differ = 0;

	sim_init(&report, false);
	for (seed = 1; seed <= 100; seed++) {
		sim_run_seed(seed, 10000, interleave, NULL);
		memcpy(first, drawn, DRAWS);
		sim_run_seed(seed + 1, 10000, interleave, NULL);
		if (memcmp(first, drawn, DRAWS) != 0)
			differ++;
		sim_run_seed(seed, 10000, interleave, NULL);
		if (memcmp(first, drawn, DRAWS) != 0)
			return 1;
	}
	return differ > 90 ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct sim_case cases[] = {
		{ .name = "counter", .body = torn_counter, .arg = &right },
		{ .name = "counter-lost", .body = torn_counter, .arg = &wrong, .must_fail = true, .seeds = 200 },
		{ .name = "lock-order", .body = lock_order, .arg = &right },
		{ .name = "lock-order-ab-ba", .body = lock_order, .arg = &wrong, .must_fail = true, .seeds = 200 },
		{ .name = "wakeup", .body = lost_wakeup, .arg = &right },
		{ .name = "wakeup-lost", .body = lost_wakeup, .arg = &wrong, .must_fail = true, .seeds = 200 },
		{ .name = "deadlock", .body = deadlock, .must_fail = true, .seeds = 1 },
		{ .name = "spin", .body = livelock, .arg = &right },
		{ .name = "livelock", .body = livelock, .arg = &wrong, .must_fail = true, .seeds = 1 },
		{ .name = "busy-loop", .body = busy_loop, .must_fail = true, .seeds = 1 },
		{ .name = "patience", .body = patience },
		{ .name = "refcount", .body = refcount, .arg = &right },
		{ .name = "refcount-lost", .body = refcount, .arg = &wrong, .must_fail = true, .seeds = 200 },
		{ .name = "timed-out", .body = timed_out },
		{ .name = "order-of-deadlines", .body = order_of_deadlines },
		{ .name = "own-pointers", .body = own_pointers },
		{ .name = "message", .body = message, .arg = &ordered, .is_weak = true },
		{ .name = "message-stored-early", .body = message, .arg = &store_early,
		  .is_weak = true, .must_fail = true, .seeds = 200 },
		{ .name = "message-loaded-early", .body = message, .arg = &load_early,
		  .is_weak = true, .must_fail = true, .seeds = 200 },
		{ .name = "meeting-by-one-word", .body = meeting, .arg = &one_word, .is_weak = true },
		{ .name = "meeting-by-lock", .body = meeting, .arg = &by_lock, .is_weak = true },
		{ .name = "meeting-by-two-words", .body = meeting, .arg = &two_words,
		  .is_weak = true, .must_fail = true, .seeds = 200 },
		{ .name = "no-way-back", .body = no_way_back, .is_weak = true },
		{ .name = NULL },
	};

	if (check_replay() != 0) {
		fprintf(stderr, "a seed does not repeat its schedule, or all seeds give the same one\n");
		return 1;
	}
	return sim_main(argc, argv, cases);
}
