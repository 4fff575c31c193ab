#!/bin/bash
# usage: release.sh SCRIPTS
#
# `release --check` passes a tree whose places agree, and names each that does not; those of this tree do, as far as they
# must between releases. `abi-report`
# lists a library's exports, and names what was promised and is gone, and what is new.
set -u
scripts=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
tree=$work/tree

fail()
{
	echo "$*"
	failed=1
}

# A commit of this day: what a user's git is told to do is of no account here.
commit()
{
	git -C "$tree" -c user.name=test -c user.email=test@test.invalid -c commit.gpgsign=false -c core.hooksPath=/dev/null \
		commit -qam "$1"
}

new_tree()
{
	rm -rf "$tree"
	if [ -d "$work/first" ]; then
		cp -a "$work/first" "$tree"
		return
	fi
	mkdir -p "$tree"/{scripts,core/os,man,evsmp,compat/libasync,compat/libevent/{cmake,include/event2}} \
		"$tree"/ports/packages/{debian,rpm,arch}
	cp "$scripts/release" "$scripts/abi-report" "$tree/scripts/"
	printf "project('libevent-smp', 'c',\n  version: '1.2.3',\nprivate_libdir = get_option('libdir') / 'libevent-smp'\n" \
		>"$tree/meson.build"
	echo '#define EC_VERSION "1.2.3"' >"$tree/core/os/version.h"
	printf '#define EVENT_SMP_VERSION "1.2.3"\n#define EVENT_SMP_VERSION_NUMBER 0x01020300\n' \
		>"$tree/compat/libevent/include/event2/smp.h"
	echo 'libevent-smp 1.2.3, 2026-11-25' >"$tree/NEWS"
	echo "  soversion: '1', version: '1.0.0'," >"$tree/core/meson.build"
	cat >"$tree/compat/libevent/meson.build" <<-'END'
	    soversion: '7', version: '7.0.1',
	  libraries: ['-L${libdir}/libevent-smp', '-Wl,-rpath,${libdir}/libevent-smp', '-levent'])
	END
	echo '  get_filename_component(_libevent_smp_libdir "${_libevent_smp_dir}/../../libevent-smp" ABSOLUTE)' \
		>"$tree/compat/libevent/cmake/LibeventSmpConfig.cmake.in"
	printf "  soversion: '1', version: '1.0.0',\n  install_rpath: '\$ORIGIN/libevent-smp:\$ORIGIN')\n" \
		>"$tree/compat/libasync/meson.build"
	echo '	static const char *const places[] = { "../lib/libevent-smp", "../lib/*/libevent-smp",' >"$tree/evsmp/libdir.c"
	printf '.Dd January 1, 2999\nText.\n' >"$tree/man/page.1"
	cd "$tree/ports/packages" || exit 2
	echo 'libevent-smp (1.2.3-1) unstable; urgency=medium' >debian/changelog
	printf 'Package: libevent-smp1\n\nPackage: libasync-smp1\n' >debian/control
	echo 'usr/lib/*/libevent-smp/*.so.*' >debian/libevent-smp1.install
	printf 'libevent_smp.so.1 #PACKAGE# #MINVER#\n| #PACKAGE# (>= 1.2.3), #PACKAGE# (<< 1.2.4~)\n' \
		>debian/libevent-smp1.symbols
	printf 'libasync_smp.so.1 #PACKAGE# #MINVER#\n (symver)LIBASYNC_SMP_1 1.2.0\n' >debian/libasync-smp1.symbols
	printf '%%global private_dir %%{_libdir}/libevent-smp\nVersion: 1.2.3\n' >rpm/libevent-smp.spec
	echo 'pkgver=1.2.3' >arch/PKGBUILD
	printf '[inside](sub/b.md#part) [outside](https://example.invalid/a) [here](#there)\n' >"$tree/a.md"
	mkdir "$tree/sub"
	echo '[up](../a.md)' >"$tree/sub/b.md"
	printf 'a.md\nsub\n' >documents
	cd "$work" || exit 2
	git -C "$tree" init -q
	git -C "$tree" add .
	commit first
	cp -a "$tree" "$work/first"
}

# expect TEXT: the check fails and says so
expect()
{
	local said

	if said=$("$tree/scripts/release" --check 1.2.3 2>&1); then
		fail "passes what it should not: $1"
	fi
	[[ $said == *"$1"* ]] || fail "does not say \"$1\" but: $said"
}

