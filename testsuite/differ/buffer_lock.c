/* Locks of evbuffers: what enabling and taking them answers, and who calls the program's lock functions. */
#include "trace.h"

#include <event2/buffer.h>
#include <event2/thread.h>

static unsigned made, freed;
static int depth;

/* Setting the functions makes locks of the library's own, as many as it needs. */
static bool is_silent = true;

static void *lock_new(unsigned type)
{
	if (is_silent)
		return malloc(1);
	say("  new, %s", type == EVTHREAD_LOCKTYPE_RECURSIVE ? "recursive" : "other");
	made++;
	return malloc(1);
}

static void lock_free(void *lock, unsigned type)
{
	if (is_silent) {
		free(lock);
		return;
	}
	say("  free, %s", type == EVTHREAD_LOCKTYPE_RECURSIVE ? "recursive" : "other");
	freed++;
	free(lock);
}

static int lock(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	depth++;
	return 0;
}

static int unlock(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	depth--;
	return 0;
}

static void locked_change(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buf;
	(void)arg;
	say("  changed by %zu, locked %s", info->n_added, depth > 0 ? "yes" : "no");
}

static void without_threads(void)
{
	struct evbuffer *buf = evbuffer_new();

	section("without threads");
	say("enable %d", evbuffer_enable_locking(buf, NULL));
	evbuffer_lock(buf);
	evbuffer_unlock(buf);
	say("add %d", evbuffer_add(buf, "x", 1));
	evbuffer_free(buf);
}

static void its_own(void)
{
	struct evbuffer *buf = evbuffer_new();

	section("a lock of its own");
	evbuffer_lock(buf);
	say("not enabled: depth %d", depth);
	evbuffer_unlock(buf);
	say("enable %d", evbuffer_enable_locking(buf, NULL));
	say("enable again %d", evbuffer_enable_locking(buf, NULL));
	evbuffer_lock(buf);
	evbuffer_lock(buf);
	say("depth %d", depth);
	evbuffer_add_cb(buf, locked_change, NULL);
	say("add %d, depth %d", evbuffer_add(buf, "x", 1), depth);
	evbuffer_unlock(buf);
	evbuffer_unlock(buf);
	say("add %d, depth %d", evbuffer_add(buf, "xy", 2), depth);
	evbuffer_free(buf);
	say("made %u, freed %u, depth %d", made, freed, depth);
}

static void the_callers(void)
{
	struct evbuffer *buf = evbuffer_new();
	char own;

	section("a lock of the caller's");
	say("enable %d", evbuffer_enable_locking(buf, &own));
	evbuffer_lock(buf);
	say("depth %d", depth);
	evbuffer_unlock(buf);
	evbuffer_free(buf);
	say("made %u, freed %u, depth %d", made, freed, depth);
}

static void of_two(void)
{
	struct evbuffer *from = evbuffer_new(), *to = evbuffer_new();

	section("two buffers");
	say("enable %d %d", evbuffer_enable_locking(from, NULL), evbuffer_enable_locking(to, NULL));
	evbuffer_add_cb(to, locked_change, NULL);
	evbuffer_add(from, "12345", 5);
	say("remove %d, depth %d", evbuffer_remove_buffer(from, to, 2), depth);
	say("add %d, depth %d", evbuffer_add_buffer(to, from), depth);
	say("prepend %d, depth %d", evbuffer_prepend_buffer(from, to), depth);
	evbuffer_free(from);
	evbuffer_free(to);
	say("made %u, freed %u, depth %d", made, freed, depth);
}

int main(void)
{
	static const struct evthread_lock_callbacks fns = {
		EVTHREAD_LOCK_API_VERSION, EVTHREAD_LOCKTYPE_RECURSIVE, lock_new, lock_free, lock, unlock,
	};

	without_threads();
	say("set %d", evthread_set_lock_callbacks(&fns));
	is_silent = false;
	its_own();
	the_callers();
	of_two();
	is_silent = true;
	return 0;
}
