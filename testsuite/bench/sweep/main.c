/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * sweep --list				name, operations, flags
 * sweep [--locks|--colors] NAME...	run these patterns
 * sweep --memory [--locks] [GLOB...]	bytes an object, and what stays after release
 *
 * One line for each pattern: name, process, operations; then, from sweep-calls, allocations, frees, bytes and reads of
 * the clock. Instructions are what callgrind says about that process: the count starts after the warm-up, and the
 * process ends with the last counted operation. A call of write() to descriptor -1 marks both for strace.
 */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <event2/thread.h>

enum { WARM_UP_MAX = 20,
       FD_LIMIT = 20000,
       DEADLINE_S = 10 };

static const struct sweep_pattern *const tables[] = {
	sweep_event,
	sweep_loop,
	sweep_timer,
	sweep_base_table,
	sweep_buffer,
	sweep_segment,
	sweep_bev,
	sweep_filter,
	sweep_tls,
	sweep_util,
	sweep_dns,
	sweep_http,
	sweep_uri,
	sweep_rpc,
	sweep_tag,
	sweep_old,
};

static struct sweep_allocs allocs_before;
static uint64_t reads_before;

void sweep_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", file, line, what, errno);
	_exit(1);
}

static void mark(const char *what)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "sweep %s", what);

	(void)!write(-1, text, (size_t)len);
}

static void count_begin(void)
{
	if (RUNNING_ON_VALGRIND) {
		CALLGRIND_ZERO_STATS;
		return;
	}
	if (sweep_count_allocs != NULL)
		sweep_count_allocs(&allocs_before);
	reads_before = sweep_clock_reads();
	mark("begin");
}

static void count_end(const struct sweep *s)
{
	struct sweep_allocs allocs = { 0 };
	uint64_t reads;

	if (RUNNING_ON_VALGRIND) {
		if (!s->is_profiled)
			syscall(SYS_exit_group, 0);
		return;
	}
	mark("end");
	reads = sweep_clock_reads() - reads_before;
	if (sweep_count_allocs != NULL)
		sweep_count_allocs(&allocs);
	printf("%s\t%d\t%u\t%llu\t%llu\t%llu\t%llu\n", s->pattern->name, (int)getpid(), s->pattern->ops,
	       (unsigned long long)(allocs.allocs - allocs_before.allocs),
	       (unsigned long long)(allocs.frees - allocs_before.frees),
	       (unsigned long long)(allocs.bytes - allocs_before.bytes), (unsigned long long)reads);
	fflush(stdout);
}

/* One operation was asked for and none is left: from the start to the warm-up, to the count, to the end. */
bool sweep_turn(struct sweep *s)
{
	unsigned ops = s->pattern->ops;

	switch (s->phase++) {
	case 0:
		s->left = ops < WARM_UP_MAX ? ops : WARM_UP_MAX;
		break;
	case 1:
		s->left = ops;
		count_begin();
		break;
	default:
		count_end(s);
		return false;
	}
	s->left--;
	return true;
}

struct event_base *sweep_base_with(struct sweep *s, int flags)
{
	struct event_config *config = event_config_new();
	const char **methods = event_get_supported_methods();
	struct event_base *base;
	int i;

	sweep_check(config != NULL);
	for (i = 0; s->pattern->method != NULL && methods[i] != NULL; i++) {
		if (strcmp(methods[i], s->pattern->method) != 0)
			event_config_avoid_method(config, methods[i]);
	}
	event_config_set_flag(config, flags);
	base = event_base_new_with_config(config);
	sweep_check(base != NULL);
	event_config_free(config);
	s->base = base;
	return base;
}

struct event_base *sweep_base(struct sweep *s)
{
	return sweep_base_with(s, 0);
}

void sweep_color(struct sweep *s, struct event *ev)
{
	if (s->is_colored)
		sweep_check(event_set_color != NULL && event_set_color(ev, ++s->color) == 0);
}

void sweep_pipe(int fd[2])
{
	sweep_check(pipe2(fd, O_NONBLOCK | O_CLOEXEC) == 0);
}

void sweep_socketpair(int fd[2])
{
	sweep_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
}

void sweep_close(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

void sweep_nop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

void sweep_count(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	s->calls++;
}

static void quiet(int severity, const char *text)
{
	(void)severity;
	(void)text;
}

static void child(const struct sweep_pattern *pattern, bool is_locked, bool is_colored, bool is_profiled)
{
	struct sweep s = { .pattern = pattern, .num = pattern->num };

	s.is_locked = is_locked;
	s.is_colored = is_colored;
	s.is_profiled = is_profiled;
	alarm(RUNNING_ON_VALGRIND ? 10 * DEADLINE_S : DEADLINE_S);
	event_set_log_callback(quiet);
	if (is_locked)
		sweep_check(evthread_use_pthreads() == 0);
	pattern->run(&s);
	sweep_check(s.phase == 3);
	_exit(0);
}

static int run(const struct sweep_pattern *pattern, bool is_locked, bool is_colored, bool is_profiled)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	sweep_check(pid >= 0);
	if (pid == 0)
		child(pattern, is_locked, is_colored, is_profiled);
	sweep_check(waitpid(pid, &status, 0) == pid);
	if (status != 0) {
		fprintf(stderr, "%s: failed, status %#x\n", pattern->name, (unsigned)status);
		return 1;
	}
	if (RUNNING_ON_VALGRIND)
		printf("%s\t%d\t%u\n", pattern->name, (int)pid, pattern->ops);
	return 0;
}

static const struct sweep_pattern *find(const char *name)
{
	const struct sweep_pattern *pattern;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (pattern = tables[i]; pattern->name != NULL; pattern++) {
			if (strcmp(pattern->name, name) == 0)
				return pattern;
		}
	}
	return NULL;
}

static void list(void)
{
	const struct sweep_pattern *pattern;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (pattern = tables[i]; pattern->name != NULL; pattern++)
			printf("%s\t%u\t%s%s%s%s-\n", pattern->name, pattern->ops,
			       (pattern->flags & SWEEP_COLORS) != 0 ? "colors," : "",
			       (pattern->flags & SWEEP_LOCKS) != 0 ? "locks," : "",
			       (pattern->flags & SWEEP_UNEVEN) != 0 ? "uneven," : "",
			       (pattern->flags & SWEEP_SLOW) != 0 ? "slow," : "");
	}
}

static void prepare(void)
{
	struct rlimit limit;

	sweep_check(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max < FD_LIMIT ? limit.rlim_max : FD_LIMIT;
	sweep_check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	bool is_locked = false, is_colored = false, is_profiled = false, is_memory = false;
	const struct sweep_pattern *pattern;
	int i, failed_num = 0;

	for (i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--list") == 0) {
			list();
			return 0;
		}
		is_locked |= strcmp(argv[i], "--locks") == 0;
		is_colored |= strcmp(argv[i], "--colors") == 0;
		is_profiled |= strcmp(argv[i], "--clean") == 0;
		is_memory |= strcmp(argv[i], "--memory") == 0;
	}
	prepare();
	if (is_memory)
		return sweep_memory(argc - i, argv + i, is_locked);
	for (; i < argc; i++) {
		pattern = find(argv[i]);
		if (pattern == NULL) {
			fprintf(stderr, "%s: no such pattern\n", argv[i]);
			return 2;
		}
		failed_num += run(pattern, is_locked, is_colored, is_profiled);
	}
	return failed_num != 0;
}
