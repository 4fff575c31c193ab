#include "timer.h"

#include <errno.h>
#include <string.h>

#include "ec.h"
#include "lock/sync.h"
#include "os/chunk.h"

/* The children of `at` are 4 * at - 8 and the next three: with the root at 3, one cache line. */
enum { ROOT = EC_TIMER_ROOT, ARITY = 4 };

enum { HEAP_FIRST = 64, GROUP = EC_TIMERS_GROUP, STALE_MAX = 3, STALE_SLACK = 64, SWEEP_STEP = 2 };

enum { TRIM_NS = 1000000000, TRIM_DOUBLINGS = 6, OWNER_BYTES = 128 };

_Static_assert(sizeof(struct ec_timer_entry) * ARITY == EC_CACHE_LINE, "siblings share a line");

void ec_timers_init(struct ec_timers *t)
{
	*t = (struct ec_timers){ .free_group = EC_TIMER_NONE };
}

void ec_timers_fini(struct ec_timers *t)
{
	ec_free(t->heap_block);
	ec_free(t->slots_block);
	ec_free(t->groups);
	ec_timers_init(t);
}

/* ---------------------------------------------------------------- memory */

static size_t line_offset(const void *block)
{
	return (size_t)(-(uintptr_t)block % EC_CACHE_LINE);
}

/* Resize a block whose contents begin on a cache line. NULL: no memory, nothing changed. */
static void *lines_resize(void **block, size_t used, size_t size)
{
	size_t was = line_offset(*block), is;
	char *b;

	if (size > SIZE_MAX - EC_CACHE_LINE)
		return NULL;
	b = ec_realloc(*block, size + EC_CACHE_LINE);
	if (b == NULL)
		return NULL;
	*block = b;
	is = line_offset(b);
	if (is != was && used != 0)
		memmove(b + is, b + was, used);
	return b + is;
}

static int heap_resize(struct ec_timers *t, uint32_t room)
{
	size_t used = (size_t)(ROOT + t->heap_num) * sizeof(*t->heap), size;
	struct ec_timer_entry *heap;

	if (t->heap_room > UINT32_MAX / 4 ||
	    __builtin_mul_overflow((size_t)room + ROOT, sizeof(*heap), &size))
		return -ENOMEM;
	heap = lines_resize(&t->heap_block, t->heap_room == 0 ? 0 : used, size);
	if (heap == NULL)
		return -ENOMEM;
	t->heap = heap;
	t->heap_room = room;
	return 0;
}

/* Room for one more entry. With buckets, heap_cap stays, so that events that are far away do not fill the new room. */
static int heap_reserve(struct ec_timers *t)
{
	uint32_t more;
	int r;

	if (__builtin_expect(t->heap_num < t->heap_room, 1))
		return 0;
	more = t->take_far != NULL ? t->heap_room / 4 : t->heap_room;
	r = heap_resize(t, t->heap_room == 0 ? HEAP_FIRST : t->heap_room + more);
	if (r == 0 && (t->take_far == NULL || t->heap_cap == 0))
		t->heap_cap = t->heap_room;
	return r;
}

/* If one array has grown and the other cannot, the larger one does no harm. */
static int slots_grow(struct ec_timers *t)
{
	uint32_t cap = ec_timers_cap(t) == 0 ? GROUP : ec_timers_cap(t) * 2, i;
	struct ec_timer_group *groups;
	struct ec_timer_slot *slots;
	size_t size;

	if (ec_timers_cap(t) > UINT32_MAX / 4 || __builtin_mul_overflow(cap, sizeof(*slots), &size))
		return -ENOMEM;
	slots = lines_resize(&t->slots_block, ec_timers_cap(t) * sizeof(*slots), size);
	if (slots == NULL)
		return -ENOMEM;
	t->slots = slots;
	groups = ec_realloc(t->groups, cap / GROUP * sizeof(*groups));
	if (groups == NULL)
		return -ENOMEM;
	t->groups = groups;
	for (i = ec_timers_cap(t); i < cap; i++)
		slots[i].owner = NULL;
	for (i = cap / GROUP; i-- > ec_timers_cap(t) / GROUP;) {
		groups[i] = (struct ec_timer_group){ .free = UINT64_MAX, .next = t->free_group };
		t->free_group = i;
	}
	ec_store_relaxed(&t->slots_cap, cap);
	t->trims_num = 0;
	t->trim_ns = 0;
	return 0;
}

