#!/bin/bash
# usage: top.sh EVSMP LIBDIR VERSION PYTHON OBSERVED
#
# top and metrics on processes that this test starts: without colors, with colors and one worker, with several; what
# they say about processes that cannot be observed. OBSERVED is a program built against plain libevent (observed.c).
set -u
. "${0%/*}/common.sh" "$1" "$2"
python=$4 observed=$5
here=$(cd "${0%/*}" && pwd)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT

# start WORKERS COLORS HOT_US [VARIABLE=VALUE]...: the process is $pid, and its loop is about to begin
start()
{
	local workers=$1 colors=$2 hot=$3 input
	shift 3
	mkfifo "$work/in.${#pids[@]}" "$work/out.${#pids[@]}"
	env LD_LIBRARY_PATH="$libs" EVENT_WORKERS="$workers" "$@" "$observed" "$colors" "$hot" \
		<"$work/in.${#pids[@]}" >"$work/out.${#pids[@]}" 2>"$work/err" &
	pid=$!
	exec {input}>"$work/in.${#pids[@]}"
	inputs+=("$input")
	read -r _ <"$work/out.${#pids[@]}"
	pids+=("$pid")
}
inputs=()

stop()
{
	exec {inputs[-1]}>&-
	unset "inputs[-1]"
	wait "$pid"
	got=$?
	[ "$got" = 0 ] || fail "the program ended with $got"
}

# ---------------------------------------------------------------- what is said without a process

expect 2 "--seconds needs a number" top --seconds x 1
expect 2 "--seconds needs a value" top --seconds
expect 2 "--seconds needs a number" top --seconds=x 1
expect 2 "--sort needs busy" top --sort size 1
expect 2 "top has no option --fast" top --fast
expect 2 "one too many" top 1 2
expect 2 "is not the number of a process" top -- 12x
expect 2 "is not the number of a process" metrics -- 12x
for command in run check env explore enable disable status ps top metrics which doctor trace advise check-colors; do
	for word in --help -h; do
		expect 0 "usage: evsmp $command" "$command" "$word"
	done
done
expect 0 "--sort KEY" top --help
expect 0 "--seeds A..B" explore --help
expect 2 "is not the number of a process" top 12x
expect 2 "metrics has no option --port" metrics --port 1
expect 2 "--listen needs unix:PATH" metrics --listen 0.0.0.0:9100 1
expect 2 "--listen needs unix:PATH" metrics --listen 127.0.0.1: 1
expect 2 "--listen needs unix:PATH" metrics --listen 127.0.0.1:99999 1
expect 2 "--listen needs unix:PATH" metrics --listen
expect 2 "path of a Unix socket" metrics --listen unix:
sleep 1000 &
pids+=($!)
expect 3 "does not have libevent-smp loaded" top --once $!
kill $!
wait $! 2>/dev/null
expect 123 "it has ended" top --once $!

# A process that has ended, and for which nobody has waited yet.
coproc "$python" -c 'import subprocess, sys; p = subprocess.Popen(["true"]); print(p.pid, flush=True); sys.stdin.read()'
read -r zombie <&"${COPROC[0]}"
until [ "$(sed 's/.*) //; s/ .*//' "/proc/$zombie/stat")" = Z ]; do sleep 0.01; done
expect 123 "it has ended" top --once "$zombie"
exec {COPROC[1]}>&-
wait

# ---------------------------------------------------------------- three kinds of bases

# json FILE EXPRESSION: `b` is the first base
json()
{
	"$python" - "$1" "$2" <<'END' || fail "$kind: not so: $2: $(cat "$1")"
import json, sys
d = json.load(open(sys.argv[1]))
b = d["bases"][0]
sys.exit(not eval(sys.argv[2]))
END
}

