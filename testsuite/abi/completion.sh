#!/bin/bash
# usage: completion.sh COMPLETION
#
# What bash offers for the words of a command line that begins with evsmp.
set -u
. "$1"
failed=0

# expect WORDS OFFERED: the last of WORDS is the one to complete; | stands between words
expect()
{
	local got

	IFS='|' read -r -a COMP_WORDS <<<"$1"
	[[ $1 != *'|' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_evsmp
	got="${COMPREPLY[*]-}"
	[ "$got" = "$2" ] && return
	echo "$1: offers \"$got\", not \"$2\""
	failed=1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '#!/bin/sh\n' >"$dir/program-of-this-test"
chmod +x "$dir/program-of-this-test"
PATH=$dir:$PATH

expect 'evsmp|' 'run check env --help --version'
expect 'evsmp|c' 'check'
expect 'evsmp|run|-' '--workers'
expect 'evsmp|run|program-of-this' 'program-of-this-test'
expect 'evsmp|check|program-of-this' 'program-of-this-test'
expect 'evsmp|check|program-of-this-test|program-of-this' ''
expect 'evsmp|run|--workers|program-of-this' ''
expect 'evsmp|run|--workers|2|program-of-this' 'program-of-this-test'
expect 'evsmp|run|--workers|=|2|program-of-this' 'program-of-this-test'
expect 'evsmp|env|' ''
exit "$failed"
