/*
 * usage: seeded --list
 *        seeded NAME [repaired]
 */
#include "seeded.h"

struct event_base *base;
bool is_repaired;

static const struct seeded *const lists[] = { seeded_memory, seeded_handed, seeded_net };

enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

struct event *event_of(uint32_t color, int fd, short what, event_callback_fn fn, void *arg)
{
	struct event *ev = must(event_new(base, fd, what, fn, arg));

	CHECK(event_set_color(ev, color) == 0);
	return ev;
}

void run(void)
{
	CHECK(event_base_loop(base, 0) >= 0);
	event_base_free(base);
}

int main(int argc, char **argv)
{
	bool is_list = argc == 2 && strcmp(argv[1], "--list") == 0;
	const struct seeded *s;
	unsigned i;

	is_repaired = argc == 3 && strcmp(argv[2], "repaired") == 0;
	for (i = 0; i < LISTS; i++) {
		for (s = lists[i]; s->name != NULL; s++) {
			if (is_list) {
				puts(s->name);
			} else if (argc >= 2 && strcmp(argv[1], s->name) == 0) {
				base = base_new(4);
				s->fn();
				return 0;
			}
		}
	}
	return is_list ? 0 : 2;
}
