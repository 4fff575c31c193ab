#!/bin/sh
# usage: hardening.sh LIBDIR none|light|full
#
# The libraries are as hard as meson.build says: bound and sealed when they are loaded, no stack or segment that is
# both writable and executable; with `light` calls that check sizes; with `full` stacks and branches that are checked.
set -u
libdir=$1 level=$2
failed=0

fail()
{
	echo "$*"
	failed=1
}

check_always()
{
	readelf -dW "$1" | grep -q 'BIND_NOW\|FLAGS.* NOW' || fail "$1 is not bound when it is loaded"
	readelf -lW "$1" | grep -q GNU_RELRO || fail "$1 has no RELRO"
	readelf -lW "$1" | grep -q ' RWE ' && fail "$1 has memory that is writable and executable"
	readelf -dW "$1" | grep -q TEXTREL && fail "$1 has relocations in its code"
	return 0
}

check_full()
{
	readelf -sW "$1" | grep -q __stack_chk_fail || fail "$1 has no stack protector"
	case $(uname -m) in
	x86_64) readelf -nW "$1" | grep -q 'IBT' || fail "$1 has no branch protection" ;;
	esac
}

for lib in "$libdir"/*.so.*; do
	check_always "$lib"
	[ "$level" != full ] || check_full "$lib"
done
if [ "$level" != none ]; then
	readelf -sW "$libdir/libevent_core-2.1.so.7" | grep -q '__[a-z]*_chk' || fail "no call checks sizes (_FORTIFY_SOURCE)"
fi
exit "$failed"
