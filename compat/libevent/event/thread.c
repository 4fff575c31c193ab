/*
 * evthread: passes the program's locks, conditions and thread ids to the engine.
 */
#include <errno.h>

#include <event2/thread.h>

#include "le.h"

int evthread_set_lock_callbacks(const struct evthread_lock_callbacks *cbs)
{
	struct ec_lock_callbacks ec;

	if (cbs == NULL)
		return le_result(ec_thread_set_lock_callbacks(NULL));
	ec = (struct ec_lock_callbacks){
		.api_version = cbs->lock_api_version,
		.supported_locktypes = cbs->supported_locktypes,
		.alloc = cbs->alloc,
		.free = cbs->free,
		.lock = cbs->lock,
		.unlock = cbs->unlock,
	};
	return le_result(ec_thread_set_lock_callbacks(&ec));
}

int evthread_set_condition_callbacks(const struct evthread_condition_callbacks *cbs)
{
	struct ec_condition_callbacks ec;
	int r;

	if (cbs == NULL)
		return le_result(ec_thread_set_condition_callbacks(NULL));
	ec = (struct ec_condition_callbacks){
		.api_version = cbs->condition_api_version,
		.alloc = cbs->alloc_condition,
		.free = cbs->free_condition,
		.signal = cbs->signal_condition,
		.wait = cbs->wait_condition,
	};
	r = ec_thread_set_condition_callbacks(&ec);
	/* Stock ignores an incomplete set silently, and programs rely on it. */
	return r == -EINVAL ? 0 : le_result(r);
}

/*
 * No header declares these functions, but libevent's tests wrap the program's locks with them. The
 * structs belong to the engine: callers may only read them.
 */
const struct evthread_lock_callbacks *evthread_get_lock_callbacks(void);
const struct evthread_condition_callbacks *evthread_get_condition_callbacks(void);

/* The engine's structs have libevent's layout (abi/layout.c). */
const struct evthread_lock_callbacks *evthread_get_lock_callbacks(void)
{
	return (const void *)ec_thread_lock_callbacks();
}

const struct evthread_condition_callbacks *evthread_get_condition_callbacks(void)
{
	return (const void *)ec_thread_condition_callbacks();
}

void evthread_set_id_callback(unsigned long (*fn)(void))
{
	ec_thread_set_id_fn(fn);
}

void evthread_enable_lock_debugging(void)
{
	ec_thread_enable_lock_debugging();
}

/* The misspelt name of libevent before 2.1.2. */
void evthread_enable_lock_debuging(void)
{
	ec_thread_enable_lock_debugging();
}
