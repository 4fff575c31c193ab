#include "driver.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sched.h"

enum {
	SEEDS_DEFAULT = 5000,
	STEPS_DEFAULT = 100000,
	WATCH_EVERY = 64,		/* schedules … */
	WATCH_S = 120,			/* … that may take so long, or hang between two points */
	WATCH_MUTANT_CPU_S = 10,	/* a mutant that corrupts a list may walk it for ever */
};

struct options {
	const char *only;
	uint64_t seeds, from, seed;
	bool is_replay, is_traced, must_fail, is_weak;
};

static const char usage[] =
	"usage: %s [--seeds N] [--from S] [--case NAME] [--must-fail] [--weak]\n"
	"       %s --case NAME --seed S [--trace] [--weak]\n"
	"       %s --list\n";

static unsigned steps_max(const struct sim_case *c)
{
	return c->steps_max == 0 ? STEPS_DEFAULT : c->steps_max;
}

static void watch(bool must_fail)
{
	static const struct itimerval cpu = { .it_value = { WATCH_MUTANT_CPU_S, 0 } };

	alarm(WATCH_S);
	if (must_fail && setitimer(ITIMER_PROF, &cpu, NULL) != 0)
		_exit(2);
}

/* Never returns: the child's exit status and the report are the result. */
static _Noreturn void run_seeds(const struct sim_case *c, const struct options *opt,
				struct sim_report *report, bool is_quiet)
{
	uint64_t i, num = opt->seeds;

	if (is_quiet && freopen("/dev/null", "w", stderr) == NULL)
		_exit(2);
	if (c->seeds != 0 && c->seeds < num)
		num = c->seeds;
	sim_init(report, false);
	sim_set_weak(opt->is_weak || c->is_weak);
	for (i = 0; i < num; i++) {
		if (i % WATCH_EVERY == 0)
			watch(is_quiet);
		sim_run_seed(opt->from + i, steps_max(c), c->body, c->arg);
	}
	report->seed = num;
	exit(0);
}

static void explain(const struct sim_report *report, int status, char *buf, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "%s at seed %llu (%s)", strsignal(WTERMSIG(status)),
			 (unsigned long long)report->seed, report->strategy);
	else if (report->reason[0] == '\0')
		snprintf(buf, size, "exit status %d at seed %llu (%s)", WEXITSTATUS(status),
			 (unsigned long long)report->seed, report->strategy);
	else
		snprintf(buf, size, "seed %llu (%s): %s", (unsigned long long)report->seed,
			 report->strategy, report->reason);
}

/* True: as it should be. */
static bool judge(const struct sim_case *c, bool must_fail, const struct sim_report *report, int status,
		  double seconds)
{
	bool has_failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	char why[1024];

	if (!has_failed) {
		printf("%s  %-32s %llu schedules, %llu steps, %.2f s%s\n", must_fail ? "FAIL" : "ok  ",
		       c->name, (unsigned long long)report->seed, (unsigned long long)report->steps,
		       seconds, must_fail ? ": the mutant survived" : "");
		return !must_fail;
	}
	explain(report, status, why, sizeof(why));
	printf("%s  %-32s %s%s\n", must_fail ? "ok  " : "FAIL", c->name, must_fail ? "caught at " : "", why);
	return must_fail;
}

static bool run_case(const struct sim_case *c, const struct options *opt, struct sim_report *report)
{
	bool must_fail = opt->must_fail || c->must_fail;
	struct timespec from, to;
	int status;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	clock_gettime(CLOCK_MONOTONIC, &from);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_seeds(c, opt, report, must_fail);
	if (pid < 0) {
		perror("fork");
		return false;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			perror("waitpid");
			return false;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	return judge(c, must_fail, report, status,
		     (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
}

static int run_all(const struct sim_case *cases, const struct options *opt)
{
	struct sim_report *report;
	int r = 0, num = 0;

	/* Shared, so that what a crashed child was doing is still known. */
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (; cases->name != NULL; cases++) {
		if (opt->only != NULL && strcmp(opt->only, cases->name) != 0)
			continue;
		num++;
		if (!run_case(cases, opt, report))
			r = 1;
	}
	munmap(report, sizeof(*report));
	if (num == 0) {
		fprintf(stderr, "no such case: %s\n", opt->only == NULL ? "" : opt->only);
		return 2;
	}
	return r;
}

static int replay(const struct sim_case *cases, const struct options *opt)
{
	static struct sim_report report;

	for (; cases->name != NULL; cases++) {
		if (opt->only != NULL && strcmp(opt->only, cases->name) != 0)
			continue;
		sim_init(&report, opt->is_traced);
		sim_set_weak(opt->is_weak || cases->is_weak);
		sim_run_seed(opt->seed, steps_max(cases), cases->body, cases->arg);
		printf("%s: seed %llu (%s) passes, %llu steps\n", cases->name,
		       (unsigned long long)opt->seed, report.strategy,
		       (unsigned long long)report.steps);
		return 0;
	}
	fprintf(stderr, "no such case: %s\n", opt->only == NULL ? "" : opt->only);
	return 2;
}

static bool number(const char *s, uint64_t *ret)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(s, &end, 10);
	if (*s < '0' || *s > '9' || *end != '\0' || errno != 0) {
		fprintf(stderr, "not a number: %s\n", s);
		return false;
	}
	*ret = n;
	return true;
}

static bool environment(struct options *opt)
{
	const char *seed = getenv("SIM_SEED"), *seeds = getenv("SIM_SEEDS");

	opt->is_traced = getenv("SIM_TRACE") != NULL;
	if (seeds != NULL && !number(seeds, &opt->seeds))
		return false;
	opt->is_replay = seed != NULL;
	return seed == NULL || number(seed, &opt->seed);
}

int sim_main(int argc, char **argv, const struct sim_case *cases)
{
	static const struct option longs[] = {
		{ "seeds", required_argument, NULL, 'n' },
		{ "from", required_argument, NULL, 'f' },
		{ "seed", required_argument, NULL, 's' },
		{ "case", required_argument, NULL, 'c' },
		{ "trace", no_argument, NULL, 't' },
		{ "must-fail", no_argument, NULL, 'm' },
		{ "weak", no_argument, NULL, 'w' },
		{ "list", no_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	struct options opt = { .seeds = SEEDS_DEFAULT, .from = 1 };
	bool is_right = environment(&opt);
	int o;

	while (is_right && (o = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (o) {
		case 'n':
			is_right = number(optarg, &opt.seeds);
			break;
		case 'f':
			is_right = number(optarg, &opt.from);
			break;
		case 's':
			opt.is_replay = is_right = number(optarg, &opt.seed);
			break;
		case 'c':
			opt.only = optarg;
			break;
		case 't':
			opt.is_traced = true;
			break;
		case 'm':
			opt.must_fail = true;
			break;
		case 'w':
			opt.is_weak = true;
			break;
		case 'l':
			for (; cases->name != NULL; cases++)
				printf("%s\n", cases->name);
			return 0;
		default:
			is_right = false;
		}
	}
	if (!is_right || optind != argc) {
		fprintf(stderr, usage, argv[0], argv[0], argv[0]);
		return 2;
	}
	return opt.is_replay ? replay(cases, &opt) : run_all(cases, &opt);
}
