/*
 * aiod: io_uring and a pool of threads, for system calls that block.
 *
 * A job goes through three hands: the caller makes it and pushes it; the kernel or a thread does it, and a thread posts
 * it to the color of the callback; there it calls back. Only one of them has it at any time, and the queues order what
 * they did to it. Jobs of color 0 go through `done` and a descriptor, which keeps the loop waiting for them. Threads
 * touch no reference count: counts are not atomic while the program has no colors. So all references that a job holds
 * are taken by the caller and dropped where it calls back.
 *
 * push gives a job to the kernel if that knows the call and no job waits. What is in the page cache is done when the
 * kernel returns, and the caller posts it. For the rest a thread waits; until it returns, only that thread takes
 * results, or it could wait for a result that is taken already. At most `limit` jobs are under way, in threads and in
 * the ring. So a thread that waits for the ring is one that no other job could have.
 *
 * A job of a handle holds it. A close is put in the queue when the last other job of its handle has ended, and the one
 * that the handle's end makes finds none. It goes first: with a limit of one, it began before what is queued.
 *
 * The object ends when its last reference is gone, no job is on its way and no buffer is out. Whoever takes the last of
 * these away deletes it, in any color; the threads are idle then, and collect(), which color 0 may be in, has ended
 * before the memory goes.
 */
#include "aiod.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>
#include <string>

#include "file/ring.h"
#include "log/die.h"
#include "loop/loop.h"

/* ---------------------------------------------------------------- the queue to the threads */

aiod::writeq::writeq(unsigned nproc)
	: limit(nproc), ring(libasync::ring::create(nproc)), under_way(0), in_ring(0), is_waiting(false),
	  is_closed(false), wfd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
	if (wfd < 0)
		libasync::die("aiod: eventfd: %s", strerror(errno));
}

aiod::writeq::~writeq()
{
	::close(wfd);
}

/*
 * May the same call succeed in a thread? The thread that began it may have ended, and the file may know no io_uring.
 * Not a close that was interrupted: the descriptor is gone then, and may be another file's.
 */
static bool is_for_thread(const libasync::ring_call &call, int result)
{
	if (result == -EINTR || result == -EAGAIN)
		return call.kind != libasync::ring_call::call_close;
	return result == -ECANCELED || result == -EINVAL || result == -EOPNOTSUPP;
}

/* mutex. Counts a job of a handle. True: it is the close, and the last job before it will queue it. */
bool aiod::writeq::must_wait(job *j)
{
	aiofh *h = j->handle.get();
	bool is_early = h != nullptr && h->under_way > 0 && j->call.kind == libasync::ring_call::call_close;

	if (h != nullptr)
		h->under_way++;
	if (is_early)
		h->last = j;
	return is_early;
}

/* mutex */
void aiod::writeq::note_end(const job *j)
{
	aiofh *h = j->handle.get();

	if (h == nullptr || --h->under_way > 1 || h->last == nullptr)
		return;
	jobs.push_front(h->last);
	h->last = nullptr;
}

/* mutex. What the ring has done, a list in the order in which it was done. */
aiod::job *aiod::writeq::take_done()
{
	job *first = nullptr, **end = &first;
	void *tag;
	int result;

	while (ring->take(&tag, &result)) {
		job *j = static_cast<job *>(tag);

		in_ring--;
		under_way--;
		if (is_for_thread(j->call, result)) {
			j->call.kind = libasync::ring_call::call_none;
			jobs.push_front(j);
			continue;
		}
		note_end(j);
		j->take(result);
		*end = j;
		end = &j->next;
	}
	if (!jobs.empty())
		is_changed.notify_all();
	return first;
}

/* mutex: so a close that is queued now, or from now on, calls back after them. `finished`: a list. */
void aiod::writeq::hand_over(job *finished)
{
	if (finished != nullptr)
		finished->iod->hand_over(finished);
}

void aiod::writeq::push(job *j)
{
	std::lock_guard<std::mutex> hold(mutex);
	bool is_begun = false;

	if (must_wait(j))
		return;
	if (ring != nullptr && jobs.empty() && under_way < limit && j->call.kind != libasync::ring_call::call_none)
		is_begun = ring->begin(j->call, j);
	if (!is_begun) {
		jobs.push_back(j);
		is_changed.notify_one();
		return;
	}
	under_way++;
	in_ring++;
	if (is_waiting)
		return;
	hand_over(take_done());
	if (in_ring > 0)
		is_changed.notify_one();
}

