#include "mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct face_mock mock;
unsigned ec_watch;
const char ec_self_arg = 0;

int face_mock_reset(void **state)
{
	(void)state;
	mock = (struct face_mock){ .allocs_left = -1, .severity = -1 };
	ec_watch = 0;
	return 0;
}

static int called(const char *name)
{
	size_t len = strlen(mock.calls);

	(void)snprintf(mock.calls + len, sizeof(mock.calls) - len, "%s%s", len == 0 ? "" : " ", name);
	return mock.result;
}

/* ---------------------------------------------------------------- messages */

void ec_vlog(enum ec_severity severity, int err, const char *fmt, va_list ap)
{
	size_t len;

	if (severity == EC_LOG_DEBUG && !ec_log_debug_on())
		return;
	mock.severity = (int)severity;
	(void)vsnprintf(mock.message, sizeof(mock.message), fmt, ap);
	len = strlen(mock.message);
	if (err != EC_NO_ERRNO)
		(void)snprintf(mock.message + len, sizeof(mock.message) - len, ": %s", strerror(err));
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
	ec_vlog(severity, err, fmt, ap);
	va_end(ap);
}

void ec_watch_set(unsigned which, bool is_on)
{
	ec_watch = is_on ? ec_watch | which : ec_watch & ~which;
}

/* ---------------------------------------------------------------- memory */

static bool may_allocate(void)
{
	if (mock.allocs_left == 0)
		return false;
	if (mock.allocs_left > 0)
		mock.allocs_left--;
	return true;
}

void *ec_malloc(size_t size)
{
	if (!may_allocate())
		return NULL;
	mock.allocs_out++;
	return malloc(size);
}

void *ec_calloc(size_t num, size_t size)
{
	if (!may_allocate())
		return NULL;
	mock.allocs_out++;
	return calloc(num, size);
}

void *ec_realloc(void *p, size_t size)
{
	if (!may_allocate())
		return NULL;
	mock.allocs_out += p == NULL;
	return realloc(p, size);
}

char *ec_strdup(const char *s)
{
	if (s == NULL || !may_allocate())
		return NULL;
	mock.allocs_out++;
	return strdup(s);
}

void ec_free(void *p)
{
	mock.allocs_out -= p != NULL;
	free(p);
}

void ec_mem_set_fns(void *(*m)(size_t), void *(*r)(void *, size_t), void (*f)(void *))
{
	(void)m;
	(void)r;
	(void)f;
	(void)called("mem_set_fns");
}

/* ---------------------------------------------------------------- debug mode */

