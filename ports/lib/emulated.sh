# The tree, cross-compiled for another architecture, and its tests under QEMU: what test-arm64 and test-armhf share.
# Sourced by bash scripts after common.sh and foreign.sh, with the script's arguments, NAME (Debian's of the architecture),
# TRIPLET, QEMU, LOADER, MAGIC and MASK.
#
# QEMU takes 5 to 20 times as long as a real machine, and never shows the memory order of one: it runs on
# x86, so all stores are seen in their order. Tests of what it cannot do ask for that first, and are skipped
# (testsuite/unit/emulated.h).
#
# The kernel starts the programs by QEMU in a namespace of this script alone, so Linux must be 6.7 or later.
# Where this machine runs such programs anyhow (Debian: qemu-user-binfmt), that is enough.

COMPILERS=(g++-$TRIPLET gcc-$TRIPLET binutils-$TRIPLET meson ninja-build pkg-config python3 util-linux)
PACKAGES=(libc6-dev libcmocka-dev libevent-dev libpcre2-dev libssl-dev libstdc++-12-dev zlib1g-dev)
# Not those that only compile, nor the simulator's mutants: both ask nothing of the processor. libasync's programs
# start others by posix_spawn, whose errors QEMU loses.
SUITES=(--suite unit --suite stress --suite sim --no-suite interface --no-suite program --no-suite mutants)

patience=30
parse_foreign $NAME "$@"
stock=$system/usr/lib/$TRIPLET
tools=$build-tools
[ "$what" != tests ] || [ ${#arguments[@]} -gt 0 ] || arguments=("${SUITES[@]}")
export SIM_SEEDS=${SIM_SEEDS:-200}

# unpack: libraries, headers and QEMU alone. QEMU looks for each file that a program opens there first, and must find
# nothing of /etc, /dev or /tmp.
unpack()
{
	local here

	here=$(dpkg --print-architecture)
	unpack_system "$NAME,$here" extract "$system.all" "${PACKAGES[@]}" "qemu-user-static:$here"
	mkdir "$system"
	mv "$system.all/lib" "$system.all/usr" "$system/"
	rm -rf --one-file-system "$system.all"
}

does_run()
{
	"$system/lib/$LOADER" --version >/dev/null 2>&1
}

# In a new namespace of users and mounts.
start_qemu()
{
	local files=/proc/sys/fs/binfmt_misc

	mount -t binfmt_misc none $files 2>/dev/null &&
		printf '%s' ":$NAME:M::$MAGIC:$MASK:$system/usr/bin/qemu-$QEMU-static:OF" >$files/register
}

# make_tools: what the tests call by the names of this machine's tools
make_tools()
{
	local tool

	mkdir -p "$tools"
	for tool in nm objdump readelf strip; do
		ln -sf "$(command -v $TRIPLET-$tool)" "$tools/$tool"
	done
	printf '#!/bin/sh\nexec %s-gcc "--sysroot=%s" "$@"\n' $TRIPLET "$system" >"$tools/cc"
	printf '#!/bin/sh\nexec "%s/lib/%s" --list "$@"\n' "$system" $LOADER >"$tools/ldd"
	chmod +x "$tools/cc" "$tools/ldd"
	cat >"$tools/$NAME.ini" <<-END
		[constants]
		system = '$system'
		[properties]
		needs_exe_wrapper = false
	END
}

# inside COMMAND...: with that architecture's tools
inside()
{
	(cd "$ROOT" && PATH=$tools:$PATH CC=$tools/cc QEMU_LD_PREFIX=$system "$@")
}

[ "$(dpkg --print-architecture)" != $NAME ] || skip "this is $NAME: scripts/test tests it"
if [ -z "${TEST_EMULATED_UNSHARED:-}" ]; then
	need "${COMPILERS[@]}"
	[ -d "$system/usr" ] || unpack
	if ! does_run; then
		unshare -Urm true 2>/dev/null || skip "this machine runs no $NAME programs, and allows no namespaces of users"
		TEST_EMULATED_UNSHARED=1 exec unshare -Urm "$0" "$@"
	fi
fi
does_run || start_qemu || skip "this kernel has no binfmt_misc for a namespace (Linux 6.7): install qemu-user-binfmt"
does_run || skip "QEMU runs no $NAME programs here"

mkdir -p "$(dirname "$build")"
make_tools
[ -e "$build/build.ninja" ] ||
	inside scripts/setup-build --cc "$TRIPLET-gcc" --werror debug "$build" --cross-file scripts/$NAME.ini --cross-file "$tools/$NAME.ini" >&2
run_foreign inside
