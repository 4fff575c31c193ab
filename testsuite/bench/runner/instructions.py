# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""Instructions in user space per operation, by callgrind: two sizes, the difference counts."""

import re
import shutil
import subprocess

from .programs import Program
from .report import number

_COLLECTED = re.compile(r"Collected\s*:\s*(\d+)")

# Every program runs its shape three times.
_REPEATS = 3

_LOOPS = (
    ("stock", "loop_libevent", False, {}),
    ("ours", "loop_libevent", True, {}),
    ("ours, 16 colors", "loop_libevent", True, {"BENCH_COLORS": "16", "EVENT_WORKERS": "1"}),
    ("libev", "loop_libev", False, {}),
    ("libuv", "loop_libuv", False, {}),
    ("raw", "loop_raw", False, {}),
)
_RUNTIMES = (
    ("ours", "col_smp", True, {}),
    ("libasync-like", "col_libasync", False, {}),
    ("stock, n bases", "col_libevent", False, {}),
    ("Asio", "col_asio", False, {}),
    ("TBB", "col_tbb", False, {}),
    ("limit", "col_limit", False, {}),
)

# Name, arguments before the size, two sizes, who, goal.
_CASES = (
    ("pipe ring N=100 K=10", ("pipe", 100, 10), (2000, 6000), _LOOPS, "≤ 150"),
    ("active batch 1000", ("dispatch", "batch", 1000), (20000, 60000), _LOOPS, "≤ 60"),
    ("active chain 16", ("dispatch", "chain", 16), (20000, 60000), _LOOPS, ""),
    ("colored chain", ("chain", 1, "spread", 16, 0), (16000, 64000), _RUNTIMES, ""),
)


def _count(place, program):
    prefix = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    argv, env = place.command(program, prefix)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    found = _COLLECTED.search(done.stderr)
    return int(found.group(1)) if done.returncode == 0 and found else None


def _per_operation(place, name, path, is_ours, env, args, sizes):
    counts = []
    for size in sizes:
        exact = {**env, "BENCH_EXACT": "1"}
        count = _count(place, Program(name, (path, *args, size), exact, is_ours))
        if count is None:
            return "failed"
        counts.append(count)
    return number((counts[1] - counts[0]) / ((sizes[1] - sizes[0]) * _REPEATS))


def tables(place):
    lines = ["## Instructions in user space per operation", ""]
    if shutil.which("valgrind") is None:
        return lines + ["valgrind is not installed.", ""]
    for name, args, sizes, who, goal in _CASES:
        head, row = ["", *(entry[0] for entry in who), "goal"], [name]
        for column, path, is_ours, env in who:
            if not place.has(path) or (is_ours and not place.has_ours()):
                row.append("not built")
            else:
                row.append(_per_operation(place, column, path, is_ours, env, args, sizes))
        row.append(goal)
        for cells in (head, ["---"] * len(head), row):
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return lines
