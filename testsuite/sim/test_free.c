/*
 * A base is freed as soon as its loop has returned, while the call that ended the loop still runs in another thread.
 * Freed memory is poisoned, and no thread may use it.
 */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "engine.h"
#include "sched.h"
#include "system.h"

enum { COLOR = 100, POISON = 0xdd };

enum how { BREAK, ACTIVE, ONCE, EXIT, POST, POST_COLOR, RESERVED, BY_FD, BY_SIGNAL, DEL, ADD, RESUME, HOWS };

struct shape {
	unsigned workers;
	enum how how;
	bool has_colors;
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	struct ec_event ev, other, first, poked, signals[2];
	struct ec_reserved *reserved;
	int fd;
	int threads[2];
} t;

static const struct timeval now = { .tv_sec = 0 };

/* ---------------------------------------------------------------- memory */

/* Memory that was freed in this schedule; it is given back when the next one begins. */
struct block {
	struct block *next;
	size_t size;
	max_align_t data[];
};

static struct block *freed;

static void *poison_malloc(size_t size)
{
	struct block *b = malloc(sizeof(*b) + size);

	if (b == NULL)
		return NULL;
	b->size = size;
	return b->data;
}

static struct block *block_of(void *p)
{
	return (struct block *)((char *)p - offsetof(struct block, data));
}

static void poison_free(void *p)
{
	struct block *b;

	if (p == NULL)
		return;
	b = block_of(p);
	memset(b->data, POISON, b->size);
	b->next = freed;
	freed = b;
}

static void *poison_realloc(void *p, size_t size)
{
	void *to = poison_malloc(size);

	if (to != NULL && p != NULL) {
		memcpy(to, p, block_of(p)->size < size ? block_of(p)->size : size);
		poison_free(p);
	}
	return to;
}

static void look_at_freed(void)
{
	struct block *b;
	size_t i;

	while ((b = freed) != NULL) {
		for (i = 0; i < b->size; i++)
			sim_check(((const unsigned char *)b->data)[i] == POISON);
		freed = b->next;
		free(b);
	}
}

/* ---------------------------------------------------------------- the loop and the other thread */

static void stop(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	sim_check(ec_base_loopbreak(t.base) == 0);
}

static void stop_post(void *arg)
{
	stop(-1, 0, arg);
}

static void nothing(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void end(void *arg)
{
	(void)arg;
	switch (t.shape->how) {
	case BREAK:
		sim_check(ec_base_loopbreak(t.base) == 0);
		break;
	case ACTIVE:
		ec_event_active(&t.ev, EC_TIMEOUT, 1);
		break;
	case ONCE:
		sim_check(ec_base_once(t.base, -1, EC_TIMEOUT, stop, NULL, &now) == 0);
		break;
	case EXIT:
		sim_check(ec_base_loopexit(t.base, NULL) == 0);
		break;
	case POST:
		sim_check(ec_base_post(t.base, 0, stop_post, NULL) == 0);
		break;
	case POST_COLOR:
		sim_check(ec_base_post(t.base, COLOR, stop_post, NULL) == 0);
		break;
	case RESERVED:
		ec_post_reserved(t.reserved, stop_post, NULL);
		break;
	case BY_FD:
		ec_base_active_by_fd(t.base, -1, EC_TIMEOUT);
		break;
	case BY_SIGNAL:
		ec_base_active_by_signal(t.base, SIGUSR1);
		break;
	case DEL:
		sim_check(ec_event_del(&t.ev, EC_DEL_AUTOBLOCK) == 0);
		break;
	case ADD:
		sim_check(ec_event_add(&t.ev, &now) == 0);
		break;
	case RESUME:
		sim_check(ec_base_pause(t.base) == 0);
		sim_check(ec_base_post(t.base, 0, stop_post, NULL) == 0);
		sim_check(ec_base_resume(t.base) == 0);
		break;
	case HOWS:
		break;
	}
}

/* Wakes the loop's thread before the other one does. */
static void poke(void *arg)
{
	(void)arg;
	sim_fd_set(t.fd, EC_READ);
}

static void poked(int fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	sim_fd_clear(fd, EC_READ);
}

/* The loop runs: a break before it would be forgotten. */
static void begin(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	t.threads[0] = sim_start("other", end, NULL);
	if (t.shape->how != DEL)
		t.threads[1] = sim_start("poke", poke, NULL);
}

/* The first one ends the loop; the second one may have another color. */
static void add_signals(void)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		sim_check(ec_event_init(&t.signals[i], t.base, SIGUSR1, EC_SIGNAL | EC_PERSIST, i == 0 ? stop : nothing,
					NULL) == 0);
		if (i == 1 && t.shape->has_colors)
			sim_check(ec_event_set_color(&t.signals[i], COLOR) == 0);
		sim_check(ec_event_add(&t.signals[i], NULL) == 0);
	}
}

