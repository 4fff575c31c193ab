# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""Instructions in user space per operation, by callgrind: two sizes, the difference counts."""

import functools
import os
import re
import shutil
import subprocess
import tempfile

from .programs import NEW, Program, with_paths
from .report import number

_COLLECTED = re.compile(r"Collected\s*:\s*(\d+)")

# How often a program runs its shape; a server answers once.
_REPEATS = {"loop": 3, "col": 3, "buffer": 5, "load": 1}

_CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")

_COLORS = {"BENCH_COLORS": "16", "EVENT_WORKERS": "1"}

_LOOPS = (
    ("stock", "loop_libevent", False, {}),
    ("ours", "loop_libevent", True, {}),
    ("ours, 16 colors", "loop_libevent", True, _COLORS),
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

_BUFFERS = (
    ("stock", "buffer_libevent", False, {}),
    ("ours", "buffer_libevent", True, {}),
    ("stock, locks", "buffer_libevent", False, {"BENCH_LOCKS": "1"}),
    ("ours, locks", "buffer_libevent", True, {"BENCH_LOCKS": "1"}),
)
_SERVERS = (
    ("stock", "srv_libevent", False, {}),
    ("ours", "srv_libevent", True, {}),
    ("raw", "srv_raw", False, {}),
)

# Name, arguments before the size, two sizes, who, goal.
_CASES = (
    ("pipe ring N=100 K=10", ("pipe", 100, 10), (2000, 6000), _LOOPS, "≤ 150"),
    ("active batch 1000", ("dispatch", "batch", 1000), (20000, 60000), _LOOPS, "≤ 60"),
    ("active chain 16", ("dispatch", "chain", 16), (20000, 60000), _LOOPS, ""),
    ("colored chain", ("chain", 1, "spread", 16, 0), (16000, 64000), _RUNTIMES, ""),
    ("evbuffer add and drain 64", ("adddrain64",), (2000, 6000), _BUFFERS, ""),
    ("evbuffer move 64 KB", ("move64k",), (2000, 6000), _BUFFERS, ""),
    ("evbuffer reference 4 KB", ("reference4k",), (2000, 6000), _BUFFERS, ""),
    ("evbuffer search 64 KB", ("search64k",), (200, 600), _BUFFERS, ""),
)


def _colored(who):
    return tuple((*entry, {**env, **_COLORS}) for *entry, env in who)


# What a tool costs while it looks; NEW is a path where no file is.
_TOOLS = (
    ("no tool", "loop_libevent", True, {}),
    ("EVENT_SMP_STATS", "loop_libevent", True, {"EVENT_SMP_STATS": NEW}),
    ("EVENT_SMP_TRACE", "loop_libevent", True, {"EVENT_SMP_TRACE": NEW}),
    ("EVENT_SMP_TRACE_OBJECTS", "loop_libevent", True, {"EVENT_SMP_TRACE": NEW, "EVENT_SMP_TRACE_OBJECTS": "1"}),
    ("EVENT_SMP_STALL_MS", "loop_libevent", True, {"EVENT_SMP_STALL_MS": "60000"}),
    ("EVENT_SMP_SEED", "loop_libevent", True, {"EVENT_SMP_SEED": "1"}),
)
_TOOL_CASES = (
    ("active batch 1000", ("dispatch", "batch", 1000), (20000, 60000), _TOOLS, ""),
    ("pipe ring N=100 K=10", ("pipe", 100, 10), (2000, 6000), _TOOLS, ""),
    ("pipe ring, 16 colors", ("pipe", 100, 10), (2000, 6000), _colored(_TOOLS), ""),
)

# Name, what the client speaks, connections, sizes, goal.
_SERVER_CASES = (
    ("bufferevent echo, 1 connection", "echo", 1, (500, 2500), "≤ 900"),
    ("evhttp GET, 1 connection", "http", 1, (500, 2500), "≤ 4500"),
    ("evhttp GET, 16 connections", "http", 16, (500, 2500), "≤ 4500"),
)


# What must not rise: the engine while no tool looks, by name in off.tsv.
_OFF_CASES = (
    ("active batch 1000", ("dispatch", "batch", 1000), (20000, 60000), ("loop_libevent", {})),
    ("active chain 16", ("dispatch", "chain", 16), (20000, 60000), ("loop_libevent", {})),
    ("pipe ring N=100 K=10", ("pipe", 100, 10), (2000, 6000), ("loop_libevent", {})),
    ("pipe ring, 16 colors", ("pipe", 100, 10), (2000, 6000), ("loop_libevent", _COLORS)),
    ("post, 16 colors", ("chain", 1, "spread", 16, 0), (16000, 64000), ("col_smp", {})),
)


def _collected(argv, env):
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    found = _COLLECTED.search(done.stderr)
    return int(found.group(1)) if done.returncode == 0 and found else None


def _difference(counts, sizes, repeats):
    """None: a run failed."""
    if None in counts:
        return None
    return (counts[1] - counts[0]) / ((sizes[1] - sizes[0]) * repeats)


def _per_operation(place, name, path, is_ours, env, args, sizes):
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            new = os.path.join(folder, str(size))
            os.mkdir(new)
            exact = with_paths(env, new) | {"BENCH_EXACT": "1"}
            program = Program(name, (path, *args, size), exact, is_ours)
            counts.append(_collected(*place.command(program, _CALLGRIND)))
    return _difference(counts, sizes, _REPEATS[path.partition("_")[0]])


def _per_request(place, name, path, is_ours, env, mode, conns, sizes):
    """The client runs as it is, and the server that it starts is counted."""
    counts = []
    for size in sizes:
        exact = {**env, "BENCH_REQUESTS": str(size)}
        argv = ("load", mode, conns, *_CALLGRIND, "--", path, mode)
        counts.append(_collected(*place.command(Program(name, argv, exact, is_ours))))
    return _difference(counts, sizes, _REPEATS["load"])


def while_off(place):
    """Name, and a function that counts its instructions; None: a run failed."""
    for name, args, sizes, (path, env) in _OFF_CASES:
        yield name, functools.partial(_per_operation, place, "ours", path, True, env, args, sizes)


def _table(place, name, who, goal, count):
    head, row = ["", *(entry[0] for entry in who), "goal"], [name]
    for column, path, is_ours, env in who:
        if not place.has(path) or (is_ours and not place.has_ours()):
            row.append("not built")
        else:
            value = count(place, column, path, is_ours, env)
            row.append("failed" if value is None else number(value))
    row.append(goal)
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), row)]
    return lines + [""]


def tables(place):
    lines = ["## Instructions in user space per operation", ""]
    if shutil.which("valgrind") is None:
        return lines + ["valgrind is not installed.", ""]
    for name, args, sizes, who, goal in _CASES + _TOOL_CASES:
        lines += _table(
            place, name, who, goal, lambda *entry, a=args, s=sizes: _per_operation(*entry, a, s)
        )
    for name, mode, conns, sizes, goal in _SERVER_CASES:
        lines += _table(
            place,
            name,
            _SERVERS,
            goal,
            lambda *entry, m=mode, c=conns, s=sizes: _per_request(*entry, m, c, s),
        )
    return lines
