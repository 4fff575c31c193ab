#include "poller.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "ec.h"

struct poll_poller {
	struct ec_poller base;

	/* src: the set, dense, and the place of each descriptor in it (index + 1) */
	struct pollfd *set;
	int num, cap;
	int *where;
	int where_cap;

	/* src, while no thread is in wait(); that thread's own in wait(): the set as of prepare() */
	struct pollfd *copy;
	int copy_num, copy_cap, ready_cap;
};

static struct poll_poller *cast(struct ec_poller *p)
{
	return (struct poll_poller *)p;
}

static int poll_open(bool precise, struct ec_poller **ret)
{
	struct poll_poller *p = ec_calloc(1, sizeof(*p));

	(void)precise;			/* ppoll is as precise as the timers are */
	if (p == NULL)
		return -ENOMEM;
	p->base.ops = &ec_poller_poll;
	p->base.kernel_fd = -1;
	*ret = &p->base;
	return 0;
}

static void poll_close(struct ec_poller *base)
{
	struct poll_poller *p = cast(base);

	ec_free(p->set);
	ec_free(p->where);
	ec_free(p->copy);
	ec_free(base->ready);
	ec_free(p);
}

static int poll_reopen(struct ec_poller *base)
{
	struct poll_poller *p = cast(base);

	p->num = 0;
	p->base.is_changed = true;
	if (p->where != NULL)
		memset(p->where, 0, (size_t)p->where_cap * sizeof(*p->where));
	return 0;
}

static int where_reserve(struct poll_poller *p, int fd)
{
	int cap = p->where_cap == 0 ? 64 : p->where_cap, *where;

	if (fd < p->where_cap)
		return 0;
	while (cap <= fd)
		cap *= 2;
	where = ec_realloc(p->where, (size_t)cap * sizeof(*where));
	if (where == NULL)
		return -ENOMEM;
	memset(where + p->where_cap, 0, (size_t)(cap - p->where_cap) * sizeof(*where));
	p->where = where;
	p->where_cap = cap;
	return 0;
}

static int set_reserve(struct poll_poller *p)
{
	int cap = p->cap == 0 ? 32 : p->cap * 2;
	struct pollfd *set;

	if (p->num < p->cap)
		return 0;
	set = ec_realloc(p->set, (size_t)cap * sizeof(*set));
	if (set == NULL)
		return -ENOMEM;
	p->set = set;
	p->cap = cap;
	return 0;
}

static short encode(unsigned want)
{
	short events = 0;

	if ((want & EC_READ) != 0)
		events |= POLLIN;
	if ((want & EC_WRITE) != 0)
		events |= POLLOUT;
	if ((want & EC_CLOSED) != 0)
		events |= POLLRDHUP;
	return events;
}

/* The last entry of the set takes the place of the removed one. */
static void forget(struct poll_poller *p, int fd)
{
	int at;

	if (fd >= p->where_cap || p->where[fd] == 0)
		return;
	at = p->where[fd] - 1;
	p->set[at] = p->set[--p->num];
	p->where[p->set[at].fd] = at + 1;
	p->where[fd] = 0;
}

static int poll_watch(struct ec_poller *base, int fd, unsigned had, unsigned want, uint32_t cookie)
{
	struct poll_poller *p = cast(base);
	int r;

	(void)had;
	(void)cookie;
	if (fd < 0 || fd > INT32_MAX / 2)
		return -EINVAL;
	p->base.is_changed = true;
	if (want == 0) {
		forget(p, fd);
		return 0;
	}
	r = where_reserve(p, fd);
	if (r < 0)
		return r;
	if (p->where[fd] == 0) {
		r = set_reserve(p);
		if (r < 0)
			return r;
		p->set[p->num].fd = fd;
		p->where[fd] = ++p->num;
	}
	p->set[p->where[fd] - 1].events = encode(want);
	return 0;
}

static int poll_prepare(struct ec_poller *base)
{
	struct poll_poller *p = cast(base);
	struct ec_ready *ready;
	struct pollfd *copy;

	if (p->copy_cap < p->num) {
		copy = ec_realloc(p->copy, (size_t)p->cap * sizeof(*copy));
		if (copy == NULL)
			return -ENOMEM;
		p->copy = copy;
		p->copy_cap = p->cap;
	}
	if (p->ready_cap < p->num) {
		ready = ec_realloc(base->ready, (size_t)p->cap * sizeof(*ready));
		if (ready == NULL)
			return -ENOMEM;
		base->ready = ready;
		p->ready_cap = p->cap;
	}
	if (p->num != 0)
		memcpy(p->copy, p->set, (size_t)p->num * sizeof(*p->copy));
	p->copy_num = p->num;
	base->is_changed = false;
	return 0;
}

/* A hang-up, an error or a closed descriptor counts as readable and writable: both report the error. */
static unsigned decode(short events)
{
	unsigned what = 0;

	if ((events & (POLLHUP | POLLERR | POLLNVAL)) != 0)
		events |= POLLIN | POLLOUT;
	if ((events & POLLIN) != 0)
		what |= EC_READ;
	if ((events & POLLOUT) != 0)
		what |= EC_WRITE;
	if ((events & POLLRDHUP) != 0)
		what |= EC_CLOSED;
	return what;
}

/* libc's poll costs less than its ppoll, and knows these two times, too. */
static inline int ask(struct poll_poller *p, int64_t wait_ns)
{
	struct timespec ts;

	if (wait_ns <= 0)
		return poll(p->copy, (nfds_t)p->copy_num, wait_ns < 0 ? -1 : 0);
	ts = ec_poller_timespec(wait_ns);
	return ppoll(p->copy, (nfds_t)p->copy_num, &ts, NULL);
}

static int poll_wait(struct ec_poller *base, int64_t wait_ns)
{
	struct poll_poller *p = cast(base);
	int i, left, num = 0;

	left = ask(p, wait_ns);
	if (left <= 0)
		return left == 0 ? 0 : -errno;
	for (i = 0; num < left; i++) {
		if (p->copy[i].revents == 0)
			continue;
		base->ready[num].id = ec_watch_id(p->copy[i].fd, 0);
		base->ready[num++].what = decode(p->copy[i].revents);
	}
	ec_ready_shuffle(base, num);
	return num;
}

const struct ec_poller_ops ec_poller_poll = {
	.name = "poll",
	.features = EC_FEATURE_FDS | EC_FEATURE_EARLY_CLOSE,
	.open = poll_open,
	.close = poll_close,
	.reopen = poll_reopen,
	.watch = poll_watch,
	.prepare = poll_prepare,
	.wait = poll_wait,
	.input = EC_READ,
};
