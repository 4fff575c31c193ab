/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * What it costs at least that one thread signs for another: a server of the shape of a TLS handshake, without
 * TLS and without a library of events. For each request the server signs with RSA-2048 and answers; the client
 * works for as long as BENCH_CLIENT_US says, and sends a second message, which is only answered. The rounds take turns:
 *
 *	alone	one thread does all
 *	handed	it hands each signature to another one, which answers, and hears of it (eventfd), as an event loop must
 *
 *	handoff CONNECTIONS [ROUNDS]
 *
 *	BENCH_CLIENT_US=n	the client's work for a handshake (1000)
 *	BENCH_NICE=n		how much nicer the other thread is (10)
 *	BENCH_MS=n		how long a round is (700)
 */
#include "../util.h"

#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 7,
       EVENTS = 64,
       SIGN = 's',
       SHORT = 'f',
       US = 1000 };

static EVP_PKEY *key;
static unsigned connections;
static uint64_t client_ns, round_ns;

/* ---------------------------------------------------------------- the server */

/* Descriptors that wait for a signature, or were answered; a ring that never fills: each has one request. */
struct queue {
	pthread_mutex_t mu;
	pthread_cond_t filled;
	int *fds;
	unsigned head, num;
};

static struct queue wanted = { .mu = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER };
static struct queue answered = { .mu = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER };
static int notify_fd;

static void put(struct queue *q, int fd)
{
	pthread_mutex_lock(&q->mu);
	q->fds[(q->head + q->num++) % connections] = fd;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->mu);
}

/* -1: there is none, unless it is to wait for one. */
static int take(struct queue *q, bool waits)
{
	int fd = -1;

	pthread_mutex_lock(&q->mu);
	while (waits && q->num == 0)
		pthread_cond_wait(&q->filled, &q->mu);
	if (q->num != 0) {
		fd = q->fds[q->head++ % connections];
		q->num--;
	}
	pthread_mutex_unlock(&q->mu);
	return fd;
}

static void answer(int fd, char what)
{
	if (write(fd, &what, 1) != 1)
		_exit(0); /* the client has gone: that is the end */
}

static void sign(void)
{
	static const unsigned char message[100];
	unsigned char signature[512];
	size_t len = sizeof(signature);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (ctx == NULL || EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(ctx, signature, &len, message, sizeof(message)) != 1)
		bench_die("cannot sign");
	EVP_MD_CTX_free(ctx);
}

static void *signer_main(void *unused)
{
	const uint64_t one = 1;
	int fd;

	(void)unused;
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), (int)bench_setting("BENCH_NICE", 10));
	for (;;) {
		fd = take(&wanted, true);
		sign();
		answer(fd, SIGN);
		put(&answered, fd);
		if (write(notify_fd, &one, sizeof(one)) != sizeof(one))
			bench_die("cannot write to the eventfd");
	}
}

static void serve_one(int fd, bool is_handed)
{
	char what;

	if (read(fd, &what, 1) != 1)
		_exit(0);
	if (what == SIGN && is_handed) {
		put(&wanted, fd);
		return;
	}
	if (what == SIGN)
		sign();
	answer(fd, what);
}

static void watch(int epoll_fd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		bench_die("cannot watch a descriptor");
}

static _Noreturn void serve(const int *fds, bool is_handed)
{
	int epoll_fd = epoll_create1(0), num, i;
	struct epoll_event events[EVENTS];
	pthread_t thread;
	uint64_t count;

	notify_fd = eventfd(0, EFD_NONBLOCK);
	wanted.fds = bench_alloc(connections, sizeof(int));
	answered.fds = bench_alloc(connections, sizeof(int));
	watch(epoll_fd, notify_fd);
	for (i = 0; i < (int)connections; i++)
		watch(epoll_fd, fds[i]);
	if (is_handed && pthread_create(&thread, NULL, signer_main, NULL) != 0)
		bench_die("no thread");
	for (;;) {
		num = epoll_wait(epoll_fd, events, EVENTS, -1);
		for (i = 0; i < num; i++) {
			if (events[i].data.fd != notify_fd)
				serve_one(events[i].data.fd, is_handed);
			else if (read(notify_fd, &count, sizeof(count)) == sizeof(count))
				while (take(&answered, false) >= 0)
					;
		}
	}
}

/* ---------------------------------------------------------------- the client */