# change FILE EXPRESSION TEXT: with that, the check fails with TEXT
change()
{
	new_tree
	sed -i "$2" "$tree/$1"
	commit change
	expect "$3"
}

new_tree
"$tree/scripts/release" --check 1.2.3 >"$work/log" 2>&1 || { fail "fails for a good tree"; cat "$work/log"; }
"$tree/scripts/release" --check 1.2 >/dev/null 2>&1 && fail "1.2 is taken for a version"

change meson.build s/1.2.3/1.2.4/ 'meson.build says "1.2.4", not "1.2.3"'
change core/os/version.h s/1.2.3/1.2.2/ 'version.h says "1.2.2"'
change compat/libevent/include/event2/smp.h s/1.2.3/1.2.2/ 'smp.h says "1.2.2"'
change compat/libevent/include/event2/smp.h s/0x010203/0x010202/ 'smp.h says "0x01020200", not "0x01020300"'
change NEWS 's/,.*/, not yet released/' 'NEWS begins with'
change ports/packages/debian/changelog s/1.2.3/1.2.2/ 'changelog says "1.2.2"'
change ports/packages/debian/libevent-smp1.symbols s/1.2.4/1.3.0/ 'symbols says'
change ports/packages/rpm/libevent-smp.spec s/1.2.3/1.2.2/ 'spec says "1.2.2"'
change ports/packages/arch/PKGBUILD s/1.2.3/1.2.2/ 'PKGBUILD says "1.2.2"'
change core/meson.build "s/'1'/'2'/" 'not "libevent-smp2"'
change compat/libevent/meson.build "s/'7'/'8'/" 'says "8", not "7"'
change compat/libasync/meson.build "s/'1'/'2'/" 'not "libasync-smp2"'
change ports/packages/debian/libasync-smp1.symbols 's/so.1/so.2/' 'says "libasync_smp.so.2"'
# Two engines that programs cannot use together are in directories of two names.
change core/meson.build "s/'1'/'2'/" 'meson.build says "libevent-smp", not "libevent-smp2"'
for file in meson.build compat/libevent/meson.build compat/libevent/cmake/LibeventSmpConfig.cmake.in \
	compat/libasync/meson.build evsmp/libdir.c ports/packages/rpm/libevent-smp.spec ports/packages/debian/libevent-smp1.install; do
	change $file "s,\(/ *'*\)libevent-smp,\1libevent-smp2,g" "$file says \"libevent-smp2\""
done
change ports/packages/documents /sub/d 'a.md: packages lack its sub/b.md'
change sub/b.md s/a.md/c.md/ 'sub/b.md: packages lack its ../c.md'
change ports/packages/documents s/a.md/c.md/ 'names what is not there'
change man/page.1 's/January 1, 2999/January 1, 1999/' 'man/page.1 is dated 1999-01-01'
change man/page.1 's/January.*/some day/' 'man/page.1 has no date'
new_tree
echo >>"$tree/NEWS"
expect 'not committed'

# Between releases, too. A page's date may be late by some days; a commit of nothing but the date is no change of the page.
unreleased()
{
	"$tree/scripts/release" --check-unreleased >"$work/log" 2>&1
}
# changed_on DAY: the page's text, in a commit of that day
changed_on()
{
	echo "Changed on $1." >>"$tree/man/page.1"
	GIT_AUTHOR_DATE="$1T12:00:00" commit "$1"
}
unreleased || fail "a tree that may be released fails between releases: $(cat "$work/log")"
sed -i 's/,.*/, not yet released/' "$tree/NEWS"
unreleased || fail "fails between releases: $(cat "$work/log")"
sed -i 's/1.2.3/1.2.4/' "$tree/NEWS"
unreleased && fail "another version in NEWS passes between releases"
new_tree
sed -i 's/^.Dd .*/.Dd March 30, 2020/' "$tree/man/page.1"
changed_on 2020-04-06
unreleased || fail "a date that is a week late fails between releases: $(cat "$work/log")"
expect 'man/page.1 is dated 2020-03-30, and was changed on 2020-04-06'
changed_on 2020-04-07
unreleased && fail "a date that is eight days late passes"
grep -q 'man/page.1 is dated 2020-03-30, and was changed on 2020-04-07' "$work/log" || fail "does not say so: $(cat "$work/log")"
"$tree/scripts/release" --set-dates >"$work/log" || fail "no dates are set"
grep -qx '.Dd April 7, 2020' "$tree/man/page.1" || fail "a wrong date is set: $(head -n 1 "$tree/man/page.1")"
GIT_AUTHOR_DATE=2020-05-01T12:00:00 commit date
unreleased || fail "a commit of the date alone counts as a change: $(cat "$work/log")"
"$tree/scripts/release" --check 1.2.3 >"$work/log" || fail "dates that were set fail at a release: $(cat "$work/log")"

