/*
 * Schedules, which a program reads from the file that EVENT_SMP_SCHEDULE names. What is accepted is in the order of its
 * steps, each once, and a switch in it is one of the colors that were ready.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ec.h"
#include "core/loop/schedule.h"

static void check_switches(const struct ec_switch *list, size_t num)
{
	size_t i;

	for (i = 0; i < num; i++) {
		FUZZ_CHECK(list[i].choice != 0 && list[i].choice < list[i].num);
		FUZZ_CHECK(i == 0 || list[i].step > list[i - 1].step);
	}
}

static void check_line(const uint8_t *data, size_t len, size_t line)
{
	size_t i, lines = 1;

	for (i = 0; i < len; i++)
		lines += data[i] == '\n';
	FUZZ_CHECK(line != 0 && line <= lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct ec_switch *list = NULL;
	size_t num = 0, line = 0;
	char *text = malloc(len == 0 ? 1 : len);	/* of its length: no byte behind it is read */
	int r;

	if (text == NULL)
		return 0;
	if (len != 0)
		memcpy(text, data, len);
	r = ec_schedule_parse(text, len, &list, &num, &line);
	FUZZ_CHECK(r == 0 || (r == -EINVAL && list == NULL));
	if (r == 0)
		check_switches(list, num);
	else
		check_line(data, len, line);
	ec_free(list);
	free(text);
	return 0;
}
