#!/bin/sh
# usage: systemd.sh EVSMP LIBDIR
#
# What enable and disable ask of systemd: in a mount namespace, where a program that only writes down its arguments
# stands for systemctl.
set -u
if [ "${IN_NAMESPACE:-}" = "" ]; then
	for namespace in "unshare -m" "unshare -rm"; do
		# shellcheck disable=SC2086 # two words
		if IN_NAMESPACE=1 $namespace sh -c 'mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd/system' 2>/dev/null; then
			# shellcheck disable=SC2093 # it goes on only without such namespaces
			IN_NAMESPACE=1 exec $namespace "$0" "$@"
		fi
	done
	echo "not tested here: systemctl: this needs mount namespaces and /etc/systemd/system"
	exit 0
fi
. "${0%/*}/common.sh" "$1" "$2"
mount -t tmpfs none /run || exit 1
mount -t tmpfs none /etc/systemd/system || exit 1
mkdir -p /run/systemd/system "$work/bin"
cat >"$work/bin/systemctl" <<EOF
#!/bin/sh
printf '%s\n' "\$*" >>"$work/asked"
[ ! -e "$work/fails" ]
EOF
chmod +x "$work/bin/systemctl"
PATH=$work/bin:$PATH

# asks TEXT STATUS TEXT ARGUMENT...: as expect, and it asks systemctl for that, all on one line
asks()
{
	wanted=$1
	shift
	: >"$work/asked"
	expect "$@"
	asked=$(tr '\n' ';' <"$work/asked")
	shift 2
	[ "$asked" = "$wanted" ] || fail "evsmp $*: asks systemctl for \"$asked\", not \"$wanted\""
}

printf '[Service]\nExecStart=%s\n' "$work/program" >/etc/systemd/system/server.service

# ---------------------------------------------------------------- reload and restart

asks "" 0 "[Service]" enable --dry-run --now server
asks "daemon-reload;" 0 "systemctl restart server.service" enable server
asks "daemon-reload;" 0 "is enabled already" enable server
asks "daemon-reload;try-restart server.service;" 0 "is enabled already" enable --now server
asks "" 0 "is enabled already" enable --dry-run --now server
asks "" 0 "[Service]" disable --dry-run --now server
asks "daemon-reload;" 0 "systemctl restart server.service" disable server
asks "daemon-reload;" 0 "is not enabled" disable server
asks "daemon-reload;try-restart server.service;" 0 "is not enabled" disable --now server
asks "" 0 "is not enabled" disable --dry-run --now server
asks "daemon-reload;try-restart server.service;" 0 "is enabled" enable --now server
asks "daemon-reload;try-restart server.service;" 0 "is disabled" disable --now server

# What systemd did not do is done by the next command.
: >"$work/fails"
asks "daemon-reload;" 123 "daemon-reload failed" enable --now server
rm "$work/fails"
asks "daemon-reload;try-restart server.service;" 0 "is enabled already" enable --now server
: >"$work/fails"
asks "daemon-reload;" 123 "daemon-reload failed" disable --now server
rm "$work/fails"
asks "daemon-reload;try-restart server.service;" 0 "is not enabled" disable --now server

# ---------------------------------------------------------------- templates

# What runs is restarted. In place of /proc, because others may not be moved to another control group.
mount -t tmpfs none /proc || exit 1
mkdir /proc/10 /proc/11 /proc/12 /proc/13
printf '0::/system.slice/system-server.slice/%s\n' server@two.service >/proc/10/cgroup
printf '0::/system.slice/system-server.slice/%s/below\n' 'server@dev-a\x2db.service' >/proc/11/cgroup
printf '0::/system.slice/system-server.slice/%s\n' 'server@dev-a\x2db.service' >/proc/12/cgroup
printf '0::/system.slice/%s\n' server.service >/proc/13/cgroup
cp /etc/systemd/system/server.service /etc/systemd/system/server@.service
restart='try-restart server@dev-a\x2db.service server@two.service;'
asks "daemon-reload;" 0 "systemctl restart 'server@dev-a\x2db.service' server@two.service" enable server@
asks "daemon-reload;$restart" 0 "is enabled already" enable --now server@
asks "daemon-reload;$restart" 0 "is disabled" disable --now server@
asks "daemon-reload;try-restart server@dev-a\x2db.service;" 0 "is enabled" enable --now 'server@dev-a\x2db'
asks "daemon-reload;try-restart server@dev-a\x2db.service;" 0 "is disabled" disable --now 'server@dev-a\x2db'
rm -r /proc/1?
asks "daemon-reload;" 0 "with the next start of an instance" enable --now server@
asks "daemon-reload;" 0 "with the next start of an instance" disable --now server@
exit "$failed"
