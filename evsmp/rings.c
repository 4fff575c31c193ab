#include "rings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All of it, or false. */
static bool read_at(int fd, uint64_t at, void *to, size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (at > (uint64_t)INT64_MAX - len)
		return false;
	while (done < len) {
		n = pread(fd, (char *)to + done, len - done, (off_t)(at + done));
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* ---------------------------------------------------------------- the head */

static bool is_power_of_2(uint32_t num)
{
	return num != 0 && (num & (num - 1)) == 0;
}

/* The sum of sizes never overflows: each factor is small once it was checked. */
static bool is_layout_whole(const struct ec_trace_head *h)
{
	uint64_t ring_min = sizeof(struct ec_trace_ring) + h->records_num * sizeof(struct record);

	return h->ring_size >= ring_min && h->ring_size <= 2 * ring_min + 65536 && h->rings_at >= h->size &&
	       h->rings_at <= 65536 && h->maps_at == h->rings_at + h->rings_num * h->ring_size &&
	       h->maps_cap <= EC_TRACE_MAPS && h->file_size == h->maps_at + h->maps_cap;
}

static const char *check_head(const struct ec_trace_head *h)
{
	if (memcmp(h->magic, EC_TRACE_MAGIC, sizeof(h->magic)) != 0)
		return "it is not a trace of libevent-smp";
	if (h->layout != EC_TRACE_LAYOUT || h->size < sizeof(*h))
		return "it is a trace of another version of libevent-smp";
	if (h->rings_num == 0 || h->rings_num > EC_TRACE_RINGS_MAX || !is_power_of_2(h->records_num) ||
	    h->records_num < EC_TRACE_RECORDS_MIN || h->records_num > EC_TRACE_RECORDS_MAX || !is_layout_whole(h))
		return "it is damaged";
	return NULL;
}

const char *rings_open(int fd, size_t keep_num, struct rings *ret)
{
	struct rings r = { .fd = fd, .keep_num = keep_num };
	const char *why;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !read_at(fd, 0, &r.head, sizeof(r.head)))
		return "it is not a trace of libevent-smp";
	why = check_head(&r.head);
	if (why != NULL)
		return why;
	r.rings = must(calloc(r.head.rings_num, sizeof(*r.rings)));
	*ret = r;
	return NULL;
}

void rings_close(struct rings *r)
{
	uint32_t i;

	for (i = 0; i < r->head.rings_num; i++)
		free(r->rings[i].at);
	free(r->rings);
	free(r->part);
	close(r->fd);
}

/* ---------------------------------------------------------------- records */

/* Half of what is there goes at once, so that this costs little. */
static void drop_oldest(struct rings *r, struct ring *ring)
{
	size_t num = ring->num - r->keep_num;

	memmove(ring->at, ring->at + num, r->keep_num * sizeof(*ring->at));
	ring->num = r->keep_num;
	ring->lost += num;
}

static void keep(struct rings *r, struct ring *ring, const struct record *record)
{
	uint64_t type = record->word[0] & 0xff;

	if (type == EC_TRACE_NONE || type >= EC_TRACE_TYPES) {
		ring->damaged++;
		return;
	}
	if (ring->num >= 2 * r->keep_num)
		drop_oldest(r, ring);
	if (ring->num == ring->cap) {
		ring->cap = ring->cap == 0 ? 1024 : 2 * ring->cap;
		ring->at = must(realloc(ring->at, ring->cap * sizeof(*ring->at)));
	}
	ring->at[ring->num++] = *record;
}

/*
 * What is read afterwards is not older: the kernel copies it, so there is no load to order. The writer is another
 * process, of which ThreadSanitizer knows nothing, and gcc's refuses fences.
 */
static void order_reads(void)
{
#ifndef __SANITIZE_THREAD__
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

static bool read_num(const struct rings *r, uint64_t at, uint64_t *ret)
{
	bool is_read = read_at(r->fd, at + offsetof(struct ec_trace_ring, num), ret, sizeof(*ret));

	order_reads();
	return is_read;
}

/* Records [from, to), of which some may be overwritten meanwhile: read_ring() tells. */
static bool read_records(struct rings *r, uint64_t at, uint64_t from, uint64_t to)
{
	size_t place = (size_t)(from % r->head.records_num), num = (size_t)(to - from);
	size_t first = num < r->head.records_num - place ? num : r->head.records_num - place;

	at += offsetof(struct ec_trace_ring, records);
	return read_at(r->fd, at + place * sizeof(struct record), r->part, first * sizeof(struct record)) &&
	       read_at(r->fd, at, r->part + first, (num - first) * sizeof(struct record));
}

/* D1 to D3 of trace_layout.h: two readings of the first word agree, so the others are of the same callback. */
static bool read_running(const struct rings *r, uint64_t at, uint64_t type, struct record *ret)
{
	struct record current = { 0 };
	uint64_t first = 0, again = 0;

	if (!read_at(r->fd, at, &first, sizeof(first)) || (first & 0xff) != type)
		return false;
	order_reads();
	if (!read_at(r->fd, at, &current, sizeof(current)))
		return false;
	order_reads();
	if (!read_at(r->fd, at, &again, sizeof(again)) || first != again || first != current.word[0])
		return false;
	*ret = current;
	return true;
}

/* The callback that runs: in the place of record `num`, or apart. */
static void read_current(const struct rings *r, struct ring *ring, uint64_t at, uint64_t num)
{
	uint64_t place = at + offsetof(struct ec_trace_ring, records) +
			 num % r->head.records_num * sizeof(struct record);

	ring->current = (struct record){ 0 };
	if (read_running(r, place, EC_TRACE_RUNS, &ring->current))
		ring->current.word[0] = (ring->current.word[0] & ~UINT64_C(0xff)) | EC_TRACE_CALL;
	else if (!read_running(r, at + offsetof(struct ec_trace_ring, current), EC_TRACE_CALL, &ring->current))
		ring->current = (struct record){ 0 };
}

static void note_lost(struct ring *ring, uint64_t num)
{
	ring->lost += num;
	if (ring->num != 0)
		ring->gaps += num;
}

/* R1 to R3 of trace_layout.h. */
static void read_ring(struct rings *r, struct ring *ring, uint64_t at)
{
	const uint64_t len = r->head.records_num;
	uint64_t from, to, after, i;

	if (!read_num(r, at, &to) || to == 0)						/* R1 */
		return;
	read_current(r, ring, at, to);
	if (to < ring->num_seen)
		ring->num_seen = 0;		/* of another writer, or damaged */
	from = to - ring->num_seen > len ? to - len : ring->num_seen;
	if (from == to || !read_records(r, at, from, to) || !read_num(r, at, &after))	/* R2, R3 */
		return;
	i = after >= len && after - len + 1 > from ? after - len + 1 : from;
	note_lost(ring, (i < to ? i : to) - ring->num_seen);
	for (; i < to; i++)
		keep(r, ring, &r->part[i - from]);
	ring->num_seen = to;
}

void rings_read(struct rings *r)
{
	uint64_t closed = 0;
	uint32_t i;

	/* First: what was written before it was closed is then there. */
	(void)read_at(r->fd, offsetof(struct ec_trace_head, is_closed), &closed, sizeof(closed));
	order_reads();
	if (r->part == NULL)
		r->part = must(malloc(r->head.records_num * sizeof(*r->part)));
	for (i = 0; i < r->head.rings_num; i++)
		read_ring(r, &r->rings[i], r->head.rings_at + i * r->head.ring_size);
	r->is_closed = closed == 1;
}

char *rings_maps(const struct rings *r)
{
	uint64_t len = 0;
	char *text;

	if (!read_at(r->fd, offsetof(struct ec_trace_head, maps_len), &len, sizeof(len)) || len == 0 ||
	    len > r->head.maps_cap)
		return NULL;
	text = must(malloc((size_t)len + 1));
	if (!read_at(r->fd, r->head.maps_at, text, (size_t)len)) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}
