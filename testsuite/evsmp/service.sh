#!/bin/sh
# usage: service.sh EVSMP LIBDIR
#
# enable, disable and status, on units in a directory that stands for /: what is written, that it is undone exactly, and
# what is refused. systemd's own parser reads the result, where systemd-analyze is installed.
set -u
. "${0%/*}/common.sh" "$1" "$2"
root=$work/root
export EVSMP_ROOT="$root"
etc=$root/etc/systemd/system
mkdir -p "$etc" "$root/lib/systemd/system" "$root/proc"

# unit NAME [LINE...]: a service
unit()
{
	file=$root/lib/systemd/system/$1.service
	shift
	{
		printf '[Unit]\nDescription=a service of this test\n\n[Service]\n'
		printf '%s\n' "$@"
	} >"$file"
}

# Everything below /etc, as one text.
files()
{
	(cd "$root" && find etc -printf '%p %y %m\n' | sort && find etc -type f | sort | xargs cat)
}

# has LINE: the drop-in of the service "server" has it
has()
{
	grep -qxF -- "$1" "$etc/server.service.d/zz-evsmp.conf" || {
		fail "no line $1 in the drop-in:"
		cat "$etc/server.service.d/zz-evsmp.conf"
	}
}

# refuses STATUS TEXT [OPTION...]: `enable server` does, and writes nothing
refuses()
{
	before=$(files)
	status=$1 text=$2
	shift 2
	expect "$status" "$text" enable "$@" server
	case $(last_message) in
	*[a-zA-Z0-9\)\"\}=]'. '[A-Z]*.) ;;
	*) fail "not what is wrong and what to do: $(last_message)" ;;
	esac
	[ "$(files)" = "$before" ] || fail "enable refuses, and writes all the same"
}

# accepts [LINE...]: `enable` of a service with these lines has no objection
accepts()
{
	unit server "ExecStart=$work/program" "$@"
	expect 0 "[Service]" enable --dry-run server
}

# ---------------------------------------------------------------- enable, disable

unit server "ExecStart=$work/program -d"
before=$(files)
expect 0 "LD_LIBRARY_PATH=$libs\"" enable --dry-run server
[ "$(files)" = "$before" ] || fail "--dry-run writes"
expect 0 "systemctl restart server.service" enable server
has "Environment=\"LD_LIBRARY_PATH=$libs\""
[ "$(stat -c %a "$etc/server.service.d/zz-evsmp.conf" "$etc/server.service.d" | tr '\n' ' ')" = "644 755 " ] ||
	fail "not all may read the drop-in"
expect 0 "is enabled already" enable server.service
expect 0 "EVENT_WORKERS=3" enable --workers 3 server
has 'Environment="EVENT_WORKERS=3"'
expect 0 "EVENT_WORKERS=4" enable --workers=4 --dry-run server
has 'Environment="EVENT_WORKERS=3"'
expect 0 "Environment=" disable --dry-run server
has 'Environment="EVENT_WORKERS=3"'
expect 3 "server.service: enabled, workers: 3" status server
expect 3 "server.service: enabled" status
expect 0 "is disabled" disable server
[ "$(files)" = "$before" ] || fail "disable leaves something: $(files)"
expect 0 "is not enabled" disable server
expect 3 "not enabled" status server
expect 0 "No service is enabled" status

# A directory that was there stays, and so do the files of others in one that was not.
mkdir "$etc/server.service.d"
printf '[Service]\nNice=5\n' >"$etc/server.service.d/override.conf"
before=$(files)
expect 0 "is enabled" enable server
expect 0 "is disabled" disable server
[ "$(files)" = "$before" ] || fail "disable does not leave what was there: $(files)"
rm -r "$etc/server.service.d"
expect 0 "is enabled" enable server
printf '[Service]\nNice=5\n' >"$etc/server.service.d/later.conf"
expect 0 "is disabled" disable server
[ "$(ls "$etc/server.service.d")" = later.conf ] || fail "disable took another file, or left its own"
rm -r "$etc/server.service.d"

