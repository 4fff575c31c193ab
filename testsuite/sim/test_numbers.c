/*
 * Color numbers that the base hands out (numbers.c): no number is handed out twice, nor while a callback of the owner
 * before still runs in it, even one that has released it.
 */
#include <stddef.h>

#include "driver.h"
#include "engine.h"
#include "sched.h"

enum { SESSIONS = 3, ROUNDS = 3, DRIVER_COLOR = 100, NUMBERS = SESSIONS * ROUNDS };

struct session {
	unsigned rounds;
	uint32_t color;
};

static struct {
	struct ec_base *base;
	struct session sessions[SESSIONS];
	struct session *owner[NUMBERS];
	struct sim_mark mark[NUMBERS];
} t;

static void begin(void *arg);

static unsigned index_of(uint32_t color)
{
	sim_check(color >= EC_NUMBER_FIRST && color < EC_NUMBER_FIRST + NUMBERS);
	return color - EC_NUMBER_FIRST;
}

static uint32_t driver_of(const struct session *s)
{
	return DRIVER_COLOR + (uint32_t)(s - t.sessions);
}

/* In the session's color: gives it back, and is still in it. */
static void end(void *arg)
{
	struct session *s = arg;
	unsigned i = index_of(s->color);
	uint32_t running;

	sim_check(ec_base_running_color(t.base, &running) == 0 && running == s->color);
	sim_mark_enter(&t.mark[i]);
	sim_check(t.owner[i] == s);
	t.owner[i] = NULL;
	sim_check(ec_color_release(t.base, s->color) == 0);
	if (++s->rounds < ROUNDS)
		sim_check(ec_base_post(t.base, driver_of(s), begin, s) == 0);
	sim_mark_leave(&t.mark[i]);
}

static void begin(void *arg)
{
	struct session *s = arg;
	unsigned i;

	sim_check(ec_color_new(t.base, &s->color) == 0);
	i = index_of(s->color);
	sim_check(t.owner[i] == NULL && !t.mark[i].is_in);
	t.owner[i] = s;
	sim_check(ec_base_post(t.base, s->color, end, s) == 0);
}

static void body(const void *arg)
{
	const unsigned *workers = arg;
	unsigned i;

	for (i = 0; i < NUMBERS; i++) {
		t.owner[i] = NULL;
		t.mark[i] = (struct sim_mark){ false };
	}
	t.base = sim_base_new(*workers, "epoll");
	for (i = 0; i < SESSIONS; i++) {
		t.sessions[i] = (struct session){ 0 };
		sim_check(ec_base_post(t.base, driver_of(&t.sessions[i]), begin, &t.sessions[i]) == 0);
	}
	sim_check(ec_base_loop(t.base, 0) == 1);
	for (i = 0; i < SESSIONS; i++)
		sim_check(t.sessions[i].rounds == ROUNDS);
	sim_check(sim_warnings() == 0);
	sim_base_free(t.base);
}

int main(int argc, char **argv)
{
	static const unsigned one = 1, two = 2, three = 3;
	const struct sim_case cases[] = {
		{ .name = "sessions-of-one", .body = body, .arg = &one },
		{ .name = "sessions", .body = body, .arg = &two },
		{ .name = "sessions-of-three", .body = body, .arg = &three },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
