/*
 * Lines of HTTP/1 messages, and what the headers say about where the body ends. Knows no buffers
 * and no connections. Stricter than it must be wherever two readers of one message could differ
 * about its end: docs/http-security.md has the table.
 */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parts.h"

struct le_request_line {
	struct le_span method, target;
	char major, minor;
};

struct le_status_line {
	struct le_span reason;
	int code;
	char major, minor;
};

/* A line without its end. False: malformed. */
bool le_parse_request_line(const char *line, size_t len, struct le_request_line *ret);
bool le_parse_status_line(const char *line, size_t len, struct le_status_line *ret);

/* "name: value" into its parts, without the spaces around the value. */
bool le_parse_header_line(const char *line, size_t len, struct le_span *key, struct le_span *value);

/* A line that begins with a space goes on with the header before it (obs-fold). */
bool le_parse_folded_line(const char *line, size_t len, struct le_span *value);

/* EVHTTP_REQ_… of a name, 0: none that is known. */
unsigned le_method_by_name(const char *s, size_t len);
const char *le_method_name(unsigned type);	/* NULL: not one of EVHTTP_REQ_… */

/* The headers read so far, as far as they decide about framing and the connection. */
struct le_head {
	uint64_t length;		/* of the body, where has_length */
	bool has_length;
	bool has_transfer_encoding;
	bool is_chunked;		/* chunked is the last coding so far */
	bool has_host;
	/* the header read last is one of these: it must not go on in another line */
	bool is_last_noted;
	bool has_close, has_keep_alive;	/* tokens of Connection */
	bool has_proxy_keep_alive;	/* of Proxy-Connection */
	bool expects_continue, expects_else;
};

enum le_message { LE_REQUEST_MESSAGE, LE_RESPONSE_MESSAGE };

/* Take note of one header. False: the message must be refused. */
bool le_head_note(struct le_head *head, enum le_message kind, struct le_span key,
		  struct le_span value);

enum le_framing {
	LE_FRAMING_BAD,
	LE_FRAMING_NO_BODY,
	LE_FRAMING_LENGTH,		/* head.length bytes, more than 0 */
	LE_FRAMING_CHUNKED,
	LE_FRAMING_UNTIL_CLOSE,		/* responses only */
};

enum le_framing le_request_framing(const struct le_head *head, int major, int minor);
/* type: of the request that it answers. */
enum le_framing le_response_framing(const struct le_head *head, unsigned type, int code);

#endif
