/*
 * A consumer looks into its queue, and goes to sleep in its next callback. What a producer brings between the two wakes
 * nobody.
 */
#include "bug.h"

enum { CONSUMER = 1, PRODUCER };

enum { ITEMS = 2 };

static int queued, produced, is_asleep;

static void fall_asleep(void *arg)
{
	(void)arg;
	is_asleep = 1;
}

static void consume(void *arg)
{
	(void)arg;
	if (queued != 0) {
		queued--;
		post(CONSUMER, consume, NULL);
	} else {
		post(CONSUMER, fall_asleep, NULL);
	}
}

static void produce(void *arg)
{
	(void)arg;
	queued++;
	if (is_asleep) {
		is_asleep = 0;
		post(CONSUMER, consume, NULL);
	}
	if (++produced < ITEMS)
		post(PRODUCER, produce, NULL);
}

int main(void)
{
	begin();
	post(CONSUMER, consume, NULL);
	post(PRODUCER, produce, NULL);
	run();
	if (queued != 0)
		fail("the consumer sleeps while there is work");
	return 0;
}
