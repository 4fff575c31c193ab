#include "parse.h"

#include <string.h>

#include <event2/http.h>

#include "chars.h"

static const struct {
	const char *name;
	size_t len;
	unsigned type;
} methods[] = {
	{ "GET", 3, EVHTTP_REQ_GET },       { "POST", 4, EVHTTP_REQ_POST },
	{ "HEAD", 4, EVHTTP_REQ_HEAD },     { "PUT", 3, EVHTTP_REQ_PUT },
	{ "DELETE", 6, EVHTTP_REQ_DELETE }, { "OPTIONS", 7, EVHTTP_REQ_OPTIONS },
	{ "TRACE", 5, EVHTTP_REQ_TRACE },   { "CONNECT", 7, EVHTTP_REQ_CONNECT },
	{ "PATCH", 5, EVHTTP_REQ_PATCH },
};

enum { METHODS_NUM = sizeof(methods) / sizeof(methods[0]) };

unsigned le_method_by_name(const char *s, size_t len)
{
	for (size_t i = 0; i < METHODS_NUM; i++) {
		if (methods[i].len == len && memcmp(methods[i].name, s, len) == 0)
			return methods[i].type;
	}
	return 0;
}

const char *le_method_name(unsigned type)
{
	for (size_t i = 0; i < METHODS_NUM; i++) {
		if (methods[i].type == type)
			return methods[i].name;
	}
	return NULL;
}

static bool is_all(const char *s, size_t len, unsigned which)
{
	for (size_t i = 0; i < len; i++) {
		if (!le_char_is(s[i], which))
			return false;
	}
	return true;
}

enum { VERSION_LEN = 8 };

/* "HTTP/" digit "." digit; the major version is 0 or 1. */
static bool parse_version(const char *s, size_t len, char *major, char *minor)
{
	if (len != VERSION_LEN || memcmp(s, "HTTP/", 5) != 0 || s[6] != '.')
		return false;
	if ((s[5] != '0' && s[5] != '1') || !le_char_is(s[7], LE_CHAR_DIGIT))
		return false;
	*major = (char)(s[5] - '0');
	*minor = (char)(s[7] - '0');
	return true;
}

bool le_parse_request_line(const char *line, size_t len, struct le_request_line *ret)
{
	const char *target, *version, *end = line + len;

	while (end > line && end[-1] == ' ')
		end--;
	target = line + le_chars_span(line, (size_t)(end - line), LE_CHAR_TOKEN);
	if (target == line || target == end || *target != ' ')
		return false;
	/*
	 * Some clients send spaces in the target. The version has none, so it is the end of the
	 * line.
	 */
	if (end - target < VERSION_LEN + 2)
		return false;
	version = end - VERSION_LEN - 1;
	if (*version != ' ' || !parse_version(version + 1, VERSION_LEN, &ret->major, &ret->minor))
		return false;
	ret->method = (struct le_span){ line, (size_t)(target - line) };
	target++;
	ret->target = (struct le_span){ target, (size_t)(version - target) };
	if (ret->target.len == 0 || target[0] == ' ' || version[-1] == ' ')
		return false;
	return le_is_text_without_tab(target, ret->target.len);
}

bool le_parse_status_line(const char *line, size_t len, struct le_status_line *ret)
{
	if (len < 12 || line[8] != ' ' || !parse_version(line, 8, &ret->major, &ret->minor))
		return false;
	if (!is_all(line + 9, 3, LE_CHAR_DIGIT) || line[9] == '0' || (len > 12 && line[12] != ' '))
		return false;
	ret->code = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
	ret->reason = (struct le_span){ line + len, 0 };
	if (len > 13)
		ret->reason = (struct le_span){ line + 13, len - 13 };
	return le_is_text(ret->reason.s, ret->reason.len);
}

static struct le_span trimmed(const char *s, const char *end)
{
	while (s < end && le_is_blank(*s))
		s++;
	while (end > s && le_is_blank(end[-1]))
		end--;
	return (struct le_span){ s, (size_t)(end - s) };
}

bool le_parse_header_line(const char *line, size_t len, struct le_span *key, struct le_span *value)
{
	/* No space before the colon: some readers take it as part of the name, some do not. */
	size_t key_len = le_chars_span(line, len, LE_CHAR_TOKEN);

	if (key_len == 0 || key_len == len || line[key_len] != ':')
		return false;
	*key = (struct le_span){ line, key_len };
	*value = trimmed(line + key_len + 1, line + len);
	return le_is_text(value->s, value->len);
}

bool le_parse_folded_line(const char *line, size_t len, struct le_span *value)
{
	*value = trimmed(line, line + len);
	return le_is_text(value->s, value->len);
}

/* ---------------------------------------------------------------- meaning of headers */

/* Takes the next member of a comma-separated list, and skips empty ones. False: there is none. */
static bool next_member(struct le_span *list, struct le_span *ret)
{
	const char *end = list->s + list->len, *comma;

	while (list->len > 0) {
		comma = memchr(list->s, ',', list->len);
		if (comma == NULL)
			comma = end;
		*ret = trimmed(list->s, comma);
		list->s = comma < end ? comma + 1 : end;
		list->len = (size_t)(end - list->s);
		if (ret->len > 0)
			return true;
	}
	return false;
}

