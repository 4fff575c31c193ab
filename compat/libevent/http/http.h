/*
 * Servers, connections and requests: the structs and functions that the files of this room share.
 * README.md lists the files.
 *
 * Threads: a connection and its requests belong to the connection's color, which is 0 unless the
 * server has a policy. Other colors and threads post their calls there (color.c). The server's lock
 * guards the fields that its connections share.
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
	/* limit of chunk lines, trailers and interim responses, if the program has set none */
	LE_LINES_MAX = 64 * 1024,
	/* their limit is not lower than this: the last chunk's line and the empty line at the end */
	LE_LINES_MIN = 32,
	/* input that waits, with which a server still reads while it streams a reply */
	LE_AHEAD_MAX = 16 * 1024,
	LE_DATE_LEN = 29,
};

/* ---------------------------------------------------------------- requests */

/*
 *   IN        a server is reading it; or a client's request, from its queue to its answer
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
	/* a server's: the request's URI; its strings are in the arena */
	struct evhttp_uri uri;
	struct le_head head;
	struct le_body body;
	/* the number of bytes at the input's beginning that contain no LF */
	size_t line_scanned;
	size_t path_len;		/* of uri.path */
	bool has_escape;		/* its path has a "%" */
	bool has_first_line;
	bool has_bare_lf;		/* its first line ends in LF alone, so all lines must */
	bool has_skipped_line;		/* an empty line came before it; a second one is an error */
	bool is_lingering;		/* the body is too long: it is dropped, then refused */
	bool is_waiting;		/* for "100 Continue" before its body is sent */
	bool must_close;		/* the connection ends with the reply */
	bool is_released;		/* its connection no longer refers to it */
	bool is_given_up;		/* a client's: in the queue, until give_up() calls it back */

	/* const, once it is in a connection */
	/* the request holds a reference on it; pub.evcon is NULL after it was closed */
	struct evhttp_connection *conn;

	/* own: the thread of callback_thread */
	bool is_freed;			/* its callback freed the request: free it afterwards */
	unsigned callbacks_num;		/* one callback may cause another one */

	/* atomic */
	uintptr_t callback_thread;	/* runs a callback of the request; 0: none */
	/* one for the program or the connection, and one for each call in progress */
	unsigned refs;

	/* memory of the input headers, and of output headers that the library adds */
	struct le_arena arena;
	char room[LE_REQUEST_ROOM];
};

static inline struct le_request *le_request(const struct evhttp_request *req)
{
	return (struct le_request *)(void *)(uintptr_t)req;
}

/* Takes a spare request of `conn` or its server, if there is one. `conn` may be NULL. */
struct le_request *le_request_new(struct evhttp_connection *conn);
void le_request_put(struct le_request *req);		/* frees it with the last reference */
void le_request_free_spare(struct le_request *req);
void le_request_free_spares(struct evhttp *http);
/* Queues the request in a connection. It then holds a reference on the connection. */
void le_request_bind(struct le_request *req, struct evhttp_connection *conn);
/* Removes the request from its connection, and frees it unless the program owns it. */
void le_request_release(struct le_request *req);
/* Called before and after a callback that may free the request, or the connection with it. */
void le_request_enter(struct le_request *req);
void le_request_leave(struct le_request *req);
int le_request_take_first_line(struct le_request *req, const char *line, size_t len);

/* ---------------------------------------------------------------- connections */

/*
 *   server:  IDLE -> HEAD -> BODY -> BUSY -> IDLE
 *   client:  DISCONNECTED -> CONNECTING -> IDLE -> HEAD -> BODY [-> BUSY] -> IDLE
 *
 *   IDLE     no request is in progress; a server waits for one
 *   HEAD     reads a head; a client's request may still be in the output (is_sending)
 *   BODY     reads a body
 *   BUSY     a server: the handler has the request, or the reply is being written
 *            a client: the response is complete and the request still being written; or the
 *            connection is being closed
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
	enum le_message message;	/* the kind of message that this side reads */
	/* the request to read into; NULL: there is none, or the connection is closed */
	struct le_request *(*next)(struct evhttp_connection *conn);
	void (*head_done)(struct evhttp_connection *conn, struct le_request *req);
	void (*message_done)(struct evhttp_connection *conn, struct le_request *req);
	void (*written)(struct evhttp_connection *conn);		/* the output is empty */
	void (*fail)(struct evhttp_connection *conn, enum evhttp_request_error why);
	void (*event)(struct evhttp_connection *conn, short what);
	void (*closed)(struct evhttp_connection *conn);	/* NULL, or releases what is left */
	/* The program frees a request: remove it. False: the connection still needs it. */
	bool (*abandon)(struct evhttp_connection *conn, struct le_request *req);
};

