/*
 * Numbers and words: mytolower, strtoi64, parseargs.
 */
#include "parseopt.h"

#include <errno.h>
#include <stdlib.h>

#include "err.h"
#include "text/lines.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
}

str mytolower(const str &in)
{
	if (!in)
		return str();
	mstr m(in.len());

	for (size_t i = 0; i < in.len(); i++)
		m.cstr()[i] = lower(in.cstr()[i]);
	return m;
}

void mytolower(char *dest, const char *src)
{
	for (; *src != '\0'; src++)
		*dest++ = lower(*src);
	*dest = '\0';
}

int64_t strtoi64(const char *nptr, char **endptr, int base)
{
	return strtoll(nptr, endptr, base);
}

u_int64_t strtou64(const char *nptr, char **endptr, int base)
{
	return strtoull(nptr, endptr, base);
}

parseargs::parseargs(str file, int fd) : filename(file), lineno(0)
{
	str text = libasync::read_config(file, fd);

	if (!text)
		fatal << file << ": " << strerror(errno) << "\n";
	reader = new libasync::line_reader(text);
}

parseargs::~parseargs()
{
	delete reader;
}

bool parseargs::getline(vec<str> *args, int *linep)
{
	bool is_line = reader->next(args);

	if (is_line || reader->fault != nullptr)
		lineno = reader->lineno;
	if (reader->fault != nullptr)
		error(reader->fault);
	if (is_line && linep != nullptr)
		*linep = lineno;
	return is_line;
}

void parseargs::error(str msg)
{
	if (lineno > 0)
		fatal << filename << ":" << lineno << ": " << msg << "\n";
	fatal << filename << ": " << msg << "\n";
}
