#include "zero.h"

#include "handover.h"

bool ec_zero_hold_slowly(struct ec_base *base) EC_NO_ANALYSIS
{
	ec_bias_lock_both(&base->bias, &base->zero.src, &base->zero.run);
	if (!ec_is_colored(base)) {
		ec_hand_begin_zero(base);
		return true;
	}
	ec_zero_release_slowly(base);
	return false;
}

void ec_zero_release_slowly(struct ec_base *base) EC_NO_ANALYSIS
{
	ec_spin_unlock(&base->zero.run);
	ec_spin_unlock(&base->zero.src);
}
