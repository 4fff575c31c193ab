/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * Clients of a web server, as in the libasync-smp paper: each asks for a number of files on one connection, one after
 * the other, then connects anew. The files and how often each is asked for come from a list.
 *
 *	webload CLIENTS PER-CONNECTION LIST PORT[,PORT]... PID[,PID]...
 *
 * A line of the list is: weight, bytes, path. Clients are dealt out to the ports. The processes are those whose CPU
 * time counts. Each file is asked for once before it measures.
 *
 *	BENCH_MS=n		how long to measure (1000)
 *	BENCH_WARM_MS=n		how long to run before (300)
 *	BENCH_REQUESTS=n	instead: stop after so many
 */
#include "../util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 4096, LINE_MAX_LEN = 512, BATCH = 512, LIST_MAX = 64, HEAD_ROOM = 1024, FD_SPARE = 32 };

struct page {
	char request[LINE_MAX_LEN];
	size_t request_len, body_len;
	double up_to;		/* the sum of the weights so far */
};

struct client {
	int fd;
	size_t port;		/* its place in the list */
	unsigned asked;		/* on this connection */
	const struct page *page;
	size_t left;		/* of the body */
	size_t head_len;	/* of the answer's head so far; 0 once it is over */
	bool is_in_head;
	char head[HEAD_ROOM];
};

static struct page pages[FILES_MAX];
static size_t pages_num;
static long ports[LIST_MAX], pids[LIST_MAX];
static size_t asked_num[LIST_MAX];	/* of a port, at the start: each file once */
static size_t ports_num, pids_num;
static struct client *clients;
static long clients_num, per_connection, requests_max;
static uint64_t requests, bytes, seed = 1;
static int epoll_fd;
static char room[1 << 20];

static void read_list(const char *path)
{
	FILE *list = fopen(path, "r");
	char name[256];
	double weight, sum = 0;

	if (list == NULL)
		bench_die("%s: %s", path, strerror(errno));
	while (pages_num < FILES_MAX) {
		struct page *page = &pages[pages_num];

		if (fscanf(list, "%lf %zu %255s", &weight, &page->body_len, name) != 3)
			break;
		sum += weight;
		page->up_to = sum;
		page->request_len = (size_t)snprintf(page->request, sizeof(page->request),
			"GET %s HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n", name);
		pages_num++;
	}
	fclose(list);
	if (pages_num == 0)
		bench_die("%s: no files", path);
}

static size_t read_numbers(const char *text, long *numbers)
{
	size_t num = 0;

	while (num < LIST_MAX) {
		char *end;

		numbers[num++] = strtol(text, &end, 10);
		if (*end != ',')
			return num;
		text = end + 1;
	}
	bench_die("too many numbers");
}

/* First, each file once: for servers that read them then. Later by their weights. */
static const struct page *choose(const struct client *client)
{
	if (asked_num[client->port] < pages_num)
		return &pages[asked_num[client->port]++];

	const double at = pages[pages_num - 1].up_to * (double)(bench_random(&seed) >> 11) / 9007199254740992.0;
	size_t low = 0, high = pages_num - 1;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (pages[middle].up_to > at)
			high = middle;
		else
			low = middle + 1;
	}
	return &pages[low];
}

static void ask(struct client *client)
{
	const ssize_t len = (ssize_t)client->page->request_len;

	client->is_in_head = true;
	client->head_len = 0;
	client->asked++;
	/* A connection that the server ends just now: take() sees it. */
	if (send(client->fd, client->page->request, (size_t)len, MSG_NOSIGNAL) != len && client->asked == 1)
		bench_die("request: %s", strerror(errno));
}

static void open_connection(struct client *client)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)ports[client->port]) };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };
	const int yes = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		bench_die("connect: %s", strerror(errno));
	(void)setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	client->asked = 0;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, client->fd, &event) != 0)
		bench_die("epoll: %s", strerror(errno));
	ask(client);
}

static void answered(struct client *client)
{
	requests++;
	bytes += client->page->body_len;
	if (per_connection > 0 && client->asked >= (unsigned)per_connection) {
		/* No state of ended connections: there are many in a second. */
		const struct linger linger = { 1, 0 };

		(void)setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		close(client->fd);
		client->page = choose(client);
		open_connection(client);
	} else {
		client->page = choose(client);
		ask(client);
	}
}

