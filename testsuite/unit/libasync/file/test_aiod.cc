/*
 * aiod: files by a pool of threads.
 */
#include "aiod.h"

#include <dirent.h>

#include <set>
#include <string>

#include <event2/event.h>
#include <event2/smp.h>

#include "dies.h"
#include "refuse_io_uring.h"
#include "turns.h"

#include "test.h"

namespace
{

std::string folder()
{
	static char name[] = "/tmp/libasync-aiod-XXXXXX";
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

/* One result of any kind. */
struct result {
	int err = -1, calls = 0, errno_seen = -1;
	ptr<aiofh> fh;
	str s;
	struct stat sb = {};
	struct statvfs vfs = {};
	ptr<aiobuf> buf;
	ssize_t len = -2;
	bool is_pointer = false;

	void done(int e)
	{
		errno_seen = errno;
		err = e;
		__atomic_store_n(&calls, calls + 1, __ATOMIC_RELEASE);
	}
	void opened(ptr<aiofh> f, int e)
	{
		fh = f;
		done(e);
	}
	void named(str n, int e)
	{
		s = n;
		done(e);
	}
	void stated(struct stat *p, int e)
	{
		is_pointer = p != nullptr;
		if (p != nullptr)
			sb = *p;
		done(e);
	}
	void vstated(struct statvfs *p, int e)
	{
		is_pointer = p != nullptr;
		if (p != nullptr)
			vfs = *p;
		done(e);
	}
	void moved(ptr<aiobuf> b, ssize_t n, int e)
	{
		buf = b;
		len = n;
		done(e);
	}
	int await()
	{
		turn_until([this]() { return __atomic_load_n(&calls, __ATOMIC_ACQUIRE) > 0; });
		assert_int_equal(calls, 1);
		assert_int_equal(errno_seen, err);
		return err;
	}
};

ptr<aiod> pool;

ptr<aiofh> open_file(const char *name, int flags)
{
	result r;

	pool->open(in_folder(name), flags, 0644, wrap(&r, &result::opened));
	assert_int_equal(r.calls, 0);
	assert_int_equal(r.await(), 0);
	assert_true(r.fh != NULL);
	return r.fh;
}

int close_file(ptr<aiofh> fh)
{
	result r;

	fh->close(wrap(&r, &result::done));
	return r.await();
}

ptr<aiobuf> buffer_with(const char *text)
{
	ptr<aiobuf> b = pool->bufalloc(strlen(text));

	assert_true(b != NULL);
	memcpy(b->base(), text, b->size());
	return b;
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

void aiod_writes_and_reads_back(void **)
{
	ptr<aiofh> fh = open_file("file", O_RDWR | O_CREAT);
	result w, part, r, at_end, sized, cut, synced;
	ptr<aiobuf> b = pool->bufalloc(100);

	fh->write(0, buffer_with("hello world"), wrap(&w, &result::moved));
	assert_int_equal(w.await(), 0);
	assert_int_equal(w.len, 11);
	fh->swrite(6, buffer_with("--there--"), 2, 5, wrap(&part, &result::moved));
	assert_int_equal(part.await(), 0);
	assert_int_equal(part.len, 5);
	fh->read(0, b, wrap(&r, &result::moved));
	assert_int_equal(r.await(), 0);
	assert_int_equal(r.len, 11);
	assert_memory_equal(r.buf->base(), "hello there", 11);
	assert_int_equal(r.buf->lim() - r.buf->base(), 100);
	fh->sread(11, b, 0, 10, wrap(&at_end, &result::moved));
	assert_int_equal(at_end.await(), 0);
	assert_int_equal(at_end.len, 0);
	fh->fsync(wrap(&synced, &result::done));
	assert_int_equal(synced.await(), 0);
	fh->ftrunc(5, wrap(&cut, &result::done));
	assert_int_equal(cut.await(), 0);
	fh->fstat(wrap(&sized, &result::stated));
	assert_int_equal(sized.await(), 0);
	assert_int_equal(sized.sb.st_size, 5);
	assert_int_equal(close_file(fh), 0);
}

void aiod_names(void **)
{
	result linked, symlinked, renamed, read_link, real, stated, lstated, vstated, unlinked[3];

	pool->link(in_folder("file"), in_folder("second"), wrap(&linked, &result::done));
	assert_int_equal(linked.await(), 0);
	pool->symlink("second", in_folder("symbolic"), wrap(&symlinked, &result::done));
	assert_int_equal(symlinked.await(), 0);
	pool->readlink(in_folder("symbolic"), wrap(&read_link, &result::named));
	assert_int_equal(read_link.await(), 0);
	assert_string_equal(read_link.s.cstr(), "second");
	pool->getcwd(in_folder("../."), wrap(&real, &result::named));
	assert_int_equal(real.await(), 0);
	assert_int_equal(real.s.cstr()[0], '/');
	assert_null(strstr(real.s.cstr(), ".."));
	pool->stat(in_folder("symbolic"), wrap(&stated, &result::stated));
	pool->lstat(in_folder("symbolic"), wrap(&lstated, &result::stated));
	pool->statvfs(in_folder("file"), wrap(&vstated, &result::vstated));
	assert_int_equal(stated.await() + lstated.await() + vstated.await(), 0);
	assert_true(S_ISREG(stated.sb.st_mode) && stated.sb.st_nlink == 2);
	assert_true(S_ISLNK(lstated.sb.st_mode));
	assert_true(vstated.vfs.f_bsize > 0);
	pool->rename(in_folder("second"), in_folder("third"), wrap(&renamed, &result::done));
	assert_int_equal(renamed.await(), 0);
	pool->unlink(in_folder("file"), wrap(&unlinked[0], &result::done));
	pool->unlink(in_folder("third"), wrap(&unlinked[1], &result::done));
	pool->unlink(in_folder("symbolic"), wrap(&unlinked[2], &result::done));
	assert_int_equal(unlinked[0].await() + unlinked[1].await() + unlinked[2].await(), 0);
}

void aiod_errors_come_with_errno(void **)
{
	result opened, unlinked, stated, vstated, linked, cwd, made;

	pool->open(in_folder("none"), O_RDONLY, 0, wrap(&opened, &result::opened));
	pool->unlink(in_folder("none"), wrap(&unlinked, &result::done));
	pool->stat(in_folder("none"), wrap(&stated, &result::stated));
	pool->statvfs(in_folder("none"), wrap(&vstated, &result::vstated));
	pool->readlink(in_folder("."), wrap(&linked, &result::named));
	pool->getcwd(in_folder("none"), wrap(&cwd, &result::named));
	pool->mkdir(in_folder("none/sub"), 0755, wrap(&made, &result::done));
	for (result *r : { &opened, &unlinked, &stated, &vstated, &cwd, &made })
		assert_int_equal(r->await(), ENOENT);
	assert_int_equal(linked.await(), EINVAL);
	assert_true(opened.fh == NULL && cwd.s == NULL && linked.s == NULL);
	assert_false(stated.is_pointer || vstated.is_pointer);
}

void aiod_reads_folders(void **)
{
	result made, opened, not_folder, closed, removed;
	std::set<std::string> names;
	ptr<aiobuf> b = pool->bufalloc(0x1000);

	pool->mkdir(in_folder("sub"), 0755, wrap(&made, &result::done));
	assert_int_equal(made.await(), 0);
	for (const char *name : { "sub/a", "sub/b" })
		assert_int_equal(close_file(open_file(name, O_CREAT | O_WRONLY)), 0);
	pool->opendir(in_folder("sub"), wrap(&opened, &result::opened));
	pool->opendir(in_folder("sub/a"), wrap(&not_folder, &result::opened));
	assert_int_equal(opened.await(), 0);
	assert_int_equal(not_folder.await(), ENOTDIR);
	for (;;) {
		result r;

		opened.fh->readdir(b, wrap(&r, &result::moved));
		assert_int_equal(r.await(), 0);
		if (r.len == 0)
			break;
		for (char *at = b->base(); at < b->base() + r.len;) {
			struct dirent64 *d = reinterpret_cast<struct dirent64 *>(at);

			names.insert(d->d_name);
			at += d->d_reclen;
		}
	}
	assert_true(names == (std::set<std::string>{ ".", "..", "a", "b" }));
	opened.fh->closedir(wrap(&closed, &result::done));
	assert_int_equal(closed.await(), 0);
	unlink((folder() + "/sub/a").c_str());
	unlink((folder() + "/sub/b").c_str());
	pool->rmdir(in_folder("sub"), wrap(&removed, &result::done));
	assert_int_equal(removed.await(), 0);
}

void aiod_full_disk(void **)
{
	struct rlimit before, small;
	ptr<aiofh> fh = open_file("big", O_RDWR | O_CREAT);
	result part, none;

	getrlimit(RLIMIT_FSIZE, &before);
	small = { 5, before.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	fh->write(0, buffer_with("1234567890"), wrap(&part, &result::moved));
	assert_int_equal(part.await(), 0);
	assert_int_equal(part.len, 5);
	fh->write(5, buffer_with("67890"), wrap(&none, &result::moved));
	assert_int_equal(none.await(), EFBIG);
	assert_int_equal(none.len, -1);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(close_file(fh), 0);
	unlink((folder() + "/big").c_str());
}

void aiod_without_descriptors(void **)
{
	struct rlimit before, none;
	result r;

	getrlimit(RLIMIT_NOFILE, &before);
	none = { 0, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	pool->open(in_folder("x"), O_RDONLY, 0, wrap(&r, &result::opened));
	assert_int_equal(r.await(), EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
}

void aiod_bufwait_calls_when_one_is_free(void **)
{
	std::deque<ptr<aiobuf>> all;
	int calls = 0;
	result r;

	assert_true(pool->bufalloc(0) == NULL);
	assert_true(pool->bufalloc(pool->maxbuf + 1) == NULL);
	assert_int_equal(errno, EINVAL);
	while (ptr<aiobuf> b = pool->bufalloc(pool->maxbuf))
		all.push_back(b);
	assert_int_equal(errno, ENOBUFS);
	assert_int_equal(all.size(), 16);
	pool->bufwait(wrap([&calls]() { calls++; }));
	/* An open file needs a buffer too: it waits for one. */
	pool->open(str(folder().c_str()), O_RDONLY, 0, wrap(&r, &result::opened));
	turn_all();
	assert_int_equal(calls, 0);
	assert_int_equal(r.calls, 0);
	all.pop_back();
	assert_int_equal(calls, 0);
	turn_until([&calls]() { return calls > 0; });
	assert_int_equal(r.await(), 0);
	assert_int_equal(close_file(r.fh), 0);
	r.fh = NULL;
	all.clear();
	assert_true(pool->bufalloc(pool->maxbuf) != NULL);
}

/* As when another color frees it between the two calls. */
void aiod_bufwait_knows_what_was_freed_before(void **)
{
	ptr<aiod> own = New refcounted<aiod>(1, 0x1000, 0x1000);
	ptr<aiobuf> b = own->bufalloc(0x1000);
	int calls = 0;

	assert_true(own->bufalloc(0x1000) == NULL);
	b = NULL;
	own->bufwait(wrap([&calls]() { calls++; }));
	assert_int_equal(calls, 0);
	turn_all();
	assert_int_equal(calls, 1);
	/* Only once: nothing has been freed since the next failure. */
	b = own->bufalloc(0x1000);
	assert_true(own->bufalloc(0x1000) == NULL);
	own->bufwait(wrap([&calls]() { calls++; }));
	turn_all();
	assert_int_equal(calls, 1);
	b = NULL;
	turn_all();
	assert_int_equal(calls, 2);
}

/* One at a time: a close that waits for the calls before it keeps its place. */
void aiod_of_one_closes_in_order(void **)
{
	ptr<aiod> own = New refcounted<aiod>(1);
	result opened;
	std::string order;
	ptr<aiobuf> b = own->bufalloc(7);

	own->open(in_folder("file"), O_RDWR | O_CREAT, 0644, wrap(&opened, &result::opened));
	assert_int_equal(opened.await(), 0);
	opened.fh->read(0, b, wrap([&](ptr<aiobuf>, ssize_t n, int) { order += n == 0 ? 'r' : '?'; }));
	opened.fh->fstat(wrap([&](struct stat *p, int) { order += p != nullptr ? 's' : '?'; }));
	opened.fh->close(wrap([&](int e) { order += e == 0 ? 'c' : '?'; }));
	opened.fh = NULL;
	own->unlink(in_folder("file"), wrap([&](int e) { order += e == 0 ? 'u' : '?'; }));
	turn_until([&order]() { return order.size() == 4; });
	assert_string_equal(order.c_str(), "rscu");
}

/* The call of a callback that closes is over. */
void aiod_callback_closes_and_waits(void **)
{
	ptr<aiofh> fh = open_file("file", O_RDWR | O_CREAT);
	result r;
	bool is_closed = false;

	fh->fsync(wrap([&](int) {
		assert_int_equal(close_file(fh), 0);
		is_closed = true;
	}));
	turn_until([&is_closed]() { return is_closed; });
	unlink(in_folder("file"));
}

void aiod_last_reference_ends_it(void **)
{
	ptr<aiod> own = New refcounted<aiod>;
	ptr<aiobuf> b = own->bufalloc(10);
	result r, opened;

	own->stat(str(folder().c_str()), wrap(&r, &result::stated));
	own->open(str(folder().c_str()), O_RDONLY, 0, wrap(&opened, &result::opened));
	own = NULL;
	assert_int_equal(r.await(), 0);
	assert_int_equal(opened.await(), 0);
	/* A handle that nobody closed. */
	opened.fh = NULL;
	memset(b->base(), 1, 10);
	b = NULL;
	turn_all();
}

void aiod_calls_back_in_its_color(void **)
{
	result stated, opened;
	bool is_own = false;

	pool->stat(str(folder().c_str()), cwrap([&](struct stat *p, int e) {
		is_own = libasync::is_own_color(9);
		stated.stated(p, e);
	}, color(9)));
	pool->open(str(folder().c_str()), O_RDONLY, 0, cwrap(&opened, &result::opened, color(4)));
	assert_int_equal(stated.await(), 0);
	assert_int_equal(opened.await(), 0);
	assert_true(is_own);
	assert_true(S_ISDIR(stated.sb.st_mode));
	assert_int_equal(close_file(opened.fh), 0);
}

/* Color 0 is busy until color 9 has its answer. */
void aiod_does_not_wait_for_color_0(void **)
{
	result r;
	bool is_over = false;

	cpucb(wrap([&] {
		pool->stat(str(folder().c_str()), cwrap(&r, &result::stated, color(9)));
		while (event_base_get_workers(libasync::base()) > 1 && __atomic_load_n(&r.calls, __ATOMIC_ACQUIRE) == 0)
			sched_yield();
		is_over = true;
	}));
	turn_until([&is_over]() { return is_over; });
	assert_int_equal(r.await(), 0);
}

/* The last job is done, and the object ends, in another color. */
void aiod_ends_in_any_color(void **)
{
	for (int i = 0; i < 20; i++) {
		ptr<aiod> own = New refcounted<aiod>(2);
		result r[3];

		for (u_int n = 0; n < 3; n++)
			own->stat(str(folder().c_str()), cwrap(&r[n], &result::stated, color(n)));
		own = NULL;
		for (result &x : r)
			assert_int_equal(x.await(), 0);
	}
}

/* It ends, with a message. */
void aiod_of_impossible_sizes(void **)
{
	/* With 32 bits, all that a positive number can be may be had. */
	static constexpr ssize_t impossible = sizeof(ssize_t) == 8 ? ssize_t(SIZE_MAX / 4) : -1;

	for (auto make : { +[] { (void)ref<aiod>(New refcounted<aiod>(1, -1)); },
			   +[] { (void)ref<aiod>(New refcounted<aiod>(1, 0x200000, SIZE_MAX)); },
			   +[] { (void)ref<aiod>(New refcounted<aiod>(1, impossible)); } }) {
		ended e = run_in_child([make] {
			alarm(30);
			make();
		});

		assert_true(e.is_aborted());
		assert_true(e.says("aiod: "));
	}
}

} // namespace

int main(int argc, char **)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aiod_writes_and_reads_back),
		cmocka_unit_test(aiod_names),
		cmocka_unit_test(aiod_errors_come_with_errno),
		cmocka_unit_test(aiod_reads_folders),
		cmocka_unit_test(aiod_full_disk),
		cmocka_unit_test(aiod_without_descriptors),
		cmocka_unit_test(aiod_bufwait_calls_when_one_is_free),
		cmocka_unit_test(aiod_bufwait_knows_what_was_freed_before),
		cmocka_unit_test(aiod_of_one_closes_in_order),
		cmocka_unit_test(aiod_callback_closes_and_waits),
		cmocka_unit_test(aiod_last_reference_ends_it),
		cmocka_unit_test(aiod_calls_back_in_its_color),
		cmocka_unit_test(aiod_does_not_wait_for_color_0),
		cmocka_unit_test(aiod_ends_in_any_color),
		cmocka_unit_test(aiod_of_impossible_sizes),
	};

	/* An argument: without io_uring. 77: skipped. */
	if (argc > 1 && !refuse_io_uring(EPERM))
		return 77;
	return cmocka_run_group_tests(tests, begin, end);
}
