#!/bin/bash
# usage: trace.sh EVSMP LIBDIR PYTHON
#
# trace: of programs that it starts, of one that runs, of a file; in all formats, which must agree. The pages are also
# opened by a browser, if there is one.
set -u
. "${0%/*}/common.sh" "$1" "$2"
python=$3
check=$(readlink -f "${0%/*}")/trace.py
link=(-fPIE -pie "-L$libs" "-Wl,-rpath-link,$libs" -levent_core)
cd "$work" || exit 1
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# program COLORED?: 40 ticks of color 0, one after the other; 2 chains of 50 posts, if there are colors.
cat >"$work/ticks.c" <<'EOF2'
#include <event2/event.h>
#include <stdint.h>
#include <stdlib.h>

int event_base_post(struct event_base *base, uint32_t color, void (*fn)(void *), void *arg) __attribute__((weak));

static struct event_base *base;
static int left = 40, posts_left[2] = { 50, 50 };

static void tick(evutil_socket_t fd, short what, void *arg)
{
	struct timeval none = { 0, 0 };

	(void)fd, (void)what;
	if (--left > 0)
		event_add(*(struct event **)arg, &none);
}

static void work(void *arg)
{
	int i = (int)(intptr_t)arg;

	if (--posts_left[i] > 0)
		event_base_post(base, (uint32_t)i + 7, work, arg);
}

int main(int argc, char **argv)
{
	static struct event *ev;
	struct timeval none = { 0, 0 };

	base = event_base_new();
	ev = event_new(base, -1, 0, tick, &ev);
	event_add(ev, &none);
	if (argc > 1) {
		event_base_post(base, 7, work, (void *)0);
		event_base_post(base, 8, work, (void *)1);
	}
	event_base_dispatch(base);
	return argc > 2 ? atoi(argv[2]) : 0;
}
EOF2
compile -o "$work/ticks" "$work/ticks.c" "${link[@]}"

# What cannot be written is said before the program runs.
expect 123 "cannot be written" trace -o /nonexistent/page.html touch "$work/has-run"
[ ! -e "$work/has-run" ] || fail "the program has run for nothing"
expect 123 "cannot be written" advise --svg /nonexistent/page.svg touch "$work/has-run"
[ ! -e "$work/has-run" ] || fail "the program has run for nothing"
expect 2 "--workers is for a program that is started" trace --workers 2 1

# holds FORMAT FILE LINE...: it is right, and its summary has these lines
holds()
{
	local format=$1 file=$2 line

	shift 2
	summary=$("$python" "$check" "$format" "$file" 2>&1) || { fail "$file is not right: $summary"; return; }
	for line in "$@"; do
		printf '%s\n' "$summary" | grep -qx -- "$line" || fail "$file: no \"$line\" in: $summary"
	done
}

# ---------------------------------------------------------------- a program that colors nothing

# The first callbacks may run before the trace begins, with the first poll: 38 or more of 40.
for pair in html:html json:json pftrace:perfetto svg:svg; do
	expect 0 "one.${pair%%:*} is written" trace -o "one.${pair%%:*}" "$work/ticks"
	holds "${pair##*:}" "one.${pair%%:*}" "workers: 1" "colors: 0" "arrows: none"
	[ "${pair##*:}" = svg ] || holds "${pair##*:}" "one.${pair%%:*}" "callbacks: [34][0-9] tick"
done
expect 0 "LONGEST CALLBACK" trace --latency "$work/ticks"
case $said in *"tick (color 0, "*) ;; *) fail "--latency: no delay of tick: $said" ;; esac

# ---------------------------------------------------------------- colors and two workers

# The second worker may come too late for so little work.
expect 7 "of 1 base" trace --workers 2 -o two.json "$work/ticks" colored 7
holds json two.json "workers: [12]" "colors: 0 7 8"
case $summary in *" tick, "*" work"*) ;; *) fail "two.json: $summary" ;; esac
# Each post that a worker made leads to its callback, but for those of before the trace.
case $summary in *"arrows: "*" post"*) ;; *) fail "two.json has no arrows of posts: $summary" ;; esac
expect 0 "is written" trace --workers=2 -o two.pftrace "$work/ticks" colored
holds perfetto two.pftrace "workers: [12]" "colors: 0 7 8"

# ---------------------------------------------------------------- colors and one worker

# Callbacks of all kinds, of one color each. The program says how often each ran.
cat >"$work/kinds.c" <<'EOF2'
#include <event2/event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int event_set_color(struct event *ev, uint32_t color) __attribute__((weak));
int event_base_post(struct event_base *base, uint32_t color, void (*fn)(void *), void *arg) __attribute__((weak));

static struct event_base *base;
static struct event *events[6], *row[20];
static unsigned ran[7], rounds;

enum { ONCE, STAYS, TIMED, READS, CAUGHT, LATE, POSTED };

