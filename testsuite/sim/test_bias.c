/*
 * Locks that lean to one thread: whoever comes, and however often they begin and end to lean,
 * nobody is inside beside another.
 */
#include <stddef.h>

#include "core/lock/bias.h"
#include "core/lock/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"

enum { ROUNDS = 12, VISITS = 3, OTHERS_MAX = 2 };

/* The threads beside the owner. */
struct others {
	const char *name;
	unsigned num;
	void (*fn[OTHERS_MAX])(void *arg);
};

static struct {
	struct ec_bias bias;
	struct ec_spin lock[2];		/* as SOURCE and RUNQ: the second may be taken under the first */
	struct sim_mark mark[2];
	_Atomic(uint32_t) veto;
	_Atomic(unsigned) vetoes_known;	/* who made it so came under the lock after that */
	_Atomic(unsigned) quick;
} t;

/* Both in order, or one of them. */
static void inside(unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; i++) {
		ec_bias_lock(&t.bias, &t.lock[i]);
		sim_mark_enter(&t.mark[i]);
	}
	while (i-- > from) {
		sim_mark_leave(&t.mark[i]);
		ec_bias_unlock(&t.bias, &t.lock[i]);
	}
}

static void quickly(unsigned i)
{
	enum ec_role role = ec_bias_role(&t.bias);

	if (role == EC_FOREIGN || !ec_bias_enter_as(&t.bias, &t.lock[i], role)) {
		inside(i, i + 1);
		return;
	}
	sim_mark_enter(&t.mark[i]);
	sim_check(i == 0 || t.vetoes_known == 0);
	sim_mark_leave(&t.mark[i]);
	ec_bias_leave_as(&t.lock[i], role);
	t.quick++;
}

/* What the owner does, or the maker. */
static void rounds(unsigned num)
{
	while (num-- > 0) {
		ec_bias_rebias(&t.bias, &t.lock[0], &t.lock[1]);
		if (sim_random(2) == 0)
			quickly(sim_random(2));
		else
			inside(0, 2);
	}
}

static void visitor_main(void *arg)
{
	unsigned i, from;

	(void)arg;
	for (i = 0; i < VISITS; i++) {
		from = sim_random(2);
		inside(from, sim_random(2) == 0 ? from + 1 : 2);
	}
}

static void veto_main(void *arg)
{
	(void)arg;
	ec_add_acq_rel(&t.veto, 1);
	inside(1, 2);
	t.vetoes_known++;
	inside(0, 1);
	t.vetoes_known--;
	ec_sub_acq_rel(&t.veto, 1);
}

/* It gives the base its first color, and goes on as if it were the owner while another becomes that. */
static void maker_main(void *arg)
{
	(void)arg;
	ec_bias_set_maker(&t.bias, &t.lock[0], &t.lock[1]);
	rounds(ROUNDS / 2);
}

static void locks_init(void)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		ec_spin_init(&t.lock[i], i == 0 ? EC_RANK_SOURCE : EC_RANK_RUNQ);
		t.mark[i] = (struct sim_mark){ .is_in = false };
	}
}

static void body(const void *arg)
{
	const struct others *others = arg;
	int ids[OTHERS_MAX];
	unsigned i;

	t.veto = t.vetoes_known = 0;
	ec_bias_init(&t.bias, &t.veto, &t.veto);
	ec_bias_allow(&t.bias);
	t.quick = 0;
	locks_init();
	for (i = 0; i < others->num; i++)
		ids[i] = sim_start(others->name, others->fn[i], NULL);
	ec_bias_claim(&t.bias, &t.lock[0], &t.lock[1], true);
	rounds(ROUNDS);
	for (i = 0; i < others->num; i++)
		sim_join(ids[i]);
	ec_bias_rebias(&t.bias, &t.lock[0], &t.lock[1]);
	quickly(0);
	sim_check(others->num != 0 || t.quick != 0);
}

/* Who gives the base its first color is who runs its loop, as a rule. */
static void body_own(const void *arg)
{
	(void)arg;
	ec_bias_init(&t.bias, &t.veto, &t.veto);
	ec_bias_allow(&t.bias);
	t.veto = t.vetoes_known = t.quick = 0;
	locks_init();
	ec_bias_set_maker(&t.bias, &t.lock[0], &t.lock[1]);
	quickly(0);
	sim_check(t.quick == 1);
	ec_bias_claim(&t.bias, &t.lock[0], &t.lock[1], true);
	ec_bias_rebias(&t.bias, &t.lock[0], &t.lock[1]);
	quickly(1);
	sim_check(t.quick == 2);
}

int main(int argc, char **argv)
{
	static const struct others none = { .num = 0 }, visitors = { "visitor", 2, { visitor_main, visitor_main } },
				   vetoes = { "veto", 2, { veto_main, visitor_main } },
				   maker = { "maker", 2, { maker_main, visitor_main } };
	const struct sim_case cases[] = {
		{ .name = "owner-alone", .body = body, .arg = &none },
		{ .name = "visitors", .body = body, .arg = &visitors },
		{ .name = "veto", .body = body, .arg = &vetoes },
		{ .name = "maker", .body = body, .arg = &maker },
		{ .name = "maker-is-owner", .body = body_own },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
