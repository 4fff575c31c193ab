/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef EVENT2_SMP_H_INCLUDED_
#define EVENT2_SMP_H_INCLUDED_

/** @file event2/smp.h

  Colors: how an event_base of libevent-smp runs callbacks on several cores.

  Every callback has a color, a 32-bit number. Callbacks of one color run one at a time; those of one
  priority in order, more urgent ones before others. Callbacks of different colors run in parallel, on
  the workers (threads) of the base.

  An event has color 0 until the program sets another one. Color 0 runs only on the thread that
  called event_base_loop(), so a program that uses no other color behaves as on libevent. Events and
  bufferevents that a callback creates do not inherit its color, unless the program asks for that
  (event_base_inherit_colors()). A program may use any color without creating it first. A color costs
  nothing while no event or callback has it.

  A program that shall also run on stock libevent declares these functions weak and tests them:

      #define EVENT_SMP_WEAK
      #include <event2/smp.h>
      ...
      if (event_set_color != NULL)
              event_set_color(ev, fd);

  Threads. The description of each function names the places from which the program may call it:

      any thread   from any thread and from any callback
      own color    from a callback of the object's color, or while no loop of the base runs
      before run   while no loop of the base runs

  "Any thread" holds once a color of the base is in use: from the first event_add() or
  event_active() of an event with another color than 0 on, or the first post to such a color,
  bufferevent_set_color(), color policy, cost or penalty. event_set_color() alone is not enough. It
  then also holds for event_add(), event_del(), event_active(), event_base_once(),
  event_base_loopbreak() and event_base_loopexit(), all without evthread_use_pthreads(). Before
  that, libevent's own rules hold: other threads may use a base that was made after
  evthread_use_pthreads(). Only the functions that post are safe from any thread in every base:
  event_base_post(), event_base_post_priority(), and those of reserved posts.

  Loops. event_base_loop() counts the events and callbacks of all colors. With EVLOOP_ONCE or
  EVLOOP_NONBLOCK it returns when no color has a callback left to run. Under load that may never
  happen. Then the loop returns after some hundreds of callbacks and those that are ready by then.

  Errors. A function that returns int returns 0 for success. On failure it returns -1 and changes
  nothing. A function whose description names no error always returns 0.

  Workers need memory and descriptors. If they cannot be made for the first color of a base, the
  call that needs them fails (event_add(), event_base_post(), bufferevent_set_color(), and policies,
  costs and penalties of colors), with the cause in errno. Calls that cannot fail, for instance
  event_active(), still have their effect: the loop's thread runs all colors, one at a time. The
  base tries again with the next loop, and with the next color of a bufferevent or of a connection.
  If there is no memory for a new color either, such a callback is lost, with a warning.

  Debug mode. After event_enable_debug_mode(), the library logs a warning for misuse of colors, posts
  and freed bases. event_color(7) lists these mistakes.

  NULL. As in libevent, NULL as the base means the base of event_init(). If there is none, the
  function logs a warning and fails. If another object is NULL, the function fails without a warning.

  Ownership. Every pointer that the program passes stays the program's. `arg` must live until the
  callback has run for the last time.
 */

#include <event2/visibility.h>
#include <event2/event-config.h>
#include <stddef.h>
#ifdef EVENT__HAVE_STDINT_H
#include <stdint.h>
#endif
#include <event2/util.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(EVENT_SMP_WEAK) && defined(__GNUC__)
#define EVENT_SMP_EXPORT_ __attribute__((weak))
#else
#define EVENT_SMP_EXPORT_ EVENT2_EXPORT_SYMBOL
#endif

/** The version of this header; the functions below tell the library's. 0x00010200 is 0.1.2. */
#define EVENT_SMP_VERSION "0.1.0"
#define EVENT_SMP_VERSION_NUMBER 0x00010000

struct event;
struct event_base;
struct event_config;
struct bufferevent;
struct evconnlistener;
struct sockaddr;

