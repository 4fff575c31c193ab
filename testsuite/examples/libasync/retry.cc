/*
 * A client that does not give up: it tries to connect, waits longer after each failure, says hello and prints the
 * answer.
 *
 * usage: retry HOST PORT [TRIES]
 */
#include "async.h"
#include "parseopt.h"

class greeter
{
	const str host;
	const u_int16_t port;
	u_int tries_left;
	u_int wait_ms;
	int fd;
	strbuf out;
	suio in;

	void connected(int f);
	void output();
	void input();

public:
	greeter(str h, u_int16_t p, u_int tries) : host(h), port(p), tries_left(tries), wait_ms(1), fd(-1) {}
	void attempt() { tcpconnect(host, port, wrap(this, &greeter::connected)); }
};

void greeter::connected(int f)
{
	if (f < 0) {
		printf("%s\n", strerror(errno));
		if (!--tries_left) {
			printf("giving up\n");
			exit(1);
		}
		delaycb(0, wait_ms * 1000000, wrap(this, &greeter::attempt));
		wait_ms = wait_ms < 250 ? 2 * wait_ms : 500;
		return;
	}
	fd = f;
	out << "hello, port " << port << "\n";
	fdcb(fd, selwrite, wrap(this, &greeter::output));
}

void greeter::output()
{
	if (out.tosuio()->output(fd) < 0)
		fatal("write: %m\n");
	if (out.len())
		return;
	fdcb(fd, selwrite, NULL);
	fdcb(fd, selread, wrap(this, &greeter::input));
}

void greeter::input()
{
	str answer;

	if (in.input(fd) < 0 && errno != EAGAIN)
		fatal("read: %m\n");
	answer = suio_getline(&in);
	if (!answer)
		return;
	printf("answer: %s\n", answer.cstr());
	exit(0);
}

int main(int argc, char **argv)
{
	u_int16_t port;
	u_int tries = 1000000;

	setprogname(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3 || !convertint(argv[2], &port) || (argc > 3 && !convertint(argv[3], &tries)))
		fatal << "usage: " << progname << " HOST PORT [TRIES]\n";

	greeter g(argv[1], port, tries);
	g.attempt();
	amain();
}
