/*
 * compat/libevent/dns/config.c, hosts.c, search.c: what lines mean, and files that cannot be
 * read, and no memory for what they say.
 */
#include "table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "compat/libevent/dns/addrinfo.h"
#include "compat/libevent/dns/dns.h"
#include "fault.h"

static char path[64];

static int path_make(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/test-dns-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int path_remove(void **state)
{
	(void)state;
	return unlink(path);
}

static void file_write(const char *text, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static struct evdns_base *dns_new(struct event_base **base)
{
	struct evdns_base *dns;

	*base = event_base_new();
	assert_non_null(*base);
	dns = evdns_base_new(*base, 0);
	assert_non_null(dns);
	return dns;
}

static void dns_free(struct evdns_base *dns, struct event_base *base)
{
	evdns_base_free(dns, 0);
	event_base_free(base);
}

/* ---------------------------------------------------------------- hosts */

struct text {
	char *at;
	size_t left;
};

static void put_host(struct evdns_base *dns, struct text *text, const char *name)
{
	const struct dns_host *host;
	char addr[INET6_ADDRSTRLEN];
	int len;

	assert_int_equal(le_dns_hosts_find(dns, name, &host), 0);
	for (; host != NULL; host = le_dns_hosts_older(host)) {
		const void *from = host->addr.sa.sa_family == AF_INET ? (const void *)&host->addr.v4.sin_addr :
									&host->addr.v6.sin6_addr;

		inet_ntop(host->addr.sa.sa_family, from, addr, sizeof(addr));
		len = snprintf(text->at, text->left, "%s=%s ", host->name, addr);
		assert_true(len > 0 && (size_t)len < text->left);
		text->at += len;
		text->left -= (size_t)len;
	}
}

/* All there are. */
static void hosts_text(struct evdns_base *dns, char *ret, size_t size)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "localhost" };
	struct text text = { .at = ret, .left = size };

	*ret = '\0';
	for (size_t i = 0; i < ROWS(names); i++)
		put_host(dns, &text, names[i]);
	size = 0;
	for (const char *at = ret; *at != '\0'; at++)
		size += *at == ' ';
	assert_int_equal(size, dns->hosts.num);
}

static const struct {
	const char *text;
	const char *want;
} hosts[] = {
	{ "", "" },
	{ "\n\n", "" },
	{ "# 1.2.3.4 a\n", "" },
	{ "1.2.3.4 a", "a=1.2.3.4 " },
	{ "1.2.3.4 a b\tc # d\n::1 e\r\n", "a=1.2.3.4 b=1.2.3.4 c=1.2.3.4 e=::1 " },
	{ " \t1.2.3.4 a", "a=1.2.3.4 " },
	{ "1.2.3.4\n", "" },
	{ "1.2.3.4:80 a\nb c\n1.2.3 d\n", "" },
	{ "[::1]:80 a\n", "" },
};

static void test_hosts(void **state)
{
	struct event_base *base;
	struct evdns_base *dns = dns_new(&base);
	char text[256];

	(void)state;
	for (size_t i = 0; i < ROWS(hosts); i++) {
		file_write(hosts[i].text, strlen(hosts[i].text));
		assert_row(evdns_base_load_hosts(dns, path) == 0, hosts[i].text);
		hosts_text(dns, text, sizeof(text));
		assert_row(strcmp(text, hosts[i].want) == 0, hosts[i].text);
		evdns_base_clear_host_addresses(dns);
	}
	assert_int_equal(evdns_base_load_hosts(dns, "/nonexistent/hosts"), -1);
	hosts_text(dns, text, sizeof(text));
	assert_string_equal(text, "localhost=::1 localhost=127.0.0.1 ");
	dns_free(dns, base);
}

/* ---------------------------------------------------------------- resolv.conf */

static void conf_text(const struct evdns_base *dns, char *ret, size_t size)
{
	size_t len = (size_t)snprintf(ret, size, "%d servers, ndots %d, attempts %d, timeout %d ms,", dns->servers_num,
				      dns->search->ndots, dns->attempts, (int)(dns->timeout_ns / 1000000));

	for (size_t i = 0; i < dns->search->domains_num; i++)
		len += (size_t)snprintf(ret + len, size - len, " %s", dns->search->domains[i]);
}

enum { SERVERS = DNS_OPTION_NAMESERVERS | DNS_OPTION_NAMESERVERS_NO_DEFAULT,
       MISC = DNS_OPTION_MISC,
       SEARCH = DNS_OPTION_SEARCH,
       ALL = SERVERS | MISC | SEARCH };

