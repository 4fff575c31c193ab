/*
 * A file server that encrypts and authenticates all that it sends and receives.
 *
 * usage: fileserver [-p PORT] [-s] KEYFILE FOLDER
 *
 *   -p    the port; 0, which is also the default: any
 *   -s    read files by threads only
 *
 * It listens on 127.0.0.1 and prints the port, and why a client was refused. SIGTERM: print what was done, and end.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "err.h"
#include "parseopt.h"
#include "peer.h"

enum { BACKLOG = 1024, PAUSE_SECS = 1 };

/* of color 0 */
static int listener;
static u_int64_t peers_num;

static void accept_cb();

static void ended_cb(const char *why)
{
	if (why)
		printf("client: %s\n", why);
}

void peer_ended(const char *why)
{
	ended_cb(why);
}

static void resume_cb()
{
	fdcb(listener, selread, wrap(accept_cb));
}

static void accept_cb()
{
	const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		ref<peer> p = New refcounted<peer>(fd);

		peers_num++;
		tcp_nodelay(fd);
		p->start();
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		/* Until clients have gone, their descriptors are missing. */
		warn("accept: %m\n");
		fdcb(listener, selread, NULL);
		delaycb(PAUSE_SECS, wrap(resume_cb));
	}
}

static void term_cb()
{
	printf("served %ju requests of %ju clients, %ju bytes\n", uintmax_t(the_sums.requests), uintmax_t(peers_num),
	       uintmax_t(the_sums.bytes));
	exit(0);
}

static void usage()
{
	fatal << "usage: " << progname << " [-p PORT] [-s] KEYFILE FOLDER\n";
}

int main(int argc, char **argv)
{
	u_int16_t port = 0;
	sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int option;

	setprogname(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt(argc, argv, "p:s")) != -1) {
		if (option == 's')
			read_slowly();
		else if (option != 'p' || !convertint(optarg, &port))
			usage();
	}
	if (optind + 2 != argc)
		usage();
	peer::key = read_key(argv[optind]);
	if (!peer::key)
		fatal << argv[optind] << ": no key of 32 bytes: " << strerror(errno) << "\n";
	serve_folder(argv[optind + 1]);
	listener = inetsocket(SOCK_STREAM, port, INADDR_LOOPBACK);
	if (listener < 0 || listen(listener, BACKLOG) < 0 ||
	    getsockname(listener, reinterpret_cast<sockaddr *>(&sin), &len) < 0)
		fatal("cannot listen: %m\n");
	make_async(listener);
	close_on_exec(listener);
	sigcb(SIGTERM, wrap(term_cb));
	fdcb(listener, selread, wrap(accept_cb));
	printf("port %d\n", ntohs(sin.sin_port));
	amain();
}
