/*
 * Parsers of the lines of HTTP/1 messages, and of the headers that determine the end of the body
 * (framing). They know no buffers and no connections. They are stricter than the RFCs ask where two
 * readers of one message could disagree about its end: docs/http-security.md has the table.
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

/* `line` has no line end. False: it is malformed. */
bool le_parse_request_line(const char *line, size_t len, struct le_request_line *ret);
bool le_parse_status_line(const char *line, size_t len, struct le_status_line *ret);

/* Splits "name: value", and removes the spaces around the value. */
bool le_parse_header_line(const char *line, size_t len, struct le_span *key, struct le_span *value);

/* For a line that begins with a space, which continues the header before it (obs-fold). */
bool le_parse_folded_line(const char *line, size_t len, struct le_span *value);

/* EVHTTP_REQ_… of a name; 0: unknown. */
unsigned le_method_by_name(const char *s, size_t len);
const char *le_method_name(unsigned type);	/* NULL: not one of EVHTTP_REQ_… */

/* The headers read so far that determine the framing, or the end of the connection. */
struct le_head {
	uint64_t length;		/* of the body, if has_length */
	bool has_length;
	bool has_transfer_encoding;
	bool is_chunked;		/* chunked is the last coding so far */
	bool has_host;
	/* the header read last is one of these: another line must not continue it */
	bool is_last_noted;
	bool has_close, has_keep_alive;	/* tokens of Connection */
	bool has_proxy_keep_alive;	/* of Proxy-Connection */
	bool expects_continue, expects_else;
};

enum le_message { LE_REQUEST_MESSAGE, LE_RESPONSE_MESSAGE };

/* Records one header. False: the message must be refused. */
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
/* type: of the request that the response answers. */
enum le_framing le_response_framing(const struct le_head *head, unsigned type, int code);

#endif
