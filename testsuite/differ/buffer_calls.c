/*
 * evbuffers: what each call returns, what is in the buffers after, and what callbacks are told.
 */
#include "trace.h"

#include <event2/buffer.h>
#include <event2/buffer_compat.h>

static char bytes[200000];

static void told(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buf;
	say("  %s: %zu +%zu -%zu", (const char *)arg, info->orig_size, info->n_added, info->n_deleted);
}

static void told_old(struct evbuffer *buf, size_t before, size_t after, void *arg)
{
	(void)buf;
	say("  %s: %zu -> %zu", (const char *)arg, before, after);
}

static struct evbuffer *buf_new(const char *name)
{
	struct evbuffer *buf = evbuffer_new();

	must(buf != NULL, "make a buffer");
	if (name != NULL)
		must(evbuffer_add_cb(buf, told, (void *)(uintptr_t)name) != NULL, "add a callback");
	return buf;
}

/* Chunks that hold nothing are not shown: how many there are is nobody's business. */
static void say_pieces(const char *what, struct evbuffer *buf)
{
	struct evbuffer_iovec vec[64];
	char line[512] = "";
	int i, num = evbuffer_peek(buf, -1, NULL, vec, 64);

	for (i = 0; i < num && i < 64; i++)
		if (vec[i].iov_len > 0)
			snprintf(line + strlen(line), sizeof(line) - strlen(line), " %zu", vec[i].iov_len);
	say("%s: %zu bytes:%s", what, evbuffer_get_length(buf), line);
}

static void say_text(const char *what, struct evbuffer *buf)
{
	say("%s: <%.*s>", what, (int)evbuffer_get_length(buf), (char *)evbuffer_pullup(buf, -1));
}

static void sizes(void)
{
	static const size_t lens[] = { 1, 100, 976, 977, 1000, 2000, 2001, 4000, 4048, 4049, 8144, 8145, 20000,
				       100000 };
	struct evbuffer_iovec vec[2];
	struct evbuffer *buf;
	size_t i;
	int j, n;

	section("sizes");
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		buf = buf_new(NULL);
		n = evbuffer_reserve_space(buf, (ev_ssize_t)lens[i], vec, 2);
		say("reserve %zu: %d of %zu", lens[i], n, vec[0].iov_len);
		evbuffer_free(buf);

		buf = buf_new(NULL);
		for (j = 0; j < 12; j++)
			must(evbuffer_add(buf, bytes, lens[i]) == 0, "add");
		say_pieces("added", buf);
		say("contiguous %zu", evbuffer_get_contiguous_space(buf));
		evbuffer_drain(buf, lens[i] + 1);
		say("contiguous %zu", evbuffer_get_contiguous_space(buf));
		evbuffer_free(buf);
	}
}

static void nothing(void)
{
	struct evbuffer *buf = buf_new("buf"), *other = buf_new("other");
	struct evbuffer_iovec vec[1];
	char c;

	section("nothing");
	say("add %d", evbuffer_add(buf, "", 0));
	say("prepend %d", evbuffer_prepend(buf, "", 0));
	say("reference %d", evbuffer_add_reference(buf, "", 0, NULL, NULL));
	say("drain %d", evbuffer_drain(buf, 10));
	say("remove %d", evbuffer_remove(buf, &c, 1));
	say("copyout %zd", evbuffer_copyout(buf, &c, 1));
	say("add_buffer %d", evbuffer_add_buffer(buf, other));
	say("prepend_buffer %d", evbuffer_prepend_buffer(buf, other));
	say("remove_buffer %d", evbuffer_remove_buffer(buf, other, 10));
	say("add_buffer_reference %d", evbuffer_add_buffer_reference(buf, other));
	say("to itself %d", evbuffer_add_buffer(buf, buf));
	say("printf %d", evbuffer_add_printf(buf, "%s", ""));
	say("iovec %zu", evbuffer_add_iovec(buf, vec, 0));
	say("reserve %d", evbuffer_reserve_space(buf, 10, vec, 1));
	vec[0].iov_len = 0;
	say("commit %d", evbuffer_commit_space(buf, vec, 1));
	say("commit none %d", evbuffer_commit_space(buf, vec, 0));
	say("pullup %d", evbuffer_pullup(buf, -1) != NULL);
	say("write %d", evbuffer_write(buf, 1));
	say("readln %d", evbuffer_readln(buf, NULL, EVBUFFER_EOL_LF) != NULL);
	say("contiguous %zu", evbuffer_get_contiguous_space(buf));
	evbuffer_add(buf, "abc", 3);
	say("drain none %d", evbuffer_drain(buf, 0));
	say("remove none %d", evbuffer_remove(buf, &c, 0));
	say("remove_buffer none %d", evbuffer_remove_buffer(buf, other, 0));
	say("pullup none %d, too much %d", evbuffer_pullup(buf, 0) != NULL, evbuffer_pullup(buf, 4) != NULL);
	say("write none %d", evbuffer_write_atmost(buf, 1, 0));
	evbuffer_free(buf);
	evbuffer_free(other);
}

