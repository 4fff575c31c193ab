#include "histogram.h"

/* By bucket: each 1.2 times the one before, rounded up. */
static const uint64_t bounds[EC_HISTOGRAM_BUCKETS - 1] = {
	64, 77, 93, 112, 135, 162, 195, 234, 281, 338, 406, 488, 586, 704, 845, 1014, 1217, 1461,
	1754, 2105, 2526, 3032, 3639, 4367, 5241, 6290, 7548, 9058, 10870, 13044, 15653, 18784, 22541,
	27050, 32460, 38952, 46743, 56092, 67311, 80774, 96929, 116315, 139578, 167494, 200993,
	241192, 289431, 347318, 416782, 500139, 600167, 720201, 864242, 1037091, 1244510, 1493412,
	1792095, 2150514, 2580617, 3096741, 3716090, 4459308, 5351170, 6421404, 7705685, 9246822,
	11096187, 13315425, 15978510, 19174212, 23009055, 27610866, 33133040, 39759648, 47711578,
	57253894, 68704673, 82445608, 98934730, 118721676, 142466012, 170959215, 205151058, 246181270,
	295417524, 354501029, 425401235, 510481482, 612577779, 735093335, 882112002, 1058534403,
	1270241284, 1524289541, 1829147450, UINT64_C(2194976940), UINT64_C(2633972328),
	UINT64_C(3160766794), UINT64_C(3792920153), UINT64_C(4551504184), UINT64_C(5461805021),
	UINT64_C(6554166026), UINT64_C(7864999232), UINT64_C(9437999079), UINT64_C(11325598895),
	UINT64_C(13590718674), UINT64_C(16308862409), UINT64_C(19570634891), UINT64_C(23484761870),
	UINT64_C(28181714244), UINT64_C(33818057093),
};

/* By k: the bucket of 2 to the power of k. */
static const uint8_t firsts[64] = {
	0, 0, 0, 0, 0, 0, 1, 4, 8, 12, 16, 19, 23, 27, 31, 35, 38, 42, 46, 50, 54, 57, 61, 65, 69, 73,
	76, 80, 84, 88, 92, 95, 99, 103, 107, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111,
	111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111, 111,
};

uint64_t ec_histogram_bound_ns(unsigned bucket)
{
	return bucket < EC_HISTOGRAM_BUCKETS - 1 ? bounds[bucket] : UINT64_MAX;
}

unsigned ec_histogram_bucket(uint64_t ns)
{
	unsigned i = ns == 0 ? 0 : firsts[63 - __builtin_clzll(ns)];

	/* At most four steps of 1.2 to a doubling. */
	while (i < EC_HISTOGRAM_BUCKETS - 1 && ns >= bounds[i])
		i++;
	return i;
}

uint64_t ec_histogram_quantile_ns(const uint64_t counts[EC_HISTOGRAM_BUCKETS], unsigned num, unsigned of)
{
	uint64_t all = 0, below = 0;
	unsigned i;

	for (i = 0; i < EC_HISTOGRAM_BUCKETS; i++)
		all += counts[i];
	if (all == 0)
		return 0;
	for (i = 0; i < EC_HISTOGRAM_BUCKETS - 1; i++) {
		below += counts[i];
		if ((double)below * of >= (double)all * num)
			return bounds[i];
	}
	return bounds[EC_HISTOGRAM_BUCKETS - 2];
}
