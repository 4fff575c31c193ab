/*
 * compat/libevent/dns/socket.c: which ports a nameserver is asked from, how many there are, and what
 * becomes of a request when somebody guesses. The nameserver is a plain socket of the test, which reads
 * each query and answers it, or lets a forger answer who knows the port.
 */
#include "peer.h"

#include <sys/wait.h>

/* What the design says; see socket.c. */
enum { QUERIES_MAX = 8,
       SOCKETS_MAX = 8,
       AGE_MAX_S = 5,
       ATTEMPTS = 3 };

enum { MANY = 300 };

/* For tests that let it pass. */
enum { TIMEOUT_MS = 10 };
#define TIMEOUT "0.01"

/* Asks and answers once; the port that was asked from. */
static unsigned round_trip(struct scene *s)
{
	struct query q;

	ask(s);
	query_read(s, &q);
	answer(s, &q);
	until_told(s, s->told + 1);
	assert_int_equal(s->told, s->good);
	return ntohs(q.from.sin_port);
}

struct ports {
	unsigned short uses[65536];
	unsigned num;			/* different ones */
	unsigned uses_max;		/* of one */
};

static struct ports ports;

static void port_note(unsigned port)
{
	ports.num += ports.uses[port] == 0;
	if (++ports.uses[port] > ports.uses_max)
		ports.uses_max = ports.uses[port];
}

static void ports_reset(void)
{
	memset(&ports, 0, sizeof(ports));
}

/* ---------------------------------------------------------------- how many, and for how long */

static void a_port_serves_a_few_queries(void **state)
{
	struct scene s;
	int fds;

	(void)state;
	scene_open(&s);
	ports_reset();
	port_note(round_trip(&s));
	fds = fault_fds();
	for (int i = 1; i < 10 * QUERIES_MAX; i++) {
		port_note(round_trip(&s));
		assert_int_equal(fault_fds(), fds);
	}
	/* The kernel may pick one again, if hardly ever two. */
	assert_true(ports.num >= 8);
	assert_true(ports.uses_max <= 2 * QUERIES_MAX);
	scene_close(&s);
}

static void a_port_serves_for_a_few_seconds(void **state)
{
	struct scene s;
	unsigned port;

	(void)state;
	scene_open(&s);
	pass_ms(3600 * 1000); /* before its first query it has no port */
	port = round_trip(&s);
	pass_ms((AGE_MAX_S - 1) * 1000);
	assert_int_equal(round_trip(&s), port);
	pass_ms(1000);
	assert_int_not_equal(round_trip(&s), port);
	scene_close(&s);
}

/* Hundreds in flight need no hundreds of descriptors. */
static void there_are_a_few_sockets(void **state)
{
	static struct query queries[MANY];
	struct scene s;
	int fds;

	(void)state;
	scene_open_with(&s, 0, "max-inflight", "1000");
	fds = fault_fds();
	ports_reset();
	for (int i = 0; i < MANY; i++) {
		ask(&s);
		query_read(&s, &queries[i]);
		port_note(ntohs(queries[i].from.sin_port));
	}
	assert_int_equal(ports.num, SOCKETS_MAX);
	assert_true(ports.uses_max <= MANY / SOCKETS_MAX + QUERIES_MAX);
	assert_true(fault_fds() <= fds + SOCKETS_MAX);
	for (int i = 0; i < MANY; i++) {
		answer(&s, &queries[i]);
		until_told(&s, i + 1);
	}
	assert_int_equal(s.good, MANY);
	/* With nobody to wait for there is one again. */
	assert_int_equal(fault_fds(), fds);
	scene_close(&s);
}

static void old_sockets_close_when_nobody_waits(void **state)
{
	struct evdns_request *reqs[3 * QUERIES_MAX];
	struct scene s;
	struct query q;
	int fds;

	(void)state;
	scene_open(&s);
	fds = fault_fds();
	for (size_t i = 0; i < ROWS(reqs); i++) {
		reqs[i] = ask(&s);
		query_read(&s, &q);
	}
	assert_int_equal(fault_fds(), fds + 2);
	for (size_t i = 0; i < ROWS(reqs); i++)
		evdns_cancel_request(s.dns, reqs[i]);
	assert_int_equal(fault_fds(), fds);
	until_told(&s, (int)ROWS(reqs));
	scene_close(&s);
}

