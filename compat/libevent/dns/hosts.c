/*
 * Entries of hosts files: each line has an address and its names. evdns_getaddrinfo() searches them
 * before it asks a nameserver.
 *
 * A hosts file that blocks advertisers has a million lines. So loading must be cheap: it only
 * appends entries to blocks of memory. The first lookup after that puts the entries into a hash
 * table. A bucket's newest entry is the first, so adding one needs no search. The hash has no
 * secret key: an author of a hosts file who slows down lookups could as well give false addresses.
 */
#include "dns.h"

#include <netinet/in.h>
#include <string.h>

#include <event2/util.h>

enum { BLOCK_MIN = 1024, BLOCK_MAX = 65536, BUCKETS_MIN = 8 };

struct dns_hosts_block {
	struct dns_hosts_block *next;
	size_t size;
	size_t used;
	_Alignas(struct dns_host) char data[];
};

/* ---------------------------------------------------------------- entries */

static struct dns_hosts_block *block_new(struct dns_hosts *hosts, size_t len)
{
	size_t size = hosts->last == NULL ? BLOCK_MIN : hosts->last->size * 2;
	struct dns_hosts_block *block;

	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	if (size < len)
		size = len;
	block = ec_malloc(sizeof(*block) + size);
	if (block == NULL)
		return NULL;
	block->next = NULL;
	block->size = size;
	block->used = 0;
	if (hosts->last == NULL)
		hosts->first = block;
	else
		hosts->last->next = block;
	hosts->last = block;
	return block;
}

/*
 * noinline: when gcc 12 inlines it with -fsanitize=undefined, it assumes that name[] is empty and
 * warns.
 */
static __attribute__((noinline)) struct dns_host *host_new(struct dns_hosts *hosts, const char *name)
{
	const size_t align = _Alignof(struct dns_host) - 1;
	size_t name_size = strlen(name) + 1, len = (sizeof(struct dns_host) + name_size + align) & ~align;
	struct dns_hosts_block *block = hosts->last;
	struct dns_host *host;

	if (block == NULL || len > block->size - block->used)
		block = block_new(hosts, len);
	if (block == NULL)
		return NULL;
	host = (struct dns_host *)(void *)(block->data + block->used);
	block->used += len;
	memset(host, 0, sizeof(*host));
	host->size = len;
	memcpy(host->name, name, name_size);
	hosts->num++;
	return host;
}

/* ---------------------------------------------------------------- the table */

/* FNV-1a, of the name in lower case. */
static size_t hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)(*name >= 'A' && *name <= 'Z' ? *name | 0x20 : *name)) *
		    UINT64_C(0x100000001b3);
	return (size_t)(h ^ h >> 32);
}

static struct dns_host **bucket_of(const struct dns_hosts *hosts, const char *name)
{
	return &hosts->buckets[hash(name) & (hosts->buckets_num - 1)];
}

/* Adds the entries that are not in the table yet. */
static void index_rest(struct dns_hosts *hosts)
{
	struct dns_host *host, **bucket;

	if (hosts->indexed_block == NULL)
		hosts->indexed_block = hosts->first;
	for (;;) {
		while (hosts->indexed < hosts->indexed_block->used) {
			host = (struct dns_host *)(void *)(hosts->indexed_block->data +
							   hosts->indexed);
			hosts->indexed += (uint32_t)host->size;
			bucket = bucket_of(hosts, host->name);
			host->older = *bucket;
			*bucket = host;
		}
		if (hosts->indexed_block->next == NULL)
			break;
		hosts->indexed_block = hosts->indexed_block->next;
		hosts->indexed = 0;
	}
	hosts->indexed_num = hosts->num;
}

/* Makes a table with room for all entries. It is empty: index_rest() must add them all again. */
static int grow(struct dns_hosts *hosts)
{
	uint32_t num = BUCKETS_MIN;
	struct dns_host **buckets;

	while (num < hosts->num)
		num *= 2;
	buckets = ec_calloc(num, sizeof(buckets[0]));
	if (buckets == NULL)
		return -1;
	ec_free(hosts->buckets);
	hosts->buckets = buckets;
	hosts->buckets_num = num;
	hosts->indexed_block = NULL;
	hosts->indexed = 0;
	return 0;
}

static const struct dns_host *match(const struct dns_host *host, const char *name)
{
	while (host != NULL && evutil_ascii_strcasecmp(host->name, name) != 0)
		host = host->older;
	return host;
}

int le_dns_hosts_find(struct evdns_base *dns, const char *name, const struct dns_host **ret)
{
	struct dns_hosts *hosts = &dns->hosts;

	if (hosts->num > hosts->buckets_num && grow(hosts) < 0)
		return -1;
	if (hosts->num > hosts->indexed_num)
		index_rest(hosts);
	*ret = hosts->num == 0 ? NULL : match(*bucket_of(hosts, name), name);
	return 0;
}

const struct dns_host *le_dns_hosts_older(const struct dns_host *host)
{
	return match(host->older, host->name);
}

/* ---------------------------------------------------------------- the file */

static const char blanks[] = " \t\r\v\f";

static int add(struct evdns_base *dns, const struct sockaddr_storage *addr, int addr_len,
	       const char *name)
{
	struct dns_host *host = host_new(&dns->hosts, name);

	if (host == NULL) {
		le_dns_log(EC_LOG_WARN, "Couldn't allocate space for a hosts file entry");
		return -1;
	}
	memcpy(&host->addr, addr, (size_t)addr_len);
	return 0;
}

/* Skips a malformed line, as other readers of hosts files do. */
static int parse_line(struct evdns_base *dns, char *line)
{
	struct sockaddr_storage addr;
	int len = (int)sizeof(addr), r = 0;
	char *word;

	line[strcspn(line, "#")] = '\0';
	word = le_dns_next_word(&line, blanks);
	if (word == NULL || evutil_parse_sockaddr_port(word, (struct sockaddr *)&addr, &len) < 0)
		return 0;
	/* evutil_parse_sockaddr_port() also accepts a port, but a hosts file has none. */
	if (addr.ss_family == AF_INET ? ((struct sockaddr_in *)&addr)->sin_port != 0 :
					((struct sockaddr_in6 *)&addr)->sin6_port != 0)
		return 0;
	while (r == 0 && (word = le_dns_next_word(&line, blanks)) != NULL)
		r = add(dns, &addr, len, word);
	return r;
}

static int parse(struct evdns_base *dns, char *text)
{
	const char *end = text + strlen(text);
	char *line;
	int r = 0;

	while (r == 0 && (line = le_dns_next_line(&text, end)) != NULL)
		r = parse_line(dns, line);
	return r;
}

/* Without a readable file, there are entries for localhost. */
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
	struct dns_hosts_block *block;

	while ((block = dns->hosts.first) != NULL) {
		dns->hosts.first = block->next;
		ec_free(block);
	}
	ec_free(dns->hosts.buckets);
	dns->hosts = (struct dns_hosts){ .first = NULL };
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
