/*
 * A crawler that resolves names: fetches pages, follows their links, and prints each page with its size.
 *
 *   crawler [-n ADDRESS:PORT] URL...		(-n: this nameserver instead of the system's)
 *
 * Each page has a color of its own, so pages are read and searched on all cores. The list of pages has one color. A
 * program for the real web needs more: robots.txt, pauses, limits, HTTPS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/smp.h>

#define PAGES_MAX 1000u
#define PAGE_SIZE_MAX 1000000u

struct page {
	/* never changes */
	ev_uint32_t color;
	char *url;
	struct evhttp_uri *uri;
	/* the page's color */
	struct bufferevent *bev;
	/* the list's color */
	LIST_ENTRY(page) entry;
};

static struct event_base *base;
static struct evdns_base *dns;
static ev_uint32_t list_color;

/* The list's color. */
static LIST_HEAD(, page) pages;
static unsigned pages_num, unfinished_num;

static void post(ev_uint32_t color, event_post_fn fn, void *arg)
{
	if (arg == NULL || event_base_post(base, color, fn, arg) < 0)
		abort();	/* no memory */
}

/* The list's color. Without an evdns_base the loop ends. */
static void page_finished(void *arg)
{
	(void)arg;
	if (--unfinished_num == 0)
		evdns_base_free(dns, 0);
}

static void page_start(void *arg);

/* The list's color: a URL that was found, from strdup(). */
static void url_found(void *arg)
{
	struct page *page;

	LIST_FOREACH(page, &pages, entry)
		if (strcmp(page->url, arg) == 0)
			break;
	if (page != NULL || pages_num == PAGES_MAX) {
		free(arg);
		return;
	}
	page = calloc(1, sizeof(*page));
	if (page == NULL)
		abort();
	page->url = arg;
	page->color = ++pages_num;
	LIST_INSERT_HEAD(&pages, page, entry);
	unfinished_num++;
	post(page->color, page_start, page);
}

/* The page's color: it was read to its end, or could not be read. */
static void page_end(struct page *page, const char *error)
{
	size_t len = page->bev != NULL ? evbuffer_get_length(bufferevent_get_input(page->bev)) : 0;
	char *text = calloc(len + 1, 1);

	if (text == NULL)
		abort();
	if (error == NULL)
		evbuffer_remove(bufferevent_get_input(page->bev), text, len);
	for (char *link = text; link != NULL && (link = strstr(link, "href=\"http://")) != NULL;) {
		char *begin = link + strlen("href=\""), *end = strchr(begin, '"');

		if (end != NULL)
			post(list_color, url_found, strndup(begin, (size_t)(end - begin)));
		link = end;
	}
	free(text);
	if (error == NULL)
		printf("%s %zu bytes\n", page->url, len);
	else
		printf("%s %s\n", page->url, error);
	if (page->bev != NULL)
		bufferevent_free(page->bev);
	if (page->uri != NULL)
		evhttp_uri_free(page->uri);
	/* After the links above: posts to one color stay in order. */
	post(list_color, page_finished, page);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct page *page = arg;

	if (what & BEV_EVENT_CONNECTED) {
		const char *path = evhttp_uri_get_path(page->uri);

		evbuffer_add_printf(bufferevent_get_output(bev), "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n",
				    *path != '\0' ? path : "/", evhttp_uri_get_host(page->uri));
	} else if (what & BEV_EVENT_EOF) {
		page_end(page, NULL);
	} else if (bufferevent_socket_get_dns_error(bev) != 0) {
		page_end(page, evutil_gai_strerror(bufferevent_socket_get_dns_error(bev)));
	} else {
		page_end(page, what & BEV_EVENT_TIMEOUT ? "timeout" : "error");
	}
}

static void on_read(struct bufferevent *bev, void *arg)
{
	if (evbuffer_get_length(bufferevent_get_input(bev)) > PAGE_SIZE_MAX)
		page_end(arg, "too large");
}

/* The page's color. So the answer of evdns comes in this color, too. */
static void page_start(void *arg)
{
	struct page *page = arg;
	struct timeval limit = { 30, 0 };
	int port;

	page->uri = evhttp_uri_parse(page->url);
	if (page->uri == NULL || evhttp_uri_get_host(page->uri) == NULL) {
		page_end(page, "is no URL");
		return;
	}
	port = evhttp_uri_get_port(page->uri);
	page->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (page->bev == NULL || bufferevent_set_color(page->bev, page->color) < 0)
		abort();
	bufferevent_setcb(page->bev, on_read, NULL, on_event, page);
	bufferevent_set_timeouts(page->bev, &limit, &limit);
	bufferevent_enable(page->bev, EV_READ);
	bufferevent_socket_connect_hostname(page->bev, dns, AF_INET, evhttp_uri_get_host(page->uri),
					    port != -1 ? port : 80);
}

int main(int argc, char **argv)
{
	const char *nameserver = NULL;
	struct page *page;
	int option;

	while ((option = getopt(argc, argv, "n:")) != -1) {
		if (option != 'n')
			return 2;
		nameserver = optarg;
	}
	base = event_base_new();
	dns = evdns_base_new(base, nameserver == NULL);
	list_color = event_color_new(base);
	if (dns == NULL || list_color == 0 ||
	    (nameserver != NULL && evdns_base_nameserver_ip_add(dns, nameserver) != 0)) {
		fprintf(stderr, "crawler: no nameserver\n");
		return 1;
	}
	for (int i = optind; i < argc; i++)
		post(list_color, url_found, strdup(argv[i]));
	event_base_dispatch(base);

	while ((page = LIST_FIRST(&pages)) != NULL) {
		LIST_REMOVE(page, entry);
		free(page->url);
		free(page);
	}
	event_base_free(base);
	return 0;
}
