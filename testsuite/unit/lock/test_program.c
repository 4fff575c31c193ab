/*
 * core/lock/program.c: the program's locks and conditions, and lock debugging. Each case in a
 * process of its own, for what is set is the process's.
 */
#include "child.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "core/ec.h"

enum { PLAIN = 0,
       RECURSIVE = 1,
       READWRITE = 2 };
enum { WRITE = 0x04,
       READ = 0x08,
       TRY = 0x10 };

/* A lock of the test's: it never waits, but tells when it would have. */
struct fake {
	unsigned locktype;
	int depth;
	bool is_contended; /* the next TRY fails */
};

static struct {
	size_t allocs, frees, locks, unlocks, signals, waits;
	size_t fail_at; /* the allocation that fails, from 1 */
	unsigned last_mode;
	int wait_result;
} seen;

static void *fake_alloc(unsigned locktype)
{
	struct fake *f;

	if (++seen.allocs == seen.fail_at)
		return NULL;
	f = calloc(1, sizeof(*f));
	check(f != NULL);
	f->locktype = locktype;
	return f;
}

static void fake_free(void *lock, unsigned locktype)
{
	struct fake *f = lock;

	seen.frees++;
	check(f->locktype == locktype);
	check(f->depth == 0);
	free(f);
}

static int fake_lock(unsigned mode, void *lock)
{
	struct fake *f = lock;

	seen.locks++;
	seen.last_mode = mode;
	if ((mode & TRY) != 0 && f->is_contended)
		return EBUSY;
	f->depth++;
	return 0;
}

static int fake_unlock(unsigned mode, void *lock)
{
	struct fake *f = lock;

	seen.unlocks++;
	seen.last_mode = mode;
	f->depth--;
	return 0;
}

static void *fake_cond_alloc(unsigned condtype)
{
	check(condtype == 0);
	return malloc(1);
}

static int fake_signal(void *cond, int broadcast)
{
	check(cond != NULL);
	seen.signals += broadcast != 0 ? 10 : 1;
	return 0;
}

static int fake_wait(void *cond, void *lock, const struct timeval *timeout)
{
	struct fake *f = lock;

	(void)timeout;
	check(cond != NULL);
	check(f->depth == 1);
	seen.waits++;
	return seen.wait_result;
}

static unsigned long thread_now = 1;

static unsigned long fake_id(void)
{
	return thread_now;
}

static const struct ec_lock_callbacks fake_locks = {
	.api_version = 1,
	.supported_locktypes = RECURSIVE,
	.alloc = fake_alloc,
	.free = fake_free,
	.lock = fake_lock,
	.unlock = fake_unlock,
};

static const struct ec_condition_callbacks fake_conds = {
	.api_version = 1,
	.alloc = fake_cond_alloc,
	.free = free,
	.signal = fake_signal,
	.wait = fake_wait,
};

/* ---------------------------------------------------------------- callbacks */

static void no_threads(void)
{
	int anything;

	check(!ec_thread_is_on());
	check(ec_thread_lock_new(RECURSIVE) == NULL);
	check(ec_thread_cond_new() == NULL);
	check(ec_thread_lock(NULL, 0) == 0);
	check(ec_thread_lock(&anything, 0) == 0);
	check(ec_thread_unlock(&anything, 0) == 0);
	check(ec_thread_cond_signal(&anything, 1) == 0);
	check(ec_thread_cond_wait(&anything, &anything, NULL) == 0);
	ec_thread_lock_free(&anything, 0);
	ec_thread_lock_free(NULL, 0);
	ec_thread_cond_free(&anything);
	check(ec_thread_id() == ec_thread_id());
}

