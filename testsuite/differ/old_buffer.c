/* evbuffer and bufferevent as programs of libevent 1.4's time used them, by <event.h> alone. */
#include <event.h>

#include "trace.h"

static struct bufferevent *left, *right;

static void changed(struct evbuffer *buf, size_t before, size_t now, void *arg)
{
	say("  %s: %zu to %zu, has %zu", (const char *)arg, before, now, EVBUFFER_LENGTH(buf));
}

static void buffers(void)
{
	struct evbuffer *buf = evbuffer_new(), *other = evbuffer_new();
	unsigned char *found;
	char *line, text[8];

	section("buffers");
	say("add %d", evbuffer_add(buf, "one\ntwo\r\nthree\n\rfour\r\r\nfive", 27));
	while ((line = evbuffer_readline(buf)) != NULL) {
		say("line <%s>", line);
		free(line);
	}
	say("data <%.*s>", (int)EVBUFFER_LENGTH(buf), (char *)EVBUFFER_DATA(buf));
	/* Of a line ours tells once. */
	evbuffer_setcb(buf, changed, (void *)(uintptr_t)"buf");
	say("printf %d", evbuffer_add_printf(buf, "%s %d", "and", 7));
	found = evbuffer_find(buf, (const unsigned char *)"and", 3);
	say("find %d", found != NULL ? (int)(found - EVBUFFER_DATA(buf)) : -1);
	found = evbuffer_find(buf, (const unsigned char *)"not", 3);
	say("find %s", found != NULL ? "some" : "none");
	say("remove %d", evbuffer_remove(buf, text, 2));
	say("drain %d", evbuffer_drain(buf, 1));
	say("expand %d", evbuffer_expand(buf, 10000));
	evbuffer_setcb(buf, NULL, NULL);
	say("move %d", evbuffer_add_buffer(other, buf));
	say("lengths %zu %zu", EVBUFFER_LENGTH(buf), EVBUFFER_LENGTH(other));
	evbuffer_free(other);
	evbuffer_free(buf);
}

static void descriptors(void)
{
	struct evbuffer *buf = evbuffer_new();
	int fd[2];

	section("descriptors");
	pair_new(fd);
	evbuffer_add(buf, "hello", 5);
	say("write %d", evbuffer_write(buf, fd[0]));
	say("left %zu", EVBUFFER_LENGTH(buf));
	say("read %d", evbuffer_read(buf, fd[1], -1));
	say("got <%.*s>", (int)EVBUFFER_LENGTH(buf), (char *)EVBUFFER_DATA(buf));
	say("read %d", evbuffer_read(buf, fd[1], -1));
	pair_close(fd);
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- bufferevents */

static void readcb(struct bufferevent *bev, void *arg)
{
	char text[64] = "";
	size_t len = bufferevent_read(bev, text, sizeof(text) - 1);

	say("  %s read %zu <%s>", (const char *)arg, len, text);
	if (bev == right)
		say("  answer %d", bufferevent_write(bev, "answer", 6));
	else
		bufferevent_disable(right, EV_READ | EV_WRITE);
}

static void writecb(struct bufferevent *bev, void *arg)
{
	if (bev == left)
		say("  %s wrote, left %zu", (const char *)arg, EVBUFFER_LENGTH(EVBUFFER_OUTPUT(bev)));
}

static void errorcb(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	say("  %s: %s%s%s%s%s", (const char *)arg, what & EVBUFFER_READ ? "READ " : "",
	    what & EVBUFFER_WRITE ? "WRITE " : "", what & EVBUFFER_EOF ? "EOF" : "",
	    what & EVBUFFER_ERROR ? "ERROR" : "", what & EVBUFFER_TIMEOUT ? "TIMEOUT" : "");
	event_loopexit(NULL);
}

static struct bufferevent *bev_new(int fd, const char *name)
{
	struct bufferevent *bev = bufferevent_new(fd, readcb, writecb, errorcb, (void *)(uintptr_t)name);

	must(bev != NULL, "make a bufferevent");
	say("%s: enabled %s, settable %d", name, what_str(bev->enabled), bufferevent_priority_set(bev, 0));
	return bev;
}

static void talk(struct event_base *base)
{
	struct evbuffer *more = evbuffer_new();
	int fd[2];

	section("bufferevents");
	pair_new(fd);
	left = bev_new(fd[0], "left");
	right = bev_new(fd[1], "right");
	say("base %d", bufferevent_base_set(base, right));
	say("enable %d %d", bufferevent_enable(left, EV_READ | EV_WRITE), bufferevent_enable(right, EV_READ));
	bufferevent_setwatermark(right, EV_READ, 8, 0);
	say("write %d", bufferevent_write(left, "hello", 5));
	event_loop(EVLOOP_NONBLOCK);
	say("right has %zu", EVBUFFER_LENGTH(EVBUFFER_INPUT(right)));
	evbuffer_add(more, " again", 6);
	say("write %d, left %zu", bufferevent_write_buffer(left, more), EVBUFFER_LENGTH(more));
	event_loop(EVLOOP_NONBLOCK);
	bufferevent_setcb(left, readcb, NULL, errorcb, (void *)(uintptr_t)"new left");
	bufferevent_settimeout(left, 1, 0);
	say("timeouts %ld %ld", (long)left->timeout_read.tv_sec, (long)left->timeout_write.tv_sec);
	event_dispatch();
	say("enabled %s", what_str(left->enabled));
	bufferevent_settimeout(left, 0, 0);
	bufferevent_enable(left, EV_READ);
	bufferevent_free(right);
	close(fd[1]);
	event_dispatch();
	say("enabled %s", what_str(left->enabled));
	bufferevent_free(left);
	close(fd[0]);
	evbuffer_free(more);
}

int main(void)
{
	struct event_base *base = event_init();

	buffers();
	descriptors();
	talk(base);
	event_base_free(base);
	return 0;
}
