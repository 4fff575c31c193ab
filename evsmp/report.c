#include "report.h"

#include <stdlib.h>
#include <string.h>

/*
 *   ==================
 *   WARNING: ThreadSanitizer: data race (pid=1)
 *     Write of size 8 at 0x5555 by thread T4:
 *       #0 count /src/server.c:60 (server+0x1d42)
 *       #1 le_bev_call_read <null> (libevent-2.1.so.7+0x18a2)
 *
 *     Previous write of size 8 at 0x5555 by thread T2:
 *       ...
 *     Location is global 'requests' of size 8 at 0x5555 (server+0x14c0)
 *
 *     Thread T4 'color 111 (on_request)' (tid=0, running) created by thread T1 at:
 *       #0 ec_tsan_fiber_new <null> (libevent_smp.so.1+0xc7)
 *
 *   SUMMARY: ThreadSanitizer: data race /src/server.c:60 in count
 *   ==================
 */
#define WARNING "WARNING: ThreadSanitizer: "
#define BUFFER "an evbuffer"

/* One side of a race. */
struct side {
	const char *who;		/* "color 111", "color 0", "thread T5" */
	const char *callback;		/* the outermost function of the program there; NULL: not known */
	const char *library;		/* of another library, which uses the memory there; NULL: it is none's */
};

/* ---------------------------------------------------------------- lines */

static bool is_frame(const char *line)
{
	return starts_with(line + strspn(line, " "), "#");
}

static bool is_rule(const char *line)
{
	return starts_with(line, "==================");
}

/* What stands between the two, in memory of its own; NULL: they are not there. */
static char *between(const char *s, const char *before, const char *after)
{
	const char *from = strstr(s, before), *to;

	if (from == NULL)
		return NULL;
	from += strlen(before);
	to = strstr(from, after);
	return to == NULL ? NULL : text("%.*s", (int)(to - from), from);
}

static bool is_ours(const char *frame)
{
	return strstr(frame, "(libevent") != NULL;
}

/* Of a frame, or NULL. */
static char *function_of(const char *frame)
{
	const char *from = strchr(frame, '#'), *to;

	from = from == NULL ? NULL : strchr(from, ' ');
	if (from == NULL)
		return NULL;
	from++;
	to = from + strcspn(from, " ");
	return text("%.*s", (int)(to - from), from);
}

/* Of the C library, as ThreadSanitizer has it. clang has it within the program: then without lines. */
static bool is_runtime(const char *frame, const char *next)
{
	if (strstr(frame, "(libtsan") != NULL || strstr(frame, "/libsanitizer/") != NULL)
		return true;
	return strstr(frame, "#0 ") != NULL && strstr(frame, " <null> (") != NULL && next != NULL && is_ours(next);
}

/* ---------------------------------------------------------------- names */

/* "T4", behind `s`; NULL: there is none. */
static char *thread_in(const char *s)
{
	const char *at = strstr(s, "thread T");

	if (at == NULL)
		return NULL;
	at += strlen("thread ");
	return text("%.*s", (int)(1 + strspn(at + 1, "0123456789")), at);
}

/* The name that a report gives to a thread: "color 111 (on_request)"; NULL: none. */
static char *name_of(const struct list *lines, const char *thread)
{
	char *head = text("  Thread %s '", thread);
	size_t i;

	for (i = 0; i < lines->num; i++) {
		if (starts_with(lines->at[i], head))
			return between(lines->at[i], "'", "' (");
	}
	return NULL;
}

static bool is_color(const char *name)
{
	return name != NULL && (starts_with(name, "color ") || starts_with(name, "descriptor ") ||
				starts_with(name, "connection ") || starts_with(name, "callback "));
}

/* "color 111" of "color 111 (on_request)" */
static char *color_of(const char *name)
{
	const char *end = strstr(name, " (");

	return text("%.*s", (int)(end == NULL ? strlen(name) : (size_t)(end - name)), name);
}

