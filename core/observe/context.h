/*
 * Where a signal interrupted a thread: the program counter in what its handler got.
 */
#ifndef EC_CONTEXT_H
#define EC_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
static inline void *ec_context_pc(const ucontext_t *context)
{
	return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}
#elif defined(__i386__)
static inline void *ec_context_pc(const ucontext_t *context)
{
	return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_EIP];
}
#elif defined(__aarch64__)
static inline void *ec_context_pc(const ucontext_t *context)
{
	return (void *)(uintptr_t)context->uc_mcontext.pc;
}
#else
/* NULL: not known. */
static inline void *ec_context_pc(const ucontext_t *context)
{
	(void)context;
	return NULL;
}
#endif

#endif
