/*
 * The engine, as its faces see it: all that compat/ may use of core/.
 *
 * Errors: 0 or a count, else -errno; errno itself is neither read nor kept for the caller.
 * Threads: each function carries one of three words.
 *   any thread   safe from any thread and any callback once the base is locked (it has
 *                threads or colors, see ec_base_is_locked); without, from the loop's thread
 *   own color    only from a callback of the object's color, or while nothing runs
 *   before run   while no loop of the base runs
 */
#ifndef EC_H
#define EC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>

#include "os/list.h"

#ifdef __cplusplus
#define EC_NORETURN [[noreturn]]
extern "C" {
#else
#define EC_NORETURN _Noreturn
#endif

#if defined(__GNUC__)
#define EC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define EC_PRINTF(fmt, args)
#endif

struct ec_base;
struct ec_event;
struct ec_task;

/* ---------------------------------------------------------------- the event is the task */

/* What an event waits for, and what its callback learns. Numbers are those of EV_… in <event2/event.h>. */
enum {
	EC_TIMEOUT = 0x01,
	EC_READ = 0x02,
	EC_WRITE = 0x04,
	EC_SIGNAL = 0x08,
	EC_PERSIST = 0x10,
	EC_ET = 0x20,
	EC_FINALIZE = 0x40,
	EC_CLOSED = 0x80,
};

/* ec_task.flags. Numbers are those of EVLIST_… in <event2/event_struct.h>. */
enum {
	EC_IN_TIMEOUT = 0x01,		/* has a deadline */
	EC_IN_INSERTED = 0x02,		/* its descriptor or signal is watched */
	EC_IN_SIGNAL = 0x04,
	EC_IN_ACTIVE = 0x08,		/* in a queue of tasks to run */
	EC_IN_INTERNAL = 0x10,		/* keeps no loop alive, is not counted */
	EC_IN_ACTIVE_LATER = 0x20,	/* will be active in the next turn */
	EC_IN_FINALIZING = 0x40,	/* being finalized: can be neither added nor activated */
	EC_IN_INIT = 0x80,		/* assigned */
};

/* ec_task.kind: what running the task means. */
enum ec_kind {
	EC_KIND_EVENT,			/* fn(fd, res, arg) */
	EC_KIND_PERSIST,		/* the same; it stays pending */
	EC_KIND_TIMED,			/* the same, and its timeout starts anew first */
	EC_KIND_SIGNAL = 4,		/* the same, ncalls times; a bit of its own, see ec_task_special */
	EC_KIND_SELF,			/* self(task, arg): internal tasks of the faces */
	EC_KIND_FINALIZE,		/* self(task, arg); the task is its owner's again before */
	EC_KIND_EVENT_FINALIZE,		/* finalize(event, arg) */
	EC_KIND_EVENT_FINALIZE_FREE,	/* finalize(event, arg), then the event is freed */
	EC_KIND_POST,			/* post(arg): from ec_base_post, the task is the engine's */
};

typedef void (*ec_event_fn)(int fd, short what, void *arg);
typedef void (*ec_post_fn)(void *arg);

union ec_task_fn {
	ec_event_fn event;
	void (*self)(struct ec_task *task, void *arg);
	void (*finalize)(struct ec_event *ev, void *arg);
	ec_post_fn post;
};

/* struct ec_task and struct ec_event, in the layout of struct event_callback and struct event. */
#if UINTPTR_MAX > UINT32_MAX
#include "event_wide.h"
#else
#include "event_narrow.h"
#endif

/* ---------------------------------------------------------------- hints of what is on */

/* What a face's hot functions must do besides their work: nothing, in almost every process. */
enum {
	EC_WATCH_MISUSE = 0x01,		/* event_enable_debug_mode */
	EC_WATCH_LOG = 0x02,		/* debug messages are on */
	EC_WATCH_FIRST = 0x04,		/* no event or base was made yet */
	EC_WATCH_TOUCH = 0x08,		/* a trace notes which events are added and deleted */
	EC_WATCH_CALLS = 0x10,		/* a base is observed: faces tell what they call */
};

extern unsigned ec_watch;
void ec_watch_set(unsigned which, bool is_on);

/* One load and one branch for all of it. Relaxed: a hint; the state behind it has its own locks. */
static inline unsigned ec_watched(void)
{
	return __atomic_load_n(&ec_watch, __ATOMIC_RELAXED);
}

/* An address that means "the event itself" (event_self_cbarg), the same for all libraries. */
extern const char ec_self_arg;

/* ---------------------------------------------------------------- what a callback is about */

enum ec_object { EC_OBJECT_EVENT, EC_OBJECT_BUFFEREVENT, EC_OBJECT_LISTENER, EC_OBJECT_HTTP };

/* A callback of an event, and what it stands for in the program: observe/subject.h. */
struct ec_subject {
	uintptr_t fn;				/* the function that is called */
	uintptr_t object;			/* its argument */
	uint8_t kind;				/* enum ec_object */
	bool is_open;				/* what the face will call is not sure */
};

/*
 * A face tells what its own callbacks are about. `s` is one that is about to be called, for `what`. If it is the
 * face's, and what it will call is not sure, the face sets is_open. True: `s` has what it probably calls: a function
 * of the program, or of a face above. After ec_note_call, `object` is 0.
 */
typedef bool (*ec_subject_fn)(struct ec_subject *s, short what);

/* `s` is the face's, and will call `fn`; 0: that is not known before. */
static inline bool ec_subject_calls(struct ec_subject *s, uintptr_t fn)
{
	s->is_open = fn == 0;
	if (fn != 0)
		s->fn = fn;
	return fn != 0;
}

/* As a face is loaded and unloaded. any thread */
void ec_subject_add(ec_subject_fn fn);
void ec_subject_remove(ec_subject_fn fn);

/* While this library is loaded, `fn` is asked. */
#define EC_SUBJECT(fn)                                                                                                 \
	static __attribute__((constructor)) void subject_begin(void)                                                   \
	{                                                                                                              \
		ec_subject_add(fn);                                                                                    \
	}                                                                                                              \
	static __attribute__((destructor)) void subject_end(void)                                                      \
	{                                                                                                              \
		ec_subject_remove(fn);                                                                                 \
	}

/*
 * A face calls `fn`, which could not be known before, while EC_WATCH_CALLS. The first function of the program names
 * the callback that runs. any thread
 */
void ec_observed_calls(uintptr_t fn);

static inline void ec_note_call(uintptr_t fn)
{
	if (__builtin_expect((ec_watched() & EC_WATCH_CALLS) != 0, 0))
		ec_observed_calls(fn);
}

/* `ev` is added or deleted, while EC_WATCH_TOUCH: a trace notes whose it is. any thread */
void ec_trace_touch(const struct ec_event *ev);

/* ---------------------------------------------------------------- log */

enum ec_severity { EC_LOG_DEBUG, EC_LOG_MSG, EC_LOG_WARN, EC_LOG_ERR };

typedef void (*ec_log_fn)(int severity, const char *msg);
typedef void (*ec_fatal_fn)(int err);

void ec_log_set_fn(ec_log_fn fn);			/* NULL: stderr */
void ec_log_set_fatal_fn(ec_fatal_fn fn);		/* NULL: exit(1) or abort() */
void ec_log_set_debug(uint32_t which);			/* 0 off, ~0 all */
static inline bool ec_log_debug_on(void)
{
	return (ec_watched() & EC_WATCH_LOG) != 0;
}

void ec_log(enum ec_severity severity, const char *fmt, ...) EC_PRINTF(2, 3);
/* Appends ": " and what strerror says, unless err is 0. */
void ec_log_errno(enum ec_severity severity, int err, const char *fmt, ...) EC_PRINTF(3, 4);
#define EC_NO_ERRNO (-1)			/* the next ones append nothing; 0 is "Success" */
void ec_vlog(enum ec_severity severity, int err, const char *fmt, va_list ap);

/* The exit code of a broken promise; without a fatal callback it dumps core. The number is stock's. */
#define EC_EXIT_ABORT ((int)0xdeaddeadU)

/* Logs EC_LOG_ERR, tells the fatal callback, and exits; or aborts for EC_EXIT_ABORT, without a callback. */
EC_NORETURN void ec_die(int exit_code, const char *fmt, ...) EC_PRINTF(2, 3);
EC_NORETURN void ec_vdie(int exit_code, int err, const char *fmt, va_list ap);

/* ---------------------------------------------------------------- memory */

/* The allocator that event_set_mem_functions can replace. It serves all memory that a program may free or own. */
void ec_mem_set_fns(void *(*malloc_fn)(size_t), void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *));
void *ec_malloc(size_t size);
void *ec_calloc(size_t num, size_t size);
char *ec_strdup(const char *s);
void *ec_realloc(void *p, size_t size);
void ec_free(void *p);				/* of NULL: nothing, also for the program's function */

