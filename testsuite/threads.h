/*
 * How many threads this process has, and whether they sleep. pthread_join() returns while the thread's
 * end is still being written down, so the kernel shows threads that have ended for a moment more:
 * these do not count.
 */
#ifndef TESTSUITE_THREADS_H
#define TESTSUITE_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASK_ENDING 0x4ul		/* in the flags of proc(5)'s stat, set before a join may return */

/* False: the thread is gone since the folder was read. */
static inline bool task_read(const char *tid, char *state, unsigned long *flags)
{
	char path[64], line[512], *name_end;
	bool is_read;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	is_read = fgets(line, sizeof(line), file) != NULL && (name_end = strrchr(line, ')')) != NULL
	    && sscanf(name_end, ") %c %*d %*d %*d %*d %*d %lu", state, flags) == 2;
	fclose(file);
	return is_read;
}

static inline bool task_lives(const char *tid)
{
	unsigned long flags;
	char state;

	return task_read(tid, &state, &flags) && (flags & TASK_ENDING) == 0;
}

/* Another one than the first thread, which asks. */
static inline bool task_is_awake(const char *tid)
{
	unsigned long flags;
	char state;

	return strtol(tid, NULL, 10) != getpid() && task_read(tid, &state, &flags) && state != 'S';
}

static inline unsigned tasks_num(bool (*is_counted)(const char *tid))
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned num = 0;

	if (dir == NULL)
		abort();
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			num += is_counted(entry->d_name);
	closedir(dir);
	return num;
}

static inline unsigned threads_num(void)
{
	return tasks_num(task_lives);
}

static inline void threads_wait_asleep(void)
{
	while (tasks_num(task_is_awake) != 0)
		;
}

#endif