# What somebody changed is not removed, nor overwritten.
expect 0 "is enabled" enable server
sed -i 's/LD_LIBRARY_PATH/LD_LIBRARY_PATH_2/' "$etc/server.service.d/zz-evsmp.conf"
before=$(files)
expect 122 "was changed" disable server
expect 122 "was changed" enable --workers 2 server
expect 3 "the drop-in was changed" status server
[ "$(files)" = "$before" ] || fail "a drop-in of somebody else is changed"
rm -r "$etc/server.service.d"
# Disabled also when the service is gone.
expect 0 "is enabled" enable server
rm "$root/lib/systemd/system/server.service"
expect 0 "is disabled" disable server
[ ! -e "$etc/server.service.d" ] || fail "the directory of a service that is gone is left"

# What cannot be written leaves nothing: a directory where the file should be.
unit server "ExecStart=$work/program"
mkdir -p "$etc/server.service.d/zz-evsmp.conf"
expect 123 "cannot be written" enable server
rmdir "$etc/server.service.d/zz-evsmp.conf" "$etc/server.service.d" || fail "a file is left of what cannot be written"
mv "$etc" "$etc.away"
expect 123 "cannot be made" enable server
mv "$etc.away" "$etc"

# A link in the way is replaced, not followed.
mkdir "$etc/server.service.d"
echo mine >"$work/mine"
ln -s "$work/mine" "$etc/server.service.d/zz-evsmp.conf.new"
expect 123 "cannot be written" enable server
[ "$(cat "$work/mine")" = mine ] || fail "enable writes through a link"
rm -r "$etc/server.service.d"

# What the unit has in the variable comes behind, with its quotes.
unit server "ExecStart=$work/program" 'Environment="LD_LIBRARY_PATH=/opt/a\"b:/opt/%i" OTHER=1'
expect 0 "is enabled" enable server
has "Environment=\"LD_LIBRARY_PATH=$libs:/opt/a\\\"b:/opt/%i\""
expect 0 "is disabled" disable server
# An empty element would be the current directory.
for value in '' : :: ';'; do
	unit server "ExecStart=$work/program" "Environment=LD_LIBRARY_PATH=$value"
	expect 0 "LD_LIBRARY_PATH=$libs\"" enable --dry-run server
done
unit server "ExecStart=$work/program" 'Environment=LD_LIBRARY_PATH=:/opt/a::/opt/b;'
expect 0 "LD_LIBRARY_PATH=$libs:/opt/a:/opt/b\"" enable --dry-run server
# When that changes, what is written must change.
unit server "ExecStart=$work/program"
expect 0 "is enabled" enable --workers 3 server
unit server "ExecStart=$work/program -d" 'Environment=OTHER=2'
expect 3 "server.service: enabled" status server
case $said in *"has changed since"*) fail "status finds a change of the unit that does not matter: $said" ;; esac
unit server "ExecStart=$work/program" 'Environment=LD_LIBRARY_PATH=/opt/a%%b'
expect 3 "the unit has changed since: run evsmp enable --workers 3 server.service" status server
expect 3 "the unit has changed since" status
expect 0 "LD_LIBRARY_PATH=$libs:/opt/a%%b\"" enable server
expect 3 "server.service: enabled" status server
case $said in *"has changed since"*) fail "status finds a change of the unit, where there is none: $said" ;; esac
mv "$root/lib/systemd/system/server.service" "$work/away"
expect 3 "server.service: enabled" status server
case $said in *"has changed since"*) fail "status finds a change of a unit that is gone: $said" ;; esac
mv "$work/away" "$root/lib/systemd/system/server.service"
expect 0 "is disabled" disable server
# A directory whose name has the letter of specifiers.
cp -r "$libs" "$work/a%b%%c"
EVSMP_LIBDIR=$work/a%b%%c
expect 0 "LD_LIBRARY_PATH=$work/a%%b%%%%c:/opt/a%%b\"" enable server
expect 3 "server.service: enabled" status server
case $said in *"has changed since"* | *"holds no libraries"*) fail "status of such a directory: $said" ;; esac
expect 0 "is disabled" disable server
EVSMP_LIBDIR=$libs
# What the administrator's shell has does not count.
unit server "ExecStart=$work/program" 'Environment=LD_LIBRARY_PATH=/opt/a'
LD_LIBRARY_PATH=/opt/shell LD_PRELOAD=$work/none.so expect 0 "LD_LIBRARY_PATH=$libs:/opt/a" enable --dry-run server
case $said in *opt/shell*) fail "the shell's LD_LIBRARY_PATH is in the drop-in" ;; esac

