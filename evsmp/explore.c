/*
 * explore: one program under many schedules. The first that fails is shrunk, and written to a file with which it fails
 * again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "core/os/number.h"
#include "judge.h"
#include "record.h"
#include "shrink.h"
#include "switches.h"
#include "symbols.h"
#include "trials.h"

enum {
	SEEDS = 1000,			/* the default */
	TIMEOUT_S = 10,
	SHRINK_S = 60,
	REPLAYS = 10,			/* of the result */
	STEPS_MIN = 8,
	LINES = 10,			/* of the failure's output */
};

struct options {
	uint64_t first, last;		/* seeds */
	unsigned jobs, depth, timeout_s, shrink_s;
	bool is_pct;
	const char *time, *workers, *out;
};

/* ---------------------------------------------------------------- options */

static uint64_t number(const char *name, const char *s, const char *end, uint64_t min, uint64_t max)
{
	const char *at = s;
	uint64_t n;

	if (!ec_number_read(&at, max, &n) || at != end || n < min)
		die(EVSMP_USAGE, "explore: %s needs a number from %" PRIu64 " to %" PRIu64 ", not \"%.*s\".", name,
		    min, max, (int)(end - s), s);
	return n;
}

static unsigned small(const char *name, const char *s, unsigned min, unsigned max)
{
	return (unsigned)number(name, s, s + strlen(s), min, max);
}

/* A..B, or B alone: 1..B */
static void seeds_set(struct options *o, const char *s)
{
	const uint64_t max = UINT64_MAX - 1;	/* so that one more is a number, too */
	const char *dots = strstr(s, "..");

	o->first = dots == NULL ? 1 : number("--seeds", s, dots, 0, max);
	if (dots != NULL)
		s = dots + 2;
	o->last = number("--seeds", s, s + strlen(s), 0, max);
	if (o->last < o->first)
		die(EVSMP_USAGE, "explore: --seeds needs the smaller number first.");
}

static void policy_set(struct options *o, const char *s)
{
	o->is_pct = strcmp(s, "pct") == 0;
	if (!o->is_pct && strcmp(s, "random") != 0)
		die(EVSMP_USAGE, "explore: --policy is random or pct, not \"%s\".", s);
}

static void time_set(struct options *o, const char *s)
{
	if (strcmp(s, "real") != 0 && strcmp(s, "virtual") != 0 && !starts_with(s, "virtual:"))
		die(EVSMP_USAGE, "explore: --time is virtual, virtual:MILLISECONDS, or real, not \"%s\".", s);
	if (starts_with(s, "virtual:"))
		(void)small("--time virtual:", s + strlen("virtual:"), 0, 3600000);
	o->time = s;
}

/* False: there is no such option. */
static bool option_set(struct options *o, const char *name, const char *value)
{
	if (strcmp(name, "--seeds") == 0)
		seeds_set(o, value);
	else if (strcmp(name, "--jobs") == 0)
		o->jobs = small(name, value, 1, TRIALS_MAX);
	else if (strcmp(name, "--policy") == 0)
		policy_set(o, value);
	else if (strcmp(name, "--depth") == 0)
		o->depth = small(name, value, 1, 64);
	else if (strcmp(name, "--time") == 0)
		time_set(o, value);
	else if (strcmp(name, "--timeout") == 0)
		o->timeout_s = small(name, value, 1, 3600);
	else if (strcmp(name, "--shrink") == 0)
		o->shrink_s = small(name, value, 0, 3600);
	else if (strcmp(name, "--workers") == 0)
		o->workers = text("%u", small(name, value, 1, 1024));
	else if (strcmp(name, "--out") == 0)
		o->out = value;
	else
		return false;
	return true;
}

/* --name value, or --name=value. The number of words. */
static int options_read(struct options *o, int argc, char **argv)
{
	const char *value;
	size_t len;
	int i;

	for (i = 0; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		len = strcspn(argv[i], "=");
		value = argv[i][len] == '=' ? argv[i] + len + 1 : argv[i + 1];
		if (!option_set(o, text("%.*s", (int)len, argv[i]), value == NULL ? "" : value))
			die(EVSMP_USAGE, "explore has no option %s (evsmp explore --help lists them).", argv[i]);
		if (argv[i][len] != '=')
			i++;
	}
	return i;
}

/* ---------------------------------------------------------------- what is said */

/* A word for a shell. */
static const char *quoted(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	char *out = text("'%s'", s);
	const char *c;

	if (*s != '\0' && s[strspn(s, plain)] == '\0')
		return s;
	if (strchr(s, '\'') == NULL)
		return out;
	for (out = text("'"), c = s; *c != '\0'; c++)
		out = *c == '\'' ? text("%s'\\''", out) : text("%s%c", out, *c);
	return text("%s'", out);
}

static const char *command_line(char **argv)
{
	const char *line = "evsmp run --";

	for (; *argv != NULL; argv++)
		line = text("%s %s", line, quoted(*argv));
	return line;
}

