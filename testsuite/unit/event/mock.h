/*
 * An engine that does nothing but remember: what the face called, with what, in which order.
 * The face's objects are linked with it in place of the real one.
 */
#ifndef FACE_MOCK_H
#define FACE_MOCK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/ec.h"

struct face_mock {
	/* what the engine answers */
	int result; /* of every function that returns int */
	struct ec_base *current;
	struct ec_event *events; /* that ec_base_foreach_event visits */
	size_t events_num;
	int allocs_left; /* negative: no limit */

	/* what it was told */
	char calls[512]; /* names without "ec_", a space between */
	char message[256]; /* the last one logged */
	int severity;
	struct ec_config config;
	const char *avoid[8];
	struct ec_base *base;
	int number; /* the argument that tells calls of one name apart */
	const struct ec_event *touched;
	int allocs_out; /* not freed yet */
};

extern struct face_mock mock;

/* cmocka setup: a fresh engine, before which an event was made, debug mode off. */
int face_mock_reset(void **state);

#define assert_calls(expected) assert_string_equal(mock.calls, expected)

#endif
