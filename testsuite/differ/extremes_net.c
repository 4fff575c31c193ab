/*
 * DNS, HTTP, RPC, tagged data: numbers at the ends of their types (extremes.h).
 */
#include "extremes.h"

#include <netinet/in.h>

#include <event2/buffer.h>
#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/http.h>
#include <event2/rpc.h>
#include <event2/tag.h>

/* ---------------------------------------------------------------- dns */

static const char *const option_names[] = {
	"ndots:",     "timeout:",        "max-timeouts:",          "max-inflight:",
	"attempts:",  "randomize-case:", "initial-probe-timeout:", "getaddrinfo-allow-skew:",
	"so-rcvbuf:", "so-sndbuf:"
};
static const char *const option_values[] = { "0",
					     "1",
					     "-1",
					     "255",
					     "256",
					     "65536",
					     "2147483647",
					     "2147483648",
					     "-2147483648",
					     "-2147483649",
					     "1e400",
					     "0.0000001",
					     "99999999999999999999",
					     "-99999999999999999999",
					     "nan",
					     "inf",
					     "" };

static void dns(void)
{
	struct event_base *base = base_new();
	struct evdns_base *dns;

	EACH(i, option_names) {
		EACH(j, option_values) {
			/* Beyond an int, and no number at all: stock takes what strtol and strtod make of it. */
			(void)begin_row(strlen(option_values[j]) < 10 && option_values[j][0] != 'n');
			dns = evdns_base_new(base, 0);
			SAY("%s%s: %d", option_names[i], option_values[j],
			    evdns_base_set_option(dns, option_names[i], option_values[j]));
			(void)evdns_base_nameserver_ip_add(dns, "127.0.0.1:9");
			evdns_base_free(dns, 0);
		}
	}
	is_silent = false;
	EACH(i, ints) {
		dns = evdns_base_new(base, 0);
		evdns_base_search_ndots_set(dns, ints[i]);
		SAY("%d: add %d", ints[i], evdns_base_nameserver_add(dns, (unsigned long)ints[i]));
		SAY("  count %d", evdns_base_count_nameservers(dns));
		is_silent = ints[i] < 0;
		SAY("  address %d", evdns_base_get_nameserver_addr(dns, ints[i], NULL, 0));
		is_silent = false;
		SAY("  %s", is_null(evdns_err_to_string(ints[i])));
		evdns_base_free(dns, 0);
	}
	event_base_free(base);
}

/* A responder's numbers, told by a question to it. */
static void replies_cb(struct evdns_server_request *req, void *arg)
{
	static const unsigned char address[4] = { 127, 0, 0, 1 };

	(void)arg;
	evdns_server_request_set_flags(req, INT_MIN);
	EACH(i, ints) {
		evdns_server_request_set_flags(req, ints[i]);
		/* Names of a hundred bytes and more are not to be had: the answer has an end. */
		SAY("%d: ttl %d", ints[i], evdns_server_request_add_a_reply(req, "a", 1, address, ints[i]));
		/* Of some negative ones the size in bytes wraps. */
		is_silent = ints[i] < 0;
		SAY("  of %d", ints[i] > 1 ? 0 : evdns_server_request_add_a_reply(req, "a", ints[i], address, 1));
		is_silent = false;
		SAY("  section %d",
		    ints[i] >= 0 && ints[i] < 3 ?
			    0 :
			    evdns_server_request_add_reply(req, ints[i], "a", 1, 1, 1, 4, 0, (const char *)address));
		SAY("  type %d",
		    evdns_server_request_add_reply(req, 0, "a", ints[i], ints[i], 1, 4, 0, (const char *)address));
	}
	(void)evdns_server_request_drop(req);
}

static void dns_replies(void)
{
	static const unsigned char question[] = { 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1 };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), asker = socket(AF_INET, SOCK_DGRAM, 0);
	struct event_base *base = base_new();
	struct evdns_server_port *port;
	socklen_t len = sizeof(sin);

	must(fd >= 0 && asker >= 0 && bind(fd, (struct sockaddr *)&sin, len) == 0, "bind");
	must(getsockname(fd, (struct sockaddr *)&sin, &len) == 0, "ask for the port");
	nonblock(fd);
	port = evdns_add_server_port_with_base(base, fd, 0, replies_cb, NULL);
	must(sendto(asker, question, sizeof(question), 0, (struct sockaddr *)&sin, len) > 0, "ask");
	event_base_loop(base, EVLOOP_ONCE);
	evdns_close_server_port(port);
	close(asker);
	event_base_free(base);
}

/* ---------------------------------------------------------------- http */