static uint32_t slot_take(struct ec_timers *t)
{
	uint32_t index = t->free_group;
	struct ec_timer_group *g = &t->groups[index];
	uint32_t slot = index * GROUP + (uint32_t)__builtin_ctzll(g->free);

	g->free &= g->free - 1;
	if (g->free == 0)
		t->free_group = g->next;
	return slot;
}

static void slot_give(struct ec_timers *t, uint32_t slot)
{
	struct ec_timer_group *g = &t->groups[slot / GROUP];

	t->slots[slot].owner = NULL;
	if (g->free == 0) {
		g->next = t->free_group;
		t->free_group = slot / GROUP;
	}
	g->free |= UINT64_C(1) << slot % GROUP;
}

/* ---------------------------------------------------------------- the heap */

/*
 * Orders by deadline, then by arming. Sequence numbers wrap: for two armings that are 2^31 apart the order is wrong,
 * but only among equal deadlines.
 *
 * In a large heap the comparison uses branches, although half of them are mispredicted. The processor then loads along
 * the predicted path, instead of waiting for one cache miss after the other (measured: 30 % of expiry).
 */
static bool is_before(const struct ec_timer_entry *a, const struct ec_timer_entry *b)
{
	return a->deadline < b->deadline ||
	       (a->deadline == b->deadline && (int32_t)(a->seq - b->seq) < 0);
}

static uint32_t parent_of(uint32_t at)
{
	return at / ARITY + 2;
}

static uint32_t children_of(uint32_t at)
{
	return at * ARITY - 8;
}

static inline void sift_up(struct ec_timers *t, uint32_t at, struct ec_timer_entry e)
{
	struct ec_timer_entry *h = t->heap;

	while (at > ROOT && is_before(&e, &h[parent_of(at)])) {
		h[at] = h[parent_of(at)];
		at = parent_of(at);
	}
	h[at] = e;
}

/* The first in order of the siblings that begin at `child`. The heap must have at least one of them. */
static uint32_t first_of(const struct ec_timer_entry *h, uint32_t child, uint32_t end)
{
	uint32_t a = child, b = child + 2;

	if (child + ARITY <= end) {
		a += is_before(&h[child + 1], &h[child]);
		b += is_before(&h[child + 3], &h[child + 2]);
		return is_before(&h[b], &h[a]) ? b : a;
	}
	for (b = child + 1; b < end; b++) {
		if (is_before(&h[b], &h[a]))
			a = b;
	}
	return a;
}

/*
 * The same for a heap that is in the cache: there a misprediction costs more than a load, so this has a branch for
 * equal deadlines only.
 */
static inline uint32_t first_of_near(const struct ec_timer_entry *h, uint32_t child, uint32_t end)
{
	uint64_t d0, d1, d2, d3, least01, least23;
	uint32_t a, b;

	if (__builtin_expect(child + ARITY > end, 0))
		return first_of(h, child, end);
	d0 = h[child].deadline;
	d1 = h[child + 1].deadline;
	d2 = h[child + 2].deadline;
	d3 = h[child + 3].deadline;
	a = child + (d1 < d0);
	least01 = d1 < d0 ? d1 : d0;
	b = child + 2 + (d3 < d2);
	least23 = d3 < d2 ? d3 : d2;
	if (__builtin_expect((d0 == d1) | (d2 == d3) | (least01 == least23), 0))
		return first_of(h, child, end);
	return least23 < least01 ? b : a;
}

enum { NEAR_MAX = 65536 };		/* entries: a megabyte */

/*
 * Moves the gap at `at` down to a leaf, each time to the child that is first in order. Then sifts `e` up from there:
 * `e` usually comes from a leaf, so it would have to go down almost as far. Compiled twice.
 */
