/*
 * The program may have a limit for the size of files (RLIMIT_FSIZE). What is written beyond it raises SIGXFSZ, which
 * ends most programs. Between hold and release such a call of this thread fails with EFBIG only.
 */
#ifndef EC_FILE_LIMIT_H
#define EC_FILE_LIMIT_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

struct ec_file_hold {
	bool is_held;			/* false: there is no limit */
	bool was_pending;		/* the program's own signal, which it blocks */
	sigset_t mask;			/* of the thread before */
};

static inline void ec_file_hold(struct ec_file_hold *h)
{
	struct rlimit limit;
	sigset_t own;

	h->is_held = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
	if (!h->is_held)
		return;
	sigemptyset(&own);
	(void)sigpending(&own);
	h->was_pending = sigismember(&own, SIGXFSZ) == 1;
	sigemptyset(&own);
	sigaddset(&own, SIGXFSZ);
	(void)pthread_sigmask(SIG_BLOCK, &own, &h->mask);
}

/* It leaves errno alone. */
static inline void ec_file_release(const struct ec_file_hold *h)
{
	const struct timespec now = { 0, 0 };
	int err = errno;
	sigset_t own;

	if (!h->is_held)
		return;
	sigemptyset(&own);
	sigaddset(&own, SIGXFSZ);
	if (!h->was_pending)
		(void)sigtimedwait(&own, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &h->mask, NULL);
	errno = err;
}

#endif
