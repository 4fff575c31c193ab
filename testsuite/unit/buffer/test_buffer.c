/*
 * compat/libevent/buffer/buffer.c: references, locks and flags of evbuffers.
 */
#include "help.h"
#include "failing_alloc.h"

#include <event2/thread.h>

#include "compat/libevent/buffer/buffer.h"

/* ---------------------------------------------------------------- a program's locks, which count */

static struct {
	int made, freed;
	int depth;
	bool refuses;
	void (*other)(struct evbuffer *buf); /* has the lock first: called once, before it is taken */
	struct evbuffer *buf;
} locks;

static void *lock_alloc(unsigned type)
{
	assert_int_equal(type, EVTHREAD_LOCKTYPE_RECURSIVE);
	if (locks.refuses)
		return NULL;
	locks.made++;
	return malloc(1);
}

static void lock_free(void *lock, unsigned type)
{
	assert_int_equal(type, EVTHREAD_LOCKTYPE_RECURSIVE);
	assert_int_equal(locks.depth, 0);
	locks.freed++;
	free(lock);
}

static int lock_take(unsigned mode, void *lock)
{
	void (*other)(struct evbuffer *) = locks.other;

	(void)lock;
	assert_int_equal(mode, 0);
	locks.other = NULL;
	if (other != NULL)
		other(locks.buf);
	locks.depth++;
	return 0;
}

static int lock_leave(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	assert_true(locks.depth-- > 0);
	return 0;
}

static int locks_on(void **state)
{
	static const struct evthread_lock_callbacks cbs = {
		EVTHREAD_LOCK_API_VERSION, EVTHREAD_LOCKTYPE_RECURSIVE, lock_alloc, lock_free, lock_take, lock_leave,
	};

	(void)state;
	memset(&locks, 0, sizeof(locks));
	return evthread_set_lock_callbacks(&cbs);
}