/* With SEARCH there is a line for it: else the host's own domain would show. */
static const struct {
	int flags;
	const char *text;
	const char *want;
} confs[] = {
	{ SERVERS | MISC, "", "0 servers, ndots 1, attempts 3, timeout 5000 ms," },
	{ SERVERS, "nameserver 10.0.0.1\nnameserver\t::1\n", "2 servers, ndots 1, attempts 3, timeout 5000 ms," },
	{ MISC, "nameserver 10.0.0.1\nnameserver\t::1\n", "0 servers, ndots 1, attempts 3, timeout 5000 ms," },
	{ SERVERS, "nameserver 10.0.0.1\nnameserver 10.0.0.1\n", "1 servers, ndots 1, attempts 3, timeout 5000 ms," },
	{ SERVERS, "nameserver\nnameserver x\nnameserver 1.2\n", "0 servers, ndots 1, attempts 3, timeout 5000 ms," },
	{ SEARCH, "search a.b c .d", "0 servers, ndots 1, attempts 3, timeout 5000 ms, a.b c d" },
	{ SEARCH, "search a\nsearch b c", "0 servers, ndots 1, attempts 3, timeout 5000 ms, b c" },
	{ SEARCH, "domain a b\n", "0 servers, ndots 1, attempts 3, timeout 5000 ms, a" },
	{ SERVERS, "search a\n", "0 servers, ndots 1, attempts 3, timeout 5000 ms," },
	{ ALL, "search a\noptions ndots:3 attempts:1 timeout:2.5 rotate\n",
	  "0 servers, ndots 3, attempts 1, timeout 2500 ms, a" },
	{ SEARCH, "search a\noptions ndots:3 attempts:1\n", "0 servers, ndots 3, attempts 3, timeout 5000 ms, a" },
	{ MISC, "options ndots:3 attempts:1\n", "0 servers, ndots 1, attempts 1, timeout 5000 ms," },
	{ ALL, "options ndots:x attempts:x timeout\nsearch a", "0 servers, ndots 1, attempts 3, timeout 5000 ms, a" },
	{ MISC, "options attempts:1000\n", "0 servers, ndots 1, attempts 255, timeout 5000 ms," },
	{ ALL, "nameserversearch b\n#search c\nsearch a", "0 servers, ndots 1, attempts 3, timeout 5000 ms, a" },
};

static void test_conf(void **state)
{
	struct event_base *base;
	struct evdns_base *dns;
	char text[256];

	(void)state;
	for (size_t i = 0; i < ROWS(confs); i++) {
		dns = dns_new(&base);
		file_write(confs[i].text, strlen(confs[i].text));
		assert_row(evdns_base_resolv_conf_parse(dns, confs[i].flags, path) == 0, confs[i].text);
		conf_text(dns, text, sizeof(text));
		assert_row(strcmp(text, confs[i].want) == 0, confs[i].text);
		dns_free(dns, base);
	}
}

static void test_files(void **state)
{
	static char large[65537];
	struct event_base *base;
	struct evdns_base *dns = dns_new(&base);

	(void)state;
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, "/nonexistent/file"), 1);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, NULL), 1);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, "/tmp"), 2);
	memset(large, '\n', sizeof(large));
	file_write(large, sizeof(large));
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, path), 0);
	assert_int_equal(truncate(path, (off_t)(256 << 20) + 1), 0);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, path), 3);
	file_write(large, sizeof(large));
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_NAMESERVERS, path), 6);
	assert_int_equal(evdns_base_count_nameservers(dns), 1);

	fault_call_at(FAULT_read, 1, EIO);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, path), 5);
	assert_true(fault_end());
	fault_call_at(FAULT_read, 1, EINTR);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, path), 0);
	assert_true(fault_end());
	dns_free(dns, base);
}

/* ---------------------------------------------------------------- large ones */

/* `num` times, with the number in the place of `#`, and its two lowest bytes in that of `@`; after `head`. */
static void file_write_lines(const char *head, const char *line, int num)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(head, file) >= 0);
	for (int i = 0; i < num; i++) {
		for (const char *s = line; *s != '\0'; s++) {
			if (*s == '#')
				fprintf(file, "%d", i);
			else if (*s == '@')
				fprintf(file, "%d.%d", i >> 8 & 255, i & 255);
			else
				fputc(*s, file);
		}
	}
	assert_int_equal(ferror(file), 0);
	assert_int_equal(fclose(file), 0);
}

