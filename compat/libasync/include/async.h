/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_ASYNC_H
#define LIBASYNC_ASYNC_H

/*
 * The loop: it calls callbacks when descriptors are ready, times have come, signals have come or children have ended.
 *
 * There is one loop in a process, that of one libevent base: libasync::base (). A program may use that base by libevent
 * too; amain () and event_base_dispatch () run the events of both.
 *
 * Threads. Each callback runs in its color. Callbacks of color 0, which is that of wrap, run on the thread that runs
 * the loop. Each function here may be called from every callback, whatever its color, and before amain (). cpucb may be
 * called from any thread. A function that replaces or removes a callback of the caller's own color takes effect at
 * once. If the callback has another color, it does not start after the function has returned, but it may be running.
 * Cancel a connection or a DNS request (tcpconnect_t, dnsreq_t) in the color of its callback only.
 *
 * Ownership. The loop holds a reference to each callback until it has been removed or has run for the last time.
 *
 * Errors. Without memory the program ends, with a message.
 *
 * The process. Loading the library sets SIGPIPE to ignored, unless the program has set it before. exit () waits up to a
 * second for the callbacks that run on other workers.
 */
#include <sys/types.h>
#include <netinet/in.h>
#include <time.h>

#include "libasync_config.h"
#include "amisc.h"
#include "callback.h"
#include "err.h"
#include "init.h"
#include "litetime.h"
#include "opnew.h"
#include "refcnt.h"
#include "serial.h"
#include "str.h"
#include "suio++.h"
#include "sysconf.h"
#include "vec.h"

/*
 * The version of sfslite whose names are all here: the last 1.2.9 that programs ask for. The fourth number of a version
 * before its release is below 100. SFSLITE_AT_VERSION and VERSION_FLATTEN are for #if and for code.
 */
#define VERSION_FLATTEN(Maj, Min, Pat, Pre) ((Maj)*1000000000LL + (Min)*1000000LL + (Pat)*1000LL + (Pre))
#define SFSLITE_AT_VERSION(Maj, Min, Pat, Pre) \
	(VERSION_FLATTEN(Maj, Min, Pat, Pre) <= VERSION_FLATTEN(1, 2, 9, 999))
#define SFSLITE_PATCHLEVEL_STR "1.2.9"

struct event_base;
struct srvlist;

namespace libasync
{

/* The base of the process. The first call makes it, unless event_init () has made one, or use_base () named one. */
LIBASYNC_EXPORT struct event_base *base();

/*
 * Let the loop be that of `base`, which stays the caller's and is not freed before the process ends. Before all other
 * functions of this header: if there is a base already, the program ends.
 */
LIBASYNC_EXPORT void use_base(struct event_base *base);

} // namespace libasync

/* ---------------------------------------------------------------- running */

/* Run the loop for ever. A second call, and one from a callback, ends the program. */
[[noreturn]] LIBASYNC_EXPORT void amain();

/*
 * One turn of the loop: wait until something is ready, and run its callbacks; return at once if nothing is registered.
 * For the first thread.
 *
 * In a callback of color 0 it runs others of color 0 on top of that one. The same may be among them: a descriptor that
 * it has not read is still readable. Those of other colors run on other workers, if there are several. In a callback of
 * another color it warns once and does nothing: whatever that waits for must come by a callback of its own.
 */
LIBASYNC_EXPORT void acheck();

/* Run `cb` soon, before callbacks of descriptors. Those of one color run in the order of the calls. Any thread. */
LIBASYNC_EXPORT void cpucb(cbv cb);

/*
 * As cpucb, but behind the callbacks of descriptors that are ready by then. Those of one color run in the order of the
 * calls. Any color.
 */
LIBASYNC_EXPORT void cpucb_tail(cbv cb);

/* ---------------------------------------------------------------- descriptors */

/*
 * Call `cb` whenever `fd` is readable (selread) or writable (selwrite), until it is removed: fdcb (fd, op, NULL). There
 * is one callback for each fd and op; a new one replaces it. An error or a hang-up counts as readable and writable. A
 * regular file is always ready. Remove the callback before closing the descriptor.
 *
 * A descriptor that is not open ends the program.
 */
#define fdcb(f, s, c) _fdcb(f, s, c, __FILE__, __LINE__)

LIBASYNC_EXPORT void _fdcb(int fd, selop op, cbv::ptr cb, const char *file, int line);

namespace libasync
{

/*
 * fdcb (fd, op, NULL), and wait until a callback that runs in another color has returned. Two callbacks that wait for
 * each other do not deadlock: the later call returns without waiting.
 */
LIBASYNC_EXPORT void fdcb_remove_and_wait(int fd, selop op);

} // namespace libasync

/* ---------------------------------------------------------------- time */

/* A call that is due at some time. It is dead once its callback has begun. */
struct timecb_t;

