/*
 * A child that libc's fork did not make: clone, SYS_fork, or _Fork. No handler of pthread_atfork ran, so other threads
 * of the parent may have been in the midst of something, and hold locks in the child, where they are not.
 *
 * A page of memory that the kernel empties in each child (MADV_WIPEONFORK) tells such a child; where the
 * kernel does not know that, the process id does. fork.c then makes of it what a child of fork is.
 */
#ifndef EC_CLONE_H
#define EC_CLONE_H

#include <stdbool.h>

/* Once, before there are bases with locks. */
void ec_clone_watch(void);

/* Is this process a child of the one that called ec_clone_watch or ec_clone_note last? */
bool ec_clone_is_child(void);

/* It knows now. */
void ec_clone_note(void);

#endif
