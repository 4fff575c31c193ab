/*
 * aios: buffered lines over a descriptor.
 *
 * The loop's callbacks hold a plain pointer, and the destructor removes them. They run in the home color, and so do all
 * changes and the end. The last reference may go in another color: that color only posts. Nobody makes a reference of
 * the plain pointer, whose count may be 0 by then. A call that calls the program back is a `stay` instead, and the
 * object ends after the outermost one. If output is left, it lives on until all is sent or the peer is gone.
 *
 * A read with a callback of another color moves it there:
 *   1. the old color removes the loop's callbacks, and tells its calls in progress not to touch the object any more;
 *   2. it sets the new home, and posts settle() to it, which is its last step;
 *   3. settle() answers, or waits for the descriptor.
 */
#include "aios.h"
#include "err.h"

#include "log/die.h"
#include "net/options.h"
#include "net/running.h"
#include "rwfd.h"

#include <vector>

/* So many answers of one aios may begin within each other: how many lines are there is the peer's choice. */
enum { NESTED_MAX = 32 };

/* A call in progress. What it called may have moved the object to another color. */
class aios::stay {
	aios *a; /* NULL: it has moved */
	stay *const outer;

public:
	const unsigned depth;

	explicit stay(aios *of) : a(of), outer(of->inner), depth(outer != nullptr ? outer->depth + 1 : 1)
	{
		a->inner = this;
	}
	stay(const stay &) = delete;
	~stay()
	{
		if (a == nullptr)
			return;
		a->inner = outer;
		if (a->is_unused && outer == nullptr)
			a->end();
	}
	bool is_here() const { return a != nullptr; }
	/* Of this call and all outer ones. */
	static void end_all(stay *s)
	{
		for (; s != nullptr; s = s->outer)
			s->a = nullptr;
	}
};

aios::aios(int f, size_t rbsz)
	: fd(f), inb(rbsz), eof(false), weof(false), is_closed(false), err(0), mode(READ_NONE), has_home(false),
	  is_reading(false), is_writing(false), is_unused(false), inner(nullptr), written(0),
	  timeoutval(0), timer(nullptr)
{
	make_async(fd);
}

ref<aios> aios::alloc(int fd, size_t rbsz)
{
	return New refcounted<aios>(fd, rbsz);
}

aios::~aios()
{
	disarm();
	for (const passed_fd &p : fds)
		close(p.fd);
	if (!is_closed)
		close(fd);
}

/* Does it belong to another color than the caller's? */
bool aios::is_foreign() const
{
	bool is_alone = !libasync::are_colors_used() && !libasync::are_counts_shared();

	return has_home && !is_alone && !libasync::is_own_color(home.value());
}

void aios::finalize()
{
	if (is_foreign())
		libasync::post(cwrap(this, &aios::end, home));
	else
		end();
}

/* In the home color: the last reference is gone. What is written is still sent. */
void aios::end()
{
	is_unused = true;
	if (inner != nullptr)
		return;
	rcb = NULL;
	mode = READ_NONE;
	if (err != 0 || is_closed || outb.resid() == 0) {
		delete this;
		return;
	}
	if (is_reading)
		fdcb(fd, selread, NULL);
	is_reading = false;
	expect_output();
}

/* Where the descriptor's callbacks run. */
color aios::own_color()
{
	if (!has_home)
		home = libasync::running_color();
	has_home = true;
	return home;
}

/* ---------------------------------------------------------------- input */

static bool is_running(color c)
{
	return (c.value() == 0 && !libasync::are_colors_used()) || libasync::is_own_color(c.value());
}

void aios::expect(read_mode m, rcb_t cb)
{
	if (cb == NULL) {
		readcancel();
		return;
	}
	const color next = cb->get_color();
	const bool is_here = is_running(next);

	if (!is_here && has_home && home == next) {
		/* It is there already, and nothing of it is the caller's. */
		libasync::post(cwrap(mkref(this), &aios::expect, m, cb, next));
		return;
	}
	if (rcb != NULL)
		libasync::die("aios: two reads at the same time");
	mode = m;
	rcb = std::move(cb);
	if (home != next)
		leave();
	home = next;
	has_home = true;
	if (is_here && (inner == nullptr || inner->depth < NESTED_MAX))
		settle();
	else
		libasync::post(cwrap(mkref(this), &aios::settle, next));
}

