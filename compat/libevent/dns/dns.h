/*
 * evdns: what its files share.
 *
 *   base.c         an evdns_base: lock, references, deadlines, log
 *   server.c       the nameservers it asks: which is next, which is dead
 *   socket.c       the ports it asks from
 *   request.c      a request's way: waiting, in flight, sent again, answered
 *   resolve.c      evdns_base_resolve_…: requests of the program, and how their answers reach
 *                      it
 *   search.c       names to try
 *   packet.c       reading and writing packets; answer.c: a response's meaning
 *   getaddrinfo.c  two requests and one list; hosts.c config.c: files and options
 *   responder.c    the other side: ports and requests; response.c what they answer
 *   compat.c       calls that name no evdns_base
 *
 * Threads. An evdns_base has a mutex of its own, whether evthread is on or not, and everything in
 * it that is not `const` is under it. Its events (one for each socket, one for all deadlines)
 * have color 0. No callback runs under the mutex but a log function, and nothing waits under it:
 * answers are told by events of the color that made the request, so who cancels in the color in
 * which he asked meets no race. An event is waited for (event_del) only without the mutex.
 *
 * Life. A request refers to its evdns_base, so that it may be told of after evdns_base_free().
 */
#ifndef LE_DNS_H
#define LE_DNS_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/event_struct.h>

#include "core/ec.h"

enum {
	DNS_HEADER_LEN = 12,
	DNS_LABEL_MAX = 63,
	DNS_NAME_SIZE = 256,		/* of a text, with its NUL; the wire allows 255 bytes */
	DNS_QUERY_SIZE = DNS_HEADER_LEN + 255 + 4 + 11,
	DNS_ADDRS_MAX = 32,		/* that one answer passes on */
	DNS_CNAMES_MAX = 32,		/* of one answer that are read: the last is told */
	DNS_DOMAINS_MAX = 256,		/* to search in */
	DNS_CONF_SERVERS_MAX = 32,	/* up to which resolv.conf adds some */
	DNS_UDP_SIZE = 65536,
	DNS_PORT = 53,
};

/* ---------------------------------------------------------------- packets */

struct dns_reader {
	const uint8_t *data;
	size_t len;
	size_t at;
};

/* Each returns 0, or -1 and leaves `at` anywhere: the packet is then of no use. */
int le_dns_get_u16(struct dns_reader *r, uint16_t *ret);
int le_dns_get_u32(struct dns_reader *r, uint32_t *ret);
int le_dns_get_name(struct dns_reader *r, char ret[DNS_NAME_SIZE]);
int le_dns_skip_name(struct dns_reader *r);
int le_dns_skip(struct dns_reader *r, size_t len);

struct dns_record {
	uint16_t type;
	uint16_t rclass;
	uint32_t ttl;
	size_t data_at;
	uint16_t data_len;
};

int le_dns_get_record(struct dns_reader *r, struct dns_record *ret);	/* its name is skipped */

enum { DNS_WRITER_NAMES = 128 };

struct dns_written {
	uint16_t at;
	uint8_t len;			/* as text, to its end */
};

struct dns_writer {
	uint8_t *data;
	size_t size;			/* 65535 at most */
	size_t len;
	struct dns_written names[DNS_WRITER_NAMES];	/* that later ones may point to */
	unsigned names_num;
};

/* Each returns 0; or -1, if it does not fit or `name` is none, and then `len` is as before. */
int le_dns_put_u16(struct dns_writer *w, unsigned n);
int le_dns_put_u32(struct dns_writer *w, uint32_t n);
int le_dns_put_bytes(struct dns_writer *w, const void *bytes, size_t len);
int le_dns_put_name(struct dns_writer *w, const char *name);
void le_dns_rewind(struct dns_writer *w, size_t len);	/* forget what was written after `len` */

bool le_dns_name_is_valid(const char *name);

struct dns_answer {
	int result;			/* DNS_ERR_… */
	int type;			/* DNS_IPv4_A, …; 0 without addresses */
	int count;
	int ttl;
	union {
		uint8_t a[DNS_ADDRS_MAX][4];
		uint8_t aaaa[DNS_ADDRS_MAX][16];
		char ptr[DNS_NAME_SIZE];
	} of;
	char cname[DNS_NAME_SIZE];	/* empty: none */
	unsigned cnames_num;
};

enum dns_match { DNS_MATCH_NO, DNS_MATCH_FOLDED, DNS_MATCH_EXACT };

/*
 * Whether a response answers a query: its question is the same to the bit, or but for upper case.
 */
enum dns_match le_dns_match(const uint8_t *query, size_t query_len, const uint8_t *data,
			    size_t len);
