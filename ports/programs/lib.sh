# What checks/* use. Sourced by bash in namespaces of its own, in an empty directory; LIBDIR is
# the directory of the libraries under test, empty for the system's; all but answers go to LOG.
# A check runs under `set -eu`: what fails ends it.

set -eu
export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=$PWD
unset LD_LIBRARY_PATH LD_PRELOAD http_proxy https_proxy HTTP_PROXY HTTPS_PROXY no_proxy NO_PROXY \
	EVENT_WORKERS EVENT_NOEPOLL EVENT_NOPOLL EVENT_NOSELECT
WORK=$PWD

ip link set lo up
# An address that is not loopback's: some programs, and AI_ADDRCONFIG, count only those.
ip addr add 10.99.9.9/32 dev lo
ip route add default dev lo src 10.99.9.9

# x COMMAND...: runs it on the libraries under test
x()
{
	# UNDER is a command and its options
	# shellcheck disable=SC2086
	env ${LIBDIR:+LD_LIBRARY_PATH="$LIBDIR"} $UNDER "$@"
}

# start TAG COMMAND...: the same in the background; PID is its process
start()
{
	local tag=$1

	shift
	# shellcheck disable=SC2086
	env ${LIBDIR:+LD_LIBRARY_PATH="$LIBDIR"} $UNDER "$@" >>"$WORK/$tag.log" 2>&1 </dev/null &
	PID=$!
	echo "start $tag: $PID: $*" >>"$LOG"
}

# helper TAG COMMAND...: in the background, on the system's libraries
helper()
{
	local tag=$1

	shift
	"$@" >>"$WORK/$tag.log" 2>&1 </dev/null &
	PID=$!
}

# nsd_conf DIR PORT [WORKERS [LINE...]]: DIR/nsd.conf, for example.test from DIR/zone; with WORKERS there is a control
# socket too, and LINEs are added to the zone.
nsd_conf()
{
	mkdir "$1"
	cat >"$1/nsd.conf" <<-C
		server:
		  ip-address: 127.0.0.1@$2
		  username: ""
		  chroot: ""
		  zonesdir: "$WORK/$1"
		  pidfile: "$WORK/$1/pid"
		  database: ""
		  zonelistfile: "$WORK/$1/zone.list"
		  xfrdfile: "$WORK/$1/xfrd.state"
		  xfrdir: "$WORK/$1"
		  server-count: ${3:-1}
		remote-control:
		  control-enable: $([ $# -gt 2 ] && echo yes || echo no)
		  control-interface: $WORK/$1/ctl
		zone:
		  name: example.test
		  zonefile: zone
	C
	if [ $# -gt 3 ]; then
		printf '  %s\n' "${@:4}" >>"$1/nsd.conf"
	fi
}

# answer LABEL COMMAND...: prints what the command prints, and its status
answer()
{
	local label=$1 status=0

	shift
	echo "== $label"
	"$@" 2>>"$LOG" || status=$?
	echo "-- $status"
}

# at_once COUNT COMMAND...: so many of it at the same time; what each prints is in got.1 to got.COUNT. Prints their statuses.
at_once()
{
	local count=$1 pids=() i

	shift
	for ((i = 1; i <= count; i++)); do
		x "$@" >"got.$i" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		if wait "$i"; then echo 0; else echo $?; fi
	done
}

# lines PATTERN COMMAND...: of what a program prints, those lines, without repetitions
lines()
{
	local pattern=$1

	shift
	x "$@" 2>&1 | tee -a "$LOG" | grep -aoE "$pattern" | sort -u
}

# until_ok SECONDS COMMAND...: again and again until it succeeds
until_ok()
{
	local end=$((SECONDS + $1))

	[ -z "$UNDER" ] || end=$((end + 10 * $1))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $end ]; then
			echo "waited in vain for: $*" >>"$LOG"
			return 1
		fi
		sleep 0.1
	done
}

is_listening()
{
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# listening_at PATH: waits until a server listens at the Unix socket that it binds as PATH. The file is there earlier.
listening_at()
{
	# shellcheck disable=SC2016
	until_ok 30 awk -v path="$1" '$4 == "00010000" && $8 == path { found = 1 } END { exit !found }' /proc/net/unix
}

# listening PORT...: waits until a server is there
listening()
{
	local port

	for port; do
		until_ok 30 is_listening "$port"
	done
}

has_ended()
{
	! kill -0 "$1" 2>/dev/null
}

# stop PID [SIGNAL]: ends a program and prints its status
stop()
{
	local status=0

	kill "-${2:-TERM}" "$1"
	wait "$1" 2>>"$LOG" || status=$?
	echo "ended: $status"
}

# bytes N: as many, which look random and are the same each time
bytes()
{
	openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 </dev/zero 2>/dev/null | head -c "$1"
}

# certificate NAME: NAME.pem and NAME.key, of localhost
certificate()
{
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" -days 30 -subj /CN=localhost \
		-addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>>"$LOG"
	chmod a+r "$1.key"
}
