/*
 * What a child, or anybody else, writes until the end.
 */
#include "amisc.h"
#include "async.h"
#include "rwfd.h"

namespace
{

/* Lives from pipe2str to the end of the stream. All but its making is in the color of `cb`. */
class collector
{
	enum { ROOM = 8192 };

	int fd;
	cbs cb;
	int *fdp;
	strbuf sb;

	void ready();
	void finish(bool is_whole);
	ssize_t receive(char *buf);

public:
	collector(int f, cbs c, int *p) : fd(f), cb(c), fdp(p) {}
	void start(strbuf *before);
};

void collector::start(strbuf *before)
{
	if (before != nullptr)
		sb << str(*before);
	if (fdp != nullptr)
		*fdp = -1;
	make_async(fd);
	close_on_exec(fd);
	/* Last: in another color, all may be over before this returns. */
	fdcb(fd, selread, cwrap(this, &collector::ready, cb->get_color()));
}

ssize_t collector::receive(char *buf)
{
	int got = -1;
	ssize_t n;

	n = fdp != nullptr ? readfd(fd, buf, ROOM, &got) : -1;
	if (fdp == nullptr || (n < 0 && errno == ENOTSOCK))
		return read(fd, buf, ROOM);
	if (got >= 0) {
		if (*fdp >= 0)
			close(*fdp);
		*fdp = got;
	}
	return n;
}

void collector::ready()
{
	char buf[ROOM];
	ssize_t n = receive(buf);

	if (n > 0)
		sb << str(buf, static_cast<size_t>(n));
	else if (n == 0)
		finish(true);
	else if (errno != EAGAIN && errno != EINTR)
		finish(false);
}

void collector::finish(bool is_whole)
{
	int err = is_whole ? 0 : errno;
	str all = is_whole ? str(sb) : str(NULL);
	cbs done = cb;

	fdcb(fd, selread, NULL);
	close(fd);
	delete this;
	errno = err;
	(*done)(all);
}

} // namespace

void pipe2str(int fd, cbs cb, int *fdp, strbuf *sb)
{
	(New collector(fd, cb, fdp))->start(sb);
}

void chldrun(cbi child, cbs out)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		int err = errno;

		libasync::post(cwrap([out, err]() { errno = err; (*out)(NULL); }, out->get_color()));
		return;
	}
	pid = afork();
	if (pid == 0) {
		close(fds[0]);
		(*child)(fds[1]);
		_exit(0);
	}
	if (pid < 0) {
		int err = errno;

		close(fds[0]);
		close(fds[1]);
		libasync::post(cwrap([out, err]() { errno = err; (*out)(NULL); }, out->get_color()));
		return;
	}
	close(fds[1]);
	/* The program does not know it. So its status is read here, and not kept for a later chldcb. */
	chldcb(pid, cbi_null);
	pipe2str(fds[0], out);
}
