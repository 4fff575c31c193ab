/*
 * The file of a base's trace. It is made as the first worker is switched on, and closed as the last one is switched
 * off. A reader that has it open still gets what is in it.
 *
 * The program may close its descriptor, and the number may be another file's then. So what grows is reserved only after
 * a look at which file it is, and all else is written through the mapping. A file that tools cannot open any more is
 * left: workers that write to it go on, and those that are switched on next get a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ec.h"
#include "mapped.h"
#include "os/clock.h"
#include "trace.h"

/* Not in a child: its memory goes with MADV_DONTFORK. observe.c's lock guards it. */
struct ec_trace_file {
	struct ec_mapped mapped;
	struct ec_trace_head *head;
	size_t size;			/* of this struct */
	int control_at;			/* its place in the control word, which closes the descriptor; -1: left */
	unsigned open_num;		/* rings that are written */
	uint64_t maps_reserved;		/* bytes */
	char path[4096 + 32];		/* empty: it has none */
	bool has_objects;		/* const: they were asked for when the file was made */
	struct ec_trace traces[];
};

static unsigned touched_num;		/* observe.c's lock: files whose bases tell what callbacks touch */

/* ---------------------------------------------------------------- layout */

static bool has_objects(void)
{
	return ec_load_relaxed(&ec_control_own.trace[1]) != 0;
}

static void touches_begin(struct ec_trace_file *f)
{
	f->has_objects = has_objects();
	if (f->has_objects && touched_num++ == 0)
		ec_watch_set(EC_WATCH_TOUCH, true);
}

static void touches_end(const struct ec_trace_file *f)
{
	if (f->has_objects && --touched_num == 0)
		ec_watch_set(EC_WATCH_TOUCH, false);
}

static uint64_t pages(uint64_t size)
{
	const uint64_t page = 4096;

	return (size + page - 1) / page * page;
}

/* What a tool asked for, or the default. */
static uint32_t records_num(void)
{
	uint64_t wanted = ec_load_relaxed(&ec_control_own.trace[0]), num = EC_TRACE_RECORDS_MIN;

	if (wanted == 0)
		return EC_TRACE_RECORDS;
	while (num < wanted && num < EC_TRACE_RECORDS_MAX)
		num *= 2;
	return (uint32_t)num;
}

static struct ec_trace_head layout(uint32_t base, uint32_t rings_num)
{
	struct ec_trace_head h = {
		.magic = EC_TRACE_MAGIC,
		.layout = EC_TRACE_LAYOUT,
		.size = sizeof(h),
		.pid = (uint32_t)getpid(),
		.base = base,
		.rings_num = rings_num,
		.records_num = records_num(),
		.rings_at = pages(sizeof(h)),
		.maps_cap = EC_TRACE_MAPS,
	};

	h.ring_size = pages(sizeof(struct ec_trace_ring) + (uint64_t)h.records_num * EC_TRACE_WORDS * sizeof(uint64_t));
	h.maps_at = h.rings_at + h.rings_num * h.ring_size;
	h.file_size = h.maps_at + h.maps_cap;
	(void)ec_clock_ticks();		/* so that ticks are known */
	h.tick_mult = ec_clock_ticks_to_ns(UINT64_C(1) << 32);
	return h;
}

/* ---------------------------------------------------------------- mappings */

/* Of a file that is mapped, so these are sizes of memory, too. */
static int reserve(struct ec_trace_file *f, uint64_t at, uint64_t len)
{
	return f->control_at < 0 ? -ESTALE : ec_control_reserve(f->control_at, (size_t)at, (size_t)len);
}

/* Is there memory for so much text? */
static bool reserve_maps(struct ec_trace_file *f, uint64_t len)
{
	const uint64_t step = 65536;
	uint64_t rounded = (len + step - 1) / step * step;

	if (len <= f->maps_reserved)
		return true;
	if (rounded > f->head->maps_cap || reserve(f, f->head->maps_at, rounded) < 0)
		return false;
	f->maps_reserved = rounded;
	return true;
}

/* For names of functions once the process has ended. What fails is left out: then there are numbers. */
static void write_maps(struct ec_trace_file *f)
{
	const struct ec_trace_head *h = f->head;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	uint64_t len = 0;
	char part[4096];
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = read(fd, part, sizeof(part))) > 0 && reserve_maps(f, len + (uint64_t)n)) {
		memcpy(f->mapped.at + h->maps_at + len, part, (size_t)n);
		len += (uint64_t)n;
	}
	(void)close(fd);
	ec_store_release(&f->head->maps_len, len);		/* meets the tool's load */
}

/* ---------------------------------------------------------------- the file */