/* The names of the program's functions before their addresses: "color 2 (read_balance, lost_update+0x13a3)". */
static const char *with_names(const char *note, const struct object *file, const char *program)
{
	const char *head = text("(%s+0x", program), *at, *name, *done = "";

	while ((at = strstr(note, head)) != NULL) {
		name = symbols_file_find(file, strtoull(at + strlen(head), NULL, 16));
		done = text("%s%.*s(%s%s", done, (int)(at - note), note, name == NULL ? "" : name,
			    name == NULL ? "" : ", ");
		note = at + 1;
	}
	return text("%s%s", done, note);
}

/* What ran before its turn. */
static void show_switches(const struct switches *made, const char *program)
{
	struct object *file = symbols_file_new(program);
	const char *note;
	size_t i;

	for (i = 0; i < made->num && i < LINES; i++) {
		note = made->at[i].note;
		printf("\t%s\n", shown(file == NULL ? note : with_names(note, file, base_name(program))));
	}
	symbols_file_free(file);
	if (made->num > LINES)
		printf("\t(and %zu more)\n", made->num - LINES);
}

/* The last lines of what a trial wrote. */
static void show_output(const struct trial *trial)
{
	size_t len = 0, at, lines = 0;
	char *data = file_read(trial->output, &len), *line, *nul;

	if (data == NULL || len == 0)
		return;
	for (at = len - 1; at > 0 && lines < LINES; at--)
		lines += data[at - 1] == '\n';
	if (lines == LINES)
		at++;
	for (nul = data + at; nul < data + len; nul++)
		*nul = *nul == '\0' ? '?' : *nul;
	for (line = strtok(data + at, "\n"); line != NULL; line = strtok(NULL, "\n"))
		printf("\t%s\n", shown(line));
	free(data);
}

static void show_replay(const struct options *o, const char *setting, char **argv)
{
	printf("\t%s EVENT_SMP_TIME=%s %s%s%s%s\n", setting, o->time, o->workers == NULL ? "" : "EVENT_WORKERS=",
	       o->workers == NULL ? "" : o->workers, o->workers == NULL ? "" : " ", shown(command_line(argv)));
}

/* ---------------------------------------------------------------- exploring */

struct search {
	struct options o;
	struct trials t;
	const char *policy;
	bool has_choices;		/* some trial made a switch */
	unsigned begun;			/* trials */
};

static void note_switches(struct search *s, const struct trial *trial)
{
	struct switches made = switches_read(trial->switches);

	if (!made.is_known)
		die(EVSMP_UNKNOWN,
		    "%s made no event_base that follows EVENT_SMP_SEED. It ended before it made one, is set-user-ID, "
		    "ignores the environment, or uses no libevent: see the manual page.",
		    s->t.path);
	s->has_choices = s->has_choices || made.num != 0;
	switches_free(&made);
}

/* Without a switch. If this fails, the order of the callbacks is not why. */
static enum status try_order(struct search *s)
{
	const struct plan plan = { .seed = "0", .policy = "order" };
	struct trial *trial = trial_run(&s->t, &plan);
	enum status status = trial->ending == TRIAL_PASSED ? EVSMP_OK : EVSMP_FOUND;

	if (status == EVSMP_OK) {
		note_switches(s, trial);
	} else {
		printf("without a seed, in the plain order, %s:\n", trial_ending(&s->t, trial));
		show_output(trial);
		puts("So the order of the callbacks is not the reason. Once it passes, explore can help:");
		show_replay(&s->o, "EVENT_SMP_SEED=0 EVENT_SMP_POLICY=order", s->t.argv);
	}
	trial_free(trial);
	return status;
}

/* PCT must know about how many choices there are: as many as a random walk makes. */
static void policy_choose(struct search *s)
{
	const struct plan plan = { .seed = "1", .policy = "random" };
	struct switches made;
	struct trial *trial;
	uint64_t steps;

	s->policy = "random";
	if (!s->o.is_pct)
		return;
	trial = trial_run(&s->t, &plan);
	made = switches_read(trial->switches);
	steps = made.num == 0 ? 0 : made.at[made.num - 1].step + 1;
	s->policy = text("pct:%u:%" PRIu64, s->o.depth, steps < STEPS_MIN ? (uint64_t)STEPS_MIN : steps);
	switches_free(&made);
	trial_free(trial);
}

static void seed_start(struct search *s, uint64_t seed)
{
	const struct plan plan = { .seed = text("%" PRIu64, seed), .policy = s->policy };

	trial_start(&s->t, &plan, seed);
	s->begun++;
}

/* The trial with the lowest seed that fails, whatever the number of jobs; NULL: none. */
static struct trial *first_failure(struct search *s)
{
	struct trial *trial, *found = NULL;
	uint64_t next = s->o.first;
	unsigned running = 0;

	for (;;) {
		for (; found == NULL && running < s->o.jobs && next <= s->o.last; running++)
			seed_start(s, next++);
		trial = trial_wait(&s->t);
		if (trial == NULL)
			return found;
		running--;
		if (trial->ending == TRIAL_PASSED || (found != NULL && found->tag < trial->tag)) {
			note_switches(s, trial);
			trial_free(trial);
			continue;
		}
		trial_free(found);
		found = trial;
		trials_drop(&s->t, found->tag);
	}
}

