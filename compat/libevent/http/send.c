/*
 * Sends a client's request.
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "chars.h"

static bool has_header(struct le_request *req, const char *key)
{
	return evhttp_find_header(&req->output_headers, key) != NULL;
}

/*
 * A request with a body has a Content-Length. POST and PUT always have a body, maybe an empty one.
 */
static int complete_headers(struct le_request *req)
{
	size_t len = evbuffer_get_length(req->pub.output_buffer);
	bool has_body =
		len > 0 || req->pub.type == EVHTTP_REQ_POST || req->pub.type == EVHTTP_REQ_PUT;
	char text[24];
	int n;

	/* This header is for a proxy. A client of a server must not send it. */
	evhttp_remove_header(&req->output_headers, "Proxy-Connection");
	if (!has_body || has_header(req, "Content-Length") || has_header(req, "Transfer-Encoding"))
		return 0;
	n = snprintf(text, sizeof(text), "%zu", len);
	/* Not in the arena: le_client_forget_head() empties it. */
	return le_header_append(&req->output_headers, "Content-Length", 14, text, (size_t)n);
}

static bool expects_continue(struct le_request *req)
{
	const char *expect = evhttp_find_header(&req->output_headers, "Expect");

	return expect != NULL && le_equals_lower(expect, strlen(expect), "100-continue") &&
	       evbuffer_get_length(req->pub.output_buffer) > 0;
}

static int write_head(struct evhttp_connection *conn, struct le_request *req)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev), *head = evbuffer_new();
	const struct evkeyval *header;
	int r;

	if (head == NULL)
		return -ENOMEM;
	r = evbuffer_add_printf(head, "%s %s HTTP/%d.%d\r\n",
				le_method_name((unsigned)req->pub.type), req->pub.uri,
				req->pub.major, req->pub.minor);
	TAILQ_FOREACH(header, &req->output_headers, next) {
		if (r >= 0)
			r = evbuffer_add_printf(head, "%s: %s\r\n", header->key, header->value);
	}
	if (r >= 0)
		r = evbuffer_add(head, "\r\n", 2);
	if (r >= 0 && !req->is_waiting)
		r = evbuffer_add_buffer(head, req->pub.output_buffer);
	/* Add all at once, so that one system call sends it. */
	if (r >= 0)
		r = evbuffer_add_buffer(out, head);
	evbuffer_free(head);
	return r < 0 ? -ENOMEM : 0;
}

/*
 * Prepares for another head after an interim response. headers_size stays, so the limit applies to
 * all of them together: a server could send interim responses without end.
 */
void le_client_forget_head(struct le_request *req)
{
	evhttp_clear_headers(&req->input_headers);
	le_arena_fini(&req->arena);
	le_arena_init(&req->arena, req->room, sizeof(req->room));
	req->pub.response_code_line = NULL;
	req->pub.host_cache = NULL;
	req->head = (struct le_head){ .has_length = false };
	req->has_first_line = false;
}

/* The program may make a request again after its response. */
static void forget_answer(struct le_request *req)
{
	le_client_forget_head(req);
	req->pub.headers_size = 0;
	req->body = (struct le_body){ .left = 0 };
	req->line_scanned = 0;
	req->must_close = false;
}

/* Sends the first request of the queue. */
void le_client_dispatch(struct evhttp_connection *conn)
{
	struct le_request *req = le_conn_first(conn);

	if (req->has_first_line)
		forget_answer(req);
	req->is_waiting = expects_continue(req);
	conn->state = LE_CONN_HEAD;
	conn->is_sending = true;
	conn->settle_turns = 0;
	if (complete_headers(req) < 0 || write_head(conn, req) < 0) {
		conn->early_what = BEV_EVENT_WRITING | BEV_EVENT_ERROR;
		conn->early_errno = ENOMEM;
		conn->is_sending = false;
		le_client_wake(conn);
	}
	req->pub.kind = EVHTTP_RESPONSE;
}

void le_client_written(struct evhttp_connection *conn)
{
	if (!conn->is_sending)
		return;
	conn->is_sending = false;
	/* BUSY: the response is already complete. */
	if (conn->state == LE_CONN_BUSY)
		le_client_complete(conn, le_conn_first(conn));
}
