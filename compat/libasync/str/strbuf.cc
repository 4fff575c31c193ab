/*
 * strbuf: what can be appended to one, and the text functions of a suio.
 */
#include "str.h"

#include <stdio.h>

strbuf::strbuf() : uio(New refcounted<suio>)
{
}

strbuf::strbuf(const char *fmt, ...) : uio(New refcounted<suio>)
{
	va_list ap;

	va_start(ap, fmt);
	vfmt(fmt, ap);
	va_end(ap);
}

strbuf::strbuf(const str &s) : uio(New refcounted<suio>)
{
	suio_print(uio, s);
}

const strbuf &strbuf::fmt(const char *format, ...) const
{
	va_list ap;

	va_start(ap, format);
	vfmt(format, ap);
	va_end(ap);
	return *this;
}

const strbuf &strbuf::vfmt(const char *format, va_list ap) const
{
	suio_vuprintf(uio, format, ap);
	return *this;
}

const strbuf &strbuf::cat(const char *p, bool copy) const
{
	return strbuf_cat(*this, p, copy);
}

void suio_print(suio *uio, const str &s)
{
	if (s.len() == 0)
		return;
	size_t pieces = uio->iovcnt();
	uio->print(s.cstr(), s.len());
	const iovec *last = uio->iov() + uio->iovcnt() - 1;
	if (uio->iovcnt() > pieces && last->iov_base == s.cstr())
		uio->hold_onto(s);
}

str suio_getline(suio *uio)
{
	size_t len = uio->linelen();

	if (len == 0)
		return str();
	mstr line(len - 1);
	uio->copyout(line.cstr(), len - 1);
	uio->rembytes(len);
	return line;
}

str substr(const str &s, size_t pos, size_t len)
{
	if (!s || (pos == 0 && len >= s.len()))
		return s;
	if (pos >= s.len())
		return "";
	if (len > s.len() - pos)
		len = s.len() - pos;
	return str(s.cstr() + pos, len);
}

const strbuf &strbuf_cat(const strbuf &b, const char *p, bool copy)
{
	if (p == nullptr)
		p = "(null)";
	if (copy)
		b.uio->copy(p, strlen(p));
	else
		b.uio->print(p, strlen(p));
	return b;
}

const strbuf &strbuf_cat(const strbuf &b, const strbuf &b2)
{
	b.uio->copyu(b2.tosuio());
	return b;
}

const strbuf &strbuf_cat(const strbuf &sb, const hexdump &hd)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = static_cast<const unsigned char *>(hd.buf);

	if (hd.len > SIZE_MAX / 4)
		libasync::str_misused("hexdump: more bytes than memory");
	char *to = sb.uio->getspace(2 * hd.len);
	for (size_t i = 0; i < hd.len; i++) {
		to[2 * i] = digits[from[i] >> 4];
		to[2 * i + 1] = digits[from[i] & 15];
	}
	sb.uio->print(to, 2 * hd.len);
	return sb;
}

const strbuf &strbuf_cat(const strbuf &b, unsigned long long n)
{
	char digits[24];
	char *p = digits + sizeof(digits);

	do
		*--p = char('0' + n % 10);
	while ((n /= 10) > 0);
	b.uio->copy(p, size_t(digits + sizeof(digits) - p));
	return b;
}

const strbuf &strbuf_cat(const strbuf &b, long long n)
{
	if (n >= 0)
		return strbuf_cat(b, (unsigned long long)n);
	b.uio->copy("-", 1);
	return strbuf_cat(b, 0 - (unsigned long long)n);
}

const strbuf &strbuf_cat(const strbuf &b, const double &d)
{
	return b.fmt("%g", d);
}

const strbuf &operator<<(const strbuf &sb, const char *a)
{
	return strbuf_cat(sb, a);
}

const strbuf operator<<(const str &s, const char *a)
{
	strbuf b(s);

	b << a;
	return b;
}

const strbuf operator<<(const str &s1, const str &s2)
{
	strbuf b(s1);

	b << s2;
	return b;
}
