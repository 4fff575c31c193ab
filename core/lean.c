#include "lean.h"

#ifdef EC_SIM
enum { PATIENCE_MIN = 2, PATIENCE_MAX = 4 };	/* schedules are short */
#else
enum { PATIENCE_MIN = 1024, PATIENCE_MAX = 1 << 20 };
#endif

void ec_lean_init(struct ec_lean *l)
{
	*l = (struct ec_lean){ .patience = 0 };
	ec_store_relaxed(&l->state, EC_LEANING_ENDED);
}

void ec_lean_allow(struct ec_lean *l)
{
	l->is_allowed = ec_barrier_prepare();
}

/* Not the owner, with the lock's word: wait until the owner is not inside. */
static void visit(struct ec_lean *l, struct ec_spin *s)
{
	s->visits++;
	if (ec_load_acquire(&l->state) != EC_LEANING_ENDED) {
		ec_store_relaxed(&l->state, EC_LEANING_ASKED);		/* V1 */
		ec_barrier_all();					/* V2 */
		ec_store_release(&l->state, EC_LEANING_ENDED);
	}
	while (ec_load_acquire(&s->is_entered))				/* V3 */
		ec_cpu_relax();
}

void ec_lean_lock(struct ec_lean *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	bool is_owner = ec_lean_is_owner(l);

	if (is_owner && ec_lean_enter(l, s))
		return;
	ec_spin_lock(s);
	if (is_owner)
		l->taken++;
	else
		visit(l, s);
}

void ec_lean_unlock(struct ec_lean *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	if (ec_lean_is_owner(l) && ec_load_own(&s->is_entered))
		ec_lean_leave(s);
	else
		ec_spin_unlock(s);
}

void ec_lean_freeze(struct ec_lean *l, struct ec_spin *s)
{
	ec_spin_freeze(s);
	visit(l, s);
}

void ec_lean_claim(struct ec_lean *l, struct ec_spin *src, struct ec_spin *run, bool is_new)
{
	const void *owner = ec_load_relaxed(&l->owner);

	if (owner == ec_thread_key() || (owner != NULL && !is_new))
		return;
	ec_spin_lock(src);
	ec_spin_lock(run);
	ec_store_relaxed(&l->owner, ec_thread_key());
	ec_spin_unlock(run);
	ec_spin_unlock(src);
}

void ec_lean_forget(struct ec_lean *l)
{
	bool is_allowed = l->is_allowed;

	ec_lean_init(l);
	l->is_allowed = is_allowed;
}

void ec_lean_settle(struct ec_lean *l, struct ec_spin *src, struct ec_spin *run)
{
	if (l->taken < l->patience || !l->is_allowed || !ec_lean_is_owner(l))
		return;
	l->taken = 0;
	ec_spin_lock(src);
	ec_spin_lock(run);
	if (l->visits == src->visits + run->visits) {
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
