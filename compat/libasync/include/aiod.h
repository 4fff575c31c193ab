/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_AIOD_H
#define LIBASYNC_AIOD_H

/*
 * aiod: files without blocking the loop. Where the kernel has it, io_uring opens, closes, reads, writes and syncs;
 * threads do the rest. A callback gets the result, with errno set to the error number that is its last argument (0:
 * none). Callbacks run in their own color. Requests of one aiod begin in the order of the calls, and at most `nproc` of
 * them are under way: with 1, each ends before the next begins. A close begins when the other calls of its handle have
 * ended.
 *
 * The aiod has `shmsize` bytes for buffers. Each open file also takes 64 of these bytes: if none are free, the callback
 * of open waits until some are. bufalloc returns NULL (ENOBUFS) while not enough is free: bufwait says when to try
 * again. A buffer belongs to the aiod from read, write or readdir until their callback. The program ends if a buffer is
 * in two requests, if a range is outside of its buffer, or if a handle is closed twice; and, in the constructor, if
 * there is no memory or no thread.
 *
 * Functions of an aiod: any thread. A file handle and a buffer: one color at a time. An aiod whose last reference
 * is gone ends its threads once its requests are done and its buffers are free; no callback is lost.
 */
#include <sys/statvfs.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "amisc.h"
#include "async.h"
#include "bbuddy.h"
#include "ihash.h"

class aiod;
class aiofh;

namespace libasync
{

class ring;

/* A system call as io_uring can do it. */
struct ring_call {
	enum { call_none, call_read, call_write, call_open, call_close, call_fsync } kind = call_none;
	int fd = -1;
	void *buf = nullptr;
	unsigned len = 0;
	off_t pos = 0;
	const char *path = nullptr; /* of call_open: it lives as long as the call */
	int flags = 0, mode = 0;
};

} // namespace libasync

/* Bytes for a request. */
class LIBASYNC_EXPORT aiobuf : public virtual refcount
{
	aiod *const iod;

	aiobuf(const aiobuf &) = delete;
	aiobuf &operator=(const aiobuf &) = delete;

protected:
	aiobuf(aiod *d, size_t pos, size_t len);
	~aiobuf();

public:
	const size_t pos; /* in the memory of the aiod */
	const size_t len;

	char *base();
	const char *base() const;
	char *lim() { return base() + len; }
	const char *lim() const { return base() + len; }
	size_t size() const { return len; }
};

class LIBASYNC_EXPORT aiod : public virtual refcount
{
	friend class aiobuf;
	friend class aiofh;

public:
	typedef callback<void, ptr<aiofh>, int>::ref cbopen;
	typedef callback<void, struct stat *, int>::ref cbstat;
	typedef callback<void, struct statvfs *, int>::ref cbstatvfs;
	typedef callback<void, str, int>::ref cbsi;
	/* How many bytes, or -1. */
	typedef callback<void, ptr<aiobuf>, ssize_t, int>::ref cbrw;

	/* The largest buffer. */
	const size_t maxbuf;

	/*
	 * nproc: how many requests at a time, and threads; shmsize bytes for buffers; shmpin: locked in memory, if
	 * the system allows. The rest is for programs of the time when helper processes did the work.
	 */
	aiod(u_int nproc = 1, ssize_t shmsize = 0x200000, size_t maxbuf = 0x10000, bool shmpin = false,
	     str path = NULL, str tmpdir = NULL);

	/* NULL: not enough is free, or `len` is 0 or above maxbuf (errno EINVAL). */
	ptr<aiobuf> bufalloc(size_t len);
	/* Call `cb` when a buffer is freed, or soon if one was since bufalloc has failed in this callback. */
	void bufwait(cbv cb);

	void open(str path, int flags, int mode, cbopen cb);
	void opendir(str path, cbopen cb);
	void unlink(str path, cbi cb);
	void mkdir(str dir, int mode, cbi cb);
	void rmdir(str path, cbi cb);
	void link(str from, str to, cbi cb);
	void symlink(str from, str to, cbi cb);
	void rename(str from, str to, cbi cb);
	void readlink(str path, cbsi cb);
	void getcwd(str path, cbsi cb); /* the absolute path of a folder, without links */
	void stat(str path, cbstat cb);
	void lstat(str path, cbstat cb);
	void statvfs(str file, cbstatvfs cb);

protected:
	/* What a thread or the kernel does, and then the callback's color. */
	struct job {
		/* const once it is submitted */
		aiod *iod = nullptr;
		uint32_t color_num = 0;
		libasync::ring_call call; /* call_none: only a thread can do it */

		/* own: the thread's, then the color's */
		int err = 0;
		job *next = nullptr;

		/* const once it is submitted: what lives until the callback has run; NULL: it is of no handle */
		::ptr<aiofh> handle;

		job();
		virtual ~job();
		virtual void work() = 0;	     /* in a thread of the pool: no reference counts */
		virtual void take(int result) = 0; /* what the kernel returned for `call`, likewise */
		virtual void finish() = 0; /* in the color, or in color 0; deletes nothing */
	};

	/* A job with a buffer. */
	class request : public job
	{
	public:
		const ::ref<aiobuf> buf;
		const size_t pos; /* of the buffer: its key while it is in use */
		ihash_entry<request> hlink;