static void callbacks(void)
{
	struct evbuffer *a = buf_new("a1"), *b = buf_new("b");
	struct evbuffer_cb_entry *entry = evbuffer_add_cb(a, told, (void *)(uintptr_t)"a2");
	struct evbuffer_iovec vec[2];

	section("callbacks");
	evbuffer_add(a, bytes, 5000);
	evbuffer_prepend(a, "0123456789", 10);
	evbuffer_drain(a, 100);
	evbuffer_add_printf(a, "%d", 12345);
	evbuffer_add_buffer(b, a);
	evbuffer_remove_buffer(b, a, 3000);
	evbuffer_prepend_buffer(b, a);
	evbuffer_add_buffer_reference(a, b);
	evbuffer_pullup(a, -1);
	evbuffer_reserve_space(a, 10, vec, 2);
	vec[0].iov_len = 5;
	evbuffer_commit_space(a, vec, 1);
	evbuffer_cb_clear_flags(a, entry, EVBUFFER_CB_ENABLED);
	evbuffer_drain(a, 10);
	evbuffer_cb_set_flags(a, entry, EVBUFFER_CB_ENABLED);
	evbuffer_drain(a, 10);
	say("remove_cb %d", evbuffer_remove_cb(a, told, (void *)(uintptr_t)"none"));
	say("remove_cb_entry %d", evbuffer_remove_cb_entry(a, entry));
	evbuffer_drain(a, 10);
	say("setcb %d", evbuffer_setcb(a, told_old, (void *)(uintptr_t)"old"));
	evbuffer_drain(a, 10);
	evbuffer_add(a, "x", 1);
	say("setcb %d", evbuffer_setcb(a, NULL, NULL));
	evbuffer_drain(a, 10);
	say("set_flags %d clear_flags %d", evbuffer_set_flags(a, 1), evbuffer_clear_flags(a, 1));
	evbuffer_free(a);
	evbuffer_free(b);
}

static void deferred(void)
{
	struct event_base *base = base_new();
	struct evbuffer *buf = buf_new("buf");

	section("deferred");
	say("defer %d", evbuffer_defer_callbacks(buf, base));
	evbuffer_add(buf, "hello", 5);
	evbuffer_drain(buf, 2);
	say("turn");
	turn(base);
	say("turn");
	turn(base);
	evbuffer_add(buf, "x", 1);
	say("free");
	evbuffer_free(buf);
	turn(base);
	event_base_free(base);
}

/* What waits is forgotten by a change without callbacks. */
static void deferred_without_callbacks(size_t change)
{
	struct event_base *base = base_new();
	struct evbuffer *buf = evbuffer_new();
	struct evbuffer_cb_entry *entry;

	section("deferred, without callbacks");
	evbuffer_defer_callbacks(buf, base);
	entry = evbuffer_add_cb(buf, told, (void *)(uintptr_t)"first");
	evbuffer_add(buf, bytes, 100);
	evbuffer_remove_cb_entry(buf, entry);
	evbuffer_drain(buf, change);
	entry = evbuffer_add_cb(buf, told, (void *)(uintptr_t)"second");
	turn(base);
	evbuffer_add(buf, bytes, 3);
	evbuffer_remove_cb_entry(buf, entry);
	turn(base);
	evbuffer_add_cb(buf, told, (void *)(uintptr_t)"third");
	evbuffer_add(buf, bytes, 2);
	turn(base);
	evbuffer_free(buf);
	event_base_free(base);
}

