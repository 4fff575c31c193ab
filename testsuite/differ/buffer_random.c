/*
 * Random operations on a few evbuffers: what each returns, what its callbacks are told, and what
 * the buffers hold in the end.
 *
 *   buffer_random [SEED [NUMBER]]
 */
#include "random.h"

#include <event2/buffer.h>

enum { BUFS = 3, LEN_MAX = 60000, STEP_MAX = 6000 };

/* What a callback was told since it was last shown. */
struct told {
	bool is_told;
	size_t before, added, deleted;
};

static struct told tolds[BUFS];
static struct evbuffer *bufs[BUFS];
static unsigned char source[LEN_MAX], out[4 * LEN_MAX];

static size_t random_size(void)
{
	return pick(2) ? pick(200) : pick(STEP_MAX);
}

/* stock tells of a line and of its end one after the other: the sum is shown. */
static void told(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct told *t = arg;

	(void)buf;
	if (!t->is_told)
		t->before = info->orig_size;
	t->is_told = true;
	t->added += info->n_added;
	t->deleted += info->n_deleted;
}

static void say_told(void)
{
	int i;

	for (i = 0; i < BUFS; i++) {
		if (tolds[i].is_told)
			say("  %d: %zu +%zu -%zu", i, tolds[i].before, tolds[i].added, tolds[i].deleted);
		tolds[i] = (struct told){ 0 };
	}
}

static unsigned sum_of(const unsigned char *p, size_t len)
{
	unsigned sum = 1;

	while (len-- > 0)
		sum = sum * 31 + *p++;
	return sum;
}

static void say_held(const char *op, long r, struct evbuffer *buf)
{
	ev_ssize_t len = evbuffer_copyout(buf, out, sizeof(out));

	say("%s: %ld, %zd bytes, sum %u", op, r, (ssize_t)len, sum_of(out, (size_t)len));
}

static void add(struct evbuffer *a, size_t len)
{
	const unsigned char *from = source + pick(1000);

	switch (pick(5)) {
	case 0:
	case 1:
		say_held("add", evbuffer_add(a, from, len), a);
		break;
	case 2:
		say_held("prepend", evbuffer_prepend(a, from, len), a);
		break;
	case 3:
		say_held("add_reference", evbuffer_add_reference(a, from, len + 1, NULL, NULL), a);
		break;
	case 4:
		say_held("printf", evbuffer_add_printf(a, "%.*s", (int)len, (const char *)from), a);
		break;
	}
}

static void fill_reserved(struct evbuffer *a, size_t len)
{
	const unsigned char *from = source;
	struct evbuffer_iovec vec[2];
	int num = evbuffer_reserve_space(a, (ev_ssize_t)len + 1, vec, 2), i;

	must(num > 0, "reserve");
	for (i = 0; i < num; i++) {
		if (vec[i].iov_len > len)
			vec[i].iov_len = len;
		memcpy(vec[i].iov_base, from, vec[i].iov_len);
		from += vec[i].iov_len;
		len -= vec[i].iov_len;
	}
	say_held("commit", evbuffer_commit_space(a, vec, num), a);
}

static void take(struct evbuffer *a, size_t len)
{
	char *line;
	size_t num;

	switch (pick(4)) {
	case 0:
		say_held("drain", evbuffer_drain(a, len), a);
		break;
	case 1:
		say_held("remove", evbuffer_remove(a, out, len), a);
		break;
	case 2:
		line = evbuffer_readln(a, &num, (enum evbuffer_eol_style)pick(5));
		say_held("readln", line != NULL ? (long)num : -1, a);
		free(line);
		break;
	case 3:
		say_held("pullup", evbuffer_pullup(a, (ev_ssize_t)len) != NULL, a);
		break;
	}
}

static void move(struct evbuffer *a, struct evbuffer *b, size_t len)
{
	switch (pick(4)) {
	case 0:
		say_held("add_buffer", evbuffer_add_buffer(a, b), a);
		break;
	case 1:
		say_held("prepend_buffer", evbuffer_prepend_buffer(a, b), a);
		break;
	default:
		say_held("remove_buffer", evbuffer_remove_buffer(b, a, len), a);
		break;
	}
}

static void look(struct evbuffer *a, size_t len)
{
	const char *what = (const char *)source + pick(LEN_MAX - 20);
	struct evbuffer_ptr ptr, found;
	size_t eol;
	int r = evbuffer_ptr_set(a, &ptr, len, EVBUFFER_PTR_SET);

	say("place %zu: %d", len, r);
	if (r < 0)
		return;
	found = evbuffer_search(a, what, 1 + pick(8), &ptr);
	say("search: %zd", (ssize_t)found.pos);
	found = evbuffer_search_eol(a, &ptr, &eol, (enum evbuffer_eol_style)pick(5));
	say("search_eol: %zd %zu", (ssize_t)found.pos, eol);
}

static void step(void)
{
	struct evbuffer *a = bufs[pick(BUFS)], *b = bufs[pick(BUFS)];
	size_t len = random_size();

	if (evbuffer_get_length(a) > LEN_MAX)
		evbuffer_drain(a, LEN_MAX / 2);
	switch (pick(6)) {
	case 0:
	case 1:
		add(a, len);
		break;
	case 2:
		fill_reserved(a, len);
		break;
	case 3:
		take(a, len);
		break;
	case 4:
		if (a != b)
			move(a, b, len);
		break;
	case 5:
		look(a, len);
		break;
	}
}

int main(int argc, char **argv)
{
	static const char letters[] = "ab\r\nc\n\rd";
	long i, num = argc > 2 ? atol(argv[2]) : 3000;

	random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	for (i = 0; i < LEN_MAX; i++)
		source[i] = (unsigned char)letters[pick(8) ? pick(2) : pick(8)];
	source[LEN_MAX - 1] = '\0';
	for (i = 0; i < BUFS; i++) {
		bufs[i] = evbuffer_new();
		must(bufs[i] != NULL, "make a buffer");
		must(evbuffer_add_cb(bufs[i], told, &tolds[i]) != NULL, "add a callback");
	}
	for (i = 0; i < num; i++) {
		step();
		say_told();
	}
	for (i = 0; i < BUFS; i++)
		evbuffer_free(bufs[i]);
	return 0;
}
