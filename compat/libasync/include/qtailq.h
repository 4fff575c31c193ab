/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_QTAILQ_H
#define LIBASYNC_QTAILQ_H

/*
 * qtailq_t<T>: a queue that owns copies of what is put into it.
 */
#include "libasync_container.h"
#include "list.h"

template <class T> class qtailq_slot_t
{
	T value;

public:
	tailq_entry<qtailq_slot_t> link;

	qtailq_slot_t(const T &t) : value(t) {}
	T obj() const { return value; }
};

template <class T> class qtailq_t
{
	typedef qtailq_slot_t<T> slot;

	tailq<slot, &slot::link> slots;

public:
	qtailq_t() {}
	~qtailq_t()
	{
		while (slot *s = slots.first)
			delete slots.remove(s);
	}
	qtailq_t(const qtailq_t &) = delete;
	qtailq_t &operator=(const qtailq_t &) = delete;

	void push_back(const T &obj) { slots.insert_tail(new slot(obj)); }
	void push_front(const T &obj) { slots.insert_head(new slot(obj)); }

	/* Remove the first object, into *out if that is not NULL. False: the queue is empty and *out as it was. */
	bool pop_front(T *out)
	{
		slot *const s = slots.first;

		if (!s)
			return false;
		slots.remove(s);
		if (out)
			*out = s->obj();
		delete s;
		return true;
	}

	bool empty() const { return slots.first == NULL; }
};

#endif
