/*
 * Buffers, bufferevents, rate limits, listeners: numbers at the ends of their types (extremes.h).
 */
#include "extremes.h"

#include <netinet/in.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_compat.h>
#include <event2/listener.h>

/* ---------------------------------------------------------------- evbuffer */

static struct evbuffer *hello(void)
{
	struct evbuffer *buf = evbuffer_new();

	must(buf != NULL && evbuffer_add(buf, "hello\r\nworld", 12) == 0, "make a buffer");
	return buf;
}

static void say_left(const char *name, struct evbuffer *buf)
{
	SAY("  %s: left %zu", name, evbuffer_get_length(buf));
	evbuffer_free(buf);
}

static void buffer_sizes(void)
{
	struct evbuffer_iovec vec[2];
	struct evbuffer *buf, *other;
	char bytes[16];
	int fd[2];

	pipe_new(fd);
	EACH(i, sizes) {
		size_t size = sizes[i];

		SAY("%zu", size);
		buf = hello();
		/* Addresses of 32 bits have room for some sizes, but not for what libevent makes of them. */
		if (size < (sizeof(size_t) == 8 ? INT_MAX : 1 << 28) || size > SIZE_END / 2)
			SAY("  expand %d", evbuffer_expand(buf, size));
		say_left("expanded", buf);
		buf = hello();
		SAY("  drain %d", evbuffer_drain(buf, size));
		say_left("drained", buf);
		buf = hello();
		SAY("  copyout %zd", evbuffer_copyout(buf, bytes, size));
		SAY("  remove %d", evbuffer_remove(buf, bytes, size));
		say_left("removed", buf);
		buf = hello();
		other = evbuffer_new();
		SAY("  remove_buffer %d", evbuffer_remove_buffer(buf, other, size));
		SAY("  %zu", evbuffer_get_length(other));
		evbuffer_free(other);
		say_left("moved", buf);
		buf = hello();
		if (size > SIZE_END) {
			SAY("  add %d, prepend %d", evbuffer_add(buf, "", size), evbuffer_prepend(buf, "", size));
			/* Stock's length wraps. */
			if (is_ours())
				must(evbuffer_add_reference(buf, "", size, NULL, NULL) < 0, "refuse");
		}
		say_left("added", buf);
		buf = hello();
		if (size > 0 && size <= 4096)
			SAY("  reserve %d", evbuffer_reserve_space(buf, (ev_ssize_t)size, vec, 2) > 0);
		say_left("reserved", buf);
		buf = hello();
		SAY("  search %zd", evbuffer_search(buf, "world", size > 5 ? 5 : size, NULL).pos);
		SAY("  contiguous %zu", evbuffer_get_contiguous_space(buf));
		say_left("searched", buf);
	}
}

static void buffer_ssizes(void)
{
	struct evbuffer_iovec vec[2];
	struct evbuffer_ptr ptr;
	struct evbuffer *buf;
	int fd[2], r;

	pipe_new(fd);
	EACH(i, ssizes) {
		ev_ssize_t size = ssizes[i];

		SAY("%zd", size);
		buf = hello();
		SAY("  pullup %s", is_null(evbuffer_pullup(buf, size)));
		SAY("  peek %d", evbuffer_peek(buf, size, NULL, vec, 2));
		SAY("  peek none %d", evbuffer_peek(buf, size, NULL, NULL, 0));
		r = evbuffer_ptr_set(buf, &ptr, (size_t)size, EVBUFFER_PTR_SET);
		SAY("  set %d, %zd", r, r < 0 ? 0 : ptr.pos);
		(void)evbuffer_ptr_set(buf, &ptr, 3, EVBUFFER_PTR_SET);
		r = evbuffer_ptr_set(buf, &ptr, (size_t)size, EVBUFFER_PTR_ADD);
		SAY("  add %d, %zd", r, r < 0 ? 0 : ptr.pos);
		say_left("looked", buf);
		buf = hello();
		if (size < 0)
			SAY("  reserve %d", evbuffer_reserve_space(buf, size, vec, 2));
		SAY("  write %d", evbuffer_write_atmost(buf, fd[1], size) >= 0);
		say_left("written", buf);
		drain(fd[0]);
	}
	is_silent = false;
	EACH(i, ints) {
		buf = hello();
		put(fd[1]);
		if (ints[i] != 0)
			SAY("%d: read %d", ints[i], evbuffer_read(buf, fd[0], ints[i]));
		drain(fd[0]);
		SAY("  read of none %d", evbuffer_read(buf, ints[i] < 0 ? ints[i] : -1, 7));
		say_left("read", buf);
	}
	close(fd[0]);
	close(fd[1]);
}

