/*
 * An echo server: each client gets back what it sends.
 *
 * usage: echo
 *
 * It prints the port that it listens on, and a line for each client that has gone.
 */
#include "async.h"

/* Bytes for a client that does not read: more are not taken from it. */
enum { most = 0x10000 };

class client
{
	const int fd;
	suio buf;
	u_int64_t total;
	bool at_eof;

	void input();
	void output();
	void watch();

public:
	explicit client(int f);
	~client();
};

client::client(int f) : fd(f), total(0), at_eof(false)
{
	make_async(fd);
	tcp_nodelay(fd);
	watch();
}

client::~client()
{
	fdcb(fd, selread, NULL);
	fdcb(fd, selwrite, NULL);
	close(fd);
	printf("client: %llu bytes\n", (unsigned long long)total);
}

/* What there is to wait for now. */
void client::watch()
{
	if (!at_eof && buf.resid() < most)
		fdcb(fd, selread, wrap(this, &client::input));
	else
		fdcb(fd, selread, NULL);

	if (buf.resid())
		fdcb(fd, selwrite, wrap(this, &client::output));
	else
		fdcb(fd, selwrite, NULL);
}

void client::input()
{
	int n = buf.input(fd);

	if (n < 0 && errno != EAGAIN) {
		delete this;
		return;
	}
	if (n > 0)
		total += n;
	else if (n == 0)
		at_eof = true;
	output();
}

void client::output()
{
	if (buf.output(fd) < 0 || (at_eof && !buf.resid()))
		delete this;
	else
		watch();
}

static void accept_client(int lfd)
{
	int fd = accept(lfd, NULL, NULL);

	if (fd >= 0)
		vNew client(fd);
	else if (errno != EAGAIN)
		warn("accept: %m\n");
}

int main(int, char **argv)
{
	sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int lfd;

	setprogname(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	lfd = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK);
	if (lfd < 0 || listen(lfd, 128) < 0 || getsockname(lfd, (sockaddr *)&sin, &len) < 0)
		fatal("cannot listen: %m\n");
	make_async(lfd);
	fdcb(lfd, selread, wrap(accept_client, lfd));
	printf("port %d\n", ntohs(sin.sin_port));
	amain();
}
