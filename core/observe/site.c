#include "site.h"

#include <stdbool.h>
#include <string.h>

#include "symbol.h"

static bool is_ours(const char *object)
{
	const char *name = strrchr(object, '/');

	name = name != NULL ? name + 1 : object;
	return strncmp(name, "libevent", strlen("libevent")) == 0 ||
	       strncmp(name, "libasync_smp", strlen("libasync_smp")) == 0;
}

int ec_site_choose(const char *const *objects, int num)
{
	int i = num - 1;

	while (i >= 0 && !is_ours(objects[i]))	/* main, or the start of a thread */
		i--;
	while (i >= 0 && is_ours(objects[i]))
		i--;
	return i;
}

static int choose_frame(const struct ec_stall_party *p)
{
	static const char ours[] = "libevent", other[] = "";
	const char *objects[EC_BACKTRACE_MAX];
	struct ec_symbol s;
	int i;

	if (p->trace.num <= 0)
		return -1;
	for (i = 0; i < p->trace.num; i++) {
		ec_symbol_find(p->trace.frames[i], i == 0 ? EC_SYMBOL_ENTRY : EC_SYMBOL_RETURN, &s);
		objects[i] = is_ours(s.object) ? ours : other;
	}
	return ec_site_choose(objects, p->trace.num);
}

void ec_site_find(struct ec_stall_party *p)
{
	struct ec_symbol s;
	int frame;

	p->site = p->fn;
	p->site_frame = -1;
	ec_symbol_find(p->fn, EC_SYMBOL_ENTRY, &s);
	if (!is_ours(s.object))
		return;
	frame = choose_frame(p);
	if (frame < 0)
		return;
	ec_symbol_find(p->trace.frames[frame], frame == 0 ? EC_SYMBOL_ENTRY : EC_SYMBOL_RETURN, &s);
	p->site = s.name[0] == '\0' ? p->trace.frames[frame] : (char *)p->trace.frames[frame] - s.in_name;
	p->site_frame = frame;
}
