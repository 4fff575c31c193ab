/*
 * A directory for the files of a command that runs a program. It goes with evsmp; if evsmp is killed, the next evsmp
 * that makes one of the same kind removes it.
 *
 *	owner				another evsmp of the same user
 *	makes the directory
 *	makes the file `.evsmp` there
 *	locks the file			locks the file: it gets the lock, if no owner is alive
 *	the name is still there?	removes all
 *	  no: begins anew
 *
 * The kernel releases the lock as the last process that has the file open ends, also in another container. A directory
 * without that file is none of ours, whatever its name is.
 */
#ifndef EVSMP_SCRATCH_H
#define EVSMP_SCRATCH_H

/*
 * Below TMPDIR, or /tmp; only this user may use it. Its path is absolute. `kind` is a part of the name. Once for each
 * process. Ends evsmp with a message if it cannot be made.
 */
const char *scratch_make(const char *kind);

/* With all that is in it. It may be called from atexit(). */
void scratch_remove(const char *path);

#endif
