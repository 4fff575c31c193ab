/*
 * evthread_use_pthreads: locks, conditions and thread ids from the C library.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/time.h>
#include <time.h>

#include <event2/thread.h>

#include "core/ec.h"

static int mutex_init(pthread_mutex_t *m, unsigned locktype)
{
	pthread_mutexattr_t attr;
	int r;

	if ((locktype & EVTHREAD_LOCKTYPE_RECURSIVE) == 0)
		return pthread_mutex_init(m, NULL);
	r = pthread_mutexattr_init(&attr);
	if (r != 0)
		return r;
	r = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	if (r == 0)
		r = pthread_mutex_init(m, &attr);
	(void)pthread_mutexattr_destroy(&attr);
	return r;
}

static void *lock_alloc(unsigned locktype)
{
	pthread_mutex_t *m = ec_malloc(sizeof(*m));

	if (m == NULL)
		return NULL;
	if (mutex_init(m, locktype) != 0) {
		ec_free(m);
		return NULL;
	}
	return m;
}

static void lock_free(void *lock, unsigned locktype)
{
	(void)locktype;
	(void)pthread_mutex_destroy(lock);
	ec_free(lock);
}

static int lock_take(unsigned mode, void *lock)
{
	return (mode & EVTHREAD_TRY) != 0 ? pthread_mutex_trylock(lock) : pthread_mutex_lock(lock);
}

static int lock_leave(unsigned mode, void *lock)
{
	(void)mode;
	return pthread_mutex_unlock(lock);
}

static unsigned long id(void)
{
	return (unsigned long)pthread_self();
}

/* Timeouts are intervals, so a step of the wall clock must not stretch or cut them. */
static int monotonic_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;
	int r;

	r = pthread_condattr_init(&attr);
	if (r != 0)
		return r;
	r = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (r == 0)
		r = pthread_cond_init(c, &attr);
	(void)pthread_condattr_destroy(&attr);
	return r;
}

static void *cond_alloc(unsigned condtype)
{
	pthread_cond_t *c;

	if (condtype != 0)
		return NULL; /* this version of the interface has no other types */
	c = ec_malloc(sizeof(*c));
	if (c == NULL)
		return NULL;
	if (monotonic_cond_init(c) != 0) {
		ec_free(c);
		return NULL;
	}
	return c;
}

static void cond_free(void *cond)
{
	(void)pthread_cond_destroy(cond);
	ec_free(cond);
}

static int cond_signal(void *cond, int broadcast)
{
	int r = broadcast != 0 ? pthread_cond_broadcast(cond) : pthread_cond_signal(cond);

	return r == 0 ? 0 : -1;
}

/* 0: signaled, 1: timed out, -1: error. */
static int cond_wait(void *cond, void *lock, const struct timeval *timeout)
{
	struct timespec end;
	int r;

	if (timeout == NULL)
		return pthread_cond_wait(cond, lock) == 0 ? 0 : -1;
	if (clock_gettime(CLOCK_MONOTONIC, &end) < 0)
		return -1;
	end.tv_sec += timeout->tv_sec;
	end.tv_nsec += timeout->tv_usec * 1000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	r = pthread_cond_timedwait(cond, lock, &end);
	if (r == ETIMEDOUT)
		return 1;
	return r == 0 ? 0 : -1;
}

int evthread_use_pthreads(void)
{
	static const struct evthread_lock_callbacks locks = {
		.lock_api_version = EVTHREAD_LOCK_API_VERSION,
		.supported_locktypes = EVTHREAD_LOCKTYPE_RECURSIVE,
		.alloc = lock_alloc,
		.free = lock_free,
		.lock = lock_take,
		.unlock = lock_leave,
	};
	static const struct evthread_condition_callbacks conds = {
		.condition_api_version = EVTHREAD_CONDITION_API_VERSION,
		.alloc_condition = cond_alloc,
		.free_condition = cond_free,
		.signal_condition = cond_signal,
		.wait_condition = cond_wait,
	};

	/*
	 * If the program has set callbacks before, they stay, with a warning. As in stock, this is
	 * not a failure.
	 */
	if (evthread_set_lock_callbacks(&locks) == 0)
		ec_thread_note_pthreads();
	(void)evthread_set_condition_callbacks(&conds);
	evthread_set_id_callback(id);
	return 0;
}
