/*
 * The client's side of a connection, shared by its files. client.c has its life and its queue,
 * tries.c connecting and failures, send.c the request, answer.c the response. All functions run in
 * the connection's color.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "http.h"

/* client.c */
/* Lets the loop call le_client_go_on() soon, because the caller may call no callback. */
void le_client_wake(struct evhttp_connection *conn);
/* Starts the next request; without one, closes a connection that is to be freed on completion. */
void le_client_go_on(struct evhttp_connection *conn);
/* True: since the last response, the server has sent more bytes, or has closed. */
bool le_client_has_unsolicited(const struct evhttp_connection *conn);
void le_client_unlink(struct evhttp_connection *conn, struct le_request *req);
void le_client_put_unless_owned(struct le_request *req);
/* Called after a request's last callback. Frees it, unless the program owns it or made it again. */
void le_client_leave_last(struct le_request *req);

/* tries.c */
void le_client_start_connecting(struct evhttp_connection *conn);
void le_client_connected(struct evhttp_connection *conn);
void le_client_connect_failed(struct evhttp_connection *conn, short what, int err);
void le_client_stop_retrying(struct evhttp_connection *conn);
void le_client_fail(struct evhttp_connection *conn, enum evhttp_request_error why);

/* send.c */
void le_client_dispatch(struct evhttp_connection *conn);
void le_client_written(struct evhttp_connection *conn);
void le_client_forget_head(struct le_request *req);

/* answer.c */
struct le_request *le_client_next(struct evhttp_connection *conn);
void le_client_head_done(struct evhttp_connection *conn, struct le_request *req);
void le_client_message_done(struct evhttp_connection *conn, struct le_request *req);
/* The request is sent, and its response is complete. */
void le_client_complete(struct evhttp_connection *conn, struct le_request *req);

#endif
