/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * sfs: CLIENTS clients, each of whose requests has a stage in a color that all share and one in the
 * client's own, as the SFS file server of the libasync-smp paper had (there, cryptography is
 * the client's own part). The speed-up is over the same work in a row on one core; it can
 * reach the number of workers, or (serial + parallel) / serial.
 */
#include "shapes.h"

struct client {
	struct job serial, parallel;
	long left;
	unsigned i;
};

static void parallel_run(void *arg)
{
	struct client *client = (struct client *)((char *)arg - offsetof(struct client, parallel));

	job_work(&client->parallel);
	if (--client->left > 0)
		rt_post(client->serial.color, &client->serial.task);
	else
		latch_hit(done, client->i);
}

static void serial_run(void *arg)
{
	struct client *client = arg;

	job_work(&client->serial);
	rt_post(client->parallel.color, &client->parallel.task);
}

static struct client *clients_new(unsigned count, double parallel_ns, double serial_ns)
{
	struct client *clients = bench_alloc(count, sizeof(*clients));
	struct color *shared = rt_color_new(RT_ANY);
	unsigned i;

	for (i = 0; i < count; i++) {
		clients[i].i = i;
		clients[i].serial.task.fn = serial_run;
		clients[i].serial.color = shared;
		clients[i].serial.steps = work_steps_of(serial_ns);
		clients[i].parallel.task.fn = parallel_run;
		clients[i].parallel.color = rt_color_new(RT_ANY);
		clients[i].parallel.steps = work_steps_of(parallel_ns);
	}
	return clients;
}

static uint64_t requests_run(struct client *clients, unsigned count, long each)
{
	uint64_t begin;
	unsigned i;

	latch_set(done, count);
	for (i = 0; i < count; i++)
		clients[i].left = each;
	begin = bench_now_ns();
	for (i = 0; i < count; i++)
		rt_post(clients[i].serial.color, &clients[i].serial.task);
	rt_wait(done);
	return bench_now_ns() - begin;
}

void shape_sfs(char **args)
{
	const unsigned count = (unsigned)bench_number(args[0]);
	const double parallel_ns = (double)bench_number(args[1]);
	const double serial_ns = (double)bench_number(args[2]);
	const long each = bench_number(args[3]) / count;
	struct client *clients = clients_new(count, parallel_ns, serial_ns);
	double best = 0, rate;
	int i;

	for (i = 0; i < 3; i++) {
		rate = (double)each * count / (double)requests_run(clients, count, each);
		if (rate > best)
			best = rate;
	}
	report("sfs", "requests/s", best * 1e9, "1/s");
	report("sfs", "speed-up", best * (parallel_ns + serial_ns), "x");
}
