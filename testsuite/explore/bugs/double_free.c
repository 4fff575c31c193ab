/*
 * A request ends by its answer or by its timeout, each in a color of its own. Both check whether it has ended, and let
 * a third color free it.
 */
#include "bug.h"

enum { ANSWER = 1, TIMEOUT, MEMORY };

struct request {
	int is_done, frees;
};

static void release(void *arg)
{
	struct request *r = arg;

	r->is_done = 1;
	if (++r->frees > 1)
		abort();	/* as free() would */
}

static void end(struct request *r)
{
	if (!r->is_done)
		post(MEMORY, release, r);
}

static void answer_parse(void *arg)
{
	end(arg);
}

static void answer_read(void *arg)
{
	post(ANSWER, answer_parse, arg);
}

static void timed_out(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	end(arg);
}

int main(void)
{
	static struct request request;

	begin();
	after(50, TIMEOUT, timed_out, &request);
	post(ANSWER, answer_read, &request);
	run();
	return 0;
}
