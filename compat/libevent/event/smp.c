/*
 * <event2/smp.h>: colors, posts, workers.
 */
#include <event2/smp.h>

#include <limits.h>
#include <string.h>

#include "le.h"

static LE_COLD struct ec_base *no_base(const char *caller)
{
	ec_log(EC_LOG_WARN, "%s: no event_base: event_init() was not called", caller);
	return NULL;
}

/* As le_base_or_current, but logs a warning if there is no base. */
static struct ec_base *need_base(const struct event_base *base, const char *caller)
{
	struct ec_base *b = le_base_or_current(base);

	return b != NULL ? b : no_base(caller);
}

const char *event_smp_version(void)
{
	return EVENT_SMP_VERSION;
}

ev_uint32_t event_smp_version_number(void)
{
	return EVENT_SMP_VERSION_NUMBER;
}

int event_set_color(struct event *ev, ev_uint32_t color)
{
	return le_result(ev == NULL ? -EINVAL : ec_event_set_color(le_ec(ev), color));
}

int event_set_color_shared(struct event *ev, ev_uint32_t color)
{
	return le_result(ev == NULL ? -EINVAL : ec_event_set_color_shared(le_ec(ev), color));
}

ev_uint32_t event_get_color(const struct event *ev)
{
	return ev == NULL ? 0 : ec_event_color(le_ec(ev));
}

/* The engine handles a NULL base and warns, so that the fast path needs no test here. */
int event_base_post(struct event_base *base, ev_uint32_t color, event_post_fn fn, void *arg)
{
	return ec_base_post(le_base(base), color, fn, arg);
}

int event_base_post_priority(struct event_base *base, ev_uint32_t color, int priority, event_post_fn fn, void *arg)
{
	return ec_base_post_priority(le_base(base), color, priority, fn, arg);
}

/* struct event_post is struct ec_reserved. */
static struct ec_reserved *reserved(struct event_post *post)
{
	return (struct ec_reserved *)(void *)post;
}

struct event_post *event_base_post_reserve(struct event_base *base, ev_uint32_t color)
{
	struct ec_base *b = need_base(base, __func__);
	struct ec_reserved *p = NULL;

	(void)le_result(b == NULL ? -EINVAL : ec_post_reserve(b, color, &p));
	return (struct event_post *)(void *)p;
}

int event_base_post_reserved(struct event_post *post, event_post_fn cb, void *arg)
{
	if (post == NULL || cb == NULL)
		return le_result(-EINVAL);
	ec_post_reserved(reserved(post), cb, arg);
	return 0;
}

void event_base_post_unreserve(struct event_post *post)
{
	if (post != NULL)
		ec_post_unreserve(reserved(post));
}

unsigned event_base_get_workers(const struct event_base *base)
{
	struct ec_base *b = need_base(base, __func__);

	return b == NULL ? 0 : ec_base_workers(b);
}

int event_base_get_running_worker(const struct event_base *base)
{
	struct ec_base *b = need_base(base, __func__);
	unsigned worker = b == NULL ? UINT_MAX : ec_base_running_worker(b);

	return worker == UINT_MAX ? -1 : (int)worker;
}

int event_base_get_running_color(const struct event_base *base, ev_uint32_t *color)
{
	struct ec_base *b = need_base(base, __func__);

	return le_result(b == NULL || color == NULL ? -EINVAL : ec_base_running_color(b, color));
}

int event_base_pause(struct event_base *base)
{
	struct ec_base *b = need_base(base, __func__);

	return le_result(b == NULL ? -EINVAL : ec_base_pause(b));
}

int event_base_resume(struct event_base *base)
{
	struct ec_base *b = need_base(base, __func__);

	return le_result(b == NULL ? -EINVAL : ec_base_resume(b));
}

int event_base_inherit_colors(struct event_base *base, int on)
{
	struct ec_base *b = need_base(base, __func__);

	if (b == NULL)
		return le_result(-EINVAL);
	ec_base_inherit_colors(b, on != 0);
	return 0;
}

ev_uint32_t event_color_new(struct event_base *base)
{
	struct ec_base *b = need_base(base, __func__);
	uint32_t color = 0;

	(void)le_result(b == NULL ? -EINVAL : ec_color_new(b, &color));
	return color;
}

int event_color_release(struct event_base *base, ev_uint32_t color)
{
	struct ec_base *b = need_base(base, __func__);

	return le_result(b == NULL ? -EINVAL : ec_color_release(b, color));
}

int event_color_set_cost(struct event_base *base, ev_uint32_t color, ev_uint32_t ns)
{
	struct ec_base *b = need_base(base, __func__);

	return le_result(b == NULL ? -EINVAL : ec_color_set_cost(b, color, ns));
}

int event_color_set_penalty(struct event_base *base, ev_uint32_t color, ev_uint32_t factor)
{
	struct ec_base *b = need_base(base, __func__);

	return le_result(b == NULL ? -EINVAL : ec_color_set_penalty(b, color, factor));
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
	struct ec_base *b = need_base(base, __func__);
	struct ec_worker_stats s;
	int r = b == NULL || stats == NULL ? -EINVAL : ec_base_worker_stats(b, worker, &s);

	if (r == 0)
		copy_stats(stats, size, &s, sizeof(s));
	return le_result(r);
}

int event_base_get_color_stats(struct event_base *base, ev_uint32_t color, struct event_color_stats *stats, size_t size)
{
	struct ec_base *b = need_base(base, __func__);
	struct ec_color_stats s;
	int r = b == NULL || stats == NULL ? -EINVAL : ec_base_color_stats(b, color, &s);

	if (r == 0)
		copy_stats(stats, size, &s, sizeof(s));
	return le_result(r);
}
