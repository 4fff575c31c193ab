/*
 * <event2/smp.h>: colors, posts, workers.
 */
#include <event2/smp.h>

#include <limits.h>
#include <string.h>

#include "le.h"

int event_set_color(struct event *ev, ev_uint32_t color)
{
	return le_result(ec_event_set_color(le_ec(ev), color));
}

int event_set_color_shared(struct event *ev, ev_uint32_t color)
{
	return le_result(ec_event_set_color_shared(le_ec(ev), color));
}

ev_uint32_t event_get_color(const struct event *ev)
{
	return ec_event_color(le_ec(ev));
}

int event_base_post(struct event_base *base, ev_uint32_t color, event_post_fn fn, void *arg)
{
	return ec_base_post(le_base(base), color, fn, arg);
}

int event_base_post_priority(struct event_base *base, ev_uint32_t color, int priority, event_post_fn fn, void *arg)
{
	return ec_base_post_priority(le_base(base), color, priority, fn, arg);
}

unsigned event_base_get_workers(const struct event_base *base)
{
	return ec_base_workers(le_base(base));
}

int event_base_get_running_worker(const struct event_base *base)
{
	unsigned worker = ec_base_running_worker(le_base(base));

	return worker == UINT_MAX ? -1 : (int)worker;
}

int event_base_get_running_color(const struct event_base *base, ev_uint32_t *color)
{
	return le_result(ec_base_running_color(le_base(base), color));
}

int event_base_pause(struct event_base *base)
{
	return le_result(ec_base_pause(le_base(base)));
}

int event_base_resume(struct event_base *base)
{
	return le_result(ec_base_resume(le_base(base)));
}

int event_color_set_cost(struct event_base *base, ev_uint32_t color, ev_uint32_t ns)
{
	return le_result(ec_color_set_cost(le_base(base), color, ns));
}

int event_color_set_penalty(struct event_base *base, ev_uint32_t color, ev_uint32_t factor)
{
	return le_result(ec_color_set_penalty(le_base(base), color, factor));
}

/*
 * The public structs are the engine's (abi/layout.c). The program's struct may be older or newer
 * than the library's: the common prefix is copied.
 */
static void copy_stats(void *to, size_t to_size, const void *from, size_t from_size)
{
	memset(to, 0, to_size);
	memcpy(to, from, to_size < from_size ? to_size : from_size);
}

int event_base_get_stats(struct event_base *base, unsigned worker, struct event_worker_stats *stats, size_t size)
{
	struct ec_worker_stats s;
	int r = ec_base_worker_stats(le_base(base), worker, &s);

	if (r == 0)
		copy_stats(stats, size, &s, sizeof(s));
	return le_result(r);
}

int event_base_get_color_stats(struct event_base *base, ev_uint32_t color, struct event_color_stats *stats, size_t size)
{
	struct ec_color_stats s;
	int r = ec_base_color_stats(le_base(base), color, &s);

	if (r == 0)
		copy_stats(stats, size, &s, sizeof(s));
	return le_result(r);
}
