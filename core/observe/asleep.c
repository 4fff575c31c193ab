#include "asleep.h"

#include <inttypes.h>
#include <stdio.h>

#include "thread_file.h"

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
	char line[256];

	return ec_thread_file_read(tid, "syscall", line, sizeof(line)) ? ec_asleep_parse(line) : nothing;
}
