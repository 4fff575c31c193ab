/* The struct behind evhttp_uri: a URI whose parts are strings of its own. */
#ifndef HTTP_URI_H
#define HTTP_URI_H

struct evhttp_uri {
	unsigned flags;			/* EVHTTP_URI_… */
	int port;			/* -1: none */
	char *scheme;			/* each NULL where the URI has no such part */
	char *userinfo;
	char *host;
	char *path;
	char *query;
	char *fragment;
};

#endif
