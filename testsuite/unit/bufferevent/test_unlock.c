/*
 * bufferevent_unlock() by a thread that has not locked the bufferevent: as with libevent, the program ends, and does
 * not wait for ever at the next lock.
 */
#include "child.h"

#include <pthread.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <event2/event.h>
#include <event2/thread.h>

static struct bufferevent *begin(void)
{
	struct event_base *base;
	struct bufferevent *bev;

	check(evthread_use_pthreads() == 0);
	base = event_base_new();
	check(base != NULL);
	bev = bufferevent_socket_new(base, -1, BEV_OPT_THREADSAFE);
	check(bev != NULL);
	return bev;
}

static void nested(void)
{
	struct bufferevent *bev = begin();

	bufferevent_lock(bev);
	bufferevent_lock(bev);
	bufferevent_unlock(bev);
	bufferevent_unlock(bev);
	bufferevent_lock(bev);
	bufferevent_unlock(bev);
}

static void nobody(void)
{
	bufferevent_unlock(begin());
}

static void too_often(void)
{
	struct bufferevent *bev = begin();

	bufferevent_lock(bev);
	bufferevent_unlock(bev);
	bufferevent_unlock(bev);
}

static void *unlock(void *bev)
{
	bufferevent_unlock(bev);
	return NULL;
}

static void another_thread(void)
{
	struct bufferevent *bev = begin();
	pthread_t thread;

	bufferevent_lock(bev);
	check(pthread_create(&thread, NULL, unlock, bev) == 0);
	check(pthread_join(thread, NULL) == 0);
}

static void only_who_locks_may_unlock(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, nested);
	child_aborts(&child, nobody, "has not locked bufferevent");
	child_aborts(&child, too_often, "has not locked bufferevent");
	child_aborts(&child, another_thread, "has not locked bufferevent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_who_locks_may_unlock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
