#include "sentences.h"

#include <stdarg.h>
#include <stdio.h>

#include "color_name.h"
#include "thresholds.h"

enum {
	WAITS = 40,			/* percent of the time: all wait for one color */
	IDLE = 25,			/* percent: a worker that has little to do */
	STARVED = 20,			/* percent of the time: a worker has no CPU, though it has work */
	LATE_NS = 1000000,		/* a queueing delay that clients notice */
};

const char *sentences_time(uint64_t ns, char *ret)
{
	double v = (double)ns;
	const char *unit = "ns";

	if (ns >= 1000000000) {
		v /= 1e9;
		unit = "s";
	} else if (ns >= 1000000) {
		v /= 1e6;
		unit = "ms";
	} else if (ns >= 1000) {
		v /= 1e3;
		unit = "us";
	}
	(void)snprintf(ret, SENTENCES_TIME_LEN, v < 10 && ns >= 1000 ? "%.1f %s" : "%.0f %s", v, unit);
	return ret;
}

static unsigned percent(uint64_t part, uint64_t all)
{
	double share = all == 0 ? 0 : 100.0 * (double)part / (double)all + 0.5;

	return share > 100 ? 100 : (unsigned)share;
}

static void say(struct sentences *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct sentences *ret, const char *fmt, ...)
{
	va_list ap;

	if (ret->num == SENTENCES_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(ret->at[ret->num++], SENTENCE_LEN, fmt, ap);
	va_end(ap);
}

/* The longest time of one worker, which is about the time that passed. */
static uint64_t passed_ns(const struct stats *s)
{
	uint64_t ns = 0;
	unsigned i;

	for (i = 0; i < s->workers_num; i++) {
		if (s->workers[i].is_on && s->workers[i].all_ns > ns)
			ns = s->workers[i].all_ns;
	}
	return ns;
}

/* ---------------------------------------------------------------- one sentence each */

/* True: times are longer than the callbacks are to blame for. */
static bool say_starved(const struct stats *s, struct sentences *ret)
{
	const struct stats_worker *w;
	unsigned i, worst = 0, share = 0;

	for (i = 0; i < s->workers_num; i++) {
		w = &s->workers[i];
		if (!w->is_on || percent(w->no_cpu_ns, w->all_ns) <= share)
			continue;
		share = percent(w->no_cpu_ns, w->all_ns);
		worst = i;
	}
	if (share < STARVED)
		return false;
	say(ret, "worker %u waited for a CPU %u %% of the time: the machine is short of CPUs, and all times here are "
		 "longer for it.", worst, share);
	return true;
}

/* A callback that has run for long, and still does. */
static void say_stuck(const struct stats *s, sentences_name_fn name, void *arg, struct sentences *ret)
{
	const struct stats_worker *w;
	char time[SENTENCES_TIME_LEN];
	const char *site;
	unsigned i;

	for (i = 0; i < s->workers_num; i++) {
		w = &s->workers[i];
		if (!w->is_on || w->running_ns < LONG_NS)
			continue;
		site = name(arg, w->running_site);
		say(ret, "%s (color %s) has run for %s on worker %u, and still runs: move what it waits for to another "
			 "thread, or split it.",
		    site == NULL ? "a callback" : site, color_name(w->running_color),
		    sentences_time(w->running_ns, time), i);
	}
}

/* More than a worker has, beyond what the clocks differ by. */
static bool ran_on_two_at_once(const struct stats_color *c, uint64_t passed_ns)
{
	return c->busy_ns > passed_ns && c->busy_ns - passed_ns > passed_ns / 20;
}

/*
 * One color has nearly all the time that one worker has. A color that moves between workers has no more than that; a
 * shared one may run on several at once, and the counters do not tell which colors are shared.
 */
static void say_hot(const struct stats *s, struct sentences *ret)
{
	uint64_t passed = passed_ns(s);
	const struct stats_color *c;
	unsigned i;

	for (i = 0; i < s->colors_num && s->workers_on >= 2; i++) {
		c = &s->colors[i];
		if (c->color == 0 || c->callbacks == 0 || ran_on_two_at_once(c, passed))
			continue;
		if (percent(c->busiest_ns, passed) >= ALONE)
			say(ret, "%s alone uses %u %% of worker %u: split it.", color_in_words(c->color),
			    percent(c->busiest_ns, passed), c->busiest);
		else if (percent(c->busy_ns, passed) >= ALONE)
			say(ret, "%s uses %u %% of the time, on one worker or another: split it, unless it is a "
				 "shared color.", color_in_words(c->color), percent(c->busy_ns, passed));
	}
}

static void say_color0(const struct stats *s, struct sentences *ret)
{
	unsigned i, share;

	for (i = 0; i < s->colors_num && s->mode == EC_STATS_SEVERAL; i++) {
		if (s->colors[i].color != 0)
			continue;
		share = percent(s->colors[i].alone_ns, passed_ns(s));
		if (share >= WAITS)
			say(ret, "%u %% of the time all workers wait for color 0: color your listener, and what it "
				 "accepts.", share);
		return;
	}
}

static uint64_t mean_of(const struct stats_worker *sum)
{
	return sum->callbacks == 0 ? 0 : sum->busy_ns / sum->callbacks;
}

/* No colors, and the one thread is busy. */
static void say_serial(const struct stats *s, const struct stats_worker *sum, struct sentences *ret)
{
	unsigned busy = percent(sum->busy_ns, sum->all_ns);
	uint64_t mean_ns = mean_of(sum);
	char time[SENTENCES_TIME_LEN];

	if (s->mode == EC_STATS_SEVERAL || sum->callbacks == 0)
		return;
	sentences_time(mean_ns, time);
	if (sum->callbacks >= FEW && mean_ns < SHORT_NS &&
	    percent(sum->busy_ns + sum->engine_ns, sum->all_ns) >= IDLE)
		say(ret, "callbacks average %s: coloring gains nothing.", time);
	else if (busy < HOT)
		return;
	else if (s->mode == EC_STATS_SINGLE)
		say(ret, "one worker runs all colors, and is busy %u %% of the time: give it more (EVENT_WORKERS).",
		    busy);
	else if (sum->callbacks < FEW)
		say(ret, "one thread runs all callbacks, and is busy %u %% of the time: color them.", busy);
	else
		say(ret, "one thread runs all callbacks, and is busy %u %% of the time; they average %s: color them.",
		    busy, time);
}

static void say_grain(const struct stats *s, const struct stats_worker *sum, struct sentences *ret)
{
	char time[SENTENCES_TIME_LEN];
	uint64_t mean_ns = mean_of(sum);

	if (s->mode == EC_STATS_SEVERAL && sum->callbacks >= FEW && mean_ns < SHORT_NS &&
	    sum->engine_ns + sum->spinning_ns > sum->busy_ns)
		say(ret, "callbacks average %s: coloring gains nothing; EVENT_WORKERS=1 may be faster.",
		    sentences_time(mean_ns, time));
}

static void say_late(const struct stats *s, struct sentences *ret)
{
	const struct stats_color *c, *worst = NULL;
	uint64_t ns, worst_ns = LATE_NS;
	char time[SENTENCES_TIME_LEN];
	unsigned i;

	for (i = 0; i < s->colors_num; i++) {
		c = &s->colors[i];
		ns = c->delays_num < FEW ? 0 : ec_histogram_quantile_ns(c->delays, 99, 100);
		if (ns > worst_ns) {
			worst_ns = ns;
			worst = c;
		}
	}
	if (worst != NULL)
		say(ret, "callbacks of %s wait up to %s (99th percentile) before they run: evsmp trace shows "
			 "what runs before them.",
		    color_in_words(worst->color), sentences_time(worst_ns, time));
}

static void say_long(const struct stats *s, sentences_name_fn name, void *arg, struct sentences *ret)
{
	const struct stats_site *longest = NULL;
	char time[SENTENCES_TIME_LEN];
	const char *site;
	unsigned i;

	for (i = 0; i < s->sites_num; i++) {
		if (longest == NULL || s->sites[i].longest_new_ns > longest->longest_new_ns)
			longest = &s->sites[i];
	}
	if (longest == NULL || longest->longest_new_ns < LONG_NS)
		return;
	site = name(arg, longest->site);
	say(ret, "%s once took %s: all of its color, and its worker, waited for it.",
	    site == NULL ? "a callback" : site, sentences_time(longest->longest_new_ns, time));
}

/* There is nothing to do. */
static void say_nothing(const struct stats *s, const struct stats_worker *sum, bool has_enough, struct sentences *ret)
{
	char time[SENTENCES_TIME_LEN];

	if (sum->callbacks == 0)
		say(ret, "no callback has ended yet: nothing is ready, or nobody asks.");
	else if (has_enough)
		say(ret, "nothing stands out: the workers are busy %u %% of the time.",
		    percent(sum->busy_ns, sum->all_ns));
	else
		say(ret, "too little was counted yet to say more: the workers are busy %u %% of %s.",
		    percent(sum->busy_ns, sum->all_ns), sentences_time(passed_ns(s), time));
}

void sentences_make(const struct stats *s, sentences_name_fn name, void *arg, struct sentences *ret)
{
	struct stats_worker sum = stats_sum(s);
	bool is_starved, has_enough = is_enough(sum.callbacks, passed_ns(s));

	ret->num = 0;
	is_starved = say_starved(s, ret);
	if (!is_starved)
		say_stuck(s, name, arg, ret);
	if (has_enough) {
		say_hot(s, ret);
		say_color0(s, ret);
		say_serial(s, &sum, ret);
		say_grain(s, &sum, ret);
		say_late(s, ret);
		say_long(s, name, arg, ret);
	}
	if (is_starved)
		say_stuck(s, name, arg, ret);
	if (ret->num == 0)
		say_nothing(s, &sum, has_enough, ret);
}
