/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* evbuffers. `num` of a pattern is the size, or the number of chains where the name says "chains". */
#include "sweep.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <event2/buffer.h>

enum { CHAIN = 4096,
       LINE = 40 };

static char data[1 << 20];

/* `num` chains of 4 KB: references are never joined. */
static struct evbuffer *chains(unsigned num)
{
	struct evbuffer *buf = evbuffer_new();
	unsigned i;

	memset(data, 'x', sizeof(data));
	for (i = 0; i < num; i++)
		evbuffer_add_reference(buf, data, CHAIN, NULL, NULL);
	return buf;
}

static void new_free(struct sweep *s)
{
	while (sweep_next(s)) {
		struct evbuffer *buf = evbuffer_new();

		if (s->num != 0)
			evbuffer_add(buf, data, s->num);
		evbuffer_free(buf);
	}
}

static void add_drain(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add(buf, data, s->num);
		evbuffer_drain(buf, s->num);
	}
	evbuffer_free(buf);
}

static void add_remove(struct sweep *s)
{
	static char out[1 << 20];
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add(buf, data, s->num);
		sweep_check(evbuffer_remove(buf, out, s->num) == (int)s->num);
	}
	evbuffer_free(buf);
}

/* Grows by small pieces to `num` bytes, then is emptied. */
static void grow(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	unsigned len;

	while (sweep_next(s)) {
		for (len = 0; len < s->num; len += 100)
			evbuffer_add(buf, data, 100);
		evbuffer_drain(buf, len);
	}
	evbuffer_free(buf);
}

static void prepend(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	evbuffer_add(buf, data, 100);
	while (sweep_next(s)) {
		evbuffer_prepend(buf, data, s->num);
		evbuffer_drain(buf, s->num);
	}
	evbuffer_free(buf);
}

static void expand(struct sweep *s)
{
	while (sweep_next(s)) {
		struct evbuffer *buf = evbuffer_new();

		evbuffer_expand(buf, s->num);
		evbuffer_add(buf, data, 100);
		evbuffer_expand(buf, s->num);
		evbuffer_free(buf);
	}
}

static void reserve(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	struct evbuffer_iovec vec[2];
	int n;

	while (sweep_next(s)) {
		n = evbuffer_reserve_space(buf, s->num, vec, 2);
		sweep_check(n >= 1);
		vec[0].iov_len = s->num < vec[0].iov_len ? s->num : vec[0].iov_len;
		evbuffer_commit_space(buf, vec, 1);
		evbuffer_drain(buf, s->num);
	}
	evbuffer_free(buf);
}

static void iovec(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	struct evbuffer_iovec vec[4] = { { data, 10 }, { data, 200 }, { data, 30 }, { data, 1000 } };

	while (sweep_next(s)) {
		sweep_check(evbuffer_add_iovec(buf, vec, 4) == 1240);
		evbuffer_drain(buf, 1240);
	}
	evbuffer_free(buf);
}

static void peek(struct sweep *s)
{
	struct evbuffer *buf = chains(s->num);
	struct evbuffer_iovec vec[64];

	while (sweep_next(s))
		s->calls += evbuffer_peek(buf, -1, NULL, vec, 64);
	evbuffer_free(buf);
}

static void peek_from(struct sweep *s)
{
	struct evbuffer *buf = chains(s->num);
	struct evbuffer_iovec vec[4];
	struct evbuffer_ptr at;

	evbuffer_ptr_set(buf, &at, (size_t)s->num * CHAIN / 2, EVBUFFER_PTR_SET);
	while (sweep_next(s))
		s->calls += evbuffer_peek(buf, 100, &at, vec, 4);
	evbuffer_free(buf);
}

static void search(struct sweep *s)
{
	struct evbuffer *buf = chains(s->num);

	evbuffer_add(buf, "needle", 6);
	while (sweep_next(s))
		s->calls += evbuffer_search(buf, "needle", 6, NULL).pos > 0;
	evbuffer_free(buf);
}

