/*
 * What `evsmp top` shows of a base: text for people, and JSON for programs.
 */
#ifndef EVSMP_SCREEN_H
#define EVSMP_SCREEN_H

#include <stdio.h>

#include "sentences.h"
#include "source.h"

enum screen_sort { SORT_BUSY, SORT_CALLS, SORT_WAIT, SORT_LONGEST, SORT_COLOR, SORTS };

enum { NOTES_MAX = 6, NOTE_LEN = 160 };

struct screen {
	enum screen_sort sort;
	unsigned columns, rows;		/* of the terminal; rows 0: no limit */
	bool is_styled;			/* escapes for bold and reverse */
	unsigned bases_num;		/* of the process */
	unsigned notes_num;
	char notes[NOTES_MAX][NOTE_LEN]; /* lines about other bases, below the sentences */
};

/* `s`: what was counted in the time that is shown. Sorts its colors. */
void screen_show(FILE *out, const struct screen *screen, struct source *source, struct stats *s);

void screen_json(FILE *out, struct source *source, struct stats *s);

const char *screen_sort_name(enum screen_sort sort);

/* SORTS: there is no such name. */
enum screen_sort screen_sort_of(const char *name);

#endif
