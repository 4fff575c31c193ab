
/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 *
 * nginx's event loop on a libevent event_base: `events { use libevent; }`. Events are
 * edge-triggered and told as by the epoll module. It runs on any libevent 2.1.
 *
 * With `libevent_workers N`, on libevent-smp, the base has N threads. All of nginx stays on
 * color 0, which is the thread that runs the loop; thread tasks (ngx_thread_task_t) run on
 * colors of their own, so on any of the N.
 *
 * Without workers, a call of process_events() is one turn of the loop, as nginx means it. With
 * workers the loop must go on while tasks run, for it ends only when they have: so it is
 * entered once, and what nginx does between two turns is done after each callback. It ends for
 * what nginx's own cycle has to look at: signals, commands of the master, the end.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#if (NGX_THREADS)
#include <ngx_thread_pool.h>
#endif

#include <poll.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#define EVENT_SMP_WEAK
#include <event2/smp.h>


#define NGX_LIBEVENT_AUTO       0

/* Priorities of the base: nginx's own callbacks go ahead of tasks. */
#define NGX_LIBEVENT_URGENT     0
#define NGX_LIBEVENT_TASKS      1
#define NGX_LIBEVENT_PRIORITIES 2


typedef struct {
    ngx_int_t           workers;
} ngx_libevent_conf_t;


/* What is watched of a descriptor. */
typedef struct {
    struct event        read;
    struct event        write;
} ngx_libevent_fd_t;


static ngx_int_t ngx_libevent_init(ngx_cycle_t *cycle, ngx_msec_t timer);
static void ngx_libevent_done(ngx_cycle_t *cycle);
static ngx_int_t ngx_libevent_add_event(ngx_event_t *ev, ngx_int_t event,
    ngx_uint_t flags);
static ngx_int_t ngx_libevent_del_event(ngx_event_t *ev, ngx_int_t event,
    ngx_uint_t flags);
static ngx_int_t ngx_libevent_add_connection(ngx_connection_t *c);
static ngx_int_t ngx_libevent_del_connection(ngx_connection_t *c,
    ngx_uint_t flags);
static ngx_int_t ngx_libevent_notify(ngx_event_handler_pt handler);
static ngx_int_t ngx_libevent_process_events(ngx_cycle_t *cycle,
    ngx_msec_t timer, ngx_uint_t flags);

static void *ngx_libevent_create_conf(ngx_cycle_t *cycle);
static char *ngx_libevent_init_conf(ngx_cycle_t *cycle, void *conf);
static char *ngx_libevent_set_workers(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);


static struct event_base   *ngx_libevent_base;

/* by descriptor; an entry is made at its first use, and stays */
static ngx_libevent_fd_t  **ngx_libevent_fds;
static ngx_uint_t           ngx_libevent_fds_n;

static ngx_uint_t           ngx_libevent_flags;      /* of process_events() */
static ngx_uint_t           ngx_libevent_colored;    /* there are workers */

/* nginx's next timer, as far as the base knows: never later than that */
static struct event         ngx_libevent_timer;
static ngx_msec_t           ngx_libevent_timer_at;

static struct event         ngx_libevent_resolution; /* of timer_resolution */

static struct event        *ngx_libevent_signals[NSIG];
static struct sigaction     ngx_libevent_handlers[NSIG];

static int                  ngx_libevent_notify_fd = -1;
static struct event         ngx_libevent_notify_ev;
static ngx_event_t          ngx_libevent_notify_event;

#if (NGX_THREADS)

/* a patched nginx has it: who runs thread tasks instead of the pools */
extern ngx_int_t  (*ngx_thread_task_color)(ngx_thread_task_t *task,
    ngx_uint_t color) __attribute__((weak));

/* tasks that have been run, the latest first; from any thread */
static ngx_thread_task_t   *ngx_libevent_tasks;
static struct event         ngx_libevent_tasks_ev;

#endif

static ngx_str_t  ngx_libevent_name = ngx_string("libevent");