		explicit request(::ref<aiobuf> b) : buf(b), pos(b->pos) {}
	};

	/* Jobs on their way, to the kernel or to the threads. Closed: no more come; threads end when it is empty. */
	class writeq
	{
		const unsigned limit; /* of what is under way */
		std::unique_ptr<libasync::ring> ring; /* NULL: there is none */

		std::mutex mutex;
		std::condition_variable is_changed;
		std::deque<job *> jobs; /* mutex: none is under way */
		unsigned under_way;	/* mutex: in threads and in the ring */
		unsigned in_ring;	/* mutex */
		bool is_waiting;	/* mutex: a thread waits for the ring; only that one takes results */
		bool is_closed;		/* mutex */

		bool must_wait(job *j);
		void note_end(const job *j);
		job *take_done();
		void hand_over(job *finished);
		void wait_for_ring(std::unique_lock<std::mutex> *hold);
		void work_on(job *j, std::unique_lock<std::mutex> *hold);

	public:
		int wfd; /* an eventfd: counts the jobs in `done`, for the loop */

		writeq(unsigned nproc = 1);
		~writeq();
		/* Hands over what is done already. */
		void push(job *j);
		/* For a thread. Waits, works, and hands over what is done, until it is closed and empty. */
		void work();
		void close();
	};

	/* A thread. */
	class daemon
	{
	public:
		pid_t pid; /* the thread's number; -1: there is none */
		int fd;	   /* that tells the loop */
		pthread_t thread;
		aiod *iod;

		daemon() : pid(-1), fd(-1), thread(), iod(nullptr) {}
		/*
		 * Starts it; it blocks all signals if skip_sigs. false with errno. Programs and shared memory
		 * are not used.
		 */
		bool launch(str path, int shmfd, int commonfd, bool skip_sigs);
	};

	writeq wq;
	vec<daemon *> daemons;
	char *shm;
	size_t shmlen;

	std::mutex mutex;
	bbuddy bb;				/* mutex */
	size_t bufs_num;			/* mutex */
	uint64_t frees_num;			/* mutex: buffers that were freed, ever */
	size_t jobs_num;			/* mutex */
	bool is_ended;				/* mutex: the last reference is gone */
	std::deque<job *> done;			/* mutex: those of color 0 */
	std::deque<cbv> waiters;		/* mutex */
	ihash<const size_t, request, &request::pos, &request::hlink> reqtab; /* mutex */

	~aiod();
	void finalize() override;
	static void *main(void *d);
	void submit(job *j, color c);
	void submit(request *r, color c);
	bool post(job *j);
	void hand_over(job *done);
	void complete(job *j);
	void collect();
	void buf_freed(size_t pos, size_t len);
	bool is_idle();
	void opened(int fd, cbopen cb, bool dir);
	void opened_late(int fd, cbopen cb, bool dir);
	void open_any(str path, int flags, int mode, bool dir, cbopen cb);
	void stat_any(str path, int at_flags, cbstat cb);
	void path_of(str path, bool is_link, cbsi cb);
	template <class Work>
	void run_status(Work work, cbi cb, const libasync::ring_call &call = libasync::ring_call(),
			aiofh *handle = nullptr);
	template <class T, class Work, class F>
	void run(Work work, F finish, color c, const libasync::ring_call &call = libasync::ring_call(),
		 aiofh *handle = nullptr);
	template <class Work, class F> static request *new_request(Work work, F finish, ptr<aiobuf> buf);
};

/*
 * An open file or folder. Closed with its last reference, if not before. Each call holds a reference until its callback
 * has run.
 */
class LIBASYNC_EXPORT aiofh : public virtual refcount
{
	friend class aiod;

	aiod *const iod;
	const ::ref<aiobuf> fh; /* holds the descriptor */
	const bool isdir;
	bool isclosed;

	/* guarded by the mutex of iod->wq */
	unsigned under_way; /* calls that were pushed and have not ended */
	aiod::job *last;    /* the close, while it waits for the others */

	int &fd() { return *reinterpret_cast<int *>(fh->base()); }
	void end(cbi cb, aiofh *held);
	void submit(aiod::request *r, color c);
	void rw(bool is_write, off_t pos, ptr<aiobuf> buf, u_int iostart, u_int iosize, aiod::cbrw cb);

protected:
	aiofh(aiod *iod, ::ref<aiobuf> fh, bool dir = false);
	~aiofh();

public:
	typedef aiod::cbrw cbrw;

	/* The whole buffer, or iosize bytes of it from iostart; at `pos` of the file. */
	void read(off_t pos, ptr<aiobuf> buf, cbrw cb);
	void write(off_t pos, ptr<aiobuf> buf, cbrw cb);
	void sread(off_t pos, ptr<aiobuf> buf, u_int iostart, u_int iosize, cbrw cb);
	void swrite(off_t pos, ptr<aiobuf> buf, u_int iostart, u_int iosize, cbrw cb);
	/* Entries of a folder, one struct dirent64 after the other, each d_reclen long; 0 bytes at the end. */
	void readdir(ptr<aiobuf> buf, cbrw cb);
	void fstat(aiod::cbstat cb);
	void fsync(cbi cb);
	void ftrunc(off_t length, cbi cb);
	/* Not twice. */
	void close(cbi cb);
	void closedir(cbi cb);
};

#endif
