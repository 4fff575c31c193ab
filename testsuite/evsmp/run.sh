#!/bin/sh
# usage: run.sh EVSMP LIBDIR
#
# run, check and env on programs that work, and the command line: options, names that are hard on a shell and on the
# loader, and where the libraries are.
set -u
. "${0%/*}/common.sh" "$1" "$2"

expect 3 "ours 3 <hello> workers 2" run --workers 2 "$work/program" hello 3
expect 0 "ours 2 <--workers> workers 4" run --workers=4 -- "$work/program" --workers
expect 0 "All functions" check "$work/program"
expect 0 "libevent_core-2.1.so.7: here" check "$work/program"
expect 0 "LD_LIBRARY_PATH=$libs" env
expect 0 "LD_LIBRARY_PATH=$libs" env -- "$work/program"
expect 0 "usage: evsmp run" --help
expect 0 "evsmp " --version
expect 2 "usage:"
expect 2 "no command" fly
expect 2 "which program" run
expect 2 "from 1 to 1024" run --workers 0 "$work/program"
expect 2 "needs a number" run --workers many "$work/program"
expect 2 "needs a number" run --workers
expect 2 "no option" run --worker 2 "$work/program"
expect 2 "no option" env --workers=2
expect 2 "which program" check
expect 0 "All functions" check "$work/program" more --words
expect 0 "LD_LIBRARY_PATH=$libs" env "$work/program" more --words
expect 2 "no arguments" which this
expect 2 "no arguments" ps --all
expect 127 "no such program" run "$work/nothing"
expect 127 "name is empty" run ""
expect 126 "is a directory" run "$work"
expect 126 "is a directory" check "$work"
for command in run check check-colors env enable disable status ps which doctor; do
	expect 0 "evsmp $command" --help
done

# What LD_LIBRARY_PATH has already comes behind.
LD_LIBRARY_PATH=/opt/more expect 0 "LD_LIBRARY_PATH=$libs:/opt/more" env

# What starts another program hands the setting on.
for command in "env A=b" "env -u OTHER -C /" "env -- A=b" "env -S env" "nice" "setsid" "setsid -w" "timeout 60" \
	"taskset 1" "nohup" \
	"nice timeout 60" "env nice"; do
	[ -n "$(command -v "${command%% *}")" ] || { skip "${command%% *}: it is not installed"; continue; }
	# shellcheck disable=SC2086 # a list
	runs $command "$work/program" x 0
done
runs sh -c "$work/program"
runs sh -c "exec $work/program # no comment"
# A name without a path may be anything.
PATH=$work:$PATH expect 0 "started on ours" run sh -c 'program'
PATH=$work:$PATH runs env A=b program x 0
for command in "valgrind -q" "gdb -batch -ex run --args"; do
	[ -n "$(command -v "${command%% *}")" ] || { skip "${command%% *}: it is not installed"; continue; }
	said=$([ "${command%% *}" != valgrind ] || LD_LIBRARY_PATH=$libs valgrind "$work/program" 2>&1 || true)
	[[ $said != *"debuginfo reader"* ]] || { skip "valgrind: it cannot read what this compiler writes"; continue; }
	# shellcheck disable=SC2086 # a list
	expect 0 "started on ours" run $command "$work/program" x 0
done

# It adds nothing to what the program has, and closes nothing.
compile -o "$work/fds" -x c - <<'EOF'
#include <fcntl.h>
#include <stdio.h>

int main(void)
{
	int fd, bits = 0;

	for (fd = 0; fd < 64; fd++)
		bits |= fcntl(fd, F_GETFD) >= 0 ? 1 << (fd % 7) : 0;
	return bits;
}
EOF
"$work/fds" </dev/null
before=$?
"$evsmp" run "$work/fds" 2>/dev/null </dev/null
[ $? = "$before" ] || fail "the program has other descriptors than its caller"
"$work/fds" <&- >&- 2>&-
before=$?
"$evsmp" run "$work/fds" <&- >&- 2>&-
[ $? = "$before" ] || fail "the program has descriptors that were closed"
"$evsmp" run "$work/program" x 5 >&-
[ $? = 5 ] || fail "a program without standard output does not run"

# An answer that cannot be written is no success.
if [ -w /dev/full ]; then
	"$evsmp" env >/dev/full 2>"$work/said"
	[ $? = 123 ] || fail "evsmp env >/dev/full: no status 123"
	grep -q "cannot be written" "$work/said" || fail "evsmp env >/dev/full: $(cat "$work/said")"
else
	skip "an answer that cannot be written: there is no /dev/full"
fi

# ---------------------------------------------------------------- names

