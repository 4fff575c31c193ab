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

printf '#!/bin/sh\necho "one.service enabled enabled"; echo "two.service static -"\n' >"$dir/systemctl"
printf '#!/bin/sh\necho "two.service: enabled, workers: 3"; echo "  it does not run"\n' >"$dir/evsmp"
chmod +x "$dir/systemctl" "$dir/evsmp"

expect 'evsmp|' 'run check env advise check-colors explore enable disable status ps top metrics trace which doctor --help --version'
expect 'evsmp|c' 'check check-colors'
expect 'evsmp|d' 'disable doctor'
expect 'evsmp|run|-' '--workers'
expect 'evsmp|run|program-of-this' 'program-of-this-test'
expect 'evsmp|top|--s' '--seconds --sort'
expect 'evsmp|top|--sort|l' 'longest'
expect 'evsmp|metrics|-' '--listen'
expect 'evsmp|a' 'advise'
expect 'evsmp|advise|--s' '--seconds --svg'
expect 'evsmp|trace|--s' '--seconds --svg'
expect 'evsmp|trace|--format|p' 'perfetto'
expect 'evsmp|trace|program-of-this' 'program-of-this-test'
expect 'evsmp|check|program-of-this' 'program-of-this-test'
expect 'evsmp|check|program-of-this-test|program-of-this' 'program-of-this-test'
expect 'evsmp|check|-' ''
expect 'evsmp|env|-' ''
expect 'evsmp|doctor|program-of-this-test|program-of-this' ''
expect 'evsmp|run|--workers|program-of-this' ''
expect 'evsmp|run|--workers|2|program-of-this' 'program-of-this-test'
expect 'evsmp|run|--workers|=|2|program-of-this' 'program-of-this-test'
expect 'evsmp|env|program-of-this' 'program-of-this-test'
expect 'evsmp|doctor|program-of-this' 'program-of-this-test'
expect 'evsmp|enable|' 'one two'
expect 'evsmp|enable|--' '--dry-run --now --workers'
expect 'evsmp|enable|--now|t' 'two'
expect 'evsmp|enable|--workers|' ''
expect 'evsmp|enable|--workers|=|' ''
expect 'evsmp|disable|' 'two'
expect 'evsmp|disable|--' '--dry-run --now'
expect 'evsmp|status|' 'one two'
expect 'evsmp|status|one|' ''
expect 'evsmp|ps|' ''
expect 'evsmp|which|' ''
exit "$failed"
