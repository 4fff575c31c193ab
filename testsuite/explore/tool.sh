#!/bin/sh
# usage: tool.sh EVSMP LIBDIR LOST_UPDATE
#
# evsmp explore as a command. LOST_UPDATE: a program that fails in some orders.
set -u
. "${0%/*}/../evsmp/common.sh" "$1" "$2"
buggy=$(readlink -f "$3")
cd "$work" || exit 1
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"
unset EVENT_SMP_SEED EVENT_SMP_POLICY EVENT_SMP_SCHEDULE EVENT_SMP_SCHEDULE_OUT EVENT_SMP_TIME EVENT_WORKERS

# ---------------------------------------------------------------- options

expect 2 "which program" explore
expect 2 "explore has no option --fast" explore --fast "$buggy"
for bad in "--seeds=" "--seeds=x" "--seeds=1..x" "--seeds=-1" "--seeds=99999999999999999999" "--jobs=0" "--jobs=65" \
	"--depth=0" "--depth=65" "--timeout=0" "--timeout" "--workers=0" "--shrink=-1"; do
	expect 2 "needs a number from" explore "$bad" "$buggy"
done
expect 2 "the smaller number first" explore --seeds 5..4 "$buggy"
expect 2 "is random or pct" explore --policy fifo "$buggy"
expect 2 "is virtual" explore --time never "$buggy"
expect 127 "no-such-program" explore no-such-program

# ---------------------------------------------------------------- what it finds

expect 1 "10 of 10 replays fail in this way" explore "$buggy"
case $said in *"color 2 (read_balance, lost_update+0x"*") before color 1 (write_balance, lost_update+0x"*) ;;
*) fail "no names of functions: $said" ;; esac
seed=$(printf '%s\n' "$said" | sed -n 's/^seed \([0-9]*\) .*/\1/p')
file=$(basename "$buggy").$seed.schedule
[ -f "$file" ] || fail "no file $file"
expect 1 "seed $seed " explore --jobs 4 --out of-four "$buggy"
cmp -s "$file" of-four || fail "another schedule with four jobs"
expect 1 "$(basename "$buggy").$seed.2.schedule" explore "$buggy"
expect 123 "of-four is there already" explore --out of-four "$buggy"
expect 1 "EVENT_WORKERS=3" explore --workers 3 --shrink 0 --out of-three "$buggy"
! grep -q shrunk of-three || fail "--shrink 0 shrinks"
# Only what it prints can be repeated: the settings of its caller are not the program's.
EVENT_SMP_SEED=x EVENT_SMP_SCHEDULE=/no/such/file expect 1 "seed $seed " explore --out without "$buggy"

# ---------------------------------------------------------------- programs that it cannot help

cat >"$work/odd.c" <<'EOF'
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct event_base *base = strcmp(argv[1], "no-base") == 0 ? NULL : event_base_new();

	puts("it begins");
	fflush(stdout);
	if (strcmp(argv[1], "fails") == 0)
		return 3;
	if (strcmp(argv[1], "later") == 0)
		return mkdir(argv[2], 0700) == 0 ? 0 : 3;
	if (strcmp(argv[1], "hangs") == 0) {
		if (fork() == 0)
			pause();	/* it must not stay */
		pause();
	}
	if (strcmp(argv[1], "crashes") == 0)
		raise(SIGSEGV);
	if (strcmp(argv[1], "reads") == 0)
		return getchar() == EOF ? 0 : 1;
	if (base != NULL)
		event_base_free(base);
	return argc > 2;
}
EOF
# shellcheck disable=SC2086 # a list
compile -o "$work/odd" "$work/odd.c" $link -levent_core
expect 1 "in the plain order, it exits with status 3" explore "$work/odd" fails
expect 1 "	it begins" explore "$work/odd" fails
expect 1 "signal 11 ends it" explore "$work/odd" crashes
expect 1 "it does not end in 1 seconds" explore --timeout 1 "$work/odd" hangs
expect 0 "4 seeds (random): it passes with all of them" explore --seeds 0..3 --time virtual:0 --workers=2 "$work/odd" plain
expect 0 "1 seeds" explore --seeds 18446744073709551614..18446744073709551614 "$work/odd" plain
expect 2 "from 0 to 18446744073709551614" explore --seeds 18446744073709551615 "$work/odd" plain
expect 0 "nothing to choose" explore --seeds 3 "$work/odd" plain
expect 0 "3 seeds" explore --seeds 3 -- "$work/odd" reads
expect 1 "10 of 10 replays" explore --out later.schedule "$work/odd" later "$work/made"
case $said in *"shrunk from"*) fail "there was nothing to shrink: $said" ;; esac
expect 4 "made no event_base" explore "$work/odd" no-base
expect 1 "'two words'" explore "$work/odd" fails 'two words'

# ---------------------------------------------------------------- what remains

[ -z "$(ls -A "$TMPDIR")" ] || fail "files remain: $(ls "$TMPDIR")"
"$evsmp" explore --timeout 100 "$work/odd" hangs >"$work/interrupted" 2>&1 &
pid=$!
until [ -n "$(cat "$TMPDIR"/*/0.output 2>/dev/null)" ]; do
	kill -0 "$pid" || break
done
kill -TERM "$pid"
wait "$pid"
[ $? = 143 ] || fail "SIGTERM does not end it"
[ -z "$(ls -A "$TMPDIR")" ] || fail "files remain after SIGTERM: $(ls "$TMPDIR")"
! ps -o args | grep -q "^$work/odd hangs" || fail "processes remain"
TMPDIR=/no/such/directory expect 123 "cannot be made" explore "$buggy"

exit "$failed"
