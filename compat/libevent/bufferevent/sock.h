/*
 * Connecting a socket's bufferevent: connect.c.
 */
#ifndef LE_BEV_SOCK_H
#define LE_BEV_SOCK_H

#include "bev.h"

/*
 * EV_WRITE came while it was connecting: report the result. False: failed, or not connected yet.
 * held
 */
bool le_bev_connected(struct le_bev *p, evutil_socket_t fd);

/* Cancel resolving the name, if that is in progress. held */
void le_bev_connect_cancel(struct bufferevent *bev);

#endif
