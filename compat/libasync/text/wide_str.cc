/*
 * wide_str_t, and UTF-8.
 */
#include "wide_str.h"

#include <locale.h>
#include <stdint.h>

namespace
{

/* The bytes of the character at `p`, and the character into *ret. 0: there is none. */
size_t decode(const char *p, const char *lim, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = static_cast<unsigned char>(*p);
	size_t len = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 :
		first >= 0xf0 && first < 0xf5 ? 4 : 0;

	if (len == 0 || size_t(lim - p) < len)
		return 0;
	uint32_t c = len == 1 ? first : first & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		unsigned char next = static_cast<unsigned char>(p[i]);

		if ((next & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (next & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return len;
}

/* The bytes of `c` in UTF-8 at `to`. 0: it is no character. */
size_t encode(uint32_t c, char *to)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	if (c < 0x80) {
		to[0] = char(c);
		return 1;
	}
	size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = len - 1; i > 0; i--) {
		to[i] = char(0x80 | (c & 0x3f));
		c >>= 6;
	}
	to[0] = char((0xf00u >> len & 0xf0) | c);
	return len;
}

} // namespace

wide_str_t::wide_str_t(str utf8_in) : chars_num(0), is_wrong(false)
{
	const char *p = utf8_in.cstr();
	const char *lim = p + utf8_in.len();
	uint32_t c;

	if (!utf8_in)
		return;
	ref<vec<wchar_t>> v = New refcounted<vec<wchar_t>>;
	while (p < lim) {
		size_t n = decode(p, lim, &c);

		if (n == 0) {
			is_wrong = true;
			return;
		}
		v->push_back(wchar_t(c));
		p += n;
	}
	chars_num = v->size();
	v->push_back(0);
	chars = v;
}

wide_str_t::wide_str_t(const wchar_t *in) : chars_num(0), is_wrong(false)
{
	if (in != nullptr)
		assign(in, wcslen(in));
}

wide_str_t::wide_str_t(const wchar_t *in, size_t len) : chars_num(0), is_wrong(false)
{
	if (in != nullptr)
		assign(in, len);
}

/* Become a copy of `len` characters, which may be some of ours. */
void wide_str_t::assign(const wchar_t *in, size_t len)
{
	char bytes[4];

	if (len > SIZE_MAX / (2 * sizeof(*in)))
		libasync::str_misused("out of memory for a wide_str_t");
	ref<vec<wchar_t>> v = New refcounted<vec<wchar_t>>;
	v->setsize(len + 1);
	is_wrong = false;
	for (size_t i = 0; i < len; i++) {
		v->base()[i] = in[i];
		if (encode(uint32_t(in[i]), bytes) == 0)
			is_wrong = true;
	}
	v->base()[len] = 0;
	chars_num = len;
	chars = v;
}

void wide_str_t::make_own()
{
	if (chars)
		assign(chars->base(), chars_num);
}

bool wide_str_t::init(const char *locale)
{
	return setlocale(LC_CTYPE, locale) != nullptr;
}

str wide_str_t::utf8() const
{
	strbuf sb;

	if (!chars || is_wrong)
		return str();
	for (size_t i = 0; i < chars_num; i++) {
		char bytes[4];
		size_t n = encode(uint32_t(chars->base()[i]), bytes);

		if (n == 0)
			return str();
		sb.buf(bytes, n);
	}
	return sb;
}

const wchar_t *wide_str_t::buf(size_t *lenp) const
{
	if (lenp != nullptr)
		*lenp = chars_num;
	return chars ? chars->base() : nullptr;
}

wchar_t *wide_str_t::buf(size_t *lenp)
{
	make_own();
	if (lenp != nullptr)
		*lenp = chars_num;
	return chars ? chars->base() : nullptr;
}

void wide_str_t::setbuf(ptr<vec<wchar_t>> v, size_t sz)
{
	if (v && sz >= v->size())
		libasync::str_misused("wide_str_t::setbuf: no place for a 0");
	if (v)
		v->base()[sz] = 0;
	chars = v;
	chars_num = v ? sz : 0;
	is_wrong = false;
}

void wide_str_t::chop(size_t start, size_t len)
{
	if (!chars)
		return;
	if (start > chars_num)
		start = chars_num;
	if (len > chars_num - start)
		len = chars_num - start;
	assign(chars->base() + start, len);
}

wide_str_t wide_str_t::substr(size_t start, size_t len) const
{
	wide_str_t s(*this);

	s.chop(start, len);
	return s;
}

const strbuf &strbuf_cat(const strbuf &b, const wide_str_t &s)
{
	return strbuf_cat(b, s.utf8());
}

str utf8_fix(const str &s, const str &repl)
{
	const char *p = s.cstr();
	const char *lim = p + s.len();
	uint32_t c;
	strbuf sb;

	if (!s)
		return str();
	while (p < lim) {
		size_t n = decode(p, lim, &c);

		if (n > 0) {
			sb.buf(p, n);
		} else {
			sb << repl;
			n = 1;
		}
		p += n;
	}
	return sb;
}

/* Behind `n` characters of p..lim, or `lim`. */
static const char *pass(const char *p, const char *lim, size_t n)
{
	uint32_t c;

	while (p < lim && n > 0) {
		size_t bytes = decode(p, lim, &c);

		p += bytes > 0 ? bytes : 1;
		n--;
	}
	return p;
}

str utf8_substr(const str &s, size_t pos, size_t len)
{
	const char *lim = s.cstr() + s.len();
	const char *from = pass(s.cstr(), lim, pos);

	if (!s)
		return str();
	return str(from, size_t(pass(from, lim, len) - from));
}
