/*
 * core/observe/trace.c: each record has what it was told; a reader that reads while the worker writes gets whole
 * records only, in order.
 */
#include "../table.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/observe/trace.h"
#include "core/os/clock.h"
#include "evsmp/rings.h"

enum { RECORDS = EC_TRACE_RECORDS_MIN };

/* As x86-64 has them; as much of it as a pointer holds here. */
static const uintptr_t FN = (uintptr_t)UINT64_C(0x7123456789ab);
static const uintptr_t ARG = (uintptr_t)UINT64_C(0x7fff12345678);
static const uintptr_t EVENT = (uintptr_t)UINT64_C(0x7fff00000010);

static int64_t now_ns = 1000;

static int64_t test_clock(void)
{
	return now_ns;
}

/* ---------------------------------------------------------------- one thread */

struct fixture {
	struct ec_trace trace;
	struct ec_trace_ring *ring;
};

static struct fixture make(void)
{
	struct fixture f;

	f.ring = calloc(1, sizeof(*f.ring) + RECORDS * EC_TRACE_WORDS * sizeof(uint64_t));
	assert_non_null(f.ring);
	ec_clock_set_source(test_clock);
	ec_trace_init(&f.trace, f.ring, RECORDS, 2, 1000);
	return f;
}

static void end(struct fixture *f)
{
	ec_clock_set_source(NULL);
	free(f->ring);
}

/* The newest record. */
static const uint64_t *newest(struct fixture *f)
{
	uint64_t num = ec_load_relaxed(&f->ring->num);
	static uint64_t words[EC_TRACE_WORDS];
	unsigned i;

	assert_true(num > 0);
	for (i = 0; i < EC_TRACE_WORDS; i++)
		words[i] = ec_load_relaxed(&f->ring->records[(num - 1) % RECORDS * EC_TRACE_WORDS + i]);
	return words;
}

static void assert_record(struct fixture *f, unsigned type, uint64_t at, uint64_t w1, uint64_t w2, uint64_t w3)
{
	const uint64_t *w = newest(f);

	assert_int_equal(w[0], at << 8 | type);
	assert_int_equal(w[1], w1);
	assert_int_equal(w[2], w2);
	assert_int_equal(w[3], w3);
}

/* The callback that runs, as a reader finds it: in the place of the next record, or in `current`. `at` 0: none. */
static void assert_runs(struct fixture *f, uint64_t at, uint64_t fn)
{
	uint64_t num = ec_load_relaxed(&f->ring->num);
	_Atomic(uint64_t) *r = &f->ring->records[num % RECORDS * EC_TRACE_WORDS];

	if ((ec_load_relaxed(&r[0]) & 0xff) == EC_TRACE_RUNS) {
		assert_int_equal(ec_load_relaxed(&r[0]), at << 8 | EC_TRACE_RUNS);
	} else {
		r = f->ring->current;
		assert_int_equal(ec_load_relaxed(&r[0]), at == 0 ? 0 : at << 8 | EC_TRACE_CALL);
	}
	if (at != 0)
		assert_int_equal(EC_TRACE_FN(ec_load_relaxed(&r[1])), fn);
}

static void callback_is_one_record(void **state)
{
	struct fixture f = make();
	struct ec_probe_call call = {
		.fn = FN,
		.queued_at = 1500,
		.began_at = 2000,
		.color = 4242,
		.fd = 17,
		.res = EC_READ | EC_TIMEOUT,
		.home = 3,
		.kind = EC_KIND_POST,
		.pri = 2,
	};
	const uint64_t *w;

	(void)state;
	ec_trace_begin(&f.trace, &call);
	assert_int_equal(ec_load_relaxed(&f.ring->num), 1);	/* the clock */
	assert_runs(&f, 2000, FN);
	ec_trace_end(&f.trace, &call, 2750);
	assert_runs(&f, 0, 0);
	assert_int_equal(ec_load_relaxed(&f.ring->num), 2);
	w = newest(&f);
	assert_int_equal(w[0], UINT64_C(2000) << 8 | EC_TRACE_CALL);
	assert_int_equal(EC_TRACE_FN(w[1]), FN);
	assert_int_equal(EC_TRACE_HOME(w[1]), 3);
	assert_int_equal(EC_TRACE_RES(w[1]), EC_READ | EC_TIMEOUT);
	assert_int_equal(EC_TRACE_COLOR(w[2]), 4242);
	assert_int_equal(EC_TRACE_FD(w[2]), 17);
	assert_int_equal(EC_TRACE_KIND(w[2]), EC_KIND_POST);
	assert_int_equal(EC_TRACE_PRI(w[2]), 2);
	assert_int_equal(EC_TRACE_LEN(w[3]), 750);
	assert_true(EC_TRACE_HAS_WAIT(w[3]));
	assert_int_equal(EC_TRACE_WAIT(w[3]), 500);
	end(&f);
}

