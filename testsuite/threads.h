/*
 * How many threads this process has. pthread_join() returns while the thread's end is still being
 * written down, so the kernel shows threads that have ended for a moment more: these do not count.
 */
#ifndef TESTSUITE_THREADS_H
#define TESTSUITE_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASK_ENDING 0x4ul		/* in the flags of proc(5)'s stat, set before a join may return */

/* A thread that is gone since the folder was read has ended, too. */
static inline bool task_lives(const char *tid)
{
	char path[64], line[512], *name_end;
	bool lives = false;
	unsigned long flags;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	if (fgets(line, sizeof(line), file) != NULL && (name_end = strrchr(line, ')')) != NULL
	    && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1)
		lives = (flags & TASK_ENDING) == 0;
	fclose(file);
	return lives;
}

static inline unsigned threads_num(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned num = 0;

	if (dir == NULL)
		abort();
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			num += task_lives(entry->d_name);
	closedir(dir);
	return num;
}

#endif
