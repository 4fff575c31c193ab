# What the builders of packages share. Sourced by bash scripts, which set `set -eu` themselves.

. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"

PACKAGES=$ROOT/ports/packages

# version_of TREE: upstream's version, as Meson has it
version_of()
{
	sed -n "s/^  version: '\(.*\)',\$/\1/p" "$1/meson.build"
}

# date_of TREE: seconds since 1970 of its last commit; where there is no git, of the newest entry of the changelog
date_of()
{
	git -C "$1" log -1 --format=%ct 2>/dev/null ||
		dpkg-parsechangelog -l "$1/ports/packages/debian/changelog" -S Timestamp
}

# make_tarball TREE FILE: the tree as it is, without what git ignores; the same bytes each time
make_tarball()
{
	local version

	version=$(version_of "$1")
	[ -n "$version" ] || die "$1/meson.build says no version"
	"$1/scripts/sources" --all "$1" |
		tar -C "$1" -c --files-from=- --transform="s,^,libevent-smp-$version/," --sort=name --format=gnu \
			--mtime="@$(date_of "$1")" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=u-w |
		xz -6 -T1 >"$2"
}

# empty_directory DIR: made anew; prints its absolute name
empty_directory()
{
	case $1 in
	"" | / | . | "$ROOT" | "${HOME:-}") die "--out must be a directory that may be removed" ;;
	esac
	rm -rf "$1"
	mkdir -p "$1"
	(cd "$1" && pwd)
}
