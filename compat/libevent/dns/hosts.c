/*
 * A hosts file: an address and its names on each line. evdns_getaddrinfo() looks there first.
 */
#include "dns.h"

#include <netinet/in.h>
#include <string.h>

#include <event2/util.h>

static const char blanks[] = " \t\r\v\f";

/* The next word of *at, ended with a NUL; NULL: there is none. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, blanks);

	if (*word == '\0')
		return NULL;
	*at = word + strcspn(word, blanks);
	if (**at != '\0')
		*(*at)++ = '\0';
	return word;
}

static int add(struct evdns_base *dns, const struct sockaddr_storage *addr, int addr_len,
	       const char *name)
{
	size_t len = strlen(name);
	struct dns_host *host = ec_calloc(1, sizeof(*host) + len + 1);

	if (host == NULL) {
		le_dns_log(EC_LOG_WARN, "Couldn't allocate space for a hosts file entry");
		return -1;
	}
	memcpy(&host->addr, addr, (size_t)addr_len);
	memcpy(host->name, name, len + 1);
	ec_list_push_back(&dns->hosts, &host->link);
	return 0;
}

/* A line that makes no sense is passed over, as by everybody else who reads such files. */
static int parse_line(struct evdns_base *dns, char *line)
{
	struct sockaddr_storage addr;
	int len = (int)sizeof(addr), r = 0;
	char *word;

	line[strcspn(line, "#")] = '\0';
	word = next_word(&line);
	if (word == NULL || evutil_parse_sockaddr_port(word, (struct sockaddr *)&addr, &len) < 0)
		return 0;
	/* An address is what stands there; a port is not. */
	if (addr.ss_family == AF_INET ? ((struct sockaddr_in *)&addr)->sin_port != 0 :
					((struct sockaddr_in6 *)&addr)->sin6_port != 0)
		return 0;
	while (r == 0 && (word = next_word(&line)) != NULL)
		r = add(dns, &addr, len, word);
	return r;
}

static int parse(struct evdns_base *dns, char *text)
{
	char *line = text, *end;
	int r = 0;

	while (r == 0 && line != NULL) {
		end = strchr(line, '\n');
		if (end != NULL)
			*end++ = '\0';
		r = parse_line(dns, line);
		line = end;
	}
	return r;
}

/* Without a file there is still localhost. */
int le_dns_hosts_load(struct evdns_base *dns, const char *path)
{
	char minimal[] = "127.0.0.1 localhost\n::1 localhost\n", *text;
	int r;

	if (path == NULL)
		return parse(dns, minimal);
	if (le_dns_file_read(path, &text) != 0) {
		(void)parse(dns, minimal);
		return -1;
	}
	r = parse(dns, text);
	ec_free(text);
	return r;
}

void le_dns_hosts_clear(struct evdns_base *dns)
{
	struct dns_host *host;

	while (!ec_list_is_empty(&dns->hosts)) {
		host = ec_container_of(dns->hosts.next, struct dns_host, link);
		ec_list_remove(&host->link);
		ec_free(host);
	}
}

int evdns_base_load_hosts(struct evdns_base *dns, const char *path)
{
	int r;

	le_dns_lock(dns);
	r = le_dns_hosts_load(dns, path);
	le_dns_unlock(dns);
	return r;
}

void evdns_base_clear_host_addresses(struct evdns_base *dns)
{
	le_dns_lock(dns);
	le_dns_hosts_clear(dns);
	le_dns_unlock(dns);
}
