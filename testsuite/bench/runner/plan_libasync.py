# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""The evaluation of the libasync-smp paper, with the programs of testsuite/examples/libasync."""

from .plan import Case, Section, Sizes
from .programs import Program


def _workers(count, steals=True):
    env = {"EVENT_WORKERS": str(count)}
    return env if steals else {**env, "EVENT_STEAL": "0"}


def _table2(size):
    """All queues but one are populated: with two workers, one of them."""
    cases = []
    for work, total in ((0, 4000000), (1000, 400000), (10000, 40000)):
        for name, workers, steals in (("1 worker", 1, True), ("2 workers, no stealing", 2, False), ("2 workers", 2, True)):
            env, tasks = _workers(workers, steals), size(total, 1600)
            engine = ("chain", workers, "skew", 16, work, tasks)
            programs = [
                Program("new callbacks", ("libasync_chain", "new", 16, work, tasks), env),
                Program("one callback", ("libasync_chain", "same", 16, work, tasks), env),
                Program("engine", ("col_smp", *engine), env, is_ours=True),
                Program("libasync-like", ("col_libasync" if steals else "col_libasync_nosteal", *engine)),
            ]
            if steals:
                programs += [Program(p, (f"col_{c}", *engine)) for p, c in (
                    ("asio", "asio"), ("tbb", "tbb"), ("go", "go"), ("tokio", "tokio"))]
            goal = "≥ 0.9 of the engine, ahead of the others" if steals and work else ""
            cases.append(Case(f"work {work} ns, {name}", programs, goal))
    against = [("one callback", "engine"), ("new callbacks", "engine"), ("new callbacks", "libasync-like")]
    return Section("table2", "Table 2: 16 chains of callbacks", cases, against)


def _web(name, server, copies, clients, per_connection, files, env=None, span_ms=1000):
    env = {"BENCH_MS": str(span_ms), **(env or {})}
    return Program(name, ("serve", "web", server, copies, clients, per_connection, files), env)


def _servers(clients, per_connection, files, span_ms):
    args, one = (clients, per_connection, files), {"BENCH_WORKERS": "1"}
    return [
        _web("serial", "webserver", 1, *args, span_ms=span_ms),
        _web("colored, 1 worker", "webserver_colored", 1, *args, _workers(1), span_ms),
        _web("colored, 2 workers", "webserver_colored", 1, *args, _workers(2), span_ms),
        _web("2 processes", "webserver", 2, *args, span_ms=span_ms),
        _web("nginx, 1 worker", "nginx", 1, *args, one, span_ms),
        _web("nginx, 2 workers", "nginx", 1, *args, {"BENCH_WORKERS": "2"}, span_ms),
        _web("Apache", "apache", 1, *args, {"BENCH_WORKERS": "2"}, span_ms),
    ]


def _site(size):
    """720 files of 100 MB, or 36 of 5."""
    return f"specweb{size(20, 1)}"


def _web_paper(size):
    cases = [
        Case(f"{clients} clients", _servers(clients, 10, _site(size), size(1000, 100)), "≥ 0.95 x 2 processes")
        for clients in (200, 800)[:size(2, 1)]
    ]
    against = [("colored, 2 workers", "colored, 1 worker"), ("colored, 2 workers", "2 processes"),
               ("colored, 1 worker", "serial"), ("serial", "nginx, 1 worker")]
    return Section("web", "Web server: 720 files of SPECweb99's sizes, 10 requests a connection", cases, against)


def _web_cached(size):
    cases = [
        Case(f"{bytes_num} bytes", _servers(64, 0, str(bytes_num), size(500, 100)), "serial ≥ 0.9 x nginx")
        for bytes_num in (100, 1024, 4096, 16384)[:size(4, 1)]
    ]
    against = [("serial", "nginx, 1 worker"), ("colored, 1 worker", "nginx, 1 worker"), ("colored, 1 worker", "serial")]
    return Section("cached", "Web server: one cached file, 64 connections that stay", cases, against)


def _web_clients(size):
    """From few to many: the rate must not fall."""
    cases = []
    for clients in (200, 400, 600, 800, 1000, 2000, 5000, 10000)[:size(8, 1)]:
        args, span_ms = (clients, 10, _site(size)), size(1000, 100)
        programs = [
            _web("colored, 2 workers", "webserver_colored", 1, *args, _workers(2), span_ms),
            _web("nginx, 2 workers", "nginx", 1, *args, {"BENCH_WORKERS": "2"}, span_ms),
        ]
        cases.append(Case(f"{clients} clients", programs, "flat"))
    return Section("clients", "Web server: stability under load", cases, [("colored, 2 workers", "nginx, 2 workers")])


def _counts(size):
    """E3: the same server on one worker, with counts that are atomic all the same."""
    cases = []
    for name, files, clients in (("100 bytes", "100", 64), ("SPECweb99", _site(size), 200)):
        args, span_ms = (clients, 0, files), size(1000, 100)
        env = _workers(1)
        programs = [
            _web("atomic", "webserver_colored", 1, *args, {**env, "BENCH_SHARED": "1"}, span_ms),
            _web("plain", "webserver_colored", 1, *args, env, span_ms),
        ]
        cases.append(Case(name, programs, "≥ 0.95"))
    return Section("counts", "What atomic reference counts cost the colored web server", cases, [("atomic", "plain")])


def _instructions(size):
    """Few clients: callgrind makes the time of a callback long, and the loop polls after some time."""
    cases = []
    requests = size(10000, 100)
    for bytes_num in (100, 16384)[:size(2, 1)]:
        args = (3, 0, bytes_num, requests)
        env = _workers(1)
        programs = [
            Program("serial", ("serve", "instructions", "webserver", *args)),
            Program("colored, 1 worker", ("serve", "instructions", "webserver_colored", *args), env),
            Program("the same, atomic counts", ("serve", "instructions", "webserver_colored", *args),
                    {**env, "BENCH_SHARED": "1"}),
        ]
        cases.append(Case(f"{bytes_num} bytes", programs, "colored ≥ 0.98 x serial"))
    against = [("colored, 1 worker", "serial"), ("the same, atomic counts", "colored, 1 worker")]
    return Section("instructions", "Web server: user instructions of a request", cases, against, rounds=3)


def _file(size):
    cases = []
    for clients, times in ((2, 3), (8, 1)):
        args = (clients, 65536, size(200, 4), times)
        programs = [
            Program("serial", ("serve", "file", "fileserver", 1, *args)),
            Program("colored, 1 worker", ("serve", "file", "fileserver_colored", 1, *args), _workers(1)),
            Program("colored, 2 workers", ("serve", "file", "fileserver_colored", 1, *args), _workers(2)),
            Program("2 processes", ("serve", "file", "fileserver", 2, *args)),
        ]
        cases.append(Case(f"{clients} clients", programs, "≥ 1.9 x 1 worker, ≥ 0.95 x 2 processes"))
    against = [("colored, 2 workers", "colored, 1 worker"), ("colored, 2 workers", "2 processes"),
               ("colored, 1 worker", "serial")]
    return Section("file", "File server: one file of 200 MB, encrypted", cases, against)


def libasync(is_small):
    size = Sizes(is_small)
    makers = (_table2, _web_paper, _web_cached, _web_clients, _counts, _instructions, _file)
    return [make(size) for make in makers]
