/*
 * Two kinds of pollers, as the engine treats them differently: "epoll" is a set that the kernel
 * keeps, in which a change takes effect at once, also for who sleeps in it, and a closed
 * descriptor is forgotten; "poll" and "select" are given a copy of a user's set by prepare(),
 * and a change is seen by the next wait() only.
 */
#include "system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ec.h"
#include "core/os/list.h"
#include "core/io/poller.h"
#include "core/lock/sync.h"
#include "core/os/topology.h"
#include "core/os/wakeup.h"
#include "sched.h"

/* ---------------------------------------------------------------- descriptors */

struct file {
	bool is_open;
	unsigned ready;
	unsigned bytes;
	unsigned edges;			/* how often something became ready */
};

struct watch {
	unsigned want;			/* 0: not watched */
	uint32_t cookie;
	unsigned edges;			/* reported, for EC_ET */
};

struct poller {
	struct ec_poller base;
	struct ec_list link;
	struct watch set[SIM_FDS_MAX];
	struct watch copy[SIM_FDS_MAX];	/* what wait() sees, of a user's set */
	struct ec_ready ready[SIM_FDS_MAX];
};

static struct file files[SIM_FDS_MAX];
static struct ec_list pollers = { &pollers, &pollers };
static unsigned polls, reports;

static void poller_set_base(struct poller *p, const struct ec_poller_ops *ops)
{
	p->base.ops = ops;
	p->base.ready = p->ready;
	p->base.kernel_fd = -1;
}

void sim_system_reset(void)
{
	memset(files, 0, sizeof(files));
	ec_list_init(&pollers);
	polls = reports = 0;
}

static bool is_open(int fd)
{
	return fd >= 0 && fd < SIM_FDS_MAX && files[fd].is_open;
}

int sim_fd_open(void)
{
	int fd;

	EC_POINT();
	for (fd = 3; fd < SIM_FDS_MAX; fd++) {
		if (files[fd].is_open)
			continue;
		files[fd] = (struct file){ .is_open = true };
		return fd;
	}
	return -1;
}

void sim_fd_close(int fd)
{
	struct ec_list *at;
	struct poller *p;

	EC_POINT();
	sim_check(is_open(fd));
	files[fd].is_open = false;
	for (at = pollers.next; at != &pollers; at = at->next) {
		p = ec_container_of(at, struct poller, link);
		if (p->base.ops->is_kernel_set)
			p->set[fd].want = 0;
	}
}

/* Sleepers look again, each for itself. */
static void wake_pollers(void)
{
	struct ec_list *at;

	for (at = pollers.next; at != &pollers; at = at->next)
		sim_wake(ec_container_of(at, struct poller, link), SIM_THREADS_MAX);
}

void sim_fd_set(int fd, unsigned what)
{
	EC_POINT();
	sim_check(is_open(fd));
	files[fd].ready |= what;
	files[fd].edges++;
	wake_pollers();
}

void sim_fd_clear(int fd, unsigned what)
{
	EC_POINT();
	sim_check(is_open(fd));
	files[fd].ready &= ~what;
}

void sim_fd_write(int fd)
{
	EC_POINT();
	sim_check(is_open(fd));
	sim_note("writes to %d", fd);
	files[fd].bytes++;
	files[fd].ready |= EC_READ;
	files[fd].edges++;
	wake_pollers();
}

bool sim_fd_read(int fd)
{
	EC_POINT();
	sim_check(is_open(fd));
	if (files[fd].bytes == 0)
		return false;
	if (--files[fd].bytes == 0)
		files[fd].ready &= ~(unsigned)EC_READ;
	return true;
}

unsigned sim_fd_bytes(int fd)
{
	return files[fd].bytes;
}

unsigned sim_polls(void)
{
	return polls;
}

unsigned sim_reports(void)
{
	return reports;
}

/* ---------------------------------------------------------------- pollers */

static int poller_open(const struct ec_poller_ops *ops, struct ec_poller **ret)
{
	struct poller *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -ENOMEM;
	poller_set_base(p, ops);
	p->base.is_changed = true;	/* for good: each wait prepares */
	ec_list_push_back(&pollers, &p->link);
	*ret = &p->base;
	return 0;
}

static void poller_close(struct ec_poller *base)
{
	struct poller *p = ec_container_of(base, struct poller, base);

	ec_list_remove(&p->link);
	free(p);
}

static int poller_reopen(struct ec_poller *base)
{
	struct poller *p = ec_container_of(base, struct poller, base);

	EC_POINT();
	memset(p->set, 0, sizeof(p->set));
	return 0;
}

