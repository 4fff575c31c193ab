/*
 * Nameservers that refuse, are silent, or go while they are asked: each request is told of once, in time.
 */
#include "peer.h"

enum { REFUSED = 5 };

/* A second nameserver for the scene, asked after the first. */
static int second_add(struct scene *s)
{
	struct sockaddr_in at;
	int fd = udp_new(&at);

	assert_int_equal(evdns_base_nameserver_sockaddr_add(s->dns, (struct sockaddr *)&at, sizeof(at), 0), 0);
	return fd;
}

static void error_send(const struct scene *s, const struct query *q, unsigned rcode)
{
	unsigned char bytes[sizeof(q->bytes)];

	memcpy(bytes, q->bytes, q->len);
	bytes[2] |= 0x80;
	bytes[3] = (unsigned char)rcode;
	assert_int_equal(sendto(s->fd, bytes, q->len, 0, (const struct sockaddr *)&q->from, sizeof(q->from)), q->len);
}

/*
 * The deadline of a request that is sent on is there, also where no other was after the one it had: the
 * probe's comes before it.
 */
static void refused_then_silence(void **state)
{
	struct scene s;
	struct query q;
	int fd;

	(void)state;
	scene_open_with(&s, 0, "timeout", "0.05");
	assert_int_equal(evdns_base_set_option(s.dns, "initial-probe-timeout", "0.01"), 0);
	fd = second_add(&s);
	ask(&s);
	query_read(&s, &q);
	error_send(&s, &q, REFUSED);
	until_told_in_time(&s, 1, 1000);
	assert_int_equal(s.result, DNS_ERR_TIMEOUT);
	close(fd);
	scene_close(&s);
}

/* 0: added. Otherwise none is there, and the evdns_base takes it once there is memory. */
static int add_first(void *arg)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(53),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct event_base *base = arg;
	struct evdns_base *dns = evdns_base_new(base, 0);
	int r = dns == NULL ? 2 : evdns_base_nameserver_sockaddr_add(dns, (const struct sockaddr *)&at, sizeof(at), 0);

	if (dns == NULL)
		return r;
	assert_int_equal(evdns_base_count_nameservers(dns), r == 0);
	if (r != 0)
		assert_int_equal(
			evdns_base_nameserver_sockaddr_add(dns, (const struct sockaddr *)&at, sizeof(at), 0), 0);
	evdns_base_free(dns, 0);
	return r;
}

/* The evdns_base, its table of ids, the nameserver and its socket. */
static void no_memory_for_the_first(void **state)
{
	struct event_base *base = event_base_new();

	(void)state;
	assert_non_null(base);
	assert_int_equal(add_first(base), 0); /* what the event_base keeps is there now */
	assert_true(fault_each_alloc(add_first, base, 2) >= 4);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DNS_TEST(refused_then_silence),
		DNS_TEST(no_memory_for_the_first),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
