/*
 * evthread_use_pthreads.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/time.h>

#include <event2/thread.h>

#include "core/ec.h"

static void *lock_alloc(unsigned locktype)
{
	pthread_mutex_t *m = ec_malloc(sizeof(*m));
	pthread_mutexattr_t attr;
	int r;

	if (m == NULL)
		return NULL;
	(void)pthread_mutexattr_init(&attr);
	if ((locktype & EVTHREAD_LOCKTYPE_RECURSIVE) != 0)
		(void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	r = pthread_mutex_init(m, &attr);
	(void)pthread_mutexattr_destroy(&attr);
	if (r != 0) {
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

static void *cond_alloc(unsigned condtype)
{
	pthread_cond_t *c = ec_malloc(sizeof(*c));

	(void)condtype;
	if (c == NULL)
		return NULL;
	if (pthread_cond_init(c, NULL) != 0) {
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
	struct timeval now, end;
	struct timespec ts;
	int r;

	if (timeout == NULL)
		return pthread_cond_wait(cond, lock) == 0 ? 0 : -1;
	(void)gettimeofday(&now, NULL);
	timeradd(&now, timeout, &end);
	ts.tv_sec = end.tv_sec;
	ts.tv_nsec = end.tv_usec * 1000;
	r = pthread_cond_timedwait(cond, lock, &ts);
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

	if (evthread_set_lock_callbacks(&locks) < 0 || evthread_set_condition_callbacks(&conds) < 0)
		return -1;
	evthread_set_id_callback(id);
	return 0;
}
