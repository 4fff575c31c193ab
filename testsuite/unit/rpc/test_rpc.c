/*
 * evrpc, both ends in one base: messages, hooks that end or pause requests, pools that are freed meanwhile,
 * timeouts by a clock of ours, and each allocation and system call failing.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/rpc.h>
#include <event2/rpc_struct.h>

#include "core/os/clock.h"
#include "fault.h"

enum { TURNS = 80, WANTED_MAX = 4 };

/* ---------------------------------------------------------------- messages: some bytes of text */

struct text {
	char s[16];
};

static int texts;			/* that are not freed */

static void *text_new(void *arg)
{
	(void)arg;
	texts++;
	return calloc(1, sizeof(struct text));
}

static void text_free(void *msg)
{
	texts--;
	free(msg);
}

static void text_clear(void *msg)
{
	((struct text *)msg)->s[0] = '\0';
}

static int text_complete(void *msg)
{
	return strcmp(((struct text *)msg)->s, "partial") == 0 ? -1 : 0;
}

static void text_marshal(struct evbuffer *buf, void *msg)
{
	(void)evbuffer_add(buf, ((struct text *)msg)->s, sizeof(((struct text *)msg)->s));
}

static int text_unmarshal(void *msg, struct evbuffer *buf)
{
	struct text *t = msg;

	return evbuffer_remove(buf, t->s, sizeof(t->s)) == (int)sizeof(t->s) && t->s[0] != '?' ? 0 : -1;
}

/* ---------------------------------------------------------------- the two ends */

struct asked {
	struct text request, reply;
	unsigned told;
	int error;
};

struct scene {
	struct event_base *base;
	struct evhttp *http;
	struct evrpc_base *rpcs;
	struct evrpc_pool *pool;
	struct evhttp_connection *conn;
	struct evrpc_req_generic *held;
	ev_uint16_t port;
	unsigned asked_num;
	struct asked asked[WANTED_MAX];
};

/* "hold" is answered later, anything else with what it was. */
static void serve(struct evrpc_req_generic *req, void *arg)
{
	struct text *q = evrpc_get_request(req), *a = evrpc_get_reply(req);
	struct scene *s = arg;

	*a = *q;
	if (strcmp(q->s, "hold") == 0)
		s->held = req;
	else
		evrpc_request_done(req);
}

static void answered(struct evrpc_status *status, void *request, void *reply, void *arg)
{
	struct asked *a = arg;

	assert_ptr_equal(request, &a->request);
	assert_ptr_equal(reply, &a->reply);
	a->told++;
	a->error = status->error;
}

static int rpc_register(struct scene *s, const char *name)
{
	return evrpc_register_generic(s->rpcs, name, serve, s, text_new, NULL, text_free, text_unmarshal, text_new,
				      NULL, text_free, text_complete, text_marshal);
}

static int server_open(struct scene *s)
{
	struct evhttp_bound_socket *bound;
	struct sockaddr_in addr;

	s->http = evhttp_new(s->base);
	if (s->http == NULL)
		return -1;
	s->rpcs = evrpc_init(s->http);
	if (s->rpcs == NULL || rpc_register(s, "echo") < 0)
		return -1;
	bound = evhttp_bind_socket_with_handle(s->http, "127.0.0.1", 0);
	if (bound == NULL || getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&addr,
					 &(socklen_t){ sizeof(addr) }) < 0)
		return -1;
	s->port = ntohs(addr.sin_port);
	return 0;
}

static int client_open(struct scene *s)
{
	s->pool = evrpc_pool_new(s->base);
	if (s->pool == NULL)
		return -1;
	s->conn = evhttp_connection_base_new(NULL, NULL, "127.0.0.1", s->port);
	if (s->conn == NULL)
		return -1;
	evrpc_pool_add_connection(s->pool, s->conn);
	return 0;
}

/* Whether the pool had the memory to take the connection, it cannot say: it gives it back first. */
static void pool_close(struct scene *s)
{
	if (s->pool != NULL && s->conn != NULL)
		evrpc_pool_remove_connection(s->pool, s->conn);
	if (s->pool != NULL)
		evrpc_pool_free(s->pool);
	if (s->conn != NULL)
		evhttp_connection_free(s->conn);
	s->pool = NULL;
	s->conn = NULL;
}

