#include "bias.h"

#include "os/tsan.h"

#ifdef EC_SIM
enum { PATIENCE_MIN = 2, PATIENCE_MAX = 4 };	/* schedules are short */
#else
enum { PATIENCE_MIN = 1024, PATIENCE_MAX = 1 << 20 };
#endif

void ec_bias_init(struct ec_bias *l, const _Atomic(uint32_t) *veto, const _Atomic(uint32_t) *other_veto)
{
	*l = (struct ec_bias){ .vetoes = { veto, other_veto }, .role = EC_FOREIGN };
	ec_store_relaxed(&l->owner, EC_NOBODY);
	ec_store_relaxed(&l->state, EC_BIAS_REVOKED);
}

/* Once in a process: a base must not cost a system call more. Its child inherits that. */
void ec_bias_allow(struct ec_bias *l)
{
	static _Atomic(bool) is_prepared;

	if (!ec_load_relaxed(&is_prepared))
		ec_store_relaxed(&is_prepared, ec_barrier_prepare());
	/* Without a bias, ThreadSanitizer is told of hand-overs where the locks' words are taken. */
	ec_store_relaxed(&l->is_allowed, ec_load_relaxed(&is_prepared) && !ec_tsan_is_on());
}

/* The caller has the lock's word, and is not the owner: revoke the bias, and wait until no owner is inside. */
static void bias_revoke(struct ec_bias *l, struct ec_spin *s)
{
	unsigned i, steps = 0;

	s->foreign_num++;
	if (ec_load_acquire(&l->state) != EC_BIAS_REVOKED) {
		ec_store_relaxed(&l->state, EC_BIAS_REVOKING);		/* V1 */
		if (!ec_barrier_all())					/* V2 */
			ec_store_relaxed(&l->is_allowed, false);
		ec_store_release(&l->state, EC_BIAS_REVOKED);
	}
	for (i = 0; i < l->roles_num; i++) {
		while (ec_load_acquire(&s->is_entered[i]) || ec_load_acquire(&l->is_both[i]))	/* V3 */
			ec_wait_step(&steps);
	}
}

/* Acquire: what this thread does then comes after the whole visit. */
static inline bool is_visited(struct ec_bias *l)
{
	uintptr_t visitor = ec_load_acquire(&l->visitor);

	return __builtin_expect(visitor != 0, 0) && visitor != (uintptr_t)ec_thread_key();
}

/* The caller has the lock's word, and has it again then. */
static __attribute__((noinline)) void visit_await(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	unsigned steps = 0;

	ec_add_relaxed(&l->waiting, 1);
	do {
		ec_spin_unlock(s);
		while (is_visited(l))
			ec_wait_step(&steps);
		ec_spin_lock(s);
	} while (is_visited(l));
	ec_sub_acq_rel(&l->waiting, 1);
}

/* Take the word. The owner cannot change then, so the second look at the role is the one that counts. */
static inline void lock_word(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	ec_spin_lock(s);
	if (is_visited(l))						/* S2 */
		visit_await(l, s);
	if (ec_bias_role(l) != EC_FOREIGN)
		l->slow_num++;
	else
		bias_revoke(l, s);
}

void ec_bias_lock(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	enum ec_role role = ec_bias_role(l);

	if (role == EC_FOREIGN || !ec_bias_enter(l, s, role))
		lock_word(l, s);
}

void ec_bias_unlock(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	enum ec_role role = ec_bias_role(l);

	if (role != EC_FOREIGN && ec_load_own(&s->is_entered[role]))
		ec_bias_leave(s, role);
	else
		ec_spin_unlock(s);
}

/* One lock after the other: the owner may be inside the first and come for the second. */
void ec_bias_lock_both(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run) EC_NO_ANALYSIS
{
	lock_word(l, src);
	lock_word(l, run);
}

void ec_bias_freeze(struct ec_bias *l, struct ec_spin *s)
{
	ec_spin_freeze(s);
	bias_revoke(l, s);
}

/* Under both locks: the calling thread's role, perhaps a new one. */
static enum ec_role role_of(struct ec_bias *l, enum ec_claim why, bool *is_new)
{
	unsigned i = why == EC_CLAIM_LOOP && l->threads[EC_FIRST_LOOP] == NULL ? EC_FIRST_LOOP : EC_FIRST_LOOP + 1;

