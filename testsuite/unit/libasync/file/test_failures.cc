/*
 * Files as strings, aiod and aios: each system call that can fail, failing.
 */
#include "aiod.h"
#include "aios.h"
#include "serial.h"

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>

#include <string>

#include "dies.h"
#include "failing_call.h"
#include "refuse_io_uring.h"
#include "turns.h"

#include "test.h"

namespace
{

std::string folder()
{
	static char name[] = "/tmp/libasync-failures-XXXXXX";
	static bool is_made;

	if (!is_made)
		assert_non_null(mkdtemp(name));
	is_made = true;
	return name;
}

str in_folder(const char *name)
{
	return str((folder() + "/" + name).c_str());
}

/* How many names there are; those that end in ~ are removed. */
unsigned names_num()
{
	DIR *d = opendir(folder().c_str());
	unsigned num = 0;

	while (struct dirent *e = readdir(d)) {
		num += e->d_name[0] != '.';
		if (e->d_name[strlen(e->d_name) - 1] == '~')
			unlink(in_folder(e->d_name));
	}
	closedir(d);
	return num;
}

/* ---------------------------------------------------------------- whole files */

int read_file()
{
	str s = file2str(in_folder("text"));

	if (s == NULL)
		return errno;
	assert_string_equal(s.cstr(), "text\n");
	return 0;
}

void file2str_each_call_fails(void **)
{
	assert_true(str2file(in_folder("text"), "text"));
	fail_each(CALL_open, EMFILE, EMFILE, read_file);
	fail_each(CALL_fstat, EIO, EIO, read_file);
	fail_each(CALL_read, EIO, EIO, read_file);
	fail_each(CALL_read, EINTR, 0, read_file);
	fail_each(CALL_close, EINTR, 0, read_file);
	unlink(in_folder("text"));
	/* Its size is not known before. */
	fail_each(CALL_readv, EINTR, 0, []() { return file2str("/proc/self/status") != NULL ? 0 : errno; });
	fail_each(CALL_readv, EIO, EIO, []() { return file2str("/proc/self/status") != NULL ? 0 : errno; });
}

/* Only str2file's own calls may fail, not those that look at the result. */
struct attempt {
	failing_call call;
	int err, want;
	bool excl, do_fsync;
};

/* Returns whether there was an nth call. */
bool try_str2file(const attempt &a, unsigned nth)
{
	str name = in_folder("text");
	leftovers before;
	bool has_failed;
	int err;

	unlink(name);
	if (!a.excl)
		assert_true(str2file(name, "old"));
	fail_call(a.call, nth, a.err);
	err = str2file(name, "new", 0666, a.excl, NULL, false, a.do_fsync) ? 0 : errno;
	has_failed = fail_none();
	assert_failed_as(a.call, nth, has_failed ? a.want : 0, err);
	assert_true(file2str(name) == (err == 0 ? str("new\n") : a.excl ? str() : str("old\n")));
	assert_int_equal(names_num(), err != 0 && a.excl ? 0 : 1);
	before.assert_none();
	return has_failed;
}

void str2file_each_call_fails(void **)
{
	const attempt attempts[] = {
		{ CALL_open, ENOSPC, ENOSPC, false, false },
		{ CALL_open, EEXIST, 0, false, false },
		{ CALL_writev, ENOSPC, ENOSPC, false, false },
		{ CALL_writev, EINTR, 0, false, false },
		{ CALL_fstat, EIO, EIO, false, false },
		{ CALL_close, EDQUOT, EDQUOT, false, false },
		{ CALL_rename, EACCES, EACCES, false, false },
		{ CALL_link, EMLINK, EMLINK, true, false },
		{ CALL_close, EDQUOT, EDQUOT, true, false },
	};

	for (const attempt &a : attempts) {
		unsigned nth = 1;

		while (try_str2file(a, nth))
			nth++;
		assert_called(a.call, nth - 1);
	}
	unlink(in_folder("text"));
}

/* The new file is there, and only its name may not be on the disk. */
int sync_file(failing_call call, unsigned nth, int err)
{
	str name = in_folder("text");
	leftovers before;
	int got;

	assert_true(str2file(name, "old"));
	fail_call(call, nth, err);
	got = str2file(name, "new", 0666, false, NULL, false, true) ? 0 : errno;
	assert_true(fail_none());
	assert_true(file2str(name) == (nth == 1 ? "old\n" : "new\n"));
	assert_int_equal(names_num(), 1);
	unlink(name);
	before.assert_none();
	return got;
}

void str2file_each_sync_fails(void **)
{
	assert_int_equal(sync_file(CALL_fsync, 1, EIO), EIO);
	assert_int_equal(sync_file(CALL_fsync, 2, EIO), EIO);
	/* Some file systems cannot sync a folder, and need not. */
	assert_int_equal(sync_file(CALL_fsync, 2, EINVAL), 0);
	assert_int_equal(sync_file(CALL_open, 2, EMFILE), EMFILE);
}

/* With excl, the file has its name before the other one goes: that it stays is no failure. */
void str2file_cannot_remove_the_other_name(void **)
{
	fail_call(CALL_unlink, 1, EIO);
	assert_true(str2file(in_folder("text"), "new", 0666, true));
	assert_true(fail_none());
	assert_int_equal(names_num(), 2);
	unlink(in_folder("text"));
}

/* ---------------------------------------------------------------- aiod */

struct result {
	int err = -1, calls = 0;
	ptr<aiofh> fh;
	ssize_t len = -2;