for kind in "1 0 uncolored" "1 6 single" "2 6 several"; do
	read -r workers colors mode <<<"$kind"
	start "$workers" "$colors" 200
	"$evsmp" top --json --seconds 0.5 "$pid" >"$work/json" 2>"$work/said" || fail "$kind: $(cat "$work/said")"
	json "$work/json" "b['mode'] == '$mode'"
	json "$work/json" "d['pid'] == $pid and d['program'] == 'observed'"
	json "$work/json" "sum(w['callbacks'] for w in b['workers']) > 0"
	json "$work/json" "any(c['callback'] == 'hot_callback' for c in b['callbacks'])"
	json "$work/json" "len(b['colors']) == max(1, $colors)"
	json "$work/json" "len(b['sentences']) >= 1"
	# What a worker did adds up to the time; a tick is measured roughly.
	json "$work/json" "all(abs(sum(w[k] for k in 'busy engine polling spinning asleep'.split()) - w['seconds']) <= 0.05 * w['seconds'] for w in b['workers'])"
	expect 0 hot_callback top --once --seconds 0.2 "$pid"
	"$evsmp" metrics "$pid" >"$work/metrics" || fail "$kind: metrics failed"
	"$python" "$here/prometheus.py" "$work/metrics" || fail "$kind: metrics are wrong"
	"$python" "$here/grafana.py" "$here/../../docs/grafana.json" "$work/metrics" || fail "$kind: the dashboard is wrong"
	grep -q "^libevent_smp_callbacks_total{base=\"1\",worker=\"0\"} [1-9]" "$work/metrics" || fail "$kind: no callbacks"
	expect 0 hot_callback top --once --seconds 0.2 "$pid"
	stop
done

# ---------------------------------------------------------------- names, limits, a stop

cp "$observed" "$work/a\"b\\c"
plain=$observed observed="$work/a\"b\\c"
start 1 0 200
kind="a name with quotes"
kill -STOP "$pid"
expect 3 "is stopped. Let it go on: kill -CONT $pid" top --once --seconds 0.1 "$pid"
expect 3 '"bases": [], "not_turned": 1}' top --json --seconds 0.1 "$pid"
expect 3 'libevent_smp_info{pid="' metrics "$pid"
kill -CONT "$pid"
"$evsmp" top --json --seconds 0.2 "$pid" >"$work/json" 2>"$work/said" || fail "$kind: $(cat "$work/said")"
json "$work/json" "d['program'] == 'a\"b\\\\c'"
stop
observed=$plain

# A limit for the size of files ends no program.
for variable in EVENT_SMP_STATS EVENT_SMP_TRACE; do
	ulimit -S -f 1		# KiB: enough for its warnings
	start 1 0 0 "$variable=$work/limited"
	ulimit -S -f unlimited
	stop
	[ ! -s "$work/limited" ] || fail "$variable: a file is left in spite of the limit"
	rm -f "$work/limited"*
done

# ---------------------------------------------------------------- on a terminal, and a server of metrics

start 2 6 200
timeout 60 "$python" "$here/terminal.py" "$evsmp" "$pid" || fail "top on a terminal failed"
# Ctrl-Z makes the terminal throw its input away, and who polls in that moment may be told of some.
compile -o "$work/no_key.so" -x c - -shared -fPIC -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

typedef int (*ppoll_fn)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

int ppoll(struct pollfd *fds, nfds_t num, const struct timespec *timeout, const sigset_t *mask)
{
	static int calls;
	ppoll_fn next = (ppoll_fn)dlsym(RTLD_NEXT, "ppoll");

	if (calls++ != 0)
		return next(fds, num, timeout, mask);
	fds->revents = fds->events;
	return write(1, "ppoll lies", 10) == 10;
}
END
timeout 60 "$python" "$here/terminal.py" "$evsmp" "$pid" "$work/no_key.so" || fail "top waits for a key that is not there"
"$evsmp" metrics --listen "unix:$work/socket" "$pid" 2>"$work/said" &
server=$!
pids+=("$server")
"$python" - "$work/socket" "$work/metrics" <<'END' || fail "no metrics from the socket: $(cat "$work/said")"
import os, socket, stat, sys
path, out = sys.argv[1:]
while not os.path.exists(path):
    pass
assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode)
def ask(request):
    s = socket.socket(socket.AF_UNIX)
    while s.connect_ex(path) != 0:
        pass
    data = b""
    try:
        s.sendall(request)
        while chunk := s.recv(65536):
            data += chunk
    except ConnectionError:     # it was dropped, with what it had not read
        pass
    return data.partition(b"\r\n\r\n")
head, _, body = ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
assert head.startswith(b"HTTP/1.1 200 "), head
assert b"text/plain; version=0.0.4" in head, head
assert f"Content-Length: {len(body)}".encode() in head, head
open(out, "wb").write(body)
assert ask(b"GET / HTTP/1.1\r\n\r\n")[0].startswith(b"HTTP/1.1 404 ")
assert ask(b"POST /metrics HTTP/1.1\r\n\r\n")[0].startswith(b"HTTP/1.1 405 ")
assert ask(b"GET /" + b"x" * 9000)[0] == b""
assert ask(b"GET /metrics HTTP/1.0\n\n")[0].startswith(b"HTTP/1.1 200 ")
# Silent clients, more than are served at a time, and one that sends its request in pieces.
silent = []
for i in range(40):
    silent.append(socket.socket(socket.AF_UNIX))
    while silent[-1].connect_ex(path) != 0:
        pass
silent[-1].sendall(b"GET /metr")
assert ask(b"GET /metrics HTTP/1.0\r\n\r\n")[0].startswith(b"HTTP/1.1 200 ")
silent[-1].sendall(b"ics HTTP/1.0\r\n\r\n")
assert silent[-1].recv(100).startswith(b"HTTP/1.1 200 ")
END
"$python" "$here/prometheus.py" "$work/metrics" || fail "metrics of the server are wrong"
kill "$server"
wait "$server" || fail "the server ended with $?"
[ ! -e "$work/socket" ] || fail "the server left its socket"
echo text >"$work/socket"
expect 123 "cannot be listened on" metrics --listen "unix:$work/socket" "$pid"
[ "$(cat "$work/socket")" = text ] || fail "a file of that name was replaced"
stop

# ---------------------------------------------------------------- several bases

# The base of main has little to do, another one is in its callback nearly all the time, and the callback of the third
# does not return. That one is also the last to tell that it has begun.
cat >"$work/bases.c" <<'END'
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int never[2];

void idle_callback(evutil_socket_t fd, short what, void *arg);
void busy_callback(evutil_socket_t fd, short what, void *arg);
void blocked_callback(evutil_socket_t fd, short what, void *arg);

void idle_callback(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
}

void busy_callback(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	usleep(10000);
}

void blocked_callback(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)fd, (void)what, (void)arg;
	if (write(1, "\n", 1) != 1 || read(never[0], &c, 1) != 1)
		abort();
}

static void end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	exit(0);
}

static struct event_base *base_with(event_callback_fn fn, short what)
{
	const struct timeval tick = { 0, 1000 };
	struct event_base *base = event_base_new();

	event_add(event_new(base, -1, what, fn, NULL), &tick);
	return base;
}

static void *run(void *base)
{
	event_base_dispatch(base);
	return NULL;
}

int main(void)
{
	struct event_base *base = base_with(idle_callback, EV_PERSIST);
	pthread_t thread;

	event_add(event_new(base, 0, EV_READ, end, NULL), NULL);
	if (pipe(never) < 0 || pthread_create(&thread, NULL, run, base_with(busy_callback, EV_PERSIST)) != 0 ||
	    pthread_create(&thread, NULL, run, base_with(blocked_callback, 0)) != 0)
		return 1;
	event_base_dispatch(base);
	return 1;
}
END
compile -o "$work/bases" "$work/bases.c" -fPIE -pie -rdynamic -pthread "-L$libs" "-Wl,-rpath-link,$libs" -levent_core
observed=$work/bases
start 1 0 0
kind="several bases"
expect 0 "1 base has not turned since" top --once --seconds 0.3 "$pid"
case $said in *"base "*" (one of 3): no colors"*) ;; *) fail "$kind: $said" ;; esac
case $said in *busy_callback*idle_callback*) ;; *) fail "$kind: not the busiest one first: $said" ;; esac
"$evsmp" top --json --seconds 0.3 "$pid" >"$work/json" 2>"$work/said" || fail "$kind: $(cat "$work/said")"
json "$work/json" "d['not_turned'] == 1 and len(d['bases']) == 2"
timeout 60 "$python" "$here/terminal.py" "$evsmp" "$pid" several || fail "top on a small terminal failed"
stop
observed=$plain