static int poller_watch(struct ec_poller *base, int fd, unsigned had, unsigned want, uint32_t cookie)
{
	struct poller *p = ec_container_of(base, struct poller, base);

	(void)had;
	EC_POINT();
	if (want != 0 && !is_open(fd))
		return -EBADF;
	if (fd < 0 || fd >= SIM_FDS_MAX)
		return 0;
	sim_note("watches %d for %#x", fd, want);
	/* A user's set has no room for it. */
	p->set[fd] = (struct watch){ .want = want, .cookie = p->base.ops->is_kernel_set ? cookie : 0 };
	if (p->base.ops->is_kernel_set)
		sim_wake(p, SIM_THREADS_MAX);
	return 0;
}

static int poller_prepare(struct ec_poller *base)
{
	struct poller *p = ec_container_of(base, struct poller, base);

	EC_POINT();
	memcpy(p->copy, p->set, sizeof(p->copy));
	return 0;
}

static bool report(struct watch *w, int fd, struct ec_ready *ret)
{
	const struct file *f = &files[fd];
	unsigned what = w->want & f->ready & (EC_READ | EC_WRITE);

	if (what == 0 || !f->is_open || ((w->want & EC_ET) != 0 && w->edges == f->edges))
		return false;
	w->edges = f->edges;
	*ret = (struct ec_ready){ .what = what, .id = ec_watch_id(fd, w->cookie) };
	return true;
}

/* In an order that the seed decides: the kernel's is not the user's either. */
static int collect(struct poller *p)
{
	struct watch *set = p->base.ops->is_kernel_set ? p->set : p->copy;
	int first = (int)sim_random(SIM_FDS_MAX), i, fd, num = 0;

	for (i = 0; i < SIM_FDS_MAX; i++) {
		fd = (first + i) % SIM_FDS_MAX;
		if (report(&set[fd], fd, &p->ready[num]))
			num++;
	}
	return num;
}

static int poller_wait(struct ec_poller *base, int64_t wait_ns)
{
	struct poller *p = ec_container_of(base, struct poller, base);
	int64_t deadline = wait_ns < 0 ? SIM_FOREVER : sim_clock_ns() + wait_ns;
	int num;

	EC_POINT();
	polls++;
	while ((num = collect(p)) == 0) {
		if (sim_block(p, deadline, "its poller") == -ETIMEDOUT)
			break;
	}
	sim_meet();
	reports += (unsigned)num;
	sim_note("poller reports %d", num);
	/* What it reports may be old news by the time the caller reads it. */
	EC_POINT();
	return num;
}

static int epoll_open(bool precise, struct ec_poller **ret)
{
	(void)precise;
	return poller_open(&ec_poller_epoll, ret);
}

static int poll_open(bool precise, struct ec_poller **ret)
{
	(void)precise;
	return poller_open(&ec_poller_poll, ret);
}

static int select_open(bool precise, struct ec_poller **ret)
{
	(void)precise;
	return poller_open(&ec_poller_select, ret);
}

#define REST                                                                                       \
	.close = poller_close, .reopen = poller_reopen, .watch = poller_watch,                     \
	.prepare = poller_prepare, .wait = poller_wait, .input = EC_READ

const struct ec_poller_ops ec_poller_epoll = {
	.name = "epoll", .features = EC_FEATURE_ET | EC_FEATURE_O1, .is_kernel_set = true, .open = epoll_open, REST
};
const struct ec_poller_ops ec_poller_poll = { .name = "poll", .open = poll_open, REST };
const struct ec_poller_ops ec_poller_select = { .name = "select", .open = select_open, REST };

/* ---------------------------------------------------------------- wake-ups */

int ec_wakeup_open(struct ec_wakeup *w)
{
	int fd = sim_fd_open();

	if (fd < 0)
		return -EMFILE;
	w->fd = fd;
	return 0;
}

void ec_wakeup_close(struct ec_wakeup *w)
{
	sim_fd_close(w->fd);
	w->fd = -1;
}

void ec_wakeup_send_fd(int fd)
{
	sim_note("sends a wake-up to %d", fd);
	sim_fd_set(fd, EC_READ);
}

void ec_wakeup_send(struct ec_wakeup *w)
{
	ec_wakeup_send_fd(w->fd);
}

void ec_wakeup_drain(struct ec_wakeup *w)
{
	sim_fd_clear(w->fd, EC_READ);
}

/* ---------------------------------------------------------------- topology */

unsigned ec_topology_quota(void)
{
	return UINT32_MAX;
}

unsigned ec_topology_cpus(unsigned quota)
{
	(void)quota;
	return 2;
}

void ec_topology_victims(unsigned id, unsigned num, uint16_t *ret)
{
	unsigned i;

	for (i = 1; i < num; i++)
		*ret++ = (uint16_t)((id + i) % num);
}
