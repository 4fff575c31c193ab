/*
 * Nameservers. Queries go to them in turn.
 *
 * A nameserver is down if too many queries to it had no answer, or if it refused one. It then gets
 * queries only while no other nameserver is up. Probes find out when it answers again; the time
 * between probes grows.
 */
#include "request.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <event2/util.h>

enum {
	PROBE_BACKOFF = 3,
	/* Return values of evdns_base_nameserver_…_add(), the same as libevent's. */
	ADD_BAD = 2,
	ADD_DUPLICATE = 3,
};

static const int64_t probe_max_ns = 3600LL * 1000 * 1000 * 1000;

/* ---------------------------------------------------------------- the next query's nameserver */

static struct dns_server *after(const struct evdns_base *dns, const struct dns_server *server)
{
	struct ec_list *next = server->link.next;

	return ec_container_of(next != &dns->servers ? next : dns->servers.next, struct dns_server,
			       link);
}

/* If all nameservers are down, each may be back: try them in turn. NULL: there is none. */
struct dns_server *le_dns_server_pick(struct evdns_base *dns)
{
	struct dns_server *server;

	if (dns->next == NULL)
		return NULL;
	if (dns->servers_up == 0) {
		dns->next = after(dns, dns->next);
		return dns->next;
	}
	while (!dns->next->is_up)
		dns->next = after(dns, dns->next);
	server = dns->next;
	dns->next = after(dns, server);
	return server;
}

/* ---------------------------------------------------------------- up and down */

static void probe_later(struct dns_server *server)
{
	int64_t in_ns = server->dns->probe_ns;

	for (int i = 0; i < server->failures_num && in_ns < probe_max_ns; i++)
		in_ns *= PROBE_BACKOFF;
	server->failures_num++;
	le_dns_timer_start(server->dns, &server->probe_timer,
			   in_ns < probe_max_ns ? in_ns : probe_max_ns);
}

static void probe_done(struct evdns_request *req, const struct dns_answer *answer)
{
	struct dns_server *server = req->owner;

	(void)answer;
	server->probe = NULL;
	le_dns_request_drop(req);
	if (!server->is_up)
		probe_later(server);
}

/* Asks for a name that always exists, and ignores its address. NULL: no memory. */
static struct evdns_request *probe_new(struct dns_server *server)
{
	static const char name[] = "google.com";
	struct evdns_request *req =
		le_dns_request_new(server->dns, DNS_IPv4_A, sizeof(name) - 1, probe_done);

	if (req == NULL)
		return NULL;
	if (le_dns_query_make(req, name) < 0) {
		le_dns_request_drop(req);
		return NULL;
	}
	req->owner = server;
	req->server = server;
	req->is_probe = true;
	return req;
}

static void probe_send(struct dns_timer *timer)
{
	struct dns_server *server = ec_container_of(timer, struct dns_server, probe_timer);

	/* A probe from the last time the server was down is still in flight, and serves as well. */
	if (server->probe != NULL)
		return;
	server->probe = probe_new(server);
	if (server->probe == NULL)
		probe_later(server);
	else
		le_dns_request_start(server->probe);
}

void le_dns_server_failed(struct dns_server *server, const char *why)
{
	if (!server->is_up)
		return;
	le_dns_log(EC_LOG_MSG, "Nameserver %s has failed: %s", server->text, why);
	server->is_up = false;
	server->failures_num = 0;
	if (--server->dns->servers_up == 0)
		le_dns_log(EC_LOG_MSG, "All nameservers have failed");
	probe_later(server);
}

/* The server has answered a probe or another request. */
void le_dns_server_answered(struct dns_server *server)
{
	server->timeouts_num = 0;
	if (server->is_up)
		return;
	server->is_up = true;
	server->dns->servers_up++;
	le_dns_timer_stop(server->dns, &server->probe_timer);
	le_dns_log(EC_LOG_MSG, "Nameserver %s is back up", server->text);
}

