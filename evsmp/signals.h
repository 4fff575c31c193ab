/*
 * Signals of evsmp itself, which differ from what its parent wants for programs.
 *
 * A process whose parent ignores SIGCHLD ignores it, too. Then the kernel forgets how its children ended. evsmp needs
 * to know that, so it takes the default; programs that it starts get what its parent gave it.
 */
#ifndef EVSMP_SIGNALS_H
#define EVSMP_SIGNALS_H

#include <stdbool.h>

/* As main begins. */
void signals_begin(void);

/* In a process that becomes a program. */
void signals_give_back(void);

/* Has a write failed because its reader has gone, while SIGPIPE is blocked? */
bool signals_pipe_is_broken(void);

#endif