/* mutex, but not while it waits */
void aiod::writeq::wait_for_ring(std::unique_lock<std::mutex> *hold)
{
	is_waiting = true;
	hold->unlock();
	ring->wait();
	hold->lock();
	is_waiting = false;
	hand_over(take_done());
}

/* mutex, but not while it works on it */
void aiod::writeq::work_on(job *j, std::unique_lock<std::mutex> *hold)
{
	under_way++;
	if (in_ring > 0 && !is_waiting)
		is_changed.notify_one();
	hold->unlock();
	j->work();
	hold->lock();
	under_way--;
	note_end(j);
	if (!jobs.empty())
		is_changed.notify_one();
	hand_over(j);
}

void aiod::writeq::work()
{
	std::unique_lock<std::mutex> hold(mutex);
	job *j;

	while (!jobs.empty() || !is_closed || (in_ring > 0 && !is_waiting)) {
		if (!jobs.empty() && under_way < limit) {
			j = jobs.front();
			jobs.pop_front();
			work_on(j, &hold);
		} else if (in_ring > 0 && !is_waiting) {
			wait_for_ring(&hold);
		} else {
			is_changed.wait(hold);
		}
	}
}

void aiod::writeq::close()
{
	std::lock_guard<std::mutex> hold(mutex);

	is_closed = true;
	is_changed.notify_all();
}

/* ---------------------------------------------------------------- the threads */

bool aiod::daemon::launch(str, int, int commonfd, bool skip_sigs)
{
	sigset_t all, before;
	int r;

	fd = commonfd;
	pid = 0;	/* the thread itself sets its number */
	sigfillset(&all);
	if (skip_sigs)
		pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, nullptr, &aiod::main, this);
	if (skip_sigs)
		pthread_sigmask(SIG_SETMASK, &before, nullptr);
	if (r != 0) {
		pid = -1;
		errno = r;
		return false;
	}
	return true;
}

void *aiod::main(void *arg)
{
	daemon *d = static_cast<daemon *>(arg);

	d->pid = static_cast<pid_t>(syscall(SYS_gettid));
	d->iod->wq.work();
	return nullptr;
}

/* ---------------------------------------------------------------- its life */

namespace
{

enum { SMALLEST = 64 };

size_t power_of_two(size_t n)
{
	size_t p = SMALLEST;

	if (n > SIZE_MAX / 2)
		libasync::die("aiod: a buffer of %zu bytes", n);
	while (p < n)
		p <<= 1;
	return p;
}

char *map_buffers(ssize_t size)
{
	void *p = MAP_FAILED;

	if (size >= 0)
		p = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		libasync::die("aiod: no memory for %zd bytes of buffers", size);
	return static_cast<char *>(p);
}

} // namespace

aiod::aiod(u_int nproc, ssize_t shmsize, size_t largest, bool shmpin, str path, str)
	: maxbuf(largest), wq(nproc != 0 ? nproc : 1), shm(map_buffers(shmsize)), shmlen(static_cast<size_t>(shmsize)),
	  bb(static_cast<bbuddy::totsize_t>(shmsize), SMALLEST, power_of_two(largest)), bufs_num(0), frees_num(0),
	  jobs_num(0), is_ended(false)
{
	if (shmpin)
		rc_ignore(mlock(shm, shmlen));
	for (u_int i = 0; i < (nproc != 0 ? nproc : 1); i++) {
		daemon *d = New daemon;

		d->iod = this;
		if (!d->launch(path, -1, wq.wfd, true)) {
			delete d;
			if (daemons.size() == 0)
				libasync::die("aiod: no thread: %s", strerror(errno));
			break;
		}
		daemons.push_back(d);
	}
	fdcb(wq.wfd, selread, wrap(this, &aiod::collect));
}

aiod::~aiod()
{
	libasync::fdcb_remove_and_wait(wq.wfd, selread);
	wq.close();
	for (daemon *d : daemons) {
		pthread_join(d->thread, nullptr);
		delete d;
	}
	munmap(shm, shmlen);
}

bool aiod::is_idle()
{
	return is_ended && bufs_num == 0 && jobs_num == 0;
}

void aiod::finalize()
{
	bool is_over;

	{
		std::lock_guard<std::mutex> hold(mutex);
		is_ended = true;
		is_over = is_idle();
	}
	if (is_over)
		delete this;
}

/* ---------------------------------------------------------------- jobs */

void aiod::submit(job *j, color c)
{
	j->iod = this;
	j->color_num = c.value();
	{
		std::lock_guard<std::mutex> hold(mutex);
		jobs_num++;
	}
	wq.push(j);
}

