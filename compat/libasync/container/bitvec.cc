/*
 * Bits as text.
 */
#include "bitvec.h"

const strbuf &strbuf_cat(const strbuf &sb, const bitvec &v)
{
	char text[64];
	size_t n = 0;

	for (size_t i = 0; i < v.size(); i++) {
		text[n++] = v[static_cast<ptrdiff_t>(i)] ? '1' : '0';
		if (n == sizeof(text) || i + 1 == v.size()) {
			sb.buf(text, n);
			n = 0;
		}
	}
	return sb;
}
