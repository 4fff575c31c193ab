#!/bin/sh
# usage: run.sh SOURCE LIBDIR CC...
#
# Programs compiled with -fsanitize=thread, against libraries that are not. A program that keeps the contract of colors
# gets no report; one with a race between two colors gets one, which names its functions.
set -u
here=$(dirname "$0")
source=$1
libdir=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TSAN_OPTIONS=exitcode=66 LD_LIBRARY_PATH="$libdir"
unset EVENT_WORKERS
failed=0
tried=0

# Some kernels lay out memory in a way that older runtimes refuse, but not without randomization.
run()
{
	$fixed "$@" >"$work/said" 2>&1
}

fail()
{
	echo "$cc: $1"
	head -60 "$work/said"
	failed=1
}

for cc in "$@"; do
	echo 'int main(void) { return 0; }' >"$work/nothing.c"
	$cc -fsanitize=thread -o "$work/nothing" "$work/nothing.c" 2>"$work/said" || { echo "$cc: no ThreadSanitizer"; continue; }
	fixed=
	run "$work/nothing" || fixed="setarch -R"
	run "$work/nothing" || { echo "$cc: ThreadSanitizer does not run here"; continue; }
	tried=$((tried + 1))
	for name in clean races; do
		$cc -std=gnu11 -g -O1 -Wall -Wextra -Werror -fsanitize=thread -I"$source/compat/libevent/include" \
			-o "$work/$name" "$here/$name"*.c -L"$libdir" -levent -levent_pthreads 2>"$work/said" ||
			{ fail "$name.c does not compile"; exit 1; }
	done
	run "$work/clean" || fail "clean: status $?"
	for race in posts timers bystander; do
		run "$work/races" $race
		status=$?
		[ $status = 66 ] || fail "races $race: status $status, not 66"
		grep -q "data race" "$work/said" && grep -qE "spoil|on_timer" "$work/said" || fail "races $race: no report"
	done
done
[ $tried -gt 0 ] || exit 77
exit $failed