void aiod::submit(request *r, color c)
{
	{
		std::lock_guard<std::mutex> hold(mutex);
		if (reqtab[r->pos] != nullptr)
			libasync::die("aiod: a buffer is in two requests");
		reqtab.insert(r);
	}
	submit(static_cast<job *>(r), c);
}

/*
 * Let it call back in its color. False: it is of color 0 and this is not the loop's thread, or one before it goes
 * through the descriptor, or there is no memory.
 */
bool aiod::post(job *j)
{
	auto run = [](void *arg) {
		job *posted = static_cast<job *>(arg);

		libasync::note_call();
		posted->iod->complete(posted);
	};

	if (j->color_num == 0) {
		std::lock_guard<std::mutex> hold(mutex);

		if (!libasync::is_own_color(0) || !done.empty())
			return false;
	}
	return ec_base_post(libasync::engine(), j->color_num, run, j) == 0;
}

/*
 * In any thread, under the mutex of the queue: all of a list call back in their colors, and before what ends later. The
 * last one posted may end the object, unless the caller holds it, or is a thread that it waits for.
 */
void aiod::hand_over(job *finished)
{
	const uint64_t one = 1;
	job *next;

	for (job *j = finished; j != nullptr; j = next) {
		next = j->next;
		if (post(j))
			continue;
		{
			std::lock_guard<std::mutex> hold(mutex);
			done.push_back(j);
		}
		/* The counter cannot be full: it counts jobs. */
		rc_ignore(::write(wq.wfd, &one, sizeof(one)));
	}
}

/* Call back. Each may end the object, the last one does. */
void aiod::complete(job *j)
{
	request *r = dynamic_cast<request *>(j);
	bool is_over;

	if (r != nullptr) {
		std::lock_guard<std::mutex> hold(mutex);
		reqtab.remove(r);
	}
	errno = j->err;
	j->finish();
	delete j;
	{
		std::lock_guard<std::mutex> hold(mutex);
		jobs_num--;
		is_over = is_idle();
	}
	if (is_over)
		delete this;
}

/* In color 0: what came through the descriptor. */
void aiod::collect()
{
	std::deque<job *> all;
	uint64_t num;

	rc_ignore(::read(wq.wfd, &num, sizeof(num)));
	{
		std::lock_guard<std::mutex> hold(mutex);
		all.swap(done);
	}
	for (job *j : all)
		complete(j);
}

/* ---------------------------------------------------------------- buffers */

/*
 * The last bufalloc that failed in this thread. Its bufwait comes in the same callback, thus here. A program that does
 * it otherwise may be called for nothing.
 */
static thread_local struct {
	const aiod *of;
	uint64_t frees_num;
} last_failure;

ptr<aiobuf> aiod::bufalloc(size_t len)
{
	off_t pos;

	if (len == 0 || len > maxbuf) {
		errno = EINVAL;
		return NULL;
	}
	{
		std::lock_guard<std::mutex> hold(mutex);
		pos = bb.alloc(len);
		if (pos >= 0)
			bufs_num++;
		else
			last_failure = { this, frees_num };
	}
	if (pos < 0) {
		errno = ENOBUFS;
		return NULL;
	}
	return New refcounted<aiobuf>(this, static_cast<size_t>(pos), len);
}

void aiod::bufwait(cbv cb)
{
	{
		std::lock_guard<std::mutex> hold(mutex);

		if (last_failure.of != this || last_failure.frees_num == frees_num) {
			waiters.push_back(cb);
			return;
		}
	}
	/* Another color has freed one since then, and may have found nobody to tell. */
	libasync::post(cb);
}

/* Those that wait try again, all of them: a small request may fit where the first one does not. */
void aiod::buf_freed(size_t pos, size_t len)
{
	std::deque<cbv> all;
	bool is_over;

	{
		std::lock_guard<std::mutex> hold(mutex);
		bb.dealloc(static_cast<off_t>(pos), len);
		bufs_num--;
		frees_num++;
		all.swap(waiters);
		is_over = is_idle();
	}
	for (const cbv &cb : all)
		libasync::post(cb);
	if (is_over)
		delete this;
}

aiobuf::aiobuf(aiod *d, size_t p, size_t l) : iod(d), pos(p), len(l) {}

aiobuf::~aiobuf()
{
	iod->buf_freed(pos, len);
}

char *aiobuf::base()
{
	return iod->shm + pos;
}

const char *aiobuf::base() const
{
	return iod->shm + pos;
}