static void buffer_commits(void)
{
	struct evbuffer_iovec vec[2];
	struct evbuffer *buf;

	EACH(i, sizes) {
		buf = hello();
		must(evbuffer_reserve_space(buf, 100, vec, 1) == 1, "reserve");
		if (sizes[i] > vec[0].iov_len || sizes[i] <= 100) {
			memset(vec[0].iov_base, 'x', 100);
			vec[0].iov_len = sizes[i];
			SAY("%zu: %d", sizes[i], evbuffer_commit_space(buf, vec, 1));
		}
		say_left("committed", buf);
	}
	is_silent = false;
	EACH(i, ints) {
		buf = hello();
		if (ints[i] <= 0) {
			SAY("%d vectors: reserve %d", ints[i], evbuffer_reserve_space(buf, 10, vec, ints[i]));
			SAY("  commit %d, iovec %zu", evbuffer_commit_space(buf, vec, ints[i]),
			    ints[i] == 0 ? evbuffer_add_iovec(buf, vec, ints[i]) : 0);
		}
		say_left("committed", buf);
	}
}

static void buffer_files(void)
{
	static const ev_off_t offsets[] = { 0, 1, 4, 5, -1, 65536, LLONG_MAX - 1, LLONG_MAX, LLONG_MIN };
	static const unsigned segment_flags[] = { 0, EVBUF_FS_DISABLE_MMAP, EVBUF_FS_DISABLE_SENDFILE,
						  EVBUF_FS_DISABLE_MMAP | EVBUF_FS_DISABLE_SENDFILE };
	struct evbuffer_file_segment *seg;
	FILE *file = tmpfile();
	struct evbuffer *buf;

	must(file != NULL && fputs("12345", file) >= 0 && fflush(file) == 0, "make a file");
	EACH(f, segment_flags) {
		EACH(i, offsets) {
			EACH(j, offsets) {
				/* A length of -1 behind the file's beginning, and parts that are not there. */
				if (!begin_row(offsets[i] >= 0 && offsets[i] <= 5 && offsets[j] <= 5 - offsets[i] &&
					       (offsets[j] > 0 || (offsets[j] == -1 && offsets[i] == 0))))
					continue;
				seg = evbuffer_file_segment_new(fileno(file), offsets[i], offsets[j],
								segment_flags[f]);
				SAY("%u, %lld, %lld: %s", segment_flags[f], (long long)offsets[i],
				    (long long)offsets[j], is_null(seg));
				if (seg == NULL)
					continue;
				buf = evbuffer_new();
				SAY("  add %d", evbuffer_add_file_segment(buf, seg, 0, offsets[j]));
				EACH(k, offsets) {
					if (is_ours())
						(void)evbuffer_add_file_segment(buf, seg, offsets[k], offsets[j]);
				}
				(void)evbuffer_drain(buf, SIZE_MAX);
				say_left("drained", buf);
				evbuffer_file_segment_free(seg);
			}
		}
	}
	fclose(file);
}

/* ---------------------------------------------------------------- bufferevents */

static void bev_numbers(void)
{
	struct event_base *base = base_new();
	struct bufferevent *pair[2], *bev;
	size_t low, high;

	must(bufferevent_pair_new(base, 0, pair) == 0, "make a pair");
	bev = pair[0];
	EACH(i, sizes) {
		SAY("%zu: single %d %d", sizes[i], bufferevent_set_max_single_read(bev, sizes[i]),
		    bufferevent_set_max_single_write(bev, sizes[i]));
		SAY("  %zd %zd", bufferevent_get_max_single_read(bev), bufferevent_get_max_single_write(bev));
		SAY("  to read %zd, to write %zd", bufferevent_get_max_to_read(bev),
		    bufferevent_get_max_to_write(bev));
		EACH(j, sizes) {
			bufferevent_setwatermark(bev, EV_READ | EV_WRITE, sizes[j], sizes[i]);
			low = high = 77;
			SAY("  %d %zu %zu", bufferevent_getwatermark(bev, EV_READ, &low, &high), low, high);
			bufferevent_write(pair[1], "x", 1);
			turn(base);
		}
		bufferevent_setwatermark(bev, EV_READ | EV_WRITE, 0, 0);
	}
	is_silent = false;
	EACH(i, ints) {
		SAY("%d: priority %d", ints[i], bufferevent_priority_set(bev, ints[i]));
		SAY("  enable %d, %d", bufferevent_enable(bev, (short)ints[i]), bufferevent_get_enabled(bev));
		SAY("  disable %d, %d", bufferevent_disable(bev, (short)ints[i]), bufferevent_get_enabled(bev));
		bufferevent_settimeout(bev, ints[i], ints[i]);
		bufferevent_trigger(bev, (short)ints[i], ints[i]);
		turn(base);
	}
	bufferevent_set_timeouts(bev, NULL, NULL);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	event_base_free(base);
}

