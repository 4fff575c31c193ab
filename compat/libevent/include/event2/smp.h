/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef EVENT2_SMP_H_INCLUDED_
#define EVENT2_SMP_H_INCLUDED_

/** @file event2/smp.h

  Colors: how an event_base of libevent-smp runs callbacks on several cores.

  Every callback has a color, a 32-bit number. Callbacks of one color run one at a time and
  in order; callbacks of different colors run in parallel on the base's workers. The color is
  0 until set otherwise, and color 0 runs only on the thread that called event_base_loop():
  a program that uses no other color behaves as on libevent. A color is not inherited by
  what a callback creates, costs nothing while nothing has it, and need not be announced.

  A program that is to run on stock libevent too declares what it uses weak, and asks:

      #define EVENT_SMP_WEAK
      #include <event2/smp.h>
      ...
      if (event_base_post != NULL)
              event_set_color(ev, fd);

  Threads: once a base has a color in use, event_add(), event_del(), event_active(),
  event_base_once(), event_base_loopbreak(), event_base_loopexit() and all functions here are
  safe from any callback and any thread, also without evthread_use_pthreads().

  Loops: event_base_loop() counts the events and callbacks of all colors. EVLOOP_ONCE and
  EVLOOP_NONBLOCK return when all colors are at rest; under load that never lets them, after some
  hundreds of callbacks, and those that are ready by then.

  Errors: functions that return int return 0, or -1 and change nothing.
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

struct event;
struct event_base;
struct event_config;
struct bufferevent;
struct evconnlistener;
struct sockaddr;

/** A callback without a descriptor: what event_base_post() runs. */
typedef void (*event_post_fn)(void *arg);

/** Runs first in the thread of each worker but the first, which is the loop's own. */
typedef void (*event_worker_start_fn)(struct event_base *base, unsigned worker, void *arg);

/**
  Give an event a color.

  @param ev an event that is neither pending nor active
  @param color any 32-bit number; 0: the thread that called event_base_loop()
  @return 0; -1: the event is pending or active, or not initialized
 */
EVENT_SMP_EXPORT_
int event_set_color(struct event *ev, ev_uint32_t color);

/**
  Give an event a color, as a reader: shared callbacks of one color may overlap each other, never an
  exclusive one (event_set_color(), event_base_post()). A waiting exclusive callback is not starved.
  Color 0 cannot be shared.

  @return 0; -1: as event_set_color(), or color is 0
 */
EVENT_SMP_EXPORT_
int event_set_color_shared(struct event *ev, ev_uint32_t color);

/** The color of an event; 0 if none was set. */
EVENT_SMP_EXPORT_
ev_uint32_t event_get_color(const struct event *ev);

/**
  Run cb(arg) soon, on `color`. Posts of one color run in the order they were posted (within one
  priority), and ahead of descriptors' callbacks that wait on the same worker. Any thread, any
  time while the base exists; also before the loop starts. A pending post keeps the loop running.

  @return 0; -1: no memory
 */
EVENT_SMP_EXPORT_
int event_base_post(struct event_base *base, ev_uint32_t color, event_post_fn cb, void *arg);

/**
  As event_base_post(), with a priority.

  @param priority 0 (most urgent) to event_base_get_npriorities() - 1
  @return 0; -1: as event_base_post(), or there is no such priority
 */
EVENT_SMP_EXPORT_
int event_base_post_priority(struct event_base *base, ev_uint32_t color, int priority, event_post_fn cb, void *arg);

/**
  How many workers a base made from this configuration has, the loop's own thread included.
  They start with the first colored work, block all signals, and sleep while there is nothing to do.

  @param n number of workers, at most 1024; 0: as many as CPUs this process may use (affinity, cgroup
    quota). The environment variable EVENT_WORKERS overrides both.
  @param start called first in each thread that the base starts, or NULL
  @param arg passed to start
 */
EVENT_SMP_EXPORT_
int event_config_set_workers(struct event_config *cfg, unsigned n, event_worker_start_fn start, void *arg);

/** The number of workers of a base, started or not; at least 1. */
EVENT_SMP_EXPORT_
unsigned event_base_get_workers(const struct event_base *base);

/** The worker that calls: 0 is the loop's own thread. -1: the caller is not in a callback of the base. */
EVENT_SMP_EXPORT_
int event_base_get_running_worker(const struct event_base *base);

/**
  The color of the callback that calls.

  @param color where it is written
  @return 0; -1: the caller is not in a callback of the base
 */
EVENT_SMP_EXPORT_
int event_base_get_running_color(const struct event_base *base, ev_uint32_t *color);

/**
  Return once no worker runs a callback; none starts one until event_base_resume(). From inside a
  callback it waits for all others. Pauses nest. Two callbacks may pause at once: the second has its turn
  when the first resumes. Any thread.
 */
EVENT_SMP_EXPORT_
int event_base_pause(struct event_base *base);

/** End one event_base_pause() of the calling thread. @return 0; -1: it has not paused the base */
EVENT_SMP_EXPORT_
int event_base_resume(struct event_base *base);

/**
  What one callback of a color costs, in nanoseconds, where the author knows better than the running
  mean that is measured. 0: measure again. It decides whether the color is worth stealing.
 */
EVENT_SMP_EXPORT_
int event_color_set_cost(struct event_base *base, ev_uint32_t color, ev_uint32_t ns);

/**
  How much more than usual it costs to run the color on another worker (a large working set):
  1 is usual, n weighs its moves n times, 0 never moves it.
 */
EVENT_SMP_EXPORT_
int event_color_set_penalty(struct event_base *base, ev_uint32_t color, ev_uint32_t factor);

