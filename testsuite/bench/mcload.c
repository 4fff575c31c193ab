/*
 * mcload: a closed-loop load generator for memcached's text protocol.
 *
 * Connections open one after the other, each confirmed by a round trip, so that a server
 * which deals them out in turn gives connection i to thread i mod N: a load can be put on
 * one thread on purpose (-H). Every key exists and all values have one length, so the length
 * of each reply is known and nothing needs to be parsed. A hot connection sends its next
 * batch as soon as the last is answered; the others stay open and idle.
 *
 * Each thread owns its connections and counters; main opens and fills before any starts, and
 * adds up after all have ended. They share the phase alone.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE		/* the benchmarks of ports compile it alone */
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	KEY_LEN = 8,			/* k and seven digits */
	KEYS_MAX = 10000000,
	EVENTS_NUM = 256,
	READ_LEN = 1 << 18,
	SUB_BITS = 5,			/* buckets for each doubling of a latency: 32 */
	BUCKETS_NUM = 32 << SUB_BITS,
};

enum phase { PHASE_WARM, PHASE_MEASURE, PHASE_STOP };

/* const once the threads run */
static struct {
	in_port_t port;
	unsigned conns_num, threads_num;
	unsigned depth;			/* commands in a batch */
	unsigned keys_of_get;
	unsigned set_percent;
	unsigned value_len;
	unsigned keys_num;
	double warm_s, measure_s;
	char *value;
} opt = {
	.port = 11211,
	.conns_num = 50,
	.threads_num = 1,
	.depth = 1,
	.keys_of_get = 1,
	.value_len = 100,
	.keys_num = 10000,
	.warm_s = 0.5,
	.measure_s = 3,
};

struct conn {
	int fd;
	bool is_hot;
	uint32_t random;
	size_t reply_len;		/* of the batch in flight */
	size_t got_len;
	uint64_t sent_ns;
};

struct loader {
	pthread_t thread;
	struct conn **conns;
	unsigned conns_num;
	char *request;
	char *reply;
	uint64_t commands;
	uint64_t batches;
	uint64_t latency[BUCKETS_NUM];	/* of batches */
};

static atomic_int phase = PHASE_WARM;

