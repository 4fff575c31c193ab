/*
 * core/io/epoll.c, poll.c, select.c: one contract, kept by all three, and what
 * each has of its own.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/io/poller.h"
#include "fault.h"
#include "emulated.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum { FD_TOP = 1024 };

static struct ec_poller *poller;
static int pipe_fd[2];			/* to read from, to write to */

static int setup(void **state)
{
	const struct ec_poller_ops *ops = *state;

	return pipe2(pipe_fd, O_NONBLOCK | O_CLOEXEC) < 0 || ops->open(false, &poller) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	poller->ops->close(poller);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return 0;
}

static bool has(unsigned feature)
{
	return (poller->ops->features & feature) != 0;
}

static int watch(int fd, unsigned had, unsigned want)
{
	return poller->ops->watch(poller, fd, had, want, 0);
}

static int prepare(struct ec_poller *p)
{
	return p->ops->prepare == NULL ? 0 : p->ops->prepare(p);
}

static int look(void)
{
	int r = prepare(poller);

	return r < 0 ? r : poller->ops->wait(poller, 0);
}

/* What one look says of `fd`; 0: nothing. More than one report of it is a failure. */
static unsigned told(int fd)
{
	unsigned what = 0;
	int i, num = look();

	assert_true(num >= 0);
	for (i = 0; i < num; i++) {
		if (ec_watch_fd(poller->ready[i].id) != fd)
			continue;
		assert_int_equal(what, 0);
		what = ec_ready_what(poller, &poller->ready[i]);
		assert_int_not_equal(what, 0);
	}
	return what;
}

static void put_byte(void)
{
	assert_int_equal(write(pipe_fd[1], "x", 1), 1);
}

/* ---------------------------------------------------------------- the contract */

static void nothing_watched_is_nothing_told(void **state)
{
	(void)state;
	put_byte();
	assert_int_equal(look(), 0);
}

static void reading_and_writing_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_int_equal(watch(pipe_fd[1], 0, EC_WRITE), 0);
	assert_int_equal(told(pipe_fd[0]), 0);
	assert_int_equal(told(pipe_fd[1]), EC_WRITE);
	put_byte();
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(look(), 2);
}

static void both_of_a_socket_are_one_report(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(watch(pair[0], 0, EC_READ | EC_WRITE), 0);
	assert_int_equal(told(pair[0]), EC_WRITE);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(told(pair[0]), EC_READ | EC_WRITE);
	assert_int_equal(watch(pair[0], EC_READ | EC_WRITE, 0), 0);
	close(pair[0]);
	close(pair[1]);
}

static void a_level_is_told_again_until_it_is_gone(void **state)
{
	char byte;

	(void)state;
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	put_byte();
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
	assert_int_equal(told(pipe_fd[0]), 0);
}

static void a_change_takes_effect_at_the_next_look(void **state)
{
	(void)state;
	put_byte();
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(watch(pipe_fd[0], EC_READ, EC_WRITE), 0);
	assert_int_equal(told(pipe_fd[0]), 0);
	assert_int_equal(watch(pipe_fd[0], EC_WRITE, EC_READ | EC_WRITE), 0);
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(watch(pipe_fd[0], EC_READ | EC_WRITE, 0), 0);
	assert_int_equal(told(pipe_fd[0]), 0);
}

static void the_callers_belief_need_not_be_right(void **state)
{
	(void)state;
	put_byte();
	assert_int_equal(watch(pipe_fd[0], EC_READ, EC_READ), 0);	/* it is not watched */
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);		/* it is */
	assert_int_equal(told(pipe_fd[0]), EC_READ);
}

static void forgetting_what_is_not_known_is_no_error(void **state)
{
	int fd = dup(pipe_fd[0]);

	(void)state;
	assert_int_equal(watch(pipe_fd[0], EC_READ, 0), 0);
	assert_int_equal(watch(fd, 0, EC_READ), 0);
	assert_int_equal(watch(fd, EC_READ, 0), 0);
	close(fd);
	assert_int_equal(watch(fd, EC_READ, 0), 0);
	assert_int_equal(watch(100000, EC_READ, 0), 0);
	assert_int_equal(look(), 0);
}