/** A callback without an event, for event_base_post(). */
typedef void (*event_post_fn)(void *arg);

/**
  A function that each thread which the base starts calls first: worker 1 and up, not worker 0,
  which is the loop's own thread. After event_reinit() in a child, the threads are new, and it is
  called for their numbers again. event_base_pause() does not wait for it.
 */
typedef void (*event_worker_start_fn)(struct event_base *base, unsigned worker, void *arg);

/**
  The version of libevent-smp that runs, such as "0.1.0". Any thread.

  event_get_version() tells the version of libevent that this library is compatible with.
 */
EVENT_SMP_EXPORT_
const char *event_smp_version(void);

/** The same as a number: a byte each for major, minor and patch, and a byte of 0. Any thread. */
EVENT_SMP_EXPORT_
ev_uint32_t event_smp_version_number(void);

/**
  Set the color of an event.

  Any thread. Call it between event_new() or event_assign() and event_add().

  If a callback sets the color of its own event, the callback ends in the color in which it began, and event_del()
  waits for it. An event keeps its color when event_base_set() gives it another base; event_assign() sets color 0, or
  that of the callback (event_base_inherit_colors()).

  @param ev an event that is neither pending nor active
  @param color any 32-bit number; 0 is the thread that called event_base_loop()
  @return 0; -1: the event is pending, active or not initialized
 */
EVENT_SMP_EXPORT_
int event_set_color(struct event *ev, ev_uint32_t color);

/**
  Set the color of an event and make the event a reader of that color.

  Shared callbacks of one color may overlap each other. They never overlap an exclusive callback of
  that color (event_set_color(), event_base_post()). Neither kind starves the other.
  Any thread, as event_set_color().

  @param ev an event that is neither pending nor active
  @param color any 32-bit number but 0: color 0 cannot be shared
  @return 0; -1: as event_set_color(), or the color is 0
 */
EVENT_SMP_EXPORT_
int event_set_color_shared(struct event *ev, ev_uint32_t color);

/** The color of an event; 0 if the program set none. Any thread. */
EVENT_SMP_EXPORT_
ev_uint32_t event_get_color(const struct event *ev);

/**
  Run cb(arg) once, soon, in a color.

  Posts of one color run in the order of their calls (within one priority). They run ahead of I/O
  callbacks that wait on the same worker. But a stream of posts does not starve them: a ready callback
  runs within a millisecond, plus the callbacks already begun. A pending post keeps the loop running.

  Any thread, at any time while the base exists: also before the loop starts, and before a color of
  the base is in use. If the base is freed first, the callback does not run.

  @param color the color to run in
  @param cb the callback
  @param arg passed to cb; stays the caller's
  @return 0; -1: out of memory, no descriptors for the workers, or cb is NULL
 */
EVENT_SMP_EXPORT_
int event_base_post(struct event_base *base, ev_uint32_t color, event_post_fn cb, void *arg);

/**
  As event_base_post(), with a priority.

  @param priority 0 (most urgent) to event_base_get_npriorities() - 1
  @return 0; -1: out of memory, no descriptors for the workers, cb is NULL, or the base has no such
    priority
 */
EVENT_SMP_EXPORT_
int event_base_post_priority(struct event_base *base, ev_uint32_t color, int priority, event_post_fn cb, void *arg);

/** A post that was allocated before. */
struct event_post;

/**
  Allocate a post now, so that posting it later cannot fail: for instance the one that ends an object.

  It keeps no loop running. Post it with event_base_post_reserved(), or free it with
  event_base_post_unreserve(), before the base is freed. Any thread, as event_base_post().

  @param color the color to run in
  @return the post; NULL: out of memory, or no descriptors for the workers
 */
EVENT_SMP_EXPORT_
struct event_post *event_base_post_reserve(struct event_base *base, ev_uint32_t color);

/**
  As event_base_post(), but cannot fail. The post is the library's then. If its color was never used
  and there is no memory for it now, the callback runs in color 0, with a warning.

  @return 0; -1: post or cb is NULL, and nothing was done
 */
