#include "bias.h"

#ifdef EC_SIM
enum { PATIENCE_MIN = 2, PATIENCE_MAX = 4 };	/* schedules are short */
#else
enum { PATIENCE_MIN = 1024, PATIENCE_MAX = 1 << 20 };
#endif

void ec_bias_init(struct ec_bias *l, const _Atomic(uint32_t) *veto, const _Atomic(uint32_t) *other_veto)
{
	*l = (struct ec_bias){ .vetoes = { veto, other_veto } };
	ec_store_relaxed(&l->state, EC_BIAS_REVOKED);
}

void ec_bias_allow(struct ec_bias *l)
{
	ec_store_relaxed(&l->is_allowed, ec_barrier_prepare());
}

/* The caller has the lock's word, and no role: revoke the bias, and wait until owner and maker are not inside. */
static void bias_revoke(struct ec_bias *l, struct ec_spin *s)
{
	s->foreign_num++;
	if (ec_load_acquire(&l->state) != EC_BIAS_REVOKED) {
		ec_store_relaxed(&l->state, EC_BIAS_REVOKING);		/* V1 */
		if (!ec_barrier_all())					/* V2 */
			ec_store_relaxed(&l->is_allowed, false);
		ec_store_release(&l->state, EC_BIAS_REVOKED);
	}
	while (ec_load_acquire(&s->is_entered[EC_OWNER]) || ec_load_acquire(&s->is_entered[EC_MAKER]))	/* V3 */
		ec_cpu_relax();
}

void ec_bias_lock(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	enum ec_role role = ec_bias_role(l);

	if (role != EC_FOREIGN && ec_bias_enter_as(l, s, role))
		return;
	ec_spin_lock(s);
	if (role == EC_OWNER)
		l->slow_num++;
	else
		bias_revoke(l, s);
}

void ec_bias_unlock(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	enum ec_role role = ec_bias_role(l);

	if (role != EC_FOREIGN && ec_load_own(&s->is_entered[role]))
		ec_bias_leave_as(s, role);
	else
		ec_spin_unlock(s);
}

void ec_bias_freeze(struct ec_bias *l, struct ec_spin *s)
{
	ec_spin_freeze(s);
	bias_revoke(l, s);
}

void ec_bias_set_owner(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run)
{
	const void *maker;

	/* The maker loses its role. One lock after the other: it may be inside the first and come for the second. */
	ec_spin_lock(src);
	maker = ec_load_relaxed(&l->maker);
	if (maker != NULL && maker != ec_thread_key())
		bias_revoke(l, src);
	ec_spin_lock(run);
	if (maker != NULL && maker != ec_thread_key()) {
		bias_revoke(l, run);
		l->foreign_seen += 2;		/* these two do not count: the base is biased to the owner at once */
	}
	ec_store_relaxed(&l->maker, NULL);
	ec_store_relaxed(&l->state, EC_BIAS_REVOKED);
	ec_store_relaxed(&l->owner, ec_thread_key());
	ec_spin_unlock(run);
	ec_spin_unlock(src);
}

void ec_bias_reset(struct ec_bias *l)
{
	bool is_allowed = ec_load_relaxed(&l->is_allowed);

	ec_bias_init(l, l->vetoes[0], l->vetoes[1]);
	ec_store_relaxed(&l->is_allowed, is_allowed);
}

/* Under both locks. */
static bool may_bias(const struct ec_bias *l)
{
	return ec_load_relaxed(&l->is_allowed) && ec_load_acquire(l->vetoes[0]) == 0 &&
	       ec_load_acquire(l->vetoes[1]) == 0;
}

void ec_bias_set_maker(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run)
{
	ec_spin_lock(src);
	ec_spin_lock(run);
	if (ec_load_relaxed(&l->owner) == NULL && src->foreign_num + run->foreign_num == 0 && may_bias(l)) {
		ec_store_relaxed(&l->maker, ec_thread_key());
		ec_store_release(&l->state, EC_BIAS_MAKER);
	}
	ec_spin_unlock(run);
	ec_spin_unlock(src);
	ec_bias_rebias(l, src, run);
}

void ec_bias_rebias(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run)
{
	if (l->slow_num < l->patience || !ec_load_relaxed(&l->is_allowed) || !ec_bias_is_owner(l))
		return;
	l->slow_num = 0;
	ec_spin_lock(src);
	ec_spin_lock(run);
	if (l->foreign_seen == src->foreign_num + run->foreign_num && may_bias(l)) {
		ec_store_release(&l->state, EC_BIAS_OWNER);
		/* If others come often, the owner waits longer each time. */
		if (l->patience < PATIENCE_MAX)
			l->patience *= 2;
	}
	if (l->patience == 0)
		l->patience = PATIENCE_MIN;
	l->foreign_seen = src->foreign_num + run->foreign_num;
	ec_spin_unlock(run);
	ec_spin_unlock(src);
}
