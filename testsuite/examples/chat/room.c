/* The room: who is there, and under which name. All of it has ROOM_COLOR, so it needs no lock. */
#include "chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static LIST_HEAD(, client) room;
static unsigned guests, clients_num;
static int is_closing;
static struct event *ticking;

static void tell_all(const char *text)
{
	struct client *client;

	LIST_FOREACH(client, &room, entry)
		post(client->color, client_tell, client, text);
}

void room_join(struct client *client, const char *unused)
{
	char text[TEXT_LEN];

	(void)unused;
	snprintf(client->name, sizeof(client->name), "guest%u", ++guests);
	LIST_INSERT_HEAD(&room, client, entry);
	clients_num++;
	snprintf(text, sizeof(text), "* %s joins\n", client->name);
	tell_all(text);
	if (is_closing)
		post(client->color, client_close, client, "");
}

void room_line(struct client *client, const char *line)
{
	char text[TEXT_LEN];

	if (strncmp(line, "/nick ", 6) == 0) {
		snprintf(text, sizeof(text), "* %s is now %.15s\n", client->name, line + 6);
		snprintf(client->name, sizeof(client->name), "%.15s", line + 6);
	} else {
		snprintf(text, sizeof(text), "%s: %s\n", client->name, line);
	}
	tell_all(text);
}

/* The client's color posts this once, when it has closed the connection. */
void room_leave(struct client *client, const char *unused)
{
	char text[TEXT_LEN];

	(void)unused;
	LIST_REMOVE(client, entry);
	clients_num--;
	snprintf(text, sizeof(text), "* %s leaves\n", client->name);
	tell_all(text);
	/* Runs after all that the room has posted to this client before. Nothing is posted to it any more. */
	post(client->color, client_free, client, "");
}

void room_close(void)
{
	struct client *client;

	is_closing = 1;
	event_free(ticking);
	LIST_FOREACH(client, &room, entry)
		post(client->color, client_close, client, "");
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	char text[TEXT_LEN];

	(void)fd, (void)what, (void)arg;
	snprintf(text, sizeof(text), "* %u here\n", clients_num);
	tell_all(text);
}

void room_start_clock(const struct timeval *period)
{
	ticking = event_new(base, -1, EV_PERSIST, on_tick, NULL);
	event_set_color(ticking, ROOM_COLOR);
	event_add(ticking, period);
}
