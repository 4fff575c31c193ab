/*
 * How large vecs become.
 */
#include "vec.h"

#include <limits.h>

vec_resizer_t::~vec_resizer_t() {}

/* Set before the first worker starts, read by all. */
static vec_resizer_t *resizer;

void set_vec_resizer(vec_resizer_t *v)
{
	resizer = v;
}

namespace libasync
{

size_t vec_capacity(size_t nalloc, size_t nwanted, size_t size, int objid)
{
	size_t capacity;

	if (resizer && nwanted <= UINT_MAX) {
		capacity = resizer->resize(static_cast<u_int>(nalloc), static_cast<u_int>(nwanted), objid);
	} else {
		/* A small vec begins with a cache line. */
		capacity = nalloc ? 2 * nalloc : 64 / size;
		if (capacity > PTRDIFF_MAX / size)
			capacity = nwanted;
	}
	return capacity < nwanted ? nwanted : capacity;
}

} // namespace libasync