/* In the home color, with a read that may have been cancelled. */
void aios::settle()
{
	str s;
	int e = 0;

	if (outb.resid() != 0)
		expect_output();
	if (rcb == NULL)
		return;
	if (find_result(&s, &e))
		answer(s, e);
	else
		arm();
}

/* Nothing of the loop and of calls in progress is left in this color. */
void aios::leave()
{
	disarm();
	stay::end_all(inner);
	inner = nullptr;
}

/* A whole line of the buffer, or at the end of the stream what is left of it. */
bool aios::find_line(str *ret)
{
	int end = inb.find('\n');
	size_t len = end >= 0 ? static_cast<size_t>(end) : inb.bytes(), kept = len;

	if (end < 0 && (!eof || len == 0 || libasync::option_is_set('l')))
		return false;
	if (end > 0 && inb[end - 1] == '\r')
		kept--;
	mstr line(kept);
	inb.copyout(line.cstr(), kept);
	inb.rembytes(end >= 0 ? len + 1 : len);
	*ret = line;
	return true;
}

bool aios::find_bytes(str *ret)
{
	if (inb.bytes() == 0)
		return false;
	mstr all(inb.bytes());
	inb.copyout(all.cstr(), inb.bytes());
	inb.clear();
	*ret = all;
	return true;
}

/* Is there an answer for the read that waits? */
bool aios::find_result(str *ret, int *ret_err)
{
	*ret_err = 0;
	if (err == 0 && (mode == READ_LINE ? find_line(ret) : find_bytes(ret)))
		return true;
	*ret = NULL;
	*ret_err = err;
	if (err != 0 || eof)
		return true;
	if (inb.space() != 0)
		return false;
	*ret_err = EFBIG;
	return true;
}

void aios::answer(const str &s, int e)
{
	stay here(this);
	rcb_t cb = std::move(rcb);

	rcb = NULL;
	mode = READ_NONE;
	if (s != NULL)
		show("<<<", s);
	errno = e;
	cb->trigger(s, e);
	if (!here.is_here())
		return;
	if (rcb == NULL && is_reading && !is_closed) {
		fdcb(fd, selread, NULL);
		is_reading = false;
	}
	if (!is_closed)
		arm_timer();
}

void aios::readcancel()
{
	stay here(this);

	rcb = NULL;
	mode = READ_NONE;
	if (is_reading) {
		fdcb(fd, selread, NULL);
		is_reading = false;
	}
	arm_timer();
}

void aios::input()
{
	ssize_t n;
	str s;
	int e;

	if (inb.space() == 0)
		return;	/* settle() is posted, and makes room */
	n = readv(fd, inb.iniov(), inb.iniovcnt());
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			fail(errno);
		return;
	}
	if (n == 0)
		eof = true;
	else
		inb.addbytes(static_cast<size_t>(n));
	arm_timer();
	if (rcb != NULL && find_result(&s, &e))
		answer(s, e);
}

/* ---------------------------------------------------------------- output */

void aios::write(void *buf, size_t len)
{
	write(static_cast<const void *>(buf), len);
}

void aios::write(const void *buf, size_t len)
{
	if (err != 0 || is_closed || weof || len == 0)
		return;
	if (debugname != NULL)
		show(">>>", str(static_cast<const char *>(buf), len));
	outb.copy(buf, len);
	expect_output();
}

void aios::writev(const iovec *iov, int iovcnt)
{
	for (int i = 0; i < iovcnt; i++)
		write(iov[i].iov_base, iov[i].iov_len);
}

void aios::write(suio *uio)
{
	if (err != 0 || is_closed || weof || uio->resid() == 0)
		return;
	if (debugname != NULL)
		show(">>>", str(*uio));
	outb.take(uio);
	expect_output();
}

void aios::sendfd(int sfd)
{
	u_int64_t at = written + outb.resid();

	if (!fds.empty() && fds.back().at >= at)
		at = fds.back().at + 1;
	fds.push_back({ at, sfd });
}

void aios::expect_output()
{
	if (is_writing)
		return;
	fdcb(fd, selwrite, cwrap(this, &aios::output, own_color()));
	is_writing = true;
	arm_timer();
}

