/*
 * URIs: parsing with and without EVHTTP_URI_NONCONFORMANT, setters, joining; encoding and decoding;
 * query strings; HTML escapes. Named ones, then strings put together from pieces at random.
 */
#include "trace.h"

#include <sys/queue.h>

#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

static void quote(char *buf, size_t size, const char *s, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < len && at + 8 < size; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x20 && c < 0x7f)
			buf[at++] = (char)c;
		else
			at += (size_t)snprintf(buf + at, size - at, "\\x%02x", c);
	}
	buf[at] = '\0';
}

/* A few buffers in turn. NULL is printed as such. */
static const char *str(const char *s)
{
	static char bufs[8][700];
	static unsigned turn_no;
	char *buf = bufs[turn_no++ % 8];

	if (s == NULL)
		return "NULL";
	quote(buf, sizeof(bufs[0]), s, strlen(s));
	return buf;
}

static void say_uri(struct evhttp_uri *uri)
{
	char buf[600];
	char *joined = evhttp_uri_join(uri, buf, sizeof(buf));

	say("  scheme %s userinfo %s host %s port %d", str(evhttp_uri_get_scheme(uri)),
	    str(evhttp_uri_get_userinfo(uri)), str(evhttp_uri_get_host(uri)), evhttp_uri_get_port(uri));
	say("  path %s query %s fragment %s", str(evhttp_uri_get_path(uri)), str(evhttp_uri_get_query(uri)),
	    str(evhttp_uri_get_fragment(uri)));
	say("  joined %s", str(joined));
}

static void parse(const char *text)
{
	unsigned flags;

	for (flags = 0; flags <= EVHTTP_URI_NONCONFORMANT; flags++) {
		struct evhttp_uri *uri = evhttp_uri_parse_with_flags(text, flags);

		say("%s flags %u: %s", str(text), flags, uri != NULL ? "ok" : "refused");
		if (uri == NULL)
			continue;
		say_uri(uri);
		evhttp_uri_free(uri);
	}
}

static const char *const uris[] = {
	"", "/", "//", "///", "////", "?", "#", "?#", "a", "a/b", "a:b", "a:", ":", ":a", "1:b", "a:/b",
	"a://b", "http:", "http:/", "http://", "http:///", "http:////", "http://h", "http://h:", "http://h:0",
	"http://h:00080/", "http://h:65535", "http://h:65536", "http://h:-1", "http://h:+1", "http://h: 1",
	"http://h:1:2", "http://@h", "http://u@h", "http://u:p@h", "http://u@v@h", "http://:@h:1",
	"http://u%40@h", "http://h%", "http://h%4", "http://h%41", "http://h_~!$&'()*+,;=.-", "http://h\x80",
	"http://[::1]", "http://[::1]:80/", "http://[::1]x/", "http://[::1", "http://::1/", "http://[v1.a]",
	"http://[v1.]", "http://[V1.a]", "http://[1.2.3.4]", "http://[::ffff:1.2.3.4]", "http://[::1%25eth0]",
	"http://[fe80::1%eth0]", "http://1.2.3.4", "http://1.2.3.4.5", "//h/p?q#f", "//h?q", "//h#f",
	"//u@h:5", "/p?q?r#f#g", "p?q", "?q#f", "#f", "a?b:c", "a#b:c", "a/b:c", "./a:b", "mailto:a@b",
	"urn:a:b:c", "x+y-z.1:p", "x_y:p", "http:p/q", "http:p?q", "http:#f", "/a b", "/a%20b", "/a%zz",
	"/a\x01", "/a\x7f", "/a\xc3\xa9", "/a\"<>\\^`{|}", "/?a b", "/?\"<>", "/#a b", "/#%", "/[a]", "/?[a]",
	"/#[a]", "http://h/ p", "http://h/p q?r s#t u", "http://h h/", " http://h/", "http://h/ ", "*", "h:80",
	"h.com:80/x", "/%00", "/a%00b", "?%00", "http://%00/", "//", "//:80", "//@", "//@:", "http:?q", "A:b",
	"HTTP://H/P",
};

