#!/bin/sh
# usage: valgrind.sh SOURCE LIBDIR
#
# Helgrind and DRD on colored programs that have no sanitizer: nothing about one that keeps the contract of colors, and
# a report about two colors that race. $CC compiles.
set -u
source=$1
libdir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$libdir" EVENT_WORKERS=2
unset EVENT_CHECK_COLORS EVENT_SMP_SEED
failed=0

fail()
{
	echo "$1"
	head -60 "$work/said"
	failed=1
}

# tool NAME STATUS PROGRAM...: the tool ends so; 9: it has reported errors
tool()
{
	name=$1 expected=$2
	shift 2
	valgrind -q --tool="$name" --error-exitcode=9 --suppressions="$source/core/valgrind.supp" "$@" >"$work/said" 2>&1
	status=$?
	[ "$status" = "$expected" ] || fail "$name $*: status $status, not $expected"
}

command -v valgrind >/dev/null || { echo "skipped: there is no valgrind here"; exit 77; }
for name in handed spoiled; do
	# shellcheck disable=SC2086 # may be `ccache gcc`
	$CC -std=gnu11 -g -O1 -Wall -Wextra -Werror -I"$source/compat/libevent/include" -o "$work/$name" \
		"$source/testsuite/races/$name.c" -L"$libdir" -levent || exit 1
done
valgrind -q --tool=helgrind "$work/handed" none >"$work/said" 2>&1 || { echo "valgrind does not run here"; exit 77; }
for name in helgrind drd; do
	tool $name 0 "$work/handed"
	tool $name 9 "$work/spoiled"
	grep -q spoil "$work/said" || fail "$name does not name the function"
done
exit $failed