/* The head is over: it must be the answer that was asked for. The number of bytes of the body that came with it. */
static size_t end_head(struct client *client, const char *end)
{
	const size_t head_len = (size_t)(end + 4 - client->head);
	const char *field;

	client->head[client->head_len] = '\0';
	field = strcasestr(client->head, "\r\nContent-Length: ");
	if (strncmp(client->head, "HTTP/1.1 200 ", 13) != 0 || field == NULL ||
	    strtoul(field + 18, NULL, 10) != client->page->body_len)
		bench_die("a strange answer to %.40s:\n%.300s", client->page->request, client->head);
	client->is_in_head = false;
	client->left = client->page->body_len;
	return client->head_len - head_len;
}

/* A server may end a connection that it has answered on (Apache does). The client asks again then. */
static void ended(struct client *client)
{
	if (!client->is_in_head || client->head_len > 0 || client->asked == 1)
		bench_die("the server ended a connection within an answer");
	close(client->fd);
	open_connection(client);
}

static void take(struct client *client)
{
	size_t body_len;
	ssize_t n;

	if (client->is_in_head) {
		const char *end;

		n = read(client->fd, client->head + client->head_len, HEAD_ROOM - 1 - client->head_len);
		if (n <= 0) {
			ended(client);
			return;
		}
		client->head_len += (size_t)n;
		end = memmem(client->head, client->head_len, "\r\n\r\n", 4);
		if (end == NULL)
			return;
		body_len = end_head(client, end);
	} else {
		n = read(client->fd, room, client->left < sizeof(room) ? client->left : sizeof(room));
		if (n <= 0) {
			ended(client);
			return;
		}
		body_len = (size_t)n;
	}
	if (body_len > client->left)
		bench_die("more than the answer");
	client->left -= body_len;
	if (client->left == 0)
		answered(client);
}

static void run(uint64_t until_ns, uint64_t until_requests)
{
	struct epoll_event events[BATCH];

	while (bench_now_ns() < until_ns && requests < until_requests) {
		const int n = epoll_wait(epoll_fd, events, BATCH, 100);

		for (int i = 0; i < n; i++)
			take(events[i].data.ptr);
	}
}

static uint64_t cpu_ns(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pids_num; i++) {
		struct timespec ts;
		clockid_t clock;

		if (clock_getcpuclockid((pid_t)pids[i], &clock) != 0 || clock_gettime(clock, &ts) != 0)
			bench_die("no process %ld", pids[i]);
		sum += (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
	return sum;
}

static void report(uint64_t wall_ns, uint64_t used_ns)
{
	const double secs = (double)wall_ns / 1e9;

	bench_report("web", "webload", "requests", (double)requests / secs, "1/s");
	bench_report("web", "webload", "server's CPU per request", (double)used_ns / 1e3 / (double)requests, "us");
	bench_report("web", "webload", "throughput", (double)bytes / 1e6 / secs, "MB/s");
}

int main(int argc, char **argv)
{
	uint64_t begin, used;
	struct rlimit limit;

	if (argc != 6)
		bench_die("usage: webload CLIENTS PER-CONNECTION LIST PORT[,PORT]... PID[,PID]...");
	clients_num = bench_number(argv[1]);
	per_connection = strtol(argv[2], NULL, 10);
	read_list(argv[3]);
	ports_num = read_numbers(argv[4], ports);
	pids_num = read_numbers(argv[5], pids);
	requests_max = bench_setting("BENCH_REQUESTS", 0);
	bench_raise_fd_limit();
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < (rlim_t)clients_num + FD_SPARE)
		bench_skip("too few descriptors for %ld clients", clients_num);
	epoll_fd = epoll_create1(0);
	clients = bench_alloc((size_t)clients_num, sizeof(*clients));
	for (long i = 0; i < clients_num; i++) {
		clients[i].port = (size_t)i % ports_num;
		clients[i].page = choose(&clients[i]);
		open_connection(&clients[i]);
	}
	if (requests_max > 0) {
		run(UINT64_MAX, (uint64_t)requests_max);
		return 0;
	}
	run(UINT64_MAX, pages_num * ports_num + (uint64_t)clients_num);
	run(bench_now_ns() + (uint64_t)bench_setting("BENCH_WARM_MS", 300) * 1000000, UINT64_MAX);
	requests = bytes = 0;
	begin = bench_now_ns();
	used = cpu_ns();
	run(begin + (uint64_t)bench_setting("BENCH_MS", 1000) * 1000000, UINT64_MAX);
	report(bench_now_ns() - begin, cpu_ns() - used);
	return 0;
}
