/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * bare: the work of sfs, or of unbalanced without long events, by as many threads as there are workers, each of which
 * does its share in a row: no task, no queue, nothing to balance, and a spin lock around what is serial. No
 * runtime reaches more on the same machine.
 */
#include "shapes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "futex.h"

enum { ROUNDS = 4 };			/* the first warms up */

struct share {
	pthread_t thread;
	unsigned i;
	long times;
};

static struct job parallel, serial;
static atomic_flag serial_lock = ATOMIC_FLAG_INIT;
static pthread_barrier_t start;

static void *share_main(void *arg)
{
	const struct share *share = arg;
	long i;

	bench_pin(share->i);
	pthread_barrier_wait(&start);
	for (i = 0; i < share->times; i++) {
		if (serial.steps > 0) {
			while (atomic_flag_test_and_set_explicit(&serial_lock, memory_order_acquire))
				cpu_relax();
			job_work(&serial);
			atomic_flag_clear_explicit(&serial_lock, memory_order_release);
		}
		job_work(&parallel);
	}
	return NULL;
}

static double round_ns(struct share *shares, long total)
{
	uint64_t begin;
	unsigned i;

	pthread_barrier_init(&start, NULL, workers_num + 1);
	for (i = 0; i < workers_num; i++) {
		shares[i] = (struct share){ .i = i, .times = total / (long)workers_num };
		if (pthread_create(&shares[i].thread, NULL, share_main, &shares[i]) != 0)
			bench_die("no thread");
	}
	begin = bench_now_ns();
	pthread_barrier_wait(&start);
	for (i = 0; i < workers_num; i++)
		pthread_join(shares[i].thread, NULL);
	pthread_barrier_destroy(&start);
	return (double)(bench_now_ns() - begin);
}

void shape_bare(char **args)
{
	const double parallel_ns = (double)bench_number(args[1]), serial_ns = (double)bench_number(args[2]);
	const long total = bench_number(args[3]) / (long)workers_num * (long)workers_num;
	struct share *shares = bench_alloc(workers_num, sizeof(*shares));
	double least = 0, ns, speed_up;
	int i;

	parallel.steps = work_steps_of(parallel_ns);
	serial.steps = work_steps_of(serial_ns);
	for (i = 0; i < ROUNDS; i++) {
		ns = round_ns(shares, total);
		if (i == 1 || (i > 1 && ns < least))
			least = ns;
	}
	speed_up = (double)total * (parallel_ns + serial_ns) / least;
	if (strcmp(args[0], "sfs") == 0) {
		report("sfs", "requests/s", (double)total * 1e9 / least, "1/s");
		report("sfs", "speed-up", speed_up, "x");
	} else {
		report("unbalanced", "events/s", (double)total * 1e9 / least, "1/s");
		report("unbalanced", "ideal/actual", speed_up / workers_num, "x");
	}
}
