/*
 * The synthetic benchmark of the libasync-smp paper (Table 2): in each color, a callback that works a little and then
 * registers the next one. All colors begin on the worker of the loop, so another one has work only if it steals.
 *
 *	libasync_chain new|same COLORS NS TASKS
 *
 *	new	each callback makes the next one, as in the paper
 *	same	each color has one callback, which it registers again
 *	NS	how long a callback works
 *
 * EVENT_WORKERS and EVENT_STEAL=0 as usual.
 */
#include "async.h"

#include <stdio.h>
#include <string.h>

extern "C" {
#include "../colored/work.h"
#include "../util.h"
}

namespace
{

struct chain {
	uint64_t work, x;
	long left;
	color col;
	cbv::ptr again;
	char pad[64];	/* colors share no cache line */
};

chain *chains;
uint64_t begin_ns;
long colors_num, tasks_num, rounds_left = 3;
bool is_new;
double best_rate;
int running;	/* atomic */

void begin_cb();

void end_of_one()
{
	const uint64_t ns = bench_now_ns() - begin_ns;

	if (__atomic_sub_fetch(&running, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	best_rate = max(best_rate, double(tasks_num) * 1e9 / double(ns));
	if (--rounds_left > 0) {
		cpucb(wrap(begin_cb));
		return;
	}
	bench_report("chain", "libasync", "tasks/s", best_rate, "1/s");
	fflush(stdout);
	_exit(0);
}

/* True: go on. */
bool work(chain *c)
{
	c->x = work_steps(c->x, c->work);
	if (--c->left > 0)
		return true;
	end_of_one();
	return false;
}

void new_cb(chain *c)
{
	if (work(c))
		cpucb(cwrap(new_cb, c, c->col));
}

void same_cb(chain *c)
{
	if (work(c))
		cpucb(c->again);
}

/* In color 0, so on the worker of the loop: with colors that no worker knows yet. */
void begin_cb()
{
	static uint32_t colors_used;

	running = int(colors_num);
	for (long i = 0; i < colors_num; i++) {
		chain *c = &chains[i];

		c->left = tasks_num / colors_num;
		c->col = color(++colors_used);
		c->again = cwrap(same_cb, c, c->col);
	}
	begin_ns = bench_now_ns();
	for (long i = 0; i < colors_num; i++)
		cpucb(is_new ? cbv(cwrap(new_cb, &chains[i], chains[i].col)) : cbv(chains[i].again));
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 5)
		bench_die("usage: libasync_chain new|same COLORS NS TASKS");
	is_new = strcmp(argv[1], "new") == 0;
	colors_num = bench_number(argv[2]);
	tasks_num = bench_number(argv[4]) / colors_num * colors_num;
	chains = static_cast<chain *>(bench_alloc(size_t(colors_num), sizeof(chain)));
	for (long i = 0; i < colors_num; i++)
		chains[i].work = work_steps_of(double(strtol(argv[3], NULL, 10)));
	cpucb(wrap(begin_cb));
	amain();
}
