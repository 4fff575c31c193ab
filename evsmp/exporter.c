/*
 * metrics: the counters of a running process for Prometheus, once or by HTTP.
 *
 * The server is for one scraper on this machine: it listens on a loopback address or a Unix socket of this user, and
 * answers one request after the other. Requests are read from several clients at a time, so a silent one delays nobody;
 * after a while it is dropped, and so is the oldest one when there are too many.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "metrics.h"

enum { REQUEST_MAX = 8192, CLIENTS_MAX = 32, CLIENT_MS = 2000, LEASE_MS = 1000 };

/* Of which the request is read. */
struct client {
	int fd;
	uint64_t end_ns;		/* dropped then */
	size_t len;
	char request[REQUEST_MAX];
};

/* The oldest first. */
static struct client clients[CLIENTS_MAX];
static size_t clients_num;

static volatile sig_atomic_t was_ended;

static void on_end(int sig)
{
	(void)sig;
	was_ended = 1;
}

/* ---------------------------------------------------------------- listening */

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static _Noreturn void refuse_listen(const char *word)
{
	die(EVSMP_USAGE, "--listen needs unix:PATH, 127.0.0.1:PORT or [::1]:PORT, not \"%s\". Let a proxy with "
			 "authentication serve other machines.",
	    word == NULL ? "" : word);
}

static socklen_t unix_address(const char *path, union address *ret)
{
	if (*path == '\0' || strlen(path) >= sizeof(ret->un.sun_path))
		die(EVSMP_USAGE, "the path of a Unix socket has 1 to %zu bytes. Choose a shorter one.",
		    sizeof(ret->un.sun_path) - 1);
	ret->un.sun_family = AF_UNIX;
	memcpy(ret->un.sun_path, path, strlen(path) + 1);
	return sizeof(ret->un);
}