static void frozen(int at_front)
{
	struct evbuffer *buf = buf_new("buf"), *other = buf_new("other");
	struct evbuffer_iovec vec[1] = { { bytes, 3 } };
	char out[8];

	section(at_front ? "frozen front" : "frozen back");
	evbuffer_add(buf, "abc\ndef", 7);
	evbuffer_add(other, "xyz", 3);
	say("freeze %d", evbuffer_freeze(buf, at_front));
	say("add %d", evbuffer_add(buf, "1", 1));
	say("add_reference %d", evbuffer_add_reference(buf, "2", 1, NULL, NULL));
	say("printf %d", evbuffer_add_printf(buf, "3"));
	say("iovec %zu", evbuffer_add_iovec(buf, vec, 1));
	say("prepend %d", evbuffer_prepend(buf, "4", 1));
	say("remove %d", evbuffer_remove(buf, out, 1));
	say("copyout %zd", evbuffer_copyout(buf, out, 1));
	say("drain %d", evbuffer_drain(buf, 1));
	say("add_buffer %d", evbuffer_add_buffer(buf, other));
	evbuffer_add(other, "xyz", 3);
	say("add_buffer to another %d", evbuffer_add_buffer(other, buf));
	say("prepend_buffer %d", evbuffer_prepend_buffer(buf, other));
	say("remove_buffer %d", evbuffer_remove_buffer(buf, other, 1));
	say("reserve %d", evbuffer_reserve_space(buf, 1, vec, 1));
	say("unfreeze %d", evbuffer_unfreeze(buf, at_front));
	say_text("buf", buf);
	say_text("other", other);
	evbuffer_free(buf);
	evbuffer_free(other);
}

static void lines(void)
{
	static const char text[] = "one\r\ntwo\n\r\nthree\rfour\r\r\nfive\0six\n";
	struct evbuffer *buf;
	struct evbuffer_ptr ptr;
	size_t cut, len;
	char *line;
	int style;

	section("lines");
	for (style = EVBUFFER_EOL_ANY; style <= EVBUFFER_EOL_NUL; style++) {
		for (cut = 1; cut < sizeof(text) - 1; cut += 3) {
			buf = buf_new(NULL);
			evbuffer_add_reference(buf, text, cut, NULL, NULL);
			evbuffer_add_reference(buf, text + cut, sizeof(text) - 1 - cut, NULL, NULL);
			ptr = evbuffer_search_eol(buf, NULL, &len, (enum evbuffer_eol_style)style);
			say("style %d cut %zu: eol at %zd of %zu", style, cut, (ssize_t)ptr.pos, len);
			while ((line = evbuffer_readln(buf, &len, (enum evbuffer_eol_style)style)) != NULL) {
				say("  %zu <%s>", len, line);
				free(line);
			}
			say("  none, %zu, %zu left", len, evbuffer_get_length(buf));
			evbuffer_free(buf);
		}
	}
	buf = buf_new(NULL);
	evbuffer_add(buf, "a\r\n\r\nb\n", 7);
	while ((line = evbuffer_readline(buf)) != NULL) {
		say("readline <%s>", line);
		free(line);
	}
	evbuffer_free(buf);
}

static void places(void)
{
	static const char *const wanted[] = { "abc", "cab", "bcabca", "x", "abcabcabcabc", "ab" };
	struct evbuffer *buf = buf_new(NULL), *part = buf_new(NULL);
	struct evbuffer_ptr from, end, found;
	struct evbuffer_iovec vec;
	size_t i, at;
	int r;

	section("places");
	for (i = 0; i < 3; i++) {
		evbuffer_add(part, &"abcab"[i], 5 - i);
		evbuffer_add_buffer(buf, part);
	}
	say_text("text", part);
	for (at = 0; at < 15; at++) {
		r = evbuffer_ptr_set(buf, &from, at, EVBUFFER_PTR_SET);
		say("set %zu: %d, %zd", at, r, (ssize_t)from.pos);
		if (from.pos < 0)
			continue;
		end = from;
		r = evbuffer_ptr_set(buf, &end, 4, EVBUFFER_PTR_ADD);
		say("add 4: %d, %zd", r, (ssize_t)end.pos);
		for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
			found = evbuffer_search(buf, wanted[i], strlen(wanted[i]), &from);
			say("  %s: %zd", wanted[i], (ssize_t)found.pos);
			if (end.pos < 0)
				continue;
			found = evbuffer_search_range(buf, wanted[i], strlen(wanted[i]), &from, &end);
			say("  in range: %zd", (ssize_t)found.pos);
		}
		say("peek 5: %d", evbuffer_peek(buf, 5, &from, NULL, 0));
		say("peek 0: %d, %d", evbuffer_peek(buf, 0, &from, NULL, 0), evbuffer_peek(buf, 0, &from, &vec, 1));
	}
	say("find %d %d", evbuffer_find(buf, (const unsigned char *)"bab", 3) != NULL,
	    evbuffer_find(buf, (const unsigned char *)"bbb", 3) != NULL);
	evbuffer_free(buf);
	evbuffer_free(part);
}

