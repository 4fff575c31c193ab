#!/usr/bin/env python3
"""Each header compiles alone; the public one as C89 and as C++ too, those of libasync as C++17 and C++20.

usage: headers.py TREE CC CXX
"""
import subprocess
import sys
from pathlib import Path

INCLUDES = ["-I.", "-Icore", "-Icompat/libevent", "-Icompat/libevent/include", "-D_GNU_SOURCE"]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
C11 = ["-std=gnu11", "-xc"]
PARTS = ("core/event_narrow.h", "core/event_wide.h")    # of ec.h, which includes the one that fits
PUBLIC = "compat/libevent/include/"
PUBLIC_DIALECTS = (
    ("cc", ["-std=c89", "-pedantic", "-xc"]),
    ("cc", ["-std=c89", "-pedantic", "-xc", "-DEVENT_SMP_WEAK"]),
    ("cxx", ["-std=c++98", "-pedantic", "-Wno-long-long", "-xc++"]),
    ("cxx", ["-std=c++17", "-pedantic", "-xc++", "-DEVENT_SMP_WEAK"]),
)

LIBASYNC = "compat/libasync/"
LIBASYNC_INCLUDES = ["-Icompat/libasync", "-Icompat/libasync/include", "-D_FILE_OFFSET_BITS=64"]
LIBASYNC_DIALECTS = (
    ("cxx", ["-std=gnu++17", "-xc++", *LIBASYNC_INCLUDES]),
    ("cxx", ["-std=gnu++20", "-xc++", *LIBASYNC_INCLUDES]),
)


def dialects_of(header):
    if header.startswith(LIBASYNC):
        return LIBASYNC_DIALECTS
    return PUBLIC_DIALECTS if header.startswith(PUBLIC) else (("cc", C11),)


def compile_alone(tree, compiler, dialect, header):
    """What the compiler says of a file that includes `header` twice, and nothing else."""
    name = header.removeprefix(PUBLIC)
    include = f"#include <{name}>\n" if header.startswith(PUBLIC) else f'#include "{header}"\n'
    done = subprocess.run(
        [compiler, *dialect, *WARNINGS, *INCLUDES, "-fsyntax-only", "-"],
        input=include * 2 + "typedef int this_file_is_not_empty;\n",
        cwd=tree, capture_output=True, text=True,
    )
    return "" if done.returncode == 0 else done.stderr or "failed"


def main():
    if len(sys.argv) != 4:
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    tree, compilers = Path(sys.argv[1]), {"cc": sys.argv[2].split()[-1], "cxx": sys.argv[3].split()[-1]}
    headers = sorted(str(p.relative_to(tree)) for d in ("core", "compat") for p in (tree / d).rglob("*.h"))
    headers = [h for h in headers if h not in PARTS]
    if not any(h.startswith(PUBLIC) for h in headers):
        sys.exit(f"no public header in {tree}")
    failed = 0
    for header in headers:
        for compiler, dialect in dialects_of(header):
            said = compile_alone(tree, compilers[compiler], dialect, header)
            if said:
                print(f"{header} with {compilers[compiler]} {' '.join(dialect)}:\n{said}")
                failed = 1
    print(f"{len(headers)} headers")
    return failed


sys.exit(main())
