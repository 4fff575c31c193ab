/*
 * top: the counters of a running process, refreshed in place; --once and --json for scripts.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "bases.h"
#include "command.h"
#include "pages.h"
#include "record.h"

struct top {
	/* const: what the words of the command say */
	bool is_once, is_json;
	double seconds;			/* between two screens, or of the one */
	const char *pid;

	struct screen screen;
	struct source source;
	uint32_t shown;			/* the number of a base; 0: the busiest, until one had a callback */
	struct bases bases;		/* as they were in the interval */
	bool is_total;			/* since the counters are on, not since the last screen */
	bool is_over;

	/* by file: the counters at the last screen */
	unsigned before_num;
	struct stats *before;		/* SOURCE_FILES of them */
	struct stats_copy *before_bytes; /* the same */
	struct stats *now;
	uint32_t before_bases[SOURCE_FILES];
};

/* ---------------------------------------------------------------- options */

static double seconds_of(const char *word)
{
	char *end;
	double s = word == NULL ? 0 : strtod(word, &end);

	if (word == NULL || *word == '\0' || *end != '\0' || !(s >= 0.1 && s <= 3600))
		die(EVSMP_USAGE, "--seconds needs a number from 0.1 to 3600.");
	return s;
}

static enum screen_sort sort_of(const char *word)
{
	enum screen_sort sort = word == NULL ? SORTS : screen_sort_of(word);

	if (sort == SORTS)
		die(EVSMP_USAGE, "--sort needs busy, calls, wait, longest or color.");
	return sort;
}

static void read_options(struct top *t, int argc, char **argv)
{
	const char *value;
	int i;

	t->seconds = 1;
	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--once") == 0)
			t->is_once = true;
		else if (strcmp(argv[i], "--json") == 0)
			t->is_once = t->is_json = true;
		else if (strcmp(argv[i], "--total") == 0)
			t->is_total = true;
		else if ((value = record_value("top", "--seconds", argc, argv, &i)) != NULL)
			t->seconds = seconds_of(value);
		else if ((value = record_value("top", "--sort", argc, argv, &i)) != NULL)
			t->screen.sort = sort_of(value);
		else if (strcmp(argv[i], "--") == 0)
			continue;
		else if (argv[i][0] == '-')
			die(EVSMP_USAGE, "top has no option %s (evsmp top --help lists them).", argv[i]);
		else if (t->pid != NULL)
			die(EVSMP_USAGE, "top shows one process: %s is one too many.", argv[i]);
		else
			t->pid = argv[i];
	}
}

/* ---------------------------------------------------------------- the counters of an interval */

static void remember(struct top *t)
{
	unsigned i;

	t->before_num = 0;
	for (i = 0; i < t->source.files_num; i++) {
		if (!source_read(&t->source, i, &t->before[t->before_num]))
			continue;
		stats_keep(&t->before[t->before_num], &t->before_bytes[t->before_num]);
		t->before_num++;
	}
}

/* The counters of the i-th base since the last screen, in t->now. */
static bool read_interval(struct top *t, unsigned i)
{
	unsigned j;

	if (!source_read(&t->source, i, t->now))
		return false;
	for (j = 0; j < t->before_num && !t->is_total; j++) {
		if (t->before[j].base == t->now->base && t->before[j].pid == t->now->pid)
			stats_subtract(t->now, &t->before[j]);
	}
	return true;
}

static void read_bases(struct top *t)
{
	unsigned i;

	t->bases.num = 0;
	for (i = 0; i < t->source.files_num; i++) {
		if (read_interval(t, i))
			bases_add(&t->bases, i, t->now);
	}
	bases_sort(&t->bases);
}

/* ---------------------------------------------------------------- one screen */

static void wait_seconds(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds };

	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* The lease is shorter than a long interval. */
static bool wait_interval(struct top *t)
{
	double left = t->seconds, part;
	bool is_alive = true;

	for (; left > 0 && is_alive; left -= part) {
		part = left < 1 ? left : 1;
		wait_seconds(part);
		is_alive = source_update(&t->source);
	}
	return is_alive;
}

