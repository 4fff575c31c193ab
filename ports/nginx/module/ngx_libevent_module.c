/*
 * nginx's event loop on a libevent event_base: `events { use libevent; }`. Events are
 * edge-triggered and told as by nginx's epoll module, on any libevent 2.1.
 *
 * With `libevent_workers N`, on libevent-smp, there is a second base, which has N workers: thread
 * tasks (ngx_thread_task_t) are posts on its colors. All of nginx stays in the loop of the
 * first, one turn for each call of process_events(). A task comes back through the list
 * `tasks_done`, which is emptied before and after each sleep. A loop that sleeps is woken by the
 * eventfd that nginx's thread pools use, too, unless the task's event may be delayed: that one only
 * waits for its client, whose next event takes it along.
 *
 * Loop:   L1 say in `wakes` which tasks wake it, L2 take the list, L3 sleep if it was empty.
 * Worker: W1 push the task, W2 look at `wakes`, W3 if that says so, swap it for NO_TASK and wake the loop.
 * L2 and W1 change one word, so one comes first. W1 first: L2 takes the task. L2 first: W1 reads
 * what L2 or a later push wrote, so W2 sees L1 or what came after it: a loop that was awake, and
 * will take the list before it sleeps, or NO_TASK of a worker that wakes it.
 * What nginx puts off for a task it notes (ngx_thread_tasks_wanted) in the loop's thread, so before
 * L1: from there on the end of every task wakes it.
 *
 * Rejected: one base for both. The loop's thread is then a worker, which takes a task whenever
 * it has nothing else to do, so the next light request waits for the rest of it.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_thread_pool.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#define EVENT_SMP_WEAK
#include <event2/smp.h>

#if !(NGX_THREADS)
#error "ngx_libevent_module needs nginx configured --with-threads"
#endif

enum { TASKS_NICE = 10 };

typedef struct {
	ngx_int_t workers;	/* 0: as many as CPUs; NGX_CONF_UNSET: none */
	ngx_int_t nice;		/* theirs, on top of nginx's */
} libevent_conf_t;

/* What is watched of a descriptor. */
typedef struct {
	struct event read;
	struct event write;
} watch_t;

/* A patched nginx has it: who runs thread tasks instead of the pools. */
extern ngx_int_t (*ngx_thread_task_color)(ngx_thread_task_t *task, ngx_uint_t color) __attribute__((weak));
extern ngx_uint_t ngx_thread_tasks_wanted __attribute__((weak));

extern ngx_module_t ngx_libevent_module;

static struct event_base *base;
static struct event_base *tasks_base;	/* NULL: no workers */
static pthread_t tasks_thread;	/* runs its loop */
static int tasks_nice;		/* of each thread of that base; set before they start */
static ngx_uint_t loop_flags;	/* NGX_UPDATE_TIME and NGX_POST_EVENTS, of process_events() */

static watch_t **watches;	/* by descriptor; made at the first use of one, and kept */
static ngx_uint_t watches_num;

static struct event timer_ev;	/* nginx's next timer; never later than that */
static ngx_msec_t timer_at;
static struct event resolution_ev;	/* of the directive timer_resolution */

static struct event *signal_evs[NSIG];
static struct sigaction signal_actions[NSIG];

static int notify_fd = -1;
static struct event notify_ev;
static ngx_event_t notify_event;

/*
 * A worker process that shuts down ends when all timers that are left may be cancelled. This one may
 * not be while tasks are away, for what waits for a task may have no timer of its own.
 */
enum { TASKS_TIMER_MS = 60000 };
static ngx_uint_t tasks_away;
static ngx_event_t tasks_timer;

/* Tasks that have run, the latest first. Any thread pushes, nginx's loop takes all. */
static ngx_thread_task_t *tasks_done;

/* The tasks whose end wakes the loop, which writes it; who wakes the loop writes NO_TASK. */
enum { NO_TASK, TASKS_NOT_DELAYED, EVERY_TASK };
static int wakes;

/* ---- time */

static void update_time(void)
{
	if ((loop_flags & NGX_UPDATE_TIME) || ngx_event_timer_alarm)
		ngx_time_update();
}

