/*
 * What the programs for ThreadSanitizer share.
 */
#ifndef TSAN_PROGRAM_H
#define TSAN_PROGRAM_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>
#include <event2/smp.h>

/* Also without assertions. */
#define CHECK(c)                                                                   \
	do {                                                                       \
		if (!(c)) {                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c);    \
			_exit(3);                                                  \
		}                                                                  \
	} while (0)

static inline void *must(void *p)
{
	CHECK(p != NULL);
	return p;
}

static inline struct event_base *base_new(unsigned workers)
{
	struct event_config *cfg = must(event_config_new());
	struct event_base *base;

	CHECK(event_config_set_workers(cfg, workers, NULL, NULL) == 0);
	base = must(event_base_new_with_config(cfg));
	event_config_free(cfg);
	return base;
}

static inline void post(struct event_base *base, uint32_t color, event_post_fn fn, void *arg)
{
	CHECK(event_base_post(base, color, fn, arg) == 0);
}

static inline pthread_t thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, fn, arg) == 0);
	return thread;
}

static inline void thread_join(pthread_t thread)
{
	CHECK(pthread_join(thread, NULL) == 0);
}

static inline struct sockaddr_in address_of(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	CHECK(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	return at;
}

static inline struct evconnlistener *listen_any(struct event_base *base, evconnlistener_cb fn, struct sockaddr_in *at)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct evconnlistener *lev;

	lev = evconnlistener_new_bind(base, fn, NULL, LEV_OPT_CLOSE_ON_FREE, -1, (struct sockaddr *)&any, sizeof(any));
	if (lev != NULL)
		*at = address_of(evconnlistener_get_fd(lev));
	return lev;
}

static inline int connect_to(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0);
	return fd;
}

#endif
