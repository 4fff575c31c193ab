#include "fibers.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ec.h"
#include "keyed.h"
#include "lock/sync.h"
#include "orders.h"
#include "os/list.h"
#include "os/stack.h"
#include "os/tsan.h"
#include "sockets.h"
#include "symbol.h"

enum { NAME = 64 };

struct fiber {
	struct ec_keyed_node node;
	struct ec_list link;		/* if it has `tsan`: those that ran longest ago first */
	struct fiber *color;		/* of a reader: its color */
	void *tsan;			/* NULL: it has none now, and no stack */
	struct ec_stack *stack;
	const void *fn;			/* that it is named after */
	uint32_t number;		/* in names */

	/* Addresses. A callback takes its own, and an exclusive one the color's readers; it releases its own. */
	char order, readers;
};

/* A callback that runs. */
struct frame {
	struct ec_fibers *f;
	const struct ec_fiber_call *call;
	void (*run)(void *arg);
	void *arg;
	struct frame *outer;		/* the callback around it */
	struct fiber *fiber;		/* NULL: that of the loop */
	void *back;			/* the fiber that it was called from */
	uint64_t signals;		/* the mask after it */
	bool is_lost;			/* its color has no fiber, for want of memory */
};

/* The name of a function. */
struct named {
	struct ec_keyed_node node;
	char name[NAME];
};

struct ec_fibers {
	/* const */
	enum ec_check mode;
	struct ec_orders orders;	/* has a lock of its own */

	/* own: the loop's thread, or who has made it rest */
	void *home;			/* the fiber that runs the loop */
	void *scribe;			/* the one that reads files; NULL: it is not needed yet */
	struct ec_keyed colors, readers, names;
	struct ec_list ran;
	uint32_t tsan_num, numbers;
	struct frame *frame;		/* the innermost callback that runs; NULL: none does */

	/* addresses */
	char gate;			/* what comes before all callbacks that begin later */
	char lost;			/* the order of what got no fiber of its own */
};

/* Makers of fibers take turns, see ec_tsan_fiber_new. */
static struct ec_spin making = { .rank = EC_RANK_LEAF };

static void *fiber_new(void)
{
	void *fiber;

	ec_spin_lock(&making);
	fiber = ec_tsan_fiber_new();
	ec_spin_unlock(&making);
	return fiber;
}

struct ec_fibers *ec_fibers_new(enum ec_check mode)
{
	struct ec_fibers *f = ec_calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->mode = mode;
	ec_orders_init(&f->orders);
	ec_keyed_init(&f->colors);
	ec_keyed_init(&f->readers);
	ec_keyed_init(&f->names);
	ec_list_init(&f->ran);
	ec_spin_lock(&making);
	ec_tsan_fibers_start();
	ec_spin_unlock(&making);
	return f;
}

/* ---------------------------------------------------------------- the end */

static struct fiber *fiber_of(struct ec_keyed_node *node)
{
	return ec_container_of(node, struct fiber, node);
}

static void give_up(struct ec_fibers *f, struct fiber *fiber)
{
	ec_tsan_fiber_free(fiber->tsan);
	ec_stack_free(fiber->stack);
	fiber->tsan = NULL;
	ec_list_remove(&fiber->link);
	f->tsan_num--;
}

static void free_fiber(struct ec_keyed_node *node, void *arg)
{
	struct fiber *fiber = fiber_of(node);

	if (fiber->tsan != NULL)
		give_up(arg, fiber);
	ec_free(fiber);
}

static void free_name(struct ec_keyed_node *node, void *arg)
{
	(void)arg;
	ec_free(ec_container_of(node, struct named, node));
}

void ec_fibers_free(struct ec_fibers *f)
{
	if (f == NULL)
		return;
	ec_keyed_each(&f->readers, free_fiber, f);
	ec_keyed_fini(&f->readers);
	ec_keyed_each(&f->colors, free_fiber, f);
	ec_keyed_fini(&f->colors);
	ec_keyed_each(&f->names, free_name, NULL);
	ec_keyed_fini(&f->names);
	if (f->scribe != NULL)
		ec_tsan_fiber_free(f->scribe);
	ec_orders_fini(&f->orders);
	ec_free(f);
}

