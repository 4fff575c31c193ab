#!/bin/sh
# usage: installed.sh PREFIX
#
# A program is compiled against what is installed under PREFIX, as pkg-config says and by CMake (if it
# is there), and runs both by itself and, built against the system's libevent, by evsmp. So is a program
# of libasync, if that is installed.
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
PKG_CONFIG = pkg-config '--define-variable=prefix=$(PREFIX)'
CFLAGS += $(shell $(PKG_CONFIG) --cflags libevent-smp)
LDLIBS += $(shell $(PKG_CONFIG) --libs libevent-smp)

ours: program
	mv program ours

async: async.cc
	$(CXX) -std=gnu++17 -o async async.cc $(shell $(PKG_CONFIG) --cflags --libs libasync-smp)
END
pc=$(dirname "$(find "$prefix" -name libevent-smp.pc)")
# Spaces are escaped in the file, too.
PKG_CONFIG_PATH=$pc make -s -C "$work" CC="${CC:-cc}" PREFIX="$(printf %s "$prefix" | sed 's/ /\\ /g')" ours
# shellcheck disable=SC2086
${CC:-cc} -fPIE -pie -o "$work/any" "$work/program.c" -I"$prefix/include" -levent

cat >"$work/async.cc" <<'END'
#include <async.h>

static void done()
{
	puts("1");
	exit(0);
}

int main()
{
	delaycb(0, 0, wrap(done));
	amain();
}
END
has_async=
[ ! -e "$pc/libasync-smp.pc" ] || has_async=1

# A project with CMake.
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(outer C)
find_package(LibeventSmp 0.1 REQUIRED)
add_executable(by_cmake program.c)
target_link_libraries(by_cmake PRIVATE LibeventSmp::event)
install(TARGETS by_cmake DESTINATION bin)
END

expect()
{
	want=$1
	shift
	got=$("$@")
	[ "$got" = "$want" ] || { echo "$*: $got, not $want"; exit 1; }
}

expect 1 "$work/ours"
if [ -n "$has_async" ]; then
	PKG_CONFIG_PATH=$pc make -s -C "$work" CXX="${CXX:-c++}" PREFIX="$(printf %s "$prefix" | sed 's/ /\\ /g')" async
	# Staged, the library is not where the loader looks. It finds the others by itself.
	expect 1 env LD_LIBRARY_PATH="$(dirname "$pc")" "$work/async"
	cat >>"$work/CMakeLists.txt" <<-'END'
	enable_language(CXX)
	find_package(libasync-smp 0.1 REQUIRED)
	add_executable(async_by_cmake async.cc)
	target_link_libraries(async_by_cmake PRIVATE libasync-smp::async)
	install(TARGETS async_by_cmake DESTINATION bin)
	END
fi
if command -v cmake >/dev/null; then
	# It works from wherever it was moved to.
	mkdir "$work/another place"
	cp -a "$prefix/include" "$prefix"/lib* "$work/another place"
	cmake -S "$work" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/another place" -DCMAKE_INSTALL_PREFIX="$work/installed" \
		>"$work/log" && cmake --build "$work/cmake" --target install >>"$work/log" || { cat "$work/log"; exit 1; }
	expect 1 "$work/installed/bin/by_cmake"
	[ -z "$has_async" ] || expect 1 env LD_LIBRARY_PATH="$(dirname "$(find "$work/another place" -name libasync_smp.so.1)")" \
		"$work/installed/bin/async_by_cmake"
	sed -i 's/LibeventSmp 0.1/LibeventSmp 99/' "$work/CMakeLists.txt"
	if cmake -S "$work" -B "$work/newer" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
		echo "version 99 is found"
		exit 1
	fi
else
	echo "not tested here: find_package by CMake: there is no cmake"
fi
expect 1 "$prefix/bin/evsmp" run "$work/any"
expect 0 "$work/any"
"$prefix/bin/evsmp" check "$work/any"
