/*
 * Pairs: two bufferevents, each of which reads the output of the other.
 *
 * Bytes move at once from the output of one to the input of the other, under the lock that both
 * share. Their callbacks are always deferred, each to the color of its bufferevent. So bufferevents
 * of different colors meet only under that lock. If both have one color, they have no lock, unless
 * the options ask for one. If one of them gets another color, both get a lock (color.c).
 */
#include "bev.h"

#include "lock.h"

static bool can_transfer(struct le_bev *from, struct le_bev *to)
{
	return le_bev_can_write(from) && le_bev_can_read(to) &&
	       le_buffer_length(from->bev.output) != 0;
}

/*
 * Moves bytes up to the reader's high watermark. As in libevent, a flush moves all if the input has reached the mark
 * before. Returns their number.
 */
static size_t move(struct le_bev *from, struct le_bev *to, bool is_flush)
{
	struct evbuffer *output = from->bev.output, *input = to->bev.input;
	size_t before = le_buffer_length(output), high = to->bev.wm_read.high, len;

	le_buffer_clear_special(output, LE_BUFFER_FRONT_FROZEN);
	le_buffer_clear_special(input, LE_BUFFER_BACK_FROZEN);
	len = le_buffer_length(input);
	if (high == 0 || (is_flush && len >= high))
		(void)evbuffer_add_buffer(input, output);
	else if (len < high)
		(void)evbuffer_remove_buffer(output, input, high - len);
	le_buffer_note_special(input, LE_BUFFER_BACK_FROZEN);
	le_buffer_note_special(output, LE_BUFFER_FRONT_FROZEN);
	return before - le_buffer_length(output);
}

/* A bufferevent with nothing to write has no write timeout. */
static int restart_write_timer(struct le_bev *p)
{
	if (le_buffer_length(p->bev.output) != 0)
		return le_bev_restart_timer(&p->bev, EV_WRITE);
	(void)le_bev_event_del(p, &p->bev.ev_write);
	return 0;
}

static void transfer(struct le_bev *from, struct le_bev *to, bool is_flush)
{
	if (move(from, to, is_flush) != 0) {
		(void)le_bev_restart_timer(&to->bev, EV_READ);
		(void)restart_write_timer(from);
	}
	le_bev_trigger(&to->bev, EV_READ, BEV_OPT_DEFER_CALLBACKS);
	le_bev_trigger(&from->bev, EV_WRITE, BEV_OPT_DEFER_CALLBACKS);
}

/* The caller holds the output's lock, which is the pair's, if there is one. */
static void output_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct le_bev *p = arg;

	(void)buf;
	if (info->n_added > info->n_deleted && p->partner != NULL && can_transfer(p, p->partner))
		transfer(p, p->partner, false);
}

static int pair_enable(struct bufferevent *bev, short events)
{
	struct le_bev *p = le_bev(bev), *partner = p->partner;
	int r = 0;

	if ((events & EV_READ) != 0 && le_bev_restart_timer(bev, EV_READ) < 0)
		r = -1;
	if ((events & EV_WRITE) != 0 && restart_write_timer(p) < 0)
		r = -1;
	if ((events & EV_READ) != 0 && partner != NULL && can_transfer(partner, p))
		transfer(partner, p, false);
	if ((events & EV_WRITE) != 0 && partner != NULL && can_transfer(p, partner))
		transfer(p, partner, false);
	return r;
}

static int pair_disable(struct bufferevent *bev, short events)
{
	struct le_bev *p = le_bev(bev);

	if ((events & EV_READ) != 0)
		(void)le_bev_event_del(p, &bev->ev_read);
	if ((events & EV_WRITE) != 0)
		(void)le_bev_event_del(p, &bev->ev_write);
	return 0;
}

static struct bufferevent *pair_unlink(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	if (p->partner != NULL)
		p->partner->partner = NULL;
	p->partner = NULL;
	return NULL;
}

static int pair_flush(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode)
{
	struct le_bev *p = le_bev(bev), *partner = p->partner;
	short what = BEV_EVENT_EOF;

	if (partner == NULL)
		return -1;
	if (mode == BEV_NORMAL)
		return 0;
	if ((iotype & EV_READ) != 0) {
		what |= BEV_EVENT_WRITING;
		transfer(partner, p, true);
	}
	if ((iotype & EV_WRITE) != 0) {
		what |= BEV_EVENT_READING;
		transfer(p, partner, true);
	}
	if (mode == BEV_FINISHED)
		le_bev_trigger_event(&partner->bev, what, BEV_OPT_DEFER_CALLBACKS);
	return 0;
}

const struct bufferevent_ops le_bev_pair_ops = {
	.owner = LE_BEV_OWNER,
	.type = "pair_elt",
	.enable = pair_enable,
	.disable = pair_disable,
	.unlink = pair_unlink,
	.adjust_timeouts = le_bev_adjust_timers,
	.flush = pair_flush,
};

static struct le_bev *half_new(struct event_base *base, int options, struct le_bev *mate)
{
	struct le_bev *p = le_bev_alloc(sizeof(*p));

	if (p == NULL)
		return NULL;
	if (le_bev_init(p, base, &le_bev_pair_ops, options, mate) < 0)
		goto free_half;
	if (le_buffer_add_cb_now(p->bev.output, output_changed, p) == NULL)
		goto discard;
	(void)evbuffer_freeze(p->bev.input, 0);
	(void)evbuffer_freeze(p->bev.output, 1);
	return p;

discard:
	le_bev_discard(p);
free_half:
	le_bev_memory_put(&p->bev);
	return NULL;
}

int bufferevent_pair_new(struct event_base *base, int options, struct bufferevent *pair[2])
{
	struct le_bev *one, *other;

	options |= BEV_OPT_DEFER_CALLBACKS;
	one = half_new(base, options, NULL);
	if (one == NULL)
		return -1;
	other = half_new(base, options & ~BEV_OPT_THREADSAFE, one);
	if (other == NULL) {
		le_bev_discard(one);
		le_bev_memory_put(&one->bev);
		return -1;
	}
	other->options = one->options;
	one->partner = other;
	other->partner = one;
	pair[0] = &one->bev;
	pair[1] = &other->bev;
	return 0;
}

struct bufferevent *bufferevent_pair_get_partner(struct bufferevent *bev)
{
	struct bufferevent *partner = NULL;

	if (bev->be_ops != &le_bev_pair_ops)
		return NULL;
	le_bev_lock(bev);
	if (le_bev(bev)->partner != NULL)
		partner = &le_bev(bev)->partner->bev;
	le_bev_unlock(bev);
	return partner;
}
