/*
 * A responder's request: parses the packet with the questions, collects the program's records, and
 * writes the packet with the reply.
 */
#include "responder.h"

#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum {
	FLAG_RESPONSE = 0x8000,
	FLAG_TRUNCATED = 0x0200,
	/* The reply repeats these flags of the request: recursion desired, checking disabled. */
	FLAGS_KEPT = 0x0110,
};

/* ---------------------------------------------------------------- reading */

static struct evdns_server_question *parse_question(struct dns_reader *r)
{
	struct evdns_server_question *question;
	char name[DNS_NAME_SIZE];
	uint16_t type, rclass;
	size_t len;

	if (le_dns_get_name(r, name) < 0 || le_dns_get_u16(r, &type) < 0 ||
	    le_dns_get_u16(r, &rclass) < 0)
		return NULL;
	len = strlen(name);
	question = ec_malloc(sizeof(*question) + len);
	if (question == NULL)
		return NULL;
	question->type = type;
	question->dns_question_class = rclass;
	memcpy(question->name, name, len + 1);
	return question;
}

static int parse_questions(struct dns_question *q, struct dns_reader *r, unsigned num)
{
	/* A question has at least 5 bytes. Allocate nothing for a count that cannot be true. */
	if (num == 0 || num > (r->len - r->at) / 5)
		return -1;
	q->base.questions = num == 1 ? q->only : ec_calloc(num, sizeof(q->base.questions[0]));
	if (q->base.questions == NULL)
		return -1;
	for (unsigned i = 0; i < num; i++) {
		q->base.questions[i] = parse_question(r);
		if (q->base.questions[i] == NULL)
			return -1;
		q->base.nquestions++;
	}
	return 0;
}

void le_dns_question_init(struct dns_question *q)
{
	memset(q, 0, offsetof(struct dns_question, addr));
	q->reply.len = 0;
}

/* Ignores the sections after the questions. */
int le_dns_question_parse(struct dns_question *q, const uint8_t *data, size_t len)
{
	struct dns_reader r = { .data = data, .len = len };
	unsigned flags;

	if (le_dns_skip(&r, DNS_HEADER_LEN) < 0)
		return -1;
	q->id = le_dns_load_u16(data);
	flags = le_dns_load_u16(data + 2);
	if (flags & FLAG_RESPONSE)
		return -1;
	q->base.flags = (int)(flags & FLAGS_KEPT);
	return parse_questions(q, &r, le_dns_load_u16(data + 4));
}

void le_dns_question_free_content(struct dns_question *q)
{
	struct dns_item *item;

	for (int i = 0; i < q->base.nquestions; i++)
		ec_free(q->base.questions[i]);
	if (q->base.questions != q->only)
		ec_free(q->base.questions);
	for (int i = 0; i < DNS_SECTIONS; i++) {
		while ((item = q->sections[i]) != NULL) {
			q->sections[i] = item->next;
			ec_free(item);
		}
	}
}

/* ---------------------------------------------------------------- writing */

static int put_item_data(struct dns_writer *w, const struct dns_item *item)
{
	size_t len_at = w->len, data_at;

	if (le_dns_put_u16(w, item->data_len) < 0)
		return -1;
	if (!item->is_name)
		return le_dns_put_bytes(w, item->data, item->data_len);
	data_at = w->len;
	if (le_dns_put_name(w, (const char *)item->data) < 0)
		return -1;
	w->data[len_at] = (uint8_t)((w->len - data_at) >> 8);
	w->data[len_at + 1] = (uint8_t)(w->len - data_at);
	return 0;
}

/* Writes a whole record, or nothing. */
static int put_item(struct dns_writer *w, const struct dns_item *item)
{
	size_t begin = w->len;

	if (le_dns_put_name(w, item->name) < 0 || le_dns_put_u16(w, item->type) < 0 ||
	    le_dns_put_u16(w, item->rclass) < 0 || le_dns_put_u32(w, item->ttl) < 0 ||
	    put_item_data(w, item) < 0) {
		le_dns_rewind(w, begin);
		return -1;
	}
	return 0;
}

static int put_question(struct dns_writer *w, const struct evdns_server_question *question)
{
	size_t begin = w->len;

	if (le_dns_put_name(w, question->name) < 0 ||
	    le_dns_put_u16(w, (unsigned)question->type) < 0 ||
	    le_dns_put_u16(w, (unsigned)question->dns_question_class) < 0) {
		le_dns_rewind(w, begin);
		return -1;
	}
	return 0;
}

/*
 * Writes questions and records while they fit, and counts them by section. False: some did not fit.
 */
static bool put_all(struct dns_question *q, struct dns_writer *w, unsigned counts[1 + DNS_SECTIONS])
{
	struct dns_item *item;

	for (int i = 0; i < q->base.nquestions; i++, counts[0]++)
		if (put_question(w, q->base.questions[i]) < 0)
			return false;
	for (int i = 0; i < DNS_SECTIONS; i++)
		for (item = q->sections[i]; item != NULL; item = item->next, counts[1 + i]++)
			if (put_item(w, item) < 0)
				return false;
	return true;
}