static void scene_close(struct scene *s)
{
	pool_close(s);
	if (s->rpcs != NULL)
		evrpc_free(s->rpcs);
	if (s->http != NULL)
		evhttp_free(s->http);
	if (s->base != NULL)
		event_base_free(s->base);
	s->base = NULL;
}

/* -1: what there is of it must be closed. */
static int scene_open(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->base = event_base_new();
	return s->base == NULL || server_open(s) < 0 ? -1 : client_open(s);
}

static int ask(struct scene *s, const char *what, const char *name)
{
	struct asked *a = &s->asked[s->asked_num++];

	assert_true(s->asked_num <= WANTED_MAX);
	*a = (struct asked){ .error = -1, .reply = { "before" } };
	strcpy(a->request.s, what);
	return evrpc_send_request_generic(s->pool, &a->request, &a->reply, answered, a, name, text_marshal, text_clear,
					  text_unmarshal);
}

static void turns(struct scene *s)
{
	int i;

	for (i = 0; i < TURNS; i++)
		(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
}

/* Of a scene that has asked for nothing yet. */
static void assert_answer(struct scene *s, const char *what, const char *name, int error)
{
	const struct asked *a = &s->asked[0];

	s->asked_num = 0;
	assert_int_equal(ask(s, what, name), 0);
	turns(s);
	assert_int_equal(a->told, 1);
	assert_int_equal(a->error, error);
	if (error == EVRPC_STATUS_ERR_NONE)
		assert_string_equal(a->reply.s, what);
	else if (error != EVRPC_STATUS_ERR_UNSTARTED)
		assert_string_equal(a->reply.s, "");
}

static long alive_before;
static int fds_before;

static int opened(void **state)
{
	static struct scene s;

	alive_before = fault_alive();
	fds_before = fault_fds();
	*state = &s;
	return scene_open(&s);
}

/* Fails where something is left. */
static int closed(void **state)
{
	scene_close(*state);
	return texts == 0 && fault_alive() == alive_before && fault_fds() == fds_before ? 0 : -1;
}

/* ---------------------------------------------------------------- messages */

static void each_end_is_told_what_went_wrong(void **state)
{
	struct scene *s = *state;

	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
	assert_answer(s, "partial", "echo", EVRPC_STATUS_ERR_BADPAYLOAD);
	assert_answer(s, "?", "echo", EVRPC_STATUS_ERR_BADPAYLOAD);
	assert_answer(s, "hello", "nobody", EVRPC_STATUS_ERR_BADPAYLOAD);
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
	assert_int_equal(evrpc_unregister_rpc(s->rpcs, "echo"), 0);
	assert_int_equal(evrpc_unregister_rpc(s->rpcs, "echo"), -1);
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_BADPAYLOAD);
}

static void requests_wait_for_a_connection(void **state)
{
	struct scene *s = *state;
	unsigned i;

	evrpc_pool_remove_connection(s->pool, s->conn);
	evrpc_pool_remove_connection(s->pool, s->conn);
	for (i = 0; i < 3; i++)
		assert_int_equal(ask(s, i == 1 ? "hold" : "hello", "echo"), 0);
	turns(s);
	assert_int_equal(s->asked[0].told, 0);
	evrpc_pool_add_connection(s->pool, s->conn);
	turns(s);
	assert_int_equal(s->asked[0].told, 1);
	assert_int_equal(s->asked[1].told, 0);
	/* One that is busy is removed when it no longer is, and comes back as another. */
	evrpc_pool_remove_connection(s->pool, s->conn);
	evrpc_request_done(s->held);
	turns(s);
	assert_int_equal(s->asked[1].told, 1);
	assert_int_equal(s->asked[2].told, 0);
	evrpc_pool_add_connection(s->pool, s->conn);
	turns(s);
	assert_int_equal(s->asked[2].told, 1);
	assert_int_equal(s->asked[2].error, EVRPC_STATUS_ERR_NONE);
}

static void a_pool_that_is_freed_tells_nobody(void **state)
{
	struct scene *s = *state;

	assert_int_equal(ask(s, "hold", "echo"), 0);
	assert_int_equal(ask(s, "hello", "echo"), 0);
	turns(s);
	pool_close(s);
	turns(s);
	evrpc_request_done(s->held);
	turns(s);
	assert_int_equal(s->asked[0].told + s->asked[1].told, 0);
}

