#!/bin/sh
# usage: refuses.sh EVSMP LIBDIR PYTHON
#
# What cannot run on libevent-smp: check, run and env refuse it alike, say why, and what to do. And what looks like that
# and can.
set -u
. "${0%/*}/common.sh" "$1" "$2"
python=$3
here=${0%/*}
link="-L$libs -Wl,-rpath-link,$libs"
is_root=$([ "$(id -u)" = 0 ] && echo 1)

# library NAME FILE [OPTION...]: one that calls itself NAME, with event_get_version and a function of a later day
library()
{
	name=$1 file=$2
	shift 2
	compile -shared -fPIC -Wl,-soname,"$name" -o "$file" "$work/stock.c" "$@"
}
cat >"$work/stock.c" <<'EOF'
const char *event_get_version(void);
const char *event_get_version(void) { return "2.1"; }
void event_of_a_later_day(void);
void event_of_a_later_day(void) {}
EOF
mkdir "$work/stock"
library libevent_core-2.1.so.7 "$work/stock/libevent_core-2.1.so.7"
library libevent_core-2.1.so.7 "$work/stock/another_name.so"

runs "$work/program"

# ---------------------------------------------------------------- the program tells the loader where to look

cp -r "$libs" "$work/elsewhere"
# shellcheck disable=SC2086 # a list
compile -o "$work/rpath" "$work/program.c" $link -levent_core -Wl,--disable-new-dtags,-rpath,"$work/elsewhere"
agree 106 "$work/rpath tells the loader itself where to look first (DT_RPATH), and $work/elsewhere/" "$work/rpath"
# The newer kind comes after ours, and an old one that leads nowhere does no harm.
# shellcheck disable=SC2086 # a list
compile -o "$work/runpath" "$work/program.c" $link -levent_core -Wl,--enable-new-dtags,-rpath,"$work/elsewhere"
runs "$work/runpath"
# shellcheck disable=SC2086 # a list
compile -o "$work/rpath-nowhere" "$work/program.c" $link -levent_core -Wl,--disable-new-dtags,-rpath,"$work/nowhere"
runs "$work/rpath-nowhere"
# A library of the program may do the same.
echo 'const char *event_get_version(void); const char *twice(void); const char *twice(void) { return event_get_version(); }' \
	>"$work/twice.c"
# shellcheck disable=SC2086 # a list
compile -shared -fPIC -o "$work/libtwice.so" "$work/twice.c" $link -levent_core -Wl,--disable-new-dtags,-rpath,"$work/elsewhere"
echo 'const char *twice(void); int main(void) { (void)twice(); return 0; }' >"$work/by-library.c"
compile -o "$work/by-library" "$work/by-library.c" "$work/libtwice.so" -Wl,-rpath-link,"$libs"
agree 106 "$work/libtwice.so tells the loader itself" "$work/by-library"
# And one that is named by its path.
compile -shared -fPIC -o "$work/stock/libevent_core-2.1.so.7.0" "$work/stock.c"
echo 'const char *event_get_version(void); int main(void) { return event_get_version() == 0; }' >"$work/named.c"
compile -o "$work/named" "$work/named.c" "$work/stock/libevent_core-2.1.so.7.0"
agree 106 "names $work/stock/libevent_core-2.1.so.7.0 by its path" "$work/named"

# ---------------------------------------------------------------- rights

# What is refused, and what really happens to it without evsmp.
is_stock_as_nobody()
{
	LD_LIBRARY_PATH=$libs setpriv --reuid 65534 --clear-groups "$1" | grep -q "on stock"
}

if [ -n "$is_root" ] && command -v setpriv >/dev/null; then
	cp "$work/program" "$work/set-uid"
	chown 65534 "$work/set-uid"
	chmod u+s "$work/set-uid"
	agree 104 "set-user-ID" "$work/set-uid"
	as="setpriv --reuid 65534 --clear-groups"
	runs "$work/set-uid"		# for its owner, nothing changes
	as=
	cp "$work/program" "$work/set-gid"
	chgrp 65534 "$work/set-gid"
	chmod g+s "$work/set-gid"
	agree 104 "set-user-ID" "$work/set-gid"
	chmod g-x "$work/set-gid"
	runs "$work/set-gid"		# without g+x it has no such meaning

	cp "$work/program" "$work/capable"
	if command -v setcap >/dev/null && setcap cap_net_bind_service+ep "$work/capable" 2>/dev/null; then
		runs "$work/capable"	# root has them anyway
		as="setpriv --reuid 65534 --clear-groups"
		agree 105 "capabilities" "$work/capable"
		as=
		! ldconfig -p | grep -q libevent_core-2.1 || is_stock_as_nobody "$work/capable" ||
			fail "a program with file capabilities runs on ours, and is refused"
	else
		skip "file capabilities: setcap is missing or does not work here"
	fi
	# Readable by root, so nobody.
	cp "$work/program" "$work/secret"
	chmod 711 "$work/secret"
	as="setpriv --reuid 65534 --clear-groups"
	agree 114 "cannot be read" "$work/secret"
	if $as unshare -Ur true 2>/dev/null; then
		as="$as unshare -Ur"
		HOME=/ runs "$work/program"	# root's files belong to nobody there
	else
		skip "a user namespace: it cannot be made here"
	fi
	as=
else
	skip "file capabilities, other users: this needs root and setpriv"
	for name in passwd su mount chsh; do
		path=$(command -v "$name")
		if [ -u "$path" ] && [ -r "$path" ]; then
			agree 104 "set-user-ID" "$path"
			break
		fi
	done
fi
chmod u+s "$work/program"
[ "$(stat -c %u "$work/program")" != "$(id -u)" ] || runs "$work/program"
chmod u-s "$work/program"

# ---------------------------------------------------------------- other kinds of programs

cat >"$work/plain.c" <<'EOF'
#include <stdio.h>

int main(void)
{
	puts("started on nothing");
	return 0;
}
EOF
for option in -static -static-pie; do
	# shellcheck disable=SC2086 # may be `ccache gcc`
	if $CC -o "$work/static" "$work/plain.c" $option 2>/dev/null; then
		agree 103 "statically linked" "$work/static"
	else
		skip "programs that are linked with $option: the C library has no such files here"
	fi
done
cp "$libs/libevent_core-2.1.so.7" "$work/library.so"
chmod +x "$work/library.so"
agree 126 "is a library" "$work/library.so"
compile -c -o "$work/object" "$work/plain.c"
chmod +x "$work/object"
agree 126 "no whole program" "$work/object"
head -c 200 "$work/program" >"$work/short"
chmod +x "$work/short"
agree 126 "no whole program" "$work/short"
printf '\177ELF' >"$work/shorter"
chmod +x "$work/shorter"
agree 126 "neither a program nor a script" "$work/shorter"
# No damage to the head leads evsmp astray: each byte of it, changed.
"$python" - "$work/program" "$work/damaged" "$evsmp" <<'EOF' || failed=1
import os, subprocess, sys
program, damaged, evsmp = sys.argv[1:]
data = bytearray(open(program, "rb").read())
bad = 0
for at in list(range(4, 64)) + list(range(64, 64 + 56 * 4, 3)):
    changed = bytearray(data)
    changed[at] ^= 0xFF
    with open(damaged, "wb") as f:
        f.write(changed)
    os.chmod(damaged, 0o755)
    rc = subprocess.run([evsmp, "check", damaged], capture_output=True, timeout=60).returncode
    if rc not in (0, 4, *range(100, 115), 126):
        print(f"byte {at} changed: status {rc}")
        bad = 1
sys.exit(bad)
EOF

# Of another architecture: with 32 bits, or with 64 where this one has 32; of another C library.
case $(uname -m) in
x86_64) this="64 62" other="32 3" other_name=i386 other_loader=/lib/ld-linux.so.2 ;;
aarch64) this="64 183" other="32 40" other_name=arm other_loader=/lib/ld-linux-armhf.so.3 ;;
*) this="" other="64 62" other_name=amd64 other_loader=/lib64/ld-linux-x86-64.so.2 ;;
esac
# shellcheck disable=SC2086 # two words
"$python" "$here/elf.py" "$work/other" $other $other_loader libevent_core-2.1.so.7
agree 101 "is a program for $other_name, but libevent-smp is here for" "$work/other"
if [ -n "$this" ]; then
	# shellcheck disable=SC2086 # two words
	"$python" "$here/elf.py" "$work/musl" $this /lib/ld-musl-x.so.1 libevent_core-2.1.so.7
	$CC -dM -E - </dev/null | grep -q __GLIBC__ || echo '#include <features.h>' | $CC -dM -E - | grep -q __GLIBC__ &&
		agree 102 "is built for musl" "$work/musl"
	# shellcheck disable=SC2086 # two words
	"$python" "$here/elf.py" "$work/no-loader" $this "$work/ld-none.so" libc.so.6
	agree 110 "needs the loader $work/ld-none.so, which is not there" "$work/no-loader"
	# What is named as a loader would be run to ask it: only one that is known by its name, from a directory.
	# shellcheck disable=SC2086 # two words
	"$python" "$here/elf.py" "$work/trap" $this "$work/plain.c" libc.so.6
	agree 110 "no loader that evsmp knows" "$work/trap"
fi
# Several are installed: each program gets its own.
mkdir -p "$work/usr/bin" "$work/usr/lib/a" "$work/usr/lib/z"
cp "$evsmp" "$work/usr/bin/evsmp"
cp -r "$libs" "$work/usr/lib/z/libevent-smp"
mkdir "$work/usr/lib/a/libevent-smp"
# shellcheck disable=SC2086 # two words
"$python" "$here/elf.py" "$work/usr/lib/a/libevent-smp/libevent_smp.so.1" $other "" libc.so.6
unset EVSMP_LIBDIR
evsmp=$work/usr/bin/evsmp
runs "$work/program"
expect 0 "LD_LIBRARY_PATH=$work/usr/lib/z/libevent-smp" env
expect 0 "$work/usr/lib/a/libevent-smp ? $other_name" which
[ "$(printf '%s\n' "$said" | wc -l)" = 2 ] || fail "which does not show both: $said"
[ -e "$other_loader" ] || agree 101 "Install the C library of $other_name" "$work/other"
rm -r "$work/usr/lib/z"
agree 101 "but libevent-smp is here for $other_name" "$work/program"
evsmp=$tested
export EVSMP_LIBDIR="$libs"

# ---------------------------------------------------------------- what it loads

compile -o "$work/plain" "$work/plain.c"
expect 4 "loads no libevent" check "$work/plain"
expect 0 "loads no libevent" run "$work/plain"
expect 0 "LD_LIBRARY_PATH=" env "$work/plain"

library libevent-2.0.so.5 "$work/stock/libevent-2.0.so.5"
compile -o "$work/older" "$work/named.c" "$work/stock/libevent-2.0.so.5" -Wl,-rpath,"$work/stock"
agree 108 "needs libevent-2.0.so.5" "$work/older"
echo 'void event_of_a_later_day(void); int main(void) { event_of_a_later_day(); return 0; }' >"$work/lacks.c"
compile -o "$work/lacks" "$work/lacks.c" "$work/stock/libevent_core-2.1.so.7" -Wl,-rpath,"$work/stock"
agree 109 "1 function that libevent-smp does not have, event_of_a_later_day" "$work/lacks"
# Also where the system has no libevent with which to compare.
compile -o "$work/lacks-alone" "$work/lacks.c" "$work/stock/libevent_core-2.1.so.7"
agree 109 "event_of_a_later_day" "$work/lacks-alone"
library libnone.so.9 "$work/stock/libnone.so.9"
# shellcheck disable=SC2086 # a list
compile -o "$work/needs-more" "$work/program.c" $link -levent_core -Wl,--no-as-needed "$work/stock/libnone.so.9"
agree 110 "does not find libnone.so.9" "$work/needs-more"

# It may load one later, but then not ours: a directory of its own comes first.
library libevent-2.1.so.7 "$work/elsewhere/libevent-2.1.so.7"
cat >"$work/later.c" <<'EOF'
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	void *library = dlopen("libevent-2.1.so.7", RTLD_NOW);

	printf("started on %s\n", library == NULL ? "nothing" : dlsym(library, "event_base_post") ? "ours" : "stock");
	return 0;
}
EOF
compile -o "$work/later" "$work/later.c" -ldl
doubts "If it loads one later" "$work/later"
expect 0 "started on ours" run "$work/later"
for dir in "$work/elsewhere" "\$ORIGIN/elsewhere"; do
	compile -o "$work/later-rpath" "$work/later.c" -ldl -Wl,--disable-new-dtags,-rpath,"$dir"
	doubts "one that it loads later comes from $work/elsewhere, by the DT_RPATH of $work/later-rpath" "$work/later-rpath"
	expect 0 "started on stock" run "$work/later-rpath"
done
compile -o "$work/later-rpath" "$work/later.c" -ldl -Wl,--disable-new-dtags,-rpath,"$libs"
doubts "If it loads one later" "$work/later-rpath"
# Or it has one inside.
echo 'int event_base_loop(void); int event_base_loop(void) { return 0; } int main(void) { return event_base_loop(); }' \
	>"$work/inside.c"
compile -o "$work/inside" "$work/inside.c"
agree 103 "has a libevent linked in" "$work/inside"

# Without a library, what it lacks says nothing about ours.
# shellcheck disable=SC2086 # a list
if $CC -o "$work/no-libc" "$work/program.c" $link -levent_core -Wl,-z,nodefaultlib 2>/dev/null; then
	agree 110 "does not find libc.so" "$work/no-libc"
	expect 110 "" check "$work/no-libc"
	case $said in *"no such function"*) fail "check lists functions of a library that is not found: $said" ;; esac
fi
LD_AUDIT=$work/none.so expect 0 "started on ours" run "$work/program"	# the loader goes on without it
LD_AUDIT=$work/none.so expect 0 "All functions" check "$work/program"

LD_PRELOAD=$work/stock/libevent_core-2.1.so.7 agree 107 "is preloaded" "$work/program"
LD_PRELOAD=$work/stock/another_name.so agree 107 "$work/stock/another_name.so is preloaded" "$work/program"
LD_PRELOAD=$libs/libevent_core-2.1.so.7 runs "$work/program"
LD_PRELOAD=$work/no-such-library.so runs "$work/program"	# the loader goes on without it
LD_SHOW_AUXV=1 LD_DEBUG_OUTPUT=$work/debug LD_DEBUG=libs expect 0 "All functions" check "$work/program"

# ---------------------------------------------------------------- scripts, wrappers and launchers

# script NAME FIRST-LINE [LINE...]
script()
{
	file=$work/$1
	shift
	printf '%s\n' "$@" >"$file"
	chmod +x "$file"
}

script wrapper '#!/bin/sh' '# the server' "exec $work/program \"\$@\""
runs "$work/wrapper" argument
expect 0 "$work/wrapper is a script; it is run by /bin/sh" check "$work/wrapper"
expect 0 "$work/wrapper names $work/program" check "$work/wrapper"
script by-env '#!/usr/bin/env -S sh -e' "exec '$work/program'"
runs "$work/by-env"
script of-script "#!$work/wrapper"
runs "$work/of-script"
script wraps-rpath '#!/bin/sh' "exec $work/rpath"
agree 106 "DT_RPATH" "$work/wraps-rpath"
script wraps-unknown '#!/bin/sh' 'echo started on it'
expect 4 "cannot be known" check "$work/wraps-unknown"
expect 0 "started" run "$work/wraps-unknown"
# Whether a script that changes the environment itself keeps the setting cannot be known.
for line in "exec env -i $work/program" "LD_LIBRARY_PATH=/opt/lib exec $work/program" \
	"unset LD_LIBRARY_PATH; $work/program" \
	"exec env -u LD_LIBRARY_PATH $work/program" "exec nice env -i $work/program" \
	"exec setpriv --clear-groups --reset-env $work/program" "exec su - nobody -c $work/program" \
	"LD_PRELOAD=$work/stock/libevent_core-2.1.so.7 exec $work/program"; do
	script changes '#!/bin/sh' '# the server' "$line"
	doubts "may change LD_LIBRARY_PATH or empty the environment" "$work/changes"
	doubts "evsmp env prints it" sh -c "$line"
done
script changes '#!/bin/sh' "exec env -i $work/program"
expect 0 "started on " run "$work/changes"
expect 0 "may change LD_LIBRARY_PATH" run "$work/changes"
if command -v bash >/dev/null; then
	script changes "#!$(command -v bash)" "exec -c $work/program"
	doubts "empty the environment" "$work/changes"
fi
for line in "os.execve('$work/program', ['x'], {})" "subprocess.run(['$work/program'], env={})"; do
	script changes "#!$python" 'import os, subprocess' "$line"
	doubts "empty the environment" "$work/changes"
done
echo 'export LD_LIBRARY_PATH=/opt/lib' >"$work/settings"
for line in ". $work/settings" "[ ! -r $work/settings ] || . $work/settings" \
	"if true; then source $work/settings; fi"; do
	script changes '#!/bin/sh' "$line" "exec $work/program"
	doubts "reads commands from another file" "$work/changes"
	doubts "reads commands from another file" sh -c "$line; exec $work/program"
done
# Nor whether a launcher in it starts the program.
for line in "sudo -u nobody" "chroot /" "systemd-run" "docker run -v $work/program:/m x" \
	"/usr/bin/bwrap --bind / /" "doas" \
	"nsenter -a" "firejail" "apptainer exec x" "service"; do
	name=${line%% *}
	script launches '#!/bin/sh' "exec $line $work/program"
	doubts "names ${name##*/}, which starts programs" "$work/launches"
	doubts "names ${name##*/}, which starts programs" sh -c "exec $line $work/program"
