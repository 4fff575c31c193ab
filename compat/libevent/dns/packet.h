/*
 * Packets (RFC 1035, section 4): reading and writing the fields, names and records of one.
 */
#ifndef LE_DNS_PACKET_H
#define LE_DNS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DNS_HEADER_LEN = 12,
	DNS_LABEL_MAX = 63,
	DNS_NAME_SIZE = 256,		/* of a text, with its NUL */
	DNS_WIRE_SIZE = 255,		/* of a name in a packet */
};

/* ---------------------------------------------------------------- reading */

/* own: the function that reads the packet */
struct dns_reader {
	const uint8_t *data;
	size_t len;
	size_t at;			/* <= len */
};

/*
 * Each function returns 0, or -1 if the packet is too short or malformed; `at` is then undefined.
 */
static inline int le_dns_skip(struct dns_reader *r, size_t len)
{
	if (len > r->len - r->at)
		return -1;
	r->at += len;
	return 0;
}

static inline uint16_t le_dns_load_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t le_dns_load_u32(const uint8_t *at)
{
	return (uint32_t)le_dns_load_u16(at) << 16 | le_dns_load_u16(at + 2);
}

static inline int le_dns_get_u16(struct dns_reader *r, uint16_t *ret)
{
	const uint8_t *at = r->data + r->at;

	if (le_dns_skip(r, 2) < 0)
		return -1;
	*ret = le_dns_load_u16(at);
	return 0;
}

static inline int le_dns_get_u32(struct dns_reader *r, uint32_t *ret)
{
	const uint8_t *at = r->data + r->at;

	if (le_dns_skip(r, 4) < 0)
		return -1;
	*ret = le_dns_load_u32(at);
	return 0;
}

int le_dns_get_name(struct dns_reader *r, char ret[DNS_NAME_SIZE]);
int le_dns_skip_name(struct dns_reader *r);

struct dns_record {
	uint16_t type;
	uint16_t rclass;
	uint32_t ttl;
	size_t data_at;
	uint16_t data_len;
};

int le_dns_get_record(struct dns_reader *r, struct dns_record *ret);	/* skips the record's name */

/* ---------------------------------------------------------------- writing */

enum { DNS_WRITER_NAMES = 128 };

struct dns_written {
	uint16_t at;
	uint8_t len;			/* of the rest of the name, without compression */
};

/* own: the function that writes the packet */
struct dns_writer {
	uint8_t *data;
	size_t size;			/* at most 65535 */
	size_t len;
	unsigned names_num;
	struct dns_written names[DNS_WRITER_NAMES];	/* later names may point to these */
};

/* Cheaper than an initializer, which would clear `names`. */
static inline void le_dns_writer_init(struct dns_writer *w, uint8_t *data, size_t size, size_t len)
{
	w->data = data;
	w->size = size;
	w->len = len;
	w->names_num = 0;
}

static inline void le_dns_store_u16(uint8_t *at, unsigned n)
{
	at[0] = (uint8_t)(n >> 8);
	at[1] = (uint8_t)n;
}

/* Each function returns 0. -1: the value has no room, or `name` is invalid; nothing is written. */
static inline int le_dns_put_u16(struct dns_writer *w, unsigned n)
{
	if (w->size - w->len < 2)
		return -1;
	le_dns_store_u16(w->data + w->len, n);
	w->len += 2;
	return 0;
}

int le_dns_put_u32(struct dns_writer *w, uint32_t n);
int le_dns_put_bytes(struct dns_writer *w, const void *bytes, size_t len);
int le_dns_put_name(struct dns_writer *w, const char *name);
void le_dns_rewind(struct dns_writer *w, size_t len);	/* removes everything after `len` */

/* ---------------------------------------------------------------- names */

/*
 * Writes `name` as in a packet, without compression, and returns its length. 0: it is invalid. The
 * root ("") has length 1. A dot at the end changes nothing.
 */
size_t le_dns_name_to_wire(const char *name, uint8_t ret[DNS_WIRE_SIZE]);
bool le_dns_name_is_valid(const char *name);

#endif