static void large_numbers_are_the_largest(void **state)
{
	struct fixture f = make();
	struct ec_probe_call call = {
		.fn = UINTPTR_MAX,
		.queued_at = 5000,	/* by another processor's clock */
		.began_at = 2000,
		.color = UINT32_MAX,
		.fd = -1,
		.res = -1,
		.home = 1000,
		.kind = 255,
		.pri = 255,
	};
	const uint64_t *w;

	(void)state;
	ec_trace_begin(&f.trace, &call);
	ec_trace_end(&f.trace, &call, 1000);
	w = newest(&f);
	assert_int_equal(EC_TRACE_HOME(w[1]), 255);
	assert_int_equal(EC_TRACE_COLOR(w[2]), UINT32_MAX);
	assert_int_equal(EC_TRACE_FD(w[2]), EC_TRACE_NO_FD);
	assert_int_equal(EC_TRACE_KIND(w[2]), 15);
	assert_int_equal(EC_TRACE_PRI(w[2]), 15);
	assert_int_equal(EC_TRACE_LEN(w[3]), 0);
	assert_int_equal(EC_TRACE_WAIT(w[3]), 0);
	call.queued_at = 0;
	ec_trace_begin(&f.trace, &call);
	ec_trace_end(&f.trace, &call, UINT64_MAX);
	w = newest(&f);
	assert_false(EC_TRACE_HAS_WAIT(w[3]));
	assert_true(EC_TRACE_LEN(w[3]) > UINT64_C(8000000000000));
	end(&f);
}

static void outer_callback_runs_again(void **state)
{
	struct fixture f = make();
	struct ec_probe_call outer = { .fn = 0x1000, .began_at = 100 }, inner = { .fn = 0x2000, .began_at = 200 };

	(void)state;
	ec_trace_begin(&f.trace, &outer);
	inner.outer = &outer;
	ec_trace_begin(&f.trace, &inner);
	assert_runs(&f, 200, 0x2000);
	ec_trace_end(&f.trace, &inner, 300);
	assert_runs(&f, 100, 0x1000);
	ec_trace_end(&f.trace, &outer, 400);
	assert_runs(&f, 0, 0);
	assert_int_equal(newest(&f)[0], UINT64_C(100) << 8 | EC_TRACE_CALL);
	end(&f);
}

/* Each callback makes a record before the next one begins in it, or after that, or both, or none. */
static void records_come_between(void **state)
{
	enum { DEPTH = 3, WAYS = 1 << (2 * DEPTH) };
	struct ec_probe_call calls[DEPTH] = { 0 };
	struct fixture f;
	unsigned way;
	int i;

	(void)state;
	for (way = 0; way < WAYS; way++) {
		f = make();
		for (i = 0; i < DEPTH; i++) {
			calls[i] = (struct ec_probe_call){
				.fn = 0x1000u * (unsigned)(i + 1),
				.began_at = 100u * (unsigned)(i + 1),
				.outer = i == 0 ? NULL : &calls[i - 1],
			};
			ec_trace_begin(&f.trace, &calls[i]);
			assert_runs(&f, calls[i].began_at, calls[i].fn);
			if ((way >> (2 * i) & 1) != 0)
				ec_trace_note(&f.trace, EC_PROBE_MOVE, 1, 0, 10);
			assert_runs(&f, calls[i].began_at, calls[i].fn);
		}
		for (i = DEPTH - 1; i >= 0; i--) {
			if ((way >> (2 * i + 1) & 1) != 0)
				ec_trace_note(&f.trace, EC_PROBE_MOVE, 1, 0, 10);
			assert_runs(&f, calls[i].began_at, calls[i].fn);
			ec_trace_end(&f.trace, &calls[i], 1000);
			assert_record(&f, EC_TRACE_CALL, calls[i].began_at, calls[i].fn, 0,
				      (uint64_t)EC_TRACE_UNKNOWN << 32 | (1000 - calls[i].began_at));
			assert_runs(&f, i == 0 ? 0 : calls[i - 1].began_at, i == 0 ? 0 : calls[i - 1].fn);
		}
		end(&f);
	}
}

