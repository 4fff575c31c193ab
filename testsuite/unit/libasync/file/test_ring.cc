/*
 * file/ring: aiod by io_uring, where the kernel has it, and when it fails.
 */
#include "aiod.h"

#include <string>

#include "failing_call.h"
#include "file/ring.h"
#include "turns.h"

#include "test.h"

namespace
{

str file;

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
		done(e);
	}
	void moved(ptr<aiobuf>, ssize_t n, int e)
	{
		len = n;
		done(e);
	}
	int await()
	{
		turn_until([this]() { return calls > 0; });
		assert_int_equal(calls, 1);
		return err;
	}
};

ptr<aiofh> open_with(const ptr<aiod> &pool, const str &name, int flags)
{
	result r;

	pool->open(name, flags, 0644, wrap(&r, &result::opened));
	assert_int_equal(r.calls, 0);
	assert_int_equal(r.await(), 0);
	return r.fh;
}

void close_all(const ptr<aiofh> &fh)
{
	result r;

	fh->close(wrap(&r, &result::done));
	assert_int_equal(r.await(), 0);
}

/* Read the file; how many times a thread did it instead of the kernel. */
bool is_read_by_thread(const ptr<aiod> &pool, const ptr<aiofh> &fh)
{
	ptr<aiobuf> buf = pool->bufalloc(100);
	result r;

	fail_call_of_fd(CALL_pread, -2, 1, EIO);
	fh->read(0, buf, wrap(&r, &result::moved));
	assert_int_equal(r.calls, 0);
	assert_int_equal(r.await(), 0);
	assert_int_equal(r.len, 7);
	assert_memory_equal(buf->base(), "content", 7);
	(void)fail_none();
	return calls_of(CALL_pread) > 0;
}

void aiod_reads_by_io_uring(void **)
{
	ptr<aiod> pool = New refcounted<aiod>(2);
	ptr<aiofh> fh = open_with(pool, file, O_RDONLY), dir;
	ptr<aiobuf> buf = pool->bufalloc(100);
	result at_end, of_folder;

	assert_false(is_read_by_thread(pool, fh));
	fh->read(7, buf, wrap(&at_end, &result::moved));
	assert_int_equal(at_end.await(), 0);
	assert_int_equal(at_end.len, 0);
	dir = open_with(pool, "/", O_RDONLY);
	dir->read(0, buf, wrap(&of_folder, &result::moved));
	assert_int_equal(of_folder.await(), EISDIR);
	assert_int_equal(of_folder.len, -1);
	close_all(dir);
	close_all(fh);
}

/* What cannot be set up leaves nothing, and threads do all. */
void aiod_without_a_ring(void **)
{
	static const failing_call calls[] = { CALL_io_uring_queue_init, CALL_io_uring_get_probe_ring };

	for (failing_call call : calls) {
		leftovers before;

		fail_call(call, 1, ENOMEM);
		{
			ptr<aiod> pool = New refcounted<aiod>(1);
			ptr<aiofh> fh;

			assert_true(fail_none());
			fh = open_with(pool, file, O_RDONLY);
			assert_true(is_read_by_thread(pool, fh));
			close_all(fh);
		}
		turn_all();
		assert_int_equal(leftovers().fds, before.fds);
	}
}

/* A call that the kernel did not take goes to a thread, once; the next one is the kernel's. */
void aiod_whose_kernel_takes_no_call(void **)
{
	ptr<aiod> pool = New refcounted<aiod>(1);
	ptr<aiofh> fh = open_with(pool, file, O_RDONLY);
	ptr<aiobuf> buf = pool->bufalloc(100);

	for (int i = 0; i < 3; i++) {
		result r;

		fail_call(CALL_io_uring_submit, 1, EBUSY);
		fh->read(0, buf, wrap(&r, &result::moved));
		assert_true(fail_none());
		assert_int_equal(r.await(), 0);
		assert_int_equal(r.len, 7);
		turn_all();
		assert_int_equal(r.calls, 1);
	}
	assert_false(is_read_by_thread(pool, fh));
	close_all(fh);
}

