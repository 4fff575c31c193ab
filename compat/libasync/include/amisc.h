/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_AMISC_H
#define LIBASYNC_AMISC_H

/*
 * Sockets, descriptors, processes, and small things around the loop. Numbers of ports and addresses are in host byte
 * order unless the type is in_addr or sockaddr_in.
 *
 * Callbacks run in their own color, with errno set, and never before the function returns that got them. A function
 * that names no thread may be called from any.
 */
#include "sysconf.h"

#include "callback.h"
#include "keyfunc.h"
#include "str.h"
#include "vec.h"

/* ---------------------------------------------------------------- descriptors */

/*
 * make_async: O_NONBLOCK, and keepalive probes on a stream socket. make_sync: blocking again. A number that is no
 * descriptor panics.
 */
LIBASYNC_EXPORT void make_async(int fd);
LIBASYNC_EXPORT void make_sync(int fd);
LIBASYNC_EXPORT void close_on_exec(int fd, bool set = true);

/* Send small packets at once. Of what is no TCP socket: nothing. */
LIBASYNC_EXPORT void tcp_nodelay(int fd);
/* Close the descriptor; the peer gets a reset. */
LIBASYNC_EXPORT void tcp_abort(int fd);

/*
 * A socket of `type` (SOCK_STREAM, SOCK_DGRAM), bound but not listening, or -1 with errno. Port 0: the system chooses.
 * INADDR_ANY: the address in the environment variable BINDADDR, if it is set. It does not block, unless the environment
 * variable SFS_OPTIONS has the letter b.
 */
LIBASYNC_EXPORT int inetsocket(int type, u_int16_t port = 0, u_int32_t addr = INADDR_ANY);

/* A Unix-domain stream socket, bound to a new file, not listening; or connected. It blocks. -1 with errno. */
LIBASYNC_EXPORT int unixsocket(const char *path);
LIBASYNC_EXPORT int unixsocket_connect(const char *path);
LIBASYNC_EXPORT bool isunixsocket(int fd);

/* What a descriptor may be ready for. */
enum selop { selread = 0, selwrite = 1 };

/* Block until a descriptor is ready. The number of those that are; 0 after *tvp; -1 with errno. */
LIBASYNC_EXPORT int fdwait(int rfd, int wfd, bool r, bool w, timeval *tvp);
LIBASYNC_EXPORT int fdwait(int fd, bool r, bool w, timeval *tvp);
LIBASYNC_EXPORT int fdwait(int fd, selop op, timeval *tvp = NULL);

/* Write all bytes; an error ends it without a word. */
LIBASYNC_EXPORT void v_write(int fd, const void *buf, size_t sz);

/* For a result that does not matter. */
template <class T> inline void rc_ignore(const T &in)
{
	(void)in;
}

/* ---------------------------------------------------------------- this machine */

/* The host's name, with its domain if that is known; NULL if there is no name. */
LIBASYNC_EXPORT str myname();
/* The domain, of the host's name or of /etc/resolv.conf; NULL if neither has one. */
LIBASYNC_EXPORT str mydomain();
/* Replace *res with the IPv4 addresses of the interfaces that are up, loopback last. false with errno. */
LIBASYNC_EXPORT bool myipaddrs(vec<in_addr> *res);

/*
 * Call `cb` when addresses of interfaces change. They are compared when the loop turns for another reason, at most
 * every 60 seconds. Remove: in the color of `cb`.
 */
struct ifchgcb_t;
LIBASYNC_EXPORT ifchgcb_t *ifchgcb(cbv cb);
LIBASYNC_EXPORT void ifchgcb_remove(ifchgcb_t *chg);

/*
 * Ask the peer's host who owns the connection `fd` (RFC 1413), with a limit of 15 seconds. The str is "user@host", or
 * only the host if the int, an error number, is not 0.
 */
LIBASYNC_EXPORT void ident(int fd, callback<void, str, int>::ref cb);

/* ---------------------------------------------------------------- programs and children */

/*
 * Run a program. `av` ends with NULL; a path without slash is searched in $PATH. Descriptors in, out and err become
 * 0, 1 and 2 of the child, which gets /dev/null for -1; others are open in it unless close-on-exec. `env` NULL:
 * this process's environment. SIGPIPE, which this library ignores, has its default meaning there, and no signal is
 * blocked.
 *
 * `postforkcb` runs in the child first. It is the only thread there, and must not use locks that another may hold.
 *
 * Returns once the program runs, with the child's process id (for chldcb); or -1 with errno, also if it could not be
 * executed.
 */
LIBASYNC_EXPORT pid_t spawn(const char *path, char *const *av, int in = 0, int out = 1, int err = 2,
			    cbv::ptr postforkcb = NULL, char *const *env = NULL);
/* The same; messages of postforkcb go to the child's error output at once. */
LIBASYNC_EXPORT pid_t aspawn(const char *path, char *const *av, int in = 0, int out = 1, int err = 2,
			     cbv::ptr postforkcb = NULL, char *const *env = NULL);

inline pid_t spawn(const char *path, const char *const *av, int in = 0, int out = 1, int err = 2,
		   cbv::ptr postforkcb = NULL, char *const *env = NULL)
{
	return spawn(path, const_cast<char *const *>(av), in, out, err, postforkcb, env);
}

inline pid_t aspawn(const char *path, const char *const *av, int in = 0, int out = 1, int err = 2,
		    cbv::ptr postforkcb = NULL, char *const *env = NULL)
{
	return aspawn(path, const_cast<char *const *>(av), in, out, err, postforkcb, env);
}

