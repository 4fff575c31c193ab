/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LOOP_BACKEND_H
#define LOOP_BACKEND_H

/*
 * What an event loop must be able to do to run the shapes of shapes.c. Each backend is a header of
 * `static inline` functions that is compiled into them: a wrapper that is called would cost more
 * than some of what is measured. LOOP_BACKEND names the header, for instance "libev.h".
 *
 *	static const char *const be_name;
 *	void be_open(void);			a loop, empty
 *	void be_turn(void);			run what is ready, do not wait
 *	void be_cycle(void);			open, turn and close one more loop
 *
 *	void be_io_alloc(unsigned n);
 *	void be_io_set(unsigned i, int fd);	calls pipe_readable(i)
 *	void be_read_start(unsigned i), be_read_stop(unsigned i);
 *	void be_write_start(unsigned i), be_write_stop(unsigned i);
 *
 *	void be_timer_alloc(unsigned n);
 *	void be_timer_due(unsigned i, unsigned us);
 *						the i-th delay; prepared, not timed
 *	void be_timer_within(void (*run)(void));
 *						call `run`, from where timers are started
 *	void be_timer_begin(void);		before a row of starts: look at the clock
 *	void be_timer_start(unsigned i, unsigned due);
 *						calls timer_fired() after the due-th delay
 *	void be_timer_stop(unsigned i);
 *	void be_timer_again(unsigned i, unsigned due);
 *						it is started; another delay
 *
 *	void be_task_alloc(unsigned n, bool is_chain);
 *	void be_task_activate(unsigned i);	calls task_ran(), or in a chain link_ran(i),
 *						in this turn or the next
 *
 *	void be_wake_open(unsigned n);
 *	void be_wake_run(void);			until be_wake_stop(); calls wake_seen()
 *	void be_wake_send(unsigned i);		from another thread
 *	void be_wake_stop(void);
 *
 * What a loop has not is a macro with a reason, BE_NO_CYCLE or BE_NO_TIMER.
 */

#include <stdbool.h>

/* The shapes, as the backends call them. */
static void pipe_readable(unsigned i);
static void timer_fired(void);
static void task_ran(void);
static void link_ran(unsigned i);
static void wake_seen(void);

#endif /* LOOP_BACKEND_H */
