#!/bin/sh
# usage: outside.sh TREE [full]
#
# The tree as others build it: as a subproject of a Meson project, with static libraries (refused), without TLS and
# tests, with a level of _FORTIFY_SOURCE of their own. Without `full` it is configured, and no more.
set -u
tree=$(cd "$1" && pwd)
is_full=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail()
{
	echo "$*"
	failed=1
}

# configure NAME SOURCE OPTION...: its words are in $work/NAME.log
configure()
{
	name=$1 source=$2
	shift 2
	meson setup "$work/$name" "$source" "$@" >"$work/$name.log" 2>&1
}

# must_configure NAME SOURCE OPTION...
must_configure()
{
	configure "$@" && return
	fail "$1 is not configured:"
	tail -5 "$work/$1.log"
	return 1
}

build()
{
	ninja -C "$work/$1" >"$work/$1.log" 2>&1 && return
	fail "$1 is not built:"
	tail -20 "$work/$1.log"
	return 1
}

has_command()
{
	command -v "$1" >/dev/null
}

# ---------------------------------------------------------------- a subproject

mkdir -p "$work/outer/subprojects"
ln -s "$tree" "$work/outer/subprojects/libevent-smp"
cat >"$work/outer/meson.build" <<'END'
project('outer', 'c', default_options: ['warning_level=1', 'default_library=static'])
smp = dependency('libevent-smp', fallback: 'libevent-smp')
core = subproject('libevent-smp').get_variable('libevent_core_dep')
test('colored', executable('colored', 'colored.c', dependencies: smp, install: true))
test('core alone', executable('core', 'colored.c', dependencies: core, install: true))
END
cp "$tree/testsuite/abi/colored.c" "$work/outer/"

# runpath PROGRAM: its directories, one a line
runpath()
{
	readelf -dW "$1" | sed -n 's/.*(RUNPATH).*\[\(.*\)\]/\1/p' | tr : '\n'
}

# installed_programs: they find our libraries without help, and know nothing of the place where they were built.
installed_programs()
{
	libdir=$(find "$work/prefix" -name libevent_smp.so.1 -exec dirname {} \;)
	for program in colored core; do
		"$work/prefix/bin/$program" >"$work/log" 2>&1 || { fail "the installed $program fails"; cat "$work/log"; }
		[ "$(runpath "$work/prefix/bin/$program")" = "$libdir" ] ||
			fail "the installed $program looks in $(runpath "$work/prefix/bin/$program" | tr '\n' ' '), not in $libdir"
		# The tests of the outer project are to run with what was built, whatever is installed.
		runpath "$work/subproject/$program" | head -n 1 | grep -q subprojects/libevent-smp ||
			fail "the built $program looks in $(runpath "$work/subproject/$program" | tr '\n' ' ')"
	done
	# Each library of ours finds the others beside it.
	for library in "$libdir"/libevent*.so.[0-9]; do
		case $(runpath "$library") in
		'$ORIGIN' | '') ;;
		*) fail "${library##*/} looks in $(runpath "$library" | tr '\n' ' ')" ;;
		esac
	done
}

if must_configure subproject "$work/outer" --wrap-mode=forcefallback -Dbuildtype=debug --prefix="$work/prefix"; then
	for program in colored core; do
		ninja -C "$work/subproject" -t commands $program | grep "\-o $program " |
			grep -q -e "-Wl,-rpath,$work/prefix/[^ ]*/libevent-smp" ||
			fail "the installed $program would not know where our libraries are"
	done
	# Our tests and tools are ours.
	if ninja -C "$work/subproject" -t targets all | grep -q 'test_\|differ-'; then
		fail "a subproject builds our tests"
	fi
	if [ -n "$is_full" ] && build subproject; then
		meson test -C "$work/subproject" --no-suite libevent-smp >"$work/log" 2>&1 ||
			{ fail "the outer project's programs fail"; cat "$work/log"; }
		meson install -C "$work/subproject" >"$work/log" 2>&1 || { fail "it is not installed"; tail -5 "$work/log"; }
		installed_programs
	fi
fi

# ---------------------------------------------------------------- options

for kind in static both; do
	if configure $kind "$tree" -Ddefault_library=$kind -Dtests=disabled; then
		fail "default_library=$kind is taken without a word"
	elif ! grep -q 'shared libraries only' "$work/$kind.log"; then
		fail "default_library=$kind is refused without a reason:"
		tail -3 "$work/$kind.log"
	fi
