/*
 * core/observe/counters.c, observe.c, probe.c, stats_file.c: what bases of all kinds count, on a clock that callbacks
 * move; switching on and off, children, files, and each failure.
 */
#include "table.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "child.h"
#include "core/ec.h"
#include "core/observe/control.h"
#include "core/observe/stats.h"
#include "core/os/clock.h"
#include "emulated.h"
#include "fault.h"

enum { STEP_NS = 5000, CHAIN = 12, COLORS = 3 };

static _Atomic(int64_t) now_ns;

static int64_t virtual_clock(void)
{
	return atomic_load(&now_ns);
}

static void pass(int64_t ns)
{
	atomic_fetch_add(&now_ns, ns);
}

/* ---------------------------------------------------------------- a base that runs a chain of callbacks */

enum kind { UNCOLORED, LOCKED, SINGLE, SEVERAL, KINDS };

static const char *const kind_names[] = { "no colors", "evthread", "colors, one worker", "colors, two workers" };

struct scene {
	enum kind kind;
	struct event_base *base;
	struct event *evs[COLORS], *idle;
	unsigned left;			/* callbacks */
	int fds[2];
};

static uint32_t color_of(const struct scene *s, unsigned i)
{
	return s->kind == SINGLE || s->kind == SEVERAL ? 100 + i : 0;
}

static void posted(void *arg);

/* Each makes the next one ready, and then takes STEP_NS. */
static void next(struct scene *s)
{
	unsigned i = --s->left % COLORS;

	if (s->left == 0)
		(void)event_base_loopbreak(s->base);
	else if (s->left % 2 == 0 && s->kind != UNCOLORED && s->kind != LOCKED)
		(void)event_base_post(s->base, color_of(s, i), posted, s);
	else
		event_active(s->evs[i], EV_READ, 1);
	pass(STEP_NS);
}

static void posted(void *arg)
{
	next(arg);
}

static void ready(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	next(arg);
}

