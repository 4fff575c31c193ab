#include "poller.h"

#include <stddef.h>

const struct ec_poller_ops *const ec_pollers[] = { &ec_poller_epoll, &ec_poller_poll, &ec_poller_select, NULL };
