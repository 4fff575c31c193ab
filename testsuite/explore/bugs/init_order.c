/*
 * The configuration is read in three callbacks of one color; a worker in another color takes it for granted.
 */
#include "bug.h"

enum { CONFIG = 1, WORKER };

struct config {
	int limit;
};

static struct config *config;

static void config_publish(void *arg)
{
	config = arg;
}

static void config_parse(void *arg)
{
	struct config *c = arg;

	c->limit = 10;
	post(CONFIG, config_publish, c);
}

static void config_read(void *arg)
{
	(void)arg;
	post(CONFIG, config_parse, calloc(1, sizeof(struct config)));
}

static void work(void *arg)
{
	(void)arg;
	if (*(volatile int *)&config->limit < 1)
		fail("the limit is too low");
}

int main(void)
{
	begin();
	post(CONFIG, config_read, NULL);
	post(WORKER, work, NULL);
	run();
	free(config);
	return 0;
}
