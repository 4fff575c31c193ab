#!/bin/bash
# usage: launch.sh EVSMP LIBDIR PYTHON
#
# A program that trace starts, or attaches to: when the trace ends, whose records are shown, what two tools at once do.
set -u
. "${0%/*}/common.sh" "$1" "$2"
python=$3
check=$(readlink -f "${0%/*}")/trace.py
cd "$work" || exit 1
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# Each byte is a callback; it ends with its input. With an argument, a child has the loop, made after the first byte.
cat >"$work/waits.c" <<'EOF2'
#include <event2/event.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct event_base *base;
static int is_parent;

static void on_byte(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what, (void)arg;
	if (read(fd, &c, 1) != 1)
		event_base_loopbreak(base);
	if (is_parent && fork() != 0) {
		wait(NULL);
		_exit(0);
	}
	if (is_parent)
		event_reinit(base);
	is_parent = 0;
}

int main(int argc, char **argv)
{
	(void)argv;
	is_parent = argc > 1;
	base = event_base_new();
	event_add(event_new(base, 0, EV_READ | EV_PERSIST, on_byte, NULL), NULL);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	event_base_dispatch(base);
	event_base_free(base);
	return 0;
}
EOF2
compile -o "$work/waits" "$work/waits.c" -fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -levent_core

# begin COMMAND...: in the background, as $tool; $pid is the program's, and $input leads to it
begin()
{
	rm -f in out said
	mkfifo in out
	"$@" <in >out 2>said &
	tool=$!
	exec {input}>in {output}<out
	read -r pid <&"$output"
	exec {output}<&-
}

# Does the program, or the tool, hold a file of records? The tool holds others in its directory before there is one.
is_traced()
{
	ls -l "/proc/$1/fd" 2>/dev/null | grep -qE "evsmp-trace-[^/]*/[^/]*/trace|libevent-smp-trace"
}

# Does $tool hold the memory of $pid? Then it has taken it over.
has_memory()
{
	ls -l "/proc/$tool/fd" 2>/dev/null | grep -q "/proc/$pid/mem"
}

# trace_too NAME: another tool, in the background
trace_too()
{
	(
		exec {input}>&-
		exec "$evsmp" trace --seconds 600 -o "$1.json" "$pid" 2>"said.$1"
	) &
}

# ends_soon WHAT: the trace of $pid, whose loop turns; a lease takes three seconds
ends_soon()
{
	local end=$((SECONDS + 60))

	while is_traced "$pid"; do
		printf x >&"$input"
		[ "$SECONDS" -lt "$end" ] || { fail "the trace goes on $1"; break; }
	done
}

# ---------------------------------------------------------------- the trace ends with evsmp

begin "$evsmp" trace --seconds 3 -o time.json "$work/waits"
until is_traced "$pid"; do printf x >&"$input"; done
wait "$tool" || fail "trace: $(cat said)"
kill -0 "$pid" || fail "the program does not go on"
ends_soon "after the time"
# Another tool can trace it then.
trace_too again
tool=$!
until is_traced "$tool"; do printf x >&"$input"; done
exec {input}>&-
wait "$tool" || fail "trace after a trace: $(cat said.again)"

begin "$evsmp" trace -o killed.json "$work/waits"
until is_traced "$tool"; do printf x >&"$input"; done
limit=$((SECONDS + 60))
until has_memory || [ "$SECONDS" -gt "$limit" ]; do :; done
has_memory || fail "evsmp does not take the trace over"
kill -KILL "$tool"
wait "$tool" 2>/dev/null
ends_soon "though evsmp was killed"
exec {input}>&-

# A child of a process that was taken over.
begin "$evsmp" trace -o child.json "$work/waits" fork
until is_traced "$tool"; do sleep 0.1; [ -n "$(find "$TMPDIR" -name trace -o -name 'trace.*')" ] || printf x >&"$input"; done
printf '%0100d' 0 >&"$input"
exec {input}>&-
wait "$tool" || fail "trace of a child: $(cat said)"
summary=$("$python" "$check" json child.json)
num=$(printf '%s\n' "$summary" | sed -n 's/^callbacks: \([0-9]*\) .*/\1/p')
[ "${num:-0}" -ge 99 ] || fail "callbacks of the child are not in the trace: $summary"

# A program that goes on after the time: it is named, and does not hold the pipe that the figures went to.
rm -f in said
mkfifo in pipe
exec {input}<>in
"$evsmp" advise --seconds 3 --json "$work/waits" <in >pipe 2>said &
tool=$!
exec {output}<pipe
until pid=$(sed -n 1p said 2>/dev/null) && [ -n "$pid" ]; do sleep 0.01; done
while kill -0 "$tool" 2>/dev/null; do printf x >&"$input"; done
wait "$tool" || fail "advise of a program that goes on: $(cat said)"
kill -0 "$pid" || fail "the program does not go on"
"$python" -c 'import json, sys; json.load(sys.stdin)' <&"$output" || fail "the figures: $(cat said)"
exec {output}<&-
grep -q "waits (process $pid) goes on; kill $pid ends it." said || fail "it is not said that it goes on: $(cat said)"
kill "$pid"
exec {input}>&-
rm -f in pipe

# ---------------------------------------------------------------- two tools

LD_LIBRARY_PATH=$libs begin "$work/waits"
program=$tool
trace_too long
long=$!
until is_traced "$long"; do printf x >&"$input"; done
"$evsmp" trace --seconds 0.2 -o short.json "$pid" 2>said.short || fail "a short trace: $(cat said.short)"
end=$((SECONDS + 2))
while [ "$SECONDS" -lt "$end" ]; do printf x >&"$input"; done
printf '%0100d' 0 >&"$input"
exec {input}>&-
wait "$program" || fail "the program: $?"
wait "$long" || fail "a long trace: $(cat said.long)"
grep -q "of 1 base" said.long || fail "another tool has disturbed it: $(cat said.long)"

# ---------------------------------------------------------------- whose records

if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
	printf xx | EVENT_SMP_TRACE=$work/other.trace LD_LIBRARY_PATH=$libs "$work/waits" >/dev/null
	chmod a+r "$work/other.trace"
	begin "$evsmp" trace -o foreign.json setpriv --reuid=65534 --clear-groups "$work/waits"
	until is_traced "$tool"; do printf x >&"$input"; done
	outer=$(find "$TMPDIR" -maxdepth 1 -name 'evsmp-trace-*') inner=$(dirname "$(find "$TMPDIR" -name trace)")
	[ "$outer" != "$inner" ] || fail "all users know the directory for records"
	! setpriv --reuid=65534 --clear-groups ls "$outer" >/dev/null 2>&1 || fail "other users can list $outer"
	for user in 65533 65534; do
		setpriv --reuid="$user" --clear-groups cp "$work/other.trace" "$inner/of-$user" || fail "cp failed"
	done
	printf '%0100d' 0 >&"$input"
	exec {input}>&-
	wait "$tool" || fail "trace of another user's program: $(cat said)"
	grep -q "of 1 base" said || fail "records of others are shown: $(cat said)"
	holds=$("$python" "$check" json foreign.json)
	case $holds in *"on_byte"*) ;; *) fail "the program's records are missing: $holds" ;; esac
else
	skip "programs that give up root: only root can start them"
fi
[ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(find "$TMPDIR")"
exit "$failed"
