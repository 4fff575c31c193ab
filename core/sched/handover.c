#include "handover.h"

#include "queue.h"

enum { KEYS = 1024 };

/* Three rows of addresses, which nothing is written to. */
enum row {
	ROW_COLORS,			/* of exclusive callbacks */
	ROW_READERS,
	ROW_EVENTS,			/* of readers: an event does not overlap itself */
	ROWS,
};

size_t ec_hand_do_size(void)
{
	return (size_t)ROWS * KEYS;
}

static const char *key_of(const struct ec_base *base, enum row row, uintptr_t number)
{
	uint32_t hash = (uint32_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % KEYS;

	return (const char *)(base->workers + base->workers_max) + (size_t)row * KEYS + hash;
}

void ec_hand_do_to(struct ec_base *base, uint32_t color)
{
	ec_tsan_do_release(key_of(base, ROW_COLORS, color));
}

void ec_hand_do_to_event(const struct ec_event *ev)
{
	int fd = (ev->events & EC_DESCRIPTOR) != 0 ? ev->fd : -1;

	if (ev->base->fibers != NULL)
		ec_fibers_hand(ev->base->fibers, &ev->task, fd);
	else
		ec_hand_do_to(ev->base, ec_event_color_now(ev));
}

void ec_hand_do_to_post(struct ec_base *base, const struct ec_task *t)
{
	if (base->fibers != NULL)
		ec_fibers_hand(base->fibers, t, -1);
	else
		ec_hand_do_to(base, t->color);
}

static void begin_exclusive(struct ec_base *base, uint32_t color)
{
	ec_tsan_do_acquire(&base->gate);
	ec_tsan_do_acquire(key_of(base, ROW_COLORS, color));
	ec_tsan_do_acquire(key_of(base, ROW_READERS, color));
}

static void begin_shared(struct ec_base *base, const struct ec_event *ev)
{
	ec_tsan_do_acquire(&base->gate);
	ec_tsan_do_acquire(key_of(base, ROW_COLORS, ev->task.color));
	ec_tsan_do_acquire(key_of(base, ROW_EVENTS, (uintptr_t)ev));
}

void ec_hand_do_begin(struct ec_base *base, struct ec_task *t)
{
	if (base->fibers != NULL)
		return;
	if (ec_task_is_shared(t))
		begin_shared(base, ec_task_event(t));
	else
		begin_exclusive(base, t->color);
}

void ec_hand_do_begin_zero(struct ec_base *base)
{
	if (base->fibers != NULL)
		return;
	begin_exclusive(base, 0);
}

void ec_hand_do_begin_local(struct ec_worker *w, uint32_t num)
{
	uint32_t i;

	if (w->base->fibers != NULL)
		return;
	for (i = w->local_tail - num; i != w->local_tail; i++)
		begin_exclusive(w->base, w->ring->at[i % EC_LOCAL_MAX].color);
}

void ec_hand_do_end(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	uint32_t color;

	ec_tsan_do_release(&w->run_done);
	if (w->current == NULL || base->fibers != NULL)
		return;
	color = base->is_single ? w->running_color : ec_load_relaxed(&w->current->number);
	if (w->is_reader) {
		ec_tsan_do_release(key_of(base, ROW_READERS, color));
		ec_tsan_do_release(key_of(base, ROW_EVENTS, (uintptr_t)ec_load_relaxed(&w->running_event)));
	} else {
		ec_tsan_do_release(key_of(base, ROW_COLORS, color));
	}
}

void ec_hand_do_deleted(const struct ec_event *ev)
{
	if (ev->base->fibers != NULL)
		ec_fibers_forget(ev->base->fibers, &ev->task);
	else
		begin_exclusive(ev->base, ec_event_color_now(ev));
}

void ec_hand_do_all_rest(struct ec_base *base)
{
	unsigned i;

	if (base->fibers != NULL)
		ec_fibers_rest(base->fibers);
	/* The pause before this one may have ended while this callback, or this thread, waited for its turn. */
	ec_tsan_do_acquire(&base->gate);
	for (i = 0; i < ec_workers_num(base); i++)
		ec_tsan_do_acquire(&base->workers[i]->run_done);
}

void ec_hand_do_open(struct ec_base *base)
{
	if (base->fibers != NULL)
		ec_fibers_open(base->fibers);
	ec_tsan_do_release(&base->gate);
}