/* ---------------------------------------------------------------- names */

/*
 * ThreadSanitizer orders a read of a file after all writes to files before. So one fiber reads, for all: no callback
 * runs in it. Its accesses to the loop's stack do not count.
 */
static void symbol_find(struct ec_fibers *f, const void *fn, struct ec_symbol *symbol)
{
	void *self = ec_tsan_fiber_self();

	if (f->scribe == NULL)
		f->scribe = fiber_new();
	ec_tsan_fiber_switch(f->scribe);
	ec_tsan_ignore_begin();
	ec_symbol_find(fn, EC_SYMBOL_ENTRY, symbol);
	ec_tsan_ignore_end();
	ec_tsan_fiber_switch(self);
}

/* A callback of a bufferevent, for instance: the program's own is further down. */
static bool is_ours(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash == NULL ? path : slash + 1, "libevent", strlen("libevent")) == 0;
}

static void name_find(struct ec_fibers *f, char name[NAME], const void *fn)
{
	struct ec_symbol symbol;

	symbol_find(f, fn, &symbol);
	if (is_ours(symbol.object))
		snprintf(name, NAME, "in libevent");
	else if (symbol.name[0] != '\0')
		snprintf(name, NAME, "%.*s", NAME - 1, symbol.name);
	else
		snprintf(name, NAME, "0x%" PRIxPTR, (uintptr_t)fn);
}

/* `room`: for the name if it cannot be kept. */
static const char *name_of(struct ec_fibers *f, const void *fn, char room[NAME])
{
	struct ec_keyed_node *node = ec_keyed_find(&f->names, (uintptr_t)fn);
	struct named *named;

	if (node != NULL)
		return ec_container_of(node, struct named, node)->name;
	name_find(f, room, fn);
	named = ec_malloc(sizeof(*named));
	if (named != NULL) {
		memcpy(named->name, room, NAME);
		ec_keyed_add(&f->names, &named->node, (uintptr_t)fn);
	}
	return room;
}

static void name_set(struct ec_fibers *f, struct fiber *fiber, const void *fn)
{
	static const char *const kinds[] = {
		[EC_CHECK_OFF] = "", [EC_CHECK_COLORS] = "color", [EC_CHECK_DESCRIPTOR] = "descriptor",
		[EC_CHECK_CONNECTION] = "connection", [EC_CHECK_CALLBACK] = "callback",
	};
	char name[2 * NAME], room[NAME];

	if (fiber->fn == fn)
		return;
	fiber->fn = fn;
	ec_tsan_ignore_begin();
	snprintf(name, sizeof(name), "%s %" PRIu32 "%s (%s)", kinds[f->mode], fiber->number,
		 fiber->color != NULL ? ", shared" : "", name_of(f, fn, room));
	ec_tsan_ignore_end();
	ec_tsan_fiber_set_name(fiber->tsan, name);
}

/* ---------------------------------------------------------------- which fiber */

/* False: the callback stays in the loop's fiber, as color 0 does. */
static bool key_of(const struct ec_fibers *f, const struct ec_fiber_call *call, uintptr_t *ret)
{
	bool has_fd = call->fd >= 0;

	switch (f->mode) {
	case EC_CHECK_DESCRIPTOR:
		*ret = (uintptr_t)call->fd;
		return has_fd;
	case EC_CHECK_CONNECTION:
		*ret = call->arg != NULL ? (uintptr_t)call->arg : (uintptr_t)call->fd;
		return call->arg != NULL || has_fd;
	case EC_CHECK_CALLBACK:
		*ret = (uintptr_t)call->fn;
		return true;
	case EC_CHECK_COLORS:
	case EC_CHECK_OFF:
		break;
	}
	*ret = call->color;
	return call->color != 0;
}

static struct fiber *fiber_add(struct ec_keyed *k, uintptr_t key)
{
	struct ec_keyed_node *node = ec_keyed_find(k, key);
	struct fiber *fiber;

	if (node != NULL)
		return fiber_of(node);
	fiber = ec_calloc(1, sizeof(*fiber));
	if (fiber != NULL)
		ec_keyed_add(k, &fiber->node, key);
	return fiber;
}

