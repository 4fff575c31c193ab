/*
 * Preloaded into a server: a thread that writes TLS records connects to the listener on the socket that SENT_TO names.
 * When they are written, it says so, and goes on when the listener closes the connection. What it tells is one line:
 * `loop` (the main thread) or `task`, the type of the first record, and the address and port that it went to. While
 * nobody listens, it goes on at once. The name is looked at once, for nginx, for one, clears its environment.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TYPE_FIRST = 20, TYPE_LAST = 23, RECORD_HEAD = 5 };

static ssize_t (*next_write)(int fd, const void *buf, size_t size);
static struct sockaddr_un listener = { .sun_family = AF_UNIX };

__attribute__((constructor)) static void find_listener(void)
{
	const char *path = getenv("SENT_TO");

	next_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (path != NULL)
		(void)snprintf(listener.sun_path, sizeof(listener.sun_path), "%s", path);
}

static int is_tls(int fd, const unsigned char *data, size_t size, struct sockaddr_in *peer)
{
	socklen_t len = sizeof(*peer);

	return size >= RECORD_HEAD && data[0] >= TYPE_FIRST && data[0] <= TYPE_LAST && data[1] == 3 &&
	       getpeername(fd, (struct sockaddr *)peer, &len) == 0 && peer->sin_family == AF_INET;
}

/* -1: nobody listens. Called before the records are written, so that it comes before all that the client does then. */
static int connect_listener(void)
{
	const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s >= 0 && connect(s, (const struct sockaddr *)&listener, sizeof(listener)) < 0) {
		(void)close(s);
		return -1;
	}
	return s;
}

static void tell(int s, int type, const struct sockaddr_in *peer)
{
	char line[64], address[INET_ADDRSTRLEN] = "";
	int len;

	(void)inet_ntop(AF_INET, &peer->sin_addr, address, sizeof(address));
	len = snprintf(line, sizeof(line), "%s %d %s %d\n", gettid() == getpid() ? "loop" : "task", type, address,
		       ntohs(peer->sin_port));
	if (send(s, line, (size_t)len, MSG_NOSIGNAL) == len)
		(void)read(s, line, 1);
}

ssize_t write(int fd, const void *buf, size_t size)
{
	struct sockaddr_in peer;
	int s = -1, error;
	ssize_t n;

	if (listener.sun_path[0] != '\0' && is_tls(fd, buf, size, &peer))
		s = connect_listener();
	n = next_write(fd, buf, size);
	error = errno;
	if (n > 0 && s >= 0)
		tell(s, *(const unsigned char *)buf, &peer);
	if (s >= 0)
		(void)close(s);
	errno = error;
	return n;
}