# The tree itself
if [ "$(git -C "$scripts" rev-parse --show-prefix 2>/dev/null)" = scripts/ ]; then
	"$scripts/release" --check-unreleased >"$work/log" 2>&1 || { fail "the places of this tree do not agree:"; cat "$work/log"; }
else
	echo "not tested here: whether the places of this tree agree: it is no clone of the repository"
fi

# Packages of programs learn from the symbols file which version they need at least.
printf 'libasync_smp.so.1: libasync old\n' >"$work/previous"
printf 'libasync_smp.so.1: libasync old\nlibasync_smp.so.1: libasync new\n' >"$work/current"
compared()
{
	"$tree/scripts/release" --check --previous "$work/previous" --current "$work/current" 1.2.3 >"$work/log" 2>&1
}
new_tree
compared && fail "a new function with the version of an old one passes"
grep -q 'libasync-smp1.symbols says 1.2.0, but these are new: new$' "$work/log" || fail "does not say so: $(cat "$work/log")"
sed -i 's/LIBASYNC_SMP_1 .*/LIBASYNC_SMP_1 1.2.3/' "$tree/ports/packages/debian/libasync-smp1.symbols"
commit raised
compared || fail "a new function with its version fails: $(cat "$work/log")"
new_tree
cp "$work/previous" "$work/current"
compared || fail "a release that adds nothing fails: $(cat "$work/log")"
echo 'libasync_smp.so.1: libasync other' >"$work/current"
compared && fail "a function of libasync may go"

# ---------------------------------------------------------------- what was promised

cat >"$work/old" <<-'REPORT'
event2/smp.h: struct s 16 bytes
liba.so.1: colors f
liba.so.1: library
liba.so.1: private p
REPORT
cp "$work/old" "$work/new"
against()
{
	"$scripts/abi-report" --against "$work/old" "$work/new" >"$work/log" 2>&1
}
against || fail "a report does not keep its own promises"
sed -i '/ p$/d; s/16 bytes/24 bytes/' "$work/new"
against || fail "private names and longer structs are held against a release"
for gone in 'colors f' library 'struct s'; do
	grep -v "$gone" "$work/old" >"$work/new"
	against && fail "\"$gone\" may go"
	grep -q "$gone" "$work/log" || fail "does not name \"$gone\""
done

printf '%s\n' 'liba.so.1: colors g' 'liba.so.1: private q' 'libb.so.1: library' >>"$work/old"
[ "$("$scripts/abi-report" --added "$work/new" "$work/old")" = 'liba.so.1: g' ] || fail "new: $("$scripts/abi-report" --added "$work/new" "$work/old")"

# ---------------------------------------------------------------- what a library exports

mkdir "$work/lib"
echo 'LIBEVENT_SMP_PRIVATE { global: ec_*; local: *; };' >"$work/private.map"
echo 'LIBASYNC_SMP_1 { global: *; };' >"$work/async.map"
cat >"$work/lib.c" <<'END'
int ec_own, event_new, event_base_post, inlined;
__attribute__((weak)) int inlined_function(void) { return 0; }
END
# library NAME FLAG...
library()
{
	local name=$1

	shift
	${CC:-cc} -shared -fPIC -o "$work/lib/$name" "$work/lib.c" -Wl,-soname,"$name" "$@" || exit 2
}
library libevent_smp.so.1 -Wl,--version-script="$work/private.map"
library libevent-2.1.so.7
library libasync_smp.so.1 -Wl,--version-script="$work/async.map"
"$scripts/abi-report" "$work/lib" "$work/lib/libasync_smp.so.1" >"$work/report" || fail "no report"
for line in 'libevent_smp.so.1: private ec_own' 'libevent-2.1.so.7: libevent event_new' \
	'libevent-2.1.so.7: colors event_base_post' 'libasync_smp.so.1: library' 'libasync_smp.so.1: libasync event_new'; do
	grep -qx "$line" "$work/report" || fail "the report lacks \"$line\""
done
# Whether a compiler emits what is inline is no promise.
grep -q 'libasync.*inlined_function' "$work/report" && fail "inline functions are reported"
grep -q '@\|LIBASYNC_SMP_1$' "$work/report" && fail "versions are reported as names"
exit "$failed"