done

if must_configure small "$tree" -Dtests=disabled -Dopenssl=disabled -Ddocs=disabled -Dc_args=-D_FORTIFY_SOURCE=3 \
	-Dwerror=true; then
	if ninja -C "$work/small" -t commands | grep -q FORTIFY_SOURCE=2; then
		fail "the packager's level of _FORTIFY_SOURCE is not kept"
	fi
	if ninja -C "$work/small" -t targets all | grep -q openssl; then
		fail "-Dopenssl=disabled builds libevent_openssl"
	fi
	if meson introspect --installed "$work/small" | grep -q /man/; then
		fail "-Ddocs=disabled installs manual pages"
	fi
fi

# The libraries need not be below the prefix, nor in lib. CMake's files find all from where they are.
if ! has_command cmake || ! pkg-config --exists libpcre2-8; then
	echo "not tested here: find_package by CMake: this needs cmake and libpcre2-dev"
elif must_configure elsewhere "$tree" -Dtests=disabled -Dopenssl=disabled -Dlibasync=enabled --prefix="$work/prefix" \
		--libdir="$work/else where/l"; then
	for package in libevent/LibeventSmp libasync/libasync-smp; do
		mkdir -p "$work/else where/l/cmake/${package##*/}"
		find "$work/elsewhere/compat/${package%/*}" -name '*.cmake' -exec cp {} "$work/else where/l/cmake/${package##*/}" \;
	done
	mkdir "$work/by-cmake"
	cat >"$work/by-cmake/CMakeLists.txt" <<-'END'
	cmake_minimum_required(VERSION 3.13)
	project(outer NONE)
	set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS TRUE)
	set(CMAKE_SIZEOF_VOID_P ${POINTER_SIZE})
	find_package(LibeventSmp QUIET)
	find_package(libasync-smp QUIET)
	foreach(name LibeventSmp::event libasync-smp::async)
	  if(TARGET ${name})
	    get_target_property(location ${name} IMPORTED_LOCATION)
	    get_target_property(include ${name} INTERFACE_INCLUDE_DIRECTORIES)
	    message("${name} ${location} ${include}")
	  else()
	    message("${name} is not there")
	  endif()
	endforeach()
	END
	# cmake_says POINTER_SIZE LINE...
	cmake_says()
	{
		cmake -S "$work/by-cmake" -B "$work/by-cmake-$1" -DPOINTER_SIZE="$1" "-DLibeventSmp_DIR=$work/else where/l/cmake/LibeventSmp" \
			"-Dlibasync-smp_DIR=$work/else where/l/cmake/libasync-smp" >"$work/log" 2>&1
		shift
		for line; do
			grep -qxF "$line" "$work/log" || { fail "CMake does not say \"$line\":"; cat "$work/log"; }
		done
	}
	size=$(echo __SIZEOF_POINTER__ | ${CC:-cc} -E -P -)
	cmake_says "$size" "LibeventSmp::event $work/else where/l/libevent-smp/libevent-2.1.so.7 $work/prefix/include" \
		"libasync-smp::async $work/else where/l/libasync_smp.so.1 $work/prefix/include/libasync-smp;$work/prefix/include"
	cmake_says $((12 - size)) "LibeventSmp::event is not there" "libasync-smp::async is not there"
fi

# A compiler for a processor without atomic accesses to 8 bytes: a program that has them is linked to libatomic or not at all.
cat >"$work/cc-without-8" <<'END'
#!/bin/sh
case " $* " in
*" -c "* | *" -E "* | *" -latomic "*) ;;
*)
	for source; do
		case $source in
		*.c) ! grep -q '_Atomic(uint64_t)' "$source" || exit 1 ;;
		esac
	done
	;;
esac
exec ${WITH_8:-cc} "$@"
END
chmod +x "$work/cc-without-8"
if WITH_8=${CC:-cc} CC=$work/cc-without-8 must_configure atomic "$tree" -Dtests=disabled -Dopenssl=disabled; then
	for program in core/libevent_smp.so.1.0.0 evsmp/evsmp; do
		ninja -C "$work/atomic" -t commands $program | tail -n 1 | grep -q 'libatomic\|-latomic' ||
			fail "$program lacks libatomic where it needs it"
	done
fi
exit "$failed"
