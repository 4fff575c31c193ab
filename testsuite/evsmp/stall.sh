#!/bin/bash
# usage: stall.sh EVSMP LIBDIR
#
# EVENT_SMP_STALL_MS on a program that knows nothing of it. Its callback waits until this test has read the report, so
# no time is measured.
set -u
. "${0%/*}/common.sh" "$1" "$2"
link=(-fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -levent_core)

cat >"$work/resolver.c" <<'EOS'
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static void resolve(void)
{
	struct pollfd answer = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&answer, 1, -1) != 1)
		;
}

static void on_request(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	resolve();
	puts("answered");
	fflush(stdout);
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct event *request = event_new(base, -1, 0, on_request, NULL);

	event_active(request, EV_READ, 1);
	event_base_dispatch(base);
	event_free(request);
	event_base_free(base);
	return 0;
}
EOS
compile -O0 -o "$work/resolver" "$work/resolver.c" "${link[@]}"

# stalls SAYS ENDS [NAME=VALUE...]: the program with this environment says a line with SAYS while its callback waits,
# and one with ENDS as the last of the report; $report has all of it
stalls()
{
	says=$1 ends=$2 report='' line=''
	shift 2
	rm -f "$work/in" "$work/out"
	mkfifo "$work/in" "$work/out"
	env "$@" "$evsmp" run "$work/resolver" <"$work/in" >"$work/out" 2>&1 &
	pid=$!
	exec {in}>"$work/in" {out}<"$work/out"
	while IFS= read -r -u "$out" line; do
		report+=$line$'\n'
		# On a slow machine another report may come first: the loop had not turned.
		case $line in *"$ends"*) case $report in *"$says"*) break ;; esac ;; esac
	done
	echo >&"$in"
	report+=$(cat <&"$out")
	exec {in}>&- {out}<&-
	wait "$pid" || fail "$*: status $?"
	case $report in
	*"$says"*answered*) ;;
	*) fail "$*: no \"$says\" in: $report" ;;
	esac
}

stalls "stall: on_request (resolver+0x" "on_request+0x" EVENT_SMP_STALL_MS=1
case $report in
*"[warn] stall: on_request (resolver+0x"*") of color 0 has run for "*" ms on worker 0 of base 1; 0 callbacks wait behind it"*) ;;
*) fail "the report: $report" ;;
esac
case $report in
*"#0 "*" resolve+0x"*" on_request+0x"*) ;;
*) fail "the stack: $report" ;;
esac
stalls '{"stall":"callback"' '"symbol":"resolve"' EVENT_SMP_STALL_MS=1 EVENT_SMP_STALL_FORMAT=json
printf '%s' "$report" | grep '^{"stall":"callback"' >"$work/report.json"
if command -v python3 >/dev/null; then
	python3 - "$work/report.json" <<'EOS' || fail "the report is not what the manual page says: $(cat "$work/report.json")"
import json
import sys

report = json.loads(open(sys.argv[1]).read())
worker = report["workers"][0]
assert report["stall"] == "callback" and report["ms"] >= 1 and report["callbacks_waiting"] == 0
assert worker["callback"]["symbol"] == "on_request" and worker["color"] == 0
assert [frame["symbol"] for frame in worker["backtrace"] if "symbol" in frame].index("resolve") >= 0
EOS
else
	skip "the fields of JSON: there is no python3"
fi

# A value that cannot be: one message, and the program runs as ever. Its input is ready from the start.
expect_refused()
{
	said=$(echo | env "$1" EVENT_SMP_STALL_MS="${2-1}" "$evsmp" run "$work/resolver" 2>&1)
	[ "$(printf '%s\n' "$said" | grep -c 'stalls are not reported')" = 1 ] || fail "$*: $said"
	case $said in *answered*) ;; *) fail "$*: $said" ;; esac
}
expect_refused EVENT_SMP_STALL_FORMAT=xml
expect_refused EVENT_SMP_STALL_FILE=/nowhere/file
expect_refused NOTHING=1 0x10
ln -s "$work/target" "$work/link"
expect_refused EVENT_SMP_STALL_FILE="$work/link"
[ ! -e "$work/target" ] || fail "it followed a symbolic link"
exit "$failed"
