/*
 * How requests and connections of evhttp's client end, and when they are tried again: freed and cancelled at each
 * stage and in each callback, by the program that takes the connection over, or by a server that is not there. ASan
 * sees what is used after.
 */
#include "bytes_server.h"

#include <event2/dns.h>
#include <event2/dns_struct.h>

static void free_conn_cb(struct evhttp_request *req, void *arg)
{
	struct server *s = arg;

	(void)req;
	s->done++;
	evhttp_connection_free(s->conn);
	s->conn = NULL;
}

static void free_conn_error_cb(enum evhttp_request_error error, void *arg)
{
	struct server *s = arg;

	(void)error;
	s->errors++;
	evhttp_connection_free(s->conn);
	s->conn = NULL;
}

/* In each callback that there is; ASan sees what is used after. */
static void connection_may_be_freed_in_its_callbacks(void **state)
{
	struct evhttp_request *req;
	struct server s;

	(void)state;
	for (int which = 0; which < 3; which++) {
		server_init(&s);
		req = evhttp_request_new(which == 2 ? NULL : free_conn_cb, &s);
		if (which == 1)
			evhttp_request_set_chunked_cb(req, (void (*)(struct evhttp_request *, void *))free_conn_cb);
		if (which == 2)
			evhttp_request_set_error_cb(req, free_conn_error_cb);
		assert_int_equal(evhttp_make_request(s.conn, req, EVHTTP_REQ_GET, "/"), 0);
		assert_int_equal(evhttp_make_request(s.conn, evhttp_request_new(NULL, NULL), EVHTTP_REQ_GET, "/"), 0);
		run_until_asked(&s, "GET");
		say(&s, which == 2 ? "nonsense\r\n" : OK, which == 2 ? 10 : strlen(OK), SIZE_MAX / 2);
		for (int i = 0; i < TURNS_MAX && s.conn != NULL; i++)
			turn(&s);
		assert_null(s.conn);
		event_base_loop(s.base, EVLOOP_NONBLOCK);
		event_base_free(s.base);
		close(s.fd);
		close(s.listen_fd);
	}
}

/* ---------------------------------------------------------------- requests that end early */

enum how { BY_FREE, BY_CANCEL, BY_OWNING_AND_FREE, BY_CONNECTION, HOWS_NUM };
enum where {
	IN_HEADER_CB,
	IN_CHUNK_CB,
	IN_DONE_CB,
	IN_ERROR_CB,
	IN_CLOSE_CB,			/* after a response that is none */
	IN_ANNOUNCED_CLOSE_CB,		/* after a whole response */
	WHERES_NUM
};

struct ending {
	struct server s;
	struct evhttp_request *req;
	enum how how;
	enum where where;
	unsigned ended, late;		/* late: callbacks after its end */
};

static void end_at(struct ending *e, enum where where)
{
	e->late += e->ended;
	if (where != e->where || e->ended++ > 0)
		return;
	if (e->how == BY_OWNING_AND_FREE)
		evhttp_request_own(e->req);
	if (e->how == BY_CANCEL) {
		evhttp_cancel_request(e->req);
	} else if (e->how == BY_CONNECTION) {
		evhttp_connection_free(e->s.conn);
		e->s.conn = NULL;
	} else {
		evhttp_request_free(e->req);
	}
}

static int ending_header_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	end_at(arg, IN_HEADER_CB);
	return 0;
}

static void ending_chunk_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	end_at(arg, IN_CHUNK_CB);
}

static void ending_done_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	end_at(arg, IN_DONE_CB);
}

static void ending_error_cb(enum evhttp_request_error error, void *arg)
{
	if (error != EVREQ_HTTP_REQUEST_CANCEL)
		end_at(arg, IN_ERROR_CB);
}

static void ending_close_cb(struct evhttp_connection *conn, void *arg)
{
	struct ending *e = arg;

	(void)conn;
	if (e->ended == 0)
		end_at(e, e->where >= IN_CLOSE_CB ? e->where : WHERES_NUM);
}

static void ending_ask(struct ending *e)
{
	e->req = evhttp_request_new(ending_done_cb, e);
	assert_non_null(e->req);
	evhttp_request_set_header_cb(e->req, ending_header_cb);
	evhttp_request_set_chunked_cb(e->req, ending_chunk_cb);
	evhttp_request_set_error_cb(e->req, ending_error_cb);
	assert_int_equal(evhttp_make_request(e->s.conn, e->req, EVHTTP_REQ_GET, "/1"), 0);
}

