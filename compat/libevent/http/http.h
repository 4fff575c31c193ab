/*
 * What the files that know connections share; README.md lists the files.
 *
 * Threads: a connection and its requests belong to the connection's color, which is 0 unless the
 * server has a policy. Other colors and threads post their calls there (color.c). The server's lock
 * guards what its connections share.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/smp.h>

#include "arena.h"
#include "body.h"
#include "buffer/buffer.h"
#include "core/ec.h"
#include "header.h"
#include "parse.h"
#include "uri.h"
#include "util/mutex.h"

enum {
	LE_HTTP_TIMEOUT_S = 50,		/* for a server's and a client's reads and writes */
	LE_HTTP_CONNECT_TIMEOUT_S = 45,
	LE_HTTP_RETRY_S = 2,		/* before the first retry */
	LE_HTTP_RETRY_MAX_S = 3600,
	LE_REQUEST_ROOM = 1280,		/* enough for the headers of an ordinary message */
	/* limit of lines that carry nothing, if the program has set none */
	LE_LINES_MAX = 64 * 1024,
	LE_DATE_LEN = 29,
};

/* ---------------------------------------------------------------- requests */

/*
 *   IN        a request that comes in, or a client's that waits, is sent or is answered
 *   HANDED    the handler was called and has not replied
 *   STREAMED  evhttp_send_reply_start() was called, evhttp_send_reply_end() not
 *   REPLIED   the reply is complete; the connection sends what is left of it, then frees the
 *             request
 */
enum le_request_state { LE_REQUEST_IN, LE_REQUEST_HANDED, LE_REQUEST_STREAMED, LE_REQUEST_REPLIED };

struct le_request {
	struct evhttp_request pub;	/* first: programs hold a pointer to it */

	/* own: the connection's color; the handler's, while it has the request */
	enum le_request_state state;
	struct evkeyvalq input_headers, output_headers;
	/* of a request that came in; its strings are in the arena */
	struct evhttp_uri uri;
	struct le_head head;
	struct le_body body;
	/* bytes at the input's beginning known to have no line's end */
	size_t line_scanned;
	size_t path_len;		/* of uri.path */
	bool has_escape;		/* its path has a "%" */
	bool has_first_line;
	bool has_bare_lf;		/* its first line ends so, then all must */
	bool has_skipped_line;		/* the one empty line that may come before it */
	bool is_lingering;		/* the body is too long: read and dropped, then refused */
	bool is_waiting;		/* for "100 Continue" before its body is sent */
	bool must_close;		/* the connection ends with the reply */
	bool is_released;		/* its connection has let go of it */

	/* const, from the time it is in a connection */
	/* the request holds a reference on it; pub.evcon is NULL once it is closed */
	struct evhttp_connection *conn;

	/* own: the thread that is in a callback about it; freed in there it is freed behind it */
	bool is_freed;

	/* atomic */
	uintptr_t callback_thread;	/* 0: none */
	/* one is the program's or the connection's, others are calls under way */
	unsigned refs;

	/* of the input headers, and of output headers that we add */
	struct le_arena arena;
	char room[LE_REQUEST_ROOM];
};

static inline struct le_request *le_request(const struct evhttp_request *req)
{
	return (struct le_request *)(void *)(uintptr_t)req;
}

/* Takes a spare one of `conn` or its server, if there is one. NULL: no connection. */
struct le_request *le_request_new(struct evhttp_connection *conn);
void le_request_put(struct le_request *req);		/* frees it with the last reference */
void le_request_free_spare(struct le_request *req);
void le_request_free_spares(struct evhttp *http);
/* Queue it in a connection, on which it then holds a reference. */
void le_request_bind(struct le_request *req, struct evhttp_connection *conn);
/* The connection lets go: the request is freed, unless the program owns it. */
void le_request_release(struct le_request *req);
/* Around a callback that may free the request, or the connection with it. */
void le_request_enter(struct le_request *req);
void le_request_leave(struct le_request *req);
int le_request_take_first_line(struct le_request *req, const char *line, size_t len);

/* ---------------------------------------------------------------- connections */

/*
 *   server:  IDLE -> HEAD -> BODY -> BUSY -> IDLE
 *   client:  DISCONNECTED -> CONNECTING -> IDLE -> HEAD -> BODY [-> BUSY] -> IDLE
 *
 *   IDLE     nothing is under way: the first byte of a request, or the end, may come
 *   HEAD     a head comes in; a client's request may still be written, as is_sending says
 *   BUSY     of a server: a request is its handler's, or its reply is being written
 *            of a client: the answer is complete, and the request is still being written; or the
 *            connection is about to be left
 */
enum le_conn_state {
	LE_CONN_DISCONNECTED,
	LE_CONN_CONNECTING,
	LE_CONN_IDLE,
	LE_CONN_HEAD,
	LE_CONN_BODY,
	LE_CONN_BUSY,
};

TAILQ_HEAD(le_requests, evhttp_request);