static void free_pool(struct evrpc_status *status, void *request, void *reply, void *arg)
{
	struct scene *s = arg;

	(void)status;
	(void)request;
	(void)reply;
	/* With the connection. */
	evrpc_pool_free(s->pool);
	s->pool = NULL;
	s->conn = NULL;
}

/* While it is busy: it is the program's again, and what the pool knew of it is gone. */
static void a_connection_may_be_removed_from_a_pool_that_is_freed(void **state)
{
	struct scene *s = *state;

	assert_int_equal(ask(s, "hold", "echo"), 0);
	turns(s);
	evrpc_pool_remove_connection(s->pool, s->conn);
	evrpc_pool_free(s->pool);
	s->pool = NULL;
	evrpc_request_done(s->held);
	turns(s);
	assert_int_equal(s->asked[0].told, 0);
}

static void a_pool_may_be_freed_in_a_callback(void **state)
{
	struct scene *s = *state;
	struct text request = { "hello" }, reply = { "" };
	struct evrpc_request_wrapper *ctx;

	ctx = evrpc_make_request_ctx(s->pool, &request, &reply, "echo", text_marshal, text_clear, text_unmarshal,
				     answered, NULL);
	assert_ptr_equal(evrpc_request_get_pool(ctx), s->pool);
	evrpc_request_set_pool(ctx, s->pool);
	evrpc_request_set_cb(ctx, free_pool, s);
	assert_int_equal(evrpc_make_request(ctx), 0);
	assert_int_equal(ask(s, "hello", "echo"), 0);
	turns(s);
	assert_null(s->pool);
	assert_string_equal(reply.s, "hello");
	assert_int_equal(s->asked[0].told, 0);
}

static void a_client_that_is_gone_costs_nothing(void **state)
{
	struct scene *s = *state;

	assert_int_equal(ask(s, "hold", "echo"), 0);
	turns(s);
	pool_close(s);
	turns(s);
	evrpc_request_done(s->held);
	assert_int_equal(client_open(s), 0);
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
}

/* ---------------------------------------------------------------- hooks */

struct hooked {
	int result;
	unsigned calls;
	void *ctx;
	void *removes;			/* itself */
	void *vbase;
	enum EVRPC_HOOK_TYPE type;
};

static int hook(void *ctx, struct evhttp_request *req, struct evbuffer *buf, void *arg)
{
	struct hooked *h = arg;
	size_t len;
	void *data;

	assert_non_null(req);
	assert_int_equal(evbuffer_get_length(buf), sizeof(struct text));
	assert_int_equal(evrpc_hook_find_meta(ctx, "other", &data, &len), -1);
	evrpc_hook_add_meta(ctx, "key", h, sizeof(*h));
	if (evrpc_hook_find_meta(ctx, "key", &data, &len) == 0)
		assert_int_equal(len, sizeof(*h));
	h->calls++;
	h->ctx = ctx;
	if (h->removes != NULL)
		assert_int_equal(evrpc_remove_hook(h->vbase, h->type, h->removes), 1);
	return h->result;
}

/* What a request ends with that this hook ends. */
static int ended_by(struct scene *s, const struct hooked *h)
{
	if (h->vbase == s->rpcs)
		return EVRPC_STATUS_ERR_BADPAYLOAD;
	return h->type == EVRPC_INPUT ? EVRPC_STATUS_ERR_HOOKABORTED : EVRPC_STATUS_ERR_UNSTARTED;
}

static void check_hook(struct scene *s, void *vbase, enum EVRPC_HOOK_TYPE type)
{
	struct hooked h = { .vbase = vbase, .type = type };
	void *handle = evrpc_add_hook(vbase, type, hook, &h);

	assert_non_null(handle);
	h.result = EVRPC_CONTINUE;
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
	h.result = EVRPC_TERMINATE;
	assert_answer(s, "hello", "echo", ended_by(s, &h));
	assert_int_equal(h.calls, 2);
	h.result = EVRPC_CONTINUE;
	h.removes = handle;
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
	assert_int_equal(h.calls, 3);
	assert_int_equal(evrpc_remove_hook(vbase, type, handle), 0);
}

static void hooks_see_and_end_requests(void **state)
{
	struct scene *s = *state;

	check_hook(s, s->rpcs, EVRPC_INPUT);
	check_hook(s, s->rpcs, EVRPC_OUTPUT);
	check_hook(s, s->pool, EVRPC_INPUT);
	check_hook(s, s->pool, EVRPC_OUTPUT);
	assert_null(evrpc_add_hook(s->pool, (enum EVRPC_HOOK_TYPE)7, hook, NULL));
	assert_int_equal(evrpc_remove_hook(s->pool, (enum EVRPC_HOOK_TYPE)7, s), 0);
}

