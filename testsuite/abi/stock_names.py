#!/usr/bin/env python3
"""Our libraries export every name that stock's do, but for its internals.

Stock exports those, too: what ends with an underscore, the tables of its pollers and kinds of bufferevents,
and the hash table of its debug mode. They need its structures. Any other name may be in a program.

usage: stock_names.py LIBDIR CC

Status 77: stock is not installed.
"""
import re
import subprocess
import sys
from pathlib import Path

NAMES = [f"libevent{name}-2.1.so.7" for name in ("", "_core", "_extra", "_openssl", "_pthreads")]
INTERNAL = re.compile("_$|^(bufferevent_ops_(filter|openssl|pair|socket)|(epoll|poll|select)ops|nil_eventop)$"
                      "|^event_debug_map_HT_(CLEAR|GROW)$")
SKIPPED = 77


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    return {line.split()[2] for line in listing.stdout.splitlines()}


def installed(cc, name):
    """Where the compiler finds a library of the system's; None: nowhere."""
    said = subprocess.run([*cc, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
    return Path(said) if "/" in said else None


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    libdir, cc = Path(sys.argv[1]), sys.argv[2].split()
    failed, compared = 0, 0
    for name in NAMES:
        stock = installed(cc, name)
        if stock is None or "ec_thread_id" in exported(stock):
            continue
        compared += 1
        for missing in sorted(exported(stock) - exported(libdir / name)):
            if not INTERNAL.search(missing):
                print(f"{name} lacks {missing}")
                failed = 1
    if compared == 0:
        print("no library of stock libevent is installed")
        return SKIPPED
    return failed


sys.exit(main())
