#include "fork.h"

#include <pthread.h>

#include "base.h"
#include "color.h"
#include "list.h"

static pthread_mutex_t bases_mu = PTHREAD_MUTEX_INITIALIZER;
static struct ec_list bases = { &bases, &bases };
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_result;

static void base_freeze(struct ec_base *base)
{
	unsigned i, n = ec_workers_num(base);

	ec_spin_freeze(&base->mu);
	for (i = 0; i < n; i++)
		ec_lean_freeze(&base->lean, &base->workers[i]->src);
	for (i = 0; i < n; i++)
		ec_lean_freeze(&base->lean, &base->workers[i]->run);
	ec_spin_freeze(&base->waits);
	ec_colors_freeze(&base->colors);
	ec_spin_freeze(&base->pool_mu);
}

static void base_thaw(struct ec_base *base)
{
	unsigned i, n = ec_workers_num(base);

	ec_spin_thaw(&base->pool_mu);
	ec_colors_thaw(&base->colors);
	ec_spin_thaw(&base->waits);
	for (i = n; i-- > 0;)
		ec_spin_thaw(&base->workers[i]->run);
	for (i = n; i-- > 0;)
		ec_spin_thaw(&base->workers[i]->src);
	ec_spin_thaw(&base->mu);
}

static void prepare(void)
{
	struct ec_list *at;

	pthread_mutex_lock(&bases_mu);
	for (at = bases.next; at != &bases; at = at->next)
		base_freeze(ec_container_of(at, struct ec_base, fork_link));
}

static void release(void)
{
	struct ec_list *at;

	for (at = bases.prev; at != &bases; at = at->prev)
		base_thaw(ec_container_of(at, struct ec_base, fork_link));
	pthread_mutex_unlock(&bases_mu);
}

static void install(void)
{
	once_result = -pthread_atfork(prepare, release, release);
}

int ec_fork_register(struct ec_base *base)
{
	pthread_once(&once, install);
	if (once_result < 0)
		return once_result;
	pthread_mutex_lock(&bases_mu);
	ec_list_push_back(&bases, &base->fork_link);
	pthread_mutex_unlock(&bases_mu);
	return 0;
}

void ec_fork_unregister(struct ec_base *base)
{
	pthread_mutex_lock(&bases_mu);
	ec_list_remove(&base->fork_link);
	pthread_mutex_unlock(&bases_mu);
}
