/*
 * Operations on evbuffers against arrays of bytes: the input says which, on which of a few buffers,
 * and how much. After each one the buffers that it named hold what their models do, and their
 * callbacks were told; in the end all do, so that nothing was done to one behind its back.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/buffer_compat.h>

enum {
	BUFS = 3,
	MODEL_MAX = 1 << 14,		/* no buffer grows beyond */
	STEP_MAX = 9000,		/* by at most so much at once: chunks of several sizes */
	OFTEN_MAX = 700,		/* but seldom by more than this: time is what there is to compare */
	PRINT_MAX = 200,
	OPS_MAX = 60,
	PIECES_MAX = 600,
	SOURCE_LEN = 1 << 15,
	FILE_LEN = 20000,
	LE_HEAD = sizeof(void *) == 8 ? 48 : 32, /* more than this below the limit is left to malloc to refuse */
};

struct model {
	struct evbuffer *buf;
	size_t len;
	size_t told_len;		/* what its callback knows */
	bool is_named;			/* by the operation that runs */
	uint8_t bytes[MODEL_MAX];
};

static struct model models[BUFS];
static const uint8_t *input;
static size_t input_left;
static uint8_t source[SOURCE_LEN];	/* what is added comes from here */
static long refs_num;			/* references whose cleanup is still to come */
static int pair[2];
static int file_fd;
static uint8_t scratch[MODEL_MAX];

static unsigned next_byte(void)
{
	if (input_left == 0)
		return 0;
	input_left--;
	return *input++;
}

/* Small ones most often. */
static size_t next_size(void)
{
	size_t size = next_byte();

	if (size >= 128) {
		size = (size & 127) << 8 | next_byte();
		size %= size % 8 == 0 ? STEP_MAX : OFTEN_MAX;
	}
	return size;
}

static struct model *next_model(void)
{
	struct model *m = &models[next_byte() % BUFS];

	m->is_named = true;
	return m;
}

static const uint8_t *next_source(void)
{
	return source + next_byte() * 16;
}

/* A size that the model still has room for. */
static size_t next_growth(const struct model *m)
{
	size_t size = next_size();

	return size < MODEL_MAX - m->len ? size : MODEL_MAX - m->len;
}

/* ---------------------------------------------------------------- models */

static void model_insert(struct model *m, size_t at, const uint8_t *bytes, size_t len)
{
	memmove(m->bytes + at + len, m->bytes + at, m->len - at);
	memcpy(m->bytes + at, bytes, len);
	m->len += len;
}

static void model_append(struct model *m, const uint8_t *bytes, size_t len)
{
	model_insert(m, m->len, bytes, len);
}

