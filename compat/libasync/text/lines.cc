/*
 * Lines of words: blanks, comments, quotes.
 */
#include "text/lines.h"

#include <errno.h>
#include <unistd.h>

#include "serial.h"
#include "text/read_all.h"

namespace libasync
{

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Blanks, joined lines and a comment; not the newline behind them. */
void line_reader::skip_blanks()
{
	while (!is_end()) {
		if (is_blank(here())) {
			at++;
		} else if (here() == '\\' && at + 1 < text.len() && text.cstr()[at + 1] == '\n') {
			at += 2;
			next_line++;
		} else {
			break;
		}
	}
	if (!is_end() && here() == '#')
		while (!is_end() && here() != '\n')
			at++;
}

/* Behind a backslash outside of quotes. */
void line_reader::read_escaped()
{
	if (is_end()) {
		fault = "a backslash at the end of the file";
		return;
	}
	if (here() == '\n')
		next_line++;
	else
		word.push_back(here());
	at++;
}

/* Behind an opening quote. */
bool line_reader::read_quoted(char quote)
{
	for (; !is_end() && here() != '\n'; at++) {
		if (here() == quote) {
			at++;
			return true;
		}
		char behind = at + 1 < text.len() ? text.cstr()[at + 1] : '\0';
		if (quote == '"' && here() == '\\' && (behind == '"' || behind == '\\' || behind == '\n')) {
			at++;
			if (behind == '\n') {
				next_line++;
				continue;
			}
		}
		word.push_back(here());
	}
	fault = "a quote that is not closed";
	return false;
}

bool line_reader::read_word()
{
	word.clear();
	while (!is_end() && !is_blank(here()) && here() != '\n') {
		char c = here();

		if (c != '"' && c != '\'' && c != '\\')
			word.push_back(c);
		at++;
		if (c == '\\')
			read_escaped();
		else if (c == '"' || c == '\'')
			read_quoted(c);
		if (fault != nullptr)
			return false;
	}
	return true;
}

bool line_reader::next(vec<str> *args)
{
	args->clear();
	fault = nullptr;
	for (;;) {
		skip_blanks();
		if (is_end())
			return args->size() > 0;
		if (here() == '\n') {
			at++;
			next_line++;
			if (args->size() > 0)
				return true;
			continue;
		}
		if (args->size() == 0)
			lineno = next_line;
		if (!read_word())
			return false;
		args->push_back(str(word.base(), word.size()));
	}
}

void line_reader::recover()
{
	while (!is_end() && here() != '\n')
		at++;
}

str read_config(const str &file, int fd)
{
	if (fd < 0)
		return file2str(file);
	str s = read_all(fd, 0);
	int e = errno;
	close(fd);
	errno = e;
	return s;
}

} // namespace libasync