#define DEBUG_CALL(name) \
	void ec_##name(const struct ec_event *ev) \
	{ \
		(void)ev; \
		if (ec_debug_on()) \
			(void)called(#name); \
	}

DEBUG_CALL(debug_note_setup)
DEBUG_CALL(debug_note_teardown)
DEBUG_CALL(debug_note_del)
DEBUG_CALL(debug_assert_is_setup)
DEBUG_CALL(debug_assert_not_added)

bool ec_debug_note_add(const struct ec_event *ev, bool has_timeout)
{
	(void)ev;
	(void)has_timeout;
	if (ec_debug_on())
		(void)called("debug_note_add");
	return ec_debug_on();
}

void ec_debug_note_pending(const struct ec_event *ev, bool is_pending)
{
	(void)ev;
	(void)called(is_pending ? "debug_note_pending" : "debug_note_not_pending");
}

_Noreturn void ec_die(int exit_code, const char *fmt, ...)
{
	(void)fmt;
	_exit(exit_code & 0x7f);
}

void ec_debug_assert_socket_nonblocking(int fd)
{
	(void)fd;
	if (ec_debug_on())
		(void)called("debug_assert_socket_nonblocking");
}

void ec_debug_note_ours(const struct ec_event *ev)
{
	(void)ev;
	(void)called("debug_note_ours");
}

bool ec_misuse_check_base(const struct ec_base *base, const char *caller)
{
	(void)base;
	(void)caller;
	return true;
}

bool ec_misuse_check_add(struct ec_event *ev)
{
	(void)ev;
	return true;
}

void ec_debug_enable(void)
{
	(void)called("debug_enable");
}

void ec_debug_shutdown(void)
{
	(void)called("debug_shutdown");
}

/* ---------------------------------------------------------------- events */

int ec_event_init(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg)
{
	*ev = (struct ec_event){ .base = base, .fd = fd, .events = events };
	ev->task.flags = EC_IN_INIT;
	ev->task.fn.event = fn;
	ev->task.arg = arg;
	return called("event_init");
}

int ec_event_make(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg)
{
	return ec_event_init(ev, base, fd, events, fn, arg);
}

int ec_event_set_base_checked(struct ec_base *base, struct ec_event *ev)
{
	(void)ev;
	mock.base = base;
	return called("event_set_base_checked");
}

int ec_event_set_pri_checked(struct ec_event *ev, int pri)
{
	(void)ev;
	mock.number = pri;
	return called("event_set_pri_checked");
}

void ec_trace_touch(const struct ec_event *ev)
{
	mock.touched = ev;
	(void)called("trace_touch");
}

/* As the faces are loaded: before the tests. */
void ec_subject_add(ec_subject_fn fn)
{
	(void)fn;
}

void ec_subject_remove(ec_subject_fn fn)
{
	(void)fn;
}

int ec_event_add(struct ec_event *ev, const struct timeval *tv)
{
	(void)ev;
	mock.number = tv != NULL;
	return called("event_add");
}

int ec_event_del(struct ec_event *ev, enum ec_del how)
{
	(void)ev;
	mock.number = (int)how;
	return called("event_del");
}

int ec_event_remove_timer(struct ec_event *ev)
{
	(void)ev;
	return called("event_remove_timer");
}

void ec_event_active_checked(struct ec_event *ev, int res, short ncalls)
{
	(void)ev;
	(void)ncalls;
	mock.number = res;
	(void)called("event_active");
}

int ec_event_pending(const struct ec_event *ev, short what, struct timeval *ret)
{
	(void)ev;
	(void)ret;
	mock.number = what;
	return called("event_pending");
}

int ec_event_finalize(struct ec_event *ev, void (*fn)(struct ec_event *, void *), bool free_it)
{
	(void)ev;
	(void)fn;
	mock.number = free_it;
	return called("event_finalize");
}

int ec_event_set_color(struct ec_event *ev, uint32_t color)
{
	(void)ev;
	mock.number = (int)color;
	return called("event_set_color");
}

int ec_event_set_color_shared(struct ec_event *ev, uint32_t color)
{
	(void)ev;
	mock.number = (int)color;
	return called("event_set_color_shared");
}

uint32_t ec_event_color(const struct ec_event *ev)
{
	return ev->task.color;
}

/* ---------------------------------------------------------------- bases */

struct ec_base *ec_current_base(void)
{
	return mock.current;
}

int ec_base_new(const struct ec_config *cfg, struct ec_base **ret)
{
	static int nothing;
	size_t i;

	if (cfg != NULL) {
		mock.config = *cfg;
		for (i = 0; cfg->avoid != NULL && cfg->avoid[i] != NULL && i < 7; i++)
			mock.avoid[i] = cfg->avoid[i];
	}
	if (called(cfg == NULL ? "base_new(NULL)" : "base_new") < 0)
		return mock.result;
	*ret = (struct ec_base *)(void *)&nothing;
	return 0;
}

int ec_base_foreach_event(struct ec_base *base, int (*fn)(struct ec_base *base, struct ec_event *ev, void *arg),
			  void *arg)
{
	size_t i;
	int r = 0;

	for (i = 0; i < mock.events_num && r == 0; i++)
		r = fn(base, &mock.events[i], arg);
	return r;
}

void ec_base_wall_of(struct ec_base *base, const struct ec_event *ev, struct timeval *ret)
{
	(void)base;
	ret->tv_sec = (time_t)(ev->deadline_ns / 1000000000);
	ret->tv_usec = (suseconds_t)(ev->deadline_ns / 1000 % 1000000);
}

#define BASE_VOID(name) \
	void ec_##name(struct ec_base *base) \
	{ \
		mock.base = base; \
		(void)called(#name); \
	}
#define BASE_INT(name, extra) \
	int ec_##name(struct ec_base *base extra) \
	{ \
		mock.base = base; \
		return called(#name); \
	}
#define AND(...) , __VA_ARGS__
#define NONE

BASE_VOID(base_free)
BASE_VOID(base_free_nofinalize)
BASE_INT(base_reinit, NONE)
BASE_INT(base_priorities, NONE)
BASE_INT(base_make_notifiable, NONE)
BASE_INT(base_loopbreak, NONE)
BASE_INT(base_loopcontinue, NONE)
BASE_INT(base_update_cache_time, NONE)
BASE_INT(base_pause, NONE)
BASE_INT(base_resume, NONE)
BASE_INT(base_priority_init, AND(int num __attribute__((unused))))
BASE_INT(base_num_events, AND(unsigned which __attribute__((unused))))
BASE_INT(base_max_events, AND(unsigned which __attribute__((unused)), bool clear __attribute__((unused))))
BASE_INT(base_loop, AND(int flags __attribute__((unused))))
BASE_INT(base_loopexit, AND(const struct timeval *in __attribute__((unused))))
BASE_INT(base_gettimeofday_cached, AND(struct timeval *ret __attribute__((unused))))
BASE_INT(color_set_cost, AND(uint32_t color __attribute__((unused)), uint32_t ns __attribute__((unused))))
BASE_INT(color_set_penalty, AND(uint32_t color __attribute__((unused)), uint32_t factor __attribute__((unused))))

bool ec_base_got_exit(struct ec_base *base)
{
	mock.base = base;
	return called("base_got_exit") != 0;
}

bool ec_base_got_break(struct ec_base *base)
{
	mock.base = base;
	return called("base_got_break") != 0;
}

const char *ec_base_method(const struct ec_base *base)
{
	(void)base;
	return "mock";
}

unsigned ec_base_features(const struct ec_base *base)
{
	(void)base;
	return EC_FEATURE_ET;
}

const char **ec_method_names(void)
{
	static const char *names[] = { "mock", NULL };

	return names;
}

struct ec_event *ec_base_running_event(struct ec_base *base)
{
	mock.base = base;
	return mock.events;
}

const struct timeval *ec_base_common_timeout(struct ec_base *base, const struct timeval *duration)
{
	mock.base = base;
	return duration;
}

int64_t ec_monotonic_ns(void)
{
	return INT64_C(3000004999);
}

void ec_base_active_by_fd(struct ec_base *base, int fd, short events)
{
	(void)events;
	mock.base = base;
	mock.number = fd;
	(void)called("base_active_by_fd");
}

void ec_base_active_by_signal(struct ec_base *base, int sig)
{
	mock.base = base;
	mock.number = sig;
	(void)called("base_active_by_signal");
}

int ec_base_once(struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg, const struct timeval *tv)
{
	(void)events;
	(void)fn;
	(void)arg;
	(void)tv;
	mock.base = base;
	mock.number = fd;
	return called("base_once");
}

void ec_global_shutdown(void)
{
	(void)called("global_shutdown");
}

/* ---------------------------------------------------------------- colors */

int ec_base_post(struct ec_base *base, uint32_t color, ec_post_fn fn, void *arg)
{
	(void)color;
	(void)fn;
	(void)arg;
	mock.base = base;
	return called("base_post");
}

int ec_base_post_priority(struct ec_base *base, uint32_t color, int pri, ec_post_fn fn, void *arg)
{
	(void)color;
	(void)fn;
	(void)arg;
	mock.base = base;
	mock.number = pri;
	return called("base_post_priority");
}

int ec_post_reserve(struct ec_base *base, uint32_t color, struct ec_reserved **ret)
{
	static char post;

	mock.base = base;
	mock.number = (int)color;
	if (mock.result == 0)
		*ret = (struct ec_reserved *)(void *)&post;
	return called("post_reserve");
}

void ec_post_unreserve(struct ec_reserved *p)
{
	(void)p;
	(void)called("post_unreserve");
}

void ec_post_reserved(struct ec_reserved *p, ec_post_fn fn, void *arg)
{
	(void)p;
	(void)fn;
	(void)arg;
	(void)called("post_reserved");
}

int ec_color_new(struct ec_base *base, uint32_t *ret)
{
	mock.base = base;
	if (mock.result == 0)
		*ret = 78;
	return called("color_new");
}

int ec_color_release(struct ec_base *base, uint32_t color)
{
	mock.base = base;
	mock.number = (int)color;
	return called("color_release");
}

unsigned ec_base_workers(struct ec_base *base)
{
	(void)base;
	return (unsigned)mock.result;
}

void ec_base_inherit_colors(struct ec_base *base, bool is_on)
{
	mock.base = base;
	mock.number = is_on;
	(void)called("base_inherit_colors");
}

int ec_base_running_color(struct ec_base *base, uint32_t *ret)
{
	(void)base;
	if (mock.result == 0)
		*ret = 77;
	return mock.result;
}

unsigned ec_base_running_worker(struct ec_base *base)
{
	(void)base;
	return (unsigned)mock.result;
}

int ec_base_worker_stats(struct ec_base *base, unsigned worker, struct ec_worker_stats *ret)
{
	(void)base;
	(void)worker;
	if (mock.result == 0)
		*ret = (struct ec_worker_stats){ .callbacks = 1, .posts = 2, .homed_colors = 3 };
	return mock.result;
}

int ec_base_color_stats(struct ec_base *base, uint32_t color, struct ec_color_stats *ret)
{
	(void)base;
	if (mock.result == 0)
		*ret = (struct ec_color_stats){ .color = color, .callbacks = 9 };
	return mock.result;
}
