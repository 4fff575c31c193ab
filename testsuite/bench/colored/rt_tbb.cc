/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* TBB: a color is a serial node of a flow graph. The waiting thread takes part, as is its way. */
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include "latch.h"
#include "runtime.h"

const char *const rt_name = "TBB serial nodes";

using node = tbb::flow::function_node<struct task *, tbb::flow::continue_msg, tbb::flow::queueing>;

static tbb::global_control *control;
static tbb::flow::graph *graph;

void rt_start(unsigned workers)
{
	control = new tbb::global_control(tbb::global_control::max_allowed_parallelism, workers);
	graph = new tbb::flow::graph;
}

struct color *rt_color_new(int)
{
	node *made = new node(*graph, tbb::flow::serial, [](struct task *task) {
		task->fn(task);
		return tbb::flow::continue_msg();
	});

	return reinterpret_cast<struct color *>(made);
}

struct color *rt_color_renew(struct color *color, int)
{
	return color;
}

void rt_post(struct color *color, struct task *task)
{
	reinterpret_cast<node *>(color)->try_put(task);
}

void rt_wait(struct latch *latch)
{
	while (!latch_is_done(latch))
		graph->wait_for_all();
}

void rt_report(const char *)
{
}