static const char *who_is(const struct list *lines, const char *head)
{
	char *thread = thread_in(head), *name;

	if (thread == NULL)
		return "color 0";
	name = name_of(lines, thread);
	if (is_color(name))
		return color_of(name);
	return name == NULL ? text("thread %s", thread) : text("thread %s (%s)", thread, name);
}

/* "on_request", of "color 111 (on_request)"; NULL: the library itself is called back there. */
static char *callback_in(const char *name)
{
	char *callback = name == NULL || !is_color(name) ? NULL : between(name, " (", ")");

	return callback == NULL || strcmp(callback, "in libevent") == 0 ? NULL : callback;
}

/*
 * The outermost function of the program before the library, of the stack below line `i`. If only the library was seen
 * there, the callback that ran last in that color: mostly the same.
 */
static char *callback_of(const struct list *lines, size_t i)
{
	const char *head = lines->at[i], *frame, *next;
	char *found = NULL, *thread = thread_in(head);

	for (i++; i < lines->num && is_frame(lines->at[i]); i++) {
		frame = lines->at[i];
		next = i + 1 < lines->num && is_frame(lines->at[i + 1]) ? lines->at[i + 1] : NULL;
		if (is_ours(frame) && found != NULL)
			break;
		if (!is_ours(frame) && !is_runtime(frame, next) && strstr(frame, "<null> <null>") == NULL)
			found = function_of(frame);
	}
	return found != NULL || thread == NULL ? found : callback_in(name_of(lines, thread));
}

/* "libcrypto.so.3", of "#1 <null> <null> (libcrypto.so.3+0x33e)"; NULL: it is not in the line. */
static char *module_of(const char *frame)
{
	const char *end = strstr(frame, "+0x"), *from = end;

	while (from != NULL && from > frame && from[-1] != '(')
		from--;
	return from == NULL || from == frame ? NULL : text("%.*s", (int)(end - from), from);
}

/* Which library that is not the program's uses the memory, in the stack below line `i`. They have no lines. */
static char *library_of(const struct report *r, size_t i)
{
	const struct list *lines = &r->lines;
	const char *frame;
	char *module;

	for (i++; i < lines->num && is_frame(lines->at[i]); i++) {
		frame = lines->at[i];
		module = module_of(frame);
		if (strstr(frame, "(libtsan") != NULL || strstr(frame, "/libsanitizer/") != NULL)
			continue;
		if (module == NULL || is_ours(frame) || strstr(frame, " <null> (") == NULL)
			return NULL;
		if (strcmp(module, r->program) != 0)
			return module;
	}
	return NULL;
}

/* ---------------------------------------------------------------- telling */

static bool is_access(const char *line)
{
	return starts_with(line, "  ") && !starts_with(line, "   ") && strstr(line, " of size ") != NULL &&
	       strstr(line, " by ") != NULL && strstr(line, " at 0x") != NULL && !starts_with(line, "  Location");
}

/* The head of a section about one of our fibers: where it was made says nothing. */
static bool is_birth(const struct list *lines, const char *line)
{
	char *thread;

	if (!starts_with(line, "  Thread T"))
		return false;
	thread = text("T%.*s", (int)strspn(line + strlen("  Thread T"), "0123456789"), line + strlen("  Thread T"));
	return is_color(name_of(lines, thread));
}

/* Colors in the place of threads. */
static void line_print(const struct report *r, const char *line)
{
	char *thread = thread_in(line), *name = thread == NULL ? NULL : name_of(&r->lines, thread);
	const char *at;

	if (!is_color(name)) {
		fprintf(r->out, "%s\n", shown(line));
		return;
	}
	at = strstr(line, "thread T");
	fprintf(r->out, "%s", shown(text("%.*s", (int)(at - line), line)));
	fprintf(r->out, "%s", shown(color_of(name)));
	fprintf(r->out, "%s\n", shown(at + strlen("thread ") + strlen(thread)));
}

