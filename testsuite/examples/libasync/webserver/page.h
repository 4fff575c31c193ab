/*
 * A page: a file as the server answers it. It never changes, so callbacks of all colors may read it.
 */
#ifndef WEBSERVER_PAGE_H
#define WEBSERVER_PAGE_H

#include <sys/stat.h>

#include "refcnt.h"
#include "str.h"

class page : public virtual refcount
{
public:
	const str path;		/* as of the request */
	const struct stat st;
	const str body;		/* NULL: it is too large for memory */
	const str etag;
	const str fields;	/* of the answer: those that depend on the page only */
	const str head;		/* of an answer with status 200, up to the date */

	page(str path, const struct stat &st, str body);

	off_t size() const { return st.st_size; }
};

/* What a status means. */
const char *reason(int status);

/* A short text about it, for the client. */
str error_text(int status);

#endif
