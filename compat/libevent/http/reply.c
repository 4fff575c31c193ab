/*
 * Whole replies and error pages. A reply's head and a short body are added to the output together,
 * so that one system call sends them. A call from another color is posted to the connection's
 * color, with its data. If the connection was closed meanwhile, the post only releases the request.
 */
#include "reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "status.h"

/*
 * Adds head and body to the output at once. If the head is in `room`, which has `size` bytes, a
 * short body is copied to the place after it.
 */
static int write_reply(struct evhttp_connection *conn, char *room, size_t size, const char *head,
		       size_t head_len, struct evbuffer *body, size_t len)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);

	if (len == 0)
		return evbuffer_add(out, head, head_len) < 0 ? -ENOMEM : 0;
	if (head == room && len <= size - head_len) {
		if (evbuffer_remove(body, room + head_len, len) != (int)len)
			return -ENOMEM;
		return evbuffer_add(out, room, head_len + len) < 0 ? -ENOMEM : 0;
	}
	if (evbuffer_prepend(body, head, head_len) < 0)
		return -ENOMEM;
	return evbuffer_add_buffer(out, body) < 0 ? -ENOMEM : 0;
}

/* Sends a reply whose body is the request's output buffer. */
static void reply_whole(struct evhttp_connection *conn, struct le_request *req)
{
	struct evbuffer *body = req->pub.output_buffer;
	char room[LE_REPLY_ROOM], *head;
	size_t len = le_buffer_get_length(body), head_len;

	if (le_reply_complete_headers(conn, req, LE_REPLY_WHOLE, len) < 0)
		goto fail;
	if (!le_reply_may_have_body(req)) {
		evbuffer_drain(body, len);
		len = 0;
	}
	head = le_reply_head_text(req, room, sizeof(room), &head_len);
	if (head == NULL || write_reply(conn, room, sizeof(room), head, head_len, body, len) < 0)
		goto fail;
	le_serve_replied(conn, req);
	return;
fail:
	ec_log_errno(EC_LOG_WARN, ENOMEM, "a reply is lost");
	le_conn_close(conn);
}

bool le_reply_is_in(const struct evhttp_connection *conn, const struct le_request *req)
{
	return !conn->is_closed && req->pub.evcon == conn;
}

void le_reply_drop(struct le_request *req)
{
	if (!req->is_released && (req->pub.flags & EVHTTP_USER_OWNED) == 0)
		le_request_put(req);
}

void le_reply_warn_order(const struct le_request *req)
{
	static const char *const names[] = {
		[LE_REQUEST_IN] = "no request",
		[LE_REQUEST_HANDED] = "no reply was started",
		[LE_REQUEST_STREAMED] = "a reply is under way",
		[LE_REQUEST_REPLIED] = "there is a reply",
	};

	ec_log(EC_LOG_WARN, "evhttp: reply to %s: %s", req->pub.uri, names[req->state]);
}

/*
 * Refuses a second reply: the client would take it for the answer to the next request, or for part
 * of the first reply's body. If the first reply is being streamed, it ends here: the connection
 * closes without an end mark, so the client knows that the reply is not complete.
 */
bool le_reply_is_in_order(struct evhttp_connection *conn, struct le_request *req,
			  enum le_request_state wanted)
{
	if (req->state == wanted)
		return true;
	le_reply_warn_order(req);
	if (req->state == LE_REQUEST_STREAMED && wanted == LE_REQUEST_HANDED) {
		req->must_close = true;
		le_serve_replied(conn, req);
	}
	return false;
}

static void reply_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct le_reply_args *)args)->req;

	if (!le_reply_is_in(conn, req))
		le_reply_drop(req);
	else if (le_reply_is_in_order(conn, req, LE_REQUEST_HANDED))
		reply_whole(conn, req);
	le_request_put(req);
}

void le_reply_call(struct le_request *req, le_call_fn fn, void *args, size_t size)
{
	int r;

	__atomic_add_fetch(&req->refs, 1, __ATOMIC_RELAXED);
	r = le_color_call(req->conn, fn, args, size);
	if (r < 0) {
		ec_log_errno(EC_LOG_WARN, -r, "a reply is lost");
		le_request_put(req);
	}
}

static void set_reply(struct le_request *req, int code, const char *reason, struct evbuffer *body)
{
	le_reply_set_status(req, code, reason);
	if (body != NULL)
		evbuffer_add_buffer(req->pub.output_buffer, body);
}

void evhttp_send_reply(struct evhttp_request *pub, int code, const char *reason,
		       struct evbuffer *databuf)
{
	struct le_request *req = le_request(pub);
	struct evhttp_connection *conn = req->conn;
	struct le_reply_args args = { req, code };

	if (!le_color_is_own(conn)) {
		set_reply(req, code, reason, databuf);
		le_reply_call(req, reply_call, &args, sizeof(args));
	} else if (!le_reply_is_in(conn, req)) {
		set_reply(req, code, reason, databuf);
		le_reply_drop(req);
	} else if (le_reply_is_in_order(conn, req, LE_REQUEST_HANDED)) {
		/* Only now: if a reply is already in progress, it must not be changed. */
		set_reply(req, code, reason, databuf);
		reply_whole(conn, req);
	}
}

/* Replaces the handler's reply with a page, and closes the connection after it. */
__attribute__((format(printf, 4, 5))) static void send_page(struct le_request *req, int code,
							    const char *reason, const char *fmt, ...)
{
	struct evbuffer *page = req->pub.output_buffer;
	va_list ap;

	if (!le_reply_is_http_11(req))
		req->pub.major = req->pub.minor = 1;
	evhttp_clear_headers(&req->output_headers);
	evbuffer_drain(page, le_buffer_get_length(page));
	/* Without memory the page is shorter. */
	le_reply_add_header(req, "Content-Type", "text/html", 9);
	le_reply_add_header(req, "Connection", "close", 5);
	va_start(ap, fmt);
	evbuffer_add_vprintf(page, fmt, ap);
	va_end(ap);
	evhttp_send_reply(&req->pub, code, reason, NULL);
}

void evhttp_send_error(struct evhttp_request *pub, int error, const char *reason)
{
	char *escaped;

	if (reason == NULL || strpbrk(reason, "\r\n") != NULL)
		reason = le_status_reason(error);
	escaped = evhttp_htmlescape(reason);
	send_page(
		le_request(pub), error, reason,
		"<HTML><HEAD>\n<TITLE>%d %s</TITLE>\n</HEAD><BODY>\n<H1>%s</H1>\n</BODY></HTML>\n",
		error, escaped != NULL ? escaped : "", escaped != NULL ? escaped : "");
	ec_free(escaped);
}

void le_reply_refuse(struct le_request *req, int code)
{
	/* Headers of a malformed head must not determine whether the connection stays open. */
	req->head = (struct le_head){ .has_close = false };
	req->pub.flags &= ~EVHTTP_PROXY_REQUEST;
	req->state = LE_REQUEST_HANDED;
	evhttp_send_error(&req->pub, code, NULL);
}

void le_reply_not_found(struct le_request *req)
{
	char *uri = evhttp_htmlescape(req->pub.uri);

	send_page(req, HTTP_NOTFOUND, NULL,
		  "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1>"
		  "<p>The requested URL %s was not found on this server.</p></body></html>\n",
		  uri != NULL ? uri : "");
	ec_free(uri);
}
