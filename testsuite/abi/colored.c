/* What others would write: musl.sh and outside.sh build it in their ways. */
#include <event2/event.h>
#include <event2/smp.h>

static void count(void *arg)
{
	++*(int *)arg;
}

int main(void)
{
	struct event_base *base = event_base_new();
	int num = 0;

	if (event_base_post(base, 7, count, &num) == 0)
		event_base_dispatch(base);
	event_base_free(base);
	return num != 1;
}
