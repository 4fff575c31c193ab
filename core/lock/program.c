/*
 * The program's locks, conditions and thread ids (evthread), and lock debugging.
 *
 * The engine has locks of its own and only asks whether threads are on. These are for
 * what a program may lock itself (bufferevents, evbuffers), and so may be replaced by it.
 *
 * Lock debugging is a set of callbacks between the callers and the program's. A lock made under
 * it is a struct debug_lock around the program's lock, which is always recursive: the first
 * wrong step then ends in a message, not in a deadlock. Its fields belong to whoever holds
 * the lock; that is why they are written after taking and before leaving it.
 */
#include "ec.h"

#include <errno.h>
#include <string.h>

#include "recursive.h"

/* <event2/thread.h>'s */
enum { TYPE_RECURSIVE = 0x01, TYPE_READWRITE = 0x02 };
enum { MODE_WRITE = 0x04, MODE_READ = 0x08 };

/* Of no program: so that who locks need not ask. */
static int lock_nothing(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	return 0;
}

#define NO_LOCKS { .lock = lock_nothing, .unlock = lock_nothing }

/* const: set before there are threads and locks, as <event2/thread.h> demands */
static struct ec_lock_callbacks locks = NO_LOCKS; /* what callers get */
static struct ec_lock_callbacks locks_real = NO_LOCKS; /* the program's, while lock debugging is on */
static struct ec_condition_callbacks conds;
static unsigned long (*id_fn)(void);
static bool is_debugging;
static bool are_pthreads;	/* the program's locks are those of evthread_use_pthreads() */

/* ---------------------------------------------------------------- lock debugging */

enum { SIGNATURE = 0xdb10c };

struct debug_lock {
	/* const */
	unsigned signature;
	unsigned locktype;
	void *real; /* NULL: made before the program set its callbacks */

	/* real: its holder's */
	unsigned long held_by;
	int count;
};

static void require(bool is_right, const char *complaint)
{
	if (!is_right)
		ec_die(EC_EXIT_ABORT, "lock debugging: %s", complaint);
}

static struct debug_lock *debug_cast(void *lock)
{
	struct debug_lock *l = lock;

	require(l->signature == SIGNATURE, "the lock was not made with lock debugging on");
	return l;
}

static void *debug_alloc(unsigned locktype)
{
	struct debug_lock *l = ec_calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	if (locks_real.alloc != NULL) {
		l->real = locks_real.alloc(locktype | TYPE_RECURSIVE);
		if (l->real == NULL) {
			ec_free(l);
			return NULL;
		}
	}
	l->signature = SIGNATURE;
	l->locktype = locktype;
	return l;
}

static void debug_free(void *lock, unsigned locktype)
{
	struct debug_lock *l = debug_cast(lock);

	require(l->count == 0, "a held lock is freed");
	require(l->locktype == locktype, "a lock is freed as one of another type");
	if (l->real != NULL && locks_real.free != NULL)
		locks_real.free(l->real, locktype | TYPE_RECURSIVE);
	l->signature = 0;
	ec_free(l);
}

static void check_mode(const struct debug_lock *l, unsigned mode)
{
	bool is_readwrite = (l->locktype & TYPE_READWRITE) != 0;

	require(is_readwrite == ((mode & (MODE_READ | MODE_WRITE)) != 0),
		"reading or writing is told for a readers-writer lock, and only for it");
}

static void mark_taken(struct debug_lock *l)
{
	l->count++;
	require((l->locktype & TYPE_RECURSIVE) != 0 || l->count == 1,
		"a lock that is not recursive is taken twice");
	if (id_fn == NULL)
		return;
	require(l->count == 1 || l->held_by == id_fn(), "a lock is held by two threads");
	l->held_by = id_fn();
}

static void mark_left(struct debug_lock *l)
{
	require(l->count > 0, "a lock that is not held is unlocked");
	require(id_fn == NULL || l->held_by == id_fn(), "another thread's lock is unlocked");
	if (--l->count == 0)
		l->held_by = 0;
}

static int debug_lock(unsigned mode, void *lock)
{
	struct debug_lock *l = debug_cast(lock);
	int r = 0;

	check_mode(l, mode);
	if (l->real != NULL)
		r = locks_real.lock(mode, l->real);
	if (r == 0)
		mark_taken(l);
	return r;
}

