#include "timer.h"

#include <errno.h>
#include <stdbool.h>

#include "ec.h"

enum { ARITY = 4, CAP_FIRST = 64, AHEAD = 3 };

struct ec_timer_entry {
	uint64_t deadline;		/* as of the last sift: the slot's may be later */
	uint32_t slot;
	uint32_t seq;
};

struct ec_timer_slot {
	uint64_t deadline;
	void *owner;			/* NULL: free */
	uint32_t at;			/* index in the heap; of a free slot, the next free one */
	uint32_t seq;
};

void ec_timers_init(struct ec_timers *t)
{
	*t = (struct ec_timers){ .free_slot = EC_TIMER_NONE };
}

void ec_timers_fini(struct ec_timers *t)
{
	ec_free(t->heap);
	ec_free(t->slots);
	ec_timers_init(t);
}

/* Both arrays or neither: a grown `heap` beside an old `slots` is still consistent, only larger. */
static int grow(struct ec_timers *t)
{
	uint32_t cap = t->cap == 0 ? CAP_FIRST : t->cap * 2, i;
	struct ec_timer_entry *heap;
	struct ec_timer_slot *slots;

	if (t->cap > UINT32_MAX / 4)
		return -ENOMEM;
	heap = ec_realloc(t->heap, cap * sizeof(*heap));
	if (heap == NULL)
		return -ENOMEM;
	t->heap = heap;
	slots = ec_realloc(t->slots, cap * sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	t->slots = slots;
	for (i = cap; i-- > t->cap;) {
		slots[i].owner = NULL;
		slots[i].at = t->free_slot;
		t->free_slot = i;
	}
	t->cap = cap;
	return 0;
}

/* Deadline first, then who was armed first. Sequence numbers wrap; 2^31 armings are never pending. */
static bool is_before(const struct ec_timer_entry *a, const struct ec_timer_entry *b)
{
	return a->deadline < b->deadline || (a->deadline == b->deadline && (int32_t)(a->seq - b->seq) < 0);
}

static void place(struct ec_timers *t, uint32_t at, struct ec_timer_entry e)
{
	t->heap[at] = e;
	t->slots[e.slot].at = at;
}

static void sift_up(struct ec_timers *t, uint32_t at, struct ec_timer_entry e)
{
	uint32_t parent;

	while (at > 0) {
		parent = (at - 1) / ARITY;
		if (!is_before(&e, &t->heap[parent]))
			break;
		place(t, at, t->heap[parent]);
		at = parent;
	}
	place(t, at, e);
}

static uint32_t first_child(const struct ec_timers *t, uint32_t child)
{
	const struct ec_timer_entry *h = t->heap;
	uint32_t a = child, b = child + 2;

	if (child + ARITY <= t->num) {
		a += is_before(&h[child + 1], &h[child]);
		b += is_before(&h[child + 3], &h[child + 2]);
		return is_before(&h[b], &h[a]) ? b : a;
	}
	for (a = child, b = child + 1; b < t->num; b++) {
		if (is_before(&h[b], &h[a]))
			a = b;
	}
	return a;
}

static void sift_down(struct ec_timers *t, uint32_t at, struct ec_timer_entry e)
{
	uint32_t child;

	for (;;) {
		child = at * ARITY + 1;
		if (child >= t->num)
			break;
		__builtin_prefetch(&t->heap[child * ARITY + 1 < t->num ? child * ARITY + 1 : 0]);
		child = first_child(t, child);
		if (!is_before(&t->heap[child], &e))
			break;
		place(t, at, t->heap[child]);
		at = child;
	}
	place(t, at, e);
}

static void sift(struct ec_timers *t, uint32_t at, struct ec_timer_entry e)
{
	if (at > 0 && is_before(&e, &t->heap[(at - 1) / ARITY]))
		sift_up(t, at, e);
	else
		sift_down(t, at, e);
}

int ec_timers_arm(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns, void *owner)
{
	struct ec_timer_entry e = { .deadline = deadline_ns, .seq = t->seq };
	struct ec_timer_slot *s;
	int r;

	if (*slot != EC_TIMER_NONE) {
		s = &t->slots[*slot];
		s->deadline = deadline_ns;
		s->owner = owner;
		s->seq = t->seq++;
		if (deadline_ns >= t->heap[s->at].deadline)
			return 0;	/* the heap's entry is early now; settle() puts it right */
		e.slot = *slot;
		sift_up(t, s->at, e);
		return 0;
	}
	if (t->num == t->cap) {
		r = grow(t);
		if (r < 0)
			return r;
	}
	e.slot = t->free_slot;
	s = &t->slots[e.slot];
	t->free_slot = s->at;
	s->deadline = deadline_ns;
	s->owner = owner;
	s->seq = t->seq++;
	*slot = e.slot;
	sift_up(t, t->num++, e);
	return 0;
}

static void heap_remove(struct ec_timers *t, uint32_t at)
{
	struct ec_timer_entry last = t->heap[--t->num];

	if (at != t->num)
		sift(t, at, last);
}

static void slot_free(struct ec_timers *t, uint32_t slot)
{
	t->slots[slot].owner = NULL;
	t->slots[slot].at = t->free_slot;
	t->free_slot = slot;
}

void ec_timers_disarm(struct ec_timers *t, uint32_t *slot)
{
	if (*slot == EC_TIMER_NONE)
		return;
	heap_remove(t, t->slots[*slot].at);
	slot_free(t, *slot);
	*slot = EC_TIMER_NONE;
}

uint64_t ec_timers_deadline(const struct ec_timers *t, uint32_t slot)
{
	return t->slots[slot].deadline;
}

/* Sift entries whose slot was armed later meanwhile, until the first one is true. */
static void settle(struct ec_timers *t)
{
	struct ec_timer_entry e;
	struct ec_timer_slot *s;

	while (t->num != 0) {
		e = t->heap[0];
		s = &t->slots[e.slot];
		if (s->deadline == e.deadline && s->seq == e.seq)
			return;
		e.deadline = s->deadline;
		e.seq = s->seq;
		sift_down(t, 0, e);
	}
}

uint64_t ec_timers_next_ns(struct ec_timers *t)
{
	settle(t);
	return t->num == 0 ? UINT64_MAX : t->heap[0].deadline;
}

void *ec_timers_expire(struct ec_timers *t, uint64_t now_ns)
{
	uint32_t slot, i;
	void *owner;

	if (t->num == 0 || t->heap[0].deadline > now_ns)
		return NULL;
	settle(t);
	if (t->heap[0].deadline > now_ns)
		return NULL;
	slot = t->heap[0].slot;
	owner = t->slots[slot].owner;
	heap_remove(t, 0);
	slot_free(t, slot);
	/* Who expires next is among the first few: fetch the owners, each a miss of its own. */
	for (i = 0; i < AHEAD && i < t->num; i++)
		__builtin_prefetch(t->slots[t->heap[i].slot].owner);
	return owner;
}

void *ec_timers_at(const struct ec_timers *t, uint32_t i)
{
	return t->slots[t->heap[i].slot].owner;
}