/* What a response to a query for `type` (DNS_IPv4_A, …) says. */
void le_dns_answer_parse(struct dns_answer *ret, int type, const uint8_t *data, size_t len);

/* ---------------------------------------------------------------- an evdns_base */

struct dns_timer {
	struct ec_list link;
	int64_t at_ns;
	void (*fn)(struct dns_timer *timer);	/* called with the mutex; the timer is off */
	bool is_on;
};

struct dns_search {
	unsigned refs;
	int ndots;
	size_t domains_num;
	size_t domains_size;
	char **domains;
};

struct dns_host {
	struct dns_host *older;		/* in its bucket, once it is in one */
	size_t size;			/* with the name, up to the next one */
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} addr;
	char name[];
};

struct dns_hosts {
	struct dns_hosts_block *first, *last;
	size_t num;
	struct dns_host **buckets;
	size_t buckets_num;		/* a power of two, or 0 */
	size_t indexed_num;		/* of them, in the buckets */
	struct dns_hosts_block *indexed_block;	/* and where the others begin */
	size_t indexed;
};

enum { DNS_ID_BUCKETS = 256 };

/* How sockets are opened; a nameserver keeps what was set when it was added. */
struct dns_socket_options {
	int so_rcvbuf;			/* 0: the system's */
	int so_sndbuf;
	struct sockaddr_storage bind_to;
	socklen_t bind_to_len;		/* 0: anywhere */
};

struct evdns_base {
	/* const */
	struct event_base *event_base;
	bool is_idle_quiet;		/* EVDNS_BASE_DISABLE_WHEN_INACTIVE */
	pthread_mutex_t mu;

	/* mu, all that follows */
	unsigned refs;
	bool is_closed;
	unsigned reinits_num;		/* of event_base, that were noticed */

	struct event timer_event;
	int64_t timer_at_ns;		/* when the event fires; 0: it is not pending */
	struct ec_list timers;		/* in order */

	struct ec_list servers;		/* dns_server */
	struct dns_server *next;	/* to be asked */
	int servers_num;
	int servers_up;

	struct ec_list waiting;
	struct ec_list ids[DNS_ID_BUCKETS];	/* in flight, by the low byte of the id */
	int inflight_num;
	struct ec_list getaddrinfos;	/* not answered yet */

	struct dns_search *search;	/* never NULL */
	struct dns_hosts hosts;

	/* options */
	int64_t timeout_ns;
	int64_t skew_ns;		/* getaddrinfo-allow-skew */
	int64_t probe_ns;		/* initial-probe-timeout */
	int attempts;
	int timeouts_max;
	int inflight_max;
	int edns_size;			/* above 512: say so in queries */
	bool is_case_random;
	struct dns_socket_options socket_options;
};

void le_dns_lock(struct evdns_base *dns);
void le_dns_unlock(struct evdns_base *dns);
void le_dns_put_locked(struct evdns_base *dns);		/* unlocks too: it may be the end */

/* With the mutex: */
void le_dns_timer_start(struct evdns_base *dns, struct dns_timer *timer, int64_t in_ns);
void le_dns_timer_stop(struct evdns_base *dns, struct dns_timer *timer);
bool le_dns_random(void *ret, size_t len);
/*
 * Assigns an event that is made active to tell of an answer, on the color of the caller; 0 outside
 * of a callback.
 */
void le_dns_assign_teller(struct evdns_base *dns, struct event *ev, event_callback_fn fn,
			  void *arg);

void le_dns_log(enum ec_severity severity, const char *fmt, ...) EC_PRINTF(2, 3);

/* ---------------------------------------------------------------- nameservers */

struct dns_server {
	struct ec_list link;
	struct evdns_base *dns;
	struct ec_list sockets;		/* dns_socket, the newest first */
	unsigned sockets_num;
	struct dns_socket_options socket_options;	/* const */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	char text[64];
	bool is_up;
	bool is_detached;		/* on its way out, with its sockets */
	bool keeps_case;		/* it was seen to answer in the question's own spelling */
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
	struct ec_list link;		/* of its server */
	struct evdns_base *dns;
	struct dns_server *server;	/* NULL: closed */
	int fd;
	bool is_connected;		/* and so has a port */
	bool is_inherited;		/* the parent of this process has it, too */
	bool event_is_on;
	struct event event;
	int64_t connected_ns;
	unsigned sent_num;
	unsigned wrong_num;		/* packets that answer nothing that was asked from here */
	unsigned requests_num;		/* that may be answered here */
};

