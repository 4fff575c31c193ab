/*
 * What programs built against libevent 2.1 carry inside them: the layout of struct event, and the
 * numbers in its fields. A build on which one of these does not hold is not compatible.
 */
#include <stddef.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "core/ec.h"

#define SAME(field, ec_field)                                                                      \
	_Static_assert(offsetof(struct event, field) == offsetof(struct ec_event, ec_field), #field)

_Static_assert(sizeof(struct ec_event) == sizeof(struct event), "programs allocate struct event themselves");
_Static_assert(sizeof(struct ec_task) == sizeof(struct event_callback), "struct event begins with one");
SAME(ev_evcallback.evcb_active_next, task.link);
SAME(ev_evcallback.evcb_flags, task.flags);
SAME(ev_evcallback.evcb_pri, task.pri);
SAME(ev_evcallback.evcb_closure, task.kind);
SAME(ev_evcallback.evcb_cb_union, task.fn);
SAME(ev_evcallback.evcb_arg, task.arg);
SAME(ev_timeout_pos, timer);
SAME(ev_fd, fd);
SAME(ev_base, base);
SAME(ev_, of);
SAME(ev_events, events);
SAME(ev_res, res);
SAME(ev_timeout, deadline_ns);

#if defined(__LP64__)
_Static_assert(sizeof(struct event) == 128, "LP64");
_Static_assert(offsetof(struct event, ev_base) == 64, "memcached reads ev_base");
_Static_assert(offsetof(struct ec_event, task.color) == 20, "the first hole");
_Static_assert(offsetof(struct ec_event, bound) == 60, "the second hole");
_Static_assert(offsetof(struct ec_event, state) == 108, "the third hole");
#endif

_Static_assert(EC_TIMEOUT == EV_TIMEOUT && EC_READ == EV_READ && EC_WRITE == EV_WRITE && EC_SIGNAL == EV_SIGNAL, "EV_");
_Static_assert(EC_PERSIST == EV_PERSIST && EC_ET == EV_ET && EC_FINALIZE == EV_FINALIZE && EC_CLOSED == EV_CLOSED, "EV_");
_Static_assert(EC_IN_TIMEOUT == EVLIST_TIMEOUT && EC_IN_INSERTED == EVLIST_INSERTED, "EVLIST_");
_Static_assert(EC_IN_SIGNAL == EVLIST_SIGNAL && EC_IN_ACTIVE == EVLIST_ACTIVE, "EVLIST_");
_Static_assert(EC_IN_INTERNAL == EVLIST_INTERNAL && EC_IN_ACTIVE_LATER == EVLIST_ACTIVE_LATER, "EVLIST_");
_Static_assert(EC_IN_FINALIZING == EVLIST_FINALIZING && EC_IN_INIT == EVLIST_INIT, "EVLIST_");
_Static_assert(EC_LOOP_ONCE == EVLOOP_ONCE && EC_LOOP_NONBLOCK == EVLOOP_NONBLOCK, "EVLOOP_");
_Static_assert(EC_LOOP_NO_EXIT_ON_EMPTY == EVLOOP_NO_EXIT_ON_EMPTY, "EVLOOP_");
_Static_assert((int)EC_BASE_NOLOCK == (int)EVENT_BASE_FLAG_NOLOCK, "EVENT_BASE_FLAG_");
_Static_assert((int)EC_BASE_IGNORE_ENV == (int)EVENT_BASE_FLAG_IGNORE_ENV, "EVENT_BASE_FLAG_");
_Static_assert((int)EC_BASE_NO_CACHE_TIME == (int)EVENT_BASE_FLAG_NO_CACHE_TIME, "EVENT_BASE_FLAG_");
_Static_assert((int)EC_BASE_EPOLL_USE_CHANGELIST == (int)EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST, "EVENT_BASE_FLAG_");
_Static_assert((int)EC_BASE_PRECISE_TIMER == (int)EVENT_BASE_FLAG_PRECISE_TIMER, "EVENT_BASE_FLAG_");
_Static_assert((int)EC_FEATURE_ET == (int)EV_FEATURE_ET && (int)EC_FEATURE_O1 == (int)EV_FEATURE_O1, "EV_FEATURE_");
_Static_assert((int)EC_FEATURE_FDS == (int)EV_FEATURE_FDS, "EV_FEATURE_");
_Static_assert((int)EC_FEATURE_EARLY_CLOSE == (int)EV_FEATURE_EARLY_CLOSE, "EV_FEATURE_");
_Static_assert(EC_COUNT_ACTIVE == EVENT_BASE_COUNT_ACTIVE && EC_COUNT_VIRTUAL == EVENT_BASE_COUNT_VIRTUAL, "COUNT_");
_Static_assert(EC_COUNT_ADDED == EVENT_BASE_COUNT_ADDED, "COUNT_");
_Static_assert(EC_LOG_DEBUG == EVENT_LOG_DEBUG && EC_LOG_ERR == EVENT_LOG_ERR, "EVENT_LOG_");