	if (i != EC_FIRST_LOOP && l->threads[EC_FIRST_LOOP] == ec_thread_key())
		i = EC_FIRST_LOOP;
	while (i != EC_FIRST_LOOP && i < l->roles_num && l->threads[i] != ec_thread_key())
		i++;
	*is_new = i < EC_ROLES && l->threads[i] == NULL;
	if (*is_new)
		l->threads[i] = ec_thread_key();
	if (*is_new && i >= l->roles_num)
		l->roles_num = (uint8_t)(i + 1);
	return (enum ec_role)i;
}

void ec_bias_claim(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run, enum ec_claim why) EC_NO_ANALYSIS
{
	enum ec_role role;
	bool is_new;

	ec_bias_lock_both(l, src, run);
	role = role_of(l, why, &is_new);
	l->role = (uint8_t)role;
	ec_store_relaxed(&l->owner, role == EC_FOREIGN ? EC_NOBODY : (uintptr_t)ec_thread_key() | role);
	/* The claim itself is no visit. A thread's first one biases the base at once, later ones as after a visit. */
	l->foreign_seen = (uint16_t)(src->foreign_num + run->foreign_num);
	l->slow_num = 0;
	if (is_new)
		l->patience = 0;
	ec_spin_unlock(run);
	ec_spin_unlock(src);
	if (ec_bias_is_rebias_due(l))
		ec_bias_rebias(l, src, run);
}

/* Who waited for the visit before gets in first. */
void ec_bias_visit_prepare(struct ec_bias *l)
{
	unsigned steps = 0;

	while (ec_load_relaxed(&l->visitor) == 0 && ec_load_relaxed(&l->waiting) != 0)
		ec_wait_step(&steps);
}

uintptr_t ec_bias_visit_begin(struct ec_bias *l)
{
	uintptr_t outer = ec_load_relaxed(&l->visitor);

	ec_store_relaxed(&l->visitor, (uintptr_t)ec_thread_key());	/* S1 */
	return outer;
}

/* Not if the visit was given up. */
void ec_bias_visit_end(struct ec_bias *l, uintptr_t outer)
{
	if (ec_load_relaxed(&l->visitor) == (uintptr_t)ec_thread_key())
		ec_store_release(&l->visitor, outer);
}

void ec_bias_visit_give_up(struct ec_bias *l)
{
	ec_bias_visit_end(l, 0);
}

void ec_bias_end(struct ec_bias *l)
{
	ec_store_relaxed(&l->is_allowed, false);
	ec_store_relaxed(&l->owner, EC_NOBODY);
	ec_store_release(&l->state, EC_BIAS_REVOKED);
}

void ec_bias_reset(struct ec_bias *l)
{
	bool is_allowed = ec_load_relaxed(&l->is_allowed);

	ec_bias_init(l, l->vetoes[0], l->vetoes[1]);
	ec_store_relaxed(&l->is_allowed, is_allowed);
}

void ec_bias_reset_entered(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run)
{
	unsigned i;

	for (i = 0; i < EC_ROLES; i++) {
		ec_store_relaxed(&src->is_entered[i], false);
		ec_store_relaxed(&run->is_entered[i], false);
		ec_store_relaxed(&l->is_both[i], false);
	}
	ec_store_relaxed(&l->visitor, 0);
	ec_store_relaxed(&l->waiting, 0);
}

/* Under both locks. */
static bool may_bias(const struct ec_bias *l)
{
	return ec_load_relaxed(&l->is_allowed) && ec_load_acquire(l->vetoes[0]) == 0 &&
	       ec_load_acquire(l->vetoes[1]) == 0;
}

void ec_bias_rebias(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run) EC_NO_ANALYSIS
{
	enum ec_role role = ec_bias_role(l);
	uint16_t foreign_num;

	if (role == EC_FOREIGN)
		return;
	l->slow_num = 0;
	ec_spin_lock(src);
	ec_spin_lock(run);
	foreign_num = (uint16_t)(src->foreign_num + run->foreign_num);
	if (l->foreign_seen == foreign_num && may_bias(l)) {
		ec_store_release(&l->state, (uint8_t)role);
		/* If others come often, the owner waits longer each time. */
		if (l->patience < PATIENCE_MAX)
			l->patience *= 2;
	}
	if (l->patience == 0)
		l->patience = PATIENCE_MIN;
	l->foreign_seen = foreign_num;
	ec_spin_unlock(run);
	ec_spin_unlock(src);
}