static const char *ending_answer(enum where where)
{
	if (where == IN_ERROR_CB || where == IN_CLOSE_CB)
		return "nonsense\r\n";
	return where == IN_ANNOUNCED_CLOSE_CB ?
		       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi" :
		       OK;
}

/*
 * Whichever way it went, the connection serves the next request. As from libevent, NULL comes after the error, also
 * for a request that is freed there.
 */
static void request_may_end_in_each_of_its_callbacks(void **state)
{
	struct ending e;

	(void)state;
	for (int i = 0; i < HOWS_NUM * WHERES_NUM; i++) {
		memset(&e, 0, sizeof(e));
		e.how = (enum how)(i / WHERES_NUM);
		e.where = (enum where)(i % WHERES_NUM);
		server_init(&e.s);
		ending_ask(&e);
		run_until_asked(&e.s, "GET /1 HTTP/1.1\r\n\r\n");
		evhttp_connection_set_closecb(e.s.conn, ending_close_cb, &e);
		say(&e.s, ending_answer(e.where), strlen(ending_answer(e.where)), SIZE_MAX / 2);
		for (int turns = 0; turns < TURNS_MAX && e.ended == 0; turns++)
			turn(&e.s);
		assert_int_equal(e.ended, 1);
		if (e.how != BY_CONNECTION)
			assert_int_equal(e.late, e.where == IN_ERROR_CB);
		if (e.s.conn != NULL) {
			ask(&e.s, EVHTTP_REQ_GET, "/2", NULL);
			run_until_asked(&e.s, "GET /2 HTTP/1.1\r\n\r\n");
			answer_and_check(&e.s, 1);
		} else {
			e.s.conn = evhttp_connection_base_new(e.s.base, NULL, "127.0.0.1", 1);
		}
		server_fini(&e.s);
	}
}

/* From outside, at each stage. */
static void request_may_end_at_each_stage(void **state)
{
	static const char *const said[] = {
		NULL,
		"",
		"HTTP/1.1 103 Early\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh",
	};
	struct evhttp_request *queued;
	struct ending e;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(said); i++) {
		const char *text = said[i / 2];

		memset(&e, 0, sizeof(e));
		e.where = WHERES_NUM;
		server_init(&e.s);
		ending_ask(&e);
		queued = ask(&e.s, EVHTTP_REQ_GET, "/queued", NULL);
		ask(&e.s, EVHTTP_REQ_GET, "/2", NULL);
		if (text != NULL) {
			run_until_asked(&e.s, "GET /1 HTTP/1.1\r\n\r\n");
			say(&e.s, text, strlen(text), SIZE_MAX / 2);
			turn(&e.s);
		}
		if (i % 2 == 0) {
			evhttp_request_free(queued);
			evhttp_request_free(e.req);
		} else {
			evhttp_cancel_request(queued);
			evhttp_cancel_request(e.req);
		}
		run_until_asked(&e.s, "GET /2 HTTP/1.1\r\n\r\n");
		assert_null(strstr(e.s.text, "queued"));
		answer_and_check(&e.s, 1);
		server_fini(&e.s);
	}
}

static void ask_once_more_cb(struct evhttp_request *req, void *arg)
{
	struct server *s = arg;

	done_cb(req, s);
	evbuffer_drain(evhttp_request_get_input_buffer(req), SIZE_MAX);
	if (s->done < 3)
		assert_int_equal(evhttp_make_request(s->conn, req, EVHTTP_REQ_GET, s->done == 1 ? "/2" : "/3"), 0);
}

/* As libevent's, if the program owns it; and if it does not, too. */
static void request_may_be_made_again(void **state)
{
	struct evhttp_request *req;
	struct server s;

	(void)state;
	for (int is_owned = 0; is_owned < 2; is_owned++) {
		server_init(&s);
		req = evhttp_request_new(ask_once_more_cb, &s);
		if (is_owned)
			evhttp_request_own(req);
		assert_int_equal(evhttp_make_request(s.conn, req, EVHTTP_REQ_GET, "/1"), 0);
		run_until_asked(&s, "GET /1 HTTP/1.1\r\n\r\n");
		answer_and_check(&s, 1);
		run_until_asked(&s, "GET /2 HTTP/1.1\r\n\r\n");
		say(&s, "HTTP/1.1 103 Early\r\nX: y\r\n\r\n", 28, 1);
		answer_and_check(&s, 2);
		run_until_asked(&s, "GET /3 HTTP/1.1\r\n\r\n");
		answer_and_check(&s, 3);
		server_fini(&s);
		if (is_owned)
			evhttp_request_free(req);
	}
}

/* ---------------------------------------------------------------- retries */

