#!/bin/sh
# usage: checks.sh SCRIPTS
#
# The checks of the source find what they are for: each fault is made in a tree of its own.
set -u
scripts=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
tree=

new_tree()
{
	rm -rf "$work/tree"
	tree=$work/tree
	mkdir -p "$tree/core" "$tree/compat/libevent" "$tree/compat/other" "$tree/testsuite/unit" "$tree/patches"
	for file in core/ec.h core/inner.h compat/libevent/le.h compat/other/other.h; do
		echo 'int fine;' >"$tree/$file"
	done
}

# expect CHECK TEXT: it fails, and names the fault
expect()
{
	if said=$("$scripts/$1" "$tree" 2>&1); then
		echo "$1 passes what it should not: $2"
		failed=1
	fi
	case $said in
	*"$2"*) ;;
	*)
		echo "$1 does not say \"$2\": $said"
		failed=1
		;;
	esac
}

expect_pass()
{
	"$scripts/$1" "$tree" || { echo "$1 fails for a good tree"; failed=1; }
}

# lines N TEXT
lines()
{
	i=0
	while [ "$i" -lt "$1" ]; do
		echo "$2"
		i=$((i + 1))
	done
}

new_tree
printf '#include "core/ec.h"\n#include "le.h"\n#include <event2/event.h>\n' >"$tree/compat/libevent/good.c"
{ printf 'int f(void)\n{\n'; lines 70 '	f();'; echo '}'; } >"$tree/core/good.c"
for check in check-layers check-lengths check-words; do
	expect_pass $check
done

echo '#include <event2/event.h>' >"$tree/core/a.c"
expect check-layers "core/a.c:1: core must not include event2/event.h"
new_tree
mkdir -p "$tree/core/os" "$tree/core/sched" "$tree/core/loop" "$tree/compat/libevent/http"
echo 'int up;' >"$tree/core/loop/up.h"
echo '#include "loop/up.h"' >"$tree/core/sched/a.c"
expect check-layers "core/sched/a.c:1: room sched must not include core/loop/up.h: os < lock < observe < sched < io < loop"
printf '#include "../core/loop/up.h"\n#include "os/b.h"\n' >"$tree/core/loop/a.c"
echo '#include "os/c.h"' >"$tree/core/os/b.h"
echo 'int c;' >"$tree/core/os/c.h"
echo '#include "http/parse.h"' >"$tree/compat/libevent/http/conn.c"
echo 'int p;' >"$tree/compat/libevent/http/parse.h"
rm "$tree/core/sched/a.c"
expect_pass check-layers
echo '#include "os/b.h"' >"$tree/core/os/c.c"
expect check-layers "a circle of includes: core/os/b, core/os/c"
new_tree
mkdir -p "$tree/compat/libevent/dns" "$tree/compat/libevent/buffer"
echo 'int b;' >"$tree/compat/libevent/buffer/b.h"
echo '#include "buffer/b.h"' >"$tree/compat/libevent/dns/a.c"
expect check-layers "compat/libevent/dns/a.c:1: room dns must not include compat/libevent/buffer/b.h: it is beside, not below"
new_tree
echo '#include "core/inner.h"' >"$tree/compat/libevent/a.c"
expect check-layers "libevent must not include core/inner.h"
new_tree
echo '#include "../other/other.h"' >"$tree/compat/libevent/a.c"
expect check-layers "libevent must not include ../other/other.h"

new_tree
{ printf 'int f(void)\n{\n'; lines 71 '	f();'; echo '}'; } >"$tree/core/long.c"
expect check-lengths "core/long.c:2: the function has 71 lines"
new_tree
{ printf 'namespace n\n{\nclass c : d\n{\n'; lines 71 '	void f();'; printf '};\n}\n'; } >"$tree/core/class.cc"
expect_pass check-lengths
{ printf 'class c\n{\n	void f()\n	{\n'; lines 71 '		f();'; printf '	}\n};\n'; } >"$tree/core/method.cc"
expect check-lengths "core/method.cc:4: the function has 71 lines"
new_tree
lines 801 'int f(void);' >"$tree/core/big.c"
expect check-lengths "more than 800 lines"
new_tree
printf '\t/* %0120d */\n' 0 >"$tree/core/wide.c"
expect check-lengths "core/wide.c:1: the line has"

