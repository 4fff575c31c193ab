/*
 * Hosts files. Each word of the file is then looked up: what is found comes at once, is of the family and the port
 * that were asked for, and for the word that stands behind an address on a plain line that address
 * is among it. There is no nameserver, so nobody else is asked.
 */
#include "file.h"
#include "quiet.h"

#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>

enum { WORDS_MAX = 40, NAME_MAX_LEN = 300, PORT = 80 };

static struct fuzz_file file = { .fd = -1 };

struct look {
	int family;
	const char *wanted;		/* an address that must be among them; NULL: none need be */
	bool is_told, is_found;
};

static void found(int result, struct evutil_addrinfo *list, void *arg)
{
	struct look *look = arg;
	struct evutil_addrinfo *ai;
	char text[128];

	look->is_told = true;
	FUZZ_CHECK((result == 0) == (list != NULL));
	for (ai = list; ai != NULL; ai = ai->ai_next) {
		const struct sockaddr_in *v4 = (struct sockaddr_in *)ai->ai_addr;
		const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ai->ai_addr;
		bool is_4 = ai->ai_family == AF_INET;

		FUZZ_CHECK(is_4 || ai->ai_family == AF_INET6);
		FUZZ_CHECK(look->family == AF_UNSPEC || look->family == ai->ai_family);
		FUZZ_CHECK(ntohs(is_4 ? v4->sin_port : v6->sin6_port) == PORT);
		FUZZ_CHECK(evutil_inet_ntop(ai->ai_family, is_4 ? (const void *)&v4->sin_addr : &v6->sin6_addr, text,
					    sizeof(text)) != NULL);
		if (look->wanted != NULL && strcmp(text, look->wanted) == 0)
			look->is_found = true;
	}
	if (list != NULL)
		evutil_freeaddrinfo(list);
}

static void look_up(struct event_base *base, struct evdns_base *dns, const char *name, int family, const char *wanted)
{
	struct evutil_addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct look look = { .family = family, .wanted = wanted };
	struct evdns_getaddrinfo_request *request;

	/* Not in the file, or not of this family: it waits for a nameserver. */
	request = evdns_getaddrinfo(dns, name, "80", &hints, found, &look);
	if (request != NULL)
		evdns_getaddrinfo_cancel(request);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	FUZZ_CHECK(look.is_told);
	FUZZ_CHECK(wanted == NULL || look.is_found);
}

/* The words of one line that has no comment; the first is an address, or what was meant to be one. */
static void check_line(struct event_base *base, struct evdns_base *dns, char *line, unsigned *words_num)
{
	static const char spaces[] = " \t";
	char *save, *first = strtok_r(line, spaces, &save), *word = first;
	unsigned char bytes[16];
	char address[64];
	int family = AF_UNSPEC;

	if (first != NULL && evutil_inet_pton(AF_INET, first, bytes) == 1)
		family = AF_INET;
	else if (first != NULL && evutil_inet_pton(AF_INET6, first, bytes) == 1)
		family = AF_INET6;
	if (family != AF_UNSPEC)
		FUZZ_CHECK(evutil_inet_ntop(family, bytes, address, sizeof(address)) != NULL);
	while ((word = strtok_r(NULL, spaces, &save)) != NULL && (*words_num)++ < WORDS_MAX) {
		/* An address is no name, whatever the file says of it. */
		bool is_name = strlen(word) < NAME_MAX_LEN && evutil_inet_pton(AF_INET, word, bytes) != 1 &&
			       evutil_inet_pton(AF_INET6, word, bytes) != 1;

		if (strlen(word) < NAME_MAX_LEN)
			look_up(base, dns, word, AF_UNSPEC, is_name && family != AF_UNSPEC ? address : NULL);
		look_up(base, dns, word, AF_INET, NULL);
		look_up(base, dns, word, AF_INET6, NULL);
	}
}

/* Lines of text that no other reading is possible of: the rest was read, and that is all that is asked of it. */
static bool is_plain(const uint8_t *data, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (!isgraph(data[i]) && data[i] != ' ' && data[i] != '\n')
			return false;
		if (data[i] == '#' || data[i] == '%' || data[i] == '[')
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct event_base *base;
	struct evdns_base *dns;
	char *text, *line, *save;
	unsigned words_num = 0;

	if (base == NULL) {
		fuzz_be_quiet();
		base = event_base_new();
	}
	FUZZ_CHECK(base != NULL);
	dns = evdns_base_new(base, 0);
	FUZZ_CHECK(dns != NULL);
	fuzz_file_write(&file, data, size);
	FUZZ_CHECK(evdns_base_load_hosts(dns, file.path) >= 0);
	if (is_plain(data, size)) {
		text = malloc(size + 1);
		FUZZ_CHECK(text != NULL);
		memcpy(text, data, size);
		text[size] = '\0';
		for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
			check_line(base, dns, line, &words_num);
		free(text);
	}
	evdns_base_clear_host_addresses(dns);
	evdns_base_free(dns, 0);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	return 0;
}
