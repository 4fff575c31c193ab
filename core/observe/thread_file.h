/*
 * What the kernel tells of a thread of this process in /proc/self/task/TID.
 */
#ifndef EC_THREAD_FILE_H
#define EC_THREAD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The beginning of the file `name`, as a string. False: no such thread, or the kernel does not tell. */
bool ec_thread_file_read(pid_t tid, const char *name, char *text, size_t size);

#endif