/* Time is counted in allocations. */
static void test_many_domains(void **state)
{
	char longest[DNS_NAME_SIZE + 1];
	struct event_base *base;
	struct evdns_base *dns = dns_new(&base);

	(void)state;
	file_write_lines("search", " d#", 100000);
	fault_alloc_at(0);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, SEARCH, path), 0);
	assert_true(fault_allocs() < 2 * DNS_DOMAINS_MAX);
	fault_end();
	assert_int_equal(dns->search->domains_num, DNS_DOMAINS_MAX);
	assert_string_equal(dns->search->domains[0], "d0");
	assert_string_equal(dns->search->domains[DNS_DOMAINS_MAX - 1], "d255");

	/* The program's own are no more either. */
	evdns_base_search_add(dns, "first");
	assert_int_equal(dns->search->domains_num, DNS_DOMAINS_MAX);
	evdns_base_search_clear(dns);
	evdns_base_search_add(dns, "second");
	evdns_base_search_add(dns, "first");
	memset(longest, 'a', DNS_NAME_SIZE);
	longest[DNS_NAME_SIZE] = '\0';
	evdns_base_search_add(dns, longest);
	assert_int_equal(dns->search->domains_num, 2);
	assert_string_equal(dns->search->domains[0], "first");
	assert_string_equal(dns->search->domains[1], "second");

	/* Nor does it cost more to say one thing again and again, with a list there. */
	file_write_lines("search a b c d e f g h i j k l m n o p\noptions", " ndots:#", 10000);
	fault_alloc_at(0);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, SEARCH, path), 0);
	assert_true(fault_allocs() < 100);
	fault_end();
	assert_int_equal(dns->search->ndots, 9999);
	dns_free(dns, base);
}

static void test_many_servers(void **state)
{
	struct event_base *base;
	struct evdns_base *dns = dns_new(&base);
	int fds = fault_fds();

	(void)state;
	file_write_lines("", "nameserver 10.@.1\n", 5000);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, SERVERS, path), 0);
	assert_int_equal(evdns_base_count_nameservers(dns), DNS_CONF_SERVERS_MAX);
	assert_int_equal(fault_fds(), fds + DNS_CONF_SERVERS_MAX);
	/* What the program adds itself is its own concern. */
	assert_int_equal(evdns_base_nameserver_ip_add(dns, "10.200.1.1"), 0);
	dns_free(dns, base);
}

static void found(int result, struct evutil_addrinfo *list, void *arg)
{
	int *num = arg;

	assert_int_equal(result, 0);
	*num = 0;
	for (struct evutil_addrinfo *ai = list; ai != NULL; ai = ai->ai_next) {
		const struct sockaddr_in *sin = (const struct sockaddr_in *)ai->ai_addr;

		assert_int_equal(ntohl(sin->sin_addr.s_addr) & 0xffff, *num & 0xffff);
		++*num;
	}
	evutil_freeaddrinfo(list);
}

static uint32_t address_of(struct evdns_base *dns, const char *name)
{
	const struct dns_host *host;

	assert_int_equal(le_dns_hosts_find(dns, name, &host), 0);
	if (host == NULL)
		return 0;
	assert_null(le_dns_hosts_older(host));
	return ntohl(host->addr.v4.sin_addr.s_addr);
}

/* A list of whom not to talk to: each name is found at once. */
static void test_many_hosts(void **state)
{
	enum { NUM = 100000 };
	struct event_base *base;
	struct evdns_base *dns = dns_new(&base);

	(void)state;
	file_write_lines("", "10.1.@ h#.example.org H#.Example.Net\n", NUM);
	assert_int_equal(evdns_base_load_hosts(dns, path), 0);
	assert_int_equal(dns->hosts.num, 2 * NUM);
	assert_int_equal(address_of(dns, "h258.example.org"), 0x0a010102);
	assert_int_equal(address_of(dns, "h258.example.net"), 0x0a010102);
	assert_int_equal(address_of(dns, "h100000.example.org"), 0);
	assert_true(dns->hosts.buckets_num >= dns->hosts.num);
	/* What comes later is found, too. */
	file_write_lines("", "10.2.@ later#\n", NUM);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(evdns_base_load_hosts(dns, i == 0 ? path : NULL), 0);
		assert_int_equal(address_of(dns, "later258"), 0x0a020102);
		assert_int_equal(address_of(dns, "h1.example.org"), 0x0a010001);
	}
	dns_free(dns, base);
}

