/*
 * Programs built against libevent 2.1 contain the layout of struct event, field by field, and the
 * numbers that they pass and read. If one of these assertions fails, the build is not compatible.
 */
#include <limits.h>
#include <stddef.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "core/ec.h"

/* ---------------------------------------------------------------- layout */

#define SIZE_OF(type, field) sizeof(((type *)0)->field)
#define SAME_IN(type, field, ec_type, ec_field)                                                    \
	_Static_assert(offsetof(type, field) == offsetof(ec_type, ec_field), #field " is elsewhere");  \
	_Static_assert(SIZE_OF(type, field) == SIZE_OF(ec_type, ec_field), #field " has another size")
#define SAME(field, ec_field) SAME_IN(struct event, field, struct ec_event, ec_field)
#define SAME_CB(field, ec_field) SAME_IN(struct event_callback, field, struct ec_task, ec_field)

_Static_assert(sizeof(struct ec_event) == sizeof(struct event), "programs allocate struct event themselves");
_Static_assert(_Alignof(struct ec_event) == _Alignof(struct event), "and where they like");

SAME_CB(evcb_active_next, link);
SAME_CB(evcb_flags, flags);
SAME_CB(evcb_pri, pri);
SAME_CB(evcb_closure, kind);
SAME_CB(evcb_cb_union, fn);
SAME_CB(evcb_arg, arg);

SAME(ev_fd, fd);
SAME(ev_base, base);
SAME(ev_, of);
SAME(ev_.ev_io.ev_io_next, of.io.link);
SAME(ev_.ev_signal.ev_signal_next, of.sig.link);
SAME(ev_.ev_signal.ev_ncalls, of.sig.ncalls);
SAME(ev_events, events);
SAME(ev_res, res);
_Static_assert(offsetof(struct event, ev_timeout) == offsetof(struct ec_event, deadline_ns), "ev_timeout is elsewhere");

#if defined(__LP64__)
SAME(ev_evcallback, task);
SAME(ev_timeout_pos, timer);
SAME(ev_timeout_pos.ev_next_with_common_timeout, timer.common);
SAME(ev_timeout_pos.min_heap_idx, timer.slot);
SAME(ev_.ev_signal.ev_pncalls, of.sig.unused);
_Static_assert(offsetof(struct event, ev_.ev_io.ev_timeout) == offsetof(struct ec_event, of.io.interval_ns),
	       "ev_io.ev_timeout is elsewhere");
_Static_assert(sizeof(struct event) == 128, "LP64");
_Static_assert(offsetof(struct event, ev_base) == 64, "memcached reads ev_base");
_Static_assert(offsetof(struct ec_task, color) == 20, "the first hole");
_Static_assert(offsetof(struct ec_event, bound) == 60, "the second hole");
_Static_assert(offsetof(struct ec_event, state) == 108, "the third hole");
#elif UINTPTR_MAX == UINT32_MAX
#define LIES_IN(ec_field, type, ec_offset, field)                                                          \
	_Static_assert((ec_offset) >= offsetof(struct event, field) &&                                     \
		       (ec_offset) + sizeof(type) <= offsetof(struct event, field) + SIZE_OF(struct event, field), \
		       #ec_field " must lie in " #field ", which is private to libevent")

_Static_assert(sizeof(struct event) == (sizeof(time_t) == 4 ? 64 : 88), "ILP32");
_Static_assert(offsetof(struct event, ev_base) == 32, "programs read ev_base");
LIES_IN(color, uint32_t, offsetof(struct ec_task, color), ev_timeout_pos);
LIES_IN(timer, uint32_t, offsetof(struct ec_event, timer.slot), ev_timeout_pos);
LIES_IN(interval, uint32_t, offsetof(struct ec_event, of.io.interval), ev_.ev_io.ev_timeout);
LIES_IN(state, uint16_t, offsetof(struct ec_event, of.both.state), ev_.ev_io.ev_timeout);
LIES_IN(runner, uint16_t, offsetof(struct ec_event, of.both.runner), ev_.ev_io.ev_timeout);
_Static_assert(offsetof(struct ec_event, of.both.state) >=
		       offsetof(struct ec_event, of.io.interval) + SIZE_OF(struct ec_event, of.io.interval),
	       "an event of a descriptor has both");
_Static_assert(offsetof(struct ec_event, of.both.state) >=
		       offsetof(struct ec_event, of.sig.due) + SIZE_OF(struct ec_event, of.sig.due),
	       "an event of a signal has both");
#else
#error "pointers have 64 bits and long has not"
#endif

#define SAME_LOCKS(field, ec_field) SAME_IN(struct evthread_lock_callbacks, field, struct ec_lock_callbacks, ec_field)
#define SAME_CONDITION(field, ec_field)                                                            \
	SAME_IN(struct evthread_condition_callbacks, field, struct ec_condition_callbacks, ec_field)

SAME_LOCKS(lock_api_version, api_version);
SAME_LOCKS(supported_locktypes, supported_locktypes);
SAME_LOCKS(alloc, alloc);
SAME_LOCKS(free, free);
SAME_LOCKS(lock, lock);
SAME_LOCKS(unlock, unlock);
SAME_CONDITION(condition_api_version, api_version);
SAME_CONDITION(alloc_condition, alloc);
SAME_CONDITION(free_condition, free);
SAME_CONDITION(signal_condition, signal);
SAME_CONDITION(wait_condition, wait);

/* ---------------------------------------------------------------- numbers */

#define SAME_NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs " is another number")

SAME_NUMBER(EC_TIMEOUT, EV_TIMEOUT);
SAME_NUMBER(EC_READ, EV_READ);
SAME_NUMBER(EC_WRITE, EV_WRITE);
SAME_NUMBER(EC_SIGNAL, EV_SIGNAL);
SAME_NUMBER(EC_PERSIST, EV_PERSIST);
SAME_NUMBER(EC_ET, EV_ET);
SAME_NUMBER(EC_FINALIZE, EV_FINALIZE);
SAME_NUMBER(EC_CLOSED, EV_CLOSED);

SAME_NUMBER(EC_IN_TIMEOUT, EVLIST_TIMEOUT);
SAME_NUMBER(EC_IN_INSERTED, EVLIST_INSERTED);
SAME_NUMBER(EC_IN_SIGNAL, EVLIST_SIGNAL);
SAME_NUMBER(EC_IN_ACTIVE, EVLIST_ACTIVE);
SAME_NUMBER(EC_IN_INTERNAL, EVLIST_INTERNAL);
SAME_NUMBER(EC_IN_ACTIVE_LATER, EVLIST_ACTIVE_LATER);
SAME_NUMBER(EC_IN_FINALIZING, EVLIST_FINALIZING);
SAME_NUMBER(EC_IN_INIT, EVLIST_INIT);

SAME_NUMBER(EC_LOOP_ONCE, EVLOOP_ONCE);
SAME_NUMBER(EC_LOOP_NONBLOCK, EVLOOP_NONBLOCK);
SAME_NUMBER(EC_LOOP_NO_EXIT_ON_EMPTY, EVLOOP_NO_EXIT_ON_EMPTY);

SAME_NUMBER(EC_BASE_NOLOCK, EVENT_BASE_FLAG_NOLOCK);
SAME_NUMBER(EC_BASE_IGNORE_ENV, EVENT_BASE_FLAG_IGNORE_ENV);
SAME_NUMBER(EC_BASE_NO_CACHE_TIME, EVENT_BASE_FLAG_NO_CACHE_TIME);
SAME_NUMBER(EC_BASE_EPOLL_USE_CHANGELIST, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
SAME_NUMBER(EC_BASE_PRECISE_TIMER, EVENT_BASE_FLAG_PRECISE_TIMER);

SAME_NUMBER(EC_FEATURE_ET, EV_FEATURE_ET);
SAME_NUMBER(EC_FEATURE_O1, EV_FEATURE_O1);
SAME_NUMBER(EC_FEATURE_FDS, EV_FEATURE_FDS);
SAME_NUMBER(EC_FEATURE_EARLY_CLOSE, EV_FEATURE_EARLY_CLOSE);

SAME_NUMBER(EC_COUNT_ACTIVE, EVENT_BASE_COUNT_ACTIVE);
SAME_NUMBER(EC_COUNT_VIRTUAL, EVENT_BASE_COUNT_VIRTUAL);
SAME_NUMBER(EC_COUNT_ADDED, EVENT_BASE_COUNT_ADDED);

SAME_NUMBER(EC_LOG_DEBUG, EVENT_LOG_DEBUG);
SAME_NUMBER(EC_LOG_MSG, EVENT_LOG_MSG);
SAME_NUMBER(EC_LOG_WARN, EVENT_LOG_WARN);
SAME_NUMBER(EC_LOG_ERR, EVENT_LOG_ERR);

/* ---------------------------------------------------------------- types */

_Static_assert(__builtin_types_compatible_p(evutil_socket_t, int), "a descriptor");
_Static_assert(SHRT_MAX == INT16_MAX, "events, results and the number of calls are short");
_Static_assert(sizeof(struct timeval) == 2 * sizeof(time_t), "timeouts");

/* <event2/smp.h> has the engine's counters, which are copied as bytes. */
#define SAME_STAT(field) SAME_IN(struct event_worker_stats, field, struct ec_worker_stats, field)
#define SAME_COLOR_STAT(field) SAME_IN(struct event_color_stats, field, struct ec_color_stats, field)

_Static_assert(sizeof(struct event_worker_stats) == sizeof(struct ec_worker_stats), "no counter is left out");
SAME_STAT(callbacks);
SAME_STAT(posts);
SAME_STAT(turns);
SAME_STAT(sleeps);
SAME_STAT(wakeups);
SAME_STAT(steals);
SAME_STAT(stolen_colors);
SAME_STAT(steal_misses);
SAME_STAT(steal_ns);
SAME_STAT(moves);
SAME_STAT(disarms);
SAME_STAT(busy_ns);
SAME_STAT(runnable_colors);
SAME_STAT(homed_colors);

_Static_assert(sizeof(struct event_color_stats) == sizeof(struct ec_color_stats), "no counter is left out");
SAME_COLOR_STAT(color);
SAME_COLOR_STAT(worker);
SAME_COLOR_STAT(home);
SAME_COLOR_STAT(queued);
SAME_COLOR_STAT(events);
SAME_COLOR_STAT(cost_ns);
SAME_COLOR_STAT(callbacks);
