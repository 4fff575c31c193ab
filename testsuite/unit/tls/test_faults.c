/*
 * TLS bufferevents when memory or calls fail, at each place where they can: whoever can go on does,
 * else it is told; and nothing is left. The transport is a BIO of ours, which takes and gives a few bytes
 * at a time, and whose Nth call fails.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>

#include "fault.h"
#include "pair.h"

enum { SENT = 40000 };

static struct tls_ctx ctx_1_2, ctx_1_3;
static unsigned char sent[SENT], got[SENT];

/* ---------------------------------------------------------------- OpenSSL's memory */

static unsigned openssl_allocs, openssl_fail_at;

static bool is_openssl_due(void)
{
	return ++openssl_allocs == openssl_fail_at;
}

static void *openssl_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return is_openssl_due() ? NULL : malloc(size);
}

static void *openssl_realloc(void *p, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return is_openssl_due() ? NULL : realloc(p, size);
}

static void openssl_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

/* ---------------------------------------------------------------- the transport */

struct transport {
	int fd;
	size_t chunk;			/* so much at once; 0: as it comes */
	bool is_hesitant;		/* every second call would block */
	unsigned reads, writes;
	unsigned fail_read_at, fail_write_at;
	int err;
};

static BIO_METHOD *method;

static bool hesitates(const struct transport *t, unsigned call)
{
	return t->is_hesitant && call % 2 == 0;
}

static int failed(BIO *bio, void (*retry)(BIO *bio), int err)
{
	if (err == EAGAIN || err == EINTR)
		retry(bio);
	errno = err;
	return -1;
}

static void retry_read(BIO *bio)
{
	BIO_set_retry_read(bio);
}

static void retry_write(BIO *bio)
{
	BIO_set_retry_write(bio);
}

static int transport_read(BIO *bio, char *to, int len)
{
	struct transport *t = BIO_get_data(bio);
	ssize_t r;

	BIO_clear_retry_flags(bio);
	if (++t->reads == t->fail_read_at)
		return failed(bio, retry_read, t->err);
	if (hesitates(t, t->reads))
		return failed(bio, retry_read, EAGAIN);
	r = recv(t->fd, to, t->chunk != 0 && t->chunk < (size_t)len ? t->chunk : (size_t)len, 0);
	return r < 0 ? failed(bio, retry_read, errno) : (int)r;
}

static int transport_write(BIO *bio, const char *from, int len)
{
	struct transport *t = BIO_get_data(bio);
	ssize_t r;

	BIO_clear_retry_flags(bio);
	if (++t->writes == t->fail_write_at)
		return failed(bio, retry_write, t->err);
	if (hesitates(t, t->writes))
		return failed(bio, retry_write, EAGAIN);
	r = send(t->fd, from, t->chunk != 0 && t->chunk < (size_t)len ? t->chunk : (size_t)len, MSG_NOSIGNAL);
	return r < 0 ? failed(bio, retry_write, errno) : (int)r;
}

static long transport_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
	const struct transport *t = BIO_get_data(bio);

	(void)num;
	if (cmd == BIO_C_GET_FD && ptr != NULL)
		*(int *)ptr = t->fd;
	if (cmd == BIO_C_GET_FD)
		return t->fd;
	return cmd == BIO_CTRL_FLUSH;
}

static void transport_use(struct transport *t, SSL *ssl, int fd)
{
	BIO *bio = BIO_new(method);

	assert_non_null(bio);
	t->fd = fd;
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio);
}

/* ---------------------------------------------------------------- a conversation */

struct scene {
	struct tls_pair p;
	struct transport client, server;	/* for sockets */
	bool is_flaky;				/* these are used */
};

static int scene_open(struct scene *s)
{
	struct tls_pair *p = &s->p;

	if (!s->is_flaky)
		return tls_pair_open(p);
	s->client.reads = s->client.writes = s->server.reads = s->server.writes = 0;
	if (tls_pair_init(p) < 0)
		return -1;
	transport_use(&s->client, p->client.ssl, p->client.fd);
	transport_use(&s->server, p->server.ssl, p->server.fd);
	if (tls_end_open(p, &p->client, BUFFEREVENT_SSL_CONNECTING) == 0 &&
	    tls_end_open(p, &p->server, BUFFEREVENT_SSL_ACCEPTING) == 0)
		return 0;
	tls_pair_close(p);
	return -1;
}