static ngx_command_t  ngx_libevent_commands[] = {

    { ngx_string("libevent_workers"),
      NGX_EVENT_CONF|NGX_CONF_TAKE1,
      ngx_libevent_set_workers,
      0,
      0,
      NULL },

      ngx_null_command
};


static ngx_event_module_t  ngx_libevent_module_ctx = {
    &ngx_libevent_name,
    ngx_libevent_create_conf,            /* create configuration */
    ngx_libevent_init_conf,              /* init configuration */

    {
        ngx_libevent_add_event,          /* add an event */
        ngx_libevent_del_event,          /* delete an event */
        ngx_libevent_add_event,          /* enable an event */
        ngx_libevent_del_event,          /* disable an event */
        ngx_libevent_add_connection,     /* add an connection */
        ngx_libevent_del_connection,     /* delete an connection */
        ngx_libevent_notify,             /* trigger a notify */
        ngx_libevent_process_events,     /* process the events */
        ngx_libevent_init,               /* init the events */
        ngx_libevent_done,               /* done the events */
    }
};


ngx_module_t  ngx_libevent_module = {
    NGX_MODULE_V1,
    &ngx_libevent_module_ctx,            /* module context */
    ngx_libevent_commands,               /* module directives */
    NGX_EVENT_MODULE,                    /* module type */
    NULL,                                /* init master */
    NULL,                                /* init module */
    NULL,                                /* init process */
    NULL,                                /* init thread */
    NULL,                                /* exit thread */
    ngx_libevent_done,                   /* exit process */
    NULL,                                /* exit master */
    NGX_MODULE_V1_PADDING
};


/* Arms the base's timer, unless it comes earlier anyway: then it is armed again. */
static void
ngx_libevent_arm(ngx_cycle_t *cycle, ngx_msec_t timer)
{
    ngx_msec_t      at;
    struct timeval  tv;

    if (timer == NGX_TIMER_INFINITE) {
        return;
    }

    at = ngx_current_msec + timer;

    if (event_pending(&ngx_libevent_timer, EV_TIMEOUT, NULL)
        && (ngx_msec_int_t) (at - ngx_libevent_timer_at) >= 0)
    {
        return;
    }

    tv.tv_sec = timer / 1000;
    tv.tv_usec = (timer % 1000) * 1000;

    ngx_libevent_timer_at = at;

    if (event_add(&ngx_libevent_timer, &tv) == -1) {
        ngx_log_error(NGX_LOG_ALERT, cycle->log, ngx_errno,
                      "event_add(timer) failed");
    }
}


/*
 * The end of each callback. With workers, what ngx_process_events_and_timers() does after and
 * before a look at the events, unless that has to do it itself.
 */
static void
ngx_libevent_turn(void)
{
    ngx_cycle_t  *cycle = (ngx_cycle_t *) ngx_cycle;

    if (!ngx_libevent_colored) {
        return;
    }

    if (ngx_use_accept_mutex) {
        event_base_loopbreak(ngx_libevent_base);
        return;
    }

    ngx_event_process_posted(cycle, &ngx_posted_accept_events);
    ngx_event_expire_timers();
    ngx_event_process_posted(cycle, &ngx_posted_events);

    if (ngx_terminate || ngx_quit || ngx_reopen || ngx_exiting) {
        event_base_loopbreak(ngx_libevent_base);
        return;
    }

    if (!ngx_queue_empty(&ngx_posted_next_events)) {
        ngx_event_move_posted_next(cycle);
        ngx_libevent_arm(cycle, 0);
        return;
    }

    ngx_libevent_arm(cycle, ngx_event_find_timer());
}


static ngx_inline void
ngx_libevent_update_time(void)
{
    if (ngx_libevent_flags & NGX_UPDATE_TIME || ngx_event_timer_alarm) {
        ngx_time_update();
    }
}


