#include "finding.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ec.h"
#include "os/atomic.h"
#include "os/thread.h"
#include "symbol.h"
#include "text.h"

enum { TEXT_MAX = 1 << 17 };		/* four stacks of 48 frames, with long names */

#define COUNT "%" PRIu64 " %s"
#define NUM(n, one, many) (n), (n) == 1 ? (one) : (many)

static const char *why(int r)
{
	switch (r) {
	case -ESRCH:
		return "the thread has ended";
	case -ETIMEDOUT:
		return "the thread blocks signals, waits in the kernel, or has no CPU";
	case -ECANCELED:
		return "it went on meanwhile";
	case -ENOSPC:
		return "the program handles every real-time signal";
	case 0:
		return "this C library has no unwinder";
	}
	return "the signal could not be sent";
}

/* ---------------------------------------------------------------- text */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void add_symbol(struct ec_text *t, const void *addr, const struct ec_symbol *s)
{
	if (s->name[0] == '\0')
		ec_text_add(t, "%p", addr);
	else if (s->in_name == 0)
		ec_text_add(t, "%s", s->name);
	else
		ec_text_add(t, "%s+0x%" PRIx64, s->name, s->in_name);
	if (s->object[0] != '\0')
		ec_text_add(t, " (%s+0x%" PRIx64 ")", base_name(s->object), s->in_object);
}

static void add_place(struct ec_text *t, const void *addr, enum ec_symbol_kind kind)
{
	struct ec_symbol s;

	ec_symbol_find(addr, kind, &s);
	add_symbol(t, addr, &s);
}

static void add_callback(struct ec_text *t, const struct ec_stall_party *p)
{
	if (p->fn == NULL) {
		ec_text_add(t, "no callback");
		return;
	}
	if (p->is_between)
		ec_text_add(t, "no callback, after ");
	add_place(t, p->fn, EC_SYMBOL_ENTRY);
	ec_text_add(t, " of color %" PRIu32, p->color);
}

static void add_worker(struct ec_text *t, const struct ec_stall_party *p)
{
	ec_text_add(t, "worker %u of base %u", p->worker, p->base);
}

/* Below the callback are only the loop and the program's main: it ends the stack, if it is found there. */
static bool add_frame(struct ec_text *t, const struct ec_stall_party *p, int i)
{
	struct ec_symbol s;

	ec_symbol_find(p->trace.frames[i], i == 0 ? EC_SYMBOL_ENTRY : EC_SYMBOL_RETURN, &s);
	ec_text_add(t, "stall:   #%d ", i);
	add_symbol(t, p->trace.frames[i], &s);
	ec_text_add(t, "\n");
	return i == p->site_frame ||
	       (s.name[0] != '\0' && ec_symbol_code(p->trace.frames[i]) - s.in_name == ec_symbol_code(p->fn));
}

static void add_trace(struct ec_text *t, const struct ec_stall_party *p)
{
	bool is_callback = false;
	int i;

	for (i = 0; i < p->trace.num && !is_callback; i++)
		is_callback = add_frame(t, p, i);
	if (p->trace.num == 0)
		ec_text_add(t, "stall:   no backtrace: %s\n", why(p->no_trace));
}

static void add_queue(struct ec_text *t, const struct ec_stall_queue *q)
{
	const char *more = q->is_cut ? "at least " : "";

	if (q->has_colors)
		ec_text_add(t, "%s" COUNT " behind it, and %s" COUNT " of its own color", more,
			    NUM(q->colors, "color waits", "colors wait"), more, NUM(q->own, "callback", "callbacks"));
	else
		ec_text_add(t, COUNT " behind it", NUM(q->callbacks, "callback waits", "callbacks wait"));
}

/* Is the machine to blame, not the callback? */
static bool is_short_of_cpu(const struct ec_finding *f)
{
	return f->cpu_of_ns != 0 && f->cpu_missed_ns >= f->cpu_of_ns / 2;
}

static void add_cpu_time(struct ec_text *t, const struct ec_finding *f)
{
	if (is_short_of_cpu(f))
		ec_text_add(t, ", but had a CPU for %" PRIu64 " of the last %" PRIu64
			       " ms: the machine is short of CPUs", f->cpu_ns / 1000000, f->cpu_of_ns / 1000000);
}

