/*
 * logger2_t: messages with a level.
 */
#include "alog2.h"

#include "err.h"

logger2_t::obj_t::obj_t(bool silent, bool x)
    : copies(New refcounted<token>), is_silent(silent), is_bare(x)
{
}

/* Only the copies hold `copies`, so the last of them has the only reference. */
logger2_t::obj_t::~obj_t()
{
	if (is_silent || copies->refcount_getcnt() > 1)
		return;
	if (is_bare)
		warnx << text;
	else
		warn << text;
}

void logger2_t::log(log2_level_t l, const char *fmt, ...)
{
	strbuf text;
	va_list ap;

	va_start(ap, fmt);
	if (l <= level)
		text.vfmt(fmt, ap);
	va_end(ap);
	log(l, str(text));
}

void logger2_t::log(log2_level_t l, const str &s)
{
	if (l <= level)
		warn << s << "\n";
}
