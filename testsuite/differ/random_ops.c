/*
 * Thousands of random operations by seed: the same sequence on both libraries. Two kinds
 * of run. `ordered`: one descriptor and activations, whose order is fixed, and callbacks
 * that operate on other events in turn. `sorted`: many descriptors, whose order is not, and
 * callbacks that only note that they ran.
 */
#include "random.h"

#define EVENTS_NUM 24
#define PIPES_NUM 12
#define RUNS_MAX 30

static struct event_base *base;
static struct event *evs[EVENTS_NUM];
static int kinds[EVENTS_NUM];
static int socks[PIPES_NUM][2];
static int socks_num;
static bool is_ordered;
static char notes[EVENTS_NUM][64];
static int depth_left, runs;

static void op(void);

static void ordered_cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;

	(void)fd;
	say("  %d: %s", i, what_str(what));
	/* An urgent event that is always ready starves the others, and the turn would not end. */
	if (++runs == RUNS_MAX)
		say("  break: %d", event_base_loopbreak(base));
	if (depth_left > 0 && pick(3) == 0) {
		depth_left--;
		op();
	}
}

static void sorted_cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;

	(void)fd;
	snprintf(notes[i], sizeof(notes[i]), "%s", what_str(what));
}

static void make(int i)
{
	static const int on_fd[] = { EV_READ, EV_WRITE, EV_READ | EV_WRITE, EV_READ | EV_PERSIST,
				     EV_WRITE | EV_PERSIST, EV_READ | EV_WRITE | EV_PERSIST };
	bool has_fd = i % 3 != 0;

	kinds[i] = has_fd ? on_fd[pick(6)] : (pick(2) ? EV_PERSIST : 0);
	evs[i] = ev_new(base, has_fd ? socks[pick((unsigned)socks_num)][0] : -1, kinds[i],
			is_ordered ? ordered_cb : sorted_cb, (void *)(intptr_t)i);
	event_priority_set(evs[i], (int)pick(is_ordered ? 3 : 1));
}

/* One timer due in a turn at most where order counts: of equal deadlines it is not fixed. */
static int due_timer = -1;

static void add(int i)
{
	bool is_due = pick(3) == 0 && (!is_ordered || due_timer < 0 || due_timer == i);
	int r = event_add(evs[i], is_due ? &zero_tv : pick(2) ? &hour_tv : NULL);

	if (is_due)
		due_timer = i;
	say("add %d%s: %d, pending %s", i, is_due ? ", due" : "", r, pending_str(evs[i]));
}

static void op(void)
{
	int i = (int)pick(EVENTS_NUM), r;
	unsigned sock = pick((unsigned)socks_num);

	switch (pick(11)) {
	case 0:
	case 1:
	case 2:
		add(i);
		break;
	case 3:
		r = event_del(evs[i]);
		say("del %d: %d", i, r);
		break;
	case 4:
		/* libevent adds a deleted event again if it is persistent and once had a timeout. */
		if ((kinds[i] & EV_PERSIST) && !event_pending(evs[i], EV_ALL, NULL))
			break;
		r = event_pending(evs[i], EV_ALL, NULL) & EV_READ ? EV_WRITE : EV_READ;
		event_active(evs[i], r, 1);
		say("active %d: pending %s", i, pending_str(evs[i]));
		break;
	case 5:
		r = event_remove_timer(evs[i]);
		say("remove_timer %d: %d, pending %s", i, r, pending_str(evs[i]));
		break;
	case 6:
		put(socks[sock][1]);
		break;
	case 7:
		drain(socks[sock][0]);
		break;
	case 8:
		r = event_priority_set(evs[i], (int)pick(is_ordered ? 3 : 1));
		say("priority %d: %d", i, r);
		break;
	case 9:
		event_free(evs[i]);
		make(i);
		break;
	case 10:
		if (is_ordered && pick(4) == 0)
			say("continue: %d", event_base_loopcontinue(base));
		else
			event_base_active_by_fd(base, socks[sock][0], EV_READ);
		break;
	}
}

static void one_turn(void)
{
	int r;

	depth_left = 6;
	runs = 0;
	r = turn(base);
	/* A timer that is due has run by now, or lost its place to an hour. */
	due_timer = -1;
	for (int i = 0; i < EVENTS_NUM; i++) {
		if (notes[i][0] != '\0')
			say("  %d: %s", i, notes[i]);
		notes[i][0] = '\0';
	}
	say("turn: %d, added %d, active %d", r, event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED),
	    event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
}

static void run(unsigned seed, bool ordered)
{
	char name[32];

	sprintf(name, "%s, seed %u", ordered ? "ordered" : "sorted", seed);
	section(name);
	random_begin(seed, 12345);
	is_ordered = ordered;
	socks_num = ordered ? 1 : PIPES_NUM;
	due_timer = -1;
	base = base_new();
	event_base_priority_init(base, 3);
	for (int i = 0; i < socks_num; i++)
		pair_new(socks[i]);
	for (int i = 0; i < EVENTS_NUM; i++)
		make(i);
	for (int i = 0; i < 60; i++) {
		for (unsigned ops = pick(8); ops > 0; ops--)
			op();
		one_turn();
	}
	for (int i = 0; i < EVENTS_NUM; i++)
		event_free(evs[i]);
	say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
	event_base_free(base);
	for (int i = 0; i < socks_num; i++)
		pair_close(socks[i]);
}

int main(int argc, char **argv)
{
	unsigned from = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1;
	unsigned num = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 12;

	for (unsigned seed = from; seed < from + num; seed++) {
		run(seed, true);
		run(seed, false);
	}
	return 0;
}
