/*
 * A trace file that a test writes, record by record. One tick is a nanosecond.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evsmp/rings.h"

enum { FILE_RECORDS = 64, FILE_RINGS = 3 };

struct trace_file {
	int fd;
	struct ec_trace_head head;
	uint64_t num[FILE_RINGS];
};

static inline void file_put(const struct trace_file *f, uint64_t at, const void *data, size_t len)
{
	assert_int_equal(pwrite(f->fd, data, len, (off_t)at), (ssize_t)len);
}

static inline struct trace_file file_new(void)
{
	struct trace_file f = {
		.fd = memfd_create("trace", MFD_CLOEXEC),
		.head = {
			.magic = EC_TRACE_MAGIC,
			.layout = EC_TRACE_LAYOUT,
			.size = sizeof(f.head),
			.tick_mult = UINT64_C(1) << 32,
			.pid = 123,
			.base = 1,
			.rings_num = FILE_RINGS,
			.records_num = FILE_RECORDS,
			.rings_at = 4096,
			.ring_size = 4096,
			.maps_at = 4096 + FILE_RINGS * 4096,
			.maps_cap = 4096,
			.file_size = 4096 + FILE_RINGS * 4096 + 4096,
		},
	};

	assert_true(f.fd >= 0);
	assert_int_equal(ftruncate(f.fd, (off_t)f.head.file_size), 0);
	file_put(&f, 0, &f.head, sizeof(f.head));
	return f;
}

static inline uint64_t file_ring_at(const struct trace_file *f, unsigned ring)
{
	return f->head.rings_at + ring * f->head.ring_size;
}

static inline void file_record(struct trace_file *f, unsigned ring, uint64_t type, uint64_t at, uint64_t w1,
			       uint64_t w2, uint64_t w3)
{
	const uint64_t words[] = { at << 8 | type, w1, w2, w3 };
	uint64_t place = f->num[ring]++ % FILE_RECORDS;

	file_put(f, file_ring_at(f, ring) + offsetof(struct ec_trace_ring, records) + place * sizeof(words), words,
		 sizeof(words));
	file_put(f, file_ring_at(f, ring), &f->num[ring], sizeof(f->num[ring]));
}

struct a_call {
	uint64_t at, len, wait, fn;	/* wait UINT64_MAX: not known */
	uint32_t color;
	unsigned home, kind;
};

static inline void call_words(const struct a_call *c, uint64_t *words)
{
	words[0] = c->at << 8 | EC_TRACE_CALL;
	words[1] = c->fn | (uint64_t)c->home << 48;
	words[2] = c->color | (uint64_t)EC_TRACE_NO_FD << 32 | (uint64_t)c->kind << 56;
	words[3] = (uint64_t)(c->wait == UINT64_MAX ? EC_TRACE_UNKNOWN : ec_trace_pack(c->wait)) << 32 |
		   ec_trace_pack(c->len);
}

static inline void file_call(struct trace_file *f, unsigned ring, struct a_call c)
{
	uint64_t words[4];

	call_words(&c, words);
	file_record(f, ring, EC_TRACE_CALL, c.at, words[1], words[2], words[3]);
}

static inline void file_current(struct trace_file *f, unsigned ring, struct a_call c)
{
	uint64_t words[4];

	call_words(&c, words);
	file_put(f, file_ring_at(f, ring) + offsetof(struct ec_trace_ring, current), words, sizeof(words));
}

/* The same in the place of the next record. */
static inline void file_running(const struct trace_file *f, unsigned ring, struct a_call c)
{
	uint64_t words[4], place = f->num[ring] % FILE_RECORDS;

	call_words(&c, words);
	words[0] = c.at << 8 | EC_TRACE_RUNS;
	file_put(f, file_ring_at(f, ring) + offsetof(struct ec_trace_ring, records) + place * sizeof(words), words,
		 sizeof(words));
}

static inline void file_maps(struct trace_file *f, const char *text)
{
	uint64_t len = strlen(text);

	file_put(f, f->head.maps_at, text, (size_t)len);
	file_put(f, offsetof(struct ec_trace_head, maps_len), &len, sizeof(len));
}

#endif