static bool show_json(struct top *t)
{
	const char *comma = "";
	unsigned i;

	printf("{\"pid\": %d, \"program\": ", (int)t->source.pid);
	put_json_string(stdout, t->source.program);
	fputs(", \"bases\": [", stdout);
	for (i = 0; i < t->source.files_num; i++) {
		if (!read_interval(t, i))
			continue;
		printf("%s\n", comma);
		screen_json(stdout, &t->source, t->now);
		comma = ",";
	}
	printf("], \"not_turned\": %u}\n", source_not_turned(&t->source));
	return *comma != '\0';
}

static enum status show_once(struct top *t)
{
	bool is_any = false;
	unsigned i;

	(void)source_update(&t->source);
	remember(t);
	if (!wait_interval(t))
		die(EVSMP_SYSTEM, "process %d has ended.", (int)t->source.pid);
	if (t->is_json)
		return show_json(t) ? EVSMP_OK : EVSMP_NOT_IN_USE;
	read_bases(t);
	bases_notes(&t->bases, NULL, source_not_turned(&t->source), &t->screen);
	for (i = 0; i < t->bases.num; i++) {
		if (!read_interval(t, t->bases.at[i].file))
			continue;
		if (is_any)
			putchar('\n');
		screen_show(stdout, &t->screen, &t->source, t->now);
		is_any = true;
		t->screen.notes_num = 0;
	}
	return is_any ? EVSMP_OK : EVSMP_NOT_IN_USE;
}

/* ---------------------------------------------------------------- on a terminal */

/*
 * Signals come while wait_keys waits, and at no other time: so a handler only notes the signal. If standard input is no
 * terminal, it is none of ours: there are no keys then, and signals end it.
 */
static struct termios old_termios;
static bool is_on, has_keys;
static sigset_t waiting_mask;
static volatile sig_atomic_t was_ended, was_stopped, was_continued;

static void on_signal(int sig)
{
	if (sig == SIGTSTP)
		was_stopped = 1;
	else if (sig == SIGCONT)
		was_continued = 1;
	else
		was_ended = 1;
}

/* Returns the signals that have a handler. */
static sigset_t signals_handle(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		(void)sigaction(signals[i], &action, NULL);
		(void)sigaddset(&set, signals[i]);
	}
	return set;
}

static void terminal_restore(void)
{
	static const char leave[] = "\033[?25h\033[?1049l";

	if (!is_on)
		return;
	is_on = false;
	if (has_keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &old_termios);
	(void)!write(STDOUT_FILENO, leave, sizeof(leave) - 1);
}

/*
 * In the background this stops the process until it is in the foreground again, as all writers of terminal modes. A
 * read never waits: a terminal that throws its input away, for Ctrl-Z, may be found readable just then.
 */
static void terminal_set(void)
{
	struct termios raw = old_termios;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = raw.c_cc[VTIME] = 0;
	if (has_keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	is_on = true;
	fputs("\033[?1049h\033[?25l", stdout);
	fflush(stdout);
}

static void terminal_begin(void)
{
	sigset_t set = signals_handle();

	(void)sigprocmask(SIG_BLOCK, &set, &waiting_mask);
	has_keys = tcgetattr(STDIN_FILENO, &old_termios) == 0;
	(void)atexit(terminal_restore);
	terminal_set();
}

/* Ctrl-Z: stops as the kernel would have done it, once the terminal is as the shell knows it. */
static void terminal_stop(void)
{
	struct sigaction stop = { .sa_handler = SIG_DFL }, noted;
	sigset_t set;

	terminal_restore();
	(void)sigaction(SIGTSTP, &stop, &noted);
	(void)raise(SIGTSTP);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);	/* here it stops */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)sigaction(SIGTSTP, &noted, NULL);
}

static void size_update(struct top *t)
{
	struct winsize size;

	t->screen.columns = 100;
	t->screen.rows = 40;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
		t->screen.columns = size.ws_col;
		t->screen.rows = size.ws_row;
	}
}

/* In the last row. One character too many would move all others up; 80 columns have room for the first form. */
static void show_keys(const struct top *t)
{
	const char *next = t->bases.num > 1 ? "n next base  " : "", *sort = screen_sort_name(t->screen.sort);
	char line[160];

	if (!has_keys)
		(void)snprintf(line, sizeof(line), "sorted by %s  Ctrl-C quits", sort);
	else if (t->screen.columns < 100)
		(void)snprintf(line, sizeof(line), "%sq quit  t total/interval  sorted by %s (b c w l o)", next, sort);
	else
		(void)snprintf(line, sizeof(line), "%sq quit  t total/interval  sorted by %s: b busy  c calls  w wait  "
						   "l longest  o color", next, sort);
	printf("\033[%u;1H\033[7m%.*s\033[0m", t->screen.rows, (int)t->screen.columns, line);
}

