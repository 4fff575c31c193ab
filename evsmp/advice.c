#include "advice.h"

#include <stdlib.h>
#include <string.h>

#include "core/ec.h"
#include "latency.h"
#include "thresholds.h"

const unsigned advice_workers[ADVICE_WORKERS] = { 1, 2, 4, 8, 16, 32, 64 };

/* ---------------------------------------------------------------- one rule */

static double share_of(const struct workload *w, int64_t ns)
{
	int64_t all = w->run_ns + w->engine_ns * (int64_t)w->calls_num;

	return all <= 0 ? 0 : (double)ns / (double)all;
}

static void find_biggest(const struct workload *w, struct option *o)
{
	int64_t *ns = must(calloc(o->coloring.num + 1, sizeof(*ns)));
	int64_t *fn_ns = must(calloc(w->fns_num + 1, sizeof(*fn_ns)));
	uint32_t i;

	for (i = 0; i < w->calls_num; i++)
		ns[o->coloring.colors[i]] += w->calls[i].len + w->engine_ns;
	for (i = 0; i < o->coloring.num; i++) {
		if (ns[i] > ns[o->biggest])
			o->biggest = i;
	}
	o->biggest_share = share_of(w, ns[o->biggest]);
	for (i = 0; i < w->calls_num; i++) {
		if (o->coloring.colors[i] == o->biggest)
			fn_ns[w->calls[i].fn] += w->calls[i].len;
	}
	for (i = 0; i < w->fns_num; i++) {
		if (fn_ns[i] > fn_ns[o->biggest_fn])
			o->biggest_fn = i;
	}
	free(ns);
	free(fn_ns);
}

double option_speed(const struct option *o, unsigned place)
{
	double one = o->results[0].calls_per_s;

	return one > 0 ? o->results[place].calls_per_s / one : 1;
}

static double most_of(const struct workload *w, const struct option *o)
{
	double one = o->results[0].calls_per_s, most_ns = (double)o->critical.most_ns;

	return one > 0 && most_ns > 0 ? 0.8e9 * (double)w->calls_num / most_ns / one : 1;
}

static void option_make(const struct workload *w, const struct replay_costs *costs, struct option *o)
{
	unsigned i;

	for (i = 0; i < ADVICE_WORKERS; i++)
		replay(w, &o->coloring, advice_workers[i], costs, &o->results[i]);
	critical_find(w, &o->coloring, &o->critical);
	find_biggest(w, o);
	o->most = most_of(w, o);
}

/* ---------------------------------------------------------------- the best */

/* On the machines that most people have. */
static double worth(const struct option *o)
{
	return option_speed(o, 1) + option_speed(o, 2) + option_speed(o, 3);
}

static const struct option *best_of(const struct advice *a)
{
	const double little = 1.03, none = 3 * 1.05;
	const struct option *best = NULL;
	double most = none;
	size_t i;

	for (i = 0; i < a->options_num; i++) {
		if (worth(&a->options[i]) > most * (best == NULL ? 1 : little)) {
			best = &a->options[i];
			most = worth(best);
		}
	}
	return best;
}

static int compare_times(const struct workload *w, uint32_t a, uint32_t b)
{
	return w->fns[a].ns > w->fns[b].ns ? -1 : w->fns[a].ns < w->fns[b].ns;
}

static void find_functions(struct advice *a)
{
	uint32_t i;
	size_t at;

	for (i = 0; i < a->w->fns_num; i++) {
		if (a->fns_num < ADVICE_FNS)
			a->fns_num++;
		else if (compare_times(a->w, i, a->fns[ADVICE_FNS - 1]) >= 0)
			continue;
		for (at = a->fns_num - 1; at > 0 && compare_times(a->w, i, a->fns[at - 1]) < 0; at--)
			a->fns[at] = a->fns[at - 1];
		a->fns[at] = i;
	}
}

static bool is_new(const struct advice *a, const struct coloring *c)
{
	size_t i;

	for (i = 0; i < a->options_num; i++) {
		if (coloring_is_same(a->w, &a->options[i].coloring, c))
			return false;
	}
	return true;
}

