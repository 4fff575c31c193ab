/*
 * Dates of HTTP.
 */
#ifndef WEBSERVER_DATE_H
#define WEBSERVER_DATE_H

#include <stddef.h>
#include <time.h>

enum { DATE_LEN = 29 };

/* "Sun, 06 Nov 1994 08:49:37 GMT", into DATE_LEN bytes. */
void format_date(time_t t, char *out);

/* The present, in that form; of the thread, until its next call. */
const char *date_now();

/* -1: it is no such date. */
time_t parse_date(const char *p, size_t len);

#endif
