/*
 * A descriptor that any thread, or a signal handler, makes readable.
 */
#ifndef EC_WAKEUP_H
#define EC_WAKEUP_H

struct ec_wakeup {
	/* const until it is closed; only ec_base_reinit changes it */
	int fd;
};

int ec_wakeup_open(struct ec_wakeup *w);
void ec_wakeup_close(struct ec_wakeup *w);

/* Async-signal-safe. Several sends before a wake-up count as one. */
void ec_wakeup_send(struct ec_wakeup *w);
void ec_wakeup_send_fd(int fd);
void ec_wakeup_drain(struct ec_wakeup *w);

static inline int ec_wakeup_fd(const struct ec_wakeup *w)
{
	return w->fd;
}

#endif
