/*
 * compat/libevent/util/addr.c. What stock does with each of hundreds of odd texts is compared in
 * differ/util_addr.c; here is the contract, and where ours is stricter.
 */
#include "table.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <event2/util.h>

#include "core/ec.h"

static void texts_become_addresses(void **state)
{
	static const struct {
		const char *text;
		int family;
		const char *hex; /* NULL: no address */
	} rows[] = {
		{ "1.2.3.4", AF_INET, "01020304" },
		{ "255.255.255.255", AF_INET, "ffffffff" },
		{ "001.02.3.4", AF_INET, "01020304" },
		{ "1.2.3", AF_INET, NULL },
		{ "1.2.3.4.5", AF_INET, NULL },
		{ "1.2.3.256", AF_INET, NULL },
		{ "1.2.3.-4", AF_INET, NULL },
		{ "1.2.3.4 ", AF_INET, NULL },
		{ "", AF_INET, NULL },
		{ "::1", AF_INET, NULL },
		{ "::", AF_INET6, "00000000000000000000000000000000" },
		{ "::1", AF_INET6, "00000000000000000000000000000001" },
		{ "1::", AF_INET6, "00010000000000000000000000000000" },
		{ "1:2:3:4:5:6:7:8", AF_INET6, "00010002000300040005000600070008" },
		{ "::ffff:1.2.3.4", AF_INET6, "00000000000000000000ffff01020304" },
		{ "::ffff:001.2.3.4", AF_INET6, "00000000000000000000ffff01020304" },
		{ "2001:DB8::a", AF_INET6, "20010db800000000000000000000000a" },
		{ "1:2:3:4:5:6:7", AF_INET6, NULL },
		{ "1:2:3:4:5:6:7:8:9", AF_INET6, NULL },
		{ "1::2::3", AF_INET6, NULL },
		{ "12345::", AF_INET6, NULL },
		{ ":::", AF_INET6, NULL },
		{ ":", AF_INET6, NULL },
		{ "1.2.3.4", AF_INET6, NULL },
		{ "::1.2.3", AF_INET6, NULL },
		{ "::1%lo", AF_INET6, NULL },
		{ "", AF_INET6, NULL },
		{ "1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:1.2.3.4", AF_INET6,
		  NULL },
		{ "11111111111111111111111111111111111111111111111111111111111111111111:", AF_INET6,
		  NULL },
	};
	unsigned char out[16], want[16];
	size_t i, j, len;
	unsigned byte;
	int r;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		memset(out, 0xaa, sizeof(out));
		r = evutil_inet_pton(rows[i].family, rows[i].text, out);
		assert_row(r == (rows[i].hex != NULL), rows[i].text);
		if (r != 1)
			continue;
		len = strlen(rows[i].hex) / 2;
		for (j = 0; j < len; j++) {
			assert_int_equal(sscanf(rows[i].hex + 2 * j, "%2x", &byte), 1);
			want[j] = (unsigned char)byte;
		}
		assert_row(memcmp(out, want, len) == 0, rows[i].text);
		if (len < sizeof(out))
			assert_row(out[len] == 0xaa, rows[i].text);
	}
	assert_int_equal(evutil_inet_pton(AF_UNIX, "1.2.3.4", out), -1);
}

static void addresses_become_texts(void **state)
{
	static const char *const rows[] = {
		"::",
		"::1",
		"1::",
		"1:2:3:4:5:6:7:8",
		"::ffff:1.2.3.4",
		"::1.2.3.4",
		"::1.2.0.1",
		"::100:0",
		"::102",
		"2001:db8::a",
		"1:0:3:0:5:0:7:0",
		"1::1:0:0:1",
		"fe80::abcd:ef01",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	};
	unsigned char bytes[16];
	char text[64];
	size_t i, len;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		assert_row(evutil_inet_pton(AF_INET6, rows[i], bytes) == 1, rows[i]);
		for (len = 0; len <= strlen(rows[i]); len++)
			assert_row(evutil_inet_ntop(AF_INET6, bytes, text, len) == NULL, rows[i]);
		for (; len < sizeof(text); len++) {
			memset(text, '#', sizeof(text));
			assert_row(evutil_inet_ntop(AF_INET6, bytes, text, len) == text, rows[i]);
			assert_string_equal(text, rows[i]);
			assert_row(text[len] == '#', rows[i]);
		}
	}
	memcpy(bytes, "\x7f\0\0\x01", 4);
	assert_string_equal(evutil_inet_ntop(AF_INET, bytes, text, sizeof(text)), "127.0.0.1");
	assert_string_equal(evutil_inet_ntop(AF_INET, bytes, text, 10), "127.0.0.1");
	assert_null(evutil_inet_ntop(AF_INET, bytes, text, 9));
	assert_null(evutil_inet_ntop(AF_UNIX, bytes, text, sizeof(text)));
	assert_non_null(evutil_inet_ntop(AF_INET, bytes, text, SIZE_MAX));
}

