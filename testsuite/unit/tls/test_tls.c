/*
 * TLS bufferevents: handshakes, data, ends, renegotiation and what TLS 1.3 sends on its own, each as a
 * socket and as a filter, with TLS 1.2 and 1.3, with callbacks at once, deferred, and with a lock.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/thread.h>

#include "fault.h"
#include "pair.h"

static struct tls_ctx ctx_1_2, ctx_1_3;

static struct tls_pair pair_of(enum tls_mode mode, int version, int options)
{
	return (struct tls_pair){
		.mode = mode, .version = version, .options = options,
		.ctx = version == TLS1_2_VERSION ? &ctx_1_2 : &ctx_1_3,
	};
}

/* In each mode, version and kind of callbacks, on a pair that `open` made. Nothing may be left. */
static void each(int (*open)(struct tls_pair *p), void (*fn)(struct tls_pair *p))
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	static const int options[] = { 0, BEV_OPT_DEFER_CALLBACKS, BEV_OPT_THREADSAFE };
	long alive = fault_alive();
	int fds = fault_fds();
	struct tls_pair p;
	size_t i;

	for (i = 0; i < 12; i++) {
		p = pair_of(i % 2 == 0 ? TLS_SOCKET : TLS_FILTER, versions[i / 2 % 2], options[i / 4]);
		assert_int_equal(open(&p), 0);
		fn(&p);
		tls_pair_close(&p);
		assert_int_equal(fault_alive(), alive);
		assert_int_equal(fault_fds(), fds);
	}
}

static void assert_nothing_told(const struct tls_pair *p)
{
	assert_int_equal(p->client.told, 0);
	assert_int_equal(p->server.told, 0);
}

static void assert_open(struct tls_pair *p)
{
	tls_turns(p);
	assert_int_equal(p->client.connected_num, 1);
	assert_int_equal(p->server.connected_num, 1);
	assert_int_equal(p->client.reads_num + p->server.reads_num, 0);
	assert_nothing_told(p);
}

/* `text` goes from one end to the other, which has read all else. */
static void assert_says(struct tls_pair *p, struct tls_end *from, struct tls_end *to, const char *text)
{
	char got[64] = "";
	size_t len;

	assert_int_equal(bufferevent_write(from->bev, text, strlen(text)), 0);
	tls_turns(p);
	assert_int_equal(evbuffer_get_length(bufferevent_get_output(from->bev)), 0);
	len = bufferevent_read(to->bev, got, sizeof(got) - 1);
	assert_int_equal(len, strlen(text));
	assert_string_equal(got, text);
}

/* ---------------------------------------------------------------- handshakes and data */

static void talk(struct tls_pair *p)
{
	assert_open(p);
	assert_says(p, &p->client, &p->server, "from the client");
	assert_says(p, &p->server, &p->client, "from the server");
	assert_int_equal(p->client.reads_num, 1);
	assert_int_equal(p->server.reads_num, 1);
	assert_nothing_told(p);
	assert_ptr_equal(bufferevent_openssl_get_ssl(p->client.bev), p->client.ssl);
	assert_int_equal(SSL_version(p->client.ssl), p->version);
	assert_int_equal(bufferevent_get_openssl_error(p->client.bev), 0);
}

static void both_ends_are_told_and_data_flow(void **state)
{
	(void)state;
	each(tls_pair_open, talk);
}

/* More than a record, than the socket takes at once, and than one turn reads. */
enum { LARGE = 1000000 };

static void send_much(struct tls_pair *p)
{
	static unsigned char sent[LARGE], got[LARGE];
	size_t i, len = 0;

	for (i = 0; i < LARGE; i++)
		sent[i] = (unsigned char)(i % 251);
	/* Before the handshake: it waits. */
	assert_int_equal(bufferevent_write(p->client.bev, sent, LARGE), 0);
	for (i = 0; i < TURNS && len < LARGE; i++) {
		tls_turns(p);
		len += bufferevent_read(p->server.bev, got + len, LARGE - len);
	}
	assert_int_equal(len, LARGE);
	assert_memory_equal(got, sent, LARGE);
	assert_nothing_told(p);
}

