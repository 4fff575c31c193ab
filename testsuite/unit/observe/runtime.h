/*
 * In the place of ThreadSanitizer's runtime: fibers with vector clocks, which a test can ask. For one thread, and one
 * test program.
 */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIBERS = 640, SYNCS = 8192 };

struct fiber_model {
	unsigned id;
	bool is_freed;
	char name[64];
	unsigned clock[FIBERS];
};

static struct fiber_model models[FIBERS] = { { .clock = { 1 } } };
static unsigned models_num = 1, models_live;
static struct fiber_model *now = &models[0];
static unsigned ignores;

static struct {
	const void *at;
	unsigned clock[FIBERS];
} syncs[SYNCS];
static unsigned syncs_num;

static void join(unsigned *to, const unsigned *from)
{
	unsigned i;

	for (i = 0; i < FIBERS; i++)
		to[i] = to[i] < from[i] ? from[i] : to[i];
}

static unsigned *sync_of(const void *at)
{
	unsigned i;

	for (i = 0; i < syncs_num && syncs[i].at != at; i++)
		;
	if (i == syncs_num) {
		if (syncs_num == SYNCS)
			abort();
		syncs[syncs_num++].at = at;
	}
	return syncs[i].clock;
}

/* As when the memory is freed. */
static void sync_forget(const void *at)
{
	unsigned i;

	for (i = 0; i < syncs_num; i++) {
		if (syncs[i].at == at)
			syncs[i] = syncs[--syncs_num];
	}
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_acquire(void *at);
void __tsan_acquire(void *at)
{
	join(now->clock, sync_of(at));
}

void __tsan_release(void *at);
void __tsan_release(void *at)
{
	join(sync_of(at), now->clock);
	now->clock[now->id]++;
}

void *__tsan_create_fiber(unsigned flags);
void *__tsan_create_fiber(unsigned flags)
{
	struct fiber_model *f = &models[models_num];

	(void)flags;
	if (models_num == FIBERS)
		abort();
	f->id = models_num++;
	models_live++;
	memcpy(f->clock, now->clock, sizeof(f->clock));
	f->clock[f->id]++;
	now->clock[now->id]++;
	return f;
}

void __tsan_destroy_fiber(void *fiber);
void __tsan_destroy_fiber(void *fiber)
{
	struct fiber_model *f = fiber;

	if (f->is_freed || f == now)
		abort();
	f->is_freed = true;
	models_live--;
}

void *__tsan_get_current_fiber(void);
void *__tsan_get_current_fiber(void)
{
	return now;
}

void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_switch_to_fiber(void *fiber, unsigned flags)
{
	if (((struct fiber_model *)fiber)->is_freed || flags != 1)
		abort();
	now = fiber;
}

void __tsan_set_fiber_name(void *fiber, const char *name);
void __tsan_set_fiber_name(void *fiber, const char *name)
{
	strncpy(((struct fiber_model *)fiber)->name, name, sizeof(now->name) - 1);
}

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line)
{
	(void)file;
	(void)line;
	ignores++;
}

void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line)
{
	(void)file;
	(void)line;
	if (ignores-- == 0)
		abort();
}

void AnnotateBenignRaceSized(const char *file, int line, const void *at, size_t len, const char *why);
void AnnotateBenignRaceSized(const char *file, int line, const void *at, size_t len, const char *why)
{
	(void)file;
	(void)line;
	(void)at;
	(void)len;
	(void)why;
}

/* ---------------------------------------------------------------- questions */

/* An access. */
struct stamp {
	unsigned fiber, epoch;
};

static struct stamp stamp(void)
{
	return (struct stamp){ now->id, now->clock[now->id] };
}

/* Is what happened then ordered before what happens now? */
static bool comes_after(struct stamp s)
{
	return now->clock[s.fiber] >= s.epoch;
}

#endif
