/*
 * Packets (RFC 1035, section 4). Reading trusts nothing: every length is checked against what is
 * left, and a compressed name may point only to before where it began, so that it ends.
 *
 * What a packet costs is bounded by its size: a name that is only passed is not followed to where
 * it points, and one that is read may point on JUMPS_MAX times. A name has at most 127 labels, and
 * writers need a pointer or two.
 */
#include "dns.h"

#include <string.h>

enum { JUMPS_MAX = 32 };

/* ---------------------------------------------------------------- reading */

int le_dns_skip(struct dns_reader *r, size_t len)
{
	if (len > r->len - r->at)
		return -1;
	r->at += len;
	return 0;
}

int le_dns_get_u16(struct dns_reader *r, uint16_t *ret)
{
	const uint8_t *at = r->data + r->at;

	if (le_dns_skip(r, 2) < 0)
		return -1;
	*ret = (uint16_t)(at[0] << 8 | at[1]);
	return 0;
}

int le_dns_get_u32(struct dns_reader *r, uint32_t *ret)
{
	uint16_t high, low;

	if (le_dns_get_u16(r, &high) < 0 || le_dns_get_u16(r, &low) < 0)
		return -1;
	*ret = (uint32_t)high << 16 | low;
	return 0;
}

/* A label as text. What text cannot tell apart from another name is refused. */
static int copy_label(const uint8_t *label, size_t len, char *ret, size_t *used)
{
	if (memchr(label, '.', len) != NULL || memchr(label, '\0', len) != NULL)
		return -1;
	if (*used > 0)
		ret[(*used)++] = '.';
	memcpy(ret + *used, label, len);
	*used += len;
	return 0;
}

/*
 * The labels of a name in turn; ret NULL: only pass it. 255 bytes of wire are 254 of text at most,
 * so that the sum of labels and their lengths is the one limit.
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
	if (le_dns_skip_name(r) < 0 || le_dns_get_u16(r, &ret->type) < 0 ||
	    le_dns_get_u16(r, &ret->rclass) < 0 || le_dns_get_u32(r, &ret->ttl) < 0 ||
	    le_dns_get_u16(r, &ret->data_len) < 0)
		return -1;
	ret->data_at = r->at;
	return le_dns_skip(r, ret->data_len);
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

int le_dns_put_u16(struct dns_writer *w, unsigned n)
{
	const uint8_t bytes[] = { (uint8_t)(n >> 8), (uint8_t)n };

	return le_dns_put_bytes(w, bytes, sizeof(bytes));
}

int le_dns_put_u32(struct dns_writer *w, uint32_t n)
{
	const uint8_t bytes[] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
				  (uint8_t)n };

	return le_dns_put_bytes(w, bytes, sizeof(bytes));
}

/* The next label of a text; 0 at its end. A dot at the end, and the name "", stand for the root. */
static size_t label_len(const char *name)
{
	return strcspn(name, ".");
}

static const char *label_after(const char *name, size_t len)
{
	return name + len + (name[len] == '.');
}

/* Labels of 1 to 63 bytes, and 255 in all. The root itself is a name here, but none to ask for. */
bool le_dns_name_is_valid(const char *name)
{
	size_t wire_len = 1, len;

	while (*name != '\0') {
		len = label_len(name);
		wire_len += 1 + len;
		if (len == 0 || len > DNS_LABEL_MAX || wire_len > 255)
			return false;
		name = label_after(name, len);
	}
	return true;
}

/* Does the name written at `at` spell `name`? Spelled alike: an answer keeps its names' case. */
static bool is_written_at(const struct dns_writer *w, size_t at, const char *name)
{
	size_t len;

	for (;;) {
		while ((w->data[at] & 0xc0) == 0xc0)
			at = (size_t)(w->data[at] & 0x3f) << 8 | w->data[at + 1];
		len = w->data[at++];
		if (*name == '\0' || len == 0)
			return *name == '\0' && len == 0;
		if (label_len(name) != len || memcmp(w->data + at, name, len) != 0)
			return false;
		at += len;
		name = label_after(name, len);
	}
}

/* Without the dot that may stand at its end. */
static size_t text_len(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && name[len - 1] == '.' ? len - 1 : len;
}

/* Of the names that end a longer one each has another length: so few are compared. */
static int find_name(const struct dns_writer *w, const char *name, size_t len)
{
	for (unsigned i = 0; i < w->names_num; i++)
		if (w->names[i].len == len && is_written_at(w, w->names[i].at, name))
			return w->names[i].at;
	return -1;
}

/* Pointers reach 14 bits far; what begins later is not pointed to. */
static void note_name(struct dns_writer *w, struct dns_written name)
{
	if (w->names_num < DNS_WRITER_NAMES && name.at < 0x4000)
		w->names[w->names_num++] = name;
}

int le_dns_put_name(struct dns_writer *w, const char *name)
{
	struct dns_written starts[DNS_NAME_SIZE / 2];
	size_t begin = w->len, starts_num = 0, len, left = text_len(name);
	int at, r = 0;

	if (!le_dns_name_is_valid(name))
		return -1;
	while (r == 0 && left > 0) {
		at = find_name(w, name, left);
		if (at >= 0) {
			r = le_dns_put_u16(w, 0xc000U | (unsigned)at);
			break;
		}
		len = label_len(name);
		starts[starts_num++] = (struct dns_written){ .at = (uint16_t)w->len,
							     .len = (uint8_t)left };
		r = le_dns_put_bytes(w, &(uint8_t){ (uint8_t)len }, 1);
		if (r == 0)
			r = le_dns_put_bytes(w, name, len);
		name = label_after(name, len);
		left -= left > len ? len + 1 : len;
	}
	if (r == 0 && left == 0)
		r = le_dns_put_bytes(w, "", 1);
	if (r < 0) {
		w->len = begin;
		return -1;
	}
	/* Only now: a name that is not whole must not be found. */
	for (size_t i = 0; i < starts_num; i++)
		note_name(w, starts[i]);
	return 0;
}

void le_dns_rewind(struct dns_writer *w, size_t len)
{
	w->len = len;
	while (w->names_num > 0 && w->names[w->names_num - 1].at >= len)
		w->names_num--;
}
