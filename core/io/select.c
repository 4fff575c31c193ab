#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>

#include "ec.h"

/*
 * Sets are arrays of words, as the kernel reads them, and as long as the highest descriptor needs. FD_SETSIZE limits
 * only the C library's macros, not the kernel.
 */
enum { BITS = CHAR_BIT * sizeof(unsigned long), SETS = 2, WORDS_FIRST = 1024 / BITS };

struct select_poller {
	struct ec_poller base;

	/* src */
	unsigned long *set[SETS];	/* to read, to write */
	int words, fds;			/* fds: the highest watched + 1 */

	/* src, while no thread is in wait(); that thread's own in wait() */
	unsigned long *copy[SETS], *result[SETS];
	int copy_words, copy_fds;
};

static struct select_poller *cast(struct ec_poller *p)
{
	return (struct select_poller *)p;
}

static int select_open(bool precise, struct ec_poller **ret)
{
	struct select_poller *p = ec_calloc(1, sizeof(*p));

	(void)precise;
	if (p == NULL)
		return -ENOMEM;
	p->base.ops = &ec_poller_select;
	p->base.kernel_fd = -1;
	*ret = &p->base;
	return 0;
}

static void select_close(struct ec_poller *base)
{
	struct select_poller *p = cast(base);
	int i;

	for (i = 0; i < SETS; i++) {
		ec_free(p->set[i]);
		ec_free(p->copy[i]);
		ec_free(p->result[i]);
	}
	ec_free(base->ready);
	ec_free(p);
}

static int select_reopen(struct ec_poller *base)
{
	struct select_poller *p = cast(base);
	int i;

	for (i = 0; i < SETS && p->words != 0; i++)
		memset(p->set[i], 0, (size_t)p->words * sizeof(*p->set[i]));
	p->fds = 0;
	p->base.is_changed = true;
	return 0;
}

static int words_grow(unsigned long **set, int had, int words)
{
	unsigned long *s = ec_realloc(*set, (size_t)words * sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	memset(s + had, 0, (size_t)(words - had) * sizeof(*s));
	*set = s;
	return 0;
}

static bool has(const unsigned long *set, int fd)
{
	return (set[fd / (int)BITS] >> fd % (int)BITS & 1) != 0;
}

static void put(unsigned long *set, int fd, bool is_in)
{
	unsigned long bit = 1UL << fd % (int)BITS;

	if (is_in)
		set[fd / (int)BITS] |= bit;
	else
		set[fd / (int)BITS] &= ~bit;
}

static int reserve(struct select_poller *p, int fd)
{
	int words = p->words == 0 ? WORDS_FIRST : p->words, i, r;

	while (words * (int)BITS <= fd)
		words *= 2;
	for (i = 0; i < SETS && words != p->words; i++) {
		r = words_grow(&p->set[i], p->words, words);
		if (r < 0)
			return r;
	}
	p->words = words;
	return 0;
}

static int select_watch(struct ec_poller *base, int fd, unsigned had, unsigned want, uint32_t cookie)
{
	struct select_poller *p = cast(base);
	int r;

	(void)had;
	(void)cookie;
	if (fd < 0 || fd > INT_MAX / 2)
		return -EINVAL;
	if (want == 0 && fd >= p->fds)
		return 0;
	r = reserve(p, fd);
	if (r < 0)
		return r;
	p->base.is_changed = true;
	put(p->set[0], fd, (want & EC_READ) != 0);
	put(p->set[1], fd, (want & EC_WRITE) != 0);
	if (want != 0 && fd >= p->fds)
		p->fds = fd + 1;
	while (p->fds > 0 && !has(p->set[0], p->fds - 1) && !has(p->set[1], p->fds - 1))
		p->fds--;
	return 0;
}

static int copies_grow(struct select_poller *p)
{
	struct ec_ready *ready;
	int i, r;

	if (p->copy_words >= p->words)
		return 0;
	for (i = 0; i < SETS; i++) {
		r = words_grow(&p->copy[i], p->copy_words, p->words);
		if (r == 0)
			r = words_grow(&p->result[i], p->copy_words, p->words);
		if (r < 0)
			return r;
	}
	ready = ec_realloc(p->base.ready, (size_t)p->words * BITS * sizeof(*ready));
	if (ready == NULL)
		return -ENOMEM;
	p->base.ready = ready;
	p->copy_words = p->words;
	return 0;
}

static int select_prepare(struct ec_poller *base)
{
	struct select_poller *p = cast(base);
	int i, r;

	r = copies_grow(p);
	if (r < 0)
		return r;
	for (i = 0; i < SETS && p->words != 0; i++)
		memcpy(p->copy[i], p->set[i], (size_t)p->words * sizeof(*p->copy[i]));
	p->copy_fds = p->fds;
	base->is_changed = false;
	return 0;
}

/* select only fails with EBADF. Find the bad descriptors and report them, so that their callbacks see the error. */
static int report_bad(struct select_poller *p)
{
	int fd, num = 0;

	for (fd = 0; fd < p->copy_fds; fd++) {
		if ((has(p->copy[0], fd) || has(p->copy[1], fd)) && fcntl(fd, F_GETFD) < 0)
			p->base.ready[num++] =
				(struct ec_ready){ .id = ec_watch_id(fd, 0), .what = EC_READ | EC_WRITE };
	}
	return num == 0 ? -EBADF : num;
}

static int collect(struct select_poller *p, int left)
{
	int fd, num = 0;
	unsigned what;

	for (fd = 0; fd < p->copy_fds && left > 0; fd++) {
		what = (has(p->result[0], fd) ? EC_READ : 0U) | (has(p->result[1], fd) ? EC_WRITE : 0U);
		if (what == 0)
			continue;
		left -= what == (EC_READ | EC_WRITE) ? 2 : 1;
		p->base.ready[num++] = (struct ec_ready){ .id = ec_watch_id(fd, 0), .what = what };
	}
	ec_ready_shuffle(&p->base, num);
	return num;
}

static int select_wait(struct ec_poller *base, int64_t wait_ns)
{
	struct select_poller *p = cast(base);
	struct timespec ts = ec_poller_timespec(wait_ns);
	int i, num;

	for (i = 0; i < SETS && p->copy_words != 0; i++)
		memcpy(p->result[i], p->copy[i], (size_t)p->copy_words * sizeof(*p->result[i]));
	num = pselect(p->copy_fds, (fd_set *)(void *)p->result[0], (fd_set *)(void *)p->result[1], NULL,
		      wait_ns < 0 ? NULL : &ts, NULL);
	if (num < 0)
		return errno == EBADF ? report_bad(p) : -errno;
	return num == 0 ? 0 : collect(p, num);
}

const struct ec_poller_ops ec_poller_select = {
	.name = "select",
	.features = EC_FEATURE_FDS,
	.open = select_open,
	.close = select_close,
	.reopen = select_reopen,
	.watch = select_watch,
	.prepare = select_prepare,
	.wait = select_wait,
	.input = EC_READ,
};
