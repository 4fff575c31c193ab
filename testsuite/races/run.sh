#!/bin/sh
# usage: [RACES_TIMES=N] run.sh SOURCE LIBDIR EVSMP CC...
#
# Programs compiled with -fsanitize=thread, under `evsmp check-colors` and libraries that are not compiled so. Each
# program with a race is reported in each of N runs (default: 1); repaired, it never is. A program that keeps the
# contract of colors is never reported. With N above 1, only the races run.
set -u
here=$(dirname "$0")
source=$1
export EVSMP_LIBDIR="$2"
evsmp=$3
times=${RACES_TIMES:-1}
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset EVENT_WORKERS EVENT_CHECK_COLORS EVENT_SMP_SEED TSAN_OPTIONS LD_LIBRARY_PATH
export TMPDIR="$work"
failed=0
tried=0

fail()
{
	echo "$cc: $1"
	head -60 "$work/said"
	failed=1
}

# check STATUS ARGUMENT...: evsmp check-colors ends so; what it said is in $work/said
check()
{
	expected=$1
	shift
	timeout 100 "$evsmp" check-colors "$@" >"$work/said" 2>&1
	status=$?
	[ "$status" = "$expected" ] || fail "check-colors $*: status $status, not $expected"
}

says()
{
	grep -qE -- "$1" "$work/said" || fail "it does not say: $1"
}

compile()
{
	out=$1
	shift
	# shellcheck disable=SC2086 # may be `ccache gcc`
	$cc -std=gnu11 -g -O1 -Wall -Wextra -Werror -I"$source/compat/libevent/include" -o "$work/$out" "$@" \
		-L"$EVSMP_LIBDIR" -levent -levent_pthreads 2>"$work/said" || { fail "$out does not compile"; exit 1; }
}

# races TIMES NAME...: each of them, with its race and without
races()
{
	num=$1
	shift
	while [ "$num" -gt 0 ]; do
		for name in "$@"; do
			check 66 "$work/seeded" "$name"
			says '^evsmp: [1-9][0-9]* race'
			check 0 "$work/seeded" "$name" repaired
			says '^evsmp: 0 races'
		done
		num=$((num - 1))
	done
}

# What a report says, on one example each.
words()
{
	check 66 "$work/seeded" stats
	says '^  (Read|Write) of size 8 at .* by color 1[0-9][0-9]:$'
	says '^evsmp: color 1[0-9]* \(on_request\) and color 1[0-9]* \(on_request\) use requests, and nothing orders'
	says '^evsmp: Give both callbacks one color, or'
	says '^evsmp: 1 race in [0-9]+ callbacks of 3 colors\.$'
	check 66 "$work/seeded" zero
	says '^evsmp: color 0 \(on_count\) and color 7 \(on_count\) use counter,'
	check 66 "$work/seeded" close
	says 'use descriptor [0-9]+, and'
	says 'Close it in the color that uses it'
	check 66 "$work/seeded" library
	says '^evsmp: color 2 \(change_page\) and color 1 \(send_page\) use page,'
	check 66 "$work/seeded" late
	says '^evsmp: color 2 \(receive\) and color 1 \(send_and_change\) use (the same memory|a block of 8 bytes),'
	check 66 "$work/seeded" thread
	says 'thread T[0-9]+ \(thread_main\)'
	says 'Let the thread post to the color'
}

# Colors that are only planned, of a program that sets none.
plans()
{
	check 0 "$work/planned"
	says 'Nothing that ran had a color'
	check 66 --color-by=connection "$work/planned"
	says 'connection [0-9]+ \(on_line\) and connection [0-9]+ \(on_line\) use total, and'
	says 'Before you color by connection, give it a color of its own'
	check 0 --color-by connection "$work/planned" split
	check 66 --color-by=descriptor "$work/planned" split
	says 'descriptor [0-9]+ \(on_line\)'
	check 66 --color-by=callback "$work/planned" split
	says 'callback [0-9]+ \(on_tick\)'
	check 2 --color-by=day "$work/planned"
	says 'descriptor, connection or callback'
}

