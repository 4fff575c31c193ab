/*
 * core/lock/bias.c where the system refuses membarrier once locks lean: a sandbox that the program
 * puts up after its start.
 * Orders of threads are for sim/test_bias.c.
 */
#include "child.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/sched/base.h"
#include "core/ec.h"

enum { POSTS = 2000, VISITORS = 2, NOT_HERE = 77 };

static struct ec_base *base;
static _Atomic(bool) is_biased;
static unsigned ran;
static struct ec_event timer;

/* All threads of the process are refused these. */
static void refuse(unsigned first, unsigned second)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) < 0)
		child_end(NOT_HERE);
	check(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == EPERM);
}

/* The owner, always inside one lock or the other. */
static void again(void *arg)
{
	static const struct timeval hour = { .tv_sec = 3600 };

	(void)arg;
	check(ec_event_add(&timer, &hour) == 0);
	check(ec_event_del(&timer, EC_DEL_BLOCK) == 0);
	if (ec_load_relaxed(&base->bias.state) < EC_ROLES)
		ec_store_relaxed(&is_biased, true);
	if (ran < POSTS * VISITORS)
		check(ec_base_post(base, 7, again, NULL) == 0);
}

static void count(void *arg)
{
	(void)arg;
	ran++;
}

static void nothing(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void *loop_main(void *arg)
{
	check(ec_base_post(base, 7, again, NULL) == 0);
	check(ec_base_loop(base, 0) == 1);
	return arg;
}

static void *visitor_main(void *arg)
{
	unsigned i;

	for (i = 0; i < POSTS; i++)
		check(ec_base_post(base, 7, count, NULL) == 0);
	return arg;
}

static void visit(unsigned second_refused)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = 1, .flags = EC_BASE_IGNORE_ENV };
	pthread_t loop, visitors[VISITORS];
	unsigned i;

	alarm(60);
	if (!ec_barrier_prepare())
		child_end(NOT_HERE);
	check(ec_base_new(&cfg, &base) == 0);
	check(ec_event_init(&timer, base, -1, 0, nothing, NULL) == 0);
	check(ec_event_set_color(&timer, 7) == 0);
	check(pthread_create(&loop, NULL, loop_main, NULL) == 0);
	while (!ec_load_relaxed(&is_biased))
		;
	refuse(SYS_membarrier, second_refused);
	for (i = 0; i < VISITORS; i++)
		check(pthread_create(&visitors[i], NULL, visitor_main, NULL) == 0);
	for (i = 0; i < VISITORS; i++)
		check(pthread_join(visitors[i], NULL) == 0);
	check(pthread_join(loop, NULL) == 0);
	check(ran == POSTS * VISITORS);
	check(!ec_load_relaxed(&base->bias.is_allowed) && ec_load_relaxed(&base->bias.state) == EC_BIAS_REVOKED);
	ec_base_free(base);
}

static void without_membarrier(void)
{
	visit(SYS_membarrier);
}

static void without_affinity_too(void)
{
	visit(SYS_sched_setaffinity);
}

static void passes_or_skips(void (*fn)(void))
{
	struct child child;

	child_run(&child, fn);
	if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == NOT_HERE)
		skip();
	if (child.status != 0)
		fail_msg("status %#x: %s", (unsigned)child.status, child.text);
}

static void a_later_sandbox_may_refuse_membarrier(void **state)
{
	(void)state;
	passes_or_skips(without_membarrier);
}

static void a_later_sandbox_may_refuse_to_choose_the_cpu_too(void **state)
{
	(void)state;
	passes_or_skips(without_affinity_too);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_later_sandbox_may_refuse_membarrier),
		cmocka_unit_test(a_later_sandbox_may_refuse_to_choose_the_cpu_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