static inline __attribute__((always_inline)) void sift_down_by(struct ec_timers *t, uint32_t at,
							       struct ec_timer_entry e, const bool is_near)
{
	struct ec_timer_entry *h = t->heap;
	uint32_t end = ROOT + t->heap_num, top = at, child;

	while ((child = children_of(at)) < end) {
		child = is_near ? first_of_near(h, child, end) : first_of(h, child, end);
		h[at] = h[child];
		at = child;
	}
	while (at > top && is_before(&e, &h[parent_of(at)])) {
		h[at] = h[parent_of(at)];
		at = parent_of(at);
	}
	h[at] = e;
}

static __attribute__((noinline)) void sift_down_far(struct ec_timers *t, uint32_t at, struct ec_timer_entry e)
{
	sift_down_by(t, at, e, false);
}

static void sift_down(struct ec_timers *t, uint32_t at, struct ec_timer_entry e)
{
	if (t->heap_num > NEAR_MAX)
		sift_down_far(t, at, e);
	else
		sift_down_by(t, at, e, true);
}

/* Removes the entry at `at`; the last entry takes its place. */
static void heap_remove(struct ec_timers *t, uint32_t at)
{
	struct ec_timer_entry last = t->heap[ROOT + --t->heap_num];

	if (at == ROOT + t->heap_num)
		return;
	if (at > ROOT && is_before(&last, &t->heap[parent_of(at)]))
		sift_up(t, at, last);
	else
		sift_down(t, at, last);
}

/* ---------------------------------------------------------------- stale entries */

static bool is_stale(const struct ec_timers *t, const struct ec_timer_entry *e)
{
	const struct ec_timer_slot *s = &t->slots[e->slot];

	return (s->owner == NULL) | (s->queued_seq != e->seq) | (s->queued != e->deadline);
}

/*
 * Called for each entry that becomes stale. A pass goes from the last entry to the first, so the entry that fills a
 * gap was checked before. If it goes up, the entries that go down for it may miss this pass, and the next one checks
 * them. Each call checks two entries. While three of four are stale, that removes more than come.
 */
static void sweep(struct ec_timers *t)
{
	enum { AHEAD = 16 };
	unsigned i;

	if (t->heap_num - t->num <= STALE_MAX * t->num + STALE_SLACK)
		return;
	for (i = 0; i < SWEEP_STEP; i++) {
		if (t->sweep_at == 0 || t->sweep_at > t->heap_num)
			t->sweep_at = t->heap_num;
		t->sweep_at--;
		if (t->sweep_at >= AHEAD)
			__builtin_prefetch(&t->slots[t->heap[ROOT + t->sweep_at - AHEAD].slot]);
		if (is_stale(t, &t->heap[ROOT + t->sweep_at]))
			heap_remove(t, ROOT + t->sweep_at);
	}
}

/* Drops stale entries and sifts early ones, until the first entry has its slot's deadline. */
static __attribute__((noinline)) void settle(struct ec_timers *t)
{
	while (t->heap_num != 0) {
		struct ec_timer_entry *e = &t->heap[ROOT];
		struct ec_timer_slot *s = &t->slots[e->slot];

		if (is_stale(t, e)) {
			heap_remove(t, ROOT);
		} else if (s->seq != e->seq) {
			s->queued = s->deadline;
			s->queued_seq = s->seq;
			sift_down(t, ROOT, (struct ec_timer_entry){ s->deadline, e->slot, s->seq });
		} else {
			return;
		}
	}
}

/* ---------------------------------------------------------------- arming */

static inline void push(struct ec_timers *t, uint32_t slot, uint64_t deadline_ns, uint32_t seq)
{
	t->slots[slot].queued = deadline_ns;
	t->slots[slot].queued_seq = seq;
	sift_up(t, ROOT + t->heap_num++, (struct ec_timer_entry){ deadline_ns, slot, seq });
}

