#include "far.h"

#include "ec.h"
#include "os/clock.h"
#include "sched/event.h"
#include "timer.h"

/* FAR_NS: nearer events go to the heap. RETRY_NS: without memory, events wait this long for the next try. */
enum { FIRST_SHIFT = 26, FAR_NS = 1 << 30, RETRY_NS = 10000000 };

static void set_now(struct ec_timers *t, uint64_t now_ns)
{
	t->far->now_ns = now_ns;
	t->near_ns = now_ns + FAR_NS;
}

static bool make(struct ec_timers *t)
{
	t->far = ec_calloc(1, sizeof(*t->far));
	if (t->far == NULL)
		return false;
	set_now(t, (uint64_t)ec_monotonic_ns());
	return true;
}

static struct ec_far_bucket *make_level(uint32_t level)
{
	struct ec_far_bucket *at = ec_malloc(EC_FAR_BUCKETS * sizeof(*at));
	unsigned i;

	for (i = 0; at != NULL && i < EC_FAR_BUCKETS; i++) {
		ec_list_init(&at[i].events);
		at[i].slot = EC_TIMER_NONE;
		at[i].level = level;
	}
	return at;
}

/* The least level whose buckets all together span `distance`; deadlines beyond the last level share its buckets. */
static uint32_t level_of(uint64_t distance)
{
	uint64_t spans = distance >> FIRST_SHIFT >> 6;
	uint32_t level = spans == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(spans);

	return level < EC_FAR_LEVELS ? level : EC_FAR_LEVELS - 1;
}

static struct ec_far_bucket *bucket_of(struct ec_far *far, uint64_t deadline_ns)
{
	uint32_t level = level_of(deadline_ns - far->now_ns);

	if (far->levels[level] == NULL)
		far->levels[level] = make_level(level);
	if (far->levels[level] == NULL)
		return NULL;
	return &far->levels[level][deadline_ns >> (FIRST_SHIFT + level) & (EC_FAR_BUCKETS - 1)];
}

static void enlist(struct ec_far *far, struct ec_far_bucket *b, struct ec_event *ev)
{
	far->num++;
	ec_list_push_back(&b->events, ec_event_common_link(ev));
	ec_event_set_state(ev, EC_EV_COMMON | EC_EV_FAR, EC_EV_COMMON | EC_EV_FAR);
}

static void delist(struct ec_far *far, struct ec_event *ev)
{
	far->num--;
	ec_list_remove(ec_event_common_link(ev));
	ev->timer.slot = EC_TIMER_NONE;
	ec_event_set_state(ev, EC_EV_COMMON | EC_EV_FAR, 0);
}

/*
 * The timer of a bucket comes a nanosecond before its first event, so ahead of timers that are due with that event. It
 * has a sequence number of its own: with the event's, its stale entries would also be the event's.
 */
static int arm_bucket(struct ec_timers *t, struct ec_far_bucket *b, uint64_t first_ns)
{
	int r = ec_timers_arm_in_order(t, &b->slot, first_ns - 1, t->seq, ec_far_owner(b));

	if (r < 0)
		return r;
	t->seq++;
	ec_timers_note_queue(t, b->slot);
	return 0;
}

static bool file(struct ec_timers *t, uint64_t deadline_ns, uint32_t seq, struct ec_event *ev)
{
	struct ec_far_bucket *b = bucket_of(t->far, deadline_ns);

	if (b == NULL)
		return false;
	if ((b->slot == EC_TIMER_NONE || deadline_ns <= t->slots[b->slot].deadline) &&
	    arm_bucket(t, b, deadline_ns) < 0)
		return false;
	*ec_event_far_seq(ev) = seq;
	enlist(t->far, b, ev);
	return true;
}

/* Arms an event that is not armed. False, and nothing has changed: it is not far away, or there is no memory. */
static bool take(struct ec_timers *t, uint64_t deadline_ns, void *ev)
{
	if (t->far == NULL && !make(t))
		return false;
	if (deadline_ns <= t->near_ns || !file(t, deadline_ns, t->seq, ev))
		return false;
	t->seq++;
	return true;
}

void ec_far_init(struct ec_timers *t)
{
	if (EC_HAS_COMMON)
		t->take_far = take;
}

void ec_far_fini(struct ec_timers *t)
{
	unsigned i;

	if (t->far == NULL)
		return;
	for (i = 0; i < EC_FAR_LEVELS; i++)
		ec_free(t->far->levels[i]);
	ec_free(t->far);
	t->far = NULL;
}

void ec_far_remove(struct ec_timers *t, struct ec_event *ev)
{
	struct ec_list *head = ec_event_common_link(ev)->next;

	delist(t->far, ev);
	if (head->next == head)
		ec_timers_disarm(t, &ec_container_of(head, struct ec_far_bucket, events)->slot);
}

/* Events of `b` found no other place than `b`: its timer, which is early, gets the first deadline. */
static void postpone(struct ec_timers *t, const struct ec_far_bucket *b)
{
	struct ec_event *first = ec_event_of_common(b->events.next), *ev;
	struct ec_list *at;

	for (at = b->events.next->next; at != &b->events; at = at->next) {
		ev = ec_event_of_common(at);
		if (ev->deadline_ns < first->deadline_ns)
			first = ev;
	}
	ec_timers_postpone(t, b->slot, (uint64_t)first->deadline_ns - 1);
}

/* Of an event of a bucket that is open. False: no memory. */
static bool move(struct ec_timers *t, struct ec_event *ev, uint64_t span)
{
	uint64_t deadline = (uint64_t)ev->deadline_ns;
	uint32_t seq = *ec_event_far_seq(ev);

	delist(t->far, ev);
	if (deadline > t->near_ns && deadline - t->far->now_ns > span && file(t, deadline, seq, ev))
		return true;
	return ec_timers_arm_in_order(t, &ev->timer.slot, deadline, seq, ev) == 0;
}

void ec_far_open(struct ec_timers *t, struct ec_far_bucket *b, uint64_t now_ns, struct ec_list *due)
{
	uint64_t span = UINT64_C(1) << (FIRST_SHIFT + b->level);
	bool is_short = false;
	struct ec_list events;
	struct ec_event *ev;

	ec_list_init(&events);
	ec_list_splice_back(&events, &b->events);
	set_now(t, now_ns);
	/* Its own entry has just left, so there is room for another: for events that find no memory. */
	b->slot = EC_TIMER_NONE;
	(void)arm_bucket(t, b, now_ns + RETRY_NS);
	while (!ec_list_is_empty(&events)) {
		ev = ec_event_of_common(events.next);
		__builtin_prefetch(&ec_event_of_common(events.next->next)->deadline_ns);
		if (move(t, ev, span))
			continue;
		is_short = true;
		if ((uint64_t)ev->deadline_ns <= now_ns)
			ec_list_push_back(due, ec_event_common_link(ev));
		else
			enlist(t->far, b, ev);
	}
	if (ec_list_is_empty(&b->events))
		ec_timers_disarm(t, &b->slot);
	else if (!is_short)
		postpone(t, b);
}
