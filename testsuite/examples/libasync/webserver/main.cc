/*
 * A web server: files of a folder, from memory.
 *
 * usage: webserver [-p PORT] [-a ADDRESS] [-c MB] [-m KB] [-f SECS] [-t SECS] [-l LOG] FOLDER
 *
 *   -p    the port; 0, which is also the default: any
 *   -a    the address; 127.0.0.1 if not given
 *   -c    what the cache of pages may have (100 MB)
 *   -m    the largest file in it (1024 KB)
 *   -f    for how long a page is taken for unchanged (2 seconds; 0: it is compared with its file each time)
 *   -t    for how long a client may be silent (60 seconds; 0: for ever)
 *   -l    a file that gets a line for each answer
 *
 * It prints the port that it listens on. SIGHUP: forget all pages, and print "cleared". SIGTERM: accept no more
 * connections, end when the last one has ended, and print what was done.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>

#include "conn.h"
#include "err.h"
#include "parseopt.h"

enum { ACCEPTS_AT_ONCE = 64, BACKLOG = 4096, PAUSE_SECS = 1, FILES_MAX = 20 };

/* of color 0 */
static int listener;
static u_int64_t conns_num, conns_open, conns_max;
static bool is_full;	/* not accepting until a connection ends */
static sums total;
static unsigned parts_left;

static void accept_cb();

static void resume_cb()
{
	if (listener >= 0 && !is_full)
		fdcb(listener, selread, wrap(accept_cb));
}

static void end_cb()
{
	printf("served %ju requests of %ju connections, %ju bytes\n", uintmax_t(total.answers), uintmax_t(conns_num),
	       uintmax_t(total.bytes));
	exit(0);
}

static void closed_cb(sums done)
{
	total.answers += done.answers;
	total.bytes += done.bytes;
	conns_open--;
	if (is_full) {
		is_full = false;
		resume_cb();
	}
	if (listener < 0 && conns_open == 0)
		end_log(wrap(end_cb));
}

void conn_closed(const sums &done)
{
	closed_cb(done);
}

static void open_conn(int fd, const sockaddr_in &sin)
{
	char text[INET_ADDRSTRLEN];
	str peer;

	if (has_log())
		peer = inet_ntop(AF_INET, &sin.sin_addr, text, sizeof(text));
	conns_num++;
	conns_open++;
	tcp_nodelay(fd);
	(New conn(fd, peer))->start();
}

static void accept_cb()
{
	for (int i = 0; i < ACCEPTS_AT_ONCE && conns_open < conns_max; i++) {
		sockaddr_in sin = {};
		socklen_t len = sizeof(sin);
		sockaddr *const sa = reinterpret_cast<sockaddr *>(&sin);
		const int fd = accept4(listener, sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			open_conn(fd, sin);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* Until clients have gone, their descriptors are missing. */
			warn("accept: %m\n");
			fdcb(listener, selread, NULL);
			delaycb(PAUSE_SECS, wrap(resume_cb));
		}
		break;
	}
	if (conns_open >= conns_max) {
		is_full = true;
		fdcb(listener, selread, NULL);
	}
}

static void cleared_cb()
{
	if (--parts_left == 0)
		printf("cleared\n");
}

static void hangup_cb()
{
	if (parts_left)
		return;
	parts_left = PARTS;
	clear_cache(wrap(cleared_cb));
}

static void term_cb()
{
	if (listener < 0)
		return;
	fdcb(listener, selread, NULL);
	close(listener);
	listener = -1;
	if (conns_open == 0)
		end_log(wrap(end_cb));
}

/* ---------------------------------------------------------------- options */

static void usage()
{
	fatal << "usage: " << progname
	      << " [-p PORT] [-a ADDRESS] [-c MB] [-m KB] [-f SECS] [-t SECS] [-l LOG] FOLDER\n";
}

struct options {
	u_int16_t port;
	u_int32_t address;
	size_t cache_mb, page_kb;
	u_int32_t fresh_secs, idle_secs;
	str log;

	options() : port(0), address(INADDR_LOOPBACK), cache_mb(100), page_kb(1024), fresh_secs(2), idle_secs(60) {}
	bool set(int option);
};

bool options::set(int option)
{
	in_addr a;

	switch (option) {
	case 'p': return convertint(optarg, &port);
	case 'a':
		if (inet_aton(optarg, &a) == 0)
			return false;
		address = ntohl(a.s_addr);
		return true;
	case 'c': return convertint(optarg, &cache_mb);
	case 'm': return convertint(optarg, &page_kb);
	case 'f': return convertint(optarg, &fresh_secs);
	case 't': return convertint(optarg, &idle_secs);
	case 'l': log = optarg; return true;
	default: return false;
	}
}

static void listen_at(const options &opts)
{
	sockaddr_in sin;
	socklen_t len = sizeof(sin);

	listener = inetsocket(SOCK_STREAM, opts.port, opts.address);
	if (listener < 0 || listen(listener, BACKLOG) < 0 ||
	    getsockname(listener, reinterpret_cast<sockaddr *>(&sin), &len) < 0)
		fatal("cannot listen: %m\n");
	make_async(listener);
	close_on_exec(listener);
	fdcb(listener, selread, wrap(accept_cb));
	printf("port %d\n", ntohs(sin.sin_port));
}

/* As many connections as the system lets one process have, with some descriptors left for files. */
static void set_limit()
{
	rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		fatal("getrlimit: %m\n");
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur <= FILES_MAX)
		fatal << "too few descriptors\n";
	conns_max = rl.rlim_cur - FILES_MAX;
}

int main(int argc, char **argv)
{
	options opts;
	int option;

	setprogname(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt(argc, argv, "p:a:c:m:f:t:l:")) != -1)
		if (!opts.set(option))
			usage();
	if (optind + 1 != argc)
		usage();
	if (opts.log && !open_log(opts.log))
		fatal << opts.log << ": " << strerror(errno) << "\n";
	set_limit();
	conn::idle_secs = opts.idle_secs;
	the_site.root = argv[optind];
	the_site.cache_max = opts.cache_mb << 20;
	the_site.page_max = min(opts.page_kb << 10, the_site.cache_max / PARTS / 2);
	the_site.fresh_secs = opts.fresh_secs;
	the_site.disk = New refcounted<aiod>(2, 0x400000);
	sigcb(SIGHUP, wrap(hangup_cb));
	sigcb(SIGTERM, wrap(term_cb));
	listen_at(opts);
	amain();
}
