#!/usr/bin/env python3
"""Our libraries export every function that the installed libevent headers and smp.h declare,
and each library has stock's SONAME and loads what it needs.

usage: declared.py LIBDIR CC
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HEADERS = [f"event2/{name}.h" for name in (
    "event", "event_compat", "thread", "util", "smp", "buffer", "buffer_compat", "bufferevent", "bufferevent_compat",
    "bufferevent_ssl", "listener", "dns", "dns_compat", "http", "http_compat", "rpc", "tag")]
PTHREADS_ONLY = {"evthread_use_pthreads"}
OPENSSL_ONLY = re.compile("bufferevent_(openssl_|ssl_|get_openssl_error)")
EXTRA = re.compile("ev(dns|http|rpc|tag)_")
# Declared for other systems, or macros' helpers that stock does not export either.
NOT_HERE = {"evthread_use_windows_threads"}
CORE, MERGED = "libevent_core-2.1.so.7", "libevent-2.1.so.7"
STATE = "libevent_smp.so.1"

# SONAME: which of ours it must load. All load the one that holds the state.
NEEDED = {
    CORE: {STATE},
    "libevent_extra-2.1.so.7": {CORE, STATE},
    MERGED: {STATE},
    "libevent_pthreads-2.1.so.7": {CORE, STATE},
    "libevent_openssl-2.1.so.7": {CORE, STATE},
}


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def declared(cc, include):
    """Functions declared in HEADERS that are not inline, as the compiler sees them."""
    with tempfile.TemporaryDirectory() as work:
        source, info = Path(work, "all.c"), Path(work, "all.aux")
        source.write_text("#include <sys/types.h>\n" + "".join(f"#include <{h}>\n" for h in HEADERS))
        output("gcc" if "clang" in cc else cc, "-w", "-I", include, "-aux-info", str(info), "-fsyntax-only", str(source))
        names = set()
        for path, text in re.findall(r"^/\* (.*?):\d+:\w+ \*/ (extern .*?);", info.read_text(), re.M):
            if path.endswith(tuple(HEADERS)):
                names.add(re.search(r"(\w+) \(", text).group(1))
        return names - NOT_HERE


def exported(library):
    return {line.split()[2] for line in output("nm", "-D", "--defined-only", library).splitlines()}


def dynamic(library, what):
    return re.findall(rf"\({what}\).*\[(.*?)\]", output("readelf", "-dW", library))


def faults(libdir, cc, include):
    names = declared(cc, include)
    if len(names) < 100:
        yield f"only {len(names)} functions are declared: the headers were not read"
    openssl = {name for name in names if OPENSSL_ONLY.match(name)}
    extra = {name for name in names if EXTRA.match(name)}
    merged = names - PTHREADS_ONLY - openssl
    for library, wanted in ((CORE, merged - extra), ("libevent_extra-2.1.so.7", extra), (MERGED, merged),
                            ("libevent_openssl-2.1.so.7", openssl)):
        for name in sorted(wanted - exported(libdir / library)):
            yield f"{library} lacks {name}"
    for name in sorted(PTHREADS_ONLY - exported(libdir / "libevent_pthreads-2.1.so.7")):
        yield f"libevent_pthreads-2.1.so.7 lacks {name}"
    for library, needs in NEEDED.items():
        if dynamic(libdir / library, "SONAME") != [library]:
            yield f"{library}: its SONAME is {dynamic(libdir / library, 'SONAME')}"
        for name in sorted(needs - set(dynamic(libdir / library, "NEEDED"))):
            yield f"{library} does not load {name}"
        if "$ORIGIN" not in ":".join(dynamic(libdir / library, "RUNPATH")).split(":"):
            yield f"{library}: does not look for the others beside itself"
        for line in output("nm", "-D", "--defined-only", "--with-symbol-versions", libdir / library).splitlines():
            if "@" in line:
                yield f"{library}: {line.split()[-1]} carries a version, stock's do not"
    for name in sorted(exported(libdir / STATE) - {"LIBEVENT_SMP_PRIVATE"}):
        if not name.startswith("ec_"):
            yield f"{STATE} exports {name}"


def main():
    if len(sys.argv) != 4:
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    found = list(faults(Path(sys.argv[1]), sys.argv[2].split()[-1], sys.argv[3]))
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
