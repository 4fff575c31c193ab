/*
 * Connections, names, child processes, lines and files, from eight colors at once. Only the loopback interface is used.
 */
#include "libasync_tenants.h"

#include "aiod.h"
#include "aios.h"
#include "amisc.h"
#include "dns.h"
#include "err.h"
#include "litetime.h"
#include "rwfd.h"

static void not_called(str, int)
{
	CHECK(!"called after its removal");
}

/* ---------------------------------------------------------------- connections */

static u_int16_t server_port, dead_port;

/* A server in color 0: it greets and closes. */
static void greet(int lfd)
{
	int fd;

	while ((fd = accept(lfd, NULL, NULL)) >= 0) {
		v_write(fd, "hello\r\nbye", 10);
		close(fd);
	}
	CHECK(errno == EAGAIN || errno == ECONNABORTED);
}

static int bound_socket(u_int16_t *port)
{
	sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int fd = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK);

	CHECK(fd >= 0 && getsockname(fd, (sockaddr *)&sin, &len) == 0);
	*port = ntohs(sin.sin_port);
	return fd;
}

static void last_line(tenant *t, aios_t, str s, int err)
{
	tenant::entered in(t);

	CHECK(s == "bye" && err == 0);
	t->next();
}

static void first_line(tenant *t, aios_t a, str s, int err)
{
	CHECK(s == "hello" && err == 0);
	a->readline(cwrap(last_line, t, a, t->own));
}

static void connected(tenant *t, int fd)
{
	CHECK(libasync::is_own_color(t->own.value()));
	CHECK(fd >= 0);

	aios_t a = aios::alloc(fd);
	a->settimeout(60);
	a->readline(cwrap(first_line, t, a, t->own));
}

static void connections(tenant *t)
{
	tcpconnect("127.0.0.1", server_port, cwrap(connected, t, t->own));
}

static void refused(tenant *t, int fd)
{
	tenant::entered in(t);

	CHECK(fd == -1 && errno == ECONNREFUSED);
	t->next();
}

static void refusals(tenant *t)
{
	in_addr loopback;

	loopback.s_addr = htonl(INADDR_LOOPBACK);
	tcpconnect_cancel(tcpconnect(loopback, server_port, cwrap(refused, t, t->own)));
	tcpconnect(loopback, dead_port, cwrap(refused, t, t->own));
}

static void resolved(tenant *t, ptr<hostent> h, int err)
{
	tenant::entered in(t);

	CHECK(err == 0 && h && h->h_length == 4);
	t->next();
}

static void names(tenant *t)
{
	dns_hostbyname("127.0.0.1", cwrap(resolved, t, t->own));
}

/* ---------------------------------------------------------------- lines, both ways */

static void heard(tenant *t, aios_t a, unsigned left, str s, int err)
{
	CHECK(err == 0 && s == str(strbuf("line %u", left)));
	if (left > 0)
		a->readline(cwrap(heard, t, a, left - 1, t->own));
	else
		t->next();
}

static void lines(tenant *t)
{
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);

	aios_t to = aios::alloc(fds[0]), from = aios::alloc(fds[1]);
	for (unsigned i = 20; i > 0; i--)
		to << "line " << i << "\n";
	to << "line 0\n";
	from->readline(cwrap(not_called, t->own));	/* with wrap, it would belong to color 0 from then on */
	from->readcancel();
	from->readline(cwrap(heard, t, from, 20, t->own));
}

/* ---------------------------------------------------------------- children */

struct child {
	tenant *const t;
	str output;
	int left;

	explicit child(tenant *tt) : t(tt), left(2) {}

	void wrote(str s)
	{
		output = s;
		end();
	}

	void ended(int status)
	{
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == int(t->number));
		end();
	}

	void end()
	{
		tenant::entered in(t);

		if (--left > 0)
			return;
		CHECK(output == str(strbuf("%u\n", t->number)));
		t->next();
		delete this;
	}
};

static void children(tenant *t)
{
	child *c = New child(t);
	str command = strbuf("echo %u; exit %u", t->number, t->number);
	const char *av[] = { "sh", "-c", command.cstr(), NULL };
	int fds[2];
	pid_t pid;

	CHECK(pipe2(fds, O_CLOEXEC) == 0);
	pid = spawn("/bin/sh", av, -1, fds[1]);
	CHECK(pid > 0);
	close(fds[1]);
	pipe2str(fds[0], cwrap(c, &child::wrote, t->own));
	chldcb(pid, cwrap(c, &child::ended, t->own));
}

/* ---------------------------------------------------------------- files */

static ptr<aiod> disk;
static str folder;

struct file {
	tenant *const t;
	const str path;
	ptr<aiofh> fh;
	int left;

