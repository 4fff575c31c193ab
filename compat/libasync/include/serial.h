/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_SERIAL_H
#define LIBASYNC_SERIAL_H

/*
 * Bytes as printable text and back, numbers as bytes, whole files as strings. Any thread.
 *
 *	           digits                               padding
 *	armor32    a-k m n p-z 2-9 (no l o 0 1)         none
 *	armor64    A-Z a-z 0-9 + /                      = to a multiple of 4
 *	armor64A   A-Z a-z 0-9 + - (names of files)     none
 *	armor64X   A-Z a-z 0-9 - _ (URLs)               none
 *
 * All begin with the most significant bits. dearmor... takes what armor... gives, and nothing else: NULL for another
 * character, a length that no bytes have, missing padding, or bits behind the last byte that are not 0. A `len` of -1
 * is that of the C string. NULL gives NULL.
 */
#include <sys/types.h>
#include <sys/stat.h>

#include "libasync_config.h"
#include "str.h"

LIBASYNC_EXPORT str armor32(const void *p, size_t len);
LIBASYNC_EXPORT str dearmor32(const char *p, ssize_t len = -1);
LIBASYNC_EXPORT str armor64(const void *p, size_t len);
LIBASYNC_EXPORT str dearmor64(const char *p, ssize_t len = -1);
LIBASYNC_EXPORT str armor64A(const void *s, size_t len);
LIBASYNC_EXPORT str dearmor64A(const char *s, ssize_t len = -1);
LIBASYNC_EXPORT str armor64X(const void *s, size_t len);
LIBASYNC_EXPORT str dearmor64X(const char *s, ssize_t len = -1);

inline str armor32(str bin)
{
	return armor32(bin.cstr(), bin.len());
}

inline str dearmor32(str asc)
{
	return dearmor32(asc.cstr(), ssize_t(asc.len()));
}

inline str armor64(str bin)
{
	return armor64(bin.cstr(), bin.len());
}

inline str dearmor64(str asc)
{
	return dearmor64(asc.cstr(), ssize_t(asc.len()));
}

inline str armor64A(str bin)
{
	return armor64A(bin.cstr(), bin.len());
}

inline str dearmor64A(str asc)
{
	return dearmor64A(asc.cstr(), ssize_t(asc.len()));
}

inline str armor64X(str bin)
{
	return armor64X(bin.cstr(), bin.len());
}

inline str dearmor64X(str asc)
{
	return dearmor64X(asc.cstr(), ssize_t(asc.len()));
}

/* The value of a hexadecimal digit of either case. False: `in` is none, and `out` is as it was. */
inline bool hexconv(int &out, const char in)
{
	if (in >= '0' && in <= '9')
		out = in - '0';
	else if (in >= 'a' && in <= 'f')
		out = in - 'a' + 10;
	else if (in >= 'A' && in <= 'F')
		out = in - 'A' + 10;
	else
		return false;
	return true;
}

/* Bytes of which `asc` has the digits, two a byte. NULL: an odd number, or another character. */
LIBASYNC_EXPORT str hex2bytes(str asc);

/* ---------------------------------------------------------------- numbers: big endian, at any address */

inline u_int32_t getint(const void *_dp)
{
	const unsigned char *p = static_cast<const unsigned char *>(_dp);

	return u_int32_t(p[0]) << 24 | u_int32_t(p[1]) << 16 | u_int32_t(p[2]) << 8 | p[3];
}

inline void putint(void *_dp, u_int32_t val)
{
	unsigned char *p = static_cast<unsigned char *>(_dp);

	for (int i = 0; i < 4; i++)
		p[i] = static_cast<unsigned char>(val >> (24 - 8 * i));
}

inline u_int64_t gethyper(const void *_dp)
{
	return u_int64_t(getint(_dp)) << 32 | getint(static_cast<const char *>(_dp) + 4);
}

inline void puthyper(void *_dp, u_int64_t val)
{
	putint(_dp, u_int32_t(val >> 32));
	putint(static_cast<char *>(_dp) + 4, u_int32_t(val));
}

/* ---------------------------------------------------------------- files; these block */

/* All bytes of a file. NULL with errno. */
LIBASYNC_EXPORT str file2str(str file);

/*
 * Write a file under another name, then give it its name, so that nobody sees a part of it. `perm` is less the umask.
 * A text whose last line has no newline gets one, unless it is empty or `binary`. excl: fail with EEXIST if the name
 * is taken. *sbp, if not NULL, is what stat says of the new file. do_fsync: it is on the disk when this returns. False
 * with errno: the old file, if any, is as it was; only where do_fsync cannot sync the folder, the new one is there.
 */
LIBASYNC_EXPORT bool str2file(str file, str s, int perm = 0666, bool excl = false, struct stat *sbp = NULL,
			      bool binary = false, bool do_fsync = false);

#endif