static void work(uint64_t ns)
{
	uint64_t end = bench_now_ns() + ns;

	while (bench_now_ns() < end)
		;
}

static uint64_t be_client(const int *fds)
{
	uint64_t end = bench_now_ns() + round_ns, done = 0;
	int epoll_fd = epoll_create1(0), num, i;
	struct epoll_event events[EVENTS];
	char what;

	for (i = 0; i < (int)connections; i++) {
		watch(epoll_fd, fds[i]);
		answer(fds[i], SIGN);
	}
	while (bench_now_ns() < end) {
		num = epoll_wait(epoll_fd, events, EVENTS, 100);
		for (i = 0; i < num; i++) {
			if (read(events[i].data.fd, &what, 1) != 1)
				bench_die("the server has gone");
			done += what == SHORT;
			if (what == SIGN)
				work(client_ns);
			answer(events[i].data.fd, what == SIGN ? SHORT : SIGN);
		}
	}
	close(epoll_fd);
	return done;
}

/* ---------------------------------------------------------------- rounds */

/* Of one round: handshakes, and the server's CPU time for each. */
struct result {
	uint64_t done, cpu_ns;
};

static uint64_t cpu_ns(const struct rusage *use)
{
	return (uint64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(use->ru_utime.tv_usec + use->ru_stime.tv_usec) * US;
}

static struct result round_run(bool is_handed)
{
	int *ours = bench_alloc(connections, sizeof(int)), *theirs = bench_alloc(connections, sizeof(int));
	struct rusage use;
	uint64_t done;
	unsigned i;
	pid_t pid;
	int pair[2];

	for (i = 0; i < connections; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
			bench_die("no socket");
		ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	pid = fork();
	if (pid < 0)
		bench_die("no process");
	if (pid == 0) {
		for (i = 0; i < connections; i++)
			close(ours[i]);
		serve(theirs, is_handed);
	}
	for (i = 0; i < connections; i++)
		close(theirs[i]);
	done = be_client(ours);
	for (i = 0; i < connections; i++)
		close(ours[i]);
	if (wait4(pid, NULL, 0, &use) != pid || done == 0)
		bench_die("the server did nothing");
	free(ours);
	free(theirs);
	return (struct result){ done, cpu_ns(&use) / done };
}

static void report(const char *name, uint64_t *done, uint64_t *cpu, unsigned rounds)
{
	bench_report("handoff", name, "handshakes",
		     (double)bench_percentile(done, rounds, 0.5) * 1e9 / (double)round_ns, "1/s");
	bench_report("handoff", name, "server's CPU", (double)bench_percentile(cpu, rounds, 0.5) / US, "us");
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)bench_number(argv[2]) : ROUNDS, i, m;
	uint64_t *done[2], *cpu[2], *ratio;	/* ratio: in millionths */
	struct result r;

	if (argc < 2)
		bench_die("usage: handoff CONNECTIONS [ROUNDS]");
	connections = (unsigned)bench_number(argv[1]);
	client_ns = (uint64_t)bench_setting("BENCH_CLIENT_US", 1000) * US;
	round_ns = (uint64_t)bench_setting("BENCH_MS", 700) * 1000 * US;
	key = EVP_RSA_gen(2048);
	if (key == NULL)
		bench_die("no key");
	ratio = bench_alloc(rounds, sizeof(*ratio));
	for (m = 0; m < 2; m++) {
		done[m] = bench_alloc(rounds, sizeof(uint64_t));
		cpu[m] = bench_alloc(rounds, sizeof(uint64_t));
	}
	for (i = 0; i < rounds; i++) {
		for (m = 0; m < 2; m++) {
			r = round_run(m == 1);
			done[m][i] = r.done;
			cpu[m][i] = r.cpu_ns;
		}
		ratio[i] = done[1][i] * 1000000 / done[0][i];
	}
	report("alone", done[0], cpu[0], rounds);
	report("handed", done[1], cpu[1], rounds);
	bench_report("handoff", "handed", "to alone, least", (double)bench_percentile(ratio, rounds, 0) / 1e6, "x");
	bench_report("handoff", "handed", "to alone, median", (double)bench_percentile(ratio, rounds, 0.5) / 1e6, "x");
	bench_report("handoff", "handed", "to alone, most", (double)bench_percentile(ratio, rounds, 1) / 1e6, "x");
	return 0;
}