static void next_round(void);

static void once(evutil_socket_t fd, short what, void *arg) { (void)fd, (void)what, (void)arg, ran[ONCE]++; }
static void timed(evutil_socket_t fd, short what, void *arg) { (void)fd, (void)what, (void)arg, ran[TIMED]++; }
static void caught(evutil_socket_t fd, short what, void *arg) { (void)fd, (void)what, (void)arg, ran[CAUGHT]++; }

static void posted(void *arg)
{
	(void)arg, ran[POSTED]++;
}

/* It makes another one active, and posts. */
static void stays(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	if (ran[STAYS]++ % 3 == 0)
		event_base_post(base, 7, posted, NULL);
	event_active(events[ONCE], EV_WRITE, 1);
}

static void reads(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what, (void)arg;
	if (read(fd, &c, 1) == 1)
		ran[READS]++;
}

/* The last of a round, for it is the least urgent. */
static void late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg, ran[LATE]++;
	next_round();
}

static void next_round(void)
{
	const struct timeval none = { 0, 0 };
	int i;

	if (rounds++ == 200) {
		event_base_loopbreak(base);
		return;
	}
	for (i = 0; i < 20; i++)
		event_active(row[i], EV_READ, 1);
	event_active(events[CAUGHT], EV_SIGNAL, 2);
	event_add(events[TIMED], &none);
	(void)!write(*(int *)event_get_callback_arg(events[READS]), "x", 1);
	event_active(events[LATE], EV_READ, 1);
}

int main(void)
{
	static const char *const names[] = { "once", "stays", "timed", "reads", "caught", "late", "posted" };
	int ends[2];
	unsigned i;

	if (pipe(ends) < 0)
		return 1;
	base = event_base_new();
	event_base_priority_init(base, 2);
	events[ONCE] = event_new(base, -1, 0, once, NULL);
	for (i = 0; i < 20; i++) {
		events[STAYS] = row[i] = event_new(base, -1, EV_PERSIST, stays, NULL);
		event_set_color(row[i], STAYS + 1);
	}
	events[TIMED] = event_new(base, -1, EV_TIMEOUT, timed, NULL);
	events[READS] = event_new(base, ends[0], EV_READ | EV_PERSIST, reads, &ends[1]);
	events[CAUGHT] = event_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, caught, NULL);
	events[LATE] = event_new(base, -1, EV_PERSIST, late, NULL);
	for (i = 0; i < 6; i++) {
		event_set_color(events[i], i + 1);
		event_priority_set(events[i], i == LATE);
	}
	event_add(events[READS], NULL);
	next_round();
	event_base_dispatch(base);
	for (i = 0; i < 7; i++)
		printf("%s %u %u\n", names[i], i + 1, i == CAUGHT ? ran[i] / 2 : ran[i]);
	return 0;
}
EOF2
compile -o "$work/kinds" "$work/kinds.c" "${link[@]}"

# kinds NAME ASSIGNMENT...: the trace of that run has what the program counted
kinds()
{
	local name=$1 counted

	shift
	counted=$(env "$@" "EVENT_SMP_TRACE=$work/$name.trace" LD_LIBRARY_PATH="$libs" "$work/kinds" | sort) ||
		fail "$name: the program fails"
	expect 0 "is written" trace --read "$name.trace" -o "$name.json"
	holds json "$name.json" "workers: 1" "colors: 1 2 3 4 5 6 7"
	"$python" -c 'if True:
		import collections, json, sys

		found = collections.Counter()
		for event in json.load(open(sys.argv[1]))["traceEvents"]:
			if event.get("cat") == "callback":
				found[event["name"], event["args"]["color"]] += 1
		for (name, color), num in sorted(found.items()):
			print(name, color, num)' "$name.json" >found
	[ "$(cat found)" = "$counted" ] ||
		fail "$name: the trace differs (<) from what ran (>): $(diff found - <<<"$counted")"
	case $counted in *"stays 2 4000"*) ;; *) fail "$name: too little ran: $counted" ;; esac
}

kinds plain EVENT_WORKERS=1
kinds objects EVENT_WORKERS=1 EVENT_SMP_TRACE_OBJECTS=1
kinds counted EVENT_WORKERS=1 "EVENT_SMP_STATS=$work/counted.stats"

# ---------------------------------------------------------------- one file, all formats

rm -f file.trace
EVENT_SMP_TRACE=$work/file.trace EVENT_WORKERS=2 LD_LIBRARY_PATH=$libs "$work/ticks" colored ||
	fail "a program that is traced by the environment fails"
[ "$(stat -c %a file.trace)" = 600 ] || fail "others may read file.trace"
first=
for pair in html:html json:json pb:perfetto; do
	expect 0 "is written" trace --read file.trace -o "all.${pair%%:*}"
	holds "${pair##*:}" "all.${pair%%:*}"
	[ "$summary" = "${first:=$summary}" ] || fail "all.${pair%%:*} differs: $summary; $first"
