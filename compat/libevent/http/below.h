/*
 * The bufferevents below a connection's one: TLS and filters may be over others, and the last one
 * has the socket.
 */
#ifndef HTTP_BELOW_H
#define HTTP_BELOW_H

#include "http.h"

/* Takes the descriptor from the bufferevent that has it. -1: there is none. */
evutil_socket_t le_below_take_fd(struct bufferevent *bev);

/*
 * True: a bufferevent below still has output. conn->ops->written() is called again when it is sent.
 */
bool le_below_must_wait(struct evhttp_connection *conn);
/* Before the connection lets go of its bufferevent. */
void le_below_stop_waiting(struct evhttp_connection *conn);

#endif
