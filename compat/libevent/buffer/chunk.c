/*
 * Chunks: allocation, sharing, release.
 *
 * A chunk is in the list of at most one buffer, whose lock guards its fields. Chunks of other
 * buffers that share its bytes hold a reference (LE_CHUNK_SHARE) and have their own start and len.
 * So all shared fields are const, except the reference count.
 */
#include "buffer.h"

#include <string.h>

enum { ORDER_VIEW = 7, MOVE_MAX = 2048 };
enum { PAGE = 4096, SLOW_MAX = 64 };	/* see le_copy_long */

_Static_assert(sizeof(struct le_chunk_ref) <= (size_t)1 << ORDER_VIEW,
	       "views lie in the smallest blocks");
_Static_assert(sizeof(struct le_chunk_share) <= (size_t)1 << ORDER_VIEW,
	       "views lie in the smallest blocks");
_Static_assert(sizeof(struct le_chunk_file) <= (size_t)1 << ORDER_VIEW,
	       "views lie in the smallest blocks");
_Static_assert((int)ORDER_VIEW >= (int)EC_CHUNK_ORDER_MIN, "and there are such blocks");

static struct le_chunk *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

struct le_chunk *le_chunk_new(size_t len)
{
	struct le_chunk *c;
	unsigned order;
	size_t size;

	if (len > LE_BUFFER_MAX - LE_CHUNK_HEAD)
		return no_memory();
	size = len + LE_CHUNK_HEAD;
	order = le_chunk_order(size);
	if (order != 0) {
		size = (size_t)1 << order;
		c = ec_chunk_new(order);
	} else {
		c = ec_malloc(size);
	}
	if (c == NULL)
		return no_memory();
	return le_chunk_init(c, size, order);
}

void *le_chunk_new_view(enum le_chunk_kind kind)
{
	struct le_chunk *c = ec_chunk_new(ORDER_VIEW);

	if (c == NULL)
		return no_memory();
	*c = (struct le_chunk){
		.refs = 1,
		.kind = (uint8_t)kind,
		.order = ORDER_VIEW,
		.is_fixed = true,
	};
	return c;
}

/*
 * The shared bytes are released before the view: a cleanup callback gets exactly what the program
 * passed.
 */
static void view_end(struct le_chunk *c)
{
	struct le_chunk_ref *ref;

	switch ((enum le_chunk_kind)c->kind) {
	case LE_CHUNK_PLAIN:
		return;
	case LE_CHUNK_REF:
		ref = (struct le_chunk_ref *)c;
		if (ref->cleanup != NULL)
			ref->cleanup(c->data, c->cap, ref->cleanup_arg);
		return;
	case LE_CHUNK_SHARE:
		le_chunk_put(((struct le_chunk_share *)c)->of);
		return;
	case LE_CHUNK_FILE:
		le_file_put(((struct le_chunk_file *)c)->segment);
		return;
	}
}

void le_chunk_put_shared(struct le_chunk *c)
{
	if (!ec_ref_put(&c->refs))
		return;
	if (c->kind != LE_CHUNK_PLAIN)
		view_end(c);
	if (c->order != 0)
		ec_chunk_free(c, c->order);
	else
		ec_free(c);
}

void le_chunk_put_list(struct le_chunk *c)
{
	struct le_chunk *next;

	for (; c != NULL; c = next) {
		next = c->next;
		le_chunk_put(c);
	}
}

void le_chunk_fix(struct le_chunk *c)
{
	/* Once it is shared, other threads read it under locks of their own: write only what changes. */
	if (!c->is_fixed)
		c->is_fixed = true;
	if (c->kind == LE_CHUNK_PLAIN && c->cap != c->start + c->len)
		c->cap = c->start + c->len;
}

/* Large contents do not move: a new chunk costs less. */
bool le_chunk_move(struct le_chunk *c, size_t len)
{
	if (c->is_fixed || c->len > MOVE_MAX || c->len > c->cap / 2 || c->cap - c->len < len)
		return false;
	memmove(c->data, le_chunk_bytes(c), c->len);
	c->start = 0;
	return true;
}

/*
 * glibc copies more than a few KB with `rep movsb`. On AMD's Zen 3 this runs at a twentieth of the
 * speed if the destination is 1 to 31 bytes behind the source, ignoring whole pages (glibc bug
 * 30994). It is common, because buffers and programs both align their memory to pages. Shorter
 * pieces are copied through registers.
 */
static __attribute__((noinline)) void copy_pieces(unsigned char *to, const unsigned char *from, size_t len)
{
	size_t num;

	for (; len > 0; len -= num, to += num, from += num) {
		num = len < LE_COPY_PIECE ? len : LE_COPY_PIECE;
		__asm__("" : "+r"(num));	/* hides how short it is: no `rep movsq` */
		memcpy(to, from, num);
	}
}

__attribute__((noinline)) void le_copy_long(unsigned char *to, const unsigned char *from, size_t len)
{
	size_t behind = ((uintptr_t)to - (uintptr_t)from) % PAGE;

	if (__builtin_expect(behind - 1 >= SLOW_MAX - 1, 1))
		memcpy(to, from, len);
	else
		copy_pieces(to, from, len);
}