done
case $first in *" tick, "*" work"*) ;; *) fail "file.trace: $first" ;; esac
cp file.trace before.trace
EVENT_SMP_TRACE=$work/file.trace LD_LIBRARY_PATH=$libs "$work/ticks" || fail "a second trace ends the program"
cmp -s file.trace before.trace || fail "a second process wrote over the trace of the first one"
ls file.trace.*.1 >/dev/null || fail "the second process has no trace"

ln -s nowhere link.trace
said=$(EVENT_SMP_TRACE=$work/none/x LD_LIBRARY_PATH=$libs "$work/ticks" 2>&1) || fail "a trace that cannot be: $said"
case $said in *"cannot keep a trace"*) ;; *) fail "nothing is said of a trace that cannot be: $said" ;; esac
said=$(EVENT_SMP_TRACE=$(printf 'a\nb') LD_LIBRARY_PATH=$libs "$work/ticks" 2>&1)
case $said in *"EVENT_SMP_TRACE is not the path of a file"*) ;; *) fail "a hostile EVENT_SMP_TRACE: $said" ;; esac
mkfifo fifo.trace
mkdir dir.trace
for kind in link fifo dir; do
	said=$(EVENT_SMP_TRACE=$work/$kind.trace LD_LIBRARY_PATH=$libs "$work/ticks" 2>&1) || fail "$kind.trace ends it"
	case $said in *"$kind.trace is there, and is no regular file"*"cannot keep a trace"*) ;; *) fail "$kind.trace: $said" ;; esac
	[ "$(echo "$kind".trace*)" = "$kind.trace" ] || fail "a file beside $kind.trace"
done
[ -L link.trace ] && [ ! -e nowhere ] || fail "a link was followed"

# A file that is cut off, and one that is no trace.
head -c 100000 file.trace >cut.trace
expect 0 "is written" trace --read cut.trace -o cut.json
holds json cut.json
head -c 50 file.trace >cut.trace
expect 2 "it is not a trace of libevent-smp" trace --read cut.trace
expect 2 "it is not a trace of libevent-smp" trace --read "$work/ticks"
expect 123 "cannot be opened" trace --read none.trace

# ---------------------------------------------------------------- a process that runs

# Each line that it reads is a callback.
cat >"$work/server.c" <<'EOF2'
#include <event2/event.h>
#include <stdio.h>
#include <unistd.h>

static struct event_base *base;

static void on_line(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what, (void)arg;
	if (read(fd, &c, 1) != 1)
		event_base_loopbreak(base);
}

int main(void)
{
	base = event_base_new();
	event_add(event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, on_line, NULL), NULL);
	puts("ready");
	fflush(stdout);
	event_base_dispatch(base);
	return 0;
}
EOF2
compile -o "$work/server" "$work/server.c" "${link[@]}"

has_trace()
{
	ls -l "/proc/$1/fd" 2>/dev/null | grep -q libevent-smp-trace
}

mkfifo in out
LD_LIBRARY_PATH=$libs "$work/server" <in >out &
pid=$!
exec {in}>in {out}<out
read -r said <&"$out"
(
	exec {in}>&- {out}<&-
	exec "$evsmp" trace --seconds 600 -o attached.json "$pid" 2>attached.log
) &
tool=$!
# It is traced after its next poll.
until has_trace "$pid" && has_trace "$tool"; do
	printf x >&"$in"
done
printf '%0100d' 0 >&"$in"
exec {in}>&- {out}<&-
wait "$pid" || fail "the traced process fails"
wait "$tool" || fail "trace of a process: $(cat attached.log)"
holds json attached.json "workers: 1" "colors: 0" "callbacks: [0-9]* on_line"
num=$(printf '%s\n' "$summary" | sed -n 's/^callbacks: \([0-9]*\) .*/\1/p')
[ "${num:-0}" -ge 101 ] || fail "of 101 callbacks, $num are in the trace"

# The names are known, too, of a process that has ended and that its parent has not waited for.
LD_LIBRARY_PATH=$libs "$python" - "$evsmp" "$work/server" 2>zombie.log <<'END' || fail "trace of a zombie: $(cat zombie.log)"
import os, subprocess, sys
evsmp, server = sys.argv[1:]
def has_trace(pid):
    return "libevent-smp-trace" in subprocess.run(["ls", "-l", f"/proc/{pid}/fd"], capture_output=True, text=True).stdout
p = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdout.readline()
tool = subprocess.Popen([evsmp, "trace", "--seconds", "600", "-o", "zombie.json", str(p.pid)])
while not (has_trace(p.pid) and has_trace(tool.pid)):
    os.write(p.stdin.fileno(), b"x")
