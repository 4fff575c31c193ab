/* A resolver and a nameserver of libevent 1.4's time: <evdns.h>, the current base, the global resolver. */
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>

#include <evdns.h>

#include "trace.h"

static int waiting;

/* Questions are served one at a time: requests of one turn arrive in an order of no promise. */
static void serve(struct evdns_server_request *req, void *arg)
{
	const struct in_addr a[2] = { { htonl(0x0a000001) }, { htonl(0x0a000002) } };
	const struct in6_addr aaaa = IN6ADDR_LOOPBACK_INIT;
	const struct evdns_server_question *q = req->questions[0];
	int r = 0;

	say("  server: %d question, type %d, class %d, arg %s", req->nquestions, q->type, q->dns_question_class,
	    (const char *)arg);
	if (strncasecmp(q->name, "none", 4) == 0) {
		say("  respond %d", evdns_server_request_respond(req, DNS_ERR_NOTEXIST));
		return;
	}
	if (q->type == EVDNS_TYPE_A)
		r = evdns_server_request_add_a_reply(req, q->name, 2, a, 100);
	else if (q->type == EVDNS_TYPE_AAAA)
		r = evdns_server_request_add_aaaa_reply(req, q->name, 1, &aaaa, 200);
	else if (q->type == EVDNS_TYPE_PTR)
		r = evdns_server_request_add_ptr_reply(req, NULL, q->name, "host.example", 300);
	say("  add %d, respond %d", r, evdns_server_request_respond(req, 0));
}

static void answered(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	char text[64];
	int i;

	say("  %s: %s, type %d, %d, ttl %d", (const char *)arg, evdns_err_to_string(result), type, count,
	    result == 0 ? ttl : 0);
	for (i = 0; i < count; i++) {
		if (type == DNS_IPv4_A)
			say("    %s", inet_ntop(AF_INET, (char *)addresses + i * 4, text, sizeof(text)));
		else if (type == DNS_IPv6_AAAA)
			say("    %s", inet_ntop(AF_INET6, (char *)addresses + i * 16, text, sizeof(text)));
		else
			say("    %s", ((char **)addresses)[i]);
	}
	if (--waiting == 0)
		event_loopexit(NULL);
}

static void wait_for(int r)
{
	waiting = 1;
	say("  asked %d", r);
	if (r == 0)
		event_dispatch();
}

static void quiet(int is_warning, const char *msg)
{
	(void)is_warning;
	(void)msg;
}

static int server_socket(struct sockaddr_in *sin)
{
	socklen_t len = sizeof(*sin);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*sin = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	must(fd >= 0 && bind(fd, (struct sockaddr *)sin, len) == 0 &&
	     getsockname(fd, (struct sockaddr *)sin, &len) == 0, "bind");
	nonblock(fd);
	return fd;
}

int main(void)
{
	struct event_base *base = event_init();
	const struct in_addr v4 = { htonl(0x0a000001) };
	const struct in6_addr v6 = IN6ADDR_LOOPBACK_INIT;
	struct evdns_server_port *server;
	struct sockaddr_in sin;
	char address[32];
	int fd = server_socket(&sin);

	evdns_set_log_fn(quiet);
	server = evdns_add_server_port(fd, 0, serve, (void *)(uintptr_t)"served");
	say("server %s", server != NULL ? "made" : "none");
	say("init %d", evdns_init());
	say("clear %d", evdns_clear_nameservers_and_suspend());
	say("count %d", evdns_count_nameservers());
	snprintf(address, sizeof(address), "127.0.0.1:%d", ntohs(sin.sin_port));
	say("add %d", evdns_nameserver_ip_add(address));
	say("count %d, resume %d", evdns_count_nameservers(), evdns_resume());
	say("option %d", evdns_set_option("timeout:", "5", DNS_OPTIONS_ALL));
	evdns_search_clear();
	section("answers");
	wait_for(evdns_resolve_ipv4("host.example", DNS_QUERY_NO_SEARCH, answered, (void *)(uintptr_t)"A"));
	wait_for(evdns_resolve_ipv6("host.example", DNS_QUERY_NO_SEARCH, answered, (void *)(uintptr_t)"AAAA"));
	wait_for(evdns_resolve_reverse(&v4, 0, answered, (void *)(uintptr_t)"PTR"));
	wait_for(evdns_resolve_reverse_ipv6(&v6, 0, answered, (void *)(uintptr_t)"PTR of IPv6"));
	wait_for(evdns_resolve_ipv4("none.example", DNS_QUERY_NO_SEARCH, answered, (void *)(uintptr_t)"none"));
	section("search");
	evdns_search_add("example");
	evdns_search_ndots_set(1);
	wait_for(evdns_resolve_ipv4("host", 0, answered, (void *)(uintptr_t)"searched"));
	wait_for(evdns_resolve_ipv4("none", 0, answered, (void *)(uintptr_t)"searched"));
	evdns_search_clear();
	evdns_shutdown(0);
	evdns_close_server_port(server);
	event_base_free(base);
	return 0;
}
