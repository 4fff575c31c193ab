/*
 * Trace files, as another process may have left them: what evsmp reads of them, and all pages that it makes. The file
 * is read twice, and gets shorter before the second time.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evsmp/advise_pages.h"
#include "evsmp/maps.h"
#include "evsmp/pages.h"
#include "evsmp/rings.h"
#include "evsmp/timeline.h"

/* What it would gain from colors. */
static void advise(FILE *out, const struct band *b)
{
	struct workload w;
	struct advice d;
	struct advised a = { .advice = &d, .band = b, .program = b->program };

	if (workload_make(b, &w) != NULL)
		return;
	advice_make(&w, &replay_costs_usual, &d);
	FUZZ_CHECK(d.options_num != 0);
	advise_text(out, &a);
	advise_json(out, &a);
	advise_svg(out, &a);
	advice_free(&d);
	workload_free(&w);
}

static void show(const struct rings *r)
{
	static FILE *out;
	struct timeline t = { 0 };
	struct symbols *symbols;
	char none[] = "";

	if (out == NULL)
		out = fopen("/dev/null", "w");
	FUZZ_CHECK(out != NULL);
	symbols = symbols_of_maps(none);
	timeline_add(&t, r, "program", symbols);
	timeline_finish(&t);
	FUZZ_CHECK(t.end >= 0);
	page_json(out, &t);
	page_proto(out, &t);
	page_html(out, &t);
	page_svg(out, &t);
	page_latency(out, &t);
	advise(out, &t.bands[0]);
	timeline_free(&t);
	symbols_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct rings r;
	struct maps maps;
	char *text;

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (rings_open(fd, 100, &r) != NULL) {
		close(fd);
		return 0;
	}
	rings_read(&r);
	FUZZ_CHECK(ftruncate(fd, (off_t)size / 2) == 0);
	rings_read(&r);
	show(&r);
	text = rings_maps(&r);
	if (text != NULL) {
		maps_parse(text, &maps);
		maps_free(&maps);
	}
	free(text);
	rings_close(&r);
	return 0;
}
