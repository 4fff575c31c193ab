#include "fds.h"

#include <errno.h>
#include <fcntl.h>

#include "ec.h"

enum { FDS_FIRST = 32, FDS_PLAUSIBLE = 1 << 20 };

struct ec_source ec_source_none = { .events = { &ec_source_none.events, &ec_source_none.events },
				    .watch_id = EC_NOT_WATCHED };

void ec_fds_init(struct ec_fds *fds)
{
	*fds = (struct ec_fds){ .dirty = -1 };
}

void ec_fds_fini(struct ec_fds *fds)
{
	int fd;

	for (fd = 0; fd < fds->cap; fd++)
		ec_free(ec_source_find(fds, fd));
	ec_free(fds->at);
	ec_fds_init(fds);
}

static int grow(struct ec_fds *fds, int fd)
{
	struct ec_source **at;
	int cap = fds->cap == 0 ? FDS_FIRST : fds->cap;

	while (cap <= fd) {
		if (cap > INT32_MAX / 2)
			return -EINVAL;
		cap *= 2;
	}
	at = ec_realloc(fds->at, (size_t)cap * sizeof(*at));
	if (at == NULL)
		return -ENOMEM;
	fds->at = at;
	while (fds->cap < cap)
		at[fds->cap++] = &ec_source_none;
	return 0;
}

static int make_source(struct ec_fds *fds, int fd, struct ec_source **ret)
{
	struct ec_source *s;
	int r;

	if (fd < 0)
		return -EBADF;
	if (fd >= fds->cap) {
		/* Refuse a high number that is not open, such as INT_MAX: it would need a table of gigabytes. */
		if (fd >= FDS_PLAUSIBLE && fcntl(fd, F_GETFD) < 0)
			return -EBADF;
		r = grow(fds, fd);
		if (r < 0)
			return r;
	}
	s = ec_calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	ec_list_init(&s->events);
	s->fd = fd;
	s->watch_id = EC_NOT_WATCHED;
	fds->at[fd] = s;
	*ret = s;
	return 0;
}

int ec_fds_get(struct ec_fds *fds, int fd, struct ec_source **ret)
{
	struct ec_source *s = ec_source_find(fds, fd);

	if (__builtin_expect(s == NULL, 0))
		return make_source(fds, fd, ret);
	*ret = s;
	return 0;
}
