#!/bin/bash
# usage: signals.sh EVSMP LIBDIR PYTHON
#
# Signals that evsmp inherits, and what remains after those that end it.
set -u
. "${0%/*}/common.sh" "$1" "$2"
python=$3
cd "$work" || exit 1
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# program STATUS: its loop ends after a callback. It says whether it ignores SIGCHLD, and which of SIGPIPE and SIGXFSZ.
cat >"$work/ends.c" <<'EOF2'
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	event_base_loopbreak(arg);
}

static int is_ignored(int sig)
{
	struct sigaction now;

	sigaction(sig, NULL, &now);
	return now.sa_handler == SIG_IGN;
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	struct timeval soon = { 0, 1000 };
	struct event *ev = event_new(base, -1, 0, end, base);

	event_add(ev, &soon);
	event_base_dispatch(base);
	event_free(ev);
	event_base_free(base);
	printf("ignored: %d %d %d\n", is_ignored(SIGCHLD), is_ignored(SIGPIPE), is_ignored(SIGXFSZ));
	return argc > 1 ? atoi(argv[1]) : 0;
}
EOF2
compile -o "$work/ends" "$work/ends.c" -fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -levent_core

# ---------------------------------------------------------------- a parent that ignores the ends of its children

cat >"$work/with.py" <<'EOF2'
import os, signal, sys
for number in signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ:
    signal.signal(number, signal.SIG_IGN if number.name in sys.argv[1] else signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
EOF2
for ignored in none:"0 0 0" SIGCHLD:"1 0 0" SIGPIPE,SIGXFSZ:"0 1 1"; do
	as="$python $work/with.py ${ignored%%:*}"
	expect 3 "ignored: ${ignored#*:}" run "$work/ends" 3
	expect 3 "ignored: ${ignored#*:}" trace --latency "$work/ends" 3
	expect 1 "it exits with status 3" explore "$work/ends" 3
	expect 1 "ignored: ${ignored#*:}" explore "$work/ends" 3
	expect 0 "2 seeds" explore --seeds 2 "$work/ends"
done
as=

exit "$failed"