done
doubts "names chroot, which starts programs" nice chroot / "$work/program"
script launches '#!/usr/bin/env -S nice chroot /' "$work/program"
doubts "names chroot, which starts programs" "$work/launches"
# su is set-user-ID, so for others than root it takes the setting away.
script changes '#!/bin/sh' "exec su nobody -c $work/program"
expect "$([ -n "$is_root" ] && echo 0 || echo 4)" "names $work/program" check "$work/changes"
if [ -n "$is_root" ] && command -v setpriv >/dev/null; then
	as="setpriv --reuid 65534 --clear-groups"
	doubts "may change LD_LIBRARY_PATH" "$work/changes"
	as=
fi
script says '#!/bin/sh' "echo no other service runs in /var/lib/docker" "exec $work/program"
runs "$work/says"
# Which one of several is started cannot be known, if some cannot run. What only a comment names counts for nothing.
script mixed '#!/bin/sh' "if [ \$# = 1 ]; then exec $work/rpath; fi" "exec $work/program"
doubts "names $work/program, which can run on libevent-smp, and $work/rpath, which cannot" "$work/mixed"
doubts "$work/rpath, which cannot" sh -c "$work/program; $work/rpath"
if [ -e "$work/set-uid" ]; then
	script mixed '#!/bin/sh' "if [ \$# = 1 ]; then exec $work/set-uid; fi" "exec $work/program"
	doubts "$work/set-uid, which cannot" "$work/mixed"
	expect 0 "started on ours" run "$work/mixed"
	script mixed '#!/bin/sh' "exec $work/set-uid"
	agree 104 "set-user-ID" "$work/mixed"
