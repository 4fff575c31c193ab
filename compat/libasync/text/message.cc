/*
 * Messages go the way of warn and fatal.
 */
#include "text/message.h"

#include <cstdlib>

#include "err.h"

namespace libasync
{

void print(const str &text)
{
	warnx << text;
}

void print_named(const str &text)
{
	warn << text;
}

void message(const str &line)
{
	warn << line << "\n";
}

void message_fatal(const str &line)
{
	fatal << line << "\n";
	std::abort();
}

} // namespace libasync
