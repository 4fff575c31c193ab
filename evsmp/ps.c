/*
 * ps: the processes that have the engine mapped, whatever started them.
 */
#include <errno.h>
#include <unistd.h>

#include "command.h"
#include "process.h"

#define ROW "%7s %-16s %-8s %5s %7s %6s %s%s\n"

struct count {
	unsigned shown, replaced, unknown, hidden;
};

static const char *number(const struct process *p, uint32_t value)
{
	return p->has_numbers ? text("%u", value) : "?";
}

static void show(pid_t pid, void *arg)
{
	struct count *count = arg;
	struct process p;

	if (!process_read(pid, &p)) {
		count->hidden += errno == EACCES || errno == EPERM;
		return;
	}
	if (p.engine == NULL)
		return;
	if (count->shown++ == 0)
		printf(ROW, "PID", "PROGRAM", "VERSION", "BASES", "THREADS", "COLORS", "DIRECTORY", "");
	printf(ROW, text("%d", (int)pid), shown(p.program), p.version == NULL ? "?" : shown(p.version),
	       number(&p, p.bases), number(&p, p.threads), number(&p, p.colors), shown(dir_name(p.engine)),
	       p.is_replaced ? " (replaced since)" : "");
	count->replaced += p.is_replaced;
	count->unknown += !p.has_numbers;
}

enum status command_ps(int argc, char **argv)
{
	struct count count = { 0 };

	if (argc > 0)
		die(EVSMP_USAGE, "ps takes no arguments, such as %s.", argv[0]);
	process_each(show, &count);
	if (count.shown == 0)
		puts("No process that this user may see has libevent-smp loaded.");
	else
		puts("\nTHREADS: of workers, without the threads that run the loops. COLORS: the most at\n"
		     "one time, without color 0.");
	if (count.unknown != 0)
		puts("?: not known. Root sees more.");
	if (count.replaced != 0)
		printf("Libraries that were replaced since: %u of these processes still %s them. Restart %s.\n",
		       count.replaced, count.replaced == 1 ? "uses" : "use", count.replaced == 1 ? "it" : "them");
	if (count.hidden != 0)
		printf("Processes of other users that could not be looked at: %u. %s\n", count.hidden,
		       geteuid() == 0 ? "Here, not even root sees them." : "Root sees them.");
	return EVSMP_OK;
}
