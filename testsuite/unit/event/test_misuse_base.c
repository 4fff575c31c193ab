/*
 * The same for bases: what uses one that was freed, what is left when it is freed, and pauses without an end.
 */
#include "misuse.h"

#include <event2/bufferevent.h>
#include "../../sanitizers.h"

/* ---------------------------------------------------------------- freed bases */

static void freed(void)
{
	begin();
	check(event_base_post(base, FIRST, count_post, NULL) == 0);
	loop();
	event_base_free(base);
}

static void post_to_freed(void)
{
	freed();
	check(event_base_post(base, FIRST, count_post, NULL) == -1 && errno == EINVAL);
	check(ran == 1);
	libevent_global_shutdown();
}

static void post_to_freed_with_priority(void)
{
	freed();
	check(event_base_post_priority(base, FIRST, 0, count_post, NULL) == -1 && errno == EINVAL);
	libevent_global_shutdown();
}

static void add_to_freed(void)
{
	begin();
	assign(nothing_cb, FIRST);
	event_base_free(base);
	check(event_add(&ev, &hour_tv) == -1 && errno == EINVAL);
	libevent_global_shutdown();
}

static void new_of_freed(void)
{
	freed();
	check(event_new(base, -1, 0, nothing_cb, NULL) == NULL);
	libevent_global_shutdown();
}

static void once_of_freed(void)
{
	freed();
	check(event_base_once(base, -1, EV_TIMEOUT, nothing_cb, NULL, NULL) == -1);
	libevent_global_shutdown();
}

static void free_of_freed(void)
{
	freed();
	event_base_free(base);
	libevent_global_shutdown();
}

static void event_after_its_base(void)
{
	struct event *e;

	begin();
	e = event_new(base, -1, 0, nothing_cb, NULL);
	check(e != NULL && event_set_color(e, FIRST) == 0);
	check(event_add(e, &hour_tv) == 0);
	event_base_free(base);
	check(event_del(e) == 0);
	base = base_new();
	check(event_base_set(base, e) == 0);
	check(event_add(e, &hour_tv) == 0);
	event_free(e);
	end();
}

static size_t blocks_num;

static void *count_malloc(size_t size)
{
	blocks_num++;
	return malloc(size);
}

static void count_free(void *p)
{
	blocks_num -= p != NULL;
	free(p);
}

static void *count_realloc(void *p, size_t size)
{
	blocks_num += p == NULL;
	return realloc(p, size);
}

/* Debug mode keeps some of them, and frees those, too. */
static void many_bases(void)
{
	unsigned i;

	event_set_mem_functions(count_malloc, count_realloc, count_free);
	begin();
	for (i = 0; i < 200; i++) {
		event_base_free(base);
		base = base_new();
	}
	end();
	check(blocks_num == 0);
}

/* ---------------------------------------------------------------- the end of a base */

static void posts_left(void)
{
	begin();
	check(event_base_post(base, FIRST, count_post, NULL) == 0);
	check(event_base_post(base, 0, count_post, NULL) == 0);
	end();
	check(ran == 0);
}

static void post_finalizer(struct event *e, void *arg)
{
	(void)e;
	(void)arg;
	check(event_base_post(base, FIRST, count_post, NULL) == 0);
}

static void post_while_it_is_freed(void)
{
	begin();
	assign(nothing_cb, FIRST);
	check(event_finalize(0, &ev, post_finalizer) == 0);
	end();
}

static void bev_post(struct bufferevent *bev, void *arg)
{
	(void)arg;
	check(bev == NULL);
	ran++;
}

static void posts_of_a_bufferevent_left(void)
{
	struct bufferevent *bev;

	begin();
	bev = bufferevent_socket_new(base, -1, 0);
	check(bev != NULL && bufferevent_set_color(bev, FIRST) == 0);
	check(bufferevent_post(bev, bev_post, NULL) == 0);
	bufferevent_free(bev);
	end();
	check(ran == 1);
}

static void free_post(void *arg)
{
	(void)arg;
	event_base_free(base);
	child_end(0);
}