EVENT_SMP_EXPORT_
int event_base_post_reserved(struct event_post *post, event_post_fn cb, void *arg);

/** Free a post that is not needed. Any thread. Nothing if it is NULL. */
EVENT_SMP_EXPORT_
void event_base_post_unreserve(struct event_post *post);

/**
  Set the number of workers of the bases made from this configuration.

  The loop's own thread is one of them. The base starts the other threads with its first colored
  work. They block all signals, and sleep while there is nothing to do. The environment variable
  EVENT_WORKERS overrides this number: decimal digits, 0 to 1024. Another value is ignored, with a
  warning. The variable is ignored in set-user-ID programs, and for a configuration with
  EVENT_BASE_FLAG_IGNORE_ENV. Before run.

  @param n number of workers, 1 to 1024; 0: one for each CPU that this process may use (its
    affinity, and the quota of its own cgroup, version 2)
  @param start each thread that the base starts calls it first, for per-thread state; or NULL
  @param arg passed to start; must live as long as the base
  @return 0; -1: n is above 1024, or cfg is NULL
 */
EVENT_SMP_EXPORT_
int event_config_set_workers(struct event_config *cfg, unsigned n, event_worker_start_fn start, void *arg);

/** The number of workers of a base, started or not; at least 1. 0: there is no base. Any thread. */
EVENT_SMP_EXPORT_
unsigned event_base_get_workers(const struct event_base *base);

/**
  The number of the worker that calls. Any thread. In a callback that runs the loop of another base,
  the function works for both bases.

  @return 0 is the loop's own thread; -1: the caller is no worker of this base, or its loop does not
    run
 */
EVENT_SMP_EXPORT_
int event_base_get_running_worker(const struct event_base *base);

/**
  The color of the callback that calls. Any thread.

  @param color where the color is stored
  @return 0; -1: the caller is not in a callback of this base
 */
EVENT_SMP_EXPORT_
int event_base_get_running_color(const struct event_base *base, ev_uint32_t *color);

/**
  Wait until no worker runs a callback. No worker starts one until event_base_resume().

  Within a callback this waits for all other callbacks. Pauses nest. When two threads pause the
  base at once, the second one waits until the first has resumed. Any thread. The thread that paused
  the base must resume it.

  Several bases. A callback may run, pause, delete in, or free another base. If calls would wait for
  each other in a cycle, across bases, pauses and deletions, the last one logs a warning and does
  not wait. A pause still holds then: the callbacks that it did not wait for are blocked until its
  thread continues.

  @return 0; -1: the thread that has paused the base waits for the caller, so it would never resume
 */
EVENT_SMP_EXPORT_
int event_base_pause(struct event_base *base);

/** End one event_base_pause() of the calling thread. @return 0; -1: this thread has not paused the base */
EVENT_SMP_EXPORT_
int event_base_resume(struct event_base *base);

/**
  Choose whether what a callback makes inherits the callback's color. Any thread.

  Off at first: what is made has color 0. While it is on, a callback that runs in a color and makes
  something for the same base gives it that color:

      event_new(), event_assign(), event_set(), event_base_once()
      event_base_set() of an event that has color 0
      bufferevents, those of OpenSSL too; a filter has the color of what it filters, a pair one color
      connections of evhttp clients that are made without a bufferevent
      evbuffer_defer_callbacks() of a buffer that belongs to no bufferevent

  A reader of a color (event_set_color_shared()) hands on the color, but not that it is a reader.
  Posts name their color. Listeners, evhttp servers, DNS bases and groups of rate limits have color 0.
  event_set_color() and bufferevent_set_color() set another color as always. Outside of callbacks,
  and in callbacks of another base, what is made has color 0.

  With EVCONNLISTENER_COLOR_FRESH, for instance, all that a connection's callbacks make runs in the
  color of the connection.

  @param on 1 or 0
  @return 0; -1: there is no base
 */