/* Also while queries are out from several: they are asked again, from elsewhere. */
static void nameservers_go_and_come(void **state)
{
	struct scene s;
	struct query q;
	int fds = fault_fds();

	(void)state;
	scene_open_with(&s, EVDNS_BASE_DISABLE_WHEN_INACTIVE, "max-inflight", "100");
	/* Nothing is out: the loop has nothing to wait for. */
	assert_int_equal(event_base_dispatch(s.base), 1);
	for (int i = 0; i < 20; i++) {
		ask(&s);
		query_read(&s, &q);
	}
	assert_int_equal(evdns_base_clear_nameservers_and_suspend(s.dns), 0);
	answer(&s, &q);
	turn(&s);
	assert_int_equal(s.told, 0);
	assert_int_equal(evdns_base_nameserver_sockaddr_add(s.dns, (struct sockaddr *)&s.at, sizeof(s.at), 0), 0);
	assert_int_equal(evdns_base_resume(s.dns), 0);
	for (int i = 0; i < 20; i++) {
		query_read(&s, &q);
		answer(&s, &q);
	}
	until_told(&s, 20);
	assert_int_equal(s.good, 20);
	assert_int_equal(event_base_dispatch(s.base), 1);
	scene_close(&s);
	assert_int_equal(fault_fds(), fds);
}

/* They would read each other's answers. */
static void parent_and_child_have_their_own(void **state)
{
	struct scene s;
	unsigned port;
	pid_t child;
	int status;

	(void)state;
	scene_open(&s);
	port = round_trip(&s);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (event_reinit(s.base) < 0 || round_trip(&s) == port)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(round_trip(&s), port);
	scene_close(&s);
}

/* ---------------------------------------------------------------- what is believed */

static void an_answer_at_another_port_is_none(void **state)
{
	struct query a[QUERIES_MAX], b, crossed;
	struct scene s;

	(void)state;
	scene_open(&s);
	for (size_t i = 0; i < ROWS(a); i++) {
		ask(&s);
		query_read(&s, &a[i]);
	}
	ask(&s);
	query_read(&s, &b);
	assert_int_not_equal(a[0].from.sin_port, b.from.sin_port);
	crossed = b;
	crossed.from = a[0].from;
	answer_from(s.fd, &crossed, 0, forged);
	/* Its neighbour's answer comes after it, and so it has been seen by then. */
	answer(&s, &a[0]);
	until_told(&s, 1);
	assert_int_equal(s.good, 1);
	answer(&s, &b);
	until_told(&s, 2);
	assert_int_equal(s.good, 2);
	scene_close(&s);
}

/* Asked again it has another port soon; who was slow to answer at the first one is heard. */
static void a_late_answer_is_one(void **state)
{
	struct query early, late;
	struct scene s;

	(void)state;
	scene_open_with(&s, 0, "timeout", TIMEOUT);
	for (int i = 1; i < QUERIES_MAX; i++)
		round_trip(&s);
	ask(&s);
	query_read(&s, &early);
	pass_ms(TIMEOUT_MS + 1);
	until_asked(&s);
	query_read(&s, &late);
	assert_int_not_equal(early.from.sin_port, late.from.sin_port);
	answer(&s, &early);
	until_told(&s, QUERIES_MAX);
	assert_int_equal(s.good, QUERIES_MAX);
	scene_close(&s);
}

/* ---------------------------------------------------------------- a forger */

/* The old port is closed then, so that the kernel might pick it again, if hardly ever. */
static bool is_elsewhere(const struct query *before, const struct query *now)
{
	return before->from.sin_port != now->from.sin_port || memcmp(before->bytes, now->bytes, 2) != 0;
}

enum { GUESSES = 64 }; /* at a time; so many find room at the socket */

static bool is_one_of(const struct query *q, size_t num, const unsigned char *bytes)
{
	for (size_t i = 0; i < num; i++) {
		if (memcmp(q[i].bytes, bytes, 2) == 0)
			return true;
	}
	return false;
}

/*
 * Those from `id_xor` on, in one call for each that the kernel stops at: 65536 calls take a late machine minutes. What
 * would answer another one of the `num` queries is made no answer.
 */