static void draw_base(struct top *t)
{
	const struct base_sum *shown = bases_find(&t->bases, t->shown);

	if (shown->callbacks != 0)
		t->shown = shown->base;
	bases_notes(&t->bases, shown, source_not_turned(&t->source), &t->screen);
	if (read_interval(t, shown->file))
		screen_show(stdout, &t->screen, &t->source, t->now);
}

static void draw(struct top *t)
{
	size_update(t);
	fputs("\033[H\033[2J", stdout);
	read_bases(t);
	if (t->bases.num != 0)
		draw_base(t);
	else
		printf("%s (%d): no base has turned yet. q quits.\n", t->source.program, (int)t->source.pid);
	show_keys(t);
	fflush(stdout);
}

static void handle_key(struct top *t, char key)
{
	static const char keys[SORTS + 1] = "bcwlo";
	const char *at = key == '\0' ? NULL : strchr(keys, key);

	if (at != NULL)
		t->screen.sort = (enum screen_sort)(at - keys);
	else if (key == 'q')
		t->is_over = true;
	else if (key == 'n')
		t->shown = t->bases.num == 0 ? 0 : bases_next(&t->bases, bases_find(&t->bases, t->shown)->base);
	else if (key == 't')
		t->is_total = !t->is_total;
}

static void read_key(struct top *t, bool is_gone)
{
	char key;
	ssize_t n = read(STDIN_FILENO, &key, 1);

	if (n > 0)
		handle_key(t, key);
	else if (n < 0 || is_gone)
		t->is_over = true;
	draw(t);
}

static void handle_stop(struct top *t)
{
	if (was_stopped)
		terminal_stop();
	if (!was_stopped && !was_continued)
		return;
	was_stopped = was_continued = 0;
	terminal_set();
	draw(t);
}

/* Waits for the end of the interval, or for a key: then what is shown changes at once. */
static void wait_keys(struct top *t, uint64_t until_ns)
{
	struct pollfd in = { .fd = has_keys ? STDIN_FILENO : -1, .events = POLLIN };
	uint64_t now_ns = source_now_ns();
	struct timespec left;

	while (!t->is_over && !was_ended && now_ns < until_ns) {
		left.tv_sec = (time_t)((until_ns - now_ns) / 1000000000);
		left.tv_nsec = (long)((until_ns - now_ns) % 1000000000);
		if (ppoll(&in, 1, &left, &waiting_mask) > 0)
			read_key(t, (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0);
		handle_stop(t);
		now_ns = source_now_ns();
	}
}

static enum status show_always(struct top *t)
{
	bool is_alive = source_update(&t->source);
	uint64_t step_ns = (uint64_t)(t->seconds * 1e9);

	if (step_ns > 1000000000)
		step_ns = 1000000000;
	remember(t);
	t->screen.is_styled = true;
	terminal_begin();
	while (is_alive && !t->is_over && !was_ended) {
		wait_keys(t, source_now_ns() + step_ns);
		is_alive = source_update(&t->source);
		draw(t);
		remember(t);
	}
	terminal_restore();
	if (!is_alive)
		say_note("process %d has ended.", (int)t->source.pid);
	return EVSMP_OK;
}

enum status command_top(int argc, char **argv)
{
	struct top *t = must(calloc(1, sizeof(*t)));
	enum status status;

	t->screen.columns = 120;
	read_options(t, argc, argv);
	t->before = must(calloc(SOURCE_FILES, sizeof(*t->before)));
	t->before_bytes = must(calloc(SOURCE_FILES, sizeof(*t->before_bytes)));
	t->now = must(malloc(sizeof(*t->now)));
	source_open(attach_pid("top", t->pid), &t->source);
	status = t->is_once || !isatty(STDOUT_FILENO) ? show_once(t) : show_always(t);
	source_close(&t->source);
	return status;
}