/* Apart (noinline), so that arming, which calls nothing, saves no registers. */
static __attribute__((noinline)) int rearm(struct ec_timers *t, uint32_t slot, uint64_t deadline_ns, void *owner)
{
	bool is_early = deadline_ns < t->slots[slot].queued;
	int r;

	if (is_early && t->heap_num >= t->heap_cap) {
		r = heap_reserve(t);
		if (r < 0)
			return r;
	}
	ec_timers_postpone(t, slot, deadline_ns);
	t->slots[slot].owner = owner;
	if (is_early) {
		push(t, slot, deadline_ns, t->slots[slot].seq);
		sweep(t);
	}
	return 0;
}

int ec_timers_reserve(struct ec_timers *t)
{
	int r = heap_reserve(t);

	if (r == 0 && t->free_group == EC_TIMER_NONE)
		r = slots_grow(t);
	return r;
}

/* With room for it. */
static inline int arm_anew(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns, uint32_t seq, void *owner)
{
	struct ec_timer_slot *s;
	uint32_t at;

	*slot = at = slot_take(t);
	s = &t->slots[at];
	s->deadline = deadline_ns;
	s->owner = owner;
	s->seq = seq;
	t->num++;
	push(t, at, deadline_ns, seq);
	return 0;
}

/* What is not far away makes the heap larger, if there is memory. Room that was reserved is enough, too. */
static __attribute__((noinline)) int reserve_and_arm(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns,
						     void *owner)
{
	bool is_event = ((uintptr_t)owner & 1) == 0;
	int r;

	if (t->take_far != NULL && is_event && t->heap_num >= t->heap_cap && t->heap_cap != 0 &&
	    t->take_far(t, deadline_ns, owner))
		return 0;
	r = ec_timers_reserve(t);
	return r < 0 ? r : arm_anew(t, slot, deadline_ns, t->seq++, owner);
}

int ec_timers_arm(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns, void *owner)
{
	if (*slot != EC_TIMER_NONE)
		return rearm(t, *slot, deadline_ns, owner);
	if (__builtin_expect(t->heap_num >= t->heap_cap || t->free_group == EC_TIMER_NONE, 0) &&
	    (deadline_ns > t->near_ns || t->heap_num >= t->heap_room || t->free_group == EC_TIMER_NONE))
		return reserve_and_arm(t, slot, deadline_ns, owner);
	return arm_anew(t, slot, deadline_ns, t->seq++, owner);
}

int ec_timers_arm_in_order(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns, uint32_t seq, void *owner)
{
	int r = ec_timers_reserve(t);

	if (r < 0)
		return r;
	if (*slot == EC_TIMER_NONE)
		return arm_anew(t, slot, deadline_ns, seq, owner);
	t->slots[*slot].deadline = deadline_ns;
	t->slots[*slot].seq = seq;
	push(t, *slot, deadline_ns, seq);
	sweep(t);
	return 0;
}

void ec_timers_disarm(struct ec_timers *t, uint32_t *slot)
{
	uint32_t s = *slot;

	if (s == EC_TIMER_NONE)
		return;
	*slot = EC_TIMER_NONE;
	slot_give(t, s);
	if (--t->num == 0)
		t->heap_num = 0;
	else if (t->heap[ROOT + t->heap_num - 1].slot == s)
		t->heap_num--;		/* the last entry can be removed without sifting */
	else
		sweep(t);
}

uint64_t ec_timers_deadline(const struct ec_timers *t, uint32_t slot)
{
	return t->slots[slot].deadline;
}

/* ---------------------------------------------------------------- trimming */

/* The least capacity that growing can reach, with room for `num` and as many again. */
static uint32_t cap_for(uint32_t first, uint32_t num)
{
	uint32_t cap = first;

	while (cap / 2 < num)
		cap *= 2;
	return cap;
}

/*
 * As lines_resize, in a block of its own. A block that shrinks stays where it is: after a burst that is often the end
 * of the process's heap, and the allocator could not give back what lies before it.
 */
static void *lines_move(void **block, size_t used, size_t size)
{
	const char *from = (const char *)*block + line_offset(*block);
	char *b = ec_malloc(size + EC_CACHE_LINE);

	if (b == NULL)
		return NULL;
	memcpy(b + line_offset(b), from, used);
	ec_free(*block);
	*block = b;
	return b + line_offset(b);
}