static void guess_some(int fd, const struct query *q, size_t num, unsigned id_xor)
{
	static unsigned char bytes[GUESSES][sizeof(q->bytes) + ANSWER_LEN];
	struct mmsghdr msgs[GUESSES];
	struct iovec parts[GUESSES];
	struct sockaddr_in to = q->from;
	int n, sent = 0;

	memset(msgs, 0, sizeof(msgs));
	for (unsigned i = 0; i < GUESSES; i++) {
		parts[i].iov_base = bytes[i];
		parts[i].iov_len = answer_make(bytes[i], q, id_xor + i, forged);
		if (is_one_of(q + 1, num - 1, bytes[i]))
			bytes[i][2] &= 0x7f;
		msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &parts[i], .msg_iovlen = 1
		};
	}
	for (; sent < GUESSES; sent += n) {
		n = sendmmsg(fd, msgs + sent, (unsigned)(GUESSES - sent), 0);
		assert_true(n > 0);
	}
}

/* Tries every id at the port of `num` queries but theirs, and then that of the first. */
static void guess_all(struct scene *s, int fd, const struct query *q, size_t num)
{
	for (unsigned i = 1; i <= 65536; i += GUESSES) {
		guess_some(fd, q, num, i);
		turn(s);
	}
}

static void guess(struct scene *s, int fd, const struct query *q)
{
	guess_all(s, fd, q, 1);
}

static void the_forger_gets_a_few_tries(void **state)
{
	struct query first, again;
	struct scene s;

	(void)state;
	scene_open(&s);
	ask(&s);
	query_read(&s, &first);
	guess(&s, s.fd, &first);
	assert_int_equal(s.told, 0);
	query_read(&s, &again);
	assert_true(is_elsewhere(&first, &again));
	answer(&s, &again);
	until_told(&s, 1);
	assert_int_equal(s.good, 1);
	scene_close(&s);
}

static void each_port_is_an_attempt(void **state)
{
	struct scene s;
	struct query q;

	(void)state;
	scene_open(&s);
	ask(&s);
	for (int i = 0; i < ATTEMPTS; i++) {
		assert_int_equal(s.told, 0);
		query_read(&s, &q);
		guess(&s, s.fd, &q);
	}
	until_told(&s, 1);
	assert_int_equal(s.result, DNS_ERR_TIMEOUT);
	assert_int_equal(queries_left(&s), 0);
	/* The nameserver is not to blame. */
	ask(&s);
	query_read(&s, &q);
	answer(&s, &q);
	until_told(&s, 2);
	assert_int_equal(s.good, 1);
	scene_close(&s);
}

/* All that were out from that port, and those of a getaddrinfo, whose halves end each other. */
static void a_port_in_common(void **state)
{
	struct query first[4], again;
	struct evdns_getaddrinfo_request *gai;
	struct scene s;

	(void)state;
	scene_open(&s);
	ask(&s);
	ask(&s);
	gai = evdns_getaddrinfo(s.dns, "host.org", NULL, NULL, told_list, &s);
	assert_non_null(gai);
	for (size_t i = 0; i < ROWS(first); i++)
		query_read(&s, &first[i]);
	guess_all(&s, s.fd, first, ROWS(first));
	for (size_t i = 0; i < ROWS(first); i++) {
		query_read(&s, &again);
		assert_true(is_elsewhere(&first[0], &again));
		answer(&s, &again);
	}
	until_told(&s, 3);
	assert_int_equal(s.good, 3);
	scene_close(&s);
}

/* From another address or port nobody can end a request: such packets do not even count. */
static void others_do_not_count(void **state)
{
	struct sockaddr_in at;
	struct scene s;
	struct query q;
	int fd;

	(void)state;
	scene_open(&s);
	fd = udp_new(&at);
	ask(&s);
	query_read(&s, &q);
	for (unsigned i = 0; i < 200; i++)
		answer_from(fd, &q, i, forged);
	turn(&s);
	answer(&s, &q);
	until_told(&s, 1);
	assert_int_equal(s.good, 1);
	assert_int_equal(queries_left(&s), 0);
	close(fd);
	scene_close(&s);
}

/* A network that delivers twice, and a nameserver that says things three times, are no forgers. */
static void repetitions_are_no_guesses(void **state)
{
	struct scene s;
	struct query q;
	unsigned port = 0;

	(void)state;
	scene_open(&s);
	for (int i = 0; i < QUERIES_MAX; i++) {
		ask(&s);
		query_read(&s, &q);
		assert_true(port == 0 || port == q.from.sin_port);
		port = q.from.sin_port;
		for (int j = 0; j < 3; j++)
			answer(&s, &q);
		until_told(&s, i + 1);
		turn(&s);
	}
	assert_int_equal(s.good, QUERIES_MAX);
	scene_close(&s);
}

