/*
 * What all connections share: a file with a line for each answer, and the sums of what was done.
 */
#ifndef WEBSERVER_LOG_H
#define WEBSERVER_LOG_H

#include "async.h"
#include "str.h"

/* What a connection has done. */
struct sums {
	u_int64_t answers, bytes;

	sums() : answers(0), bytes(0) {}
};

/* Before the loop runs: open the file. false with errno. */
bool open_log(const str &file);

/* Is there one? Any color. */
bool has_log();

/* A line with the date before it. */
void log_line(const str &line);

/* Write what is not written yet, then call `cb`. */
void end_log(cbv cb);

#endif
