/*
 * Random turns by seed: priorities, limits of a turn, loop flags, what ends or repeats a turn, events that
 * run once, finalizers, and all of it in callbacks, too. Each seed runs without and then with evthread. Of
 * what becomes ready in one turn, only kinds are mixed whose order is fixed: one descriptor and one timer,
 * or one signal.
 */
#include "random.h"

#define EVENTS_NUM 10
#define TURNS_NUM 40
#define RUNS_MAX 40

static struct event_base *base;
static struct event *evs[EVENTS_NUM];
static bool is_finalizing[EVENTS_NUM];
static int sock[2];
static bool has_signals;
static int priorities, ops_left, runs, onces;

/* The first are only activated, then a descriptor or two signals, then a timer. */
enum kind { ACTIVE, READ, SIGNAL, TIMER, NONE };

static enum kind kind_of(int i)
{
	if (i < EVENTS_NUM - 3)
		return ACTIVE;
	if (has_signals)
		return i < EVENTS_NUM - 1 ? SIGNAL : NONE;
	return i == EVENTS_NUM - 3 ? READ : i == EVENTS_NUM - 2 ? TIMER : NONE;
}

static void op(void);

static void ran(void)
{
	/* A turn may not end: an urgent event that is always active starves the others. */
	if (++runs >= RUNS_MAX)
		say("  break: %d", event_base_loopbreak(base));
	while (ops_left > 0 && pick(2) == 0) {
		ops_left--;
		op();
	}
}

static void cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;
	char c;

	say("  %d: %s", i, what_str(what));
	if ((what & EV_READ) && kind_of(i) == READ && pick(3) != 0)
		say("  read: %zd", read(fd, &c, 1));
	ran();
}

static void once_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  once %d: %s", (int)(intptr_t)arg, what_str(what));
	ran();
}

static void make(int i)
{
	int persist = pick(2) ? EV_PERSIST : 0;

	switch (kind_of(i)) {
	case ACTIVE:
	case NONE:
		evs[i] = ev_new(base, -1, persist, cb, (void *)(intptr_t)i);
		break;
	case READ:
		evs[i] = ev_new(base, sock[0], EV_READ | persist, cb, (void *)(intptr_t)i);
		break;
	case SIGNAL:
		evs[i] = ev_new(base, SIGUSR1, EV_SIGNAL | persist, cb, (void *)(intptr_t)i);
		break;
	case TIMER:
		evs[i] = evtimer_new(base, cb, (void *)(intptr_t)i);
		must(evs[i] != NULL, "make a timer");
		break;
	}
	say("priority of %d: %d", i, event_priority_set(evs[i], (int)pick((unsigned)priorities)));
}

static void finalize_cb(struct event *ev, void *arg)
{
	int i = (int)(intptr_t)arg;

	say("  finalized %d: pending %s", i, pending_str(ev));
	is_finalizing[i] = false;
	evs[i] = NULL;
}

static void add(int i)
{
	const struct timeval *tv = pick(3) == 0 ? &hour_tv : NULL;

	switch (kind_of(i)) {
	case ACTIVE:
		tv = &hour_tv;
		break;
	case TIMER:
		tv = pick(2) ? &zero_tv : &hour_tv;
		break;
	default:
		break;
	}
	say_step("add", event_add(evs[i], tv), evs[i]);
}

/* Once only: stock loses the calls that a signal's own callback asks for, if it is called several times itself. */
static void activate(int i)
{
	event_active(evs[i], kind_of(i) == SIGNAL ? EV_SIGNAL : EV_READ, 1);
	say("active %d: pending %s", i, pending_str(evs[i]));
}

static void once(void)
{
	onces++;
	say("once %d: %d", onces, event_base_once(base, -1, EV_TIMEOUT, once_cb, (void *)(intptr_t)onces, NULL));
}

static void op_on_base(void)
{
	switch (pick(7)) {
	case 0:
		say("exit: %d", event_base_loopexit(base, NULL));
		break;
	case 1:
		say("break: %d", event_base_loopbreak(base));
		break;
	case 2:
		say("continue: %d", event_base_loopcontinue(base));
		break;
	case 3:
	case 4:
		/* Its deadline would be the timer's. */
		if (has_signals)
			once();
		break;
	default:
		put(sock[1]);
		break;
	}
}

static void op(void)
{
	int i = (int)pick(EVENTS_NUM);

	if (evs[i] == NULL) {
		make(i);
		return;
	}
	if (is_finalizing[i] || pick(5) == 0) {
		op_on_base();
		return;
	}
	switch (pick(10)) {
	case 0:
	case 1:
		add(i);
		break;
	case 2:
		say_step("del", event_del(evs[i]), evs[i]);
		break;
	case 3:
		say("priority of %d: %d", i, event_priority_set(evs[i], (int)pick((unsigned)priorities)));
		break;
	case 4:
		event_free(evs[i]);
		make(i);
		break;
	case 5:
		is_finalizing[i] = true;
		say("finalize %d: %d", i, event_free_finalize(0, evs[i], finalize_cb));
		break;
	default:
		activate(i);
		break;
	}
}

/* The handler of a signal that no event waits for ends the program. */
static void ignored(int sig)
{
	(void)sig;
}

static void one_turn(void)
{
	static const int flags[] = { EVLOOP_ONCE | EVLOOP_NONBLOCK, EVLOOP_NONBLOCK,
				     EVLOOP_NONBLOCK | EVLOOP_NO_EXIT_ON_EMPTY };
	int i = (int)pick(3), r;

	ops_left = 8;
	runs = 0;
	/* Ours sees a signal in the poll, stock in a callback after it: beside others the order differs (API.md). */
	if (has_signals && event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) == 0 && pick(2) == 0)
		say("raise: %d", raise(SIGUSR1));
	say("loop, flags %#x", (unsigned)flags[i]);
	r = event_base_loop(base, flags[i]);
	say("loop: %d, exit %d, break %d, added %d, active %d", r, event_base_got_exit(base),
	    event_base_got_break(base),
	    event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED),
	    event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
}

static struct event_base *base_limited(void)
{
	struct event_config *cfg = event_config_new();
	unsigned calls = pick(4), pri = pick(2);
	struct event_base *b;

	must(cfg != NULL, "make a configuration");
	if (calls != 3) {
		say("limit: %u callbacks from priority %u on", calls + 1, pri);
		must(event_config_set_max_dispatch_interval(cfg, NULL, (int)calls + 1, (int)pri) == 0, "set a limit");
	}
	b = event_base_new_with_config(cfg);
	must(b != NULL, "make a base");
	event_config_free(cfg);
	return b;
}

static void run(unsigned seed)
{
	random_begin(seed, 54321);
	has_signals = seed % 2 == 0;
	onces = 0;
	priorities = 1 + (int)pick(4);
	base = base_limited();
	say("priorities: %d, %d", priorities, event_base_priority_init(base, priorities));
	pair_new(sock);
	for (int i = 0; i < EVENTS_NUM; i++)
		make(i);
	for (int i = 0; i < TURNS_NUM; i++) {
		ops_left = (int)pick(8);
		while (ops_left-- > 0)
			op();
		one_turn();
	}
	for (int i = 0; i < EVENTS_NUM; i++) {
		if (evs[i] != NULL && !is_finalizing[i])
			event_free(evs[i]);
	}
	event_base_free(base);
	for (int i = 0; i < EVENTS_NUM; i++) {
		is_finalizing[i] = false;
		evs[i] = NULL;
	}
	pair_close(sock);
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, ignored);
	random_main(argc, argv, 20, run);
	return 0;
}
