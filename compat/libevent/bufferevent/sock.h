/*
 * What a socket's bufferevent does to get connected: connect.c.
 */
#ifndef LE_BEV_SOCK_H
#define LE_BEV_SOCK_H

#include "bev.h"

/* EV_WRITE came while it was connecting: tells how that ended. False: not well, or not yet. held */
bool le_bev_connected(struct le_bev *p, evutil_socket_t fd);

/* A name being looked up is not wanted any more. held */
void le_bev_connect_cancel(struct bufferevent *bev);

#endif