static void event_told_cb(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	*(int *)arg |= what;
}

static void bev_times(void)
{
	struct event_base *base = base_new();
	struct bufferevent *bev;
	int fd[2], told;

	EACH(i, times) {
		if (!begin_row(is_time(&times[i])))
			continue;
		pair_new(fd);
		told = 0;
		bev = bufferevent_socket_new(base, fd[0], BEV_OPT_CLOSE_ON_FREE);
		bufferevent_setcb(bev, NULL, NULL, event_told_cb, &told);
		bufferevent_enable(bev, EV_READ);
		SAY("%ld.%ld: %d", TV(times[i]), bufferevent_set_timeouts(bev, &times[i], &times[i]));
		turn(base);
		turn(base);
		SAY("  told %#x, enabled %d", (unsigned)told, bufferevent_get_enabled(bev));
		bufferevent_free(bev);
		close(fd[1]);
	}
	event_base_free(base);
}

static void bev_sockets(void)
{
	static const int ports[] = { 0, -1, -2, 65535, 65536, 65537, INT_MAX, INT_MIN };
	struct event_base *base = base_new();
	struct bufferevent *bev;
	int r;

	EACH(i, ports) {
		if (ports[i] == 65535 || ports[i] == 0)
			continue;
		bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
		r = bufferevent_socket_connect_hostname(bev, NULL, AF_INET, "127.0.0.1", ports[i]);
		SAY("port %d: %d", ports[i], r);
		bufferevent_free(bev);
	}
	is_silent = false;
	EACH(i, ints) {
		bev = bufferevent_socket_new(base, -1, ints[i] & (BEV_OPT_DEFER_CALLBACKS | ~0xf));
		SAY("options %#x: %s", (unsigned)ints[i], is_null(bev));
		if (bev == NULL)
			continue;
		SAY("  family %d",
		    bufferevent_socket_connect_hostname(bev, NULL, ints[i], "127.0.0.1", 7) < 0 ? -1 : 0);
		bufferevent_free(bev);
	}
	turn(base);
	event_base_free(base);
}

/* ---------------------------------------------------------------- rate limits */

static void limit_cfgs(void)
{
	static const struct timeval tick = { 0, 5000 };
	struct ev_token_bucket_cfg *cfg;

	EACH(i, times) {
		/* Ticks below a millisecond. Beyond an int of milliseconds stock overflows. */
		if (!begin_row(is_time(&times[i]) && times[i].tv_sec >= 0 && times[i].tv_sec <= INT_MAX / 1000 &&
			       times[i].tv_sec * 1000 + times[i].tv_usec / 1000 > 0))
			continue;
		cfg = ev_token_bucket_cfg_new(1, 1, 1, 1, &times[i]);
		SAY("%ld.%ld: %s", TV(times[i]), is_null(cfg));
		if (cfg != NULL)
			ev_token_bucket_cfg_free(cfg);
	}
	EACH(i, sizes) {
		EACH(j, sizes) {
			cfg = ev_token_bucket_cfg_new(sizes[i], sizes[j], 1, 1, &tick);
			SAY("%zu, %zu: %s", sizes[i], sizes[j], is_null(cfg));
			if (cfg != NULL)
				ev_token_bucket_cfg_free(cfg);
			cfg = ev_token_bucket_cfg_new(1, 1, sizes[i], sizes[j], NULL);
			SAY("  %s", is_null(cfg));
			if (cfg != NULL)
				ev_token_bucket_cfg_free(cfg);
		}
	}
}

/* What is left after one decrement of a full bucket; further ones end at the ends of the type. */
static void limit_decrements(void)
{
	struct event_base *base = base_new();
	struct ev_token_bucket_cfg *cfg;
	struct bufferevent *bev;
	int fd[2];

	pair_new(fd);
	EACH(i, ssizes) {
		bev = bufferevent_socket_new(base, fd[0], 0);
		cfg = ev_token_bucket_cfg_new(SIZE_END, SIZE_END, 1, 1, &hour_tv);
		must(cfg != NULL && bufferevent_set_rate_limit(bev, cfg) == 0, "limit");
		is_silent = false;
		SAY("%zd: full %zd, %zd", ssizes[i], bufferevent_get_read_limit(bev),
		    bufferevent_get_write_limit(bev));
		SAY("  %d %d", bufferevent_decrement_read_limit(bev, ssizes[i]),
		    bufferevent_decrement_write_limit(bev, ssizes[i]));
		/* Beyond the ends of the type stock wraps. */
		is_silent = ssizes[i] < 0;
		SAY("  left to read %zd", bufferevent_get_read_limit(bev));
		is_silent = ssizes[i] <= EV_SSIZE_MIN + 1;
		SAY("  left to write %zd", bufferevent_get_write_limit(bev));
		(void)bufferevent_decrement_read_limit(bev, ssizes[i]);
		(void)bufferevent_decrement_write_limit(bev, ssizes[i]);
		(void)bufferevent_get_max_to_read(bev);
		(void)bufferevent_get_max_to_write(bev);
		turn(base);
		bufferevent_free(bev);
		ev_token_bucket_cfg_free(cfg);
	}
	pair_close(fd);
	event_base_free(base);
}

