/*
 * Events that a program frees after their base. libevent reads the freed base then, and programs
 * get away with it. Here the allocator keeps what is freed, as the C library does for a while.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <event2/event.h>
#include <event2/listener.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include <arpa/inet.h>
#include <netinet/in.h>

enum { BLOCKS_MAX = 10000, HEAD = 16 };

static char *kept[BLOCKS_MAX];
static size_t kept_num;

static void *allocate(size_t size)
{
	char *block = malloc(HEAD + size);

	if (block == NULL)
		return NULL;
	memcpy(block, &size, sizeof(size));
	return block + HEAD;
}

static void keep(void *block)
{
	if (block == NULL)
		return;
	assert_true(kept_num < BLOCKS_MAX);
	kept[kept_num++] = (char *)block - HEAD;
}

/* Even what stays as large moves: nothing that was freed is used again. */
static void *move(void *old, size_t size)
{
	void *block = allocate(size);
	size_t old_size;

	if (block == NULL || old == NULL)
		return block;
	memcpy(&old_size, (char *)old - HEAD, sizeof(old_size));
	memcpy(block, old, old_size < size ? old_size : size);
	keep(old);
	return block;
}

static void nothing_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void accept_cb(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	close(fd);
}

static struct event_base *base_of(unsigned workers)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, workers, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	assert_non_null(base);
	event_config_free(cfg);
	return base;
}

enum life { NEVER_ADDED, PENDING, DELETED, ACTIVE, LIVES };

static void one(unsigned workers, uint32_t color, enum life life)
{
	static const struct timeval second = { 1, 0 };
	struct event_base *base = base_of(workers);
	struct event *evs[3];
	int fd[2], i;

	assert_int_equal(pipe(fd), 0);
	evs[0] = event_new(base, fd[0], EV_READ | EV_PERSIST, nothing_cb, NULL);
	evs[1] = evtimer_new(base, nothing_cb, NULL);
	evs[2] = evsignal_new(base, 10, nothing_cb, NULL);
	for (i = 0; i < 3; i++) {
		assert_non_null(evs[i]);
		if (color != 0)
			assert_int_equal(event_set_color(evs[i], color + (uint32_t)i), 0);
		if (life != NEVER_ADDED)
			assert_int_equal(event_add(evs[i], i == 1 ? &second : NULL), 0);
		if (life == ACTIVE)
			event_active(evs[i], EV_TIMEOUT, 1);
	}
	event_base_loop(base, EVLOOP_NONBLOCK);
	for (i = 0; i < 3 && life == DELETED; i++)
		assert_int_equal(event_del(evs[i]), 0);
	event_base_free(base);
	for (i = 0; i < 3; i++) {
		if (i == 0)
			assert_int_equal(event_del(evs[i]), 0);
		event_free(evs[i]);
	}
	close(fd[0]);
	close(fd[1]);
}

static void events_may_be_freed_after_their_base(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		for (uint32_t color = 0; color <= 5; color += 5) {
			for (enum life life = 0; life < LIVES; life++)
				one(workers, color, life);
		}
	}
}

static void a_listener_may_be_freed_after_its_base(void **state)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct event_base *base = base_of(workers);
		struct evconnlistener *lev = evconnlistener_new_bind(base, accept_cb, NULL, LEV_OPT_CLOSE_ON_FREE, -1,
								     (struct sockaddr *)&sin, sizeof(sin));

		assert_non_null(lev);
		event_base_loop(base, EVLOOP_NONBLOCK);
		event_base_free(base);
		evconnlistener_free(lev);
	}
}

static int threads_on(void **state)
{
	(void)state;
	return evthread_use_pthreads();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_may_be_freed_after_their_base),
		cmocka_unit_test(a_listener_may_be_freed_after_its_base),
		cmocka_unit_test_setup(events_may_be_freed_after_their_base, threads_on),
		cmocka_unit_test(a_listener_may_be_freed_after_its_base),
	};
	int r;

	event_set_mem_functions(allocate, move, keep);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	libevent_global_shutdown();
	while (kept_num > 0)
		free(kept[--kept_num]);
	return r;
}