/* Without memory, the array stays. */
static void heap_trim(struct ec_timers *t)
{
	uint32_t cap = cap_for(HEAP_FIRST, t->heap_num);
	struct ec_timer_entry *heap;

	if (cap >= t->heap_room)
		return;
	heap = lines_move(&t->heap_block, (size_t)(ROOT + t->heap_num) * sizeof(*heap),
			  ((size_t)cap + ROOT) * sizeof(*heap));
	if (heap == NULL)
		return;
	t->heap = heap;
	t->heap_room = cap;
	if (t->take_far == NULL)
		t->heap_cap = cap;
}

static void groups_trim(struct ec_timers *t)
{
	size_t size = ec_timers_cap(t) / GROUP * sizeof(*t->groups);
	struct ec_timer_group *groups = ec_malloc(size);

	if (groups == NULL)
		return;
	memcpy(groups, t->groups, size);
	ec_free(t->groups);
	t->groups = groups;
}

static void groups_relink(struct ec_timers *t)
{
	uint32_t i;

	t->free_group = EC_TIMER_NONE;
	for (i = ec_timers_cap(t) / GROUP; i-- > 0;) {
		if (t->groups[i].free != 0) {
			t->groups[i].next = t->free_group;
			t->free_group = i;
		}
	}
}

static void slots_trim(struct ec_timers *t)
{
	uint32_t cap = cap_for(GROUP, t->num), used = ec_timers_cap(t) / GROUP;
	struct ec_timer_slot *slots;

	while (used > 0 && t->groups[used - 1].free == UINT64_MAX)
		used--;
	while (cap < used * GROUP)
		cap *= 2;
	groups_relink(t);		/* the first groups first */
	if (cap >= ec_timers_cap(t))
		return;
	slots = lines_move(&t->slots_block, cap * sizeof(*slots), cap * sizeof(*slots));
	if (slots == NULL)
		return;
	t->slots = slots;
	ec_store_relaxed(&t->slots_cap, cap);
	groups_trim(t);
	groups_relink(t);
}

/*
 * Drops every stale entry: those that name slots which are gone next must not stay. Removing one after the other could
 * move an entry that was not checked yet to a place that was. So this keeps the others in their order, and makes a heap
 * of them again, if any was dropped.
 */
static void stale_drop(struct ec_timers *t)
{
	struct ec_timer_entry *h = t->heap;
	uint32_t end = ROOT + t->heap_num, at, kept = ROOT;

	for (at = ROOT; at < end; at++) {
		if (!is_stale(t, &h[at]))
			h[kept++] = h[at];
	}
	if (kept == end)
		return;
	t->heap_num = kept - ROOT;
	if (t->heap_num < 2)
		return;
	for (at = parent_of(kept - 1); at >= ROOT; at--)
		sift_down(t, at, h[at]);
}

int64_t ec_timers_trim(struct ec_timers *t, int64_t now_ns)
{
	if (t->trim_ns == 0)
		t->trim_ns = now_ns + TRIM_NS;
	if (now_ns < t->trim_ns)
		return t->trims_num == 0 ? t->trim_ns - now_ns : INT64_MAX;
	/* The events of these timers are most likely free by now. */
	if (t->trims_num == 0)
		ec_chunk_note_freed((size_t)(ec_timers_cap(t) - t->num) * OWNER_BYTES);
	if (t->trims_num < TRIM_DOUBLINGS)
		t->trims_num++;
	t->trim_ns = now_ns + ((int64_t)TRIM_NS << t->trims_num);
	stale_drop(t);
	slots_trim(t);
	heap_trim(t);
	return INT64_MAX;
}

/* ---------------------------------------------------------------- expiry */

uint64_t ec_timers_next_ns(struct ec_timers *t)
{
	settle(t);
	return t->heap_num == 0 ? UINT64_MAX : t->heap[ROOT].deadline;
}

