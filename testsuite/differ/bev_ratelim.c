/*
 * Rate limits: what configurations are taken, how buckets start, change and empty, and what is read and
 * written of what is there; groups, their totals and shares. A tick is so long that none passes.
 */
#include "trace.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/util.h>

static const struct timeval hour = { 3600, 0 };
static struct event_base *base;
static struct bufferevent *bev;
static int peer;

static void readcb(struct bufferevent *b, void *arg)
{
	(void)arg;
	say("readcb, %zu bytes", evbuffer_get_length(bufferevent_get_input(b)));
}

static void start(void)
{
	int fds[2];

	base = event_base_new();
	evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	evutil_make_socket_nonblocking(fds[0]);
	evutil_make_socket_nonblocking(fds[1]);
	peer = fds[1];
	bev = bufferevent_socket_new(base, fds[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(bev, readcb, NULL, NULL, NULL);
}

static void run(void)
{
	int i;

	for (i = 0; i < 8; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void stop(void)
{
	bufferevent_free(bev);
	run();
	event_base_free(base);
	close(peer);
}

static void configurations(void)
{
	struct timeval none = { 0, 0 };
	struct ev_token_bucket_cfg *cfg;

	(void)none;
	say("-- configurations");
	cfg = ev_token_bucket_cfg_new(10, 20, 30, 40, NULL);
	say("plain %d", cfg != NULL);
	ev_token_bucket_cfg_free(cfg);
	say("rate above burst %d %d", ev_token_bucket_cfg_new(21, 20, 30, 40, NULL) == NULL,
	    ev_token_bucket_cfg_new(10, 20, 41, 40, NULL) == NULL);
	say("nothing %d %d", ev_token_bucket_cfg_new(0, 20, 30, 40, NULL) == NULL,
	    ev_token_bucket_cfg_new(10, 20, 0, 40, NULL) == NULL);
	say("too much %d", ev_token_bucket_cfg_new(10, (size_t)EV_RATE_LIMIT_MAX + 1, 30, 40, NULL) == NULL);
	cfg = ev_token_bucket_cfg_new(EV_RATE_LIMIT_MAX, EV_RATE_LIMIT_MAX, EV_RATE_LIMIT_MAX,
				      EV_RATE_LIMIT_MAX, &hour);
	say("much %d", cfg != NULL);
	ev_token_bucket_cfg_free(cfg);
}

static void show(void)
{
	say("left %ld %ld, to move %ld %ld", (long)bufferevent_get_read_limit(bev),
	    (long)bufferevent_get_write_limit(bev),
	    (long)bufferevent_get_max_to_read(bev), (long)bufferevent_get_max_to_write(bev));
}

static void one(void)
{
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(100, 200, 50, 300, &hour);
	struct ev_token_bucket_cfg *other = ev_token_bucket_cfg_new(10, 40, 20, 60, &hour);
	char block[1000] = { 0 }, got[1000];

	say("-- one");
	start();
	say("set %d cfg %d", bufferevent_set_rate_limit(bev, cfg), bufferevent_get_token_bucket_cfg(bev) == cfg);
	show();
	bufferevent_enable(bev, EV_READ);
	(void)!write(peer, block, 60);
	run();
	show();
	(void)!write(peer, block, 60);
	run();
	show();
	say("decrement %d", bufferevent_decrement_read_limit(bev, -30));
	run();
	show();
	bufferevent_write(bev, block, 70);
	run();
	say("peer reads %d", (int)read(peer, got, sizeof(got)));
	show();
	say("decrement %d", bufferevent_decrement_write_limit(bev, -100));
	run();
	say("peer reads %d", (int)read(peer, got, sizeof(got)));
	show();
	say("decrement %d", bufferevent_decrement_write_limit(bev, 500));
	show();
	say("again %d, other %d", bufferevent_set_rate_limit(bev, cfg), bufferevent_set_rate_limit(bev, other));
	show();
	bufferevent_write(bev, block, 70);
	run();
	say("peer reads %d", (int)read(peer, got, sizeof(got)));
	say("none %d %d", bufferevent_set_rate_limit(bev, NULL), bufferevent_get_token_bucket_cfg(bev) == NULL);
	run();
	say("peer reads %d", (int)read(peer, got, sizeof(got)));
	say("none %d", bufferevent_set_rate_limit(bev, NULL));
	say("single %d", bufferevent_set_max_single_read(bev, 7));
	(void)!write(peer, block, 20);
	run();
	say("single %d", bufferevent_set_max_single_write(bev, 7));
	bufferevent_write(bev, block, 20);
	event_base_loop(base, EVLOOP_NONBLOCK);
	show();
	run();
	say("peer reads %d", (int)read(peer, got, sizeof(got)));
	stop();
	ev_token_bucket_cfg_free(cfg);
	ev_token_bucket_cfg_free(other);
}

static void totals(struct bufferevent_rate_limit_group *g)
{
	ev_uint64_t in = 0, out = 0;

	bufferevent_rate_limit_group_get_totals(g, &in, &out);
	say("group left %ld %ld, total %d %d", (long)bufferevent_rate_limit_group_get_read_limit(g),
	    (long)bufferevent_rate_limit_group_get_write_limit(g), (int)in, (int)out);
}

static void group(void)
{
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(500, 700, 600, 800, &hour);
	struct ev_token_bucket_cfg *other = ev_token_bucket_cfg_new(100, 200, 100, 200, NULL);
	struct bufferevent_rate_limit_group *g;
	struct bufferevent *second;
	char block[1000] = { 0 }, got[1000];

	say("-- group");
	start();
	second = bufferevent_socket_new(base, -1, 0);
	g = bufferevent_rate_limit_group_new(base, cfg);
	totals(g);
	say("add %d %d", bufferevent_add_to_rate_limit_group(bev, g), bufferevent_add_to_rate_limit_group(second, g));
	say("again %d", bufferevent_add_to_rate_limit_group(second, g));
	show();
	bufferevent_enable(bev, EV_READ);
	(void)!write(peer, block, 400);
	run();
	totals(g);
	show();
	(void)!write(peer, block, 400);
	run();
	totals(g);
	say("remove %d", bufferevent_remove_from_rate_limit_group(second));
	say("remove %d", bufferevent_remove_from_rate_limit_group(second));
	show();
	say("decrement %d", bufferevent_rate_limit_group_decrement_read(g, -100));
	run();
	totals(g);
	bufferevent_write(bev, block, 900);
	run();
	say("peer reads %d", (int)read(peer, got, sizeof(got)));
	totals(g);
	say("decrement %d", bufferevent_rate_limit_group_decrement_write(g, -1000));
	run();
	say("peer reads %d", (int)read(peer, got, sizeof(got)));
	totals(g);
	bufferevent_rate_limit_group_reset_totals(g);
	totals(g);
	say("min share %d %d", bufferevent_rate_limit_group_set_min_share(g, 10),
	    bufferevent_rate_limit_group_set_min_share(g, (size_t)-1));
	say("cfg %d", bufferevent_rate_limit_group_set_cfg(g, other));
	totals(g);
	/* The header allows NULL for a group here; stock dies of it. */
	say("remove %d", bufferevent_remove_from_rate_limit_group(bev));
	run();
	totals(g);
	bufferevent_free(second);
	bufferevent_rate_limit_group_free(g);
	stop();
	ev_token_bucket_cfg_free(cfg);
	ev_token_bucket_cfg_free(other);
}

/* Who asks for a share after tokens came, but before the members were told, takes nothing from them. */
static void asked_between(void)
{
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(500, 500, 500, 500, &hour);
	struct bufferevent_rate_limit_group *g;
	char block[1000] = { 0 };

	say("-- asked between");
	start();
	g = bufferevent_rate_limit_group_new(base, cfg);
	(void)bufferevent_add_to_rate_limit_group(bev, g);
	bufferevent_enable(bev, EV_READ);
	(void)!write(peer, block, 600);
	run();
	totals(g);
	say("decrement %d", bufferevent_rate_limit_group_decrement_read(g, -400));
	show();
	run();
	totals(g);
	(void)bufferevent_remove_from_rate_limit_group(bev);
	bufferevent_rate_limit_group_free(g);
	stop();
	ev_token_bucket_cfg_free(cfg);
}

/* Tokens come with each tick, up to the burst, also where their number has no room in 64 bits. */
static void refilled(void)
{
	static const struct timeval tick = { 10, 0 }, wait = { 200, 0 };
	static const ev_ssize_t taken[] = { 0, 5, 500, 1500, 2000000000 };
	struct ev_token_bucket_cfg *cfg;

	cfg = ev_token_bucket_cfg_new(100, 1000, EV_RATE_LIMIT_MAX, EV_RATE_LIMIT_MAX, &tick);
	say("-- refilled");
	start();
	say("set %d", bufferevent_set_rate_limit(bev, cfg));
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		say("decrement %d %d", bufferevent_decrement_read_limit(bev, taken[i] <= 1500 ? taken[i] : 0),
		    bufferevent_decrement_write_limit(bev, taken[i]));
		event_base_loopexit(base, &wait);
		event_base_dispatch(base);
		say("left %ld %d", (long)bufferevent_get_read_limit(bev),
		    bufferevent_get_write_limit(bev) == EV_SSIZE_MAX);
	}
	stop();
	ev_token_bucket_cfg_free(cfg);
}

int main(void)
{
	configurations();
	one();
	group();
	asked_between();
	refilled();
	return 0;
}