/*
 * fork; in the child, messages go to the error output at once. After any fork, the first function of async.h that the
 * child calls gives it a poller of its own: what it adds or removes then does not concern the parent. The child of a
 * callback may call acheck (), not amain (), and must call some function of async.h before it returns to the loop.
 */
LIBASYNC_EXPORT pid_t afork();

/*
 * Read `fd` to its end, close it, and call `cb` with all bytes; with NULL and errno after an error. `fdp`, if not NULL,
 * gets a descriptor that came over a Unix-domain socket, or -1. `sb`: what was read before.
 */
LIBASYNC_EXPORT void pipe2str(int fd, cbs cb, int *fdp = NULL, strbuf *sb = NULL);

/*
 * Run `child` in a child process, with a descriptor to write to; then it exits. `out` gets what it wrote; NULL
 * and errno if there is no pipe or no process.
 */
LIBASYNC_EXPORT void chldrun(cbi child, cbs out);

/*
 * The path of a program: beside this one, or in $PATH; NULL if there is none. _plus_libsfs also searches $SFS_LIBDIR.
 */
LIBASYNC_EXPORT str find_program(const char *program);
LIBASYNC_EXPORT str find_program_plus_libsfs(const char *program);
/*
 * A path with a slash, as it is; else in the folder `dir`; NULL: where find_program finds it, else in this one's
 * folder.
 */
LIBASYNC_EXPORT str fix_exec_path(str path, str dir = NULL);

/*
 * Go on in the background: fork, a session of its own, /dev/null for 0, the logger for 1 and 2, and the process id in
 * $PIDDIR/name.pid (/var/run). `name` NULL: the program's. Before the program has threads: panics after that.
 */
LIBASYNC_EXPORT void daemonize(const str &name = NULL);

/* From now on, what goes to the error output goes to syslog, or to the program that set_syslog_logger named. */
LIBASYNC_EXPORT void start_logger();
/*
 * Facility and level of the messages in syslog, as "local3.info". Set it before start_logger and daemonize. A program
 * that set_syslog_logger named has a priority of its own.
 */
extern LIBASYNC_EXPORT str syslog_priority;

/* A command, its words separated by blanks. false: there is no such program. */
LIBASYNC_EXPORT bool check_syslog_logger(str s, vec<str> *out);
LIBASYNC_EXPORT bool set_syslog_logger(str s);
LIBASYNC_EXPORT void set_syslog_logger(const vec<str> &v);

/* ---------------------------------------------------------------- lock files */

/*
 * A file that exists and is locked while one process holds it. The file goes with the lock. One color at a time.
 */
class LIBASYNC_EXPORT lockfile
{
protected:
	bool islocked;
	int fd;

	bool openit();
	void closeit();

public:
	const str path;

	explicit lockfile(const str &p) : islocked(false), fd(-1), path(p) {}
	lockfile(const lockfile &) = delete;
	lockfile &operator=(const lockfile &) = delete;
	~lockfile();

	/* false: another process has it (EWOULDBLOCK), or errno. wait: block until it is free. */
	bool acquire(bool wait = false);
	void release();
	bool locked() const { return islocked; }
	int getfd() const { return fd; }
	/* Is it locked, and still the file under that name? */
	bool ok();

	/* NULL with errno: not acquired. */
	static ptr<lockfile> alloc(const str &path, bool wait = false);
};

/* Is it the same file, with the same content as far as its times and size tell? */
LIBASYNC_EXPORT bool stat_unchanged(const struct stat *sb1, const struct stat *sb2);

/* ---------------------------------------------------------------- arithmetic */

inline bool operator==(const in_addr &a, const in_addr &b)
{
	return a.s_addr == b.s_addr;
}

inline bool operator!=(const in_addr &a, const in_addr &b)
{
	return !(a == b);
}

inline bool operator==(const sockaddr_in &a, const sockaddr_in &b)
{
	return a.sin_port == b.sin_port && a.sin_addr == b.sin_addr;
}

inline bool operator!=(const sockaddr_in &a, const sockaddr_in &b)
{
	return !(a == b);
}

template <> struct hashfn<in_addr> {
	hashfn() {}
	hash_t operator()(const in_addr a) const { return hash_t(static_cast<u_int>(a.s_addr)); }
};

template <> struct hashfn<sockaddr_in> {
	hashfn() {}
	hash_t operator()(const sockaddr_in &a) const
	{
		return hash_t(static_cast<u_int>(a.sin_addr.s_addr) ^ static_cast<u_int>(a.sin_port) << 15);
	}
};

inline bool operator==(const timespec &a, const timespec &b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

inline bool operator!=(const timespec &a, const timespec &b)
{
	return !(a == b);
}

inline bool operator<(const timespec &a, const timespec &b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

inline bool operator>(const timespec &a, const timespec &b)
{
	return b < a;
}

inline bool operator<=(const timespec &a, const timespec &b)
{
	return !(b < a);
}

inline bool operator>=(const timespec &a, const timespec &b)
{
	return !(a < b);
}

inline timespec operator+(const timespec &a, const timespec &b)
{
	timespec sum = { a.tv_sec + b.tv_sec, a.tv_nsec + b.tv_nsec };

	if (sum.tv_nsec >= 1000000000) {
		sum.tv_sec++;
		sum.tv_nsec -= 1000000000;
	}
	return sum;
}

inline timespec operator-(const timespec &a, const timespec &b)
{
	timespec left = { a.tv_sec - b.tv_sec, a.tv_nsec - b.tv_nsec };

	if (left.tv_nsec < 0) {
		left.tv_sec--;
		left.tv_nsec += 1000000000;
	}
	return left;
}

#endif