static void test_parse(void)
{
	section("parse");
	for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++)
		parse(uris[i]);
	say("plain: %d", evhttp_uri_parse("/a b") != NULL);
}

static void set_all(const char *text, unsigned flags)
{
	struct evhttp_uri *uri = evhttp_uri_new();
	int r[6];

	must(uri != NULL, "make a uri");
	evhttp_uri_set_flags(uri, flags);
	r[0] = evhttp_uri_set_scheme(uri, text);
	r[1] = evhttp_uri_set_userinfo(uri, text);
	r[2] = evhttp_uri_set_host(uri, text);
	r[3] = evhttp_uri_set_path(uri, text);
	r[4] = evhttp_uri_set_query(uri, text);
	r[5] = evhttp_uri_set_fragment(uri, text);
	say("%s flags %u: scheme %d userinfo %d host %d path %d query %d fragment %d", str(text), flags, r[0], r[1],
	    r[2], r[3], r[4], r[5]);
	say_uri(uri);
	evhttp_uri_free(uri);
}

static void test_set(void)
{
	static const char *const texts[] = {
		NULL,   "",    "a",      "a1",  "1",    "a:b",  "a@b", "/",     "/a",   "//",    "//a",  "a/b",
		"a?b",  "?",   "a#b",    "#",   "a b",  " ",    "%",   "%4",    "%41",  "[::1]", "[",    "]",
		"[::1", "::1", "[v1.x]", "a.b", "\x01", "\x80", "a+b", "a-b.c", "&=;,", "http",  "a\"b",
	};
	static const int ports[] = { -3, -2, -1, 0, 1, 80, 65535, 65536, 1 << 20, 0x7fffffff };
	struct evhttp_uri *uri = evhttp_uri_new();

	section("set");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		set_all(texts[i], 0);
		set_all(texts[i], EVHTTP_URI_NONCONFORMANT);
	}
	say("new: port %d", evhttp_uri_get_port(uri));
	say_uri(uri);
	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		int r = evhttp_uri_set_port(uri, ports[i]);

		say("port %d: %d, then %d", ports[i], r, evhttp_uri_get_port(uri));
	}
	/* A refused value leaves what was there. */
	say("%d %d", evhttp_uri_set_path(uri, "/x"), evhttp_uri_set_path(uri, "a?b"));
	say("%d %d", evhttp_uri_set_scheme(uri, "s"), evhttp_uri_set_scheme(uri, "!"));
	say("%d %d", evhttp_uri_set_userinfo(uri, "u"), evhttp_uri_set_userinfo(uri, "@"));
	say_uri(uri);
	evhttp_uri_free(uri);
}

static void test_join(void)
{
	struct evhttp_uri *uri = evhttp_uri_parse("http://u:p@host:80/path?q=1#frag");
	char buf[64];
	size_t limit;

	section("join");
	for (limit = 0; limit <= 40; limit++) {
		memset(buf, '.', sizeof(buf));
		say("limit %zu: %s", limit, str(evhttp_uri_join(uri, buf, limit)));
		say("  after it '%c'", buf[limit]);
	}
	evhttp_uri_free(uri);
}

static void say_decoded(const char *name, char *s, size_t len)
{
	char buf[700];

	if (s == NULL) {
		say("  %s: NULL", name);
		return;
	}
	quote(buf, sizeof(buf), s, len);
	say("  %s: %zu bytes %s", name, len, buf);
	free(s);
}