static void never(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* 0, or an error of the base itself. */
static int scene_begin(struct scene *s, enum kind kind)
{
	struct event_config *cfg = event_config_new();
	unsigned i;

	memset(s, 0, sizeof(*s));
	s->kind = kind;
	if (kind != LOCKED)
		event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
	(void)event_config_set_workers(cfg, kind == SEVERAL ? 2 : 1, NULL, NULL);
	s->base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(s->base);
	assert_int_equal(pipe(s->fds), 0);
	s->idle = event_new(s->base, s->fds[0], EV_READ | EV_PERSIST, never, s);
	assert_int_equal(event_add(s->idle, NULL), 0);
	for (i = 0; i < COLORS; i++) {
		s->evs[i] = event_new(s->base, -1, EV_PERSIST, ready, s);
		if (color_of(s, i) != 0)
			assert_int_equal(event_set_color(s->evs[i], color_of(s, i)), 0);
	}
	return 0;
}

static void scene_end(struct scene *s)
{
	unsigned i;

	for (i = 0; i < COLORS; i++)
		event_free(s->evs[i]);
	event_free(s->idle);
	event_base_free(s->base);
	close(s->fds[0]);
	close(s->fds[1]);
}

/* The base polls, and so finds out what is wanted. */
static void turn(struct scene *s)
{
	(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
}

static void run_chain(struct scene *s, unsigned num)
{
	s->left = num;
	event_active(s->evs[s->left % COLORS], EV_READ, 1);
	(void)event_base_loop(s->base, 0);
	assert_int_equal(s->left, 0);
}

static void want(unsigned bits)
{
	ec_control_own.wanted = (uint8_t)bits;
}

/* ---------------------------------------------------------------- what it counted */

struct counted {
	struct ec_stats_file_layout *file;
	size_t size;
};

static bool counted_open(unsigned at, struct counted *ret)
{
	const struct ec_control_file *f = &ec_control.files[at];
	struct stat st;

	if (f->kind != EC_OBSERVE_COUNT)
		return false;
	assert_int_equal(fstat(f->fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_ino, f->inode);
	ret->size = (size_t)st.st_size;
	ret->file = mmap(NULL, ret->size, PROT_READ, MAP_SHARED, f->fd, 0);
	assert_true(ret->file != MAP_FAILED);
	assert_memory_equal(ret->file->header.magic, EC_STATS_MAGIC, 8);
	assert_int_equal(ret->file->header.worker_size, sizeof(struct ec_stats_worker));
	return true;
}

static void counted_close(struct counted *c)
{
	munmap(c->file, c->size);
}

static uint64_t all_callbacks(const struct counted *c)
{
	uint64_t num = 0;
	unsigned i;

	for (i = 0; i < c->file->header.workers_num; i++)
		num += c->file->workers[i].callbacks;
	return num;
}

static void check_worker(const struct ec_stats_worker *w, uint64_t callbacks, const char *kind)
{
	assert_row(w->callbacks == callbacks, kind);
	assert_row(w->busy_ns == callbacks * STEP_NS, kind);
	assert_row(w->busy_ns + w->engine_ns + w->polling_ns + w->spinning_ns + w->asleep_ns ==
			   w->until_ns - w->since_ns, kind);
	assert_row(w->engine_ns == 0 && w->spinning_ns == 0, kind);
	assert_row(w->running_since_ns == 0, kind);
	/* All but the first were made ready by another one, that took STEP_NS after that. */
	assert_row(w->delays[ec_histogram_bucket(STEP_NS)] == callbacks - 1, kind);
	assert_row(w->delays_ns == (callbacks - 1) * STEP_NS, kind);
	assert_row(w->sites_num == (w->posts != 0 ? 2 : 1), kind);
	assert_row(w->sites[0].longest_ns == STEP_NS, kind);
}

static void check_colors(const struct ec_stats_worker *w, const struct scene *s, unsigned num)
{
	unsigned i, seen = 0;

	assert_row(w->colors_num == (color_of(s, 0) != 0 ? COLORS : 1), kind_names[s->kind]);
	for (i = 0; i < w->colors_num; i++) {
		assert_row(w->colors[i].seq == w->colors[i].seq_end && w->colors[i].seq == 1, kind_names[s->kind]);
		assert_row(w->colors[i].error_ns == 0, kind_names[s->kind]);
		assert_row(w->colors[i].busy_ns == w->colors[i].callbacks * STEP_NS, kind_names[s->kind]);
		if (color_of(s, 0) != 0)
			assert_row(w->colors[i].callbacks == num / COLORS, kind_names[s->kind]);
		seen |= 1u << (color_of(s, 0) != 0 ? w->colors[i].color - 100 : 0);
	}
	assert_row(seen == (color_of(s, 0) != 0 ? 7 : 1), kind_names[s->kind]);
}

static void bases_with_one_thread_count_each_callback(void **state)
{
	struct counted c;
	struct scene s;
	enum kind kind;

	(void)state;
	for (kind = UNCOLORED; kind <= SINGLE; kind++) {
		(void)scene_begin(&s, kind);
		turn(&s);
		assert_row(!counted_open(0, &c), kind_names[kind]);
		want(EC_OBSERVE_COUNT);
		turn(&s);
		assert_row(counted_open(0, &c), kind_names[kind]);
		assert_row(ec_control.on == EC_OBSERVE_COUNT, kind_names[kind]);
		assert_row(ec_control.pid == getpid(), kind_names[kind]);
		pass(1000);
		run_chain(&s, CHAIN);
		check_worker(&c.file->workers[0], CHAIN, kind_names[kind]);
		check_colors(&c.file->workers[0], &s, CHAIN);
		assert_row(c.file->workers[0].posts == (kind == SINGLE ? CHAIN / 2 - 1 : 0), kind_names[kind]);
		assert_row(c.file->workers[0].posted == c.file->workers[0].posts, kind_names[kind]);
		/* The time before the chain went by in a poll that had work. */
		assert_row(c.file->workers[0].polling_ns == 1000, kind_names[kind]);
		turn(&s);
		assert_row(c.file->header.mode == (kind == SINGLE ? EC_STATS_SINGLE : EC_STATS_UNCOLORED),
			   kind_names[kind]);
		counted_close(&c);
		scene_end(&s);
		assert_row(!counted_open(0, &c), kind_names[kind]);
		want(0);
	}
}

static void workers_count_together(void **state)
{
	struct counted c;
	struct scene s;

	(void)state;
	ec_clock_set_source(NULL);		/* a worker that waits for work must see time go by */
	want(EC_OBSERVE_COUNT);
	assert_false(counted_open(0, &c));	/* what is left of a test that failed never counts */
	(void)scene_begin(&s, SEVERAL);
	run_chain(&s, 3);		/* makes the workers; they may not have polled yet */
	/* Until all of them have: each loop polls. */
	while (!counted_open(0, &c))
		run_chain(&s, 3);
	while (c.file->workers[0].since_ns == 0 || c.file->workers[1].since_ns == 0)
		run_chain(&s, 3);
	run_chain(&s, 300);
	turn(&s);
	assert_true(all_callbacks(&c) >= 300);
	assert_int_equal(c.file->header.mode, EC_STATS_SEVERAL);
	counted_close(&c);
	scene_end(&s);
	want(0);
	ec_clock_set_source(virtual_clock);
}

/* ---------------------------------------------------------------- on and off */

static void off_is_off_and_on_goes_on(void **state)
{
	struct counted c;
	struct scene s;
	enum kind kind;

	(void)state;
	for (kind = UNCOLORED; kind <= SINGLE; kind++) {
		(void)scene_begin(&s, kind);
		want(EC_OBSERVE_COUNT);
		turn(&s);
		run_chain(&s, CHAIN);
		want(0);
		turn(&s);
		assert_row(ec_control.on == 0 && ec_control.attention == 0, kind_names[kind]);
		assert_row(counted_open(0, &c), kind_names[kind]);
		run_chain(&s, CHAIN);
		assert_row(c.file->workers[0].callbacks == CHAIN, kind_names[kind]);
		want(EC_OBSERVE_COUNT);
		turn(&s);
		pass(1000);
		run_chain(&s, CHAIN);
		assert_row(c.file->workers[0].callbacks == 2 * CHAIN, kind_names[kind]);
		assert_row(c.file->workers[0].colors_num == (kind == SINGLE ? COLORS : 1), kind_names[kind]);
		assert_row(c.file->workers[0].polling_ns == 1000, kind_names[kind]);
		assert_row(c.file->workers[0].until_ns - c.file->workers[0].since_ns == 1000 + 2 * CHAIN * STEP_NS,
			   kind_names[kind]);
		counted_close(&c);
		scene_end(&s);
		want(0);
	}
}

/* The program closes what it does not know. Its own file, which gets the number, is left alone. */
static void a_descriptor_that_the_program_closes_is_not_used(void **state)
{
	static const char text[] = "the program's own";
	struct counted c;
	struct scene s;
	int fd, own;
	char read[100];

	(void)state;
	(void)scene_begin(&s, SINGLE);
	want(EC_OBSERVE_COUNT);
	turn(&s);
	run_chain(&s, CHAIN);
	want(0);
	turn(&s);
	own = ec_control.files[0].fd;
	fd = memfd_create("own", MFD_CLOEXEC);
	assert_int_equal(dup2(fd, own), own);
	close(fd);
	assert_int_equal(write(own, text, sizeof(text)), sizeof(text));
	want(EC_OBSERVE_COUNT);
	turn(&s);
	assert_true(counted_open(0, &c));
	assert_int_not_equal(ec_control.files[0].fd, own);
	assert_false(ec_control.files[1].kind);
	run_chain(&s, CHAIN);
	assert_int_equal(c.file->workers[0].callbacks, CHAIN);
	counted_close(&c);
	scene_end(&s);
	want(0);
	assert_int_equal(pread(own, read, sizeof(read), 0), sizeof(text));
	assert_string_equal(read, text);
	close(own);
}

/* ---------------------------------------------------------------- a turn within a callback */

struct nested {
	struct event_base *base;
	struct event *outer, *inner;
};

static void inner_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	pass(300);
}

static void outer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct nested *n = arg;

	(void)fd;
	(void)what;
	pass(1000);
	event_active(n->inner, EV_READ, 1);
	(void)ec_base_turn((struct ec_base *)n->base);
	pass(10);
}

static void a_callback_does_not_count_those_within_it(void **state)
{
	struct nested n = { .base = event_base_new() };
	struct counted c;

	(void)state;
	want(EC_OBSERVE_COUNT);
	n.outer = event_new(n.base, -1, EV_PERSIST, outer_cb, &n);
	n.inner = event_new(n.base, -1, EV_PERSIST, inner_cb, &n);
	event_active(n.outer, EV_READ, 1);
	(void)event_base_loop(n.base, EVLOOP_ONCE);
	assert_true(counted_open(0, &c));
	assert_int_equal(c.file->workers[0].callbacks, 2);
	assert_int_equal(c.file->workers[0].busy_ns, 1310);
	assert_int_equal(c.file->workers[0].sites_num, 2);
	assert_int_equal(c.file->workers[0].sites[0].busy_ns, 300);
	assert_int_equal(c.file->workers[0].sites[1].busy_ns, 1010);
	counted_close(&c);
	event_free(n.outer);
	event_free(n.inner);
	event_base_free(n.base);
	want(0);
}

/* ---------------------------------------------------------------- many colors */

static void nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pass(*(int *)arg);
}

