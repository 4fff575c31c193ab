#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEASE_S = 3 };

/* ---------------------------------------------------------------- which process */

struct found {
	pid_t pid;
	unsigned num;
	struct list lines;
};

static void note_process(pid_t pid, void *arg)
{
	struct found *found = arg;
	struct process p;
	struct stat st;

	if (stat(rooted(text("/proc/%d", (int)pid)), &st) < 0 || st.st_uid != geteuid())
		return;
	if (pid == getpid() || !process_read(pid, &p) || p.engine == NULL)
		return;
	found->pid = pid;
	found->num++;
	list_add(&found->lines, text("%7d %s", (int)pid, shown(p.program)));
}

static pid_t the_only_one(const char *command)
{
	struct found found = { 0 };
	size_t i;

	process_each(note_process, &found);
	if (found.num == 1)
		return found.pid;
	if (found.num == 0)
		die(EVSMP_NOT_IN_USE, "no process of this user has libevent-smp loaded. Start one with `evsmp run "
				      "PROGRAM`, or name one of another user by its number, as root.");
	say_note("several processes of this user have libevent-smp loaded:");
	for (i = 0; i < found.lines.num; i++)
		fprintf(stderr, "%s\n", found.lines.at[i]);
	die(EVSMP_USAGE, "which one? Add its number: evsmp %s PID.", command);
}

pid_t attach_pid(const char *command, const char *word)
{
	unsigned long pid;

	if (word == NULL)
		return the_only_one(command);
	errno = 0;
	pid = strtoul(word, NULL, 10);
	if (*word == '\0' || word[strspn(word, "0123456789")] != '\0' || errno != 0 || pid == 0 || pid > INT32_MAX)
		die(EVSMP_USAGE, "%s is not the number of a process. evsmp ps lists those with libevent-smp.",
		    shown(word));
	return (pid_t)pid;
}

/* ---------------------------------------------------------------- its control word */

const char *attach_why(int err)
{
	switch (err) {
	case EACCES:
	case EPERM:
		if (geteuid() == 0)
			return "not even root may look into it here: a container or a security module forbids it";
		return "this user may not look into it. Use root; or, if it is your own process, the kernel's setting "
		       "kernel.yama.ptrace_scope forbids it: set it to 0, or start the program with EVENT_SMP_STATS=1 "
		       "(for top and metrics) or EVENT_SMP_TRACE=FILE (for trace and advise)";
	case ENOENT:
	case ESRCH:
		return "it has ended. evsmp ps lists those that run";
	default:
		return strerror(err);
	}
}

static bool is_control(const struct ec_control *c)
{
	return memcmp(c->magic, EC_CONTROL_MAGIC, sizeof(c->magic)) == 0 && c->layout == EC_CONTROL_LAYOUT &&
	       c->size == sizeof(*c);
}

void attach_process(pid_t pid, struct attached *ret)
{
	uint64_t size = 0;

	errno = 0;
	memset(ret, 0, sizeof(*ret));
	if (!process_read(pid, &ret->process))
		die(EVSMP_SYSTEM, "process %d cannot be observed: %s.", (int)pid, attach_why(errno));
	if (ret->process.engine == NULL && process_state(pid) == 'Z')
		die(EVSMP_SYSTEM, "process %d cannot be observed: %s.", (int)pid, attach_why(ESRCH));
	ret->own_pid = process_own_pid(pid);
	if (ret->process.engine == NULL)
		die(EVSMP_NOT_IN_USE, "process %d (%s) does not have libevent-smp loaded. Start it with `evsmp run`.",
		    (int)pid, shown(ret->process.program));
	if (!process_variable(&ret->process, "ec_control", &ret->at, &size) || size != sizeof(ret->control)) {
		if (errno == EACCES || errno == EPERM)
			die(EVSMP_SYSTEM, "process %d cannot be observed: %s.", (int)pid, attach_why(errno));
		die(EVSMP_SYSTEM, "process %d has another version of libevent-smp, which this evsmp cannot observe. "
				  "Restart the program, or use the evsmp of its version.",
		    (int)pid);
	}
	ret->memory = process_open_memory(pid, O_RDWR);
	if (ret->memory < 0 || !process_read_memory(ret->memory, ret->at, &ret->control, sizeof(ret->control)))
		die(EVSMP_SYSTEM, "process %d cannot be observed: %s.", (int)pid, attach_why(errno));
	if (!is_control(&ret->control))
		die(EVSMP_SYSTEM, "process %d has another version of libevent-smp, which this evsmp cannot observe. "
				  "Restart the program, or use the evsmp of its version.",
		    (int)pid);
}

bool attach_read(struct attached *a)
{
	return process_read_memory(a->memory, a->at, &a->control, sizeof(a->control)) && is_control(&a->control);
}

/* One field of the control word. */
static bool write_field(const struct attached *a, size_t offset, const void *from, size_t len)
{
	return process_write_memory(a->memory, a->at + offset, from, len);
}

static bool write_wanted(struct attached *a, uint8_t wanted)
{
	return write_field(a, offsetof(struct ec_control, wanted), &wanted, sizeof(wanted));
}

static unsigned number_of(unsigned bit)
{
	return (unsigned)__builtin_ctz(bit);
}

bool attach_want(struct attached *a, unsigned bit)
{
	struct timespec now;
	uint32_t lease_s;

	clock_gettime(CLOCK_MONOTONIC, &now);
	lease_s = (uint32_t)now.tv_sec + LEASE_S;
	if (!attach_read(a))
		return false;
	if (!write_field(a, offsetof(struct ec_control, lease_s) + number_of(bit) * sizeof(lease_s), &lease_s,
			 sizeof(lease_s)))
		return false;
	return (a->control.wanted & bit) != 0 || write_wanted(a, (uint8_t)(a->control.wanted | bit));
}

void attach_release(struct attached *a, unsigned bit)
{
	if (attach_read(a))
		(void)write_wanted(a, (uint8_t)(a->control.wanted & ~bit));
}

void attach_ask_for_objects(struct attached *a, bool on)
{
	uint64_t bits = on ? EC_CONTROL_TRACE_OBJECTS : 0;

	(void)write_field(a, offsetof(struct ec_control, trace[1]), &bits, sizeof(bits));
}

static bool is_on(const struct attached *a, unsigned bit)
{
	return (a->control.on & bit) != 0 && a->control.pid == a->own_pid;
}

bool attach_wait(struct attached *a, unsigned bit, unsigned wait_ms)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	unsigned ms;

	for (ms = 0; attach_read(a) && !is_on(a, bit); ms += 10) {
		if (ms >= wait_ms || !attach_want(a, bit))
			return false;
		nanosleep(&tick, NULL);
	}
	return is_on(a, bit);
}

const char *attach_why_not_yet(const struct attached *a)
{
	if (process_state(a->process.pid) == 'T')
		return text("process %d is stopped. Let it go on: kill -CONT %d.", (int)a->process.pid,
			    (int)a->process.pid);
	return text("no event loop of process %d has turned since: nothing happens there now, or a callback runs for "
		    "long. It is seen from the next turn on. If the loop does turn, the process had no room for the "
		    "data: then its log says so.",
		    (int)a->process.pid);
}

/* ---------------------------------------------------------------- its files */

int attach_open(const struct attached *a, const struct ec_control_file *f)
{
	int fd = process_open_fd(a->process.pid, f->fd);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == f->device && st.st_ino == f->inode)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}