/* Arms the base's timer, unless it comes earlier anyway: then it is armed again. */
static void arm_timer(ngx_msec_t wait_ms)
{
	ngx_msec_t at = ngx_current_msec + wait_ms;
	struct timeval tv = { (time_t)(wait_ms / 1000), (suseconds_t)(wait_ms % 1000 * 1000) };

	if (wait_ms == NGX_TIMER_INFINITE)
		return;
	if (event_pending(&timer_ev, EV_TIMEOUT, NULL) && (ngx_msec_int_t)(at - timer_at) >= 0)
		return;

	timer_at = at;
	if (event_add(&timer_ev, &tv) < 0)
		ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, ngx_errno, "event_add(timer) failed");
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	update_time();
}

static void on_resolution(evutil_socket_t fd, short what, void *arg)
{
	ngx_event_timer_alarm = 1;
	on_timer(fd, what, arg);
	ngx_event_timer_alarm = 0;
}

/* ---- descriptors */

/*
 * libevent leaves EV_CLOSED out of an error's report. Who reads learns of the error anyway. But nginx
 * takes pending_eof for it while it does not read; and then it has no timer for reading.
 */
static ngx_uint_t is_peer_gone(const ngx_event_t *rev, int fd, short what)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };

	if (what & EV_CLOSED)
		return 1;
	if (rev->timer_set || rev->accept)
		return 0;
	return poll(&pfd, 1, 0) == 1;
}

static void handle(ngx_event_t *ev)
{
	ngx_queue_t *queue = ev->accept ? &ngx_posted_accept_events : &ngx_posted_events;

	if (loop_flags & NGX_POST_EVENTS) {
		ngx_post_event(ev, queue);
	} else {
		ev->handler(ev);
	}
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	ngx_event_t *rev = arg;

	update_time();
	ngx_log_debug2(NGX_LOG_DEBUG_EVENT, rev->log, 0, "libevent: fd:%d read ev:%04Xd", fd, what);
	if (is_peer_gone(rev, fd, what))
		rev->pending_eof = 1;
	rev->ready = 1;
	rev->available = -1;
	handle(rev);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	ngx_event_t *wev = arg;

	update_time();
	ngx_log_debug2(NGX_LOG_DEBUG_EVENT, wev->log, 0, "libevent: fd:%d write ev:%04Xd", fd, what);
	wev->ready = 1;
	wev->complete = 1;
	handle(wev);
}

/* Assigns an event, and adds it if it waits for a descriptor. */
static int start(struct event *ev, evutil_socket_t fd, short what, event_callback_fn fn, void *arg)
{
	if (event_assign(ev, base, fd, what, fn, arg) < 0)
		return -1;
	return what != 0 ? event_add(ev, NULL) : 0;
}

static watch_t *get_watch(const ngx_connection_t *c)
{
	const ngx_uint_t fd = (ngx_uint_t)c->fd;

	if (fd >= watches_num) {
		ngx_uint_t n = ngx_max(2 * watches_num, ngx_max(fd + 1, 64));
		watch_t **more = ngx_calloc(n * sizeof(*more), c->log);

		if (more == NULL)
			return NULL;
		if (watches != NULL)
			ngx_memcpy(more, watches, watches_num * sizeof(*more));
		ngx_free(watches);
		watches = more;
		watches_num = n;
	}
	if (watches[fd] == NULL)
		watches[fd] = ngx_calloc(sizeof(watch_t), c->log);
	return watches[fd];
}

/* NGX_EXCLUSIVE_EVENT has no counterpart: all processes wake up for a new connection. */
static ngx_int_t add_event(ngx_event_t *ev, ngx_int_t event, ngx_uint_t flags)
{
	ngx_connection_t *c = ev->data;
	watch_t *w = get_watch(c);
	const short edge = (flags & NGX_CLEAR_EVENT) ? EV_ET : 0;
	int r;

	if (w == NULL)
		return NGX_ERROR;
	if (event == NGX_READ_EVENT) {
		const short closed = edge ? EV_CLOSED : 0;

		r = start(&w->read, c->fd, (short)(EV_READ | EV_PERSIST | closed | edge), on_readable, ev);
	} else {
		r = start(&w->write, c->fd, (short)(EV_WRITE | EV_PERSIST | edge), on_writable, ev);
	}
	ngx_log_debug2(NGX_LOG_DEBUG_EVENT, ev->log, 0, "libevent add event: fd:%d ev:%04Xi", c->fd, event);
	if (r < 0) {
		ngx_log_error(NGX_LOG_ALERT, ev->log, ngx_errno, "event_add(%d) failed", c->fd);
		return NGX_ERROR;
	}
	ev->active = 1;
	return NGX_OK;
}

