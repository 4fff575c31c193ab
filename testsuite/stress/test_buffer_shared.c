/*
 * Bytes and segments that buffers of several threads show at once, without a common lock: each
 * thread reads, drains and moves its own, and the last one gives them back, once.
 */
#include "stress.h"

#include <sys/mman.h>

#include <event2/buffer.h>

enum { THREADS = 4, ROUNDS = 300, LEN = 3000 };

static char text[LEN];
static int cleanups_num, segments_num;

static void cleanup(const void *data, size_t len, void *arg)
{
	(void)arg;
	CHECK(data == text && len == LEN);
	__atomic_fetch_add(&cleanups_num, 1, __ATOMIC_RELAXED);
}

static void segment_done(const struct evbuffer_file_segment *seg, int flags, void *arg)
{
	(void)seg;
	(void)flags;
	(void)arg;
	__atomic_fetch_add(&segments_num, 1, __ATOMIC_RELAXED);
}

/* own: the thread's alone from its start on */
struct user {
	struct evbuffer *buf, *other;
	unsigned id;
};

/* What a thread does with its buffer differs in order and in which of it takes what apart. */
static void *user_main(void *arg)
{
	struct user *u = arg;
	char out[2 * LEN + 100];
	size_t len = evbuffer_get_length(u->buf);

	CHECK(evbuffer_prepend(u->buf, "x", 1) == 0);
	CHECK(evbuffer_add(u->buf, "y", 1) == 0);
	if (u->id % 2 == 0)
		CHECK(evbuffer_pullup(u->buf, -1) != NULL);
	CHECK(evbuffer_remove_buffer(u->buf, u->other, 1000) == 1000);
	CHECK(evbuffer_add_buffer(u->other, u->buf) == 0);
	CHECK(evbuffer_copyout(u->other, out, sizeof(out)) == (ev_ssize_t)len + 2);
	CHECK(out[0] == 'x' && out[len + 1] == 'y');
	CHECK(memcmp(out + 1 + len - LEN, text, LEN) == 0);
	CHECK(evbuffer_drain(u->other, 700 * (u->id + 1)) == 0);
	evbuffer_free(u->buf);
	evbuffer_free(u->other);
	return NULL;
}

static void one_round(int file)
{
	struct evbuffer_file_segment *seg = evbuffer_file_segment_new(file, 0, LEN, 0);
	struct evbuffer *source = evbuffer_new();
	struct user users[THREADS];
	pthread_t threads[THREADS];
	unsigned i;

	CHECK(seg != NULL && source != NULL);
	evbuffer_file_segment_add_cleanup_cb(seg, segment_done, NULL);
	CHECK(evbuffer_add(source, "own ", 4) == 0);
	CHECK(evbuffer_add_reference(source, text, LEN, cleanup, NULL) == 0);
	for (i = 0; i < THREADS; i++) {
		users[i] = (struct user){ evbuffer_new(), evbuffer_new(), i };
		CHECK(users[i].buf != NULL && users[i].other != NULL);
		CHECK(evbuffer_add_buffer_reference(users[i].buf, source) == 0);
		/* Not in memory yet: the threads load it, all at once. */
		CHECK(evbuffer_set_flags(users[i].buf, EVBUFFER_FLAG_DRAINS_TO_FD) == 0);
		CHECK(evbuffer_add_file_segment(users[i].buf, seg, 0, -1) == 0);
	}
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, user_main, &users[i]) == 0);
	evbuffer_file_segment_free(seg);
	evbuffer_free(source);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void shared_bytes_are_given_back_once(void **state)
{
	int file = memfd_create("shared", MFD_CLOEXEC), i;

	(void)state;
	memset(text, 't', sizeof(text));
	CHECK(file >= 0 && write(file, text, LEN) == LEN);
	for (i = 1; i <= ROUNDS; i++) {
		one_round(file);
		CHECK(cleanups_num == i);
		CHECK(segments_num == i);
	}
	close(file);
}

/* Each thread takes more views of the source, under the source's lock, while others drain theirs without it. */
static struct evbuffer *common;
static pthread_mutex_t common_mu = PTHREAD_MUTEX_INITIALIZER;

static void *viewer_main(void *arg)
{
	struct evbuffer *own = evbuffer_new();
	char out[4];
	unsigned i;

	(void)arg;
	CHECK(own != NULL);
	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&common_mu);
		CHECK(evbuffer_add_buffer_reference(own, common) == 0);
		pthread_mutex_unlock(&common_mu);
		CHECK(evbuffer_remove(own, out, sizeof(out)) == sizeof(out) && memcmp(out, "own ", sizeof(out)) == 0);
		CHECK(evbuffer_add(own, "z", 1) == 0);
		CHECK(evbuffer_drain(own, LEN + 1) == 0 && evbuffer_get_length(own) == 0);
	}
	evbuffer_free(own);
	return NULL;
}

static void views_are_taken_while_others_end(void **state)
{
	pthread_t threads[THREADS];
	unsigned i;

	(void)state;
	memset(text, 't', sizeof(text));
	common = evbuffer_new();
	CHECK(common != NULL && evbuffer_add(common, "own ", 4) == 0 && evbuffer_add(common, text, LEN) == 0);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, viewer_main, NULL) == 0);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(evbuffer_get_length(common) == LEN + 4);
	evbuffer_free(common);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_bytes_are_given_back_once),
		cmocka_unit_test(views_are_taken_while_others_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
