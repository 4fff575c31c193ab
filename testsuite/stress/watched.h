/*
 * Runs a part of a program and tells what in it is for other threads: locked instructions, the C library's
 * threads and locks, and the system calls with which threads wait and wake.
 *
 * The program runs in a child, which encloses the part in watch_begin() and watch_end(). In between a breakpoint is
 * where an instruction locks in the program and in the libraries under test (objdump tells where), and
 * where those functions of the C library begin; each tells of itself once and is gone, so the part runs at full speed
 * (PTRACE_SINGLESTEP takes some 30 us an instruction on a virtual machine, and there are millions). The kernel
 * keeps the system calls back and tells of each. For x86-64 on Linux.
 *
 * Who has all signals blocked, as a base's workers have, is ended by what is found.
 */
#ifndef WATCHED_H
#define WATCHED_H

#include "stress.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>

enum { WATCH_PLACES_MAX = 4096, WATCH_PAGE = 4096, WATCH_REFUSED = 77, WATCH_TOLD_MAX = 10, INT3 = 0xcc };

/* What was seen in the part. */
struct watched {
	unsigned locked; /* places that came by and lock: every atomic read-modify-write does */
	unsigned functions; /* of the C library: without threads they need not lock the bus */
	unsigned calls; /* system calls */
	unsigned threads; /* of the process at the part's end */

	unsigned places[WATCH_TOLD_MAX]; /* the first ones, by their number */
	int numbers[WATCH_TOLD_MAX]; /* the first system calls */
};

struct watch_place {
	uint8_t *code;
	uint8_t was;
	bool is_function; /* of the C library */
};

/* const in the child */
static struct watch_place watch_places[WATCH_PLACES_MAX];
static unsigned watch_places_num;
static struct watched *watched; /* shared with the child */

/* ---------------------------------------------------------------- where to look */

static inline void watch_place(uint8_t *code, bool is_function)
{
	CHECK(watch_places_num < WATCH_PLACES_MAX);
	watch_places[watch_places_num++] = (struct watch_place){ code, *code, is_function };
}

/* Has the prefix, or is XCHG with an operand in memory, which locks without it. */
static inline bool is_locking(const char *instruction)
{
	return strncmp(instruction, "lock ", 5) == 0 ||
	       (strncmp(instruction, "xchg", 4) == 0 && strchr(instruction, '(') != NULL);
}

static inline int watch_object(struct dl_phdr_info *info, size_t size, void *objdump)
{
	const char *path = info->dlpi_name[0] == '\0' ? "/proc/self/exe" : info->dlpi_name;
	char command[4096], line[1024];
	unsigned long addr;
	FILE *text;
	int at;

	(void)size;
	if (info->dlpi_name[0] != '\0' && strstr(path, "libevent") == NULL)
		return 0;
	if (info->dlpi_name[0] == '\0')
		CHECK((path = realpath(path, NULL)) != NULL); /* else it is objdump's own; lives as we do */
	snprintf(command, sizeof(command), "%s -d -j .text --no-show-raw-insn '%s'", (const char *)objdump, path);
	CHECK((text = popen(command, "re")) != NULL);
	while (fgets(line, sizeof(line), text) != NULL)
		if (sscanf(line, " %lx:%n", &addr, &at) == 1 && is_locking(line + at + strspn(line + at, " \t")))
			watch_place((uint8_t *)info->dlpi_addr + addr, false);
	CHECK(pclose(text) == 0);
	return 0;
}

