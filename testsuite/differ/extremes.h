/*
 * Calls with numbers at the ends of their types: sizes, times, counts, ports, priorities, flags. What the
 * programs extremes_*.c share.
 *
 * Compared with stock where stock's result is defined; README.md has what is left out. Built with the
 * sanitizers and our objects the same walks are `unit extremes`, which no undefined behaviour survives.
 * Each part runs in a child of its own.
 */
#ifndef EXTREMES_H
#define EXTREMES_H

#include "trace.h"

#include <limits.h>

#include <event2/util.h>

/* Weak: stock has no such function. */
int event_base_post(struct event_base *base, ev_uint32_t color, void (*cb)(void *), void *arg) __attribute__((weak));

#define UNUSED __attribute__((unused))
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define EACH(i, table) for (size_t i = 0; i < COUNT(table); i++)

#define SIZE_END ((size_t)EV_SSIZE_MAX)

UNUSED static const size_t sizes[] = { 0,
				       1,
				       2,
				       4096,
				       INT_MAX,
				       (size_t)INT_MAX + 1,
				       UINT32_MAX,
				       SIZE_END / 2,
				       SIZE_END - 1,
				       SIZE_END,
				       SIZE_END + 1,
				       SIZE_MAX - 1,
				       SIZE_MAX };

UNUSED static const ev_ssize_t ssizes[] = {
	0, 1, -1, -2, 4096, INT_MAX, INT_MIN, EV_SSIZE_MAX - 1, EV_SSIZE_MAX, EV_SSIZE_MIN + 1, EV_SSIZE_MIN
};

UNUSED static const int ints[] = { 0,      1,     -1,    2,           7,       255,         256,    0x7fff,
				   0x8000, 65535, 65536, INT_MAX - 1, INT_MAX, INT_MIN + 1, INT_MIN };

UNUSED static const struct timeval times[] = {
	{ 0, 0 },
	{ 0, 1 },
	{ 0, 999999 },
	{ 0, 1000000 },
	{ 0, 1000001 },
	{ 0, -1 },
	{ 1, -1 },
	{ 1, -1000000 },
	{ -1, 0 },
	{ -1, 999999 },
	{ -1, 1999999 },
	{ -1, -1 },
	{ -3600 * 24 * 365L, 0 },
	{ 3600 * 24 * 365L, 0 },
	{ INT_MAX, 0 },
	{ INT_MAX, 999999 },
	{ (time_t)((int64_t)INT_MAX + 1), 0 },
	{ INT_MIN, 0 },
	{ (time_t)UINT32_MAX, 999999 },
	{ (time_t)9223372035, 999999 },
	{ (time_t)9223372036, 999999 },
	{ (time_t)9223372037, 0 },
	{ (time_t)-9223372037, 0 },
	{ LONG_MAX / 1000000 + 1, 0 },
	{ LONG_MAX / 1000, 999999 },
	{ LONG_MAX / 1000 + 1, 0 },
	{ LONG_MAX, 0 },
	{ LONG_MAX, 999999 },
	{ LONG_MIN, 0 },
	{ 0, INT_MAX },
	{ 0, INT_MIN },
	{ 0, LONG_MAX },
	{ 0, LONG_MIN },
	{ LONG_MAX, LONG_MAX },
	{ LONG_MIN, LONG_MIN },
};

#define TV(tv) (long)(tv).tv_sec, (long)(tv).tv_usec

/* What stock gives no defined result for, or none at all, is walked with our libraries only, and in silence. */
static inline bool is_ours(void)
{
	return event_base_post != NULL;
}

static bool is_silent;

#define SAY(...) \
	do { \
		if (!is_silent) \
			say(__VA_ARGS__); \
	} while (0)

/* False: not to be walked with these libraries. */
static inline bool begin_row(bool is_defined)
{
	is_silent = !is_defined;
	return is_defined || is_ours();
}

/* Stock adds such a time without overflow, and normalizes it. A microsecond may pass or not. */
static inline bool is_time(const struct timeval *tv)
{
	return tv->tv_usec >= 0 && (tv->tv_sec != 0 || tv->tv_usec != 1) && tv->tv_usec <= 1000000 &&
	       tv->tv_sec < LONG_MAX;
}

/* As a number that says where it came from, not what it is. */
static inline const char *is_null(const void *p)
{
	return p == NULL ? "NULL" : "made";
}

/* Words and occasions differ. */
static inline void no_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static inline int run_part(const char *name, void (*fn)(void))
{
	int status;
	pid_t pid;

	section(name);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		is_silent = false;
		event_set_log_callback(no_log);
		fn();
		exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "wait");
	say("exit %d, signal %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return status != 0;
}

#define RUN(name) failed += run_part(#name, name)

#endif