fi
script comment '#!/bin/sh' "# uses $work/program no more" "exec $work/plain # not $work/program"
doubts "cannot be known" "$work/comment"
script passes '#!/bin/sh' 'unset LD_LIBRARY_PATH; exec "$@"'
doubts "may change LD_LIBRARY_PATH" "$work/passes" "$work/program"
script passes '#!/bin/sh' 'exec "$@"'
runs "$work/passes" "$work/program"
doubts "cannot be known" "$work/passes" "$work/plain"
agree 106 "DT_RPATH" "$work/passes" "$work/rpath"
script unsets-other '#!/usr/bin/env -S -u OTHER sh' "exec env -u OTHER $work/program"
runs "$work/unsets-other"
script says '#!/bin/sh' '# LD_LIBRARY_PATH stays, and env -i is not used' "exec $work/program"
runs "$work/says"
script unsets '#!/usr/bin/env -i sh' 'echo started on it'
agree 114 "takes the libraries' directory from the environment" "$work/unsets"
script unsets-too '#!/usr/bin/env -iS sh -e' 'echo started on it'
agree 114 "takes the libraries' directory from the environment" "$work/unsets-too"
script unsets-behind '#!/usr/bin/env -S env -i sh' 'echo started on it'
agree 114 "takes the libraries' directory from the environment" "$work/unsets-behind"
script by-launcher "#!$(command -v chroot) /" 'echo started on it'
agree 111 "starts programs in another root directory" "$work/by-launcher"
script no-interpreter "#!$work/none" 'echo started on it'
agree 114 "needs the interpreter $work/none" "$work/no-interpreter"
script no-program '#!/usr/bin/env no-such-interpreter' 'echo started on it'
agree 114 "no-such-interpreter" "$work/no-program"
script nothing '#!' 'echo started on it'
agree 114 "names no interpreter" "$work/nothing"
printf '#!/bin/sh\r\necho started\r\n' >"$work/carriage"
chmod +x "$work/carriage"
agree 114 "carriage return" "$work/carriage"
script circle "#!$work/circle"
agree 114 "never end in a program" "$work/circle"
script no-head 'echo started on it'
agree 126 "neither a program nor a script" "$work/no-head"
if [ -x "$work/static" ]; then
	script by-static "#!$work/static" "$work/program"
	expect 0 "started" run "$work/by-static"
	expect 0 "names $work/program" check "$work/by-static"
