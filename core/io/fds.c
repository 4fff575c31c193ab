#include "fds.h"

#include <errno.h>
#include <fcntl.h>

#include "ec.h"

enum { FDS_FIRST = 32, FDS_LARGE = 256, FDS_PLAUSIBLE = 1 << 20, SLAB_FIRST = 4, SLAB = 64, STACK_FIRST = 16 };

struct ec_source ec_source_none = { .events = { &ec_source_none.events, &ec_source_none.events },
				    .watch_id = EC_NOT_WATCHED };

void ec_fds_init(struct ec_fds *fds)
{
	*fds = (struct ec_fds){ 0 };
}

void ec_fds_fini(struct ec_fds *fds)
{
	struct ec_source_slab *slab;

	while ((slab = fds->slabs) != NULL) {
		fds->slabs = slab->next;
		ec_free(slab);
	}
	ec_free(fds->dirty.at);
	ec_free(fds->migrants.at);
	ec_free(fds->at);
	ec_fds_init(fds);
}

bool ec_fd_stack_reserve(struct ec_fd_stack *stack)
{
	int cap = stack->cap == 0 ? STACK_FIRST : stack->cap * 2;
	int *at = ec_realloc(stack->at, (size_t)cap * sizeof(*at));

	if (at == NULL)
		return false;
	stack->at = at;
	stack->cap = cap;
	return true;
}

/* The kernel hands out the lowest free number, so the table is full when it grows: a large one grows by an eighth. */

static int grow(struct ec_fds *fds, int fd)
{
	struct ec_source **at;
	int cap;

	if (fd >= INT32_MAX / 2)
		return -EINVAL;
	cap = fd < FDS_FIRST ? FDS_FIRST : fd < FDS_LARGE ? FDS_LARGE : fd + 1 + fd / 8;
	at = ec_realloc(fds->at, (size_t)cap * sizeof(*at));
	if (at == NULL)
		return -ENOMEM;
	fds->at = at;
	while (fds->cap < cap)
		at[fds->cap++] = &ec_source_none;
	return 0;
}

static bool slab_make(struct ec_fds *fds)
{
	const size_t size = sizeof(struct ec_source);
	int num = fds->slabs == NULL ? SLAB_FIRST : SLAB;
	struct ec_source_slab *slab = ec_malloc(sizeof(*slab) + size - 1 + (size_t)num * size);
	uintptr_t after;

	if (slab == NULL)
		return false;
	after = (uintptr_t)(slab + 1);
	slab->next = fds->slabs;
	fds->slabs = slab;
	fds->spare = (struct ec_source *)(void *)((char *)(slab + 1) + (size - after % size) % size);
	fds->spare_num = num;
	return true;
}

/* A source that was not handed out before, or NULL. */
static struct ec_source *slab_take(struct ec_fds *fds)
{
	if (fds->spare_num == 0 && !slab_make(fds))
		return NULL;
	fds->spare_num--;
	return fds->spare++;
}

int ec_fds_make(struct ec_fds *fds, int fd, struct ec_source **ret)
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
	s = slab_take(fds);
	if (s == NULL)
		return -ENOMEM;
	*s = (struct ec_source){ .watch_id = (uint32_t)~fd, .state = 0 };
	ec_list_init(&s->events);
	fds->at[fd] = s;
	*ret = s;
	return 0;
}
