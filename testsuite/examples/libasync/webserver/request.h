/*
 * An HTTP request: what the server needs to know of it.
 */
#ifndef WEBSERVER_REQUEST_H
#define WEBSERVER_REQUEST_H

#include <sys/types.h>

#include "str.h"

enum { HEAD_MAX = 0x4000, TARGET_MAX = 0x1000 };

struct request {
	bool is_head;		/* HEAD, else GET */
	bool is_kept;		/* the connection goes on after the answer */
	bool is_http10;
	str path;		/* decoded, without query; begins with a slash and has no ".." */
	time_t modified_since;	/* -1: no such field */
	str none_match;		/* NULL: no such field */

	/* Range: bytes=FIRST-LAST. Without FIRST, it is the last LAST bytes. -1: not given. */
	bool has_range;
	off_t first, last;

	/* Of the fields that only parse_request uses. */
	bool has_host, has_if_range;
	u_int64_t body_len;

	request();
};

/*
 * Parse the request that begins at `p`. The number of bytes it has; 0: it is not complete; the status of an error, as a
 * negative number, after which the connection cannot go on.
 */
int parse_request(const char *p, size_t len, request *r);

#endif
