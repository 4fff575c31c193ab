/*
 * Faults on purpose: the Nth allocation or the Nth system call fails, for N = 1, 2, … until all
 * went well; and after each try nothing may be left of it, no memory and no descriptor.
 *
 * Allocations are those through ec_malloc & co. System calls are those that the tested objects
 * make through the C library's functions: the linker puts ours before them (meson.build).
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* clang-format off: a name each, as they are in C */
#define FAULT_CALLS(X) \
	X(close) X(epoll_create1) X(epoll_ctl) X(epoll_pwait2) X(epoll_wait) X(eventfd) X(fcntl) X(fopen) \
	X(poll) X(ppoll) X(pselect) X(pthread_atfork) X(pthread_create) X(pthread_sigmask) X(read) X(recvfrom) \
	X(sched_getaffinity) X(sendto) X(sigaction) X(socket) X(write) X(bind) X(connect) X(getsockopt) X(listen) \
	X(setsockopt) X(fchmod) X(ftruncate) X(madvise) X(memfd_create) X(mkdir) X(mmap) X(open) X(posix_fallocate) \
	X(tgkill)
/* clang-format on */

#define FAULT_ENUM(name) FAULT_##name,
enum fault_call { FAULT_CALLS(FAULT_ENUM) FAULT_CALLS_NUM };
#undef FAULT_ENUM

/* From here on allocations are counted, and until fault_fini: a group's setup and teardown. */
int fault_init(void **state);
int fault_fini(void **state);

/* The nth one from now on fails, once; 0: none does, they are only counted. */
void fault_alloc_at(unsigned nth);

/* The same, with `err` as its error; 0: the one that is usual for it. */
void fault_call_at(enum fault_call call, unsigned nth, int err);

/* Every one fails from now on. */
void fault_alloc_always(void);
void fault_call_always(enum fault_call call, int err);

/* Files below /proc and /sys are read below `folder`; NULL: where they are. */
void fault_system_at(const char *folder);

/* The process may use the CPUs from `first` on, `num` of them; 0: as it is. */
void fault_cpus(unsigned first, unsigned num);

/* No faults any more. True: the one that was asked for came. */
bool fault_end(void);

unsigned fault_allocs(void);			/* since fault_alloc_at; failed ones too */
unsigned fault_calls(enum fault_call call);	/* since fault_call_at, for any call */
long fault_alive(void);				/* allocations that are not freed */
int fault_fds(void);				/* open descriptors of the process */
int fault_epoll_ms(void);			/* how long the last epoll_wait was to wait */
const char *fault_name(enum fault_call call);

/*
 * Run `fn` with the first, the second, … allocation failing, until it runs without one. It returns
 * 0, or what it failed with after it undid everything; that must be `want` whenever a fault
 * came, unless the fault could be lived with (0). The number of allocations is returned.
 */
unsigned fault_each_alloc(int (*fn)(void *arg), void *arg, int want);

/* The same with each system call of that name; its number is returned. The error is `err`, and `want` its negative. */
unsigned fault_each_call(enum fault_call call, int err, int (*fn)(void *arg), void *arg);
unsigned fault_each_call_as(enum fault_call call, int err, int (*fn)(void *arg), void *arg, int want);

#endif