static void test_encode(void)
{
	static const char *const texts[] = {
		"",
		" ",
		"a b",
		"+",
		"a+b",
		"%",
		"%2",
		"%20",
		"%2B%2b",
		"%zz",
		"%%41",
		"%4",
		"%g1",
		"%1g",
		"a?b+c?d+e",
		"+?+",
		"\x01\x7f\x80\xff",
		"~-_.!*'()",
		"/?#[]@:;=&$,",
		"a%00b",
		"%00",
		"%+1",
		"% 1",
		"%0x",
		"%-1",
		"\"<>&'",
	};

	section("encode and decode");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = texts[i];
		char *s;
		size_t len;

		say("%s", str(text));
		s = evhttp_encode_uri(text);
		say_decoded("encode_uri", s, strlen(s));
		s = evhttp_uriencode(text, -1, 1);
		say_decoded("uriencode plus", s, strlen(s));
		s = evhttp_uriencode(text, strlen(text) > 2 ? 2 : 0, 0);
		say_decoded("uriencode first 2", s, strlen(s));
		len = 999;
		s = evhttp_uridecode(text, 0, &len);
		say_decoded("uridecode", s, len);
		s = evhttp_uridecode(text, 1, &len);
		say_decoded("uridecode plus", s, len);
		s = evhttp_uridecode(text, -1, &len);
		say_decoded("uridecode -1", s, len);
		s = evhttp_decode_uri(text);
		say_decoded("decode_uri", s, strlen(s));
		s = evhttp_htmlescape(text);
		say_decoded("htmlescape", s, strlen(s));
	}
	{
		char *s = evhttp_uriencode("a\0b", 3, 0);

		say_decoded("with NUL", s, strlen(s));
	}
}

static void say_query(const char *name, int r, struct evkeyvalq *q)
{
	struct evkeyval *kv;

	say("  %s: %d", name, r);
	TAILQ_FOREACH(kv, q, next)
		say("    %s = %s", str(kv->key), str(kv->value));
}

static void query(const char *text)
{
	struct evkeyvalq q;
	int r;

	say("%s", str(text));
	memset(&q, 0xa5, sizeof(q));
	r = evhttp_parse_query(text, &q);
	say_query("parse_query", r, &q);
	evhttp_clear_headers(&q);
	memset(&q, 0xa5, sizeof(q));
	r = evhttp_parse_query_str(text, &q);
	say_query("parse_query_str", r, &q);
	evhttp_clear_headers(&q);
}

static void test_query(void)
{
	static const char *const texts[] = {
		"",
		"?",
		"a",
		"a=",
		"=",
		"=b",
		"a=b",
		"a=b&",
		"&a=b",
		"a=b&&c=d",
		"a=b&c",
		"a=b&c=",
		"a=b=c",
		"a==b",
		"a=b;c=d",
		"a=b&a=c",
		"a%20b=c%20d",
		"a+b=c+d",
		"a=%zz",
		"a=%",
		"a=b#c",
		"?a=b",
		"/?a=b",
		"/p?a=b&c=d#f",
		"/p?a=b?c=d",
		"/p?",
		"/p?a",
		"/p#a=b",
		"http://h/?a=b",
		"http://h?a=b",
		"http://[/?a=b",
		"/a b?c=d",
		"/?a=b c",
		"a=b c",
		"/?a=b&c=d&",
		"/?&",
		"/?=",
		"/?=b",
		"/?a=%41%0a",
		"a=%41%0a",
		"a=\x80",
		"/?a=\x80",
		"a=b&=&c=d",
		"%00=a",
	};

	section("query");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		query(texts[i]);
}

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static void test_random(void)
{
	static const char *const pieces[] = {
		"http", "://", "//", "/",  ":",    "?",    "#",      "@",    "h",  "a.b", "[",
		"]",    "::1", "%",  "41", "%41",  "80",   " ",      "=",    "&",  "+",   "x",
		"1",    "v1.", "-",  "~",  "\x01", "\x80", "//u:p@", ":80/", "%7",
	};
	unsigned seed = 7;
	char text[256];

	section("random");
	for (int i = 0; i < 3000; i++) {
		unsigned n = next_random(&seed) % 8 + 1;

		text[0] = '\0';
		for (unsigned k = 0; k < n; k++)
			strcat(text, pieces[next_random(&seed) % (sizeof(pieces) / sizeof(pieces[0]))]);
		parse(text);
		query(text);
	}
}

int main(void)
{
	test_parse();
	test_set();
	test_join();
	test_encode();
	test_query();
	test_random();
	return 0;
}
