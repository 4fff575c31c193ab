# Helpers of the ports: messages, missing packages, where things are kept. Sourced by bash
# scripts, which set `set -eu` themselves.

export LC_ALL=C

PROGRAM=${0##*/}
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${LIBEVENT_SMP_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/libevent-smp}

die()
{
	echo "$PROGRAM: $*" >&2
	exit 1
}

say()
{
	echo "$PROGRAM: $*" >&2
}

# usage: the head comment of the script, which is its manual, without the #!
usage()
{
	sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
}

# missing PACKAGE...: those that are not installed
missing()
{
	local package

	for package; do
		dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null |
			grep -qx 'install ok installed' || echo "$package"
	done
}

# need PACKAGE...: installs those that are missing; starts none of their services
need()
{
	local log guard= list root=()

	command -v dpkg-query >/dev/null || die "needs a Debian system (no dpkg-query here)"
	mapfile -t list < <(missing "$@")
	[ ${#list[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		sudo -n true 2>/dev/null || die "packages are missing; as root: apt-get install ${list[*]}"
		root=(sudo)
	fi

	say "installing ${list[*]}"
	log=$(mktemp)
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		guard=/usr/sbin/policy-rc.d
		printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$guard" >/dev/null
		"${root[@]}" chmod 755 "$guard"
	fi
	if ! install_packages "${list[@]}" >"$log" 2>&1 &&
	   ! { "${root[@]}" apt-get update -qq && install_packages "${list[@]}"; } >>"$log" 2>&1; then
		[ -z "$guard" ] || "${root[@]}" rm -f "$guard"
		tail -5 "$log" >&2
		rm -f "$log"
		die "could not install ${list[*]}"
	fi
	[ -z "$guard" ] || "${root[@]}" rm -f "$guard"
	rm -f "$log"
}

# debian_suites: a line for apt for each suite that Debian itself signs, as this system's sources have them,
# the security updates among them
debian_suites()
{
	apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' "Architecture: $(dpkg --print-architecture)" | sort -u
}

# Called by need() alone, whose `root` says how to become root.
install_packages()
{
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		--no-remove -o DPkg::Lock::Timeout=300 "$@"
}