/* ---------------------------------------------------------------- adding */

static void set_text(struct dns_server *server)
{
	const struct sockaddr_in *v4 = (const void *)&server->addr;
	const struct sockaddr_in6 *v6 = (const void *)&server->addr;
	char host[INET6_ADDRSTRLEN] = "";

	if (server->addr.ss_family == AF_INET) {
		evutil_inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		(void)snprintf(server->text, sizeof(server->text), "%s:%u", host,
			       ntohs(v4->sin_port));
	} else {
		evutil_inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		(void)snprintf(server->text, sizeof(server->text), "[%s]:%u", host,
			       ntohs(v6->sin6_port));
	}
}

static int check_address(const struct evdns_base *dns, const struct sockaddr *sa, socklen_t len)
{
	struct ec_list *at;

	if (len < sizeof(sa->sa_family) || len > sizeof(struct sockaddr_storage))
		return ADD_BAD;
	if (!(sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) &&
	    !(sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)))
		return ADD_BAD;
	for (at = dns->servers.next; at != &dns->servers; at = at->next)
		if (evutil_sockaddr_cmp(sa,
					(void *)&ec_container_of(at, struct dns_server, link)->addr,
					1) == 0)
			return ADD_DUPLICATE;
	return 0;
}

static void server_free(struct dns_server *server)
{
	le_dns_sockets_free(&server->sockets);
	ec_free(server);
}

/* Opens a socket at once: if no descriptor is left, adding the nameserver fails, not a request. */
static struct dns_server *server_new(struct evdns_base *dns, const struct sockaddr *sa,
				     socklen_t len)
{
	struct dns_server *server = ec_calloc(1, sizeof(*server));

	if (server == NULL)
		return NULL;
	server->dns = dns;
	server->is_up = true;
	server->probe_timer.fn = probe_send;
	server->socket_options = dns->socket_options;
	ec_list_init(&server->sockets);
	memcpy(&server->addr, sa, len);
	server->addr_len = len;
	set_text(server);
	if (le_dns_socket_new(server) == NULL) {
		ec_free(server);
		return NULL;
	}
	return server;
}

int le_dns_server_add(struct evdns_base *dns, const struct sockaddr *sa, socklen_t len)
{
	int r = check_address(dns, sa, len);
	struct dns_server *server;

	if (r != 0)
		return r;
	/* Requests are in flight only if there is a nameserver, or was. */
	if (dns->ids == NULL)
		dns->ids = ec_calloc(DNS_ID_BUCKETS, sizeof(dns->ids[0]));
	if (dns->ids == NULL)
		return ADD_BAD;
	server = server_new(dns, sa, len);
	if (server == NULL)
		return ADD_BAD;
	le_dns_log(EC_LOG_DEBUG, "Added nameserver %s", server->text);
	/* As in libevent, the new server gets its turn after the one that is next. */
	if (ec_list_is_empty(&dns->servers)) {
		dns->next = server;
		ec_list_push_back(&dns->servers, &server->link);
	} else {
		ec_list_insert_after(&dns->next->link, &server->link);
	}
	dns->servers_num++;
	dns->servers_up++;
	return 0;
}

int le_dns_server_add_text(struct evdns_base *dns, const char *text)
{
	struct sockaddr_storage addr;
	int len = (int)sizeof(addr);

	if (evutil_parse_sockaddr_port(text, (struct sockaddr *)&addr, &len) < 0) {
		le_dns_log(EC_LOG_WARN, "Unable to parse nameserver address %s", text);
		return 4;
	}
	if (addr.ss_family == AF_INET && ((struct sockaddr_in *)&addr)->sin_port == 0)
		((struct sockaddr_in *)&addr)->sin_port = htons(DNS_PORT);
	if (addr.ss_family == AF_INET6 && ((struct sockaddr_in6 *)&addr)->sin6_port == 0)
		((struct sockaddr_in6 *)&addr)->sin6_port = htons(DNS_PORT);
	return le_dns_server_add(dns, (const struct sockaddr *)&addr, (socklen_t)len);
}

