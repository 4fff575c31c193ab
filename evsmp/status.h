/*
 * What evsmp exits with. evsmp(1) lists these; a script may rely on them. `run` exits with the program's own status
 * once it has started the program.
 */
#ifndef EVSMP_STATUS_H
#define EVSMP_STATUS_H

enum status {
	EVSMP_OK = 0,
	EVSMP_FOUND = 1,		/* explore: the program fails under some schedule */
	EVSMP_USAGE = 2,
	EVSMP_NOT_IN_USE = 3,		/* status: the service does not run on libevent-smp */
	/* check: it depends on what the program does later, `run` starts it; explore, check-colors: nothing ran */
	EVSMP_UNKNOWN = 4,

	EVSMP_RACES = 66,		/* check-colors: there are reports; as ThreadSanitizer itself */

	EVSMP_NO_LIBRARIES = 100,	/* none installed, or not where EVSMP_LIBDIR says */
	EVSMP_NO_ARCHITECTURE,		/* none for the program's architecture (a 32-bit program) */
	EVSMP_OTHER_LIBC,		/* the program is built for musl, the libraries for glibc, or the reverse */
	EVSMP_STATIC,			/* the program, or its libevent, is statically linked */
	EVSMP_SET_ID,			/* the program is set-user-ID or set-group-ID */
	EVSMP_CAPABILITIES,		/* the program's file has capabilities */
	EVSMP_OTHER_PLACE,		/* DT_RPATH, or a path in DT_NEEDED, wins */
	EVSMP_PRELOAD,			/* a libevent in LD_PRELOAD or /etc/ld.so.preload wins */
	EVSMP_OTHER_LIBEVENT,		/* the program needs a libevent that is not 2.1 */
	EVSMP_LACKS_FUNCTIONS,		/* the program needs functions that libevent-smp does not have */
	EVSMP_LOADER,			/* the loader cannot load the program at all */
	EVSMP_ELSEWHERE,		/* the program starts others in a container, as another service, or the like */
	EVSMP_FORBIDDEN,		/* AppArmor or SELinux forbid the directory */
	EVSMP_NAME,			/* the loader cannot be told of the directory's name */
	EVSMP_CANNOT_FOLLOW,		/* env -i; a script whose interpreter gets no environment, or is missing */

	EVSMP_NO_SANITIZER,		/* check-colors: the program is not compiled with -fsanitize=thread */

	EVSMP_NO_SERVICE = 120,
	EVSMP_SANDBOX,			/* a setting of the unit forbids what the libraries need */
	EVSMP_NOT_OURS,			/* the drop-in is not what `enable` wrote */
	EVSMP_SYSTEM,			/* a file cannot be written, or systemd fails */
	EVSMP_REPLACEABLE,		/* another user than root can replace the libraries */

	EVSMP_NOT_EXECUTABLE = 126,
	EVSMP_NOT_FOUND = 127,
};

#endif
