/*
 * evsmp/rings.c: records are read once, in order, while they are written; those that were overwritten are counted, not
 * shown. Damaged files are refused, or give less.
 */
#include "../table.h"

#include <fcntl.h>

#include "trace_file.h"

static struct rings open_rings(const struct trace_file *f, size_t keep_num)
{
	struct rings r;

	assert_null(rings_open(dup(f->fd), keep_num, &r));
	return r;
}

static void end(struct trace_file *f, struct rings *r)
{
	rings_close(r);
	close(f->fd);
}

/* The times of a ring's records are from, from + 1, …, to - 1. */
static void assert_times(const struct ring *ring, uint64_t from, uint64_t to)
{
	uint64_t i;

	assert_int_equal(ring->num, to - from);
	for (i = from; i < to; i++)
		assert_int_equal(ring->at[i - from].word[0] >> 8, i);
}

static void records_come_once(void **state)
{
	struct trace_file f = file_new();
	struct rings r = open_rings(&f, 1000);
	uint64_t i;

	(void)state;
	rings_read(&r);
	assert_int_equal(r.rings[1].num, 0);
	for (i = 0; i < 10; i++)
		file_record(&f, 1, EC_TRACE_POLL, i, 1, 2, 3);
	rings_read(&r);
	rings_read(&r);
	assert_times(&r.rings[1], 0, 10);
	assert_int_equal(r.rings[1].at[9].word[3], 3);
	for (; i < 15; i++)
		file_record(&f, 1, EC_TRACE_POLL, i, 1, 2, 3);
	rings_read(&r);
	assert_times(&r.rings[1], 0, 15);
	assert_int_equal(r.rings[0].num + r.rings[2].num, 0);
	assert_int_equal(r.rings[1].lost, 0);
	assert_false(r.is_closed);
	end(&f, &r);
}

static void newest_are_kept(void **state)
{
	struct trace_file f = file_new();
	struct rings r = open_rings(&f, 1000);
	uint64_t i;

	(void)state;
	for (i = 0; i < 200; i++)
		file_record(&f, 0, EC_TRACE_POLL, i, 1, 2, 3);
	rings_read(&r);
	/* The next record will be written where the oldest is, so that one may be half overwritten. */
	assert_times(&r.rings[0], 200 - FILE_RECORDS + 1, 200);
	assert_int_equal(r.rings[0].lost, 200 - FILE_RECORDS + 1);
	assert_int_equal(r.rings[0].gaps, 0);
	for (; i < 200 + FILE_RECORDS / 2; i++)
		file_record(&f, 0, EC_TRACE_POLL, i, 1, 2, 3);
	rings_read(&r);
	assert_times(&r.rings[0], 200 - FILE_RECORDS + 1, 200 + FILE_RECORDS / 2);
	/* Of these, the oldest ten and the half-written one are missing between others. */
	for (; i < 210 + FILE_RECORDS / 2 + FILE_RECORDS; i++)
		file_record(&f, 0, EC_TRACE_POLL, i, 1, 2, 3);
	rings_read(&r);
	assert_int_equal(r.rings[0].gaps, 11);
	end(&f, &r);
}

static void room_is_bounded(void **state)
{
	struct trace_file f = file_new();
	struct rings r = open_rings(&f, 100);
	uint64_t i, j;

	(void)state;
	for (i = 0; i < 50; i++) {
		for (j = 0; j < 20; j++)
			file_record(&f, 0, EC_TRACE_POLL, i * 20 + j, 1, 2, 3);
		rings_read(&r);
		assert_true(r.rings[0].num <= 200);
	}
	assert_times(&r.rings[0], 1000 - r.rings[0].num, 1000);
	assert_int_equal(r.rings[0].lost, 1000 - r.rings[0].num);
	end(&f, &r);
}

static void unknown_types_are_left_out(void **state)
{
	struct trace_file f = file_new();
	struct rings r = open_rings(&f, 100);

	(void)state;
	file_record(&f, 0, EC_TRACE_NONE, 1, 1, 2, 3);
	file_record(&f, 0, EC_TRACE_TYPES, 1, 1, 2, 3);
	file_record(&f, 0, 255, 1, 1, 2, 3);
	file_record(&f, 0, EC_TRACE_POLL, 7, 1, 2, 3);
	rings_read(&r);
	assert_times(&r.rings[0], 7, 8);
	assert_int_equal(r.rings[0].damaged, 3);
	end(&f, &r);
}