static void a_hang_up_is_told_to_who_reads(void **state)
{
	(void)state;
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	close(pipe_fd[1]);
	assert_true((told(pipe_fd[0]) & EC_READ) != 0);
}

static void an_error_is_told_to_who_writes(void **state)
{
	char page[65536] = { 0 };

	(void)state;
	while (write(pipe_fd[1], page, sizeof(page)) > 0)
		;
	assert_int_equal(watch(pipe_fd[1], 0, EC_WRITE), 0);
	assert_int_equal(told(pipe_fd[1]), 0);
	close(pipe_fd[0]);
	assert_true((told(pipe_fd[1]) & EC_WRITE) != 0);
}

static void a_peer_that_stops_sending_is_told_early(void **state)
{
	int pair[2];

	(void)state;
	if (!has(EC_FEATURE_EARLY_CLOSE))
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(watch(pair[0], 0, EC_CLOSED), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(told(pair[0]), 0);
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	assert_true((told(pair[0]) & EC_CLOSED) != 0);
	assert_int_equal(watch(pair[0], EC_CLOSED, EC_READ), 0);
	assert_int_equal(told(pair[0]), EC_READ);
	close(pair[0]);
	close(pair[1]);
}

static void an_edge_is_told_once(void **state)
{
	(void)state;
	if (!has(EC_FEATURE_ET))
		skip();
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ | EC_ET), 0);
	put_byte();
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(told(pipe_fd[0]), 0);
	put_byte();
	assert_int_equal(told(pipe_fd[0]), EC_READ);
}

/* A kernel's set says so at once, an own one when it is looked at. */
static void a_closed_descriptor_is_an_error_or_told(void **state)
{
	int fd = dup(pipe_fd[0]), r;

	(void)state;
	close(fd);
	r = watch(fd, 0, EC_READ);
	if (poller->ops->is_kernel_set) {
		assert_int_equal(r, -EBADF);
		return;
	}
	assert_int_equal(r, 0);
	assert_true((told(fd) & EC_READ) != 0);
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_true((told(fd) & EC_READ) != 0);
	assert_int_equal(watch(fd, EC_READ, 0), 0);
	assert_int_equal(look(), 0);
}

static void a_file_is_refused_or_always_ready(void **state)
{
	FILE *f = tmpfile();
	int fd, r;

	(void)state;
	assert_non_null(f);
	fd = fileno(f);
	r = watch(fd, 0, EC_READ);
	if (has(EC_FEATURE_FDS)) {
		assert_int_equal(r, 0);
		assert_int_equal(told(fd), EC_READ);
		assert_int_equal(watch(fd, EC_READ, 0), 0);
	} else {
		assert_int_equal(r, -EPERM);
	}
	(void)fclose(f);
}

static void what_is_no_descriptor_is_refused(void **state)
{
	(void)state;
	assert_true(watch(-1, 0, EC_READ) < 0);
	assert_true(watch(-5, 0, EC_WRITE) < 0);
	assert_true(watch(INT32_MAX, 0, EC_READ) < 0);
	assert_int_equal(look(), 0);
}

static void a_reopened_poller_watches_nothing(void **state)
{
	(void)state;
	put_byte();
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_int_equal(told(pipe_fd[0]), EC_READ);
	assert_int_equal(poller->ops->reopen(poller), 0);
	assert_int_equal(look(), 0);
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_int_equal(told(pipe_fd[0]), EC_READ);
}

static void a_fresh_one_can_be_reopened(void **state)
{
	(void)state;
	assert_int_equal(poller->ops->reopen(poller), 0);
	assert_int_equal(look(), 0);
}

static void the_time_to_wait_ends_without_reports(void **state)
{
	(void)state;
	assert_int_equal(prepare(poller), 0);
	assert_int_equal(poller->ops->wait(poller, 1), 0);
	put_byte();
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_int_equal(prepare(poller), 0);
	assert_int_equal(poller->ops->wait(poller, -1), 1);
}

