/* What the chat server's two files share. Each function says in which color it runs. */
#ifndef CHAT_H
#define CHAT_H

#include <event2/event.h>
#include <event2/smp.h>
#include <sys/queue.h>

#define LINE_LEN 1000
#define TEXT_LEN (LINE_LEN + 64)

/*
 * The colors. 0: nothing. ROOM_COLOR: who is there, and under which name; SIGTERM. A fresh color for each client, which
 * the listener chooses: its connection.
 */
#define ROOM_COLOR 1u

struct client {
	/* never changes */
	ev_uint32_t color;
	/* the client's color */
	struct bufferevent *bev;	/* NULL: closed */
	/* the room's color */
	char name[16];
	LIST_ENTRY(client) entry;
};

extern struct event_base *base;

/* Calls fn(client, text) soon, in a color. Calls in one color run in the order of the posts. Any color. */
typedef void (*client_fn)(struct client *client, const char *text);
void post(ev_uint32_t color, client_fn fn, struct client *client, const char *text);

/* The client's color. */
void client_tell(struct client *client, const char *text);
void client_close(struct client *client, const char *unused);
void client_free(struct client *client, const char *unused);

/* The room's color. */
void room_join(struct client *client, const char *unused);
void room_line(struct client *client, const char *line);
void room_leave(struct client *client, const char *unused);
void room_close(void);

/* Before the loop runs. */
void room_start_clock(const struct timeval *period);

#endif