/* ---------------------------------------------------------------- no other port to be had */

static void without_descriptors_the_port_stays(void **state)
{
	struct scene s;
	unsigned port;

	(void)state;
	scene_open(&s);
	port = round_trip(&s);
	fault_call_always(FAULT_socket, EMFILE);
	for (int i = 0; i < 3 * QUERIES_MAX; i++)
		assert_int_equal(round_trip(&s), port);
	assert_true(fault_end());
	assert_int_not_equal(round_trip(&s), port);
	scene_close(&s);
}

/* A forger was there, and no descriptor is: the request waits for its deadline, and asks then. */
static void without_descriptors_a_forger_ends_an_attempt(void **state)
{
	struct scene s;
	struct query q;

	(void)state;
	scene_open_with(&s, 0, "timeout", TIMEOUT);
	ask(&s);
	query_read(&s, &q);
	fault_call_always(FAULT_socket, EMFILE);
	for (unsigned i = 1; i < 100; i++)
		answer_from(s.fd, &q, i, forged);
	turn(&s);
	assert_true(fault_end());
	assert_int_equal(s.told, 0);
	pass_ms(TIMEOUT_MS + 1);
	until_asked(&s);
	query_read(&s, &q);
	answer(&s, &q);
	until_told(&s, 1);
	assert_int_equal(s.good, 1);
	scene_close(&s);
}

static void a_port_that_the_program_names_stays(void **state)
{
	enum { PORT = 20053 };	/* none that the kernel picks; the address is this process's alone */
	struct scene s;
	struct query q;
	char text[64];

	(void)state;
	(void)snprintf(text, sizeof(text), "127.%d.%d.1:%d", getpid() >> 8 & 255, getpid() & 255, PORT);
	scene_open_with(&s, 0, "bind-to", text);
	for (int i = 0; i < 3 * QUERIES_MAX; i++)
		assert_int_equal(round_trip(&s), PORT);
	/* There is another id at least. */
	ask(&s);
	query_read(&s, &q);
	for (unsigned i = 1; i < 100; i++)
		answer_from(s.fd, &q, i, forged);
	turn(&s);
	query_read(&s, &q);
	assert_int_equal(ntohs(q.from.sin_port), PORT);
	answer(&s, &q);
	until_told(&s, s.told + 1);
	assert_int_equal(s.told, s.good);
	scene_close(&s);
}

/* What is set later is for nameservers that are added later, as ever. */
static void a_nameserver_keeps_its_options(void **state)
{
	struct sockaddr_in at;
	struct scene s;
	char text[64];
	int fd;

	(void)state;
	scene_open(&s);
	/* Nobody else can be bound there. */
	fd = udp_new(&at);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%d", ntohs(at.sin_port));
	assert_int_equal(evdns_base_set_option(s.dns, "bind-to", text), 0);
	ports_reset();
	for (int i = 0; i < 3 * QUERIES_MAX; i++)
		port_note(round_trip(&s));
	assert_true(ports.num > 1);
	close(fd);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DNS_TEST(a_port_serves_a_few_queries),
		DNS_TEST(a_port_serves_for_a_few_seconds),
		DNS_TEST(there_are_a_few_sockets),
		DNS_TEST(old_sockets_close_when_nobody_waits),
		DNS_TEST(nameservers_go_and_come),
		DNS_TEST(parent_and_child_have_their_own),
		DNS_TEST(an_answer_at_another_port_is_none),
		DNS_TEST(a_late_answer_is_one),
		DNS_TEST(the_forger_gets_a_few_tries),
		DNS_TEST(each_port_is_an_attempt),
		DNS_TEST(a_port_in_common),
		DNS_TEST(others_do_not_count),
		DNS_TEST(repetitions_are_no_guesses),
		DNS_TEST(without_descriptors_the_port_stays),
		DNS_TEST(without_descriptors_a_forger_ends_an_attempt),
		DNS_TEST(a_port_that_the_program_names_stays),
		DNS_TEST(a_nameserver_keeps_its_options),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
