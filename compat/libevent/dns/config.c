/*
 * Options by name, and resolv.conf, which sets options, nameservers and search domains.
 */
#include "request.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/util.h>

/* ---------------------------------------------------------------- values */

/* Reads a whole number of at least 0, and clamps it to `min` and `max`. */
static int parse_int(const char *text, int min, int max, int *ret)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (*end != '\0' || n < 0 || errno != 0)
		return -1;
	*ret = n < min ? min : n > max ? max : (int)n;
	return 0;
}

/* Reads seconds with a fraction: at least a millisecond; more than 68 years count as 68 years. */
static int parse_seconds(const char *text, int64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end != '\0' || !(seconds >= 0.001))
		return -1;
	if (seconds > (double)INT_MAX)
		seconds = (double)INT_MAX;
	*ret_ns = (int64_t)(seconds * 1e9);
	return 0;
}

static int parse_bind_to(struct evdns_base *dns, const char *text)
{
	struct sockaddr_storage addr;
	int len = (int)sizeof(addr);

	if (evutil_parse_sockaddr_port(text, (struct sockaddr *)&addr, &len) < 0)
		return -1;
	memcpy(&dns->socket_options.bind_to, &addr, (size_t)len);
	dns->socket_options.bind_to_len = (socklen_t)len;
	return 0;
}

/* ---------------------------------------------------------------- options */

enum option_kind { OPTION_INT, OPTION_SECONDS, OPTION_BOOL, OPTION_NDOTS, OPTION_BIND_TO };

static const struct option {
	const char *name;
	enum option_kind kind;
	int flag;			/* of evdns_base_resolv_conf_parse() */
	size_t offset;
	int min;
	int max;
} options[] = {
	{ "ndots", OPTION_NDOTS, DNS_OPTION_SEARCH, 0, 0, INT_MAX },
	{ "timeout", OPTION_SECONDS, DNS_OPTION_MISC, offsetof(struct evdns_base, timeout_ns), 0,
	  0 },
	{ "getaddrinfo-allow-skew", OPTION_SECONDS, DNS_OPTION_MISC,
	  offsetof(struct evdns_base, skew_ns), 0, 0 },
	{ "initial-probe-timeout", OPTION_SECONDS, DNS_OPTION_MISC,
	  offsetof(struct evdns_base, probe_ns), 0, 0 },
	{ "max-timeouts", OPTION_INT, DNS_OPTION_MISC, offsetof(struct evdns_base, timeouts_max), 1,
	  255 },
	{ "max-inflight", OPTION_INT, DNS_OPTION_MISC, offsetof(struct evdns_base, inflight_max), 1,
	  65000 },
	{ "attempts", OPTION_INT, DNS_OPTION_MISC, offsetof(struct evdns_base, attempts), 1, 255 },
	{ "so-rcvbuf", OPTION_INT, DNS_OPTION_MISC, offsetof(struct evdns_base, socket_options.so_rcvbuf), 0,
	  INT_MAX },
	{ "so-sndbuf", OPTION_INT, DNS_OPTION_MISC, offsetof(struct evdns_base, socket_options.so_sndbuf), 0,
	  INT_MAX },
	{ "edns-udp-size", OPTION_INT, DNS_OPTION_MISC, offsetof(struct evdns_base, edns_size), 512,
	  65535 },
	{ "randomize-case", OPTION_BOOL, DNS_OPTION_MISC,
	  offsetof(struct evdns_base, is_case_random), 0, INT_MAX },
	{ "bind-to", OPTION_BIND_TO, DNS_OPTION_NAMESERVERS, 0, 0, 0 },
};

/* `name` may end with a colon and a value, as in resolv.conf. */
static const struct option *find_option(const char *name)
{
	size_t len = strcspn(name, ":");

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
			return &options[i];
	return NULL;
}

static int apply(struct evdns_base *dns, const struct option *option, const char *value)
{
	void *field = (char *)dns + option->offset;
	int64_t ns;
	int n;

	if (option->kind == OPTION_BIND_TO)
		return parse_bind_to(dns, value);
	if (option->kind == OPTION_SECONDS) {
		if (parse_seconds(value, &ns) < 0)
			return -1;
		/* The time between probes grows to one hour, so the first probe comes no later. */
		if (field == &dns->probe_ns && ns > 3600LL * 1000 * 1000 * 1000)
			ns = 3600LL * 1000 * 1000 * 1000;
		*(int64_t *)field = ns;
		return 0;
	}
	if (parse_int(value, option->min, option->max, &n) < 0)
		return -1;
	if (option->kind == OPTION_NDOTS)
		return le_dns_search_set_ndots(dns, n);
	if (option->kind == OPTION_BOOL)
		*(bool *)field = n != 0;
	else
		*(int *)field = n;
	return 0;
}