static void add_head(struct ec_text *t, const struct ec_finding *f)
{
	const struct ec_stall_party *p = &f->parties[0];

	ec_text_add(t, "stall: ");
	switch (f->kind) {
	case EC_FINDING_CALLBACK:
		if (p->site_frame >= 0) {
			add_place(t, p->site, EC_SYMBOL_ENTRY);
			ec_text_add(t, ", called by ");
		}
		add_callback(t, p);
		ec_text_add(t, " has run for %" PRIu64 " ms on ", f->ms);
		add_worker(t, p);
		add_cpu_time(t, f);
		ec_text_add(t, "; ");
		add_queue(t, &f->queue);
		break;
	case EC_FINDING_TURN:
		add_worker(t, p);
		ec_text_add(t, " has not turned for %" PRIu64 " ms; ", f->ms);
		ec_text_add(t, COUNT " began meanwhile, and " COUNT "; it is in ",
			    NUM(f->began, "callback", "callbacks"), NUM(f->queue.callbacks, "waits", "wait"));
		add_callback(t, p);
		break;
	case EC_FINDING_CYCLE:
		ec_text_add(t, "%d%s callbacks wait for each other; one stops waiting", f->parties_num,
			    f->is_cut ? " or more" : "");
		break;
	case EC_FINDING_POSTS:
		ec_text_add(t, "the callbacks that wait at ");
		add_worker(t, p);
		ec_text_add(t, " grew from %" PRIu64 " to %" PRIu64 " within %" PRIu64 " ms, and never shrank", f->from,
			    f->to, f->ms);
		if (f->queue.has_colors)
			ec_text_add(t, "; %s%" PRIu64 " are of color %" PRIu32, f->queue.is_cut ? "at least " : "",
				    f->queue.most, f->queue.most_color);
		break;
	}
	ec_text_add(t, "\n");
}

static void add_text(struct ec_text *t, const struct ec_finding *f)
{
	const struct ec_stall_party *p;

	add_head(t, f);
	for (p = f->parties; p < f->parties + f->parties_num; p++) {
		if (f->kind == EC_FINDING_CYCLE) {
			ec_text_add(t, "stall: ");
			add_callback(t, p);
			ec_text_add(t, " on ");
			add_worker(t, p);
			ec_text_add(t, " waits for %s\n", p->waits_for);
		}
		if (f->kind != EC_FINDING_POSTS)
			add_trace(t, p);
	}
}

/* ---------------------------------------------------------------- JSON */

static void add_json_place(struct ec_text *t, const void *addr, enum ec_symbol_kind kind)
{
	struct ec_symbol s;

	ec_symbol_find(addr, kind, &s);
	ec_text_add(t, "{\"address\":\"%p\"", addr);
	if (s.name[0] != '\0') {
		ec_text_add(t, ",\"symbol\":");
		ec_text_add_json(t, s.name);
		ec_text_add(t, ",\"symbol_offset\":%" PRIu64, s.in_name);
	}
	if (s.object[0] != '\0') {
		ec_text_add(t, ",\"object\":");
		ec_text_add_json(t, s.object);
		ec_text_add(t, ",\"object_offset\":%" PRIu64, s.in_object);
	}
	ec_text_add(t, "}");
}

static void add_json_party(struct ec_text *t, const struct ec_stall_party *p, enum ec_finding_kind kind)
{
	int i;

	ec_text_add(t, "{\"base\":%u,\"worker\":%u", p->base, p->worker);
	if (p->fn != NULL) {
		ec_text_add(t, p->is_between ? ",\"has_ended\":true" : "");
		ec_text_add(t, ",\"color\":%" PRIu32 ",\"callback\":", p->color);
		add_json_place(t, p->fn, EC_SYMBOL_ENTRY);
	}
	if (kind == EC_FINDING_CALLBACK && p->site_frame >= 0) {
		ec_text_add(t, ",\"called\":");
		add_json_place(t, p->site, EC_SYMBOL_ENTRY);
	}
	if (kind == EC_FINDING_CYCLE) {
		ec_text_add(t, ",\"waits_for\":");
		ec_text_add_json(t, p->waits_for);
	}
	if (kind != EC_FINDING_POSTS && p->trace.num == 0) {
		ec_text_add(t, ",\"no_backtrace\":");
		ec_text_add_json(t, why(p->no_trace));
	} else if (kind != EC_FINDING_POSTS) {
		ec_text_add(t, ",\"backtrace\":[");
		for (i = 0; i < p->trace.num; i++) {
			ec_text_add(t, i == 0 ? "" : ",");
			add_json_place(t, p->trace.frames[i], i == 0 ? EC_SYMBOL_ENTRY : EC_SYMBOL_RETURN);
		}
		ec_text_add(t, "]");
	}
	ec_text_add(t, "}");
}

