/*
 * compat/libevent/dns/config.c, hosts.c, search.c: what lines mean, and files that cannot be
 * read, and no memory for what they say.
 */
#include "table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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

static void hosts_text(const struct evdns_base *dns, char *ret, size_t size)
{
	struct ec_list *at;
	char addr[INET6_ADDRSTRLEN];
	size_t len = 0;

	*ret = '\0';
	for (at = dns->hosts.next; at != &dns->hosts; at = at->next) {
		const struct dns_host *host = ec_container_of(at, struct dns_host, link);
		const void *from = host->addr.sa.sa_family == AF_INET ? (const void *)&host->addr.v4.sin_addr :
									&host->addr.v6.sin6_addr;

		inet_ntop(host->addr.sa.sa_family, from, addr, sizeof(addr));
		len += (size_t)snprintf(ret + len, size - len, "%s=%s ", host->name, addr);
	}
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
	assert_string_equal(text, "localhost=127.0.0.1 localhost=::1 ");
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
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, path), 3);
	file_write(large, sizeof(large) - 1);
	assert_int_equal(evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, path), 0);
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

/* ---------------------------------------------------------------- no memory */

static int load_all(void *arg)
{
	struct event_base *base = event_base_new();
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
		cmocka_unit_test_setup_teardown(test_no_memory, path_make, path_remove),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