/* FILE, or FILE.PID.BASE if there is such a file: of another process or base that has the same environment. */
static int open_mapped(uint32_t base, size_t size, struct ec_trace_file *f)
{
	bool has_name = (ec_load_relaxed(&ec_control_own.wanted_here) & EC_OBSERVE_TRACE) != 0;
	const char *path = has_name ? ec_control_trace_path() : NULL;
	struct stat st;
	int r;

	/* The environment asked for it, or a tool. */
	if (path == NULL)
		return ec_mapped_new(NULL, "libevent-smp-trace", size, &f->mapped);
	(void)snprintf(f->path, sizeof(f->path), "%s", path);
	r = ec_mapped_new(f->path, NULL, size, &f->mapped);
	if (r != -EEXIST)
		return r;
	/* A name beside a device would be in /dev, beside a link not where it leads. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		ec_log(EC_LOG_WARN, "EVENT_SMP_TRACE: %s is there, and is no regular file", path);
		return r;
	}
	(void)snprintf(f->path, sizeof(f->path), "%s.%d.%u", path, (int)getpid(), base);
	return ec_mapped_new(f->path, NULL, size, &f->mapped);
}

/* NULL: it has none. A file that cannot be used is removed. */
static const char *path_of(const struct ec_trace_file *f)
{
	return f->path[0] != '\0' ? f->path : NULL;
}

static struct ec_trace_file *file_alloc(unsigned workers_max)
{
	size_t size = sizeof(struct ec_trace_file) + workers_max * sizeof(struct ec_trace);
	struct ec_trace_file *f = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (f == MAP_FAILED)
		return NULL;
	f->size = size;
	if (madvise(f, size, MADV_DONTFORK) == 0)
		return f;
	(void)munmap(f, size);
	return NULL;
}

static int file_new(struct ec_observer *o, struct ec_trace_file **ret)
{
	struct ec_trace_head h = layout(o->base, o->workers_max);
	struct ec_trace_file *f = file_alloc(o->workers_max);
	int r;

	if (f == NULL)
		return -ENOMEM;
	r = (size_t)h.file_size != h.file_size ? -EFBIG : open_mapped(o->base, (size_t)h.file_size, f);
	if (r < 0)
		goto free_file;
	r = ec_mapped_reserve(&f->mapped, 0, (size_t)h.rings_at);
	if (r < 0)
		goto free_mapped;
	f->head = (void *)f->mapped.at;
	*f->head = h;
	f->control_at = ec_control_add_file(EC_OBSERVE_TRACE, f->mapped.fd, o->base);
	if (f->control_at < 0) {
		r = -ENOSPC;
		goto free_mapped;
	}
	write_maps(f);
	touches_begin(f);
	*ret = f;
	return 0;

free_mapped:
	ec_mapped_drop(&f->mapped, path_of(f));
free_file:
	(void)munmap(f, f->size);
	return r;
}

static void file_free(struct ec_trace_file *f)
{
	touches_end(f);
	write_maps(f);
	ec_store_release(&f->head->is_closed, 1);		/* meets the tool's load: all records are there */
	if (f->control_at >= 0)
		ec_control_remove_file(f->control_at);
	f->mapped.fd = -1;					/* it is closed by that */
	ec_mapped_free(&f->mapped);
	(void)munmap(f, f->size);
}

/* Can tools open it? */
static bool is_there(const struct ec_trace_file *f)
{
	return ec_control_has_file(f->control_at) ||
	       (path_of(f) != NULL && ec_control_reopen_file(f->control_at, f->path));
}

/* The last of the workers that still write to it frees it. */
static void file_leave(struct ec_trace_file *f)
{
	ec_control_remove_file(f->control_at);
	f->control_at = -1;
	if (f->open_num == 0)
		file_free(f);
}

/* ---------------------------------------------------------------- the consumer */

static void trace_fini(struct ec_observer *o)
{
	if (o->trace != NULL)
		file_free(o->trace);
	o->trace = NULL;
}

static int trace_open(struct ec_probe *p)
{
	struct ec_observer *o = p->observer;
	struct ec_trace_file *f = o->trace;
	bool is_new;
	uint64_t at;
	int r;

	if (f != NULL && !is_there(f)) {
		o->trace = NULL;
		file_leave(f);
		f = NULL;
	}
	is_new = f == NULL;
	if (is_new) {
		r = file_new(o, &f);
		if (r < 0)
			return r;
		o->trace = f;
	}
	at = f->head->rings_at + p->worker * f->head->ring_size;
	r = reserve(f, at, f->head->ring_size);
	if (r < 0) {
		if (is_new && path_of(f) != NULL)
			(void)unlink(f->path);
		if (f->open_num == 0)
			trace_fini(o);
		return r;
	}
	p->trace = &f->traces[p->worker];
	f->open_num++;
	ec_trace_init(p->trace, (void *)(f->mapped.at + at), f->head->records_num, p->worker, p->now);
	p->trace->has_objects = f->has_objects;
	ec_mapped_touch(&f->mapped, (size_t)at, (size_t)f->head->ring_size);
	p->trace->file = f;
	return 0;
}

static void trace_close(struct ec_probe *p)
{
	struct ec_observer *o = p->observer;
	struct ec_trace_file *f = p->trace->file;

	p->trace = NULL;
	if (--f->open_num != 0)
		return;
	/* All consumers are closed when another one is switched on: then it is opened again at once. */
	if (f != o->trace)
		file_free(f);
	else if ((ec_control_wanted() & EC_OBSERVE_TRACE) == 0)
		trace_fini(o);
}

static void begin(struct ec_probe *p, const struct ec_probe_call *call)
{
	ec_trace_begin(p->trace, call);
}

static void rename_call(struct ec_probe *p, const struct ec_probe_call *call)
{
	ec_trace_rename(p->trace, call);
}

static void end(struct ec_probe *p, const struct ec_probe_call *call)
{
	if (p->trace->has_objects)
		ec_trace_end_slowly(p->trace, call, p->now);
	else
		ec_trace_end(p->trace, call, p->now);
}

static void note(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value)
{
	ec_trace_note(p->trace, what, color, value, p->now);
}

const struct ec_consumer ec_trace_consumer = {
	.bit = EC_OBSERVE_TRACE,
	.name = "a trace",
	.open = trace_open,
	.close = trace_close,
	.begin = begin,
	.rename = rename_call,
	.end = end,
	.note = note,
	.fini = trace_fini,
};
