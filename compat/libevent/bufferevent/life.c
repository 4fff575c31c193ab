/*
 * Creation, references, lock, color and end of a bufferevent.
 *
 * The lock is recursive. It is evthread's, or the engine's if evthread is off but several colors
 * use the bufferevent. It cannot be part of a deadlock of colors:
 *
 *  - In a base with colors, no callback of a bufferevent runs under it (call.c). So two bufferevents
 *    whose callbacks write to each other never hold one lock while they want the other. Without
 *    colors it is held, as libevent holds it.
 *  - Events are deleted without waiting for their callbacks. A caller that must wait for a
 *    callback (bufferevent_free in another thread) releases the lock first; that wait is in the
 *    engine's graph of waits, which breaks cycles.
 *  - The library takes two of these locks only in evbuffer functions on two buffers, in the order
 *    of their addresses.
 *  - The lock of a rate-limit group is the innermost: under it only the engine's locks are taken.
 *
 * The end. Dropping the last reference deletes the events and turns `later` into a finalizer. The
 * finalizer runs in the bufferevent's color, after all callbacks of that color that began before. A
 * callback that the engine has already started, and that finds the bufferevent dead, returns at
 * once (le_bev_enter).
 */
#include "bev.h"

#include <string.h>

#include <event2/thread.h>

#include "lock.h"
#include "post.h"

/* ---------------------------------------------------------------- locks */

/*
 * Makes a lock of evthread. If evthread is off: none, or with `is_needed` the engine's. -1: out of
 * memory.
 */
static int lock_new(bool is_needed, struct le_bev_lock **ret)
{
	struct le_bev_lock *l;
	void *mutex;

	*ret = NULL;
	mutex = ec_thread_lock_new(EVTHREAD_LOCKTYPE_RECURSIVE);
	if (mutex == NULL && (is_needed || ec_thread_is_on()))
		mutex = ec_thread_is_on() ? NULL : ec_thread_lock_new_own();
	if (mutex == NULL)
		return is_needed || ec_thread_is_on() ? -1 : 0;
	l = ec_malloc(sizeof(*l));
	if (l == NULL)
		goto free_mutex;
	*l = (struct le_bev_lock){ .refs_num = 1, .mutex = mutex };
	*ret = l;
	return 0;

free_mutex:
	ec_thread_lock_free(mutex, EVTHREAD_LOCKTYPE_RECURSIVE);
	return -1;
}

static void lock_put(struct le_bev_lock *l)
{
	unsigned left;

	if (l == NULL)
		return;
	(void)ec_thread_lock(l->mutex, 0);
	left = --l->refs_num;
	(void)ec_thread_unlock(l->mutex, 0);
	if (left != 0)
		return;
	ec_thread_lock_free(l->mutex, EVTHREAD_LOCKTYPE_RECURSIVE);
	ec_free(l);
}

/*
 * Takes over the caller's reference on `l`. If the caller has entered `p` without a lock, it holds
 * the lock afterwards.
 */
static void lock_install(struct le_bev *p, struct le_bev_lock *l)
{
	le_buffer_share_lock(p->bev.input, l->mutex);
	le_buffer_share_lock(p->bev.output, l->mutex);
	p->lock = l;
	for (; p->held > 0; p->held--)
		(void)ec_thread_lock(l->mutex, 0);
}

/* `p` shares `l`: one more reference. */
static void lock_share(struct le_bev *p, struct le_bev_lock *l)
{
	(void)ec_thread_lock(l->mutex, 0);
	l->refs_num++;
	(void)ec_thread_unlock(l->mutex, 0);
	lock_install(p, l);
}

static int lock_init(struct le_bev *p, struct le_bev *mate)
{
	struct le_bev_lock *l;

	if (mate != NULL && mate->lock != NULL) {
		lock_share(p, mate->lock);
		return 0;
	}
	if ((p->options & BEV_OPT_THREADSAFE) == 0)
		return 0;
	if (lock_new(p->color != 0, &l) < 0)
		return -1;
	if (l == NULL)
		return 0;
	lock_install(p, l);
	for (; mate != NULL && mate->lock == NULL; mate = le_bev_below(mate))
		lock_share(mate, l);
	return 0;
}

struct le_bev *le_bev_bottom(struct le_bev *p)
{
	struct le_bev *below;

	while ((below = le_bev_below(p)) != NULL)
		p = below;
	return p;
}

