# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""What is measured: sections of cases, a case being one row of a table."""

from dataclasses import dataclass, field

from .programs import NEW, Program

OURS = "ours"
CACHED = ", in a callback"


@dataclass
class Case:
    name: str
    programs: list
    goal: str = ""


@dataclass
class Section:
    key: str
    title: str
    cases: list
    against: list = field(default_factory=list)  # (name of ours, name of the other)
    scale_from: str = ""  # the case that the others are multiples of
    rounds: int = 0  # at most; 0: as many as are asked for


class Sizes:
    """Full counts, or small ones that only show that everything runs."""

    def __init__(self, is_small):
        self._divisor = 50 if is_small else 1

    def __call__(self, count, least=64):
        return max(count // self._divisor, min(count, least))


# ---------------------------------------------------------------- one loop, one thread


def _loop(args, env=None, only=None):
    """The shape on every loop; libevent's program twice, on stock and on ours."""
    env = env or {}
    programs = [
        Program("stock", ("loop_libevent", *args), env),
        Program(OURS, ("loop_libevent", *args), env, is_ours=True),
    ]
    for loop in ("libev", "libuv", "raw"):
        if only is None or loop in only:
            programs.append(Program(loop, (f"loop_{loop}", *args)))
    return programs


def _with_locks(args):
    env = {"BENCH_LOCKS": "1"}
    return [
        Program("stock, locks", ("loop_libevent", *args), env),
        Program("ours, locks", ("loop_libevent", *args), env, is_ours=True),
    ]


_LOOPS = [(OURS, "stock"), (OURS, "libev"), ("ours, locks", "stock, locks")]


def _pipe(size):
    cases = []
    for pairs, tokens in ((100, 1), (100, 10), (1000, 100), (9000, 1000)):
        args = ("pipe", size(pairs, 100), size(tokens, min(tokens, 10)), size(40000, 400))
        goal = "never slower than stock"
        cases.append(Case(f"N={pairs} K={tokens}", _loop(args), goal))
    return Section("pipe", "Pipe ring: ns per event", cases, _LOOPS[:2])


def _churn(size):
    goals = {"addel": "≤ 20 ns", "addloop": "≥ 5 x stock", "rw": "≥ 60 x stock", "base": ""}
    cases = []
    for mode, goal in goals.items():
        args = ("churn", mode, size(1000))
        changelist = {"EVENT_EPOLL_USE_CHANGELIST": "1"}
        programs = _loop(args) + _with_locks(args)
        if mode != "base":
            programs.append(Program("stock, changelist", ("loop_libevent", *args), changelist))
        cases.append(Case(mode, programs, goal))
    return Section("churn", "Add and delete: ns per pair", cases, _LOOPS)


def _timer(size):
    cases = []
    for count in (1000, 100000, 1000000):
        for mode in ("adddel", "rearm", "fire"):
            args = ("timer", mode, size(count, 1000))
            common = {"BENCH_COMMON": "1"}
            programs = _loop(args) + [
                Program("stock, common", ("loop_libevent", *args), common),
                Program("ours, common", ("loop_libevent", *args), common, is_ours=True),
                Program("libev, 128 B", ("loop_libev", *args), {"BENCH_WIDE": "1"}),
            ]
            if mode != "fire":
                cached = {"BENCH_CACHED": "1"}
                programs.append(Program(OURS + CACHED, ("loop_libevent", *args), cached, is_ours=True))
            goal = "≥ 1 x libev" if count == 1000000 else "never slower than stock"
            cases.append(Case(f"{mode}, {count} pending", programs, goal))
    against = _LOOPS[:2] + [(OURS + CACHED, "libev, 128 B"), ("ours, common", "stock, common")]
    return Section("timer", "Timers: ns per operation", cases, against)


def _dispatch(size):
    cases = []
    for mode, count in (("batch", 1), ("batch", 1000), ("batch", 10000), ("chain", 16)):
        args = ("dispatch", mode, count, size(2000000, 10000))
        cases.append(Case(f"{mode} {count}", _loop(args) + _with_locks(args), "≥ 1 x stock"))
    return Section("dispatch", "event_active: ns per callback", cases, _LOOPS)


def _wake(size):
    cases = []
    for gap, count in ((0, 20000), (100, 2000), (2000, 200)):
        args = ("wake", gap, size(count, 20))
        programs = _loop(args, only=("libev", "libuv"))
        for kind in ("eventfd", "futex", "spin"):
            programs.append(Program(f"raw {kind}", ("loop_raw", *args), {"BENCH_WAKE": kind}))
        cases.append(Case(f"idle for {gap} us", programs, "never slower than stock"))
    against = [(OURS, "stock"), (OURS, "raw eventfd"), (OURS, "raw futex")]
    return Section("wake", "Another thread's event_active: ns until the callback", cases, against)


# ---------------------------------------------------------------- colored work

_PEERS = [
    ("libasync-like", "col_libasync"),
    ("libasync-like, no stealing", "col_libasync_nosteal"),
    ("TBB", "col_tbb"),
    ("Asio", "col_asio"),
    ("Go", "col_go"),
    ("Tokio", "col_tokio"),
    ("stock, n bases", "col_libevent"),
    ("limit", "col_limit"),
]
BARE = "bare threads"
_COLORED = [(OURS, name) for name in ("libasync-like", "Tokio", "Go", "limit")]


def _colored(shape, workers, *args):
    argv = (shape, workers, *args)
    programs = [Program(OURS, ("col_smp", *argv), is_ours=True)]
    programs += [Program(name, (path, *argv)) for name, path in _PEERS]
    return programs


def _workers(count):
    return "1 worker" if count == 1 else f"{count} workers"


def _chain(size):
    goals = {
        (1, 0): "≥ 2.5 x libasync-like (200 M/s where that has 78 M)",
    }
    cases = []
    for work, total in ((0, 4000000), (100, 2000000), (1000, 400000), (10000, 40000)):
        for workers, how in ((1, "spread"), (2, "spread"), (2, "skew")):
            args = ("chain", workers, how, 16, work, size(total, 1600))
            name = f"{how}, work {work} ns, {_workers(workers)}"
            programs = _colored(*args)
            if workers == 1:
                programs.append(Program("limit, called", ("col_called", *args)))
            cases.append(Case(name, programs, goals.get((workers, work), "")))
    against = [*_COLORED, (OURS, "limit, called")]
    return Section("chain", "Chain: 16 colors that post to themselves", cases, against)


def _scale(size):
    """Ours against itself with one worker."""
    cases = []
    for work, total in ((0, 4000000), (100, 2000000), (1000, 400000), (10000, 40000)):
        programs = []
        for name, workers, how in (
            ("1 worker", 1, "spread"),
            ("2 workers", 2, "spread"),
            ("2 workers, skewed", 2, "skew"),
        ):
            argv = ("col_smp", "chain", workers, how, 16, work, size(total, 1600))
            programs.append(Program(name, argv, is_ours=True))
        cases.append(Case(f"work {work} ns", programs, "≥ 1" if work < 1000 else "≥ 1.9"))
    against = [("2 workers", "1 worker"), ("2 workers, skewed", "1 worker")]
    return Section("scale", "Chain: ours with two workers against one", cases, against)


def _unbalanced(size):
    cases = []
    for workers in (1, 2):
        args = ("unbalanced", workers, size(50000), 25, 20, 12)
        cases.append(Case(_workers(workers), _colored(*args), "≥ 0.9 ideal"))
    return Section("unbalanced", "Mely's unbalanced: 2 % long events", cases, _COLORED)


def _fanout(size):
    cases = []
    for work in (0, 1000):
        args = ("fanout", 2, size(10000), work, 10)
        cases.append(Case(f"work {work} ns", _colored(*args), "≤ 70 ns" if work == 0 else ""))
    return Section("fanout", "Fan-out and join: ns per color, 2 workers", cases, _COLORED)


def _idle(size):
    count = size(1000000, 20000)
    cases = [Case("number only", _colored("idle", 2, count), "0 B")]
    timers = [
        Program("stock", ("idle_events", count)),
        Program(OURS, ("idle_events", count), is_ours=True),
    ]
    cases.append(Case("a pending timer each", timers, "≤ 128 B per idle color"))
    return Section("idle", f"Idle colors: bytes each, {count} of them", cases)


def _latency(size):
    cases = []
    for gap, count in ((10, 5000), (200, 1000), (2000, 200)):
        for home in ("other", "same"):
            args = ("wake", 2, home, gap, size(count, 20))
            programs = _colored(*args)
            for kind in ("eventfd", "futex"):
                raw = ("loop_raw", "wake", gap, args[4])
                programs.append(Program(f"raw {kind}", raw, {"BENCH_WAKE": kind}))
            goal = "≤ 300 ns p50" if gap == 10 else "≤ 1.05 x futex"
            cases.append(Case(f"idle for {gap} us, posted to the {home} worker", programs, goal))
    against = [(OURS, "raw futex"), (OURS, "raw eventfd"), (OURS, "libasync-like")]
    return Section("latency", "Start of a task on an idle worker: ns", cases, against)


def _pingpong(size):
    hops = size(300000, 1000)
    programs = [*_colored("pingpong", 2, hops), Program(BARE, ("col_limit", "line", 2, hops))]
    cases = [Case("2 workers", programs, "≤ 150 ns")]
    against = [*_COLORED, (OURS, BARE)]
    return Section("pingpong", "Ping-pong of two colors: ns per hop", cases, against)


def _inject(size):
    cases = []
    for workers in (1, 2):
        args = ("inject", workers, size(200000, 1600), 16, 100)
        cases.append(Case(_workers(workers), _colored(*args)))
    return Section("inject", "Posts from a foreign thread: ns per task of 100 ns", cases, _COLORED)


_SFS_NS = (10000, 5385)     # of a client's own color, of the shared one


def _sfs_in_a_row(name, threads, requests):
    return Program(name, ("col_limit", "bare", threads, "sfs", *_SFS_NS, requests))


def _sfs_programs(workers, requests):
    return [*_colored("sfs", workers, 16, *_SFS_NS, requests), _sfs_in_a_row(BARE, workers, requests)]


def _sfs(size):
    cases = []
    for workers in (1, 2):
        goal = "≥ 1.95 of one thread's: serial" if workers == 2 else ""
        cases.append(Case(_workers(workers), _sfs_programs(workers, size(20000, 320)), goal))
    against = [*_COLORED, (OURS, BARE)]
    return Section("sfs", "SFS: 10 us of a client's own work, 5.4 us of shared", cases, against)


def _serial(size):
    """As sfs, beside one thread that does the same work in the same round: the calibration is of the run's begin."""
    requests = size(20000, 320)
    names = (OURS, "libasync-like", "TBB", BARE)
    programs = [_sfs_in_a_row("one thread", 1, requests)]
    programs += [p for p in _sfs_programs(2, requests) if p.name in names]
    against = [(name, "one thread") for name in names]
    against.append((OURS, "libasync-like"))
    cases = [Case("2 workers", programs, "≥ 1.95 of one thread's")]
    return Section("serial", "SFS: two workers against one thread's work", cases, against)


def _steal(size):
    """The same on ours with stealing on and off."""
    cases = []
    for grain in (100, 1000, 5000, 10000, 100000):
        total = size(300000000 // (grain + 30), 160)
        events = min(total, size(200000, 160))
        ideal = " and ≥ 0.9 ideal" if grain >= 5000 else ""
        for name, args, goal in (
            ("balanced", ("chain", 2, "spread", 16, grain, total), "≥ 0.98"),
            ("unbalanced", ("unbalanced", 2, events, grain, 0, 3), "≥ 0.98" + ideal),
        ):
            off = {"EVENT_STEAL": "0"}
            programs = [
                Program("stealing", ("col_smp", *args), {"BENCH_COUNTERS": "1"}, is_ours=True),
                Program("no stealing", ("col_smp", *args), off, is_ours=True),
            ]
            if ideal and name == "unbalanced":
                bare = ("bare", 2, "unbalanced", grain, 0, events)
                programs.append(Program(BARE, ("col_limit", *bare)))
            cases.append(Case(f"{name}, callbacks of {grain / 1000:g} us", programs, goal))
    against = [("stealing", "no stealing"), ("stealing", BARE)]
    return Section("steal", "Stealing on and off, 2 workers", cases, against)


def _colors(size):
    """One event program: uncolored, and colored with one worker."""
    shapes = (
        ("pipe ring", 100, ("pipe", 100, 10, size(40000, 400))),
        ("timers, add and del", size(100000, 1000), ("timer", "adddel", size(100000, 1000))),
        ("timers, rearm", size(100000, 1000), ("timer", "rearm", size(100000, 1000))),
        (f"timers, add and del{CACHED}", size(100000, 1000), ("timer", "adddel", size(100000, 1000))),
        (f"timers, rearm{CACHED}", size(100000, 1000), ("timer", "rearm", size(100000, 1000))),
        ("timers, fire", size(100000, 1000), ("timer", "fire", size(100000, 1000))),
        ("active chain", 16, ("dispatch", "chain", 16, size(2000000, 10000))),
        ("active batch", 1000, ("dispatch", "batch", 1000, size(2000000, 10000))),
    )
    cases = []
    for name, events, args in shapes:
        argv = ("loop_libevent", *args)
        cached = {"BENCH_CACHED": "1"} if name.endswith(CACHED) else {}
        programs = [Program("uncolored", argv, cached, is_ours=True)]
        for column, colors in (("16 colors", 16), ("a color each", events)):
            env = {"BENCH_COLORS": str(colors), "EVENT_WORKERS": "1", **cached}
            programs.append(Program(column, argv, env, is_ours=True))
        cases.append(Case(name, programs, "≤ 1.02 times the time (≥ 0.98)"))
    against = [("16 colors", "uncolored"), ("a color each", "uncolored")]
    return Section("colors", "Colored with one worker against uncolored: ns", cases, against)


# ---------------------------------------------------------------- evbuffers and servers

_BUFFER_SHAPES = {
    "adddrain64": (2000000, "≤ 8 ns"),
    "addremove64": (2000000, ""),
    "addremove1024": (1000000, ""),
    "addremove16384": (100000, ""),
    "stream64": (2000000, ""),
    "bulk1m": (4800, "≥ 10 x stock"),
    "prepend16": (1000000, ""),
    "reference4k": (1000000, ""),
    "move64k": (2000000, ""),
    "readln64": (1000000, ""),
    "printf": (1000000, ""),
    "newfree": (1000000, ""),
    "search64k": (4000, ""),
}


def _buffer(size):
    cases = []
    for shape, (count, goal) in _BUFFER_SHAPES.items():
        argv = ("buffer_libevent", shape, size(count, 2000))
        locks = {"BENCH_LOCKS": "1"}
        programs = [
            Program("stock", argv),
            Program(OURS, argv, is_ours=True),
            Program("stock, locks", argv, locks),
            Program("ours, locks", argv, locks, is_ours=True),
        ]
        cases.append(Case(shape, programs, goal or "never slower than stock"))
    against = [(OURS, "stock"), ("ours, locks", "stock, locks")]
    return Section("buffer", "evbuffer: ns of CPU per operation", cases, against)


def _load(name, args, env=None, is_ours=False, span_ms=700):
    env = {"BENCH_MS": str(span_ms), **(env or {})}
    return Program(name, ("load", *args), env, is_ours)


def _bev(size):
    cases, span_ms = [], size(700, 100)
    for conns in (1, 10, 100, 1000):
        shape = ("echo", conns)
        programs = [
            _load("stock", (*shape, "srv_libevent", "echo"), span_ms=span_ms),
            _load(OURS, (*shape, "srv_libevent", "echo"), is_ours=True, span_ms=span_ms),
            _load("raw", (*shape, "srv_raw", "echo"), span_ms=span_ms),
        ]
        cases.append(Case(_connections(conns), programs, "≤ 1.10 times raw (≥ 0.91)"))
    return Section("bev", "bufferevent echo, 64 bytes", cases, [(OURS, "stock"), (OURS, "raw")])


def _http(size):
    cases, span_ms = [], size(700, 100)
    for conns in (1, 16, 64):
        shape = ("http", conns)
        programs = [
            _load("stock", (*shape, "srv_libevent", "http"), span_ms=span_ms),
            _load(OURS, (*shape, "srv_libevent", "http"), is_ours=True, span_ms=span_ms),
            _load("nginx", (*shape, "nginx"), span_ms=span_ms),
            _load("raw", (*shape, "srv_raw", "http"), span_ms=span_ms),
        ]
        cases.append(Case(_connections(conns), programs, "≤ 0.95 times nginx (≥ 1.05)"))
    against = [(OURS, "stock"), (OURS, "nginx"), (OURS, "raw")]
    return Section("http", "evhttp, keep-alive GET of 12 bytes", cases, against)


def _connections(conns):
    return "1 connection" if conns == 1 else f"{conns} connections"


def _parallel(size):
    """The client needs CPU time, too: on few cores the two processes show what can be had."""
    cases, span_ms = [], size(1000, 100)
    shapes = (
        ("evhttp, handler of 20 us", ("http", 16, "srv_libevent", "http", 20000), "≥ 1.9"),
        ("AES-256-GCM x 10, 16 KB", ("crypto", 16, "srv_libevent", "crypto", 10), ""),
        ("AES-256-GCM x 100, 16 KB", ("crypto", 16, "srv_libevent", "crypto", 100), "≥ 1.9"),
    )
    for name, args, goal in shapes:
        programs = []
        for column, workers, copies in (
            ("1 worker", 1, 1),
            ("2 workers", 2, 1),
            ("2 processes", 1, 2),
        ):
            env = {"BENCH_PINNED": "0", "EVENT_WORKERS": str(workers), "BENCH_COPIES": str(copies)}
            env["BENCH_COLORS"] = "1" if workers > 1 else "0"
            programs.append(_load(column, args, env, is_ours=True, span_ms=span_ms))
        cases.append(Case(name, programs, f"≥ 0.98 x 2 processes; {goal}".rstrip("; ")))
    against = [("2 workers", "1 worker"), ("2 workers", "2 processes")]
    return Section("parallel", "Servers with a color for each connection", cases, against)


# ---------------------------------------------------------------- tools that look


def _tools(size):
    """What a callback costs while a tool looks. NEW: a file of its own for each run. The colors of the shapes share
    their counters, as is reported rightly."""
    tools = (
        ("no tool", "loop_libevent", {}),
        ("EVENT_SMP_STATS", "loop_libevent", {"EVENT_SMP_STATS": NEW}),
        ("EVENT_SMP_TRACE", "loop_libevent", {"EVENT_SMP_TRACE": NEW}),
        ("EVENT_SMP_TRACE_OBJECTS", "loop_libevent", {"EVENT_SMP_TRACE": NEW, "EVENT_SMP_TRACE_OBJECTS": "1"}),
        ("EVENT_SMP_STALL_MS", "loop_libevent", {"EVENT_SMP_STALL_MS": "60000"}),
        ("EVENT_SMP_SEED", "loop_libevent", {"EVENT_SMP_SEED": "1"}),
        ("ThreadSanitizer", "loop_libevent_tsan", {}),
        ("… and EVENT_CHECK_COLORS", "loop_libevent_tsan",
         {"EVENT_CHECK_COLORS": "1", "TSAN_OPTIONS": "report_bugs=0"}),
    )
    cases = []
    for name, args in (
        ("16 colors, 1000 active at once", ("dispatch", "batch", 1000, size(20000, 2000))),
        ("16 colors, pipe ring N=100 K=10", ("pipe", 100, 10, size(40000, 400))),
    ):
        env = {"BENCH_COLORS": "16", "EVENT_WORKERS": "1"}
        programs = [Program(tool, (path, *args), {**env, **more}, is_ours=True) for tool, path, more in tools]
        cases.append(Case(name, programs))
    return Section("tools", "While a tool looks: ns per callback", cases)


def full(is_small):
    size = Sizes(is_small)
    makers = (_pipe, _churn, _timer, _dispatch, _wake, _chain, _scale, _unbalanced, _fanout)
    makers += (_inject, _idle, _latency, _pingpong, _sfs, _serial, _steal, _colors)
    makers += (_buffer, _bev, _http, _parallel, _tools)
    return [make(size) for make in makers]


# ---------------------------------------------------------------- many cores, little time


def device(is_small, cpus_num):
    """Shapes by number of workers, for a machine that is lent for minutes."""
    size = Sizes(is_small)
    shapes = (
        ("chain, work 0 ns", "chain", ("spread", 64, 0, size(4000000, 6400))),
        ("chain, work 100 ns", "chain", ("spread", 64, 100, size(2000000, 6400))),
        ("chain, work 1 us", "chain", ("spread", 64, 1000, size(300000, 6400))),
        ("chain from one worker, work 1 us", "chain", ("skew", 64, 1000, size(300000, 6400))),
        ("unbalanced (Mely's)", "unbalanced", (size(50000), 25, 20, 5)),
        ("unbalanced, work 5 us", "unbalanced", (size(20000), 5000, 0, 2)),
        ("SFS, 35 % serial", "sfs", (64, 10000, 5385, size(20000, 640))),
        ("SFS, 5 % serial", "sfs", (64, 10000, 526, size(20000, 640))),
        ("fan-out, work 0 ns", "fanout", (size(10000), 0, 5)),
        ("fan-out, work 1 us", "fanout", (size(10000), 1000, 2)),
    )
    sections = []
    for title, shape, args in shapes:
        cases = [
            Case(_workers(workers), _colored(shape, workers, *args))
            for workers in (1, 2, 4, 8, 16)
            if workers == 1 or workers <= cpus_num
        ]
        sections.append(Section(title, title, cases, _COLORED, scale_from=cases[0].name))
    return sections