/* ---------------------------------------------------------------- the failure */

/* How often does the schedule fail in this way? */
static unsigned replay(struct search *s, const char *path, const struct trial *failure)
{
	const struct plan plan = { .file = path };
	struct trial *trial;
	unsigned i, num = 0;

	for (i = 0; i < REPLAYS; i++) {
		trial = trial_run(&s->t, &plan);
		num += trial_is_alike(trial, failure);
		trial_free(trial);
	}
	return num;
}

static const char *write_result(const struct search *s, const struct switches *made, const struct trial *failure)
{
	const char *note = text("# %s: %s\n", shown(s->t.path), shown(trial_ending(&s->t, failure))), *name;
	unsigned i;

	name = s->o.out != NULL ? s->o.out : text("%s.%" PRIu64 ".schedule", base_name(s->t.path), failure->tag);
	for (i = 2; !switches_write_new(name, made, note); i++) {
		if (s->o.out != NULL || i == 100)
			die(EVSMP_SYSTEM, "%s is there already. Remove it, or name another file with --out.", name);
		name = text("%s.%" PRIu64 ".%u.schedule", base_name(s->t.path), failure->tag, i);
	}
	return name;
}

static void shrink_and_tell(struct search *s, struct switches *made, const struct trial *failure)
{
	uint64_t before = s->t.num;
	size_t num = made->num;
	bool is_minimal;

	if (s->o.shrink_s == 0 || num == 0)
		return;
	is_minimal = shrink(&s->t, made, failure, s->o.shrink_s);
	printf("shrunk from %zu to %zu switch%s of color in %" PRIu64 " runs%s\n", num, made->num,
	       made->num == 1 ? "" : "es", s->t.num - before,
	       is_minimal ? "; it passes without any one of them:" : ", until the time was over (--shrink):");
}

static void tell(struct search *s, const struct trial *failure)
{
	struct switches made = switches_read(failure->switches);
	const char *seed = text("EVENT_SMP_SEED=%" PRIu64 " EVENT_SMP_POLICY=%s", failure->tag, s->policy), *file;
	unsigned num;

	printf("seed %" PRIu64 " (%s): %s:\n", failure->tag, s->policy, trial_ending(&s->t, failure));
	show_output(failure);
	if (!made.is_known)
		return;
	fflush(stdout);
	shrink_and_tell(s, &made, failure);
	show_switches(&made, s->t.path);
	file = write_result(s, &made, failure);
	num = replay(s, file, failure);
	printf("the schedule is in %s; %u of %d replays fail in this way", shown(file), num, REPLAYS);
	puts(num == REPLAYS ? "" : ": the rest is up to threads, other processes, or the clock");
	puts("To run it again, for instance in a debugger:");
	show_replay(&s->o, text("EVENT_SMP_SCHEDULE=%s", quoted(file)), s->t.argv);
	puts("or, not shrunk:");
	show_replay(&s->o, seed, s->t.argv);
}

static void program_set(struct search *s, char **argv)
{
	struct verdict v = judge_arguments(argv);

	if (v.status == EVSMP_UNKNOWN)
		say_note("%s", v.reason);
	else if (v.status != EVSMP_OK)
		die(v.status, "%s", v.reason);
	s->t.path = v.path;
	s->t.argv = argv;
	s->t.time = s->o.time;
	s->t.timeout_s = s->o.timeout_s;
	if (setenv("LD_LIBRARY_PATH", libdir_before_others(v.library_path), 1) < 0 ||
	    (s->o.workers != NULL && setenv("EVENT_WORKERS", s->o.workers, 1) < 0))
		die(EVSMP_SYSTEM, "out of memory");
}

static enum status explore(struct search *s)
{
	struct trial *failure;
	enum status status;

	status = try_order(s);
	if (status != EVSMP_OK)
		return status;
	policy_choose(s);
	failure = first_failure(s);
	if (failure != NULL) {
		tell(s, failure);
		trial_free(failure);
		return EVSMP_FOUND;
	}
	printf("%u seeds (%s): it passes with all of them\n", s->begun, s->policy);
	if (!s->has_choices)
		puts("But there was nothing to choose: two colors never were ready at once. Does it color its events?");
	return EVSMP_OK;
}

enum status command_explore(int argc, char **argv)
{
	static struct search s = {
		.o = { .first = 1, .last = SEEDS, .jobs = 1, .depth = 3, .timeout_s = TIMEOUT_S, .shrink_s = SHRINK_S,
		       .time = "virtual" },
	};
	int first = options_read(&s.o, argc, argv);

	argc -= first;
	argv += first;
	if (argc == 0)
		die(EVSMP_USAGE, "explore: which program? (evsmp explore --help tells)");
	if (s.o.out != NULL)
		record_new_file_test(s.o.out, "--out");
	program_set(&s, argv);
	trials_begin(&s.t);
	return explore(&s);
}