/* Each byte could be the start: the worst case of a simple search. */
static void search_alike(struct sweep *s)
{
	struct evbuffer *buf = chains(s->num);

	evbuffer_add(buf, "xxxxxxxy", 8);
	while (sweep_next(s))
		s->calls += evbuffer_search(buf, "xxxxxxxy", 8, NULL).pos > 0;
	evbuffer_free(buf);
}

static void search_range(struct sweep *s)
{
	struct evbuffer *buf = chains(s->num);
	struct evbuffer_ptr start, end;

	evbuffer_ptr_set(buf, &start, 100, EVBUFFER_PTR_SET);
	evbuffer_ptr_set(buf, &end, 2000, EVBUFFER_PTR_SET);
	while (sweep_next(s))
		s->calls += evbuffer_search_range(buf, "needle", 6, &start, &end).pos < 0;
	evbuffer_free(buf);
}

static void search_eol(struct sweep *s)
{
	struct evbuffer *buf = chains(s->num);
	size_t len;

	evbuffer_add(buf, "\r\n", 3);
	while (sweep_next(s)) {
		s->calls += evbuffer_search_eol(buf, NULL, &len, EVBUFFER_EOL_ANY).pos > 0;
		s->calls += evbuffer_search_eol(buf, NULL, &len, EVBUFFER_EOL_CRLF).pos > 0;
		s->calls += evbuffer_search_eol(buf, NULL, &len, EVBUFFER_EOL_CRLF_STRICT).pos > 0;
		s->calls += evbuffer_search_eol(buf, NULL, &len, EVBUFFER_EOL_LF).pos > 0;
		s->calls += evbuffer_search_eol(buf, NULL, &len, EVBUFFER_EOL_NUL).pos > 0;
	}
	evbuffer_free(buf);
}

/* Four lines of 40 bytes in, four out. */
static void lines(struct sweep *s, enum evbuffer_eol_style style, const char *end, size_t end_len)
{
	struct evbuffer *buf = evbuffer_new();
	size_t len;
	char *line;
	int i;

	memset(data, 'x', LINE);
	while (sweep_next(s)) {
		for (i = 0; i < 4; i++) {
			evbuffer_add(buf, data, LINE);
			evbuffer_add(buf, end, end_len);
		}
		while ((line = evbuffer_readln(buf, &len, style)) != NULL)
			free(line);
	}
	evbuffer_free(buf);
}

static void readln_any(struct sweep *s)
{
	lines(s, EVBUFFER_EOL_ANY, "\r\n", 2);
}

static void readln_crlf(struct sweep *s)
{
	lines(s, EVBUFFER_EOL_CRLF, "\r\n", 2);
}

static void readln_strict(struct sweep *s)
{
	lines(s, EVBUFFER_EOL_CRLF_STRICT, "\r\n", 2);
}

static void readln_lf(struct sweep *s)
{
	lines(s, EVBUFFER_EOL_LF, "\n", 1);
}

static void readln_nul(struct sweep *s)
{
	lines(s, EVBUFFER_EOL_NUL, "", 1);
}

/* A line of which a part came: the search finds nothing. */
static void readln_part(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	memset(data, 'x', s->num);
	evbuffer_add(buf, data, s->num);
	while (sweep_next(s))
		s->calls += evbuffer_readln(buf, NULL, EVBUFFER_EOL_CRLF) == NULL;
	evbuffer_free(buf);
}

static void ptr_set(struct sweep *s)
{
	struct evbuffer *buf = chains(s->num);
	struct evbuffer_ptr at;

	while (sweep_next(s)) {
		evbuffer_ptr_set(buf, &at, 0, EVBUFFER_PTR_SET);
		evbuffer_ptr_set(buf, &at, (size_t)s->num * CHAIN - 10, EVBUFFER_PTR_ADD);
	}
	evbuffer_free(buf);
}

