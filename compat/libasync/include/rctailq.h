/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_RCTAILQ_H
#define LIBASYNC_RCTAILQ_H

/*
 * rctailq_t<T, &T::link>: as rclist_t, and elements may also be inserted at the tail. The link is a
 * rctailq_entry_t<T>.
 */
#include "rclist.h"

template <class T> struct rctailq_entry_t : libasync::rc_entry<T> {
	rctailq_entry_t() {}
	~rctailq_entry_t() {}
	rctailq_entry_t(const rctailq_entry_t &) = default;
	rctailq_entry_t &operator=(const rctailq_entry_t &) = default;
};

template <class T> struct rctailq_node_t : libasync::rc_node<T> {
	rctailq_node_t(ptr<T> e) : libasync::rc_node<T>(e) {}
};

template <class T, rctailq_entry_t<T> T::*field>
class rctailq_t : public libasync::rc_list<T, rctailq_entry_t<T>, field>
{
public:
	rctailq_t() {}

	void insert_tail(ptr<T> p) { this->add_tail(p); }

	/* The last element, or NULL. */
	ptr<T> last() { return this->tail(); }
};

#endif
