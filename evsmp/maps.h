/*
 * What files a process has mapped, and where.
 */
#ifndef EVSMP_MAPS_H
#define EVSMP_MAPS_H

#include <sys/types.h>

#include "elf.h"

struct mapping {
	unsigned long long from, to, offset;
	const char *path;		/* as the process sees it */
	bool is_deleted;		/* that file was deleted or replaced since */
	bool is_code;			/* it may be executed */
};

/* Files only, by address. */
struct maps {
	struct mapping *at;
	size_t num;
};

/* False: there is no such process, or this user may not look (errno EACCES or EPERM). */
bool maps_read(pid_t pid, struct maps *ret);
/* The same from the text of /proc/PID/maps, which it changes. */
void maps_parse(char *lines, struct maps *ret);
void maps_free(struct maps *maps);

/* The mapping that holds an address; NULL: none of a file does. */
const struct mapping *maps_find(const struct maps *maps, uint64_t address);

/* The file of a mapping, as the process has it (0: it has ended). False: it is no ELF file, or it cannot be read. */
bool maps_read_file(pid_t pid, const struct mapping *m, struct elf *ret);

/* /proc/PID/NAME */
const char *maps_file_of(pid_t pid, const char *name);

#endif