static void copyout(struct sweep *s)
{
	struct evbuffer *buf = chains(2);
	static char out[2 * CHAIN];

	while (sweep_next(s))
		s->calls += (int)evbuffer_copyout(buf, out, s->num);
	evbuffer_free(buf);
}

static void copyout_from(struct sweep *s)
{
	struct evbuffer *buf = chains(16);
	static char out[2 * CHAIN];
	struct evbuffer_ptr at;

	evbuffer_ptr_set(buf, &at, 8 * CHAIN - 10, EVBUFFER_PTR_SET);
	while (sweep_next(s))
		s->calls += (int)evbuffer_copyout_from(buf, &at, out, s->num);
	evbuffer_free(buf);
}

static void pullup(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add_reference(buf, data, s->num, NULL, NULL);
		evbuffer_add_reference(buf, data, s->num, NULL, NULL);
		sweep_check(evbuffer_pullup(buf, -1) != NULL);
		evbuffer_drain(buf, (size_t)2 * s->num);
	}
	evbuffer_free(buf);
}

static void pullup_done(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	evbuffer_add(buf, data, 1000);
	while (sweep_next(s))
		s->calls += evbuffer_pullup(buf, 100) != NULL;
	evbuffer_free(buf);
}

static void length(struct sweep *s)
{
	struct evbuffer *buf = chains(3);

	while (sweep_next(s))
		s->calls += (int)evbuffer_get_length(buf) + (int)evbuffer_get_contiguous_space(buf);
	evbuffer_free(buf);
}

static void printf_call(struct evbuffer *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	evbuffer_add_vprintf(buf, format, args);
	va_end(args);
}

static void add_printf(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add_printf(buf, "%s: %d\r\n", "Content-Length", 12345);
		printf_call(buf, "%s: %d\r\n", "Age", 5);
		evbuffer_drain(buf, evbuffer_get_length(buf));
	}
	evbuffer_free(buf);
}

static void add_buffer(struct sweep *s)
{
	struct evbuffer *from = evbuffer_new(), *to = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add(from, data, s->num);
		evbuffer_add_buffer(to, from);
		evbuffer_drain(to, s->num);
	}
	evbuffer_free(from);
	evbuffer_free(to);
}

/* Back and forth: what is moved is never copied. */
static void move(struct sweep *s)
{
	struct evbuffer *one = chains(s->num), *other = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add_buffer(other, one);
		evbuffer_prepend_buffer(one, other);
	}
	evbuffer_free(one);
	evbuffer_free(other);
}

static void remove_buffer(struct sweep *s)
{
	struct evbuffer *one = chains(s->num), *other = evbuffer_new();
	size_t half = (size_t)s->num * CHAIN / 2 + 10;

	while (sweep_next(s)) {
		evbuffer_remove_buffer(one, other, half);
		evbuffer_add_buffer(one, other);
		if (s->calls++ % 16 == 0) { /* the cuts add up */
			evbuffer_free(one);
			one = chains(s->num);
		}
	}
	evbuffer_free(one);
	evbuffer_free(other);
}

static void buffer_reference(struct sweep *s)
{
	struct evbuffer *from = evbuffer_new(), *to = evbuffer_new();

	evbuffer_add(from, data, s->num);
	while (sweep_next(s)) {
		evbuffer_add_buffer_reference(to, from);
		evbuffer_drain(to, s->num);
	}
	evbuffer_free(to);
	evbuffer_free(from);
}

static void on_unreferenced(const void *what, size_t len, void *arg)
{
	struct sweep *s = arg;

	(void)what;
	(void)len;
	s->calls++;
}

static void reference(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add_reference(buf, data, s->num, on_unreferenced, s);
		evbuffer_drain(buf, s->num);
	}
	sweep_check(s->calls > 0);
	evbuffer_free(buf);
}