static void echo(struct bufferevent *bev, void *arg)
{
	struct tls_end *e = arg;

	if (bufferevent_write_buffer(bev, bufferevent_get_input(bev)) < 0)
		e->is_refused = true;
	errno = ENOTDIR;
}

/* How much of what the client sent came back to it, and that it is the same. */
static size_t come_back(struct scene *s)
{
	struct evbuffer *input = bufferevent_get_input(s->p.client.bev);
	size_t len = evbuffer_get_length(input);

	assert_true(len <= SENT);
	assert_int_equal(evbuffer_copyout(input, got, len), len);
	assert_memory_equal(got, sent, len);
	return len;
}

static bool is_told(const struct tls_end *e)
{
	return (e->told & BEV_EVENT_ERROR) != 0 || e->is_refused;
}

/* 0: all came back. -1: not all did, and somebody was told. */
static int converse(void *arg)
{
	struct scene *s = arg;
	size_t i, len = 0;
	int r;

	if (scene_open(s) < 0)
		return -1;
	bufferevent_setcb(s->p.server.bev, echo, NULL, tls_note_event, &s->p.server);
	r = bufferevent_write(s->p.client.bev, sent, SENT);
	for (i = 0; r == 0 && i < 5000 && len < SENT && !is_told(&s->p.client) && !is_told(&s->p.server); i++) {
		tls_turns(&s->p);
		len = come_back(s);
	}
	if (r == 0 && len < SENT) {
		assert_true(is_told(&s->p.client) || is_told(&s->p.server));
		r = -1;
	}
	tls_pair_close(&s->p);
	return r;
}

static struct scene scene_of(enum tls_mode mode, struct tls_ctx *ctx)
{
	return (struct scene){ .p = { .mode = mode, .ctx = ctx } };
}

/* ---------------------------------------------------------------- memory */

static void memory_that_runs_out_is_told_and_leaves_nothing(void **state)
{
	struct tls_ctx *ctx[] = { &ctx_1_2, &ctx_1_3 };
	struct scene s;
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		s = scene_of(i % 2 == 0 ? TLS_SOCKET : TLS_FILTER, ctx[i / 2]);
		assert_true(fault_each_alloc(converse, &s, -1) > 10);
	}
}

/* Making one, with OpenSSL's Nth allocation failing. The SSL is gone then, too. */
static bool can_be_made(struct tls_pair *p, unsigned nth)
{
	bool is_made;

	assert_int_equal(tls_pair_init(p), 0);
	openssl_allocs = 0;
	openssl_fail_at = nth;
	is_made = tls_end_open(p, &p->client, BUFFEREVENT_SSL_CONNECTING) == 0;
	assert_int_equal(is_made, openssl_allocs < nth);
	openssl_fail_at = 0;
	tls_pair_close(p);
	return is_made;
}

static void openssl_without_memory_makes_none(void **state)
{
	struct tls_pair p = { .ctx = &ctx_1_3 };
	long alive = fault_alive();
	int fds = fault_fds();
	unsigned nth;

	(void)state;
	for (p.mode = TLS_SOCKET; p.mode <= TLS_FILTER; p.mode++) {
		for (nth = 1; !can_be_made(&p, nth); nth++) {
			assert_int_equal(fault_alive(), alive);
			assert_int_equal(fault_fds(), fds);
		}
		assert_true(nth > 1);
	}
}

/* A descriptor that does not fit the SSL's own BIO, or whose BIO cannot be made. */
static void a_descriptor_that_cannot_be_used_is_refused(void **state)
{
	struct tls_pair p = { .ctx = &ctx_1_3 };
	struct scene s = scene_of(TLS_SOCKET, &ctx_1_3);
	struct transport t = { 0 };

	(void)state;
	assert_int_equal(tls_pair_init(&p), 0);
	transport_use(&t, p.client.ssl, p.server.fd);
	assert_null(bufferevent_openssl_socket_new(p.base, p.client.fd, p.client.ssl, BUFFEREVENT_SSL_CONNECTING, 0));
	tls_pair_close(&p);

	assert_int_equal(scene_open(&s), 0);
	openssl_allocs = 0;
	openssl_fail_at = 1;
	assert_int_equal(bufferevent_setfd(s.p.client.bev, bufferevent_getfd(s.p.client.bev)), -1);
	openssl_fail_at = 0;
	tls_pair_close(&s.p);
}

