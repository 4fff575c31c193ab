/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * What an idle color costs that has something registered: N pending timers of color 0, and N of as
 * many colors, each in a process of its own; the difference is the colors'.
 */
#define EVENT_SMP_WEAK
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/smp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util.h"

static void never(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Bytes an event that the library holds for `n` pending timers, each of its own color or of 0. */
static double measure(unsigned n, int is_colored)
{
	static const struct timeval hour = { 3600, 0 };
	struct event *events = bench_alloc(n, sizeof(*events));
	struct event_base *base = event_base_new();
	size_t before, after;
	unsigned i;

	if (base == NULL)
		bench_die("event_base_new failed");
	before = bench_resident();
	for (i = 0; i < n; i++) {
		if (event_assign(&events[i], base, -1, 0, never, NULL) != 0)
			bench_die("event_assign failed");
		if (is_colored && event_set_color(&events[i], i + 1) != 0)
			bench_die("event_set_color failed");
		if (event_add(&events[i], &hour) != 0)
			bench_die("event_add failed");
	}
	after = bench_resident();
	return ((double)after - (double)before) / n;
}

/* As measure(), in a process that is new: what was freed does not hide what is allocated. */
static double measure_apart(unsigned n, int is_colored)
{
	double bytes;
	pid_t child;
	int pipe_fds[2], status;

	if (pipe(pipe_fds) != 0)
		bench_die("pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		bench_die("fork: %s", strerror(errno));
	if (child == 0) {
		bytes = measure(n, is_colored);
		_exit(write(pipe_fds[1], &bytes, sizeof(bytes)) != sizeof(bytes));
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &bytes, sizeof(bytes)) != sizeof(bytes))
		bench_die("the measuring process failed");
	close(pipe_fds[0]);
	if (waitpid(child, &status, 0) != child || status != 0)
		bench_die("the measuring process failed");
	return bytes;
}

int main(int argc, char **argv)
{
	const char *const name = "libevent";
	double plain, colored;
	unsigned n;

	if (argc != 2)
		bench_die("usage: %s EVENTS", argv[0]);
	n = (unsigned)bench_number(argv[1]);
	plain = measure_apart(n, 0);
	bench_report("idle-events", name, "per timer", plain, "B");
	if (event_set_color == NULL)
		bench_skip("this libevent has no colors");
	colored = measure_apart(n, 1);
	bench_report("idle-events", name, "per colored timer", colored, "B");
	bench_report("idle-events", name, "per idle color", colored - plain, "B");
	return 0;
}
