/*
 * A client of the file server: it reads a file over some connections at the same time.
 *
 * usage: fileload [-n CONNECTIONS] [-b BYTES] [-w REQUESTS] [-r TIMES] [-k] [-o FILE] PORT KEYFILE NAME
 *
 *   -n    connections (1); each reads the whole file
 *   -b    bytes of a request (65536, which is also the most)
 *   -w    requests that each connection has under way (4)
 *   -r    how often each connection reads the file (1)
 *   -k    only count what comes, and neither authenticate nor decrypt it: all but the first answer of a connection
 *   -o    what the first connection reads
 *
 * It prints how many bytes were read, or what was wrong with the first connection that failed.
 */
#include <errno.h>
#include <fcntl.h>

#include "async.h"
#include "channel.h"
#include "err.h"
#include "message.h"
#include "parseopt.h"

/* const while the loop runs */
static u_int32_t conns_num = 1, block = READ_MAX, window = 4, times = 1;
static bool only_counts;
static int out_fd = -1;
static str key, name;

static u_int64_t bytes_num;
static u_int32_t running;

class reader
{
	const int number;
	int fd;
	suio in, out;
	const str greeting;
	seal *from_server, *to_server;
	u_int32_t handle, sent, waiting, left;	/* requests; times that are left */
	off_t size, next;
	bool is_open, is_writing;

	void connect_cb(int f);
	void read_cb();
	void write_cb();

	void fail(const str &why);
	void put(const str &message);
	void ask();
	void send();
	bool take_greeting();
	bool take_answer();
	void opened(const str &text);
	void got(size_t len, const str &text);

public:
	reader(int n, u_int16_t port);
};

reader::reader(int n, u_int16_t port)
    : number(n), fd(-1), greeting(make_greeting()), from_server(NULL), to_server(NULL), handle(0), sent(0), waiting(0),
      left(times), size(0), next(0), is_open(false), is_writing(false)
{
	in_addr a;

	a.s_addr = htonl(INADDR_LOOPBACK);
	tcpconnect(a, port, wrap(this, &reader::connect_cb));
}

void reader::fail(const str &why)
{
	fatal << "connection " << number << ": " << why << "\n";
}

void reader::connect_cb(int f)
{
	if (f < 0)
		fail(strerror(errno));
	fd = f;
	tcp_nodelay(fd);
	out.copy(greeting.cstr(), greeting.len());
	fdcb(fd, selread, wrap(this, &reader::read_cb));
	send();
}

/* ---------------------------------------------------------------- requests */

void reader::send()
{
	if (out.resid() && out.output(fd) < 0)
		fail(strerror(errno));
	if ((out.resid() > 0) == is_writing)
		return;
	is_writing = out.resid() > 0;
	fdcb(fd, selwrite, is_writing ? cbv::ptr(wrap(this, &reader::write_cb)) : cbv::ptr(NULL));
}

void reader::write_cb()
{
	send();
}

void reader::put(const str &message)
{
	const str frame = to_server->close(message);

	out.copy(frame.cstr(), frame.len());
}

/* So many requests as may be under way. */
void reader::ask()
{
	while (is_open && waiting < window && left > 0) {
		put(packer().add(sent++, 4).add(READ, 1).add(handle, 4).add(u_int64_t(next), 8).add(block, 4));
		waiting++;
		next += block;
		if (next >= size) {
			next = 0;
			left--;
		}
	}
}

/* ---------------------------------------------------------------- answers */

bool reader::take_greeting()
{
	char text[GREETING_LEN];

	if (in.copyout(text, GREETING_LEN) < GREETING_LEN)
		return false;
	in.rembytes(GREETING_LEN);

	const str theirs(text, GREETING_LEN);

	if (!is_greeting(theirs))
		fail("no greeting");
	to_server = New seal(key, "from client", greeting, theirs);
	from_server = New seal(key, "to client", greeting, theirs);
	put(strbuf() << str(packer().add(0, 4).add(OPEN, 1)) << name);
	return true;
}