/* Descriptors go with their byte: so a piece ends before the byte of the next one. */
ssize_t aios::send_some()
{
	size_t limit = outb.resid();
	int with = -1;
	ssize_t n;

	if (!fds.empty() && fds.front().at == written)
		with = fds.front().fd;
	for (const passed_fd &p : fds) {
		if (p.at > written) {
			limit = std::min(limit, static_cast<size_t>(p.at - written));
			break;
		}
	}
	std::vector<iovec> iov;
	size_t len = 0;
	for (size_t i = 0; i < outb.iovcnt() && iov.size() < UIO_MAXIOV && len < limit; i++) {
		iov.push_back(outb.iov()[i]);
		iov.back().iov_len = std::min(iov.back().iov_len, limit - len);
		len += iov.back().iov_len;
	}
	n = with >= 0 ? writevfd(fd, iov.data(), static_cast<int>(iov.size()), with) :
			::writev(fd, iov.data(), static_cast<int>(iov.size()));
	if (n <= 0)
		return n;
	if (with >= 0) {
		close(with);
		fds.pop_front();
	}
	written += static_cast<u_int64_t>(n);
	outb.rembytes(static_cast<size_t>(n));
	return n;
}

int aios::flush()
{
	stay here(this);
	bool is_sent = outb.resid() == 0;

	if (err != 0 || is_closed) {
		errno = err != 0 ? err : EBADF;
		return -1;
	}
	while (here.is_here() && outb.resid() != 0) {
		ssize_t n = send_some();

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			int e = errno;

			fail(e);
			errno = e;
			return -1;
		}
		is_sent = true;
	}
	if (here.is_here() && outb.resid() == 0)
		sent_all();
	return is_sent ? 1 : 0;
}

void aios::output()
{
	stay here(this);

	(void)flush();
	if (here.is_here() && err == 0 && !is_closed)
		arm_timer();
}

/* Nothing is left to send: no callback of the descriptor, and the end if it was asked for. */
void aios::sent_all()
{
	wcb_t done = wcb;

	if (is_writing)
		fdcb(fd, selwrite, NULL);
	is_writing = false;
	if (weof)
		shutdown(fd, SHUT_WR);
	wcb = NULL;
	if (done != NULL)
		done->trigger(0);
}

void aios::setwcb(wcb_t cb)
{
	wcb = NULL;
	if (cb == NULL)
		return;
	if (err != 0 || outb.resid() == 0)
		cb->trigger(err);
	else
		wcb = cb;
}

void aios::sendeof()
{
	weof = true;
	if (outb.resid() == 0 && err == 0 && !is_closed)
		shutdown(fd, SHUT_WR);
}

/* ---------------------------------------------------------------- both */

void aios::arm()
{
	if (!is_reading && !is_closed) {
		fdcb(fd, selread, cwrap(this, &aios::input, own_color()));
		is_reading = true;
	}
	arm_timer();
}

void aios::disarm()
{
	if (is_reading)
		fdcb(fd, selread, NULL);
	if (is_writing)
		fdcb(fd, selwrite, NULL);
	is_reading = is_writing = false;
	if (timer != nullptr)
		timecb_remove(timer);
	timer = nullptr;
}

/* Start the limit anew if something waits, else end it. */
void aios::arm_timer()
{
	if (timer != nullptr)
		timecb_remove(timer);
	timer = nullptr;
	if (timeoutval > 0 && (rcb != NULL || outb.resid() != 0))
		timer = delaycb(timeoutval, 0, cwrap(this, &aios::timed_out, own_color()));
}

void aios::timed_out()
{
	timer = nullptr;
	fail(ETIMEDOUT);
}

void aios::fail(int e)
{
	stay here(this);
	wcb_t done = wcb;

	err = e;
	eof = true;
	disarm();
	outb.clear();
	wcb = NULL;
	if (done != NULL) {
		errno = e;
		done->trigger(e);
	}
	if (here.is_here() && rcb != NULL)
		answer(NULL, e);
}

void aios::abort()
{
	stay here(this);

	if (is_closed)
		return;
	disarm();
	err = EBADF;
	eof = true;
	is_closed = true;
	close(fd);
	fd = -1;
	rcb = NULL;
	wcb = NULL;
	outb.clear();
}

void aios::show(const char *arrow, const str &s)
{
	if (debugname != NULL)
		warnx << debugname << " " << arrow << " " << s << "\n";
}

/* At exit. No callback of the program, as its objects may be gone. */
libasync::standard_aios::~standard_aios()
{
	if (a == NULL || a->is_foreign())
		return;
	while (a->outb.resid() != 0 && a->send_some() > 0)
		;
}

aios_t libasync::standard_aios::get() const
{
	if (a == NULL)
		a = aios::alloc(fd);
	return a;
}

libasync::standard_aios ain(STDIN_FILENO), aout(STDOUT_FILENO);
