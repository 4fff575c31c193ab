#include "fiber.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../sanitizers.h"

#if HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_LEN = 256 * 1024 };

static struct fiber *leaving;
static void (*first_entry)(void);

#if defined(__x86_64__) && !HAS_ASAN
/*
 * By hand, because swapcontext() asks the kernel for the signal mask twice a switch, which
 * costs more than all the rest of a simulated step.
 */
void sim_fiber_swap(void **save_sp, void *sp);

__asm__(".text\n"
	".type sim_fiber_swap, @function\n"
	"sim_fiber_swap:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size sim_fiber_swap, . - sim_fiber_swap\n");

static void swap(struct fiber *from, struct fiber *to)
{
	sim_fiber_swap(&from->sp, to->sp);
}

static void prepare(struct fiber *f, void (*entry)(void))
{
	uintptr_t *top = (uintptr_t *)((char *)f->stack + f->stack_len);
	unsigned i;

	/* A call leaves the stack 8 off a multiple of 16: a word of padding, entry, 6 registers. */
	*--top = 0;
	*--top = (uintptr_t)entry;
	for (i = 0; i < 6; i++)
		*--top = 0;
	f->sp = top;
}
#else
static void swap(struct fiber *from, struct fiber *to)
{
	if (swapcontext(&from->ctx, &to->ctx) != 0)
		abort();
}

static void prepare(struct fiber *f, void (*entry)(void))
{
	if (getcontext(&f->ctx) != 0)
		abort();
	f->ctx.uc_stack.ss_sp = f->stack;
	f->ctx.uc_stack.ss_size = f->stack_len;
	f->ctx.uc_link = NULL;
	makecontext(&f->ctx, entry, 0);
}
#endif

static void arrived(void *fake_stack)
{
#if HAS_ASAN
	const void *bottom;
	size_t len;

	__sanitizer_finish_switch_fiber(fake_stack, &bottom, &len);
	/* The program's own stack is known only once it was left. */
	if (leaving->stack == NULL) {
		leaving->stack = (void *)(uintptr_t)bottom;
		leaving->stack_len = len;
	}
#else
	(void)fake_stack;
#endif
}

static void enter(void)
{
	arrived(NULL);
	first_entry();
	abort();
}

void fiber_init_self(struct fiber *f)
{
	*f = (struct fiber){ .stack = NULL };
}

int fiber_init(struct fiber *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p;

	p = mmap(NULL, page + STACK_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	if (mprotect(p, page, PROT_NONE) != 0) {
		munmap(p, page + STACK_LEN);
		return -ENOMEM;
	}
	*f = (struct fiber){ .stack = p + page, .stack_len = STACK_LEN };
	return 0;
}

void fiber_prepare(struct fiber *f, void (*entry)(void))
{
	first_entry = entry;
	f->fake_stack = NULL;
	prepare(f, enter);
}

void fiber_switch(struct fiber *from, struct fiber *to, enum fiber_fate fate)
{
	leaving = from;
#if HAS_ASAN
	__sanitizer_start_switch_fiber(fate == FIBER_ENDS ? NULL : &from->fake_stack, to->stack,
				       to->stack_len);
#else
	(void)fate;
#endif
	swap(from, to);
	arrived(from->fake_stack);
}
