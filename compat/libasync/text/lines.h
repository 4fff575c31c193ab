/*
 * The lines of a file, as words (parseopt.h).
 */
#ifndef LIBASYNC_TEXT_LINES_H
#define LIBASYNC_TEXT_LINES_H

#include "str.h"
#include "vec.h"

namespace libasync
{

/* Reads words from text. Knows no file and prints nothing. */
class LIBASYNC_HIDDEN line_reader
{
	str text;
	size_t at = 0;
	int next_line = 1;
	vec<char> word;

	bool is_end() const { return at >= text.len(); }
	char here() const { return text.cstr()[at]; }
	void skip_blanks();
	bool read_word();
	bool read_quoted(char quote);
	void read_escaped();

public:
	int lineno = 0; /* of the first word of the line read last, or of what is wrong */
	const char *fault = nullptr;

	explicit line_reader(str t) : text(t) {}

	/* False: no more lines, or `fault` says what is wrong. */
	bool next(vec<str> *args);

	/* Pass over the rest of the line with the fault. */
	void recover();
};

/* All of `file`, or of `fd` unless that is -1, which is closed. NULL with errno. */
LIBASYNC_HIDDEN str read_config(const str &file, int fd);

} // namespace libasync

#endif
