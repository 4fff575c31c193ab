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

compile -o "$work/hangs" -x c - -fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -x none -levent_core <<'EOF2'
#include <event2/event.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	(void)event_base_new();
	puts("it begins");
	fflush(stdout);
	for (;;)
		pause();
}
EOF2

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

# nothing_left WHEN
nothing_left()
{
	[ -z "$(ls -A "$TMPDIR")" ] || fail "$1 leaves $(ls -A "$TMPDIR")"
}
nothing_left "a command that ends"

# ---------------------------------------------------------------- a reader that goes away

# unread STATUS STREAM ARGUMENT...: what evsmp writes to that stream has no reader
cat >"$work/unread.py" <<'EOF2'
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
p = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, **{sys.argv[1]: writer})
sys.exit(p.wait() % 256 if p.wait() >= 0 else 128 - p.wait())
EOF2
unread()
{
	status=$1
	shift
	"$python" "$work/unread.py" "$1" "$evsmp" "${@:2}" 2>"$work/said"
	got=$?
	[ "$got" = "$status" ] || fail "$*: status $got, not $status: $(cat "$work/said")"
}
unread 141 stdout explore "$work/ends" 3
nothing_left "explore without a reader"
unread 141 stdout explore --seeds 2 "$work/ends"
nothing_left "explore without a reader"

# ---------------------------------------------------------------- evsmp is killed

# A program that waits until its input ends.
cat >"$work/waits.c" <<'EOF2'
#include <event2/event.h>
#include <unistd.h>

static void on_byte(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what;
	if (read(fd, &c, 1) != 1)
		event_base_loopbreak(arg);
}

int main(void)
{
	struct event_base *base = event_base_new();

	event_add(event_new(base, 0, EV_READ | EV_PERSIST, on_byte, base), NULL);
	event_base_dispatch(base);
	event_base_free(base);
	return 0;
}
EOF2
compile -o "$work/waits" "$work/waits.c" -fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -levent_core

# begin COMMAND...: in the background, as $tool, until the program in it has the input $input
begin()
{
	rm -f in
	mkfifo in
	"$evsmp" "$@" <in >"$work/said" 2>&1 &
	tool=$!
	exec {input}>in
}
directory()
{
	find "$TMPDIR" -name "evsmp-$1-*" -prune
}
# until_there NUM KIND TEST...: so many files of that kind of directories; the program gets bytes meanwhile
until_there()
{
	local num=$1 kind=$2
	shift 2
	until [ "$(find "$TMPDIR" -path "*/evsmp-$kind-*" "$@" | wc -l)" = "$num" ]; do
		kill -0 "$tool" || break
		printf x >&"$input"
	done
}
begin trace -o lives.json "$work/waits"
lives=$tool lives_input=$input
until_there 1 trace -name trace
first=$(directory trace)
begin trace -o killed.json "$work/waits"
until_there 2 trace -name trace
mkdir "$TMPDIR/evsmp-trace-result" "$TMPDIR/evsmp-check-result"
echo mine >"$TMPDIR/evsmp-trace-result/file"
kill -KILL "$tool"
wait "$tool" 2>/dev/null
exec {input}>&-
expect 3 "is written" trace -o next.json "$work/ends" 3
[ "$(directory trace | sort)" = "$(printf '%s\n' "$first" "$TMPDIR/evsmp-trace-result" | sort)" ] ||
	fail "after a kill and another trace: $(directory trace)"
[ -s "$TMPDIR/evsmp-trace-result/file" ] || fail "a directory of the user was emptied"
printf x >&"$lives_input"
exec {lives_input}>&-
wait "$lives" || fail "the trace beside it failed"
rm -r "$TMPDIR/evsmp-trace-result" "$TMPDIR/evsmp-check-result"
nothing_left "a trace that was killed, after another one,"

begin explore --timeout 100 "$work/hangs"
until_there 1 explore -name 0.output -size +0
kill -KILL "$tool"
wait "$tool" 2>/dev/null
exec {input}>&-
[ -n "$(directory explore)" ] || fail "there was nothing to remove"
expect 0 "2 seeds" explore --seeds 2 "$work/ends"
nothing_left "an explore that was killed, after another one,"

exit "$failed"
