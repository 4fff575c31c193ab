#!/bin/bash
# usage: advise.sh EVSMP LIBDIR PYTHON
#
# advise: of programs whose best colors are known. Nothing here depends on how fast the machine is: how long callbacks
# take comes from it, but not which colors are best, nor what is refused.
set -u
. "${0%/*}/common.sh" "$1" "$2"
python=$3
link=(-fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -levent_core)
cd "$work" || exit 1

# work PAIRS ROUNDS [STATUS]: so many bufferevents, whose callback on_pair computes, and as many clients, on_echo.
cat >"$work/work.c" <<'EOF2'
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>

static struct event_base *base;
static int left;
static volatile unsigned sink;

static void on_pair(struct bufferevent *bev, void *arg)
{
	char c;
	int i;

	(void)arg;
	for (i = 0; i < 400000; i++)
		sink = sink * 1664525 + 1013904223;
	bufferevent_read(bev, &c, 1);
	if (--left > 0)
		bufferevent_write(bev, &c, 1);
	else
		event_base_loopbreak(base);
}

static void on_echo(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what, (void)arg;
	if (recv(fd, &c, 1, 0) == 1)
		send(fd, &c, 1, 0);
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 1, fds[2], i;
	struct bufferevent *bev;
	struct event *ev;

	left = argc > 2 ? atoi(argv[2]) : 100;
	base = event_base_new();
	for (i = 0; i < pairs; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
			return 1;
		bev = bufferevent_socket_new(base, fds[0], 0);
		bufferevent_setcb(bev, on_pair, NULL, NULL, NULL);
		bufferevent_enable(bev, EV_READ | EV_WRITE);
		bufferevent_write(bev, "x", 1);
		ev = event_new(base, fds[1], EV_READ | EV_PERSIST, on_echo, NULL);
		event_add(ev, NULL);
	}
	event_base_dispatch(base);
	return argc > 3 ? atoi(argv[3]) : 0;
}
EOF2
compile -g -o "$work/work" "$work/work.c" "${link[@]}"

# json KEY...: a value of out.json
json()
{
	"$python" - "$@" <<'EOF2'
import json
import sys

value = json.load(open("out.json"))
for key in sys.argv[1:]:
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value)
EOF2
}

# ---------------------------------------------------------------- a program that is started

expect 7 "callbacks in" advise "$work/work" 8 400 7
case $said in *"Color it by connection: "*"bufferevent_set_color(bev, color)"*"for on_pair (bufferevent"*) ;;
*) fail "advise of 8 connections: $said" ;; esac
case $said in *"evsmp check-colors --color-by=connection work"*) ;; *) fail "no next step: $said" ;; esac
if command -v addr2line >/dev/null; then
	case $said in *"work.c:"*) ;; *) fail "no line of the source: $said" ;; esac
else
	skip "lines of the source: there is no addr2line"
fi

# One connection: nothing runs at the same time. on_echo takes next to no time, but it may be preempted now and then.
"$evsmp" advise --json "$work/work" 1 100 >out.json 2>said || fail "advise of one connection: $(cat said)"
[ "$(json options 0 workers 1 workers)" = 2 ] || fail "the second number of workers is no 2"
"$python" -c 'import sys; sys.exit(float(sys.argv[1]) > 1.5)' "$(json options 0 workers 1 times)" ||
	fail "one connection is $(json options 0 workers 1 times) times as fast on two workers"

"$evsmp" advise --json --svg out.svg "$work/work" 8 400 >out.json 2>said || fail "advise --json: $(cat said)"
[ "$(json best)" = connection ] || fail "the best colors are by $(json best)"
[ "$(json lost)" = 0 ] || fail "$(json lost) records are lost"
[ "$(json options 0 workers 0 times)" = 1.0 ] || fail "one worker is not as fast as one worker"
"$python" - <<'EOF2' || fail "out.svg is not XML"
import xml.dom.minidom
xml.dom.minidom.parse("out.svg")
EOF2

# ---------------------------------------------------------------- files

EVENT_SMP_TRACE=$work/file.trace EVENT_SMP_TRACE_OBJECTS=1 EVENT_WORKERS=1 LD_LIBRARY_PATH=$libs "$work/work" 8 400
expect 0 "Color it by connection" advise --read file.trace
EVENT_SMP_TRACE=$work/plain.trace EVENT_WORKERS=1 LD_LIBRARY_PATH=$libs "$work/work" 8 400
expect 0 "does not tell which object" advise --read plain.trace
head -c 50 file.trace >cut.trace
expect 2 "it is not a trace of libevent-smp" advise --read cut.trace

# The rings have 65536 records: of a longer run, the newest are there.
cat >"$work/ticks.c" <<'EOF2'
#include <event2/event.h>

static int left = 60000;

static void tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	if (--left > 0)
		event_active(*(struct event **)arg, 0, 0);
}

int main(void)
{
	static struct event *ev;
	struct event_base *base = event_base_new();

	ev = event_new(base, -1, 0, tick, &ev);
	event_active(ev, 0, 0);
	event_base_dispatch(base);
	return 0;
}
EOF2
compile -o "$work/ticks" "$work/ticks.c" "${link[@]}"
EVENT_SMP_TRACE=$work/long.trace EVENT_SMP_TRACE_OBJECTS=1 EVENT_WORKERS=1 LD_LIBRARY_PATH=$libs "$work/ticks"
expect 0 "these are the newest" advise --read long.trace

# ---------------------------------------------------------------- what is wrong

expect 2 "which process, program or file" advise
expect 2 "--seconds needs a number" advise --seconds 0 "$work/work"
expect 2 "advise has no option --wrong" advise --wrong "$work/work"
expect 2 "advise: --svg needs a value" advise --svg
expect 127 "no such program" advise "$work/none"
expect 123 "cannot be written" advise --svg "$work/none/x.svg" "$work/work" 8 100
cat >"$work/nothing.c" <<'EOF2'
#include <event2/event.h>

int main(void)
{
	return event_get_version() == NULL;
}
EOF2
compile -o "$work/nothing" "$work/nothing.c" "${link[@]}"
expect 123 "there was no event_base that could be traced" advise "$work/nothing"
exit "$failed"
