/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Asio: a color is a strand of a thread pool. */
#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#include <asio.hpp>

#include "latch.h"
#include "runtime.h"

const char *const rt_name = "Asio strands";

using strand = asio::strand<asio::thread_pool::executor_type>;

static asio::thread_pool *pool;

void rt_start(unsigned workers)
{
	pool = new asio::thread_pool(workers);
}

struct color *rt_color_new(int)
{
	strand *made = new strand(asio::make_strand(pool->get_executor()));

	return reinterpret_cast<struct color *>(made);
}

struct color *rt_color_renew(struct color *color, int)
{
	return color;
}

void rt_post(struct color *color, struct task *task)
{
	asio::post(*reinterpret_cast<strand *>(color), [task] { task->fn(task); });
}

void rt_wait(struct latch *latch)
{
	latch_wait(latch);
}

void rt_report(const char *)
{
}