/* -1: the descriptor was refused, and is still the caller's. */
static int set_fd_once(void *arg)
{
	struct scene *s = arg;
	struct bufferevent *bev;
	int r = -1, fd;

	if (scene_open(s) < 0)
		return -1;
	fd = dup(s->p.server.fd >= 0 ? s->p.server.fd : bufferevent_getfd(s->p.server.bev));
	assert_true(fd >= 0);
	bev = bufferevent_openssl_socket_new(s->p.base, -1, SSL_new(s->p.ctx->client), BUFFEREVENT_SSL_OPEN,
					     BEV_OPT_CLOSE_ON_FREE);
	if (bev == NULL)
		goto close_fd;
	assert_int_equal(bufferevent_enable(bev, EV_READ), 0);
	errno = 0;
	r = bufferevent_setfd(bev, fd);
	if (r < 0)
		assert_int_equal(errno, ENOMEM);
	assert_int_equal(bufferevent_getfd(bev), r < 0 ? -1 : fd);
	assert_int_equal(event_pending(&bev->ev_read, EV_READ, NULL) != 0, r == 0);
	if (r == 0)
		fd = -1;
	bufferevent_free(bev);
close_fd:
	tls_pair_close(&s->p);
	if (fd >= 0)
		assert_int_equal(close(fd), 0);
	return r;
}

static void a_descriptor_without_memory_is_refused(void **state)
{
	struct scene s = scene_of(TLS_FILTER, &ctx_1_3);

	(void)state;
	assert_true(fault_each_alloc(set_fd_once, &s, -1) > 2);
}

/* ---------------------------------------------------------------- calls */

static void a_few_bytes_at_a_time_arrive_in_order(void **state)
{
	struct tls_ctx *ctx[] = { &ctx_1_2, &ctx_1_3 };
	static const size_t chunks[] = { 7, 1000, 0 };
	struct scene s;
	size_t i;

	(void)state;
	for (i = 0; i < 6; i++) {
		s = scene_of(TLS_SOCKET, ctx[i % 2]);
		s.is_flaky = s.client.is_hesitant = s.server.is_hesitant = true;
		s.client.chunk = s.server.chunk = chunks[i / 2];
		assert_int_equal(converse(&s), 0);
	}
}

/* `err` in the client's Nth read and write: `want` comes of it. */
static void each_call_fails(struct tls_ctx *ctx, int err, int want)
{
	struct scene s = scene_of(TLS_SOCKET, ctx);
	bool is_over = false;
	unsigned nth;

	s.is_flaky = true;
	s.client.err = err;
	for (nth = 1; !is_over; nth++) {
		s.client.fail_read_at = nth;
		is_over = converse(&s) == 0 && s.client.reads < nth;
		if (is_over)
			break;
		assert_int_equal(s.p.client.told_errno, want);
		assert_int_equal(s.p.client.told, want == 0 ? 0 : BEV_EVENT_ERROR | BEV_EVENT_READING);
	}
	assert_true(nth > 4);
	s.client.fail_read_at = 0;
	is_over = false;
	for (nth = 1; !is_over; nth++) {
		s.client.fail_write_at = nth;
		is_over = converse(&s) == 0 && s.client.writes < nth;
		if (is_over)
			break;
		assert_int_equal(s.p.client.told_errno, want);
		assert_int_equal(s.p.client.told & BEV_EVENT_ERROR, want == 0 ? 0 : BEV_EVENT_ERROR);
	}
	assert_true(nth > 3);
}

static void calls_that_fail_are_told_with_their_errno(void **state)
{
	(void)state;
	each_call_fails(&ctx_1_2, ECONNRESET, ECONNRESET);
	each_call_fails(&ctx_1_3, ECONNRESET, ECONNRESET);
	each_call_fails(&ctx_1_3, EPIPE, EPIPE);
}

