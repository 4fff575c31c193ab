/* TLS bufferevents: what each end is told of handshakes, data, ends, renegotiation and misuse. */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>

#include "../tls_ctx.h"

enum { TURNS = 60 };

struct end {
	const char *name;
	struct bufferevent *bev;
	SSL *ssl;
	int fd;
	bool is_over;			/* a filter's end was told; stock tells some of them twice */
};

static struct event_base *base;
static struct tls_ctx ctx;
static struct end client, server;
static bool is_filter, is_tcp;
static int options;

static const char *event_str(int what)
{
	static char buf[64];

	snprintf(buf, sizeof(buf), "%s%s%s%s%s%s", what & BEV_EVENT_READING ? "READING " : "",
		 what & BEV_EVENT_WRITING ? "WRITING " : "", what & BEV_EVENT_EOF ? "EOF" : "",
		 what & BEV_EVENT_ERROR ? "ERROR" : "", what & BEV_EVENT_TIMEOUT ? "TIMEOUT" : "",
		 what & BEV_EVENT_CONNECTED ? "CONNECTED" : "");
	return buf;
}

/* What one end is told is in an order; between the two ends there is none, and so what the server is told is kept. */
static char kept[4096];

static void tell(const struct end *e, const char *text)
{
	if (e == &client)
		say("  client: %s", text);
	else
		snprintf(kept + strlen(kept), sizeof(kept) - strlen(kept), "  server: %s\n", text);
}

static const char *reason_str(unsigned long err)
{
	static char text[64];

	if (err == 0)
		return "";
	if (ERR_GET_LIB(err) != 0)
		return ERR_reason_error_string(err);
	snprintf(text, sizeof(text), "SSL_get_error %lu", err);
	return text;
}

static void note_event(struct bufferevent *bev, short what, void *arg)
{
	unsigned long err = bufferevent_get_openssl_error(bev);
	struct end *e = arg;
	char text[256];

	if (e->is_over)
		return;
	e->is_over = is_filter && (what & BEV_EVENT_CONNECTED) == 0;
	snprintf(text, sizeof(text), "%s (enabled %s)%s%s", event_str(what), what_str(bufferevent_get_enabled(bev)),
		 err != 0 ? ", " : "", reason_str(err));
	tell(e, text);
}

/* With all that came. Reads of several records may be told at once. */
static void note_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	(void)arg;
}

