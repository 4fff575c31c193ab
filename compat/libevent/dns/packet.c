/*
 * Packets. The reader checks each length against the rest of the packet. A compression pointer must
 * go back to before the part of the name that it ends, so every name ends.
 *
 * The cost of a packet is limited by its size: skipping a name follows no pointer, and reading one
 * follows at most JUMPS_MAX. Honest writers need one or two.
 */
#include "packet.h"

#include <string.h>

enum { JUMPS_MAX = 32 };

/* ---------------------------------------------------------------- reading */

/* Appends a label to the text. -1: a dot or a NUL in it would make the text another name. */
static int copy_label(const uint8_t *label, size_t len, char *ret, size_t *used)
{
	char *at = ret + *used;

	if (*used > 0)
		*at++ = '.';
	for (size_t i = 0; i < len; i++) {
		if (label[i] == '.' || label[i] == '\0')
			return -1;
		*at++ = (char)label[i];
	}
	*used = (size_t)(at - ret);
	return 0;
}

/*
 * Reads a name; with `ret` NULL, skips it. A name of 255 bytes in a packet has less than 255 bytes
 * of text, so DNS_NAME_SIZE needs no check.
 */
static int walk_name(struct dns_reader *r, char *ret)
{
	size_t at = r->at, first = r->at, end = 0, wire_len = 1, used = 0, len;
	int jumps_num = 0;

	for (;;) {
		if (at >= r->len)
			return -1;
		len = r->data[at++];
		if (len == 0)
			break;
		if ((len & 0xc0) == 0xc0) {
			if (at >= r->len)
				return -1;
			if (end == 0)
				end = at + 1;
			at = (len & 0x3f) << 8 | r->data[at];
			if (at >= first || ++jumps_num > JUMPS_MAX)
				return -1;
			if (ret == NULL)
				break;
			first = at;
			continue;
		}
		wire_len += 1 + len;
		if (len > DNS_LABEL_MAX || len > r->len - at || wire_len > 255)
			return -1;
		if (ret != NULL && copy_label(r->data + at, len, ret, &used) < 0)
			return -1;
		at += len;
	}
	if (ret != NULL)
		ret[used] = '\0';
	r->at = end != 0 ? end : at;
	return 0;
}

int le_dns_get_name(struct dns_reader *r, char ret[DNS_NAME_SIZE])
{
	return walk_name(r, ret);
}

int le_dns_skip_name(struct dns_reader *r)
{
	return walk_name(r, NULL);
}

int le_dns_get_record(struct dns_reader *r, struct dns_record *ret)
{
	enum { FIELDS_LEN = 10 };
	const uint8_t *at;

	if (le_dns_skip_name(r) < 0)
		return -1;
	at = r->data + r->at;
	if (le_dns_skip(r, FIELDS_LEN) < 0)
		return -1;
	ret->type = le_dns_load_u16(at);
	ret->rclass = le_dns_load_u16(at + 2);
	ret->ttl = le_dns_load_u32(at + 4);
	ret->data_len = le_dns_load_u16(at + 8);
	ret->data_at = r->at;
	return le_dns_skip(r, ret->data_len);
}

/* ---------------------------------------------------------------- names */

/*
 * `label_at`: the place of the current label's length. The loop writes at most 254 bytes, which
 * leaves room for the root's byte.
 */
size_t le_dns_name_to_wire(const char *name, uint8_t ret[DNS_WIRE_SIZE])
{
	size_t label_at = 0, at = 1, len;

	for (; *name != '\0'; name++) {
		if (at > DNS_WIRE_SIZE - 2)
			return 0;
		if (*name != '.') {
			ret[at++] = (uint8_t)*name;
			continue;
		}
		len = at - label_at - 1;
		if (len == 0 || len > DNS_LABEL_MAX)
			return 0;
		ret[label_at] = (uint8_t)len;
		label_at = at++;
	}
	len = at - label_at - 1;
	if (len > DNS_LABEL_MAX)
		return 0;
	ret[label_at] = (uint8_t)len;
	if (len == 0)
		return label_at + 1;
	ret[at] = 0;
	return at + 1;
}

bool le_dns_name_is_valid(const char *name)
{
	uint8_t wire[DNS_WIRE_SIZE];

	return le_dns_name_to_wire(name, wire) != 0;
}

/* ---------------------------------------------------------------- writing */

int le_dns_put_bytes(struct dns_writer *w, const void *bytes, size_t len)
{
	if (len > w->size - w->len)
		return -1;
	if (len > 0)
		memcpy(w->data + w->len, bytes, len);
	w->len += len;
	return 0;
}

int le_dns_put_u32(struct dns_writer *w, uint32_t n)
{
	const uint8_t bytes[] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
				  (uint8_t)n };

	return le_dns_put_bytes(w, bytes, sizeof(bytes));
}

/*
 * Does the packet have the name `wire` at `at`? Upper and lower case must match, because a reader
 * of the pointer gets that spelling. The loop ends because pointers go back.
 */
static bool is_written_at(const struct dns_writer *w, size_t at, const uint8_t *wire)
{
	size_t len;

	for (;;) {
		while ((w->data[at] & 0xc0) == 0xc0)
			at = (size_t)(w->data[at] & 0x3f) << 8 | w->data[at + 1];
		len = w->data[at];
		if (len != *wire)
			return false;
		if (len == 0)
			return true;
		if (memcmp(w->data + at + 1, wire + 1, len) != 0)
			return false;
		at += 1 + len;
		wire += 1 + len;
	}
}

/* Compares the length first: the ends of one name differ in length, so few names are compared. */
static int find_name(const struct dns_writer *w, const uint8_t *wire, size_t len)
{
	for (unsigned i = 0; i < w->names_num; i++)
		if (w->names[i].len == len && is_written_at(w, w->names[i].at, wire))
			return w->names[i].at;
	return -1;
}

/* A pointer has 14 bits, so names beyond 0x4000 cannot be its target. */
static void note_name(struct dns_writer *w, size_t at, size_t len)
{
	if (w->names_num < DNS_WRITER_NAMES && at < 0x4000)
		w->names[w->names_num++] = (struct dns_written){ .at = (uint16_t)at,
								 .len = (uint8_t)len };
}

/* Writes labels until the packet already has the rest of the name; then a pointer, or the root. */
int le_dns_put_name(struct dns_writer *w, const char *name)
{
	uint8_t wire[DNS_WIRE_SIZE];
	size_t len = le_dns_name_to_wire(name, wire), at = 0;
	int found = -1;

	if (len == 0)
		return -1;
	while (wire[at] != 0) {
		found = find_name(w, wire + at, len - at);
		if (found >= 0)
			break;
		at += 1 + (size_t)wire[at];
	}
	if (at + (found >= 0 ? 2 : 1) > w->size - w->len)
		return -1;
	memcpy(w->data + w->len, wire, at);
	for (size_t i = 0; i < at; i += 1 + (size_t)wire[i])
		note_name(w, w->len + i, len - i);
	w->len += at;
	if (found >= 0)
		return le_dns_put_u16(w, 0xc000U | (unsigned)found);
	w->data[w->len++] = 0;
	return 0;
}

void le_dns_rewind(struct dns_writer *w, size_t len)
{
	w->len = len;
	while (w->names_num > 0 && w->names[w->names_num - 1].at >= len)
		w->names_num--;
}