static void lines_print(const struct report *r)
{
	size_t i = 0;

	while (i < r->lines.num) {
		if (!is_birth(&r->lines, r->lines.at[i])) {
			line_print(r, r->lines.at[i++]);
			continue;
		}
		for (i++; i < r->lines.num && is_frame(r->lines.at[i]); i++)
			;
		i += i < r->lines.num && r->lines.at[i][0] == '\0';
	}
}

/* The function of ours that the program called, in the stack below line `i`: "evbuffer_add". NULL: there is none. */
static char *called_in(const struct list *lines, size_t i)
{
	const char *frame, *next;
	char *called = NULL;

	for (i++; i < lines->num && is_frame(lines->at[i]); i++) {
		frame = lines->at[i];
		next = i + 1 < lines->num && is_frame(lines->at[i + 1]) ? lines->at[i + 1] : NULL;
		if (is_ours(frame))
			called = function_of(frame);
		else if (called != NULL || !is_runtime(frame, next))
			break;
	}
	return called;
}

static bool is_of_buffer(const char *called)
{
	return called != NULL && (starts_with(called, "evbuffer_") || starts_with(called, "bufferevent_"));
}

/* Where the public function ended with a jump, only one of ours is in the stack, whose name tells nobody anything. */
static bool is_public(const char *called)
{
	return starts_with(called, "ev") || starts_with(called, "bufferevent_");
}

/* A block that the library has allocated: mostly a chunk of an evbuffer, which the program has no name for. */
static char *block_of(const struct list *lines, size_t location)
{
	char *size = between(lines->at[location], "heap block of size ", " at"), *maker;

	if (size == NULL)
		return NULL;
	maker = called_in(lines, location);
	if (maker == NULL)
		return text("a block of %s bytes", size);
	if (is_of_buffer(maker))
		return text(BUFFER);
	return is_public(maker) ? text("memory of libevent (%s)", maker) : text("memory of libevent");
}

/* What it is about: "requests", "a block of 48 bytes", "descriptor 7". */
static char *subject_of(const struct list *lines)
{
	char *found = NULL;
	size_t i;

	for (i = 0; i < lines->num && found == NULL; i++) {
		if (!starts_with(lines->at[i], "  Location is "))
			continue;
		found = between(lines->at[i], "global '", "'");
		if (found == NULL)
			found = block_of(lines, i);
		if (found == NULL && (found = between(lines->at[i], "file descriptor ", " ")) != NULL)
			found = text("descriptor %s", found);
	}
	return found == NULL ? text(RACES_UNNAMED) : found;
}

static char *side_text(const struct side *s)
{
	return s->callback == NULL ? text("%s", s->who) : text("%s (%s)", s->who, s->callback);
}

static char *advice_for(const struct report *r, const char *subject, const struct side sides[2])
{
	if (starts_with(subject, "descriptor "))
		return text("Close it in the color that uses it, after event_del.");
	if (starts_with(sides[0].who, "thread ") || starts_with(sides[1].who, "thread "))
		return text("Let the thread post to the color (event_base_post) instead.");
	if (strcmp(subject, BUFFER) == 0)
		return text("Let only the color of its bufferevent use it: others post to that (bufferevent_post), or "
			    "hand over an evbuffer of their own.");
	if (r->by != NULL)
		return text("Before you color by %s, give it a color of its own and post to that (event_base_post), or "
			    "one for each %s.", r->by, r->by);
	return text("Give both callbacks one color, or let one color use it alone, and post to that "
		    "(event_base_post).");
}

static void advise(const struct report *r, const char *subject, const char *advice, const struct side sides[2])
{
	fprintf(r->out, "evsmp: %s", shown(side_text(&sides[0])));
	fprintf(r->out, " and %s", shown(side_text(&sides[1])));
	fprintf(r->out, " use %s, and nothing orders them.\n", shown(subject));
	fprintf(r->out, "evsmp: %s\n", advice);
}