static void limit_groups(void)
{
	struct event_base *base = base_new();
	struct bufferevent_rate_limit_group *group;
	struct ev_token_bucket_cfg *cfg, *small;
	struct bufferevent *bev;
	int fd[2];

	pair_new(fd);
	small = ev_token_bucket_cfg_new(1, 1, 1, 1, &hour_tv);
	EACH(i, ssizes) {
		bev = bufferevent_socket_new(base, fd[0], 0);
		cfg = ev_token_bucket_cfg_new(SIZE_END, SIZE_END, 1, 1, &hour_tv);
		group = bufferevent_rate_limit_group_new(base, cfg);
		must(cfg != NULL && group != NULL, "make a group");
		must(bufferevent_add_to_rate_limit_group(bev, group) == 0, "join");
		is_silent = false;
		SAY("%zd: full %zd, %zd", ssizes[i], bufferevent_rate_limit_group_get_read_limit(group),
		    bufferevent_rate_limit_group_get_write_limit(group));
		SAY("  share %d", bufferevent_rate_limit_group_set_min_share(group, (size_t)ssizes[i]));
		SAY("  %d %d", bufferevent_rate_limit_group_decrement_read(group, ssizes[i]),
		    bufferevent_rate_limit_group_decrement_write(group, ssizes[i]));
		is_silent = ssizes[i] < 0;
		SAY("  left to read %zd", bufferevent_rate_limit_group_get_read_limit(group));
		is_silent = ssizes[i] <= EV_SSIZE_MIN + 1;
		SAY("  left to write %zd", bufferevent_rate_limit_group_get_write_limit(group));
		(void)bufferevent_rate_limit_group_decrement_read(group, ssizes[i]);
		(void)bufferevent_rate_limit_group_decrement_write(group, ssizes[i]);
		turn(base);
		is_silent = false;
		SAY("  smaller %d", bufferevent_rate_limit_group_set_cfg(group, small));
		(void)bufferevent_get_max_to_read(bev);
		(void)bufferevent_get_max_to_write(bev);
		bufferevent_remove_from_rate_limit_group(bev);
		bufferevent_free(bev);
		bufferevent_rate_limit_group_free(group);
		ev_token_bucket_cfg_free(cfg);
	}
	ev_token_bucket_cfg_free(small);
	pair_close(fd);
	event_base_free(base);
}

/* ---------------------------------------------------------------- listeners */

static void listeners(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct event_base *base = base_new();
	struct evconnlistener *lev;

	is_silent = false;
	EACH(i, ints) {
		lev = evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, ints[i],
					      (struct sockaddr *)&sin, sizeof(sin));
		SAY("backlog %d: %s", ints[i], is_null(lev));
		if (lev != NULL)
			evconnlistener_free(lev);
		if (ints[i] < 0) {
			lev = evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, 1,
						      (struct sockaddr *)&sin, ints[i]);
			SAY("length %d: %s", ints[i], is_null(lev));
			if (lev != NULL)
				evconnlistener_free(lev);
		}
		lev = evconnlistener_new_bind(base, NULL, NULL, (unsigned)ints[i] | LEV_OPT_CLOSE_ON_FREE, 1,
					      (struct sockaddr *)&sin, sizeof(sin));
		SAY("flags %#x: %s", (unsigned)ints[i], is_null(lev));
		if (lev != NULL)
			evconnlistener_free(lev);
	}
	event_base_free(base);
}

/* ---------------------------------------------------------------- */

int main(void)
{
	int failed = 0;

	signal(SIGPIPE, SIG_IGN);
	RUN(buffer_sizes);
	RUN(buffer_ssizes);
	RUN(buffer_commits);
	RUN(buffer_files);
	RUN(bev_numbers);
	RUN(bev_times);
	RUN(bev_sockets);
	RUN(limit_cfgs);
	RUN(limit_decrements);
	RUN(limit_groups);
	RUN(listeners);
	return failed != 0;
}
