/*
 * event_enable_debug_mode: which events are assigned, and which of them are added. So misuse ends the program where it
 * happens, not where it has consequences.
 *
 * A chained hash table of the events' addresses. The lock is released before memory is allocated or freed, and before
 * a message is logged, because these call functions of the program. The messages are those of libevent, for which
 * users search.
 */
#include "ec.h"

#include <fcntl.h>

#include "lock/sync.h"

enum { BUCKETS_FIRST = 256 };

struct entry {
	/* const: while in the table */
	const struct ec_event *ev;

	/* mu */
	struct entry *next;
	bool is_added; /* from event_add on, until nothing is left that the event waits for */
	bool is_ours; /* a face's own, not the program's */
};

/* atomic: a hint of one bit, as those in ec_watch. The program orders the first base and other threads itself. */
static _Atomic(bool) is_base_made;

static struct ec_spin mu = { .rank = EC_RANK_LEAF };

/* mu */
static struct entry **buckets;
static size_t buckets_num, entries_num;

/* ---------------------------------------------------------------- the table */

/* Where the entry of `ev` is linked, or would be. NULL: there is no table yet. */
EC_REQUIRES(mu)
static struct entry **find_locked(const struct ec_event *ev)
{
	struct entry **at;

	if (buckets_num == 0)
		return NULL;
	for (at = &buckets[((uintptr_t)ev >> 4) % buckets_num]; *at != NULL; at = &(*at)->next) {
		if ((*at)->ev == ev)
			break;
	}
	return at;
}

/* Move everything to `fresh`. Returns what is needed no more: the old array, or `fresh` itself. */
EC_REQUIRES(mu)
static struct entry **rehash_locked(struct entry **fresh, size_t fresh_num)
{
	struct entry **old = buckets, **at, *e;
	size_t old_num = buckets_num, i;

	if (fresh_num <= old_num)
		return fresh; /* another thread was first */
	buckets = fresh;
	buckets_num = fresh_num;
	for (i = 0; i < old_num; i++) {
		while ((e = old[i]) != NULL) {
			old[i] = e->next;
			e->next = NULL;
			at = find_locked(e->ev);
			*at = e;
		}
	}
	return old;
}

/* Room for one more entry in short chains; long chains will do where memory is short. */
static void make_room(void)
{
	struct entry **fresh, **unused;
	size_t num, have;

	ec_spin_lock(&mu);
	have = buckets_num;
	num = have == 0 ? BUCKETS_FIRST : entries_num < have ? 0 :
							       have * 2;
	ec_spin_unlock(&mu);
	if (num == 0)
		return;

	fresh = ec_calloc(num, sizeof(*fresh));
	if (fresh == NULL) {
		if (have == 0)
			ec_die(1, "Out of memory in debugging code");
		return;
	}
	ec_spin_lock(&mu);
	unused = rehash_locked(fresh, num);
	ec_spin_unlock(&mu);
	ec_free(unused);
}

/* ---------------------------------------------------------------- switching */

void ec_debug_enable(void)
{
	if (ec_debug_on())
		ec_die(1, "event_enable_debug_mode was called twice!");
	if ((ec_watched() & EC_WATCH_FIRST) == 0)
		ec_die(1, "event_enable_debug_mode must be called *before* creating any events or event_bases");
	ec_watch_set(EC_WATCH_MISUSE, true);
}

/* Reads first: a store would take the cache line from the threads that only read the word. */
static void note_too_late(void)
{
	if ((ec_watched() & EC_WATCH_FIRST) != 0)
		ec_watch_set(EC_WATCH_FIRST, false);
}

void ec_debug_note_base(void)
{
	note_too_late();
	ec_store_relaxed(&is_base_made, true);
}

void ec_debug_assert_no_base(void)
{
	if (ec_debug_on() && ec_load_relaxed(&is_base_made))
		ec_die(1, "evthread initialization must be called BEFORE anything else!");
}

void ec_debug_shutdown(void)
{
	struct entry **old, *e, *next;
	size_t num, i;

	/* First: a thread that misses its event in the emptied table looks whether debug mode is still on. */
	ec_watch_set(EC_WATCH_MISUSE, false);
	ec_misuse_forget();
	ec_spin_lock(&mu);
	old = buckets;
	num = buckets_num;
	buckets = NULL;
	buckets_num = 0;
	entries_num = 0;
	ec_spin_unlock(&mu);
	for (i = 0; i < num; i++) {
		for (e = old[i]; e != NULL; e = next) {
			next = e->next;
			ec_free(e);
		}
	}
	ec_free(old);
}

/* ---------------------------------------------------------------- notes */

/* True: `ev` was there, and is as good as new. */
static bool renew(const struct ec_event *ev)
{
	struct entry **at;
	bool is_there;

	ec_spin_lock(&mu);
	at = find_locked(ev);
	is_there = at != NULL && *at != NULL;
	if (is_there)
		(*at)->is_added = (*at)->is_ours = false;
	ec_spin_unlock(&mu);
	return is_there;
}