static struct fiber *color_find(struct ec_fibers *f, uintptr_t key)
{
	uint32_t num = f->colors.num;
	struct fiber *fiber = fiber_add(&f->colors, key);

	if (f->colors.num == num)
		return fiber;
	(void)__atomic_fetch_add(&ec_check_counts->colors, 1, __ATOMIC_RELAXED);
	fiber->number = f->mode == EC_CHECK_COLORS || f->mode == EC_CHECK_DESCRIPTOR ? (uint32_t)key : ++f->numbers;
	return fiber;
}

/* NULL: that of the loop. *is_lost: for want of memory. */
static struct fiber *fiber_find(struct ec_fibers *f, const struct ec_fiber_call *call, bool *is_lost)
{
	struct fiber *color, *reader;
	uintptr_t key;

	*is_lost = false;
	if (!key_of(f, call, &key))
		return NULL;
	color = color_find(f, key);
	*is_lost = color == NULL;
	if (color == NULL || !call->is_shared || f->mode != EC_CHECK_COLORS)
		return color;
	reader = fiber_add(&f->readers, (uintptr_t)call->event);
	*is_lost = reader == NULL;
	if (reader != NULL) {
		reader->color = color;
		reader->number = color->number;
	}
	return reader;
}

/* ---------------------------------------------------------------- as many as there may be */

static bool is_running(const struct ec_fibers *f, const struct fiber *fiber)
{
	const struct frame *frame;

	for (frame = f->frame; frame != NULL; frame = frame->outer) {
		if (frame->fiber == fiber || frame->back == fiber->tsan)
			return true;
	}
	return f->home == fiber->tsan;
}

/* The one that ran longest ago. */
static void make_room(struct ec_fibers *f)
{
	struct ec_list *node;
	struct fiber *fiber;

	for (node = f->ran.next; node != &f->ran; node = node->next) {
		fiber = ec_container_of(node, struct fiber, link);
		if (!is_running(f, fiber)) {
			give_up(f, fiber);
			return;
		}
	}
}

static void forget_one(struct ec_keyed_node *node, void *arg)
{
	struct fiber *fiber = fiber_of(node);
	struct ec_fibers *f = arg;

	if (fiber->tsan != NULL || fiber->color != NULL || is_running(f, fiber))
		return;
	ec_tsan_do_acquire(&fiber->order);
	ec_tsan_do_acquire(&fiber->readers);
	ec_keyed_remove(&f->colors, node);
	ec_free(fiber);
}

/* The order of those without a fiber becomes one, which all callbacks come after. It is rare, so the loop may, too. */
static void make_room_for_orders(struct ec_fibers *f)
{
	if (f->colors.num <= EC_FIBERS_KEPT || f->readers.num != 0)
		return;
	ec_keyed_each(&f->colors, forget_one, f);
	ec_tsan_do_release(&f->lost);
}

/* False: no memory for a stack. */
static bool wake(struct ec_fibers *f, struct fiber *fiber)
{
	if (fiber->tsan != NULL) {
		ec_list_remove(&fiber->link);
	} else {
		if (f->tsan_num >= EC_FIBERS_MAX)
			make_room(f);
		fiber->stack = ec_stack_new();
		if (fiber->stack == NULL)
			return false;
		fiber->tsan = fiber_new();
		fiber->fn = NULL;
		f->tsan_num++;
	}
	ec_list_push_back(&f->ran, &fiber->link);
	return true;
}

/* ---------------------------------------------------------------- callbacks */

static void acquire_one(struct ec_keyed_node *node, void *arg)
{
	(void)arg;
	ec_tsan_do_acquire(&fiber_of(node)->order);
}

void ec_fibers_rest(struct ec_fibers *f)
{
	ec_tsan_do_acquire(&f->gate);
	ec_keyed_each(&f->colors, acquire_one, NULL);
	ec_keyed_each(&f->readers, acquire_one, NULL);
	ec_tsan_do_acquire(&f->lost);
}

