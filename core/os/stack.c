#include "stack.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "ec.h"

enum { GUARD = 65536, LEN_MIN = 1 << 20, LEN_MAX = 64 << 20 };

struct ec_stack {
	/* const */
	char *memory;			/* the guard is below */
	size_t len;

	/* own: the thread that calls */
	void (*fn)(void *arg);
	void *arg;
	ucontext_t on, back;
};

bool ec_stack_is_supported(void)
{
	return true;
}

static size_t usual_len(void)
{
	size_t len = 0;
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) == 0) {
		(void)pthread_attr_getstacksize(&attr, &len);
		(void)pthread_attr_destroy(&attr);
	}
	return len < LEN_MIN ? LEN_MIN : len > LEN_MAX ? LEN_MAX : len & ~(size_t)(GUARD - 1);
}

struct ec_stack *ec_stack_new(void)
{
	struct ec_stack *s = ec_malloc(sizeof(*s));

	if (s == NULL)
		return NULL;
	s->len = usual_len();
	s->memory = mmap(NULL, s->len + GUARD, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (s->memory == MAP_FAILED) {
		ec_free(s);
		return NULL;
	}
	(void)mprotect(s->memory, GUARD, PROT_NONE);	/* without a guard it works as well */
	return s;
}

void ec_stack_free(struct ec_stack *s)
{
	(void)munmap(s->memory, s->len + GUARD);
	ec_free(s);
}

/* What the call does to the signal mask stays, though the way back restores it. makecontext() passes but integers. */
static void enter(unsigned high, unsigned low)
{
	struct ec_stack *s = (struct ec_stack *)(uintptr_t)((uint64_t)high << 32 | low);

	s->fn(s->arg);
	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &s->back.uc_sigmask, sizeof(uint64_t));
}

void ec_stack_call(struct ec_stack *s, void (*fn)(void *arg), void *arg)
{
	uint64_t self = (uintptr_t)s;

	s->fn = fn;
	s->arg = arg;
	(void)getcontext(&s->on);
	s->on.uc_stack.ss_sp = s->memory + GUARD;
	s->on.uc_stack.ss_size = s->len;
	s->on.uc_link = &s->back;
	makecontext(&s->on, (void (*)(void))(void *)enter, 2, (unsigned)(self >> 32), (unsigned)self);
	(void)swapcontext(&s->back, &s->on);		/* they fail only where they are not implemented */
}
