/*
 * What is in the frames. Numbers are in network byte order.
 *
 *   request   number, 4 bytes | operation, 1 | what it needs
 *   answer    number, 4 bytes | error, 4     | what it gives, unless there is an error
 *
 *   OPEN    path                                     handle, 4 | size, 8 | time of change, 8
 *   READ    handle, 4 | offset, 8 | bytes, 4         the bytes; fewer at the end of the file
 *   CLOSE   handle, 4
 *
 * Answers may come in another order than their requests.
 */
#ifndef FILESERVER_MESSAGE_H
#define FILESERVER_MESSAGE_H

#include <string.h>

#include "str.h"

enum operation { OPEN = 1, READ = 2, CLOSE = 3 };
enum { ANSWER_LEN = 8, READ_MAX = 0x10000 };

/* Puts numbers together. */
class packer
{
	char text[32];
	size_t len;

public:
	packer() : len(0) {}

	packer &add(u_int64_t n, size_t size)
	{
		for (size_t i = size; i-- > 0;)
			text[len++] = char(n >> 8 * i);
		return *this;
	}

	const char *data() const { return text; }
	size_t size() const { return len; }
	operator str() const { return str(text, len); }
};

/* Takes a message apart. */
class unpacker
{
	const char *p, *const end;
	bool is_short;

public:
	explicit unpacker(const str &s) : p(s.cstr()), end(p + s.len()), is_short(false) {}

	u_int64_t take(size_t size)
	{
		u_int64_t n = 0;

		if (size_t(end - p) < size) {
			is_short = true;
			return 0;
		}
		while (size-- > 0)
			n = n << 8 | u_char(*p++);
		return n;
	}

	str rest()
	{
		const char *from = p;

		p = end;
		return str(from, size_t(end - from));
	}

	/* Was everything there, and nothing else? */
	bool is_whole() const { return !is_short && p == end; }
};

#endif