static _Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("mcload: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void *xcalloc(size_t num, size_t size)
{
	void *p = calloc(num, size);

	if (p == NULL)
		die("no memory");
	return p;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void sleep_s(double s)
{
	struct timespec t = { .tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9) };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* ---------------------------------------------------------------- latency */

/* Buckets grow with what they hold, so that each is within 1/32 of it. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned octave;

	if (ns < 1U << SUB_BITS)
		return (unsigned)ns;
	octave = 63U - (unsigned)__builtin_clzll(ns) - SUB_BITS;
	if (octave + 1 >= BUCKETS_NUM >> SUB_BITS)
		return BUCKETS_NUM - 1;
	return ((octave + 1) << SUB_BITS) + (unsigned)((ns >> octave) & ((1U << SUB_BITS) - 1));
}

static double bucket_us(unsigned bucket)
{
	unsigned octave = bucket >> SUB_BITS;
	uint64_t sub = bucket & ((1U << SUB_BITS) - 1);

	if (octave == 0)
		return (double)sub / 1e3;
	return (double)(((1ULL << SUB_BITS) + sub) << (octave - 1)) / 1e3;
}

static double percentile_us(const uint64_t latency[BUCKETS_NUM], uint64_t batches, double part)
{
	uint64_t below = 0;
	unsigned i;

	for (i = 0; i < BUCKETS_NUM - 1; i++) {
		below += latency[i];
		if ((double)below >= part * (double)batches)
			break;
	}
	return bucket_us(i);
}

/* ---------------------------------------------------------------- protocol */

static uint32_t conn_random(struct conn *c)
{
	c->random = c->random * 1664525U + 1013904223U;
	return c->random >> 4;
}

static char *put_key(char *p, uint32_t key)
{
	int i;

	*p = 'k';
	for (i = KEY_LEN - 1; i > 0; i--, key /= 10)
		p[i] = (char)('0' + key % 10);
	return p + KEY_LEN;
}

static char *put_set(char *p, uint32_t key, const char *tail)
{
	p = put_key(stpcpy(p, "set "), key);
	p += sprintf(p, " 0 0 %u%s\r\n", opt.value_len, tail);
	p = mempcpy(p, opt.value, opt.value_len);
	return stpcpy(p, "\r\n");
}

/* The longest that one command can be. */
static size_t command_max(void)
{
	size_t get = 5 + (size_t)opt.keys_of_get * (KEY_LEN + 1);
	size_t set = 64 + (size_t)opt.value_len;

	return get > set ? get : set;
}

static size_t get_reply_len(void)
{
	int head = snprintf(NULL, 0, "VALUE k%07d 0 %u\r\n", 0, opt.value_len);

	return opt.keys_of_get * ((size_t)head + opt.value_len + 2) + strlen("END\r\n");
}

static char *put_command(char *p, struct conn *c)
{
	unsigned i;

	if (opt.set_percent > 0 && conn_random(c) % 100 < opt.set_percent) {
		c->reply_len += strlen("STORED\r\n");
		return put_set(p, conn_random(c) % opt.keys_num, "");
	}
	p = stpcpy(p, "get");
	for (i = 0; i < opt.keys_of_get; i++) {
		*p++ = ' ';
		p = put_key(p, conn_random(c) % opt.keys_num);
	}
	c->reply_len += get_reply_len();
	return stpcpy(p, "\r\n");
}

/* All of the last batch is answered, so what the kernel can hold is free: no part remains. */
static void conn_send_batch(struct conn *c, char *request)
{
	char *end = request;
	unsigned i;

	c->reply_len = 0;
	c->got_len = 0;
	for (i = 0; i < opt.depth; i++)
		end = put_command(end, c);
	c->sent_ns = now_ns();
	if (send(c->fd, request, (size_t)(end - request), MSG_NOSIGNAL) != end - request)
		die("cannot send a batch of %zd bytes: %s", end - request, strerror(errno));
}

/* True: the batch is answered. */
static bool conn_receive(struct conn *c, char *reply)
{
	ssize_t len = recv(c->fd, reply, READ_LEN, 0);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (len <= 0)
		die("connection lost: %s", len < 0 ? strerror(errno) : "closed by the server");
	if (c->got_len == 0 && reply[0] != 'V' && reply[0] != 'S')
		die("unexpected reply: %.*s", len < 60 ? (int)len : 60, reply);
	c->got_len += (size_t)len;
	if (c->got_len > c->reply_len || (c->got_len == c->reply_len && reply[len - 1] != '\n'))
		die("a reply of %zu bytes where %zu are due: is a key missing?", c->got_len, c->reply_len);
	return c->got_len == c->reply_len;
}

/* ---------------------------------------------------------------- setup, in main alone */

static void send_all(int fd, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("send: %s", strerror(errno));
		p += n;
		len -= (size_t)n;
	}
}

/* Waits for one line. */
static void await_line(int fd)
{
	char line[256];
	ssize_t n;

	do {
		n = recv(fd, line, sizeof(line), 0);
		if (n <= 0)
			die("no answer: %s", n < 0 ? strerror(errno) : "closed by the server");
	} while (line[n - 1] != '\n');
}

static int dial(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(opt.port) };
	int one = 1;
	int fd;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		die("port %u: %s", opt.port, strerror(errno));
	return fd;
}

static struct conn *open_conns(char *hot)
{
	struct conn *conns = xcalloc(opt.conns_num, sizeof(*conns));
	char *p, *end;
	unsigned long n;
	unsigned i;

