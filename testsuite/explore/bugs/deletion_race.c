/*
 * A request looks up its session in the color of the table, and gets a pointer as the answer. The session expires by a
 * timer of a third color before the request uses the pointer.
 */
#include "bug.h"

enum { TABLE = 1, REQUEST, EXPIRY };

struct session {
	int is_removed;
};

static struct session *table;

static void use(void *arg)
{
	struct session *s = arg;

	if (s != NULL && s->is_removed)
		fail("a request uses a session that was removed");
}

static void find(void *arg)
{
	(void)arg;
	post(REQUEST, use, table);
}

static void request(void *arg)
{
	(void)arg;
	post(TABLE, find, NULL);
}

static void removal(void *arg)
{
	struct session *s = table;

	(void)arg;
	table = NULL;
	s->is_removed = 1;
}

static void expired(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	post(TABLE, removal, NULL);
}

int main(void)
{
	static struct session session;

	begin();
	table = &session;
	after(10, EXPIRY, expired, NULL);
	post(REQUEST, request, NULL);
	run();
	return 0;
}