/* Nobody waits for the retry any more: it neither keeps the loop nor delays who comes next. */
static void retry_ends_with_the_requests_that_wait_for_it(void **state)
{
	static const struct timeval late = { 3000, 0 };
	struct evhttp_request *req;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct server s;

	(void)state;
	for (int is_freed = 0; is_freed < 2; is_freed++) {
		server_init(&s);
		assert_int_equal(getsockname(s.listen_fd, (struct sockaddr *)&addr, &len), 0);
		close(s.listen_fd);
		evhttp_connection_set_initial_retry_tv(s.conn, &late);
		evhttp_connection_set_retries(s.conn, 1);
		req = ask(&s, EVHTTP_REQ_GET, "/1", NULL);
		turns(&s, 100);
		assert_int_equal(s.done, 0);
		if (is_freed)
			evhttp_request_free(req);
		else
			evhttp_cancel_request(req);
		assert_int_equal(event_base_dispatch(s.base), 1);
		s.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_int_equal(bind(s.listen_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
		assert_int_equal(listen(s.listen_fd, 8), 0);
		ask(&s, EVHTTP_REQ_GET, "/2", NULL);
		run_until_asked(&s, "GET /2 HTTP/1.1\r\n\r\n");
		answer_and_check(&s, 1);
		server_fini(&s);
	}
}

enum { WAITING = 4 };

struct giving_up {
	struct server s;
	struct sockaddr_in addr;
	struct evhttp_request *reqs[WAITING];
	enum how how;
	int victim;			/* its request is ended in the first callback */
	unsigned called[WAITING];
};

static void open_again(struct giving_up *g)
{
	g->s.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(g->s.listen_fd, (struct sockaddr *)&g->addr, sizeof(g->addr)), 0);
	assert_int_equal(listen(g->s.listen_fd, 8), 0);
}

static void given_up_cb(struct evhttp_request *req, void *arg)
{
	struct giving_up *g = arg;
	int i = 0;

	while (i < WAITING && g->reqs[i] != req)
		i++;
	assert_true(i < WAITING);
	assert_int_equal(evhttp_request_get_response_code(req), 0);
	g->called[i]++;
	if (i != 0)
		return;
	open_again(g);
	if (g->how == BY_OWNING_AND_FREE)
		evhttp_request_own(g->reqs[g->victim]);
	if (g->how == BY_CANCEL)
		evhttp_cancel_request(g->reqs[g->victim]);
	else if (g->how != BY_CONNECTION)
		evhttp_request_free(g->reqs[g->victim]);
	if (g->how == BY_CONNECTION)
		evhttp_connection_free(g->s.conn);
	else
		ask(&g->s, EVHTTP_REQ_GET, "/new", NULL);
}

static void given_up_error_cb(enum evhttp_request_error error, void *arg)
{
	(void)arg;
	fail_msg("error %d", (int)error);
}

/* Where nobody listens, all requests that wait are called back. The others are called though one has ended. */
static void request_may_end_while_those_before_it_are_given_up(void **state)
{
	socklen_t len = sizeof(struct sockaddr_in);
	struct giving_up g;

	(void)state;
	for (int i = 0; i < HOWS_NUM * WAITING; i++) {
		memset(&g, 0, sizeof(g));
		g.how = (enum how)(i / WAITING);
		g.victim = i % WAITING;
		server_init(&g.s);
		assert_int_equal(getsockname(g.s.listen_fd, (struct sockaddr *)&g.addr, &len), 0);
		close(g.s.listen_fd);
		g.s.listen_fd = -1;
		for (int n = 0; n < WAITING; n++) {
			g.reqs[n] = evhttp_request_new(given_up_cb, &g);
			evhttp_request_set_error_cb(g.reqs[n], given_up_error_cb);
			assert_int_equal(evhttp_make_request(g.s.conn, g.reqs[n], EVHTTP_REQ_GET, "/"), 0);
		}
		for (int turns = 0; turns < TURNS_MAX && g.called[0] == 0; turns++)
			event_base_loop(g.s.base, EVLOOP_NONBLOCK);
		for (int n = 0; n < WAITING; n++)
			assert_int_equal(g.called[n], g.how == BY_CONNECTION || n == 0 || n != g.victim);
		if (g.how == BY_CONNECTION) {
			g.s.conn = evhttp_connection_base_new(g.s.base, NULL, "127.0.0.1", 1);
		} else {
			run_until_asked(&g.s, "GET /new HTTP/1.1\r\n\r\n");
			answer_and_check(&g.s, 1);
		}
		server_fini(&g.s);
	}
}

/* ---------------------------------------------------------------- names */

static void hold_question(struct evdns_server_request *question, void *arg)
{
	*(struct evdns_server_request **)arg = question;
}

static int udp_socket(char *address, size_t size)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);

	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	snprintf(address, size, "127.0.0.1:%u", ntohs(addr.sin_port));
	return fd;
}

