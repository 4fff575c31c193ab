/*
 * Of clean.c: the scenarios with bufferevents, HTTP and DNS.
 */
#include "clean.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/http.h>
#include <event2/listener.h>

/* ---------------------------------------------------------------- bevs: a listener, a color for each connection */

struct session {
	struct bufferevent *bev;
	size_t bytes;
	char *name;
};

static unsigned sessions_num;		/* of color 77 */

static void count_session(void *arg)
{
	struct session *s = arg;

	sessions_num++;
	free(s->name);
	free(s);
	note_done();
}

static void on_session_read(struct bufferevent *bev, void *arg)
{
	struct session *s = arg;
	char buf[512];
	size_t len;

	while ((len = bufferevent_read(bev, buf, sizeof(buf))) > 0) {
		s->bytes += len;
		s->name[0] = buf[0];
		CHECK(bufferevent_write(bev, buf, len) == 0);
	}
}

static void on_session_end(struct bufferevent *bev, short what, void *arg)
{
	CHECK((what & BEV_EVENT_EOF) != 0);
	bufferevent_free(bev);
	post(of[0].base, 77, count_session, arg);
}

static void on_accept(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct session *s = must(calloc(1, sizeof(*s)));
	struct event_base *base = evconnlistener_get_base(lev);
	ev_uint32_t color;

	(void)addr;
	(void)len;
	(void)arg;
	s->name = must(strdup("name"));
	CHECK(event_base_get_running_color(base, &color) == 0);
	s->bev = must(bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE));
	CHECK(bufferevent_set_color(s->bev, color) == 0);
	bufferevent_setcb(s->bev, on_session_read, NULL, on_session_end, s);
	CHECK(bufferevent_enable(s->bev, EV_READ | EV_WRITE) == 0);
}

static void *echo_client(void *arg)
{
	char sent[3000], got[3000];
	unsigned i;
	int fd;

	memset(sent, 'x', sizeof(sent));
	for (i = 0; i < 20; i++) {
		fd = connect_to(arg);
		CHECK(write(fd, sent, sizeof(sent)) == (ssize_t)sizeof(sent));
		CHECK(recv(fd, got, sizeof(got), MSG_WAITALL) == (ssize_t)sizeof(got));
		CHECK(memcmp(sent, got, sizeof(got)) == 0);
		close(fd);
	}
	return NULL;
}

/* Two bufferevents of a pair in two colors: one writes, the other one counts. */
static void on_pair_read(struct bufferevent *bev, void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	struct evbuffer *in = bufferevent_get_input(bev);

	of[i].sum += evbuffer_get_length(in);
	evbuffer_drain(in, evbuffer_get_length(in));
	if (++of[i].runs == ROUNDS / 4)
		note_done();
	if (of[i].runs <= ROUNDS / 4)
		CHECK(bufferevent_write(bev, "0123456789", 10) == 0);
}

void bevs(void)
{
	struct event_base *base = begin(WORKERS);
	struct evconnlistener *lev;
	pthread_t threads[THREADS];
	struct bufferevent *pair[2];
	struct sockaddr_in at;
	unsigned i;

	lev = must(listen_any(base, on_accept, &at));
	CHECK(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == 0);
	CHECK(bufferevent_pair_new(base, BEV_OPT_THREADSAFE, pair) == 0);
	for (i = 0; i < 2; i++) {
		CHECK(bufferevent_set_color(pair[i], i + 1) == 0);
		bufferevent_setcb(pair[i], on_pair_read, NULL, NULL, (void *)(uintptr_t)i);
		CHECK(bufferevent_enable(pair[i], EV_READ | EV_WRITE) == 0);
	}
	CHECK(bufferevent_write(pair[0], "0123456789", 10) == 0);
	tasks = THREADS * 20 + 2;
	for (i = 0; i < THREADS; i++)
		threads[i] = thread_start(echo_client, &at);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	CHECK(are_all_done() && sessions_num == THREADS * 20);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	evconnlistener_free(lev);
	event_base_free(base);
}

/* ---------------------------------------------------------------- http: handlers in colors, replies from elsewhere */

static struct evhttp *http;
static unsigned long visits;		/* of color 88 */

struct visit {
	struct evhttp_request *req;
	char text[32];
};