void reader::opened(const str &text)
{
	unpacker u(text);

	(void)u.take(4);
	if (const u_int64_t err = u.take(4))
		fail(strerror(int(err)));
	handle = u_int32_t(u.take(4));
	size = off_t(u.take(8));
	(void)u.take(8);
	if (!u.is_whole())
		fail("a strange answer");
	is_open = true;
	ask();
}

/* Answers come in order, as long as the server does not need the disk: so the number is what says where it belongs. */
void reader::got(size_t len, const str &text)
{
	waiting--;
	if (len < ANSWER_LEN || len > ANSWER_LEN + block)
		fail("a strange answer");
	bytes_num += len - ANSWER_LEN;
	if (text) {
		unpacker u(text);
		const u_int64_t id = u.take(4);
		const u_int64_t err = u.take(4);
		const u_int64_t per_time = u_int64_t((size + block - 1) / block);

		if (err)
			fail(strerror(int(err)));
		if (out_fd >= 0 && number == 0 && per_time > 0 &&
		    pwrite(out_fd, text.cstr() + ANSWER_LEN, len - ANSWER_LEN, off_t(id % per_time * block)) < 0)
			fail(strerror(errno));
	}
	ask();
}

/* False: there is none that is complete. */
bool reader::take_answer()
{
	const bool skips = only_counts && is_open;
	size_t len = 0;
	str text;
	const seal::result r = skips ? from_server->skip(&in, &len) : from_server->open(&in, &text);

	if (r == seal::REFUSED)
		fail("refused frame");
	if (r == seal::INCOMPLETE)
		return false;
	if (is_open)
		got(skips ? len : text.len(), text);
	else
		opened(text);
	return true;
}

void reader::read_cb()
{
	const int n = in.input(fd, 0x40000);

	if (n < 0 && errno != EAGAIN)
		fail(strerror(errno));
	if (n == 0)
		fail("the server ended the connection");
	if (from_server || take_greeting())
		while (take_answer())
			;
	send();
	if (is_open && waiting == 0 && left == 0) {
		fdcb(fd, selread, NULL);
		fdcb(fd, selwrite, NULL);
		close(fd);
		if (--running == 0) {
			printf("%ju bytes\n", uintmax_t(bytes_num));
			exit(0);
		}
	}
}

/* ---------------------------------------------------------------- options */

static void usage()
{
	fatal << "usage: " << progname
	      << " [-n CONNECTIONS] [-b BYTES] [-w REQUESTS] [-r TIMES] [-k] [-o FILE] PORT KEYFILE NAME\n";
}

static bool set_option(int option)
{
	switch (option) {
	case 'n': return convertint(optarg, &conns_num) && conns_num > 0;
	case 'b': return convertint(optarg, &block) && block > 0 && block <= READ_MAX;
	case 'w': return convertint(optarg, &window) && window > 0;
	case 'r': return convertint(optarg, &times) && times > 0;
	case 'k': only_counts = true; return true;
	case 'o':
		out_fd = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (out_fd < 0)
			fatal << optarg << ": " << strerror(errno) << "\n";
		return true;
	default: return false;
	}
}

int main(int argc, char **argv)
{
	u_int16_t port;
	int option;

	setprogname(argv[0]);
	while ((option = getopt(argc, argv, "n:b:w:r:ko:")) != -1)
		if (!set_option(option))
			usage();
	if (optind + 3 != argc || !convertint(argv[optind], &port))
		usage();
	key = read_key(argv[optind + 1]);
	if (!key)
		fatal << argv[optind + 1] << ": no key of 32 bytes: " << strerror(errno) << "\n";
	name = argv[optind + 2];
	running = conns_num;
	for (u_int32_t i = 0; i < conns_num; i++)
		vNew reader(int(i), port);
	amain();
}
