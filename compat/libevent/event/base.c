/*
 * Bases: making, freeing, querying, listing.
 */
#include <stdio.h>
#include <string.h>

#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/thread.h>

#include "config.h"
#include "le.h"

struct event_base *event_base_new_with_config(const struct event_config *cfg)
{
	struct ec_config ec;
	struct ec_base *base;
	int r;

	if (cfg != NULL) {
		ec = cfg->ec;
		ec.avoid = (const char *const *)cfg->avoid;
	}
	r = ec_base_new(cfg == NULL ? NULL : &ec, &base);
	if (r < 0) {
		if (r == -ENOTSUP)
			ec_log(EC_LOG_WARN, "%s: no event mechanism available", __func__);
		else
			ec_log_errno(EC_LOG_WARN, -r, "%s", __func__);
		errno = -r;
		return NULL;
	}
	return le_event_base(base);
}

struct event_base *event_base_new(void)
{
	return event_base_new_with_config(NULL);
}

static struct ec_base *base_to_free(const struct event_base *base)
{
	struct ec_base *b = le_base_or_current(base);

	if (b == NULL)
		ec_log(EC_LOG_WARN, "event_base_free_: no base to free"); /* libevent's text */
	return b;
}

void event_base_free(struct event_base *base)
{
	struct ec_base *b = base_to_free(base);

	if (b != NULL)
		ec_base_free(b);
}

void event_base_free_nofinalize(struct event_base *base)
{
	struct ec_base *b = base_to_free(base);

	if (b != NULL)
		ec_base_free_nofinalize(b);
}

int event_reinit(struct event_base *base)
{
	return le_result(ec_base_reinit(le_base(base)));
}

const char *event_base_get_method(const struct event_base *base)
{
	if (base == NULL)
		ec_die(EC_EXIT_ABORT, "%s: no base", __func__);
	return ec_base_method(le_base(base));
}

int event_base_get_features(const struct event_base *base)
{
	return (int)ec_base_features(le_base(base));
}

const char **event_get_supported_methods(void)
{
	return ec_method_names();
}

int event_base_priority_init(struct event_base *base, int num)
{
	int r = ec_base_priority_init(le_base(base), num);

	if (r == -ENOMEM)
		ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
	return le_result(r);
}

int event_base_get_npriorities(struct event_base *base)
{
	return ec_base_priorities(le_base_or_current(base));
}

int event_base_get_num_events(struct event_base *base, unsigned which)
{
	return ec_base_num_events(le_base(base), which);
}

int event_base_get_max_events(struct event_base *base, unsigned which, int clear)
{
	return ec_base_max_events(le_base(base), which, clear != 0);
}

struct event *event_base_get_running_event(struct event_base *base)
{
	return le_event(ec_base_running_event(le_base(base)));
}

int evthread_make_base_notifiable(struct event_base *base)
{
	return base == NULL ? -1 : le_result(ec_base_make_notifiable(le_base(base)));
}

void libevent_global_shutdown(void)
{
	ec_global_shutdown();
}

void event_set_mem_functions(void *(*malloc_fn)(size_t), void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *))
{
	ec_mem_set_fns(malloc_fn, realloc_fn, free_fn);
}

/* The version that we are compatible with: programs compare it with LIBEVENT_VERSION. */
const char *event_get_version(void)
{
	return LIBEVENT_VERSION;
}

ev_uint32_t event_get_version_number(void)
{
	return LIBEVENT_VERSION_NUMBER;
}

/* ---------------------------------------------------------------- listing, in libevent's format */

int event_base_foreach_event(struct event_base *base, event_base_foreach_event_cb fn, void *arg)
{
	if (base == NULL || fn == NULL)
		return -1;
	return ec_base_foreach_event(le_base(base), (ec_visit_fn)fn, arg);
}

enum { WORDS_MAX = 64 };

/* What `ev` is, in words. */
static void words_of(const struct ec_event *ev, char ret[WORDS_MAX])
{
	static const struct {
		int bit;
		const char *word;
	} words[] = {
		{ EC_READ, " Read" },	  { EC_WRITE, " Write" },     { EC_CLOSED, " EOF" },
		{ EC_SIGNAL, " Signal" }, { EC_PERSIST, " Persist" }, { EC_ET, " ET" },
	};
	char *at = ret;
	size_t i;

	*at = '\0';
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if ((ev->events & words[i].bit) != 0)
			at = stpcpy(at, words[i].word);
	}
	if ((ev->task.flags & EC_IN_INTERNAL) != 0)
		(void)stpcpy(at, " Internal");
}

static int dump_pending(struct ec_base *base, struct ec_event *ev, void *arg)
{
	char words[WORDS_MAX];
	struct timeval tv;
	FILE *f = arg;

	if ((ev->task.flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) == 0)
		return 0;
	words_of(ev, words);
	(void)fprintf(f, "  %p [%s %ld]%s", (void *)ev, (ev->events & EC_SIGNAL) != 0 ? "sig" : "fd ", (long)ev->fd,
		      words);
	if ((ev->task.flags & EC_IN_TIMEOUT) != 0) {
		ec_base_wall_of(base, ev, &tv);
		(void)fprintf(f, " Timeout=%ld.%06d", (long)tv.tv_sec, (int)tv.tv_usec);
	}
	(void)fputc('\n', f);
	return 0;
}

static int dump_active(struct ec_base *base, struct ec_event *ev, void *arg)
{
	FILE *f = arg;

	(void)base;
	if ((ev->task.flags & (EC_IN_ACTIVE | EC_IN_ACTIVE_LATER)) == 0)
		return 0;
	(void)fprintf(f, "  %p [%s %ld, priority=%d]%s%s%s%s%s active%s%s\n", (void *)ev,
		      (ev->events & EC_SIGNAL) != 0 ? "sig" : "fd ", (long)ev->fd, ev->task.pri,
		      (ev->res & EC_READ) != 0 ? " Read" : "", (ev->res & EC_WRITE) != 0 ? " Write" : "",
		      (ev->res & EC_CLOSED) != 0 ? " EOF" : "", (ev->res & EC_SIGNAL) != 0 ? " Signal" : "",
		      (ev->res & EC_TIMEOUT) != 0 ? " Timeout" : "",
		      (ev->task.flags & EC_IN_INTERNAL) != 0 ? " [Internal]" : "",
		      (ev->task.flags & EC_IN_ACTIVE_LATER) != 0 ? " [NextTime]" : "");
	return 0;
}

void event_base_dump_events(struct event_base *base, FILE *f)
{
	(void)fprintf(f, "Inserted events:\n");
	(void)ec_base_foreach_event(le_base(base), dump_pending, f);
	(void)fprintf(f, "Active events:\n");
	(void)ec_base_foreach_event(le_base(base), dump_active, f);
}