/* ---------------------------------------------------------------- removing */

/*
 * Moves all servers to *ret. No request can reach them any more. The caller releases the mutex
 * before it frees their events and memory.
 */
void le_dns_servers_detach(struct evdns_base *dns, struct ec_list *ret)
{
	struct ec_list *at, *sock;
	struct dns_server *server;

	for (at = dns->servers.next; at != &dns->servers; at = at->next) {
		server = ec_container_of(at, struct dns_server, link);
		le_dns_timer_stop(dns, &server->probe_timer);
		if (server->probe != NULL) {
			le_dns_request_stop(server->probe);
			le_dns_request_drop(server->probe);
			server->probe = NULL;
		}
		server->is_detached = true;
		for (sock = server->sockets.next; sock != &server->sockets; sock = sock->next)
			ec_container_of(sock, struct dns_socket, link)->event_is_on = false;
	}
	ec_list_init(ret);
	ec_list_splice_back(ret, &dns->servers);
	dns->next = NULL;
	dns->servers_num = 0;
	dns->servers_up = 0;
}

void le_dns_servers_free(struct ec_list *servers)
{
	struct dns_server *server;

	while (!ec_list_is_empty(servers)) {
		server = ec_container_of(servers->next, struct dns_server, link);
		ec_list_remove(&server->link);
		server_free(server);
	}
}

/* ---------------------------------------------------------------- the program's calls */

int evdns_base_nameserver_add(struct evdns_base *dns, unsigned long int address)
{
	const struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(DNS_PORT),
		.sin_addr.s_addr = (in_addr_t)address,
	};

	return evdns_base_nameserver_sockaddr_add(dns, (const struct sockaddr *)&sin, sizeof(sin),
						  0);
}

int evdns_base_nameserver_ip_add(struct evdns_base *dns, const char *text)
{
	int r;

	le_dns_lock(dns);
	r = le_dns_server_add_text(dns, text);
	le_dns_unlock(dns);
	return r;
}

int evdns_base_nameserver_sockaddr_add(struct evdns_base *dns, const struct sockaddr *sa,
				       ev_socklen_t len, unsigned flags)
{
	int r;

	(void)flags;
	le_dns_lock(dns);
	r = le_dns_server_add(dns, sa, len);
	le_dns_unlock(dns);
	return r;
}

int evdns_base_count_nameservers(struct evdns_base *dns)
{
	int num;

	le_dns_lock(dns);
	num = dns->servers_num;
	le_dns_unlock(dns);
	return num;
}

int evdns_base_get_nameserver_addr(struct evdns_base *dns, int idx, struct sockaddr *sa,
				   ev_socklen_t len)
{
	struct ec_list *at;
	struct dns_server *server;
	int r = -1;

	le_dns_lock(dns);
	for (at = dns->servers.next; at != &dns->servers && idx > 0; at = at->next)
		idx--;
	if (at != &dns->servers && idx == 0) {
		server = ec_container_of(at, struct dns_server, link);
		r = (int)server->addr_len;
		if (server->addr_len <= len)
			memcpy(sa, &server->addr, server->addr_len);
	}
	le_dns_unlock(dns);
	return r;
}

int evdns_base_clear_nameservers_and_suspend(struct evdns_base *dns)
{
	struct ec_list servers;

	le_dns_lock(dns);
	le_dns_servers_detach(dns, &servers);
	le_dns_requests_suspend(dns);
	le_dns_unlock(dns);
	le_dns_servers_free(&servers);
	return 0;
}

int evdns_base_resume(struct evdns_base *dns)
{
	le_dns_lock(dns);
	le_dns_requests_pump(dns);
	le_dns_unlock(dns);
	return 0;
}
