/*
 * The packets of evdns without sockets: what the parsers make of the input, in a block of just its
 * length. The first byte says which; dns.c is the whole way.
 */
#include "fuzz.h"

#include <string.h>

#include "compat/libevent/dns/answer.h"
#include "compat/libevent/dns/dns.h"
#include "compat/libevent/dns/responder.h"

static void parse_answer(const uint8_t *data, size_t size, int type)
{
	struct dns_answer answer;

	le_dns_answer_parse(&answer, type, data, size);
	FUZZ_CHECK(answer.ttl >= 0 && answer.count >= 0 && answer.count <= DNS_ADDRS_MAX);
	FUZZ_CHECK(memchr(answer.cname, '\0', sizeof(answer.cname)) != NULL);
	if (answer.result != DNS_ERR_NONE) {
		FUZZ_CHECK(answer.count == 0 && answer.type == 0);
		return;
	}
	FUZZ_CHECK(answer.type == type && answer.count > 0);
	if (type == DNS_PTR)
		FUZZ_CHECK(answer.count == 1 && memchr(answer.of.ptr, '\0', sizeof(answer.of.ptr)) != NULL);
}

/* What is read is a name, is written, and is read again as it was. */
static void check_names(const uint8_t *data, size_t size)
{
	uint8_t written[4096];
	struct dns_writer w = { .data = written, .size = sizeof(written) };
	struct dns_reader r = { .data = data, .len = size }, again = { .data = written };
	char name[DNS_NAME_SIZE], name_again[DNS_NAME_SIZE];

	while (le_dns_get_name(&r, name) == 0) {
		again.at = w.len;
		FUZZ_CHECK(le_dns_name_is_valid(name));
		if (le_dns_put_name(&w, name) < 0) {
			FUZZ_CHECK(w.len == again.at && w.size - w.len < DNS_NAME_SIZE);
			return;
		}
		again.len = w.len;
		FUZZ_CHECK(le_dns_get_name(&again, name_again) == 0 && again.at == w.len);
		FUZZ_CHECK(strcmp(name, name_again) == 0);
	}
}

/* The input is a request, all of whose names become answers. */
static void answer_request(const uint8_t *data, size_t size)
{
	struct dns_question q = { .reply.len = 0 }, again = { .reply.len = 0 };
	const char *name;

	if (le_dns_question_parse(&q, data, size) == 0) {
		for (int i = 0; i < q.base.nquestions; i++) {
			name = q.base.questions[i]->name;
			FUZZ_CHECK(evdns_server_request_add_cname_reply(&q.base, name, name, 5) == 0);
			FUZZ_CHECK(evdns_server_request_add_reply(&q.base, i % DNS_SECTIONS, name, 16, 1, 5, i % 40, 0,
								  "0123456789012345678901234567890123456789") == 0);
		}
		le_dns_reply_make(&q, (int)(size % 16));
		FUZZ_CHECK(q.reply.len >= DNS_HEADER_LEN && q.reply.len <= DNS_REPLY_SIZE);
		q.reply.data[2] &= 0x7f;
		FUZZ_CHECK(le_dns_question_parse(&again, q.reply.data, q.reply.len) == 0);
		le_dns_question_free_content(&again);
	}
	le_dns_question_free_content(&q);
}

/* Query and response are halves of the input. */
static void match(const uint8_t *data, size_t size)
{
	size_t query_len = size / 2;
	enum dns_match got;

	if (query_len < DNS_HEADER_LEN)
		return;
	got = le_dns_match(data, query_len, data + query_len, size - query_len);
	if (got == DNS_MATCH_EXACT)
		FUZZ_CHECK(memcmp(data + DNS_HEADER_LEN, data + query_len + DNS_HEADER_LEN,
				  query_len - DNS_HEADER_LEN) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size < 2)
		return 0;
	copy = malloc(size - 1);
	if (copy == NULL)
		return 0;
	memcpy(copy, data + 1, size - 1);
	size--;
	parse_answer(copy, size, DNS_IPv4_A);
	parse_answer(copy, size, DNS_IPv6_AAAA);
	parse_answer(copy, size, DNS_PTR);
	if (data[0] % 3 == 0)
		check_names(copy, size);
	else if (data[0] % 3 == 1)
		match(copy, size);
	else
		answer_request(copy, size);
	free(copy);
	return 0;
}
