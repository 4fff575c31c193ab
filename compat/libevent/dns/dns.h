/*
 * evdns: an evdns_base, its nameservers and its sockets. README.md lists the files of the room.
 *
 * Threads. Each evdns_base has a mutex, whether evthread is on or not, which guards all that is
 * not const. Its events (one for each socket, one for all deadlines) have color 0. The program's
 * log function may run under the mutex; other callbacks of the program do not. Nothing waits under
 * the mutex: a thread releases it before event_del. An event in the color of the request reports
 * the answer, so a callback of that color can cancel the request without a race.
 *
 * Life. A request holds a reference on its evdns_base, so the loop can report the request after
 * evdns_base_free().
 */
#ifndef LE_DNS_H
#define LE_DNS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/event_struct.h>

#include "core/ec.h"

#include "packet.h"
#include "util/mutex.h"

enum {
	DNS_DOMAINS_MAX = 256,		/* of a search list */
	DNS_CONF_SERVERS_MAX = 32,	/* resolv.conf adds no nameserver beyond this number */
	DNS_UDP_SIZE = 65536,
	DNS_PORT = 53,
};

/* ---------------------------------------------------------------- an evdns_base */

/* dns->mu */
struct dns_timer {
	struct ec_list link;
	int64_t at_ns;
	void (*fn)(struct dns_timer *timer);	/* under the mutex; the timer is off */
	bool is_on;
};

/* dns->mu */
struct dns_search {
	unsigned refs;			/* a list with more than one does not change */
	bool is_embedded;		/* const: the evdns_base holds its memory */
	int ndots;
	uint16_t domains_num;		/* at most DNS_DOMAINS_MAX */
	uint16_t domains_size;
	char **domains;
};

/* dns->mu */
struct dns_host {
	struct dns_host *older;		/* the next entry in its bucket */
	size_t size;			/* of the entry with its name; the next entry follows */
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} addr;
	char name[];
};

/* dns->mu */
struct dns_hosts {
	struct dns_hosts_block *first, *last;
	struct dns_host **buckets;
	struct dns_hosts_block *indexed_block;	/* the first entry that is not in buckets: its block … */
	uint32_t indexed;		/* … and its offset there */
	uint32_t indexed_num;		/* entries in the buckets */
	uint32_t num;
	uint32_t buckets_num;		/* a power of two, or 0 */
};

enum { DNS_ID_BUCKETS = 256 };

/* A nameserver keeps the options that were set when it was added. */
struct dns_socket_options {
	int so_rcvbuf;			/* 0: the system's */
	int so_sndbuf;
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} bind_to;
	socklen_t bind_to_len;		/* 0: any address */
};

struct evdns_base {
	/* const */
	struct event_base *event_base;
	bool is_idle_quiet;		/* EVDNS_BASE_DISABLE_WHEN_INACTIVE */
	struct le_mutex mu;

	/* mu, all that follows */
	unsigned refs;
	unsigned reinits_num;		/* socket.c compares ec_base_reinits() with this */
	bool is_closed;
	bool is_case_random;		/* an option */
	bool timer_was_used;		/* so the callback of timer_event may be running */
	struct event timer_event;
	int64_t timer_at_ns;		/* when the event fires; 0: it is not pending */
	struct ec_list timers;		/* the earliest first */

	struct ec_list servers;		/* dns_server */
	struct dns_server *next;	/* gets the next query; NULL: there is no server */
	int servers_num;
	int servers_up;

	struct ec_list waiting;
	struct ec_list inflight;
	struct evdns_request **ids;	/* those in flight, by id; NULL before the first nameserver */
	int inflight_num;
	struct ec_list getaddrinfos;	/* not answered yet */

	struct dns_search first_search;	/* the list, until it is copied */
	struct dns_search *search;	/* a reference; never NULL */
	struct dns_hosts hosts;

	/* options */
	int64_t timeout_ns;
	int64_t skew_ns;		/* getaddrinfo-allow-skew */
	int64_t probe_ns;		/* initial-probe-timeout */
	int attempts;
	int timeouts_max;
	int inflight_max;
	int edns_size;			/* above 512: queries have an OPT record */
	struct dns_socket_options socket_options;
};

void le_dns_lock(struct evdns_base *dns);
void le_dns_unlock(struct evdns_base *dns);
/* Drops a reference and unlocks; frees the evdns_base with its last reference. */
void le_dns_put_locked(struct evdns_base *dns);

/* These require the mutex. */
void le_dns_timer_start(struct evdns_base *dns, struct dns_timer *timer, int64_t in_ns);
void le_dns_timer_stop(struct evdns_base *dns, struct dns_timer *timer);
bool le_dns_random(void *ret, size_t len);
/*
 * Assigns an event that will report an answer, in the color of the caller; outside of a callback,
 * in color 0.
 */
void le_dns_assign_report_event(struct evdns_base *dns, struct event *ev, event_callback_fn fn,
				void *arg);

