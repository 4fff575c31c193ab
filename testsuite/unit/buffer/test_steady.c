/*
 * A flow that goes on and on through evbuffers asks the allocator for nothing: blocks go in a circle.
 * The linker puts counting functions before the C library's for all that is tested.
 */
#include "help.h"

#include <pthread.h>

#include "core/os/chunk.h"

void *__real_malloc(size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void __wrap_free(void *p);

static long calls;

void *__wrap_malloc(size_t size)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	return __real_malloc(size);
}

void __wrap_free(void *p)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	__real_free(p);
}

enum { ROUNDS = 300, WARM = 5 };

static char bytes[65536], out[1 << 20];

static void small(void)
{
	struct evbuffer *buf = buf_new();

	evbuffer_add(buf, bytes, 64);
	evbuffer_add_reference(buf, bytes, 5000, NULL, NULL);
	evbuffer_add_printf(buf, "%d", 7);
	evbuffer_prepend(buf, bytes, 100);
	evbuffer_drain(buf, SIZE_MAX);
	evbuffer_free(buf);
}

static void bulk(void)
{
	struct evbuffer *buf = buf_new(), *other = buf_new();
	int i;

	for (i = 0; i < 16; i++)
		evbuffer_add(buf, bytes, sizeof(bytes));
	evbuffer_add_buffer(other, buf);
	evbuffer_remove_buffer(other, buf, 500000);
	evbuffer_remove(other, out, sizeof(out));
	evbuffer_free(other);
	evbuffer_free(buf);
}

static void through_a_socket(void)
{
	struct evbuffer *buf = buf_new(), *other = buf_new();
	int fds[2];

	stream_pair(fds);
	evbuffer_add(buf, bytes, 3000);
	evbuffer_write(buf, fds[0]);
	evbuffer_read(other, fds[1], -1);
	evbuffer_pullup(other, 2000);
	evbuffer_free(other);
	evbuffer_free(buf);
	close(fds[0]);
	close(fds[1]);
}

static void flow(void (*round_fn)(void))
{
	long before = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (i == WARM)
			before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
		round_fn();
	}
	assert_int_equal(__atomic_load_n(&calls, __ATOMIC_RELAXED) - before, 0);
}

static void a_steady_flow_asks_for_no_memory(void **state)
{
	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	flow(small);
	assert_true(calls > 0);
	flow(bulk);
	flow(through_a_socket);
}

/* ---------------------------------------------------------------- from thread to thread */

static struct evbuffer *handed;
static pthread_barrier_t meet;

static void *drain_what_is_handed(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&meet);
		evbuffer_drain(handed, SIZE_MAX);
		pthread_barrier_wait(&meet);
	}
	return NULL;
}

/* Not from the first round on: the thread that leaves them first fills what it keeps for itself. */
static void blocks_that_one_takes_and_another_leaves_come_back(void **state)
{
	long before = 0, after = 0;
	pthread_t thread;
	int i, n;

	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	handed = buf_new();
	assert_int_equal(pthread_barrier_init(&meet, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, drain_what_is_handed, NULL), 0);
	for (i = 0; i < ROUNDS; i++) {
		if (i == 2 * ROUNDS / 3)
			before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
		for (n = 0; n < 16; n++)
			evbuffer_add(handed, bytes, sizeof(bytes));
		/* Before the thread ends, which gives its cache back. */
		after = __atomic_load_n(&calls, __ATOMIC_RELAXED);
		pthread_barrier_wait(&meet);
		pthread_barrier_wait(&meet);
	}
	assert_int_equal(after - before, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_barrier_destroy(&meet);
	evbuffer_free(handed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_flow_asks_for_no_memory),
		cmocka_unit_test(blocks_that_one_takes_and_another_leaves_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