fi

# Names of commands of the shell are programs too, and a command that is none says so.
expect 4 "loads no libevent" check true
expect 1 "loads no libevent" run false
expect 0 "loads no libevent" run test -d "$work"
expect 127 "needs a shell" run cd /
agree 127 "no such program in PATH" no-such-program
script not-executable '#!/bin/sh'
chmod -x "$work/not-executable"
agree 126 "cannot be executed" "$work/not-executable"
PATH=$work:$PATH agree 126 "cannot be executed" not-executable
mkfifo "$work/fifo"
chmod +x "$work/fifo"
agree 126 "is a pipe, a socket or a device" "$work/fifo"
agree 126 "is a pipe, a socket or a device" /dev/null
agree 127 "the program's name is empty" ""

# The arguments count, too.
for arguments in "-i sh -c" "-u LD_LIBRARY_PATH sh -c" "-vi sh -c" "LD_LIBRARY_PATH=/x sh -c" \
	"--ignore-environment sh -c" \
	"--unset LD_LIBRARY_PATH sh -c" "-S -i sh -c" "A=b env - sh -c" "-u A env -u LD_LIBRARY_PATH sh -c"; do
	# shellcheck disable=SC2086 # a list
	agree 114 "starts programs with an environment of its own" env $arguments "echo started on \$LD_LIBRARY_PATH"