static void running_callback_is_seen(void **state)
{
	struct trace_file f = file_new();
	struct rings r = open_rings(&f, 100);

	(void)state;
	file_record(&f, 0, EC_TRACE_POLL, 1, 1, 2, 3);
	file_current(&f, 0, (struct a_call){ .at = 77, .fn = 0x1234, .color = 5 });
	rings_read(&r);
	assert_int_equal(r.rings[0].current.word[0] >> 8, 77);
	assert_int_equal(EC_TRACE_FN(r.rings[0].current.word[1]), 0x1234);
	file_put(&f, file_ring_at(&f, 0) + offsetof(struct ec_trace_ring, current), &(uint64_t){ 0 }, 8);
	rings_read(&r);
	assert_int_equal(r.rings[0].current.word[0], 0);
	file_running(&f, 0, (struct a_call){ .at = 78, .fn = 0x4321, .color = 5 });
	rings_read(&r);
	assert_int_equal(r.rings[0].current.word[0], UINT64_C(78) << 8 | EC_TRACE_CALL);
	assert_int_equal(EC_TRACE_FN(r.rings[0].current.word[1]), 0x4321);
	file_call(&f, 0, (struct a_call){ .at = 78, .fn = 0x4321, .color = 5 });
	rings_read(&r);
	assert_int_equal(r.rings[0].current.word[0], 0);
	end(&f, &r);
}

static void end_is_seen(void **state)
{
	struct trace_file f = file_new();
	struct rings r = open_rings(&f, 100);
	char *maps;

	(void)state;
	assert_null(rings_maps(&r));
	file_maps(&f, "1000-2000 r-xp 0 0:0 1 /bin/x\n");
	file_put(&f, offsetof(struct ec_trace_head, is_closed), &(uint64_t){ 1 }, 8);
	rings_read(&r);
	assert_true(r.is_closed);
	maps = rings_maps(&r);
	assert_string_equal(maps, "1000-2000 r-xp 0 0:0 1 /bin/x\n");
	free(maps);
	file_put(&f, offsetof(struct ec_trace_head, maps_len), &(uint64_t){ 4097 }, 8);
	assert_null(rings_maps(&r));
	end(&f, &r);
}

/* ---------------------------------------------------------------- damage */

static void damaged_heads_are_refused(void **state)
{
	static const struct {
		const char *name;
		size_t at, len;
		uint64_t value;
		const char *why;
	} table[] = {
#define ROW(field, value, why) \
	{ #field, offsetof(struct ec_trace_head, field), sizeof(((struct ec_trace_head *)0)->field), value, why }
		ROW(magic, 0x41, "not a trace"),
		ROW(layout, EC_TRACE_LAYOUT + 1, "another version"),
		ROW(size, 1, "another version"),
		ROW(size, 4097, "damaged"),
		ROW(rings_num, 0, "damaged"),
		ROW(rings_num, 2, "damaged"),
		ROW(rings_num, UINT32_MAX, "damaged"),
		ROW(records_num, 0, "damaged"),
		ROW(records_num, 32, "damaged"),
		ROW(records_num, 65, "damaged"),
		ROW(records_num, 256, "damaged"),
		ROW(records_num, UINT32_C(1) << 31, "damaged"),
		ROW(rings_at, UINT64_MAX - 4095, "damaged"),
		ROW(rings_at, 64, "damaged"),
		ROW(ring_size, 64, "damaged"),
		ROW(ring_size, UINT64_MAX, "damaged"),
		ROW(maps_at, 0, "damaged"),
		ROW(maps_cap, UINT64_MAX, "damaged"),
		ROW(file_size, 1, "damaged"),
#undef ROW
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		struct trace_file f = file_new();
		struct rings r;
		const char *why;

		file_put(&f, table[i].at, &table[i].value, table[i].len);
		why = rings_open(f.fd, 100, &r);
		assert_row(why != NULL && strstr(why, table[i].why) != NULL, table[i].name);
		close(f.fd);
	}
}

static void other_files_are_refused(void **state)
{
	struct rings r;
	int fd, pipes[2];

	(void)state;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_non_null(rings_open(fd, 100, &r));
	close(fd);
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	assert_non_null(rings_open(fd, 100, &r));
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	assert_non_null(rings_open(pipes[0], 100, &r));
	close(pipes[0]);
	close(pipes[1]);
}

/* A file that gets shorter, and a number of records that cannot be. */
static void damaged_later(void **state)
{
	struct trace_file f = file_new();
	struct rings r = open_rings(&f, 100);
	uint64_t i;

	(void)state;
	for (i = 0; i < 10; i++)
		file_record(&f, 0, EC_TRACE_POLL, i, 1, 2, 3);
	rings_read(&r);
	file_put(&f, file_ring_at(&f, 0), &(uint64_t){ UINT64_MAX }, 8);
	rings_read(&r);
	assert_true(r.rings[0].num <= 200);
	file_put(&f, file_ring_at(&f, 0), &(uint64_t){ 3 }, 8);
	rings_read(&r);
	assert_true(r.rings[0].num <= 200);
	assert_int_equal(ftruncate(f.fd, 4096 + 100), 0);
	rings_read(&r);
	assert_int_equal(ftruncate(f.fd, 10), 0);
	rings_read(&r);
	assert_null(rings_maps(&r));
	end(&f, &r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_once),
		cmocka_unit_test(newest_are_kept),
		cmocka_unit_test(room_is_bounded),
		cmocka_unit_test(unknown_types_are_left_out),
		cmocka_unit_test(running_callback_is_seen),
		cmocka_unit_test(end_is_seen),
		cmocka_unit_test(damaged_heads_are_refused),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(damaged_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
