/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_BACKOFF_H
#define LIBASYNC_BACKOFF_H

/*
 * tmoq<T, &T::link, minto, maxsend>: requests that are sent again, ever more rarely, until they are
 * answered. The link is a tmoq_entry<T>, and T has two methods:
 *
 *   void xmit (int sendno)   send; sendno is 0 for the first time, 1 for the second, ...
 *   void timeout ()          there was no answer; the request has left the queue
 *
 * start sends at once. The second sending follows after minto seconds, and each pause is twice the one
 * before. timeout follows the pause after the sending number maxsend. The answer removes the request.
 *
 * Both methods may remove and delete the request, and start others.
 *
 * Threads: a queue belongs to one color, and its methods are called in the color in which start was.
 * Ownership: the queue owns no request. It forgets those that it has when it dies.
 */
#include "async.h"
#include "callback.h"
#include "libasync_container.h"
#include "list.h"

namespace libasync
{

/* The color of the callback that runs on this thread; 0 if none does. Any thread. */
LIBASYNC_EXPORT color tmoq_color();

} // namespace libasync

template <class T> class tmoq_entry
{
public:
	tailq_entry<T> link;

	/* Until the next sending; how many there were. */
	timecb_t *timer;
	int sendno;

	tmoq_entry() : timer(NULL), sendno(0) {}
	tmoq_entry(const tmoq_entry &) : timer(NULL), sendno(0) {}
	tmoq_entry &operator=(const tmoq_entry &) { return *this; }
};

template <class T, tmoq_entry<T> T::*field, u_int minto = 2, u_int maxsend = 5> class tmoq
{
public:
	/* The requests in the queue, in no particular order. */
	struct head {
		T *first;

		head() : first(NULL) {}
	};

private:
	static_assert(maxsend > 0 && maxsend < 32, "tmoq: requests are sent 1 to 31 times");

	/* Linked by hand: the link is inside of a tmoq_entry, which no pointer to a member of T names. */
	head requests;

	static tmoq_entry<T> &entry(T *p) { return p->*field; }

	void link(T *p)
	{
		tailq_entry<T> &e = entry(p).link;

		e.next = requests.first;
		e.pprev = &requests.first;
		if (e.next)
			entry(e.next).link.pprev = &e.next;
		requests.first = p;
	}

	void unlink(T *p)
	{
		tailq_entry<T> &e = entry(p).link;

		*e.pprev = e.next;
		if (e.next)
			entry(e.next).link.pprev = e.pprev;
		e.pprev = NULL;
	}

	/* The last thing that is done with `p`: the method may delete it. */
	void send(T *p)
	{
		tmoq_entry<T> &e = entry(p);
		const int sendno = e.sendno++;

		e.timer = delaycb(static_cast<time_t>(minto) << sendno, 0,
				  cwrap(this, &tmoq::due, p, libasync::tmoq_color()));
		p->xmit(sendno);
	}

	void due(T *p)
	{
		entry(p).timer = NULL;
		if (entry(p).sendno < static_cast<int>(maxsend)) {
			send(p);
			return;
		}
		unlink(p);
		p->timeout();
	}

public:
	tmoq() {}
	~tmoq()
	{
		while (requests.first)
			remove(requests.first);
	}
	tmoq(const tmoq &) = delete;
	tmoq &operator=(const tmoq &) = delete;

	/* Send `p` for the first time. It is in no queue. */
	void start(T *p)
	{
		LIBASYNC_CHECK(!entry(p).link.pprev, "tmoq: the request is in a queue already");
		entry(p).sendno = 0;
		link(p);
		send(p);
	}

	/* `p` needs no further sending. It is in the queue. */
	void remove(T *p)
	{
		LIBASYNC_CHECK(entry(p).link.pprev, "tmoq: the request to remove is in no queue");
		timecb_remove(entry(p).timer);
		entry(p).timer = NULL;
		unlink(p);
	}
};

#endif