static void reply(struct visit *v)
{
	struct evbuffer *buf = must(evbuffer_new());

	evbuffer_add_printf(buf, "hello %s\n", v->text);
	evhttp_send_reply(v->req, 200, "OK", buf);
	evbuffer_free(buf);
	free(v);
}

static void reply_in_color(void *arg)
{
	visits++;
	reply(arg);
	note_done();
}

static void on_request(struct evhttp_request *req, void *arg)
{
	struct visit *v = must(calloc(1, sizeof(*v)));

	(void)arg;
	v->req = req;
	snprintf(v->text, sizeof(v->text), "%.20s", evhttp_request_get_uri(req));
	if (v->text[1] == 'a') {
		post(of[0].base, 88, reply_in_color, v);
	} else {
		reply(v);
		note_done();
	}
}

static void *http_client(void *arg)
{
	static const char *const asks[] = {
		"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /b HTTP/1.1\r\nHost: x\r\n\r\n",
	};
	char line[512];
	unsigned i, j;
	FILE *f;

	for (i = 0; i < 10; i++) {
		f = must(fdopen(connect_to(arg), "r+"));
		for (j = 0; j < 6; j++) {
			CHECK(fputs(asks[j % 2], f) >= 0 && fflush(f) == 0);
			do
				CHECK(fgets(line, sizeof(line), f) != NULL);
			while (strncmp(line, "hello", 5) != 0);
		}
		fclose(f);
	}
	return NULL;
}

void https(void)
{
	struct event_base *base = begin(WORKERS);
	pthread_t threads[THREADS];
	struct sockaddr_in at;
	unsigned i;

	http = must(evhttp_new(base));
	CHECK(evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == 0);
	evhttp_set_gencb(http, on_request, NULL);
	at = address_of(evhttp_bound_socket_get_fd(must(evhttp_bind_socket_with_handle(http, "127.0.0.1", 0))));
	tasks = THREADS * 60;
	for (i = 0; i < THREADS; i++)
		threads[i] = thread_start(http_client, &at);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	CHECK(visits == THREADS * 30);
	/* The last replies are on their way. */
	CHECK(event_base_loopexit(base, &(struct timeval){ 0, 100000 }) == 0);
	CHECK(event_base_loop(base, 0) == 0);
	for (i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	evhttp_free(http);
	event_base_free(base);
}

/* ---------------------------------------------------------------- locked: one bufferevent for all, and a group */

static struct bufferevent *everyones;
static unsigned long posted;		/* of the bufferevent's color */

static void on_bev_post(struct bufferevent *bev, void *arg)
{
	unsigned *left = arg;

	CHECK(bev == everyones);
	posted += *left;
	free(left);
	note_done();
}

static void *post_to_everyones(void *arg)
{
	unsigned i, *n;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		n = must(malloc(sizeof(*n)));
		*n = 1;
		CHECK(bufferevent_post(everyones, on_bev_post, n) == 0);
	}
	return NULL;
}

/* A color that nobody else has, and the post that ends the object, which was allocated with it. */
struct object {
	ev_uint32_t color;
	struct event_post *end;
	unsigned *data;
};

static void object_end(void *arg)
{
	struct object *o = arg;

	CHECK(*o->data == 7 && event_color_release(of[0].base, o->color) == 0);
	free(o->data);
	free(o);
	note_done();
}

static void object_use(void *arg)
{
	struct object *o = arg;

	*o->data += 3;
	CHECK(event_base_post_reserved(o->end, object_end, o) == 0);
}

static void *make_objects(void *arg)
{
	struct object *o;
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		o = must(calloc(1, sizeof(*o)));
		o->data = must(calloc(1, sizeof(*o->data)));
		*o->data = 4;
		o->color = event_color_new(arg);
		CHECK(o->color != 0);
		o->end = must(event_base_post_reserve(arg, o->color));
		post(arg, o->color, object_use, o);
	}
	return NULL;
}

static void on_group_read(struct bufferevent *bev, void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	struct evbuffer *in = bufferevent_get_input(bev);

	of[i].sum += evbuffer_get_length(in);
	evbuffer_drain(in, evbuffer_get_length(in));
	if (of[i].sum == 20000)
		note_done();
}

