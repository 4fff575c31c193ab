/*
 * A request: its query, its place among those in flight, and the responses to it.
 *
 *   request.c   its states: waiting, in flight, sent again, done
 *   query.c     the packet of a query
 *   inflight.c  the table of ids, and the sockets that sent the query
 *   receive.c   responses: checks against forgers, errors, results
 *
 * All functions require the mutex of the evdns_base.
 */
#ifndef LE_DNS_REQUEST_H
#define LE_DNS_REQUEST_H

#include "answer.h"
#include "dns.h"

enum {
	DNS_ID_LEN = 2,
	DNS_QUESTION_MAX = DNS_WIRE_SIZE + 4,
	DNS_OPT_LEN = 11,
	DNS_QUERY_SIZE = DNS_HEADER_LEN + DNS_QUESTION_MAX + DNS_OPT_LEN,
	DNS_SENDERS_MAX = 3,
};

enum dns_state {
	DNS_NEW,
	DNS_WAITING,			/* in dns->waiting */
	DNS_INFLIGHT,			/* has an id and a server; in dns->inflight and dns->ids */
	DNS_DONE,			/* `done` was called */
};

/* What the program gets, once its request is done. */
struct dns_report {
	int result;			/* as in struct dns_answer */
	int type;
	int count;
	int ttl;
	void *data;			/* addresses, or a name: in `query`, or memory of its own; or NULL */
};

struct evdns_request {
	/* const */
	struct evdns_base *dns;		/* a reference */
	int type;			/* DNS_IPv4_A, … */
	/* called once; takes over the request, but not the answer */
	void (*done)(struct evdns_request *req, const struct dns_answer *answer);
	evdns_callback_type fn;		/* the program's, or NULL */
	void *owner;			/* the argument of `fn`; of `done` inside the library */
	bool is_probe;			/* asks only `server` */
	uint16_t query_size;

	/* dns->mu, all that follows; after DNS_DONE, the event `report_event` owns it */
	struct ec_list link;		/* in dns->waiting or dns->inflight */
	struct evdns_request *id_next;	/* in its bucket of dns->ids, while in flight */
	struct evdns_request **id_at;	/* the pointer to this request in that bucket */
	enum dns_state state;
	bool has_new_id;		/* `query` has a random id, not checked or used yet */
	uint16_t query_len;		/* without the OPT record */
	int sent_num;
	int reissues_num;
	struct dns_server *server;
	struct dns_socket *senders[DNS_SENDERS_MAX];	/* sockets that sent the query, the last one first */
	struct dns_timer timer;

	/* search domains */
	struct dns_search *search;	/* a reference; NULL: there is no other name to try */
	size_t search_at;
	char *search_name;

	struct event report_event;	/* reports the answer */
	struct dns_report report;
	_Alignas(8) uint8_t query[];	/* le_dns_request_new() does not clear it */
};

/* ---------------------------------------------------------------- request.c */

/*
 * The request is not started, and holds a reference on `dns`. `done` must free it; without a start,
 * le_dns_request_drop() does. `name_len`: of the longest name that it will ask for.
 */
struct evdns_request *le_dns_request_new(struct evdns_base *dns, int type, size_t name_len,
					 void (*done)(struct evdns_request *,
						      const struct dns_answer *));
/* Copies from `answer` what resolve.c reports later. Without memory, the report is an error. */
void le_dns_request_keep(struct evdns_request *req, const struct dns_answer *answer);
void le_dns_request_free_locked(struct evdns_request *req);	/* keeps its reference to `dns` */
void le_dns_request_drop(struct evdns_request *req);	/* one that is neither waiting nor in flight */
void le_dns_request_start(struct evdns_request *req);
void le_dns_request_stop(struct evdns_request *req);	/* ends waiting, or being in flight */
void le_dns_request_send_again(struct evdns_request *req);
/* Sends it to another nameserver. False: there is no other, or it was tried before. */
bool le_dns_request_reissue(struct evdns_request *req);
/* Ends the request with `answer`; or, after an error, asks for the next name of the search list. */
void le_dns_request_complete(struct evdns_request *req, const struct dns_answer *answer);
/* Ends the request with an error that no nameserver reported: no other name is tried. */
void le_dns_request_finish(struct evdns_request *req, int result);
/* Starts waiting requests, while `max-inflight` allows. */
void le_dns_requests_pump(struct evdns_base *dns);
/* All requests wait, because the nameservers are removed. */
void le_dns_requests_suspend(struct evdns_base *dns);
/* At the end of the evdns_base. `is_reported`: with DNS_ERR_SHUTDOWN. */
void le_dns_requests_abort(struct evdns_base *dns, bool is_reported);

/* ---------------------------------------------------------------- query.c */

/* Makes the query for `name`, with a random id. -1: invalid `name`, or no random bytes. */
int le_dns_query_make(struct evdns_request *req, const char *name);
/* Appends the OPT record, if the options ask for one; the length of the packet. */
size_t le_dns_query_finish(struct evdns_request *req);

/* ---------------------------------------------------------------- inflight.c */

struct evdns_request *le_dns_id_find(const struct evdns_base *dns, uint16_t id);
int le_dns_id_choose(struct evdns_request *req);	/* -1: no id is free, or no random bytes */
void le_dns_id_link(struct evdns_request *req);
void le_dns_id_unlink(struct evdns_request *req);

bool le_dns_senders_has(const struct evdns_request *req, const struct dns_socket *sock);
void le_dns_senders_note(struct evdns_request *req, struct dns_socket *sock);
void le_dns_senders_forget(struct evdns_request *req, struct dns_socket *sock);
void le_dns_senders_forget_all(struct evdns_request *req);

/* ---------------------------------------------------------------- receive.c, resolve.c, search.c */

void le_dns_request_received(struct dns_socket *sock, const uint8_t *data, size_t len);

/*
 * Makes a request for a host name, to which search domains apply. It is not started. NULL: the name
 * is invalid, or there is no memory.
 */
struct evdns_request *le_dns_host_request(struct evdns_base *dns, int type, const char *name,
					  void (*done)(struct evdns_request *,
						       const struct dns_answer *),
					  void *owner);

/* The length of the longest name that a request for `name` may ask for, or more. */
size_t le_dns_search_longest(const struct dns_search *search, const char *name);
int le_dns_search_begin(struct evdns_request *req, const char *name);	/* -1: no name to ask for */
bool le_dns_search_next(struct evdns_request *req);	/* true: the request has its next name */

#endif
