/*
 * Messages, and fatal errors, which end the process.
 *
 * The callbacks may be set while other threads log: each is one word, read once per message.
 * A program that replaces one must keep both usable meanwhile, as with any libevent.
 */
#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atomic.h"
#include "thread.h"

enum { MESSAGE_MAX = 1024 }; /* longer messages are cut: programs copy them to buffers of libevent's size */

static _Atomic(ec_log_fn) log_fn;
static _Atomic(ec_fatal_fn) fatal_fn;

void ec_log_set_fn(ec_log_fn fn)
{
	ec_store_release(&log_fn, fn); /* meets emit */
}

void ec_log_set_fatal_fn(ec_fatal_fn fn)
{
	ec_store_release(&fatal_fn, fn); /* meets leave */
}

void ec_log_set_debug(uint32_t which)
{
	ec_watch_set(EC_WATCH_LOG, which != 0);
}

static void emit(enum ec_severity severity, const char *msg)
{
	static const char *const names[] = {
		[EC_LOG_DEBUG] = "debug",
		[EC_LOG_MSG] = "msg",
		[EC_LOG_WARN] = "warn",
		[EC_LOG_ERR] = "err",
	};
	ec_log_fn fn = ec_load_acquire(&log_fn);
	int state = ec_cancel_hold();

	/* The caller may hold a lock. */
	if (fn != NULL)
		fn((int)severity, msg);
	else
		fprintf(stderr, "[%s] %s\n", names[severity], msg);
	ec_cancel_release(state);
}

static void compose(char *msg, size_t size, int err, const char *fmt, va_list ap)
{
	size_t len;

	if (vsnprintf(msg, size, fmt, ap) < 0)
		msg[0] = '\0';
	len = strlen(msg);
	/* Without room for a colon, a blank and one letter, leave out the error's text. */
	if (err != EC_NO_ERRNO && len < size - 3) {
		errno = err; /* %m: C libraries differ in what strerror_r returns */
		snprintf(msg + len, size - len, ": %m");
	}
}

static bool is_wanted(enum ec_severity severity)
{
	return severity != EC_LOG_DEBUG || ec_log_debug_on();
}

static void log_now(enum ec_severity severity, int err, const char *fmt, va_list ap)
{
	char msg[MESSAGE_MAX];
	int saved_errno = errno;

	compose(msg, sizeof(msg), err, fmt, ap);
	emit(severity, msg);
	errno = saved_errno;
}

/* Messages that wait come first. */
void ec_vlog(enum ec_severity severity, int err, const char *fmt, va_list ap)
{
	if (!is_wanted(severity))
		return;
	(void)ec_log_flush(false);
	log_now(severity, err, fmt, ap);
}

void ec_log(enum ec_severity severity, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(severity, EC_NO_ERRNO, fmt, ap);
	va_end(ap);
}

void ec_log_errno(enum ec_severity severity, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(severity, err == 0 ? EC_NO_ERRNO : err, fmt, ap);
	va_end(ap);
}

/* ---------------------------------------------------------------- messages that wait */

enum { LATE_MAX = 16, LATE_LEN = 512 };

/*
 * The places are for all threads, because a thread-local buffer would need memory in each thread of the program. If
 * none is free, the message is lost, and counted.
 */
struct late {
	/* atomic: the ec_thread_key() of the thread whose message it is; `taken`; NULL: free */
	_Atomic(const void *) owner;
	_Atomic(bool) is_seen;		/* by ec_log_flush of another thread */

	/* own: who took the place; a flush reads them after it has taken it */
	_Atomic(unsigned) number;	/* the order of messages; wraps */
	enum ec_severity severity;
	char text[LATE_LEN];
};

static struct late lates[LATE_MAX];
static const char taken;		/* an owner that is no thread */
static _Atomic(unsigned) lates_num, lates_lost, late_number;

static bool late_take(struct late *l, const void *owner, const void *new_owner)
{
	return ec_load_relaxed(&l->owner) == owner && ec_cas_acq_rel(&l->owner, &owner, new_owner);
}

