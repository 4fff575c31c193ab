/*
 * Messages go to standard error, a line in one write.
 */
#include "text/message.h"

#include <stdlib.h>

namespace libasync
{

void message(const str &line)
{
	strbuf sb(line);

	sb << "\n";
	sb.tosuio()->output(2);
}

void message_fatal(const str &line)
{
	message(line);
	exit(1);
}

} // namespace libasync