static void scopes_are_names_or_numbers(void **state)
{
	unsigned scope, loopback = if_nametoindex("lo");
	unsigned char out[16];

	(void)state;
	if (loopback != 0) {
		assert_int_equal(evutil_inet_pton_scope(AF_INET6, "fe80::1%lo", out, &scope), 1);
		assert_int_equal(scope, loopback);
	}
	assert_int_equal(evutil_inet_pton_scope(AF_INET6, "fe80::1%77", out, &scope), 1);
	assert_int_equal(scope, 77);
	assert_int_equal(out[15], 1);
	assert_int_equal(evutil_inet_pton_scope(AF_INET6, "fe80::1", out, &scope), 1);
	assert_int_equal(scope, 0);
	assert_int_equal(evutil_inet_pton_scope(AF_INET, "1.2.3.4", out, &scope), 1);
	assert_int_equal(scope, 0);
	assert_int_equal(evutil_inet_pton_scope(AF_INET, "1.2.3.4%1", out, &scope), 0);
	assert_int_equal(evutil_inet_pton_scope(AF_INET6, "fe80::1%no-such-interface", out, &scope),
			 0);
	assert_int_equal(evutil_inet_pton_scope(AF_INET6, "fe80::1%7x", out, &scope), 0);
	assert_int_equal(evutil_inet_pton_scope(AF_INET6, "%1", out, &scope), 0);
}

static void a_long_text_before_a_scope_is_no_address(void **state)
{
	unsigned char out[16];
	char text[512];
	unsigned scope;
	size_t len;

	(void)state;
	for (len = 100; len < 200; len++) {
		memset(text, '1', len);
		strcpy(text + len, "%1");
		assert_int_equal(evutil_inet_pton_scope(AF_INET6, text, out, &scope), 0);
	}
}

static void addresses_with_ports(void **state)
{
	static const struct {
		const char *text;
		int family, port;
		unsigned scope;
	} rows[] = {
		{ "1.2.3.4", AF_INET, 0, 0 },
		{ "1.2.3.4:80", AF_INET, 80, 0 },
		{ "1.2.3.4:65535", AF_INET, 65535, 0 },
		{ "::1", AF_INET6, 0, 0 },
		{ "[::1]", AF_INET6, 0, 0 },
		{ "[::1]:80", AF_INET6, 80, 0 },
		{ "::1:80", AF_INET6, 0, 0 },
		{ "[fe80::1%3]:80", AF_INET6, 80, 3 },
		{ "[fe80::1%3]", AF_INET6, 0, 3 },
	};
	struct sockaddr_storage ss;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)&ss;
	size_t i;
	int len;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		memset(&ss, 0xaa, sizeof(ss));
		len = (int)sizeof(ss);
		assert_row(evutil_parse_sockaddr_port(rows[i].text, (struct sockaddr *)&ss, &len) ==
				   0,
			   rows[i].text);
		assert_row(ss.ss_family == rows[i].family, rows[i].text);
		if (rows[i].family == AF_INET) {
			assert_row(len == (int)sizeof(*sin), rows[i].text);
			assert_row(ntohs(sin->sin_port) == rows[i].port, rows[i].text);
		} else {
			assert_row(len == (int)sizeof(*sin6), rows[i].text);
			assert_row(ntohs(sin6->sin6_port) == rows[i].port, rows[i].text);
			assert_row(sin6->sin6_scope_id == rows[i].scope && sin6->sin6_flowinfo == 0,
				   rows[i].text);
		}
	}
}