/*
 * With many timers, slots and owners are cache misses. An entry in the second level of the heap will be the first one
 * soon. So this prefetches its owner (two lines, the size of struct ec_event), and the slots of the entries below it.
 */
enum { FETCH_MIN = 512 };

static __attribute__((noinline)) void fetch_ahead(const struct ec_timers *t)
{
	uint32_t end = ROOT + t->heap_num, i, child;
	uintptr_t owner;

	for (i = ROOT + 1; i <= ROOT + ARITY && i < end; i++) {
		owner = (uintptr_t)t->slots[t->heap[i].slot].owner;	/* none, if the entry is stale */
		__builtin_prefetch((const void *)owner);
		__builtin_prefetch((const void *)(owner + EC_CACHE_LINE));
		child = children_of(i);
		if (child < end)
			__builtin_prefetch(&t->slots[t->heap[child].slot]);
	}
}

/* Does the first entry have its slot's deadline? */
static inline bool is_settled(const struct ec_timers *t)
{
	const struct ec_timer_entry *e = &t->heap[ROOT];
	const struct ec_timer_slot *s = &t->slots[e->slot];

	return s->owner != NULL && s->seq == e->seq && s->queued_seq == e->seq && s->queued == e->deadline;
}

void *ec_timers_expire(struct ec_timers *t, uint64_t now_ns)
{
	uint32_t slot;
	void *owner;

	if (t->heap_num == 0 || t->heap[ROOT].deadline > now_ns)
		return NULL;
	if (__builtin_expect(!is_settled(t), 0)) {
		settle(t);
		if (t->heap_num == 0 || t->heap[ROOT].deadline > now_ns)
			return NULL;
	}
	slot = t->heap[ROOT].slot;
	owner = t->slots[slot].owner;
	slot_give(t, slot);
	if (--t->num == 0) {
		t->heap_num = 0;
		return owner;
	}
	t->heap_num--;
	sift_down(t, ROOT, t->heap[ROOT + t->heap_num]);
	if (t->heap_num >= FETCH_MIN)
		fetch_ahead(t);
	return owner;
}

void *ec_timers_find(const struct ec_timers *t, uint32_t *slot)
{
	uint32_t s = *slot;

	while (s < ec_timers_cap(t)) {
		uint64_t armed = ~t->groups[s / GROUP].free & UINT64_MAX << s % GROUP;

		if (armed != 0) {
			*slot = s / GROUP * GROUP + (uint32_t)__builtin_ctzll(armed);
			return t->slots[*slot].owner;
		}
		s = (s / GROUP + 1) * GROUP;
	}
	return NULL;
}

/* ---------------------------------------------------------------- checks */

static bool is_slot_sound(const struct ec_timers *t, uint32_t slot)
{
	const struct ec_timer_slot *s = &t->slots[slot];
	bool is_free = (t->groups[slot / GROUP].free >> slot % GROUP & 1) != 0;

	if (is_free || s->owner == NULL)
		return is_free && s->owner == NULL;
	return s->queued < s->deadline || (s->queued == s->deadline && (int32_t)(s->queued_seq - s->seq) <= 0);
}

bool ec_timers_are_sound(const struct ec_timers *t)
{
	uint32_t i, g, entries = 0, armed = 0, listed = 0, free = 0;

	for (i = ROOT; i < ROOT + t->heap_num; i++) {
		if (i > ROOT && !is_before(&t->heap[parent_of(i)], &t->heap[i]))
			return false;
		entries += !is_stale(t, &t->heap[i]);
	}
	for (i = 0; i < ec_timers_cap(t); i++) {
		if (!is_slot_sound(t, i))
			return false;
		armed += t->slots[i].owner != NULL;
	}
	for (g = 0; g < ec_timers_cap(t) / GROUP; g++)
		free += t->groups[g].free != 0;
	for (g = t->free_group; g != EC_TIMER_NONE && listed <= free; g = t->groups[g].next)
		listed += t->groups[g].free != 0;
	return entries == t->num && armed == t->num && listed == free &&
	       t->heap_num <= t->heap_room && t->heap_cap <= t->heap_room;
}