static void http_limits(void)
{
	struct event_base *base = base_new();
	struct evhttp *http = evhttp_new(base);
	struct evhttp_connection *conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", 1);

	must(http != NULL && conn != NULL, "make a server");
	is_silent = false;
	EACH(i, ints) {
		evhttp_set_timeout(http, ints[i]);
		evhttp_set_allowed_methods(http, (ev_uint16_t)ints[i]);
		evhttp_connection_set_timeout(conn, ints[i]);
		evhttp_connection_set_retries(conn, ints[i]);
		SAY("%d: flags %d, %d", ints[i], evhttp_set_flags(http, ints[i]),
		    evhttp_connection_set_flags(conn, ints[i]));
	}
	EACH(i, ssizes) {
		evhttp_set_max_headers_size(http, ssizes[i]);
		evhttp_set_max_body_size(http, ssizes[i]);
		evhttp_connection_set_max_headers_size(conn, ssizes[i]);
		evhttp_connection_set_max_body_size(conn, ssizes[i]);
	}
	EACH(i, times) {
		evhttp_set_timeout_tv(http, &times[i]);
		evhttp_connection_set_timeout_tv(conn, &times[i]);
		evhttp_connection_set_initial_retry_tv(conn, &times[i]);
	}
	evhttp_connection_free(conn);
	evhttp_free(http);
	event_base_free(base);
}

static void http_uris(void)
{
	static const char *const uris[] = { "http://h:65535/",      "http://h:65536/",
					    "http://h:-1/",         "http://h:0/",
					    "http://h:4294967297/", "http://h:18446744073709551617/",
					    "http://h:/",           "http://h:00000000000000000000080/" };
	struct evhttp_uri *uri;
	char buf[64];

	EACH(i, uris) {
		uri = evhttp_uri_parse(uris[i]);
		SAY("%s: %d", uris[i], uri == NULL ? -77 : evhttp_uri_get_port(uri));
		if (uri != NULL)
			evhttp_uri_free(uri);
	}
	is_silent = false;
	EACH(i, ints) {
		uri = evhttp_uri_new();
		evhttp_uri_set_flags(uri, (unsigned)ints[i]);
		SAY("%d: %d, %d", ints[i], evhttp_uri_set_port(uri, ints[i]), evhttp_uri_get_port(uri));
		(void)evhttp_uri_set_host(uri, "h");
		(void)evhttp_uri_set_path(uri, "/");
		(void)evhttp_uri_set_scheme(uri, "http");
		SAY("  <%s>", evhttp_uri_join(uri, buf, sizeof(buf)) == NULL ? "none" : buf);
		evhttp_uri_free(uri);
		uri = evhttp_uri_parse_with_flags("http://h/", (unsigned)ints[i]);
		SAY("  %s", is_null(uri));
		if (uri != NULL)
			evhttp_uri_free(uri);
	}
	uri = evhttp_uri_parse("http://host:80/path?query#fragment");
	EACH(i, sizes)
	SAY("%zu: %s", sizes[i], sizes[i] > sizeof(buf) ? "-" : is_null(evhttp_uri_join(uri, buf, sizes[i])));
	evhttp_uri_free(uri);
	EACH(i, ssizes) {
		char *text;

		if (ssizes[i] > 5)
			continue;
		text = evhttp_uriencode("a b/c", ssizes[i], 1);
		SAY("%zd: <%s>", ssizes[i], text == NULL ? "none" : text);
		free(text);
	}
}

/* ---------------------------------------------------------------- rpc, tags */

static void rpc_times(void)
{
	struct event_base *base = base_new();
	struct evrpc_pool *pool = evrpc_pool_new(base);

	EACH(i, ints)
	evrpc_pool_set_timeout(pool, ints[i]);
	evrpc_pool_free(pool);
	event_base_free(base);
}

static void tags(void)
{
	struct evbuffer *buf = evbuffer_new();
	struct timeval tv;
	ev_uint32_t len;
	char byte;

	EACH(i, times) {
		evtag_marshal_timeval(buf, UINT32_MAX, (struct timeval *)(uintptr_t)&times[i]);
		SAY("%ld.%ld: %d, %d", TV(times[i]), evtag_peek_length(buf, &len),
		    evtag_unmarshal_timeval(buf, UINT32_MAX, &tv));
		SAY("  %ld.%ld", TV(tv));
	}
	EACH(i, sizes) {
		evtag_marshal(buf, 0, "x", 1);
		SAY("%zu: %d", sizes[i], sizes[i] == 1 ? 0 : evtag_unmarshal_fixed(buf, 0, &byte, sizes[i]));
		evbuffer_drain(buf, evbuffer_get_length(buf));
	}
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- */

int main(void)
{
	int failed = 0;

	signal(SIGPIPE, SIG_IGN);
	RUN(dns);
	RUN(dns_replies);
	RUN(http_limits);
	RUN(http_uris);
	RUN(rpc_times);
	RUN(tags);
	return failed != 0;
}
