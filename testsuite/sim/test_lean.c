/*
 * Locks that lean to one thread: whoever comes, and however often they begin and end to lean,
 * nobody is inside beside another.
 */
#include <stddef.h>

#include "../../core/lean.h"
#include "../../core/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"

enum { ROUNDS = 12, VISITS = 3 };

static struct {
	struct ec_lean lean;
	struct ec_spin lock[2];		/* as SOURCE and RUNQ: the second may be taken under the first */
	struct sim_mark mark[2];
	_Atomic(unsigned) quick;
} t;

/* Both in order, or one of them. */
static void inside(unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; i++) {
		ec_lean_lock(&t.lean, &t.lock[i]);
		sim_mark_enter(&t.mark[i]);
	}
	while (i-- > from) {
		sim_mark_leave(&t.mark[i]);
		ec_lean_unlock(&t.lean, &t.lock[i]);
	}
}

static void quickly(unsigned i)
{
	if (!ec_lean_enter(&t.lean, &t.lock[i])) {
		inside(i, i + 1);
		return;
	}
	sim_mark_enter(&t.mark[i]);
	sim_mark_leave(&t.mark[i]);
	ec_lean_leave(&t.lock[i]);
	t.quick++;
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

static void body(const void *arg)
{
	int ids[2];
	unsigned i;

	ec_lean_init(&t.lean);
	ec_lean_allow(&t.lean);
	t.quick = 0;
	for (i = 0; i < 2; i++) {
		ec_spin_init(&t.lock[i], i == 0 ? EC_RANK_SOURCE : EC_RANK_RUNQ);
		t.mark[i] = (struct sim_mark){ .is_in = false };
	}
	ec_lean_claim(&t.lean, &t.lock[0], &t.lock[1], true);
	for (i = 0; i < 2 && arg != NULL; i++)
		ids[i] = sim_start("visitor", visitor_main, NULL);
	for (i = 0; i < ROUNDS; i++) {
		ec_lean_settle(&t.lean, &t.lock[0], &t.lock[1]);
		if (sim_random(2) == 0)
			quickly(sim_random(2));
		else
			inside(0, 2);
	}
	for (i = 0; i < 2 && arg != NULL; i++)
		sim_join(ids[i]);
	ec_lean_settle(&t.lean, &t.lock[0], &t.lock[1]);
	quickly(0);
	sim_check(arg != NULL || t.quick != 0);
}

int main(int argc, char **argv)
{
	static const char with_visitors;
	const struct sim_case cases[] = {
		{ .name = "owner-alone", .body = body },
		{ .name = "visitors", .body = body, .arg = &with_visitors },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