/* "127.0.0.1:9100", "[::1]:9100" */
static socklen_t address_of(const char *word, union address *ret)
{
	const char *colon = word == NULL ? NULL : strrchr(word, ':');
	unsigned long port = colon == NULL ? 0 : strtoul(colon + 1, NULL, 10);

	memset(ret, 0, sizeof(*ret));
	if (word != NULL && starts_with(word, "unix:"))
		return unix_address(word + strlen("unix:"), ret);
	if (colon == NULL || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")] != '\0' || port > 65535)
		refuse_listen(word);
	if (starts_with(word, "127.0.0.1:") && colon == word + strlen("127.0.0.1")) {
		ret->in.sin_family = AF_INET;
		ret->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		ret->in.sin_port = htons((uint16_t)port);
		return sizeof(ret->in);
	}
	if (!starts_with(word, "[::1]:") || colon != word + strlen("[::1]"))
		refuse_listen(word);
	ret->in6.sin6_family = AF_INET6;
	ret->in6.sin6_addr = in6addr_loopback;
	ret->in6.sin6_port = htons((uint16_t)port);
	return sizeof(ret->in6);
}

/* A socket that nobody listens on any more is removed. Anything else of that name is left alone. */
static void remove_stale(const union address *a, socklen_t len)
{
	struct stat st;
	int fd;

	if (a->any.sa_family != AF_UNIX || lstat(a->un.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, &a->any, len) < 0 && errno == ECONNREFUSED)
		(void)unlink(a->un.sun_path);
	close(fd);
}

static int listen_at(const char *word, union address *a)
{
	socklen_t len = address_of(word, a);
	int one = 1, fd;
	mode_t mask;

	remove_stale(a, len);
	fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		die(EVSMP_SYSTEM, "a socket cannot be made: %s. Try again later.", strerror(errno));
	if (a->any.sa_family != AF_UNIX)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	mask = umask(0177);
	if (bind(fd, &a->any, len) < 0 || listen(fd, 16) < 0)
		die(EVSMP_SYSTEM, "%s cannot be listened on: %s. Choose another one.", word, strerror(errno));
	(void)umask(mask);
	return fd;
}

/* What was chosen for port 0. */
static void say_address(int fd, const char *word, const union address *a)
{
	union address bound;
	socklen_t len = sizeof(bound);

	if (a->any.sa_family == AF_UNIX || getsockname(fd, &bound.any, &len) < 0)
		say_note("metrics are at %s", word);
	else if (bound.any.sa_family == AF_INET)
		say_note("metrics are at http://127.0.0.1:%u/metrics", ntohs(bound.in.sin_port));
	else
		say_note("metrics are at http://[::1]:%u/metrics", ntohs(bound.in6.sin6_port));
}

/* ---------------------------------------------------------------- a request */

static bool wait_for(int fd, short what)
{
	struct pollfd p = { .fd = fd, .events = what };

	return poll(&p, 1, CLIENT_MS) > 0;
}

/* What has come. False: it is no request, and none will be. */
static bool client_read(struct client *c)
{
	ssize_t n = read(c->fd, c->request + c->len, REQUEST_MAX - 1 - c->len);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	c->len += (size_t)n;
	c->request[c->len] = '\0';
	return true;
}

static bool is_complete(const struct client *c)
{
	return strstr(c->request, "\r\n\r\n") != NULL || strstr(c->request, "\n\n") != NULL;
}

static void send_all(int fd, const char *data, size_t len)
{
	uint64_t end_ns = source_now_ns() + CLIENT_MS * UINT64_C(1000000);
	ssize_t n;

	while (len > 0 && source_now_ns() < end_ns && wait_for(fd, POLLOUT)) {
		n = send(fd, data, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

static void send_answer(int fd, const char *status, const char *type, const char *body, size_t len)
{
	char head[256];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
					     "Connection: close\r\n\r\n", status, type, len);

	send_all(fd, head, (size_t)n);
	send_all(fd, body, len);
}

static void send_metrics(int fd, struct source *source, struct metrics_room *room)
{
	char *body = NULL;
	size_t len = 0;
	FILE *out = must(open_memstream(&body, &len));

	(void)metrics_write(out, source, room);
	if (fclose(out) == 0)
		send_answer(fd, "200 OK", "text/plain; version=0.0.4; charset=utf-8", body, len);
	free(body);
}

static void answer(const struct client *c, struct source *source, struct metrics_room *room)
{
	static const char elsewhere[] = "The metrics are at /metrics.\n";

	if (starts_with(c->request, "GET /metrics ") || starts_with(c->request, "GET /metrics?"))
		send_metrics(c->fd, source, room);
	else if (starts_with(c->request, "GET "))
		send_answer(c->fd, "404 Not Found", "text/plain", elsewhere, strlen(elsewhere));
	else
		send_answer(c->fd, "405 Method Not Allowed", "text/plain", elsewhere, strlen(elsewhere));
}

/* ---------------------------------------------------------------- clients */

static void client_drop(size_t i)
{
	close(clients[i].fd);
	clients_num--;
	memmove(&clients[i], &clients[i + 1], (clients_num - i) * sizeof(clients[0]));
}

static void client_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	if (fd < 0)
		return;
	if (clients_num == CLIENTS_MAX)
		client_drop(0);
	c = &clients[clients_num++];
	c->fd = fd;
	c->end_ns = source_now_ns() + CLIENT_MS * UINT64_C(1000000);
	c->len = 0;
	c->request[0] = '\0';
}

/* False: there is no more to do for it. */
static bool client_serve(struct client *c, bool is_ready, struct source *source, struct metrics_room *room)
{
	if (is_ready && !client_read(c))
		return false;
	if (is_complete(c)) {
		answer(c, source, room);
		return false;
	}
	return c->len < REQUEST_MAX - 1 && source_now_ns() < c->end_ns;
}

/* One round: what is ready within the lease. */
static void serve_ready(int listener, struct source *source, struct metrics_room *room)
{
	struct pollfd p[CLIENTS_MAX + 1];
	size_t i, num = clients_num;

	for (i = 0; i < num; i++)
		p[i] = (struct pollfd){ .fd = clients[i].fd, .events = POLLIN };
	p[num] = (struct pollfd){ .fd = listener, .events = POLLIN };
	if (poll(p, num + 1, LEASE_MS) < 0)
		return;
	for (i = num; i > 0; i--) {		/* backwards: others keep their places */
		if (!client_serve(&clients[i - 1], p[i - 1].revents != 0, source, room))
			client_drop(i - 1);
	}
	if (p[num].revents != 0)
		client_accept(listener);
}

/* ---------------------------------------------------------------- the command */

static void handle_signals(void)
{
	const struct sigaction end = { .sa_handler = on_end };

	(void)sigaction(SIGINT, &end, NULL);
	(void)sigaction(SIGTERM, &end, NULL);
	(void)sigaction(SIGHUP, &end, NULL);
}

/* Until a signal, or the end of the process. */
static void serve_all(int fd, struct source *source, struct metrics_room *room)
{
	while (!was_ended) {
		if (!source_update(source)) {
			say_note("process %d has ended.", (int)source->pid);
			return;
		}
		serve_ready(fd, source, room);
	}
}

enum status command_metrics(int argc, char **argv)
{
	const char *listen_word = NULL, *pid = NULL;
	bool is_listening = false, is_any;
	struct metrics_room *room;
	struct source source;
	union address a;
	int i, fd = -1;

	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--listen") == 0) {
			listen_word = argv[++i];
			is_listening = true;
		} else if (strcmp(argv[i], "--") == 0) {
			continue;
		} else if (argv[i][0] == '-') {
			die(EVSMP_USAGE, "metrics has no option %s (evsmp metrics --help lists them).", argv[i]);
		} else if (pid != NULL) {
			die(EVSMP_USAGE, "metrics are of one process: %s is one too many.", argv[i]);
		} else {
			pid = argv[i];
		}
		if (i == argc)		/* --listen was the last word */
			break;
	}
	if (is_listening)
		(void)address_of(listen_word, &a);	/* a mistake is told first */
	room = must(calloc(SOURCE_FILES, sizeof(*room)));
	source_open(attach_pid("metrics", pid), &source);
	if (!is_listening) {
		is_any = metrics_write(stdout, &source, room) != 0;
		source_close(&source);
		return is_any ? EVSMP_OK : EVSMP_NOT_IN_USE;
	}
	handle_signals();
	fd = listen_at(listen_word, &a);
	say_address(fd, listen_word, &a);
	serve_all(fd, &source, room);
	close(fd);
	if (a.any.sa_family == AF_UNIX)
		(void)unlink(a.un.sun_path);
	source_close(&source);
	return EVSMP_OK;
}
