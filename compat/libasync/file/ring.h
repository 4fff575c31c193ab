/*
 * io_uring, as much of it as aiod needs. The caller's lock guards all but wait.
 *
 * Only wait blocks, in the kernel: it returns once some call is done that was not taken yet. So whoever waits must be
 * the only one that takes, or nobody may know that there is nothing to wait for any more.
 */
#ifndef FILE_RING_H
#define FILE_RING_H

#include <memory>

#include "aiod.h"

namespace libasync
{

class ring
{
public:
	/* Room for `num` calls in flight. NULL: the kernel has no io_uring, or refuses it. */
	static std::unique_ptr<ring> create(unsigned num);
	virtual ~ring() {}

	/* Begin a call; `tag` comes back with its result. False: it was not begun. */
	virtual bool begin(const ring_call &call, void *tag) = 0;
	/* A call that is done: what it returned, or -errno. False: none is. */
	virtual bool take(void **tag, int *result) = 0;
	/* A signal may end it early. */
	virtual void wait() = 0;
};

} // namespace libasync

#endif