void le_dns_log(enum ec_severity severity, const char *fmt, ...) EC_PRINTF(2, 3);

/* ---------------------------------------------------------------- nameservers */

struct dns_server {
	/* const */
	struct evdns_base *dns;
	struct dns_socket_options socket_options;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	char text[64];

	/* dns->mu */
	struct ec_list link;		/* in dns->servers */
	struct ec_list sockets;		/* dns_socket, the newest first */
	unsigned sockets_num;
	bool is_up;
	bool is_detached;		/* removed; its sockets are about to close */
	bool keeps_case;		/* it has answered in the spelling of a question */
	int timeouts_num;		/* in a row */
	int failures_num;		/* probes, in a row */
	struct dns_timer probe_timer;
	struct evdns_request *probe;	/* in flight, or NULL */
};

struct dns_server *le_dns_server_pick(struct evdns_base *dns);
void le_dns_server_failed(struct dns_server *server, const char *why);
void le_dns_server_answered(struct dns_server *server);
void le_dns_servers_detach(struct evdns_base *dns, struct ec_list *ret);
void le_dns_servers_free(struct ec_list *servers);	/* without the mutex */

/* ---------------------------------------------------------------- sockets */

struct dns_socket {
	/* const */
	struct evdns_base *dns;

	/* dns->mu */
	struct ec_list link;		/* in server->sockets */
	struct dns_server *server;	/* NULL: closed */
	int fd;
	bool is_connected;		/* the kernel has chosen its port */
	bool is_inherited;		/* the parent process has this socket, too */
	bool event_is_on;
	struct event event;
	int64_t connected_ns;
	unsigned sent_num;
	unsigned wrong_num;		/* packets that answer no query from this port */
	unsigned requests_num;		/* requests that accept answers here */
};

/* The new socket becomes the server's current one. NULL: errno. */
struct dns_socket *le_dns_socket_new(struct dns_server *server);
/* The socket for the next query. NULL: errno. */
struct dns_socket *le_dns_socket_pick(struct dns_server *server);
/* 0 or -errno */
int le_dns_socket_send(struct dns_socket *sock, const void *data, size_t len);
/* Counts the requests that accept answers at a socket; the last put closes an old socket. */
void le_dns_socket_get(struct dns_socket *sock);
void le_dns_socket_put(struct dns_socket *sock);
void le_dns_socket_close(struct dns_socket *sock);	/* no request refers to it */
/* Counts a packet that answers no query. True: there were too many. */
bool le_dns_socket_got_wrong(struct dns_socket *sock);
/* Frees the sockets of a detached server. Waits for callbacks, so without the mutex. */
void le_dns_sockets_free(struct ec_list *sockets);

/* ---------------------------------------------------------------- search, hosts, options */

void le_dns_search_init(struct dns_search *search, int ndots);	/* of an evdns_base */
void le_dns_search_put(struct dns_search *search);
int le_dns_search_set_ndots(struct evdns_base *dns, int ndots);
int le_dns_search_from_hostname(struct evdns_base *dns);
enum dns_end { DNS_FIRST, DNS_LAST };
/* 1: the list already has DNS_DOMAINS_MAX domains, or the domain is too long. -1: no memory. */
int le_dns_search_add(struct evdns_base *dns, const char *domain, enum dns_end end);
int le_dns_search_clear(struct evdns_base *dns);

void le_dns_hosts_clear(struct evdns_base *dns);
int le_dns_hosts_load(struct evdns_base *dns, const char *path);
/* The newest entry of that name, or NULL; le_dns_hosts_older() has the others. -1: no memory. */
int le_dns_hosts_find(struct evdns_base *dns, const char *name, const struct dns_host **ret);
const struct dns_host *le_dns_hosts_older(const struct dns_host *host);

int le_dns_option_set(struct evdns_base *dns, const char *option, const char *value, int flags);
int le_dns_resolv_conf(struct evdns_base *dns, int flags, const char *path);
int le_dns_server_add(struct evdns_base *dns, const struct sockaddr *sa, socklen_t len);
int le_dns_server_add_text(struct evdns_base *dns, const char *text);
/* Return values of evdns_base_resolv_conf_parse(); <event2/dns.h> lists the numbers. */
enum {
	CONF_OPEN = 1,
	CONF_STAT = 2,
	CONF_LARGE = 3,
	CONF_MEMORY = 4,
	CONF_READ = 5,
	CONF_NO_SERVER = 6,
};

int le_dns_file_read(const char *path, char **ret);	/* 0 or CONF_… */
/* The next line of *at, a text that ends with the NUL at `end`. Ends the line with a NUL. NULL: there is none. */
char *le_dns_next_line(char **at, const char *end);
/* The next word of the line *at, ended with a NUL. NULL: there is none. */
char *le_dns_next_word(char **at, const char *blanks);

/* ---------------------------------------------------------------- getaddrinfo */

void le_dns_getaddrinfos_abort(struct evdns_base *dns, bool is_reported);

#endif
