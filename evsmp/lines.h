/*
 * The source lines of functions, if the program was compiled with -g and addr2line(1) is installed.
 */
#ifndef EVSMP_LINES_H
#define EVSMP_LINES_H

#include "symbols.h"

/* "server.c:63"; NULL: not known. The caller frees it. */
char *line_of(struct symbols *s, uint64_t address);

/* The same of what addr2line printed; for the tests. */
char *line_parse(const char *output);

#endif
