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

/* After an error of a system call, which errno tells. */
static const char *not_observed(pid_t pid)
{
	return text("process %d cannot be observed: %s.", (int)pid, attach_why(errno));
}

static const char *other_version(pid_t pid)
{
	return text("process %d has another version of libevent-smp, which this evsmp cannot observe. Restart the "
		    "program, or use the evsmp of its version.",
		    (int)pid);
}

const char *attach_try(pid_t pid, struct attached *ret, enum status *ret_status)
{
	struct process *p = &ret->process;
	uint64_t size = 0;

	errno = 0;
	memset(ret, 0, sizeof(*ret));
	ret->memory = -1;
	*ret_status = EVSMP_SYSTEM;
	if (!process_read(pid, p))
		return not_observed(pid);
	if (p->engine == NULL && process_state(pid) == 'Z') {
		errno = ESRCH;
		return not_observed(pid);
	}
	ret->own_pid = process_own_pid(pid);
	if (p->engine == NULL) {
		*ret_status = EVSMP_NOT_IN_USE;
		return text("process %d (%s) does not have libevent-smp loaded. Start it with `evsmp run`.", (int)pid,
			    shown(p->program));
	}
	if (!process_variable(p, "ec_control", &ret->at, &size) || size != sizeof(ret->control))
		return errno == EACCES || errno == EPERM ? not_observed(pid) : other_version(pid);
	ret->memory = process_open_memory(pid, O_RDWR);
	if (ret->memory < 0)
		return not_observed(pid);
	errno = 0;
	if (attach_read(ret))
		return NULL;
	attach_close(ret);
	return errno != 0 ? not_observed(pid) : other_version(pid);
}

void attach_process(pid_t pid, struct attached *ret)
{
	enum status status;
	const char *why = attach_try(pid, ret, &status);

	if (why != NULL)
		die(status, "%s", why);
}

void attach_close(struct attached *a)
{
	if (a->memory >= 0)
		close(a->memory);
	a->memory = -1;
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

static unsigned number_of(unsigned bit)
{
	return (unsigned)__builtin_ctz(bit);
}

static bool write_lease(const struct attached *a, unsigned bit)
{
	size_t at = offsetof(struct ec_control, lease_s) + number_of(bit) * sizeof(uint32_t);
	struct timespec now;
	uint32_t lease_s;

	clock_gettime(CLOCK_MONOTONIC, &now);
	lease_s = (uint32_t)now.tv_sec + LEASE_S;
	return write_field(a, at, &lease_s, sizeof(lease_s));
}

static bool write_byte(const struct attached *a, size_t offset, unsigned value)
{
	uint8_t byte = (uint8_t)value;

	return write_field(a, offset, &byte, sizeof(byte));
}

/* `keep` of the bits that are there, and what this tool asks for. */
static bool write_objects(const struct attached *a, uint64_t keep)
{
	uint64_t before = a->control.trace[1], bits = before & keep;

	if (a->has_objects)
		bits |= EC_CONTROL_TRACE_OBJECTS;
	return bits == before || write_field(a, offsetof(struct ec_control, trace[1]), &bits, sizeof(bits));
}

/* The lease first: a loop may be about to find out that an older one has run out. */
bool attach_want(struct attached *a, unsigned bit)
{
	unsigned wanted;

	if (!write_lease(a, bit) || !attach_read(a))
		return false;
	if (bit == EC_OBSERVE_TRACE && !write_objects(a, UINT64_MAX))
		return false;
	wanted = a->control.wanted;
	return (wanted & bit) != 0 || write_byte(a, offsetof(struct ec_control, wanted), wanted | bit);
}

bool attach_take_over(struct attached *a, unsigned bit)
{
	unsigned here;

	if (!attach_want(a, bit))
		return false;
	here = a->control.wanted_here;
	if ((here & bit) == 0)
		return true;
	if (bit == EC_OBSERVE_TRACE && !write_objects(a, EC_CONTROL_TRACE_OBJECTS))
		return false;
	return write_byte(a, offsetof(struct ec_control, wanted_here), here & ~bit);
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