static void turns(void)
{
	int i;

	for (i = 0; i < TURNS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	printf("%s", kept);
	kept[0] = '\0';
}

static bool has_input(const struct end *e)
{
	return evbuffer_get_length(bufferevent_get_input(e->bev)) != 0;
}

static bool is_connected(const struct end *e)
{
	return SSL_is_init_finished(e->ssl) != 0;
}

/* Over TCP a busy kernel delivers later. */
static void turns_until(bool (*is_so)(const struct end *e), const struct end *e)
{
	enum { TRIES = 200000 };
	int i;

	for (i = 0; i < TRIES && !is_so(e); i++) {
		sched_yield();
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
}

static void end_open(struct end *e, enum bufferevent_ssl_state state)
{
	struct bufferevent *below;

	if (is_filter) {
		below = bufferevent_socket_new(base, e->fd, options);
		e->bev = bufferevent_openssl_filter_new(base, below, e->ssl, state, options);
		say("  %s: underlying %s", e->name, bufferevent_get_underlying(e->bev) == below ? "same" : "other");
	} else {
		e->bev = bufferevent_openssl_socket_new(base, e->fd, e->ssl, state, options);
		say("  %s: underlying %s", e->name, bufferevent_get_underlying(e->bev) == NULL ? "none" : "some");
	}
	must(e->bev != NULL, "make a bufferevent");
	say("  %s: enabled %s, ssl %s, fd %s, dirty %d, error %lu", e->name, what_str(bufferevent_get_enabled(e->bev)),
	    bufferevent_openssl_get_ssl(e->bev) == e->ssl ? "same" : "other",
	    bufferevent_getfd(e->bev) == e->fd ? "same" : "other",
	    bufferevent_openssl_get_allow_dirty_shutdown(e->bev), bufferevent_get_openssl_error(e->bev));
	bufferevent_setcb(e->bev, note_read, NULL, note_event, e);
	bufferevent_enable(e->bev, EV_READ | EV_WRITE);
}

static void make(int version)
{
	int fd[2];

	must(tls_ctx_init(&ctx, version), "make contexts");
	base = base_new();
	pair_new(fd);
	client = (struct end){ "client", NULL, SSL_new(ctx.client), fd[0], false };
	server = (struct end){ "server", NULL, SSL_new(ctx.server), fd[1], false };
}

static void both_open(int version)
{
	make(version);
	end_open(&client, BUFFEREVENT_SSL_CONNECTING);
	end_open(&server, BUFFEREVENT_SSL_ACCEPTING);
}

static void end_close(struct end *e)
{
	if (e->bev != NULL)
		bufferevent_free(e->bev);
	e->bev = NULL;
	turns();
}

static void unmake(void)
{
	end_close(&client);
	end_close(&server);
	event_base_free(base);
	tls_ctx_fini(&ctx);
}

static void send_text(struct end *from, struct end *to, const char *text)
{
	char got[64] = "";
	int r = bufferevent_write(from->bev, text, strlen(text));

	turns();
	if (is_tcp)
		turns_until(has_input, to);
	bufferevent_read(to->bev, got, sizeof(got) - 1);
	say("  %s writes <%s>: %d, %s reads <%s>, left %zu", from->name, text, r, to->name, got,
	    evbuffer_get_length(bufferevent_get_output(from->bev)));
}

/* ---------------------------------------------------------------- scenes */

static void data(int version)
{
	section("data");
	both_open(version);
	turns();
	send_text(&client, &server, "hello");
	send_text(&server, &client, "hello yourself");
	SSL_shutdown(server.ssl);
	turns();
	send_text(&client, &server, "after the end");
	end_close(&server);
	say("  over: write %d", bufferevent_write(client.bev, "x", 1));
	turns();
	unmake();
}

/* Both ends give and take more than a record and than their sockets hold. */
static void much(int version)
{
	static char block[300000];
	size_t len;

	section("much");
	both_open(version);
	bufferevent_write(client.bev, block, sizeof(block));
	bufferevent_write(server.bev, block, sizeof(block));
	do {
		len = evbuffer_get_length(bufferevent_get_input(client.bev)) +
		      evbuffer_get_length(bufferevent_get_input(server.bev));
		turns();
	} while (len < 2 * sizeof(block));
	say("  client got %zu", evbuffer_get_length(bufferevent_get_input(client.bev)));
	say("  server got %zu", evbuffer_get_length(bufferevent_get_input(server.bev)));
	unmake();
}

static void cut(int version, int is_allowed)
{
	section(is_allowed ? "cut off, allowed" : "cut off");
	both_open(version);
	bufferevent_openssl_set_allow_dirty_shutdown(client.bev, is_allowed);
	say("  dirty %d", bufferevent_openssl_get_allow_dirty_shutdown(client.bev));
	turns();
	send_text(&server, &client, "last");
	end_close(&server);
	unmake();
}

static void errors_left(const struct end *e)
{
	unsigned long err;

	while ((err = bufferevent_get_openssl_error(e->bev)) != 0)
		say("  %s: also library %d, reason %d", e->name, ERR_GET_LIB(err), ERR_GET_REASON(err));
}

/* What the client has not read is lost as its socket ends: the server is told of a reset. */
static void reset(int version, int is_allowed)
{
	int null = open("/dev/null", O_RDWR);

	section(is_allowed ? "reset, allowed" : "reset");
	both_open(version);
	bufferevent_openssl_set_allow_dirty_shutdown(server.bev, is_allowed);
	turns();
	bufferevent_disable(client.bev, EV_READ);
	bufferevent_write(server.bev, "unread", 6);
	turns();
	must(dup2(null, client.fd) == client.fd, "dup2");
	errno = 0;
	turns();
	errors_left(&server);
	unmake();
	close(null);
}

/* No record of TLS comes, but other bytes. */
static void garbage(int version)
{
	section("garbage");
	both_open(version);
	turns();
	must(write(client.fd, "these are no records", 20) == 20, "write");
	turns();
	errors_left(&server);
	unmake();
}

static void refused(int version)
{
	section("certificate refused");
	both_open(version);
	SSL_set_verify(client.ssl, SSL_VERIFY_PEER, NULL);
	turns();
	if (!is_filter) {
		errors_left(&client);
		errors_left(&server);
	}
	unmake();
}

static void no_tls(int version)
{
	static const char *const texts[] = { "GET / HTTP/1.0\r\n\r\n", "anything else, long enough to be a head" };
	size_t i;

	section("no TLS");
	for (i = 0; i < 2; i++) {
		make(version);
		end_open(&server, BUFFEREVENT_SSL_ACCEPTING);
		must(write(client.fd, texts[i], strlen(texts[i])) > 0, "write");
		turns();
		close(client.fd);
		SSL_free(client.ssl);
		unmake();
	}
}

static void opened(int version)
{
	int i;

	section("open");
	make(version);
	SSL_set_fd(client.ssl, client.fd);
	SSL_set_fd(server.ssl, server.fd);
	SSL_set_connect_state(client.ssl);
	SSL_set_accept_state(server.ssl);
	for (i = 0; i < 10; i++) {
		SSL_do_handshake(client.ssl);
		SSL_do_handshake(server.ssl);
	}
	end_open(&client, BUFFEREVENT_SSL_OPEN);
	end_open(&server, BUFFEREVENT_SSL_OPEN);
	turns();
	send_text(&client, &server, "hello");
	send_text(&server, &client, "hello yourself");
	unmake();
}

static void renegotiated(int version)
{
	if (version != TLS1_2_VERSION)
		return;
	section("renegotiation");
	both_open(version);
	turns();
	SSL_set_options(server.ssl, SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
	say("  client: %d", bufferevent_ssl_renegotiate(client.bev));
	turns();
	send_text(&client, &server, "new keys");
	say("  renegotiations %ld", SSL_total_renegotiations(client.ssl));
	send_text(&client, &server, "hello");
	send_text(&server, &client, "hello yourself");
	unmake();
}

static void later_enabled(int version)
{
	section("enabled later");
	both_open(version);
	bufferevent_disable(client.bev, EV_READ | EV_WRITE);
	bufferevent_disable(server.bev, EV_READ | EV_WRITE);
	turns();
	bufferevent_enable(client.bev, EV_READ | EV_WRITE);
	bufferevent_enable(server.bev, EV_READ | EV_WRITE);
	turns();
	bufferevent_disable(server.bev, EV_READ);
	send_text(&client, &server, "unread");
	bufferevent_enable(server.bev, EV_READ);
	turns();
	say("  server has %zu", evbuffer_get_length(bufferevent_get_input(server.bev)));
	unmake();
}

/* The handshake follows though the program has disabled both directions. */
static void connected_while_disabled(int version)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	section("connected while it is disabled");
	is_tcp = true;
	make(version);
	close(client.fd);
	close(server.fd);
	must(bind(fd, (struct sockaddr *)&sin, len) == 0 && listen(fd, 5) == 0, "listen");
	getsockname(fd, (struct sockaddr *)&sin, &len);
	client.fd = -1;
	end_open(&client, BUFFEREVENT_SSL_CONNECTING);
	bufferevent_disable(client.bev, EV_READ | EV_WRITE);
	say("  connect %d", bufferevent_socket_connect(client.bev, (struct sockaddr *)&sin, sizeof(sin)));
	turns();
	server.fd = accept(fd, NULL, NULL);
	evutil_make_socket_nonblocking(server.fd);
	end_open(&server, BUFFEREVENT_SSL_ACCEPTING);
	turns_until(is_connected, &client);
	turns_until(is_connected, &server);
	turns();
	say("  client: enabled %s", what_str(bufferevent_get_enabled(client.bev)));
	bufferevent_enable(client.bev, EV_READ | EV_WRITE);
	send_text(&client, &server, "hello");
	send_text(&server, &client, "hello yourself");
	unmake();
	close(fd);
	is_tcp = false;
}

static void other_kinds(void)
{
	struct bufferevent *bev;

	section("no TLS bufferevent");
	base = base_new();
	bev = bufferevent_socket_new(base, -1, 0);
	say("ssl %s, dirty %d, error %lu, renegotiate %d", bufferevent_openssl_get_ssl(bev) == NULL ? "none" : "some",
	    bufferevent_openssl_get_allow_dirty_shutdown(bev), bufferevent_get_openssl_error(bev),
	    bufferevent_ssl_renegotiate(bev));
	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	bufferevent_free(bev);
	event_base_free(base);
}

static void misfit(void)
{
	section("a descriptor that is not the SSL's");
	make(TLS1_3_VERSION);
	SSL_set_fd(client.ssl, client.fd);
	client.bev = bufferevent_openssl_socket_new(base, server.fd, client.ssl, BUFFEREVENT_SSL_CONNECTING, 0);
	say("%s", client.bev == NULL ? "refused" : "taken");
	SSL_free(client.ssl);
	SSL_free(server.ssl);
	close(client.fd);
	close(server.fd);
	unmake();
}

static void note_timeout(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	say("  silent peer: %s", event_str(what));
	*(bool *)arg = true;
}

/* A peer that does not begin its handshake. */
static void silent(int version)
{
	struct timeval soon = { 0, 10000 };
	bool is_told = false;

	section("a handshake's timeout");
	make(version);
	server.bev = bufferevent_openssl_socket_new(base, server.fd, server.ssl, BUFFEREVENT_SSL_ACCEPTING,
						    BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(server.bev, NULL, NULL, note_timeout, &is_told);
	bufferevent_set_timeouts(server.bev, &soon, NULL);
	bufferevent_enable(server.bev, EV_READ | EV_WRITE);
	while (!is_told)
		event_base_loop(base, EVLOOP_ONCE);
	SSL_free(client.ssl);
	close(client.fd);
	unmake();
}

static void all(int version)
{
	if (!is_filter)
		silent(version);
	data(version);
	much(version);
	cut(version, 0);
	refused(version);
	if (!is_filter || (options & BEV_OPT_DEFER_CALLBACKS) == 0)
		no_tls(version);
	opened(version);
	if (is_filter) {
		cut(version, 1);
	} else {
		renegotiated(version);
		later_enabled(version);
		reset(version, 0);
		reset(version, 1);
		garbage(version);
		connected_while_disabled(version);
	}
}

int main(void)
{
	static const int more[] = { 0, BEV_OPT_DEFER_CALLBACKS };
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < 4; i++) {
		is_filter = i % 2 != 0;
		options = BEV_OPT_CLOSE_ON_FREE | more[i / 2];
		say("---- %s, options %d, TLS 1.2", is_filter ? "filter" : "socket", options);
		all(TLS1_2_VERSION);
		say("---- %s, options %d, TLS 1.3", is_filter ? "filter" : "socket", options);
		all(TLS1_3_VERSION);
	}
	other_kinds();
	misfit();
	return 0;
}