static void a_new_name_counts(void **state)
{
	struct fixture f = make();
	struct ec_probe_call call = { .fn = 0x1000, .began_at = 100 };

	(void)state;
	ec_trace_begin(&f.trace, &call);
	call.fn = 0x2000;
	ec_trace_rename(&f.trace, &call);
	assert_runs(&f, 100, 0x2000);
	ec_trace_note(&f.trace, EC_PROBE_MOVE, 1, 0, 10);
	call.fn = 0x3000;
	ec_trace_rename(&f.trace, &call);
	assert_runs(&f, 100, 0x3000);
	ec_trace_end(&f.trace, &call, 400);
	assert_record(&f, EC_TRACE_CALL, 100, 0x3000, 0, (uint64_t)EC_TRACE_UNKNOWN << 32 | 300);
	end(&f);
}

static void notes_have_their_records(void **state)
{
	struct fixture f = make();
	struct ec_trace *t = &f.trace;

	(void)state;
	assert_record(&f, EC_TRACE_CLOCK, 1000, 1000, 0, 0);
	ec_trace_note(t, EC_PROBE_POLL_BEGIN, 0, 5000, 6000);
	ec_trace_note(t, EC_PROBE_POLL_END, 0, 5900, 6000);
	assert_record(&f, EC_TRACE_POLL, 5000, 900, 0, 0);
	ec_trace_note(t, EC_PROBE_SLEEP_BEGIN, 0, 7000, 9000);
	ec_trace_note(t, EC_PROBE_SLEEP_END, 0, 9000, 9000);
	assert_record(&f, EC_TRACE_SLEEP, 7000, 2000, 0, 0);
	ec_trace_note(t, EC_PROBE_SPIN_BEGIN, 0, 100, 100);
	ec_trace_note(t, EC_PROBE_STEAL_MISS, 0, 0, 110);
	ec_trace_note(t, EC_PROBE_STEAL_MISS, 0, 0, 120);
	ec_trace_note(t, EC_PROBE_SPIN_END, 0, 130, 130);
	assert_record(&f, EC_TRACE_SPIN, 100, 30, 2, 0);
	ec_trace_note(t, EC_PROBE_STEAL, 77, 3, 140);
	assert_record(&f, EC_TRACE_STEAL, 140, 3, 77, 0);
	ec_trace_note(t, EC_PROBE_POST, 78, 149, 150);
	assert_record(&f, EC_TRACE_POST, 150, 149, 78, 0);
	ec_trace_note(t, EC_PROBE_WAKEUP, 0, 1, 160);
	assert_record(&f, EC_TRACE_WAKEUP, 160, 1, 0, 0);
	ec_trace_note(t, EC_PROBE_MOVE, 79, 0, 170);
	assert_record(&f, EC_TRACE_MOVE, 170, 0, 79, 0);
	end(&f);
}

static void queue_is_noted_as_it_changes(void **state)
{
	struct fixture f = make();

	(void)state;
	ec_trace_note(&f.trace, EC_PROBE_QUEUE, 0, 0, 100);
	assert_record(&f, EC_TRACE_QUEUE, 100, 0, 0, 0);
	ec_trace_note(&f.trace, EC_PROBE_QUEUE, 0, 0, 200);
	assert_record(&f, EC_TRACE_QUEUE, 100, 0, 0, 0);
	ec_trace_note(&f.trace, EC_PROBE_QUEUE, 0, 5, 300);
	assert_record(&f, EC_TRACE_QUEUE, 300, 5, 0, 0);
	end(&f);
}

static void clock_is_noted_now_and_then(void **state)
{
	struct fixture f = make();
	uint64_t i;

	(void)state;
	for (i = 1; i <= 5; i++) {
		now_ns = 1000 + (int64_t)i * 10000000;
		ec_trace_note(&f.trace, EC_PROBE_TURN, 0, 0, (uint64_t)now_ns);
	}
	assert_int_equal(ec_load_relaxed(&f.ring->num), 3);
	assert_record(&f, EC_TRACE_CLOCK, 40001000, 40001000, 0, 0);
	now_ns = 1000;
	end(&f);
}

static void numbers_go_on_when_it_is_opened_again(void **state)
{
	struct fixture f = make();
	uint64_t num;

	(void)state;
	ec_trace_note(&f.trace, EC_PROBE_MOVE, 1, 0, 10);
	num = ec_load_relaxed(&f.ring->num);
	ec_trace_init(&f.trace, f.ring, RECORDS, 2, 2000);
	assert_int_equal(ec_load_relaxed(&f.ring->num), num + 1);
	end(&f);
}