/* By libc's memset, which has wide stores: for a length that it knows, the compiler uses a slow instruction instead. */
static inline void ec_clear(void *at, size_t len)
{
	__asm__("" : "+r"(len));
	memset(at, 0, len);
}

/* On a cache line, if the program has no malloc of its own. Not for ec_realloc. */
void *ec_lines_alloc(size_t size);

/*
 * Blocks of 2^order bytes; of EC_CHUNK_BEV_SIZE and EC_CHUNK_ODD_SIZE for two orders below those. A freed block is
 * kept for the next allocation, of the same thread if possible. With the program's own allocator, and under sanitizers,
 * these are ec_malloc and ec_free. any thread
 */
enum { EC_CHUNK_BEV = 5, EC_CHUNK_ODD = 6, EC_CHUNK_ORDER_MIN = 7, EC_CHUNK_ORDER_MAX = 21 };

enum { EC_CHUNK_BEV_SIZE = 920, EC_CHUNK_ODD_SIZE = 1280 };

void *ec_chunk_new(unsigned order);		/* NULL: no memory */
void ec_chunk_free(void *p, unsigned order);

/* Are freed blocks kept? Then all of them are libc's, and any memory of libc that is large enough may become one. */
bool ec_chunk_recycles(void);

/* ---------------------------------------------------------------- the program's locks */

