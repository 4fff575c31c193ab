/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * evbuffers alone: what programs do with them, over and over. One program, run on stock and on
 * ours; BENCH_LOCKS=1 gives the buffers locks, as threaded programs have them.
 *
 * Time is the thread's own, of the best of some repetitions: nothing here waits, and what else the
 * machine does is not what is measured.
 */
#include "../util.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/thread.h>

enum { REPEATS = 5, BULK = 1 << 20, BULK_PIECE = 1 << 16, LINE = 64, LINES = 1000 };

static struct evbuffer *buf, *other;
static char in[BULK], out[BULK];

static uint64_t own_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---------------------------------------------------------------- shapes */

static void add_drain(long count, size_t len)
{
	while (count-- > 0) {
		evbuffer_add(buf, in, len);
		evbuffer_drain(buf, len);
	}
}

static void add_remove(long count, size_t len)
{
	while (count-- > 0) {
		evbuffer_add(buf, in, len);
		evbuffer_remove(buf, out, len);
	}
}

/* Many small pieces, gone at once. */
static void stream(long count, size_t len)
{
	for (long i = 1; i <= count; i++) {
		evbuffer_add(buf, in, len);
		if (i % 100 == 0 || i == count)
			evbuffer_drain(buf, evbuffer_get_length(buf));
	}
}

/* A megabyte in, in pieces, and out again: an operation is a piece. */
static void bulk(long count, size_t len)
{
	while (count > 0) {
		for (size_t sum = 0; sum < BULK; sum += len, count--)
			evbuffer_add(buf, in, len);
		evbuffer_remove(buf, out, BULK);
	}
}

static void prepend(long count, size_t len)
{
	while (count-- > 0) {
		evbuffer_add(buf, in, 1024);
		evbuffer_prepend(buf, in, len);
		evbuffer_drain(buf, 1024 + len);
	}
}

static void reference(long count, size_t len)
{
	while (count-- > 0) {
		evbuffer_add_reference(buf, in, len, NULL, NULL);
		evbuffer_drain(buf, len);
	}
}

static void move(long count, size_t len)
{
	evbuffer_add(buf, in, len);
	while (count-- > 0)
		evbuffer_add_buffer(count % 2 == 0 ? buf : other, count % 2 == 0 ? other : buf);
	evbuffer_drain(buf, len);
	evbuffer_drain(other, len);
}

static void read_lines(long count, size_t len)
{
	char *line;

	for (size_t i = 0; i < (size_t)LINES * len; i++)
		in[i] = i % len == len - 2 ? '\r' : i % len == len - 1 ? '\n' : 'x';
	for (; count > 0; count -= LINES) {
		evbuffer_add(buf, in, (size_t)LINES * len);
		while ((line = evbuffer_readln(buf, NULL, EVBUFFER_EOL_CRLF)) != NULL)
			free(line);
	}
}

static void print(long count, size_t len)
{
	(void)len;
	while (count-- > 0) {
		evbuffer_add_printf(buf, "Content-Length: %ld\r\n", count);
		if (count % 64 == 0)
			evbuffer_drain(buf, evbuffer_get_length(buf));
	}
}

static void make(long count, size_t len)
{
	while (count-- > 0) {
		struct evbuffer *made = evbuffer_new();

		evbuffer_add(made, in, len);
		evbuffer_free(made);
	}
}

static void search(long count, size_t len)
{
	evbuffer_add(buf, in, len);
	evbuffer_add(buf, "\r\n\r\n", 4);
	while (count-- > 0) {
		if (evbuffer_search(buf, "\r\n\r\n", 4, NULL).pos != (ssize_t)len)
			bench_die("search: not found");
	}
	evbuffer_drain(buf, len + 4);
}

/* ---------------------------------------------------------------- main */

static const struct shape {
	const char *name;
	void (*run)(long count, size_t len);
	size_t len;
	long count;
} shapes[] = {
	{ "adddrain64", add_drain, 64, 2000000 },
	{ "addremove64", add_remove, 64, 2000000 },
	{ "addremove1024", add_remove, 1024, 1000000 },
	{ "addremove16384", add_remove, 16384, 100000 },
	{ "stream64", stream, 64, 2000000 },
	{ "bulk1m", bulk, BULK_PIECE, 4800 },
	{ "prepend16", prepend, 16, 1000000 },
	{ "reference4k", reference, 4096, 1000000 },
	{ "move64k", move, 65536, 2000000 },
	{ "readln64", read_lines, LINE, 1000000 },
	{ "printf", print, 0, 1000000 },
	{ "newfree", make, 100, 1000000 },
	{ "search64k", search, 65536, 4000 },
};

enum { SHAPES_NUM = sizeof(shapes) / sizeof(shapes[0]) };

static void open_buffers(void)
{
	bool has_locks = bench_setting("BENCH_LOCKS", 0) != 0;

	if (has_locks)
		evthread_use_pthreads();
	buf = evbuffer_new();
	other = evbuffer_new();
	if (buf == NULL || other == NULL)
		bench_die("no memory");
	if (has_locks &&
	    (evbuffer_enable_locking(buf, NULL) < 0 || evbuffer_enable_locking(other, NULL) < 0))
		bench_die("no locks");
}

/*
 * Every repetition runs in full, so that instructions can be counted by the difference of two
 * counts.
 */
static void run(const struct shape *shape, long count)
{
	uint64_t best = UINT64_MAX, begin, took;

	for (int i = 0; i < REPEATS; i++) {
		begin = own_ns();
		shape->run(count, shape->len);
		took = own_ns() - begin;
		if (took < best)
			best = took;
	}
	bench_report(shape->name, "evbuffer", "", (double)best / (double)count, "ns");
}

int main(int argc, char **argv)
{
	const struct shape *shape = shapes;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "%s SHAPE [COUNT]; shapes:", argv[0]);
		for (size_t i = 0; i < SHAPES_NUM; i++)
			fprintf(stderr, " %s", shapes[i].name);
		fputc('\n', stderr);
		return 2;
	}
	while (strcmp(argv[1], shape->name) != 0) {
		if (++shape == shapes + SHAPES_NUM)
			bench_die("no shape %s", argv[1]);
	}
	bench_pin(0);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)('a' + i % 23);
	open_buffers();
	run(shape, argc > 2 ? bench_number(argv[2]) : shape->count);
	return 0;
}