static void too_much(void)
{
	struct evbuffer *buf = buf_new(NULL);
	struct evbuffer_iovec vec[1];

	section("too much");
	evbuffer_add(buf, "abc", 3);
	say("add %d", evbuffer_add(buf, bytes, SIZE_MAX));
	say("add %d", evbuffer_add(buf, bytes, EV_SSIZE_MAX));
	say("prepend %d", evbuffer_prepend(buf, bytes, SIZE_MAX - 2));
	say("expand %d", evbuffer_expand(buf, SIZE_MAX));
	say("expand %d", evbuffer_expand(buf, EV_SSIZE_MAX));
	say("reserve %d", evbuffer_reserve_space(buf, EV_SSIZE_MAX, vec, 1));
	say_text("still", buf);
	evbuffer_free(buf);
}

static void descriptors(void)
{
	struct evbuffer *buf = buf_new("buf");
	int fd[2], i, r;

	section("descriptors");
	pair_new(fd);
	r = evbuffer_read(buf, fd[0], -1);
	say("read none %d, again %d", r, errno == EAGAIN);
	for (i = 0; i < 3; i++)
		evbuffer_add_reference(buf, bytes, 3000, NULL, NULL);
	say("write %d", evbuffer_write_atmost(buf, fd[1], 100));
	say("write %d", evbuffer_write(buf, fd[1]));
	say("read %d", evbuffer_read(buf, fd[0], 10));
	say("read %d", evbuffer_read(buf, fd[0], -1));
	say("read %d", evbuffer_read(buf, fd[0], 1 << 20));
	say("read %d", evbuffer_read(buf, fd[0], 0));
	say("read %d", evbuffer_read(buf, fd[0], 1 << 20));
	close(fd[1]);
	say("end %d", evbuffer_read(buf, fd[0], -1));
	r = evbuffer_write(buf, fd[0]);
	say("write %d, pipe %d", r, errno == EPIPE);
	close(fd[0]);
	evbuffer_free(buf);
}

static void segment_done(const struct evbuffer_file_segment *seg, int flags, void *arg)
{
	(void)seg;
	say("  %s done: flags %d", (const char *)arg, flags);
}

static void say_sum(const char *what, struct evbuffer *buf)
{
	static unsigned char out[sizeof(bytes)];
	ev_ssize_t len = evbuffer_copyout(buf, out, sizeof(out)), i;
	unsigned sum = 0;

	for (i = 0; i < len; i++)
		sum = sum * 31 + out[i];
	say("%s: %zd bytes, sum %u", what, (ssize_t)len, sum);
}

static void files(void)
{
	static const unsigned flags[] = { 0, EVBUF_FS_DISABLE_MMAP, EVBUF_FS_DISABLE_SENDFILE,
					  EVBUF_FS_DISABLE_SENDFILE | EVBUF_FS_DISABLE_MMAP };
	char name[] = "/tmp/differ-buffer-XXXXXX";
	struct evbuffer_file_segment *seg;
	struct evbuffer *buf;
	int fd, file = mkstemp(name);
	size_t i;

	section("files");
	must(file >= 0 && unlink(name) == 0, "make a file");
	must(write(file, bytes, 50000) == 50000, "write a file");
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		buf = buf_new("buf");
		seg = evbuffer_file_segment_new(file, 1000, 20000, flags[i]);
		say("segment %d", seg != NULL);
		evbuffer_file_segment_add_cleanup_cb(seg, segment_done, (void *)(uintptr_t)"segment");
		say("add %d", evbuffer_add_file_segment(buf, seg, 0, -1));
		say("add %d", evbuffer_add_file_segment(buf, seg, 5000, 3000));
		evbuffer_file_segment_free(seg);
		say_sum("added", buf);
		evbuffer_drain(buf, 21000);
		say_sum("drained", buf);
		evbuffer_free(buf);
	}
	buf = buf_new("buf");
	fd = dup(file);
	say("add_file %d", evbuffer_add_file(buf, fd, 100, 200));
	say_sum("added", buf);
	evbuffer_drain(buf, 200);
	say("closed %d", fcntl(fd, F_GETFD) < 0);
	say("segment before the beginning %d", evbuffer_file_segment_new(file, -1, 10, 0) != NULL);
	evbuffer_free(buf);
	close(file);
}

int main(void)
{
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)('a' + i % 23);
	sizes();
	nothing();
	callbacks();
	deferred();
	deferred_without_callbacks(1);
	deferred_without_callbacks(10);
	frozen(1);
	frozen(0);
	lines();
	places();
	too_much();
	descriptors();
	files();
	return 0;
}
