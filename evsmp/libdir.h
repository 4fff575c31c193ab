/*
 * The directories that hold our libraries, one for each architecture, and their names for the loader.
 */
#ifndef EVSMP_LIBDIR_H
#define EVSMP_LIBDIR_H

#include "elf.h"

#define ENGINE "libevent_smp.so.1"

struct libdir {
	const char *path;
	struct elf engine;		/* the head of its ENGINE */
	const char *version;		/* as ENGINE has it; NULL: it is older than that */
};

/* All that there are: EVSMP_LIBDIR alone, or those beside the prefix of this program. Their number. */
size_t libdir_list(struct libdir **ret);

/* That for programs of the machine of `program`; NULL: of this program. Ends the process where there is none. */
struct libdir libdir_for(const struct elf *program, const char *program_path);

/* A name that means the same in LD_LIBRARY_PATH. Ends the process where there is none. */
const char *libdir_name_for_loader(const char *path);

/* One directory for the loader (":" and ";" separate them, "$" begins a token), and one word for a shell. */
bool libdir_is_plain(const char *path);

/* As LD_LIBRARY_PATH: before those of `others` (NULL: none), without its empty elements; before the environment's. */
char *libdir_before(const char *name, const char *others);
char *libdir_before_others(const char *name);

#endif
