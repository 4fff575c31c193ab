#include "asleep.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "os/thread.h"

static const struct ec_asleep nothing = { .nr = -1 };

/* "running", "-1 SP PC", or "NR ARGUMENT... SP PC" with six arguments. */
struct ec_asleep ec_asleep_parse(const char *line)
{
	struct ec_asleep a;
	int num = sscanf(line, "%ld 0x%" SCNxPTR " 0x%*x 0x%*x 0x%*x 0x%*x 0x%*x 0x%" SCNxPTR " 0x%" SCNxPTR, &a.nr,
			 &a.arg, &a.sp, &a.pc);

	return num == 4 && a.nr >= 0 ? a : nothing;
}

struct ec_asleep ec_asleep_of(pid_t tid)
{
	char path[64], line[256];
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return nothing;
	len = read(fd, line, sizeof(line) - 1);
	ec_close(fd);
	if (len <= 0)
		return nothing;
	line[len] = '\0';
	return ec_asleep_parse(line);
}
