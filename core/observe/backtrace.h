/*
 * The call stack of another thread of this process. That thread takes it itself, in the handler of a real-time signal.
 *
 * The signal is the highest one that nobody handles and that the first caller does not block. The program's own
 * handlers are never replaced: before each question the handler is compared, and if the program has taken the signal
 * since, another one is chosen. Threads that block the signal do not answer; the engine's own unblock it
 * (ec_backtrace_enter).
 *
 * A system call that the signal ends begins again (context.h): the asker reads which one it is before A1. A timeout
 * that the kernel does not count down in place starts anew then. A call that begins between the reading and the signal
 * returns EINTR.
 *
 * One question is asked at a time. Its word passes IDLE -> ASKED -> TAKING -> DONE -> IDLE:
 *
 *   Asker:   A1 write the question, A2 store ASKED, A3 send the signal, A4 sleep until DONE, or for `patience`.
 *            Then A5 swap ASKED to IDLE: an answer that comes later finds no question.
 *   Thread:  T1 swap ASKED to TAKING (meets A2 and A5), T2 unwind, T3 store DONE (meets A4).
 *
 * T1 or A5 comes first, so the frames are written by one thread, and read when it is done. The handler calls the
 * unwinder, which was loaded before, and the futex.
 */
#ifndef EC_BACKTRACE_H
#define EC_BACKTRACE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

enum { EC_BACKTRACE_MAX = 48 };

struct ec_backtrace {
	int num;			/* 0: there is none */
	void *frames[EC_BACKTRACE_MAX];	/* innermost first; all but the first are return addresses */
};

/* Chooses a signal and loads the unwinder; idempotent. 0, or -ENOSPC: every real-time signal is handled. */
int ec_backtrace_start(void);

/* Gives the signal back, unless a thread may still get it. */
void ec_backtrace_stop(void);

/* The chosen signal; 0: none. It changes if the program takes it. */
int ec_backtrace_signal(void);

/*
 * The calling thread may be asked from now on. Returns the signal that it had blocked, or 0; ec_backtrace_leave blocks
 * that one again.
 */
int ec_backtrace_enter(void);
void ec_backtrace_leave(int blocked);

/* The stack of the calling thread, without the caller of this. */
void ec_backtrace_here(struct ec_backtrace *ret);

/*
 * The stack of the thread `tid`, whose ec_thread_key() is `key`. 0; -ESRCH: it has ended; -ETIMEDOUT: it does not
 * answer; -EAGAIN: its queue of signals is full; -ENOSPC: there is no signal.
 */
int ec_backtrace_of(pid_t tid, const void *key, const struct timespec *patience, struct ec_backtrace *ret);

/* Around fork, as ec_spin_freeze. In a child: no question is open. */
void ec_backtrace_freeze(void);
void ec_backtrace_thaw(void);
void ec_backtrace_reset(void);

#endif
