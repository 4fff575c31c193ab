#include "lean.h"

#ifdef EC_SIM
enum { PATIENCE_MIN = 2, PATIENCE_MAX = 4 };	/* schedules are short */
#else
enum { PATIENCE_MIN = 1024, PATIENCE_MAX = 1 << 20 };
#endif

void ec_lean_init(struct ec_lean *l, const _Atomic(uint32_t) *veto, const _Atomic(uint32_t) *other_veto)
{
	*l = (struct ec_lean){ .vetoes = { veto, other_veto } };
	ec_store_relaxed(&l->state, EC_LEANING_ENDED);
}

void ec_lean_allow(struct ec_lean *l)
{
	ec_store_relaxed(&l->is_allowed, ec_barrier_prepare());
}

/* Not whom the base leans to, with the lock's word: wait until that thread is not inside. */
static void visit(struct ec_lean *l, struct ec_spin *s)
{
	s->visits++;
	if (ec_load_acquire(&l->state) != EC_LEANING_ENDED) {
		ec_store_relaxed(&l->state, EC_LEANING_ASKED);		/* V1 */
		if (!ec_barrier_all())					/* V2 */
			ec_store_relaxed(&l->is_allowed, false);
		ec_store_release(&l->state, EC_LEANING_ENDED);
	}
	while (ec_load_acquire(&s->is_entered[EC_OWNER]) || ec_load_acquire(&s->is_entered[EC_MAKER]))	/* V3 */
		ec_cpu_relax();
}

void ec_lean_lock(struct ec_lean *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	enum ec_role role = ec_lean_role(l);

	if (role != EC_STRANGER && ec_lean_enter_as(l, s, role))
		return;
	ec_spin_lock(s);
	if (role == EC_OWNER)
		l->taken++;
	else
		visit(l, s);
}

void ec_lean_unlock(struct ec_lean *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	enum ec_role role = ec_lean_role(l);

	if (role != EC_STRANGER && ec_load_own(&s->is_entered[role]))
		ec_lean_leave_as(s, role);
	else
		ec_spin_unlock(s);
}

void ec_lean_freeze(struct ec_lean *l, struct ec_spin *s)
{
	ec_spin_freeze(s);
	visit(l, s);
}

void ec_lean_own(struct ec_lean *l, struct ec_spin *src, struct ec_spin *run)
{
	const void *maker;

	/* The maker's time is over. One lock after the other: it may be inside the first and come for the second. */
	ec_spin_lock(src);
	maker = ec_load_relaxed(&l->maker);
	if (maker != NULL && maker != ec_thread_key())
		visit(l, src);
	ec_spin_lock(run);
	if (maker != NULL && maker != ec_thread_key()) {
		visit(l, run);
		l->visits += 2;		/* as if it had not been, so that the base leans to the owner at once */
	}
	ec_store_relaxed(&l->maker, NULL);
	ec_store_relaxed(&l->state, EC_LEANING_ENDED);
	ec_store_relaxed(&l->owner, ec_thread_key());
	ec_spin_unlock(run);
	ec_spin_unlock(src);
}

void ec_lean_forget(struct ec_lean *l)
{
	bool is_allowed = ec_load_relaxed(&l->is_allowed);

	ec_lean_init(l, l->vetoes[0], l->vetoes[1]);
	ec_store_relaxed(&l->is_allowed, is_allowed);
}

/* Under both locks. */
static bool may_lean(const struct ec_lean *l)
{
	return ec_load_relaxed(&l->is_allowed) && ec_load_acquire(l->vetoes[0]) == 0 &&
	       ec_load_acquire(l->vetoes[1]) == 0;
}

void ec_lean_make(struct ec_lean *l, struct ec_spin *src, struct ec_spin *run)
{
	ec_spin_lock(src);
	ec_spin_lock(run);
	if (ec_load_relaxed(&l->owner) == NULL && src->visits + run->visits == 0 && may_lean(l)) {
		ec_store_relaxed(&l->maker, ec_thread_key());
		ec_store_release(&l->state, EC_LEANS_TO_MAKER);
	}
	ec_spin_unlock(run);
	ec_spin_unlock(src);
	ec_lean_settle(l, src, run);
}

void ec_lean_settle(struct ec_lean *l, struct ec_spin *src, struct ec_spin *run)
{
	if (l->taken < l->patience || !ec_load_relaxed(&l->is_allowed) || !ec_lean_is_owner(l))
		return;
	l->taken = 0;
	ec_spin_lock(src);
	ec_spin_lock(run);
	if (l->visits == src->visits + run->visits && may_lean(l)) {
		ec_store_release(&l->state, EC_LEANS);
		/* A base that others come to often is left alone for longer each time. */
		if (l->patience < PATIENCE_MAX)
			l->patience *= 2;
	}
	if (l->patience == 0)
		l->patience = PATIENCE_MIN;
	l->visits = src->visits + run->visits;
	ec_spin_unlock(run);
	ec_spin_unlock(src);
}