static void passes_on(void)
{
	void *lock, *cond;

	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	check(ec_thread_set_condition_callbacks(&fake_conds) == 0);
	ec_thread_set_id_fn(fake_id);
	check(ec_thread_is_on());
	thread_now = 42;
	check(ec_thread_id() == 42);

	lock = ec_thread_lock_new(RECURSIVE);
	check(lock != NULL && ((struct fake *)lock)->locktype == RECURSIVE);
	check(ec_thread_lock(lock, TRY) == 0);
	check(seen.last_mode == TRY);
	cond = ec_thread_cond_new();
	check(cond != NULL);
	check(ec_thread_cond_signal(cond, 0) == 0);
	check(ec_thread_cond_signal(cond, 1) == 0);
	check(seen.signals == 11);
	seen.wait_result = 1;
	check(ec_thread_cond_wait(cond, lock, NULL) == 1);
	ec_thread_cond_free(cond);
	check(ec_thread_unlock(lock, 0) == 0);
	ec_thread_lock_free(lock, RECURSIVE);
	check(seen.locks == 1 && seen.unlocks == 1 && seen.frees == 1 && seen.waits == 1);
}

static void set_once(void)
{
	struct ec_lock_callbacks locks = fake_locks;
	struct ec_condition_callbacks conds = fake_conds;

	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	check(ec_thread_set_lock_callbacks(&locks) == 0);
	locks.supported_locktypes = 0;
	check(ec_thread_set_lock_callbacks(&locks) == -EBUSY);
	check(ec_thread_set_condition_callbacks(&fake_conds) == 0);
	check(ec_thread_set_condition_callbacks(&conds) == 0);
	conds.api_version = 2;
	check(ec_thread_set_condition_callbacks(&conds) == -EBUSY);
	check(ec_thread_set_lock_callbacks(NULL) == 0);
	check(ec_thread_set_condition_callbacks(NULL) == 0);
	check(!ec_thread_is_on());
	check(ec_thread_set_lock_callbacks(&locks) == 0);
	check(ec_thread_set_condition_callbacks(&conds) == 0);
}

static void incomplete(void)
{
	size_t offsets[] = {
		offsetof(struct ec_lock_callbacks, alloc),
		offsetof(struct ec_lock_callbacks, free),
		offsetof(struct ec_lock_callbacks, lock),
		offsetof(struct ec_lock_callbacks, unlock),
	},
	       cond_offsets[] = {
		       offsetof(struct ec_condition_callbacks, alloc),
		       offsetof(struct ec_condition_callbacks, free),
		       offsetof(struct ec_condition_callbacks, signal),
		       offsetof(struct ec_condition_callbacks, wait),
	       };
	struct ec_lock_callbacks locks;
	struct ec_condition_callbacks conds;
	size_t i;

	for (i = 0; i < 4; i++) {
		locks = fake_locks;
		memset((char *)&locks + offsets[i], 0, sizeof(locks.alloc));
		check(ec_thread_set_lock_callbacks(&locks) == -EINVAL);
		conds = fake_conds;
		memset((char *)&conds + cond_offsets[i], 0, sizeof(conds.alloc));
		check(ec_thread_set_condition_callbacks(&conds) == -EINVAL);
	}
	check(!ec_thread_is_on());
}

static void late_in_debug_mode(void)
{
	ec_debug_enable();
	ec_debug_note_base();
	ec_thread_set_lock_callbacks(&fake_locks);
}

static void late_conds_in_debug_mode(void)
{
	ec_debug_enable();
	ec_debug_note_base();
	ec_thread_set_condition_callbacks(NULL);
}

static void callbacks_are_passed_on_to(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, no_threads);
	child_passes(&child, passes_on);
	assert_string_equal(child.text, "");
}

static void callbacks_are_set_once_and_whole(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, set_once);
	assert_non_null(
		strstr(child.text,
		       "[warn] Can't change lock callbacks once they have been initialized.\n"));
	assert_non_null(strstr(child.text, "[warn] Can't change condition callbacks once"));
	assert_non_null(strstr(child.text, "[warn] Trying to disable lock functions after"));
	assert_non_null(strstr(child.text, "[warn] Trying to disable condition functions after"));
	child_passes(&child, incomplete);
	assert_string_equal(child.text, "");
	child_exits(&child, late_in_debug_mode, 1,
		    "evthread initialization must be called BEFORE anything else!");
	child_exits(&child, late_conds_in_debug_mode, 1,
		    "evthread initialization must be called BEFORE");
}

/* ---------------------------------------------------------------- lock debugging: right use */

