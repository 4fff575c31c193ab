#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "epoll_pwait2.h"
#include "observe/late.h"
#include "os/thread.h"
#include "os/tsan.h"

enum { READY_FIRST = 32, READY_MAX = 4096 };

/* The kernel writes its reports directly to base.ready. */
_Static_assert(sizeof(struct ec_ready) == sizeof(struct epoll_event) &&
		       offsetof(struct ec_ready, what) == offsetof(struct epoll_event, events) &&
		       offsetof(struct ec_ready, id) == offsetof(struct epoll_event, data),
	       "a report has the layout of the kernel's");

struct epoll_poller {
	struct ec_poller base;

	/* own: the thread in wait() */
	int cap;
	bool was_full;			/* the last wait filled the list */
	bool precise;			/* use epoll_pwait2 */
};

static struct epoll_poller *cast(struct ec_poller *p)
{
	return (struct epoll_poller *)p;
}

/*
 * ThreadSanitizer takes each call on a descriptor's number for an access to it. But a lock of ours orders these calls,
 * which it does not see. It does not see syscall() either.
 */
static int create(void)
{
	return ec_tsan_is_on() ? (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC) : epoll_create1(EPOLL_CLOEXEC);
}

static int control(int kernel_fd, int op, int fd, struct epoll_event *ev)
{
	if (ec_tsan_is_on())
		return (int)syscall(SYS_epoll_ctl, kernel_fd, op, fd, ev);
	return epoll_ctl(kernel_fd, op, fd, ev);
}

static int grow(struct epoll_poller *p, int cap)
{
	struct ec_ready *ready = ec_malloc((size_t)cap * sizeof(*ready));

	if (ready == NULL)
		return -ENOMEM;
	ec_free(p->base.ready);
	p->base.ready = ready;
	p->cap = cap;
	return 0;
}

static int epoll_open(bool precise, struct ec_poller **ret)
{
	struct epoll_poller *p = ec_calloc(1, sizeof(*p));
	int r;

	if (p == NULL)
		return -ENOMEM;
	p->base.ops = &ec_poller_epoll;
	p->precise = precise && !ec_tsan_is_on();	/* it does not know epoll_pwait2, and would delay signals */
	r = grow(p, READY_FIRST);
	if (r < 0)
		goto free_poller;
	p->base.kernel_fd = create();
	if (p->base.kernel_fd < 0) {
		r = -errno;
		goto free_list;
	}
	*ret = &p->base;
	return 0;

free_list:
	ec_free(p->base.ready);
free_poller:
	ec_free(p);
	return r;
}

static void epoll_shut(struct ec_poller *base)
{
	ec_close(base->kernel_fd);
	ec_free(base->ready);
	ec_free(cast(base));
}

static int epoll_reopen(struct ec_poller *base)
{
	int fd = create(), r = 0;

	if (fd < 0)
		return -errno;
	if (ec_tsan_is_on()) {
		/* Another thread may have waited for the old one, so the number stays, which ThreadSanitizer knows. */
		if (syscall(SYS_dup3, fd, base->kernel_fd, O_CLOEXEC) < 0)
			r = -errno;
		(void)syscall(SYS_close, fd);
		return r;
	}
	ec_close(base->kernel_fd);
	base->kernel_fd = fd;
	return 0;
}

static uint32_t encode(unsigned want)
{
	uint32_t events = 0;

	if ((want & EC_READ) != 0)
		events |= EPOLLIN;
	if ((want & EC_WRITE) != 0)
		events |= EPOLLOUT;
	if ((want & EC_CLOSED) != 0)
		events |= EPOLLRDHUP;
	if ((want & EC_ET) != 0)
		events |= EPOLLET;
	return events;
}

/*
 * The program may have closed the descriptor before this call, and another thread may have opened a file with the
 * same number. That does no harm: the kernel searches for the pair of number and file, and finds nothing. syscall(),
 * because ThreadSanitizer would report a race on the number, also where it sees our locks.
 */
static int epoll_forget(struct ec_poller *p, int fd)
{
	if (syscall(SYS_epoll_ctl, p->kernel_fd, EPOLL_CTL_DEL, fd, NULL) == 0)
		return 0;
	return errno == ENOENT || errno == EBADF || errno == EPERM ? 0 : -errno;
}

