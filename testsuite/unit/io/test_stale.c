/*
 * core/io/report.c: a poller that still reports descriptors that nobody watches is replaced, once. The reports behind
 * are of the old one: they are dropped, and the new poller is asked at once.
 */
#include "table.h"

#include <limits.h>

#include "core/ec.h"
#include "core/io/poller.h"
#include "core/sched/base.h"

enum { GOOD = 30, FIRST_FD = 100, STALE = 3, STALE_FD = 200, REPORTS_MAX = GOOD + STALE };

/* One report of a good descriptor, those of the stale ones, and the others. */
struct mock {
	struct ec_poller base;
	struct ec_ready ready[REPORTS_MAX];
	uint32_t cookie[GOOD];
	bool is_watched[GOOD], is_wakeup_watched, is_new;
	unsigned reopens, watches;
	int reopen_result;
};

static struct mock mock;
static struct ec_base *base;
static struct ec_poller *real;
static struct ec_event evs[GOOD];
static unsigned ran[GOOD], warnings;

static int mock_reopen(struct ec_poller *p)
{
	(void)p;
	mock.reopens++;
	if (mock.reopen_result < 0)
		return mock.reopen_result;
	memset(mock.is_watched, 0, sizeof(mock.is_watched));
	mock.is_wakeup_watched = false;
	mock.is_new = true;
	return 0;
}

static int mock_watch(struct ec_poller *p, int fd, unsigned had, unsigned want, uint32_t cookie)
{
	(void)p;
	(void)had;
	mock.watches++;
	if (fd == ec_wakeup_fd(&base->zero.wakeup))
		mock.is_wakeup_watched = want != 0;
	if (fd < FIRST_FD || fd >= FIRST_FD + GOOD)
		return 0;
	mock.is_watched[fd - FIRST_FD] = want != 0;
	mock.cookie[fd - FIRST_FD] = cookie;
	return 0;
}

static void report(int *num, int fd, uint32_t cookie)
{
	mock.ready[*num].what = EC_READ;
	mock.ready[(*num)++].id = ec_watch_id(fd, cookie);
}

static int mock_wait(struct ec_poller *p, int64_t wait_ns)
{
	int i, j, num = 0;

	(void)p;
	(void)wait_ns;
	for (i = 0; i < GOOD; i++) {
		if (mock.is_watched[i])
			report(&num, FIRST_FD + i, mock.cookie[i]);
		for (j = 0; i == 0 && j < STALE && !mock.is_new; j++)
			report(&num, STALE_FD + j, 1);
	}
	return num;
}

static const struct ec_poller_ops mock_ops = {
	.name = "mock",
	.features = EC_FEATURE_ET,
	.is_kernel_set = true,
	.reopen = mock_reopen,
	.watch = mock_watch,
	.wait = mock_wait,
	.input = EC_READ,
};

static void count(int fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	ran[fd - FIRST_FD]++;
}

static void nothing(void *arg)
{
	(void)arg;
}

static void note_warning(int severity, const char *text)
{
	(void)text;
	warnings += severity >= EC_LOG_WARN;
}

/* How the base runs: each way has its own code that delivers reports. */
struct way {
	const char *name;
	unsigned workers;
	bool has_color;
};

static const struct way ways[] = {
	{ "no locks", 1, false },
	{ "one worker", 1, true },
	{ "two workers", 2, true },
};

static void begin(const struct way *way)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = way->workers, .flags = EC_BASE_IGNORE_ENV };
	int i;

	memset(ran, 0, sizeof(ran));
	warnings = 0;
	ec_log_set_fn(note_warning);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	if (way->has_color)
		assert_int_equal(ec_base_post(base, 1, nothing, NULL), 0);
	real = base->zero.poller;
	mock = (struct mock){ .base = { .ops = &mock_ops, .ready = mock.ready, .kernel_fd = -1 } };
	base->zero.poller = &mock.base;
	base->zero.plain_input = EC_READ;
	for (i = 0; i < GOOD; i++) {
		assert_int_equal(ec_event_init(&evs[i], base, FIRST_FD + i, EC_READ | EC_PERSIST, count, NULL), 0);
		assert_int_equal(ec_event_add(&evs[i], NULL), 0);
	}
}

static void end(void)
{
	int i;

	for (i = 0; i < GOOD; i++)
		assert_int_equal(ec_event_del(&evs[i], EC_DEL_NOBLOCK), 0);
	base->zero.poller = real;
	ec_base_free(base);
	ec_log_set_fn(NULL);
}

static void loop(void)
{
	assert_int_equal(ec_base_loop(base, EC_LOOP_ONCE | EC_LOOP_NONBLOCK), 0);
}

static unsigned ran_num(void)
{
	unsigned i, num = 0;

	for (i = 0; i < GOOD; i++)
		num += ran[i] != 0;
	return num;
}

static unsigned disarms(void)
{
	unsigned i, num = 0;

	for (i = 0; i < ec_workers_num(base); i++)
		num += (unsigned)ec_load_relaxed(&base->workers[i]->stats.disarms);
	return num;
}

static void it_is_replaced_once(void **state)
{
	const unsigned watches_min = GOOD + STALE + 1 + GOOD;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(ways); i++) {
		begin(&ways[i]);
		loop();
		assert_row(ran_num() == GOOD, ways[i].name);	/* the new one is asked in the same turn */
		loop();
		assert_row(mock.reopens == 1, ways[i].name);
		/* With two workers, those that run at that moment may be disarmed and watched again. */
		assert_row(mock.watches >= watches_min && mock.watches <= watches_min + 2 * disarms(), ways[i].name);
		assert_row(mock.is_wakeup_watched, ways[i].name);
		assert_row(ran_num() == GOOD, ways[i].name);
		assert_row(warnings == 0, ways[i].name);
		end();
	}
}

/* Without a descriptor for a new one, the old one goes on: its other reports count. */
static void it_stays_if_there_is_no_new_one(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(ways); i++) {
		begin(&ways[i]);
		mock.reopen_result = -EMFILE;
		loop();
		assert_row(mock.reopens != 0 && warnings == mock.reopens, ways[i].name);
		assert_row(ran_num() == GOOD, ways[i].name);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_replaced_once),
		cmocka_unit_test(it_stays_if_there_is_no_new_one),
	};

	return cmocka_run_group_tests_name("stale", tests, NULL, NULL);
}