static void model_discard(struct model *m, size_t len)
{
	if (len > m->len)
		len = m->len;
	memmove(m->bytes, m->bytes + len, m->len - len);
	m->len -= len;
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void model_check(struct model *m)
{
	struct evbuffer_iovec vec[PIECES_MAX];
	size_t at = 0;
	int i, num;

	m->is_named = false;
	FUZZ_CHECK(evbuffer_get_length(m->buf) == m->len);
	FUZZ_CHECK(m->told_len == m->len);
	num = evbuffer_peek(m->buf, -1, NULL, NULL, 0);
	FUZZ_CHECK(num <= PIECES_MAX);
	FUZZ_CHECK(evbuffer_peek(m->buf, -1, NULL, vec, PIECES_MAX) == num);
	for (i = 0; i < num; i++) {
		FUZZ_CHECK(vec[i].iov_len > 0);
		FUZZ_CHECK(at + vec[i].iov_len <= m->len);
		FUZZ_CHECK(memcmp(vec[i].iov_base, m->bytes + at, vec[i].iov_len) == 0);
		at += vec[i].iov_len;
	}
	FUZZ_CHECK(at == m->len);
	FUZZ_CHECK(evbuffer_get_contiguous_space(m->buf) == (num > 0 ? vec[0].iov_len : 0));
}

static void told(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct model *m = arg;

	FUZZ_CHECK(buf == m->buf);
	FUZZ_CHECK(info->orig_size == m->told_len);
	FUZZ_CHECK(info->n_added + info->n_deleted > 0);
	m->told_len = info->orig_size + info->n_added - info->n_deleted;
	FUZZ_CHECK(m->told_len == evbuffer_get_length(buf));
}

static void forget_ref(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	FUZZ_CHECK(arg == &refs_num);
	FUZZ_CHECK(--refs_num >= 0);
}

/* ---------------------------------------------------------------- what adds */

static void op_add(void)
{
	struct model *m = next_model();
	const uint8_t *from = next_source();
	size_t len = next_growth(m);

	FUZZ_CHECK(evbuffer_add(m->buf, from, len) == 0);
	model_append(m, from, len);
}

static void op_prepend(void)
{
	struct model *m = next_model();
	const uint8_t *from = next_source();
	size_t len = next_growth(m);

	FUZZ_CHECK(evbuffer_prepend(m->buf, from, len) == 0);
	model_insert(m, 0, from, len);
}

static void op_reference(void)
{
	struct model *m = next_model();
	const uint8_t *from = next_source();
	size_t len = next_growth(m);

	refs_num++;
	FUZZ_CHECK(evbuffer_add_reference(m->buf, from, len, forget_ref, &refs_num) == 0);
	model_append(m, from, len);
}

static void op_iovec(void)
{
	struct evbuffer_iovec vec[4];
	struct model *m = next_model();
	size_t left = next_growth(m), sum = left;
	int i;

	for (i = 0; i < 4; i++) {
		vec[i].iov_base = (void *)(uintptr_t)next_source();
		vec[i].iov_len = i < 3 ? left / 2 : left;
		left -= vec[i].iov_len;
		model_append(m, vec[i].iov_base, vec[i].iov_len);
	}
	FUZZ_CHECK(evbuffer_add_iovec(m->buf, vec, 4) == sum);
}

static void op_printf(void)
{
	struct model *m = next_model();
	int width = (int)min_size(next_growth(m), PRINT_MAX), len;

	len = snprintf((char *)scratch, sizeof(scratch), "%*d", width, 7);
	if ((size_t)len > MODEL_MAX - m->len)
		return;
	FUZZ_CHECK(evbuffer_add_printf(m->buf, "%*d", width, 7) == len);
	model_append(m, scratch, (size_t)len);
}

static void op_reserve(void)
{
	struct evbuffer_iovec vec[4];
	struct model *m = next_model();
	const uint8_t *from = next_source();
	size_t ask = next_growth(m), used = min_size(next_size(), ask), room = 0, len;
	int i, num, places = 1 + (int)(next_byte() % 4);

	num = evbuffer_reserve_space(m->buf, (ev_ssize_t)ask, vec, places);
	FUZZ_CHECK(num >= (ask > 0 || places == 1) && num <= places);
	for (i = 0; i < num; i++)
		room += vec[i].iov_len;
	FUZZ_CHECK(room >= ask);
	for (i = 0; i < num; i++) {
		/* Now and then nothing of the first piece. */
		len = i == 0 && (used & 1) != 0 && num > 1 ? 0 : min_size(used, vec[i].iov_len);
		memcpy(vec[i].iov_base, from, len);
		model_append(m, from, len);
		vec[i].iov_len = len;
		used -= len;
		from += len;
	}
	FUZZ_CHECK(evbuffer_commit_space(m->buf, vec, num) == 0);
}

static void op_expand(void)
{
	struct model *m = next_model();
	size_t len = next_size();

	FUZZ_CHECK(evbuffer_expand(m->buf, len) == 0);
}

static void op_too_much(void)
{
	struct model *m = next_model();
	struct evbuffer_iovec vec[2] = { { source, SIZE_MAX }, { source, 2 } };

	FUZZ_CHECK(evbuffer_expand(m->buf, SIZE_MAX - next_size()) == -1);
	FUZZ_CHECK(evbuffer_add(m->buf, source, SIZE_MAX - next_size()) == -1);
	FUZZ_CHECK(evbuffer_prepend(m->buf, source, SIZE_MAX - next_size()) == -1);
	FUZZ_CHECK(evbuffer_add_reference(m->buf, source, SIZE_MAX - next_size(), NULL, NULL) == -1);
	FUZZ_CHECK(evbuffer_reserve_space(m->buf, EV_SSIZE_MAX - (ev_ssize_t)(next_byte() % LE_HEAD), vec, 1) == -1);
	vec[0].iov_len = SIZE_MAX;
	FUZZ_CHECK(evbuffer_add_iovec(m->buf, vec, 2) == 0);
}

/* ---------------------------------------------------------------- what takes */

static void op_drain(void)
{
	struct model *m = next_model();
	size_t len = next_size();

	FUZZ_CHECK(evbuffer_drain(m->buf, len) == 0);
	model_discard(m, len);
}

static void op_drain_all(void)
{
	struct model *m = next_model();

	FUZZ_CHECK(evbuffer_drain(m->buf, SIZE_MAX) == 0);
	model_discard(m, m->len);
}

static void op_remove(void)
{
	struct model *m = next_model();
	size_t len = next_size(), expected = min_size(len, m->len);

	FUZZ_CHECK(evbuffer_remove(m->buf, scratch, len) == (int)expected);
	FUZZ_CHECK(memcmp(scratch, m->bytes, expected) == 0);
	model_discard(m, expected);
}

static const uint8_t *first_of(const uint8_t *at, const uint8_t *end, int byte)
{
	const uint8_t *found = at < end ? memchr(at, byte, (size_t)(end - at)) : NULL;

	return found != NULL ? found : end;
}

/* Where the first end of a line begins, and how long it is; -1: there is none. */
static ssize_t model_eol(const struct model *m, size_t from, enum evbuffer_eol_style style,
			 size_t *ret)
{
	const uint8_t *start = m->bytes + from, *end = m->bytes + m->len, *at = end, *after;

	switch (style) {
	case EVBUFFER_EOL_ANY:
		at = first_of(start, first_of(start, end, '\n'), '\r');
		break;
	case EVBUFFER_EOL_CRLF_STRICT:
		at = from <= m->len ? memmem(start, m->len - from, "\r\n", 2) : NULL;
		if (at == NULL)
			at = end;
		break;
	case EVBUFFER_EOL_CRLF:
		at = first_of(start, end, '\n');
		if (at < end && at > start && at[-1] == '\r')
			at--;
		break;
	case EVBUFFER_EOL_LF:
		at = first_of(start, end, '\n');
		break;
	case EVBUFFER_EOL_NUL:
		at = first_of(start, end, '\0');
		break;
	}
	*ret = 0;
	if (at == end)
		return -1;
	after = at;
	if (style == EVBUFFER_EOL_ANY)
		while (after < end && (*after == '\r' || *after == '\n'))
			after++;
	else
		after += *at == '\r' ? 2 : 1;
	*ret = (size_t)(after - at);
	return at - m->bytes;
}

static enum evbuffer_eol_style next_style(void)
{
	return (enum evbuffer_eol_style)(next_byte() % (EVBUFFER_EOL_NUL + 1));
}

static void op_readln(void)
{
	struct model *m = next_model();
	enum evbuffer_eol_style style = next_style();
	size_t eol, len;
	ssize_t at = model_eol(m, 0, style, &eol);
	char *line = evbuffer_readln(m->buf, &len, style);

	FUZZ_CHECK((line != NULL) == (at >= 0));
	if (line == NULL) {
		FUZZ_CHECK(len == 0);
		return;
	}
	FUZZ_CHECK(len == (size_t)at);
	FUZZ_CHECK(memcmp(line, m->bytes, len) == 0 && line[len] == '\0');
	free(line);
	model_discard(m, len + eol);
}

/* ---------------------------------------------------------------- what moves */

static void op_add_buffer(void)
{
	struct model *to = next_model(), *from = next_model();

	if (to == from || from->len > MODEL_MAX - to->len)
		return;
	FUZZ_CHECK(evbuffer_add_buffer(to->buf, from->buf) == 0);
	model_append(to, from->bytes, from->len);
	model_discard(from, from->len);
}

static void op_prepend_buffer(void)
{
	struct model *to = next_model(), *from = next_model();

	if (to == from || from->len > MODEL_MAX - to->len)
		return;
	FUZZ_CHECK(evbuffer_prepend_buffer(to->buf, from->buf) == 0);
	model_insert(to, 0, from->bytes, from->len);
	model_discard(from, from->len);
}

static void op_remove_buffer(void)
{
	struct model *to = next_model(), *from = next_model();
	size_t len = min_size(next_size(), from->len);

	if (to == from || len > MODEL_MAX - to->len)
		return;
	FUZZ_CHECK(evbuffer_remove_buffer(from->buf, to->buf, len) == (int)len);
	model_append(to, from->bytes, len);
	model_discard(from, len);
}

/* Refused where a chunk is another's already, or a file's: then nothing has changed. */
static void op_share(void)
{
	struct model *to = next_model(), *from = next_model();

	if (to == from || from->len > MODEL_MAX - to->len)
		return;
	if (evbuffer_add_buffer_reference(to->buf, from->buf) == 0)
		model_append(to, from->bytes, from->len);
}

static void op_through_socket(void)
{
	struct model *from = next_model(), *to = next_model();
	size_t len = next_size();
	int wrote, num;

	len = min_size(min_size(len, from->len), 4096);
	if (len == 0 || len > MODEL_MAX - to->len)
		return;
	wrote = evbuffer_write_atmost(from->buf, pair[0], (ev_ssize_t)len);
	FUZZ_CHECK(wrote > 0 && (size_t)wrote <= len);
	memcpy(scratch, from->bytes, (size_t)wrote);
	model_discard(from, (size_t)wrote);
	num = evbuffer_read(to->buf, pair[1], -1);
	FUZZ_CHECK(num == wrote);
	model_append(to, scratch, (size_t)num);
}

static void op_file(void)
{
	static const unsigned flags[] = { 0, EVBUF_FS_DISABLE_MMAP, EVBUF_FS_DISABLE_SENDFILE,
					  EVBUF_FS_DISABLE_SENDFILE | EVBUF_FS_DISABLE_MMAP };
	struct model *m = next_model();
	unsigned how = flags[next_byte() % 4];
	size_t offset = next_size(), len = min_size(next_growth(m), FILE_LEN - offset), skip = next_size();
	struct evbuffer_file_segment *seg;

	if (skip > len)
		skip = len;
	seg = evbuffer_file_segment_new(file_fd, (ev_off_t)offset, (ev_off_t)len, how);
	FUZZ_CHECK(seg != NULL);
	FUZZ_CHECK(evbuffer_add_file_segment(m->buf, seg, (ev_off_t)skip, (ev_off_t)(len - skip + 1)) == -1);
	FUZZ_CHECK(evbuffer_add_file_segment(m->buf, seg, (ev_off_t)skip, -1) == 0);
	evbuffer_file_segment_free(seg);
	model_append(m, source + offset + skip, len - skip);
}

/* What comes after may leave a file's bytes where they are. */
static void op_flag(void)
{
	struct model *m = next_model();

	FUZZ_CHECK((next_byte() & 1) != 0 ? evbuffer_set_flags(m->buf, EVBUFFER_FLAG_DRAINS_TO_FD) == 0 :
					    evbuffer_clear_flags(m->buf, EVBUFFER_FLAG_DRAINS_TO_FD) == 0);
}

/* ---------------------------------------------------------------- what looks */

static void op_pullup(void)
{
	struct model *m = next_model();
	size_t len = next_size();
	unsigned char *bytes = evbuffer_pullup(m->buf, (ev_ssize_t)len);

	FUZZ_CHECK((bytes != NULL) == (len > 0 && len <= m->len));
	if (bytes != NULL)
		FUZZ_CHECK(memcmp(bytes, m->bytes, len) == 0);
}

static bool next_place(const struct model *m, struct evbuffer_ptr *ptr)
{
	size_t first = next_size(), more = next_size();
	int r = evbuffer_ptr_set(m->buf, ptr, first, EVBUFFER_PTR_SET);

	FUZZ_CHECK((r == 0) == (first <= m->len));
	if (r < 0)
		return false;
	r = evbuffer_ptr_set(m->buf, ptr, more, EVBUFFER_PTR_ADD);
	FUZZ_CHECK((r == 0) == (first + more <= m->len));
	FUZZ_CHECK(ptr->pos == (r == 0 ? (ev_ssize_t)(first + more) : -1));
	return r == 0;
}

static void op_copyout(void)
{
	struct model *m = next_model();
	struct evbuffer_ptr ptr;
	size_t len = next_size();

	if (!next_place(m, &ptr))
		return;
	len = min_size(len, MODEL_MAX);
	FUZZ_CHECK(evbuffer_copyout_from(m->buf, &ptr, scratch, len) ==
		   (ev_ssize_t)min_size(len, m->len - (size_t)ptr.pos));
	FUZZ_CHECK(memcmp(scratch, m->bytes + ptr.pos, min_size(len, m->len - (size_t)ptr.pos)) == 0);
}

static void op_peek(void)
{
	struct evbuffer_iovec vec[3];
	struct model *m = next_model();
	struct evbuffer_ptr ptr;
	size_t len = next_size(), at;
	int i, num;

	if (!next_place(m, &ptr))
		return;
	num = evbuffer_peek(m->buf, (ev_ssize_t)len, &ptr, vec, 3);
	FUZZ_CHECK(num >= 0);
	at = (size_t)ptr.pos;
	for (i = 0; i < num && i < 3; i++) {
		FUZZ_CHECK(at + vec[i].iov_len <= m->len);
		FUZZ_CHECK(memcmp(vec[i].iov_base, m->bytes + at, vec[i].iov_len) == 0);
		at += vec[i].iov_len;
	}
	if (num <= 3)
		FUZZ_CHECK(at >= min_size((size_t)ptr.pos + len, m->len));
}

static ssize_t model_search(const struct model *m, size_t from, const uint8_t *what, size_t len, size_t end)
{
	const uint8_t *found = from <= end ? memmem(m->bytes + from, end - from, what, len) : NULL;

	return found != NULL ? found - m->bytes : -1;
}

static void op_search(void)
{
	struct model *m = next_model();
	struct evbuffer_ptr start, end, found;
	const uint8_t *what = next_source();
	size_t len = 1 + next_byte() % 40;

	if (!next_place(m, &start) || !next_place(m, &end))
		return;
	found = evbuffer_search_range(m->buf, (const char *)what, len, &start, &end);
	FUZZ_CHECK(found.pos == model_search(m, (size_t)start.pos, what, len, (size_t)end.pos));
	found = evbuffer_search(m->buf, (const char *)what, len, &start);
	FUZZ_CHECK(found.pos == model_search(m, (size_t)start.pos, what, len, m->len));
	if (found.pos >= 0) {
		FUZZ_CHECK(evbuffer_copyout_from(m->buf, &found, scratch, len) == (ev_ssize_t)len);
		FUZZ_CHECK(memcmp(scratch, what, len) == 0);
	}
}

static void op_search_eol(void)
{
	struct model *m = next_model();
	enum evbuffer_eol_style style = next_style();
	struct evbuffer_ptr start, found;
	size_t eol, model_len;

	if (!next_place(m, &start))
		return;
	found = evbuffer_search_eol(m->buf, &start, &eol, style);
	FUZZ_CHECK(found.pos == model_eol(m, (size_t)start.pos, style, &model_len));
	FUZZ_CHECK(eol == model_len);
}

static void op_find(void)
{
	struct model *m = next_model();
	const uint8_t *what = next_source();
	size_t len = 1 + next_byte() % 20;
	ssize_t at = model_search(m, 0, what, len, m->len);
	unsigned char *found = evbuffer_find(m->buf, what, len);

	FUZZ_CHECK((found != NULL) == (at >= 0));
	if (found != NULL)
		FUZZ_CHECK(memcmp(found, what, len) == 0);
}

/* ---------------------------------------------------------------- what is refused */

static void op_frozen_back(void)
{
	struct model *m = next_model(), *from = next_model();
	struct evbuffer_iovec vec = { source, 5 };
	size_t len;

	evbuffer_freeze(m->buf, 0);
	FUZZ_CHECK(evbuffer_add(m->buf, source, next_size()) == -1);
	FUZZ_CHECK(evbuffer_add_reference(m->buf, source, 5, NULL, NULL) == -1);
	FUZZ_CHECK(evbuffer_add_printf(m->buf, "x") == -1);
	FUZZ_CHECK(evbuffer_add_iovec(m->buf, &vec, 1) == 0);
	FUZZ_CHECK(evbuffer_reserve_space(m->buf, 5, &vec, 1) == -1);
	FUZZ_CHECK(evbuffer_read(m->buf, pair[0], 5) == -1);
	if (from != m && from->len > 0) {
		FUZZ_CHECK(evbuffer_add_buffer(m->buf, from->buf) == -1);
		FUZZ_CHECK(evbuffer_add_buffer_reference(m->buf, from->buf) == -1);
		len = next_size();
		FUZZ_CHECK(evbuffer_remove_buffer(from->buf, m->buf, len) == (len > 0 ? -1 : 0));
	}
	evbuffer_unfreeze(m->buf, 0);
}

static void op_frozen_front(void)
{
	struct model *m = next_model(), *other = next_model();
	size_t len;

	evbuffer_freeze(m->buf, 1);
	FUZZ_CHECK(evbuffer_prepend(m->buf, source, 5) == -1);
	FUZZ_CHECK(evbuffer_remove(m->buf, scratch, 5) == (m->len > 0 ? -1 : 0));
	FUZZ_CHECK(evbuffer_write(m->buf, pair[0]) == -1);
	FUZZ_CHECK(evbuffer_readln(m->buf, &len, EVBUFFER_EOL_ANY) == NULL);
	if (m->len > 0) {
		FUZZ_CHECK(evbuffer_drain(m->buf, 1) == -1);
		if (other != m)
			FUZZ_CHECK(evbuffer_add_buffer(other->buf, m->buf) == -1);
	}
	evbuffer_unfreeze(m->buf, 1);
}

static void op_new(void)
{
	struct model *m = next_model();

	evbuffer_free(m->buf);
	m->buf = evbuffer_new();
	FUZZ_CHECK(m->buf != NULL);
	FUZZ_CHECK(evbuffer_add_cb(m->buf, told, m) != NULL);
	m->len = 0;
	m->told_len = 0;
}

/* ---------------------------------------------------------------- the run */

static void (*const ops[])(void) = {
	op_add, op_prepend, op_reference, op_iovec, op_printf, op_reserve, op_expand, op_too_much,
	op_drain, op_drain_all, op_remove, op_readln,
	op_add_buffer, op_prepend_buffer, op_remove_buffer, op_share, op_through_socket, op_file, op_flag,
	op_pullup, op_copyout, op_peek, op_search, op_search_eol, op_find,
	op_frozen_back, op_frozen_front, op_new,
};

enum { OPS = sizeof(ops) / sizeof(ops[0]) };

/* Ends of lines of all kinds in bytes that repeat often enough to be found again. */
static void setup(void)
{
	static const char alphabet[] = "ab\r\nc\n\r\n\0d\r";
	uint32_t state = 12345;
	size_t i;

	for (i = 0; i < sizeof(source); i++) {
		state = state * 1103515245 + 12345;
		source[i] = (state >> 24) % 3 != 0 ? 'a' + (state >> 16 & 1) :
						     (uint8_t)alphabet[(state >> 16) % (sizeof(alphabet) - 1)];
	}
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	file_fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(file_fd >= 0);
	FUZZ_CHECK(write(file_fd, source, FILE_LEN) == FILE_LEN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned op;
	int i, n;

	if (file_fd == 0)
		setup();
	input = data;
	input_left = size;
	for (i = 0; i < BUFS; i++) {
		models[i].buf = evbuffer_new();
		FUZZ_CHECK(models[i].buf != NULL);
		FUZZ_CHECK(evbuffer_add_cb(models[i].buf, told, &models[i]) != NULL);
		models[i].len = 0;
		models[i].told_len = 0;
	}
	for (n = 0; n < OPS_MAX && input_left > 0; n++) {
		op = next_byte() % OPS;
		ops[op]();
		for (i = 0; i < BUFS; i++)
			if (models[i].is_named)
				model_check(&models[i]);
	}
	for (i = 0; i < BUFS; i++) {
		model_check(&models[i]);
		evbuffer_free(models[i].buf);
	}
	FUZZ_CHECK(refs_num == 0);
	return 0;
}
