/*
 * Messages, text and lists of text. evsmp does one thing and exits: what is allocated here is not freed, and without
 * memory the process ends.
 */
#ifndef EVSMP_SAY_H
#define EVSMP_SAY_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "status.h"

#define SAY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* "evsmp: …" on stderr */
void say_note(const char *fmt, ...) SAY_PRINTF(1, 2);

/* One sentence that says what is wrong, and one that says what to do: both end in a full stop. */
_Noreturn void die(enum status status, const char *fmt, ...) SAY_PRINTF(2, 3);

/* Until die_into(NULL), die() says nothing, and goes back to where setjmp() has set `back`. */
struct caught {
	jmp_buf back;
	enum status status;
	const char *reason;
};

void die_into(struct caught *caught);

/* What malloc() and its like returned. Ends the process if that is NULL. */
void *must(void *p);

/* sprintf to memory of the right size */
char *text(const char *fmt, ...) SAY_PRINTF(1, 2);

/*
 * For the terminal of a person: file names and what other processes tell may hold control characters. After
 * say_hide_homes() it also shows home directories without the names of people. All messages go through it.
 */
const char *shown(const char *s);
void say_hide_homes(void);

/* As shown(), without memory of its own, for pages of many lines. It hides no home directories. */
void put_shown(FILE *out, const char *s);

/* As a pattern of glob(3) that stands for this text alone. */
const char *text_for_glob(const char *s);

/* As one word for a shell. Not for a text with ' in it. */
const char *text_for_shell(const char *s);

/* FNV-1a of 64 bits. In links and drop-ins, which outlive this version: it stays as it is. */
uint64_t text_hash(const char *s);

bool starts_with(const char *s, const char *prefix);
bool ends_with(const char *s, const char *suffix);
const char *base_name(const char *path);	/* behind the last slash */
char *dir_name(const char *path);		/* before the last slash; "." without one */

/* A growing list; at[num] is NULL once there is one. */
struct list {
	char **at;
	size_t num;
};

void list_add(struct list *list, const char *s);
bool list_has(const struct list *list, const char *s);
void list_sort(struct list *list);
/* Adds the parts of `s` between characters of `separators`; empty ones are left out. */
void list_split(struct list *list, const char *s, const char *separators);

/*
 * All of a regular file (its size may be unknown, as in /proc); 0 is added. NULL: errno says why: EINVAL for other
 * kinds of files, which may never end, and EFBIG for 1 GiB and more.
 */
char *file_read(const char *path, size_t *ret_len);
/* The same for a descriptor, which it closes. */
char *file_read_all(int fd, size_t *ret_len);

/* Where the system's files are: below EVSMP_ROOT, for tests and for images that are not mounted at /. */
char *rooted(const char *path);
bool is_rooted(void);		/* this is not the system that runs */

#endif