static void answer_question(struct evdns_server_request *question)
{
	struct in_addr loopback = { htonl(INADDR_LOOPBACK) };

	evdns_server_request_add_a_reply(question, question->questions[0]->name, 1, &loopback, 60);
	assert_int_equal(evdns_server_request_respond(question, 0), 0);
}

/* A client of `s` that knows it by name, and the name server that it asks. */
struct by_name {
	struct evdns_server_port *port;
	struct evdns_base *dns;
	struct evhttp_connection *conn;
};

static struct by_name by_name_new(struct server *s, evdns_request_callback_fn_type hold, void *arg)
{
	struct by_name ret;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	char address[32];

	ret.port = evdns_add_server_port_with_base(s->base, udp_socket(address, sizeof(address)), 0, hold, arg);
	ret.dns = evdns_base_new(s->base, 0);
	assert_int_equal(evdns_base_nameserver_ip_add(ret.dns, address), 0);
	assert_int_equal(getsockname(s->listen_fd, (struct sockaddr *)&addr, &len), 0);
	ret.conn = evhttp_connection_base_new(s->base, ret.dns, "name.test", ntohs(addr.sin_port));
	evhttp_connection_set_family(ret.conn, AF_INET);
	return ret;
}

/* The connection was freed before. */
static void by_name_end(struct by_name *n, struct server *s)
{
	evdns_base_free(n->dns, 0);
	evdns_close_server_port(n->port);
	server_fini(s);
}

/* The name is known too late; nobody wants the connection that is made then. */
static void request_cancelled_before_its_name_is_known_connects_no_more(void **state)
{
	struct evdns_server_request *question = NULL;
	struct evhttp_request *req;
	struct by_name named;
	struct server s;

	(void)state;
	server_init(&s);
	named = by_name_new(&s, hold_question, &question);
	req = evhttp_request_new(done_cb, &s);
	assert_int_equal(evhttp_make_request(named.conn, req, EVHTTP_REQ_GET, "/"), 0);
	while (question == NULL)
		event_base_loop(s.base, EVLOOP_ONCE);
	evhttp_cancel_request(req);
	answer_question(question);
	while (s.fd < 0)
		turn(&s);
	for (int i = 0; i < TURNS_MAX && !s.is_closed; i++)
		turn(&s);
	assert_true(s.is_closed);
	evhttp_connection_free(named.conn);
	by_name_end(&named, &s);
}

enum { QUESTIONS_MAX = 8 };

struct asked {
	unsigned num;
	struct evdns_server_request *questions[QUESTIONS_MAX];
};

static void hold_questions(struct evdns_server_request *question, void *arg)
{
	struct asked *asked = arg;

	assert_true(asked->num < QUESTIONS_MAX);
	asked->questions[asked->num++] = question;
}