	for (i = 0; i < opt.conns_num; i++) {
		conns[i].fd = dial();
		conns[i].random = i * 7919U + 1;
		conns[i].is_hot = hot == NULL;
		send_all(conns[i].fd, "version\r\n", strlen("version\r\n"));
		await_line(conns[i].fd);
		if (fcntl(conns[i].fd, F_SETFL, O_NONBLOCK) < 0)
			die("fcntl: %s", strerror(errno));
	}
	for (p = hot; p != NULL && *p != '\0'; p = *end == ',' ? end + 1 : end) {
		n = strtoul(p, &end, 10);
		if (end == p || (*end != ',' && *end != '\0') || n >= opt.conns_num)
			die("-H wants numbers below %u, with commas between", opt.conns_num);
		conns[n].is_hot = true;
	}
	return conns;
}

static void fill(void)
{
	char *line = xcalloc(1, command_max());
	unsigned key;
	char *end;
	int fd;

	fd = dial();
	for (key = 0; key < opt.keys_num; key++) {
		end = put_set(line, key, key + 1 < opt.keys_num ? " noreply" : "");
		send_all(fd, line, (size_t)(end - line));
	}
	await_line(fd);
	close(fd);
	free(line);
}

/* Hot and idle connections are each dealt out evenly. */
static struct loader *deal(struct conn *conns)
{
	struct loader *loaders = xcalloc(opt.threads_num, sizeof(*loaders));
	unsigned hot = 0, idle = 0, i;
	struct loader *l;

	for (i = 0; i < opt.threads_num; i++) {
		loaders[i].conns = xcalloc(opt.conns_num, sizeof(struct conn *));
		loaders[i].request = xcalloc(opt.depth, command_max());
		loaders[i].reply = xcalloc(1, READ_LEN);
	}
	for (i = 0; i < opt.conns_num; i++) {
		l = &loaders[(conns[i].is_hot ? hot++ : idle++) % opt.threads_num];
		l->conns[l->conns_num++] = &conns[i];
	}
	return loaders;
}

/* ---------------------------------------------------------------- load */

static int loader_start(struct loader *l)
{
	struct epoll_event e = { .events = EPOLLIN };
	unsigned i;
	int ep;

	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0)
		die("epoll_create1: %s", strerror(errno));
	for (i = 0; i < l->conns_num; i++) {
		e.data.ptr = l->conns[i];
		if (epoll_ctl(ep, EPOLL_CTL_ADD, l->conns[i]->fd, &e) < 0)
			die("epoll_ctl: %s", strerror(errno));
		if (l->conns[i]->is_hot)
			conn_send_batch(l->conns[i], l->request);
	}
	return ep;
}

static void loader_count(struct loader *l, const struct conn *c)
{
	if (atomic_load(&phase) != PHASE_MEASURE)
		return;
	l->latency[bucket_of(now_ns() - c->sent_ns)]++;
	l->batches++;
	l->commands += opt.depth;
}

static void *loader_main(void *arg)
{
	struct epoll_event events[EVENTS_NUM];
	struct loader *l = arg;
	struct conn *c;
	int ep, n, i;

	ep = loader_start(l);
	while (atomic_load(&phase) != PHASE_STOP) {
		n = epoll_wait(ep, events, EVENTS_NUM, 100);
		for (i = 0; i < n; i++) {
			c = events[i].data.ptr;
			if (!conn_receive(c, l->reply))
				continue;
			loader_count(l, c);
			conn_send_batch(c, l->request);
		}
	}
	close(ep);
	return NULL;
}

/* Seconds measured. */
static double run(struct loader *loaders)
{
	uint64_t start_ns, end_ns;
	unsigned i;
	int r;

	for (i = 0; i < opt.threads_num; i++) {
		r = pthread_create(&loaders[i].thread, NULL, loader_main, &loaders[i]);
		if (r != 0)
			die("pthread_create: %s", strerror(r));
	}
	sleep_s(opt.warm_s);
	start_ns = now_ns();
	atomic_store(&phase, PHASE_MEASURE);
	sleep_s(opt.measure_s);
	atomic_store(&phase, PHASE_STOP);
	end_ns = now_ns();
	for (i = 0; i < opt.threads_num; i++)
		pthread_join(loaders[i].thread, NULL);
	return (double)(end_ns - start_ns) / 1e9;
}

