#!/bin/bash
# usage: setuid.sh EVSMP LIBDIR
#
# A set-user-ID program: no variable of a tool has an effect. Each setting is tried with the same program without that
# bit first, where it leaves a file or a message. The loader drops LD_LIBRARY_PATH of such a program, so it has the
# libraries by DT_RPATH.
set -u
. "${0%/*}/common.sh" "$1" "$2"
here=$(cd "${0%/*}" && pwd)
ENOUGH=20		# ticks of CPU time: many callbacks, each of which runs for milliseconds

if [ "$(id -u)" != 0 ] || ! setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
	skip "set-user-ID programs: only root can make them"
	exit 0
fi
chmod 711 "$work"
$CC "$here/observed.c" -o "$work/plain" "-Wl,-rpath,$libs,--disable-new-dtags" "-L$libs" "-Wl,-rpath-link,$libs" \
	-rdynamic -levent_core -ldl 2>"$work/said" || fail "no program: $(cat "$work/said")"
cp "$work/plain" "$work/setuid"
chmod 755 "$work/plain"
chmod 4755 "$work/setuid"
mkdir -m 777 "$work/left"

# ticks PID: its CPU time
ticks()
{
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }'
}

# observe PROGRAM SETTING...: left is what it wrote, said, and ended with other than 0; uid: of the process
observe()
{
	local program=$1 pid
	shift

	rm -rf "$work/left"/* "$work/in" "$work/out"
	: >"$work/err"
	mkfifo "$work/in" "$work/out"
	env XDG_RUNTIME_DIR="$work/left" EVENT_WORKERS=2 "$@" setpriv --reuid=65534 --clear-groups "$work/$program" \
		4 5000 <"$work/in" >"$work/out" 2>"$work/err" &
	pid=$!
	exec 9>"$work/in"
	read -r _ <"$work/out"
	uid=$(awk '/^Uid:/ { print $3 }' "/proc/$pid/status" 2>/dev/null)
	while kill -0 "$pid" 2>/dev/null && [ "$(ticks "$pid")" -lt "$ENOUGH" ]; do :; done 2>/dev/null
	left=$(find "$work/left" -mindepth 1)	# some of it goes with the program
	exec 9>&-
	wait "$pid" || left+=" status $?"
	left+=$(find "$work/left" -mindepth 1; cat "$work/err")
}

while read -r -a settings; do
	settings=("${settings[@]//LEFT/$work/left}")
	observe plain "${settings[@]}"
	[ -n "$left" ] || fail "${settings[*]} has no effect without the bit"
	observe setuid "${settings[@]}"
	if [ "$uid" != 0 ]; then
		skip "set-user-ID programs: this file system does not let them be"
		break
	fi
	[ -z "$left" ] || fail "a set-user-ID program with ${settings[*]}: $left"
done <<'END'
EVENT_SMP_STATS=1
EVENT_SMP_STATS=LEFT/file
EVENT_SMP_TRACE=LEFT/file EVENT_SMP_TRACE_OBJECTS=1
EVENT_SMP_STALL_MS=1
EVENT_SMP_STALL_MS=1 EVENT_SMP_STALL_FORMAT=json EVENT_SMP_STALL_FILE=LEFT/file
EVENT_SMP_STALL_MS=x
EVENT_SMP_SEED=1 EVENT_SMP_SCHEDULE_OUT=LEFT/file
EVENT_SMP_SEED=x
EVENT_SMP_SEED=1 EVENT_SMP_POLICY=x
EVENT_SMP_SEED=1 EVENT_SMP_TIME=x
EVENT_SMP_SCHEDULE=LEFT/none
EVENT_SMP_VERBOSE=1
EVENT_CHECK_COLORS=1
EVENT_CHECK_COLORS=1 EVENT_CHECK_COLORS_COUNTS=LEFT/file
END
exit "$failed"