/* The differences between server and client. None of these frees the connection's memory. */
struct le_conn_ops {
	enum le_message message;	/* what comes in */
	/* to read into; NULL: none, or gone */
	struct le_request *(*next)(struct evhttp_connection *conn);
	void (*head_done)(struct evhttp_connection *conn, struct le_request *req);
	void (*message_done)(struct evhttp_connection *conn, struct le_request *req);
	void (*written)(struct evhttp_connection *conn);		/* the output is empty */
	void (*fail)(struct evhttp_connection *conn, enum evhttp_request_error why);
	void (*event)(struct evhttp_connection *conn, short what);
	void (*closed)(struct evhttp_connection *conn);	/* release what else it holds */
	/* The program frees a request that the connection has: out of it; false: it may not yet. */
	bool (*abandon)(struct evhttp_connection *conn, struct le_request *req);
};

typedef void (*le_chunk_fn)(struct evhttp_connection *conn, void *arg);

struct evhttp_connection {
	/* const */
	const struct le_conn_ops *ops;
	struct event_base *base;	/* of a client's: const from its first request */
	struct evdns_base *dns_base;
	struct bufferevent *bev;
	char *address;			/* of the other side; "" where it has none */
	ev_uint16_t port;
	uint32_t color;

	/* own: the connection's color */
	enum le_conn_state state;
	/* of the bufferevent's under way; when closed, the last one puts a reference */
	unsigned calls_num;
	bool is_closed;			/* only its memory is left, until the last reference */
	bool is_reading;		/* EV_READ is enabled */
	bool has_eof;			/* the client sends no more */
	bool is_auto_freed;		/* evhttp_connection_free_on_completion() */
	bool was_connected;		/* since the last reset: the close callback is due */
	int flags;			/* EVHTTP_CON_… */
	size_t max_headers_size;
	uint64_t max_body_size;
	/* of reads and writes; of connecting too, where has_timeout */
	struct timeval timeout;
	bool has_timeout;
	struct le_requests requests;	/* the first is under way */
	struct le_request *spare;	/* memory for the next one, if the server has colors */
	struct sockaddr_storage peer;
	void (*closecb)(struct evhttp_connection *conn, void *arg);
	void *closecb_arg;
	le_chunk_fn chunk_fn;		/* called when all output of a streamed reply is sent */
	void *chunk_arg;
	time_t date_s;			/* the second that `date` is the text of */
	char date[LE_DATE_LEN + 1];

	/* own: of a client's */
	bool is_used;			/* a request was made: its color stays what it is */
	int family;
	char *bind_address;
	ev_uint16_t bind_port;
	int retry_max, retry_num;	/* -1: for ever */
	struct timeval retry_first;
	struct event wake_ev;		/* the wait before a retry, or to go on soon */
	bool is_retry_pending;
	/* the bufferevent is being told to connect: it may fail at once */
	bool is_starting;
	bool is_sending;		/* the request is not all written yet */
	unsigned char settle_turns;	/* that the first request has waited in IDLE */
	short early_what;		/* events that it reported then, and errno */
	int early_errno;

	/* server->lock */
	struct evhttp *server;		/* NULL: a client's */
	struct ec_list link;

	/* atomic */
	/* one until it is freed, one for each request and call under way */
	unsigned refs;
};

int le_conn_init(struct evhttp_connection *conn, const struct le_conn_ops *ops,
		 struct event_base *base, struct bufferevent *bev, const char *address,
		 ev_uint16_t port);
void le_conn_get(struct evhttp_connection *conn);
void le_conn_put(struct evhttp_connection *conn);
/* All that is more than memory goes; requests too, but those that the program has. */
void le_conn_close(struct evhttp_connection *conn);
/* As le_conn_close(), after the last reply: the socket stays until the client has read the reply. */
void le_conn_close_later(struct evhttp_connection *conn);
/* Close the socket and keep the bufferevent. The close callback is still due. */
void le_conn_drop_socket(struct evhttp_connection *conn);
/* Call the close callback, then close the socket and keep the bufferevent. */
void le_conn_disconnect(struct evhttp_connection *conn);
void le_conn_set_reading(struct evhttp_connection *conn, bool on);
void le_conn_apply_timeouts(struct evhttp_connection *conn, const struct timeval *tv);
/* False: the program has put its own callbacks into the bufferevent, for another protocol. */
bool le_conn_is_ours(const struct evhttp_connection *conn);
struct le_request *le_conn_first(const struct evhttp_connection *conn);
void le_conn_drop_output(struct evhttp_connection *conn);
void le_conn_drop_input(struct evhttp_connection *conn);
void le_conn_tell_closed(struct evhttp_connection *conn);

/* A client's bufferevent connects to its server; -errno. */
int le_conn_connect(struct evhttp_connection *conn);

/* Read from the input; called whenever it has grown. */
void le_conn_read(struct evhttp_connection *conn);
/* How many bytes chunk lines and trailers may still have. */
uint64_t le_lines_max(const struct evhttp_connection *conn, const struct le_request *req);