new_tree
echo "/* FIX""ME */" >"$tree/core/a.c"
expect check-words "unfinished work"
new_tree
printf ' X''XX of theirs\n' >"$tree/patches/a.patch"
expect_pass check-words
printf '+/* X''XX of ours */\n' >>"$tree/patches/a.patch"
expect check-words "a.patch:2:"
new_tree
echo "open(\"/ho""me/someone\")" >"$tree/core/a.c"
expect check-words "a path of one machine"
new_tree
echo 'static void wait(void) { usleep(10); }' >"$tree/testsuite/unit/test_a.c"
expect check-words "a test that sleeps"

new_tree
printf 'static int counter;\nint next(void);\nint next(void) { return ++counter; }\n' >"$tree/state.c"
printf 'int f(void);\nstatic int (*const table[])(void) = { f };\nint f(void) { return table[0](); }\n' >"$tree/table.c"
for name in state table; do
	${CC:-cc} -fPIC -O1 -c -o "$tree/$name.o" "$tree/$name.c" && ar rc "$tree/$name.a" "$tree/$name.o" || exit 1
done
"$scripts/check-state" "$tree/table.a" || { echo "check-state fails for constant tables"; failed=1; }
tree=$tree/state.a
expect check-state "counter"

new_tree
mkdir -p "$tree/docs" "$tree/testsuite/examples/chat" "$tree/testsuite/bench/results"
wide=$(printf '%0101d' 0)
lines 150 text >"$tree/README.md"
lines 80 text >"$tree/docs/nginx.md"
lines 200 'int a;' >"$tree/testsuite/examples/chat/chat.c"
# What may be wide: tables, code, a single word, what a program wrote; and 100 columns, of characters and not of bytes.
{ echo "| $wide x |"; echo '```'; echo "a $wide"; echo '```'; echo; echo "	a $wide"; echo; echo "    a $wide"; echo "    b $wide"
	echo; echo "$wide"; echo "$(printf '%098d' 0) µ"; } >"$tree/docs/a.md"
echo "a $wide" >"$tree/testsuite/bench/results/a.md"
expect_pass check-documents
echo text >>"$tree/README.md"
expect check-documents "README.md: 151 lines; at most 150"
echo text >>"$tree/docs/nginx.md"
expect check-documents "docs/nginx.md: 81 lines; at most 80"
echo 'int b;' >>"$tree/testsuite/examples/chat/chat.c"
expect check-documents "chat/chat.c: 201 lines; at most 200"
echo "- a $wide" >>"$tree/docs/a.md"
expect check-documents "docs/a.md:13: the line has 105 columns"

# A page with a warning; and without mandoc, the check is left out with a reason.
tree=$work/page.3
printf '.Dd January 1, 2026\n.Dt PAGE 3\n.Os\n.Sh NAME\n.Nm page\n.Nd a page\n.Sh DESCRIPTION\nText.\n' >"$tree"
! command -v mandoc >/dev/null || expect_pass check-man
printf 'a line%084d\n' 0 >>"$tree"
! command -v mandoc >/dev/null || expect check-man "longer than 80 bytes"
printf '.Pp\n.Bd -literal\ncode\n.Ed\n.Pp\n.Bd -literal\nmore\n.Ed\n' >>"$tree"
! command -v mandoc >/dev/null || expect check-man "Pp before Bd"
said=$(PATH=$work/none "$(command -v sh)" "$scripts/check-man" "$tree")
[ $? = 77 ] || { echo "without mandoc, check-man does not end with 77"; failed=1; }
[ "$said" = "skipped: there is no mandoc here" ] || { echo "without mandoc, check-man says: $said"; failed=1; }
exit "$failed"