# What it refuses, and the environment by itself.
refusals()
{
	check 2
	says 'which program'
	check 2 --speed "$work/seeded"
	check 127 "$work/none"
	check 115 "$work/plain" counter
	says 'is not compiled with -fsanitize=thread, .*\. Compile'
	EVENT_CHECK_COLORS=1 "$evsmp" run "$work/plain" counter >"$work/said" 2>&1 || fail "the plain program fails"
	says 'EVENT_CHECK_COLORS: the program is not compiled with -fsanitize=thread: no color is checked'
	EVENT_CHECK_COLORS=2 "$evsmp" run "$work/plain" counter >"$work/said" 2>&1 || fail "the plain program fails"
	says 'EVENT_CHECK_COLORS=2 is not 1, descriptor, connection or callback'
	EVENT_CHECK_COLORS=0 "$evsmp" run "$work/plain" counter >"$work/said" 2>&1 || fail "the plain program fails"
	[ ! -s "$work/said" ] || fail "EVENT_CHECK_COLORS=0 says something"
}

# The program's own status, signals, children, and more colors than there may be fibers.
behaviour()
{
	check 143 "$work/behaves" term
	check 66 "$work/behaves" crash
	says 'ThreadSanitizer: SEGV'
	says '^evsmp: 1 other report above'
	check 4 "$work/behaves" nothing
	says '^evsmp: No callback ran'
	TSAN_OPTIONS=suppressions=/nonexistent check 4 "$work/behaves" signals
	says 'failed to read suppressions'
	check 3 "$work/behaves" exit
	timeout 100 python3 -c 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])' \
		"$evsmp" check-colors "$work/behaves" exit >"$work/said" 2>&1
	[ $? = 3 ] || fail "the status is lost where SIGCHLD is ignored"
	check 0 "$work/behaves" signals
	check 0 "$work/behaves" stack
	check 0 "$work/behaves" mask
	check 66 "$work/behaves" child
	check 0 "$work/behaves" many
	check 0 "$work/behaves" nested
	check 0 "$work/behaves" turns
	# Without a reader of the reports, the program ends, too. Nobody reads from descriptor 8.
	mkfifo "$work/unread"
	(
		exec 7<>"$work/unread" 8>"$work/unread" 7>&-
		timeout 100 "$evsmp" check-colors "$work/behaves" stay >&8 2>&8
	)
	[ $? = 66 ] || fail "check-colors without a reader"
	rm "$work/unread"
	[ -z "$(find "$work" -name 'evsmp-check-*')" ] || fail "it leaves files"
}

for cc in "$@"; do
	echo 'int main(void) { return 0; }' >"$work/nothing.c"
	# shellcheck disable=SC2086 # may be `ccache gcc`
	$cc -fsanitize=thread -o "$work/nothing" "$work/nothing.c" 2>"$work/said" || { echo "$cc: no ThreadSanitizer"; continue; }
	setarch -R "$work/nothing" >"$work/said" 2>&1 || { echo "$cc: ThreadSanitizer does not run here"; continue; }
	tried=$((tried + 1))
	compile plain "$here"/seeded*.c
	compile seeded -fsanitize=thread "$here"/seeded*.c
	compile planned -fsanitize=thread "$here/planned.c"
	compile behaves -fsanitize=thread "$here/behaves.c"
	compile clean -fsanitize=thread "$source"/testsuite/abi/tsan/clean*.c
	# shellcheck disable=SC2046 # names
	races "$times" $("$work/plain" --list)
	[ "$times" -gt 1 ] && continue
	words
	plans
	refusals
	behaviour
	check 0 "$work/clean"
done
[ $tried -gt 0 ] || exit 77
exit $failed