/* The header lines, and the empty one behind them. */
int le_headers_write(struct evbuffer *out, const struct evkeyvalq *headers);

extern const struct le_conn_ops le_server_ops, le_client_ops;

/* ---------------------------------------------------------------- servers */

struct le_callback;
struct le_alias {
	struct ec_list link;
	char *name;
};

struct evhttp_bound_socket {
	struct ec_list link;
	struct evhttp *http;
	struct evconnlistener *listener;
};

struct evhttp {
	/* const */
	struct event_base *base;	/* NULL: of a virtual host */

	/* lock: taken where the base may run colors; nothing is called under it */
	struct le_mutex lock;
	struct le_callback **callbacks;	/* hash table by path */
	size_t callbacks_size, callbacks_num;
	void (*gencb)(struct evhttp_request *req, void *arg);
	void *gencb_arg;
	struct bufferevent *(*bevcb)(struct event_base *base, void *arg);
	void *bevcb_arg;
	struct ec_list vhosts;		/* of struct evhttp, by vhost_link */
	struct ec_list vhost_link;
	struct evhttp *parent;		/* NULL: no virtual host */
	char *vhost_pattern;
	struct ec_list aliases;
	struct ec_list sockets;
	struct ec_list conns;
	struct ec_list lingers;		/* sockets of closed connections (linger.c) */
	struct le_request *spares;	/* memory for the next ones, by pub.next; without colors */
	unsigned spares_num;
	size_t max_headers_size;
	uint64_t max_body_size;
	int flags;			/* EVHTTP_SERVER_… */
	struct timeval timeout;
	bool has_colors;		/* had a policy, so maybe connections of other colors */
	enum evconnlistener_color_policy color_policy;
	evconnlistener_color_cb color_cb;
	void *color_arg;

	/* atomic: one word each, read for every request */
	unsigned allowed_methods;
	const char *default_content_type;
};

/* The caller passes the result to le_http_unlock(). */
bool le_http_lock(struct evhttp *http);
void le_http_unlock(struct evhttp *http, bool was_taken);
/* Call the handler of `req`. False: there is none. */
bool le_http_dispatch(struct evhttp *http, struct le_request *req);
bool le_http_serves_host(struct evhttp *http, const char *host);

/* The callback for a path. The caller holds the lock. */
struct le_handler {
	void (*fn)(struct evhttp_request *req, void *arg);
	void *arg;
};

bool le_paths_find(struct evhttp *http, const char *path, size_t len, struct le_handler *ret);
void le_paths_free(struct evhttp *http);	/* nobody else uses the server any more */
void le_alias_free(struct le_alias *alias);

void le_http_accept(struct evhttp *http, evutil_socket_t fd, const struct sockaddr *sa,
		    socklen_t len);
void le_http_free_sockets(struct evhttp *http);

/* ---------------------------------------------------------------- lingering close */

/* Bytes that were not read; true if nobody knows. */
bool le_linger_has_input(int fd);
/* The socket of a connection that is being closed. -errno: the caller closes it. */
int le_linger_start(struct evhttp_connection *conn, struct evhttp *server, int fd);
void le_linger_free_all(struct evhttp *http);	/* nobody else uses the server any more */

/* ---------------------------------------------------------------- replies */

/* Refuse the request that is being read, and close after the reply. */
void le_reply_refuse(struct le_request *req, int code);
void le_reply_not_found(struct le_request *req);
/* A reply's headers and body are in the output. */
void le_serve_replied(struct evhttp_connection *conn, struct le_request *req);
void le_serve_streaming(struct evhttp_connection *conn);
/* If the output is empty, the write callback runs soon, because no write will trigger it. */
void le_serve_wrote(struct evhttp_connection *conn);

/* ---------------------------------------------------------------- colors */

enum { LE_CALL_ARGS_MAX = 64 };

typedef void (*le_call_fn)(struct evhttp_connection *conn, void *args);

/* Does the caller run in the color of the connection? */
bool le_color_is_own(const struct evhttp_connection *conn);
/* The color that runs now; 0: none. */
uint32_t le_color_running(const struct event_base *base);
/* May several threads or colors use the base? Then shared fields need their lock. */
bool le_color_is_shared(const struct event_base *base);

/* Nothing of another color runs until le_color_resume(); false: it did not pause. */
bool le_color_pause(struct event_base *base);
void le_color_resume(struct event_base *base);
/* A client's connection has the color that its bufferevent has with the first request. */
void le_color_take_bevs(struct evhttp_connection *conn);

/*
 * fn(conn, args), at once in the connection's color, else posted there with a copy of `size` bytes
 * of args. A call that comes too late, on a connection that was closed, is made all the same: fn
 * looks at is_closed. -ENOMEM: it will not be made.
 */
int le_color_call(struct evhttp_connection *conn, le_call_fn fn, void *args, size_t size);

#endif
