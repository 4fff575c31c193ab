#include "thread_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "os/thread.h"

bool ec_thread_file_read(pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	ec_close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return true;
}