/* Made with the server, which has one from then on. NULL: errno. */
struct dns_socket *le_dns_socket_new(struct dns_server *server);
/* To send one query from. NULL: errno. */
struct dns_socket *le_dns_socket_pick(struct dns_server *server);
/* 0 or -errno */
int le_dns_socket_send(struct dns_socket *sock, const void *data, size_t len);
void le_dns_socket_get(struct dns_socket *sock);	/* a request may be answered here … */
void le_dns_socket_put(struct dns_socket *sock);	/* … and may not any more */
void le_dns_socket_close(struct dns_socket *sock);	/* no request refers to it */
/* A packet that answers nothing. True: there were too many of them. */
bool le_dns_socket_got_wrong(struct dns_socket *sock);
void le_dns_sockets_free(struct ec_list *sockets);	/* of a detached server; without the mutex */

/* ---------------------------------------------------------------- requests */

enum { DNS_ASKED_MAX = 3 };

enum dns_state {
	DNS_NEW,
	DNS_WAITING,			/* in dns->waiting */
	DNS_INFLIGHT,			/* has an id and a server */
	DNS_DONE,			/* its answer is there */
};

struct evdns_request {
	struct ec_list link;		/* waiting, or with its id */
	struct evdns_base *dns;		/* a reference */
	enum dns_state state;
	int type;			/* DNS_IPv4_A, … */
	struct dns_server *server;
	struct dns_socket *asked[DNS_ASKED_MAX];	/* where it was sent from, the last one first */
	bool is_probe;			/* of `server`, and nobody else is asked */
	bool has_new_id;		/* in `query`, not used yet */
	int sent_num;
	int reissues_num;
	struct dns_timer timer;
	size_t query_len;
	uint8_t query[DNS_QUERY_SIZE];
	struct dns_answer answer;
	/* With the mutex, once, with `answer`; the request is then the function's. */
	void (*done)(struct evdns_request *req);

	/* Names to try: search.c. */
	struct dns_search *search;	/* NULL: just the one */
	size_t search_at;
	char *search_name;

	/* Of a program's request: resolve.c. */
	struct event teller;
	evdns_callback_type fn;
	void *owner;			/* what `fn` or `done` is told */
};

struct evdns_request *le_dns_request_new(struct evdns_base *dns, int type,
					 void (*done)(struct evdns_request *));
void le_dns_request_free_locked(struct evdns_request *req);	/* all but its reference */
int le_dns_request_name(struct evdns_request *req, const char *name);	/* what to ask */
void le_dns_request_start(struct evdns_request *req);
void le_dns_request_stop(struct evdns_request *req);	/* neither waiting nor in flight any more */
void le_dns_request_finish(struct evdns_request *req, int result);
void le_dns_request_received(struct dns_socket *sock, const uint8_t *data, size_t len);
void le_dns_requests_pump(struct evdns_base *dns);
void le_dns_requests_suspend(struct evdns_base *dns);

/*
 * A request for a host as the program names it: search domains apply. Not started. NULL: no name,
 * or no memory.
 */
struct evdns_request *le_dns_host_request(struct evdns_base *dns, int type, const char *name,
					  void (*done)(struct evdns_request *), void *owner);
void le_dns_requests_abort(struct evdns_base *dns, bool is_told);

/* ---------------------------------------------------------------- search, hosts, options */

struct dns_search *le_dns_search_new(int ndots);
void le_dns_search_put(struct dns_search *search);
int le_dns_search_begin(struct evdns_request *req, const char *name);
bool le_dns_search_next(struct evdns_request *req);	/* true: the request has its next name */
int le_dns_search_set_ndots(struct evdns_base *dns, int ndots);
int le_dns_search_from_hostname(struct evdns_base *dns);
enum dns_end { DNS_FIRST, DNS_LAST };
/* 1: there are DNS_DOMAINS_MAX already, or it is too long to be one. */
int le_dns_search_add(struct evdns_base *dns, const char *domain, enum dns_end end);
int le_dns_search_clear(struct evdns_base *dns);

void le_dns_hosts_clear(struct evdns_base *dns);
int le_dns_hosts_load(struct evdns_base *dns, const char *path);
/* The newest of that name, or NULL; then the others. -1: no memory. */
int le_dns_hosts_find(struct evdns_base *dns, const char *name, const struct dns_host **ret);
const struct dns_host *le_dns_hosts_older(const struct dns_host *host);

int le_dns_option_set(struct evdns_base *dns, const char *option, const char *value, int flags);
int le_dns_resolv_conf(struct evdns_base *dns, int flags, const char *path);
int le_dns_server_add(struct evdns_base *dns, const struct sockaddr *sa, socklen_t len);
int le_dns_server_add_text(struct evdns_base *dns, const char *text);
/* 0, or what evdns_resolv_conf_parse() returns */
int le_dns_file_read(const char *path, char **ret);

/* ---------------------------------------------------------------- getaddrinfo */

void le_dns_getaddrinfos_abort(struct evdns_base *dns, bool is_told);

#endif
