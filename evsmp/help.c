#include "help.h"

#include <stdio.h>
#include <string.h>

#include "say.h"

/* Commands whose options need more than the summary. */
static const struct {
	const char *command, *options, *page;
} helps[] = {
	{ "top",
	  "  --once         show one interval of all bases, and exit\n"
	  "  --json         the same as JSON\n"
	  "  --seconds N    how long an interval is, 0.1 to 3600; default: 1\n"
	  "  --sort KEY     order of the colors: busy (the default), calls, wait, longest, color\n"
	  "  --total        since the counters are on, not of the interval\n"
	  "\n"
	  "Keys: q quit, n next base, t total or interval, b c w l o sort.\n",
	  "evsmp-top(1)" },
	{ "metrics",
	  "  --listen unix:PATH         serve them on a Unix socket\n"
	  "  --listen 127.0.0.1:PORT    serve them for this machine, also as [::1]:PORT; without --listen\n"
	  "                             they are printed once\n",
	  "evsmp-metrics(1)" },
	{ "trace",
	  "  --seconds N      record for so long; default: 5 of a PID, a PROGRAM until it ends\n"
	  "  -o FILE          .html, .json, .pftrace or .svg; default: evsmp-trace.html\n"
	  "  --format FORMAT  html, json, perfetto or svg, whatever the name of the file\n"
	  "  --latency        print why callbacks waited; no page without -o\n"
	  "  --workers N      how many threads run callbacks of a PROGRAM\n"
	  "  --read TRACE     show a file that EVENT_SMP_TRACE made\n"
	  "\n"
	  "A PROGRAM that has not ended after --seconds goes on. Options come before PID and PROGRAM.\n",
	  "evsmp-trace(1)" },
	{ "advise",
	  "  --seconds N      record for so long; default: 5 of a PID, a PROGRAM until it ends\n"
	  "  --json           all figures, for programs\n"
	  "  --svg FILE       draw the table of speeds, too\n"
	  "  --read TRACE     a file that EVENT_SMP_TRACE and EVENT_SMP_TRACE_OBJECTS=1 made\n"
	  "\n"
	  "A PROGRAM that has not ended after --seconds goes on. Options come before PID and PROGRAM.\n",
	  "evsmp-advise(1)" },
	{ "check-colors",
	  "  --color-by=RULE  descriptor, connection or callback: as if it were colored so; default: its\n"
	  "                   own colors\n"
	  "  --libraries      also races that only libraries see\n"
	  "  --workers N      EVENT_WORKERS of the program\n",
	  "evsmp-check-colors(1)" },
	{ "explore",
	  "  --seeds A..B     the orders to try\n"
	  "  --jobs N         runs at a time\n"
	  "  --policy NAME    random, or pct with --depth D\n"
	  "  --time WHAT      virtual, virtual:MS or real\n"
	  "  --timeout N      seconds after which a run has failed\n"
	  "  --shrink N       seconds to shorten the order that failed\n"
	  "  --workers N      threads that run callbacks\n"
	  "  --out FILE       where to keep the order that failed\n",
	  "evsmp-explore(1)" },
};

static bool is_word(const char *at, const char *command)
{
	size_t len = strlen(command);

	return strncmp(at, command, len) == 0 && (at[len] == ' ' || at[len] == '\n');
}

static bool is_synopsis(const char *line, const char *command)
{
	static const char first[] = "usage: evsmp ", other[] = "       evsmp ";

	return (starts_with(line, first) || starts_with(line, other)) && is_word(line + strlen(first), command);
}

/* "  trace    what each worker does …", which may go on in the next line. */
static bool is_summary(const char *line, const char *command)
{
	return starts_with(line, "  ") && is_word(line + 2, command);
}

static void put_summary(const char *line)
{
	const char *end;

	do {
		end = strchr(line, '\n') + 1;
		fwrite(line, 1, (size_t)(end - line), stdout);
		line = end;
	} while (starts_with(line, "           "));
}

void help_put(const char *command, const char *usage)
{
	const char *page = "evsmp(1)", *options = NULL, *line;
	size_t i;

	for (i = 0; i < sizeof(helps) / sizeof(*helps); i++) {
		if (strcmp(helps[i].command, command) == 0) {
			options = helps[i].options;
			page = helps[i].page;
		}
	}
	for (line = usage; *line != '\0'; line = strchr(line, '\n') + 1) {
		if (is_synopsis(line, command))
			printf("usage: %.*s\n", (int)strcspn(line + strlen("usage: "), "\n"), line + strlen("usage: "));
		if (is_summary(line, command))
			put_summary(line);
	}
	if (options != NULL)
		printf("\n%s", options);
	printf("\nThe manual page %s has all of it.\n", page);
}