static void debug_with_fakes(void)
{
	ec_thread_enable_lock_debugging();
	ec_thread_enable_lock_debugging();
	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	check(ec_thread_set_condition_callbacks(&fake_conds) == 0);
	ec_thread_set_id_fn(fake_id);
}

static void *new_lock(unsigned locktype)
{
	void *lock = ec_thread_lock_new(locktype);

	check(lock != NULL);
	return lock;
}

static void right_use(void)
{
	void *lock, *cond;

	debug_with_fakes();
	lock = new_lock(PLAIN);
	check(ec_thread_lock(lock, 0) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	thread_now = 2;
	check(ec_thread_lock(lock, 0) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	ec_thread_lock_free(lock, PLAIN);

	lock = new_lock(RECURSIVE);
	check(ec_thread_lock(lock, 0) == 0);
	check(ec_thread_lock(lock, 0) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	cond = ec_thread_cond_new();
	seen.wait_result = -1;
	check(ec_thread_cond_wait(cond, lock, NULL) == -1);
	check(ec_thread_unlock(lock, 0) == 0);
	ec_thread_cond_free(cond);
	ec_thread_lock_free(lock, RECURSIVE);

	lock = new_lock(READWRITE);
	check(ec_thread_lock(lock, READ) == 0);
	check(ec_thread_unlock(lock, READ) == 0);
	check(ec_thread_lock(lock, WRITE | TRY) == 0);
	check(ec_thread_unlock(lock, WRITE) == 0);
	ec_thread_lock_free(lock, READWRITE);
	check(seen.allocs == 3 && seen.frees == 3 && seen.locks == seen.unlocks);
}

/* Its own lock is the last that the test's allocator was asked for: always recursive. */
static struct fake *last_fake;

static void *remembering_alloc(unsigned locktype)
{
	check((locktype & RECURSIVE) != 0);
	last_fake = fake_alloc(locktype);
	return last_fake;
}

static void a_failed_try(void)
{
	struct ec_lock_callbacks locks = fake_locks;
	void *lock;

	locks.alloc = remembering_alloc;
	ec_thread_enable_lock_debugging();
	check(ec_thread_set_lock_callbacks(&locks) == 0);
	lock = new_lock(PLAIN);
	last_fake->is_contended = true;
	check(ec_thread_lock(lock, TRY) == EBUSY);
	last_fake->is_contended = false;
	check(ec_thread_lock(lock, TRY) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	ec_thread_lock_free(lock, PLAIN);
}

static void without_the_programs(void)
{
	void *lock;

	ec_thread_enable_lock_debugging();
	check(ec_thread_is_on());
	lock = new_lock(RECURSIVE);
	check(ec_thread_lock(lock, 0) == 0);
	/* Set while it is held: it has no lock of the program's, now and later. */
	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	check(ec_thread_lock(lock, 0) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	ec_thread_lock_free(lock, RECURSIVE);
	check(seen.allocs == 0 && seen.locks == 0 && seen.unlocks == 0 && seen.frees == 0);
}

static void until_shutdown(void)
{
	void *lock;

	debug_with_fakes();
	ec_global_shutdown();
	check(ec_thread_is_on());
	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	lock = new_lock(PLAIN);
	check(((struct fake *)lock)->locktype == PLAIN);
	ec_thread_lock_free(lock, PLAIN);
	ec_global_shutdown();
	check(ec_thread_is_on());
}

static void right_use_is_not_complained_of(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, right_use);
	child_passes(&child, a_failed_try);
	child_passes(&child, without_the_programs);
	child_passes(&child, until_shutdown);
}

/* ---------------------------------------------------------------- lock debugging: misuse */

static void unlock_unheld(void)
{
	debug_with_fakes();
	ec_thread_unlock(new_lock(RECURSIVE), 0);
}

static void unlock_anothers(void)
{
	void *lock;

	debug_with_fakes();
	lock = new_lock(RECURSIVE);
	ec_thread_lock(lock, 0);
	thread_now = 2;
	ec_thread_unlock(lock, 0);
}

static void lock_anothers(void)
{
	void *lock;

	debug_with_fakes();
	lock = new_lock(RECURSIVE);
	ec_thread_lock(lock, 0);
	thread_now = 2;
	ec_thread_lock(lock, 0);
}

static void lock_plain_twice(void)
{
	void *lock;

	debug_with_fakes();
	lock = new_lock(PLAIN);
	ec_thread_lock(lock, 0);
	ec_thread_lock(lock, 0);
}

static void free_held(void)
{
	void *lock;

	debug_with_fakes();
	lock = new_lock(RECURSIVE);
	ec_thread_lock(lock, 0);
	ec_thread_lock_free(lock, RECURSIVE);
}

static void free_as_another_type(void)
{
	debug_with_fakes();
	ec_thread_lock_free(new_lock(RECURSIVE), PLAIN);
}

static void read_a_plain_one(void)
{
	debug_with_fakes();
	ec_thread_lock(new_lock(PLAIN), READ);
}

static void neither_read_nor_write(void)
{
	debug_with_fakes();
	ec_thread_lock(new_lock(READWRITE), 0);
}

static void a_lock_from_before(void)
{
	void *lock;

	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	lock = new_lock(RECURSIVE);
	ec_thread_enable_lock_debugging();
	ec_thread_lock(lock, 0);
}

static void wait_without_the_lock(void)
{
	debug_with_fakes();
	ec_thread_cond_wait(ec_thread_cond_new(), new_lock(RECURSIVE), NULL);
}

static void misuse_aborts_with_a_reason(void **state)
{
	struct child child;

	(void)state;
	child_aborts(&child, unlock_unheld, "a lock that is not held is unlocked");
	child_aborts(&child, unlock_anothers, "another thread's lock is unlocked");
	child_aborts(&child, lock_anothers, "a lock is held by two threads");
	child_aborts(&child, lock_plain_twice, "a lock that is not recursive is taken twice");
	child_aborts(&child, free_held, "a held lock is freed");
	child_aborts(&child, free_as_another_type, "a lock is freed as one of another type");
	child_aborts(&child, read_a_plain_one, "reading or writing is told");
	child_aborts(&child, neither_read_nor_write, "reading or writing is told");
	child_aborts(&child, a_lock_from_before, "the lock was not made with lock debugging on");
	child_aborts(&child, wait_without_the_lock, "a lock that is not held is unlocked");
}

/* ---------------------------------------------------------------- no memory */

static size_t mallocs_num, malloc_fail_at;

static void *failing_malloc(size_t size)
{
	return ++mallocs_num == malloc_fail_at ? NULL : malloc(size);
}

static void no_memory(void)
{
	debug_with_fakes();
	ec_mem_set_fns(failing_malloc, NULL, NULL);
	malloc_fail_at = 1;
	check(ec_thread_lock_new(PLAIN) == NULL);
	seen.fail_at = seen.allocs + 1;
	check(ec_thread_lock_new(PLAIN) == NULL);
	ec_thread_lock_free(new_lock(PLAIN), PLAIN);
	check(seen.frees == 1);
}

static void without_memory_there_is_no_lock(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, no_memory);
}

/* Whoever holds one need not know that it is the engine's, and the program is not asked. */
static void own_lock_is_recursive_and_not_the_programs(void)
{
	void *lock = ec_thread_lock_new_own();

	check(lock != NULL);
	check(ec_thread_lock(lock, 0) == 0);
	check(ec_thread_lock(lock, 0) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	check(ec_thread_unlock(lock, 0) == 0);
	check(ec_thread_unlock(lock, 0) == EPERM);
	ec_thread_lock_free(lock, RECURSIVE);
	check(seen.allocs == 0 && seen.locks == 0 && seen.unlocks == 0 && seen.frees == 0);
}

static void own_locks_need_no_callbacks(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, own_lock_is_recursive_and_not_the_programs);
}

/* The program has none of its own, but those of evthread_use_pthreads(). */
static void pthreads(void)
{
	void *lock;

	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	ec_thread_note_pthreads();
	check(ec_thread_is_on());
	check(ec_thread_lock_callbacks()->alloc == fake_alloc);
	lock = new_lock(RECURSIVE);
	check(ec_thread_lock(lock, 0) == 0 && ec_thread_unlock(lock, 0) == 0);
	ec_thread_lock_free(lock, RECURSIVE);
	check(seen.allocs == 0 && seen.locks == 0 && seen.unlocks == 0 && seen.frees == 0);

	/* Not for what is not recursive, not with lock debugging, and not once others are set. */
	lock = new_lock(PLAIN);
	ec_thread_lock_free(lock, PLAIN);
	check(seen.allocs == 1 && seen.frees == 1);
	ec_thread_enable_lock_debugging();
	lock = new_lock(RECURSIVE);
	ec_thread_lock_free(lock, RECURSIVE);
	check(seen.allocs == 2 && seen.frees == 2);
	ec_thread_shutdown();
	check(ec_thread_set_lock_callbacks(NULL) == 0 && !ec_thread_is_on());
	check(ec_thread_lock_new(RECURSIVE) == NULL);
	check(ec_thread_set_lock_callbacks(&fake_locks) == 0);
	lock = new_lock(RECURSIVE);
	ec_thread_lock_free(lock, RECURSIVE);
	check(seen.allocs == 3 && seen.frees == 3);
}

static void own_locks_take_the_place_of_pthreads(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, pthreads);
}

/* Threads that write the same number. */
enum { THREADS = 4, ROUNDS = 20000 };

static struct {
	void *lock;
	unsigned num;
} shared;

static void *count_main(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		check(ec_thread_lock(shared.lock, 0) == 0);
		check(ec_thread_lock(shared.lock, 0) == 0);
		shared.num++;
		check(ec_thread_unlock(shared.lock, 0) == 0);
		shared.num++;
		check(ec_thread_unlock(shared.lock, 0) == 0);
	}
	return NULL;
}

static void own_lock_excludes(void)
{
	pthread_t ids[THREADS];
	int i;

	shared.lock = ec_thread_lock_new_own();
	check(shared.lock != NULL);
	for (i = 0; i < THREADS; i++)
		check(pthread_create(&ids[i], NULL, count_main, NULL) == 0);
	for (i = 0; i < THREADS; i++)
		check(pthread_join(ids[i], NULL) == 0);
	check(shared.num == 2 * THREADS * ROUNDS);
	ec_thread_lock_free(shared.lock, RECURSIVE);
}

static void *second_main(void *arg)
{
	check(ec_thread_lock(shared.lock, 0) == 0);
	check(shared.num == 2);
	check(ec_thread_unlock(shared.lock, 0) == 0);
	return arg;
}

/* Taken by the only thread, it excludes the second one, which its release wakes. */
static void own_lock_outlives_being_alone(void)
{
	pthread_t id;

	shared.lock = ec_thread_lock_new_own();
	check(shared.lock != NULL);
	check(ec_thread_lock(shared.lock, 0) == 0 && ec_thread_unlock(shared.lock, 0) == 0);
	check(ec_thread_lock(shared.lock, 0) == 0);
	shared.num = 1;
	check(pthread_create(&id, NULL, second_main, NULL) == 0);
	sched_yield();
	shared.num = 2;
	check(ec_thread_unlock(shared.lock, 0) == 0);
	check(pthread_join(id, NULL) == 0);
	ec_thread_lock_free(shared.lock, RECURSIVE);
}

static void own_locks_outlive_being_alone(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, own_lock_outlives_being_alone);
}

static void own_locks_exclude_threads(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, own_lock_excludes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callbacks_are_passed_on_to),
		cmocka_unit_test(callbacks_are_set_once_and_whole),
		cmocka_unit_test(right_use_is_not_complained_of),
		cmocka_unit_test(misuse_aborts_with_a_reason),
		cmocka_unit_test(without_memory_there_is_no_lock),
		cmocka_unit_test(own_locks_need_no_callbacks),
		cmocka_unit_test(own_locks_take_the_place_of_pthreads),
		cmocka_unit_test(own_locks_outlive_being_alone),
		cmocka_unit_test(own_locks_exclude_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