# ---------------------------------------------------------------- which service

unit worker@ "ExecStart=$work/program --name %i"
expect 0 "worker@one.service is enabled" enable worker@one
[ -e "$etc/worker@one.service.d/zz-evsmp.conf" ] || fail "an instance has no drop-in"
expect 0 "is disabled" disable worker@one
unit server "ExecStart=$work/program"
ln -s server.service "$root/lib/systemd/system/alias.service"
expect 0 "server.service is enabled" enable alias
expect 0 "server.service is disabled" disable alias
ln -s /dev/null "$etc/masked.service"
expect 120 "is masked" enable masked
expect 120 "there is no service" enable nothing
expect 120 "there is no service" status nothing
expect 120 "there is no service" disable nothing
expect 2 "no name of a service" enable ../server
expect 2 "no name of a service" disable "a service"
expect 2 "one service" enable
expect 2 "no option" enable --workers=2 --force server
expect 2 "no option" disable --workers=2 server
: >"$root/lib/systemd/system/server.socket"
expect 2 "is no service" enable server.socket
# A stronger file counts, and drop-ins of both places.
printf '[Service]\nExecStart=/bin/true\n' >"$etc/server.service"
expect 0 "loads no libevent" enable --dry-run server
mkdir -p "$root/run/systemd/system/server.service.d"
printf '[Service]\nExecStart=\n# a comment\nExecStart=%s \\\n  more\n' "$work/program" >"$root/run/systemd/system/server.service.d/a.conf"
expect 0 "Environment=" enable --dry-run server
case $said in *"loads no libevent"*) fail "a drop-in that changes ExecStart= is not read" ;; esac
rm -r "$etc/server.service" "$root/run"

# ---------------------------------------------------------------- Debian's memcached

# As its unit does, it starts a wrapper that names the program in its text.
printf '#!/bin/sh -e\nmemcached="%s"\nexec $memcached -u root\n' "$work/program" >"$work/wrapper"
chmod +x "$work/wrapper"
unit memcached "ExecStart=$work/wrapper /etc/memcached.conf" PrivateTmp=false ProtectSystem=full NoNewPrivileges=true \
	PrivateDevices=true 'CapabilityBoundingSet=CAP_SETGID CAP_SETUID CAP_SYS_RESOURCE' \
	'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX' MemoryDenyWriteExecute=true ProtectKernelModules=true \
	ProtectKernelTunables=true ProtectControlGroups=true RestrictRealtime=true RestrictNamespaces=true Restart=always
expect 0 "is enabled" enable --workers 2 memcached
grep -qF "LD_LIBRARY_PATH=$libs" "$etc/memcached.service.d/zz-evsmp.conf" || fail "memcached's drop-in is wrong"
if command -v systemd-analyze >/dev/null; then
	# As one file: where it looks for drop-ins differs by version.
	mkdir "$work/units"
	{
		cat "$root/lib/systemd/system/memcached.service"
		grep -v '^#' "$etc/memcached.service.d/zz-evsmp.conf"
	} >"$work/units/of-this-test.service"
	systemd-analyze verify --man=no --recursive-errors=no "$work/units/of-this-test.service" >"$work/said" 2>&1
	status=$?
	if grep -q "of-this-test.service" "$work/said" || { [ "$status" != 0 ] && [ ! -s "$work/said" ]; }; then
		fail "systemd does not take the unit: $(cat "$work/said")"
	elif [ "$status" != 0 ]; then
		skip "systemd-analyze verify, which says: $(head -n 1 "$work/said")"
	fi
else
	skip "systemd's own parser: systemd-analyze is missing"
fi
expect 0 "is disabled" disable memcached
if [ -e /lib/systemd/system/memcached.service ] && command -v memcached >/dev/null; then
	cp -L /lib/systemd/system/memcached.service "$root/lib/systemd/system/real.service"
	sed -i 's/^PrivateTmp=.*//' "$root/lib/systemd/system/real.service"	# these libraries are in /tmp
	expect 0 "is enabled" enable real
	case $said in *"cannot be known"*) fail "memcached's wrapper is not followed: $said" ;; esac
	expect 0 "is disabled" disable real