/* ---------------------------------------------------------------- many of them */

enum { MANY = 300 };

static void many_make(int fds[MANY])
{
	int i;

	for (i = 0; i < MANY; i++) {
		fds[i] = dup(pipe_fd[0]);
		assert_true(fds[i] >= 0);
	}
}

static void many_close(int fds[MANY])
{
	int i;

	for (i = 0; i < MANY; i++)
		close(fds[i]);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Every one is told, each once, though the lists have to grow for it; then none of those forgotten. */
static void many_are_told_once_each(void **state)
{
	int fds[MANY], seen[MANY], i, num, total = 0;

	(void)state;
	many_make(fds);
	put_byte();
	for (i = 0; i < MANY; i++)
		assert_int_equal(watch(fds[i], 0, EC_READ), 0);
	for (i = 0; i < 10 && total < MANY; i++)
		total = look();			/* a full list grows for the next look */
	assert_int_equal(total, MANY);
	for (i = 0; i < MANY; i++)
		seen[i] = ec_watch_fd(poller->ready[i].id);
	qsort(seen, MANY, sizeof(seen[0]), compare);
	assert_memory_equal(seen, fds, sizeof(fds));

	for (i = 0; i < MANY; i += 2)
		assert_int_equal(watch(fds[i], EC_READ, 0), 0);
	num = look();
	assert_int_equal(num, MANY / 2);
	for (i = 0; i < num; i++)
		seen[i] = ec_watch_fd(poller->ready[i].id);
	qsort(seen, MANY / 2, sizeof(seen[0]), compare);
	for (i = 0; i < num; i++)
		assert_int_equal(seen[i], fds[i * 2 + 1]);
	many_close(fds);
}

/* Of sets that are our own: a kernel's takes turns by itself, once its reports do not all fit. */
/* Who looks once in n turns only finds each of them first as often. */
static void each_is_first_as_often(void **state)
{
	enum { FDS = 30, ROUNDS = 400 };
	int fds[FDS], first[FDS], i, j, n;

	(void)state;
	put_byte();
	for (i = 0; i < FDS; i++) {
		fds[i] = dup(pipe_fd[0]);
		assert_int_equal(watch(fds[i], 0, EC_READ), 0);
	}
	for (n = 1; n <= 5; n++) {
		memset(first, 0, sizeof(first));
		for (i = 0; i < FDS * ROUNDS * n; i++) {
			assert_int_equal(look(), FDS);
			for (j = 0; j < FDS && i % n == 0; j++)
				first[j] += ec_watch_fd(poller->ready[0].id) == fds[j];
		}
		for (j = 0; j < FDS; j++)
			assert_in_range(first[j], ROUNDS * 3 / 4, ROUNDS * 5 / 4);
	}
	for (i = 0; i < FDS; i++) {
		assert_int_equal(watch(fds[i], EC_READ, 0), 0);
		close(fds[i]);
	}
}

static void each_is_the_first_report_at_times(void **state)
{
	int fds[3], i, looks, seen = 0;

	(void)state;
	put_byte();
	for (i = 0; i < 3; i++) {
		fds[i] = dup(pipe_fd[0]);
		assert_int_equal(watch(fds[i], 0, EC_READ), 0);
	}
	for (looks = 0; looks < 100; looks++) {
		assert_int_equal(look(), 3);
		for (i = 0; i < 3; i++)
			seen |= ec_watch_fd(poller->ready[0].id) == fds[i] ? 1 << i : 0;
	}
	assert_int_equal(seen, 7);
	for (i = 0; i < 3; i++) {
		assert_int_equal(watch(fds[i], EC_READ, 0), 0);
		close(fds[i]);
	}
}

/* Beyond FD_SETSIZE, which is only the C library's. */
static void high_descriptors_work(void **state)
{
	struct rlimit limit;
	int fd;

	(void)state;
	if (strcmp(poller->ops->name, "select") == 0 && !has_wide_select(2901))
		skip();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < 3000) {
		limit.rlim_cur = limit.rlim_max < 3000 ? limit.rlim_max : 3000;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	if (limit.rlim_cur < 3000)
		skip();
	fd = fcntl(pipe_fd[0], F_DUPFD_CLOEXEC, 2900);
	assert_true(fd >= 2900);
	put_byte();
	assert_int_equal(watch(fd, 0, EC_READ), 0);
	assert_int_equal(told(fd), EC_READ);
	if (!poller->ops->is_kernel_set) {
		close(fd);
		assert_true((told(fd) & EC_READ) != 0);
	}
	assert_int_equal(watch(fd, EC_READ, 0), 0);
	assert_int_equal(look(), 0);
	close(fd);
}

/* ---------------------------------------------------------------- failures */

static int open_and_close(void *arg)
{
	const struct ec_poller_ops *ops = arg;
	struct ec_poller *p;
	int r = ops->open(true, &p);

	if (r == 0)
		ops->close(p);
	return r;
}

static void opening_fails_without_a_trace(void **state)
{
	const struct ec_poller_ops *ops = *state;

	assert_true(fault_each_alloc(open_and_close, *state, -ENOMEM) >= 1);
	assert_int_equal(fault_each_call(FAULT_epoll_create1, EMFILE, open_and_close, *state), ops->is_kernel_set);
}

static void reopening_fails_without_a_change(void **state)
{
	(void)state;
	put_byte();
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	fault_call_at(FAULT_epoll_create1, 1, ENFILE);
	assert_int_equal(poller->ops->reopen(poller), poller->ops->is_kernel_set ? -ENFILE : 0);
	(void)fault_end();
	assert_int_equal(told(pipe_fd[0]), poller->ops->is_kernel_set ? EC_READ : 0);
}

/* A poller with many descriptors from nothing; every allocation on the way fails once, and is asked for again. */
static int watch_many(void *arg)
{
	const struct ec_poller_ops *ops = arg;
	struct ec_poller *p;
	int fds[MANY], i, r, failures = 0, num = 0;

	r = ops->open(false, &p);
	if (r < 0)
		return r;
	many_make(fds);
	for (i = 0; i < MANY; i++) {
		while ((r = ops->watch(p, fds[i], 0, EC_READ, 0)) == -ENOMEM)
			failures++;
		assert_int_equal(r, 0);
	}
	for (i = 0; i < 10 && num < MANY; i++) {
		r = prepare(p);
		failures += r == -ENOMEM;
		num = r < 0 ? 0 : ops->wait(p, 0);
		assert_true(num >= 0);
	}
	assert_int_equal(num, MANY);
	assert_true(failures <= 1);
	many_close(fds);
	ops->close(p);
	return 0;
}

static void growing_fails_without_a_change(void **state)
{
	put_byte();
	assert_true(fault_each_alloc(watch_many, *state, -ENOMEM) >= 5);
}

static void a_wait_that_fails_says_why(void **state)
{
	const enum fault_call waits[] = { FAULT_epoll_wait, FAULT_poll, FAULT_pselect };
	const int errs[] = { EINTR, ENOMEM, EINVAL };
	size_t i, j;

	(void)state;
	put_byte();
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	for (i = 0; i < ROWS(errs); i++) {
		for (j = 0; j < ROWS(waits); j++)
			fault_call_always(waits[j], errs[i]);
		assert_int_equal(look(), -errs[i]);
		assert_true(fault_end());
		assert_int_equal(told(pipe_fd[0]), EC_READ);
	}
}

/* ---------------------------------------------------------------- epoll's own */

/* The kernel lost it: closed and opened anew behind the caller's back, or still there. */
static void epoll_sets_a_wrong_belief_right_in_two_calls(void **state)
{
	(void)state;
	fault_call_at(FAULT_epoll_ctl, 0, 0);
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_int_equal(fault_calls(FAULT_epoll_ctl), 1);
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	assert_int_equal(fault_calls(FAULT_epoll_ctl), 3);
	assert_int_equal(watch(pipe_fd[1], EC_WRITE, EC_WRITE), 0);
	assert_int_equal(fault_calls(FAULT_epoll_ctl), 5);
}

static void epoll_tells_what_the_kernel_refuses(void **state)
{
	(void)state;
	fault_call_at(FAULT_epoll_ctl, 1, ENOSPC);
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), -ENOSPC);
	fault_call_at(FAULT_epoll_ctl, 1, ENOMEM);
	assert_int_equal(watch(pipe_fd[0], EC_READ, EC_WRITE), -ENOMEM);
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	fault_call_at(FAULT_epoll_ctl, 2, ENOMEM);			/* ADD: EEXIST, then MOD */
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), -ENOMEM);
	fault_call_at(FAULT_epoll_ctl, 1, ENOMEM);
	assert_int_equal(watch(pipe_fd[0], EC_READ, 0), -ENOMEM);
	assert_true(fault_end());
}

