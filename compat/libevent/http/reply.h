/* Replies: heads, and functions that whole and streamed replies share. */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "http.h"

enum { LE_REPLY_ROOM = 2048 };		/* head and body of a reply that needs no other memory */

/* Inline: the keys are literals, so the compiler knows their lengths. */
static inline __attribute__((always_inline)) int le_reply_add_header(struct le_request *req, const char *key,
								     const char *value, size_t len)
{
	return le_header_append_in(&req->arena, &req->output_headers, key, strlen(key), value, len);
}

static inline bool le_reply_has_header(struct le_request *req, const char *key)
{
	return evhttp_find_header(&req->output_headers, key) != NULL;
}

static inline bool le_reply_is_http_11(const struct le_request *req)
{
	return req->pub.major > 1 || (req->pub.major == 1 && req->pub.minor >= 1);
}

enum le_reply_body { LE_REPLY_WHOLE, LE_REPLY_STREAMED };

static inline bool le_reply_may_have_body(const struct le_request *req)
{
	int code = req->pub.response_code;

	if (code == HTTP_NOCONTENT || code == HTTP_NOTMODIFIED || (code >= 100 && code < 200) ||
	    req->pub.type == EVHTTP_REQ_HEAD)
		return false;
	return req->pub.type != EVHTTP_REQ_CONNECT || code < 200 || code >= 300;
}

/* A reason phrase with CR or LF is replaced by the standard one. */
void le_reply_set_status(struct le_request *req, int code, const char *reason);
/* Adds the headers that the program left out. len: of a whole body. 0 or -ENOMEM. */
int le_reply_complete_headers(struct evhttp_connection *conn, struct le_request *req,
			      enum le_reply_body body, uint64_t len);
/*
 * Writes the status line and the headers: into `room` if they fit, else into the arena. NULL: no
 * memory.
 */
char *le_reply_head_text(struct le_request *req, char *room, size_t size, size_t *ret);

struct le_reply_args {
	struct le_request *req;
	int code;
};

/* Does `conn` still have the request? */
bool le_reply_is_in(const struct evhttp_connection *conn, const struct le_request *req);
/* The connection is closed: the program's reply only releases the request. */
void le_reply_drop(struct le_request *req);
void le_reply_warn_order(const struct le_request *req);
bool le_reply_is_in_order(struct evhttp_connection *conn, struct le_request *req,
			  enum le_request_state wanted);
/* Called from any color. Takes a reference on the request, which `fn` must put. */
void le_reply_call(struct le_request *req, le_call_fn fn, void *args, size_t size);

#endif
