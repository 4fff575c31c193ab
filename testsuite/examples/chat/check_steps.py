#!/usr/bin/env python3
"""The steps of docs/guide.md: each patch applies to the step before, each step compiles and works.

usage: check_steps.py LIBDIR OPTION-OF-COMPILER...

uncolored.c is the start, as chat.c; chat.c, chat.h and room.c are the end.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
SINCE = {"--ticks": 5, "--tls": 6, "--stats": 7}        # what check_chat.py may expect of a step


def run(what, *command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"{what}: {done.stdout}")


def compile_and_check(step, folder, libdir, flags):
    sources = sorted(map(str, folder.glob("*.c")))
    libs = ["-L" + libdir, "-Wl,-rpath," + libdir, "-levent"]
    if step >= SINCE["--tls"]:
        libs += ["-levent_openssl", "-lssl", "-lcrypto"]
    program = folder / "chat"
    run(f"step {step}", *os.environ.get("CC", "cc").split(), *FLAGS, *flags, *sources, "-o", str(program), *libs)
    options = [option for option, since in SINCE.items() if step >= since]
    run(f"step {step}", sys.executable, str(HERE.parent / "check_chat.py"), *options, str(program))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    libdir, flags = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shutil.copy(HERE / "uncolored.c", folder / "chat.c")
        compile_and_check(0, folder, libdir, flags)
        patches = sorted(HERE.glob("*.patch"))
        for step, patch in enumerate(patches, 1):
            run(patch.name, "patch", "-p1", "--fuzz=0", "-s", "-i", str(patch), cwd=folder)
            compile_and_check(step, folder, libdir, flags)
        if len(patches) != 7:
            sys.exit(f"{len(patches)} patches, not 7")
        for end in sorted(folder.glob("*.[ch]")):
            if end.read_text() != (HERE / end.name).read_text():
                sys.exit(f"the last step's {end.name} differs from {HERE / end.name}")


main()