else
	skip "Debian's own unit of memcached: it is not installed"
fi

# A shell in ExecStart= is followed too.
unit server "ExecStart=@/bin/sh sh -c 'exec $work/program -d'"
expect 0 "[Service]" enable --dry-run server
case $said in *"loads no libevent"*) fail "what a shell starts is not followed: $said" ;; esac

# And what it does with the environment is seen, as in a script.
for line in "sh -c 'unset LD_LIBRARY_PATH; exec $work/program'" "sh -c 'exec env -i $work/program'" \
	"sh -c 'exec su - nobody -c $work/program'" "sh -c 'exec su -l -c $work/program'" \
	"sh -c 'exec runuser --login -c $work/program'" "sh -c 'exec setpriv --reset-env $work/program'" \
	"env sh -c 'env -u LD_LIBRARY_PATH $work/program'"; do
	unit server "ExecStart=$(command -v "${line%% *}") ${line#* }"
	expect 0 "may change LD_LIBRARY_PATH or empty the environment" enable --dry-run server
done
for line in "sh -c 'exec env -u OTHER A=b $work/program'" "sh -c 'exec su nobody -c \"$work/program -l\"'" \
	"env -u OTHER $work/program -i" "env A=b $work/program -" "env -C / $work/program"; do
	unit server "ExecStart=$(command -v "${line%% *}") ${line#* }"
	expect 0 "[Service]" enable --dry-run server
	case $said in *evsmp:*) fail "ExecStart=$line: $said" ;; esac
done

# So is a launcher, which keeps the setting from what it starts, or may.
for line in "sh -c 'exec chroot / $work/program'" "sh -c 'exec systemd-run $work/program'" \
	"nice chroot / $work/program" "sh -c '. /etc/settings; exec $work/program'"; do
	unit server "ExecStart=$(command -v "${line%% *}") ${line#* }"
	expect 0 "may not get libevent-smp" enable --dry-run server
done
printf '#!/bin/sh\nexec sudo -u nobody %s\n' "$work/program" >"$work/launches"
chmod +x "$work/launches"
unit server "ExecStart=$work/launches"
expect 0 "names sudo, which starts programs with an environment of its own" enable --dry-run server

# ---------------------------------------------------------------- refusals

for line in "env -i $work/program" "env - $work/program" "env -vi $work/program" "env -u LD_LIBRARY_PATH $work/program" \
	"env A=b --unset=LD_LIBRARY_PATH $work/program" "env LD_LIBRARY_PATH=/opt $work/program"; do
	unit server "ExecStart=$(command -v env) ${line#* }"
	refuses 114 "starts programs with an environment of its own"
done
for line in "su - nobody -c $work/program" "su -l -c $work/program" "setpriv --reset-env $work/program"; do
	[ -n "$(command -v "${line%% *}")" ] || continue
	unit server "ExecStart=$(command -v "${line%% *}") ${line#* }"
	refuses 111 "starts programs with an environment of its own"
done

unit server "ExecStart=$(command -v env) A=b chroot / $work/program"
refuses 111 "starts programs in another root directory"
unit server 'ExecStart=%h/server'
refuses 114 "cannot be told"
unit server 'Type=oneshot'
refuses 120 "starts no program"
unit server "ExecStart=$work/no-such-program"
refuses 127 "no such program"
cp -r "$libs" "$work/elsewhere"
compile -o "$work/rpath" "$work/program.c" "-L$libs" -levent_core -Wl,--disable-new-dtags,-rpath,"$work/elsewhere" \
	-Wl,-rpath-link,"$libs"
unit server "ExecStart=$work/rpath"
refuses 106 "DT_RPATH"

accepts MemoryDenyWriteExecute=yes NoNewPrivileges=yes ProtectSystem=strict ProtectHome=read-only PrivateUsers=yes \
	User=nobody DynamicUser=yes "BindReadOnlyPaths=$work" RestrictNamespaces=yes LockPersonality=yes PrivateDevices=yes SystemCallArchitectures=native