static void set_header(struct dns_reply *reply, unsigned id, unsigned flags,
		       const unsigned counts[1 + DNS_SECTIONS])
{
	le_dns_store_u16(reply->data, id);
	le_dns_store_u16(reply->data + 2, flags);
	for (size_t i = 0; i < 1 + DNS_SECTIONS; i++)
		le_dns_store_u16(reply->data + 4 + 2 * i, counts[i]);
}

/* A reply has at most 512 bytes (RFC 1035, section 4.2.1). The flag TC reports records left out. */
void le_dns_reply_make(struct dns_question *q, int err)
{
	unsigned counts[1 + DNS_SECTIONS] = { 0 },
			    flags = FLAG_RESPONSE | (unsigned)q->base.flags | (unsigned)err;
	struct dns_writer w;

	le_dns_writer_init(&w, q->reply.data, sizeof(q->reply.data), DNS_HEADER_LEN);
	if (!put_all(q, &w, counts))
		flags |= FLAG_TRUNCATED;
	set_header(&q->reply, q->id, flags, counts);
	q->reply.len = w.len;
}

/* ---------------------------------------------------------------- the program's calls */

static struct dns_item **end_of(struct dns_question *q, int section)
{
	struct dns_item **at = &q->sections[section];

	while (*at != NULL)
		at = &(*at)->next;
	return at;
}

static struct dns_item *item_new(const char *name, const void *data, size_t len)
{
	size_t name_size = strlen(name) + 1;
	struct dns_item *item = ec_malloc(sizeof(*item) + len + 1 + name_size);

	if (item == NULL)
		return NULL;
	item->next = NULL;
	if (len > 0)
		memcpy(item->data, data, len);
	item->data[len] = '\0';
	item->name = memcpy(item->data + len + 1, name, name_size);
	return item;
}

/* Refuses records that no packet can hold. le_dns_reply_make() leaves out those that do not fit. */
int evdns_server_request_add_reply(struct evdns_server_request *req, int section, const char *name,
				   int type, int dns_class, int ttl, int datalen, int is_name,
				   const char *data)
{
	struct dns_question *q = le_dns_question(req);
	struct dns_item *item;
	size_t len = is_name ? (data != NULL ? strlen(data) : 0) : (size_t)datalen;

	if (section < 0 || section >= DNS_SECTIONS || q->reply.len != 0 ||
	    !le_dns_name_is_valid(name))
		return -1;
	if (is_name ? data == NULL || !le_dns_name_is_valid(data) :
		      datalen < 0 || datalen > UINT16_MAX || (data == NULL && datalen > 0))
		return -1;
	item = item_new(name, data, len);
	if (item == NULL)
		return -1;
	item->type = (uint16_t)type;
	item->rclass = (uint16_t)dns_class;
	item->ttl = (uint32_t)ttl;
	item->is_name = is_name != 0;
	item->data_len = (uint16_t)len;
	*end_of(q, section) = item;
	return 0;
}

static int add_addresses(struct evdns_server_request *req, const char *name, int type, int num,
			 int size, const void *addrs, int ttl)
{
	if (num < 1 || num > UINT16_MAX / size)
		return -1;
	return evdns_server_request_add_reply(req, EVDNS_ANSWER_SECTION, name, type,
					      EVDNS_CLASS_INET, ttl, num * size, 0, addrs);
}

int evdns_server_request_add_a_reply(struct evdns_server_request *req, const char *name, int n,
				     const void *addrs, int ttl)
{
	return add_addresses(req, name, EVDNS_TYPE_A, n, 4, addrs, ttl);
}

int evdns_server_request_add_aaaa_reply(struct evdns_server_request *req, const char *name, int n,
					const void *addrs, int ttl)
{
	return add_addresses(req, name, EVDNS_TYPE_AAAA, n, 16, addrs, ttl);
}

/* The caller gives either the address or the name that encodes it. */
int evdns_server_request_add_ptr_reply(struct evdns_server_request *req, struct in_addr *in,
				       const char *inaddr_name, const char *hostname, int ttl)
{
	const unsigned char *b = (const unsigned char *)in;
	char name[32];

	if ((in == NULL) == (inaddr_name == NULL))
		return -1;
	if (in != NULL) {
		(void)snprintf(name, sizeof(name), "%d.%d.%d.%d.in-addr.arpa", b[3], b[2], b[1],
			       b[0]);
		inaddr_name = name;
	}
	return evdns_server_request_add_reply(req, EVDNS_ANSWER_SECTION, inaddr_name,
					      EVDNS_TYPE_PTR, EVDNS_CLASS_INET, ttl, -1, 1,
					      hostname);
}

int evdns_server_request_add_cname_reply(struct evdns_server_request *req, const char *name,
					 const char *cname, int ttl)
{
	return evdns_server_request_add_reply(req, EVDNS_ANSWER_SECTION, name, EVDNS_TYPE_CNAME,
					      EVDNS_CLASS_INET, ttl, -1, 1, cname);
}

/* As in libevent, replaces AA and RD and adds the other flags to those of the question. */
void evdns_server_request_set_flags(struct evdns_server_request *req, int flags)
{
	req->flags &= ~(EVDNS_FLAGS_AA | EVDNS_FLAGS_RD);
	req->flags |= flags;
}