/* Also before a close (NGX_CLOSE_EVENT), for libevent forgets nothing by itself. */
static ngx_int_t del_event(ngx_event_t *ev, ngx_int_t event, ngx_uint_t flags)
{
	const ngx_connection_t *c = ev->data;

	(void)flags;
	ngx_log_debug2(NGX_LOG_DEBUG_EVENT, ev->log, 0, "libevent del event: fd:%d ev:%04Xi", c->fd, event);
	ev->active = 0;
	if (base == NULL)	/* nginx closes what it has after exit_process */
		return NGX_OK;
	if (event_del(event == NGX_READ_EVENT ? &watches[c->fd]->read : &watches[c->fd]->write) < 0) {
		ngx_log_error(NGX_LOG_ALERT, ev->log, ngx_errno, "event_del(%d) failed", c->fd);
		return NGX_ERROR;
	}
	return NGX_OK;
}

static ngx_int_t add_conn(ngx_connection_t *c)
{
	if (add_event(c->read, NGX_READ_EVENT, NGX_CLEAR_EVENT) != NGX_OK)
		return NGX_ERROR;
	if (add_event(c->write, NGX_WRITE_EVENT, NGX_CLEAR_EVENT) != NGX_OK) {
		(void)del_event(c->read, NGX_READ_EVENT, 0);
		return NGX_ERROR;
	}
	return NGX_OK;
}

static ngx_int_t del_conn(ngx_connection_t *c, ngx_uint_t flags)
{
	ngx_int_t rc = NGX_OK;

	if (c->read->active)
		rc = del_event(c->read, NGX_READ_EVENT, flags);
	if (c->write->active && del_event(c->write, NGX_WRITE_EVENT, flags) != NGX_OK)
		rc = NGX_ERROR;
	return rc;
}

/* ---- other threads: notifications of nginx's thread pools, and tasks on colors */

static int wake_loop(void)
{
	static const uint64_t one = 1;

	if (write(notify_fd, &one, sizeof(one)) == sizeof(one))
		return 0;
	ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, ngx_errno, "write() to eventfd %d failed", notify_fd);
	return -1;
}

static ngx_int_t notify(ngx_event_handler_pt handler)
{
	notify_event.data = handler;
	return wake_loop() < 0 ? NGX_ERROR : NGX_OK;
}

