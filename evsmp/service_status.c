/*
 * status: what the drop-in of a service says, and what the processes of that service really use.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "dropin.h"
#include "libdir.h"
#include "process.h"
#include "systemctl.h"
#include "unit.h"

struct usage {
	const char *unit;
	unsigned ours, stock, others, hidden;
};

static void show_process(pid_t pid, void *arg)
{
	struct usage *usage = arg;
	struct process p;

	if (process_unit(pid, usage->unit) == NULL)
		return;
	if (!process_read(pid, &p)) {
		usage->hidden += errno == EACCES || errno == EPERM;
		return;
	}
	if (p.engine != NULL)
		printf("  %d %s: libevent-smp %s in %s%s\n", (int)pid, shown(p.program),
		       p.version == NULL ? "?" : shown(p.version), shown(dir_name(p.engine)),
		       p.is_replaced ? ", replaced since" : "");
	if (p.stock != NULL)
		printf("  %d %s: %s, not libevent-smp\n", (int)pid, shown(p.program), shown(p.stock));
	usage->ours += p.engine != NULL;
	usage->stock += p.stock != NULL;
	usage->others += p.engine == NULL && p.stock == NULL;
}

/* The service whose drop-in counts for `name`: itself, or its template. NULL: it has none. */
static const char *enabled_by(const char *name)
{
	const char *template = unit_template(name);

	if (access(unit_dropin_path(name), F_OK) == 0)
		return name;
	return template != NULL && access(unit_dropin_path(template), F_OK) == 0 ? template : NULL;
}

static bool show_enabled(const char *name)
{
	const char *by = enabled_by(name), *content, *workers, *dir;
	struct unit u;

	content = by == NULL ? NULL : file_read(unit_dropin_path(by), NULL);
	if (content == NULL) {
		printf("%s: not enabled\n", name);
		return false;
	}
	workers = dropin_workers(content);
	dir = dropin_libdir(content);
	printf("%s: enabled%s%s%s%s\n", name, by == name ? "" : text(" with all instances of %s", by),
	       workers == NULL ? "" : ", workers: ", workers == NULL ? "" : workers,
	       dropin_is_ours(content) ? "" : " (the drop-in was changed after evsmp wrote it)");
	if (dir != NULL && access(text("%s/%s", dir, ENGINE), F_OK) < 0)
		printf("  %s holds no libraries any more: evsmp enable %s, or disable it\n", dir,
		       text_for_shell(by));
	if (dropin_is_ours(content) && unit_exists(by, &u) && !dropin_is_current(&u, content))
		printf("  the unit has changed since: run evsmp enable%s%s %s\n",
		       workers == NULL ? "" : " --workers ", workers == NULL ? "" : workers, text_for_shell(by));
	return true;
}

static void say_restart(const char *name, const char *why)
{
	const char *command = systemctl_restart_command(name);

	printf("  it began before it was %s%s%s\n", why, command == NULL ? "" : ": ", command == NULL ? "" : command);
}

static enum status status_of(const char *name)
{
	struct usage usage = { .unit = name };
	bool is_enabled = show_enabled(name);

	process_each(show_process, &usage);
	if (usage.hidden != 0) {
		printf("  processes of it that could not be looked at: %u; root sees them\n", usage.hidden);
		return EVSMP_UNKNOWN;
	}
	if (usage.ours + usage.stock + usage.others == 0)
		puts("  it does not run");
	else if (usage.ours + usage.stock == 0)
		puts("  it runs, and no process of it has a libevent loaded");
	else if (is_enabled && usage.stock != 0)
		say_restart(name, "enabled, or does not obey");
	else if (!is_enabled && usage.ours != 0)
		say_restart(name, "disabled, or was set up otherwise");
	return usage.ours != 0 && usage.stock == 0 ? EVSMP_OK : EVSMP_NOT_IN_USE;
}

enum status command_status(int argc, char **argv)
{
	int first = command_options("status", argc, argv, NULL, NULL, NULL);
	enum status all = EVSMP_OK, one;
	struct list names;
	size_t i;

	if (argc - first > 0)
		return status_of(unit_enabled_name(command_one_service("status", argc - first, argv + first)));
	names = unit_enabled_list();
	if (names.num == 0)
		puts("No service is enabled.");
	for (i = 0; i < names.num; i++) {
		one = status_of(names.at[i]);
		if (all == EVSMP_OK)
			all = one;
	}
	return all;
}
