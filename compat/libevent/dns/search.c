/*
 * The search list, and the names that a request tries: the name as given, and the name followed by
 * each search domain. A name with at least `ndots` dots is first tried as given, any other name
 * last.
 *
 * A request keeps the list that it began with. So a list with a request does not change: the
 * evdns_base gets a copy. Each name is a query, so a list has at most DNS_DOMAINS_MAX domains.
 */
#include "request.h"

#include <string.h>
#include <unistd.h>

void le_dns_search_init(struct dns_search *search, int ndots)
{
	*search = (struct dns_search){ .refs = 1, .ndots = ndots, .is_embedded = true };
}

static struct dns_search *search_new(int ndots)
{
	struct dns_search *search = ec_calloc(1, sizeof(*search));

	if (search == NULL)
		return NULL;
	search->refs = 1;
	search->ndots = ndots;
	return search;
}

static void domains_free(struct dns_search *search)
{
	for (size_t i = 0; i < search->domains_num; i++)
		ec_free(search->domains[i]);
	search->domains_num = 0;
}

void le_dns_search_put(struct dns_search *search)
{
	if (--search->refs > 0)
		return;
	domains_free(search);
	ec_free(search->domains);
	if (!search->is_embedded)
		ec_free(search);
}

/* ---------------------------------------------------------------- a request's names */

static int dots_num(const char *name)
{
	int num = 0;

	for (; *name != '\0'; name++)
		num += *name == '.';
	return num;
}

static bool is_plain_first(const struct dns_search *search, const char *name)
{
	return dots_num(name) >= search->ndots;
}

/* Appends `len` bytes; -1: they and a NUL have no room. */
static int append(char ret[DNS_NAME_SIZE], size_t *used, const char *text, size_t len)
{
	if (len >= DNS_NAME_SIZE - *used)
		return -1;
	memcpy(ret + *used, text, len);
	*used += len;
	ret[*used] = '\0';
	return 0;
}

/* Writes the nth name to try. The name as given is the first or the last. -1: it is too long. */
static int nth_name(const struct dns_search *search, const char *name, size_t nth,
		    char ret[DNS_NAME_SIZE])
{
	size_t plain_at = is_plain_first(search, name) ? 0 : search->domains_num,
	       len = strlen(name), used = 0;
	const char *domain;

	if (append(ret, &used, name, len) < 0)
		return -1;
	if (nth == plain_at)
		return 0;
	domain = search->domains[nth > plain_at ? nth - 1 : nth];
	if ((len == 0 || name[len - 1] != '.') && append(ret, &used, ".", 1) < 0)
		return -1;
	return append(ret, &used, domain, strlen(domain));
}

bool le_dns_search_next(struct evdns_request *req)
{
	char name[DNS_NAME_SIZE];

	while (req->search != NULL && req->search_at <= req->search->domains_num)
		if (nth_name(req->search, req->search_name, req->search_at++, name) == 0 &&
		    le_dns_query_make(req, name) == 0)
			return true;
	return false;
}

size_t le_dns_search_longest(const struct dns_search *search, const char *name)
{
	size_t longest = 0, len;

	for (size_t i = 0; i < search->domains_num; i++) {
		len = strlen(search->domains[i]);
		longest = len > longest ? len : longest;
	}
	return strlen(name) + 1 + longest;
}

int le_dns_search_begin(struct evdns_request *req, const char *name)
{
	/* Without domains there is no other name, so the request needs no list. */
	if (req->dns->search->domains_num == 0)
		return le_dns_query_make(req, name);
	if (!le_dns_name_is_valid(name) || *name == '\0')
		return -1;
	req->search_name = ec_strdup(name);
	if (req->search_name == NULL)
		return -1;
	req->search = req->dns->search;
	req->search->refs++;
	return le_dns_search_next(req) ? 0 : -1;
}

/* ---------------------------------------------------------------- the list */

static int reserve(struct dns_search *search, size_t num)
{
	size_t twice = (size_t)search->domains_size * 2, size = twice > num ? twice : num;
	char **domains;

	if (num <= search->domains_size)
		return 0;
	domains = ec_realloc(search->domains, size * sizeof(domains[0]));
	if (domains == NULL)
		return -1;
	search->domains = domains;
	search->domains_size = (uint16_t)size;
	return 0;
}

