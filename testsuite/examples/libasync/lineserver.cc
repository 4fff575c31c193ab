/*
 * A server of lines on aios: it remembers words for its clients.
 *
 * usage: lineserver
 *
 * A client sends "set NAME WORD", "get NAME", "list" and "quit", and gets a line (of list, several) for each. A client
 * that is silent for a minute is gone.
 */
#include "aios.h"
#include "amisc.h"
#include "async.h"
#include "err.h"
#include "qhash.h"
#include "rxx.h"

static qhash<str, str> words;

class client
{
	aios_t a;

	void line(str s, int err);
	void answer(const vec<str> &v);

public:
	explicit client(int fd) : a(aios::alloc(fd, 256))
	{
		a->settimeout(60);
		a << "hello\n";
		a->readline(wrap(this, &client::line));
	}
};

void client::answer(const vec<str> &v)
{
	if (v.size() == 3 && v[0] == "set") {
		words.insert(v[1], v[2]);
		a << "ok\n";
	} else if (v.size() == 2 && v[0] == "get") {
		str *word = words[v[1]];
		a << (word ? *word : str("?")) << "\n";
	} else if (v.size() == 1 && v[0] == "list") {
		a << words.size() << " words\n";
	} else {
		a << "what is \"" << join(" ", v) << "\"?\n";
	}
}

void client::line(str s, int err)
{
	static rxx blanks("\\s+");
	vec<str> v;

	if (err)
		warn << "client: " << strerror(err) << "\n";
	if (!s) {
		delete this;
		return;
	}

	split(&v, blanks, s);
	if (v.size() == 1 && v[0] == "quit") {
		a << "bye\n";
		delete this;
		return;
	}
	answer(v);
	a->readline(wrap(this, &client::line));
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
