/*
 * Messages go to standard error, each in one write.
 */
#include "text/message.h"

#include <errno.h>
#include <stdlib.h>

namespace libasync
{

void print(const str &text)
{
	strbuf(text).tosuio()->output(2);
}

void print_named(const str &text)
{
	print(strbuf() << program_invocation_short_name << ": " << text);
}

void message(const str &line)
{
	print(strbuf(line) << "\n");
}

void message_fatal(const str &line)
{
	message(line);
	exit(1);
}

} // namespace libasync