static void what_is_no_address_changes_nothing(void **state)
{
	static const char *const rows[] = {
		"",
		":",
		"[",
		"]",
		"[]",
		"[]:80",
		"1.2.3.4:",
		"1.2.3.4:0",
		"1.2.3.4:65536",
		"1.2.3.4:-1",
		"1.2.3.4:x",
		"1.2.3:80",
		"host",
		"host:80",
		"[::1",
		"[::1]:",
		"[::1]:0",
		"[::1]:70000",
		"[1.2.3.4]:80",
		"::1]:80",
	};
	unsigned char out[sizeof(struct sockaddr_storage)];
	char text[600];
	size_t i;
	int len;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		memset(out, 0xaa, sizeof(out));
		len = (int)sizeof(out);
		assert_row(evutil_parse_sockaddr_port(rows[i], (struct sockaddr *)(void *)out,
						      &len) == -1,
			   rows[i]);
		assert_row(len == (int)sizeof(out) && out[0] == 0xaa, rows[i]);
	}
	/* Longer than any address, in each of the three forms. */
	for (i = 100; i < 500; i++) {
		memset(text, '1', sizeof(text));
		strcpy(text + i, ":80");
		len = (int)sizeof(out);
		assert_int_equal(
			evutil_parse_sockaddr_port(text, (struct sockaddr *)(void *)out, &len), -1);
		text[0] = text[1] = ':';
		assert_int_equal(
			evutil_parse_sockaddr_port(text, (struct sockaddr *)(void *)out, &len), -1);
		text[0] = '[';
		strcpy(text + i, "]:80");
		assert_int_equal(
			evutil_parse_sockaddr_port(text, (struct sockaddr *)(void *)out, &len), -1);
	}
}

static void a_short_output_is_refused(void **state)
{
	unsigned char out[sizeof(struct sockaddr_storage)];
	int len, given;

	(void)state;
	for (given = 0; given < 32; given++) {
		memset(out, 0xaa, sizeof(out));
		len = given;
		assert_int_equal(evutil_parse_sockaddr_port("1.2.3.4:80",
							    (struct sockaddr *)(void *)out, &len),
				 given < (int)sizeof(struct sockaddr_in) ? -1 : 0);
		assert_int_equal(out[given], 0xaa);
		memset(out, 0xaa, sizeof(out));
		len = given;
		assert_int_equal(evutil_parse_sockaddr_port("[::1]:80",
							    (struct sockaddr *)(void *)out, &len),
				 given < (int)sizeof(struct sockaddr_in6) ? -1 : 0);
		assert_int_equal(out[given], 0xaa);
	}
}

static int sign(int n)
{
	return n < 0 ? -1 : n > 0;
}

static void comparing_is_an_order(void **state)
{
	static const char *const rows[] = {
		"1.2.3.4:80", "1.2.3.4:81", "1.2.3.5:80", "200.0.0.1:80",
		"[::1]:80",   "[::1]:81",   "[::2]:80",   "[ff::1]:1",
	};
	struct sockaddr_storage ss[ROWS(rows)];
	struct sockaddr *a, *b, *c;
	size_t i, j, k;
	int len;

	(void)state;
	memset(ss, 0, sizeof(ss));
	for (i = 0; i < ROWS(rows); i++) {
		len = (int)sizeof(ss[i]);
		assert_int_equal(
			evutil_parse_sockaddr_port(rows[i], (struct sockaddr *)&ss[i], &len), 0);
	}
	for (i = 0; i < ROWS(rows); i++) {
		a = (struct sockaddr *)&ss[i];
		for (j = 0; j < ROWS(rows); j++) {
			b = (struct sockaddr *)&ss[j];
			assert_row((evutil_sockaddr_cmp(a, b, 1) == 0) == (i == j), rows[i]);
			assert_row(sign(evutil_sockaddr_cmp(a, b, 1)) ==
					   -sign(evutil_sockaddr_cmp(b, a, 1)),
				   rows[i]);
			for (k = 0; k < ROWS(rows); k++) {
				c = (struct sockaddr *)&ss[k];
				if (evutil_sockaddr_cmp(a, b, 1) < 0 &&
				    evutil_sockaddr_cmp(b, c, 1) < 0)
					assert_row(evutil_sockaddr_cmp(a, c, 1) < 0, rows[i]);
			}
		}
	}
	assert_int_equal(
		evutil_sockaddr_cmp((struct sockaddr *)&ss[0], (struct sockaddr *)&ss[1], 0), 0);
	assert_int_equal(
		evutil_sockaddr_cmp((struct sockaddr *)&ss[4], (struct sockaddr *)&ss[5], 0), 0);
}

