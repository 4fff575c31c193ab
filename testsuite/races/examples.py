#!/usr/bin/env python3
"""No program of the examples is reported by `evsmp check-colors`, under the load of its own test.

usage: examples.py EVSMP LIBDIR SOURCE COMPILER...

Each is compiled with -fsanitize=thread, and its test runs it through `evsmp check-colors`. The chat server's first
version, whose coloring is only planned, shows that this would see something.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
TLS = ["-levent_openssl", "-lssl", "-lcrypto"]
# Its sources, what it is linked with, its test, what check-colors is told, whether it is reported.
PROGRAMS = {
    "echo": (["echo.c"], [], ["check_echo.py"], [], False),
    "httpapi": (["httpapi.c"], [], ["check_httpapi.py"], [], False),
    "crawler": (["crawler.c"], [], ["check_crawler.py"], [], False),
    "pool": (["pool.c"], [], ["check_pool.py"], [], False),
    "tlsproxy": (["tlsproxy.c"], TLS, ["check_tlsproxy.py"], [], False),
    "chat": (["chat/chat.c", "chat/room.c"], TLS, ["check_chat.py", "--ticks", "--tls", "--stats"], [], False),
    "chat before it was colored": (["chat/uncolored.c"], [], ["check_chat.py"], ["--color-by=connection"], True),
}


def lacks_sanitizer(compiler, place):
    """Why nothing compiled with ThreadSanitizer runs here, or None."""
    program = Path(place) / "nothing"
    done = subprocess.run([*compiler, "-fsanitize=thread", "-o", program, "-x", "c", "-"], text=True,
                          input="int main(void) { return 0; }", capture_output=True)
    if done.returncode:
        return "no ThreadSanitizer"
    done = subprocess.run(["setarch", "-R", program], capture_output=True)
    return "ThreadSanitizer does not run here" if done.returncode else None


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__.strip())
    evsmp, libdir, source, compiler = sys.argv[1], sys.argv[2], Path(sys.argv[3]), " ".join(sys.argv[4:]).split()
    examples = source / "testsuite/examples"
    for name in ("EVENT_WORKERS", "EVENT_CHECK_COLORS", "EVENT_SMP_SEED", "TSAN_OPTIONS", "LD_LIBRARY_PATH"):
        os.environ.pop(name, None)
    faults, not_tested = [], []
    with tempfile.TemporaryDirectory() as place:
        why = lacks_sanitizer(compiler, place)
        if why:
            print(f"{' '.join(compiler)}: {why}")
            sys.exit(SKIPPED)
        for name, (sources, libs, test, options, is_reported) in PROGRAMS.items():
            log, program, wrapper = (Path(place) / f"{name}.{kind}" for kind in ("log", "program", "wrapper"))
            done = subprocess.run([*compiler, "-std=gnu11", "-g", "-O1", "-fsanitize=thread", "-o", program,
                                   f"-I{source}/compat/libevent/include", *(examples / file for file in sources),
                                   f"-L{libdir}", "-levent", *libs], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{name} does not compile: {done.stderr}")
            wrapper.write_text(f"#!/bin/sh\nEVSMP_LIBDIR='{libdir}' exec '{evsmp}' check-colors {' '.join(options)} "
                               f"'{program}' \"$@\" 2>>'{log}'\n")
            wrapper.chmod(0o755)
            status = subprocess.run([sys.executable, examples / test[0], *test[1:], wrapper], stdout=sys.stderr,
                                    timeout=200).returncode
            if status == SKIPPED:
                not_tested.append(name)
                continue
            said = log.read_text()
            counts = [int(number) for number in re.findall(r"^evsmp: (\d+) races? in [1-9]\d* callbacks", said, re.M)]
            if not counts or any(counts) != is_reported or (status != 0) != is_reported:
                faults.append(f"{name}: its test ends with {status}, and evsmp says\n{said[-6000:]}")
    if not_tested:
        print("not tested here:", ", ".join(not_tested))
    sys.exit("\n".join(faults) or 0)


main()
