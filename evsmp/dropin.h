/*
 * The drop-in that lets a service run on our libraries: its text, and its file. Its LD_LIBRARY_PATH is ours and that
 * of the unit, copied: where the unit changes its own later, the drop-in must be written again. It has a checksum of
 * itself, so that `disable` removes exactly what `enable` wrote, and says whether its directory was made for it.
 */
#ifndef EVSMP_DROPIN_H
#define EVSMP_DROPIN_H

#include "unit.h"

/* `workers`: EVENT_WORKERS; NULL: not set. */
const char *dropin_compose(const struct unit *u, const char *libdir, const char *workers, bool is_dir_made);

/* Is it as dropin_compose() made it? The second one ends the process if not. */
bool dropin_is_ours(const char *content);
void dropin_insist_on_ours(const char *path, const char *content);

/* What is in it; NULL: nothing. */
const char *dropin_workers(const char *content);
const char *dropin_libdir(const char *content);
bool dropin_made_dir(const char *content);

/* Is it what would be written today, for the same libraries? */
bool dropin_is_current(const struct unit *u, const char *content);

/* False: errno says why, and nothing has changed. */
bool dropin_write(const char *path, const char *content);

#endif
