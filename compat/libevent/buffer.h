/*
 * An evbuffer, for the files that implement it; and for the objects that own evbuffers, what
 * the public functions do not offer (the first section).
 */
#ifndef LE_BUFFER_H
#define LE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/buffer_compat.h>

#include "core/ec.h"

struct bufferevent;

/* ---------------------------------------------------------------- for owners */

/*
 * References. evbuffer_new gives one, which evbuffer_free drops; the last one frees. They take the
 * lock of the buffer, if it has one.
 */
void le_buffer_get(struct evbuffer *buf);
void le_buffer_put(struct evbuffer *buf);

/*
 * While a deferred callback of `buf` waits and runs, it holds a reference of `bev`
 * (le_bev_get and le_bev_put of bev.h) besides its own. NULL: no more.
 */
void le_buffer_set_parent(struct evbuffer *buf, struct bufferevent *bev);

/* Where deferred callbacks run. Not while one waits: the color's own rule. */
void le_buffer_set_color(struct evbuffer *buf, uint32_t color);

/* As evbuffer_add_cb, but called at once also where the others are deferred. */
struct evbuffer_cb_entry *le_buffer_add_cb_now(struct evbuffer *buf, evbuffer_cb_func fn, void *arg);

/*
 * As evbuffer_read, with one read call of up to `max` bytes, also where that is more than
 * evbuffer_read takes at once. What is kept fits what arrived.
 */
ssize_t le_buffer_read(struct evbuffer *buf, int fd, size_t max);

#endif
