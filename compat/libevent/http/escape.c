#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <event2/http.h>

#include "chars.h"
#include "core/ec.h"

char *evhttp_uriencode(const char *str, ev_ssize_t size, int space_to_plus)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t len = size < 0 ? strlen(str) : (size_t)size;
	char *text, *to;

	if (len > (SIZE_MAX - 1) / 3)
		return NULL;
	text = to = ec_malloc(3 * len + 1);
	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)str[i];

		if (le_char_is((char)c, LE_CHAR_UNRESERVED)) {
			*to++ = (char)c;
		} else if (c == ' ' && space_to_plus) {
			*to++ = '+';
		} else {
			*to++ = '%';
			*to++ = hex[c >> 4];
			*to++ = hex[c & 15];
		}
	}
	*to = '\0';
	return text;
}

char *evhttp_encode_uri(const char *str)
{
	return evhttp_uriencode(str, -1, 0);
}

size_t le_unescape(const char *s, size_t len, enum le_plus plus, char *to)
{
	bool is_space = plus == LE_PLUS_IS_SPACE;
	char *at = to;

	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		if (c == '?' && plus == LE_PLUS_IS_SPACE_IN_QUERY) {
			is_space = true;
		} else if (c == '+' && is_space) {
			c = ' ';
		} else if (c == '%' && len - i > 2 && le_char_is(s[i + 1], LE_CHAR_HEX) &&
			   le_char_is(s[i + 2], LE_CHAR_HEX)) {
			c = (char)(le_hex_value(s[i + 1]) << 4 | le_hex_value(s[i + 2]));
			i += 2;
		}
		*at++ = c;
	}
	return (size_t)(at - to);
}

static char *unescaped(const char *s, enum le_plus plus, size_t *size_ret)
{
	size_t len = strlen(s);
	char *text = ec_malloc(len + 1);

	if (text == NULL)
		return NULL;
	len = le_unescape(s, len, plus, text);
	text[len] = '\0';
	if (size_ret != NULL)
		*size_ret = len;
	return text;
}

char *evhttp_decode_uri(const char *uri)
{
	return unescaped(uri, LE_PLUS_IS_SPACE_IN_QUERY, NULL);
}

char *evhttp_uridecode(const char *uri, int decode_plus, size_t *size_out)
{
	return unescaped(uri, decode_plus ? LE_PLUS_IS_SPACE : LE_PLUS_STAYS, size_out);
}

/*
 * No header declares this function, but libevent's tests call it. `to` has room for `len` bytes and
 * a NUL. `decode_plus`: 1 turns a plus into a space; a negative value does so after the first
 * question mark; any other value keeps it.
 */
int evhttp_decode_uri_internal(const char *uri, size_t len, char *to, int decode_plus);

int evhttp_decode_uri_internal(const char *uri, size_t len, char *to, int decode_plus)
{
	enum le_plus plus = decode_plus < 0 ? LE_PLUS_IS_SPACE_IN_QUERY :
			    decode_plus == 1 ? LE_PLUS_IS_SPACE : LE_PLUS_STAYS;

	len = le_unescape(uri, len, plus, to);
	to[len] = '\0';
	return (int)len;
}

static const char *html_entity(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#039;";
	case '&':
		return "&amp;";
	default:
		return NULL;
	}
}

char *evhttp_htmlescape(const char *html)
{
	const char *s, *entity;
	size_t len = 0, more;
	char *text, *to;

	if (html == NULL)
		return NULL;
	for (s = html; *s != '\0'; s++) {
		entity = html_entity(*s);
		more = entity != NULL ? strlen(entity) : 1;
		if (more > SIZE_MAX - 1 - len)
			return NULL;
		len += more;
	}
	text = to = ec_malloc(len + 1);
	if (text == NULL)
		return NULL;
	for (s = html; *s != '\0'; s++) {
		entity = html_entity(*s);
		if (entity == NULL) {
			*to++ = *s;
			continue;
		}
		more = strlen(entity);
		memcpy(to, entity, more);
		to += more;
	}
	*to = '\0';
	return text;
}