int le_bev_need_lock(struct le_bev *p)
{
	struct le_bev_lock *l;

	if (p->lock != NULL)
		return 0;
	if (lock_new(true, &l) < 0)
		return -1;
	p = le_bev_bottom(p);
	if (p->above == NULL && p->partner == NULL) {
		lock_install(p, l);
		return 0;
	}
	(void)ec_thread_lock(l->mutex, 0);
	for (; p != NULL; p = p->above) {
		struct le_bev *q = p->partner;

		lock_share(p, l);
		for (; q != NULL; q = q->above)
			lock_share(q, l);
	}
	(void)ec_thread_unlock(l->mutex, 0);
	lock_put(l);
	return 0;
}

void le_bev_lock_shared(struct le_bev *p)
{
	(void)ec_thread_lock(p->lock->mutex, 0);
}

void le_bev_unlock_shared(struct le_bev *p)
{
	(void)ec_thread_unlock(p->lock->mutex, 0);
}

/* ---------------------------------------------------------------- life */

struct le_bev *le_bev_below(struct le_bev *p)
{
	union le_bev_ctrl_data data = { .underlying = NULL };

	if (p->bev.be_ops->ctrl == NULL ||
	    p->bev.be_ops->ctrl(&p->bev, LE_CTRL_GET_UNDERLYING, &data) < 0)
		return NULL;
	return data.underlying == NULL ? NULL : le_bev(data.underlying);
}

enum { LARGE_ORDER = 10 };

static size_t shift_of(const unsigned char *block)
{
	return -(uintptr_t)block % LE_BEV_LINE;
}

/* A block that begins with a line after at most LE_BEV_SLACK bytes, or NULL. */
static unsigned char *recycled_block(size_t size, unsigned *order)
{
	size_t block_size = EC_CHUNK_BEV_SIZE;
	unsigned char *block;

	*order = EC_CHUNK_BEV;
	if (size + LE_BEV_SLACK > block_size) {
		*order = LARGE_ORDER;
		block_size = (size_t)1 << LARGE_ORDER;
	}
	if (size + LE_BEV_SLACK > block_size)
		return NULL;
	block = ec_chunk_new(*order);
	if (block == NULL || __builtin_expect(shift_of(block) + size <= block_size, 1))
		return block;
	ec_chunk_free(block, *order);		/* the program's own malloc aligns less */
	return NULL;
}

void *le_bev_alloc(size_t size)
{
	unsigned order;
	unsigned char *block = recycled_block(size, &order);
	struct le_bev *p;
	size_t shift;

	if (block == NULL) {
		order = 0;
		block = ec_malloc(size + LE_BEV_LINE - 1);
	}
	if (block == NULL)
		return NULL;
	shift = shift_of(block);
	p = memset(block + shift, 0, size);
	p->block_shift = (uint16_t)shift;
	p->block_order = (uint8_t)order;
	p->block_refs = 1;
	return p;
}

void le_bev_memory_put(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);
	unsigned char *block = (unsigned char *)p - p->block_shift;

	if (!ec_ref_put(&p->block_refs))
		return;
	if (p->block_order != 0)
		ec_chunk_free(block, p->block_order);
	else
		ec_free(block);
}

static void buffers_init(struct le_bev *p)
{
	struct bufferevent *bev = &p->bev;

	le_buffer_init_inside(&p->input_buf, offsetof(struct le_bev, input_buf), bev);
	le_buffer_init_inside(&p->output_buf, offsetof(struct le_bev, output_buf), bev);
	bev->input = &p->input_buf;
	bev->output = &p->output_buf;
}

/* Almost always this drops the last reference, so no atomic read-modify-write is needed. */
static void buffer_end(struct le_bev *p, struct evbuffer *buf)
{
	le_buffer_lock(buf);
	le_buffer_leave_owner(buf);
	if (buf->refs > 1) {
		buf->is_outliving = true;
		ec_ref_get(&p->block_refs);
	}
	le_buffer_put_and_unlock(buf);
}

