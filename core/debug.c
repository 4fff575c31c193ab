/*
 * event_enable_debug_mode: a table of the events that are assigned, and which are added,
 * so that misuse ends the program where it happens.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "ec.h"
#include "sync.h"

enum { BUCKETS_FIRST = 256 };

struct entry {
	struct entry *next;
	const struct ec_event *ev;
};

bool ec_debug_is_on;
static _Atomic(bool) is_too_late;	/* an event was assigned while it was off */

/* mu */
static struct ec_spin mu = { .rank = EC_RANK_LEAF };
static struct entry **buckets;
static size_t buckets_num, entries_num;

static size_t bucket_of(const struct ec_event *ev, size_t num)
{
	return ((uintptr_t)ev >> 6) % num;
}

static void grow(void)
{
	size_t num = buckets_num == 0 ? BUCKETS_FIRST : buckets_num * 2, i;
	struct entry **fresh, *e, *next;

	fresh = ec_calloc(num, sizeof(*fresh));
	if (fresh == NULL) {
		if (buckets == NULL)
			ec_die(1, "%s: out of memory in debugging code", __func__);
		return;
	}
	for (i = 0; i < buckets_num; i++) {
		for (e = buckets[i]; e != NULL; e = next) {
			next = e->next;
			e->next = fresh[bucket_of(e->ev, num)];
			fresh[bucket_of(e->ev, num)] = e;
		}
	}
	ec_free(buckets);
	buckets = fresh;
	buckets_num = num;
}

static struct entry **find(const struct ec_event *ev)
{
	struct entry **at;

	if (entries_num >= buckets_num)
		grow();
	for (at = &buckets[bucket_of(ev, buckets_num)]; *at != NULL; at = &(*at)->next) {
		if ((*at)->ev == ev)
			break;
	}
	return at;
}

void ec_debug_enable(void)
{
	if (ec_debug_is_on)
		ec_die(1, "event_enable_debug_mode was called twice!");
	if (is_too_late)
		ec_die(1, "event_enable_debug_mode must be called *before* creating any events or event_bases");
	ec_debug_is_on = true;
}

void ec_debug_note_base(void)
{
	if (!ec_debug_is_on)
		is_too_late = true;
}

void ec_debug_note_setup(const struct ec_event *ev)
{
	struct entry **at, *e;

	if (!ec_debug_is_on) {
		is_too_late = true;
		return;
	}
	ec_spin_lock(&mu);
	at = find(ev);
	if (*at == NULL) {
		e = ec_malloc(sizeof(*e));
		if (e == NULL)
			ec_die(1, "Out of memory in debugging code");
		*e = (struct entry){ .ev = ev };
		*at = e;
		entries_num++;
	}
	ec_spin_unlock(&mu);
}

void ec_debug_note_teardown(const struct ec_event *ev)
{
	struct entry **at, *e;

	if (!ec_debug_is_on)
		return;
	ec_spin_lock(&mu);
	at = find(ev);
	e = *at;
	if (e != NULL) {
		*at = e->next;
		entries_num--;
		ec_free(e);
	}
	ec_spin_unlock(&mu);
}

static void describe_and_die(const char *what, const struct ec_event *ev)
{
	ec_die((int)0xdeaddead, "%s %p (events: 0x%x, fd: %d, flags: 0x%x)", what, (const void *)ev, (unsigned)ev->events,
	       ev->fd, (unsigned)ev->task.flags);
}

static bool is_known(const struct ec_event *ev)
{
	bool found;

	ec_spin_lock(&mu);
	found = *find(ev) != NULL;
	ec_spin_unlock(&mu);
	return found;
}

static void assert_known(const struct ec_event *ev, const char *what)
{
	if (ec_debug_is_on && !is_known(ev))
		describe_and_die(what, ev);
}

void ec_debug_note_add(const struct ec_event *ev)
{
	assert_known(ev, "event_debug_note_add_: noting an add on a non-setup event");
}

void ec_debug_note_del(const struct ec_event *ev)
{
	assert_known(ev, "event_debug_note_del_: noting a del on a non-setup event");
}

void ec_debug_assert_is_setup(const struct ec_event *ev)
{
	assert_known(ev, "event_debug_assert_is_setup_ called on a non-initialized event");
}

/* What is not in the table may be any memory: only an event that is may be looked into. */
void ec_debug_assert_not_added(const struct ec_event *ev)
{
	if (ec_debug_is_on && is_known(ev) && (ev->task.flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) != 0)
		describe_and_die("event_debug_assert_not_added_ called on an already added event", ev);
}

void ec_debug_assert_socket_nonblocking(int fd)
{
	int flags;

	if (!ec_debug_is_on || fd < 0)
		return;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && (flags & O_NONBLOCK) == 0)
		ec_die((int)0xdeaddead, "fd %d of an event is not non-blocking", fd);
}

void ec_global_shutdown(void)
{
	struct entry *e, *next;
	size_t i;

	for (i = 0; i < buckets_num; i++) {
		for (e = buckets[i]; e != NULL; e = next) {
			next = e->next;
			ec_free(e);
		}
	}
	ec_free(buckets);
	buckets = NULL;
	buckets_num = 0;
	entries_num = 0;
	ec_set_current_base(NULL);
}
