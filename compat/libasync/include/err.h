/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_ERR_H
#define LIBASYNC_ERR_H

/*
 * Messages for the user, on standard error.
 *
 *   warn << "cannot open " << path << "\n";	prints "progname: cannot open ..."
 *   warn ("%s: %m\n", path);			%m is the text of errno
 *   warnx << "without the name of the program\n";
 *   fatal << "ends the program, exit status 1\n";
 *   panic << "aborts it\n";
 *   assert (is_true);				panics otherwise, with file and line
 *
 * A message is written at the end of its statement, in one piece, so messages of several threads do not mix. If
 * standard error does not block and is full, the loop writes the rest later; err_flush() waits for that. errno stays as
 * it is. What a strbuf takes can be printed. Any thread.
 */
#include <cassert>

#include "libasync_config.h"
#include "str.h"

/* The program's name, without its directory; NULL until setprogname is called. And that directory, or NULL. */
extern LIBASYNC_EXPORT bssstr progname;
extern LIBASYNC_EXPORT bssstr progdir;

/* The name from main's argv[0], without "lt-" of libtool. Before other threads start. */
LIBASYNC_EXPORT void setprogname(char *argv0);

/* Messages then begin with "progname[p]: "; 0: without. Before other threads start. */
LIBASYNC_EXPORT void setprogpid(int p);

/* Where messages go: descriptor 2. */
extern LIBASYNC_EXPORT int errfd;

/* Called by fatal before it exits; or NULL. */
extern LIBASYNC_EXPORT void (*fatalhook)();

/* Write what waits, and wait until it is written. */
LIBASYNC_EXPORT void err_flush();

/* Begin anew in a child of fork: what waits is the parent's. Async-signal-safe. */
LIBASYNC_EXPORT void err_init();

/* A message. It prints what was appended when it is destroyed. */
class LIBASYNC_EXPORT warnobj : public strbuf
{
protected:
	const int flags;

	void print() const;

public:
	/* xflag: without the program's name. timeflag: with the time. */
	enum { xflag = 1, fatalflag = 2, panicflag = 4, timeflag = 8 };

	explicit warnobj(int fl);
	~warnobj();

	/* As printf. */
	const warnobj &operator()(const char *fmt, ...) const LIBASYNC_PRINTF(2, 3);
};

template <class T> inline const warnobj &operator<<(const warnobj &sb, const T &a)
{
	static_cast<const strbuf &>(sb) << a;
	return sb;
}

inline const warnobj &operator<<(const warnobj &sb, const str &s)
{
	strbuf_cat(sb, s);
	return sb;
}

inline const warnobj &operator<<(const warnobj &sb, const char *s)
{
	static_cast<const strbuf &>(sb) << s;
	return sb;
}

/* A message that ends the program. */
class LIBASYNC_EXPORT fatalobj : public warnobj
{
public:
	explicit fatalobj(int f) : warnobj(f | fatalflag) {}
	[[noreturn]] ~fatalobj();
};

/*
 * A message that is printed if its threshold is not above the current level:
 *
 *   #define trace traceobj (trace_level, "net: ")
 *   trace (2) << "connected\n";
 */
class LIBASYNC_EXPORT traceobj : public strbuf
{
protected:
	const int current_level;
	const char *prefix;
	const bool dotime;
	bool doprint;
	int fd;				/* where it goes; -1: as warn */

	/* The beginning of the message. */
	void init();

public:
	explicit traceobj(int level, const char *p = "", bool with_time = false, int f = -1)
	    : current_level(level), prefix(p), dotime(with_time), doprint(false), fd(f)
	{
	}
	~traceobj();

	const traceobj &operator()(int threshold = 0);
	const traceobj &operator()(int threshold, const char *fmt, ...) LIBASYNC_PRINTF(3, 4);

	/* Is the message printed? */
	bool is_on() const { return doprint; }
};

template <class T> inline const traceobj &operator<<(const traceobj &sb, const T &a)
{
	if (sb.is_on())
		static_cast<const strbuf &>(sb) << a;
	return sb;
}

inline const traceobj &operator<<(const traceobj &sb, const str &s)
{
	if (sb.is_on())
		strbuf_cat(sb, s);
	return sb;
}

inline const traceobj &operator<<(const traceobj &sb, const char *s)
{
	if (sb.is_on())
		static_cast<const strbuf &>(sb) << s;
	return sb;
}

namespace libasync
{

[[noreturn]] LIBASYNC_EXPORT void assert_failed(const char *what, const char *file, int line);

} // namespace libasync

#define warn warnobj(0)
#define warnx warnobj(int(::warnobj::xflag))
#define fatal fatalobj(0)
#define panic fatalobj(int(::warnobj::panicflag))

#undef assert
#ifdef NDEBUG
#define assert(e) (static_cast<void>(0))
#else
#define assert(e) \
	(__builtin_expect(!!(e), 1) ? static_cast<void>(0) : ::libasync::assert_failed(#e, __FILE__, __LINE__))
#endif

#endif
