/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_SFS_BUNDLE_H
#define LIBASYNC_SFS_BUNDLE_H

/*
 * Two to four values as one key of a hash table or tree. Any thread.
 */
#include "libasync_config.h"
#include "keyfunc.h"

namespace sfs
{

/* In the place of a value that is not there. */
struct nil_t {
	operator hash_t() const { return hash_t(0); }
	bool operator==(const nil_t &) const { return true; }
	bool operator!=(const nil_t &) const { return false; }
};

inline constexpr nil_t g_nil{};

template <class C1, class C2, class C3 = nil_t, class C4 = nil_t> class bundle_t
{
	C1 v1_;
	C2 v2_;
	C3 v3_;
	C4 v4_;

public:
	bundle_t(const C1 &v1, const C2 &v2, const C3 &v3 = g_nil, const C4 &v4 = g_nil)
	    : v1_(v1), v2_(v2), v3_(v3), v4_(v4)
	{
	}

	C1 &obj1() { return v1_; }
	const C1 &obj1() const { return v1_; }
	C2 &obj2() { return v2_; }
	const C2 &obj2() const { return v2_; }
	C3 &obj3() { return v3_; }
	const C3 &obj3() const { return v3_; }
	C4 &obj4() { return v4_; }
	const C4 &obj4() const { return v4_; }

	bool operator==(const bundle_t &b) const
	{
		return v1_ == b.v1_ && v2_ == b.v2_ && v3_ == b.v3_ && v4_ == b.v4_;
	}

	bool operator!=(const bundle_t &b) const { return !(*this == b); }

	operator hash_t() const
	{
		u_int h[] = { hashfn<C1>()(v1_), hashfn<C2>()(v2_), hashfn<C3>()(v3_), hashfn<C4>()(v4_) };

		return hash_bytes(h, sizeof(h));
	}
};

} // namespace sfs

#endif