# Names with what separates paths for the loader, or words for a shell; the program's too, and its arguments.
mkdir "$work/home" "$work/my programs"
cp "$work/program" "$work/my programs/an event loop"
export HOME="$work/home"
# shellcheck disable=SC2016 # the names are as they stand
for name in 'with space' 'semi;colon' 'co:lon' 'a$LIB' 'all;of: it$ORIGIN "x"' "it's" '[a-z]*?'; do
	mkdir -p "$work/$name/bin" "$work/$name/lib"
	cp -r "$libs" "$work/$name/lib/libevent-smp"
	cp "$evsmp" "$work/$name/bin/evsmp"
	for how in named beside; do
		evsmp=$tested
		export EVSMP_LIBDIR="$work/$name/lib/libevent-smp"
		if [ "$how" = beside ]; then
			evsmp="$work/$name/bin/evsmp"
			unset EVSMP_LIBDIR
		fi
		expect 0 "ours 3 <two  words>" run "$work/my programs/an event loop" "two  words" 0
		expect 0 "libevent_core-2.1.so.7: here" check "$work/my programs/an event loop"
		# What env prints is one word for a shell, and means the same.
		# shellcheck disable=SC2046 # to count the words
		set -- "$1" "$2" $("$evsmp" env)
		case "$#:${3-}" in
		3:LD_LIBRARY_PATH=*) ;;
		*) fail "evsmp env, in \"$name\", $how: $*" ;;
		esac
		said=$(eval export "$("$evsmp" env)" && "$work/my programs/an event loop")
		[ "$said" = "started on ours 1 <> workers unset" ] || fail "evsmp env, in \"$name\", $how: $said"
		said=$(cd "$work" && PATH="$work/my programs:$PATH" "$evsmp" run "an event loop" x)
		[ "$said" = "started on ours 2 <x> workers unset" ] || fail "evsmp run in PATH, in \"$name\", $how: $said"
	done
done
evsmp=$tested
[ "$(find "$work/home/.cache/evsmp" -type l | wc -l)" = 7 ] || fail "more than one link for a directory: $(ls "$work/home/.cache/evsmp")"
# A link of an earlier time that leads elsewhere is replaced.
link=$(find "$work/home/.cache/evsmp" -lname '*semi;colon*')
ln -sfn /nowhere "$link"
EVSMP_LIBDIR="$work/semi;colon/lib/libevent-smp" expect 0 "started on ours" run "$work/program"
# Where others may write, they could exchange the link.
chmod 777 "$work/home/.cache/evsmp"
EVSMP_LIBDIR="$work/co:lon/lib/libevent-smp" agree 113 "EVSMP_LIBDIR" "$work/program"
chmod 700 "$work/home/.cache/evsmp"
# Without a place for a link there is a reason, not another library.
export EVSMP_LIBDIR="$work/co:lon/lib/libevent-smp" HOME=/proc/none
agree 113 "EVSMP_LIBDIR" "$work/my programs/an event loop"
expect 113 "EVSMP_LIBDIR" env
# A link that the user made is taken as it is.
ln -s "$work/co:lon/lib/libevent-smp" "$work/link"
export EVSMP_LIBDIR="$work/link"
expect 0 "ours 1" run "$work/program"
expect 0 "LD_LIBRARY_PATH=$work/link" env
# What the environment has comes behind, without empty elements: they would be the current directory.
for others in /opt/a:/opt/b :/opt/a::/opt/b: '/opt/a;;/opt/b;'; do
	said=$(LD_LIBRARY_PATH=$others "$evsmp" env)
	[ "$said" = "LD_LIBRARY_PATH=$work/link:/opt/a:/opt/b" ] || fail "evsmp env behind \"$others\": $said"
done
export HOME="$work/home"
(cd "$work" && EVSMP_LIBDIR=link expect 0 "LD_LIBRARY_PATH=$work/link" env && exit "$failed") || failed=1

# ---------------------------------------------------------------- no libraries

export EVSMP_LIBDIR="$work"
agree 100 "holds no libevent_smp" "$work/program"
expect 100 "holds no libevent_smp" env
expect 100 "holds no libevent_smp" which
mkdir "$work/bin"
cp "$evsmp" "$work/bin/evsmp"
mv "$libs" "$work/away"
unset EVSMP_LIBDIR
evsmp="$work/bin/evsmp"
agree 100 "neither installed beside" "$work/program"
# A part of them is not enough.
export EVSMP_LIBDIR="$work/away"
rm "$work/away/libevent_core-2.1.so.7"
agree 100 "no libevent_core-2.1.so.7" "$work/program"
exit "$failed"