static void free_in_a_callback(void)
{
	begin();
	check(event_base_post(base, 0, free_post, NULL) == 0);
	(void)event_base_loop(base, 0);
}

static void fork_post(void *arg)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (pid == 0) {
		if (arg != NULL)
			check(event_reinit(base) == 0);
		event_base_free(base);
		child_end(0);
	}
	check(waitpid(pid, &status, 0) == pid && status == 0);
}

static void free_in_a_callback_of_the_parent(void)
{
	if (HAS_TSAN && workers_num > 1)
		return;
	begin();
	check(event_base_post(base, FIRST, fork_post, NULL) == 0);
	check(event_base_post(base, FIRST, fork_post, &ran) == 0);
	loop();
	end();
}

static void end_with_the_warning(int severity, const char *msg)
{
	log_to_stderr(severity, msg);
	if (severity >= EVENT_LOG_WARN) {
		(void)fflush(stderr);
		child_end(0);
	}
}

static void *free_base(void *arg)
{
	(void)arg;
	sem_wait(&began);
	event_base_free(base);
	return NULL;
}

static void free_while_it_loops(void)
{
	pthread_t thread;

	begin();
	event_set_log_callback(end_with_the_warning);
	assign(wait_and_end_cb, 0);
	check(event_add(&ev, &zero_tv) == 0);
	check(pthread_create(&thread, NULL, free_base, NULL) == 0);
	(void)event_base_loop(base, 0);
}

/* ---------------------------------------------------------------- pauses */

static void pause_post(void *arg)
{
	sem_post(&began);
	check(event_base_pause(base) == 0);
	if (arg != NULL)
		check(event_base_resume(base) == 0);
	ran++;
}

/* Keeps the loop's thread, so that another worker runs pause_post. */
static void wait_post(void *arg)
{
	(void)arg;
	sem_wait(&began);
}

static void pause_in_a_callback(void *resumes)
{
	begin();
	check(event_base_post(base, FIRST, pause_post, resumes) == 0);
	if (workers_num > 1) {
		if (resumes == NULL)
			event_set_log_callback(end_with_the_warning);
		check(event_base_post(base, 0, wait_post, NULL) == 0);
	}
	check(event_base_post(base, FIRST, count_post, NULL) == 0);
	(void)event_base_loop(base, 0);
}

/* With one worker, the loop itself would wait: it ends. */
static void pause_without_resume(void)
{
	pause_in_a_callback(NULL);
	check(workers_num == 1 && ran == 1);
	check(event_base_resume(base) == 0);
	end();
}

static void pause_and_resume(void)
{
	pause_in_a_callback(&ran);
	check(ran == 2);
	end();
}

/* ---------------------------------------------------------------- */

int main(void)
{
	static const struct mistake mistakes[] = {
		{ post_to_freed, "event_base_post: event_base 0x" },
		{ post_to_freed_with_priority, "was freed before; end all that uses a base before event_base_free()" },
		{ add_to_freed, "event_add: event_base 0x" },
		{ new_of_freed, "event_assign: event_base 0x" },
		{ once_of_freed, "event_base_once: event_base 0x" },
		{ free_of_freed, "event_base_free: event_base 0x" },
		{ posts_left, "event_base_free: posts that never ran: 2, " },
		{ post_while_it_is_freed, "event_base_free: posts that never ran: 1, " },
		{ free_in_a_callback, "event_base_free: called in a callback of that event_base" },
		{ free_while_it_loops, "event_base_free: another thread runs the loop of that event_base" },
		{ pause_without_resume, "event_base_resume" }, /* two warnings: without workers, and with */
	};
	static void (*const allowed[])(void) = {
		event_after_its_base,
		many_bases,
		posts_of_a_bufferevent_left,
		free_in_a_callback_of_the_parent,
		pause_and_resume,
	};

	return try_all((struct tries){
		.mistakes = mistakes,
		.mistakes_num = sizeof(mistakes) / sizeof(mistakes[0]),
		.allowed = allowed,
		.allowed_num = sizeof(allowed) / sizeof(allowed[0]),
	});
}
