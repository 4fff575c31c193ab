/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * Bytes an object, and what stays after release. For each kind and count, in a process of its own:
 *
 *	name  count  heap bytes an object  RSS bytes an object  heap after release  RSS after release  RSS at rest
 *
 * "At rest": after a loop once a second for some time, by the program's clock. "Heap" is what malloc has given out
 * (mallinfo2). RSS counts whole pages, also those that libraries map.
 * Both are differences to the time before the first object; the base, where there is one, was made and used before.
 */
#include "sweep.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/thread.h>

enum { COUNTS = 2,
       KEEP_MAX = 100000,
       REST_S = 20 };

struct kind {
	const char *name;
	bool (*make)(unsigned i); /* false: no more */
	void (*drop)(unsigned i);
	unsigned counts[COUNTS];
	void (*begin)(void);
};

static struct event_base *base;
static void **kept; /* outside of the heap */
static int *fds;
static struct sockaddr_in addr;
static char data[1 << 20];

static void nop_bev(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	(void)arg;
}

/* ---------------------------------------------------------------- events */

static bool timer_make(unsigned i)
{
	struct timeval tv = { 1000 + i % 1000, 0 };

	kept[i] = evtimer_new(base, sweep_nop, NULL);
	return event_add(kept[i], &tv) == 0;
}

static void event_drop(unsigned i)
{
	event_free(kept[i]);
}

static bool fd_event_make(unsigned i)
{
	fds[i] = dup(0);
	if (fds[i] < 0)
		return false;
	kept[i] = event_new(base, fds[i], EV_READ | EV_PERSIST, sweep_nop, NULL);
	return event_add(kept[i], NULL) == 0;
}

static void fd_event_drop(unsigned i)
{
	event_free(kept[i]);
	close(fds[i]);
}

/* Descriptor 0 becomes what can be polled and never is ready. */
static void fd_begin(void)
{
	int pair[2];

	sweep_socketpair(pair);
	sweep_check(dup2(pair[0], 0) == 0);
}

static bool base_make(unsigned i)
{
	kept[i] = event_base_new();
	return kept[i] != NULL;
}

static void base_drop(unsigned i)
{
	event_base_free(kept[i]);
}

/* ---------------------------------------------------------------- buffers and bufferevents */

static bool bev_make(unsigned i)
{
	fds[i] = dup(0);
	if (fds[i] < 0)
		return false;
	kept[i] = bufferevent_socket_new(base, fds[i], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(kept[i], NULL, NULL, nop_bev, NULL);
	return bufferevent_enable(kept[i], EV_READ) == 0;
}

static void bev_drop(unsigned i)
{
	bufferevent_free(kept[i]);
	sweep_poll(base);
}

static void on_echo(struct bufferevent *bev, void *arg)
{
	(void)arg;
	bufferevent_write_buffer(bev, bufferevent_get_input(bev));
}

/* A connection that answered a request and waits for the next. */
static bool used_bev_make(unsigned i)
{
	char in[100];
	int pair[2];

	sweep_socketpair(pair);
	fds[i] = pair[1];
	kept[i] = bufferevent_socket_new(base, pair[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(kept[i], on_echo, NULL, nop_bev, NULL);
	bufferevent_enable(kept[i], EV_READ);
	sweep_check(write(pair[1], data, sizeof(in)) == sizeof(in));
	while (read(pair[1], in, sizeof(in)) < 0)
		sweep_poll(base);
	return true;
}

static void used_bev_drop(unsigned i)
{
	bev_drop(i);
	close(fds[i]);
}

static bool buffer_make(unsigned i)
{
	kept[i] = evbuffer_new();
	return evbuffer_add(kept[i], data, 100000) == 0;
}

static bool small_buffer_make(unsigned i)
{
	kept[i] = evbuffer_new();
	return evbuffer_add(kept[i], data, 100) == 0;
}

static bool drained_buffer_make(unsigned i)
{
	buffer_make(i);
	return evbuffer_drain(kept[i], 100000) == 0;
}

static void buffer_drop(unsigned i)
{
	evbuffer_free(kept[i]);
}

/* Each is freed before the next is made: what counts is what stays. */
static bool passing_buffer_make(unsigned i)
{
	struct evbuffer *buf = evbuffer_new();

	(void)i;
	sweep_check(evbuffer_add(buf, data, sizeof(data)) == 0);
	evbuffer_free(buf);
	return true;
}

static void nothing_drop(unsigned i)
{
	(void)i;
}

/* ---------------------------------------------------------------- listeners, evhttp, evdns */

static bool listener_make(unsigned i)
{
	fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fds[i] < 0)
		return false;
	kept[i] = evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_DISABLED, 1, fds[i]);
	return kept[i] != NULL;
}

static void listener_drop(unsigned i)
{
	evconnlistener_free(kept[i]);
}

static struct evhttp *http;

static void on_request(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evbuffer_add(evhttp_request_get_output_buffer(req), "hello", 5);
	evhttp_send_reply(req, HTTP_OK, "OK", NULL);
}

static void http_begin(void)
{
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(addr);

	http = evhttp_new(base);
	evhttp_set_gencb(http, on_request, NULL);
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	sweep_check(bound != NULL);
	sweep_check(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&addr, &len) == 0);
}

/* A connection that had a request and is kept alive; the client is a plain socket. */
static bool http_make(unsigned i)
{
	static const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	char in[1000];

	fds[i] = socket(AF_INET, SOCK_STREAM, 0);
	if (fds[i] < 0 || connect(fds[i], (struct sockaddr *)&addr, sizeof(addr)) != 0)
		return false;
	evutil_make_socket_nonblocking(fds[i]);
	sweep_check(write(fds[i], get, sizeof(get) - 1) > 0);
	while (read(fds[i], in, sizeof(in)) < 0)
		sweep_poll(base);
	return true;
}

