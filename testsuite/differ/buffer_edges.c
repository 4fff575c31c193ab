/*
 * evbuffers at their edges: frozen ends, no bytes, positions and lengths beyond the end. What each call returns, and
 * what is left.
 */
#include "trace.h"

#include <event2/buffer.h>

#define SAY(call) say("  %s: %ld", #call, (long)(call))

static char bytes[16];
static struct evbuffer_iovec vec[4];

static struct evbuffer *buf_of(const char *text)
{
	struct evbuffer *buf = evbuffer_new();

	must(buf != NULL, "make a buffer");
	if (text != NULL)
		must(evbuffer_add(buf, text, strlen(text)) == 0, "fill it");
	return buf;
}

static void front_frozen(const char *text)
{
	struct evbuffer *b = buf_of(text), *other = buf_of(NULL);

	section(text == NULL ? "front frozen, empty" : "front frozen");
	evbuffer_freeze(b, 1);
	SAY(evbuffer_drain(b, 0));
	SAY(evbuffer_drain(b, 3));
	SAY(evbuffer_drain(b, SIZE_MAX));
	SAY(evbuffer_remove(b, NULL, 0));
	SAY(evbuffer_remove(b, bytes, 2));
	SAY(evbuffer_copyout(b, NULL, 0));
	SAY(evbuffer_copyout(b, bytes, 2));
	SAY(evbuffer_remove_buffer(b, other, 0));
	SAY(evbuffer_remove_buffer(b, other, 2));
	SAY(evbuffer_add_buffer(other, b));
	SAY(evbuffer_prepend_buffer(other, b));
	SAY(evbuffer_prepend(b, "", 0));
	SAY(evbuffer_prepend(b, "x", 1));
	SAY(evbuffer_get_length(b));
	evbuffer_unfreeze(b, 1);
	SAY(evbuffer_drain(b, 0));
	evbuffer_free(other);
	evbuffer_free(b);
}

static void end_frozen(const char *text)
{
	struct evbuffer *b = buf_of(text), *other = buf_of("other"), *none = buf_of(NULL);

	section(text == NULL ? "end frozen, empty" : "end frozen");
	evbuffer_freeze(b, 0);
	SAY(evbuffer_add(b, "", 0));
	SAY(evbuffer_add(b, "x", 1));
	SAY(evbuffer_add_buffer(b, none));
	SAY(evbuffer_add_buffer(b, other));
	SAY(evbuffer_remove_buffer(other, b, 0));
	SAY(evbuffer_remove_buffer(none, b, 2));
	SAY(evbuffer_remove_buffer(other, b, 2));
	SAY(evbuffer_add_buffer_reference(b, none));
	SAY(evbuffer_add_buffer_reference(b, other));
	SAY(evbuffer_add_buffer_reference(none, none));
	SAY(evbuffer_add_buffer_reference(other, other));
	SAY(evbuffer_add_reference(b, "abc", 3, NULL, NULL));
	SAY(evbuffer_add_printf(b, "%s", ""));
	SAY(evbuffer_reserve_space(b, 0, vec, 2));
	SAY(evbuffer_reserve_space(b, 10, vec, 2));
	SAY(evbuffer_commit_space(b, vec, 0));
	SAY(evbuffer_prepend(b, "x", 1));
	SAY(evbuffer_get_length(b));
	SAY(evbuffer_get_length(other));
	evbuffer_free(none);
	evbuffer_free(other);
	evbuffer_free(b);
}

static void no_bytes(const char *text)
{
	struct evbuffer *b = buf_of(text), *other = buf_of(NULL);

	section(text == NULL ? "no bytes, empty" : "no bytes");
	SAY(evbuffer_add(b, NULL, 0));
	SAY(evbuffer_prepend(b, NULL, 0));
	SAY(evbuffer_remove(b, NULL, 0));
	SAY(evbuffer_copyout(b, NULL, 0));
	SAY(evbuffer_drain(b, 0));
	SAY(evbuffer_remove_buffer(b, other, 0));
	SAY(evbuffer_add_reference(b, NULL, 0, NULL, NULL));
	SAY(evbuffer_reserve_space(b, 0, NULL, 0));
	SAY(evbuffer_reserve_space(b, 0, vec, 1));
	SAY(evbuffer_reserve_space(b, 0, vec, 2));
	SAY(evbuffer_reserve_space(b, 0, vec, 3));
	SAY(evbuffer_reserve_space(b, 5, vec, 0));
	SAY(evbuffer_reserve_space(b, -1, vec, 1));
	SAY(evbuffer_commit_space(b, vec, 0));
	SAY(evbuffer_get_length(b));
	evbuffer_free(other);
	evbuffer_free(b);
}

static void say_move(struct evbuffer *b, struct evbuffer_ptr *p, size_t by, enum evbuffer_ptr_how how)
{
	int r = evbuffer_ptr_set(b, p, by, how);

	say("  %s %zu: %d, at %ld", how == EVBUFFER_PTR_SET ? "set" : "add", by, r, (long)p->pos);
}

static void positions(void)
{
	static const size_t moves[] = { 0, 1, 2, 3, 5, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX - 1, SIZE_MAX };
	struct evbuffer *b = buf_of("abc");
	struct evbuffer_ptr p;
	size_t i, start;

	section("positions");
	for (i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		say_move(b, &p, moves[i], EVBUFFER_PTR_SET);
		for (start = 0; start <= 3; start++) {
			must(evbuffer_ptr_set(b, &p, start, EVBUFFER_PTR_SET) == 0, "go there");
			say_move(b, &p, moves[i], EVBUFFER_PTR_ADD);
		}
	}
	section("copies from a position");
	for (start = 0; start <= 3; start++) {
		for (i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
			must(evbuffer_ptr_set(b, &p, start, EVBUFFER_PTR_SET) == 0, "go there");
			say("  %zu from %zu: %ld", moves[i], start,
			    (long)evbuffer_copyout_from(b, &p, bytes, moves[i]));
		}
	}
	SAY(evbuffer_copyout(b, bytes, SIZE_MAX / 2));
	SAY(evbuffer_copyout(b, bytes, SIZE_MAX));
	evbuffer_free(b);
}

int main(void)
{
	front_frozen(NULL);
	front_frozen("hello world");
	end_frozen(NULL);
	end_frozen("hello world");
	no_bytes(NULL);
	no_bytes("hello world");
	positions();
	return 0;
}