static void much_arrives_in_order(void **state)
{
	(void)state;
	each(tls_pair_open, send_much);
}

/* As a program would: SSL_do_handshake in turn, until both are through. */
static int open_after_handshake(struct tls_pair *p)
{
	int i, r[2] = { 0, 0 };

	if (tls_pair_init(p) < 0)
		return -1;
	assert_int_equal(SSL_set_fd(p->client.ssl, p->client.fd), 1);
	assert_int_equal(SSL_set_fd(p->server.ssl, p->server.fd), 1);
	SSL_set_connect_state(p->client.ssl);
	SSL_set_accept_state(p->server.ssl);
	for (i = 0; i < 10; i++) {
		r[0] = SSL_do_handshake(p->client.ssl);
		r[1] = SSL_do_handshake(p->server.ssl);
	}
	assert_int_equal(r[0], 1);
	assert_int_equal(r[1], 1);
	assert_int_equal(tls_end_open(p, &p->client, BUFFEREVENT_SSL_OPEN), 0);
	assert_int_equal(tls_end_open(p, &p->server, BUFFEREVENT_SSL_OPEN), 0);
	return 0;
}

static void talk_opened(struct tls_pair *p)
{
	assert_says(p, &p->client, &p->server, "hello");
	assert_says(p, &p->server, &p->client, "good bye");
	assert_int_equal(p->client.connected_num + p->server.connected_num, 0);
	assert_nothing_told(p);
}

static void an_open_one_needs_no_handshake(void **state)
{
	(void)state;
	each(open_after_handshake, talk_opened);
}

/*
 * Nothing is enabled: sockets do not begin. Then one end is, and the other follows when it is, too. Over another
 * bufferevent the handshake needs nothing enabled.
 */
static void start_late(struct tls_pair *p)
{
	assert_int_equal(bufferevent_disable(p->client.bev, EV_READ | EV_WRITE), 0);
	assert_int_equal(bufferevent_disable(p->server.bev, EV_READ | EV_WRITE), 0);
	tls_turns(p);
	if (p->mode == TLS_FILTER) {
		assert_open(p);
		assert_int_equal(bufferevent_enable(p->client.bev, EV_WRITE), 0);
		assert_int_equal(bufferevent_enable(p->server.bev, EV_READ), 0);
		assert_says(p, &p->client, &p->server, "only one way");
		return;
	}
	assert_int_equal(p->client.connected_num + p->server.connected_num, 0);
	assert_int_equal(bufferevent_enable(p->client.bev, EV_WRITE), 0);
	tls_turns(p);
	assert_int_equal(p->client.connected_num + p->server.connected_num, 0);
	assert_int_equal(bufferevent_enable(p->server.bev, EV_READ), 0);
	assert_open(p);
	assert_says(p, &p->client, &p->server, "only one way");
}

static void a_handshake_over_a_socket_needs_one_direction_enabled(void **state)
{
	(void)state;
	each(tls_pair_open, start_late);
}

static struct bufferevent *on_pair(struct tls_pair *p, struct tls_end *e, struct bufferevent *half,
				   enum bufferevent_ssl_state state)
{
	e->bev = bufferevent_openssl_filter_new(p->base, half, e->ssl, state, BEV_OPT_CLOSE_ON_FREE);
	assert_non_null(e->bev);
	bufferevent_setcb(e->bev, tls_note_read, NULL, tls_note_event, e);
	assert_int_equal(bufferevent_enable(e->bev, EV_READ | EV_WRITE), 0);
	return e->bev;
}