/* Before the tests, in the parent. */
static inline int watch_setup(void **state)
{
	static const char *const functions[] = {
		"pthread_create",	 "pthread_mutex_lock", "pthread_mutex_trylock",	 "pthread_rwlock_rdlock",
		"pthread_rwlock_wrlock", "pthread_spin_lock",  "pthread_cond_broadcast", "pthread_cond_signal",
	};
	char *objdump = getenv("OBJDUMP");
	void *function;

	(void)state;
	watched = mmap(NULL, sizeof(*watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(watched != MAP_FAILED);
	CHECK(dl_iterate_phdr(watch_object, objdump != NULL ? objdump : (char[]){ "objdump" }) == 0);
	CHECK(watch_places_num > 0);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		CHECK((function = dlsym(RTLD_DEFAULT, functions[i])) != NULL);
		watch_place(function, true);
	}
	return 0;
}

/* ---------------------------------------------------------------- in the child */

static inline void watch_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	unsigned i = 0;

	(void)sig;
	(void)info;
	while (i < watch_places_num && watch_places[i].code != (uint8_t *)*rip - 1)
		i++;
	CHECK(i < watch_places_num);
	*watch_places[i].code = watch_places[i].was;
	(*rip)--;
	if (watched->locked + watched->functions < WATCH_TOLD_MAX)
		watched->places[watched->locked + watched->functions] = i;
	if (watch_places[i].is_function)
		watched->functions++;
	else
		watched->locked++;
}

/* For one thread it is as if the call had done its work. */
static inline void watch_keep_back(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 0;
	if (watched->calls < WATCH_TOLD_MAX)
		watched->numbers[watched->calls] = info->si_syscall;
	watched->calls++;
}

#define WATCH_CALL(number, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), (left), 0)

static inline bool watch_calls(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		WATCH_CALL(SYS_futex, 3),
		WATCH_CALL(SYS_membarrier, 2),
		WATCH_CALL(SYS_sched_yield, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	static const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static inline void watch_begin(void)
{
	struct sigaction trap = { .sa_sigaction = watch_trap, .sa_flags = SA_SIGINFO };
	struct sigaction keep_back = { .sa_sigaction = watch_keep_back, .sa_flags = SA_SIGINFO };
	uint8_t *page;

	CHECK(sigaction(SIGTRAP, &trap, NULL) == 0 && sigaction(SIGSYS, &keep_back, NULL) == 0);
	for (unsigned i = 0; i < watch_places_num; i++) {
		page = watch_places[i].code - (uintptr_t)watch_places[i].code % WATCH_PAGE;
		if (mprotect(page, WATCH_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
			_exit(WATCH_REFUSED);
	}
	if (!watch_calls())
		_exit(WATCH_REFUSED);
	for (unsigned i = 0; i < watch_places_num; i++)
		*watch_places[i].code = INT3;
}

static inline void watch_end(void)
{
	char line[256];
	FILE *file;

	for (unsigned i = 0; i < watch_places_num; i++)
		*watch_places[i].code = watch_places[i].was;
	CHECK((file = fopen("/proc/self/status", "re")) != NULL);
	while (watched->threads == 0 && fgets(line, sizeof(line), file) != NULL)
		(void)!sscanf(line, "Threads: %u", &watched->threads);
	fclose(file);
}

/* ---------------------------------------------------------------- a run */

/* Where it was, as addr2line wants it. */
static inline void watch_tell(void)
{
	const struct watch_place *place;
	Dl_info info;

	for (unsigned i = 0; i < WATCH_TOLD_MAX && i < watched->locked + watched->functions; i++) {
		place = &watch_places[watched->places[i]];
		CHECK(dladdr(place->code, &info) != 0);
		print_message("seen: %s+%#tx (%s)\n", info.dli_fname, place->code - (uint8_t *)info.dli_fbase,
			      info.dli_sname != NULL ? info.dli_sname : "?");
	}
	for (unsigned i = 0; i < WATCH_TOLD_MAX && i < watched->calls; i++)
		print_message("seen: system call %d\n", watched->numbers[i]);
}

/* Skips the test where code may not be written to, or system calls not be filtered. */
static inline struct watched watch_run(void (*program)(void))
{
	pid_t child;
	int status;

	/* It would run what it has translated before. */
	if (getenv("LD_PRELOAD") != NULL && strstr(getenv("LD_PRELOAD"), "vgpreload") != NULL)
		skip();
	memset(watched, 0, sizeof(*watched));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		program();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) /* SIGTRAP, SIGSYS: something was found while signals were blocked */
		fail_msg("the program was ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == WATCH_REFUSED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
	watch_tell();
	return *watched;
}

#endif