done
runs env --ignore-signal=INT "$work/program"
doubts "cannot be known" env PATH=/opt/bin program
doubts "cannot be known" env "LD_PRELOAD=$work/stock/another_name.so" "$work/program"
doubts "cannot be known" env -C / ./program
agree 106 "DT_RPATH" env A=b "$work/rpath"
agree 127 "no such program in PATH" env A=b no-such-program
for line in "su - nobody -c $work/program" "su -l -c $work/program" "runuser -l nobody -c $work/program" \
	"setpriv --reset-env $work/program" "setpriv --clear-groups --reset-env $work/program"; do
	[ -n "$(command -v "${line%% *}")" ] && [ -n "$is_root" ] || continue
	# shellcheck disable=SC2086 # a list
	agree 111 "starts programs with an environment of its own" $line
done

num=0
for name in chroot docker podman ssh sudo systemctl systemd-run; do
	for dir in /usr/bin /usr/sbin; do
		[ ! -x "$dir/$name" ] || [ -L "$dir/$name" ] || { agree 111 "starts programs" "$dir/$name"; num=$((num + 1)); }
	done
done
[ "$num" != 0 ] || skip "launchers: none is installed"
cp "$work/program" "$work/docker"		# anybody may call a program so
runs "$work/docker"

# ---------------------------------------------------------------- access control