/* ---------------------------------------------------------------- getaddrinfo */

static size_t fail_at, mallocs_num, frees_num;

static void *failing_malloc(size_t size)
{
	void *p = ++mallocs_num == fail_at ? NULL : malloc(size);

	frees_num -= p != NULL;
	return p;
}

static void counting_free(void *p)
{
	frees_num++;
	free(p);
}

static void numeric_addresses_resolve(void **state)
{
	struct evutil_addrinfo hints = { .ai_family = PF_INET, .ai_socktype = SOCK_STREAM },
			       *list = NULL;

	(void)state;
	hints.ai_flags = EVUTIL_AI_NUMERICHOST;
	assert_int_equal(evutil_getaddrinfo("1.2.3.4", "80", &hints, &list), 0);
	assert_int_equal(list->ai_family, PF_INET);
	assert_int_equal(list->ai_socktype, SOCK_STREAM);
	assert_int_equal(list->ai_protocol, IPPROTO_TCP);
	assert_int_equal(ntohs(((struct sockaddr_in *)list->ai_addr)->sin_port), 80);
	assert_null(list->ai_next);
	evutil_freeaddrinfo(list);
	evutil_freeaddrinfo(NULL);
}

static void what_does_not_resolve_leaves_the_list(void **state)
{
	struct evutil_addrinfo hints = { .ai_family = PF_INET, .ai_flags = EVUTIL_AI_NUMERICHOST },
			       dummy, *list = &dummy;

	(void)state;
	assert_int_equal(evutil_getaddrinfo("a.b", "80", &hints, &list), EVUTIL_EAI_NONAME);
	assert_int_equal(evutil_getaddrinfo(NULL, NULL, &hints, &list), EVUTIL_EAI_NONAME);
	assert_ptr_equal(list, &dummy);
}

/* Each allocation fails once: all before it are given back. */
static void without_memory_nothing_is_left(void **state)
{
	struct evutil_addrinfo hints = { .ai_family = PF_INET, .ai_flags = EVUTIL_AI_CANONNAME },
			       *list = NULL;
	int r;

	(void)state;
	ec_mem_set_fns(failing_malloc, NULL, counting_free);
	frees_num = 0;
	for (fail_at = 1; fail_at < 100; fail_at++) {
		mallocs_num = 0;
		r = evutil_getaddrinfo("127.0.0.1", "80", &hints, &list);
		if (r == 0)
			break;
		assert_int_equal(r, EVUTIL_EAI_MEMORY);
		assert_int_equal(frees_num, 0);
	}
	assert_in_range(fail_at, 3, 99);
	evutil_freeaddrinfo(list);
	assert_int_equal(frees_num, 0);
	ec_mem_set_fns(NULL, NULL, NULL);
}

static void every_error_has_words(void **state)
{
	static const int codes[] = {
		0,
		EVUTIL_EAI_ADDRFAMILY,
		EVUTIL_EAI_AGAIN,
		EVUTIL_EAI_BADFLAGS,
		EVUTIL_EAI_FAIL,
		EVUTIL_EAI_FAMILY,
		EVUTIL_EAI_MEMORY,
		EVUTIL_EAI_NODATA,
		EVUTIL_EAI_NONAME,
		EVUTIL_EAI_SERVICE,
		EVUTIL_EAI_SOCKTYPE,
		EVUTIL_EAI_SYSTEM,
		EVUTIL_EAI_CANCEL,
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < ROWS(codes); i++) {
		for (j = 0; j < i; j++)
			assert_string_not_equal(evutil_gai_strerror(codes[i]),
						evutil_gai_strerror(codes[j]));
	}
	assert_string_equal(evutil_gai_strerror(EVUTIL_EAI_CANCEL), "Request canceled");
	assert_non_null(evutil_gai_strerror(12345));
}

