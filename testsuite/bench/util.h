/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef BENCH_UTIL_H
#define BENCH_UTIL_H

/*
 * What every benchmark program needs: clocks, a fixed random sequence, pinning, one format of
 * result. A failure of the machine (no memory, no descriptors) ends the program with a
 * message: a benchmark has nothing to fall back to.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit status that means "this cannot run here"; the reason is the last line on stderr. */
#define BENCH_SKIP 77

uint64_t bench_now_ns(void);

/* End the program; `format` is as printf's. */
void bench_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void bench_skip(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Memory that is zeroed, on cache lines of its own, and never NULL. */
void *bench_alloc(size_t count, size_t size);

/* A whole number above 0 from the command line, or the end. */
long bench_number(const char *text);

/* The value of an environment variable as a number, `otherwise` where it is not set. */
long bench_setting(const char *name, long otherwise);

/* Keep the caller on the `nth` CPU that this process may use, counted round. */
void bench_pin(unsigned nth);

/* As many descriptors as the system lets this process have. */
void bench_raise_fd_limit(void);

uint64_t bench_random(uint64_t *state);

/* The numbers 0 to count - 1 in an order that is the same in every run. */
unsigned *bench_shuffle(unsigned count);

/* The value below which `fraction` of them lie; sorts them. */
uint64_t bench_percentile(uint64_t *values, size_t count, double fraction);

/* Bytes of physical memory the process holds now. */
size_t bench_resident(void);

/* What a program can be told to do, by its first argument. */
struct bench_shape {
	const char *name;
	int args_num;
	void (*run)(char **args);
	const char *help;		/* those arguments */
};

/*
 * The shape that the command line names. `before` stands for an argument that comes ahead of the shape's own, NULL:
 * none does. Where the command line is wrong, the end, with all shapes on stderr.
 */
const struct bench_shape *bench_shape_of(int argc, char **argv, const struct bench_shape *shapes, size_t shapes_num,
					 const char *before);

/*
 * One result, a line of five fields on stdout. `name` says who was measured: the program's
 * word, unless the environment gives another in BENCH_NAME.
 */
void bench_report(const char *shape, const char *name, const char *metric, double value,
		  const char *unit);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_UTIL_H */