static int debug_unlock(unsigned mode, void *lock)
{
	struct debug_lock *l = debug_cast(lock);

	check_mode(l, mode);
	mark_left(l);
	return l->real == NULL ? 0 : locks_real.unlock(mode, l->real);
}

/* The program's wait releases and retakes the lock: note that. */
static int debug_wait(void *cond, void *lock, const struct timeval *timeout)
{
	struct debug_lock *l = debug_cast(lock);
	int r;

	mark_left(l);
	r = conds.wait(cond, l->real, timeout);
	mark_taken(l);
	return r;
}

void ec_thread_enable_lock_debugging(void)
{
	static const struct ec_lock_callbacks debug = {
		.api_version = 1,
		.supported_locktypes = TYPE_RECURSIVE,
		.alloc = debug_alloc,
		.free = debug_free,
		.lock = debug_lock,
		.unlock = debug_unlock,
	};

	if (is_debugging)
		return;
	locks_real = locks;
	locks = debug;
	is_debugging = true;
}

void ec_thread_shutdown(void)
{
	if (!is_debugging)
		return;
	locks = locks_real;
	is_debugging = false;
}

/* ---------------------------------------------------------------- callbacks */

static bool is_same_locks(const struct ec_lock_callbacks *a, const struct ec_lock_callbacks *b)
{
	return a->api_version == b->api_version &&
	       a->supported_locktypes == b->supported_locktypes && a->alloc == b->alloc &&
	       a->free == b->free && a->lock == b->lock && a->unlock == b->unlock;
}

int ec_thread_set_lock_callbacks(const struct ec_lock_callbacks *cbs)
{
	static const struct ec_lock_callbacks none = NO_LOCKS;
	struct ec_lock_callbacks *target = is_debugging ? &locks_real : &locks;

	ec_debug_assert_no_base();
	if (cbs == NULL) {
		if (target->alloc != NULL)
			ec_log(EC_LOG_WARN, "Trying to disable lock functions after they have been "
					    "set up will probaby not work.");
		*target = none;
		are_pthreads = false;
		return 0;
	}
	if (target->alloc != NULL) {
		if (is_same_locks(target, cbs))
			return 0;
		ec_log(EC_LOG_WARN, "Can't change lock callbacks once they have been initialized.");
		return -EBUSY;
	}
	if (cbs->alloc == NULL || cbs->free == NULL || cbs->lock == NULL || cbs->unlock == NULL)
		return -EINVAL;
	*target = *cbs;
	return 0;
}

void ec_thread_note_pthreads(void)
{
	are_pthreads = true;
}

static bool is_same_conditions(const struct ec_condition_callbacks *a,
			       const struct ec_condition_callbacks *b)
{
	return a->api_version == b->api_version && a->alloc == b->alloc && a->free == b->free &&
	       a->signal == b->signal && a->wait == b->wait;
}

int ec_thread_set_condition_callbacks(const struct ec_condition_callbacks *cbs)
{
	ec_debug_assert_no_base();
	if (cbs == NULL) {
		if (conds.alloc != NULL)
			ec_log(EC_LOG_WARN, "Trying to disable condition functions after they have "
					    "been set up will probaby not work.");
		memset(&conds, 0, sizeof(conds));
		return 0;
	}
	if (conds.alloc != NULL) {
		if (is_same_conditions(&conds, cbs))
			return 0;
		ec_log(EC_LOG_WARN,
		       "Can't change condition callbacks once they have been initialized.");
		return -EBUSY;
	}
	if (cbs->alloc == NULL || cbs->free == NULL || cbs->signal == NULL || cbs->wait == NULL)
		return -EINVAL;
	conds = *cbs;
	return 0;
}

const struct ec_lock_callbacks *ec_thread_lock_callbacks(void)
{
	static const struct ec_lock_callbacks none;
	const struct ec_lock_callbacks *cbs = is_debugging ? &locks_real : &locks;

	/* If none are set, the engine's own are there, which are not for the program. */
	return cbs->alloc != NULL ? cbs : &none;
}