/* One name of many addresses: all of them, in their order, and not in the square of their time. */
static void test_many_addresses(void **state)
{
	enum { NUM = 100000 };
	struct evutil_addrinfo hints = { .ai_family = PF_INET, .ai_socktype = SOCK_STREAM };
	struct event_base *base;
	struct evdns_base *dns = dns_new(&base);
	int num = -1;

	(void)state;
	file_write_lines("", "10.1.@ host\n", NUM);
	assert_int_equal(evdns_base_load_hosts(dns, path), 0);
	assert_null(evdns_getaddrinfo(dns, "host", "80", &hints, found, &num));
	assert_int_equal(num, NUM);
	dns_free(dns, base);
}

/* ---------------------------------------------------------------- the host's own addresses */

/* As stock's EVUTIL_AI_ADDRCONFIG was seen to take them, one by one. */
static const struct {
	const char *addr;
	bool is_global;
} owns[] = {
	{ "0.1.2.3", true },	    { "127.1.2.3", false },  { "128.0.0.1", true },   { "10.0.0.1", true },
	{ "169.253.1.1", true },    { "169.254.1.1", false }, { "192.168.1.1", true }, { "223.1.1.1", true },
	{ "224.0.0.5", false },	    { "239.1.1.1", false },  { "240.0.0.1", true },   { "::1", false },
	{ "::", false },	    { "::2", false },	     { "::1.2.3.4", false },  { "::ffff:1.2.3.4", false },
	{ "64:ff9b::1", true },	    { "2001:db8::1", true }, { "3fff::1", true },     { "fb00::1", true },
	{ "fc00::1", false },	    { "fd00::1", false },    { "fe00::1", true },     { "fe80::1", false },
	{ "febf::1", false },	    { "fec0::1", false },    { "ff02::1", false },
};

static void test_own_addresses(void **state)
{
	struct sockaddr_storage ss;
	int len;

	(void)state;
	for (size_t i = 0; i < ROWS(owns); i++) {
		len = (int)sizeof(ss);
		assert_int_equal(evutil_parse_sockaddr_port(owns[i].addr, (struct sockaddr *)&ss, &len), 0);
		assert_row(le_dns_is_global((struct sockaddr *)&ss) == owns[i].is_global, owns[i].addr);
	}
}

/* ---------------------------------------------------------------- no memory */

static int load_all(void *arg)
{
	struct event_base *base = event_base_new();
	const struct dns_host *host;
	struct evdns_base *dns;
	int r = -1;

	(void)arg;
	if (base == NULL)
		return -1;
	dns = evdns_base_new(base, 0);
	if (dns == NULL)
		goto free_base;
	r = evdns_base_resolv_conf_parse(dns, ALL, path);
	if (r == 0 && dns->servers_num != 2)
		r = -1; /* a nameserver less is lived with, not hidden */
	if (r == 0 && dns->search->ndots != 2)
		r = -1;
	if (r == 0)
		r = evdns_base_load_hosts(dns, path);
	if (r == 0)
		r = le_dns_hosts_find(dns, "a", &host);
	evdns_base_free(dns, 0);
free_base:
	event_base_free(base);
	return r == 0 ? 0 : -1;
}

static void test_no_memory(void **state)
{
	static const char text[] = "nameserver 10.0.0.1\nnameserver ::1\nsearch a b c\n"
				   "options ndots:2\n1.2.3.4 a b\n::1 c\n";

	(void)state;
	file_write(text, sizeof(text) - 1);
	assert_true(fault_each_alloc(load_all, NULL, -1) > 20);
	assert_true(fault_each_call_as(FAULT_socket, EMFILE, load_all, NULL, -1) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hosts, path_make, path_remove),
		cmocka_unit_test_setup_teardown(test_conf, path_make, path_remove),
		cmocka_unit_test_setup_teardown(test_files, path_make, path_remove),
		cmocka_unit_test_setup_teardown(test_many_domains, path_make, path_remove),
		cmocka_unit_test_setup_teardown(test_many_servers, path_make, path_remove),
		cmocka_unit_test_setup_teardown(test_many_hosts, path_make, path_remove),
		cmocka_unit_test_setup_teardown(test_many_addresses, path_make, path_remove),
		cmocka_unit_test(test_own_addresses),
		cmocka_unit_test_setup_teardown(test_no_memory, path_make, path_remove),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
