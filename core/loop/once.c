#include "once.h"

#include <errno.h>

#include "ec.h"
#include "sched/event.h"
#include "lock/sync.h"
#include "os/list.h"
#include "sched/worker.h"

struct once {
	struct ec_event ev;		/* guarded as any event */

	/* const */
	ec_event_fn fn;
	void *arg;

	/* src: SOURCE of worker 0 */
	struct ec_list link;		/* in base.onces */
};

/* It is in no list. */
static void once_free(struct once *once)
{
	ec_debug_note_teardown(&once->ev);
	ec_free(once);
}

static void once_fire(int fd, short what, void *arg)
{
	struct once *once = arg;

	once->fn(fd, what, once->arg);
	ec_src_lock(&once->ev.base->zero);
	ec_list_remove(&once->link);
	ec_src_unlock(&once->ev.base->zero);
	once_free(once);
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	const struct once *once = (const struct once *)s->object;

	(void)what;
	if (s->fn != (uintptr_t)once_fire)
		return false;
	s->object = (uintptr_t)once->arg;
	return ec_subject_calls(s, (uintptr_t)once->fn);
}

EC_SUBJECT(subject)

static int once_start(struct once *once, const struct timeval *tv)
{
	bool is_now = tv == NULL || (tv->tv_sec == 0 && tv->tv_usec == 0);

	if (once->ev.events == 0 && is_now) {
		ec_event_active(&once->ev, EC_TIMEOUT, 1);
		return 0;
	}
	return ec_event_add(&once->ev, tv);
}

int ec_once_add(struct ec_base *base, uint32_t color, int fd, short events, ec_event_fn fn, void *arg,
		const struct timeval *tv)
{
	struct once *once;
	int r;

	if ((events & (EC_SIGNAL | EC_PERSIST)) != 0)
		return -EINVAL;
	if ((events & (EC_TIMEOUT | EC_DESCRIPTOR)) == 0)
		return -EINVAL;
	once = ec_malloc(sizeof(*once));
	if (once == NULL)
		return -ENOMEM;
	once->fn = fn;
	once->arg = arg;
	events &= EC_DESCRIPTOR;
	(void)ec_event_init(&once->ev, base, events != 0 ? fd : -1, events, once_fire, once);
	once->ev.task.color = color;
	/* Programs see it by ec_base_foreach_event. */
	if (ec_debug_on()) {
		ec_debug_note_setup(&once->ev);
		ec_debug_note_ours(&once->ev);
	}

	ec_src_lock(&base->zero);
	ec_list_push_back(&base->onces, &once->link);
	ec_src_unlock(&base->zero);
	r = once_start(once, tv);
	if (r < 0) {
		ec_src_lock(&base->zero);
		ec_list_remove(&once->link);
		ec_src_unlock(&base->zero);
		once_free(once);
	}
	return r;
}

int ec_base_once(struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg, const struct timeval *tv)
{
	return ec_once_add(base, ec_base_color_to_inherit(base), fd, events, fn, arg, tv);
}

void ec_onces_free(struct ec_base *base)
{
	struct once *once;

	while (!ec_list_is_empty(&base->onces)) {
		once = ec_container_of(base->onces.next, struct once, link);
		ec_list_remove(&once->link);
		once_free(once);
	}
}