static void silent(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static int locks_off(void **state)
{
	(void)state;
	ec_log_set_fn(silent);
	(void)evthread_set_lock_callbacks(NULL);
	ec_log_set_fn(NULL);
	return 0;
}

static void without_threads_there_is_no_lock(void **state)
{
	struct evbuffer *buf = buf_new();

	(void)state;
	assert_int_equal(evbuffer_enable_locking(buf, NULL), -1);
	evbuffer_lock(buf);
	evbuffer_unlock(buf);
	evbuffer_free(buf);
}

static void an_own_lock_ends_with_the_buffer(void **state)
{
	struct evbuffer *buf = buf_new();

	(void)state;
	assert_int_equal(evbuffer_enable_locking(buf, NULL), 0);
	assert_int_equal(locks.made, 1);
	evbuffer_lock(buf);
	evbuffer_lock(buf);
	assert_int_equal(locks.depth, 2);
	evbuffer_unlock(buf);
	evbuffer_unlock(buf);
	assert_int_equal(evbuffer_enable_locking(buf, NULL), -1);
	evbuffer_free(buf);
	assert_int_equal(locks.freed, 1);
	assert_int_equal(locks.depth, 0);
}

static void a_given_lock_stays_the_programs(void **state)
{
	struct evbuffer *buf = buf_new();
	long lock = 0;

	(void)state;
	assert_int_equal(evbuffer_enable_locking(buf, &lock), 0);
	assert_int_equal(locks.made, 0);
	assert_int_equal(evbuffer_add(buf, "x", 1), 0);
	evbuffer_free(buf);
	assert_int_equal(locks.freed, 0);
	assert_int_equal(locks.depth, 0);
}

static void no_memory_for_a_lock_is_an_error(void **state)
{
	struct evbuffer *buf = buf_new();

	(void)state;
	locks.refuses = true;
	assert_int_equal(evbuffer_enable_locking(buf, NULL), -1);
	assert_int_equal(errno, ENOMEM);
	locks.refuses = false;
	assert_int_equal(evbuffer_enable_locking(buf, NULL), 0);
	evbuffer_free(buf);
}

static int told_at_depth;

static void note_depth(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buf;
	(void)info;
	(void)arg;
	told_at_depth = locks.depth;
}

/* Each function once: what it locks it leaves, whether it succeeds or is refused. */
static void touch(struct evbuffer *a, struct evbuffer *b)
{
	struct evbuffer_iovec vec[2];
	struct evbuffer_ptr ptr;
	char bytes[64];
	size_t len;

#define BALANCED(call) do { (void)(call); assert_int_equal(locks.depth, 0); } while (0)
	BALANCED(evbuffer_add(a, "one\ntwo\nthree", 13));
	BALANCED(evbuffer_prepend(a, "zero", 4));
	BALANCED(evbuffer_add_reference(a, "ref", 3, NULL, NULL));
	BALANCED(evbuffer_add_printf(a, "%d", 5));
	BALANCED(evbuffer_expand(a, 10));
	BALANCED(evbuffer_reserve_space(a, 10, vec, 2));
	vec[0].iov_len = 0;
	BALANCED(evbuffer_commit_space(a, vec, 1));
	BALANCED(evbuffer_add_iovec(a, vec, 0));
	BALANCED(evbuffer_add_buffer(b, a));
	BALANCED(evbuffer_prepend_buffer(a, b));
	BALANCED(evbuffer_remove_buffer(a, b, 5));
	BALANCED(evbuffer_add_buffer_reference(a, b));
	BALANCED(evbuffer_add_buffer_reference(a, a));
	BALANCED(evbuffer_get_length(a));
	BALANCED(evbuffer_get_contiguous_space(a));
	BALANCED(evbuffer_ptr_set(a, &ptr, 1, EVBUFFER_PTR_SET));
	BALANCED(evbuffer_search(a, "t", 1, NULL).pos);
	BALANCED(evbuffer_search_eol(a, NULL, &len, EVBUFFER_EOL_LF).pos);
	BALANCED(evbuffer_find(a, (const unsigned char *)"t", 1));
	BALANCED(evbuffer_peek(a, -1, NULL, NULL, 0));
	BALANCED(evbuffer_copyout(a, bytes, 3));
	BALANCED(evbuffer_pullup(a, 3));
	BALANCED(evbuffer_remove(a, bytes, 2));
	BALANCED(evbuffer_drain(a, 1));
	BALANCED(evbuffer_write(a, closed_fd()));
	BALANCED(evbuffer_read(a, closed_fd(), 5));
	BALANCED(evbuffer_set_flags(a, EVBUFFER_FLAG_DRAINS_TO_FD));
	BALANCED(evbuffer_clear_flags(a, EVBUFFER_FLAG_DRAINS_TO_FD));
#undef BALANCED
	free(evbuffer_readln(a, NULL, EVBUFFER_EOL_LF));
	assert_int_equal(locks.depth, 0);
}

static void what_is_locked_is_unlocked(void **state)
{
	struct evbuffer *a = buf_new(), *b = buf_new();
	int at_front;

	(void)state;
	assert_int_equal(evbuffer_enable_locking(a, NULL), 0);
	assert_int_equal(evbuffer_enable_locking(b, NULL), 0);
	assert_non_null(evbuffer_add_cb(a, note_depth, NULL));
	touch(a, b);
	assert_true(told_at_depth > 0);
	for (at_front = 0; at_front < 2; at_front++) {
		assert_int_equal(evbuffer_freeze(a, at_front), 0);
		assert_int_equal(evbuffer_freeze(b, at_front), 0);
		touch(a, b);
		assert_int_equal(evbuffer_unfreeze(a, at_front), 0);
		assert_int_equal(evbuffer_unfreeze(b, at_front), 0);
	}
	touch(a, b);
	evbuffer_free(a);
	evbuffer_free(b);
	assert_int_equal(locks.freed, 2);
}

/* ---------------------------------------------------------------- who has the lock first */

static size_t told_added, told_deleted;

static void note_change(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buf;
	(void)arg;
	assert_true(locks.depth > 0);
	told_added += info->n_added;
	told_deleted += info->n_deleted;
}

static void other_drains(struct evbuffer *buf)
{
	assert_int_equal(evbuffer_drain(buf, 1000), 0);
}

static void other_adds_a_chunk(struct evbuffer *buf)
{
	assert_int_equal(evbuffer_add_reference(buf, "other", 5, NULL, NULL), 0);
}

static void other_freezes(struct evbuffer *buf)
{
	assert_int_equal(evbuffer_freeze(buf, 0), 0);
	assert_int_equal(evbuffer_freeze(buf, 1), 0);
}

static void other_listens(struct evbuffer *buf)
{
	assert_non_null(evbuffer_add_cb(buf, note_change, NULL));
}

static void other_does_nothing(struct evbuffer *buf)
{
	(void)buf;
}

static void count_grown(void *arg)
{
	assert_true(locks.depth > 0);
	++*(int *)arg;
}

static struct evbuffer *locked_buf(const char *bytes, void (*other)(struct evbuffer *))
{
	struct evbuffer *buf = buf_new();

	assert_int_equal(evbuffer_enable_locking(buf, NULL), 0);
	assert_int_equal(evbuffer_add(buf, bytes, strlen(bytes)), 0);
	told_added = told_deleted = 0;
	locks.buf = buf;
	locks.other = other;
	return buf;
}

/* The other came by, the lock is free, and the buffer, which is freed, holds what it should. */
static void assert_left(struct evbuffer *buf, const char *expected)
{
	assert_null(locks.other);
	assert_int_equal(locks.depth, 0);
	evbuffer_unfreeze(buf, 1);
	assert_holds(buf, expected);
	evbuffer_free(buf);
}

/* What was seen before the lock was there is not believed once it is. */
static void a_buffer_is_looked_at_under_its_lock(void **state)
{
	static const struct {
		void (*other)(struct evbuffer *buf);
		int result;		/* of evbuffer_add, and of evbuffer_drain */
		const char *added;	/* of "first" and then "XY" */
		const char *drained;	/* of "first" less 5 */
		size_t told;
	} cases[] = {
		{ other_does_nothing, 0, "firstXY", "", 0 },
		{ other_drains, 0, "XY", "", 0 },
		{ other_adds_a_chunk, 0, "firstotherXY", "other", 0 },
		{ other_freezes, -1, "first", "first", 0 },
		{ other_listens, 0, "firstXY", "", 1 },
	};
	struct evbuffer *buf;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf = locked_buf("first", cases[i].other);
		assert_int_equal(evbuffer_add(buf, "XY", 2), cases[i].result);
		assert_int_equal(told_added, 2 * cases[i].told);
		assert_left(buf, cases[i].added);

		buf = locked_buf("first", cases[i].other);
		assert_int_equal(evbuffer_drain(buf, 5), cases[i].result);
		assert_int_equal(told_deleted, 5 * cases[i].told);
		assert_left(buf, cases[i].drained);
	}
}