# ---------------------------------------------------------------- from the environment

runtime=$work/runtime
mkdir -m 700 "$runtime"
start 1 0 200 EVENT_SMP_STATS=1 XDG_RUNTIME_DIR="$runtime"
expect 0 hot_callback top --once --seconds 0.2 "$pid"
[ "$(stat -c %a "$runtime/libevent-smp/$pid-1")" = 600 ] || fail "no file in the runtime directory"
stop
[ -z "$(ls "$runtime/libevent-smp")" ] || fail "the file is left"
start 1 0 200 EVENT_SMP_STATS=1 XDG_RUNTIME_DIR=
until grep -q "needs XDG_RUNTIME_DIR" "$work/err"; do
	kill -0 "$pid" || { fail "nothing is said without XDG_RUNTIME_DIR: $(cat "$work/err")"; break; }
done
stop
start 1 0 200 EVENT_SMP_STATS="$work/err"
until grep -q "is there already: the parent of this process has it" "$work/err"; do
	kill -0 "$pid" || { fail "nothing is said of a file that is there: $(cat "$work/err")"; break; }
done
stop
start 1 0 200 EVENT_SMP_STATS="$(printf 'a\nb')"
grep -q "EVENT_SMP_STATS is neither" "$work/err" || fail "a hostile value is not refused: $(cat "$work/err")"
expect 0 hot_callback top --once --seconds 0.2 "$pid"
stop

# Counters of a process that this user may not look into are in its runtime directory. There may also be some of a
# process that was killed, and whose number it has now.
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
	compile -o "$work/closed.so" -x c - -shared -fPIC <<'END'
#include <sys/prctl.h>

__attribute__((constructor)) static void close_it(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}
END
	mkdir -m 700 "$work/other" && chown 65534 "$work/other"
	as="env XDG_RUNTIME_DIR=$work/other setpriv --reuid=65534 --clear-groups"
	cp "$observed" "$work/open" && chmod 755 "$work/open"
	observed="$work/open"
	start 1 0 200 EVENT_SMP_STATS=1 $as
	left=$work/other/libevent-smp/$pid-1
	until grep -qs ec-stat "$left"; do kill -0 "$pid" || break; done
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	exec {inputs[-1]}>&-
	unset "inputs[-1]"
	start 1 0 200 $as env LD_PRELOAD="$work/closed.so"
	expect 123 "may not look" top --once --seconds 0.1 "$pid"
	cp -p "$left" "$work/other/libevent-smp/$pid-1"
	expect 123 "may not look" top --once --seconds 0.1 "$pid"
	# With the number of the process, and of a second before: the kernel tells begins in steps of 10 ms.
	"$python" - "$work/other/libevent-smp/$pid-1" "$pid" <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(48)
    began_ns, = struct.unpack("Q", f.read(8))
    f.seek(36)
    f.write(struct.pack("i", int(sys.argv[2])))
    f.seek(48)
    f.write(struct.pack("Q", began_ns - 10**9))
END
	expect 123 "may not look" top --once --seconds 0.1 "$pid"
	stop
	start 1 0 200 EVENT_SMP_STATS=1 $as env LD_PRELOAD="$work/closed.so"
	until grep -qs ec-stat "$work/other/libevent-smp/$pid-1"; do kill -0 "$pid" || break; done
	expect 0 "$pid" top --once --seconds 0.1 "$pid"
	stop
	as=
	observed=$plain
else
	skip "processes that a user may not look into: only root can start them as another one"
fi

exit $failed