/* Lock, condition and thread-id callbacks of evthread, with the layout of <event2/thread.h>. */
struct ec_lock_callbacks {
	int api_version;
	unsigned supported_locktypes;
	void *(*alloc)(unsigned locktype);
	void (*free)(void *lock, unsigned locktype);
	int (*lock)(unsigned mode, void *lock);
	int (*unlock)(unsigned mode, void *lock);
};

struct ec_condition_callbacks {
	int api_version;
	void *(*alloc)(unsigned condtype);
	void (*free)(void *cond);
	int (*signal)(void *cond, int broadcast);
	int (*wait)(void *cond, void *lock, const struct timeval *timeout);
};

/* NULL: none any more, with a warning. -EBUSY: set otherwise before; -EINVAL: one is missing. */
int ec_thread_set_lock_callbacks(const struct ec_lock_callbacks *cbs);
int ec_thread_set_condition_callbacks(const struct ec_condition_callbacks *cbs);
/* The program's callbacks, also under lock debugging; zeros if it set none. */
const struct ec_lock_callbacks *ec_thread_lock_callbacks(void);
const struct ec_condition_callbacks *ec_thread_condition_callbacks(void);
void ec_thread_set_id_fn(unsigned long (*fn)(void));
void ec_thread_enable_lock_debugging(void);	/* before the first lock */
void ec_thread_shutdown(void);			/* ends lock debugging; locks made under it are void */
bool ec_thread_is_on(void);			/* lock callbacks are set */
unsigned long ec_thread_id(void);
/* The lock callbacks that are set are evthread_use_pthreads()'s: so new locks are the engine's own, which cost less. */
void ec_thread_note_pthreads(void);
/* A lock of the program's kind; NULL when threads are off or there is no memory. */
void *ec_thread_lock_new(unsigned locktype);
/* A recursive lock of the engine's own, for state that threads share although evthread is off. NULL: no memory. */
void *ec_thread_lock_new_own(void);
void ec_thread_lock_free(void *lock, unsigned locktype);	/* of either kind, as the next two */
int ec_thread_lock(void *lock, unsigned mode);	/* NULL lock: 0. The engine's own lock takes no mode but 0 */
int ec_thread_unlock(void *lock, unsigned mode);
void *ec_thread_cond_new(void);
void ec_thread_cond_free(void *cond);
int ec_thread_cond_signal(void *cond, int broadcast);
int ec_thread_cond_wait(void *cond, void *lock, const struct timeval *timeout);