/* The costly colors stay, whatever comes and goes beside them. */
static void the_costliest_colors_are_kept(void **state)
{
	enum { MANY = 1000 };
	int short_ns = 10, long_ns = 1000;
	struct counted c;
	struct scene s;
	struct event *ev;
	unsigned i, seen = 0;

	(void)state;
	want(EC_OBSERVE_COUNT);
	(void)scene_begin(&s, SINGLE);
	turn(&s);
	for (i = 0; i < MANY; i++) {
		ev = event_new(s.base, -1, 0, nothing, i % 100 == 0 ? &long_ns : &short_ns);
		assert_int_equal(event_set_color(ev, i % 100 == 0 ? 5 : 1000 + i), 0);
		event_active(ev, EV_READ, 1);
		turn(&s);
		event_free(ev);
	}
	assert_true(counted_open(0, &c));
	assert_int_equal(c.file->workers[0].colors_num, EC_STATS_COLORS);
	for (i = 0; i < EC_STATS_COLORS; i++) {
		assert_int_equal(c.file->workers[0].colors[i].seq, c.file->workers[0].colors[i].seq_end);
		if (c.file->workers[0].colors[i].color != 5)
			continue;
		seen++;
		assert_int_equal(c.file->workers[0].colors[i].busy_ns, 10 * long_ns);
		assert_int_equal(c.file->workers[0].colors[i].error_ns, 0);
	}
	assert_int_equal(seen, 1);
	counted_close(&c);
	scene_end(&s);
	want(0);
}