static void add_json_numbers(struct ec_text *t, const struct ec_finding *f)
{
	if (f->kind != EC_FINDING_CYCLE)
		ec_text_add(t, ",\"ms\":%" PRIu64 ",\"callbacks_waiting\":%" PRIu64, f->ms, f->queue.callbacks);
	if (f->kind == EC_FINDING_CALLBACK && f->queue.has_colors)
		ec_text_add(t, ",\"colors_waiting\":%" PRIu64 ",\"own_callbacks_waiting\":%" PRIu64, f->queue.colors,
			    f->queue.own);
	if (f->kind == EC_FINDING_CALLBACK && f->cpu_of_ns != 0)
		ec_text_add(t, ",\"cpu_ms\":%" PRIu64 ",\"cpu_of_ms\":%" PRIu64 ",\"short_of_cpu\":%s",
			    f->cpu_ns / 1000000, f->cpu_of_ns / 1000000, is_short_of_cpu(f) ? "true" : "false");
	if (f->kind == EC_FINDING_TURN)
		ec_text_add(t, ",\"callbacks_begun\":%" PRIu64, f->began);
	if (f->kind == EC_FINDING_POSTS)
		ec_text_add(t, ",\"from\":%" PRIu64 ",\"to\":%" PRIu64, f->from, f->to);
	if (f->kind == EC_FINDING_POSTS && f->queue.has_colors)
		ec_text_add(t, ",\"most_color\":%" PRIu32 ",\"most\":%" PRIu64, f->queue.most_color, f->queue.most);
}

static void add_json(struct ec_text *t, const struct ec_finding *f)
{
	static const char *const names[] = {
		[EC_FINDING_CALLBACK] = "callback",
		[EC_FINDING_TURN] = "turn",
		[EC_FINDING_CYCLE] = "cycle",
		[EC_FINDING_POSTS] = "posts",
	};
	int i;

	ec_text_add(t, "{\"stall\":\"%s\",\"time\":%lld,\"pid\":%d", names[f->kind], (long long)time(NULL),
		    (int)getpid());
	add_json_numbers(t, f);
	ec_text_add(t, ",\"workers\":[");
	for (i = 0; i < f->parties_num; i++) {
		ec_text_add(t, i == 0 ? "" : ",");
		add_json_party(t, &f->parties[i], f->kind);
	}
	ec_text_add(t, "]}\n");
}

/* ---------------------------------------------------------------- where it goes */

static int write_all(int fd, const char *at, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(fd, at, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* The file is opened for each finding: a program may close descriptors that it does not know. */
static int append(const struct ec_stall_settings *s, const struct ec_text *t)
{
	int fd = ec_stall_settings_open(s), r;

	if (fd < 0)
		return fd;
	r = write_all(fd, t->at, t->len);
	ec_close(fd);
	return r;
}

/* A message for each line. */
static void log_lines(char *text)
{
	char *line, *end;

	for (line = text; *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		if (end == NULL)	/* the text was cut */
			break;
		*end = '\0';
		ec_log(EC_LOG_WARN, "%s", line);
	}
}

static void log_failure(const char *path, int r)
{
	static _Atomic(bool) is_told;

	if (!ec_swap_acq_rel(&is_told, true))
		ec_log_errno(EC_LOG_WARN, -r, "stall: %s cannot be written", path);
}

static void put(struct ec_text *t, const struct ec_stall_settings *s)
{
	int r = 0;

	if (s->path[0] != '\0')
		r = append(s, t);
	else if (s->is_json)
		r = write_all(STDERR_FILENO, t->at, t->len);
	else
		log_lines(t->at);
	if (r < 0)
		log_failure(s->path[0] != '\0' ? s->path : "standard error", r);
}

void ec_finding_tell(const struct ec_finding *f, const struct ec_stall_settings *s)
{
	/* Not ec_malloc: the program's allocator may be for one thread. */
	char *buf = mmap(NULL, TEXT_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int state = ec_cancel_hold();
	struct ec_text t;

	if (buf == MAP_FAILED) {
		ec_log(EC_LOG_WARN, "stall: %p of color %" PRIu32 " on worker %u of base %u; no memory for more",
		       f->parties[0].fn, f->parties[0].color, f->parties[0].worker, f->parties[0].base);
		ec_cancel_release(state);
		return;
	}
	ec_text_init(&t, buf, TEXT_MAX);
	if (s->is_json)
		add_json(&t, f);
	else
		add_text(&t, f);
	put(&t, s);
	(void)munmap(buf, TEXT_MAX);
	ec_cancel_release(state);
}
