/*
 * Preloaded into a server: a thread that has written TLS records says so to the listener on the socket that SENT_TO
 * names, and goes on when that closes the connection. What it tells is one line: `loop` (the main thread) or `task`,
 * the type of the first record, and the address that it went to. While nobody listens, it goes on at once. The name is
 * looked at once, for nginx, for one, clears its environment.
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

static void tell(int type, struct in_addr peer)
{
	const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char line[64], address[INET_ADDRSTRLEN] = "";
	int len;

	if (s < 0)
		return;
	if (connect(s, (const struct sockaddr *)&listener, sizeof(listener)) == 0) {
		(void)inet_ntop(AF_INET, &peer, address, sizeof(address));
		len = snprintf(line, sizeof(line), "%s %d %s\n", gettid() == getpid() ? "loop" : "task", type, address);
		if (next_write(s, line, (size_t)len) == len)
			(void)read(s, line, 1);
	}
	(void)close(s);
}

ssize_t write(int fd, const void *buf, size_t size)
{
	const ssize_t n = next_write(fd, buf, size);
	const int error = errno;
	struct sockaddr_in peer;

	if (n > 0 && listener.sun_path[0] != '\0' && is_tls(fd, buf, size, &peer))
		tell(*(const unsigned char *)buf, peer.sin_addr);
	errno = error;
	return n;
}