static void check_pause(struct scene *s, void *vbase, enum EVRPC_HOOK_TYPE type, enum EVRPC_HOOK_RESULT res)
{
	struct hooked h = { .vbase = vbase, .type = type, .result = EVRPC_PAUSE };
	void *handle = evrpc_add_hook(vbase, type, hook, &h);
	const struct asked *a = &s->asked[0];

	s->asked_num = 0;
	assert_int_equal(ask(s, "hello", "echo"), 0);
	turns(s);
	assert_int_equal(a->told, 0);
	assert_int_equal(evrpc_resume_request(vbase, s, res), -1);
	assert_int_equal(evrpc_resume_request(vbase, h.ctx, res), 0);
	turns(s);
	assert_int_equal(a->told, 1);
	assert_int_equal(a->error, res == EVRPC_CONTINUE ? EVRPC_STATUS_ERR_NONE : ended_by(s, &h));
	assert_int_equal(evrpc_remove_hook(vbase, type, handle), 1);
}

static void paused_requests_go_on_or_end(void **state)
{
	struct scene *s = *state;
	int i;

	for (i = 0; i < 2; i++) {
		enum EVRPC_HOOK_RESULT res = i == 0 ? EVRPC_CONTINUE : EVRPC_TERMINATE;

		check_pause(s, s->rpcs, EVRPC_INPUT, res);
		check_pause(s, s->rpcs, EVRPC_OUTPUT, res);
		check_pause(s, s->pool, EVRPC_INPUT, res);
		check_pause(s, s->pool, EVRPC_OUTPUT, res);
	}
}

static int resume_and_pause(void *ctx, struct evhttp_request *req, struct evbuffer *buf, void *arg)
{
	(void)req;
	(void)buf;
	assert_int_equal(evrpc_resume_request(arg, ctx, EVRPC_CONTINUE), 0);
	return EVRPC_PAUSE;
}

/* As another thread may do. */
static void one_may_be_resumed_before_its_hook_has_paused_it(void **state)
{
	struct scene *s = *state;

	assert_non_null(evrpc_add_hook(s->pool, EVRPC_INPUT, resume_and_pause, s->pool));
	assert_non_null(evrpc_add_hook(s->rpcs, EVRPC_OUTPUT, resume_and_pause, s->rpcs));
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
}

static void a_pool_may_be_freed_while_requests_are_paused(void **state)
{
	struct scene *s = *state;
	struct hooked in = { .result = EVRPC_PAUSE }, out = { .result = EVRPC_CONTINUE };

	assert_non_null(evrpc_add_hook(s->pool, EVRPC_INPUT, hook, &in));
	assert_non_null(evrpc_add_hook(s->pool, EVRPC_OUTPUT, hook, &out));
	assert_int_equal(ask(s, "hello", "echo"), 0);
	turns(s);
	assert_int_equal(in.calls, 1);
	assert_int_equal(s->asked[0].told, 0);
	pool_close(s);
	assert_int_equal(client_open(s), 0);
	out.result = EVRPC_PAUSE;
	assert_non_null(evrpc_add_hook(s->pool, EVRPC_OUTPUT, hook, &out));
	assert_int_equal(ask(s, "hello", "echo"), 0);
	turns(s);
	assert_int_equal(out.calls, 2);
	assert_int_equal(s->asked[0].told + s->asked[1].told, 0);
}

/* ---------------------------------------------------------------- timeouts */

static int64_t later_ns;

static int64_t clock_now(void)
{
	return 1000000000 + later_ns;
}

static void a_request_that_takes_too_long_is_given_up(void **state)
{
	struct scene *s = *state;

	evrpc_pool_set_timeout(s->pool, 5);
	assert_int_equal(ask(s, "hold", "echo"), 0);
	assert_int_equal(ask(s, "hello", "echo"), 0);
	turns(s);
	later_ns += INT64_C(4900000000);
	turns(s);
	assert_int_equal(s->asked[0].told, 0);
	later_ns += INT64_C(200000000);
	turns(s);
	assert_int_equal(s->asked[0].told, 1);
	assert_int_equal(s->asked[0].error, EVRPC_STATUS_ERR_TIMEOUT);
	assert_string_equal(s->asked[0].reply.s, "");
	/* The next one has a connection of its own, and a time of its own. */
	assert_int_equal(s->asked[1].told, 1);
	assert_int_equal(s->asked[1].error, EVRPC_STATUS_ERR_NONE);
	evrpc_request_done(s->held);
	evrpc_pool_set_timeout(s->pool, 0);
	assert_answer(s, "hello", "echo", EVRPC_STATUS_ERR_NONE);
}

