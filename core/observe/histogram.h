/*
 * A histogram of times, in steps of a fifth: each bucket's bound is 1.2 times the one before. So a quantile that is
 * read from it is at most 20 % too long, whatever its size. evsmp has this file, too.
 */
#ifndef EC_HISTOGRAM_H
#define EC_HISTOGRAM_H

#include <stdint.h>

enum {
	EC_HISTOGRAM_BUCKETS = 112,
	EC_HISTOGRAM_FIRST_NS = 64,	/* bucket 0: shorter than this */
};

/* Bucket i holds times from the bound of i - 1 (0: 0) to less than its own. The last one has no bound: UINT64_MAX. */
uint64_t ec_histogram_bound_ns(unsigned bucket);

unsigned ec_histogram_bucket(uint64_t ns);

/*
 * The bound below which the share `num` / `of` of all counts lies, as a whole bucket: 0 if there are none. For the last
 * bucket, the bound of the one before.
 */
uint64_t ec_histogram_quantile_ns(const uint64_t counts[EC_HISTOGRAM_BUCKETS], unsigned num, unsigned of);

#endif