/* ---------------------------------------------------------------- debug mode */

/*
 * event_enable_debug_mode: which events are assigned and which are added. Each call dies on misuse; while the mode is
 * off, it does nothing.
 */
void ec_debug_enable(void);			/* dies when an event or a base was made before */
static inline bool ec_debug_on(void)
{
	return (ec_watched() & EC_WATCH_MISUSE) != 0;
}
void ec_debug_note_base(void);			/* a base is made: now it is too late to enable, or to set up threads */
void ec_debug_assert_no_base(void);
void ec_debug_freeze(void);			/* around a fork: the table is whole in the child */
void ec_debug_reset(void);			/* in a child that was cloned */
void ec_debug_thaw(void);
void ec_debug_note_setup(const struct ec_event *ev);
void ec_debug_note_teardown(const struct ec_event *ev);
/* Before `ev` is added. True: it is noted as added, and was not before. `has_timeout`: it gets a deadline. */
bool ec_debug_note_add(const struct ec_event *ev, bool has_timeout);
void ec_debug_note_del(const struct ec_event *ev);
/*
 * What the engine notes: `ev` is added no more, or again. An unknown event passes: it is the engine's or a face's own.
 * Under any locks.
 */
void ec_debug_note_pending(const struct ec_event *ev, bool is_pending);
void ec_debug_assert_is_setup(const struct ec_event *ev);
void ec_debug_assert_not_added(const struct ec_event *ev);
void ec_debug_assert_socket_nonblocking(int fd);	/* a number that is no descriptor passes */
void ec_debug_shutdown(void);			/* off, and forgets all events. any thread */

/* `ev`, which is set up, is a face's own: what the program is told to do, it need not. */
void ec_debug_note_ours(const struct ec_event *ev);
bool ec_debug_is_ours(const struct ec_event *ev);

/*
 * Misuse that debug mode reports by a warning: see sched/misuse.h. Called while the mode is on. False: the base was
 * freed, and there is nothing to call.
 */
bool ec_misuse_check_base(const struct ec_base *base, const char *caller);
bool ec_misuse_check_add(struct ec_event *ev);
void ec_misuse_forget(void);			/* the freed bases that debug mode keeps */

/* ---------------------------------------------------------------- process */

int ec_random_bytes(void *ret, size_t len);	/* unpredictable ones. any thread */

struct ec_base *ec_current_base(void);		/* of the calls that name none (event_init) */
void ec_set_current_base(struct ec_base *base);

/*
 * The state that a face has one of in a process, because its libraries hold none. One word for each; the face that sets
 * it owns what the word points to. any thread
 */
enum ec_slot {
	EC_SLOT_DNS_BASE,		/* of the calls that name none (evdns_init) */
	EC_SLOT_DNS_LOG_FN,
	EC_SLOT_GETADDRINFO_FN,		/* a function of one library that another calls if it is there */
	EC_SLOT_GETADDRINFO_CANCEL_FN,
	EC_SLOT_THREADS_FN,		/* void (*)(void): called each time before a base starts its workers' threads */
	EC_SLOTS,
};

uintptr_t ec_slot_get(enum ec_slot slot);	/* 0: nothing was set */
void ec_slot_set(enum ec_slot slot, uintptr_t value);

/* Called by each worker of all bases when it has polled, without locks; NULL: none. It must not block. any thread */
typedef void (*ec_turn_fn)(void);
void ec_set_turn_fn(ec_turn_fn fn);

void ec_global_shutdown(void);			/* frees the process-wide state above */

/* ---------------------------------------------------------------- references */

/* A thread that has a reference may take another. put: was it the last? Then the caller sees all that others did. */
static inline void ec_ref_get(unsigned *refs)
{
	(void)__atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
}