/* What the client said waits in the pair: it comes while the server is being made. */
static void a_pair_that_has_data_already_will_do(void **state)
{
	struct tls_pair p = pair_of(TLS_FILTER, TLS1_3_VERSION, 0);
	struct bufferevent *half[2];

	(void)state;
	assert_int_equal(tls_pair_init(&p), 0);
	assert_int_equal(bufferevent_pair_new(p.base, BEV_OPT_CLOSE_ON_FREE, half), 0);
	on_pair(&p, &p.client, half[0], BUFFEREVENT_SSL_CONNECTING);
	tls_turns(&p);
	assert_true(evbuffer_get_length(bufferevent_get_output(half[0])) > 0);
	on_pair(&p, &p.server, half[1], BUFFEREVENT_SSL_ACCEPTING);
	assert_ptr_equal(bufferevent_get_underlying(p.server.bev), half[1]);
	talk(&p);
	tls_pair_close(&p);
}

/* ---------------------------------------------------------------- connecting */

static int listening(struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)to, sizeof(*to)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)to, &(socklen_t){ sizeof(*to) }), 0);
	return fd;
}

static void connect_to(struct tls_pair *p, const struct sockaddr_in *to)
{
	struct bufferevent *bev = bufferevent_openssl_socket_new(p->base, -1, p->client.ssl, BUFFEREVENT_SSL_CONNECTING,
								 BEV_OPT_CLOSE_ON_FREE);

	assert_non_null(bev);
	p->client.bev = bev;
	bufferevent_setcb(bev, tls_note_read, NULL, tls_note_event, &p->client);
	assert_int_equal(bufferevent_getfd(bev), -1);
	assert_int_equal(bufferevent_enable(bev, EV_READ | EV_WRITE), 0);
	assert_int_equal(bufferevent_socket_connect(bev, (const struct sockaddr *)to, sizeof(*to)), 0);
}

static void a_connection_is_told_once_and_after_its_handshake(void **state)
{
	struct tls_pair p = pair_of(TLS_SOCKET, TLS1_3_VERSION, 0);
	struct sockaddr_in to;
	int fd = listening(&to);

	(void)state;
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(tls_pair_init(&p), 0);
	close(p.server.fd);
	close(p.client.fd);
	p.client.fd = -1;
	connect_to(&p, &to);
	p.server.fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(p.server.fd >= 0);
	tls_turns(&p);
	assert_int_equal(p.client.connected_num, 0);
	assert_int_equal(tls_end_open(&p, &p.server, BUFFEREVENT_SSL_ACCEPTING), 0);
	while (p.client.connected_num == 0 || p.server.connected_num == 0)
		assert_int_equal(event_base_loop(p.base, EVLOOP_ONCE), 0);
	assert_open(&p);
	tls_pair_close(&p);
	close(fd);
}

static void a_refused_connection_says_so(void **state)
{
	struct tls_pair p = pair_of(TLS_SOCKET, TLS1_3_VERSION, 0);
	struct sockaddr_in to;
	int fd = listening(&to);

	(void)state;
	assert_int_equal(tls_pair_init(&p), 0);
	close(p.client.fd);
	p.client.fd = -1;
	connect_to(&p, &to);
	while (p.client.told == 0)
		assert_int_equal(event_base_loop(p.base, EVLOOP_ONCE), 0);
	assert_int_equal(p.client.told, BEV_EVENT_ERROR);
	assert_int_equal(p.client.told_num, 1);
	assert_int_equal(p.client.told_errno, ECONNREFUSED);
	assert_int_equal(p.client.connected_num, 0);
	tls_pair_close(&p);
	close(fd);
}

/* A descriptor that comes later, as evhttp gives it. */
static void set_later(struct tls_pair *p)
{
	int fds[2];

	assert_open(p);
	if (p->mode == TLS_FILTER)
		return;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	close(bufferevent_getfd(p->client.bev));
	close(bufferevent_getfd(p->server.bev));
	assert_int_equal(bufferevent_setfd(p->client.bev, fds[0]), 0);
	assert_int_equal(bufferevent_setfd(p->server.bev, fds[1]), 0);
	assert_int_equal(bufferevent_getfd(p->client.bev), fds[0]);
	p->client.connected_num = p->server.connected_num = 0;
	assert_open(p);
	assert_says(p, &p->client, &p->server, "anew");
}