os.write(p.stdin.fileno(), b"x" * 100)
p.stdin.close()
sys.exit(tool.wait() or p.wait())
END
holds json zombie.json "callbacks: [0-9]* on_line"

# A terminal that goes away ends the recording as an interrupt does: the file is written, and no directory is left.
LD_LIBRARY_PATH=$libs "$python" - "$evsmp" "$work/server" 2>signals.log <<'END' || fail "signals: $(cat signals.log)"
import fcntl, os, re, signal, struct, subprocess, sys, termios
evsmp, server = sys.argv[1:]
def give(pipe, data):
    os.write(pipe.fileno(), data)
    while struct.unpack("i", fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"0000"))[0] != 0:
        os.sched_yield()
def reads(pid, folder):
    fds = subprocess.run(["ls", "-l", f"/proc/{pid}/fd"], capture_output=True, text=True).stdout
    return re.search(f"{folder}/evsmp-trace-.*/trace$", fds, re.M) is not None
def defaults():
    for number in signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)
for number in signal.SIGINT, signal.SIGHUP:
    folder = os.path.abspath(number.name)
    os.mkdir(folder)
    tool = subprocess.Popen([evsmp, "trace", "-o", f"{folder}.json", server], env=os.environ | {"TMPDIR": folder},
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=defaults)
    tool.stdout.readline()
    while not reads(tool.pid, folder):
        os.write(tool.stdin.fileno(), b"x")
    give(tool.stdin, b"x" * 100)
    give(tool.stdin, b"x")      # once it is read, the callback before is over
    tool.send_signal(number)
    status = tool.wait()
    tool.stdin.close()
    assert status == 0 and os.path.getsize(f"{folder}.json") > 0, (number, status)
    assert not os.listdir(folder), (number, os.listdir(folder))
END
holds json SIGHUP.json "callbacks: [0-9]* on_line"

expect 123 "has ended" trace --seconds 1 "$pid"

# The name that nobody gave may be a link of somebody else; a link that is named is followed.
: >target.html
ln -s target.html evsmp-trace.html
expect 123 "evsmp-trace.html cannot be written" trace "$work/ticks"
[ ! -s target.html ] || fail "a link was followed"
expect 0 "is written" trace -o evsmp-trace.html "$work/ticks"
[ -s target.html ] || fail "-o does not follow a link"
rm evsmp-trace.html target.html
expect 3 "does not have libevent-smp loaded" trace --seconds 1 $$

# ---------------------------------------------------------------- what is wrong

expect 2 "which process, program or file" trace
expect 2 "extra is one word too many" trace 1 extra
expect 2 "--json is one word too many" advise 1 --json
expect 2 "which process, program or file" trace --read file.trace "$work/ticks"
expect 2 "--seconds needs a number" trace --seconds 0 "$work/ticks"
expect 2 "--seconds needs a number" trace --seconds=nan "$work/ticks"
expect 2 "--seconds needs a value" trace --seconds
expect 2 "--format is html, json, perfetto or svg" trace --format xml "$work/ticks"
expect 2 "does not tell a format" trace -o x.txt "$work/ticks"
expect 2 "trace has no option --wrong" trace --wrong "$work/ticks"
expect 2 "--workers needs a number" trace --workers x "$work/ticks"
expect 127 "no such program" trace "$work/none"
expect 123 "cannot be written" trace -o "$work/none/x.json" "$work/ticks"
[ ! -w /dev/full ] || expect 123 "cannot be written" trace --format json -o /dev/full "$work/ticks"
cat >"$work/nothing.c" <<'EOF2'
#include <event2/event.h>

int main(void)
{
	return event_get_version() == NULL;
}
EOF2
compile -o "$work/nothing" "$work/nothing.c" "${link[@]}"
expect 123 "there was no event_base that could be traced" trace "$work/nothing"
TMPDIR=$work/none expect 123 "Set TMPDIR to one where it can" trace "$work/ticks"
[ -z "$(ls -A "$TMPDIR")" ] || fail "a directory was left: $(ls -A "$TMPDIR")"

# ---------------------------------------------------------------- a browser

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || :)
if [ -n "$browser" ]; then
	dom=$(HOME=$work timeout 100 "$browser" --headless --no-sandbox --disable-gpu --dump-dom "file://$work/all.html" \
		2>browser.log)
	num=$(printf '%s\n' "$first" | sed -n 's/^workers: //p')
	case $dom in *"data-rows=\"$num\""*) ;; *) fail "the viewer does not run: $(head -c 500 <<<"$dom")" ;; esac
	case $dom in *"<td>tick</td>"* | *"<td>work</td>"*) ;; *) fail "the viewer shows no delay" ;; esac
else
	skip "the page in a browser: there is no chromium"
fi
exit "$failed"
