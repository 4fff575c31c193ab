#!/bin/sh
# usage: musl.sh TREE
#
# The tree with musl, by Debian's musl-gcc: configuring says what is missing, the libraries, examples, fuzz corpora and
# a program are built and run. scripts/test-musl also runs the tests that need CMocka.
set -u
tree=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail()
{
	echo "$*"
	failed=1
}

# configure NAME OPTION...: its words are in $work/NAME.log
configure()
{
	name=$1
	shift
	CC=musl-gcc meson setup "$work/$name" "$tree" -Dopenssl=disabled "$@" >"$work/$name.log" 2>&1
}

if ! command -v musl-gcc >/dev/null; then
	echo "skipped: there is no musl-gcc here (Debian: musl-tools)"
	exit 77
fi
if configure bare -Dtests=disabled; then
	fail "musl without libevent's headers is taken without a word"
elif ! grep -q 'libevent-smp needs <event2/event.h>' "$work/bare.log"; then
	fail "musl without libevent's headers is refused without a reason"
fi
"$tree/scripts/musl-headers" "$work/include" || exit 1
configure musl -Dtests=enabled -Dbuildtype=debug -Dwerror=true -Dc_args="-isystem $work/include" ||
	{ fail "musl is not configured:"; tail -5 "$work/musl.log"; exit 1; }
grep -q 'The unit and stress tests are left out: this C library has no CMocka' "$work/musl.log" ||
	fail "configuring with musl does not say that CMocka is missing"
ninja -C "$work/musl" compat/libevent/libdir.stamp >"$work/musl.log" 2>&1 ||
	{ fail "musl is not built:"; tail -20 "$work/musl.log"; }
# What needs neither CMocka nor the system's libevent. It is built before it runs.
meson test -C "$work/musl" -t 4 --suite fuzz --suite examples >"$work/musl.log" 2>&1 ||
	{ fail "tests fail on musl:"; tail -40 "$work/musl.log"; }

libdir=$work/musl/libdir
musl-gcc -isystem "$work/include" -I"$tree/compat/libevent/include" -o "$work/colored" "$tree/testsuite/abi/colored.c" \
	-L"$libdir" -Wl,-rpath,"$libdir" -Wl,-rpath-link,"$libdir" -levent_core &&
	"$work/colored" || fail "a program on musl fails"
exit "$failed"
