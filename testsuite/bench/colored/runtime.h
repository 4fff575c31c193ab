/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef COLORED_RUNTIME_H
#define COLORED_RUNTIME_H

/*
 * What a runtime of colored tasks must offer to run the shapes: tasks of one color run one at a
 * time, in the order in which they were posted; tasks of different colors may overlap.
 *
 * A runtime is one file, rt_….c or .cc, linked with the shapes. One whose rt_post() is not to
 * cost a call of its own puts it into a header, which RT_INLINE names.
 */

#ifdef __cplusplus
extern "C" {
#endif

struct latch;
struct color;			/* the runtime's; may be a number in disguise */

/* Bytes a runtime needs in each task for itself. */
#ifndef RT_TASK_PRIVATE
#define RT_TASK_PRIVATE 0
#endif

struct task {
	void (*fn)(void *task);

	/* the runtime's, from the post until fn is called */
	struct task *next;
	struct color *color;
#if RT_TASK_PRIVATE > 0
	char bytes[RT_TASK_PRIVATE] __attribute__((aligned(16)));
#endif
};

extern const char *const rt_name;

/* Start `workers` workers. Nothing stops them: a run ends with the process. */
void rt_start(unsigned workers);

/* `home`: the worker it begins on, counted round, if the runtime cares; RT_ANY: where it likes. */
enum { RT_ANY = -1 };
struct color *rt_color_new(int home);

/* The color, or one in its place, as it began: what ran where is forgotten. It has no task. */
struct color *rt_color_renew(struct color *color, int home);

/* Call task->fn(task) on the color. Any thread. The task is its owner's again when fn is called. */
#ifdef RT_INLINE
#include RT_INLINE
#else
void rt_post(struct color *color, struct task *task);
#endif

/* Return when the latch is done; called by the main thread, which is no worker. */
void rt_wait(struct latch *latch);

/* Report what the runtime counted itself, if anything, after the shape `shape`. */
void rt_report(const char *shape);

#ifdef __cplusplus
}
#endif

#endif /* COLORED_RUNTIME_H */