/* Two records, only where they were asked for. */
static void objects_come_before_their_callback(void **state)
{
	struct fixture f = make();
	struct ec_probe_call call = {
		.fn = 0x2000,
		.arg = ARG,
		.event = EVENT,
		.object_kind = EC_OBJECT_HTTP,
		.began_at = 2000,
		.fd = 4,
	};
	struct ec_event other = { .fd = 9 };

	(void)state;
	other.task.arg = (void *)0x1234;
	ec_trace_note(&f.trace, EC_PROBE_TOUCH, 0, (uintptr_t)&other, 1900);
	assert_int_equal(ec_load_relaxed(&f.ring->num), 1);	/* the clock */
	f.trace.has_objects = true;
	ec_trace_begin(&f.trace, &call);
	ec_trace_note(&f.trace, EC_PROBE_TOUCH, 0, (uintptr_t)&other, 2100);
	assert_record(&f, EC_TRACE_TOUCH, 2100, 0x1234, UINT64_C(9) << 32, (uintptr_t)&other);
	other.fd = -1;
	ec_trace_note(&f.trace, EC_PROBE_TOUCH, 0, (uintptr_t)&other, 2200);
	assert_int_equal(EC_TRACE_FD(newest(&f)[2]), EC_TRACE_NO_FD);
	ec_trace_end_slowly(&f.trace, &call, 2750);
	assert_int_equal(newest(&f)[0], UINT64_C(2000) << 8 | EC_TRACE_CALL);
	f.ring->num--;
	assert_record(&f, EC_TRACE_OBJECT, 2000, ARG | (uint64_t)EC_OBJECT_HTTP << 48, 0x2000,
		      EVENT);
	assert_int_equal(EC_TRACE_OBJECT_KIND(newest(&f)[1]), EC_OBJECT_HTTP);
	end(&f);
}

static void ticks_are_packed(void **state)
{
	static const uint64_t exact[] = { 0, 1, 1000, (UINT64_C(1) << 31) - 1 };
	uint64_t ticks;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(exact); i++)
		assert_int_equal(ec_trace_unpack(ec_trace_pack(exact[i])), exact[i]);
	for (ticks = UINT64_C(1) << 31; ticks < UINT64_C(1) << 42; ticks += ticks / 7) {
		assert_true(ec_trace_unpack(ec_trace_pack(ticks)) <= ticks);
		assert_true(ec_trace_unpack(ec_trace_pack(ticks)) + 4096 > ticks);
	}
	assert_int_not_equal(ec_trace_pack(UINT64_MAX), EC_TRACE_UNKNOWN);
	assert_true(ec_trace_unpack(ec_trace_pack(UINT64_MAX)) > UINT64_C(1) << 42);
}

/* ---------------------------------------------------------------- a writer and a reader */

enum { WRITTEN = 300000, RING_SIZE = 4096 };

struct shared {
	int fd;
	char *at;
	_Atomic(bool) has_ended;
};

/* All words of a record tell its number. */
static void *write_all(void *arg)
{
	struct shared *s = arg;
	struct ec_trace t;
	uint64_t i;

	ec_trace_init(&t, (void *)(s->at + 4096), RECORDS, 0, 0);
	for (i = 1; i <= WRITTEN; i++)
		ec_trace_note(&t, EC_PROBE_POST, (uint32_t)i, i, i);
	return NULL;
}

/* The same with callbacks, some of which make a record, and some of which have another one in them. */
static void *write_calls(void *arg)
{
	struct ec_probe_call call, inner;
	struct shared *s = arg;
	struct ec_trace t;
	uint64_t i;

	ec_trace_init(&t, (void *)(s->at + 4096), RECORDS, 0, 0);
	for (i = 2; i <= WRITTEN; i += 2) {
		call = (struct ec_probe_call){ .fn = (uintptr_t)i, .color = (uint32_t)i, .began_at = i };
		inner = call;
		inner.outer = &call;
		ec_trace_begin(&t, &call);
		if (i % 3 == 0)
			ec_trace_note(&t, EC_PROBE_POST, (uint32_t)i, i, i);
		if (i % 4 == 0) {
			ec_trace_begin(&t, &inner);
			if (i % 5 == 0)
				ec_trace_note(&t, EC_PROBE_POST, (uint32_t)i, i, i);
			ec_trace_end(&t, &inner, i + 1);
		}
		ec_trace_end(&t, &call, i + 1);
	}
	ec_store_release(&s->has_ended, true);		/* meets reader_gets_whole_callbacks */
	return NULL;
}