typedef void (*le_chunk_fn)(struct evhttp_connection *conn, void *arg);

struct evhttp_connection {
	/* const */
	const struct le_conn_ops *ops;
	struct event_base *base;	/* a client's: const from its first request */
	struct evdns_base *dns_base;
	struct bufferevent *bev;
	char *address;			/* of the other side; "" if it has none */
	ev_uint16_t port;
	uint32_t color;

	/* own: the connection's color */
	enum le_conn_state state;
	/* running callbacks of the bufferevent; after a close, the last one puts a reference */
	unsigned calls_num;
	bool is_closed;			/* only the memory is left, until the last reference */
	bool is_reading;		/* EV_READ is enabled */
	bool has_eof;			/* the client sends no more */
	bool is_auto_freed;		/* evhttp_connection_free_on_completion() */
	bool was_connected;		/* the close callback is due */
	int flags;			/* EVHTTP_CON_… */
	size_t max_headers_size;
	uint64_t max_body_size;
	/* for reads and writes; if has_timeout, for connecting, too */
	struct timeval timeout;
	bool has_timeout;
	struct le_requests requests;	/* the first is in progress, the others wait */
	struct le_request *spare;	/* memory for the next request, if the server has colors */
	struct sockaddr_storage peer;
	void (*closecb)(struct evhttp_connection *conn, void *arg);
	void *closecb_arg;
	le_chunk_fn chunk_fn;		/* called when all output of a streamed reply is sent */
	void *chunk_arg;
	struct evbuffer_cb_entry *below_cb; /* reports output that the bufferevents below have sent */
	time_t date_s;			/* the time that `date` spells */
	char date[LE_DATE_LEN + 1];

	/* own: fields of a client's connection */
	bool is_used;			/* a request was made: the color does not change any more */
	int family;
	char *bind_address;
	ev_uint16_t bind_port;
	int retry_max, retry_num;	/* retry_max -1: no limit */
	struct timeval retry_first;
	struct event wake_ev;		/* ends the wait before a retry, or calls go_on soon */
	bool is_retry_pending;
	/* le_conn_connect() runs: an event that the bufferevent reports must wait */
	bool is_starting;
	bool is_sending;		/* the request is not all written yet */
	unsigned char settle_turns;	/* the loop's turns that the first request waited in IDLE */
	short early_what;		/* the event reported while is_starting, and its errno */
	int early_errno;

	/* server->lock */
	struct evhttp *server;		/* NULL: a client's connection */
	struct ec_list link;

	/* atomic */
	/* one until it is closed, and one for each request and each call in progress */
	unsigned refs;
};

int le_conn_init(struct evhttp_connection *conn, const struct le_conn_ops *ops,
		 struct event_base *base, struct bufferevent *bev, const char *address,
		 ev_uint16_t port);
void le_conn_get(struct evhttp_connection *conn);
void le_conn_put(struct evhttp_connection *conn);
/* Releases everything but the memory. Frees the requests, except those that the program has. */
void le_conn_close(struct evhttp_connection *conn);
/* As le_conn_close(), after the last reply: the socket stays until the client has read the reply. */
void le_conn_close_later(struct evhttp_connection *conn);
/* Closes the socket and keeps the bufferevent. The close callback is still due. */
void le_conn_drop_socket(struct evhttp_connection *conn);
/* Calls the close callback, then closes the socket and keeps the bufferevent. */
void le_conn_disconnect(struct evhttp_connection *conn);
void le_conn_set_reading(struct evhttp_connection *conn, bool on);
void le_conn_apply_timeouts(struct evhttp_connection *conn, const struct timeval *tv);
/* False: the program has set its own callbacks in the bufferevent, for another protocol. */
bool le_conn_is_ours(const struct evhttp_connection *conn);
struct le_request *le_conn_first(const struct evhttp_connection *conn);
void le_conn_drop_output(struct evhttp_connection *conn);
void le_conn_drop_input(struct evhttp_connection *conn);
void le_conn_report_closed(struct evhttp_connection *conn);

/* Starts to connect a client's bufferevent. 0 or -errno. */
int le_conn_connect(struct evhttp_connection *conn);

