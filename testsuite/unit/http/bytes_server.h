/*
 * An evhttp client in this process and a server of bytes that it talks to. Both ends are driven by one loop until
 * the test has what it waits for, so nothing here takes time.
 */
#ifndef HTTP_BYTES_SERVER_H
#define HTTP_BYTES_SERVER_H

#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>

/* What a server says, and says unasked. */
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define EVIL "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

/* Only a test that fails takes so many. */
enum { TURNS_MAX = 2000000 };

struct server {
	struct event_base *base;
	struct evhttp_connection *conn;
	int listen_fd, fd;
	bool is_closed;			/* the client has closed */
	size_t len;
	char text[8192];		/* what the client said */

	unsigned done, errors, closes, chunks;
	int code;			/* -1: the callback got NULL */
	int error;
	char body[256];
};

static inline void done_cb(struct evhttp_request *req, void *arg)
{
	struct server *s = arg;

	s->done++;
	s->code = req != NULL ? evhttp_request_get_response_code(req) : -1;
	if (req == NULL)
		return;
	memset(s->body, 0, sizeof(s->body));
	evbuffer_copyout(evhttp_request_get_input_buffer(req), s->body, sizeof(s->body) - 1);
}

static inline void error_cb(enum evhttp_request_error error, void *arg)
{
	struct server *s = arg;

	s->errors++;
	s->error = (int)error;
}

static inline void close_cb(struct evhttp_connection *conn, void *arg)
{
	(void)conn;
	((struct server *)arg)->closes++;
}

static inline void server_init(struct server *s)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);

	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(s->listen_fd >= 0);
	assert_int_equal(bind(s->listen_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->listen_fd, 8), 0);
	assert_int_equal(getsockname(s->listen_fd, (struct sockaddr *)&addr, &len), 0);
	s->base = event_base_new();
	s->conn = evhttp_connection_base_new(s->base, NULL, "127.0.0.1", ntohs(addr.sin_port));
	assert_non_null(s->conn);
	evhttp_connection_set_closecb(s->conn, close_cb, s);
}

static inline void server_fini(struct server *s)
{
	evhttp_connection_set_closecb(s->conn, NULL, NULL);
	evhttp_connection_free(s->conn);
	event_base_free(s->base);
	if (s->fd >= 0)
		close(s->fd);
	close(s->listen_fd);
}

static inline void turn(struct server *s)
{
	ssize_t n;
	int fd;

	event_base_loop(s->base, EVLOOP_NONBLOCK);
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		if (s->fd >= 0)
			close(s->fd);
		s->fd = fd;
		s->is_closed = false;
	}
	if (s->fd < 0 || s->is_closed)
		return;
	n = recv(s->fd, s->text + s->len, sizeof(s->text) - 1 - s->len, 0);
	if (n > 0)
		s->len += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		s->is_closed = true;
	s->text[s->len] = '\0';
}

static inline struct evhttp_request *ask(struct server *s, enum evhttp_cmd_type type, const char *uri, const char *body)
{
	struct evhttp_request *req = evhttp_request_new(done_cb, s);

	assert_non_null(req);
	evhttp_request_set_error_cb(req, error_cb);
	if (body != NULL)
		evbuffer_add(evhttp_request_get_output_buffer(req), body, strlen(body));
	s->len = 0;
	s->text[0] = '\0';
	assert_int_equal(evhttp_make_request(s->conn, req, type, uri), 0);
	return req;
}

static inline void run_until_asked(struct server *s, const char *text)
{
	for (int i = 0; i < TURNS_MAX && strstr(s->text, text) == NULL; i++)
		turn(s);
	if (strstr(s->text, text) == NULL)
		fail_msg("no \"%s\" in \"%s\"", text, s->text);
}

static inline void run_until_done(struct server *s, unsigned done)
{
	for (int i = 0; i < TURNS_MAX && s->done < done; i++)
		turn(s);
	assert_int_equal(s->done, done);
}

static inline void say(struct server *s, const char *text, size_t len, size_t step)
{
	for (size_t at = 0; at < len; at += step) {
		/* A client that has seen enough closes. */
		(void)send(s->fd, text + at, len - at < step ? len - at : step, MSG_NOSIGNAL);
		turn(s);
	}
}

static inline void answer_and_check(struct server *s, unsigned done)
{
	say(s, OK, strlen(OK), SIZE_MAX / 2);
	run_until_done(s, done);
	assert_int_equal(s->code, 200);
	assert_string_equal(s->body, "hi");
}

static inline void turns(struct server *s, int num)
{
	for (int i = 0; i < num; i++)
		event_base_loop(s->base, EVLOOP_NONBLOCK);
}

#endif