static void check_call(const struct record *r)
{
	const uint64_t at = r->word[0] >> 8;

	assert_int_equal(EC_TRACE_COLOR(r->word[2]), at);
	if ((r->word[0] & 0xff) == EC_TRACE_CALL)
		assert_int_equal(EC_TRACE_FN(r->word[1]), at);
	else
		assert_int_equal(r->word[0] & 0xff, EC_TRACE_POST);
}

static void make_shared(struct shared *s)
{
	struct ec_trace_head head = {
		.magic = EC_TRACE_MAGIC,
		.layout = EC_TRACE_LAYOUT,
		.size = sizeof(head),
		.tick_mult = UINT64_C(1) << 32,
		.rings_num = 1,
		.records_num = RECORDS,
		.rings_at = 4096,
		.ring_size = RING_SIZE,
		.maps_at = 4096 + RING_SIZE,
		.file_size = 4096 + RING_SIZE,
	};

	s->fd = memfd_create("trace", MFD_CLOEXEC);
	assert_true(s->fd >= 0);
	assert_int_equal(ftruncate(s->fd, (off_t)head.file_size), 0);
	assert_int_equal(pwrite(s->fd, &head, sizeof(head), 0), (ssize_t)sizeof(head));
	s->at = mmap(NULL, (size_t)head.file_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	assert_ptr_not_equal(s->at, MAP_FAILED);
}

static void check_records(const struct ring *ring)
{
	uint64_t before = 0, at;
	size_t i;

	for (i = 0; i < ring->num; i++) {
		const uint64_t *w = ring->at[i].word;

		if ((w[0] & 0xff) == EC_TRACE_CLOCK)
			continue;
		at = w[0] >> 8;
		assert_int_equal(w[0] & 0xff, EC_TRACE_POST);
		assert_int_equal(w[1], at);
		assert_int_equal(w[2], at);
		assert_true(at > before);
		before = at;
	}
}

static void reader_gets_whole_records(void **state)
{
	struct shared s = { .fd = -1 };
	struct rings r;
	pthread_t thread;

	(void)state;
	make_shared(&s);
	assert_null(rings_open(dup(s.fd), WRITTEN + 100, &r));
	assert_int_equal(pthread_create(&thread, NULL, write_all, &s), 0);
	do {
		rings_read(&r);
	} while (r.rings[0].num_seen < WRITTEN + 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	check_records(&r.rings[0]);
	assert_int_equal(r.rings[0].num + r.rings[0].lost, WRITTEN + 1);
	assert_int_equal(r.rings[0].damaged, 0);
	assert_int_equal(r.rings[0].at[r.rings[0].num - 1].word[1], WRITTEN);
	rings_close(&r);
	assert_int_equal(munmap(s.at, 4096 + RING_SIZE), 0);
	close(s.fd);
}

static void reader_gets_whole_callbacks(void **state)
{
	struct shared s = { .fd = -1 };
	struct rings r;
	pthread_t thread;
	bool is_last;
	size_t i;

	(void)state;
	make_shared(&s);
	assert_null(rings_open(dup(s.fd), WRITTEN + 100, &r));
	assert_int_equal(pthread_create(&thread, NULL, write_calls, &s), 0);
	do {
		is_last = ec_load_acquire(&s.has_ended);		/* meets write_calls */
		rings_read(&r);
		if (r.rings[0].current.word[0] != 0)
			check_call(&r.rings[0].current);
	} while (!is_last);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(r.rings[0].current.word[0], 0);
	assert_int_equal(r.rings[0].damaged, 0);
	for (i = 0; i < r.rings[0].num; i++) {
		if ((r.rings[0].at[i].word[0] & 0xff) != EC_TRACE_CLOCK)
			check_call(&r.rings[0].at[i]);
	}
	rings_close(&r);
	assert_int_equal(munmap(s.at, 4096 + RING_SIZE), 0);
	close(s.fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_gets_whole_callbacks),
		cmocka_unit_test(callback_is_one_record),
		cmocka_unit_test(large_numbers_are_the_largest),
		cmocka_unit_test(outer_callback_runs_again),
		cmocka_unit_test(records_come_between),
		cmocka_unit_test(a_new_name_counts),
		cmocka_unit_test(notes_have_their_records),
		cmocka_unit_test(queue_is_noted_as_it_changes),
		cmocka_unit_test(clock_is_noted_now_and_then),
		cmocka_unit_test(numbers_go_on_when_it_is_opened_again),
		cmocka_unit_test(objects_come_before_their_callback),
		cmocka_unit_test(ticks_are_packed),
		cmocka_unit_test(reader_gets_whole_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