/*
 * note_…: a header of that name. False: the message must be refused. They are apart (noinline), so that le_head_note
 * saves no registers for all other headers.
 */
#define APART __attribute__((noinline))

/* Only one: with two, readers disagree which one counts. */
static APART bool note_host(struct le_head *head, struct le_span value)
{
	head->is_last_noted = true;
	if (head->has_host)
		return false;
	head->has_host = true;
	return le_is_host_header(value.s, value.len);
}

static APART bool note_expect(struct le_head *head, struct le_span value)
{
	head->is_last_noted = true;
	if (le_equals_lower(value.s, value.len, "100-continue"))
		head->expects_continue = true;
	else
		head->expects_else = true;
	return true;
}

/* Only digits, and only one such header: readers disagree about "3, 3", "+3" and two headers. */
static APART bool note_length(struct le_head *head, struct le_span value)
{
	uint64_t length = 0;

	head->is_last_noted = true;
	if (head->has_length || value.len == 0)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		if (!le_char_is(value.s[i], LE_CHAR_DIGIT))
			return false;
		if (length > ((uint64_t)INT64_MAX - 9) / 10)
			return false;
		length = length * 10 + (uint64_t)(value.s[i] - '0');
	}
	head->has_length = true;
	head->length = length;
	return true;
}

/* "chunked" must be the last coding, and come only once. */
static APART bool note_transfer_encoding(struct le_head *head, struct le_span value)
{
	struct le_span member;
	bool is_any = false;

	head->is_last_noted = true;
	head->has_transfer_encoding = true;
	if (memchr(value.s, ',', value.len) != NULL &&
	    (value.s[value.len - 1] == ',' || value.s[0] == ','))
		return false;
	while (next_member(&value, &member)) {
		if (head->is_chunked)
			return false;
		head->is_chunked = le_equals_lower(member.s, member.len, "chunked");
		is_any = true;
	}
	return is_any;
}

static APART bool note_connection(struct le_head *head, struct le_span value)
{
	struct le_span member;

	head->is_last_noted = true;
	while (next_member(&value, &member)) {
		if (le_equals_lower(member.s, member.len, "close"))
			head->has_close = true;
		else if (le_equals_lower(member.s, member.len, "keep-alive"))
			head->has_keep_alive = true;
	}
	return true;
}

static APART bool note_proxy_connection(struct le_head *head, struct le_span value)
{
	head->is_last_noted = true;
	head->has_proxy_keep_alive = le_equals_lower(value.s, value.len, "keep-alive");
	return true;
}

bool le_head_note(struct le_head *head, enum le_message kind, struct le_span key,
		  struct le_span value)
{
	head->is_last_noted = false;
	switch (key.len) {
	case 4:
		if (kind == LE_REQUEST_MESSAGE && le_equals_lower(key.s, key.len, "host"))
			return note_host(head, value);
		break;
	case 6:
		if (kind == LE_REQUEST_MESSAGE && le_equals_lower(key.s, key.len, "expect"))
			return note_expect(head, value);
		break;
	case 10:
		if (le_equals_lower(key.s, key.len, "connection"))
			return note_connection(head, value);
		break;
	case 14:
		if (le_equals_lower(key.s, key.len, "content-length"))
			return note_length(head, value);
		break;
	case 16:
		if (le_equals_lower(key.s, key.len, "proxy-connection"))
			return note_proxy_connection(head, value);
		break;
	case 17:
		if (le_equals_lower(key.s, key.len, "transfer-encoding"))
			return note_transfer_encoding(head, value);
		break;
	default:
		break;
	}
	return true;
}

enum le_framing le_request_framing(const struct le_head *head, int major, int minor)
{
	if (head->has_transfer_encoding) {
		/*
		 * HTTP/1.0 has no Transfer-Encoding: a proxy may have forwarded it without a check.
		 */
		if (head->has_length || !head->is_chunked || major < 1 || minor < 1)
			return LE_FRAMING_BAD;
		return LE_FRAMING_CHUNKED;
	}
	return head->has_length && head->length > 0 ? LE_FRAMING_LENGTH : LE_FRAMING_NO_BODY;
}

enum le_framing le_response_framing(const struct le_head *head, unsigned type, int code)
{
	if (head->has_transfer_encoding && head->has_length)
		return LE_FRAMING_BAD;
	if (type == EVHTTP_REQ_HEAD || code / 100 == 1 || code == HTTP_NOCONTENT ||
	    code == HTTP_NOTMODIFIED || (type == EVHTTP_REQ_CONNECT && code / 100 == 2))
		return LE_FRAMING_NO_BODY;
	if (head->has_transfer_encoding)
		return head->is_chunked ? LE_FRAMING_CHUNKED : LE_FRAMING_UNTIL_CLOSE;
	if (!head->has_length)
		return LE_FRAMING_UNTIL_CLOSE;
	return head->length > 0 ? LE_FRAMING_LENGTH : LE_FRAMING_NO_BODY;
}