static void run_task(void *arg)
{
	ngx_thread_task_t *task = arg;
	ngx_thread_task_t *head = __atomic_load_n(&tasks_done, __ATOMIC_RELAXED);
	int least, who;

	task->handler(task->ctx, ngx_cycle->log);
	least = task->event.delayed ? EVERY_TASK : TASKS_NOT_DELAYED;

	do	/* W1; from here on the task is the loop's */
		task->next = head;
	while (!__atomic_compare_exchange_n(&tasks_done, &head, task, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));

	who = __atomic_load_n(&wakes, __ATOMIC_RELAXED);	/* W2; ordered by W1 */
	if (who >= least && __atomic_compare_exchange_n(&wakes, &who, NO_TASK, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		(void)wake_loop();
}

/* Those that have run, in the order in which they ended. */
static ngx_thread_task_t *take_tasks(void)
{
	ngx_thread_task_t *task, *next, *tasks = NULL;

	for (task = __atomic_exchange_n(&tasks_done, NULL, __ATOMIC_ACQ_REL); task != NULL; task = next) {	/* L2 */
		next = task->next;
		task->next = tasks;
		tasks = task;
	}
	return tasks;
}

/* Runs the events of those that have run. True: there were some. */
static int finish_tasks(void)
{
	ngx_thread_task_t *task, *next;
	ngx_thread_task_t *const first = take_tasks();

	for (task = first; task != NULL; task = next) {
		next = task->next;
		task->event.complete = 1;
		task->event.active = 0;
		tasks_timer.cancelable = --tasks_away == 0;
		task->event.handler(&task->event);
	}
	return first != NULL;
}

/* What they left to do may be timers or posted events, of which this turn does not know. */
static int finish_tasks_before_sleep(void)
{
	const int who = ngx_thread_tasks_wanted != 0 ? EVERY_TASK : TASKS_NOT_DELAYED;

	__atomic_store_n(&wakes, who, __ATOMIC_RELAXED);	/* L1; meets W2 */
	return finish_tasks();
}

static void on_notify(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;
	ngx_event_handler_pt handler = notify_event.data;

	(void)what;
	(void)arg;
	update_time();
	if (read(fd, &count, sizeof(count)) < 0 && ngx_errno != NGX_EAGAIN)
		ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, ngx_errno, "read() eventfd %d failed", fd);
	if (handler != NULL)
		handler(&notify_event);
}

static void on_tasks_timer(ngx_event_t *ev)
{
	if (tasks_away != 0)
		ngx_add_timer(ev, TASKS_TIMER_MS);
}

static void init_tasks_timer(ngx_log_t *log)
{
	static ngx_connection_t none = { .fd = -1 };

	tasks_timer.data = &none;
	tasks_timer.log = log;
	tasks_timer.handler = on_tasks_timer;
}

static ngx_int_t color_task(ngx_thread_task_t *task, ngx_uint_t color)
{
	task->event.active = 1;		/* before, for the task may change its event */
	if (event_base_post(tasks_base, (ev_uint32_t)color, run_task, task) < 0) {
		task->event.active = 0;
		return NGX_DECLINED;
	}
	tasks_away++;
	tasks_timer.cancelable = 0;
	if (!tasks_timer.timer_set)
		ngx_add_timer(&tasks_timer, TASKS_TIMER_MS);
	return NGX_OK;
}

/*
 * Nice is a thread's on Linux: where CPUs are short, nginx's loop goes ahead of tasks. A thread inherits the
 * niceness of the one that starts it, which may be a worker: so all of them get the same number, and add nothing
 * to their own. What is beyond the kernel's limit is that limit.
 */
static void yield_to_loop(struct event_base *of, unsigned worker, void *arg)
{
	(void)of;
	(void)worker;
	(void)arg;
	if (setpriority(PRIO_PROCESS, 0, tasks_nice) < 0)
		ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, ngx_errno, "setpriority() of a worker failed");
}

/*
 * The loop's thread sleeps and wakes up a few times for each handshake, and the kernel tends to wake it on the CPU of
 * the client that has sent something. There it would interrupt the client, while the workers' CPU becomes idle.
 * Under SCHED_BATCH it keeps its share of the CPUs, and interrupts nobody.
 */
static void wake_up_gently(ngx_log_t *log)
{
	static const struct sched_param none = { .sched_priority = 0 };

	if (sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_BATCH, &none) < 0)
		ngx_log_error(NGX_LOG_WARN, log, ngx_errno, "sched_setscheduler(SCHED_BATCH) failed");
}

static void *run_tasks(void *arg)
{
	yield_to_loop(arg, 0, NULL);
	(void)event_base_loop(arg, EVLOOP_NO_EXIT_ON_EMPTY);
	return NULL;
}

static void nothing(void *arg)
{
	(void)arg;
}

static void stop_tasks(void *arg)
{
	(void)event_base_loopbreak(arg);
}

/* ---- the loop */

static ngx_int_t process_events(ngx_cycle_t *cycle, ngx_msec_t wait_ms, ngx_uint_t flags)
{
	int how = EVLOOP_NO_EXIT_ON_EMPTY;

	loop_flags = flags;
	if (wait_ms == 0 || (tasks_base != NULL && finish_tasks_before_sleep())) {
		how |= EVLOOP_NONBLOCK;
	} else {
		arm_timer(wait_ms);
		how |= EVLOOP_ONCE;
	}

	if (event_base_loop(base, how) < 0) {
		ngx_log_error(NGX_LOG_ALERT, cycle->log, ngx_errno, "event_base_loop() failed");
		return NGX_ERROR;
	}
	update_time();
	if (tasks_base != NULL) {
		__atomic_store_n(&wakes, NO_TASK, __ATOMIC_RELAXED);
		(void)finish_tasks();
	}
	return NGX_OK;
}

/* nginx's handler, in whose place libevent's is, notes what nginx's cycle shall do. */
static void on_signal(evutil_socket_t signo, short what, void *arg)
{
	(void)what;
	(void)arg;
	signal_actions[signo].sa_sigaction(signo, NULL, NULL);
}

