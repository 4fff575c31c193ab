/*
 * Detects a child that libc's fork did not make: clone, SYS_fork, or _Fork. No handler of pthread_atfork ran there.
 * So other threads of the parent may have been changing something, and their locks are still taken in the child,
 * where these threads do not exist.
 *
 * The kernel clears a page of memory in each child (MADV_WIPEONFORK), so the child finds it empty. Without that
 * feature, the process id differs. fork.c then treats the child like one of fork.
 */
#ifndef EC_CLONE_H
#define EC_CLONE_H

#include <stdbool.h>

/* Once, before there are bases with locks. */
void ec_clone_watch(void);

/* Is this process a child of the one that called ec_clone_watch or ec_clone_note last? */
bool ec_clone_is_child(void);

/* The process knows that it is a child: ec_clone_is_child returns false from now on. */
void ec_clone_note(void);

#endif