static int lowest_free_fd(void)
{
	int fd = dup(STDOUT_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* The name that the first request asked for is no longer of interest, whenever the answers come. */
static void next_request_asks_for_its_name_anew(void **state)
{
	struct evhttp_request *req;
	struct by_name named;
	struct asked asked;
	struct server s;
	int fd;

	(void)state;
	for (int is_freed = 0; is_freed < 2; is_freed++) {
		memset(&asked, 0, sizeof(asked));
		server_init(&s);
		named = by_name_new(&s, hold_questions, &asked);
		req = evhttp_request_new(done_cb, &s);
		assert_int_equal(evhttp_make_request(named.conn, req, EVHTTP_REQ_GET, "/1"), 0);
		while (asked.num == 0)
			event_base_loop(s.base, EVLOOP_ONCE);
		evhttp_cancel_request(req);
		req = evhttp_request_new(done_cb, &s);
		assert_int_equal(evhttp_make_request(named.conn, req, EVHTTP_REQ_GET, "/2"), 0);
		while (asked.num < 2)
			event_base_loop(s.base, EVLOOP_ONCE);
		fd = lowest_free_fd();
		if (is_freed)
			evhttp_connection_free(named.conn);
		answer_question(asked.questions[0]);
		turns(&s, 50);
		/* Nothing is connected yet, nor will be for one that is freed. */
		assert_int_equal(lowest_free_fd(), fd);
		answer_question(asked.questions[1]);
		if (is_freed) {
			turns(&s, 50);
			assert_int_equal(lowest_free_fd(), fd);
		} else {
			run_until_asked(&s, "GET /2 HTTP/1.1\r\n\r\n");
			answer_and_check(&s, 1);
			assert_int_equal(accept(s.listen_fd, NULL, NULL), -1);
			evhttp_connection_free(named.conn);
		}
		by_name_end(&named, &s);
	}
}

/* ---------------------------------------------------------------- other protocols */

struct tunnel {
	struct server s;
	char got[64];
};

static void tunnel_read_cb(struct bufferevent *bev, void *arg)
{
	struct tunnel *t = arg;
	size_t at = strlen(t->got);
	size_t len = bufferevent_read(bev, t->got + at, sizeof(t->got) - 1 - at);

	t->got[at + len] = '\0';
}

static void tunnel_done_cb(struct evhttp_request *req, void *arg)
{
	struct tunnel *t = arg;
	struct bufferevent *bev = evhttp_connection_get_bufferevent(t->s.conn);

	t->s.done++;
	t->s.code = evhttp_request_get_response_code(req);
	bufferevent_setcb(bev, tunnel_read_cb, NULL, NULL, t);
	bufferevent_write(bev, "ping", 4);
}

/* What comes with the head is the program's, too. */
static void tunnel_is_the_programs(void **state)
{
	static const struct {
		enum evhttp_cmd_type type;
		const char *head;
		int code;
	} rows[] = {
		{ EVHTTP_REQ_GET, "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhel", 101 },
		{ EVHTTP_REQ_CONNECT, "HTTP/1.1 200 OK\r\n\r\nhel", 200 },
		{ EVHTTP_REQ_CONNECT, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhel", 200 },
	};
	struct evhttp_request *req;
	struct tunnel t;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		memset(&t, 0, sizeof(t));
		server_init(&t.s);
		req = evhttp_request_new(tunnel_done_cb, &t);
		assert_int_equal(evhttp_make_request(t.s.conn, req, rows[i].type, "h:1"), 0);
		run_until_asked(&t.s, "\r\n\r\n");
		say(&t.s, rows[i].head, strlen(rows[i].head), SIZE_MAX / 2);
		run_until_asked(&t.s, "ping");
		assert_int_equal(t.s.code, rows[i].code);
		say(&t.s, "lo", 2, 1);
		for (int n = 0; n < TURNS_MAX && strlen(t.got) < 5; n++)
			turn(&t.s);
		assert_string_equal(t.got, "hello");
		assert_int_equal(t.s.closes, 0);
		server_fini(&t.s);
	}
}

static void owned_request_outlives_its_connection(void **state)
{
	struct evhttp_request *req;
	struct server s;

	(void)state;
	server_init(&s);
	req = ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	evhttp_request_own(req);
	assert_int_equal(evhttp_request_is_owned(req), 1);
	run_until_asked(&s, "/1");
	say(&s, OK, strlen(OK), 1);
	run_until_done(&s, 1);
	server_fini(&s);
	assert_int_equal(evhttp_request_get_response_code(req), 200);
	assert_null(evhttp_request_get_connection(req));
	evhttp_request_free(req);
}

static void refused_connection_is_tried_again_then_given_up(void **state)
{
	static const struct timeval soon = { 0, 1 };
	struct server s;

	(void)state;
	server_init(&s);
	close(s.listen_fd);
	s.listen_fd = -1;
	evhttp_connection_set_initial_retry_tv(s.conn, &soon);
	evhttp_connection_set_retries(s.conn, 3);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	ask(&s, EVHTTP_REQ_GET, "/2", NULL);
	event_base_dispatch(s.base);
	/* A response without a code, as nothing went wrong with the requests. */
	assert_int_equal(s.done, 2);
	assert_int_equal(s.errors, 0);
	assert_int_equal(s.code, 0);
	server_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection_may_be_freed_in_its_callbacks),
		cmocka_unit_test(request_may_end_in_each_of_its_callbacks),
		cmocka_unit_test(request_may_end_at_each_stage),
		cmocka_unit_test(request_may_be_made_again),
		cmocka_unit_test(retry_ends_with_the_requests_that_wait_for_it),
		cmocka_unit_test(request_may_end_while_those_before_it_are_given_up),
		cmocka_unit_test(request_cancelled_before_its_name_is_known_connects_no_more),
		cmocka_unit_test(next_request_asks_for_its_name_anew),
		cmocka_unit_test(tunnel_is_the_programs),
		cmocka_unit_test(owned_request_outlives_its_connection),
		cmocka_unit_test(refused_connection_is_tried_again_then_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
