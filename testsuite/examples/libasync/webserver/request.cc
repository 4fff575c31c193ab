/*
 * The parser of requests. It reads a request's lines where they are, and copies the path only.
 */
#include "request.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "date.h"

namespace
{

/* A line, or a part of one. */
struct text {
	const char *p, *end;

	size_t len() const { return size_t(end - p); }
	bool is(const char *word) const { return len() == strlen(word) && memcmp(p, word, len()) == 0; }
	bool is_name(const char *word) const { return len() == strlen(word) && strncasecmp(p, word, len()) == 0; }
	bool begins(const char *word) const { return len() >= strlen(word) && memcmp(p, word, strlen(word)) == 0; }
};

bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

text trim(text t)
{
	while (t.p < t.end && is_blank(*t.p))
		t.p++;
	while (t.p < t.end && is_blank(t.end[-1]))
		t.end--;
	return t;
}

/* Cut off what is before `c`; without a `c`, all. */
text cut(text *rest, char c)
{
	const char *at = static_cast<const char *>(memchr(rest->p, c, rest->len()));
	text head = { rest->p, at ? at : rest->end };

	rest->p = at ? at + 1 : rest->end;
	return head;
}

/* Digits only; false also for a number that does not fit. */
bool parse_number(text t, off_t *out)
{
	off_t n = 0;

	if (t.len() == 0 || t.len() > 18)
		return false;
	for (; t.p < t.end; t.p++) {
		if (*t.p < '0' || *t.p > '9')
			return false;
		n = n * 10 + (*t.p - '0');
	}
	*out = n;
	return true;
}

/* ---------------------------------------------------------------- the path */

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = char(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Into `out`, which has room for as many bytes. Their number, or -1. */
int decode(text t, char *out)
{
	char *to = out;

	while (t.p < t.end) {
		char c = *t.p++;

		if (c == '%') {
			int high = t.len() >= 2 ? hex_digit(t.p[0]) : -1;
			int low = high >= 0 ? hex_digit(t.p[1]) : -1;

			if (low < 0)
				return -1;
			c = char(high * 16 + low);
			t.p += 2;
		}
		if (c == '\0')
			return -1;
		*to++ = c;
	}
	return int(to - out);
}

/* Leave out empty segments and ".". The new length, or -1: it leads upwards. */
int clean(char *path, int len)
{
	const char *from = path, *end = path + len;
	char *to = path;

	while (from < end) {
		const char *slash = static_cast<const char *>(memchr(from + 1, '/', size_t(end - from - 1)));
		const char *lim = slash ? slash : end;
		size_t n = size_t(lim - from);	/* with the slash before it */

		if (n == 3 && from[1] == '.' && from[2] == '.')
			return -1;
		if ((n == 1 || (n == 2 && from[1] == '.')) && slash == NULL) {
			*to++ = '/';
		} else if (n > 1 && !(n == 2 && from[1] == '.')) {
			memmove(to, from, n);
			to += n;
		}
		from = lim;
	}
	return int(to - path);
}

/* 0, or the status of an error, negative. */
int parse_target(text t, request *r)
{
	char path[TARGET_MAX];
	int len;

	if (t.len() > TARGET_MAX)
		return -414;
	if (t.begins("http://")) {
		t.p += strlen("http://");
		(void)cut(&t, '/');
		if (t.p == t.end)
			return -400;
		t.p--;
	}
	t = cut(&t, '?');
	if (t.len() == 0 || *t.p != '/')
		return -400;
	len = decode(t, path);
	if (len < 0)
		return -400;
	len = clean(path, len);
	if (len < 0)
		return -403;
	r->path = str(path, size_t(len));
	return 0;
}

/* ---------------------------------------------------------------- the fields */

/* What is no range of ours is as if it were not there. */
void parse_range(text t, request *r)
{
	text first;

	if (!t.begins("bytes="))
		return;
	t.p += strlen("bytes=");
	if (memchr(t.p, ',', t.len()) || !memchr(t.p, '-', t.len()))
		return;
	first = trim(cut(&t, '-'));
	t = trim(t);
	r->first = r->last = -1;
	if ((first.len() && !parse_number(first, &r->first)) || (t.len() && !parse_number(t, &r->last)))
		return;
	if ((r->first < 0 && r->last < 0) || (r->first >= 0 && r->last >= 0 && r->last < r->first))
		return;
	r->has_range = true;
}

void parse_connection(text t, request *r)
{
	while (t.len()) {
		text word = trim(cut(&t, ','));

		if (word.is_name("close"))
			r->is_kept = false;
		else if (word.is_name("keep-alive"))
			r->is_kept = true;
	}
}

int parse_field(text line, request *r)
{
	text name = cut(&line, ':');
	text value = trim(line);
	off_t n;

	if (line.p == name.end || name.len() == 0 || is_blank(*name.p) || is_blank(name.end[-1]))
		return -400;
	switch (*name.p | 0x20) {
	case 'c':
		if (name.is_name("Connection"))
			parse_connection(value, r);
		if (!name.is_name("Content-Length"))
			break;
		if (!parse_number(value, &n) || (r->body_len && r->body_len != u_int64_t(n)))
			return -400;
		r->body_len = u_int64_t(n);
		break;
	case 'h':
		if (name.is_name("Host")) {
			if (r->has_host)
				return -400;
			r->has_host = true;
		}
		break;
	case 'i':
		if (name.is_name("If-Modified-Since"))
			r->modified_since = parse_date(value.p, value.len());
		else if (name.is_name("If-None-Match"))
			r->none_match = str(value.p, value.len());
		else if (name.is_name("If-Range"))
			r->has_if_range = true;
		break;
	case 'r':
		if (name.is_name("Range"))
			parse_range(value, r);
		break;
	case 't':
		if (name.is_name("Transfer-Encoding"))
			return -501;
		break;
	default:
		break;
	}
	return 0;
}

/* 0, or the status of an error, negative. */
int parse_first_line(text line, request *r)
{
	text method = cut(&line, ' ');
	text target = cut(&line, ' ');

	if (line.is("HTTP/1.0")) {
		r->is_http10 = true;
		r->is_kept = false;
	} else if (!line.begins("HTTP/")) {
		return -400;
	} else if (!line.begins("HTTP/1.") || line.len() != strlen("HTTP/1.1")) {
		return -505;
	}
	if (method.is("HEAD"))
		r->is_head = true;
	else if (!method.is("GET"))
		return method.len() ? -501 : -400;
	return parse_target(target, r);
}

/* Cut off a line; false: it has no end. */
bool next_line(text *rest, text *line)
{
	const char *at = static_cast<const char *>(memchr(rest->p, '\n', rest->len()));

	if (!at)
		return false;
	line->p = rest->p;
	line->end = at > rest->p && at[-1] == '\r' ? at - 1 : at;
	rest->p = at + 1;
	return true;
}

} // namespace

request::request()
    : is_head(false), is_kept(true), is_http10(false), modified_since(-1), has_range(false), first(-1), last(-1),
      has_host(false), has_if_range(false), body_len(0)
{
}

int parse_request(const char *p, size_t len, request *r)
{
	text rest = { p, p + len }, line;
	int status;

	*r = request();
	/* Old clients send an empty line after a body. */
	do {
		if (!next_line(&rest, &line))
			return len > HEAD_MAX ? -414 : 0;
	} while (line.len() == 0);
	status = parse_first_line(line, r);
	for (;;) {
		if (status < 0)
			return status;
		if (!next_line(&rest, &line))
			return len > HEAD_MAX ? -431 : 0;
		if (line.len() == 0)
			break;
		status = parse_field(line, r);
	}
	if ((!r->has_host && !r->is_http10))
		return -400;
	if (r->body_len)
		return -413;
	if (r->has_if_range || r->is_head)
		r->has_range = false;
	return rest.p - p > HEAD_MAX ? -431 : int(rest.p - p);
}
