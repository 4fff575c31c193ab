/*
 * Jobs go through two stages, each a color with a count of its own. On the way from one to the other a job is in
 * neither count. The shutdown checks now and then whether both are 0, and then frees what the second stage needs.
 */
#include "bug.h"

enum { FIRST = 1, SECOND, SHUTDOWN };

enum { JOBS = 3 };

static int first_num, second_num, is_freed;

static void second_leave(void *arg)
{
	(void)arg;
	second_num--;
}

static void second_enter(void *arg)
{
	if (is_freed)
		fail("a job comes after the shutdown");
	second_num++;
	post(SECOND, second_leave, arg);
}

static void first_leave(void *arg)
{
	first_num--;
	post(SECOND, second_enter, arg);
}

static void shut_down(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	if (first_num == 0 && second_num == 0)
		is_freed = 1;
	else
		after(10, SHUTDOWN, shut_down, arg);
}

static void first_enter(void *arg)
{
	(void)arg;
	first_num = JOBS;
	post(FIRST, first_leave, NULL);
	post(FIRST, first_leave, NULL);
	post(FIRST, first_leave, NULL);
	after(10, SHUTDOWN, shut_down, NULL);
}

int main(void)
{
	begin();
	post(FIRST, first_enter, NULL);
	run();
	return 0;
}