/* A race has two accesses. False: it is something else. */
static bool sides_find(const struct report *r, struct side sides[2])
{
	unsigned num = 0;
	size_t i;

	for (i = 0; i < r->lines.num && num < 2; i++) {
		if (!is_access(r->lines.at[i]))
			continue;
		sides[num].who = who_is(&r->lines, r->lines.at[i]);
		sides[num].callback = callback_of(&r->lines, i);
		sides[num++].library = library_of(r, i);
	}
	return num == 2;
}

/*
 * Both accesses are of a library that ThreadSanitizer cannot see into. Memory that it keeps for each thread looks
 * shared where all colors have one thread, as OpenSSL's random numbers do.
 */
static bool is_in_library(const struct report *r, const struct side sides[2])
{
	return !r->counts_libraries && sides[0].library != NULL && sides[1].library != NULL &&
	       strcmp(sides[0].library, sides[1].library) == 0;
}

static void library_tell(const struct report *r, const struct side sides[2])
{
	fprintf(r->out, "evsmp: %s", shown(side_text(&sides[0])));
	fprintf(r->out, " and %s use the same memory of ", shown(side_text(&sides[1])));
	fprintf(r->out, "%s. If it is one for each thread, that is right. (--libraries shows the report.)\n",
		shown(sides[0].library));
}

static bool is_race(const char *line)
{
	return starts_with(line, WARNING "data race") || starts_with(line, WARNING "heap-use-after-free") ||
	       starts_with(line, WARNING "race on ");
}

static void block_begin(const struct report *r)
{
	fputs("==================\n", r->out);
	lines_print(r);
}

static const char *function_name(const struct side *s)
{
	return s->callback != NULL ? s->callback : s->who;
}

/* One of each kind. */
static void race_tell(struct report *r, const struct side sides[2])
{
	char *subject = subject_of(&r->lines), *advice = advice_for(r, subject, sides);

	if (r->kinds != NULL &&
	    !races_note(r->kinds, subject, function_name(&sides[0]), function_name(&sides[1]), advice))
		return;
	block_begin(r);
	advise(r, subject, advice, sides);
	fputs("==================\n", r->out);
}

static void block_end(struct report *r)
{
	struct side sides[2];
	bool has_sides = is_race(r->lines.at[0]) && sides_find(r, sides);

	if (has_sides && is_in_library(r, sides)) {
		r->in_libraries++;
		library_tell(r, sides);
	} else {
		r->races += is_race(r->lines.at[0]);
		r->others += !is_race(r->lines.at[0]);
		if (has_sides) {
			race_tell(r, sides);
		} else {
			block_begin(r);
			fputs("==================\n", r->out);
		}
	}
	fflush(r->out);
	r->lines = (struct list){ 0 };
}

/* ---------------------------------------------------------------- reading */

/* The runtime ends the process after it, by itself and with no status of its own: a crash of the program, mostly. */
static bool is_end(const char *line)
{
	return strstr(line, "==ERROR: ThreadSanitizer: ") != NULL || starts_with(line, "FATAL: ThreadSanitizer: ") ||
	       starts_with(line, "ThreadSanitizer: CHECK failed");
}

static void line_read(struct report *r, const char *line)
{
	if (is_end(line)) {
		if (r->lines.num != 0)
			block_end(r);
		r->others++;
	}
	if (r->lines.num == 0 && starts_with(line, WARNING)) {
		list_add(&r->lines, line);
	} else if (r->lines.num != 0 && is_rule(line)) {
		block_end(r);
	} else if (r->lines.num != 0) {
		list_add(&r->lines, line);
	} else if (!is_rule(line) && !starts_with(line, "ThreadSanitizer: reported ")) {
		fprintf(r->out, "%s\n", shown(line));
	}
}

void report_read(struct report *r, const char *s, size_t len)
{
	char *all = text("%s%.*s", r->rest == NULL ? "" : r->rest, (int)len, s), *line = all, *end;

	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		line_read(r, line);
	}
	r->rest = text("%s", line);
	free(all);
}

void report_end(struct report *r)
{
	if (r->rest != NULL && r->rest[0] != '\0')
		line_read(r, r->rest);
	r->rest = NULL;
	if (r->lines.num != 0)
		block_end(r);
}
