/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * The limit: system calls and plain data, nothing general about them. epoll for descriptors, a
 * timing wheel, a FIFO of 128-byte nodes; waking by what BENCH_WAKE says: eventfd, futex or spin.
 */
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "wheel.h"

static const char *const be_name = "raw";

#define BE_NO_CYCLE "there is no loop to make"

enum { READY_MAX = 4096 };

static int epoll_fd = -1;
static int *fds;

static struct wheel wheel;
static struct wheel_timer *timers;
static uint64_t *delays_ms;

struct task {
	struct task *next;
	void (*fn)(struct task *task);
	char as_large_as_an_event[112];
};

static struct task *tasks, *tasks_head, **tasks_tail = &tasks_head;

static void be_open(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		bench_die("epoll_create1: %s", strerror(errno));
}

static inline void run_tasks(void)
{
	struct task *task;

	while (tasks_head != NULL) {
		task = tasks_head;
		tasks_head = task->next;
		if (tasks_head == NULL)
			tasks_tail = &tasks_head;
		task->fn(task);
	}
}

/* Only the part that a shape needs: the others have nothing to do with it. */
static inline void be_turn(void)
{
	static struct epoll_event ready[READY_MAX];
	int i, n;

	if (tasks != NULL) {
		run_tasks();
		return;
	}
	if (timers != NULL) {
		wheel_advance(&wheel, bench_now_ns() / 1000000, timer_fired);
		return;
	}
	n = epoll_wait(epoll_fd, ready, READY_MAX, 0);
	for (i = 0; i < n; i++)
		pipe_readable(ready[i].data.u32);
}

/* ---------------------------------------------------------------- descriptors */

static void be_io_alloc(unsigned n)
{
	fds = bench_alloc(n, sizeof(*fds));
}

static void be_io_set(unsigned i, int fd)
{
	fds[i] = fd;
}

static inline void watch(int op, unsigned i, uint32_t what)
{
	struct epoll_event ev = { .events = what, .data.u32 = i };

	if (epoll_ctl(epoll_fd, op, fds[i], &ev) != 0)
		bench_die("epoll_ctl: %s", strerror(errno));
}

static inline void be_read_start(unsigned i)
{
	watch(EPOLL_CTL_ADD, i, EPOLLIN);
}

static inline void be_read_stop(unsigned i)
{
	watch(EPOLL_CTL_DEL, i, 0);
}

static inline void be_write_start(unsigned i)
{
	watch(EPOLL_CTL_MOD, i, EPOLLIN | EPOLLOUT);
}

static inline void be_write_stop(unsigned i)
{
	watch(EPOLL_CTL_MOD, i, EPOLLIN);
}

/* ---------------------------------------------------------------- timers */

static void be_timer_alloc(unsigned n)
{
	timers = bench_alloc(n, sizeof(*timers));
	delays_ms = bench_alloc(n, sizeof(*delays_ms));
	wheel_init(&wheel, bench_now_ns() / 1000000);
}

static void be_timer_due(unsigned i, unsigned us)
{
	delays_ms[i] = us / 1000;
}

static void be_timer_within(void (*run)(void))
{
	run();
}

static void be_timer_begin(void)
{
	wheel_advance(&wheel, bench_now_ns() / 1000000, timer_fired);
}

static inline void be_timer_start(unsigned i, unsigned due)
{
	timers[i].due_ms = wheel.now_ms + delays_ms[due];
	wheel_add(&wheel, &timers[i]);
}

static inline void be_timer_stop(unsigned i)
{
	wheel_remove(&timers[i]);
}

static inline void be_timer_again(unsigned i, unsigned due)
{
	be_timer_stop(i);
	be_timer_start(i, due);
}

/* ---------------------------------------------------------------- activation */

static void activated(struct task *task)
{
	(void)task;
	task_ran();
}

static void activated_link(struct task *task)
{
	link_ran((unsigned)(task - tasks));
}

static void be_task_alloc(unsigned n, bool is_chain)
{
	unsigned i;

	tasks = bench_alloc(n, sizeof(*tasks));
	for (i = 0; i < n; i++)
		tasks[i].fn = is_chain ? activated_link : activated;
}

static inline void be_task_activate(unsigned i)
{
	tasks[i].next = NULL;
	*tasks_tail = &tasks[i];
	tasks_tail = &tasks[i].next;
}

/* ---------------------------------------------------------------- waking */

static enum { WAKE_EVENTFD, WAKE_FUTEX, WAKE_SPIN } wake_kind;
static int event_fd = -1;
static _Atomic int is_wake_stopped;

/* The number of wake-ups sent (release); the loop compares it with those it has seen (acquire). */
static _Atomic uint32_t wake_sent;

static void be_wake_open(unsigned n)
{
	const char *kind = getenv("BENCH_WAKE");
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	(void)n;
	if (kind == NULL || strcmp(kind, "eventfd") == 0)
		wake_kind = WAKE_EVENTFD;
	else if (strcmp(kind, "futex") == 0)
		wake_kind = WAKE_FUTEX;
	else if (strcmp(kind, "spin") == 0)
		wake_kind = WAKE_SPIN;
	else
		bench_die("BENCH_WAKE=%s: eventfd, futex or spin", kind);
	be_open();
	event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (event_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &ev) != 0)
		bench_die("eventfd: %s", strerror(errno));
}

static void wait_for_wake(uint32_t seen)
{
	struct epoll_event ev;

	while (atomic_load_explicit(&wake_sent, memory_order_acquire) == seen) {
		if (wake_kind == WAKE_EVENTFD)
			epoll_wait(epoll_fd, &ev, 1, -1);
		else if (wake_kind == WAKE_FUTEX)
			syscall(SYS_futex, &wake_sent, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	}
}

static void be_wake_run(void)
{
	uint32_t seen = 0;

	for (;;) {
		wait_for_wake(seen);
		if (atomic_load(&is_wake_stopped))
			return;
		seen++;
		wake_seen();
	}
}

static inline void be_wake_send(unsigned i)
{
	const uint64_t one = 1;

	(void)i;
	atomic_fetch_add_explicit(&wake_sent, 1, memory_order_release);
	if (wake_kind == WAKE_EVENTFD && write(event_fd, &one, sizeof(one)) != sizeof(one))
		bench_die("eventfd: %s", strerror(errno));
	if (wake_kind == WAKE_FUTEX)
		syscall(SYS_futex, &wake_sent, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void be_wake_stop(void)
{
	atomic_store(&is_wake_stopped, 1);
	be_wake_send(0);
}
