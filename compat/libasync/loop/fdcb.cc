/*
 * Callbacks of descriptors.
 *
 * A watch is one registration: an event and its callback. The table says which watch a descriptor has; a watch that is
 * replaced leaves it at once. A watch of the caller's own color is freed then: its callback, if it runs, is further up
 * on this stack, and run_watch holds what it needs. A watch of another color is freed by the event's finalizer, which
 * the engine runs in that color, after the callback.
 */
#include "async.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/epoll.h>
#include <unistd.h>
#include <vector>

#include "log/die.h"
#include "loop/loop.h"

namespace
{

struct watch {
	struct ec_event ev;
	cbv cb;
	uint32_t color;

	explicit watch(cbv c) : cb(std::move(c)), color(cb->get_color().value()) {}
};

struct row {
	watch *of[2];
};

/* table_lock; never freed, because callbacks may run while static objects are destroyed */
std::vector<row> &rows = *new std::vector<row>;

void run_watch(int, short, void *arg)
{
	cbv cb = static_cast<watch *>(arg)->cb;

	libasync::note_call();
	cb();
}

void free_watch(struct ec_event *, void *arg)
{
	delete static_cast<watch *>(arg);
}

/* It is in no table any more, and its callback does not start any more. Returns it if the caller must free it. */
watch *stop(watch *w)
{
	if (w == nullptr)
		return nullptr;
	if (libasync::is_own_color(w->color)) {
		(void)ec_event_del(&w->ev, EC_DEL_NOBLOCK);
		return w;
	}
	libasync::check(ec_event_finalize(&w->ev, free_watch, false), "fdcb");
	return nullptr;
}

/*
 * Is it a standard descriptor that leads to a kind of file that is always ready? The engine says so too, but warns, and
 * these are often redirected to a file or to /dev/null.
 */
bool is_redirected(int fd)
{
	struct epoll_event ev = {};
	int epfd, r;

	if (fd > 2)
		return false;
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (epfd < 0)
		return false;
	r = epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) < 0 ? errno : 0;
	(void)close(epfd);
	return r == EPERM;
}

int arm(watch *w, int fd, selop op)
{
	static const timeval each_turn = { 0, 1 };
	struct ec_base *base = libasync::engine();
	int r = -EPERM;

	if (!is_redirected(fd)) {
		short events = static_cast<short>((op == selread ? EC_READ : EC_WRITE) | EC_PERSIST);

		(void)ec_event_init(&w->ev, base, fd, events, run_watch, w);
		(void)ec_event_set_color(&w->ev, w->color);
		r = ec_event_add(&w->ev, nullptr);
	}
	if (r != -EPERM)
		return r;
	/* The poller refuses what is always ready: it is due in each turn. */
	(void)ec_event_init(&w->ev, base, -1, EC_PERSIST, run_watch, w);
	(void)ec_event_set_color(&w->ev, w->color);
	return ec_event_add(&w->ev, &each_turn);
}

/* Let `w`, or nothing, be the watch. Returns the one before. */
watch *replace(int fd, selop op, watch *w)
{
	watch *old;

	if (size_t(fd) >= rows.size()) {
		if (w == nullptr)
			return nullptr;
		rows.resize(std::max(size_t(fd) + 1, rows.size() * 2));
	}
	old = rows[size_t(fd)].of[op];
	rows[size_t(fd)].of[op] = w;
	return old;
}

} // namespace

void _fdcb(int fd, selop op, cbv::ptr cb, const char *file, int line)
{
	watch *w, *old;
	int r;

	if (fd < 0 || (op != selread && op != selwrite))
		libasync::die("%s:%d: fdcb: descriptor %d, operation %d", file, line, fd, int(op));
	w = cb == NULL ? nullptr : new watch(cb);
	{
		libasync::table_lock lock;

		old = stop(replace(fd, op, w));
		r = w == nullptr ? 0 : arm(w, fd, op);
	}
	delete old;	/* not under the lock: what it holds may call fdcb */
	if (r < 0)
		libasync::die("%s:%d: fdcb: descriptor %d: %s", file, line, fd, strerror(-r));
}

void libasync::fdcb_remove_and_wait(int fd, selop op)
{
	watch *old;

	if (fd < 0 || (op != selread && op != selwrite))
		return;
	{
		table_lock lock;

		old = replace(fd, op, nullptr);
	}
	if (old == nullptr)
		return;
	if (!is_own_color(old->color))
		(void)ec_event_del(&old->ev, EC_DEL_BLOCK);
	delete stop(old);
}