static struct late *late_new(void)
{
	struct late *l;

	for (l = lates; l < lates + LATE_MAX; l++) {
		if (late_take(l, NULL, &taken))
			return l;
	}
	return NULL;
}

void ec_vlog_late(enum ec_severity severity, int err, const char *fmt, va_list ap)
{
	int saved_errno = errno;
	struct late *l;

	if (!is_wanted(severity))
		return;
	l = late_new();
	if (l == NULL) {
		ec_add_acq_rel(&lates_lost, 1);
		return;
	}
	compose(l->text, sizeof(l->text), err, fmt, ap);
	l->severity = severity;
	ec_store_relaxed(&l->number, ec_add_acq_rel(&late_number, 1));
	ec_store_relaxed(&l->is_seen, false);
	ec_add_acq_rel(&lates_num, 1);
	ec_store_release(&l->owner, ec_thread_key());	/* meets late_take */
	errno = saved_errno;
}

/* May the calling thread log it? */
static bool is_due(struct late *l, bool others)
{
	const void *owner = ec_load_acquire(&l->owner);

	if (owner == NULL || owner == &taken)
		return false;
	if (owner == ec_thread_key())
		return true;
	return others && ec_load_relaxed(&l->is_seen);
}

/* The first one in the order of messages, or NULL. */
static struct late *late_first(bool others)
{
	struct late *l, *first = NULL;

	for (l = lates; l < lates + LATE_MAX; l++) {
		if (!is_due(l, others))
			continue;
		if (first == NULL || (int)(ec_load_relaxed(&l->number) - ec_load_relaxed(&first->number)) < 0)
			first = l;
	}
	return first;
}

static void late_emit(struct late *l)
{
	enum ec_severity severity = l->severity;
	char text[LATE_LEN];

	memcpy(text, l->text, sizeof(text));
	ec_store_release(&l->owner, NULL);
	ec_sub_acq_rel(&lates_num, 1);
	emit(severity, text);
}

static void note_seen(void)
{
	struct late *l;

	for (l = lates; l < lates + LATE_MAX; l++)
		ec_store_relaxed(&l->is_seen, true);
}

static void tell_lost(void)
{
	unsigned num = ec_load_relaxed(&lates_lost) == 0 ? 0 : ec_swap_acq_rel(&lates_lost, 0);
	char text[LATE_LEN];

	if (num == 0)
		return;
	snprintf(text, sizeof(text), "messages that were lost, because others waited: %u", num);
	emit(EC_LOG_WARN, text);
}

bool ec_log_flush(bool others)
{
	int saved_errno = errno;
	const void *owner;
	bool is_any = false;
	struct late *l;

	if (!ec_log_is_late())
		return false;
	while ((l = late_first(others)) != NULL) {
		owner = ec_load_relaxed(&l->owner);
		if (owner == NULL || owner == &taken || !late_take(l, owner, &taken))
			continue;
		late_emit(l);
		is_any = true;
	}
	if (is_any)
		tell_lost();
	if (others)
		note_seen();
	errno = saved_errno;
	return is_any;
}

bool ec_log_is_late(void)
{
	return ec_load_acquire(&lates_num) != 0;
}

/* ---------------------------------------------------------------- the end of the process */

/* The callback may end the process itself, or leave by longjmp. If it returns, the process exits. */
_Noreturn static void leave(int exit_code)
{
	ec_fatal_fn fn = ec_load_acquire(&fatal_fn);

	if (fn != NULL) {
		fn(exit_code);
		exit(exit_code);
	}
	if (exit_code == EC_EXIT_ABORT)
		abort();
	exit(exit_code);
}

void ec_vdie(int exit_code, int err, const char *fmt, va_list ap)
{
	log_now(EC_LOG_ERR, err, fmt, ap);	/* at once, also under a lock */
	leave(exit_code);
}

void ec_die(int exit_code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vdie(exit_code, EC_NO_ERRNO, fmt, ap);
}