static void freeze(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_freeze(buf, 1);
		evbuffer_unfreeze(buf, 1);
		evbuffer_freeze(buf, 0);
		evbuffer_unfreeze(buf, 0);
	}
	evbuffer_free(buf);
}

static void on_change(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct sweep *s = arg;

	(void)buf;
	s->calls += info->n_added != 0;
}

static void callbacks(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	unsigned i;

	for (i = 0; i < s->num; i++)
		evbuffer_add_cb(buf, on_change, s);
	while (sweep_next(s)) {
		evbuffer_add(buf, data, 64);
		evbuffer_drain(buf, 64);
	}
	sweep_check(s->calls > 0);
	evbuffer_free(buf);
}

static void callbacks_deferred(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct evbuffer *buf = evbuffer_new();

	evbuffer_add_cb(buf, on_change, s);
	evbuffer_defer_callbacks(buf, base);
	while (sweep_next(s)) {
		evbuffer_add(buf, data, 64);
		evbuffer_drain(buf, 32);
		sweep_poll(base);
		evbuffer_drain(buf, 32);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	evbuffer_free(buf);
	event_base_free(base);
}

static void callback_add_remove(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		struct evbuffer_cb_entry *entry = evbuffer_add_cb(buf, on_change, s);

		evbuffer_cb_clear_flags(buf, entry, EVBUFFER_CB_ENABLED);
		evbuffer_cb_set_flags(buf, entry, EVBUFFER_CB_ENABLED);
		evbuffer_remove_cb_entry(buf, entry);
		evbuffer_add_cb(buf, on_change, s);
		evbuffer_remove_cb(buf, on_change, s);
	}
	evbuffer_free(buf);
}

static void locks(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	if (s->is_locked)
		evbuffer_enable_locking(buf, NULL);
	while (sweep_next(s)) {
		evbuffer_lock(buf);
		evbuffer_add(buf, data, 64);
		evbuffer_drain(buf, 64);
		evbuffer_unlock(buf);
	}
	evbuffer_free(buf);
}

static void locked_add_drain(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	evbuffer_enable_locking(buf, NULL);
	while (sweep_next(s)) {
		evbuffer_add(buf, data, s->num);
		evbuffer_drain(buf, s->num);
	}
	evbuffer_free(buf);
}

static void read_write(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	sweep_socketpair(s->fd);
	while (sweep_next(s)) {
		evbuffer_add(buf, data, s->num);
		sweep_check(evbuffer_write(buf, s->fd[0]) == (int)s->num);
		while (evbuffer_read(buf, s->fd[1], -1) > 0)
			;
		evbuffer_drain(buf, evbuffer_get_length(buf));
	}
	evbuffer_free(buf);
	sweep_close(s->fd);
}

static void write_atmost(struct sweep *s)
{
	static char out[CHAIN];
	struct evbuffer *buf = evbuffer_new();

	sweep_socketpair(s->fd);
	while (sweep_next(s)) {
		evbuffer_add(buf, data, 200);
		sweep_check(evbuffer_write_atmost(buf, s->fd[0], 100) == 100);
		sweep_check(evbuffer_write_atmost(buf, s->fd[0], 1000) == 100);
		sweep_check(read(s->fd[1], out, sizeof(out)) == 200);
	}
	evbuffer_free(buf);
	sweep_close(s->fd);
}

static void write_chains(struct sweep *s)
{
	static char out[1 << 18];
	struct evbuffer *buf = evbuffer_new();
	unsigned i;

	sweep_socketpair(s->fd);
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			evbuffer_add_reference(buf, data, 100, NULL, NULL);
		while (evbuffer_get_length(buf) > 0)
			sweep_check(evbuffer_write(buf, s->fd[0]) > 0);
		sweep_check(read(s->fd[1], out, sizeof(out)) > 0);
	}
	evbuffer_free(buf);
	sweep_close(s->fd);
}

