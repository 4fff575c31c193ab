/*
 * Fork in a process whose bases have worker threads: the child gets one thread, and must
 * find every lock free and every list whole. So before fork all locks of all such bases are taken,
 * in the order of their ranks, and after it released on both sides.
 */
#ifndef EC_FORK_H
#define EC_FORK_H

struct ec_base;

int ec_fork_register(struct ec_base *base);
void ec_fork_unregister(struct ec_base *base);

#endif