EVENT_SMP_EXPORT_
int event_base_inherit_colors(struct event_base *base, int on);

/**
  The numbers that event_color_new() returns are above this one. A program that also computes colors
  itself, for instance from addresses, keeps those at or below it. So do the fresh colors of
  listeners.
 */
#define EVENT_COLOR_OWN_MAX 0xbfffffffu

/**
  Get a color that nobody else uses: for state that several connections share, or for an object that
  has no descriptor.

  The number is above EVENT_COLOR_OWN_MAX, and no other call returns it before event_color_release().
  A color is a number: a program may also use any other one, without this function. Any thread.

  @return the color; 0 (the color of the loop's thread): out of memory
 */
EVENT_SMP_EXPORT_
ev_uint32_t event_color_new(struct event_base *base);

/**
  Give a color of event_color_new() back.

  From now on the program adds no event and posts nothing with this color. Callbacks that are queued
  or running, and events that are still pending, keep it. event_color_new() does not return the
  number again before they have ended. A callback may release its own color. Costs and penalties of
  the color are forgotten. The end of the base releases all colors. Any thread.

  @return 0; -1: the color is not one of event_color_new(), or was released before
 */
EVENT_SMP_EXPORT_
int event_color_release(struct event_base *base, ev_uint32_t color);

/**
  Set the cost of one callback of a color.

  The scheduler measures a running mean of that cost. It steals a color only if the color's waiting
  callbacks together cost more than the steal. Set the cost if the program knows it better. Any
  thread.

  @param color any color but 0
  @param ns the cost in nanoseconds; 0: measure again
  @return 0; -1: color 0, out of memory, or no descriptors for the workers
 */
EVENT_SMP_EXPORT_
int event_color_set_cost(struct event_base *base, ev_uint32_t color, ev_uint32_t ns);

/**
  Set the cost of moving a color to another worker, as a multiple of the usual cost. Use it, for
  instance, if the callbacks use much memory. Any thread.

  @param color any color but 0
  @param factor 1 is usual; n makes a move count n times; 0: no idle worker steals the color, but the
    end of a loop may still run it on the loop's thread; at most 65535
  @return 0; -1: color 0, the factor is too large, out of memory, or no descriptors for the workers
 */
EVENT_SMP_EXPORT_
int event_color_set_penalty(struct event_base *base, ev_uint32_t color, ev_uint32_t factor);

/** Counters of one worker: totals since the base was made, except those marked "now" or "mean". */
struct event_worker_stats {
	ev_uint64_t callbacks;		/**< callbacks that this worker ran */
	ev_uint64_t posts;		/**< how many of them were posts */
	ev_uint64_t turns;		/**< polls for I/O events */
	ev_uint64_t sleeps;		/**< how many of them were allowed to block */
	ev_uint64_t wakeups;		/**< wake-ups that others sent to this worker */
	ev_uint64_t steals;		/**< successful steals by this worker */
	ev_uint64_t stolen_colors;	/**< colors taken by those steals */
	ev_uint64_t steal_misses;	/**< searches that found no color worth a steal */
	ev_uint64_t steal_ns;		/**< cost of one steal: running mean, nanoseconds */
	ev_uint64_t moves;		/**< colors that got this worker as their new home */
	ev_uint64_t disarms;		/**< descriptors disarmed while another worker had their callback */
	ev_uint64_t busy_ns;		/**< nanoseconds spent in callbacks */
	ev_uint32_t runnable_colors;	/**< colors in its run queue, now */
	ev_uint32_t homed_colors;	/**< colors whose home it is, now; also idle ones */
};