static void without_a_timeout_a_request_waits(void **state)
{
	struct scene *s = *state;

	evrpc_pool_set_timeout(s->pool, 0);
	assert_int_equal(ask(s, "hold", "echo"), 0);
	turns(s);
	later_ns += INT64_C(40000000000);	/* a server's connection waits for 50 s */
	turns(s);
	assert_int_equal(s->asked[0].told, 0);
	evrpc_request_done(s->held);
	turns(s);
	assert_int_equal(s->asked[0].error, EVRPC_STATUS_ERR_NONE);
}

/* ---------------------------------------------------------------- faults */

/*
 * Three requests, past hooks that pause. 0: all were answered. -1: not all; none was told of twice, and one that
 * was refused not at all.
 */
static int converse(void *arg)
{
	struct hooked client = { .result = EVRPC_PAUSE }, server = { .result = EVRPC_PAUSE };
	struct scene *s = arg;
	bool is_made[3] = { false };
	int i, r = -1;

	if (scene_open(s) < 0)
		goto close;
	if (evrpc_add_hook(s->pool, EVRPC_INPUT, hook, &client) == NULL ||
	    evrpc_add_hook(s->rpcs, EVRPC_OUTPUT, hook, &server) == NULL)
		goto close;
	for (i = 0; i < 3; i++)
		is_made[i] = ask(s, "hello", "echo") == 0;
	for (i = 0; i < 4; i++) {
		turns(s);
		(void)evrpc_resume_request(s->rpcs, server.ctx, EVRPC_CONTINUE);
		turns(s);
		(void)evrpc_resume_request(s->pool, client.ctx, EVRPC_CONTINUE);
	}
	for (i = 0, r = 0; i < 3; i++) {
		assert_true(s->asked[i].told <= is_made[i]);
		if (s->asked[i].error != EVRPC_STATUS_ERR_NONE)
			r = -1;
	}
close:
	scene_close(s);
	assert_int_equal(texts, 0);
	return r;
}

static void memory_that_runs_out_leaves_nothing(void **state)
{
	struct scene s;

	(void)state;
	assert_true(fault_each_alloc(converse, &s, -1) > 50);
}

static void calls_that_fail_leave_nothing(void **state)
{
	struct scene s;

	(void)state;
	assert_int_equal(fault_each_call_as(FAULT_socket, EMFILE, converse, &s, -1), 2);
	assert_int_equal(fault_each_call_as(FAULT_connect, ENETUNREACH, converse, &s, -1), 1);
	assert_true(fault_each_call_as(FAULT_epoll_wait, EINTR, converse, &s, -1) > 3);
}

static int setup(void **state)
{
	ec_clock_set_source(clock_now);
	return fault_init(state);
}

static int teardown(void **state)
{
	ec_clock_set_source(NULL);
	return fault_fini(state);
}

#define SCENE(fn) cmocka_unit_test_setup_teardown(fn, opened, closed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(each_end_is_told_what_went_wrong),
		SCENE(requests_wait_for_a_connection),
		SCENE(a_pool_that_is_freed_tells_nobody),
		SCENE(a_connection_may_be_removed_from_a_pool_that_is_freed),
		SCENE(a_pool_may_be_freed_in_a_callback),
		SCENE(a_client_that_is_gone_costs_nothing),
		SCENE(hooks_see_and_end_requests),
		SCENE(paused_requests_go_on_or_end),
		SCENE(one_may_be_resumed_before_its_hook_has_paused_it),
		SCENE(a_pool_may_be_freed_while_requests_are_paused),
		SCENE(a_request_that_takes_too_long_is_given_up),
		SCENE(without_a_timeout_a_request_waits),
		cmocka_unit_test(memory_that_runs_out_leaves_nothing),
		cmocka_unit_test(calls_that_fail_leave_nothing),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, setup, teardown);
}