/* Reads messages from the input. Called when the input has grown. */
void le_conn_read(struct evhttp_connection *conn);
/* The number of bytes that chunk lines and trailers may still have. */
uint64_t le_lines_max(const struct evhttp_connection *conn, const struct le_request *req);


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
	struct event_base *base;	/* NULL: a virtual host */

	/* lock: taken if the base may run colors; no callback runs under it */
	struct le_mutex lock;
	struct le_callback **callbacks;	/* hash table by path */
	size_t callbacks_size, callbacks_num;
	void (*gencb)(struct evhttp_request *req, void *arg);
	void *gencb_arg;
	struct bufferevent *(*bevcb)(struct event_base *base, void *arg);
	void *bevcb_arg;
	struct ec_list vhosts;		/* of struct evhttp, by vhost_link */
	struct ec_list vhost_link;
	struct evhttp *parent;		/* NULL: this is no virtual host */
	char *vhost_pattern;
	struct ec_list aliases;
	struct ec_list sockets;
	struct ec_list conns;
	struct ec_list lingers;		/* sockets of closed connections (linger.c) */
	struct le_request *spares;	/* memory for requests, by pub.next; unused with colors */
	unsigned spares_num;
	size_t max_headers_size;
	uint64_t max_body_size;
	int flags;			/* EVHTTP_SERVER_… */
	struct timeval timeout;
	bool has_colors;		/* a policy was set: connections may have other colors */
	enum evconnlistener_color_policy color_policy;
	evconnlistener_color_cb color_cb;
	void *color_arg;

	/* atomic: one word each, because every request reads them */
	unsigned allowed_methods;
	const char *default_content_type;
};

/*
 * The caller passes the result to le_http_unlock(). With a color policy, other threads may use the server before the
 * base has colors in use. A virtual host has no base.
 */
static inline bool le_http_lock(struct evhttp *http)
{
	struct ec_base *base = (struct ec_base *)(void *)http->base;

	if (!__atomic_load_n(&http->has_colors, __ATOMIC_RELAXED) && base != NULL && !ec_base_is_locked(base))
		return false;
	le_mutex_lock(&http->lock);
	return true;
}

static inline void le_http_unlock(struct evhttp *http, bool was_taken)
{
	if (was_taken)
		le_mutex_unlock(&http->lock);
}

/* Calls the handler of `req`. False: there is none. */
bool le_http_dispatch(struct evhttp *http, struct le_request *req);
bool le_http_serves_host(struct evhttp *http, const char *host);

/* The callback for a path. The caller holds the lock. */
struct le_handler {
	void (*fn)(struct evhttp_request *req, void *arg);
	void *arg;
};

/*
 * For observe/subject.h: which function of the program will probably handle the next request? The general one, or that
 * of the only path. False: there are several.
 */
bool le_http_subject(struct evhttp *http, struct ec_subject *s);

bool le_paths_find(struct evhttp *http, const char *path, size_t len, struct le_handler *ret);
void le_paths_free(struct evhttp *http);	/* no other thread may use the server */
void le_alias_free(struct le_alias *alias);

void le_http_accept(struct evhttp *http, evutil_socket_t fd, const struct sockaddr *sa,
		    socklen_t len);
void le_http_free_sockets(struct evhttp *http);

/* ---------------------------------------------------------------- lingering close */

/* True: the socket has unread bytes, or the kernel does not say. */
bool le_linger_has_input(int fd);
/* Takes over the socket of a connection that is being closed. -errno: the caller closes it. */
int le_linger_start(struct evhttp_connection *conn, struct evhttp *server, int fd);
void le_linger_free_all(struct evhttp *http);	/* no other thread may use the server */

/* ---------------------------------------------------------------- replies */

/* Refuses the request that is being read, and closes the connection after the reply. */
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
/* The color of the running callback; 0 outside of callbacks. */
uint32_t le_color_running(const struct event_base *base);

/* Other colors run no callback until le_color_resume(). False: the base did not pause. */
bool le_color_pause(struct event_base *base);
void le_color_resume(struct event_base *base);
/* With its first request, a client's connection takes the color of its bufferevent. */
void le_color_take_bevs(struct evhttp_connection *conn);

/*
 * Calls fn(conn, args): at once in the connection's color, else in a post there, with a copy of
 * `size` bytes of args. fn must check is_closed, because the connection may have been closed before
 * the post runs. -ENOMEM: fn is not called.
 */
int le_color_call(struct evhttp_connection *conn, le_call_fn fn, void *args, size_t size);

#endif