/* ---------------------------------------------------------------- children */

/* A child counts in a file of its own, and not in its parent's. */
static void a_child_begins_anew(void **state)
{
	struct counted c, own;
	struct scene s;
	enum kind kind;
	int status;
	pid_t pid;

	(void)state;
	if (!has_wipe_on_fork())
		skip();
	for (kind = UNCOLORED; kind <= SINGLE; kind++) {
		(void)scene_begin(&s, kind);
		want(EC_OBSERVE_COUNT);
		turn(&s);
		run_chain(&s, CHAIN);
		assert_row(counted_open(0, &c), kind_names[kind]);
		pid = fork();
		assert_row(pid >= 0, kind_names[kind]);
		if (pid == 0) {
			check(event_reinit(s.base) == 0);
			turn(&s);
			run_chain(&s, 2 * CHAIN);
			check(ec_control.pid == getpid());
			check(c.file->workers[0].callbacks == CHAIN);
			check(counted_open(0, &own));
			check(own.file->workers[0].callbacks == 2 * CHAIN);
			check(own.file->header.pid == getpid());
			event_base_free(s.base);
			check(ec_control.on == 0);
			child_end(0);
		}
		assert_row(waitpid(pid, &status, 0) == pid && status == 0, kind_names[kind]);
		run_chain(&s, CHAIN);
		assert_row(c.file->workers[0].callbacks == 2 * CHAIN, kind_names[kind]);
		counted_close(&c);
		scene_end(&s);
		want(0);
	}
}