/*
 * libevent leaves EV_CLOSED out of an error's report. Nobody notices who reads, but nginx takes
 * the word of the event for it while it reads nothing, which is when it sets no timer.
 */
static ngx_uint_t
ngx_libevent_peer_closed(ngx_event_t *rev, short what)
{
    struct pollfd     pfd;
    ngx_connection_t  *c;

    if (what & EV_CLOSED) {
        return 1;
    }

    if (rev->timer_set || rev->accept) {
        return 0;
    }

    c = rev->data;

    pfd.fd = c->fd;
    pfd.events = POLLRDHUP;
    pfd.revents = 0;

    return poll(&pfd, 1, 0) == 1;
}


static void
ngx_libevent_handle(ngx_event_t *ev)
{
    if (ngx_libevent_flags & NGX_POST_EVENTS) {
        ngx_post_event(ev, ev->accept ? &ngx_posted_accept_events
                                      : &ngx_posted_events);
    } else {
        ev->handler(ev);
    }
}


static void
ngx_libevent_read(evutil_socket_t fd, short what, void *data)
{
    ngx_event_t  *rev = data;

    ngx_libevent_update_time();

    ngx_log_debug3(NGX_LOG_DEBUG_EVENT, rev->log, 0,
                   "libevent: fd:%d ev:%04Xd d:%p", fd, what, rev);

    if (ngx_libevent_peer_closed(rev, what)) {
        rev->pending_eof = 1;
    }

    rev->ready = 1;
    rev->available = -1;

    ngx_libevent_handle(rev);
    ngx_libevent_turn();
}


static void
ngx_libevent_write(evutil_socket_t fd, short what, void *data)
{
    ngx_event_t  *wev = data;

    ngx_libevent_update_time();

    ngx_log_debug3(NGX_LOG_DEBUG_EVENT, wev->log, 0,
                   "libevent: fd:%d ev:%04Xd d:%p", fd, what, wev);

    wev->ready = 1;
#if (NGX_THREADS)
    wev->complete = 1;
#endif

    ngx_libevent_handle(wev);
    ngx_libevent_turn();
}


static void
ngx_libevent_timer_handler(evutil_socket_t fd, short what, void *data)
{
    ngx_libevent_update_time();
    ngx_libevent_turn();
}


static void
ngx_libevent_resolution_handler(evutil_socket_t fd, short what, void *data)
{
    ngx_event_timer_alarm = 1;
    ngx_libevent_update_time();
    ngx_event_timer_alarm = 0;

    ngx_libevent_turn();
}


/* nginx's handler, which libevent's has taken the place of, notes what the cycle shall do. */
static void
ngx_libevent_signal(evutil_socket_t signo, short what, void *data)
{
    ngx_libevent_handlers[signo].sa_sigaction(signo, NULL, NULL);
    ngx_libevent_update_time();

    if (ngx_libevent_colored) {
        event_base_loopbreak(ngx_libevent_base);
    }
}


static void
ngx_libevent_notified(evutil_socket_t fd, short what, void *data)
{
    ssize_t               n;
    uint64_t              count;
    ngx_event_handler_pt  handler;

    ngx_libevent_update_time();

    n = read(fd, &count, sizeof(uint64_t));

    if (n == -1 && ngx_errno != NGX_EAGAIN) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, ngx_errno,
                      "read() eventfd %d failed", fd);
    }

    handler = ngx_libevent_notify_event.data;
    handler(&ngx_libevent_notify_event);

    ngx_libevent_turn();
}


static ngx_int_t
ngx_libevent_notify(ngx_event_handler_pt handler)
{
    static uint64_t  inc = 1;

    ngx_libevent_notify_event.data = handler;

    if (write(ngx_libevent_notify_fd, &inc, sizeof(uint64_t))
        != sizeof(uint64_t))
    {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, ngx_errno,
                      "write() to eventfd %d failed", ngx_libevent_notify_fd);
        return NGX_ERROR;
    }

    return NGX_OK;
}


#if (NGX_THREADS)

