/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * A closed loop: each connection sends a request, waits for the whole answer, and sends the next.
 * Starts the server itself, on a port of its own, and tells what the server's CPU time was for each
 * request: that says more than the rate where the client and others need the machine, too.
 *
 *	load echo|http|crypto CONNECTIONS [PREFIX... --] SERVER [ARGUMENT]...
 *
 * The server is a program beside this one, called with its port before the arguments; a prefix may
 * be valgrind or strace. "nginx" is the system's, with a configuration that answers 200.
 *
 *	BENCH_COPIES=n		so many servers, the connections dealt out to them (1)
 *	BENCH_PINNED=0		else the servers are kept on one CPU and the client on another
 *	BENCH_MS=n		how long to measure (700)
 *	BENCH_REQUESTS=n	instead: stop after so many, interrupting the server
 *	BENCH_PORT=n		the server runs already and has this port; SERVER and its arguments are left out
 */
#include "../util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COPIES_MAX = 8, ARGS_MAX = 16, BATCH = 1024, WARM_NS = 200000000, ROOM = 1 << 20 };

static const char http_request[] =
	"GET /x HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n";

struct conn {
	int fd;
	size_t got_len;		/* of the answer under way */
};

struct server {
	pid_t pid;
	clockid_t clock;
	uint16_t port;
};

static struct server servers[COPIES_MAX];
static unsigned copies;
static char nginx_dir[64];	/* "": none was made */
static char request[64 * 1024], room[ROOM];
static size_t request_len, answer_len;
static struct conn *conns;
static unsigned conns_num;

/* ---------------------------------------------------------------- nginx */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

/* All that it writes is in a folder of its own. */
static void write_nginx_conf(uint16_t port)
{
	char path[80];
	FILE *conf;

	snprintf(nginx_dir, sizeof(nginx_dir), "/tmp/bench-nginx.XXXXXX");
	if (mkdtemp(nginx_dir) == NULL)
		bench_die("%s: %s", nginx_dir, strerror(errno));
	snprintf(path, sizeof(path), "%s/conf", nginx_dir);
	conf = fopen(path, "w");
	if (conf == NULL)
		bench_die("%s: %s", path, strerror(errno));
	fprintf(conf,
		"daemon off; master_process off; pid pid; error_log stderr crit;\n"
		"events { worker_connections 4096; use epoll; }\n"
		"http {\n"
		"access_log off; keepalive_requests 100000000; keepalive_timeout 300; tcp_nodelay "
		"on;\n"
		"client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path "
		"d; scgi_temp_path e;\n"
		"server { listen 127.0.0.1:%u; location / { default_type text/plain; return 200 "
		"\"hello world\\n\"; } }\n"
		"}\n",
		port);
	fclose(conf);
}

static const char *find_nginx(void)
{
	static const char *const places[] = { "/usr/sbin/nginx", "/usr/bin/nginx",
					      "/usr/local/sbin/nginx" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], X_OK) == 0)
			return places[i];
	}
	bench_skip("nginx is not installed");
}

/* ---------------------------------------------------------------- servers */

