/*
 * URIs, escapes and queries. What was accepted must come out as it went in, and be accepted again; what
 * is conformant must be accepted with EVHTTP_URI_NONCONFORMANT too.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

static bool is_same_part(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_same(const struct evhttp_uri *a, const struct evhttp_uri *b)
{
	FUZZ_CHECK(is_same_part(evhttp_uri_get_scheme(a), evhttp_uri_get_scheme(b)));
	FUZZ_CHECK(is_same_part(evhttp_uri_get_userinfo(a), evhttp_uri_get_userinfo(b)));
	FUZZ_CHECK(is_same_part(evhttp_uri_get_host(a), evhttp_uri_get_host(b)));
	FUZZ_CHECK(is_same_part(evhttp_uri_get_path(a), evhttp_uri_get_path(b)));
	FUZZ_CHECK(is_same_part(evhttp_uri_get_query(a), evhttp_uri_get_query(b)));
	FUZZ_CHECK(is_same_part(evhttp_uri_get_fragment(a), evhttp_uri_get_fragment(b)));
	FUZZ_CHECK(evhttp_uri_get_port(a) == evhttp_uri_get_port(b));
}

/* The parts of an accepted URI are accepted one by one. */
static void check_setters(const struct evhttp_uri *uri, unsigned flags)
{
	struct evhttp_uri *copy = evhttp_uri_new();

	FUZZ_CHECK(copy != NULL);
	evhttp_uri_set_flags(copy, flags);
	FUZZ_CHECK(evhttp_uri_set_scheme(copy, evhttp_uri_get_scheme(uri)) == 0);
	FUZZ_CHECK(evhttp_uri_set_userinfo(copy, evhttp_uri_get_userinfo(uri)) == 0);
	FUZZ_CHECK(evhttp_uri_set_host(copy, evhttp_uri_get_host(uri)) == 0);
	FUZZ_CHECK(evhttp_uri_set_port(copy, evhttp_uri_get_port(uri)) == 0);
	FUZZ_CHECK(evhttp_uri_set_path(copy, evhttp_uri_get_path(uri)) == 0);
	FUZZ_CHECK(evhttp_uri_set_query(copy, evhttp_uri_get_query(uri)) == 0);
	FUZZ_CHECK(evhttp_uri_set_fragment(copy, evhttp_uri_get_fragment(uri)) == 0);
	check_same(copy, uri);
	evhttp_uri_free(copy);
}

static bool check_parse(const char *text, unsigned flags)
{
	struct evhttp_uri *uri = evhttp_uri_parse_with_flags(text, flags), *again;
	size_t size = strlen(text) + 8;
	char *joined;

	if (uri == NULL)
		return false;
	check_setters(uri, flags);
	joined = malloc(size);
	FUZZ_CHECK(joined != NULL && evhttp_uri_join(uri, joined, size) == joined);
	again = evhttp_uri_parse_with_flags(joined, flags);
	FUZZ_CHECK(again != NULL);
	check_same(uri, again);
	/* Only a port may change: leading zeros, or an empty one, go. */
	if (evhttp_uri_get_host(uri) == NULL)
		FUZZ_CHECK(strcmp(joined, text) == 0);
	evhttp_uri_free(again);
	evhttp_uri_free(uri);
	free(joined);
	return true;
}

static void check_escapes(const char *text, size_t len)
{
	char *encoded = evhttp_uriencode(text, (ev_ssize_t)len, 0), *decoded, *plus;
	size_t size = 0;

	FUZZ_CHECK(encoded != NULL);
	decoded = evhttp_uridecode(encoded, 0, &size);
	FUZZ_CHECK(decoded != NULL && size == len && memcmp(decoded, text, len) == 0);
	free(encoded);
	free(decoded);
	plus = evhttp_uriencode(text, (ev_ssize_t)len, 1);
	decoded = evhttp_uridecode(plus, 1, &size);
	FUZZ_CHECK(decoded != NULL && size == len && memcmp(decoded, text, len) == 0);
	free(plus);
	free(decoded);
	decoded = evhttp_uridecode(text, 1, &size);
	FUZZ_CHECK(decoded != NULL && size <= strlen(text));
	free(decoded);
	decoded = evhttp_decode_uri(text);
	FUZZ_CHECK(decoded != NULL);
	free(decoded);
	decoded = evhttp_htmlescape(text);
	FUZZ_CHECK(decoded != NULL && strpbrk(decoded, "<>\"'") == NULL);
	free(decoded);
}

static void check_query(const char *text)
{
	struct evkeyvalq query;
	struct evkeyval *kv;
	int r;

	r = evhttp_parse_query_str(text, &query);
	FUZZ_CHECK(r == 0 || TAILQ_EMPTY(&query));
	TAILQ_FOREACH(kv, &query, next)
		FUZZ_CHECK(kv->key[0] != '\0' && strpbrk(kv->key, "=&") == NULL);
	evhttp_clear_headers(&query);
	r = evhttp_parse_query(text, &query);
	FUZZ_CHECK(r == 0 || TAILQ_EMPTY(&query));
	evhttp_clear_headers(&query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (check_parse(text, 0))
		FUZZ_CHECK(check_parse(text, EVHTTP_URI_NONCONFORMANT));
	else
		check_parse(text, EVHTTP_URI_NONCONFORMANT);
	check_escapes(text, size);
	check_query(text);
	free(text);
	return 0;
}