/* Signals that nginx handles become events: a handler alone does not end a turn of libevent's. */
static int start_signals(void)
{
	int i;

	for (i = 1; i < NSIG; i++) {
		if (sigaction(i, NULL, &signal_actions[i]) < 0 || !(signal_actions[i].sa_flags & SA_SIGINFO) ||
		    signal_actions[i].sa_handler == SIG_DFL || signal_actions[i].sa_handler == SIG_IGN)
			continue;
		signal_evs[i] = evsignal_new(base, i, on_signal, NULL);
		if (signal_evs[i] == NULL || event_add(signal_evs[i], NULL) < 0)
			return -1;
	}
	return 0;
}

static void on_log(int severity, const char *message)
{
	static const ngx_uint_t levels[] = { NGX_LOG_DEBUG, NGX_LOG_INFO, NGX_LOG_WARN, NGX_LOG_ALERT };

	ngx_log_error(levels[severity & 3], ngx_cycle->log, 0, "libevent: %s", message);
}

static struct event_base *make_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *made = NULL;

	if (cfg == NULL)
		return NULL;
	if (event_config_require_features(cfg, EV_FEATURE_ET | EV_FEATURE_O1 | EV_FEATURE_EARLY_CLOSE) == 0 &&
	    event_config_set_flag(cfg, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0)
		made = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return made;
}

/*
 * The base of tasks and the thread that runs its loop; no signal is for its threads. A base starts its
 * workers when it has work: it gets some now, for later there may be no memory or descriptors for them.
 */
static int start_tasks(unsigned workers)
{
	struct event_config *cfg = event_config_new();
	sigset_t all, before;
	int r;

	if (cfg == NULL)
		return -1;
	if (event_config_set_workers(cfg, workers, yield_to_loop, NULL) == 0)
		tasks_base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (tasks_base == NULL)
		return -1;
	if (event_base_post(tasks_base, 1, nothing, NULL) < 0)
		goto free_base;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&tasks_thread, NULL, run_tasks, tasks_base);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		goto free_base;
	ngx_thread_task_color = color_task;
	return 0;

free_base:
	event_base_free(tasks_base);
	tasks_base = NULL;
	return -1;
}

/* Before what tasks use goes. They end first that have begun. */
static void end_tasks(void)
{
	ngx_thread_task_color = NULL;
	if (event_base_post(tasks_base, 1, stop_tasks, tasks_base) < 0)
		stop_tasks(tasks_base);		/* no memory: a loop that only begins now would clear it */
	(void)pthread_join(tasks_thread, NULL);
	event_base_free(tasks_base);
	tasks_base = NULL;
}

static int start_resolution(ngx_msec_t resolution_ms)
{
	struct timeval tv = { (time_t)(resolution_ms / 1000), (suseconds_t)(resolution_ms % 1000 * 1000) };

	if (event_assign(&resolution_ev, base, -1, EV_PERSIST, on_resolution, NULL) < 0)
		return -1;
	return event_add(&resolution_ev, &tv);
}

static int open_base(const libevent_conf_t *conf, ngx_msec_t resolution_ms, ngx_log_t *log)
{
	event_set_log_callback(on_log);
	base = make_base();
	if (base == NULL)
		return -1;

	notify_event.log = log;
	notify_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (notify_fd < 0 || start(&notify_ev, notify_fd, EV_READ | EV_PERSIST, on_notify, NULL) < 0)
		return -1;
	if (start(&timer_ev, -1, 0, on_timer, NULL) < 0)
		return -1;
	if (start_signals() < 0 || (resolution_ms != 0 && start_resolution(resolution_ms) < 0))
		return -1;

	if (conf->workers == NGX_CONF_UNSET)
		return 0;
	tasks_nice = getpriority(PRIO_PROCESS, 0) + (int)conf->nice;
	init_tasks_timer(log);
	if (start_tasks((unsigned)conf->workers) < 0)
		return -1;
	wake_up_gently(log);	/* only now: threads inherit the policy */
	return 0;
}

/* exit_process, and actions.done */
static void done(ngx_cycle_t *cycle)
{
	ngx_uint_t i;

	(void)cycle;
	if (base == NULL)
		return;
	for (i = 0; i < NSIG; i++) {
		if (signal_evs[i] != NULL)
			event_free(signal_evs[i]);
		signal_evs[i] = NULL;
	}
	if (tasks_base != NULL)
		end_tasks();
	event_base_free(base);
	base = NULL;
	(void)close(notify_fd);

	for (i = 0; i < watches_num; i++)
		ngx_free(watches[i]);
	ngx_free(watches);
	watches = NULL;
	watches_num = 0;
}

