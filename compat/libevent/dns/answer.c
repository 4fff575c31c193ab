/*
 * Parses responses. The caller first checks that a response belongs to a query (le_dns_match): a
 * malformed one ends the request with an error, and a forger must not be able to do that.
 */
#include "answer.h"

#include <string.h>

#include <event2/dns.h>

enum {
	FLAG_RESPONSE = 0x8000,
	FLAG_TRUNCATED = 0x0200,
	RCODE = 0x000f,
	TTL_NONE = -1,
};

static uint8_t fold(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/*
 * A query's question section follows its header: name, type, class. `query_len` ends there, before
 * an OPT record. Some nameservers always answer in lower case, so a lower-case question has a
 * result of its own; any other spelling does not match.
 */
enum dns_match le_dns_match(const uint8_t *query, size_t query_len, const uint8_t *data, size_t len)
{
	const uint8_t *want = query + DNS_HEADER_LEN, *got = data + DNS_HEADER_LEN;
	size_t question_len = query_len - DNS_HEADER_LEN;

	if (len < query_len || (data[2] & 0x80) == 0 || memcmp(data, query, 2) != 0 ||
	    data[4] != 0 || data[5] != 1)
		return DNS_MATCH_NO;
	if (memcmp(got, want, question_len) == 0)
		return DNS_MATCH_EXACT;
	/*
	 * Lengths of labels, type and class have only bytes below 'A', so fold() does not change
	 * them.
	 */
	for (size_t i = 0; i < question_len; i++)
		if (got[i] != fold(want[i]))
			return DNS_MATCH_NO;
	return DNS_MATCH_FOLDED;
}

static int clamp_ttl(uint32_t ttl)
{
	/* RFC 2181, section 8: a value with the highest bit set is zero. */
	return ttl > INT32_MAX ? 0 : (int)ttl;
}

static void lower_ttl(struct dns_answer *answer, uint32_t ttl)
{
	if (answer->ttl == TTL_NONE || answer->ttl > clamp_ttl(ttl))
		answer->ttl = clamp_ttl(ttl);
}

/*
 * Copies the addresses of one record, of `size` bytes each. A record without an address is
 * malformed: otherwise a request would succeed without one. Addresses beyond DNS_ADDRS_MAX are left
 * out.
 */
static int take_addresses(struct dns_answer *ret, uint8_t *addrs, size_t size, const uint8_t *data,
			  size_t len)
{
	int num = (int)(len / size);

	if (len == 0 || len % size != 0)
		return -1;
	if (num > DNS_ADDRS_MAX - ret->count)
		num = DNS_ADDRS_MAX - ret->count;
	memcpy(addrs + (size_t)ret->count * size, data, (size_t)num * size);
	ret->count += num;
	return 0;
}

/*
 * Reads a record's data as a name. Its compression pointers may go to earlier bytes of the packet.
 */
static int take_name(const struct dns_reader *r, const struct dns_record *rec,
		     char ret[DNS_NAME_SIZE])
{
	struct dns_reader in = { .data = r->data,
				 .len = rec->data_at + rec->data_len,
				 .at = rec->data_at };

	return le_dns_get_name(&in, ret);
}

/* 1: the record has the requested type; 0: it has not; -1: it is malformed. */
static int take_record(struct dns_answer *ret, int type, const struct dns_reader *r,
		       const struct dns_record *rec)
{
	const uint8_t *data = r->data + rec->data_at;

	if (rec->rclass != EVDNS_CLASS_INET)
		return 0;
	if (rec->type == EVDNS_TYPE_A && type == DNS_IPv4_A)
		return take_addresses(ret, ret->of.a[0], 4, data, rec->data_len) < 0 ? -1 : 1;
	if (rec->type == EVDNS_TYPE_AAAA && type == DNS_IPv6_AAAA)
		return take_addresses(ret, ret->of.aaaa[0], 16, data, rec->data_len) < 0 ? -1 : 1;
	if (rec->type == EVDNS_TYPE_CNAME)
		return ret->cnames_num++ < DNS_CNAMES_MAX ? take_name(r, rec, ret->cname) : 0;
	if (rec->type == EVDNS_TYPE_PTR && type == DNS_PTR && ret->count == 0) {
		ret->count = 1;
		return take_name(r, rec, ret->of.ptr) < 0 ? -1 : 1;
	}
	return 0;
}

size_t le_dns_answer_size(const struct dns_answer *answer)
{
	if (answer->type == DNS_PTR)
		return strlen(answer->of.ptr) + 1;
	return (size_t)answer->count * (answer->type == DNS_IPv6_AAAA ? 16 : 4);
}

/* How long a cache may keep a negative answer: RFC 2308, section 5. 0 without an SOA record. */
static int negative_ttl(struct dns_reader *r, unsigned records_num)
{
	struct dns_record rec;
	struct dns_reader data;
	uint32_t minimum;

	for (unsigned i = 0; i < records_num; i++) {
		if (le_dns_get_record(r, &rec) < 0)
			return 0;
		if (rec.type != EVDNS_TYPE_SOA || rec.rclass != EVDNS_CLASS_INET)
			continue;
		data = (struct dns_reader){ .data = r->data,
					    .len = rec.data_at + rec.data_len,
					    .at = rec.data_at };
		if (le_dns_skip_name(&data) < 0)	/* the server's, then the mailbox */
			return 0;
		if (le_dns_skip_name(&data) < 0 || le_dns_skip(&data, 16) < 0 ||
		    le_dns_get_u32(&data, &minimum) < 0)
			return 0;
		return clamp_ttl(rec.ttl < minimum ? rec.ttl : minimum);
	}
	return 0;
}

static int rcode_error(unsigned flags)
{
	unsigned rcode = flags & RCODE;

	if (flags & FLAG_TRUNCATED)
		return DNS_ERR_TRUNCATED;
	return rcode <= DNS_ERR_REFUSED ? (int)rcode : DNS_ERR_UNKNOWN;
}

/* Reads the answer section. 1: it has records of the requested type; 0: none; -1: malformed. */
static int take_records(struct dns_answer *ret, int type, struct dns_reader *r,
			unsigned records_num)
{
	struct dns_record rec;
	int found = 0, got;

	for (unsigned i = 0; i < records_num; i++) {
		if (le_dns_get_record(r, &rec) < 0)
			return -1;
		got = take_record(ret, type, r, &rec);
		if (got < 0)
			return -1;
		if (got == 0)
			continue;
		lower_ttl(ret, rec.ttl);
		found = 1;
		if (type == DNS_PTR)
			break; /* evdns reports only the first name */
	}
	return found;
}

static void set_error(struct dns_answer *ret, int err, int ttl)
{
	ret->result = err;
	ret->type = 0;
	ret->count = 0;
	ret->ttl = ttl;
}

void le_dns_answer_parse(struct dns_answer *ret, int type, const uint8_t *data, size_t len)
{
	struct dns_reader r = { .data = data, .len = len };
	unsigned flags, questions_num, answers_num, authorities_num;
	int found = 0;

	ret->type = type;
	ret->count = 0;
	ret->ttl = TTL_NONE;
	ret->cname[0] = '\0';
	ret->cnames_num = 0;
	if (le_dns_skip(&r, DNS_HEADER_LEN) < 0)
		goto malformed;
	flags = le_dns_load_u16(data + 2);
	questions_num = le_dns_load_u16(data + 4);
	answers_num = le_dns_load_u16(data + 6);
	authorities_num = le_dns_load_u16(data + 8);
	for (unsigned i = 0; i < questions_num; i++)
		if (le_dns_skip_name(&r) < 0 || le_dns_skip(&r, 4) < 0)
			goto malformed;
	ret->result = rcode_error(flags);
	if (ret->result == DNS_ERR_NONE || ret->result == DNS_ERR_NOTEXIST)
		found = take_records(ret, type, &r, answers_num);
	if (found < 0)
		goto malformed;
	if (ret->result == DNS_ERR_NONE && found == 0)
		ret->result = DNS_ERR_NODATA;
	if (ret->result == DNS_ERR_NODATA || ret->result == DNS_ERR_NOTEXIST)
		set_error(ret, ret->result, negative_ttl(&r, authorities_num));
	else if (ret->result != DNS_ERR_NONE)
		set_error(ret, ret->result, 0);
	return;

malformed:
	set_error(ret, DNS_ERR_UNKNOWN, 0);
}