/* ---------------------------------------------------------------- files with names */

static char folder[64];

static void with_files(const char *value, void (*fn)(void), struct child *child)
{
	assert_int_equal(setenv("EVENT_SMP_STATS", value, 1), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
	child_passes(child, fn);
	assert_int_equal(unsetenv("EVENT_SMP_STATS"), 0);
}

static const char *in_folder(const char *fmt, int number)
{
	static char path[128];
	int len = snprintf(path, sizeof(path), "%s/", folder);

	/* A constant in each caller. */
	if (number < 0)
		(void)snprintf(path + len, sizeof(path) - (size_t)len, "%s", fmt);
	else
		(void)snprintf(path + len, sizeof(path) - (size_t)len, "%s%d-1", fmt, number);
	return path;
}

static void runtime_file(void)
{
	struct stat st;
	struct scene s;

	(void)scene_begin(&s, UNCOLORED);
	turn(&s);
	check(lstat(in_folder("libevent-smp/", (int)getpid()), &st) == 0);
	check(S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600);
	check(lstat(in_folder("libevent-smp", -1), &st) == 0 && (st.st_mode & 0777) == 0700);
	scene_end(&s);
	check(lstat(in_folder("libevent-smp/", (int)getpid()), &st) < 0);
}

static void path_file(void)
{
	struct stat st;
	struct scene s, second;

	(void)scene_begin(&s, UNCOLORED);
	(void)scene_begin(&second, UNCOLORED);
	turn(&s);
	turn(&second);
	check(lstat(in_folder("stats", -1), &st) == 0 && (st.st_mode & 0777) == 0600);
	check(lstat(in_folder("stats.2", -1), &st) == 0 && (st.st_mode & 0777) == 0600);
	scene_end(&s);
	scene_end(&second);
	check(lstat(in_folder("stats", -1), &st) < 0);
	check(lstat(in_folder("stats.2", -1), &st) < 0);
}

/* What is there already stays as it is, and counters are kept all the same. */
static void path_taken(void)
{
	struct counted c;
	struct scene s;

	(void)scene_begin(&s, UNCOLORED);
	turn(&s);
	check(counted_open(0, &c));
	run_chain(&s, CHAIN);
	check(c.file->workers[0].callbacks == CHAIN);
	scene_end(&s);
}

static void files_are_the_owners_and_follow_no_link(void **state)
{
	struct child child;
	struct stat st;

	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/test-counters.XXXXXX");
	assert_non_null(mkdtemp(folder));
	with_files("1", runtime_file, &child);
	assert_null(strstr(child.text, "EVENT_SMP_STATS"));
	with_files(in_folder("stats", -1), path_file, &child);
	assert_null(strstr(child.text, "EVENT_SMP_STATS"));

	assert_int_equal(symlink("target", in_folder("stats", -1)), 0);
	with_files(in_folder("stats", -1), path_taken, &child);
	assert_non_null(strstr(child.text, "/stats is there already: "));
	assert_true(lstat(in_folder("target", -1), &st) < 0);
	assert_int_equal(unlink(in_folder("stats", -1)), 0);

	/* A directory that others can change, or that is a link. */
	assert_int_equal(chmod(in_folder("libevent-smp", -1), 0777), 0);
	with_files("1", path_taken, &child);
	assert_non_null(strstr(child.text, "EVENT_SMP_STATS: cannot make the file"));
	assert_int_equal(rmdir(in_folder("libevent-smp", -1)), 0);
	assert_int_equal(symlink("/tmp", in_folder("libevent-smp", -1)), 0);
	with_files("1", path_taken, &child);
	assert_non_null(strstr(child.text, "EVENT_SMP_STATS: cannot make the file"));
	assert_int_equal(unlink(in_folder("libevent-smp", -1)), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* ---------------------------------------------------------------- failures */

/* A base that cannot be observed runs as if nobody wanted it, and says so once. */
static int observe_made(struct scene *s)
{
	want(EC_OBSERVE_COUNT);
	turn(s);
	run_chain(s, CHAIN);
	return 0;
}

static unsigned warnings;

static void count_warning(int severity, const char *msg)
{
	if (severity == EVENT_LOG_WARN && strstr(msg, "event_base") != NULL)
		warnings++;
}

/* The nth such call fails; FAULT_CALLS_NUM: allocation. False: there is no nth one. */
static bool one_fails(enum fault_call call, unsigned nth)
{
	long alive = fault_alive();
	int fds = fault_fds();
	struct scene s;
	bool came;

	(void)scene_begin(&s, UNCOLORED);
	warnings = 0;
	if (call < FAULT_CALLS_NUM)
		fault_call_at(call, nth, 0);
	else
		fault_alloc_at(nth);
	assert_int_equal(observe_made(&s), 0);
	came = fault_end();
	/* Without the memory of a probe, the next turn tries again. */
	assert_true(warnings <= 1);
	assert_true(came || warnings == 0);
	scene_end(&s);
	want(0);
	assert_int_equal(fault_fds(), fds);
	assert_int_equal(fault_alive(), alive);
	return came;
}

static void each_failure_leaves_a_base_that_runs(void **state)
{
	static const enum fault_call calls[] = { FAULT_mmap, FAULT_madvise, FAULT_memfd_create, FAULT_fchmod,
						 FAULT_ftruncate, FAULT_posix_fallocate };
	unsigned i, nth;
	bool came;

	(void)state;
	event_set_log_callback(count_warning);
	for (i = 0; i <= ROWS(calls); i++) {
		for (nth = 1, came = true; came; nth++)
			came = one_fails(i < ROWS(calls) ? calls[i] : FAULT_CALLS_NUM, nth);
		if (nth <= 2)
			fail_msg("%s: there was no such call", i < ROWS(calls) ? fault_name(calls[i]) : "malloc");
	}
	event_set_log_callback(NULL);
}

static int setup(void **state)
{
	(void)fault_init(state);
	(void)evthread_use_pthreads();
	atomic_store(&now_ns, 1000000000);
	ec_clock_set_source(virtual_clock);
	return 0;
}

static int teardown(void **state)
{
	ec_clock_set_source(NULL);
	return fault_fini(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bases_with_one_thread_count_each_callback),
		cmocka_unit_test(off_is_off_and_on_goes_on),
		cmocka_unit_test(a_descriptor_that_the_program_closes_is_not_used),
		cmocka_unit_test(a_callback_does_not_count_those_within_it),
		cmocka_unit_test(the_costliest_colors_are_kept),
		cmocka_unit_test(a_child_begins_anew),
		cmocka_unit_test(files_are_the_owners_and_follow_no_link),
		cmocka_unit_test(each_failure_leaves_a_base_that_runs),
		cmocka_unit_test(workers_count_together),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