static void another_descriptor_is_another_connection(void **state)
{
	(void)state;
	each(tls_pair_open, set_later);
}

/* ---------------------------------------------------------------- handshakes that fail */

static void refuse_certificate(struct tls_pair *p)
{
	SSL_set_verify(p->client.ssl, SSL_VERIFY_PEER, NULL);
	tls_turns(p);
	assert_int_equal(p->client.told, BEV_EVENT_ERROR | BEV_EVENT_READING);
	assert_int_equal(p->client.told_num, 1);
	assert_int_equal(p->client.connected_num, 0);
	assert_int_equal(ERR_GET_REASON(bufferevent_get_openssl_error(p->client.bev)), SSL_R_CERTIFICATE_VERIFY_FAILED);
	assert_int_equal(bufferevent_get_openssl_error(p->client.bev), SSL_ERROR_SSL);
	assert_int_equal(bufferevent_get_openssl_error(p->client.bev), 0);
	/* Its peer reads the alert; with TLS 1.3 it was through by then. */
	assert_true((p->server.told & BEV_EVENT_ERROR) != 0);
	assert_int_equal(ERR_GET_REASON(bufferevent_get_openssl_error(p->server.bev)), SSL_R_TLSV1_ALERT_UNKNOWN_CA);
}

static void a_refused_certificate_is_an_error(void **state)
{
	(void)state;
	each(tls_pair_open, refuse_certificate);
}

/* The server's peer speaks no TLS. */
static int open_server_alone(struct tls_pair *p)
{
	if (tls_pair_init(p) < 0)
		return -1;
	return tls_end_open(p, &p->server, BUFFEREVENT_SSL_ACCEPTING);
}

