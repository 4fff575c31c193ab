/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_SFS_SELECT_H
#define LIBASYNC_SFS_SELECT_H

/*
 * How the loop waits for descriptors. Without a call of set_select_policy the engine chooses, which is right for nearly
 * all programs. The environment comes first: with EVENT_NOEPOLL, no policy brings epoll back.
 */
#include "libasync_config.h"
#include "str.h"

namespace sfs_core
{

/* The engine's choice; select(2); epoll(7); kqueue(2). */
typedef enum { SELECT_NONE, SELECT_BY_SELECT, SELECT_BY_EPOLL, SELECT_BY_KQUEUE } select_policy_t;

/* "select", "epoll" or "kqueue", in upper or lower case. SELECT_NONE: anything else, or NULL. */
LIBASYNC_EXPORT select_policy_t select_policy_from_str(const str &s);

/*
 * Let the loop wait by `p`. 0, or -1 with errno: EOPNOTSUPP, this system has no such call; EBUSY, the loop waits
 * already, and in another way. Call it before callbacks are registered, on the first thread.
 */
LIBASYNC_EXPORT int set_select_policy(select_policy_t p);

} // namespace sfs_core

#endif
