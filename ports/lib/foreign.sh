# A Debian system for another architecture, and which tests run there: what test-i386, test-arm64, test-armhf and
# packages/build --host share. Sourced by bash scripts after common.sh, which set `set -eu` themselves.

SKIPPED=77
SHARED=${EVSMP_SHARED:-$ROOT/../shared}
UPSTREAM_RETRIES=5
bootstrap_options=()		# of mmdebstrap

skip()
{
	echo "skipped: $*"
	exit $SKIPPED
}

# parse_foreign ARCHITECTURE OPTION...: sets system, build, jobs, what, is_stock and arguments
parse_foreign()
{
	system=$ROOT/build-ci/$1/system
	build=$ROOT/build-ci/$1/build
	jobs=$(nproc)
	what=tests
	is_stock=
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--system) system=$(realpath -m "${2:?--system needs a directory}"); shift ;;
		--build) build=$(realpath -m "${2:?--build needs a directory}"); shift ;;
		-j) jobs=${2:?-j needs a number}; shift ;;
		--upstream | --abi)
			what=${1#--}
			[ -d "$SHARED/conformance" ] || die "--$what needs the yardsticks in ../shared"
			SHARED=$(realpath "$SHARED")
			;;
		--stock) is_stock=1 ;;
		-h | --help) usage; exit 0 ;;
		*) break ;;
		esac
		shift
	done
	arguments=("$@")
}

# unpack_system ARCHITECTURES VARIANT DIR PACKAGE...: a Debian system; VARIANT is mmdebstrap's
unpack_system()
{
	local architectures=$1 variant=$2 dir=$3 include log=$3.log sources=$3.list codename

	shift 3
	need mmdebstrap
	mkdir -p "$(dirname "$dir")"
	include=$(IFS=,; echo "$*")
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	say "making a Debian system of ${architectures//,/ and }"
	debian_suites >"$sources"
	[ -s "$sources" ] || die "apt's sources here name no Debian mirror (apt-get update?)"
	if ! bootstrap >"$log" 2>&1; then
		# Many mirrors are behind with the updates of the rarer architectures. The release alone is a whole system.
		tail -5 "$log" >&2
		say "trying again without updates"
		sed -i "/ $codename /!d" "$sources"
		bootstrap >>"$log" 2>&1 || {
			tail -5 "$log" >&2
			skip "could not make a Debian system of ${architectures//,/ and } ($log)"
		}
	fi
	mv "$dir.new" "$dir"
}

# Called by unpack_system() alone, with its variables.
bootstrap()
{
	rm -rf --one-file-system "$dir.new"
	mmdebstrap --architectures="$architectures" --variant="$variant" --include="$include" \
		--skip=check/empty,check/qemu "${bootstrap_options[@]}" "$codename" "$dir.new" "$sources"
}

# open_system DIR SHARED...: it has /proc, /sys and /dev, and the directories SHARED by their names here. The mounts go
# with the namespace of the script.
open_system()
{
	local dir=$1 shared

	shift
	for shared; do
		mkdir -p "$dir$shared"
		mount --bind "$shared" "$dir$shared"
	done
	mount -t proc proc "$dir/proc"
	mount --rbind /sys "$dir/sys"
	mount --rbind /dev "$dir/dev"
}

# upstream_source: where upstream's tests are, by way of this machine's apt. All architectures have the same ones, and
# that system may be without updates, or without apt's lists.
upstream_source()
{
	local here=$build/upstream-here tests

	WORKDIR=$here "$SHARED/conformance/upstream-regress" --list >"$here.log" 2>&1 || { tail -3 "$here.log" >&2; return 1; }
	tests=$(echo "$here"/source/*/*/test/regress.c)
	echo "${tests%/test/regress.c}"
}

# run_foreign COMMAND...: the tests that were asked for. COMMAND runs the rest of its line there. Ends as they do.
# Time limits are `patience` times as long as usual; `stock` has the libraries of that architecture's libevent.
run_foreign()
{
	local place=$build/$what libdir=$build/libdir source

	[ -z "$is_stock" ] || libdir=$stock

	case $what in
	tests) "$@" meson test -C "$build" -t "$patience" --num-processes "$jobs" "${arguments[@]}" ;;
	upstream)
		source=$(upstream_source)
		"$@" ninja -j "$jobs" -C "$build" compat/libevent/libdir.stamp >&2
		"$@" env WORKDIR="$place" "$SHARED/conformance/upstream-regress" "$libdir" --src "$source" -q --jobs "$jobs" \
			--retries "$UPSTREAM_RETRIES" --tsv "$place.tsv" "${arguments[@]}"
		;;
	abi)
		"$@" ninja -j "$jobs" -C "$build" compat/libevent/libdir.stamp >&2
		# Its data are of x86-64: first take those of this architecture, from its libevent-dev.
		rm -rf "$place"
		mkdir -p "$place"
		cp -R "$SHARED/conformance" "$place/conformance"
		"$@" env WORKDIR="$place/stock" "$place/conformance/abi-check" "$stock" --refresh >&2 &&
			"$@" env WORKDIR="$place/ours" "$place/conformance/abi-check" "$libdir" "${arguments[@]}"
		;;
	esac
}
