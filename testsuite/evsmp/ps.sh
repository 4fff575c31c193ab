#!/bin/bash
# usage: ps.sh EVSMP LIBDIR VERSION
#
# ps and status on processes that this test starts: also one whose libraries were replaced, and one on another libevent.
# which, and doctor, which tells nothing private.
set -u
. "${0%/*}/common.sh" "$1" "$2"
version=$3
link=(-fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -levent_core)
is_root=
[ "$(id -u)" != 0 ] || is_root=1

# Runs two colors, says so, and waits for the end of its input.
cat >"$work/server.c" <<'EOF'
#include <event2/event.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int event_base_post(struct event_base *base, uint32_t color, void (*fn)(void *), void *arg) __attribute__((weak));

static int runs;
static struct event_base *base;

static void end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	event_base_loopbreak(base);
}

static void ready(void *arg)
{
	(void)arg;
	if (__atomic_add_fetch(&runs, 1, __ATOMIC_SEQ_CST) == 2) {
		puts("ready");
		fflush(stdout);
	}
}

int main(void)
{
	base = event_base_new();
	event_add(event_new(base, STDIN_FILENO, EV_READ, end, NULL), NULL);
	if (event_base_post != NULL) {
		event_base_post(base, 7, ready, NULL);
		event_base_post(base, 8, ready, NULL);
	} else {
		puts("ready");
		fflush(stdout);
	}
	event_base_dispatch(base);
	return 0;
}
EOF
compile -o "$work/server" "$work/server.c" "${link[@]}"

# start COMMAND...: a server; its pid is $pid. It ends when descriptor $in is closed.
start()
{
	mkfifo "$work/in" "$work/out"
	"$@" <"$work/in" >"$work/out" 2>"$work/log" &
	pid=$!
	exec {in}>"$work/in" {out}<"$work/out"
	read -r said <&"$out"
	[ "$said" = ready ] || { echo "$* does not start: $said $(cat "$work/log")"; exit 1; }
	rm "$work/in" "$work/out"
}

stop()
{
	exec {in}>&- {out}<&-
	wait "$pid"
}

# row TEXT: what ps says of the process, its columns with one blank between them
row()
{
	local line

	line=$("$evsmp" ps | sed 's/  */ /g; s/^ //' | grep "^$pid ")
	[ "$line" = "$1" ] || fail "ps: \"$line\", not \"$1\""
}

# ---------------------------------------------------------------- ps

# Color 0 does not count, and with one worker a base keeps none.
start "$evsmp" run --workers 3 "$work/server"
row "$pid server $version 1 2 2 $libs"
expect 0 "THREADS: of workers" ps
if [ -n "$is_root" ] && command -v setpriv >/dev/null; then
	as="setpriv --reuid 65534 --clear-groups"
	expect 0 "Root sees them" ps
	as=
else
	skip "ps by another user: this needs root and setpriv"
fi
stop
"$evsmp" ps | sed 's/^ *//' | grep -q "^$pid " && fail "ps shows a process that has ended"

