/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * Preloaded, it takes the colors from a program, which then is as it was before somebody colored it: for
 * testsuite/bench/advise.
 */
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/smp.h>

int event_set_color(struct event *ev, ev_uint32_t color)
{
	(void)ev, (void)color;
	return 0;
}

int bufferevent_set_color(struct bufferevent *bev, ev_uint32_t color)
{
	(void)bev, (void)color;
	return 0;
}

int evconnlistener_set_color_policy(struct evconnlistener *lev, enum evconnlistener_color_policy policy,
				    evconnlistener_color_cb cb, void *arg)
{
	(void)lev, (void)policy, (void)cb, (void)arg;
	return 0;
}

int event_base_get_running_color(const struct event_base *base, ev_uint32_t *color)
{
	(void)base;
	*color = 0;
	return 0;
}
