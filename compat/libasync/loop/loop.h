/*
 * What the files of the loop share: the base, the lock, and running a callback.
 *
 * There is one base, and its events carry the colors of their callbacks. The tables of descriptors, timers, signals and
 * children are guarded by one lock, which is free while the process has one worker. Nothing of the engine that calls
 * back runs under it. Its rank is above those of the engine.
 */
#ifndef LIBASYNC_LOOP_H
#define LIBASYNC_LOOP_H

#include <cstdint>
#include <ctime>
#include <pthread.h>

#include "callback.h"
#include "core/ec.h"

namespace libasync
{

/* The base of the process, made by the first call. */
struct ec_base *engine();

/* The same, or NULL if nothing has made one. */
struct ec_base *made_engine();

/* A new base, which waits as the program wished. 0 or -errno. */
int make_engine(struct ec_base **ret);

/*
 * Holds the lock of the tables, if there are several threads. The first color may start them within a call of the
 * engine: then the tables are changed before that call, and not after it.
 */
class table_lock
{
	const bool is_held;

	static void take();
	static void release();

public:
	table_lock() : is_held(are_counts_shared())
	{
		if (is_held)
			take();
	}
	~table_lock()
	{
		if (is_held)
			release();
	}
	table_lock(const table_lock &) = delete;
};

/* Ends the program if the engine could not do `what` for lack of memory or descriptors. */
inline void check(int r, const char *what);
[[noreturn]] void engine_failed(int r, const char *what);

inline void check(int r, const char *what)
{
	if (__builtin_expect(r < 0, 0))
		engine_failed(r, what);
}

/* In nanoseconds. A time that is too far away, or too long ago, is the farthest that there is. */
inline int64_t to_ns(time_t sec, int64_t nsec)
{
	int64_t ns;

	if (__builtin_mul_overflow(int64_t(sec), INT64_C(1000000000), &ns) || __builtin_add_overflow(ns, nsec, &ns))
		return sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* `ns` after `now`, which is not negative. */
inline int64_t time_after(int64_t now, int64_t ns)
{
	int64_t sum;

	return __builtin_add_overflow(now, ns, &sum) ? INT64_MAX : sum;
}

/* As the engine takes it. */
timeval to_timeval(int64_t ns);

/*
 * How many lazy calls wait, and whether a callback has run since a worker polled. Both are atomic, and hints: a worker
 * that reads an old value calls the lazy ones a turn later.
 */
extern unsigned lazies_num, has_called;

/* A worker has polled. */
void begin_turn();

inline bool has_lazies()
{
	return __builtin_expect(__atomic_load_n(&lazies_num, __ATOMIC_RELAXED) != 0, 0);
}

inline void note_turn()
{
	if (has_lazies())
		begin_turn();
}

/* A callback is about to run. */
inline void note_call()
{
	if (has_lazies() && __atomic_load_n(&has_called, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&has_called, 1, __ATOMIC_RELAXED);
}

/* How many timers wait for a time of day: each poll looks whether somebody has set the clock. */
extern unsigned absolutes_num;
void look_at_clock();

inline void note_clock()
{
	if (__builtin_expect(__atomic_load_n(&absolutes_num, __ATOMIC_RELAXED) != 0, 0))
		look_at_clock();
}

/* Wait for children, and let their callbacks run. Arms SIGCHLD if it is not. */
void collect_children();

/* Wait for this child, which is about to end. Its status is nobody's to ask for. */
void drop_child(pid_t pid);

} // namespace libasync

#endif
