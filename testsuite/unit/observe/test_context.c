/*
 * core/observe/context.h: a call that a signal ended begins again, by what the processor's registers say of it.
 */
#include "table.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/lock/sync.h"
#include "core/observe/context.h"
#include "../../sanitizers.h"

static struct pollfd waited = { .events = POLLIN };
static _Atomic(uint32_t) answers, cuts, restarts, refused;

/* What the kernel would tell of the poll. False: not known for this processor. */
static bool call_of(const ucontext_t *context, struct ec_asleep *ret)
{
	ret->arg = (uintptr_t)&waited;
	ret->pc = (uintptr_t)ec_context_pc(context);
#if defined(__x86_64__)
	ret->nr = SYS_poll;
	ret->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__i386__)
	ret->nr = SYS_poll;
	ret->sp = (uintptr_t)context->uc_mcontext.gregs[REG_ESP];
#elif defined(__aarch64__)
	ret->nr = SYS_ppoll;
	ret->sp = context->uc_mcontext.sp;
#elif defined(__arm__)
	ret->nr = SYS_poll;
	ret->sp = context->uc_mcontext.arm_sp;
#else
	return false;
#endif
	return true;
}

/* Where the thread was before its poll or behind it, nothing is changed, and it is asked again. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct ec_asleep call, other;

	(void)sig;
	(void)info;
	if (call_of(context, &call)) {
		other = call;
		other.sp += 16;
		ec_add_acq_rel(&refused, !ec_context_restart(context, &other));
		other = call;
		other.pc += 4;
		ec_add_acq_rel(&refused, !ec_context_restart(context, &other));
		ec_add_acq_rel(&restarts, ec_context_restart(context, &call));
	}
	ec_add_acq_rel(&answers, 1);
}

static void *wait_for_byte(void *arg)
{
	(void)arg;
	while (poll(&waited, 1, -1) != 1)
		ec_add_acq_rel(&cuts, 1);
	return NULL;
}

static void a_poll_goes_on(void **state)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_RESTART }, before;
	struct ec_asleep call;
	ucontext_t none = { 0 };
	uint32_t asked;
	pthread_t thread;
	int fds[2];

	(void)state;
	if (HAS_TSAN || !call_of(&none, &call))		/* its poll is another one */
		skip();
	sa.sa_sigaction = on_signal;
	assert_int_equal(sigaction(SIGUSR1, &sa, &before), 0);
	assert_int_equal(pipe(fds), 0);
	waited.fd = fds[0];
	assert_int_equal(pthread_create(&thread, NULL, wait_for_byte, NULL), 0);
	for (asked = 1; ec_load_acquire(&restarts) < 3 && ec_load_acquire(&cuts) == 0; asked++) {
		assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
		while (ec_load_acquire(&answers) < asked)
			sched_yield();
	}
	assert_int_equal(write(fds[1], "a", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ec_load_acquire(&cuts), 0);
	assert_int_equal(ec_load_acquire(&restarts), 3);
	assert_int_equal(ec_load_acquire(&refused), 2 * ec_load_acquire(&answers));
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poll_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
