#include "poller.h"

#include <stddef.h>

#include "os/thread.h"

const struct ec_poller_ops *const ec_pollers[] = { &ec_poller_epoll, &ec_poller_poll, &ec_poller_select, NULL };

int ec_poller_ask(struct ec_poller *p)
{
	int state = ec_cancel_hold(), num = p->ops->wait(p, 0);

	ec_cancel_release(state);
	return num;
}
