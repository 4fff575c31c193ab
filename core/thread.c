/*
 * The program's locks, conditions and thread ids (evthread), and lock debugging.
 *
 * The engine has locks of its own and only asks whether threads are on. These are for
 * what a program may lock itself (bufferevents, evbuffers), and so may be replaced by it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "ec.h"

enum { LOCK_RECURSIVE = 1, MODE_TRY = 0x10 };

/* Written before threads exist, as evthread documents. */
static struct ec_lock_callbacks locks;		/* what callers get */
static struct ec_lock_callbacks locks_real;	/* below lock debugging */
static struct ec_condition_callbacks conds;
static unsigned long (*id_fn)(void);
static bool is_debugging;
static struct ec_base *current_base;

/* ---------------------------------------------------------------- lock debugging */

struct debug_lock {
	unsigned signature;
	unsigned locktype;
	unsigned long held_by;
	int count;
	void *real;
};

enum { SIGNATURE = 0xdeb0b10c };

static struct debug_lock *debug_cast(void *lock)
{
	struct debug_lock *l = lock;

	if (l->signature != SIGNATURE)
		ec_die((int)0xdeaddead, "%s: not a lock made with lock debugging on", __func__);
	return l;
}

static void *debug_alloc(unsigned locktype)
{
	struct debug_lock *l = ec_calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	if (locks_real.alloc != NULL) {
		l->real = locks_real.alloc(locktype | LOCK_RECURSIVE);
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

	if (l->count != 0)
		ec_die((int)0xdeaddead, "%s: a held lock is freed", __func__);
	if (l->locktype != locktype)
		ec_die((int)0xdeaddead, "%s: a lock is freed as of another type", __func__);
	if (l->real != NULL)
		locks_real.free(l->real, locktype | LOCK_RECURSIVE);
	l->signature = 0;
	ec_free(l);
}

static void debug_mark_held(struct debug_lock *l)
{
	unsigned long me = ec_thread_id();

	l->count++;
	if ((l->locktype & LOCK_RECURSIVE) == 0 && l->count != 1)
		ec_die((int)0xdeaddead, "%s: a lock that is not recursive is taken twice", __func__);
	if (id_fn != NULL && l->count > 1 && l->held_by != me)
		ec_die((int)0xdeaddead, "%s: a lock is held by two threads", __func__);
	l->held_by = me;
}

static int debug_lock(unsigned mode, void *lock)
{
	struct debug_lock *l = debug_cast(lock);
	int r = 0;

	if (locks_real.lock != NULL)
		r = locks_real.lock(mode, l->real);
	if (r == 0)
		debug_mark_held(l);
	return r;
}

static void debug_mark_left(struct debug_lock *l)
{
	if (l->count <= 0)
		ec_die((int)0xdeaddead, "%s: a lock that is not held is unlocked", __func__);
	if (id_fn != NULL && l->held_by != ec_thread_id())
		ec_die((int)0xdeaddead, "%s: a lock of another thread is unlocked", __func__);
	if (--l->count == 0)
		l->held_by = 0;
}

static int debug_unlock(unsigned mode, void *lock)
{
	struct debug_lock *l = debug_cast(lock);

	debug_mark_left(l);
	return locks_real.unlock != NULL ? locks_real.unlock(mode, l->real) : 0;
}

/* The real wait leaves and retakes the lock below: the books must say so. */
static int debug_wait(void *cond, void *lock, const struct timeval *timeout)
{
	struct debug_lock *l = debug_cast(lock);
	int r;

	debug_mark_left(l);
	r = conds.wait(cond, l->real, timeout);
	debug_mark_held(l);
	return r;
}

void ec_thread_enable_lock_debugging(void)
{
	static const struct ec_lock_callbacks debug = {
		.api_version = 1,
		.supported_locktypes = LOCK_RECURSIVE,
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

/* ---------------------------------------------------------------- callbacks */

static bool is_same_locks(const struct ec_lock_callbacks *a, const struct ec_lock_callbacks *b)
{
	return a->api_version == b->api_version && a->supported_locktypes == b->supported_locktypes &&
	       a->alloc == b->alloc && a->free == b->free && a->lock == b->lock && a->unlock == b->unlock;
}

int ec_thread_set_lock_callbacks(const struct ec_lock_callbacks *cbs)
{
	struct ec_lock_callbacks *target = is_debugging ? &locks_real : &locks;

	if (cbs == NULL) {
		if (target->alloc != NULL)
			ec_log(EC_LOG_WARN, "Trying to disable lock functions after they have been set up will probaby not "
					    "work.");
		memset(target, 0, sizeof(*target));
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

int ec_thread_set_condition_callbacks(const struct ec_condition_callbacks *cbs)
{
	if (cbs == NULL) {
		if (conds.alloc != NULL)
			ec_log(EC_LOG_WARN, "Trying to disable condition functions after they have been set up will "
					    "probaby not work.");
		memset(&conds, 0, sizeof(conds));
		return 0;
	}
	if (conds.alloc != NULL) {
		if (conds.api_version == cbs->api_version && conds.alloc == cbs->alloc && conds.free == cbs->free &&
		    conds.signal == cbs->signal && conds.wait == cbs->wait)
			return 0;
		ec_log(EC_LOG_WARN, "Can't change condition callbacks once they have been initialized.");
		return -EBUSY;
	}
	if (cbs->alloc == NULL || cbs->free == NULL || cbs->signal == NULL || cbs->wait == NULL)
		return -EINVAL;
	conds = *cbs;
	return 0;
}

void ec_thread_set_id_fn(unsigned long (*fn)(void))
{
	id_fn = fn;
}

bool ec_thread_is_on(void)
{
	return locks.lock != NULL;
}

unsigned long ec_thread_id(void)
{
	return id_fn == NULL ? 1 : id_fn();
}

void *ec_thread_lock_new(unsigned locktype)
{
	return locks.alloc == NULL ? NULL : locks.alloc(locktype);
}

void ec_thread_lock_free(void *lock, unsigned locktype)
{
	if (lock != NULL && locks.free != NULL)
		locks.free(lock, locktype);
}

int ec_thread_lock(void *lock, unsigned mode)
{
	return lock == NULL || locks.lock == NULL ? 0 : locks.lock(mode, lock);
}

int ec_thread_unlock(void *lock, unsigned mode)
{
	return lock == NULL || locks.unlock == NULL ? 0 : locks.unlock(mode, lock);
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

/* ---------------------------------------------------------------- the current base */

struct ec_base *ec_current_base(void)
{
	return current_base;
}

void ec_set_current_base(struct ec_base *base)
{
	current_base = base;
}
