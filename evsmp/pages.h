/*
 * The forms in which a timeline is shown. Write errors are the stream's (ferror).
 */
#ifndef EVSMP_PAGES_H
#define EVSMP_PAGES_H

#include "latency.h"
#include "timeline.h"

void page_json(FILE *out, const struct timeline *t);	/* Chrome's trace format; Perfetto reads it, too */
void page_proto(FILE *out, const struct timeline *t);	/* Perfetto's */
void page_html(FILE *out, const struct timeline *t);	/* one file with all that it needs */
void page_svg(FILE *out, const struct timeline *t);
void page_latency(FILE *out, const struct timeline *t);	/* text */

/*
 * A string of JSON, with its quotes. It is UTF-8, with U+FFFD for bytes that are not, and has no `<`, so that it may
 * stand in HTML.
 */
void put_json_string(FILE *out, const char *s);

/* "worker 1"; with the base if there are several. Valid until the next call. */
const char *row_name(const struct timeline *t, const struct band *b, unsigned row);
/* "memcached (1234)" */
const char *band_name(const struct band *b);

/* A band's flows, by where they end (row, time), or where they begin; the caller frees it. */
const struct flow **flows_by_end(const struct band *b);
const struct flow **flows_by_start(const struct band *b);

#endif
