/*
 * evsmp/report.c, races.c: reports of ThreadSanitizer, told once for each kind, and counted.
 */
#include "../table.h"

#include <stdlib.h>

#include "evsmp/report.h"

static struct races kinds;
static char *said;
static size_t said_len;

/* `who` is a color and its callback: on_read (T2) or on_accept (T1). */
static void race(struct report *r, const char *first, const char *second, const char *location)
{
	char text[2000];

	(void)snprintf(text, sizeof(text),
		       "==================\n"
		       "WARNING: ThreadSanitizer: data race (pid=1)\n"
		       "  Read of size 8 at 0x5555 by thread T2:\n"
		       "    #0 memcpy <null> (libtsan.so.2+0x1)\n"
		       "    #1 %s server.c:38 (server+0x13b5)\n"
		       "    #2 le_bev_call_read <null> (libevent-2.1.so.7+0x18a25)\n"
		       "\n"
		       "  Previous write of size 8 at 0x5555 by thread T1:\n"
		       "    #0 %s server.c:99 (server+0x168a)\n"
		       "    #1 ready_cb <null> (libevent-2.1.so.7+0x1f6f9)\n"
		       "\n"
		       "  Location is %s\n"
		       "\n"
		       "  Thread T1 'connection 1 (on_accept)' (tid=0, running) created by main thread at:\n"
		       "    #0 fiber_new <null> (libevent_smp.so.1+0xc7)\n"
		       "\n"
		       "  Thread T2 'connection 2 (on_read)' (tid=0, running) created by main thread at:\n"
		       "    #0 fiber_new <null> (libevent_smp.so.1+0xc7)\n"
		       "\n"
		       "==================\n",
		       first, second, location);
	report_read(r, text, strlen(text));
}

static const char room[] = "global 'room' of size 8 at 0x5555 (server+0x4160)";
static const char chunk[] = "heap block of size 1024 at 0x7b00 allocated by thread T2:\n"
			    "    #0 malloc <null> (libtsan.so.2+0x3)\n"
			    "    #1 ec_malloc <null> (libevent_smp.so.1+0x8)\n"
			    "    #2 evbuffer_add_printf <null> (libevent-2.1.so.7+0x9)\n"
			    "    #3 tell_all server.c:40 (server+0x1400)";
static const char jumped[] = "heap block of size 48 at 0x7b00 allocated by main thread:\n"
			     "    #0 malloc <null> (libtsan.so.2+0x3)\n"
			     "    #1 hidden_malloc <null> (libevent_smp.so.1+0x8)\n"
			     "    #2 client_new server.c:20 (server+0x1200)";
static const char block[] = "heap block of size 48 at 0x7b00 allocated by main thread:\n"
			    "    #0 malloc <null> (libtsan.so.2+0x3)\n"
			    "    #1 client_new server.c:20 (server+0x1200)\n"
			    "    #2 evbuffer_run <null> (libevent-2.1.so.7+0x9)";

static unsigned count(const char *part)
{
	unsigned num = 0;
	const char *at;

	for (at = said; (at = strstr(at, part)) != NULL; at++)
		num++;
	return num;
}

static struct report begin(void)
{
	kinds = (struct races){ .num = 0 };
	return (struct report){
		.by = "connection", .program = "server", .out = open_memstream(&said, &said_len), .kinds = &kinds
	};
}

static void each_kind_is_told_once(void **state)
{
	struct report r = begin();
	unsigned i;

	(void)state;
	race(&r, "on_read", "on_accept", block);
	for (i = 0; i < 3; i++)
		race(&r, "on_read", "on_accept", room);
	race(&r, "on_accept", "on_read", room);
	report_end(&r);
	races_sum_up(&kinds, r.out);
	fclose(r.out);
	assert_int_equal(r.races, 5);
	assert_int_equal(count("WARNING"), 2);
	assert_int_equal(count("connection 2 (on_read) and connection 1 (on_accept) use room, and"), 1);
	assert_int_equal(count("use a block of 48 bytes, and"), 1);
	assert_non_null(strstr(said, "evsmp:     4  room: on_accept and on_read\n"
				     "evsmp:     1  a block of 48 bytes: on_accept and on_read\n"
				     "evsmp: Begin with room. Before you color by connection, give it a color of "));
	free(said);
}

/* What the library allocated for the program is named by what it is for. */
static void chunks_are_of_an_evbuffer(void **state)
{
	struct report r = begin();

	(void)state;
	race(&r, "on_read", "on_accept", chunk);
	report_end(&r);
	races_sum_up(&kinds, r.out);
	fclose(r.out);
	assert_int_equal(count("use an evbuffer, and nothing orders them.\nevsmp: Let only the color of"), 1);
	assert_int_equal(count("Begin with"), 0);		/* it is told right above */
	free(said);
}

/* Nothing is known of the memory: the functions say where to begin. */
static void memory_without_a_name_is_told_by_its_users(void **state)
{
	struct report r = begin();

	(void)state;
	race(&r, "on_read", "on_accept", "stack of main thread.");
	race(&r, "on_read", "on_accept", "stack of main thread.");
	race(&r, "on_read", "on_accept", jumped);
	report_end(&r);
	races_sum_up(&kinds, r.out);
	fclose(r.out);
	assert_int_equal(count("evsmp: Begin with the memory that on_accept shares with on_read. Before you"), 1);
	assert_int_equal(count("use memory of libevent, and nothing orders them."), 1);
	assert_int_equal(count("hidden"), 1);		/* in the stack */
	free(said);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_told_once),
		cmocka_unit_test(chunks_are_of_an_evbuffer),
		cmocka_unit_test(memory_without_a_name_is_told_by_its_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
