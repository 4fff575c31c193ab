/*
 * A kernel or a sandbox without io_uring: a seccomp filter refuses it, for the rest of this process.
 */
#ifndef LIBASYNC_REFUSE_IO_URING_H
#define LIBASYNC_REFUSE_IO_URING_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* A new system call has one number on all machines; the headers may be older. */
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

/* False: there are no filters here. */
inline bool refuse_io_uring(unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#endif