/* One at a time: what the kernel does and what only threads can do keep their order. */
void aiod_of_one_keeps_the_order(void **)
{
	enum { ROUNDS = 100 };
	ptr<aiod> pool = New refcounted<aiod>(1);
	ptr<aiofh> fh = open_with(pool, file, O_RDWR);
	ptr<aiobuf> out = pool->bufalloc(7), in[ROUNDS];
	std::string order;
	struct stat sizes[ROUNDS];
	int left = ROUNDS;

	memcpy(out->base(), "content", 7);
	for (int i = 0; i < ROUNDS; i++) {
		in[i] = pool->bufalloc(7);
		fh->ftrunc(0, wrap([&](int) { order += 't'; }));
		fh->write(0, out, wrap([&](ptr<aiobuf>, ssize_t n, int) { order += n == 7 ? 'w' : '?'; }));
		fh->fstat(wrap([&, i](struct stat *sb, int) {
			sizes[i] = *sb;
			order += 's';
		}));
		fh->read(0, in[i], wrap([&](ptr<aiobuf>, ssize_t n, int) {
			order += n == 7 ? 'r' : '?';
			left--;
		}));
		/* A buffer is in one request at a time. */
		out = pool->bufalloc(7);
		memcpy(out->base(), "content", 7);
	}
	turn_until([&left]() { return left == 0; });
	for (int i = 0; i < ROUNDS; i++) {
		assert_string_equal(order.substr(static_cast<size_t>(i) * 4, 4).c_str(), "twsr");
		assert_int_equal(sizes[i].st_size, 7);
		assert_memory_equal(in[i]->base(), "content", 7);
	}
	close_all(fh);
}

/* A read of a pipe lasts until there is something to read. */
void aiod_close_waits_for_the_kernel(void **)
{
	ptr<aiod> pool = New refcounted<aiod>(2);
	str name = strbuf() << file << ".pipe";
	ptr<aiofh> fh;
	ptr<aiobuf> buf = pool->bufalloc(7);
	result r, stated, closed;
	int fd;

	assert_int_equal(mkfifo(name, 0600), 0);
	fh = open_with(pool, name, O_RDWR);
	fd = open(name, O_WRONLY);
	fh->read(0, buf, wrap(&r, &result::moved));
	fh->close(wrap(&closed, &result::done));
	fh = NULL;
	pool->stat(name, wrap([&stated](struct stat *, int e) { stated.done(e); }));
	assert_int_equal(stated.await(), 0);
	turn_all();
	assert_int_equal(r.calls + closed.calls, 0);
	assert_int_equal(write(fd, "content", 7), 7);
	assert_int_equal(r.await(), 0);
	assert_int_equal(r.len, 7);
	assert_int_equal(closed.await(), 0);
	close(fd);
	unlink(name);
}

/* Calls of all kinds, in several colors, more than the aiod does at a time. */
struct client {
	ptr<aiod> pool;
	ptr<aiofh> fh;
	ptr<aiobuf> buf;
	color number = color(0);
	int left = 200;
	bool *is_done = nullptr;

	void next()
	{
		assert_true(libasync::is_own_color(number.value()));
		if (left-- == 0) {
			__atomic_store_n(is_done, true, __ATOMIC_RELEASE);
			return;
		}
		if (left % 3 == 0)
			fh->fstat(cwrap([this](struct stat *, int) { next(); }, number));
		else if (left % 3 == 1)
			fh->fsync(cwrap([this](int) { next(); }, number));
		else
			fh->read(0, buf, cwrap([this](ptr<aiobuf>, ssize_t, int) { next(); }, number));
	}
};

void aiod_of_several_colors(void **)
{
	enum { CLIENTS = 5 };
	ptr<aiod> pool = New refcounted<aiod>(2);
	client clients[CLIENTS];
	bool is_done[CLIENTS] = {};

	for (unsigned i = 0; i < CLIENTS; i++) {
		client &c = clients[i];

		c.pool = pool;
		c.fh = open_with(pool, file, O_RDWR);
		c.buf = pool->bufalloc(100);
		c.number = color(i);
		c.is_done = &is_done[i];
		cpucb(cwrap(&c, &client::next, c.number));
	}
	for (bool &is_over : is_done)
		turn_until([&is_over]() { return __atomic_load_n(&is_over, __ATOMIC_ACQUIRE); });
	for (client &c : clients)
		close_all(c.fh);
}

int begin(void **)
{
	static char name[] = "/tmp/libasync-ring-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, "content", 7) != 7)
		return -1;
	file = name;
	return close(fd);
}

int end(void **)
{
	return unlink(file.cstr());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aiod_reads_by_io_uring),
		cmocka_unit_test(aiod_without_a_ring),
		cmocka_unit_test(aiod_whose_kernel_takes_no_call),
		cmocka_unit_test(aiod_of_one_keeps_the_order),
		cmocka_unit_test(aiod_close_waits_for_the_kernel),
		cmocka_unit_test(aiod_of_several_colors),
	};

	/* 77: skipped. Containers often refuse it, and Linux before 5.6 has not all of it. */
	if (libasync::ring::create(1) == nullptr)
		return 77;
	return cmocka_run_group_tests(tests, begin, end);
}
