/*
 * Looking at a base: event_base_foreach_event, event_base_dump_events, and the counts of
 * events now and at most.
 */
#include "trace.h"

static struct event_base *base;

static void counts(const char *when)
{
	static const unsigned kinds[] = { EVENT_BASE_COUNT_ADDED, EVENT_BASE_COUNT_ACTIVE, EVENT_BASE_COUNT_VIRTUAL,
					  EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE, 0, 7, 8 };
	char line[256] = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		sprintf(line + strlen(line), " %d/%d", event_base_get_num_events(base, kinds[i]),
			event_base_get_max_events(base, kinds[i], 0));
	say("%s: added active virtual both none all other:%s", when, line);
}

/* Of an order that is the library's own, so the names are sorted; internal events have none. */
struct seen {
	char names[32];
	size_t num;
	int stop_after;
};

static int see(const struct event_base *b, const struct event *ev, void *arg)
{
	struct seen *seen = arg;

	must(b == base, "see the base that was asked");
	if (event_get_callback(ev) != say_cb)
		return 0;
	seen->names[seen->num++] = *(const char *)event_get_callback_arg(ev);
	return seen->stop_after != 0 && seen->num == (size_t)seen->stop_after ? 42 : 0;
}

static int by_letter(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static void look(const char *when)
{
	struct seen seen = { .num = 0 };
	int r = event_base_foreach_event(base, see, &seen);

	qsort(seen.names, seen.num, 1, by_letter);
	say("%s: %d, saw %zu: %s", when, r, seen.num, seen.names);
	seen = (struct seen){ .stop_after = 2 };
	r = event_base_foreach_event(base, see, &seen);
	say("  stopped: %d, saw %zu", r, seen.num);
}

static void scan(void)
{
	struct event *evs[7];
	int fd[2];

	section("foreach and counts");
	counts("empty");
	look("empty");
	pair_new(fd);
	evs[0] = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "a");
	evs[1] = ev_new(base, fd[0], EV_READ, say_cb, "b");
	evs[2] = ev_new(base, fd[1], EV_READ, say_cb, "c");
	evs[3] = ev_new(base, -1, 0, say_cb, "d");
	evs[4] = ev_new(base, -1, 0, say_cb, "e");
	evs[5] = ev_new(base, fd[1], EV_READ, say_cb, "f");
	evs[6] = ev_new(base, -1, 0, say_cb, "g: never added");
	event_add(evs[0], NULL);
	event_add(evs[1], &hour_tv);
	counts("two");
	event_add(evs[2], &hour_tv);
	event_add(evs[3], &hour_tv);
	event_add(evs[3], &hour_tv);
	counts("four");
	event_active(evs[4], EV_READ, 1);
	event_active(evs[0], EV_READ, 1);
	look("with active ones");
	counts("with active ones");
	event_add(evs[5], event_base_init_common_timeout(base, &hour_tv));
	look("with a common timeout");
	counts("with a common timeout");
	say("turn: %d", turn(base));
	counts("after a turn");
	say("clear: %d", event_base_get_max_events(base, EVENT_BASE_COUNT_ACTIVE, 1));
	counts("cleared active");
	for (int i = 0; i < 4; i++)
		event_del(evs[i]);
	look("deleted");
	counts("deleted");
	say("clear all: %d", event_base_get_max_events(base, 7, 1));
	counts("cleared all");
	for (int i = 0; i < 7; i++)
		event_free(evs[i]);
	counts("freed");
	pair_close(fd);
}

static void signals(void)
{
	struct event *ev = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, say_cb, "s");

	section("a signal");
	counts("before");
	event_add(ev, NULL);
	look("added");
	counts("added");
	raise(SIGUSR1);
	say("turn: %d", turn(base));
	counts("after it");
	event_free(ev);
	counts("freed");
}

/* The dump as users read it, addresses, numbers of descriptors and times left out. */
static void dump(const char *when)
{
	char *text = NULL, *line, *next;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	must(out != NULL, "open a stream");
	event_base_dump_events(base, out);
	fclose(out);
	section(when);
	for (line = text; line != NULL && *line != '\0'; line = next) {
		char clean[512];
		size_t n = 0;

		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		while (*line != '\0' && n < sizeof(clean) - 1) {
			size_t hex = strncmp(line, "0x", 2) == 0 ? 2 + strspn(line + 2, "0123456789abcdef") : 0;
			size_t digits = strspn(line, "0123456789.");

			if (hex == 0 && digits == 0) {
				clean[n++] = *line++;
				continue;
			}
			clean[n++] = '#';
			line += hex != 0 ? hex : digits;
		}
		clean[n] = '\0';
		say("%s", clean);
	}
	free(text);
}

static void dumps(void)
{
	struct event *r, *t, *s;
	int fd[2];

	pipe_new(fd);
	dump("dump, empty");
	r = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "r");
	event_add(r, NULL);
	dump("dump, read");
	event_add(r, &hour_tv);
	dump("dump, read and timeout");
	event_active(r, EV_READ, 1);
	dump("dump, active too");
	event_free(r);
	t = ev_new(base, -1, 0, say_cb, "t");
	event_add(t, &hour_tv);
	dump("dump, timer");
	event_free(t);
	s = ev_new(base, -1, 0, say_cb, "s");
	event_active(s, EV_TIMEOUT, 1);
	dump("dump, only active");
	event_free(s);
	r = ev_new(base, fd[1], EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, say_cb, "w");
	event_add(r, NULL);
	dump("dump, write, closed, edge");
	event_free(r);
	pair_close(fd);
}

int main(void)
{
	base = base_new();
	scan();
	signals();
	event_base_free(base);
	base = base_new();
	dumps();
	event_base_free(base);
	return 0;
}