#define SIZES(label, fn) \
	{ label "-10", fn, .ops = 500, .num = 10 }, \
		{ label "-1000", fn, .ops = 300, .num = 1000 }, \
	{ \
		label "-100000", fn, .ops = 20, .num = 100000 \
	}

#define CHAINS(label, fn) \
	{ label "-1-chain", fn, .ops = 200, .num = 1 }, \
	{ \
		label "-64-chains", fn, .ops = 20, .num = 64 \
	}

const struct sweep_pattern sweep_buffer[] = {
	{ "buffer/new-free", new_free, .ops = 500 },
	SIZES("buffer/new-add-free", new_free),
	SIZES("buffer/add-drain", add_drain),
	SIZES("buffer/add-remove", add_remove),
	{ "buffer/grow-10000", grow, .ops = 20, .num = 10000 },
	{ "buffer/grow-1000000", grow, .ops = 1, .num = 1000000 },
	SIZES("buffer/prepend", prepend),
	SIZES("buffer/expand", expand),
	SIZES("buffer/reserve-commit", reserve),
	{ "buffer/add-iovec-4", iovec, .ops = 300 },
	CHAINS("buffer/peek", peek),
	CHAINS("buffer/peek-from", peek_from),
	CHAINS("buffer/search", search),
	CHAINS("buffer/search-alike", search_alike),
	CHAINS("buffer/search-range", search_range),
	CHAINS("buffer/search-eol", search_eol),
	{ "buffer/readln-any", readln_any, .ops = 100 },
	{ "buffer/readln-crlf", readln_crlf, .ops = 100 },
	{ "buffer/readln-crlf-strict", readln_strict, .ops = 100 },
	{ "buffer/readln-lf", readln_lf, .ops = 100 },
	{ "buffer/readln-nul", readln_nul, .ops = 100 },
	{ "buffer/readln-part-100", readln_part, .ops = 200, .num = 100 },
	{ "buffer/readln-part-10000", readln_part, .ops = 50, .num = 10000 },
	CHAINS("buffer/ptr-set", ptr_set),
	{ "buffer/copyout-10", copyout, .ops = 500, .num = 10 },
	{ "buffer/copyout-5000", copyout, .ops = 200, .num = 5000 },
	{ "buffer/copyout-from-100", copyout_from, .ops = 500, .num = 100 },
	{ "buffer/copyout-from-5000", copyout_from, .ops = 200, .num = 5000 },
	SIZES("buffer/pullup", pullup),
	{ "buffer/pullup-contiguous", pullup_done, .ops = 500 },
	{ "buffer/length", length, .ops = 500 },
	{ "buffer/printf", add_printf, .ops = 200 },
	SIZES("buffer/add-buffer", add_buffer),
	CHAINS("buffer/move", move),
	CHAINS("buffer/remove-buffer", remove_buffer),
	{ "buffer/buffer-reference-100", buffer_reference, .ops = 300, .num = 100 },
	{ "buffer/buffer-reference-100000", buffer_reference, .ops = 50, .num = 100000 },
	{ "buffer/reference", reference, .ops = 500, .num = 10000 },
	{ "buffer/freeze", freeze, .ops = 500 },
	{ "buffer/callback-1", callbacks, .ops = 300, .num = 1 },
	{ "buffer/callback-5", callbacks, .ops = 200, .num = 5 },
	{ "buffer/callback-deferred", callbacks_deferred, .ops = 200 },
	{ "buffer/callback-add-remove", callback_add_remove, .ops = 300 },
	{ "buffer/lock", locks, .ops = 300 },
	{ "buffer/locked-add-drain", locked_add_drain, .ops = 300, .flags = SWEEP_LOCKS, .num = 64 },
	{ "buffer/write-read-100", read_write, .ops = 200, .num = 100 },
	{ "buffer/write-read-20000", read_write, .ops = 50, .num = 20000 },
	{ "buffer/write-atmost", write_atmost, .ops = 200 },
	{ "buffer/write-100-chains", write_chains, .ops = 20, .num = 100 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
