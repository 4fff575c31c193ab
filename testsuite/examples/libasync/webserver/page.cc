#include "page.h"

#include <inttypes.h>
#include <string.h>

#include "date.h"

namespace
{

const struct {
	const char *suffix, *type;
} types[] = {
	{ ".html", "text/html" },
	{ ".htm", "text/html" },
	{ ".css", "text/css" },
	{ ".gif", "image/gif" },
	{ ".gz", "application/gzip" },
	{ ".ico", "image/x-icon" },
	{ ".jpeg", "image/jpeg" },
	{ ".jpg", "image/jpeg" },
	{ ".js", "text/javascript" },
	{ ".json", "application/json" },
	{ ".pdf", "application/pdf" },
	{ ".png", "image/png" },
	{ ".ps", "application/postscript" },
	{ ".svg", "image/svg+xml" },
	{ ".tar", "application/x-tar" },
	{ ".txt", "text/plain" },
	{ ".xml", "text/xml" },
};

const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 416, "Range Not Satisfiable" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 505, "HTTP Version Not Supported" },
};

const char *type_of(const str &path)
{
	const char *suffix = strrchr(path.cstr(), '.');

	if (path[ptrdiff_t(path.len()) - 1] == '/')
		return "text/html";
	for (const auto &t : types)
		if (suffix && !strcasecmp(suffix, t.suffix))
			return t.type;
	return "application/octet-stream";
}

str make_etag(const struct stat &st)
{
	strbuf sb;

	sb.fmt("\"%jx-%jx.%lx\"", uintmax_t(st.st_size), uintmax_t(st.st_mtim.tv_sec), (u_long)st.st_mtim.tv_nsec);
	return sb;
}

str make_fields(const str &path, const struct stat &st, const str &etag)
{
	char date[DATE_LEN];
	strbuf sb;

	format_date(st.st_mtime, date);
	sb << "Content-Type: " << type_of(path) << "\r\nLast-Modified: " << str(date, DATE_LEN) << "\r\nETag: " << etag
	   << "\r\nAccept-Ranges: bytes\r\n";
	return sb;
}

str make_head(const str &fields, const struct stat &st)
{
	strbuf sb;

	sb.fmt("HTTP/1.1 200 OK\r\n%sContent-Length: %jd\r\nDate: ", fields.cstr(), intmax_t(st.st_size));
	return sb;
}

} // namespace

page::page(str p, const struct stat &s, str b)
    : path(p), st(s), body(b), etag(make_etag(s)), fields(make_fields(p, s, etag)), head(make_head(fields, s))
{
}

const char *reason(int status)
{
	for (const auto &r : reasons)
		if (r.status == status)
			return r.reason;
	return "Unknown";
}

str error_text(int status)
{
	strbuf sb;

	sb << "<html><head><title>" << status << " " << reason(status) << "</title></head><body><h1>" << reason(status)
	   << "</h1></body></html>\n";
	return sb;
}