export EVSMP_ROOT="$work/root"
profiles=$work/root/etc/apparmor.d
mkdir -p "$work/root/sys/module/apparmor/parameters" "$profiles/local" "$profiles/tunables" "$profiles/disable"
echo Y >"$work/root/sys/module/apparmor/parameters/enabled"
real=$(readlink -f "$libs")
program=$(readlink -f "$work/program")

# profile LINE...: that of the program
profile()
{
	{
		echo 'include <tunables/global>'
		echo "profile server $program flags=(attach_disconnected) {"
		echo '  #include <local/server>'
		printf '  %s\n' "$@"
		echo '}'
	} >"$profiles/server"
}

printf '@{WHERE}=/opt/one\n@{WHERE}+=%s\n' "$real" >"$profiles/tunables/global"
: >"$profiles/local/server"
profile '/usr/lib{,32,64}/** mr,' "$real/none mr,"
agree 112 "AppArmor's profile server keeps $program from $real" "$work/program"
case $said in
*"Add \"$real/** mr,\" to /etc/apparmor.d/local/server"*) ;;
*) fail "the message does not say what to add: $said" ;;
esac
echo "$real/** mr," >"$profiles/local/server"
runs "$work/program"
echo "deny $real/libevent_smp* m," >>"$profiles/local/server"
agree 112 "AppArmor" "$work/program"
: >"$profiles/local/server"
for rule in "owner @{WHERE}/*.so.{[0-9],1[0-9]} rm," "mr $real/libevent_sm[^q].so.?," "file," \
	"audit /{usr,tmp,var,*}/** mr," "$real/*.so* r, # and
	$real/** m,"; do
	profile "$rule"
	runs "$work/program"
done
profile "$real/** r,"
agree 112 "AppArmor" "$work/program"
ln -s ../server "$profiles/disable/server"
runs "$work/program"
rm "$profiles/disable/server"
sed -i 's/attach_disconnected/complain/' "$profiles/server"
runs "$work/program"
profile "$real/** r,"
mkdir -p "$work/root/sys/kernel/security/apparmor"
echo 'server (complain)' >"$work/root/sys/kernel/security/apparmor/profiles"
runs "$work/program"
printf 'other (complain)\nserver (enforce)\n' >"$work/root/sys/kernel/security/apparmor/profiles"
agree 112 "AppArmor" "$work/program"
echo N >"$work/root/sys/module/apparmor/parameters/enabled"
runs "$work/program"

mkdir -p "$work/root/sys/fs/selinux"
echo 1 >"$work/root/sys/fs/selinux/enforce"
if "$python" - "$work/program" "$libs/libevent_smp.so.1" 2>/dev/null <<'EOF'
import os, sys
os.setxattr(sys.argv[1], "security.selinux", b"system_u:object_r:server_exec_t:s0\0")
os.setxattr(sys.argv[2], "security.selinux", b"system_u:object_r:user_home_t:s0\0")
EOF
then
	agree 112 "SELinux keeps" "$work/program"
	"$python" -c 'import os, sys; os.setxattr(sys.argv[1], "security.selinux", b"system_u:object_r:lib_t:s0\0")' \
		"$libs/libevent_smp.so.1"
	runs "$work/program"
else
	skip "SELinux: labels cannot be written here"
fi
exit "$failed"