static void body(const void *arg)
{
	static const struct timeval long_time = { .tv_sec = 1000 };
	int flags;

	look_at_freed();
	t.shape = arg;
	t.base = sim_base_new(t.shape->workers, "epoll");
	if (t.shape->has_colors) {
		sim_check(ec_event_init(&t.other, t.base, -1, 0, nothing, NULL) == 0);
		sim_check(ec_event_set_color(&t.other, COLOR) == 0);
		ec_event_active(&t.other, EC_TIMEOUT, 1);
		sim_check(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
		sim_check(ec_event_del(&t.other, EC_DEL_AUTOBLOCK) == 0);
	}
	sim_check(ec_event_init(&t.ev, t.base, -1, 0, stop, NULL) == 0);
	if (t.shape->how == BY_FD || t.shape->how == DEL)
		sim_check(ec_event_add(&t.ev, &long_time) == 0);
	if (t.shape->how == BY_SIGNAL)
		add_signals();
	if (t.shape->how == RESERVED)
		sim_check(ec_post_reserve(t.base, t.shape->has_colors ? COLOR : 0, &t.reserved) == 0);

	t.fd = sim_fd_open();
	sim_check(ec_event_init(&t.poked, t.base, t.fd, EC_READ | EC_PERSIST, poked, NULL) == 0);
	sim_check(ec_event_init(&t.first, t.base, -1, 0, begin, NULL) == 0);
	if (t.shape->how != DEL)
		sim_check(ec_event_add(&t.poked, NULL) == 0);
	ec_event_active(&t.first, EC_TIMEOUT, 1);

	flags = t.shape->how == DEL ? 0 : EC_LOOP_NO_EXIT_ON_EMPTY;
	sim_check(ec_base_loop(t.base, flags) >= 0);
	ec_base_free(t.base);
	sim_join(t.threads[0]);
	if (t.shape->how != DEL)
		sim_join(t.threads[1]);
	sim_fd_close(t.fd);
	look_at_freed();
}

int main(int argc, char **argv)
{
	static const char *const names[HOWS] = { "break", "active", "once", "exit", "post", "post-color", "reserved",
						 "by-fd", "by-signal", "del", "add", "resume" };
	static char named[3 * HOWS][32];
	static struct shape shapes[3 * HOWS];
	struct sim_case cases[3 * HOWS + 1] = { 0 };
	unsigned i, num = 0;

	ec_mem_set_fns(poison_malloc, poison_realloc, poison_free);
	sim_threads_on();
	for (i = 0; i < 3 * HOWS; i++) {
		unsigned kind = i / HOWS;

		if (i % HOWS == POST_COLOR && kind == 0)
			continue;
		shapes[num] = (struct shape){ kind == 2 ? 2 : 1, (enum how)(i % HOWS), kind != 0 };
		(void)snprintf(named[num], sizeof(named[num]), "%s%s", names[i % HOWS],
			       kind == 0 ? "" : kind == 1 ? "-single" : "-colored");
		cases[num] = (struct sim_case){ .name = named[num], .body = body, .arg = &shapes[num] };
		num++;
	}
	return sim_main(argc, argv, cases);
}
