/*
 * Messages. Each is one write, so lines of several threads do not mix. What a descriptor that does not block refuses
 * waits in `rest`; then later messages wait behind it. The loop, or err_flush, writes it.
 */
#include "err.h"

#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "log/log.h"

bssstr progname, progdir;
int errfd = 2;
void (*fatalhook)();

namespace
{

/* const once threads run */
int progpid;

/* mu: what could not be written */
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
std::string &rest = *new std::string;

class mu_lock
{
public:
	mu_lock() { (void)pthread_mutex_lock(&mu); }
	~mu_lock() { (void)pthread_mutex_unlock(&mu); }
};

/* mu. Writes from `rest` what the descriptor takes. */
void write_rest()
{
	ssize_t n;

	while (!rest.empty()) {
		n = write(errfd, rest.data(), rest.size());
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			n = ssize_t(rest.size());	/* nobody reads it */
		rest.erase(0, size_t(n));
	}
}

std::string text_of(const strbuf &sb)
{
	std::string text;
	const iovec *iov = sb.iov();

	for (size_t i = 0; i < sb.iovcnt(); i++)
		text.append(static_cast<const char *>(iov[i].iov_base), iov[i].iov_len);
	return text;
}

void add_time(const strbuf &sb)
{
	timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	sb.fmt("%ld.%06ld ", long(now.tv_sec), now.tv_nsec / 1000);
}

void add_name(const strbuf &sb)
{
	if (progname == NULL)
		return;
	sb << progname;
	if (progpid != 0)
		sb.fmt("[%d]", progpid);
	sb << ": ";
}

} // namespace

namespace libasync
{

void (*err_wait_writable)();

void err_print(const std::string &text, int fd)
{
	int error = errno;
	bool waits;

	if (text.empty())
		return;
	if (fd != errfd) {
		(void)!write(fd, text.data(), text.size());
	} else {
		{
			mu_lock lock;

			rest += text;
			write_rest();
			waits = !rest.empty();
		}
		if (waits && err_wait_writable != nullptr)
			err_wait_writable();
	}
	errno = error;
}

bool err_write_more()
{
	mu_lock lock;

	write_rest();
	return !rest.empty();
}

void assert_failed(const char *what, const char *file, int line)
{
	panic("%s:%d: assertion failed: %s\n", file, line, what);
}

} // namespace libasync

void setprogname(char *argv0)
{
	const char *slash = strrchr(argv0, '/'), *name = slash == nullptr ? argv0 : slash + 1;

	progdir = NULL;
	if (slash != nullptr)
		progdir = str(argv0, size_t(slash + 1 - argv0));
	if (strncmp(name, "lt-", 3) == 0)
		name += 3;
	progname = name;
}

void setprogpid(int p)
{
	progpid = p;
}

void err_flush()
{
	int error = errno;

	while (libasync::err_write_more()) {
		pollfd p = { errfd, POLLOUT, 0 };

		(void)poll(&p, 1, -1);
	}
	errno = error;
}

void err_init()
{
	/* The child has one thread; a lock that another one held stays held. */
	mu = PTHREAD_MUTEX_INITIALIZER;
	rest.clear();
}

/* ---------------------------------------------------------------- warn, fatal, panic */

warnobj::warnobj(int fl) : flags(fl)
{
	int error = errno;

	if ((flags & timeflag) != 0)
		add_time(*this);
	if ((flags & xflag) == 0)
		add_name(*this);
	if ((flags & panicflag) != 0)
		cat("PANIC: ");
	else if ((flags & fatalflag) != 0)
		cat("fatal: ");
	errno = error;
}

const warnobj &warnobj::operator()(const char *format, ...) const
{
	int error = errno;
	va_list ap;

	va_start(ap, format);
	vfmt(format, ap);
	va_end(ap);
	errno = error;
	return *this;
}

void warnobj::print() const
{
	libasync::err_print(text_of(*this), errfd);
}

warnobj::~warnobj()
{
	if ((flags & fatalflag) == 0)
		print();
}

fatalobj::~fatalobj()
{
	print();
	err_flush();
	if ((flags & panicflag) != 0)
		abort();
	if (fatalhook != nullptr)
		fatalhook();
	exit(1);
}

/* ---------------------------------------------------------------- traces */

void traceobj::init()
{
	if (dotime)
		add_time(*this);
	add_name(*this);
	cat(prefix);
}

const traceobj &traceobj::operator()(int threshold)
{
	doprint = threshold <= current_level;
	if (doprint)
		init();
	return *this;
}

const traceobj &traceobj::operator()(int threshold, const char *format, ...)
{
	int error = errno;
	va_list ap;

	(void)(*this)(threshold);
	errno = error;
	va_start(ap, format);
	if (doprint)
		vfmt(format, ap);
	va_end(ap);
	errno = error;
	return *this;
}

traceobj::~traceobj()
{
	if (doprint)
		libasync::err_print(text_of(*this), fd < 0 ? errfd : fd);
}