	void done(int e)
	{
		assert_int_equal(errno, e);
		err = e;
		calls++;
	}
	void opened(ptr<aiofh> f, int e)
	{
		fh = f;
		assert_int_equal(fh == NULL, e != 0);
		done(e);
	}
	void named(str s, int e)
	{
		assert_int_equal(s == NULL, e != 0);
		done(e);
	}
	void stated(struct stat *p, int e)
	{
		assert_int_equal(p == nullptr, e != 0);
		done(e);
	}
	void vstated(struct statvfs *p, int e)
	{
		assert_int_equal(p == nullptr, e != 0);
		done(e);
	}
	void moved(ptr<aiobuf>, ssize_t n, int e)
	{
		assert_int_equal(n < 0, e != 0);
		len = n;
		done(e);
	}
	int await()
	{
		turn_until([this]() { return calls > 0; });
		return err;
	}
};

ptr<aiod> pool;

ptr<aiofh> open_file(const char *name, bool is_dir = false)
{
	result r;

	if (is_dir)
		pool->opendir(in_folder(name), wrap(&r, &result::opened));
	else
		pool->open(in_folder(name), O_RDWR | O_CREAT, 0644, wrap(&r, &result::opened));
	assert_int_equal(r.await(), 0);
	return r.fh;
}

/* A handle that nobody closes does so later, and a failing call of a later test could be that one. */
int close_file(const ptr<aiofh> &fh)
{
	result r;

	fh->close(wrap(&r, &result::done));
	return r.await();
}

/* What one call of aiod comes to. */
template <class F> auto outcome(F call)
{
	return [call]() {
		result r;

		call(r);
		return r.await();
	};
}

/* Each fails once with the error, and then works; before each, the names are as the call needs them. */
template <class F> void fail_name(failing_call call, const char *has, const char *has_not, F fn)
{
	auto attempt = [&](result &r) {
		close(open(in_folder(has), O_WRONLY | O_CREAT, 0644));
		if (has_not != nullptr && unlink(in_folder(has_not)) < 0)
			rmdir(in_folder(has_not));
		fn(r);
	};

	fail_each(call, EIO, EIO, outcome(attempt));
	for (const char *name : { "a", "b" }) {
		if (unlink(in_folder(name)) < 0)
			rmdir(in_folder(name));
	}
}

void aiod_each_call_on_a_name_fails(void **)
{
	str a = in_folder("a"), b = in_folder("b");

	fail_name(CALL_link, "a", "b", [&](result &r) { pool->link(a, b, wrap(&r, &result::done)); });
	fail_name(CALL_symlink, "a", "b", [&](result &r) { pool->symlink(a, b, wrap(&r, &result::done)); });
	fail_name(CALL_rename, "a", "b", [&](result &r) { pool->rename(a, b, wrap(&r, &result::done)); });
	fail_name(CALL_mkdir, "a", "b", [&](result &r) { pool->mkdir(b, 0755, wrap(&r, &result::done)); });
#ifndef __OPTIMIZE__	/* with _FORTIFY_SOURCE it is another function */
	fail_name(CALL_realpath, "a", nullptr, [&](result &r) { pool->getcwd(a, wrap(&r, &result::named)); });
#endif
	fail_name(CALL_fstatat, "a", nullptr, [&](result &r) { pool->stat(a, wrap(&r, &result::stated)); });
	fail_name(CALL_fstatat, "a", nullptr, [&](result &r) { pool->lstat(a, wrap(&r, &result::stated)); });
	fail_name(CALL_statvfs, "a", nullptr, [&](result &r) { pool->statvfs(a, wrap(&r, &result::vstated)); });
}

int open_and_close(bool is_dir)
{
	result opened;

	if (is_dir)
		pool->opendir(in_folder(""), wrap(&opened, &result::opened));
	else
		pool->open(in_folder("a"), O_RDWR | O_CREAT, 0644, wrap(&opened, &result::opened));
	if (opened.await() != 0)
		return opened.err;
	return close_file(opened.fh);
}

void aiod_each_open_fails(void **)
{
	for (bool is_dir : { false, true })
		fail_each(CALL_open, ENFILE, ENFILE, [is_dir]() { return open_and_close(is_dir); });
	unlink(in_folder("a"));
}

void aiod_each_removal_fails(void **)
{
	str a = in_folder("a");
	auto remove_file = [&](result &r) {
		close(open(a, O_WRONLY | O_CREAT, 0644));
		pool->unlink(a, wrap(&r, &result::done));
	};
	auto remove_folder = [&](result &r) {
		mkdir(a, 0755);
		pool->rmdir(a, wrap(&r, &result::done));
	};
	auto read_link = [&](result &r) {
		rc_ignore(symlink("x", a));
		pool->readlink(a, wrap(&r, &result::named));
	};

	fail_each(CALL_unlink, EPERM, EPERM, outcome(remove_file));
	fail_each(CALL_rmdir, ENOTEMPTY, ENOTEMPTY, outcome(remove_folder));
	fail_each(CALL_readlink, EIO, EIO, outcome(read_link));
	unlink(a);
}

void aiod_each_call_on_a_file_fails(void **)
{
	ptr<aiofh> fh = open_file("file");
	ptr<aiobuf> buf = pool->bufalloc(100);
	auto read = outcome([&](result &r) { fh->read(0, buf, wrap(&r, &result::moved)); });
	auto write = outcome([&](result &r) { fh->write(0, buf, wrap(&r, &result::moved)); });

	memset(buf->base(), 'x', buf->size());
	fail_each(CALL_pwrite, ENOSPC, ENOSPC, write);
	fail_each(CALL_pwrite, EINTR, 0, write);
	fail_each(CALL_pread, EIO, EIO, read);
	fail_each(CALL_pread, EINTR, 0, read);
	fail_each(CALL_fsync, EIO, EIO, outcome([&](result &r) { fh->fsync(wrap(&r, &result::done)); }));
	fail_each(CALL_ftruncate, EFBIG, EFBIG, outcome([&](result &r) { fh->ftrunc(9, wrap(&r, &result::done)); }));
	fail_each(CALL_fstat, EIO, EIO, outcome([&](result &r) { fh->fstat(wrap(&r, &result::stated)); }));
	assert_int_equal(close_file(fh), 0);
	unlink(in_folder("file"));
}

void aiod_close_and_readdir_fail(void **)
{
	ptr<aiobuf> buf = pool->bufalloc(1000);
	ptr<aiofh> dir = open_file("", true);
	auto read_dir = [&]() {
		result r;

		dir->readdir(buf, wrap(&r, &result::moved));
		return r.await();
	};
	ptr<aiofh> file = open_file("file");
	leftovers before;

	fail_call(CALL_close, 1, EDQUOT);
	assert_int_equal(close_file(file), EDQUOT);
	assert_true(fail_none());
	assert_true(leftovers().fds == before.fds - 1);
	fail_call_of_fd(CALL_syscall, SYS_getdents64, 1, ENOENT);
	assert_int_equal(read_dir(), ENOENT);
	assert_true(fail_none());
	assert_int_equal(read_dir(), 0);
	assert_int_equal(close_file(dir), 0);
	unlink(in_folder("file"));
}

/* A write that lasts until the test says so; the handle is given up meanwhile, in one of two ways. */
struct long_write {
	ptr<aiofh> fh = open_file("file");
	ptr<aiobuf> buf = pool->bufalloc(100);
	result written, after;

