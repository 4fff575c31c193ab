#!/bin/sh
# usage: evsmp.sh EVSMP LIBDIR
#
# What evsmp says and does, on programs made here: with all functions, with one too many, with
# no libevent, missing, not executable; and with names that are hard on a shell and on the loader.
set -u
evsmp=$1
export EVSMP_LIBDIR="$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect STATUS TEXT ARGUMENT...: evsmp ends so, and says so
expect()
{
	status=$1 text=$2
	shift 2
	said=$("$evsmp" "$@" 2>&1)
	got=$?
	if [ "$got" != "$status" ]; then
		echo "evsmp $*: status $got, not $status: $said"
		failed=1
	fi
	case $said in
	*"$text"*) ;;
	*)
		echo "evsmp $*: no \"$text\" in: $said"
		failed=1
		;;
	esac
}

cat >"$work/good.c" <<'END'
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();

	printf("%s %s %s\n", event_base_get_method(base), getenv("EVENT_WORKERS"), argc > 1 ? argv[1] : "");
	event_base_free(base);
	return 3;
}
END
cat >"$work/lacks.c" <<'END'
void event_of_a_later_day(void);

int main(void)
{
	event_of_a_later_day();
	return 0;
}
END
echo 'void event_of_a_later_day(void); void event_of_a_later_day(void) {}' >"$work/stock.c"
echo 'int main(void) { return 0; }' >"$work/plain.c"
mkdir "$work/stock"
link="-L$EVSMP_LIBDIR -Wl,-rpath-link,$EVSMP_LIBDIR"
$CC -o "$work/good" "$work/good.c" $link -levent_core &&
	$CC -shared -fPIC -Wl,-soname,libevent_core-2.1.so.7 -o "$work/stock/libevent_core-2.1.so.7" "$work/stock.c" &&
	$CC -o "$work/lacks" "$work/lacks.c" "$work/stock/libevent_core-2.1.so.7" -Wl,-rpath,"$work/stock" &&
	$CC -o "$work/plain" "$work/plain.c" || { echo "the programs do not compile"; exit 1; }

expect 3 "epoll 2 hello" run --workers 2 "$work/good" hello
expect 3 "epoll 4 --workers" run --workers=4 -- "$work/good" --workers
expect 0 "All functions" check "$work/good"
expect 0 "libevent_core-2.1.so.7: here" check "$work/good"
expect 1 "event_of_a_later_day" check "$work/lacks"
expect 2 "loads no libevent" check "$work/plain"
cp "$evsmp" "$work/script"
expect 2 "not a dynamically linked" check "$work/script"
expect 0 "LD_LIBRARY_PATH=" env
expect 0 "usage: evsmp run" --help
expect 0 "evsmp " --version
expect 2 "usage:"
expect 2 "no command" fly
expect 2 "which program" run
expect 2 "number from 1 to 1024" run --workers 0 "$work/good"
expect 2 "needs a number" run --workers many "$work/good"
expect 2 "no option" run --worker 2 "$work/good"
expect 2 "one program" check
expect 127 "no such program" run "$work/nothing"
expect 126 "is a directory" run "$work"

# Names with what separates paths for the loader, or words for a shell; the program's too, and its arguments.
cat >"$work/ours.c" <<'END'
#include <event2/event.h>
#include <stdio.h>

void event_base_post(void);
void event_base_post(void) __attribute__((weak));

int main(int argc, char **argv)
{
	(void)event_get_version();
	printf("%s %d <%s>\n", event_base_post ? "ours" : "stock", argc, argc > 1 ? argv[1] : "");
	return 0;
}
END
mkdir "$work/home" "$work/my programs"
$CC -fPIE -pie -o "$work/my programs/an event loop" "$work/ours.c" $link -levent_core || exit 1
real=$(readlink -f "$EVSMP_LIBDIR")
export HOME="$work/home"
unset XDG_CACHE_HOME
for name in 'with space' 'semi;colon' 'co:lon' 'a$LIB' 'all;of: it$ORIGIN "x"' "it's"; do
	mkdir "$work/$name"
	cp -r "$real" "$work/$name/libdir"
	export EVSMP_LIBDIR="$work/$name/libdir"
	expect 0 "ours 3 <two  words>" run "$work/my programs/an event loop" "two  words" ""
	expect 0 "libevent_core-2.1.so.7: here" check "$work/my programs/an event loop"
	# What env prints is one word for a shell, and means the same.
	set -- $("$evsmp" env)
	case "$#:$1" in
	1:LD_LIBRARY_PATH=*) ;;
	*) echo "evsmp env, in \"$name\": $*"; failed=1 ;;
	esac
	said=$(eval export "$("$evsmp" env)" && "$work/my programs/an event loop")
	[ "$said" = "ours 1 <>" ] || { echo "evsmp env, in \"$name\": $said"; failed=1; }
	said=$(cd "$work" && PATH="$work/my programs:$PATH" "$evsmp" run "an event loop" x)
	[ "$said" = "ours 2 <x>" ] || { echo "evsmp run in PATH, in \"$name\": $said"; failed=1; }
done
# Without a place for a link there is a reason, not another library.
export EVSMP_LIBDIR="$work/co:lon/libdir" HOME=/proc/none
expect 2 "EVSMP_LIBDIR" run "$work/my programs/an event loop"
expect 2 "EVSMP_LIBDIR" check "$work/my programs/an event loop"
expect 2 "EVSMP_LIBDIR" env
# A link that the user made is taken as it is.
ln -s "$work/co:lon/libdir" "$work/link"
export EVSMP_LIBDIR="$work/link"
expect 0 "ours 1" run "$work/my programs/an event loop"
expect 0 "LD_LIBRARY_PATH=$work/link" env
export EVSMP_LIBDIR="$real" HOME="$work/home"

# A program that names its libraries' place in the old way: the loader looks there first.
$CC -o "$work/insists" "$work/ours.c" $link -levent_core -Wl,--disable-new-dtags,-rpath,"$work/elsewhere" &&
	cp -r "$real" "$work/elsewhere" || exit 1
expect 1 "$work/elsewhere" check "$work/insists"

chmod u+s "$work/good" && expect 126 "changes its user" run "$work/good"
expect 2 "changes its user" check "$work/good"
EVSMP_LIBDIR=$work expect 2 "holds no libevent_smp" env
exit "$failed"