/** Counters of one color: totals since the color came into use, except those marked "now" or "mean". */
struct event_color_stats {
	ev_uint32_t color;		/**< the color */
	ev_uint32_t worker;		/**< the worker that runs it, or would run it next */
	ev_uint32_t home;		/**< the worker that watches its descriptors and timers */
	ev_uint32_t queued;		/**< callbacks that wait, now */
	ev_uint32_t events;		/**< pending events, now */
	ev_uint32_t cost_ns;		/**< cost of a callback, nanoseconds: running mean, or as set */
	ev_uint64_t callbacks;		/**< callbacks that have run */
};

/**
  Read the counters of one worker. Any thread.

  @param worker 0 to event_base_get_workers() - 1
  @param stats where the counters are stored
  @param size sizeof(*stats). If the library's struct is longer or shorter, the program gets the
    counters that both know; the rest is zero.
  @return 0; -1: the base has no such worker
 */
EVENT_SMP_EXPORT_
int event_base_get_stats(struct event_base *base, unsigned worker, struct event_worker_stats *stats, size_t size);

/**
  Read the counters of one color. Any thread.

  With one worker a color is only a name: the call searches all pending events, and `cost_ns` and
  `callbacks` are 0. With several workers it searches them for color 0, and for a color that may have
  reserved posts. Posts of the running callback to its own color count in `queued` only if that
  callback calls this function.

  @param stats where the counters are stored
  @param size as for event_base_get_stats()
  @return 0; -1: the base does not know the color, because no event or callback has it now. The base
    remembers color 0, and some thousands of idle colors, whose `queued` and `events` are 0
 */
EVENT_SMP_EXPORT_
int event_base_get_color_stats(struct event_base *base, ev_uint32_t color, struct event_color_stats *stats,
			       size_t size);

/**
  Set the color of a bufferevent: its events, timeouts, deferred callbacks and rate limits run in
  that color, and with them all its callbacks.

  A filter, and TLS over another bufferevent, have the color of the bufferevent below. Set the color
  of one of them, and all have it. The two bufferevents of a pair may have different colors.

  Own color. Within one of the bufferevent's own callbacks, the new color takes effect when that
  callback returns. From then on use the bufferevent from its new color only, unless it has a lock.
  It gets a lock, even without evthread_use_pthreads(), in four cases: it was made with
  BEV_OPT_THREADSAFE; the caller does not run in the new color; it is one of a pair and its partner
  has another color; or a caller in another color used bufferevent_socket_connect_hostname() with an
  evdns_base. With a lock, any thread may use it.

  A bufferevent without a lock: a thread outside of the loop's callbacks, or a callback of another
  color, may color it only before it is enabled, connected or has to do a handshake. Until then none
  of its events is pending. If one is, the call fails with errno EBUSY. The call cannot detect a
  callback that runs at the same moment.

  TLS on a socket starts at once. So make it with BEV_OPT_THREADSAFE, or in a callback of its color
  (event_base_post()).

  @return 0; -1: out of memory, no descriptors for the workers, or EBUSY
 */
EVENT_SMP_EXPORT_
int bufferevent_set_color(struct bufferevent *bev, ev_uint32_t color);

/**
  The color of a bufferevent; 0 if the program set none. Own color, or any thread if it has a lock.

  TLS on a socket starts at once. So it has the color of the callback that makes it.
 */
EVENT_SMP_EXPORT_
ev_uint32_t bufferevent_get_color(struct bufferevent *bev);

/**
  Run cb(bev, arg) once, soon, in the color of a bufferevent.

  It does not overlap the bufferevent's other callbacks. Callbacks that are already due come first,
  and posts run in the order of their calls. If the bufferevent gets another color meanwhile, they run
  there. Own color, or any thread if the bufferevent has a lock (see bufferevent_set_color()).

  Each post is called exactly once, if bufferevent_free() comes before event_base_free(). After
  bufferevent_free() the callback gets NULL as its bufferevent, so that it can free `arg`;
  event_base_free() calls such posts, too. It drops the posts of a bufferevent that was not freed
  before it, and event_base_free_nofinalize() drops all that are left. bufferevent_free() of a
  bufferevent with a lock waits for a post that is running.

  @param cb the callback
  @param arg passed to cb; stays the caller's until then
  @return 0; -1: out of memory, no descriptors for the workers, or (EBUSY) the caller runs in another
    color, and the bufferevent has no lock
 */