static struct dns_search *copy(const struct dns_search *from)
{
	struct dns_search *search = search_new(from->ndots);

	if (search == NULL)
		return NULL;
	if (reserve(search, from->domains_num) < 0)
		goto put;
	for (size_t i = 0; i < from->domains_num; i++) {
		search->domains[i] = ec_strdup(from->domains[i]);
		if (search->domains[i] == NULL)
			goto put;
		search->domains_num++;
	}
	return search;

put:
	le_dns_search_put(search);
	return NULL;
}

/* The list of the evdns_base, which is copied first if a request refers to it. NULL: no memory. */
static struct dns_search *writable_list(struct evdns_base *dns)
{
	struct dns_search *search;

	if (dns->search->refs == 1)
		return dns->search;
	search = copy(dns->search);
	if (search == NULL)
		return NULL;
	le_dns_search_put(dns->search);
	dns->search = search;
	return search;
}

int le_dns_search_set_ndots(struct evdns_base *dns, int ndots)
{
	struct dns_search *search = writable_list(dns);

	if (search == NULL)
		return -1;
	search->ndots = ndots;
	return 0;
}

int le_dns_search_clear(struct evdns_base *dns)
{
	struct dns_search *search;

	if (dns->search->refs == 1) {
		domains_free(dns->search);
		return 0;
	}
	search = search_new(dns->search->ndots);
	if (search == NULL)
		return -1;
	le_dns_search_put(dns->search);
	dns->search = search;
	return 0;
}

int le_dns_search_add(struct evdns_base *dns, const char *domain, enum dns_end end)
{
	struct dns_search *search;
	char *text;

	while (*domain == '.')
		domain++;
	if (dns->search->domains_num >= DNS_DOMAINS_MAX || strlen(domain) >= DNS_NAME_SIZE)
		return 1;
	search = writable_list(dns);
	if (search == NULL || reserve(search, (size_t)search->domains_num + 1) < 0)
		return -1;
	text = ec_strdup(domain);
	if (text == NULL)
		return -1;
	if (end == DNS_FIRST)
		memmove(search->domains + 1, search->domains,
			search->domains_num * sizeof(search->domains[0]));
	search->domains[end == DNS_FIRST ? 0 : search->domains_num] = text;
	search->domains_num++;
	return 0;
}

/* If resolv.conf has no search domain, use the domain of the host's name. */
int le_dns_search_from_hostname(struct evdns_base *dns)
{
	char name[256];
	const char *dot;

	if (le_dns_search_clear(dns) < 0)
		return -1;
	if (gethostname(name, sizeof(name)) < 0)
		return 0;
	name[sizeof(name) - 1] = '\0';
	dot = strchr(name, '.');
	return dot == NULL ? 0 : le_dns_search_add(dns, dot, DNS_LAST);
}

/* ---------------------------------------------------------------- the program's calls */

void evdns_base_search_clear(struct evdns_base *dns)
{
	le_dns_lock(dns);
	(void)le_dns_search_clear(dns);
	le_dns_unlock(dns);
}

/* As in libevent, the domain added last is tried first. */
void evdns_base_search_add(struct evdns_base *dns, const char *domain)
{
	int r;

	le_dns_lock(dns);
	r = le_dns_search_add(dns, domain, DNS_FIRST);
	if (r < 0)
		le_dns_log(EC_LOG_WARN, "No memory for search domain %s", domain);
	else if (r > 0)
		le_dns_log(EC_LOG_WARN, "Search domain left out: it is too long, or there are %d already",
			   DNS_DOMAINS_MAX);
	le_dns_unlock(dns);
}

void evdns_base_search_ndots_set(struct evdns_base *dns, const int ndots)
{
	le_dns_lock(dns);
	if (le_dns_search_set_ndots(dns, ndots) < 0)
		le_dns_log(EC_LOG_WARN, "No memory for ndots %d", ndots);
	le_dns_unlock(dns);
}
