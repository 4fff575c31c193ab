/* struct evhttp_uri: the parts of a URI, as strings. */
#ifndef HTTP_URI_H
#define HTTP_URI_H

struct evhttp_uri {
	unsigned flags;			/* EVHTTP_URI_… */
	int port;			/* -1: none */
	char *scheme;			/* NULL, as the others: the URI has no such part */
	char *userinfo;
	char *host;
	char *path;
	char *query;
	char *fragment;
};

#endif