static void sockaddr_of(struct sockaddr_in *addr, uint16_t port)
{
	*addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

/* The system chooses one that is free. */
static uint16_t free_port(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	sockaddr_of(&addr, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		bench_die("no port: %s", strerror(errno));
	close(fd);
	return ntohs(addr.sin_port);
}

/* [PREFIX... --] SERVER [ARGUMENT]... with the port behind SERVER. */
static void exec_server(char **args, uint16_t port)
{
	char self[PATH_MAX], path[2 * PATH_MAX], number[8], *argv[ARGS_MAX + 2];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int argc = 0, prefix = 0;

	for (int i = 0; args[i] != NULL; i++) {
		if (i == ARGS_MAX)
			bench_die("too many arguments");
		if (strcmp(args[i], "--") == 0)
			prefix = i + 1;
	}
	while (argc + 1 < prefix)
		argv[argc++] = *args++;
	args += prefix > 0;
	self[len > 0 ? len : 0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dirname(self), *args++);
	snprintf(number, sizeof(number), "%u", port);
	argv[argc++] = path;
	argv[argc++] = number;
	while (*args != NULL)
		argv[argc++] = *args++;
	argv[argc] = NULL;
	execvp(argv[0], argv);
	bench_die("%s: %s", argv[0], strerror(errno));
}

static void exec_nginx(const char *path)
{
	char conf[80], prefix[80];

	snprintf(conf, sizeof(conf), "%s/conf", nginx_dir);
	snprintf(prefix, sizeof(prefix), "%s/", nginx_dir);
	execl(path, path, "-c", conf, "-p", prefix, "-e", "stderr", (char *)NULL);
	bench_die("%s: %s", path, strerror(errno));
}

static void start_server(struct server *server, char **args, bool is_pinned)
{
	const char *nginx = NULL;

	server->port = free_port();
	if (strcmp(args[0], "nginx") == 0) {
		nginx = find_nginx();
		write_nginx_conf(server->port);
	}
	server->pid = fork();
	if (server->pid < 0)
		bench_die("fork: %s", strerror(errno));
	if (server->pid > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A shell's background ignores it, and interrupt_servers would wait for ever. */
	signal(SIGINT, SIG_DFL);
	if (is_pinned)
		bench_pin(0);
	if (nginx != NULL)
		exec_nginx(nginx);
	exec_server(args, server->port);
}

static int connect_once(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in addr;

	sockaddr_of(&addr, port);
	if (fd < 0)
		bench_die("socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* A server that cannot run here says so by its exit status, and so do we. */
static void await_server(struct server *server)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int status, fd;

	for (int i = 0; i < 3000; i++) {
		fd = connect_once(server->port);
		if (fd >= 0) {
			close(fd);
			if (clock_getcpuclockid(server->pid, &server->clock) != 0)
				bench_die("no clock of the server's");
			return;
		}
		if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
			server->pid = 0;
			if (WIFEXITED(status) && WEXITSTATUS(status) == BENCH_SKIP)
				bench_skip("the server cannot run here");
			bench_die("the server ended: status %d", status);
		}
		nanosleep(&pause, NULL);
	}
	bench_die("the server did not come up");
}

static void stop_servers(void)
{
	for (unsigned i = 0; i < copies; i++) {
		if (servers[i].pid > 0) {
			kill(servers[i].pid, SIGKILL);
			waitpid(servers[i].pid, NULL, 0);
		}
		servers[i].pid = 0;
	}
	if (nginx_dir[0] != '\0')
		nftw(nginx_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* So that callgrind writes what it counted. */
static void interrupt_servers(void)
{
	for (unsigned i = 0; i < copies; i++) {
		kill(servers[i].pid, SIGINT);
		waitpid(servers[i].pid, NULL, 0);
		servers[i].pid = 0;
	}
}

static uint64_t server_cpu_ns(void)
{
	struct timespec ts;
	uint64_t sum = 0;

	for (unsigned i = 0; i < copies; i++) {
		clock_gettime(servers[i].clock, &ts);
		sum += (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	}
	return sum;
}

/* ---------------------------------------------------------------- requests */

static void send_request(struct conn *conn)
{
	if (send(conn->fd, request, request_len, MSG_NOSIGNAL) != (ssize_t)request_len)
		bench_die("send: %s", strerror(errno));
}

/* The length of the first answer is that of all: the date in it has always as many characters. */
static void learn_http_answer(struct conn *conn)
{
	const char *header, *end = NULL;
	size_t len = 0;
	ssize_t num;

	send_request(conn);
	while (end == NULL) {
		num = recv(conn->fd, room + len, sizeof(room) - 1 - len, 0);
		if (num <= 0)
			bench_die("no answer to the first request");
		len += (size_t)num;
		room[len] = '\0';
		end = strstr(room, "\r\n\r\n");
	}
	header = strcasestr(room, "\r\nContent-Length: ");
	if (strncmp(room, "HTTP/1.1 200 ", 13) != 0 || header == NULL)
		bench_die("an unexpected answer: %.60s", room);
	answer_len = (size_t)(end - room) + 4 + strtoul(header + 18, NULL, 10);
	while (len < answer_len) {
		num = recv(conn->fd, room, sizeof(room), 0);
		if (num <= 0)
			bench_die("half an answer to the first request");
		len += (size_t)num;
	}
}

static void choose_mode(const char *mode)
{
	if (strcmp(mode, "http") == 0) {
		request_len = sizeof(http_request) - 1;
		memcpy(request, http_request, request_len);
	} else if (strcmp(mode, "crypto") == 0) {
		request_len = 8;
		answer_len = 16384;
	} else if (strcmp(mode, "echo") == 0) {
		request_len = 64;
		answer_len = 64;
	} else {
		bench_die("echo, http or crypto");
	}
}

static void connect_all(int epoll_fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	conns = bench_alloc(conns_num, sizeof(*conns));
	for (unsigned i = 0; i < conns_num; i++) {
		conns[i].fd = connect_once(servers[i % copies].port);
		if (conns[i].fd < 0)
			bench_die("connect: %s", strerror(errno));
	}
	if (answer_len == 0)
		learn_http_answer(&conns[0]);
	for (unsigned i = 0; i < conns_num; i++) {
		ev.data.ptr = &conns[i];
		fcntl(conns[i].fd, F_SETFL, O_NONBLOCK);
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, conns[i].fd, &ev) != 0)
			bench_die("epoll_ctl: %s", strerror(errno));
	}
}

/* How many answers came to their end; each is followed by the next request. */
static uint64_t take(struct conn *conn)
{
	ssize_t num = recv(conn->fd, room, sizeof(room), 0);
	uint64_t done = 0;

	if (num < 0 && errno == EAGAIN)
		return 0;
	if (num <= 0)
		bench_die("a connection ended");
	for (conn->got_len += (size_t)num; conn->got_len >= answer_len;
	     conn->got_len -= answer_len) {
		send_request(conn);
		done++;
	}
	return done;
}

struct span {
	uint64_t done, begin_ns, end_ns, cpu_ns;
};

/* Not before all of them have been warm for a while, unless requests are counted. */
static struct span measure(int epoll_fd)
{
	uint64_t requests = (uint64_t)bench_setting("BENCH_REQUESTS", 0);
	uint64_t len_ns = (uint64_t)bench_setting("BENCH_MS", 700) * 1000000u;
	uint64_t warm_ns = bench_now_ns() + (requests > 0 ? 0 : WARM_NS);
	struct span span = { .done = 0 };
	struct epoll_event ready[BATCH];

	for (unsigned i = 0; i < conns_num; i++)
		send_request(&conns[i]);
	for (;;) {
		int num = epoll_wait(epoll_fd, ready, BATCH, 10000);

		if (num == 0)
			bench_die("no answer for ten seconds");
		span.end_ns = bench_now_ns();
		if (span.begin_ns == 0 && span.end_ns >= warm_ns) {
			span = (struct span){ .begin_ns = span.end_ns, .cpu_ns = server_cpu_ns() };
		} else if (span.begin_ns != 0 &&
			   (requests > 0 ? span.done >= requests :
					   span.end_ns - span.begin_ns >= len_ns)) {
			span.cpu_ns = server_cpu_ns() - span.cpu_ns;
			return span;
		}
		for (int i = 0; i < num; i++)
			span.done += take(ready[i].data.ptr);
	}
}

int main(int argc, char **argv)
{
	uint16_t port = (uint16_t)bench_setting("BENCH_PORT", 0);
	bool is_ours = port == 0, is_pinned = is_ours && bench_setting("BENCH_PINNED", 1) != 0;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct span span;

	if (argc < 3 + is_ours)
		bench_die("load echo|http|crypto CONNECTIONS [PREFIX... --] SERVER [ARGUMENT]...");
	choose_mode(argv[1]);
	conns_num = (unsigned)bench_number(argv[2]);
	copies = (unsigned)bench_setting("BENCH_COPIES", 1);
	if (copies == 0 || copies > COPIES_MAX || conns_num == 0)
		bench_die("1 to %d servers, and a connection", COPIES_MAX);
	bench_raise_fd_limit();
	atexit(stop_servers);
	if (!is_ours)
		servers[0] = (struct server){ .clock = CLOCK_PROCESS_CPUTIME_ID, .port = port };
	for (unsigned i = 0; i < copies && is_ours; i++)
		start_server(&servers[i], argv + 3, is_pinned);
	if (is_pinned)
		bench_pin(1);
	for (unsigned i = 0; i < copies && is_ours; i++)
		await_server(&servers[i]);
	connect_all(epoll_fd);
	span = measure(epoll_fd);
	if (bench_setting("BENCH_REQUESTS", 0) > 0)
		interrupt_servers();
	if (is_ours)
		bench_report(argv[1], "load", "server's CPU per request",
			     (double)span.cpu_ns / (double)span.done, "ns");
	bench_report(argv[1], "load", "requests",
		     1e9 * (double)span.done / (double)(span.end_ns - span.begin_ns), "1/s");
	return 0;
}