/*
 * Call `cb` once, when CLOCK_REALTIME is `ts`. Those of one color run in the order of their times; equal times: in the
 * order of the calls. If the clock is set, the loop finds out when it turns next.
 */
LIBASYNC_EXPORT timecb_t *timecb(timespec ts, cbv cb);

inline timecb_t *timecb(time_t tm, cbv cb)
{
	timespec ts = {};

	ts.tv_sec = tm;
	return timecb(ts, cb);
}

/*
 * Call `cb` once, after sec seconds and nsec nanoseconds. delaycb (0, cb) calls it soon, as cpucb does: first in, first
 * out, before callbacks of descriptors. It does not keep them from running if it calls itself for ever.
 */
LIBASYNC_EXPORT timecb_t *delaycb(time_t sec, u_int32_t nsec, cbv cb);

inline timecb_t *delaycb(time_t tm, cbv cb)
{
	return delaycb(tm, 0, cb);
}

/*
 * Cancel. NULL: nothing. If the callback has begun already, the program ends. Exception: the callback has another color
 * than the caller, so the caller cannot know. libasync::timer_cancel returns whether it was cancelled in time.
 */
LIBASYNC_EXPORT void timecb_remove(timecb_t *);

namespace libasync
{

/* True: the callback will not run. False: it ran, or is running in its color. */
LIBASYNC_EXPORT bool timer_cancel(timecb_t *timer);

} // namespace libasync

/* A call that repeats when the loop turns anyway, but not more often than every min_interval seconds. */
struct lazycb_t;

LIBASYNC_EXPORT lazycb_t *lazycb(time_t min_interval, cbv cb);
LIBASYNC_EXPORT void lazycb_remove(lazycb_t *);

/*
 * A call at the end of this turn, after callbacks of descriptors. One made in such a call runs in the next turn. Remove
 * it in its own color, and before it runs.
 */
struct yieldcb_t;

LIBASYNC_EXPORT yieldcb_t *yieldcb(cbv cb);
LIBASYNC_EXPORT void yieldcb_remove(yieldcb_t *);

/* ---------------------------------------------------------------- signals and children */

/*
 * Call `cb` after signal `sig` has come; several before the loop turns count as one. NULL: the signal has its default
 * effect again. The signal is unblocked for the calling thread. Interrupted system calls go on, unless sa_flags (see
 * sigaction) is given. A number that is no signal ends the program.
 *
 * @return the callback before, or NULL
 */
LIBASYNC_EXPORT cbv::ptr sigcb(int sig, cbv::ptr cb, int sa_flags = 0);

/*
 * Call `cb` with the status (see waitpid) of a child that has ended; also if it ended before this call. NULL removes
 * the callback. The library waits for all children: in amain always, in another loop while a chldcb waits. So
 * system (), pclose () and waitpid () may find the child gone (ECHILD). It keeps the statuses of the last 4096 that had
 * no callback.
 */
LIBASYNC_EXPORT void chldcb(pid_t pid, cbi::ptr cb);

/* ---------------------------------------------------------------- connections */

struct tcpconnect_t;

/*
 * Connect to a port of a host. `cb` gets the descriptor, which is non-blocking and close-on-exec, or -1, and errno is
 * set. It never runs before the call has returned. No such host, and NULL or what is no name as its name: ENOENT. A
 * failure of DNS that may pass: EAGAIN. Other errors are the system's (EMFILE, ECONNREFUSED). Only the first address of
 * a host is tried.
 *
 * tcpconnect_srv asks for the SRV records of `service` (RFC 2782) and tries them in their order; after 4 seconds it
 * tries the next one beside the one before. If there are none, it connects to `hostname` and `defport`. The rest of the
 * list goes to *srvlp, for tcpconnect_srv_retry. *namep and *np get the name that was connected to. These are written
 * before the callback, and must live until then.
 *
 * Cancel in the color of `cb`, before it has begun: then it does not run. NULL: nothing.
 */
LIBASYNC_EXPORT tcpconnect_t *tcpconnect(in_addr addr, u_int16_t port, cbi cb);
LIBASYNC_EXPORT tcpconnect_t *tcpconnect(str hostname, u_int16_t port, cbi cb, bool dnssearch = true,
					 str *namep = NULL);
LIBASYNC_EXPORT tcpconnect_t *tcpconnect_srv(str hostname, str service, u_int16_t defport, cbi cb,
					     bool dnssearch = true, ptr<srvlist> *srvlp = NULL, str *np = NULL);
LIBASYNC_EXPORT tcpconnect_t *tcpconnect_srv_retry(::ref<srvlist> srvl, cbi cb, str *np = NULL);
LIBASYNC_EXPORT void tcpconnect_cancel(tcpconnect_t *tc);

#endif