static void speak_http(struct tls_pair *p)
{
	assert_int_equal(write(p->client.fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
	tls_turns(p);
	assert_int_equal(p->server.told, BEV_EVENT_ERROR | BEV_EVENT_READING);
	assert_int_equal(p->server.told_num, 1);
	assert_int_equal(ERR_GET_REASON(bufferevent_get_openssl_error(p->server.bev)), SSL_R_HTTP_REQUEST);
}

static void hang_up(struct tls_pair *p)
{
	close(p->client.fd);
	p->client.fd = -1;
	tls_turns(p);
	assert_true((p->server.told & BEV_EVENT_ERROR) != 0);
	assert_int_equal(p->server.told_num, 1);
	assert_int_equal(p->server.connected_num, 0);
}

static void a_peer_that_speaks_no_tls_is_an_error(void **state)
{
	(void)state;
	each(open_server_alone, speak_http);
	each(open_server_alone, hang_up);
}

/* ---------------------------------------------------------------- ends */

/* The peer, which has sent its close_notify, closes its descriptor: only the bufferevent below learns of that. */
static void leave_after_notify(struct tls_pair *p, short want)
{
	assert_int_equal(p->client.told, BEV_EVENT_EOF | BEV_EVENT_READING);
	assert_int_equal(p->client.told_num, 1);
	p->client.told = 0;
	tls_end_close(&p->server);
	tls_turns(p);
	assert_int_equal(p->client.told, p->mode == TLS_FILTER ? want : 0);
	assert_int_equal(p->client.told_num, p->mode == TLS_FILTER && want != 0 ? 2 : 1);
	assert_int_equal(p->client.told_errno, 0);
}

static void end_well(struct tls_pair *p)
{
	assert_open(p);
	assert_int_equal(bufferevent_write(p->server.bev, "last", 4), 0);
	tls_turns(p);
	assert_int_equal(SSL_shutdown(p->server.ssl), 0);
	tls_turns(p);
	leave_after_notify(p, BEV_EVENT_ERROR);
	assert_int_equal(evbuffer_get_length(bufferevent_get_input(p->client.bev)), 4);
	assert_int_equal(bufferevent_ssl_renegotiate(p->client.bev), -1);
}

static void a_close_notify_is_an_end(void **state)
{
	(void)state;
	each(tls_pair_open, end_well);
}

static void notify(struct tls_pair *p)
{
	assert_open(p);
	assert_int_equal(SSL_shutdown(p->server.ssl), 0);
	tls_turns(p);
}

static void leave_allowed(struct tls_pair *p)
{
	bufferevent_openssl_set_allow_dirty_shutdown(p->client.bev, 1);
	notify(p);
	leave_after_notify(p, BEV_EVENT_EOF);
}

static void leave_unread(struct tls_pair *p)
{
	notify(p);
	assert_int_equal(bufferevent_disable(p->client.bev, EV_READ), 0);
	leave_after_notify(p, 0);
}

/* What comes after a close_notify is no data, and must not stay in memory. */
static void speak_after_notify(struct tls_pair *p)
{
	struct bufferevent *below = bufferevent_get_underlying(p->client.bev);
	evutil_socket_t fd = bufferevent_getfd(p->server.bev);
	static const char noise[5000];
	int i;

	notify(p);
	for (i = 0; i < 20; i++) {
		assert_int_equal(send(fd, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
		tls_turns(p);
		if (below == NULL)
			break;
		assert_int_equal(evbuffer_get_length(bufferevent_get_input(below)), 0);
	}
	assert_int_equal(evbuffer_get_length(bufferevent_get_input(p->client.bev)), 0);
	assert_int_equal(p->client.told_num, 1);
}

static void the_end_below_is_told_after_a_close_notify(void **state)
{
	(void)state;
	each(tls_pair_open, leave_allowed);
	each(tls_pair_open, leave_unread);
	each(tls_pair_open, speak_after_notify);
}

static void cut_off(struct tls_pair *p, int is_allowed, short want)
{
	bool is_ignored = (SSL_CTX_get_options(p->ctx->client) & SSL_OP_IGNORE_UNEXPECTED_EOF) != 0;

	bufferevent_openssl_set_allow_dirty_shutdown(p->client.bev, is_allowed);
	assert_int_equal(bufferevent_openssl_get_allow_dirty_shutdown(p->client.bev), is_allowed != 0);
	assert_open(p);
	assert_int_equal(bufferevent_write(p->server.bev, "last", 4), 0);
	tls_turns(p);
	tls_end_close(&p->server);
	tls_turns(p);
	/* A filter is told by what it is on. */
	assert_int_equal(p->client.told, p->mode == TLS_FILTER && !is_ignored ? want : want | BEV_EVENT_READING);
	assert_int_equal(p->client.told_num, 1);
	assert_int_equal(p->client.told_errno, 0);
	assert_int_equal(evbuffer_get_length(bufferevent_get_input(p->client.bev)), 4);
}

static void cut_off_unallowed(struct tls_pair *p)
{
	assert_int_equal(bufferevent_openssl_get_allow_dirty_shutdown(p->client.bev), 0);
	cut_off(p, 0, BEV_EVENT_ERROR);
}

static void cut_off_allowed(struct tls_pair *p)
{
	cut_off(p, 2, BEV_EVENT_EOF);
}

static void an_end_without_close_notify_is_an_error_unless_allowed(void **state)
{
	(void)state;
	each(tls_pair_open, cut_off_unallowed);
	each(tls_pair_open, cut_off_allowed);
}

static void cut_off_ignored(struct tls_pair *p)
{
	cut_off(p, 0, BEV_EVENT_EOF);
}

static void an_end_that_openssl_was_told_to_ignore_is_an_end(void **state)
{
	(void)state;
	SSL_CTX_set_options(ctx_1_2.client, SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_options(ctx_1_3.client, SSL_OP_IGNORE_UNEXPECTED_EOF);
	each(tls_pair_open, cut_off_ignored);
	SSL_CTX_clear_options(ctx_1_2.client, SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_clear_options(ctx_1_3.client, SSL_OP_IGNORE_UNEXPECTED_EOF);
}

/* The peer closed before it had read what came last, perhaps tickets of TLS 1.3, but what it wrote has arrived. */
static void write_in_vain(struct tls_pair *p)
{
	struct bufferevent *below = bufferevent_get_underlying(p->client.bev);

	if (below == NULL)
		return;
	assert_open(p);
	bufferevent_trigger_event(below, BEV_EVENT_WRITING | BEV_EVENT_ERROR, 0);
	tls_turns(p);
	assert_int_equal(p->client.told, BEV_EVENT_WRITING | BEV_EVENT_ERROR);
	assert_int_equal(p->client.told_num, 1);
	assert_says(p, &p->server, &p->client, "last");
	bufferevent_openssl_set_allow_dirty_shutdown(p->client.bev, 1);
	tls_end_close(&p->server);
	tls_turns(p);
	assert_int_equal(p->client.told, BEV_EVENT_WRITING | BEV_EVENT_ERROR | BEV_EVENT_EOF);
	assert_int_equal(p->client.told_num, 2);
}

static void a_transport_that_cannot_write_is_still_read(void **state)
{
	(void)state;
	each(tls_pair_open, write_in_vain);
}

/* The peer says nothing more, but listens: also to what was written before. */
static void end_one_way(struct tls_pair *p)
{
	static unsigned char text[LARGE], heard[LARGE];
	unsigned told_num;
	size_t i, len = 0;

	assert_open(p);
	memset(text, 'a', LARGE);
	assert_int_equal(bufferevent_disable(p->server.bev, EV_READ), 0);
	assert_int_equal(bufferevent_write(p->client.bev, text, LARGE), 0);
	tls_turns(p);
	assert_int_equal(SSL_shutdown(p->server.ssl), 0);
	tls_turns(p);
	assert_int_equal(p->client.told, BEV_EVENT_EOF | BEV_EVENT_READING);
	if (p->mode == TLS_SOCKET)
		assert_true(evbuffer_get_length(bufferevent_get_output(p->client.bev)) > 0);
	assert_int_equal(bufferevent_enable(p->server.bev, EV_READ), 0);
	for (i = 0; i < TURNS && len < LARGE; i++) {
		tls_turns(p);
		len += bufferevent_read(p->server.bev, heard + len, LARGE - len);
	}
	assert_int_equal(len, LARGE);
	assert_memory_equal(heard, text, LARGE);
	assert_says(p, &p->client, &p->server, "and this");
	/* Until it is gone. */
	leave_after_notify(p, BEV_EVENT_ERROR);
	told_num = p->client.told_num;
	assert_int_equal(bufferevent_write(p->client.bev, "x", 1), 0);
	tls_turns(p);
	assert_int_equal(p->client.told_num, told_num + 1);
	assert_true((p->client.told & BEV_EVENT_WRITING) != 0);
	assert_int_equal(p->client.told_errno, EPIPE);
}

static void after_a_close_notify_the_other_direction_stays_open(void **state)
{
	(void)state;
	each(tls_pair_open, end_one_way);
}

/* ---------------------------------------------------------------- new keys */

static void renegotiate(struct tls_pair *p)
{
	assert_open(p);
	if (p->version == TLS1_3_VERSION) {
		assert_int_equal(bufferevent_ssl_renegotiate(p->server.bev), -1);
		assert_says(p, &p->client, &p->server, "as before");
		return;
	}
	SSL_set_options(p->server.ssl, SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
	assert_int_equal(bufferevent_ssl_renegotiate(p->client.bev), 0);
	tls_turns(p);
	assert_int_equal(p->client.connected_num, 2);
	assert_int_equal(SSL_total_renegotiations(p->client.ssl), 1);
	assert_says(p, &p->client, &p->server, "under new keys");
	assert_says(p, &p->server, &p->client, "and back");
	assert_int_equal(bufferevent_ssl_renegotiate(p->server.bev), 0);
	tls_turns(p);
	assert_int_equal(p->server.connected_num, 2);
	assert_says(p, &p->client, &p->server, "newer keys");
	assert_says(p, &p->server, &p->client, "and back");
	assert_nothing_told(p);
}

static void keys_are_renegotiated_with_tls_1_2(void **state)
{
	(void)state;
	each(tls_pair_open, renegotiate);
}

static unsigned tickets;

static int note_session(SSL *ssl, SSL_SESSION *session)
{
	(void)ssl;
	(void)session;
	tickets++;
	return 0;
}

/* Tickets and key updates come as records, but are no data. */
static void after_handshake(struct tls_pair *p)
{
	tickets = 0;
	assert_open(p);
	if (p->version != TLS1_3_VERSION)
		return;
	assert_int_equal(tickets, 2);
	assert_int_equal(SSL_key_update(p->client.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
	assert_says(p, &p->client, &p->server, "with a new key");
	assert_says(p, &p->server, &p->client, "with a new key, too");
	assert_int_equal(SSL_key_update(p->server.ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
	assert_says(p, &p->server, &p->client, "one way only");
	assert_int_equal(p->client.reads_num, 2);
	assert_int_equal(p->server.reads_num, 1);
	assert_nothing_told(p);
}

static void what_tls_1_3_sends_afterwards_is_no_data(void **state)
{
	struct tls_ctx *ctx[] = { &ctx_1_2, &ctx_1_3 };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		SSL_CTX_set_session_cache_mode(ctx[i]->client,
					       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
		SSL_CTX_sess_set_new_cb(ctx[i]->client, note_session);
	}
	each(tls_pair_open, after_handshake);
}

/* ---------------------------------------------------------------- asking */

static void others_are_no_tls(void **state)
{
	struct event_base *base = event_base_new();
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

	(void)state;
	assert_null(bufferevent_openssl_get_ssl(bev));
	assert_int_equal(bufferevent_openssl_get_allow_dirty_shutdown(bev), -1);
	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	assert_int_equal(bufferevent_get_openssl_error(bev), 0);
	assert_int_equal(bufferevent_ssl_renegotiate(bev), -1);
	bufferevent_free(bev);
	event_base_free(base);
}

static int setup(void **state)
{
	evthread_use_pthreads();
	if (!tls_ctx_init(&ctx_1_2, TLS1_2_VERSION))
		return -1;
	return tls_ctx_init(&ctx_1_3, TLS1_3_VERSION) ? fault_init(state) : -1;
}

static int teardown(void **state)
{
	tls_ctx_fini(&ctx_1_2);
	tls_ctx_fini(&ctx_1_3);
	return fault_fini(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_are_told_and_data_flow),
		cmocka_unit_test(much_arrives_in_order),
		cmocka_unit_test(an_open_one_needs_no_handshake),
		cmocka_unit_test(a_handshake_over_a_socket_needs_one_direction_enabled),
		cmocka_unit_test(a_pair_that_has_data_already_will_do),
		cmocka_unit_test(a_connection_is_told_once_and_after_its_handshake),
		cmocka_unit_test(a_refused_connection_says_so),
		cmocka_unit_test(another_descriptor_is_another_connection),
		cmocka_unit_test(a_refused_certificate_is_an_error),
		cmocka_unit_test(a_peer_that_speaks_no_tls_is_an_error),
		cmocka_unit_test(a_close_notify_is_an_end),
		cmocka_unit_test(the_end_below_is_told_after_a_close_notify),
		cmocka_unit_test(an_end_without_close_notify_is_an_error_unless_allowed),
		cmocka_unit_test(an_end_that_openssl_was_told_to_ignore_is_an_end),
		cmocka_unit_test(a_transport_that_cannot_write_is_still_read),
		cmocka_unit_test(after_a_close_notify_the_other_direction_stays_open),
		cmocka_unit_test(keys_are_renegotiated_with_tls_1_2),
		cmocka_unit_test(what_tls_1_3_sends_afterwards_is_no_data),
		cmocka_unit_test(others_are_no_tls),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, setup, teardown);
}