	explicit file(tenant *tt) : t(tt), path(strbuf() << folder << "/" << tt->number), left(5) {}

	void open() { disk->open(path, O_RDWR | O_CREAT, 0600, cwrap(this, &file::opened, t->own)); }

	void opened(ptr<aiofh> f, int err)
	{
		CHECK(err == 0);
		fh = f;
		write();
	}

	void write()
	{
		ptr<aiobuf> buf = disk->bufalloc(512);

		if (!buf) {
			disk->bufwait(cwrap(this, &file::write, t->own));
			return;
		}
		memset(buf->base(), 'a' + int(t->number), buf->size());
		fh->write(512 * left, buf, cwrap(this, &file::written, t->own));
	}

	void written(ptr<aiobuf> buf, ssize_t n, int err)
	{
		CHECK(n == 512 && err == 0);
		memset(buf->base(), 0, buf->size());
		fh->read(512 * left, buf, cwrap(this, &file::got, t->own));
	}

	void got(ptr<aiobuf> buf, ssize_t n, int err)
	{
		CHECK(n == 512 && err == 0 && buf->base()[511] == 'a' + int(t->number));
		if (--left > 0)
			write();
		else
			disk->stat(path, cwrap(this, &file::found, t->own));
	}

	void found(struct stat *st, int err)
	{
		CHECK(err == 0 && st->st_size == 512 * 6);
		fh = NULL;
		disk->unlink(path, cwrap(this, &file::gone, t->own));
	}

	void gone(int err)
	{
		tenant::entered in(t);

		CHECK(err == 0);
		t->next();
		delete this;
	}
};

static void disks(tenant *t)
{
	(New file(t))->open();
}

/* ---------------------------------------------------------------- small things */

static void small_things(tenant *t)
{
	tenant::entered in(t);
	str path = strbuf() << folder << "/lock" << t->number;
	vec<in_addr> addresses;
	int fds[2], passed;
	char c;

	{
		lockfile lock(path);

		CHECK(lock.acquire() && lock.ok());
	}
	CHECK(myipaddrs(&addresses));
	(void)myname();
	CHECK(sfs_get_timenow() <= time(NULL) + 1 && timenow > 1000000);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	CHECK(writefd(fds[0], "x", 1, fds[0]) == 1);
	CHECK(readfd(fds[1], &c, 1, &passed) == 1 && passed >= 0);
	close(passed);
	close(fds[0]);
	close(fds[1]);
	warn << "tenant " << t->number << ": " << path << "\n";
	t->next();
}

/* This machine has no identd, or one that knows no such user: it tells of the address all the same. */
struct question {
	tenant *const t;
	int client, peer;

	explicit question(tenant *tt) : t(tt)
	{
		sockaddr_in sin = {};
		socklen_t len = sizeof(sin);
		int lfd = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK);

		client = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(lfd >= 0 && listen(lfd, 5) == 0 && getsockname(lfd, (sockaddr *)&sin, &len) == 0);
		CHECK(connect(client, (sockaddr *)&sin, len) == 0);
		make_sync(lfd);
		peer = accept(lfd, NULL, NULL);
		CHECK(peer >= 0);
		close(lfd);
		ident(peer, cwrap(this, &question::answered, t->own));
	}
	void answered(str who, int)
	{
		tenant::entered in(t);

		CHECK(who && substr(who, who.len() - 9) == "127.0.0.1");
		close(client);
		close(peer);
		t->next();
		delete this;
	}
};

static void questions(tenant *t)
{
	vNew question(t);
}

/* The interfaces do not change: the callbacks are registered and removed. */
static void interfaces(tenant *t)
{
	tenant::entered in(t);
	ifchgcb_t *one = ifchgcb(cwrap(cbv_null, t->own)), *two = ifchgcb(wrap(cbv_null));

	ifchgcb_remove(two);
	ifchgcb_remove(one);
	t->next();
}

static const job_fn jobs[] = { connections, refusals, names, questions,   interfaces,
			       lines,	    children, disks, small_things };

int main(int, char **argv)
{
	char path[] = "/tmp/libasync_services.XXXXXX";
	int lfd;

	setprogname(argv[0]);
	folder = mkdtemp(path);
	CHECK(folder);
	atexit([] { rmdir(folder); });

	errfd = open("/dev/null", O_WRONLY);
	CHECK(errfd >= 0);
	lfd = bound_socket(&server_port);
	CHECK(listen(lfd, 128) == 0);
	fdcb(lfd, selread, wrap(greet, lfd));
	bound_socket(&dead_port);
	disk = New refcounted<aiod>(2, 0x4000, 0x1000);
	tenants_run(jobs, 50, argv[1]);
}
