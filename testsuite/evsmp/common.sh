# shellcheck shell=sh
# For the tests of evsmp: . common.sh EVSMP LIBDIR. $evsmp; $work, a directory that all may read; $libs, a copy of the
# libraries in it; expect, agree, and programs made with $CC.
tested=$(readlink -f "$1")
evsmp=$tested	# a test may take another one
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
libs=$work/lib
cp -rL "$2" "$libs"
chmod -R a+rX "$libs"
export EVSMP_LIBDIR="$libs"
unset LD_LIBRARY_PATH LD_PRELOAD XDG_CACHE_HOME
failed=0

fail()
{
	echo "$*"
	failed=1
}

# skip REASON: a part of the test that cannot run here
skip()
{
	echo "not tested here: $*"
}

# expect STATUS TEXT ARGUMENT...: evsmp ends so, and says so; what it said is in $said
expect()
{
	status=$1 text=$2
	shift 2
	said=$($as "$evsmp" "$@" 2>&1)
	got=$?
	[ "$got" = "$status" ] || fail "evsmp $*: status $got, not $status: $said"
	case $said in
	*"$text"*) ;;
	*) fail "evsmp $*: no \"$text\" in: $said" ;;
	esac
}
as=		# a command in front of evsmp

# The message that evsmp ends with.
last_message()
{
	printf '%s\n' "$said" | sed -n 's/^evsmp: //p' | tail -n 1
}

# asks STATUS TEXT COMMAND PROGRAM [ARGUMENT...]: it ends so, in one sentence and another one that says what to do
asks()
{
	expect "$@"
	message=$(last_message)
	case $message in
	*[a-zA-Z0-9\)\"\}]'. '[A-Z]*.) ;;
	*) shift 2 && fail "evsmp $*: not what is wrong and what to do: $message" ;;
	esac
}

# agree STATUS TEXT PROGRAM [ARGUMENT...]: check, run and env refuse it alike, and `run` does not start it
agree()
{
	status_agreed=$1 text_agreed=$2
	shift 2
	asks "$status_agreed" "$text_agreed" check "$@"
	message_agreed=$message
	for command in env run; do
		expect "$status_agreed" "$text_agreed" "$command" "$@"
		message=$(last_message)
		[ "$message" = "$message_agreed" ] || fail "$command $* says \"$message\", check says \"$message_agreed\""
	done
	case $said in *"started on "*) fail "run $* starts it all the same" ;; esac
}

# doubts TEXT PROGRAM [ARGUMENT...]: it depends; check has status 4, and env says the same. `run` starts it, so it is
# not tried here.
doubts()
{
	text_doubted=$1
	shift
	asks 4 "$text_doubted" check "$@"
	message_doubted=$message
	expect 0 "$text_doubted" env "$@"
	message=$(printf '%s\n' "$said" | sed -n 's/^evsmp: //p')
	[ "$message" = "$message_doubted" ] || fail "env $* says \"$message\", check says \"$message_doubted\""
}

# runs PROGRAM [ARGUMENT...]: check, env and run have no objection, and it runs on libevent-smp
runs()
{
	expect 0 "run" check "$@"
	case $said in *"runs on libevent-smp."* | *"can run on libevent-smp."*) ;; *) fail "check $*: $said" ;; esac
	expect 0 "LD_LIBRARY_PATH=" env "$@"
	case $said in *evsmp:*) fail "env $*: $said" ;; esac
	expect 0 "started on ours" run "$@"
	case $said in *evsmp:*) fail "run $*: $said" ;; esac
}

compile()
{
	# shellcheck disable=SC2086 # may be `ccache gcc`
	$CC "$@" || { echo "a program does not compile"; exit 1; }
}

cat >"$work/program.c" <<'EOF'
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

void event_base_post(void);
void event_base_post(void) __attribute__((weak));

int main(int argc, char **argv)
{
	const char *workers = getenv("EVENT_WORKERS");

	(void)event_get_version();
	printf("started on %s %d <%s> workers %s\n", event_base_post ? "ours" : "stock", argc, argc > 1 ? argv[1] : "",
	       workers == NULL ? "unset" : workers);
	return argc > 2 ? atoi(argv[2]) : 0;
}
EOF
link="-fPIE -pie -L$libs -Wl,-rpath-link,$libs"
# shellcheck disable=SC2086 # a list
compile -o "$work/program" "$work/program.c" $link -levent_core
