/*
 * A caching web proxy in one page, on one core: figure 1 of "Multiprocessor support for event-driven programs". The
 * file proxy_colored.cc is the same program for all cores.
 *
 * usage: proxy HOST PORT		of the server behind it
 *
 * It prints the port that it listens on, and how it got each page.
 */
#include "amisc.h"
#include "async.h"
#include "err.h"
#include "parseopt.h"
#include "qhash.h"
#include "rxx.h"
#include "suio++.h"

struct conn : public virtual refcount {
	const int fd;
	int server;
	suio in, query, page;
	strbuf out;
	str url;

	explicit conn(int f) : fd(f), server(-1) {}
	~conn() { close(fd); }
};

static str host;
static u_int16_t port;
static qhash<str, str> cache;

static void write_cb(ref<conn> c)
{
	if (c->out.tosuio()->output(c->fd) < 0 || !c->out.len())
		fdcb(c->fd, selwrite, NULL);
}

static void reply(ref<conn> c, str page)
{
	c->out << page;
	fdcb(c->fd, selwrite, wrap(write_cb, c));
}

static void store_cb(str url, str page)
{
	cache.insert(url, page);
}

static void fetch_cb(ref<conn> c)
{
	int n = c->page.input(c->server);

	if (n > 0 || (n < 0 && errno == EAGAIN))
		return;
	fdcb(c->server, selread, NULL);
	close(c->server);
	if (n < 0) {
		reply(c, "HTTP/1.0 502 Bad Gateway\r\n\r\n");
		return;
	}

	str page(c->page);
	printf("fetched %s\n", c->url.cstr());
	store_cb(c->url, page);
	reply(c, page);
}

static void query_cb(ref<conn> c)
{
	int n = c->query.output(c->server);

	if (n >= 0 && c->query.resid())
		return;
	fdcb(c->server, selwrite, NULL);
	fdcb(c->server, selread, wrap(fetch_cb, c));
}

static void connect_cb(ref<conn> c, int fd)
{
	if (fd < 0) {
		printf("failed %s: %s\n", c->url.cstr(), strerror(errno));
		reply(c, "HTTP/1.0 502 Bad Gateway\r\n\r\n");
		return;
	}
	c->server = fd;
	suio_uprintf(&c->query, "GET %s HTTP/1.0\r\n\r\n", c->url.cstr());
	fdcb(fd, selwrite, wrap(query_cb, c));
}

static void found_cb(ref<conn> c, str page)
{
	if (page) {
		printf("cached %s\n", c->url.cstr());
		reply(c, page);
	} else {
		tcpconnect(host, port, wrap(connect_cb, c));
	}
}

static void lookup_cb(ref<conn> c, str url)
{
	str *page = cache[url];

	found_cb(c, page ? *page : str());
}

static void req_cb(ref<conn> c)
{
	static rxx get("^GET (\\S+) HTTP/1\\.[01]\r\n(.+\r\n)*\r\n");
	int n = c->in.input(c->fd);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0 && !get.search(str(c->in)))
		return;
	fdcb(c->fd, selread, NULL);
	if (n <= 0)
		return;
	c->url = get[1];
	lookup_cb(c, c->url);
}

static void accept_cb(int lfd)
{
	int fd = accept(lfd, NULL, NULL);

	if (fd < 0)
		return;
	make_async(fd);
	fdcb(fd, selread, wrap(req_cb, New refcounted<conn>(fd)));
}

int main(int argc, char **argv)
{
	sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int lfd;

	setprogname(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3 || !convertint(argv[2], &port))
		fatal << "usage: " << progname << " HOST PORT\n";
	host = argv[1];
	lfd = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK);
	if (lfd < 0 || listen(lfd, 128) < 0 || getsockname(lfd, (sockaddr *)&sin, &len) < 0)
		fatal("cannot listen: %m\n");
	make_async(lfd);
	fdcb(lfd, selread, wrap(accept_cb, lfd));
	printf("port %d\n", ntohs(sin.sin_port));
	amain();
}
