/*
 * Random operations on pairs of bufferevents by seed, between turns and in their callbacks: watermarks, enable
 * and disable, flushes, triggers, frees. Without and then with locks, with deferred callbacks and without.
 */
#include "random.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#define TURNS_NUM 30
#define RUNS_MAX 20		/* fewer than the callbacks that a turn may defer */
#define BYTES_MAX 3000

static struct event_base *base;
static struct bufferevent *bevs[2];		/* a and b */
static int options, ops_left, runs;

static void op(void);

static const char *name_of(const struct bufferevent *bev)
{
	return bev == bevs[0] ? "a" : "b";
}

static void ran(void)
{
	if (++runs >= RUNS_MAX)
		say("  break: %d", event_base_loopbreak(base));
	while (ops_left > 0 && pick(2) == 0) {
		ops_left--;
		op();
	}
}

static void say_bytes(const char *what, struct bufferevent *bev)
{
	say("  %s %s: input %zu, output %zu, enabled %s", name_of(bev), what,
	    evbuffer_get_length(bufferevent_get_input(bev)), evbuffer_get_length(bufferevent_get_output(bev)),
	    what_str(bufferevent_get_enabled(bev)));
}

static void take(struct bufferevent *bev, size_t len)
{
	char buf[BYTES_MAX];
	size_t n = bufferevent_read(bev, buf, len);

	say("  %s takes %zu of %zu, last %d", name_of(bev), n, len, n != 0 ? buf[n - 1] : -1);
}

static void read_fn(struct bufferevent *bev, void *arg)
{
	(void)arg;
	say_bytes("read", bev);
	if (pick(4) != 0)
		take(bev, 1 + pick(BYTES_MAX));
	ran();
}

static void write_fn(struct bufferevent *bev, void *arg)
{
	(void)arg;
	say_bytes("written", bev);
	ran();
}

static void event_fn(struct bufferevent *bev, short what, void *arg)
{
	(void)arg;
	say("  %s event %#x", name_of(bev), (unsigned)what);
	ran();
}

static void make(void)
{
	int i;

	must(bufferevent_pair_new(base, options, bevs) == 0, "make a pair");
	for (i = 0; i < 2; i++) {
		bufferevent_setcb(bevs[i], read_fn, write_fn, event_fn, NULL);
		say("%s: enable %d", name_of(bevs[i]), bufferevent_enable(bevs[i], EV_READ | EV_WRITE));
	}
}

static void unmake(void)
{
	bufferevent_free(bevs[0]);
	bufferevent_free(bevs[1]);
}

static void send_bytes(struct bufferevent *bev)
{
	char buf[BYTES_MAX];
	size_t len = 1 + pick(BYTES_MAX);

	for (size_t i = 0; i < len; i++)
		buf[i] = (char)(len + i);
	say("  %s sends %zu: %d", name_of(bev), len, bufferevent_write(bev, buf, len));
}

static void watermark(struct bufferevent *bev)
{
	static const short which[] = { EV_READ, EV_WRITE };
	short what = which[pick(2)];
	/* A small one would make a long row of callbacks, which stock runs in one turn, and ours do not. */
	size_t low = pick(2) ? pick(BYTES_MAX) : 0, high = pick(2) ? low + BYTES_MAX : 0;

	say("  %s watermarks of %s: %zu, %zu", name_of(bev), what_str(what), low, high);
	bufferevent_setwatermark(bev, what, low, high);
}

static void op(void)
{
	static const short masks[] = { EV_READ, EV_WRITE, EV_READ | EV_WRITE };
	static const enum bufferevent_flush_mode modes[] = { BEV_NORMAL, BEV_FLUSH };
	struct bufferevent *bev = bevs[pick(2)];
	short mask = masks[pick(3)];
	int r;

	switch (pick(10)) {
	case 0:
	case 1:
	case 2:
		send_bytes(bev);
		break;
	case 3:
		take(bev, 1 + pick(BYTES_MAX));
		break;
	case 4:
		r = bufferevent_disable(bev, mask);
		say("  %s disable %s: %d", name_of(bev), what_str(mask), r);
		break;
	case 5:
	case 6:
		r = bufferevent_enable(bev, mask);
		say("  %s enable %s: %d", name_of(bev), what_str(mask), r);
		break;
	case 7:
		watermark(bev);
		break;
	case 8:
		r = bufferevent_flush(bev, mask, modes[pick(2)]);
		say("  %s flush %s: %d", name_of(bev), what_str(mask), r);
		break;
	default:
		bufferevent_trigger(bev, mask, pick(2) ? BEV_TRIG_IGNORE_WATERMARKS : 0);
		say("  %s trigger %s", name_of(bev), what_str(mask));
		break;
	}
}

static void one_turn(void)
{
	int r;

	ops_left = 6;
	runs = 0;
	r = turn(base);
	say("turn: %d", r);
	for (int i = 0; i < 2; i++)
		say_bytes("now", bevs[i]);
}

static void run(unsigned seed)
{
	random_begin(seed, 999);
	options = pick(2) ? BEV_OPT_DEFER_CALLBACKS : 0;
	say("options %#x", (unsigned)options);
	base = base_new();
	make();
	for (int i = 0; i < TURNS_NUM; i++) {
		ops_left = (int)pick(6);
		while (ops_left-- > 0)
			op();
		one_turn();
		if (pick(10) == 0) {
			say("anew");
			unmake();
			make();
		}
	}
	unmake();
	turn(base);
	event_base_free(base);
}

int main(int argc, char **argv)
{
	random_main(argc, argv, 30, run);
	return 0;
}