# A shell that has been refused a name, a setting, and a value of that setting.
n=0
while read -r setting; do
	unit server "ExecStart=$work/program" "$setting"
	refuses 121 "${setting%%=*}"
	n=$((n + 1))
done <<EOF
InaccessiblePaths=-$work
InaccessiblePaths=/opt $libs
TemporaryFileSystem=${work%/*}:ro
NoExecPaths=/
RootDirectory=/srv/other
RootImage=/srv/image
BindReadOnlyPaths=/srv/none:$work
UnsetEnvironment=OTHER LD_LIBRARY_PATH
EOF
[ "$n" = 8 ] || fail "not all settings were tried"
# What a bind mount shows again. What is inaccessible, or mounted below it, stays hidden.
accepts TemporaryFileSystem=/:ro "BindReadOnlyPaths=/usr $work"
accepts TemporaryFileSystem=/ "BindPaths=$libs:$libs:norbind"
accepts RootDirectory=/srv/other "BindReadOnlyPaths=$libs/"
accepts RootDirectory=/
accepts "TemporaryFileSystem=$work" "BindReadOnlyPaths=$work/elsewhere:$libs"
unit server "ExecStart=$work/program" TemporaryFileSystem=/ "BindReadOnlyPaths=/usr $work/open:$libs"
refuses 121 "TemporaryFileSystem=/ of server.service keeps the service from $libs"
unit server "ExecStart=$work/program" "TemporaryFileSystem=$libs" "BindReadOnlyPaths=$work"
refuses 121 "TemporaryFileSystem=$libs of"
unit server "ExecStart=$work/program" "InaccessiblePaths=$work" "BindReadOnlyPaths=$libs"
refuses 121 "InaccessiblePaths=$work of"
accepts NoExecPaths=/ "ExecPaths=/usr $work"
accepts InaccessiblePaths=/srv InaccessiblePaths= "TemporaryFileSystem=$libs-2"
case $libs in
/tmp/* | /var/tmp/*)
	unit server "ExecStart=$work/program" "PrivateTmp=yes "
	refuses 121 PrivateTmp=yes
	unit server "ExecStart=$work/program" DynamicUser=yes	# implies it
	refuses 121 DynamicUser=yes
	unit server "ExecStart=$work/program" PrivateTmp=disconnected
	refuses 121 PrivateTmp=disconnected
	accepts PrivateTmp=yes "BindPaths=-$libs"
	;;
*) skip "PrivateTmp=: the libraries are not in /tmp here" ;;
esac
mkdir -p "$root/etc/default"
printf '# settings\n LD_LIBRARY_PATH=/opt\n' >"$root/etc/default/server"
unit server "ExecStart=$work/program" EnvironmentFile=-/etc/default/server
refuses 121 "counts more than a drop-in"
unit server "ExecStart=$work/program" 'EnvironmentFile=-/etc/default/serv*'	# a pattern
refuses 121 "/etc/default/server sets LD_LIBRARY_PATH for server.service, and counts more than a drop-in"
accepts 'EnvironmentFile=-/etc/default/none*'
# What a file of the unit preloads counts more than what the unit does, and the last one of a file counts.
compile -shared -fPIC -Wl,-soname,libevent_core-2.1.so.7 -o "$work/stock.so" -x c /dev/null
for value in "$work/stock.so" "\"$work/stock.so\"" "'$work/none.so $work/stock.so' " "$work/none.so
LD_PRELOAD=$work/stock.so"; do
	printf '# settings\nLD_PRELOAD=%s\n' "$value" >"$root/etc/default/server"
	for setting in Environment=A=b "Environment=LD_PRELOAD=$work/none.so"; do
		unit server "ExecStart=$work/program" "$setting" 'EnvironmentFile=-/etc/default/serv*'
		refuses 107 "$work/stock.so is preloaded"
	done
	accepts EnvironmentFile=/etc/default/server UnsetEnvironment=LD_PRELOAD
done
printf 'LD_PRELOAD=\n' >"$root/etc/default/server"
accepts "Environment=LD_PRELOAD=$work/stock.so" EnvironmentFile=/etc/default/server
unit server "ExecStart=$work/program" "Environment=LD_PRELOAD=$work/stock.so"
refuses 107 "$work/stock.so is preloaded"
printf 'EVENT_WORKERS = 2\n' >"$root/etc/default/server"
accepts EnvironmentFile=/etc/default/server
refuses 121 "/etc/default/server sets EVENT_WORKERS for server.service" --workers 3
accepts UnsetEnvironment=EVENT_WORKERS
refuses 121 "UnsetEnvironment= of server.service takes EVENT_WORKERS away, so --workers" --workers 3
accepts UnsetEnvironment=EVENT_WORKERS=2
refuses 121 "UnsetEnvironment= of server.service takes EVENT_WORKERS away, so --workers" --workers 2
expect 0 "[Service]" enable --workers 3 --dry-run server
# Libraries that the service's user may not read.
chmod 700 "$libs"
unit server "ExecStart=$work/program" User=nobody
refuses 121 "runs as the user nobody, which may not use $libs"
unit server "ExecStart=$work/program" PrivateUsers=yes
refuses 121 "user namespace"
accepts User=root
chmod 755 "$libs"
chmod 600 "$libs/libevent_smp.so.1"
unit server "ExecStart=$work/program" DynamicUser=yes "BindReadOnlyPaths=$work"
refuses 121 "a user of its own (DynamicUser=), which may not use $libs/libevent_smp.so.1"
chmod 644 "$libs/libevent_smp.so.1"
# A link to them elsewhere does not help.
ln -s "$libs" "$work/link"
EVSMP_LIBDIR=$work/link
unit server "ExecStart=$work/program" "InaccessiblePaths=$libs"
refuses 121 InaccessiblePaths
mkdir "$work/a b"
cp -r "$libs" "$work/a b/lib"
EVSMP_LIBDIR="$work/a b/lib"
unit server "ExecStart=$work/program"
XDG_CACHE_HOME=$work/cache refuses 113 "name that in EVSMP_LIBDIR"
EVSMP_LIBDIR=$libs

# ---------------------------------------------------------------- who could replace the libraries

unit server "ExecStart=$work/program"
# open_to_others FILE MODE: with that mode, others could replace something
open_to_others()
{
	mode=$(stat -c %a "$1")
	chmod "$2" "$1"
	refuses 124 "other users than root may write to $1, and so could replace"
	chmod "$mode" "$1"
}
open_to_others "$libs" 757
open_to_others "$libs" 1777		# they could add others
open_to_others "$libs/libevent_smp.so.1" 646
open_to_others "$work" 757
chmod 1777 "$work"
expect 0 "[Service]" enable --dry-run server
chmod 755 "$work"
# Also the loader's other places, files with other names, and where links lead.
mkdir -p "$libs/glibc-hwcaps/x86-64-v3" "$work/open"
: >"$libs/libother.so.1"
open_to_others "$libs/glibc-hwcaps" 757
open_to_others "$libs/glibc-hwcaps/x86-64-v3" 757
open_to_others "$libs/libother.so.1" 666
ln -sf "$work/open/libother.so.1" "$libs/libother.so.1"
: >"$work/open/libother.so.1"
open_to_others "$work/open" 777
open_to_others "$work/open/libother.so.1" 666
rm -r "$libs/glibc-hwcaps" "$libs/libother.so.1"
ln -s "$libs" "$work/open/link"
ln -s open/../open/link "$work/link-to-link"
for EVSMP_LIBDIR in "$work/open/link" "$work/link-to-link"; do
	open_to_others "$work/open" 777
	expect 0 "[Service]" enable --dry-run server
done
EVSMP_LIBDIR=$libs
if [ "$(id -u)" = 0 ]; then
	name=$(getent passwd 65534 | cut -d : -f 1)
	for file in "$libs" "$libs/libevent_smp.so.1" "$work"; do
		chown 65534 "$file"
		refuses 124 "$file belongs to the user ${name:-65534}, and so could replace"
		chmod 1777 "$work"
		refuses 124 "$file belongs to the user ${name:-65534}, and so could replace"
		chmod 755 "$work"
		chown 0 "$file"
	done
	chgrp 65534 "$libs"
	open_to_others "$libs" 775
	chgrp 0 "$libs"
	chmod 775 "$libs"
	expect 0 "[Service]" enable --dry-run server
	chmod 755 "$libs"
else
	skip "libraries of another user: this needs root"
fi

# ---------------------------------------------------------------- profiles of AppArmor

mkdir -p "$root/sys/module/apparmor/parameters" "$root/etc/apparmor.d"
echo Y >"$root/sys/module/apparmor/parameters/enabled"
real=$(readlink -f "$libs")
printf 'profile strict {\n  /usr/** mr,\n}\nprofile open /opt/server {\n  %s/** mr,\n}\n' "$real" \
	>"$root/etc/apparmor.d/servers"
printf '%s {\n  /usr/** mr,\n}\n' "$(readlink -f "$work/program")" >"$root/etc/apparmor.d/program"
for profile in strict -strict; do
	unit server "ExecStart=$work/program" "AppArmorProfile=$profile"
	refuses 112 "AppArmor's profile strict keeps"
done
unit server "ExecStart=$work/program"
refuses 112 "AppArmor's profile $(readlink -f "$work/program") keeps"
accepts AppArmorProfile=open
accepts AppArmorProfile=unconfined
unit server "ExecStart=$work/program" AppArmorProfile=-none
refuses 112 "AppArmor's profile $(readlink -f "$work/program") keeps"
unit server "ExecStart=/bin/sh -c $work/program" AppArmorProfile=strict
refuses 112 "AppArmor's profile strict keeps"
rm -r "$root/sys" "$root/etc/apparmor.d"

# ---------------------------------------------------------------- filters of system calls

accepts SystemCallFilter=@system-service
accepts 'SystemCallFilter=~@mount @swap' SystemCallFilter=~ptrace
accepts SystemCallFilter=@known SystemCallFilter=~@privileged
accepts SystemCallFilter=read SystemCallFilter= SystemCallFilter=@system-service
accepts 'SystemCallFilter=@basic-io @file-system @io-event @network-io @process @signal @sync madvise'
unit server "ExecStart=$work/program" 'SystemCallFilter=@system-service' 'SystemCallFilter=~clone3:EPERM epoll_ctl'
refuses 121 "system calls that libevent-smp makes: clone3 epoll_ctl. Add them:"
unit server "ExecStart=$work/program" 'SystemCallFilter=~@io-event'
refuses 121 "epoll_create1 epoll_ctl epoll_wait eventfd2. Add"
unit server "ExecStart=$work/program" 'SystemCallFilter=@basic-io @network-io'
refuses 121 "clone3 epoll_create1"

# Each group has what evsmp takes for granted: systemd lists them.
if command -v systemd-analyze >/dev/null && systemd-analyze syscall-filter @default >/dev/null 2>&1; then
	unit server "ExecStart=$work/program" 'SystemCallFilter=none_of_them'
	expect 121 "SystemCallFilter" enable server
	all=$(printf '%s\n' "$said" | sed -n 's/.*libevent-smp makes: \([^.]*\)\. Add.*/\1/p')
	[ -n "$all" ] || fail "no list of calls in: $said"

	# members GROUP: the calls in it, and in the groups in it
	members()
	{
		systemd-analyze syscall-filter "$1" | sed -n 's/^ *\([a-z_@][a-z0-9_-]*\)$/\1/p' | while read -r member; do
			case $member in
			"$1") ;;
			@*) (members "$member") ;;
			*) echo "$member" ;;
			esac
		done
	}

	members @default >"$work/default"
	for group in @aio @basic-io @chown @default @file-system @io-event @ipc @keyring @memlock @network-io @process \
		@resources @setuid @signal @sync @system-service @timer; do
		members "$group" >"$work/members"
		cat "$work/default" >>"$work/members"
		lacking=
		for call in $all; do
			grep -qx "$call" "$work/members" || lacking="$lacking $call"
		done
		unit server "ExecStart=$work/program" "SystemCallFilter=$group"
		if [ -n "$lacking" ]; then
			refuses 121 "libevent-smp makes:$lacking. Add"
		else
			accepts "SystemCallFilter=$group"
		fi
	done
	for call in $all; do
		grep -qx "$call" "$work/default" && fail "$call is always allowed, so it need not be listed"
	done
else
	skip "groups of system calls: systemd-analyze does not list them here"
fi
exit "$failed"
