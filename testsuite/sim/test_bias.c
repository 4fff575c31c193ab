/*
 * Biased locks: visitors come, threads become the owner one after the other, the bias begins and ends. Never are two
 * threads inside one lock.
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
	_Atomic(unsigned) loops;	/* threads in a loop */
	bool has_ended;			/* both locks */
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

	if (role == EC_FOREIGN || !ec_bias_enter(&t.bias, &t.lock[i], role)) {
		inside(i, i + 1);
		return;
	}
	sim_mark_enter(&t.mark[i]);
	sim_check(i == 0 || t.vetoes_known == 0);
	sim_mark_leave(&t.mark[i]);
	ec_bias_leave(&t.lock[i], role);
	t.quick++;
}

/* Both locks: by one note, or by their words. */
static void in_both(void)
{
	enum ec_role role = ec_bias_role(&t.bias);
	bool is_quick = role != EC_FOREIGN && ec_bias_enter_both(&t.bias, &t.lock[0], &t.lock[1], role);

	if (!is_quick)
		ec_bias_lock_both(&t.bias, &t.lock[0], &t.lock[1]);
	sim_mark_enter(&t.mark[0]);
	sim_mark_enter(&t.mark[1]);
	sim_check(!is_quick || t.vetoes_known == 0);
	sim_check(!is_quick || !t.has_ended);
	sim_mark_leave(&t.mark[1]);
	sim_mark_leave(&t.mark[0]);
	if (is_quick) {
		ec_bias_leave_both(&t.bias, &t.lock[0], &t.lock[1], role);
		t.quick++;
		return;
	}
	ec_spin_unlock(&t.lock[1]);
	ec_spin_unlock(&t.lock[0]);
}

static void look(void)
{
	if (ec_bias_is_rebias_due(&t.bias))
		ec_bias_rebias(&t.bias, &t.lock[0], &t.lock[1]);
}

/* What the owner does, or a thread that takes itself for it. */
static void rounds(unsigned num, bool is_loop)
{
	while (num-- > 0) {
		if (is_loop)
			look();
		switch (sim_random(3)) {
		case 0:
			quickly(sim_random(2));
			break;
		case 1:
			in_both();
			break;
		default:
			inside(0, 2);
		}
	}
}

/* A loop: no other thread has one meanwhile. */
static void loop(unsigned num)
{
	while (ec_swap_acq_rel(&t.loops, 1) != 0)
		ec_cpu_relax();
	if (ec_bias_is_claim_due(&t.bias))
		ec_bias_claim(&t.bias, &t.lock[0], &t.lock[1], EC_CLAIM_LOOP);
	rounds(num, true);
	ec_store_release(&t.loops, 0);
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

/* It runs loops among others, and goes on as if it were the owner while another becomes that. */
static void mover_main(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < VISITS; i++) {
		loop(ROUNDS / 4);
		rounds(ROUNDS / 4, false);
	}
}

/* The base gets several workers. */
static void ender_main(void *arg)
{
	(void)arg;
	inside(0, 1);
	ec_bias_lock_both(&t.bias, &t.lock[0], &t.lock[1]);
	ec_bias_end(&t.bias);
	t.has_ended = true;
	ec_spin_unlock(&t.lock[1]);
	ec_spin_unlock(&t.lock[0]);
	inside(0, 2);
}

static void locks_init(void)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		ec_spin_init(&t.lock[i], i == 0 ? EC_RANK_SOURCE : EC_RANK_RUNQ);
		t.mark[i] = (struct sim_mark){ .is_in = false };
	}
}

static void init(void)
{
	t.veto = t.vetoes_known = t.quick = t.loops = 0;
	t.has_ended = false;
	ec_bias_init(&t.bias, &t.veto, &t.veto);
	ec_bias_allow(&t.bias);
	locks_init();
}

static void body(const void *arg)
{
	const struct others *others = arg;
	int ids[OTHERS_MAX];
	unsigned i;

	init();
	for (i = 0; i < others->num; i++)
		ids[i] = sim_start(others->name, others->fn[i], NULL);
	loop(ROUNDS);
	rounds(ROUNDS / 4, false);
	for (i = 0; i < others->num; i++)
		sim_join(ids[i]);
	ec_bias_rebias(&t.bias, &t.lock[0], &t.lock[1]);
	quickly(0);
	sim_check(others->num != 0 || t.quick != 0);
}

/* As a rule the thread that makes the base runs its loop. Its locks are biased at once, and remain so. */
static void body_own(const void *arg)
{
	(void)arg;
	init();
	ec_bias_claim(&t.bias, &t.lock[0], &t.lock[1], EC_CLAIM_MAKER);
	quickly(0);
	in_both();
	loop(0);
	quickly(1);
	sim_check(t.quick == 3);
}

/* More threads than roles run the loop, each for the first time. All but those without a role find it biased. */
static void late_main(void *arg)
{
	unsigned *number = arg, quick = t.quick, expected;

	loop(0);
	in_both();
	expected = *number < EC_ROLES && ec_load_relaxed(&t.bias.is_allowed) ? 1 : 0;
	sim_check(t.quick - quick == expected);
}

static void body_many(const void *arg)
{
	unsigned i;

	(void)arg;
	init();
	for (i = 0; i < EC_ROLES + 2; i++)
		sim_join(sim_start("loop", late_main, &i));
}

int main(int argc, char **argv)
{
	static const struct others none = { .num = 0 }, visitors = { "visitor", 2, { visitor_main, visitor_main } },
				   vetoes = { "veto", 2, { veto_main, visitor_main } },
				   movers = { "mover", 2, { mover_main, mover_main } },
				   mover = { "mover", 2, { mover_main, visitor_main } },
				   ender = { "ender", 2, { ender_main, visitor_main } };
	const struct sim_case cases[] = {
		{ .name = "owner-alone", .body = body, .arg = &none },
		{ .name = "visitors", .body = body, .arg = &visitors },
		{ .name = "veto", .body = body, .arg = &vetoes },
		{ .name = "mover", .body = body, .arg = &mover },
		{ .name = "movers", .body = body, .arg = &movers },
		{ .name = "ender", .body = body, .arg = &ender },
		{ .name = "maker-is-owner", .body = body_own },
		{ .name = "more-loops-than-roles", .body = body_many },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