void ec_debug_note_setup(const struct ec_event *ev)
{
	struct entry *e, **at;

	note_too_late();
	if (!ec_debug_on() || renew(ev))
		return;

	make_room();
	e = ec_calloc(1, sizeof(*e));
	if (e == NULL)
		ec_die(1, "Out of memory in debugging code");
	e->ev = ev;

	ec_spin_lock(&mu);
	at = find_locked(ev);
	if (at != NULL && *at == NULL) {
		*at = e;
		entries_num++;
		e = NULL;
	}
	ec_spin_unlock(&mu);
	if (e != NULL)
		ec_free(e); /* two threads assign one event, or debug mode ends: not ours to judge */
}

void ec_debug_note_ours(const struct ec_event *ev)
{
	struct entry **at;

	ec_spin_lock(&mu);
	at = find_locked(ev);
	if (at != NULL && *at != NULL)
		(*at)->is_ours = true;
	ec_spin_unlock(&mu);
}

void ec_debug_note_teardown(const struct ec_event *ev)
{
	struct entry **at, *e = NULL;

	if (!ec_debug_on())
		return;
	ec_spin_lock(&mu);
	at = find_locked(ev);
	if (at != NULL && *at != NULL) {
		e = *at;
		*at = e->next;
		entries_num--;
	}
	ec_spin_unlock(&mu);
	if (e != NULL)
		ec_free(e);
}

_Noreturn static void die_of(const struct ec_event *ev, const char *what)
{
	ec_die(EC_EXIT_ABORT, "%s %p (events: 0x%x, fd: %d, flags: 0x%x)", what, (const void *)ev,
	       (unsigned)ev->events, ev->fd, (unsigned)ev->task.flags);
}

/* False: `ev` is unknown. *ret_was_added: what was noted before. */
static bool note(const struct ec_event *ev, bool is_added, bool *ret_was_added)
{
	struct entry **at;
	bool is_there;

	ec_spin_lock(&mu);
	at = find_locked(ev);
	is_there = at != NULL && *at != NULL;
	if (is_there) {
		*ret_was_added = (*at)->is_added;
		(*at)->is_added = is_added;
	}
	ec_spin_unlock(&mu);
	return is_there;
}

/* Has `ev` anything to wait for, once it is added? If it is active, its descriptor or signal is not watched anew. */
static bool is_waiting_once_added(const struct ec_event *ev, bool has_timeout)
{
	const int watched = EC_READ | EC_WRITE | EC_CLOSED | EC_SIGNAL;

	return has_timeout || ((ev->events & watched) != 0 && (ev->task.flags & EC_IN_ACTIVE) == 0);
}

bool ec_debug_note_add(const struct ec_event *ev, bool has_timeout)
{
	bool was_added = false;

	if (!ec_debug_on() || !is_waiting_once_added(ev, has_timeout))
		return false;
	if (!note(ev, true, &was_added) && ec_debug_on())
		die_of(ev, "event_debug_note_add_: noting an add on a non-setup event");
	return !was_added;
}

void ec_debug_note_del(const struct ec_event *ev)
{
	bool was_added;

	if (ec_debug_on() && !note(ev, false, &was_added) && ec_debug_on())
		die_of(ev, "event_debug_note_del_: noting a del on a non-setup event");
}

void ec_debug_note_pending(const struct ec_event *ev, bool is_pending)
{
	bool was_added;

	(void)note(ev, is_pending, &was_added);
}

/* ---------------------------------------------------------------- assertions */

struct known {
	bool is_there, is_added;
};

static struct known look_up(const struct ec_event *ev)
{
	struct known known = { 0 };
	struct entry **at;

	ec_spin_lock(&mu);
	at = find_locked(ev);
	known.is_there = at != NULL && *at != NULL;
	known.is_added = known.is_there && (*at)->is_added;
	ec_spin_unlock(&mu);
	return known;
}

bool ec_debug_is_ours(const struct ec_event *ev)
{
	struct entry **at;
	bool is_ours;

	ec_spin_lock(&mu);
	at = find_locked(ev);
	is_ours = at != NULL && *at != NULL && (*at)->is_ours;
	ec_spin_unlock(&mu);
	return is_ours;
}

void ec_debug_assert_is_setup(const struct ec_event *ev)
{
	if (ec_debug_on() && !look_up(ev).is_there && ec_debug_on())
		die_of(ev, "event_debug_assert_is_setup_ called on a non-initialized event");
}

/*
 * Both must say so: memory that was an event, forgotten without a word and used for other
 * things since, may hold any flags.
 */
void ec_debug_assert_not_added(const struct ec_event *ev)
{
	if (ec_debug_on() && look_up(ev).is_added && (ev->task.flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) != 0)
		die_of(ev, "event_debug_assert_not_added_ called on an already added event");
}

void ec_debug_assert_socket_nonblocking(int fd)
{
	int flags;

	if (!ec_debug_on() || fd < 0)
		return;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && (flags & O_NONBLOCK) == 0)
		ec_die(EC_EXIT_ABORT, "%s: the descriptor %d of an event blocks", __func__, fd);
}

void ec_debug_freeze(void)
{
	ec_spin_freeze(&mu);
}

/* The table is for mistakes of the program: half a change is none of those. */
void ec_debug_reset(void)
{
	(void)ec_spin_reset(&mu);
}

void ec_debug_thaw(void)
{
	ec_spin_thaw(&mu);
}