static void fill(struct evbuffer *buf, size_t len, size_t expected)
{
	static const char bytes[5000];

	assert_int_equal(evbuffer_add(buf, bytes, len), 0);
	assert_int_equal(locks.depth, 0);
	assert_int_equal(evbuffer_get_length(buf), expected);
}

/* An owner hears of all that grows, wherever the bytes find room. */
static void an_owner_hears_of_each_growth(void **state)
{
	struct evbuffer *buf = locked_buf("", NULL);
	int grown = 0;

	(void)state;
	le_buffer_set_grown(buf, count_grown, &grown);
	fill(buf, 0, 0);
	assert_int_equal(grown, 0);
	fill(buf, 1, 1);		/* the first chunk */
	fill(buf, 100, 101);		/* room in it */
	fill(buf, 5000, 5101);		/* none */
	fill(buf, 0, 5101);
	assert_int_equal(grown, 3);
	le_buffer_set_grown(buf, NULL, NULL);
	fill(buf, 1, 5102);
	assert_int_equal(grown, 3);
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- references, flags */

static void a_reference_keeps_the_buffer(void **state)
{
	struct evbuffer *buf = buf_with("kept");

	(void)state;
	le_buffer_get(buf);
	evbuffer_free(buf);
	assert_holds(buf, "kept");
	le_buffer_put(buf);
}

static void ignore_change(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buf;
	(void)info;
	(void)arg;
}

static void what_only_held_bytes_can_be_as_new(void **state)
{
	struct evbuffer *buf = buf_with("abc", "def");
	struct evbuffer_cb_entry *entry;

	(void)state;
	assert_true(le_buffer_renew(buf));
	assert_int_equal(evbuffer_get_length(buf), 0);
	assert_true(le_buffer_renew(buf));
	evbuffer_add(buf, "gh", 2);

	le_buffer_get(buf);
	assert_false(le_buffer_renew(buf));
	le_buffer_put(buf);
	evbuffer_freeze(buf, 1);
	assert_false(le_buffer_renew(buf));
	evbuffer_unfreeze(buf, 1);
	evbuffer_set_flags(buf, EVBUFFER_FLAG_DRAINS_TO_FD);
	assert_false(le_buffer_renew(buf));
	evbuffer_clear_flags(buf, EVBUFFER_FLAG_DRAINS_TO_FD);
	entry = evbuffer_add_cb(buf, ignore_change, NULL);
	assert_false(le_buffer_renew(buf));
	evbuffer_remove_cb_entry(buf, entry);

	assert_holds(buf, "gh");
	assert_true(le_buffer_renew(buf));
	assert_holds(buf, "");
	evbuffer_free(buf);
}

static void each_end_is_frozen_and_thawed_by_itself(void **state)
{
	struct evbuffer *buf = buf_with("abc");
	char c;

	(void)state;
	assert_int_equal(evbuffer_freeze(buf, 1), 0);
	assert_int_equal(evbuffer_add(buf, "d", 1), 0);
	assert_int_equal(evbuffer_remove(buf, &c, 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(evbuffer_freeze(buf, 0), 0);
	assert_int_equal(evbuffer_unfreeze(buf, 1), 0);
	assert_int_equal(evbuffer_add(buf, "e", 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(evbuffer_remove(buf, &c, 1), 1);
	assert_int_equal(evbuffer_unfreeze(buf, 0), 0);
	assert_int_equal(evbuffer_add(buf, "e", 1), 0);
	assert_holds(buf, "bcde");
	evbuffer_free(buf);
}

static void flags_are_set_and_cleared_one_by_one(void **state)
{
	struct evbuffer *buf = buf_new();

	(void)state;
	assert_int_equal(evbuffer_set_flags(buf, 0x30), 0);
	assert_int_equal(evbuffer_set_flags(buf, EVBUFFER_FLAG_DRAINS_TO_FD), 0);
	assert_int_equal(evbuffer_clear_flags(buf, 0x10), 0);
	assert_int_equal(buf->flags, 0x20 | EVBUFFER_FLAG_DRAINS_TO_FD);
	evbuffer_free(buf);
}

static void contiguous_is_what_the_first_chunk_holds(void **state)
{
	struct evbuffer *buf = buf_with("abc", "defg");

	(void)state;
	assert_int_equal(evbuffer_get_contiguous_space(buf), 3);
	evbuffer_drain(buf, 1);
	assert_int_equal(evbuffer_get_contiguous_space(buf), 2);
	evbuffer_drain(buf, 2);
	assert_int_equal(evbuffer_get_contiguous_space(buf), 4);
	evbuffer_drain(buf, 4);
	assert_int_equal(evbuffer_get_contiguous_space(buf), 0);
	evbuffer_free(buf);
}

/* The lists of names above would not notice a buffer that is full to the last byte. */
static void no_size_overflows(void **state)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 47, SIZE_MAX - 48, SIZE_MAX / 2 + 1,
					EV_SSIZE_MAX, EV_SSIZE_MAX - 47 };
	struct evbuffer *buf = buf_with("a"), *other = buf_with("b");
	struct evbuffer_iovec vec[2];
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(sizes); i++) {
		/* Where addresses have 32 bits, there may be so much memory, though no such "x". */
		if (sizeof(size_t) == 4 && sizes[i] == EV_SSIZE_MAX - 47)
			continue;
		assert_int_equal(evbuffer_add(buf, "x", sizes[i]), -1);
		assert_int_equal(evbuffer_prepend(buf, "x", sizes[i]), -1);
		assert_int_equal(evbuffer_expand(buf, sizes[i]), -1);
		vec[0] = (struct evbuffer_iovec){ (void *)(uintptr_t)"x", sizes[i] };
		vec[1] = (struct evbuffer_iovec){ (void *)(uintptr_t)"x", 1 };
		assert_int_equal(evbuffer_add_iovec(buf, vec, 2), 0);
		assert_int_equal(evbuffer_reserve_space(buf, (ev_ssize_t)sizes[i], vec, 1), -1);
	}
	/* Not copied, so as many bytes as a length can say; and then not one more. */
	assert_int_equal(evbuffer_add_reference(buf, "x", EV_SSIZE_MAX, NULL, NULL), -1);
	assert_int_equal(evbuffer_add_reference(buf, "x", EV_SSIZE_MAX - 1, NULL, NULL), 0);
	assert_int_equal(evbuffer_get_length(buf), EV_SSIZE_MAX);
	assert_int_equal(evbuffer_add(buf, "x", 1), -1);
	assert_int_equal(evbuffer_add_printf(buf, "x"), -1);
	assert_int_equal(evbuffer_add_buffer(buf, other), -1);
	assert_int_equal(evbuffer_prepend_buffer(buf, other), -1);
	assert_int_equal(evbuffer_remove_buffer(other, buf, 1), -1);
	assert_int_equal(evbuffer_add_buffer_reference(buf, other), -1);
	assert_int_equal(evbuffer_read(buf, STDIN_FILENO, 0), 0);
	assert_holds(other, "b");
	evbuffer_free(buf);
	evbuffer_free(other);
}

/* Some distances between the two have a way of their own. */
static void a_long_copy_is_whole_wherever_it_lies(void **state)
{
	static const size_t lens[] = { LE_COPY_PIECE, LE_COPY_PIECE + 1, 2 * LE_COPY_PIECE, 3 * LE_COPY_PIECE + 7 };
	static _Alignas(4096) unsigned char from[8192], to[8192], want[8192];
	size_t i, shift;

	(void)state;
	for (i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + i / 256);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (shift = 0; shift < 160; shift++) {
			memset(to, 0xee, sizeof(to));
			memset(want, 0xee, sizeof(want));
			memcpy(want + shift, from + 80, lens[i]);
			le_copy(to + shift, from + 80, lens[i]);
			assert_memory_equal(to, want, sizeof(to));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_threads_there_is_no_lock),
		cmocka_unit_test_setup_teardown(an_own_lock_ends_with_the_buffer, locks_on, locks_off),
		cmocka_unit_test_setup_teardown(a_given_lock_stays_the_programs, locks_on, locks_off),
		cmocka_unit_test_setup_teardown(no_memory_for_a_lock_is_an_error, locks_on, locks_off),
		cmocka_unit_test_setup_teardown(what_is_locked_is_unlocked, locks_on, locks_off),
		cmocka_unit_test_setup_teardown(a_buffer_is_looked_at_under_its_lock, locks_on, locks_off),
		cmocka_unit_test_setup_teardown(an_owner_hears_of_each_growth, locks_on, locks_off),
		cmocka_unit_test_setup_teardown(a_reference_keeps_the_buffer, failing_setup, failing_teardown),
		cmocka_unit_test_setup_teardown(what_only_held_bytes_can_be_as_new, failing_setup, failing_teardown),
		cmocka_unit_test(each_end_is_frozen_and_thawed_by_itself),
		cmocka_unit_test(flags_are_set_and_cleared_one_by_one),
		cmocka_unit_test(contiguous_is_what_the_first_chunk_holds),
		cmocka_unit_test(no_size_overflows),
		cmocka_unit_test(a_long_copy_is_whole_wherever_it_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
