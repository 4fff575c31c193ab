/*
 * Eight colors that do the same jobs, all at once, on four workers. A tenant is what belongs to one color. It is plain
 * memory, so ThreadSanitizer checks that the color protects it. With an argument, several tenants share a color.
 * Nothing waits for a time; alarm() ends what hangs.
 */
#ifndef LIBASYNC_TENANTS_H
#define LIBASYNC_TENANTS_H

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "async.h"
#include "str.h"

#include "../sanitizers.h"

#define CHECK(cond)                                                                          \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);   \
			abort();                                                             \
		}                                                                            \
	} while (0)

enum { tenants_num = 8 };

class tenant;

/* Does its work in the color of the tenant, and calls its next() once, at the end. */
typedef void (*job_fn)(tenant *t);

class tenant
{
	const job_fn *jobs;
	unsigned jobs_num;
	unsigned steps, steps_num;
	unsigned inside;

	void step();

public:
	unsigned number;
	color own; /* 0 to 7, or several tenants have one: the first tenant has that of wrap */
	unsigned count; /* for jobs */

	/* The color of this tenant, and none of its other callbacks: for as long as this lives. */
	class entered
	{
		tenant *const t;

	public:
		explicit entered(tenant *tt) : t(tt)
		{
			CHECK(libasync::is_own_color(t->own.value()));
			CHECK(t->inside++ == 0);
		}
		~entered() { t->inside--; }
	};

	tenant() : jobs(nullptr), jobs_num(0), steps(0), steps_num(0), inside(0), number(0), count(0) {}
	void start(unsigned n, unsigned colors_num, const job_fn *j, unsigned num, unsigned rounds);
	void next();
	tenant *neighbour() const;
};

static tenant tenants[tenants_num];
static std::atomic<unsigned> tenants_left(tenants_num);

inline tenant *tenant::neighbour() const
{
	return &tenants[(number + 1) % tenants_num];
}

inline void tenant::start(unsigned n, unsigned colors_num, const job_fn *j, unsigned num, unsigned rounds)
{
	number = n;
	own = color(n % colors_num);
	jobs = j;
	jobs_num = num;
	steps_num = rounds * num;
	next();
}

static inline void tenants_end()
{
	puts("ok");
	exit(0);
}

inline void tenant::next()
{
	if (steps < steps_num)
		cpucb(cwrap(this, &tenant::step, own));
	else if (--tenants_left == 0)
		cpucb(wrap(tenants_end));
}

/* In even rounds all do the same job, in odd ones all do different ones. */
inline void tenant::step()
{
	const unsigned round = steps / jobs_num;
	const unsigned job = steps + (round % 2 != 0 ? number : 0);

	CHECK(libasync::is_own_color(own.value()));
	steps++;
	jobs[job % jobs_num](this);
}

/* STRESS=full: twenty times as many. Under a sanitizer: fewer. */
static inline unsigned rounds_num(unsigned num)
{
	const char *s = getenv("STRESS");

	if (s != nullptr && strcmp(s, "full") == 0)
		return num * 20;
	return IS_SANITIZED ? num / 10 + 2 : num;
}

/* `colors` is the program's argument, or NULL: how many colors the tenants have, where modules chose equal ones. */
template <size_t N> [[noreturn]] void tenants_run(const job_fn (&jobs)[N], unsigned rounds, const char *colors)
{
	unsigned colors_num = colors != nullptr ? unsigned(atoi(colors)) : unsigned(tenants_num);

	CHECK(colors_num > 0);
	setenv("EVENT_WORKERS", "4", 1);
	alarm(600);
	for (unsigned i = 0; i < tenants_num; i++)
		tenants[i].start(i, colors_num, jobs, N, rounds_num(rounds));
	amain();
}

#endif
