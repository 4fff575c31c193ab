/*
 * The client's side of a connection, between its files: client.c its life and its queue, tries.c
 * connecting and failing, send.c the request, answer.c the response. All is own: the connection's
 * color.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "http.h"

/* client.c */
/* Go on from the loop, soon: nothing of the program may be called from here. */
void le_client_wake(struct evhttp_connection *conn);
/* Start the next request, or end a connection that nobody needs. */
void le_client_go_on(struct evhttp_connection *conn);
/* The server has sent something, or has left, since the last answer. */
bool le_client_has_unasked(const struct evhttp_connection *conn);
void le_client_unlink(struct evhttp_connection *conn, struct le_request *req);
void le_client_put_unless_owned(struct le_request *req);
/* The last callback of a request has run. Frees it, unless the program owns it or made it again. */
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
/* The request is sent and its answer complete. */
void le_client_complete(struct evhttp_connection *conn, struct le_request *req);

#endif
