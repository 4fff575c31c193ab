/*
 * Where a signal interrupted a thread: the program counter in what its handler got. And how a system call that the
 * signal ended begins again.
 *
 * After a handler some system calls return EINTR whatever its flags are: poll, nanosleep and others, see signal(7). The
 * context then has that result, behind the instruction that made the call. ec_context_restart moves it back to the
 * instruction, with the registers as they were: the kernel has changed none but those for the number and the result.
 */
#ifndef EC_CONTEXT_H
#define EC_CONTEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "asleep.h"

#if defined(__x86_64__)
static inline void *ec_context_pc(const ucontext_t *context)
{
	return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline bool ec_context_restart(ucontext_t *context, const struct ec_asleep *call)
{
	greg_t *regs = context->uc_mcontext.gregs;

	if ((uintptr_t)regs[REG_RIP] != call->pc || (uintptr_t)regs[REG_RSP] != call->sp || regs[REG_RAX] != -EINTR ||
	    (uintptr_t)regs[REG_RDI] != call->arg || memcmp((const char *)call->pc - 2, "\x0f\x05", 2) != 0)
		return false;
	regs[REG_RIP] -= 2;
	regs[REG_RAX] = call->nr;
	return true;
}
#elif defined(__i386__)
static inline void *ec_context_pc(const ucontext_t *context)
{
	return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_EIP];
}

/* Also after sysenter, the kernel returns to behind an int. */
static inline bool ec_context_restart(ucontext_t *context, const struct ec_asleep *call)
{
	greg_t *regs = context->uc_mcontext.gregs;

	if ((uintptr_t)regs[REG_EIP] != call->pc || (uintptr_t)regs[REG_ESP] != call->sp || regs[REG_EAX] != -EINTR ||
	    (uintptr_t)regs[REG_EBX] != call->arg || memcmp((const char *)call->pc - 2, "\xcd\x80", 2) != 0)
		return false;
	regs[REG_EIP] -= 2;
	regs[REG_EAX] = (greg_t)call->nr;
	return true;
}
#elif defined(__aarch64__)
static inline void *ec_context_pc(const ucontext_t *context)
{
	return (void *)(uintptr_t)context->uc_mcontext.pc;
}

static inline bool ec_context_restart(ucontext_t *context, const struct ec_asleep *call)
{
	mcontext_t *m = &context->uc_mcontext;

	if (m->pc != call->pc || m->sp != call->sp || (int64_t)m->regs[0] != -EINTR ||
	    m->regs[8] != (uint64_t)call->nr || memcmp((const char *)call->pc - 4, "\x01\x00\x00\xd4", 4) != 0)
		return false;
	m->pc -= 4;
	m->regs[0] = call->arg;
	return true;
}
#elif defined(__arm__)
static inline void *ec_context_pc(const ucontext_t *context)
{
	return (void *)(uintptr_t)context->uc_mcontext.arm_pc;
}

static inline bool ec_context_restart(ucontext_t *context, const struct ec_asleep *call)
{
	mcontext_t *m = &context->uc_mcontext;
	bool is_thumb = (m->arm_cpsr & 0x20) != 0;
	size_t len = is_thumb ? 2 : 4;

	if (m->arm_pc != call->pc || m->arm_sp != call->sp || (int)m->arm_r0 != -EINTR ||
	    m->arm_r7 != (unsigned long)call->nr ||
	    memcmp((const char *)call->pc - len, is_thumb ? "\x00\xdf" : "\x00\x00\x00\xef", len) != 0)
		return false;
	m->arm_pc -= len;
	m->arm_r0 = call->arg;
	return true;
}
#else
/* NULL: not known. */
static inline void *ec_context_pc(const ucontext_t *context)
{
	(void)context;
	return NULL;
}

static inline bool ec_context_restart(ucontext_t *context, const struct ec_asleep *call)
{
	(void)context;
	(void)call;
	return false;
}
#endif

#endif