const struct ec_condition_callbacks *ec_thread_condition_callbacks(void)
{
	return &conds;
}

void ec_thread_set_id_fn(unsigned long (*fn)(void))
{
	id_fn = fn;
}

bool ec_thread_is_on(void)
{
	return locks.alloc != NULL;
}

unsigned long ec_thread_id(void)
{
	return id_fn == NULL ? 1 : id_fn();
}

/* ---------------------------------------------------------------- locks of both kinds */

/*
 * The handle of an engine's lock has a mark in its top bits, which no address has, so a caller need not know which kind
 * of lock it has. A program's handle may be anything, such as a small or odd number. Where addresses use all bits, the
 * mark is in the bottom bits, and a word before the mutex confirms it: a program's handle may be any address, or a
 * small number. That word is read only where the program's byte would be, or beside it.
 */
enum { IS_WIDE = sizeof(void *) == 8, OWN_SHIFT = 48, OWN_BITS = 3, NOT_SMALL = 1 << 16 };
enum { OWN_HEAD = IS_WIDE ? 0 : 16, OWN_WORD = 0x534d5021 };
#define OWN_TOP (UINT64_C(0x4c53) << OWN_SHIFT)
#define OWN_MARK (IS_WIDE ? (uintptr_t)OWN_TOP : (uintptr_t)OWN_BITS)

static inline bool is_own(const void *lock)
{
	if (IS_WIDE)
		return __builtin_expect((uint64_t)(uintptr_t)lock >> OWN_SHIFT == OWN_TOP >> OWN_SHIFT, 1);
	return ((uintptr_t)lock & OWN_BITS) == OWN_BITS && (uintptr_t)lock >= NOT_SMALL &&
	       *(const int *)((uintptr_t)lock - OWN_BITS) == OWN_WORD;
}

static inline struct ec_recursive *own_lock(void *lock)
{
	return (struct ec_recursive *)((uintptr_t)lock - OWN_MARK + OWN_HEAD);
}

void *ec_thread_lock_new_own(void)
{
	/* glibc's calloc does not use its per-thread cache of free blocks. */
	char *head = ec_malloc(OWN_HEAD + sizeof(struct ec_recursive));

	if (head == NULL)
		return NULL;
	memset(head, 0, OWN_HEAD + sizeof(struct ec_recursive));
	if (!IS_WIDE)
		*(int *)(void *)head = OWN_WORD;
	return (void *)((uintptr_t)head + OWN_MARK);
}

void *ec_thread_lock_new(unsigned locktype)
{
	if (are_pthreads && !is_debugging && locktype == TYPE_RECURSIVE)
		return ec_thread_lock_new_own();
	return locks.alloc == NULL ? NULL : locks.alloc(locktype);
}

void ec_thread_lock_free(void *lock, unsigned locktype)
{
	if (is_own(lock)) {
		ec_free((char *)own_lock(lock) - OWN_HEAD);
	} else if (lock != NULL && locks.free != NULL) {
		locks.free(lock, locktype);
	}
}

int ec_thread_lock(void *lock, unsigned mode)
{
	if (is_own(lock))
		return ec_recursive_lock(own_lock(lock));
	return __builtin_expect(lock == NULL, 0) ? 0 : locks.lock(mode, lock);
}

int ec_thread_unlock(void *lock, unsigned mode)
{
	if (is_own(lock))
		return -ec_recursive_unlock(own_lock(lock));
	return __builtin_expect(lock == NULL, 0) ? 0 : locks.unlock(mode, lock);
}

void *ec_thread_cond_new(void)
{
	return conds.alloc == NULL ? NULL : conds.alloc(0);
}

void ec_thread_cond_free(void *cond)
{
	if (cond != NULL && conds.free != NULL)
		conds.free(cond);
}

int ec_thread_cond_signal(void *cond, int broadcast)
{
	return cond == NULL || conds.signal == NULL ? 0 : conds.signal(cond, broadcast);
}

int ec_thread_cond_wait(void *cond, void *lock, const struct timeval *timeout)
{
	if (cond == NULL || conds.wait == NULL)
		return 0;
	return is_debugging ? debug_wait(cond, lock, timeout) : conds.wait(cond, lock, timeout);
}