static void
ngx_libevent_task_run(void *data)
{
    ngx_thread_task_t  *task = data;
    ngx_thread_task_t  *head;

    task->handler(task->ctx, ngx_cycle->log);

    head = __atomic_load_n(&ngx_libevent_tasks, __ATOMIC_RELAXED);

    do {
        task->next = head;
    } while (!__atomic_compare_exchange_n(&ngx_libevent_tasks, &head, task, 1,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));

    /* whoever put the one before woke the loop, which takes all that is there */

    if (head == NULL) {
        event_active(&ngx_libevent_tasks_ev, EV_TIMEOUT, 0);
    }
}


static void
ngx_libevent_tasks_done(evutil_socket_t fd, short what, void *data)
{
    ngx_event_t        *event;
    ngx_thread_task_t  *task, *next, *tasks;

    ngx_libevent_update_time();

    next = __atomic_exchange_n(&ngx_libevent_tasks, NULL, __ATOMIC_ACQUIRE);

    for (tasks = NULL; next; /* void */) {
        task = next;
        next = task->next;
        task->next = tasks;
        tasks = task;
    }

    while (tasks) {
        task = tasks;
        tasks = task->next;

        event = &task->event;
        event->complete = 1;
        event->active = 0;
        event->handler(event);
    }

    ngx_libevent_turn();
}


/* Runs a task on a color; NGX_DECLINED: it cannot now, the caller does it itself. */
static ngx_int_t
ngx_libevent_task_color(ngx_thread_task_t *task, ngx_uint_t color)
{
    int  priority;

    /* alone, color 0 could keep tasks waiting for as long as it is busy */

    priority = event_base_get_workers(ngx_libevent_base) > 1
               ? NGX_LIBEVENT_TASKS : NGX_LIBEVENT_URGENT;

    if (event_base_post_priority(ngx_libevent_base, color, priority,
                                 ngx_libevent_task_run, task)
        == -1)
    {
        return NGX_DECLINED;
    }

    task->event.active = 1;

    return NGX_OK;
}

#endif


