#!/bin/sh
# usage: installed.sh PREFIX
#
# A program is compiled against what is installed under PREFIX, as pkg-config says, and runs both
# by itself and, built against the system's libevent, by evsmp.
set -eu
prefix=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/program.c" <<'END'
#include <event2/event.h>
#define EVENT_SMP_WEAK
#include <event2/smp.h>
#include <stdio.h>

static void count(void *arg)
{
	++*(int *)arg;
}

int main(void)
{
	struct event_base *base = event_base_new();
	int num = 0;

	if (event_base_post != NULL && event_base_post(base, 7, count, &num) == 0)
		event_base_dispatch(base);
	event_base_free(base);
	printf("%d\n", num);
	return 0;
}
END

# A project with make. Installed for staging: the prefix in the file is where it will be, not where it is now.
cat >"$work/Makefile" <<'END'
PKG_CONFIG = pkg-config --define-variable=prefix=$(PREFIX)
CFLAGS += $(shell $(PKG_CONFIG) --cflags libevent-smp)
LDLIBS += $(shell $(PKG_CONFIG) --libs libevent-smp)

ours: program
	mv program ours
END
pc=$(dirname "$(find "$prefix" -name libevent-smp.pc)")
PKG_CONFIG_PATH=$pc make -s -C "$work" CC="${CC:-cc}" PREFIX="$prefix" ours
# shellcheck disable=SC2086
${CC:-cc} -fPIE -pie -o "$work/any" "$work/program.c" -I"$prefix/include" -levent

expect()
{
	want=$1
	shift
	got=$("$@")
	[ "$got" = "$want" ] || { echo "$*: $got, not $want"; exit 1; }
}

expect 1 "$work/ours"
expect 1 "$prefix/bin/evsmp" run "$work/any"
expect 0 "$work/any"
"$prefix/bin/evsmp" check "$work/any"