/* An unknown option is no error: resolv.conf also has options for other resolvers. */
int le_dns_option_set(struct evdns_base *dns, const char *name, const char *value, int flags)
{
	const struct option *option = find_option(name);

	if (option == NULL || (option->flag & flags) == 0)
		return 0;
	if (apply(dns, option, value) < 0)
		return -1;
	le_dns_log(EC_LOG_DEBUG, "Setting %s to %s", option->name, value);
	if (option->offset == offsetof(struct evdns_base, inflight_max))
		le_dns_requests_pump(dns);
	return 0;
}

int evdns_base_set_option(struct evdns_base *dns, const char *option, const char *value)
{
	int r;

	le_dns_lock(dns);
	r = le_dns_option_set(dns, option, value, DNS_OPTIONS_ALL);
	le_dns_unlock(dns);
	return r;
}

/* ---------------------------------------------------------------- resolv.conf */

static const char blanks[] = " \t";

/* own: the function that reads the file */
struct conf {
	struct evdns_base *dns;
	int flags;
	unsigned servers_left_out;
	unsigned domains_left_out;
};

static int parse_search(struct conf *conf, char *rest, bool is_one)
{
	char *domain;
	int r;

	if (le_dns_search_clear(conf->dns) < 0)
		return CONF_MEMORY;
	while ((domain = le_dns_next_word(&rest, blanks)) != NULL) {
		r = le_dns_search_add(conf->dns, domain, DNS_LAST);
		if (r < 0)
			return CONF_MEMORY;
		conf->domains_left_out += r > 0;
		if (is_one)
			break;
	}
	return 0;
}

static void parse_server(struct conf *conf, char *rest)
{
	const char *text = le_dns_next_word(&rest, blanks);

	if (text == NULL)
		return;
	if (conf->dns->servers_num < DNS_CONF_SERVERS_MAX)
		(void)le_dns_server_add_text(conf->dns, text);
	else
		conf->servers_left_out++;
}

static void parse_options(struct conf *conf, char *rest)
{
	const char *value;
	char *word;

	while ((word = le_dns_next_word(&rest, blanks)) != NULL) {
		value = strchr(word, ':');
		(void)le_dns_option_set(conf->dns, word, value != NULL ? value + 1 : "",
					conf->flags);
	}
}

static int parse_line(struct conf *conf, char *line)
{
	char *word = le_dns_next_word(&line, blanks);

	if (word == NULL)
		return 0;
	if (strcmp(word, "nameserver") == 0 && (conf->flags & DNS_OPTION_NAMESERVERS))
		parse_server(conf, line);
	else if (strcmp(word, "domain") == 0 && (conf->flags & DNS_OPTION_SEARCH))
		return parse_search(conf, line, true);
	else if (strcmp(word, "search") == 0 && (conf->flags & DNS_OPTION_SEARCH))
		return parse_search(conf, line, false);
	else if (strcmp(word, "options") == 0)
		parse_options(conf, line);
	return 0;
}

static int parse(struct conf *conf, char *text)
{
	const char *end = text + strlen(text);
	char *line;
	int r = 0;

	while (r == 0 && (line = le_dns_next_line(&text, end)) != NULL)
		r = parse_line(conf, line);
	if (conf->servers_left_out != 0)
		le_dns_log(EC_LOG_WARN, "%u nameservers left out: there are %d already",
			   conf->servers_left_out, conf->dns->servers_num);
	if (conf->domains_left_out != 0)
		le_dns_log(EC_LOG_WARN,
			   "%u search domains left out: too long, or more than %d in a list",
			   conf->domains_left_out, DNS_DOMAINS_MAX);
	return r;
}

/* For a host without resolv.conf, or with one that names no nameserver. */
static int set_default_server(struct evdns_base *dns, int flags)
{
	if (!(flags & DNS_OPTION_NAMESERVERS) || (flags & DNS_OPTION_NAMESERVERS_NO_DEFAULT))
		return 0;
	(void)le_dns_server_add_text(dns, "127.0.0.1");
	return CONF_NO_SERVER;
}

int le_dns_resolv_conf(struct evdns_base *dns, int flags, const char *path)
{
	struct conf conf = { .dns = dns, .flags = flags };
	char *text;
	int r;

	if (flags & DNS_OPTION_HOSTSFILE)
		(void)le_dns_hosts_load(dns, "/etc/hosts");
	r = path == NULL ? CONF_OPEN : le_dns_file_read(path, &text);
	if (r != 0) {
		if ((flags & DNS_OPTION_SEARCH) && le_dns_search_from_hostname(dns) < 0)
			return CONF_MEMORY;
		(void)set_default_server(dns, flags);
		return r;
	}
	r = parse(&conf, text);
	ec_free(text);
	if (r == 0 && dns->search->domains_num == 0 && (flags & DNS_OPTION_SEARCH) &&
	    le_dns_search_from_hostname(dns) < 0)
		r = CONF_MEMORY;
	if (r == 0 && dns->servers_num == 0)
		r = set_default_server(dns, flags);
	return r;
}

int evdns_base_resolv_conf_parse(struct evdns_base *dns, int flags, const char *const path)
{
	int r;

	le_dns_lock(dns);
	r = le_dns_resolv_conf(dns, flags, path);
	le_dns_unlock(dns);
	return r;
}