static void calls_that_are_interrupted_are_made_again(void **state)
{
	(void)state;
	each_call_fails(&ctx_1_2, EAGAIN, 0);
	each_call_fails(&ctx_1_3, EINTR, 0);
}

/* What is called between the error and its callback, a poller's above all, is not told as the reason. */
static void an_error_keeps_its_errno(void **state)
{
	struct scene s = scene_of(TLS_SOCKET, &ctx_1_3);

	(void)state;
	s.is_flaky = true;
	assert_int_equal(scene_open(&s), 0);
	tls_turns(&s.p);
	assert_int_equal(s.p.client.connected_num, 1);
	assert_int_equal(bufferevent_write(s.p.server.bev, "data", 4), 0);
	s.client.err = ETIMEDOUT;
	/* A record is read by two calls, for its head and its body. */
	s.client.fail_read_at = s.client.reads + 3;
	fault_call_always(FAULT_epoll_ctl, ENOSPC);
	tls_turns(&s.p);
	assert_int_equal(s.p.client.reads_num, 1);
	assert_int_equal(bufferevent_write(s.p.server.bev, "more", 4), 0);
	tls_turns(&s.p);
	assert_true(fault_end());
	assert_int_equal(s.p.client.told, BEV_EVENT_ERROR | BEV_EVENT_READING);
	assert_int_equal(s.p.client.told_errno, ETIMEDOUT);
	tls_pair_close(&s.p);
}

/* Watching and unwatching: what a poller's call refuses may stall a connection, but ends and leaves nothing. */
static int watch_once(void *arg)
{
	struct scene *s = arg;

	if (scene_open(s) < 0)
		return -1;
	tls_turns(&s->p);
	(void)bufferevent_write(s->p.client.bev, sent, SENT);
	tls_turns(&s->p);
	(void)come_back(s);
	tls_pair_close(&s->p);
	return 0;
}

static void a_poller_that_fails_leaves_nothing(void **state)
{
	struct scene s;

	(void)state;
	s = scene_of(TLS_SOCKET, &ctx_1_3);
	assert_true(fault_each_call_as(FAULT_epoll_ctl, ENOSPC, watch_once, &s, -1) > 2);
	assert_true(fault_each_call_as(FAULT_epoll_wait, EINTR, watch_once, &s, -1) > 2);
	s = scene_of(TLS_FILTER, &ctx_1_3);
	assert_true(fault_each_call_as(FAULT_epoll_ctl, ENOSPC, watch_once, &s, -1) > 2);
}

static int setup(void **state)
{
	size_t i;

	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "transport");
	if (method == NULL || BIO_meth_set_read(method, transport_read) == 0 ||
	    BIO_meth_set_write(method, transport_write) == 0 || BIO_meth_set_ctrl(method, transport_ctrl) == 0)
		return -1;
	for (i = 0; i < SENT; i++)
		sent[i] = (unsigned char)(i % 251);
	if (!tls_ctx_init(&ctx_1_2, TLS1_2_VERSION))
		return -1;
	return tls_ctx_init(&ctx_1_3, TLS1_3_VERSION) ? fault_init(state) : -1;
}

static int teardown(void **state)
{
	tls_ctx_fini(&ctx_1_2);
	tls_ctx_fini(&ctx_1_3);
	BIO_meth_free(method);
	return fault_fini(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_runs_out_is_told_and_leaves_nothing),
		cmocka_unit_test(openssl_without_memory_makes_none),
		cmocka_unit_test(a_descriptor_that_cannot_be_used_is_refused),
		cmocka_unit_test(a_descriptor_without_memory_is_refused),
		cmocka_unit_test(a_few_bytes_at_a_time_arrive_in_order),
		cmocka_unit_test(calls_that_fail_are_told_with_their_errno),
		cmocka_unit_test(calls_that_are_interrupted_are_made_again),
		cmocka_unit_test(an_error_keeps_its_errno),
		cmocka_unit_test(a_poller_that_fails_leaves_nothing),
	};

	if (CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free) != 1)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, setup, teardown);
}