static int refuse(int op, uint32_t events, int fd)
{
	int err = errno;

	ec_late_log_errno(EC_LOG_WARN, err, "Epoll %s(%u) on fd %d failed", op == EPOLL_CTL_ADD ? "ADD" : "MOD", events,
			  fd);
	return -err;
}

/* If the caller and the kernel disagree about whether the descriptor is watched, the kernel is right. */
static int epoll_watch(struct ec_poller *p, int fd, unsigned had, unsigned want, uint32_t cookie)
{
	struct epoll_event ev = { .events = encode(want), .data.u64 = ec_watch_id(fd, cookie) };
	int op = had == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (want == 0)
		return epoll_forget(p, fd);
	if (control(p->kernel_fd, op, fd, &ev) == 0)
		return 0;
	if (op == EPOLL_CTL_ADD && errno == EEXIST)
		op = EPOLL_CTL_MOD;
	else if (op == EPOLL_CTL_MOD && (errno == ENOENT || errno == EPERM))	/* the number has another file now */
		op = EPOLL_CTL_ADD;
	else
		return refuse(op, ev.events, fd);
	return control(p->kernel_fd, op, fd, &ev) == 0 ? 0 : refuse(op, ev.events, fd);
}

static struct epoll_event *kernel_list(struct epoll_poller *p)
{
	return (struct epoll_event *)(void *)p->base.ready;
}

static int wait_ms(struct epoll_poller *p, int64_t wait_ns)
{
	enum { NS_PER_MS = 1000000, DAY_MS = 24 * 60 * 60 * 1000 };
	int ms = wait_ns < 0 ? -1 : 0;

	if (wait_ns > 0)
		ms = wait_ns / NS_PER_MS >= DAY_MS ? DAY_MS : (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS);
	return epoll_wait(p->base.kernel_fd, kernel_list(p), p->cap, ms);
}

static int wait_precise(struct epoll_poller *p, int64_t wait_ns)
{
	struct timespec ts = ec_poller_timespec(wait_ns);
	int num = epoll_pwait2(p->base.kernel_fd, kernel_list(p), p->cap, &ts, NULL);

	/* EPERM: a sandbox that does not know the call, such as a container's. The call itself never fails so. */
	if (num < 0 && (errno == ENOSYS || errno == EPERM)) {
		p->precise = false;
		return wait_ms(p, wait_ns);
	}
	return num;
}

/* An error or a hang-up counts as readable and writable. RDHUP alone concerns only events with EC_CLOSED. */
static unsigned epoll_decode(uint32_t events)
{
	unsigned what = 0;

	if ((events & EPOLLERR) != 0)
		return EC_READ | EC_WRITE;
	if ((events & EPOLLHUP) != 0 && (events & EPOLLRDHUP) == 0)
		return EC_READ | EC_WRITE;
	if ((events & EPOLLIN) != 0)
		what |= EC_READ;
	if ((events & EPOLLOUT) != 0)
		what |= EC_WRITE;
	if ((events & EPOLLRDHUP) != 0)
		what |= EC_CLOSED;
	return what;
}

static int epoll_wait_ready(struct ec_poller *base, int64_t wait_ns)
{
	struct epoll_poller *p = cast(base);
	int num;

	if (__builtin_expect(p->was_full, 0) && p->cap < READY_MAX)
		(void)grow(p, p->cap * 2);	/* if this fails, a full list only means more calls */
	num = p->precise && wait_ns > 0 ? wait_precise(p, wait_ns) : wait_ms(p, wait_ns);
	if (num < 0)
		return -errno;
	p->was_full = num == p->cap;
	return num;
}

const struct ec_poller_ops ec_poller_epoll = {
	.name = "epoll",
	.features = EC_FEATURE_ET | EC_FEATURE_O1 | EC_FEATURE_EARLY_CLOSE,
	.is_kernel_set = true,
	.open = epoll_open,
	.close = epoll_shut,
	.reopen = epoll_reopen,
	.watch = epoll_watch,
	.wait = epoll_wait_ready,
	.decode = epoll_decode,
	.input = EPOLLIN,
};
