/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CACHE_LINE = 64 };

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void complain(const char *format, va_list args)
{
	fflush(stdout);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void bench_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	exit(EXIT_FAILURE);
}

void bench_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	exit(BENCH_SKIP);
}

void *bench_alloc(size_t count, size_t size)
{
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - CACHE_LINE)
		bench_die("%zu times %zu bytes: too much", count, size);
	bytes = (bytes + CACHE_LINE) & ~(size_t)(CACHE_LINE - 1);
	memory = aligned_alloc(CACHE_LINE, bytes);
	if (memory == NULL)
		bench_die("no memory for %zu bytes", bytes);
	return memset(memory, 0, bytes);
}

static long parse(const char *what, const char *text)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || number < 0)
		bench_die("%s: \"%s\" is not a number", what, text);
	return number;
}

long bench_number(const char *text)
{
	return parse("argument", text);
}

long bench_setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text == NULL || *text == '\0' ? otherwise : parse(name, text);
}

/* The CPUs of the process as it started: a thread that pins itself passes its own mask on. */
static cpu_set_t allowed;
static pthread_once_t allowed_once = PTHREAD_ONCE_INIT;

static void learn_allowed(void)
{
	/* Fails on more CPUs than the set holds: then nothing is pinned. */
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		CPU_ZERO(&allowed);
}

void bench_pin(unsigned nth)
{
	cpu_set_t one;
	unsigned cpu = 0;

	pthread_once(&allowed_once, learn_allowed);
	if (CPU_COUNT(&allowed) == 0)
		return;
	nth %= (unsigned)CPU_COUNT(&allowed);
	while (!CPU_ISSET(cpu, &allowed) || nth-- > 0)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

void bench_raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		bench_die("getrlimit: %s", strerror(errno));
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		bench_die("setrlimit: %s", strerror(errno));
}

/* xorshift64 */
uint64_t bench_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

unsigned *bench_shuffle(unsigned count)
{
	unsigned *order = bench_alloc(count, sizeof(*order));
	uint64_t seed = 99;
	unsigned i, j, kept;

	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = count; i > 1; i--) {
		j = (unsigned)(bench_random(&seed) % i);
		kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
	return order;
}

static int compare(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

uint64_t bench_percentile(uint64_t *values, size_t count, double fraction)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(size_t)(fraction * (double)(count - 1))];
}

size_t bench_resident(void)
{
	long total, resident;
	FILE *file = fopen("/proc/self/statm", "r");
	int fields;

	if (file == NULL)
		bench_die("/proc/self/statm: %s", strerror(errno));
	fields = fscanf(file, "%ld %ld", &total, &resident);
	fclose(file);
	if (fields != 2)
		bench_die("/proc/self/statm: cannot be read");
	return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

const struct bench_shape *bench_shape_of(int argc, char **argv, const struct bench_shape *shapes, size_t shapes_num,
					 const char *before)
{
	const int own = before != NULL ? 3 : 2;
	size_t i;

	for (i = 0; i < shapes_num && argc > 1; i++) {
		if (strcmp(argv[1], shapes[i].name) == 0 && argc == own + shapes[i].args_num)
			return &shapes[i];
	}
	for (i = 0; i < shapes_num; i++) {
		fprintf(stderr, "%s %s%s%s %s\n", argv[0], shapes[i].name, before != NULL ? " " : "",
			before != NULL ? before : "", shapes[i].help);
	}
	exit(2);
}

void bench_report(const char *shape, const char *name, const char *metric, double value,
		  const char *unit)
{
	const char *given = getenv("BENCH_NAME");

	printf("%s\t%s\t%s\t%.6g\t%s\n", shape, given != NULL ? given : name, metric, value, unit);
	fflush(stdout);
}