static void http_drop(unsigned i)
{
	close(fds[i]);
	sweep_poll(base);
}

static bool dns_base_make(unsigned i)
{
	kept[i] = evdns_base_new(base, 0);
	return kept[i] != NULL;
}

static void dns_base_drop(unsigned i)
{
	evdns_base_free(kept[i], 0);
	sweep_poll(base);
}

static struct evdns_base *dns;

/* A nameserver that never answers, and room for all requests at once. */
static void dns_begin(void)
{
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	sweep_check(fd >= 0 && bind(fd, (struct sockaddr *)&addr, len) == 0);
	sweep_check(getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
	dns = evdns_base_new(base, 0);
	evdns_base_set_option(dns, "max-inflight", "60000");
	sweep_check(evdns_base_nameserver_sockaddr_add(dns, (struct sockaddr *)&addr, sizeof(addr), 0) == 0);
}

static void on_resolved(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	(void)result;
	(void)type;
	(void)count;
	(void)ttl;
	(void)addresses;
	(void)arg;
}

static bool request_make(unsigned i)
{
	kept[i] = evdns_base_resolve_ipv4(dns, "www.example.com", DNS_QUERY_NO_SEARCH, on_resolved, NULL);
	return kept[i] != NULL;
}

static void request_drop(unsigned i)
{
	evdns_cancel_request(dns, kept[i]);
	if (i % 100 == 0)
		sweep_poll(base);
}

static const struct kind kinds[] = {
	{ "timer", timer_make, event_drop, { 1000, 100000 }, NULL },
	{ "fd event", fd_event_make, fd_event_drop, { 1000, 18000 }, fd_begin },
	{ "bufferevent", bev_make, bev_drop, { 1000, 18000 }, fd_begin },
	{ "bufferevent, used", used_bev_make, used_bev_drop, { 1000, 9000 }, NULL },
	{ "listener", listener_make, listener_drop, { 1000, 18000 }, NULL },
	{ "http connection, used", http_make, http_drop, { 1000, 9000 }, http_begin },
	{ "base", base_make, base_drop, { 10, 1000 }, NULL },
	{ "evdns base", dns_base_make, dns_base_drop, { 10, 1000 }, NULL },
	{ "evdns request", request_make, request_drop, { 1000, 10000 }, dns_begin },
	{ "evbuffer of 100 B", small_buffer_make, buffer_drop, { 1000, 100000 }, NULL },
	{ "evbuffer of 100 KB", buffer_make, buffer_drop, { 100, 1000 }, NULL },
	{ "evbuffer of 100 KB, drained", drained_buffer_make, buffer_drop, { 100, 1000 }, NULL },
	{ "evbuffer of 1 MB, one after the other", passing_buffer_make, nothing_drop, { 1, 100 }, NULL },
};

struct use {
	long heap, rss;
};

static struct use use_now(void)
{
	struct mallinfo2 info = mallinfo2();
	long pages = 0;
	char text[100] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	sweep_check(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	sscanf(text, "%*d %ld", &pages);
	return (struct use){ (long)(info.uordblks + info.hblkhd), pages * sysconf(_SC_PAGESIZE) };
}

static void *outside(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	sweep_check(at != MAP_FAILED);
	return at;
}

static void begin(const struct kind *kind, bool is_locked)
{
	if (is_locked)
		sweep_check(evthread_use_pthreads() == 0);
	kept = outside(KEEP_MAX * sizeof(*kept));
	fds = outside(KEEP_MAX * sizeof(*fds));
	memset(data, 'x', sizeof(data));
	base = event_base_new();
	sweep_check(base != NULL);
	sweep_poll(base);
	if (kind->begin != NULL)
		kind->begin();
}

static void measure(const struct kind *kind, unsigned count, bool is_locked)
{
	struct use before, with, after, rest;
	unsigned i, num;

	begin(kind, is_locked);
	before = use_now();
	for (num = 0; num < count; num++)
		sweep_check(kind->make(num));
	sweep_poll(base);
	with = use_now();
	for (i = 0; i < num; i++)
		kind->drop(i);
	sweep_poll(base);
	after = use_now();
	for (i = 0; i < REST_S; i++) {
		sweep_advance_us(1000000);
		sweep_poll(base);
	}
	rest = use_now();
	printf("%s\t%u\t%ld\t%ld\t%ld\t%ld\t%ld\n", kind->name, num, (with.heap - before.heap) / (long)num,
	       (with.rss - before.rss) / (long)num, after.heap - before.heap, after.rss - before.rss,
	       rest.rss - before.rss);
	fflush(stdout);
	_exit(0);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (fnmatch(argv[i], name, 0) == 0)
			return true;
	}
	return argc == 0;
}

int sweep_memory(int argc, char **argv, bool is_locked)
{
	int status, failed_num = 0;
	size_t k, c;
	pid_t pid;

	for (k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		for (c = 0; c < COUNTS && is_wanted(kinds[k].name, argc, argv); c++) {
			pid = fork();
			sweep_check(pid >= 0);
			if (pid == 0)
				measure(&kinds[k], kinds[k].counts[c], is_locked);
			sweep_check(waitpid(pid, &status, 0) == pid);
			if (status != 0)
				fprintf(stderr, "%s: failed, status %#x\n", kinds[k].name, (unsigned)status);
			failed_num += status != 0;
		}
	}
	return failed_num != 0;
}