static void epoll_keeps_the_cookie(void **state)
{
	(void)state;
	put_byte();
	assert_int_equal(poller->ops->watch(poller, pipe_fd[0], 0, EC_READ, UINT32_MAX - 1), 0);
	assert_int_equal(look(), 1);
	assert_int_equal(ec_watch_cookie(poller->ready[0].id), UINT32_MAX - 1);
	assert_int_equal(ec_watch_fd(poller->ready[0].id), pipe_fd[0]);
}

/* Too short a sleep is a spin, too long a wrapped number. */
static void epoll_rounds_its_sleep_up(void **state)
{
	const struct {
		int64_t wait_ns;
		int ms;
	} rows[] = {
		{ -1, -1 },	     { 0, 0 },		 { 1, 1 },			{ 999999, 1 },
		{ 1000000, 1 },	     { 1000001, 2 },	 { 1500000000, 1500 },		{ INT64_MAX, 86400000 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		fault_call_at(FAULT_epoll_wait, 1, EINTR);
		assert_int_equal(poller->ops->wait(poller, rows[i].wait_ns), -EINTR);
		assert_int_equal(fault_epoll_ms(), rows[i].ms);
	}
}

static void without_epoll_pwait2(int error)
{
	struct ec_poller *p;

	assert_int_equal(ec_poller_epoll.open(true, &p), 0);
	fault_call_at(FAULT_epoll_pwait2, 1, error);
	assert_int_equal(p->ops->wait(p, 1), 0);
	assert_int_equal(fault_calls(FAULT_epoll_pwait2), 1);
	assert_int_equal(fault_calls(FAULT_epoll_wait), 1);
	assert_int_equal(p->ops->wait(p, 1), 0);
	assert_int_equal(fault_calls(FAULT_epoll_pwait2), 1);
	assert_int_equal(fault_calls(FAULT_epoll_wait), 2);
	p->ops->close(p);
}

static void epoll_without_epoll_pwait2_sleeps_milliseconds(void **state)
{
	(void)state;
	without_epoll_pwait2(ENOSYS);
}

static void epoll_forbidden_epoll_pwait2_sleeps_milliseconds(void **state)
{
	(void)state;
	without_epoll_pwait2(EPERM);
}

static void epoll_sleeps_precisely_when_asked(void **state)
{
	struct ec_poller *p;

	(void)state;
	if (syscall(SYS_epoll_pwait2, -1, NULL, 0, NULL, NULL, 0) < 0 && errno == ENOSYS)
		skip();
	assert_int_equal(ec_poller_epoll.open(true, &p), 0);
	fault_call_at(FAULT_epoll_wait, 0, 0);
	assert_int_equal(p->ops->wait(p, 0), 0);			/* no sleep: either will do */
	assert_int_equal(fault_calls(FAULT_epoll_wait), 1);
	assert_int_equal(p->ops->wait(p, 1), 0);
	assert_int_equal(fault_calls(FAULT_epoll_pwait2), 1);
	fault_call_at(FAULT_epoll_pwait2, 1, EINTR);
	assert_int_equal(p->ops->wait(p, 1), -EINTR);
	assert_int_equal(fault_calls(FAULT_epoll_wait), 0);
	p->ops->close(p);
}

/* The list is full and cannot grow: all are told all the same, a part at a time. */
static void epoll_tells_all_from_a_short_list(void **state)
{
	int fds[MANY], i, j, num;
	bool seen[FD_TOP] = { false };

	(void)state;
	many_make(fds);
	put_byte();
	for (i = 0; i < MANY; i++)
		assert_int_equal(watch(fds[i], 0, EC_READ), 0);
	for (i = 0; i < MANY; i++) {
		fault_alloc_at(1);
		num = look();
		assert_int_equal(num, 32);
		for (j = 0; j < num; j++) {
			assert_in_range(ec_watch_fd(poller->ready[j].id), 0, FD_TOP - 1);
			seen[ec_watch_fd(poller->ready[j].id)] = true;
		}
	}
	(void)fault_end();
	for (i = 0; i < MANY; i++)
		assert_true(seen[fds[i]]);
	many_close(fds);
}

/* ---------------------------------------------------------------- select's own */

/* One bad descriptor among good ones that cannot be named must not look like an idle moment. */
static void select_without_a_bad_descriptor_to_name_fails(void **state)
{
	(void)state;
	assert_int_equal(watch(pipe_fd[0], 0, EC_READ), 0);
	fault_call_at(FAULT_pselect, 1, EBADF);
	assert_int_equal(look(), -EBADF);
	assert_true(fault_end());
	assert_int_equal(look(), 0);
}

#define ON(ops, test) { #ops ": " #test, test, setup, teardown, (void *)(uintptr_t)&ec_poller_##ops }
#define ON_ALL(test) ON(epoll, test), ON(poll, test), ON(select, test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ALL(nothing_watched_is_nothing_told),
		ON_ALL(reading_and_writing_are_told_apart),
		ON_ALL(both_of_a_socket_are_one_report),
		ON_ALL(a_level_is_told_again_until_it_is_gone),
		ON_ALL(a_change_takes_effect_at_the_next_look),
		ON_ALL(the_callers_belief_need_not_be_right),
		ON_ALL(forgetting_what_is_not_known_is_no_error),
		ON_ALL(a_hang_up_is_told_to_who_reads),
		ON_ALL(an_error_is_told_to_who_writes),
		ON_ALL(a_peer_that_stops_sending_is_told_early),
		ON_ALL(an_edge_is_told_once),
		ON_ALL(a_closed_descriptor_is_an_error_or_told),
		ON_ALL(a_file_is_refused_or_always_ready),
		ON_ALL(what_is_no_descriptor_is_refused),
		ON_ALL(a_reopened_poller_watches_nothing),
		ON_ALL(a_fresh_one_can_be_reopened),
		ON_ALL(the_time_to_wait_ends_without_reports),
		ON_ALL(many_are_told_once_each),
		ON(poll, each_is_the_first_report_at_times),
		ON(select, each_is_the_first_report_at_times),
		ON(poll, each_is_first_as_often),
		ON(select, each_is_first_as_often),
		ON_ALL(high_descriptors_work),
		ON_ALL(opening_fails_without_a_trace),
		ON_ALL(reopening_fails_without_a_change),
		ON_ALL(growing_fails_without_a_change),
		ON_ALL(a_wait_that_fails_says_why),
		ON(epoll, epoll_sets_a_wrong_belief_right_in_two_calls),
		ON(epoll, epoll_tells_what_the_kernel_refuses),
		ON(epoll, epoll_keeps_the_cookie),
		ON(epoll, epoll_rounds_its_sleep_up),
		ON(epoll, epoll_without_epoll_pwait2_sleeps_milliseconds),
		ON(epoll, epoll_forbidden_epoll_pwait2_sleeps_milliseconds),
		ON(epoll, epoll_sleeps_precisely_when_asked),
		ON(epoll, epoll_tells_all_from_a_short_list),
		ON(select, select_without_a_bad_descriptor_to_name_fails),
	};

	return cmocka_run_group_tests_name("pollers", tests, fault_init, fault_fini);
}