start "$evsmp" run --workers 1 "$work/server"
row "$pid server $version 1 0 0 $libs"
# Its libraries are replaced, as a package's upgrade does it.
for file in "$libs"/*.so.*; do
	cp "$file" "$file.new" && mv "$file.new" "$file"
done
if [ -n "$is_root" ]; then
	row "$pid server $version 1 0 0 $libs (replaced since)"
else
	row "$pid server ? ? ? ? $libs (replaced since)"
fi
expect 0 "Libraries that were replaced since: " ps
expect 0 "with replaced libraries: " doctor
case $said in *"with replaced libraries: 0"*) fail "doctor does not count it: $said" ;; esac
stop

# A name that would write to the terminal what it likes.
odd=$(printf 'bad\033[31mname')
cp "$work/server" "$work/$odd"
start "$evsmp" run --workers 1 "$work/$odd"
row "$pid bad?[31mname $version 1 0 0 $libs"
stop

# ---------------------------------------------------------------- status

# As if it were a service: its files of /proc, and another control group.
export EVSMP_ROOT="$work/root"
mkdir -p "$work/root/proc" "$work/root/etc/systemd/system/server.service.d" "$work/root/lib/systemd/system"
printf '[Service]\nExecStart=%s\n' "$work/server" >"$work/root/lib/systemd/system/server.service"
# as_service [GROUP]
as_service()
{
	local dir=$work/root/proc/$pid group=${1:-server.service}

	rm -rf "$work/root/proc"
	mkdir -p "$dir"
	for file in maps exe root map_files mem; do
		ln -s "/proc/$pid/$file" "$dir/$file"
	done
	# The names in these links are what counts, not where they lead.
	ln -sfn "$(readlink "/proc/$pid/exe")" "$dir/exe"
	printf '0::/system.slice/%s\n' "$group" >"$dir/cgroup"
}

rm -r "$work/root/etc/systemd/system/server.service.d"
start env -u EVSMP_ROOT "$evsmp" run --workers 1 "$work/server"
as_service
expect 0 "$pid server: libevent-smp $version in $libs" status server
case $said in *"it began before it was disabled"*) ;; *) fail "status does not see that it is not enabled: $said" ;; esac
expect 0 "is enabled" enable server
expect 0 "server.service: enabled" status
case $said in *"it began"*) fail "status: $said" ;; esac
for file in "$libs"/*.so.*; do
	cp "$file" "$file.new" && mv "$file.new" "$file"
done
expect 0 "in $libs, replaced since" status server
stop
rm -r "$work/root/proc"
mkdir "$work/root/proc"
expect 3 "it does not run" status server

# Another library of that name is in use, though the service is enabled.
mkdir "$work/stock"
cat >"$work/stock.c" <<'EOF'
#include <stdio.h>
#include <unistd.h>

struct event_base *event_base_new(void);
void *event_new(void *base, int fd, short what, void *fn, void *arg);
int event_add(void *ev, void *tv);
int event_base_dispatch(void *base);
int event_base_loopbreak(void *base);

struct event_base *event_base_new(void) { return NULL; }
void *event_new(void *base, int fd, short what, void *fn, void *arg) { (void)base, (void)fd, (void)what, (void)fn; return arg; }
int event_add(void *ev, void *tv) { (void)ev, (void)tv; return 0; }
int event_base_dispatch(void *base) { char c; (void)base; return (int)read(0, &c, 1); }
int event_base_loopbreak(void *base) { (void)base; return 0; }
EOF
compile -shared -fPIC -Wl,-soname,libevent_core-2.1.so.7 -o "$work/stock/libevent_core-2.1.so.7" "$work/stock.c"
start env LD_LIBRARY_PATH="$work/stock" "$work/server"
as_service
expect 3 "$pid server: $work/stock/libevent_core-2.1.so.7, not libevent-smp" status server
case $said in *"systemctl restart server.service"*) ;; *) fail "status does not say what to do: $said" ;; esac
expect 0 "is disabled" disable server

# Instances of a template: it has no processes itself.
cp "$work/root/lib/systemd/system/server.service" "$work/root/lib/systemd/system/server@.service"
one='server@dev-a\x2db.service'
as_service "system-server.slice/$one"
expect 0 "systemctl restart '$one'" enable server@
expect 3 "$pid server: $work/stock/libevent_core-2.1.so.7, not libevent-smp" status server@
case $said in *"does not obey: systemctl restart '$one'") ;; *) fail "status does not name the instance: $said" ;; esac
expect 3 "$one: enabled with all instances of server@.service" status "${one%.service}"
case $said in *"does not obey: systemctl restart '$one'") ;; *) fail "status does not name the instance: $said" ;; esac
expect 3 "server@two.service: enabled with all" status server@two
case $said in *"it does not run") ;; *) fail "status takes one instance for another: $said" ;; esac
expect 2 "enabled with all instances of server@.service" disable "$one"
stop
start env -u EVSMP_ROOT "$evsmp" run --workers 1 "$work/server"
as_service "system-server.slice/$one"
expect 0 "$pid server: libevent-smp $version in $libs" status server@
expect 0 "$pid server: libevent-smp $version in $libs" status "$one"
# Its own drop-in counts more.
expect 0 "is enabled" enable --workers 5 "$one"
expect 0 "$one: enabled, workers: 5" status "$one"
expect 0 "is disabled" disable "$one"
expect 0 "systemctl restart '$one'" disable server@
expect 0 "before it was disabled, or was set up otherwise: systemctl restart '$one'" status server@
rm -r "$work/root/proc"
mkdir "$work/root/proc"
expect 0 "with the next start of an instance" enable server@
expect 3 "it does not run" status server@
stop
unset EVSMP_ROOT

# ---------------------------------------------------------------- which, doctor

expect 0 "$libs $version $("$evsmp" doctor | sed -n 's/.*, version .*, for \([^:]*\):.*/\1/p')" which
expect 0 "libraries: $libs, version $version" doctor
for word in kernel system "C library" CPUs io_uring_disabled "access control" container systemd processes "services enabled"; do
	case $said in
	*"$word"*) ;;
	*) fail "doctor says nothing of $word: $said" ;;
	esac
done
expect 0 "runs on libevent-smp" doctor "$work/program"
expect 127 "no such program" doctor "$work/nothing"
EVSMP_LIBDIR=$work/none expect 0 "libraries: none" doctor

# People's names and what they keep to themselves.
home=$work/people/caroline
mkdir -p "$home/secret-project"
cp -r "$libs" "$home/lib"
cp "$work/program" "$home/secret-project/server"
cp "$work/program" "$work/people/caroline-2"
hides()
{
	local word

	for word in "$@"; do
		case $said in *"$word"*) fail "doctor shows \"$word\": $said" ;; esac
	done
}
export HOME="$home"
EVSMP_LIBDIR=$home/lib LD_LIBRARY_PATH=$home/other EVENT_WORKERS=5 EVENT_LOG_FILE=$home/log PASSWORD=xyzzy \
	expect 0 "~/secret-project/server" doctor "$home/secret-project/server"
hides "$home" caroline xyzzy "$home/log"
for word in "libraries: ~/lib" "EVENT_WORKERS=5" "EVENT_LOG_FILE is set" "LD_LIBRARY_PATH is set"; do
	case $said in *"$word"*) ;; *) fail "doctor does not say \"$word\": $said" ;; esac
done
# Only whole names.
expect 0 "$work/people/caroline-2" doctor "$work/people/caroline-2"
# Also in what it says of a program that cannot run.
expect 127 "~/secret-project/none: no such program" doctor "$home/secret-project/none"
hides caroline
# And of another one, whose home is not this user's.
expect 127 "/$(echo home)/…/none: no such program" doctor "/$(echo home)/alice/none"
hides alice
name=$(uname -n)
[ ${#name} -lt 6 ] || hides "$name"
exit "$failed"
