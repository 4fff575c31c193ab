#include "log.h"

#include <fcntl.h>

#include "date.h"
#include "err.h"

enum { FLUSH_AT = 0x10000, FLUSH_SECS = 1 };

/* const while the loop runs */
static int log_fd = -1;

/* of the log's color */
static suio lines;
static bool is_timed;

bool open_log(const str &file)
{
	log_fd = open(file.cstr(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return log_fd >= 0;
}

bool has_log()
{
	return log_fd >= 0;
}

static void flush()
{
	while (lines.resid()) {
		if (lines.output(log_fd) < 0) {
			warn("log: %m\n");
			lines.clear();
		}
	}
}

static void flush_cb()
{
	is_timed = false;
	flush();
}

static void line_cb(str line)
{
	lines.copy(date_now(), DATE_LEN);
	lines.copy(" ", 1);
	lines.copy(line.cstr(), line.len());
	lines.copy("\n", 1);
	if (lines.resid() > FLUSH_AT) {
		flush();
	} else if (!is_timed) {
		is_timed = true;
		delaycb(FLUSH_SECS, wrap(flush_cb));
	}
}

static void end_cb(cbv cb)
{
	flush();
	cb();
}

void log_line(const str &line)
{
	line_cb(line);
}

void end_log(cbv cb)
{
	end_cb(cb);
}
