/*
 * The counters of another process, which may hold anything: what is read stays within bounds, and is shown. The input
 * is where bytes of a whole file are changed: each change is an offset (3 bytes), and 8 bytes.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evsmp/sentences.h"
#include "evsmp/stats.h"

enum { WORKERS = 3, CHANGE = 11 };

static struct file {
	struct ec_stats_header header;
	struct ec_stats_worker workers[WORKERS];
} file, file_before;

static struct stats now, before;

static void fill(void)
{
	memset(&file, 0, sizeof(file));
	memcpy(file.header.magic, EC_STATS_MAGIC, sizeof(file.header.magic));
	file.header.layout = EC_STATS_LAYOUT;
	file.header.header_size = sizeof(file.header);
	file.header.worker_size = sizeof(file.workers[0]);
	file.header.workers_num = WORKERS;
	file.workers[0].since_ns = file.workers[1].since_ns = 1;
	file.workers[0].colors_num = file.workers[0].sites_num = 2;
	file.workers[0].colors[0].seq = file.workers[0].colors[0].seq_end = 1;
	file.workers[0].sites[0].seq = file.workers[0].sites[0].seq_end = 1;
}

static const char *name(void *arg, uint64_t site)
{
	(void)arg;
	return site % 2 == 0 ? "a_callback" : NULL;
}

/* The parts of the workers. A worker may have a record twice, so they are no sums. */
static void check_parts(const struct stats *s)
{
	struct stats_color c;
	struct stats_site t;
	unsigned i;

	for (i = 0; i < s->colors_num; i++) {
		if (stats_color_of(s, 0, s->colors[i].color, &c))
			FUZZ_CHECK(c.color == s->colors[i].color);
	}
	for (i = 0; i < s->sites_num; i++) {
		if (stats_site_of(s, 0, s->sites[i].site, &t))
			FUZZ_CHECK(t.site == s->sites[i].site);
	}
}

static void check(const struct stats *s)
{
	struct sentences say;
	uint64_t last = UINT64_MAX;
	unsigned i;

	FUZZ_CHECK(s->workers_num >= 1 && s->workers_num <= EC_STATS_WORKERS_MAX);
	FUZZ_CHECK(s->workers_on <= s->workers_num);
	FUZZ_CHECK(s->colors_num <= STATS_COLORS_MAX && s->sites_num <= STATS_SITES_MAX);
	for (i = 0; i < s->colors_num; i++) {
		FUZZ_CHECK(s->colors[i].busy_ns <= last);
		last = s->colors[i].busy_ns;
	}
	check_parts(s);
	sentences_make(s, name, NULL, &say);
	FUZZ_CHECK(say.num >= 1 && say.num <= SENTENCES_MAX);
	for (i = 0; i < say.num; i++)
		FUZZ_CHECK(strlen(say.at[i]) < SENTENCE_LEN);
}

/* The whole file with changes; then a subtraction of what it was before. */
static void changed(const uint8_t *data, size_t size)
{
	size_t at;

	fill();
	file_before = file;
	FUZZ_CHECK(stats_parse(&file_before, sizeof(file_before), 1000000, &before));
	for (; size >= CHANGE; data += CHANGE, size -= CHANGE) {
		at = ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % (sizeof(file) - 8);
		memcpy((char *)&file + at, data + 3, 8);
	}
	if (!stats_parse(&file, sizeof(file), 5000000, &now))
		return;
	check(&now);
	stats_subtract(&now, &before);
	check(&now);
	stats_subtract(&before, &now);
	check(&before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = malloc(size == 0 ? 1 : size);

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, data, size);
	if (stats_parse(copy, size, 1000000, &now))
		check(&now);
	free(copy);
	changed(data, size);
	return 0;
}