/** Counters of one worker, since the base was made unless said otherwise. */
struct event_worker_stats {
	ev_uint64_t callbacks;		/**< run here */
	ev_uint64_t posts;		/**< of them posts */
	ev_uint64_t turns;		/**< looks at the poller */
	ev_uint64_t sleeps;		/**< of them ones that could block */
	ev_uint64_t wakeups;		/**< sent to it by others */
	ev_uint64_t steals;		/**< successful ones, by this worker */
	ev_uint64_t stolen_colors;	/**< taken by them */
	ev_uint64_t steal_misses;	/**< looks that found nothing worth it */
	ev_uint64_t steal_ns;		/**< cost of one steal, running mean, nanoseconds */
	ev_uint64_t moves;		/**< colors whose home moved to this worker */
	ev_uint64_t disarms;		/**< descriptors silenced while their callback waited elsewhere */
	ev_uint64_t busy_ns;		/**< nanoseconds in callbacks */
	ev_uint32_t runnable_colors;	/**< now */
	ev_uint32_t homed_colors;	/**< now */
};

/** Counters of one color, since something first referred to it. */
struct event_color_stats {
	ev_uint32_t color;
	ev_uint32_t worker;		/**< that runs it or would run it next */
	ev_uint32_t home;		/**< that watches its descriptors and timers */
	ev_uint32_t queued;		/**< callbacks waiting, now */
	ev_uint32_t events;		/**< pending events, now */
	ev_uint32_t cost_ns;		/**< of a callback, running mean, or as set */
	ev_uint64_t callbacks;		/**< run */
};

/**
  Counters of worker `worker`, 0 to event_base_get_workers() - 1.

  @param size sizeof(*stats): a program built against a longer or shorter struct gets what both know,
    the rest zeroed
 */
EVENT_SMP_EXPORT_
int event_base_get_stats(struct event_base *base, unsigned worker, struct event_worker_stats *stats, size_t size);

/**
  Counters of a color. With one worker a color is only a name: all pending events are looked through, and
  `cost_ns` and `callbacks` are 0.

  @return 0; -1: nothing refers to the color now
 */
EVENT_SMP_EXPORT_
int event_base_get_color_stats(struct event_base *base, ev_uint32_t color, struct event_color_stats *stats,
			       size_t size);

/**
  Give a bufferevent a color: its events, timeouts, deferred callbacks and rate limits, and with them all
  its callbacks, run there. A filter, or TLS over another bufferevent, has the color of what it is on: set for
  one, it is set for all of them. The halves of a pair may have one each.

  Call it from a callback of the bufferevent's color, or while nothing runs; also from one of its own callbacks, where
  it takes effect as that returns. From then on the bufferevent is used from its new color only, with two exceptions:
  if it was made with BEV_OPT_THREADSAFE, and if this is called from another color than the new one, it has
  a lock (also without evthread_use_pthreads()), and may be used from anywhere.

  @return 0; -1: no memory
 */
EVENT_SMP_EXPORT_
int bufferevent_set_color(struct bufferevent *bev, ev_uint32_t color);

/**
  The color of a bufferevent; 0 if none was set. TLS on a socket begins at once, and so has the color of the
  callback that makes it.
*/
EVENT_SMP_EXPORT_
ev_uint32_t bufferevent_get_color(struct bufferevent *bev);

/** Where a listener's accept callback runs. */
enum evconnlistener_color_policy {
	EVCONNLISTENER_COLOR_NONE,	/**< in color 0, as on libevent */
	EVCONNLISTENER_COLOR_FRESH,	/**< in a color that no other open connection has */
	EVCONNLISTENER_COLOR_ASK	/**< in the color that the program's function returns */
};

/** Chooses the color of a connection. It runs where the listener does, and must not free the listener. */
typedef ev_uint32_t (*evconnlistener_color_cb)(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr,
					       int socklen, void *arg);

/**
  Have each connection that is accepted from now on begin in a color of its own: the accept callback runs in it.
  event_base_get_running_color() tells it there, to be given to the connection's bufferevent or events. Callbacks
  for different connections then run in parallel. A fresh color is 0x80000000 plus the descriptor.

  evconnlistener_free() closes connections whose callback has not begun.
  Call it before the listener is enabled or from the callback of a connection without a color.

  @param cb for EVCONNLISTENER_COLOR_ASK, else NULL
  @return 0; -1: no such policy, no cb for EVCONNLISTENER_COLOR_ASK, no memory
 */
EVENT_SMP_EXPORT_
int evconnlistener_set_color_policy(struct evconnlistener *lev, enum evconnlistener_color_policy policy,
				    evconnlistener_color_cb cb, void *arg);

struct evhttp;

/**
  Where the connections of an HTTP server live: the policy of its listeners, those that it has and those
  that it gets. With a color of its own a connection is read, parsed, handled and written there; handlers of
  different connections then run in parallel. Every evhttp call may be made from any color: what concerns a
  connection of another color is posted to it. Connections that are open already stay where they are.

  @param http the server
  @param policy EVCONNLISTENER_COLOR_NONE is the default
  @param cb with EVCONNLISTENER_COLOR_ASK: which color; else NULL
  @param arg passed to cb
  @return 0; -1: no such policy, cb is missing, or a listener refused
 */
EVENT_SMP_EXPORT_
int evhttp_set_color_policy(struct evhttp *http, enum evconnlistener_color_policy policy, evconnlistener_color_cb cb,
			    void *arg);

#ifdef __cplusplus
}
#endif

#endif /* EVENT2_SMP_H_INCLUDED_ */
