/*
 * A program of shapes: each executes a loop NUM times, and callgrind counts its instructions. `callback-count` does it.
 */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noinline, noclone))
#endif

struct shape {
	const char *name;
	void (*run)(long num);
};

/* Without arguments, prints the names. What main returns; a shape that was run leaves what it made to the system. */
template <size_t N> inline int run_shape(const shape (&shapes)[N], int argc, char **argv)
{
	for (const shape &s : shapes) {
		if (argc == 1)
			puts(s.name);
		if (argc == 3 && strcmp(argv[1], s.name) == 0) {
			s.run(atol(argv[2]));
			_exit(0);
		}
	}
	return argc == 1 ? 0 : 2;
}

#endif