static inline bool ec_ref_put(unsigned *refs)
{
	/* No other thread can use the object of the only reference: no read-modify-write is needed. */
	if (__atomic_load_n(refs, __ATOMIC_ACQUIRE) == 1)
		return true;
	return __atomic_fetch_sub(refs, 1, __ATOMIC_ACQ_REL) == 1;
}

/* A word that is set once: of several threads that try, one wins, and all get its value. */
static inline void *ec_published(void *const *slot)
{
	return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

static inline void *ec_publish(void **slot, void *value)
{
	void *before = NULL;

	if (__atomic_compare_exchange_n(slot, &before, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return value;
	return before;
}

/* ---------------------------------------------------------------- the program's ThreadSanitizer */

/*
 * It does not see our atomics (core/os/tsan.h). What a thread did before ec_order_before comes before what another one
 * does after ec_order_after, at the same address. For the locks of the faces, with which they guard only their own
 * memory: so the race checker (core/observe/check.h), which finds what the program does without an order of its own,
 * takes no order from them. It does not see what a thread does between its ec_order_after and its ec_order_before.
 */
extern bool ec_has_tsan;
void ec_tsan_order_before(const void *at);
void ec_tsan_order_after(const void *at);

static inline void ec_order_before(const void *at)
{
	if (__builtin_expect(ec_has_tsan, 0))
		ec_tsan_order_before(at);
}

static inline void ec_order_after(const void *at)
{
	if (__builtin_expect(ec_has_tsan, 0))
		ec_tsan_order_after(at);
}

/* ---------------------------------------------------------------- time */

int64_t ec_monotonic_ns(void);

/* ---------------------------------------------------------------- methods */

enum { EC_FEATURE_ET = 0x01, EC_FEATURE_O1 = 0x02, EC_FEATURE_FDS = 0x04, EC_FEATURE_EARLY_CLOSE = 0x08 };

const char *ec_method_name(size_t i);		/* in order of preference; NULL after the last */
const char **ec_method_names(void);		/* the same, NULL-terminated; the engine's */

/* ---------------------------------------------------------------- bases */

/* Numbers are those of EVENT_BASE_FLAG_…. */
enum {
	EC_BASE_NOLOCK = 0x01,
	EC_BASE_IGNORE_ENV = 0x02,
	EC_BASE_NO_CACHE_TIME = 0x08,
	EC_BASE_EPOLL_USE_CHANGELIST = 0x10,
	EC_BASE_PRECISE_TIMER = 0x20,
};

typedef void (*ec_worker_start_fn)(struct ec_base *base, unsigned worker, void *arg);

struct ec_config {
	const char *const *avoid;	/* names of methods, NULL-terminated; or NULL */
	unsigned features;		/* required, EC_FEATURE_… */
	unsigned flags;			/* EC_BASE_… */
	bool has_interval;
	struct timeval max_interval;	/* poll at least so often … */
	int max_callbacks;		/* … or after so many callbacks (INT_MAX: no limit) … */
	int limit_after_pri;		/* … while running those of this priority or less urgent */
	unsigned workers_num;		/* 0: one for each CPU this process may use */
	ec_worker_start_fn start;	/* runs first in each worker's thread but the loop's own; or NULL */
	void *start_arg;
};

/*
 * Environment is honoured (EVENT_NO…, EVENT_EPOLL_USE_CHANGELIST, EVENT_PRECISE_TIMER, EVENT_WORKERS) unless
 * EC_BASE_IGNORE_ENV or the process is set-user-id. EVENT_SHOW_METHOD and EVENT_SMP_VERBOSE, which change nothing, are
 * honoured unless it is set-user-id. cfg NULL: all defaults.
 */
int ec_base_new(const struct ec_config *cfg, struct ec_base **ret);
void ec_base_free(struct ec_base *base);		/* runs the finalizers that wait */
void ec_base_free_nofinalize(struct ec_base *base);
/* In the child after fork. -ENOTRECOVERABLE: cloned without fork, in the midst of a change by another thread. */
int ec_base_reinit(struct ec_base *base);
/* In a child handler of pthread_atfork, and reinit later: signals that come in between are the base's. */
void ec_base_inherit_signals(struct ec_base *base);
unsigned ec_base_reinits(const struct ec_base *base);	/* how often: a face compares it to detect a fork */
const char *ec_base_method(const struct ec_base *base);
unsigned ec_base_features(const struct ec_base *base);
int ec_base_priority_init(struct ec_base *base, int num); /* -EBUSY while something is active */
int ec_base_priorities(struct ec_base *base);
bool ec_base_is_locked(const struct ec_base *base);
int ec_base_make_notifiable(struct ec_base *base);

/* An object that may outlive its base. ec_base_free calls `orphaned` after the base has dropped all events. */
struct ec_dependent {
	struct ec_list link;
	void (*orphaned)(struct ec_dependent *d);
};

void ec_base_attach(struct ec_base *base, struct ec_dependent *d);	/* any thread */
void ec_base_detach(struct ec_base *base, struct ec_dependent *d);	/* any thread; unless it was orphaned */

enum { EC_LOOP_ONCE = 0x01, EC_LOOP_NONBLOCK = 0x02, EC_LOOP_NO_EXIT_ON_EMPTY = 0x04 };

/* 0: told to stop, or flags said so; 1: nothing left to wait for; -errno. before run */
int ec_base_loop(struct ec_base *base, int flags);
/*
 * In a callback of color 0: one turn of the loop on top of it, by the rules of that loop. It waits until something is
 * ready, and runs color 0's callbacks, which may do the same; other colors' run on other workers, if there are any. The
 * caller's event counts as one whose callback has returned, until this returns. 0 or -errno; -EPERM: the caller is no
 * such callback.
 */
int ec_base_turn(struct ec_base *base);
int ec_base_loopbreak(struct ec_base *base);		/* any thread */
int ec_base_loopcontinue(struct ec_base *base);		/* any thread */
int ec_base_loopexit(struct ec_base *base, const struct timeval *in); /* any thread */
bool ec_base_got_exit(struct ec_base *base);
bool ec_base_got_break(struct ec_base *base);

enum { EC_COUNT_ACTIVE = 1, EC_COUNT_VIRTUAL = 2, EC_COUNT_ADDED = 4 };

int ec_base_num_events(struct ec_base *base, unsigned which);	/* any thread */
int ec_base_max_events(struct ec_base *base, unsigned which, bool clear);
void ec_base_add_virtual(struct ec_base *base);			/* something that is no event keeps the loop alive */
void ec_base_del_virtual(struct ec_base *base);
struct ec_event *ec_base_running_event(struct ec_base *base);	/* of the calling worker, or NULL */

/*
 * Calls fn once for each event that is pending or active. fn may not change events; without locks it may delete and
 * free the one that it is given. With locks, but without colors, other threads that change events wait until the end.
 * Stops at the first result that is not 0, and returns it. -ENOMEM. any thread
 */
typedef int (*ec_visit_fn)(struct ec_base *base, struct ec_event *ev, void *arg);
int ec_base_foreach_event(struct ec_base *base, ec_visit_fn fn, void *arg);

/* ---------------------------------------------------------------- time of a base */

int ec_base_gettimeofday_cached(struct ec_base *base, struct timeval *ret); /* 0. base NULL, not running: the clock */
void ec_base_wall_of(struct ec_base *base, const struct ec_event *ev, struct timeval *ret); /* of its deadline */
int ec_base_update_cache_time(struct ec_base *base);
/* A duration whose timers queue in order of expiry. NULL: no memory, or too many of them. */
const struct timeval *ec_base_common_timeout(struct ec_base *base, const struct timeval *duration);

/* ---------------------------------------------------------------- events */

/* Fills `ev`, whatever was in it, also on -EINVAL: EC_SIGNAL together with a descriptor's events. base may be NULL. */
int ec_event_init(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg);
/* The same for a program's event: its color is that of ec_base_color_to_inherit. */
int ec_event_make(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg);
/* An event of color 0 gets that of ec_base_color_to_inherit. -EBUSY: not just assigned */
int ec_event_set_base(struct ec_event *ev, struct ec_base *base);
/* -EBUSY: active; -EINVAL. Under the event's locks, if its base has locks: any thread then. */
int ec_event_set_pri(struct ec_event *ev, int pri);
/* The same two for a program's event, without locks. They check for misuse: 0, or -1 and errno, as ec_base_post. */
int ec_event_set_base_checked(struct ec_base *base, struct ec_event *ev);
int ec_event_set_pri_checked(struct ec_event *ev, int pri);

/* tv: from now, or NULL: no (new) timeout. any thread */
int ec_event_add(struct ec_event *ev, const struct timeval *tv);

enum ec_del {
	EC_DEL_NOBLOCK,			/* do not wait for a running callback */
	EC_DEL_BLOCK,			/* wait, unless the callback is one's own */
	EC_DEL_AUTOBLOCK,		/* as BLOCK, but not for events with EC_FINALIZE */
};
int ec_event_del(struct ec_event *ev, enum ec_del how);			/* 0. any thread */
int ec_event_remove_timer(struct ec_event *ev);				/* 0. any thread */
void ec_event_active(struct ec_event *ev, int res, short ncalls);	/* any thread */
/*
 * The same with EC_TIMEOUT, for a callback that the library defers. Those that defer each other for ever shall not keep
 * the loop from polling: of the calls by callbacks of one turn, all but the first 32 take effect in the next turn.
 */
void ec_event_defer(struct ec_event *ev);
/* For a program's event: also checks for a base and for misuse, and logs debug messages, for free on the short way. */
void ec_event_active_checked(struct ec_event *ev, int res, short ncalls);
/* All events that wait for a descriptor or signal. */
void ec_base_active_by_fd(struct ec_base *base, int fd, short events);
void ec_base_active_by_signal(struct ec_base *base, int sig);
/*
 * The kinds of `what` it is pending or active for; *ret, if not NULL, the wall-clock time of its
 * deadline if it has one.
 */
int ec_event_pending(const struct ec_event *ev, short what, struct timeval *ret);

/* Does it wait for its descriptor, or is it active? Cheaper than ec_event_pending. */
bool ec_event_is_watched(const struct ec_event *ev);
/* Delete, then run fn(ev, arg) once no callback of ev runs; free_it: ec_free(ev) after. any thread */
int ec_event_finalize(struct ec_event *ev, void (*fn)(struct ec_event *, void *), bool free_it);
/* One callback, no event to keep. EC_SIGNAL and EC_PERSIST: -EINVAL. any thread */
int ec_base_once(struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg, const struct timeval *tv);

/* ---------------------------------------------------------------- colors */

/* -EBUSY: the event is pending or active. */
int ec_event_set_color(struct ec_event *ev, uint32_t color);
int ec_event_set_color_shared(struct ec_event *ev, uint32_t color);
uint32_t ec_event_color(const struct ec_event *ev);

/*
 * At the middle priority. any thread, also if the base is not locked. 0, or -1 with errno set, unlike others: a face's
 * function only jumps here. NULL is the base of event_init().
 */
int ec_base_post(struct ec_base *base, uint32_t color, ec_post_fn fn, void *arg);

/* The same at `pri`, 0 … priorities - 1. -1 also for another number. */
int ec_base_post_priority(struct ec_base *base, uint32_t color, int pri, ec_post_fn fn, void *arg);

/* At the beginning of an object that a face posts for itself. */
struct ec_job {
	void (*run)(struct ec_job *job);
};

/* The same for a post that must run, because it holds a resource: if the base is freed before, it runs then. */
int ec_base_post_job(struct ec_base *base, uint32_t color, struct ec_job *job);

/*
 * A post that is allocated before, so that posting it cannot fail. It is the caller's until it is posted or unreserved,
 * which must be before the base is freed. It keeps no loop alive. any thread, as ec_base_post
 */
struct ec_reserved;
int ec_post_reserve(struct ec_base *base, uint32_t color, struct ec_reserved **ret);
void ec_post_unreserve(struct ec_reserved *p);
void ec_post_reserved(struct ec_reserved *p, ec_post_fn fn, void *arg);

/*
 * Make the workers, if they are not there, but no thread; no event or callback needs a color yet. Afterwards the base's
 * first color cannot fail. Of a base that has colors, but had no memory or descriptors for workers so far: try again;
 * 0 then. Any thread.
 */
int ec_base_prepare_colors(struct ec_base *base);

bool ec_base_is_looping(const struct ec_base *base);	/* a hint to other threads than the loop's and its callbacks */
unsigned ec_base_workers(struct ec_base *base);
int ec_base_pause(struct ec_base *base);		/* any thread; -EDEADLK: its turn would never come */
/*
 * The same for the end of the process: it waits for callbacks that run no longer than `ms`. -ETIMEDOUT: some still run,
 * and the pause has begun nevertheless. -EBUSY: another thread pauses, and nothing was done.
 */
int ec_base_pause_within(struct ec_base *base, unsigned ms);
int ec_base_resume(struct ec_base *base);
int ec_base_running_color(struct ec_base *base, uint32_t *ret); /* of the calling worker; -ENOENT: it runs none */
/*
 * Whether what a callback makes for the base inherits the callback's color; off at first. any thread
 */
void ec_base_inherit_colors(struct ec_base *base, bool is_on);
/* What is made now gets this color: 0 outside of callbacks, and if nothing is inherited. */
uint32_t ec_base_color_to_inherit(struct ec_base *base);
/*
 * May the caller make a call that belongs to `color`: is the base not locked, or does the caller run in that color?
 * Outside of callbacks it counts as color 0. any thread
 */
bool ec_base_may_call(struct ec_base *base, uint32_t color);
/* May events of the base have other colors than 0 by now? any thread */
bool ec_base_has_colors(struct ec_base *base);
/* The calling worker's index; UINT_MAX: not one of the base's. */
unsigned ec_base_running_worker(struct ec_base *base);
int ec_color_set_cost(struct ec_base *base, uint32_t color, uint32_t ns);	/* of one callback; 0: measure */
/* 1 none; n: moving it costs n times as much. */
int ec_color_set_penalty(struct ec_base *base, uint32_t color, uint32_t factor);

/*
 * For a face that waits for the end of something that another thread does. A place stands for the thread, and for the
 * worker that it runs, if any; it is only compared, so both may be gone.
 *
 * ec_place_wait: until *word is no more `seen`. The thread at `place` adds to it, and wakes all who sleep on it (a
 * futex). False: that thread waits for the caller, directly or not, and the caller must go on. any thread
 */
const void *ec_place(void);				/* of the calling thread, now */
bool ec_place_is_own(const void *place);		/* did the calling thread get it? */
bool ec_place_wait(const void *place, uint32_t *word, uint32_t seen);

/*
 * Numbers from EC_NUMBER_FIRST on that nobody else uses. release: -EINVAL: the number is not handed out. any thread
 */
#define EC_NUMBER_FIRST UINT32_C(0xc0000000)
int ec_color_new(struct ec_base *base, uint32_t *ret);
int ec_color_release(struct ec_base *base, uint32_t color);

struct ec_worker_stats {
	uint64_t callbacks;		/* run here */
	uint64_t posts;			/* of them posts */
	uint64_t turns;			/* polls */
	uint64_t sleeps;		/* of them blocking */
	uint64_t wakeups;		/* sent to it by others */
	uint64_t steals;		/* successful, by this worker */
	uint64_t stolen_colors;		/* taken by them */
	uint64_t steal_misses;		/* found nothing worth a steal */
	uint64_t steal_ns;		/* measured cost of one, running mean */
	uint64_t moves;			/* homes that moved to this worker */
	uint64_t disarms;		/* descriptors disarmed while their callback waited elsewhere */
	uint64_t busy_ns;		/* in callbacks */
	uint32_t runnable_colors;	/* now */
	uint32_t homed_colors;		/* now */
};

struct ec_color_stats {
	uint32_t color;
	uint32_t worker;		/* that runs or queues it */
	uint32_t home;			/* that watches its descriptors */
	uint32_t queued;		/* tasks, now */
	uint32_t events;		/* pending, now */
	uint32_t cost_ns;		/* of a callback, running mean */
	uint64_t callbacks;
};

int ec_base_worker_stats(struct ec_base *base, unsigned worker, struct ec_worker_stats *ret);
/* -ENOENT: nothing refers to the color now. */
int ec_base_color_stats(struct ec_base *base, uint32_t color, struct ec_color_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