typedef void (*bufferevent_post_cb)(struct bufferevent *bev, void *arg);

EVENT_SMP_EXPORT_
int bufferevent_post(struct bufferevent *bev, bufferevent_post_cb cb, void *arg);

/** The color in which a listener's accept callback runs. */
enum evconnlistener_color_policy {
	EVCONNLISTENER_COLOR_NONE,	/**< color 0, as on libevent */
	EVCONNLISTENER_COLOR_FRESH,	/**< a color that no other open connection has */
	EVCONNLISTENER_COLOR_ASK	/**< the color that the program's function returns */
};

/** Returns the color of a new connection. It runs in color 0. It must not free the listener. */
typedef ev_uint32_t (*evconnlistener_color_cb)(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr,
					       int socklen, void *arg);

/**
  Let each connection begin in a color of its own: its accept callback runs in that color.

  Callbacks for different connections then run in parallel. The accept callback asks
  event_base_get_running_color() for its color and gives it to the connection's bufferevent or
  events. A fresh color is 0x80000000 plus the descriptor. The policy holds for connections that the
  listener accepts from now on. evconnlistener_free() closes connections whose accept callback has
  not begun.

  Call it while no loop of the base runs, before the listener is enabled, or in color 0.

  @param policy see enum evconnlistener_color_policy
  @param cb for EVCONNLISTENER_COLOR_ASK: returns the color; else NULL
  @param arg passed to cb; must live as long as the listener
  @return 0; -1: no such policy, no cb for EVCONNLISTENER_COLOR_ASK, out of memory, or no descriptors
    for the workers
 */
EVENT_SMP_EXPORT_
int evconnlistener_set_color_policy(struct evconnlistener *lev, enum evconnlistener_color_policy policy,
				    evconnlistener_color_cb cb, void *arg);

struct evhttp;
struct evhttp_connection;

/**
  Let each connection of an HTTP server begin in a color of its own: the policy of all its
  listeners, present and future.

  The connection is then read, parsed, handled and written in its color, and handlers of different
  connections run in parallel. The program may make every evhttp call from any color: if the call
  concerns a connection of another color, the library posts it there. A thread that runs no callback
  counts as color 0: it must not make calls for connections of color 0. Connections that are already
  open keep their color. Own color: call it from color 0, or while no loop runs.

  @param http the server
  @param policy EVCONNLISTENER_COLOR_NONE is the default
  @param cb for EVCONNLISTENER_COLOR_ASK: returns the color; else NULL
  @param arg passed to cb; must live as long as the server
  @return 0; -1: no such policy, cb is missing, or a listener failed to take the policy
 */
EVENT_SMP_EXPORT_
int evhttp_set_color_policy(struct evhttp *http, enum evconnlistener_color_policy policy, evconnlistener_color_cb cb,
			    void *arg);

/**
  The color of an HTTP connection: its callbacks and its requests' run in it.

  A server's connection got it from the policy: any thread, while the connection exists. A client's: own
  color, or any thread after its first request.
 */
EVENT_SMP_EXPORT_
ev_uint32_t evhttp_connection_get_color(struct evhttp_connection *evcon);

/**
  Set the color of a client's connection, before its first request.

  The connection then connects, writes and reads in that color, and calls the requests' callbacks in
  it. evhttp_make_request() may be called from any color. Call it where bufferevent_set_color() may be
  called for the connection's bufferevent.

  @return 0; -1: as bufferevent_set_color(), or (EBUSY) the connection has had a request, or is a
    server's
 */
EVENT_SMP_EXPORT_
int evhttp_connection_set_color(struct evhttp_connection *evcon, ev_uint32_t color);

#ifdef __cplusplus
}
#endif

#endif /* EVENT2_SMP_H_INCLUDED_ */
