#include "file/ring.h"

#include <cerrno>

#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{

class uring : public libasync::ring
{
	struct io_uring u;

public:
	explicit uring(const struct io_uring &made) : u(made) {}
	~uring() override { io_uring_queue_exit(&u); }
	uring(const uring &) = delete;

	bool begin(const libasync::ring_call &call, void *tag) override;
	bool take(void **tag, int *result) override;
	void wait() override;
};

void fill(struct io_uring_sqe *sqe, const libasync::ring_call &call)
{
	switch (call.kind) {
	case libasync::ring_call::call_read:
		io_uring_prep_read(sqe, call.fd, call.buf, call.len, static_cast<uint64_t>(call.pos));
		break;
	case libasync::ring_call::call_write:
		io_uring_prep_write(sqe, call.fd, call.buf, call.len, static_cast<uint64_t>(call.pos));
		/* Not in the caller's thread, where a write beyond RLIMIT_FSIZE gets SIGXFSZ. */
		sqe->flags |= IOSQE_ASYNC;
		break;
	case libasync::ring_call::call_open:
		io_uring_prep_openat(sqe, AT_FDCWD, call.path, call.flags, static_cast<mode_t>(call.mode));
		break;
	case libasync::ring_call::call_close:
		io_uring_prep_close(sqe, call.fd);
		break;
	case libasync::ring_call::call_fsync:
		io_uring_prep_fsync(sqe, call.fd, 0);
		break;
	case libasync::ring_call::call_none:
		io_uring_prep_nop(sqe);
		break;
	}
}

bool uring::begin(const libasync::ring_call &call, void *tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u);

	/* Full of calls that were not taken. */
	if (sqe == nullptr && io_uring_submit(&u) > 0)
		sqe = io_uring_get_sqe(&u);
	if (sqe == nullptr)
		return false;
	fill(sqe, call);
	io_uring_sqe_set_data(sqe, tag);
	if (io_uring_submit(&u) > 0)
		return true;
	/* The entry goes with the next one: it must do nothing then. */
	fill(sqe, libasync::ring_call());
	io_uring_sqe_set_data(sqe, nullptr);
	return false;
}

bool uring::take(void **tag, int *result)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&u, &cqe) == 0) {
		*tag = io_uring_cqe_get_data(cqe);
		*result = cqe->res;
		io_uring_cqe_seen(&u, cqe);
		if (*tag != nullptr)
			return true;
	}
	return false;
}

/* Not by liburing, which looks at what the lock guards. */
void uring::wait()
{
	(void)syscall(SYS_io_uring_enter, u.ring_fd, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
}

} // namespace

/* Linux 5.6 has all of them. */
static bool knows_calls(struct io_uring *u)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(u);
	bool knows = probe != nullptr;

	for (int op : { IORING_OP_READ, IORING_OP_WRITE, IORING_OP_OPENAT, IORING_OP_CLOSE, IORING_OP_FSYNC })
		knows = knows && io_uring_opcode_supported(probe, op);
	io_uring_free_probe(probe);
	return knows;
}

std::unique_ptr<libasync::ring> libasync::ring::create(unsigned num)
{
	struct io_uring made;
	unsigned size = 1;

	/* The kernel rounds up anyway; one entry more for those that could not be submitted. */
	while (size <= num && size < 4096)
		size *= 2;
	if (io_uring_queue_init(size, &made, 0) < 0)
		return nullptr;
	if (!knows_calls(&made)) {
		io_uring_queue_exit(&made);
		return nullptr;
	}
	return std::unique_ptr<ring>(new uring(made));
}