int le_bev_init(struct le_bev *p, struct event_base *base, const struct bufferevent_ops *ops,
		int options, struct le_bev *mate)
{
	struct bufferevent *bev = &p->bev;

	if ((options & BEV_OPT_UNLOCK_CALLBACKS) != 0 && (options & BEV_OPT_DEFER_CALLBACKS) == 0) {
		ec_log(EC_LOG_WARN, "UNLOCK_CALLBACKS requires DEFER_CALLBACKS");
		return -1;
	}
	bev->ev_base = base;
	bev->be_ops = ops;
	bev->enabled = EV_WRITE;
	p->options = (uint8_t)options;
	p->refs_num = 1;
	(void)bufferevent_set_max_single_read(bev, 0);
	(void)bufferevent_set_max_single_write(bev, 0);
	if (mate != NULL)
		p->color = mate->color;
	else if (le_base_or_current(base) != NULL)
		p->color = ec_base_color_to_inherit(le_base_or_current(base));
	buffers_init(p);
	if (lock_init(p, mate) < 0)
		goto free_buffers;
	(void)ec_event_init(le_ec(&p->later), le_base_or_current(base), -1, EV_FINALIZE,
			    le_bev_later_cb, p);
	(void)le_event_assign(&bev->ev_read, base, -1, EV_FINALIZE, le_bev_read_timer_cb, p);
	(void)le_event_assign(&bev->ev_write, base, -1, EV_FINALIZE, le_bev_write_timer_cb, p);
	if (p->color != 0)		/* new events have color 0 */
		le_bev_color_events(p, p->color);
	return 0;

free_buffers:
	buffer_end(p, bev->output);
	buffer_end(p, bev->input);
	return -1;
}

static void unmake(struct le_bev *p)
{
	buffer_end(p, p->bev.input);
	buffer_end(p, p->bev.output);
	le_bev_limit_free(p);
	event_debug_unassign(&p->bev.ev_read);
	event_debug_unassign(&p->bev.ev_write);
}

void le_bev_discard(struct le_bev *p)
{
	unmake(p);
	lock_put(p->lock);
}

void le_bev_get(struct bufferevent *bev)
{
	le_bev_get_and_lock(bev);
	le_bev_unlock(bev);
}

void le_bev_put(struct bufferevent *bev)
{
	le_bev_lock(bev);
	(void)le_bev_put_and_unlock(bev);
}

/*
 * Called by `later`, in the color of the bufferevent, or by event_base_free: no callback of the
 * bufferevent runs or will run.
 */
static void finalize(struct ec_event *ev, void *arg)
{
	struct le_bev *p = ec_container_of(le_event(ev), struct le_bev, later);
	struct le_bev_post *posts = p->posts;
	struct le_bev_lock *l = p->lock;

	(void)arg;
	/* destruct gets the descriptor from the events. */
	if (p->bev.be_ops->destruct != NULL)
		p->bev.be_ops->destruct(&p->bev);
	unmake(p);
	lock_put(l);
	le_bev_memory_put(&p->bev);
	le_bev_posts_end(posts);
}

static void end(struct le_bev *p)
{
	struct ec_event *later = le_ec(&p->later);

	if (later->base == NULL) {
		/* bufferevent_new without any base: no callback has ever run. */
		finalize(later, p);
		return;
	}
	if (ec_event_finalize(later, finalize, false) == 0)
		return;
	/* No memory for its color. So no event refers to that color, and no callback runs in it. */
	(void)ec_event_set_color(later, 0);
	if (ec_event_finalize(later, finalize, false) < 0)
		ec_log(EC_LOG_WARN, "out of memory: cannot free a bufferevent");
}

struct bufferevent *le_bev_leave_below(struct le_bev *p, struct bufferevent *below, bufferevent_event_cb eventcb)
{
	if (le_bev(below)->above == p)
		le_bev(below)->above = NULL;
	if (below->errorcb == eventcb)
		bufferevent_setcb(below, NULL, NULL, NULL, NULL);
	if ((p->options & BEV_OPT_CLOSE_ON_FREE) == 0) {
		le_bev_unsuspend_read(below, LE_SUSPEND_FILTER);
		return NULL;
	}
	if (le_bev(below)->refs_num < 2) {
		ec_log(EC_LOG_WARN, "BEV_OPT_CLOSE_ON_FREE set on a bufferevent whose underlying one was freed");
		return NULL;
	}
	return below;
}

void le_bev_end_and_unlock(struct le_bev *p)
{
	struct bufferevent *bev = &p->bev, *below = NULL;

	p->is_dead = true;
	p->waiting = 0;
	if (bev->be_ops->unlink != NULL)
		below = bev->be_ops->unlink(bev);
	le_bev_limit_detach(p);
	if (le_ec(&p->later)->base != NULL) {
		(void)event_del_noblock(&bev->ev_read);
		(void)event_del_noblock(&bev->ev_write);
		(void)ec_event_del(le_ec(&p->later), EC_DEL_NOBLOCK);
	}
	le_bev_unlock(bev);
	if (below != NULL)
		bufferevent_free(below);	/* may wait for its callback, which needs the lock */
	end(p);
}