/* While the program had its load. */
static double busy_of(const struct workload *w)
{
	if (w->load_ns > 0)
		return (double)(w->load_ns - w->load_asleep_ns) / (double)w->load_ns;
	return (double)(w->span_ns - w->asleep_ns) / (double)w->span_ns;
}

void advice_make(const struct workload *w, const struct replay_costs *costs, struct advice *ret)
{
	struct option *o;
	unsigned rule;

	*ret = (struct advice){ .w = w };
	for (rule = 0; rule < RULES; rule++) {
		if (!coloring_applies(w, (enum rule)rule))
			continue;
		o = &ret->options[ret->options_num];
		coloring_make(w, (enum rule)rule, &o->coloring);
		if (!is_new(ret, &o->coloring)) {
			coloring_free(&o->coloring);
			continue;
		}
		option_make(w, costs, o);
		ret->options_num++;
	}
	find_functions(ret);
	if (w->span_ns > 0) {
		ret->busy = busy_of(w);
		ret->fit = (double)ret->options[0].results[0].span_ns / (double)w->span_ns;
	}
	ret->best = best_of(ret);
}

void advice_free(struct advice *a)
{
	size_t i;

	for (i = 0; i < a->options_num; i++) {
		coloring_free(&a->options[i].coloring);
		critical_free(&a->options[i].critical);
	}
	*a = (struct advice){ 0 };
}

/* ---------------------------------------------------------------- what to change */

const char *advice_kind(const struct workload *w, uint32_t fn)
{
	const struct work_fn *f = &w->fns[fn];

	switch (f->kind) {
	case EC_OBJECT_BUFFEREVENT: return "bufferevent";
	case EC_OBJECT_LISTENER: return "listener";
	case EC_OBJECT_HTTP: return "HTTP";
	default: return f->is_of_post ? "post" : f->has_fd ? "event" : "timer";
	}
}

/* One color for each connection. The listener and what is not of a connection keep color 0. */
static const char *change_by_connection(const struct work_fn *f, bool by_fd)
{
	switch (f->kind) {
	case EC_OBJECT_BUFFEREVENT:
		return "bufferevent_set_color(bev, color)";
	case EC_OBJECT_HTTP:
		return "evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL)";
	case EC_OBJECT_LISTENER:
		return NULL;
	default:
		if (f->is_of_post)
			return "event_base_post(base, color, ...)";
		return by_fd && f->has_fd ? "event_set_color(ev, (ev_uint32_t)fd)" : "event_set_color(ev, color)";
	}
}

const char *advice_change(const struct workload *w, enum rule rule, uint32_t fn)
{
	const struct work_fn *f = &w->fns[fn];

	switch (rule) {
	case RULE_CONNECTION:
	case RULE_SHARED:
	case RULE_LISTENER:
		return change_by_connection(f, false);
	case RULE_DESCRIPTOR:
		return change_by_connection(f, true);
	case RULE_CALLBACK:
		return change_by_connection(f, false);
	default:
		return NULL;
	}
}

char *advice_why_not(const struct advice *a)
{
	const struct workload *w = a->w;
	int64_t mean_ns = w->run_ns / (int64_t)w->calls_num;

	if (!is_enough(w->calls_num, (uint64_t)w->span_ns))
		return text("Too little was recorded to tell: %zu callback%s in %s. Give the program work meanwhile, "
			    "and ask again.",
			    w->calls_num, w->calls_num == 1 ? "" : "s", duration(w->span_ns));
	if (a->busy < 0.7)
		return text("Coloring gains nothing: the program is busy %.0f %% of the time, and waits for the rest. "
			    "Give it more work, and ask again.",
			    a->busy * 100);
	if (a->options_num == 1 && a->options[0].coloring.num == 1)
		return text("Coloring gains nothing: all callbacks are about one thing.");
	if (mean_ns < SHORT_NS)
		return text("Coloring gains nothing: callbacks average %lld ns. That is less than it costs to hand "
			    "them to another thread.",
			    (long long)mean_ns);
	return text("Coloring gains nothing: callbacks wait for each other. The critical path says which.");
}
