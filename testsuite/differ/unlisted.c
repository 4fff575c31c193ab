/*
 * Functions that stock exports and no header declares. Programs that declare them themselves can link
 * them, as upstream's own tests do; the signatures are those of upstream's tests.
 */
#include "trace.h"

#include <event2/buffer.h>
#include <event2/tag.h>
#include <event2/thread.h>
#include <event2/util.h>

int evtag_encode_tag(struct evbuffer *buf, ev_uint32_t tag);
int evtag_decode_tag(ev_uint32_t *ret, struct evbuffer *buf);
int evtag_decode_int(ev_uint32_t *ret, struct evbuffer *buf);
int evtag_decode_int64(ev_uint64_t *ret, struct evbuffer *buf);
int evhttp_decode_uri_internal(const char *uri, size_t len, char *ret, int decode_plus);
const struct evthread_lock_callbacks *evthread_get_lock_callbacks(void);
const struct evthread_condition_callbacks *evthread_get_condition_callbacks(void);
void event_disable_debug_mode(void);
void event_err(int exit_code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void event_errx(int exit_code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void event_sock_err(int exit_code, evutil_socket_t fd, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void event_sock_warn(evutil_socket_t fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void event_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void event_msgx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What event_err takes as the wish to abort: EVENT_ERR_ABORT_ of upstream's tests. */
enum { EXIT_ABORT = (int)0xdeaddead };

/* ---------------------------------------------------------------- tags */

static void say_bytes(const char *name, int r, struct evbuffer *buf)
{
	size_t len = evbuffer_get_length(buf);
	const unsigned char *p = evbuffer_pullup(buf, -1);
	char line[64] = "";

	for (size_t i = 0; i < len; i++)
		sprintf(line + 3 * i, " %02x", p[i]);
	say("%s: %d,%s", name, r, line);
	evbuffer_drain(buf, len);
}

static const struct {
	size_t len;
	const char *bytes;
} inputs[] = {
	{ 0, "" },
	{ 1, "\x00" },
	{ 1, "\x07" },
	{ 1, "\x10" },
	{ 1, "\x80" },
	{ 2, "\x10\x10" },
	{ 3, "\x34\x32\x10" },
	{ 4, "\x34\x32\x10\x55" },
	{ 2, "\x80\x01" },
	{ 2, "\x80\x80" },
	{ 5, "\x7f\xff\xff\xff\xf0" },
	{ 6, "\x8f\xff\xff\xff\xff\x00" },
	{ 9, "\xff\xff\xff\xff\xff\xff\xff\xff\xf0" },
	{ 8, "\xff\xff\xff\xff\xff\xff\xff\xff" },
	{ 5, "\xff\xff\xff\xff\x0f" },
	{ 6, "\xff\xff\xff\xff\x0f\x33" },
	{ 6, "\x80\x80\x80\x80\x00\x01" },
};

static void tags(void)
{
	static const ev_uint32_t numbers[] = { 0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 0x12345678, 0xffffffff };
	struct evbuffer *buf = evbuffer_new();
	ev_uint64_t number64;
	ev_uint32_t number;
	size_t left;
	int r;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		r = evtag_encode_tag(buf, numbers[i]);
		say_bytes("encode", r, buf);
	}
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
#define DECODE(fn, type) \
	do { \
		type##_VAR = 0x77; \
		evbuffer_add(buf, inputs[i].bytes, inputs[i].len); \
		r = fn(&type##_VAR, buf); \
		left = evbuffer_get_length(buf); \
		say("%s %zu: %d, %#llx, left %zu", #fn, i, r, r < 0 ? 0ULL : (unsigned long long)type##_VAR, left); \
		evbuffer_drain(buf, left); \
	} while (0)
#define U32_VAR number
#define U64_VAR number64
		DECODE(evtag_decode_tag, U32);
		DECODE(evtag_decode_int, U32);
		DECODE(evtag_decode_int64, U64);
	}
	evbuffer_add(buf, "\x81\x01", 2);
	r = evtag_decode_tag(NULL, buf);
	say("a tag that nobody wants: %d, left %zu", r, evbuffer_get_length(buf));
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- locks */

static void *lock_alloc(unsigned locktype)
{
	(void)locktype;
	return malloc(1);
}

static void lock_free(void *lock, unsigned locktype)
{
	(void)locktype;
	free(lock);
}

static int lock_any(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	return 0;
}

static int unlock_any(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	return 0;
}

static void *cond_alloc(unsigned condtype)
{
	(void)condtype;
	return malloc(1);
}

static int cond_signal(void *cond, int broadcast)
{
	(void)cond;
	(void)broadcast;
	return 0;
}

static int cond_wait(void *cond, void *lock, const struct timeval *timeout)
{
	(void)cond;
	(void)lock;
	(void)timeout;
	return 0;
}

static const struct evthread_lock_callbacks good_locks = {
	EVTHREAD_LOCK_API_VERSION,
	EVTHREAD_LOCKTYPE_RECURSIVE,
	lock_alloc,
	lock_free,
	lock_any,
	unlock_any,
};
static const struct evthread_condition_callbacks good_conds = {
	EVTHREAD_CONDITION_API_VERSION,
	cond_alloc,
	free,
	cond_signal,
	cond_wait,
};

#define WHO(got, ours) ((got) == NULL ? "none" : (got) == (ours) ? "ours" : \
								   "other")

static void say_locks(const char *when)
{
	const struct evthread_lock_callbacks *l = evthread_get_lock_callbacks();
	const struct evthread_condition_callbacks *c = evthread_get_condition_callbacks();

	say("%s: version %d, types %u, alloc %s, free %s, lock %s, unlock %s, same %d", when, l->lock_api_version,
	    l->supported_locktypes, WHO(l->alloc, lock_alloc), WHO(l->free, lock_free),
	    WHO(l->lock, lock_any), WHO(l->unlock, unlock_any), l == evthread_get_lock_callbacks());
	say("%s: conditions' version %d, alloc %s, free %s, signal %s, wait %s, same %d", when,
	    c->condition_api_version, WHO(c->alloc_condition, cond_alloc), WHO(c->free_condition, free),
	    WHO(c->signal_condition, cond_signal), WHO(c->wait_condition, cond_wait),
	    c == evthread_get_condition_callbacks());
}

static void locks_plain(void)
{
	say_locks("before");
	say("set: %d, %d", evthread_set_lock_callbacks(&good_locks), evthread_set_condition_callbacks(&good_conds));
	say_locks("set");
	event_base_free(base_new());
	say_locks("used");
	evthread_set_lock_callbacks(NULL);
	evthread_set_condition_callbacks(NULL);
	say_locks("unset");
}

static void locks_debugged(void)
{
	evthread_enable_lock_debugging();
	say_locks("debugging");
	say("set: %d, %d", evthread_set_lock_callbacks(&good_locks), evthread_set_condition_callbacks(&good_conds));
	say_locks("set");
}

static void locks_debugged_later(void)
{
	evthread_set_lock_callbacks(&good_locks);
	evthread_set_condition_callbacks(&good_conds);
	evthread_enable_lock_debugging();
	say_locks("debugging");
}

/* What upstream's lock profiler begins with. */
static void locks_copied(void)
{
	struct evthread_lock_callbacks copy;

	evthread_set_lock_callbacks(&good_locks);
	memcpy(&copy, evthread_get_lock_callbacks(), sizeof(copy));
	say("set again: %d", evthread_set_lock_callbacks(&copy));
	copy.unlock = lock_any;
	say("set another: %d", evthread_set_lock_callbacks(&copy));
	say_locks("wrapped");
}

/* ---------------------------------------------------------------- debug mode */

static void debug_off(void)
{
	struct event_base *base;
	struct event ev;

	event_enable_debug_mode();
	event_disable_debug_mode();
	base = base_new();
	memset(&ev, 0, sizeof(ev));
	ev.ev_base = base;
	ev.ev_fd = -1;
	say("not assigned: %d", event_del(&ev));
	event_base_free(base);
}

static void debug_off_in_use(void)
{
	struct event_base *base;
	struct event *ev;

	event_enable_debug_mode();
	base = base_new();
	ev = ev_new(base, -1, 0, say_cb, "event");
	say("add: %d", event_add(ev, &hour_tv));
	event_disable_debug_mode();
	say("add: %d", event_add(ev, &hour_tv));
	say("del: %d", event_del(ev));
	event_free(ev);
	event_base_free(base);
}

static void debug_off_twice(void)
{
	event_disable_debug_mode();
	event_disable_debug_mode();
	say("went on");
}

/* The base comes too late for debug mode, also where it was on before. */
static void debug_on_again(void)
{
	event_enable_debug_mode();
	event_disable_debug_mode();
	event_enable_debug_mode();
	say("on again");
	event_disable_debug_mode();
	event_base_free(base_new());
	event_enable_debug_mode();
	say("on after a base");
}

/* ---------------------------------------------------------------- messages */

static void log_line(int severity, const char *msg)
{
	say("  callback %d <%s>", severity, msg);
}

static void fatal(int err)
{
	say("  fatal %d", err);
}

static void fatal_leaves(int err)
{
	say("  fatal %d, and leaves", err);
	_exit(44);
}

static void messages(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), i;
	static const int errors[] = { 0, EAGAIN, ENOENT, 12345 };

	for (i = 0; i < 2; i++) {
		event_msgx("%s %d", "lime", 7);
		for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
			errno = errors[e];
			event_sock_warn(fd, "Unhappy %s", "socket");
			say("  errno %d", errno);
			errno = errors[e];
			event_sock_warn(-1, "None");
			event_warn("Warned");
		}
		event_msgx("%2000s", "long");
		errno = EAGAIN;
		event_sock_warn(fd, "%1020s", "long");
		event_set_log_callback(log_line);
	}
	close(fd);
}

static void err(void)
{
	errno = ENOENT;
	event_err(5, "Couldn't open %s", "/very/bad/file");
}

static void errx(void)
{
	errno = ENOENT;
	event_errx(2, "Too many kumquats (%d)", 5);
}

static void sock_err(void)
{
	errno = EAGAIN;
	event_sock_err(20, -1, "Unhappy socket %d", 3);
}

static void err_aborts(void)
{
	errno = ENOENT;
	event_err(EXIT_ABORT, "Abort %d", 1);
}

static void errx_aborts(void)
{
	event_errx(EXIT_ABORT, "Abort %d", 2);
}

static void sock_err_aborts(void)
{
	errno = EPERM;
	event_sock_err(EXIT_ABORT, 0, "Abort %d", 3);
}

static void errx_of_0(void)
{
	event_errx(0, "Nothing wrong");
}

static void errx_of_300(void)
{
	event_errx(300, "Much wrong");
}

static void with_callbacks(void (*fn)(void), void (*fatal_fn)(int))
{
	event_set_log_callback(log_line);
	event_set_fatal_callback(fatal_fn);
	fn();
}

/* ---------------------------------------------------------------- part of a uri */

static void uri(void)
{
	static const struct {
		const char *text;
		size_t len;
	} parts[] = {
		{ "", 0 },
		{ "hello%20%20", 6 },
		{ "hello%20%20", 7 },
		{ "hello%20%20", 8 },
		{ "hello%20%20", 11 },
		{ "a+b?c+d", 7 },
		{ "%41%zz%4", 8 },
		{ "a%00b", 5 },
	};
	char out[32];
	int r;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (int plus = -2; plus <= 2; plus++) {
			memset(out, '#', sizeof(out));
			r = evhttp_decode_uri_internal(parts[i].text, parts[i].len, out, plus);
			say("part %zu, %d: %d <%.*s> %d", i, plus, r, r, out, out[r]);
		}
	}
}

static void run_case(const char *name, void (*fn)(void), void (*fatal_fn)(int))
{
	int status;
	pid_t pid;

	section(name);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		if (fatal_fn != NULL)
			with_callbacks(fn, fatal_fn);
		else
			fn();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "wait");
	say("exit %d, signal %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

#define RUN(name) run_case(#name, name, NULL)
#define RUN_DEATH(name) \
	do { \
		run_case(#name, name, NULL); \
		run_case(#name ", told", name, fatal); \
		run_case(#name ", leaves", name, fatal_leaves); \
	} while (0)

int main(void)
{
	RUN(tags);
	RUN(locks_plain);
	RUN(locks_debugged);
	RUN(locks_debugged_later);
	RUN(locks_copied);
	RUN(debug_off);
	RUN(debug_off_in_use);
	RUN(debug_off_twice);
	RUN_DEATH(debug_on_again);
	RUN(messages);
	RUN_DEATH(err);
	RUN_DEATH(errx);
	RUN_DEATH(sock_err);
	RUN_DEATH(err_aborts);
	RUN_DEATH(errx_aborts);
	RUN_DEATH(sock_err_aborts);
	RUN_DEATH(errx_of_0);
	RUN_DEATH(errx_of_300);
	RUN(uri);
	return 0;
}