static void take_orders(const struct frame *frame)
{
	const struct fiber *fiber = frame->fiber;

	ec_tsan_do_acquire(&frame->f->gate);
	ec_tsan_do_acquire(&frame->f->lost);
	ec_orders_take(&frame->f->orders, frame->call->task);
	if (frame->is_lost)
		ec_fibers_rest(frame->f);
	if (fiber == NULL)
		return;
	ec_tsan_do_acquire(&fiber->order);
	ec_tsan_do_acquire(fiber->color != NULL ? &fiber->color->order : &fiber->readers);
}

static void release_orders(const struct frame *frame)
{
	struct fiber *fiber = frame->fiber;

	if (frame->call->event != NULL)
		ec_orders_end(&frame->f->orders, frame->call->event);
	if (frame->is_lost)
		ec_tsan_do_release(&frame->f->lost);
	if (fiber == NULL)
		return;
	ec_tsan_do_release(&fiber->order);
	if (fiber->color != NULL)
		ec_tsan_do_release(&fiber->color->readers);
}

/* No signal comes from now on. The mask before. */
static uint64_t signals_block(void)
{
	uint64_t all = UINT64_MAX, before = 0;

	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	return before;
}

/*
 * ThreadSanitizer keeps a signal that came meanwhile for the fiber that ran, until that calls the C library. If the
 * fiber does not run again, the signal is lost. So it calls here; no other signal comes until the fiber has left.
 */
static void run(void *arg)
{
	struct frame *frame = arg;
	int err;

	take_orders(frame);
	frame->run(frame->arg);
	err = errno;
	frame->signals = signals_block();
	(void)close(-1);
	errno = err;
	release_orders(frame);
}

/* From the fiber that ran. */
static void come_back(const struct frame *frame)
{
	if (frame->back != ec_tsan_fiber_self())
		ec_tsan_fiber_switch(frame->back);
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &frame->signals, NULL, sizeof(frame->signals));
}

static void run_in_fiber(struct frame *frame)
{
	name_set(frame->f, frame->fiber, frame->call->fn);
	ec_tsan_fiber_switch(frame->fiber->tsan);
	ec_stack_call(frame->fiber->stack, run, frame);
}

static void run_in_loop(struct frame *frame)
{
	if (frame->back != frame->f->home)
		ec_tsan_fiber_switch(frame->f->home);
	run(frame);
}

void ec_fibers_call(struct ec_fibers *f, const struct ec_fiber_call *call, void (*fn)(void *arg), void *arg)
{
	struct frame frame = { .f = f, .call = call, .run = fn, .arg = arg, .outer = f->frame };

	(void)__atomic_fetch_add(&ec_check_counts->callbacks, 1, __ATOMIC_RELAXED);
	if (f->frame == NULL)
		make_room_for_orders(f);
	frame.back = ec_tsan_fiber_self();
	frame.fiber = fiber_find(f, call, &frame.is_lost);
	if (frame.fiber != NULL && !wake(f, frame.fiber)) {
		frame.fiber = NULL;
		frame.is_lost = true;
	}
	f->frame = &frame;
	if (frame.fiber != NULL)
		run_in_fiber(&frame);
	else
		run_in_loop(&frame);
	come_back(&frame);
	f->frame = frame.outer;
}

/* ---------------------------------------------------------------- around callbacks */

void ec_fibers_enter(struct ec_fibers *f)
{
	f->home = ec_tsan_fiber_self();
	ec_tsan_own_thread_locals();
	ec_tsan_do_acquire(&f->lost);
	ec_tsan_do_release(&f->gate);
}

/* Callbacks of the loop's fiber are ordered before a later loop in another thread. */
void ec_fibers_leave(struct ec_fibers *f)
{
	ec_fibers_rest(f);
	ec_tsan_do_release(&f->lost);
	f->home = NULL;
}

void ec_fibers_hand(struct ec_fibers *f, const void *task, int fd)
{
	if (fd >= 0)
		ec_sockets_part(fd);
	ec_orders_hand(&f->orders, task);
}

void ec_fibers_forget(struct ec_fibers *f, const void *event)
{
	ec_orders_forget(&f->orders, event);
}

void ec_fibers_open(struct ec_fibers *f)
{
	ec_tsan_do_release(&f->gate);
}
