/*
 * Streamed replies: a head, then chunks as the program produces them, then an end.
 */
#include "reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

/* A second start only logs a warning. */
static bool may_start(struct evhttp_connection *conn, struct le_request *req)
{
	if (req->state != LE_REQUEST_STREAMED)
		return le_reply_is_in_order(conn, req, LE_REQUEST_HANDED);
	le_reply_warn_order(req);
	return false;
}

static void start_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct le_reply_args *)args)->req;
	char room[LE_REPLY_ROOM], *head;
	size_t head_len;

	if (!le_reply_is_in(conn, req) || !may_start(conn, req))
		goto put_req;
	if (le_reply_complete_headers(conn, req, LE_REPLY_STREAMED, 0) < 0)
		goto fail;
	head = le_reply_head_text(req, room, sizeof(room), &head_len);
	if (head == NULL || bufferevent_write(conn->bev, head, head_len) < 0)
		goto fail;
	req->state = LE_REQUEST_STREAMED;
	le_serve_streaming(conn);
	goto put_req;
fail:
	ec_log_errno(EC_LOG_WARN, ENOMEM, "a reply is lost");
	conn->ops->fail(conn, EVREQ_HTTP_BUFFER_ERROR);
put_req:
	le_request_put(req);
}

void evhttp_send_reply_start(struct evhttp_request *pub, int code, const char *reason)
{
	struct le_request *req = le_request(pub);
	struct le_reply_args args = { req, code };

	if (le_color_is_own(req->conn) && le_reply_is_in(req->conn, req) && !may_start(req->conn, req))
		return;
	le_reply_set_status(req, code, reason);
	pub->chunked = 0;
	if (le_reply_is_http_11(req) && !le_reply_has_header(req, "Content-Length") && le_reply_may_have_body(req)) {
		/* The program may have set this header itself. */
		if (!le_reply_has_header(req, "Transfer-Encoding"))
			le_reply_add_header(req, "Transfer-Encoding", "chunked", 7);
		pub->chunked = 1;
	}
	le_reply_call(req, start_call, &args, sizeof(args));
}

struct chunk_args {
	struct le_request *req;
	struct evbuffer *data;
	bool is_copy;	/* a posted call has its own buffer; else it is the program's */
	le_chunk_fn fn;
	void *arg;
};

static int write_chunk(struct evhttp_connection *conn, struct le_request *req,
		       struct evbuffer *data)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);
	size_t len = le_buffer_get_length(data);
	char size[20];
	int n;

	if (len == 0)
		return 0;
	if (!req->pub.chunked)
		return evbuffer_add_buffer(out, data);
	n = snprintf(size, sizeof(size), "%zx\r\n", len);
	/* Add to the caller's buffer first, so that the output gets the chunk at once. */
	if (evbuffer_prepend(data, size, (size_t)n) < 0 || evbuffer_add(data, "\r\n", 2) < 0)
		return -1;
	return evbuffer_add_buffer(out, data);
}

static void chunk_call(struct evhttp_connection *conn, void *args)
{
	struct chunk_args *chunk = args;
	struct le_request *req = chunk->req;

	if (le_reply_is_in(conn, req) && le_reply_is_in_order(conn, req, LE_REQUEST_STREAMED)) {
		conn->chunk_fn = chunk->fn;
		conn->chunk_arg = chunk->arg;
		if (le_reply_may_have_body(req) && write_chunk(conn, req, chunk->data) < 0) {
			ec_log_errno(EC_LOG_WARN, ENOMEM, "a chunk is lost");
			conn->ops->fail(conn, EVREQ_HTTP_BUFFER_ERROR);
		} else if (chunk->fn != NULL) {
			le_serve_wrote(conn);
		}
	}
	if (chunk->is_copy) {
		evbuffer_free(chunk->data);
		le_request_put(req);
	}
}

void evhttp_send_reply_chunk_with_cb(struct evhttp_request *pub, struct evbuffer *databuf,
				     void (*cb)(struct evhttp_connection *, void *), void *arg)
{
	struct le_request *req = le_request(pub);
	struct chunk_args args = { .req = req, .data = databuf, .fn = cb, .arg = arg };

	if (le_color_is_own(req->conn)) {
		chunk_call(req->conn, &args);
		return;
	}
	/* The caller may use its buffer again before the post runs. */
	args.is_copy = true;
	args.data = evbuffer_new();
	if (args.data == NULL || evbuffer_add_buffer(args.data, databuf) < 0)
		goto fail;
	__atomic_add_fetch(&req->refs, 1, __ATOMIC_RELAXED);
	if (le_color_call(req->conn, chunk_call, &args, sizeof(args)) == 0)
		return;
	le_request_put(req);
fail:
	ec_log_errno(EC_LOG_WARN, ENOMEM, "a chunk is lost");
	if (args.data != NULL)
		evbuffer_free(args.data);
}

void evhttp_send_reply_chunk(struct evhttp_request *req, struct evbuffer *databuf)
{
	evhttp_send_reply_chunk_with_cb(req, databuf, NULL, NULL);
}

/* An end without a start: nothing can be sent as a reply, so the connection closes. */
static void end_out_of_order(struct evhttp_connection *conn, struct le_request *req)
{
	le_reply_warn_order(req);
	if (req->state != LE_REQUEST_HANDED)
		return;
	req->must_close = true;
	le_serve_replied(conn, req);
}

static void end_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct le_reply_args *)args)->req;

	if (!le_reply_is_in(conn, req)) {
		le_reply_drop(req);
	} else if (req->state != LE_REQUEST_STREAMED) {
		end_out_of_order(conn, req);
	} else if (req->pub.chunked && bufferevent_write(conn->bev, "0\r\n\r\n", 5) < 0) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "a reply is lost");
		le_conn_close(conn);
	} else {
		le_serve_replied(conn, req);
	}
	le_request_put(req);
}

void evhttp_send_reply_end(struct evhttp_request *req)
{
	struct le_reply_args args = { le_request(req), 0 };

	le_reply_call(args.req, end_call, &args, sizeof(args));
}
