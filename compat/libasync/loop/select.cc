/*
 * How the loop waits: a wish of the program, which holds if the base is not made yet.
 */
#include "sfs_select.h"

#include <cerrno>
#include <cstring>
#include <strings.h>

#include "loop/loop.h"

namespace
{

/* Names of the engine's methods, by policy. NULL: none, or no wish. */
const char *const methods[] = { nullptr, "select", "epoll", nullptr };

const char *const but_epoll[] = { "poll", "select", nullptr };
const char *const but_select[] = { "epoll", "poll", nullptr };

/* before run */
sfs_core::select_policy_t policy = sfs_core::SELECT_NONE;

bool is_named(const str &s, const char *name)
{
	return s && strcasecmp(s.cstr(), name) == 0;
}

} // namespace

namespace libasync
{

int make_engine(struct ec_base **ret)
{
	struct ec_config cfg = {};
	int r = -ENOTSUP;

	cfg.max_callbacks = INT32_MAX;
	if (policy == sfs_core::SELECT_BY_SELECT)
		cfg.avoid = but_select;
	if (policy == sfs_core::SELECT_BY_EPOLL)
		cfg.avoid = but_epoll;
	if (cfg.avoid != nullptr)
		r = ec_base_new(&cfg, ret);
	/* The environment may allow only what the program did not wish for. */
	return r == -ENOTSUP ? ec_base_new(nullptr, ret) : r;
}

} // namespace libasync

namespace sfs_core
{

select_policy_t select_policy_from_str(const str &s)
{
	if (is_named(s, "select"))
		return SELECT_BY_SELECT;
	if (is_named(s, "epoll"))
		return SELECT_BY_EPOLL;
	return is_named(s, "kqueue") ? SELECT_BY_KQUEUE : SELECT_NONE;
}

int set_select_policy(select_policy_t p)
{
	const struct ec_base *made = libasync::made_engine();

	if (p < SELECT_NONE || p > SELECT_BY_EPOLL) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (made != nullptr && methods[p] != nullptr && strcmp(ec_base_method(made), methods[p]) != 0) {
		errno = EBUSY;
		return -1;
	}
	policy = p;
	return 0;
}

} // namespace sfs_core
