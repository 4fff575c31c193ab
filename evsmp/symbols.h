/*
 * The names of addresses in a process: its mappings say which file is there, and the file's symbol tables what it is.
 * Where the file was stripped, the tables of its debug file are read, if that is installed.
 */
#ifndef EVSMP_SYMBOLS_H
#define EVSMP_SYMBOLS_H

#include <sys/types.h>

#include "say.h"

struct symbols;			/* of one process, read as they are asked for; freed by symbols_free() */

struct symbol {
	const char *name;	/* of the function; NULL: not known */
	uint64_t offset;	/* behind its start; without a name: in the file, as addr2line takes it */
	const char *file;	/* its path, as the process sees it; NULL: no file is mapped there */
	uint64_t at;		/* the address in that file, as addr2line takes it */
};

/* NULL: there is no such process, or this user may not look (errno EACCES or EPERM). */
struct symbols *symbols_new(pid_t pid);
/* Of a process that has ended; `maps` is the text of its /proc/PID/maps, which is changed. */
struct symbols *symbols_of_maps(char *maps);
void symbols_free(struct symbols *s);

/* Where the first mapping begins; 0: there is none. */
uint64_t symbols_start(const struct symbols *s);

/* The name of the program's file. */
const char *symbols_program(const struct symbols *s);

/* What is valid until symbols_free(). */
struct symbol symbols_find(struct symbols *s, uint64_t address);

/*
 * "on_read", "on_read+0x12", "memcached+0x4a10" where the function is not known, "0x7f00deadbeef" where no file is.
 * A function of our libraries that called none of the program's has the name of its work: "accept (libevent)".
 * Valid until symbols_free(). It is what a file says: not for a terminal without shown().
 */
const char *symbols_name(struct symbols *s, uint64_t address);

/* The work of our library's function `name` in this file; NULL: it is another file. Valid until the next call. */
const char *symbols_own_work(const char *path, const char *name);

/* The functions of one file, by the addresses that addr2line takes. NULL: they cannot be read. */
struct object;
struct object *symbols_file_new(const char *path);
void symbols_file_free(struct object *o);

/* The function that is at `address`; NULL: none. Valid until symbols_file_free(). */
const char *symbols_file_find(const struct object *o, uint64_t address);

#endif