static ngx_int_t
ngx_libevent_watch(struct event *ev, evutil_socket_t fd, short what,
    event_callback_fn handler, void *data)
{
    if (event_assign(ev, ngx_libevent_base, fd, what, handler, data) == -1
        || event_priority_set(ev, NGX_LIBEVENT_URGENT) == -1)
    {
        return NGX_ERROR;
    }

    if (what && event_add(ev, NULL) == -1) {
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_libevent_fd_t *
ngx_libevent_get_fd(ngx_connection_t *c)
{
    ngx_uint_t           n;
    ngx_libevent_fd_t  **fds;

    if ((ngx_uint_t) c->fd >= ngx_libevent_fds_n) {
        n = ngx_max(2 * ngx_libevent_fds_n, ngx_max((ngx_uint_t) c->fd + 1, 64));

        fds = ngx_calloc(n * sizeof(ngx_libevent_fd_t *), c->log);
        if (fds == NULL) {
            return NULL;
        }

        if (ngx_libevent_fds) {
            ngx_memcpy(fds, ngx_libevent_fds,
                       ngx_libevent_fds_n * sizeof(ngx_libevent_fd_t *));
            ngx_free(ngx_libevent_fds);
        }

        ngx_libevent_fds = fds;
        ngx_libevent_fds_n = n;
    }

    if (ngx_libevent_fds[c->fd] == NULL) {
        ngx_libevent_fds[c->fd] = ngx_calloc(sizeof(ngx_libevent_fd_t), c->log);
    }

    return ngx_libevent_fds[c->fd];
}


/* NGX_EXCLUSIVE_EVENT has no counterpart: all processes wake for a new connection. */
static ngx_int_t
ngx_libevent_add_event(ngx_event_t *ev, ngx_int_t event, ngx_uint_t flags)
{
    short               et;
    ngx_int_t           rc;
    ngx_connection_t   *c;
    ngx_libevent_fd_t  *e;

    c = ev->data;

    e = ngx_libevent_get_fd(c);
    if (e == NULL) {
        return NGX_ERROR;
    }

    et = (flags & NGX_CLEAR_EVENT) ? EV_ET : 0;

    if (event == NGX_READ_EVENT) {
        rc = ngx_libevent_watch(&e->read, c->fd,
                                EV_READ|(et ? EV_CLOSED : 0)|EV_PERSIST|et,
                                ngx_libevent_read, ev);
    } else {
        rc = ngx_libevent_watch(&e->write, c->fd, EV_WRITE|EV_PERSIST|et,
                                ngx_libevent_write, ev);
    }

    ngx_log_debug3(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "libevent add event: fd:%d ev:%i fl:%08Xui",
                   c->fd, event, flags);

    if (rc != NGX_OK) {
        ngx_log_error(NGX_LOG_ALERT, ev->log, ngx_errno,
                      "event_add(%d) failed", c->fd);
        return NGX_ERROR;
    }

    ev->active = 1;

    return NGX_OK;
}


/* Also before a close, for libevent forgets nothing by itself. */
static ngx_int_t
ngx_libevent_del_event(ngx_event_t *ev, ngx_int_t event, ngx_uint_t flags)
{
    ngx_connection_t   *c;
    ngx_libevent_fd_t  *e;

    /* after the end of the base, modules still close what they have */

    if (ngx_libevent_base == NULL) {
        ev->active = 0;
        return NGX_OK;
    }

    c = ev->data;
    e = ngx_libevent_fds[c->fd];

    ngx_log_debug2(NGX_LOG_DEBUG_EVENT, ev->log, 0,
                   "libevent del event: fd:%d ev:%i", c->fd, event);

    if (event_del(event == NGX_READ_EVENT ? &e->read : &e->write) == -1) {
        ngx_log_error(NGX_LOG_ALERT, ev->log, ngx_errno,
                      "event_del(%d) failed", c->fd);
        return NGX_ERROR;
    }

    ev->active = 0;

    return NGX_OK;
}


static ngx_int_t
ngx_libevent_add_connection(ngx_connection_t *c)
{
    if (ngx_libevent_add_event(c->read, NGX_READ_EVENT, NGX_CLEAR_EVENT)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_libevent_add_event(c->write, NGX_WRITE_EVENT, NGX_CLEAR_EVENT)
        != NGX_OK)
    {
        (void) ngx_libevent_del_event(c->read, NGX_READ_EVENT, 0);
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_libevent_del_connection(ngx_connection_t *c, ngx_uint_t flags)
{
    ngx_int_t  rc;

    rc = NGX_OK;

    if (c->read->active) {
        rc = ngx_libevent_del_event(c->read, NGX_READ_EVENT, flags);
    }

    if (c->write->active
        && ngx_libevent_del_event(c->write, NGX_WRITE_EVENT, flags) != NGX_OK)
    {
        rc = NGX_ERROR;
    }

    return rc;
}


static ngx_int_t
ngx_libevent_process_events(ngx_cycle_t *cycle, ngx_msec_t timer,
    ngx_uint_t flags)
{
    int  how;

    ngx_log_debug1(NGX_LOG_DEBUG_EVENT, cycle->log, 0,
                   "libevent timer: %M", timer);

    ngx_libevent_flags = flags;
    how = EVLOOP_NO_EXIT_ON_EMPTY;

    if (timer == 0) {
        how |= EVLOOP_NONBLOCK;

    } else {
        ngx_libevent_arm(cycle, timer);

        if (!ngx_libevent_colored) {
            how |= EVLOOP_ONCE;
        }
    }

    if (event_base_loop(ngx_libevent_base, how) == -1) {
        ngx_log_error(NGX_LOG_ALERT, cycle->log, ngx_errno,
                      "event_base_loop() failed");
        return NGX_ERROR;
    }

    ngx_libevent_update_time();

    return NGX_OK;
}


static void
ngx_libevent_log(int severity, const char *message)
{
    static const ngx_uint_t  levels[] = {
        NGX_LOG_DEBUG, NGX_LOG_INFO, NGX_LOG_WARN, NGX_LOG_ALERT
    };

    ngx_log_error(levels[severity & 3], ngx_cycle->log, 0,
                  "libevent: %s", message);
}


/* Signals that nginx handles become events: a handler of its own would not end the loop. */
static ngx_int_t
ngx_libevent_init_signals(void)
{
    int               signo;
    struct event     *ev;
    struct sigaction *sa;

    for (signo = 1; signo < NSIG; signo++) {
        sa = &ngx_libevent_handlers[signo];

        if (sigaction(signo, NULL, sa) == -1 || !(sa->sa_flags & SA_SIGINFO)) {
            continue;
        }

        ev = evsignal_new(ngx_libevent_base, signo, ngx_libevent_signal, NULL);
        if (ev == NULL) {
            return NGX_ERROR;
        }

        ngx_libevent_signals[signo] = ev;

        if (event_priority_set(ev, NGX_LIBEVENT_URGENT) == -1
            || event_add(ev, NULL) == -1)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static struct event_base *
ngx_libevent_base_new(ngx_libevent_conf_t *lcf)
{
    struct event_base    *base;
    struct event_config  *cfg;

    cfg = event_config_new();
    if (cfg == NULL) {
        return NULL;
    }

    base = NULL;

    if (event_config_require_features(cfg, EV_FEATURE_ET|EV_FEATURE_O1
                                           |EV_FEATURE_EARLY_CLOSE) == -1
        || event_config_set_flag(cfg, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST)
           == -1)
    {
        goto done;
    }

    if (lcf->workers != NGX_CONF_UNSET
        && event_config_set_workers(cfg, lcf->workers, NULL, NULL) == -1)
    {
        goto done;
    }

    base = event_base_new_with_config(cfg);

    if (base && event_base_priority_init(base, NGX_LIBEVENT_PRIORITIES) == -1) {
        event_base_free(base);
        base = NULL;
    }

done:

    event_config_free(cfg);

    return base;
}


static ngx_int_t
ngx_libevent_init_base(ngx_cycle_t *cycle, ngx_msec_t resolution)
{
    struct timeval        tv;
    ngx_libevent_conf_t  *lcf;

    lcf = ngx_event_get_conf(cycle->conf_ctx, ngx_libevent_module);

    event_set_log_callback(ngx_libevent_log);

    ngx_libevent_base = ngx_libevent_base_new(lcf);
    if (ngx_libevent_base == NULL) {
        return NGX_ERROR;
    }

    ngx_libevent_notify_fd = eventfd(0, EFD_NONBLOCK|EFD_CLOEXEC);

    if (ngx_libevent_notify_fd == -1
        || ngx_libevent_watch(&ngx_libevent_notify_ev, ngx_libevent_notify_fd,
                              EV_READ|EV_PERSIST, ngx_libevent_notified, NULL)
           != NGX_OK
        || ngx_libevent_watch(&ngx_libevent_timer, -1, 0,
                              ngx_libevent_timer_handler, NULL) != NGX_OK
        || ngx_libevent_init_signals() != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_libevent_notify_event.log = cycle->log;

    if (resolution) {
        tv.tv_sec = resolution / 1000;
        tv.tv_usec = (resolution % 1000) * 1000;

        if (event_assign(&ngx_libevent_resolution, ngx_libevent_base, -1,
                         EV_PERSIST, ngx_libevent_resolution_handler, NULL)
            == -1
            || event_add(&ngx_libevent_resolution, &tv) == -1)
        {
            return NGX_ERROR;
        }
    }

#if (NGX_THREADS)

    if (lcf->workers != NGX_CONF_UNSET) {
        if (ngx_libevent_watch(&ngx_libevent_tasks_ev, -1, 0,
                               ngx_libevent_tasks_done, NULL) != NGX_OK)
        {
            return NGX_ERROR;
        }

        ngx_libevent_colored = 1;
        ngx_thread_task_color = ngx_libevent_task_color;
    }

#endif

    return NGX_OK;
}


static ngx_int_t
ngx_libevent_init(ngx_cycle_t *cycle, ngx_msec_t timer)
{
    /* a single process keeps its base over a reload */

    if (ngx_libevent_base == NULL
        && ngx_libevent_init_base(cycle, timer) != NGX_OK)
    {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_errno,
                      "cannot set up an event base of libevent %s with epoll",
                      event_get_version());
        return NGX_ERROR;
    }

    ngx_use_epoll_rdhup = 1;

    ngx_io = ngx_os_io;

    ngx_event_actions = ngx_libevent_module_ctx.actions;

    ngx_event_flags = NGX_USE_CLEAR_EVENT
                      |NGX_USE_GREEDY_EVENT
                      |NGX_USE_EPOLL_EVENT
                      |NGX_USE_TIMER_EVENT;

    return NGX_OK;
}


/* Ends the workers' threads first: tasks may be running, of connections that go now. */
static void
ngx_libevent_done(ngx_cycle_t *cycle)
{
    ngx_uint_t  i;

    if (ngx_libevent_base == NULL) {
        return;
    }

    for (i = 0; i < NSIG; i++) {
        if (ngx_libevent_signals[i]) {
            event_free(ngx_libevent_signals[i]);
            ngx_libevent_signals[i] = NULL;
        }
    }

    event_base_free(ngx_libevent_base);
    ngx_libevent_base = NULL;

    (void) close(ngx_libevent_notify_fd);

    for (i = 0; i < ngx_libevent_fds_n; i++) {
        if (ngx_libevent_fds[i]) {
            ngx_free(ngx_libevent_fds[i]);
        }
    }

    if (ngx_libevent_fds) {
        ngx_free(ngx_libevent_fds);
    }

    ngx_libevent_fds = NULL;
    ngx_libevent_fds_n = 0;
}


static void *
ngx_libevent_create_conf(ngx_cycle_t *cycle)
{
    ngx_libevent_conf_t  *lcf;

    lcf = ngx_palloc(cycle->pool, sizeof(ngx_libevent_conf_t));
    if (lcf == NULL) {
        return NULL;
    }

    lcf->workers = NGX_CONF_UNSET;

    return lcf;
}


static char *
ngx_libevent_init_conf(ngx_cycle_t *cycle, void *conf)
{
    ngx_libevent_conf_t  *lcf = conf;

    if (lcf->workers == NGX_CONF_UNSET) {
        return NGX_CONF_OK;
    }

#if (NGX_THREADS)

    if (&ngx_thread_task_color == NULL) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
                      "\"libevent_workers\" needs an nginx that is patched "
                      "for it: this one has no colored tasks");
        return NGX_CONF_ERROR;
    }

    if (event_base_post_priority == NULL) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
                      "\"libevent_workers\" needs libevent-smp: "
                      "the libevent in use (%s) has no workers",
                      event_get_version());
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;

#else

    ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
                  "\"libevent_workers\" needs an nginx built --with-threads");
    return NGX_CONF_ERROR;

#endif
}


/* 0: none, as without the directive */
static char *
ngx_libevent_set_workers(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_libevent_conf_t  *lcf = conf;

    ngx_str_t  *value;

    if (lcf->workers != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "auto") == 0) {
        lcf->workers = NGX_LIBEVENT_AUTO;
        return NGX_CONF_OK;
    }

    lcf->workers = ngx_atoi(value[1].data, value[1].len);

    if (lcf->workers == NGX_ERROR || lcf->workers > 1024) {
        return "wants a number up to 1024, or \"auto\"";
    }

    if (lcf->workers == 0) {
        lcf->workers = NGX_CONF_UNSET;
    }

    return NGX_CONF_OK;
}