void lockeds(void)
{
	static const struct timeval tick = { 0, 1000 };
	struct ev_token_bucket_cfg *cfg = must(ev_token_bucket_cfg_new(5000, 5000, 5000, 5000, &tick));
	struct event_base *base = begin(WORKERS);
	struct bufferevent_rate_limit_group *group;
	struct bufferevent *bevs[4];
	pthread_t threads[2 * THREADS];
	static char bytes[20000];
	unsigned i;
	int fds[2];

	post(base, 1, nothing, NULL);
	CHECK(event_base_loop(base, 0) == 1);
	group = must(bufferevent_rate_limit_group_new(base, cfg));	/* its timer keeps each loop */
	everyones = must(bufferevent_socket_new(base, -1, BEV_OPT_THREADSAFE));
	CHECK(bufferevent_set_color(everyones, 6) == 0);
	for (i = 0; i < 4; i++) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
		CHECK(write(fds[1], bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
		close(fds[1]);
		CHECK(evutil_make_socket_nonblocking(fds[0]) == 0);
		bevs[i] = must(bufferevent_socket_new(base, fds[0], BEV_OPT_CLOSE_ON_FREE));
		CHECK(bufferevent_set_color(bevs[i], i + 10) == 0);
		CHECK(bufferevent_add_to_rate_limit_group(bevs[i], group) == 0);
		bufferevent_setcb(bevs[i], on_group_read, NULL, NULL, (void *)(uintptr_t)i);
		CHECK(bufferevent_enable(bevs[i], EV_READ) == 0);
	}
	tasks = 2 * THREADS * ROUNDS + 4;
	for (i = 0; i < 2 * THREADS; i++)
		threads[i] = thread_start(i % 2 == 0 ? post_to_everyones : make_objects, base);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < 2 * THREADS; i++)
		thread_join(threads[i]);
	CHECK(are_all_done() && posted == THREADS * ROUNDS);
	for (i = 0; i < 4; i++)
		bufferevent_free(bevs[i]);
	bufferevent_free(everyones);
	CHECK(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
	bufferevent_rate_limit_group_free(group);
	event_base_free(base);
	ev_token_bucket_cfg_free(cfg);
}

/* ---------------------------------------------------------------- dns: questions and answers in colors */

static struct evdns_base *dns;

struct lookup {
	unsigned color, left;
};

static void ask(struct lookup *l);

static void on_answer(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct lookup *l = arg;

	(void)type;
	(void)ttl;
	(void)addresses;
	CHECK(result == DNS_ERR_NONE && count == 1);
	of[l->color].runs++;
	if (l->left-- != 0) {
		ask(l);
	} else {
		free(l);
		note_done();
	}
}

static void ask(struct lookup *l)
{
	char name[32];

	snprintf(name, sizeof(name), "n%u.c%u.test", l->left, l->color);
	must(evdns_base_resolve_ipv4(dns, name, DNS_QUERY_NO_SEARCH, on_answer, l));
}

static void ask_first(void *arg)
{
	ask(arg);
}

static void on_question(struct evdns_server_request *req, void *arg)
{
	static const struct in_addr address = { .s_addr = 0x0100007f };
	int i;

	(void)arg;
	for (i = 0; i < req->nquestions; i++)
		CHECK(evdns_server_request_add_a_reply(req, req->questions[i]->name, 1, &address, 1) == 0);
	CHECK(evdns_server_request_respond(req, 0) == 0);
}

void dnss(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct event_base *base = begin(WORKERS);
	struct evdns_server_port *port;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct lookup *l;
	unsigned i;

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(evutil_make_socket_nonblocking(fd) == 0);
	at = address_of(fd);
	port = must(evdns_add_server_port_with_base(base, fd, 0, on_question, NULL));
	dns = must(evdns_base_new(base, 0));
	CHECK(evdns_base_nameserver_sockaddr_add(dns, (struct sockaddr *)&at, sizeof(at), 0) == 0);
	tasks = COLORS;
	for (i = 0; i < COLORS; i++) {
		l = must(calloc(1, sizeof(*l)));
		l->color = i;
		l->left = 20;
		post(base, i + 1, ask_first, l);
	}
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < COLORS; i++)
		CHECK(of[i].runs == 21);
	evdns_base_free(dns, 0);
	evdns_close_server_port(port);
	event_base_free(base);
	close(fd);
}