static ngx_int_t init(ngx_cycle_t *cycle, ngx_msec_t resolution_ms);

/* ---- configuration */

static void *create_conf(ngx_cycle_t *cycle)
{
	libevent_conf_t *conf = ngx_palloc(cycle->pool, sizeof(*conf));

	if (conf == NULL)
		return NULL;
	conf->workers = NGX_CONF_UNSET;
	conf->nice = TASKS_NICE;
	return conf;
}

static char *init_conf(ngx_cycle_t *cycle, void *arg)
{
	const libevent_conf_t *conf = arg;

	if (conf->workers == NGX_CONF_UNSET)
		return NGX_CONF_OK;
	if (&ngx_thread_task_color == NULL) {
		ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
			      "\"libevent_workers\" needs an nginx with libevent-smp's patches");
		return NGX_CONF_ERROR;
	}
	if (event_base_post == NULL) {
		ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
			      "\"libevent_workers\" needs libevent-smp: the libevent in use (%s) has no workers",
			      event_get_version());
		return NGX_CONF_ERROR;
	}
	return NGX_CONF_OK;
}

/* nice=N */
static char *set_nice(libevent_conf_t *conf, const ngx_str_t *value)
{
	static const ngx_str_t key = ngx_string("nice=");

	if (value->len <= key.len || ngx_strncmp(value->data, key.data, key.len) != 0)
		return "wants \"nice=\" and a number up to 19 after the number of workers";
	conf->nice = ngx_atoi(value->data + key.len, value->len - key.len);
	if (conf->nice == NGX_ERROR || conf->nice > 19)
		return "wants a niceness of 0 to 19";
	return NGX_CONF_OK;
}

/* libevent_workers N | auto [nice=N]; 0: none, as without the directive */
static char *set_workers(ngx_conf_t *cf, ngx_command_t *cmd, void *arg)
{
	libevent_conf_t *conf = arg;
	const ngx_str_t *value = cf->args->elts;
	ngx_int_t n;

	(void)cmd;
	if (conf->workers != NGX_CONF_UNSET)
		return "is duplicate";
	if (ngx_strcmp(value[1].data, "auto") == 0) {
		conf->workers = 0;
		return cf->args->nelts == 3 ? set_nice(conf, &value[2]) : NGX_CONF_OK;
	}
	n = ngx_atoi(value[1].data, value[1].len);
	if (n == NGX_ERROR || n > 1024)
		return "wants a number up to 1024, or \"auto\"";
	conf->workers = n == 0 ? NGX_CONF_UNSET : n;
	return cf->args->nelts == 3 ? set_nice(conf, &value[2]) : NGX_CONF_OK;
}

static ngx_command_t commands[] = {
	{ngx_string("libevent_workers"), NGX_EVENT_CONF | NGX_CONF_TAKE12, set_workers, 0, 0, NULL},
	ngx_null_command,
};

static ngx_str_t name = ngx_string("libevent");

static ngx_event_module_t context = {
	.name = &name,
	.create_conf = create_conf,
	.init_conf = init_conf,
	.actions = { add_event, del_event, add_event, del_event, add_conn, del_conn,
		     notify, process_events, init, done },
};

ngx_module_t ngx_libevent_module = {
	NGX_MODULE_V1,
	.ctx = &context,
	.commands = commands,
	.type = NGX_EVENT_MODULE,
	.exit_process = done,
};

/* A process that is its own master keeps its base over a reload. */
static ngx_int_t init(ngx_cycle_t *cycle, ngx_msec_t resolution_ms)
{
	const libevent_conf_t *conf = ngx_event_get_conf(cycle->conf_ctx, ngx_libevent_module);

	if (base == NULL && open_base(conf, resolution_ms, cycle->log) < 0) {
		ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_errno,
			      "cannot set up an event base of libevent %s on epoll", event_get_version());
		return NGX_ERROR;
	}
	ngx_use_epoll_rdhup = 1;
	ngx_io = ngx_os_io;
	ngx_event_actions = context.actions;
	ngx_event_flags = NGX_USE_CLEAR_EVENT | NGX_USE_GREEDY_EVENT | NGX_USE_EPOLL_EVENT | NGX_USE_TIMER_EVENT;
	return NGX_OK;
}