static void report(const struct loader *loaders, double s)
{
	static uint64_t latency[BUCKETS_NUM];
	uint64_t commands = 0, batches = 0;
	unsigned i, k;

	for (i = 0; i < opt.threads_num; i++) {
		commands += loaders[i].commands;
		batches += loaders[i].batches;
		for (k = 0; k < BUCKETS_NUM; k++)
			latency[k] += loaders[i].latency[k];
	}
	printf("{\"ops\": %.0f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", (double)commands / s,
	       percentile_us(latency, batches, 0.5), percentile_us(latency, batches, 0.99));
}

/* ---------------------------------------------------------------- command line */

static void usage(FILE *to)
{
	fputs("usage: mcload [OPTION]...\n"
	      "Loads the memcached on a port of this machine and prints commands per second and the\n"
	      "latency of a batch as one line of JSON.\n"
	      "  -p PORT     (11211)\n"
	      "  -c CONNS    connections (50)\n"
	      "  -H I,J,...  only these send, counted from 0 in order of opening (all)\n"
	      "  -d N        commands in a batch; the next follows its last reply (1)\n"
	      "  -m N        keys of a get (1)\n"
	      "  -s PERCENT  sets among the commands (0)\n"
	      "  -v BYTES    of a value (100)\n"
	      "  -k KEYS     (10000)\n"
	      "  -T THREADS  of the generator (1)\n"
	      "  -w SECONDS  first, not counted (0.5)\n"
	      "  -t SECONDS  measured (3)\n",
	      to);
}

static unsigned number(int opt_char, unsigned min, unsigned max)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(optarg, &end, 10);
	if (errno != 0 || end == optarg || *end != '\0' || n < min || n > max)
		die("-%c wants a number from %u to %u", opt_char, min, max);
	return (unsigned)n;
}

static double seconds(int opt_char)
{
	char *end;
	double s = strtod(optarg, &end);

	if (end == optarg || *end != '\0' || !(s >= 0 && s <= 86400))
		die("-%c wants seconds", opt_char);
	return s;
}

static char *parse(int argc, char **argv)
{
	char *hot = NULL;
	int o;

	while ((o = getopt(argc, argv, "p:c:H:d:m:s:v:k:T:w:t:h")) != -1) {
		switch (o) {
		case 'p': opt.port = (in_port_t)number(o, 1, 65535); break;
		case 'c': opt.conns_num = number(o, 1, 100000); break;
		case 'H': hot = optarg; break;
		case 'd': opt.depth = number(o, 1, 1000); break;
		case 'm': opt.keys_of_get = number(o, 1, 1000); break;
		case 's': opt.set_percent = number(o, 0, 100); break;
		case 'v': opt.value_len = number(o, 1, 1 << 19); break;
		case 'k': opt.keys_num = number(o, 1, KEYS_MAX); break;
		case 'T': opt.threads_num = number(o, 1, 1024); break;
		case 'w': opt.warm_s = seconds(o); break;
		case 't': opt.measure_s = seconds(o); break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(2);
	}
	return hot;
}

int main(int argc, char **argv)
{
	char *hot = parse(argc, argv);
	struct loader *loaders;
	struct conn *conns;
	double s;
	unsigned i;

	opt.value = xcalloc(1, opt.value_len);
	memset(opt.value, 'x', opt.value_len);
	conns = open_conns(hot);
	fill();
	loaders = deal(conns);
	s = run(loaders);
	report(loaders, s);

	for (i = 0; i < opt.threads_num; i++) {
		free(loaders[i].conns);
		free(loaders[i].request);
		free(loaders[i].reply);
	}
	for (i = 0; i < opt.conns_num; i++)
		close(conns[i].fd);
	free(loaders);
	free(conns);
	free(opt.value);
	return 0;
}