static bool is_same_entry(const struct evutil_addrinfo *a, const struct addrinfo *b)
{
	return a->ai_flags == b->ai_flags && a->ai_family == b->ai_family && a->ai_socktype == b->ai_socktype &&
	       a->ai_protocol == b->ai_protocol && a->ai_addrlen == b->ai_addrlen &&
	       memcmp(a->ai_addr, b->ai_addr, a->ai_addrlen) == 0 &&
	       (a->ai_canonname == NULL) == (b->ai_canonname == NULL);
}

static void assert_as_libc(const char *node, const char *service, const struct evutil_addrinfo *hints)
{
	struct evutil_addrinfo *ours = NULL, *a;
	struct addrinfo *libc = NULL, *b;
	int expected = getaddrinfo(node, service, hints, &libc);

	assert_int_equal(evutil_getaddrinfo(node, service, hints, &ours), expected);
	if (expected != 0)
		return;
	for (a = ours, b = libc; a != NULL && b != NULL; a = a->ai_next, b = b->ai_next)
		assert_true(is_same_entry(a, b));
	assert_true(a == NULL && b == NULL);
	evutil_freeaddrinfo(ours);
	freeaddrinfo(libc);
}

/* Most of these are answered without the C library. */
static void numbers_resolve_as_in_the_c_library(void **state)
{
	static const char *const nodes[] = { "127.0.0.1", "0.0.0.0", "1.2.3.4", "010.1.1.1", "127.1", "1.2.3.256",
					     "::1", "::", "fe80::1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8" };
	static const char *const services[] = { NULL, "0", "80", "65535", "00080" };
	static const int families[] = { PF_UNSPEC, PF_INET, PF_INET6 };
	static const int kinds[][2] = { { 0, 0 }, { SOCK_STREAM, 0 }, { SOCK_DGRAM, 0 }, { SOCK_STREAM, IPPROTO_TCP },
					{ SOCK_DGRAM, IPPROTO_UDP }, { SOCK_STREAM, IPPROTO_UDP }, { 0, IPPROTO_TCP } };
	static const int flags[] = { 0, AI_PASSIVE, AI_CANONNAME, AI_V4MAPPED };
	struct evutil_addrinfo hints;
	unsigned i, rest;

	(void)state;
	for (i = 0; i < ROWS(nodes) * ROWS(services) * ROWS(families) * ROWS(kinds) * ROWS(flags); i++) {
		memset(&hints, 0, sizeof(hints));
		rest = i / ROWS(nodes) / ROWS(services);
		hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | flags[rest % ROWS(flags)];
		rest /= ROWS(flags);
		hints.ai_family = families[rest % ROWS(families)];
		rest /= ROWS(families);
		hints.ai_socktype = kinds[rest][0];
		hints.ai_protocol = kinds[rest][1];
		assert_as_libc(nodes[i % ROWS(nodes)], services[i / ROWS(nodes) % ROWS(services)], &hints);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_become_addresses),
		cmocka_unit_test(addresses_become_texts),
		cmocka_unit_test(scopes_are_names_or_numbers),
		cmocka_unit_test(a_long_text_before_a_scope_is_no_address),
		cmocka_unit_test(addresses_with_ports),
		cmocka_unit_test(what_is_no_address_changes_nothing),
		cmocka_unit_test(a_short_output_is_refused),
		cmocka_unit_test(comparing_is_an_order),
		cmocka_unit_test(numeric_addresses_resolve),
		cmocka_unit_test(what_does_not_resolve_leaves_the_list),
		cmocka_unit_test(numbers_resolve_as_in_the_c_library),
		cmocka_unit_test(without_memory_nothing_is_left),
		cmocka_unit_test(every_error_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
