/*
 * The parsers of evutil: addresses with and without ports, and numbers. libc is the model where
 * it has the same function; else what was accepted must be accepted again when written out.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/util.h>

static void check_pton(int family, const char *text)
{
	unsigned char ours[sizeof(struct in6_addr)], libcs[sizeof(struct in6_addr)];
	char written[INET6_ADDRSTRLEN];
	size_t len = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	int r = evutil_inet_pton(family, text, ours);

	if (inet_pton(family, text, libcs) == 1) {
		FUZZ_CHECK(r == 1);
		FUZZ_CHECK(memcmp(ours, libcs, len) == 0);
	}
	/* More may be accepted: stock takes leading zeros. */
	if (r != 1)
		return;
	FUZZ_CHECK(evutil_inet_ntop(family, ours, written, sizeof(written)) == written);
	FUZZ_CHECK(evutil_inet_pton(family, written, libcs) == 1);
	FUZZ_CHECK(memcmp(ours, libcs, len) == 0);
}

/* Of what length the address is, or 0 where it can be of none. */
static int addr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return (int)sizeof(struct sockaddr_in);
	case AF_INET6:
		return (int)sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

static void check_sockaddr(const char *text)
{
	struct sockaddr_storage addr, again;
	char written[128], host[INET6_ADDRSTRLEN];
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr;
	int len = (int)sizeof(addr), len_again = (int)sizeof(again), len_short;

	if (evutil_parse_sockaddr_port(text, (struct sockaddr *)&addr, &len) < 0)
		return;
	FUZZ_CHECK(len == addr_len(&addr));

	len_short = len - 1;
	FUZZ_CHECK(evutil_parse_sockaddr_port(text, (struct sockaddr *)&again, &len_short) == -1);

	if (addr.ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(written, sizeof(written), "%s:%u", host, ntohs(v4->sin_port));
	} else {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(written, sizeof(written), "[%s]:%u", host, ntohs(v6->sin6_port));
	}
	/* Port 0 stands for none, and cannot be written. */
	if (addr.ss_family == AF_INET ? v4->sin_port == 0 : v6->sin6_port == 0)
		*strrchr(written, ':') = '\0';
	FUZZ_CHECK(evutil_parse_sockaddr_port(written, (struct sockaddr *)&again, &len_again) == 0);
	FUZZ_CHECK(evutil_sockaddr_cmp((struct sockaddr *)&addr, (struct sockaddr *)&again, 1) == 0);
}

/* The address is what stands before the scope. As in libevent it may be long: spaces before numbers, zeros. */
static void check_scope(const char *text)
{
	struct in6_addr ours, without;
	unsigned scope = 0;
	char *plain;

	if (evutil_inet_pton_scope(AF_INET6, text, &ours, &scope) != 1)
		return;
	plain = strndup(text, strcspn(text, "%"));
	FUZZ_CHECK(plain != NULL);
	FUZZ_CHECK(evutil_inet_pton(AF_INET6, plain, &without) == 1);
	FUZZ_CHECK(memcmp(&ours, &without, sizeof(ours)) == 0);
	free(plain);
}

static void check_number(const char *text, int base)
{
	char *end, *end_libc;

	FUZZ_CHECK(evutil_strtoll(text, &end, base) == strtoll(text, &end_libc, base));
	FUZZ_CHECK(end == end_libc);
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

static void check_compare(const char *a, const char *b)
{
	size_t len = strlen(b);

	FUZZ_CHECK(evutil_ascii_strcasecmp(a, a) == 0);
	FUZZ_CHECK(sign(evutil_ascii_strcasecmp(a, b)) == -sign(evutil_ascii_strcasecmp(b, a)));
	FUZZ_CHECK(evutil_ascii_strncasecmp(a, b, 0) == 0);
	if (evutil_ascii_strcasecmp(a, b) == 0)
		FUZZ_CHECK(evutil_ascii_strncasecmp(a, b, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	/* A block of just this length: reading past the end is an error that a sanitizer sees. */
	memcpy(text, data, size);
	text[size] = '\0';

	check_pton(AF_INET, text);
	check_pton(AF_INET6, text);
	check_sockaddr(text);
	check_scope(text);
	check_number(text, 0);
	check_number(text, 10);
	check_number(text, 16);
	check_compare(text, text + strlen(text) / 2);
	free(text);
	return 0;
}