	long_write()
	{
		memset(buf->base(), 'x', buf->size());
		fail_call_of_fd(CALL_close, -2, 1, 0);
		fail_call_of_fd(CALL_pwrite, -2, 1, 0);
		hold_call(CALL_pwrite);
		fh->write(0, buf, wrap(&written, &result::moved));
		while (calls_of(CALL_pwrite) == 0)
			(void)sched_yield();
	}
	/* Before the write has ended, the other thread does what there is to do: that is no close. */
	void end()
	{
		unsigned closes;

		pool->stat(in_folder(""), wrap(&after, &result::stated));
		assert_int_equal(after.await(), 0);
		closes = calls_of(CALL_close);
		release_call(CALL_pwrite);
		assert_int_equal(closes, 0);
		assert_int_equal(written.await(), 0);
		assert_int_equal(written.len, 100);
		turn_until([]() { return calls_of(CALL_close) > 0; });
		(void)fail_none();
		unlink(in_folder("file"));
	}
};

void aiod_last_reference_of_a_handle_goes_during_a_write(void **)
{
	leftovers before;
	long_write w;

	w.fh = NULL;
	w.end();
	turn_all();
	assert_int_equal(leftovers().fds, before.fds);
}

void aiod_close_waits_for_a_write(void **)
{
	long_write w;
	result closed;

	w.fh->close(wrap(&closed, &result::done));
	w.end();
	assert_int_equal(closed.await(), 0);
}

/* An aiod that cannot work ends the program, and says why. One thread of two is enough. */
void aiod_each_call_of_its_start_fails(void **)
{
	static const struct {
		failing_call call;
		int err;
		const char *text;
	} cases[] = {
		{ CALL_eventfd, EMFILE, "aiod: eventfd: Too many open files" },
		{ CALL_mmap, ENOMEM, "aiod: no memory for" },
		{ CALL_pthread_create, EAGAIN, "aiod: no thread: Resource temporarily unavailable" },
	};
	auto one_thread_less = []() {
		ptr<aiod> own = New refcounted<aiod>(2);
		result r;

		own->stat(in_folder(""), wrap(&r, &result::stated));
		return r.await();
	};

	if (HAS_TSAN)
		skip();
	for (const auto &c : cases) {
		ended e = run_in_child([&c]() {
			fail_call(c.call, 1, c.err);
			(void)New refcounted<aiod>(2);
		});

		if (!e.is_aborted() || !e.says(c.text))
			fail_msg("status %#x: %s", static_cast<unsigned>(e.status), e.text);
	}
	(void)one_thread_less();
	leftovers before;
	fail_call(CALL_pthread_create, 2, EAGAIN);
	assert_int_equal(one_thread_less(), 0);
	assert_true(fail_none());
	before.assert_none();
}

/* ---------------------------------------------------------------- aios */

/* A line, an answer, and the end of the stream. */
int talk(bool sends_descriptor)
{
	int pair[2], err = 0;
	str line;
	bool is_read = false;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	v_write(pair[1], "line\n", 5);
	{
		aios_t a = aios::alloc(pair[0]);

		a->readline(wrap([&](str s, int e) {
			line = s;
			err = e;
			is_read = true;
		}));
		turn_until([&is_read]() { return is_read; });
		if (err == 0) {
			bool is_sent = false;

			assert_string_equal(line.cstr(), "line");
			if (sends_descriptor)
				a->sendfd(dup(STDERR_FILENO));
			a << "answer\n";
			a->setwcb(wrap([&](int e) {
				err = e;
				is_sent = true;
			}));
			turn_until([&is_sent]() { return is_sent; });
		}
		a->abort();
	}
	close(pair[1]);
	return err;
}

void aios_each_call_fails(void **)
{
	auto plain = []() { return talk(false); };
	auto with_descriptor = []() { return talk(true); };

	for (int err : { EINTR, EAGAIN }) {
		fail_each(CALL_readv, err, 0, plain);
		fail_each(CALL_writev, err, 0, plain);
		fail_each(CALL_sendmsg, err, 0, with_descriptor);
	}
	fail_each(CALL_readv, ECONNRESET, ECONNRESET, plain);
	fail_each(CALL_writev, EPIPE, EPIPE, plain);
	fail_each(CALL_sendmsg, ETOOMANYREFS, ETOOMANYREFS, with_descriptor);
}

int begin(void **)
{
	pool = New refcounted<aiod>(2, 0x10000, 0x1000);
	return 0;
}

int end(void **)
{
	pool = NULL;
	return rmdir(folder().c_str());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file2str_each_call_fails),
		cmocka_unit_test(str2file_each_call_fails),
		cmocka_unit_test(str2file_each_sync_fails),
		cmocka_unit_test(str2file_cannot_remove_the_other_name),
		cmocka_unit_test(aiod_each_call_on_a_name_fails),
		cmocka_unit_test(aiod_each_open_fails),
		cmocka_unit_test(aiod_each_removal_fails),
		cmocka_unit_test(aiod_each_call_on_a_file_fails),
		cmocka_unit_test(aiod_close_and_readdir_fail),
		cmocka_unit_test(aiod_last_reference_of_a_handle_goes_during_a_write),
		cmocka_unit_test(aiod_close_waits_for_a_write),
		cmocka_unit_test(aiod_each_call_of_its_start_fails),
		cmocka_unit_test(aios_each_call_fails),
	};

	/* The calls are those of the threads. 77: skipped. */
	if (!refuse_io_uring(ENOSYS))
		return 77;
	return cmocka_run_group_tests(tests, begin, end);
}
