#include "bio.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent_struct.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method;	/* const after `once` */

/*
 * Flags in the low bits of the BIO's data, which is an aligned pointer to the bufferevent. ENDED:
 * no more input will come. END_READ: OpenSSL has read the end.
 */
enum { ENDED = 0x01, END_READ = 0x02, FLAGS = ENDED | END_READ };

static struct bufferevent *underlying_of(BIO *bio)
{
	return (struct bufferevent *)((uintptr_t)BIO_get_data(bio) & ~(uintptr_t)FLAGS);
}

static bool has_flag(BIO *bio, unsigned flag)
{
	return ((uintptr_t)BIO_get_data(bio) & flag) != 0;
}

static void set_flag(BIO *bio, unsigned flag)
{
	BIO_set_data(bio, (void *)((uintptr_t)BIO_get_data(bio) | flag));
}

static int bio_create(BIO *bio)
{
	BIO_set_data(bio, NULL);
	return 1;
}

static int bio_destroy(BIO *bio)
{
	BIO_set_init(bio, 0);
	BIO_set_data(bio, NULL);
	return 1;
}

static int bio_read(BIO *bio, char *to, int len)
{
	struct bufferevent *underlying = underlying_of(bio);

	BIO_clear_retry_flags(bio);
	if (to == NULL || len <= 0)
		return 0;
	if (underlying == NULL)
		return -1;
	if (evbuffer_get_length(underlying->input) != 0)
		return evbuffer_remove(underlying->input, to, (size_t)len);
	if (has_flag(bio, ENDED)) {
		set_flag(bio, END_READ);
		return 0;
	}
	BIO_set_retry_read(bio);
	return -1;
}

/*
 * Above its write watermark the bufferevent below takes nothing. So a peer that does not read stops
 * the program's output, instead of filling memory with it.
 */
static int bio_write(BIO *bio, const char *from, int len)
{
	struct bufferevent *underlying = underlying_of(bio);
	size_t high, before, add = (size_t)len;

	BIO_clear_retry_flags(bio);
	if (from == NULL || len <= 0)
		return 0;
	if (underlying == NULL)
		return -1;
	high = underlying->wm_write.high;
	before = evbuffer_get_length(underlying->output);
	if (high != 0 && before + add > high) {
		if (before >= high) {
			BIO_set_retry_write(bio);
			return -1;
		}
		add = high - before;
	}
	if (evbuffer_add(underlying->output, from, add) < 0)
		return -1;
	return (int)add;
}

static int bio_puts(BIO *bio, const char *s)
{
	size_t len = strlen(s);

	return len > INT_MAX ? -1 : bio_write(bio, s, (int)len);
}

static long clamped(size_t len)
{
	return len > LONG_MAX ? LONG_MAX : (long)len;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
	struct bufferevent *underlying = underlying_of(bio);

	(void)ptr;
	switch (cmd) {
	case BIO_CTRL_GET_CLOSE:
		return BIO_get_shutdown(bio);
	case BIO_CTRL_SET_CLOSE:
		BIO_set_shutdown(bio, (int)num);
		return 1;
	case BIO_CTRL_EOF:
		return has_flag(bio, END_READ);
	case BIO_CTRL_PENDING:
		return underlying == NULL ? 0 : clamped(evbuffer_get_length(underlying->input));
	case BIO_CTRL_WPENDING:
		return underlying == NULL ? 0 : clamped(evbuffer_get_length(underlying->output));
	case BIO_CTRL_FLUSH:	/* the bufferevent sends without being asked */
	case BIO_CTRL_DUP:
		return 1;
	default:
		return 0;
	}
}

static void method_new(void)
{
	int type = BIO_get_new_index();
	BIO_METHOD *m;

	if (type < 0)
		return;
	m = BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "bufferevent");
	if (m == NULL)
		return;
	if (BIO_meth_set_write(m, bio_write) == 0 || BIO_meth_set_read(m, bio_read) == 0 ||
	    BIO_meth_set_puts(m, bio_puts) == 0 || BIO_meth_set_ctrl(m, bio_ctrl) == 0 ||
	    BIO_meth_set_create(m, bio_create) == 0 || BIO_meth_set_destroy(m, bio_destroy) == 0) {
		BIO_meth_free(m);
		return;
	}
	method = m;
}

BIO *le_ssl_bio_new(struct bufferevent *underlying)
{
	BIO *bio;

	if (pthread_once(&once, method_new) != 0 || method == NULL)
		return NULL;
	bio = BIO_new(method);
	if (bio == NULL)
		return NULL;
	BIO_set_data(bio, underlying);
	BIO_set_init(bio, 1);
	BIO_set_shutdown(bio, BIO_NOCLOSE);
	return bio;
}

void le_ssl_bio_end(BIO *bio)
{
	set_flag(bio, ENDED);
}
