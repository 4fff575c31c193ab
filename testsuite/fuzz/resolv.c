/*
 * resolv.conf: the first byte is the flags, the rest the file. Whatever it says, each nameserver that it
 * makes is one that can be asked for, and another file changes nothing but adds. Nobody is asked anything.
 */
#include "file.h"
#include "quiet.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>

static struct fuzz_file file = { .fd = -1 };

static void check_servers(struct evdns_base *dns)
{
	int num = evdns_base_count_nameservers(dns), i;
	struct sockaddr_storage ss;
	char text[128];

	FUZZ_CHECK(num >= 0);
	for (i = 0; i < num; i++) {
		FUZZ_CHECK(evdns_base_get_nameserver_addr(dns, i, (struct sockaddr *)&ss, sizeof(ss)) > 0);
		FUZZ_CHECK(ss.ss_family == AF_INET || ss.ss_family == AF_INET6);
		FUZZ_CHECK(evutil_inet_ntop(ss.ss_family,
					    ss.ss_family == AF_INET ?
						    (void *)&((struct sockaddr_in *)&ss)->sin_addr :
						    (void *)&((struct sockaddr_in6 *)&ss)->sin6_addr,
					    text, sizeof(text)) != NULL);
	}
	FUZZ_CHECK(evdns_base_get_nameserver_addr(dns, num, (struct sockaddr *)&ss, sizeof(ss)) < 0);
}

/* Options as text, one by one, as a program may set them. */
static void set_options(struct evdns_base *dns, const uint8_t *data, size_t size)
{
	char name[64], value[64];
	size_t len = size / 2 < sizeof(name) - 1 ? size / 2 : sizeof(name) - 1;

	memcpy(name, data, len);
	name[len] = '\0';
	memcpy(value, data + size - len, len);
	value[len] = '\0';
	(void)evdns_base_set_option(dns, name, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct event_base *base;
	struct evdns_base *dns;
	int flags, r, before;

	if (size == 0)
		return 0;
	/* Not the system's hosts file, which is no input. */
	flags = (data[0] & 15 & ~DNS_OPTION_HOSTSFILE) | DNS_OPTION_NAMESERVERS_NO_DEFAULT;
	fuzz_file_write(&file, data + 1, size - 1);
	if (base == NULL) {
		fuzz_be_quiet();
		base = event_base_new();
	}
	FUZZ_CHECK(base != NULL);
	dns = evdns_base_new(base, 0);
	FUZZ_CHECK(dns != NULL);
	r = evdns_base_resolv_conf_parse(dns, flags, file.path);
	FUZZ_CHECK(r >= 0 && r <= 6);
	check_servers(dns);
	if ((flags & DNS_OPTION_NAMESERVERS) == 0)
		FUZZ_CHECK(evdns_base_count_nameservers(dns) == 0);
	before = evdns_base_count_nameservers(dns);
	(void)evdns_base_resolv_conf_parse(dns, flags, file.path);
	FUZZ_CHECK(evdns_base_count_nameservers(dns) == before);
	set_options(dns, data, size);
	FUZZ_CHECK(evdns_base_clear_nameservers_and_suspend(dns) == 0);
	FUZZ_CHECK(evdns_base_count_nameservers(dns) == 0);
	evdns_base_free(dns, 0);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	return 0;
}
