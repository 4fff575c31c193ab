#!/usr/bin/env python3
"""Faults: nothing else stops, nothing leaks, and the server ends as told."""
import os
import re
import resource
import signal
import socket
import tempfile
import time

from harness import (SIGNALS, WORKERS, Client, Load, Server, check, equal, main, preload, smp_test, test, value, wait_until)

ALONE = "1"             # curr_connections: the client that asks


@test
def clients_killed():
    """clients that are killed under load leave no connection, descriptor or buffer behind"""
    with Server("-o", "batch_replies") as s:
        with Load(s, 1):
            pass
        wait_until(lambda: s.stats()["curr_connections"] == ALONE, "the first are gone")
        fds = s.fds()
        for _ in range(3):
            with Load(s), s.client() as c:
                equal(c.get(b"none"), b"END\r\n")
        wait_until(lambda: s.stats()["curr_connections"] == ALONE, "all are gone")
        wait_until(lambda: s.fds() <= fds, "their descriptors are closed")
        # `stats` asked before may have been answered on another worker that has not come to the end of its callback yet.
        wait_until(lambda: s.stats()["response_obj_count"] == "1", "responses are gone, but for the one that says so")


@test
def signals():
    """SIGTERM, SIGINT and SIGUSR1 end it under load, with status 0"""
    for number in SIGNALS:
        with Server() as s, Load(s):
            equal(s.end(number), 0, signal.Signals(number).name)
            said = "Gracefully stopping" in s.text()
            equal(said, number == signal.SIGUSR1, "said to stop gracefully")


@test
def shutdown_commands():
    """`shutdown` and `shutdown graceful` end it under load, with status 0"""
    for command in (b"shutdown", b"shutdown graceful"):
        with Server("-A") as s, Load(s), s.client() as c:
            c.send(command + b"\r\n")
            equal(s.ended(), 0, command)


@test
def restart():
    """after a graceful stop under load all values are back (-e); after a kill -9 it starts empty"""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as tmp:
        args = ("-e", os.path.join(tmp, "memory"), "-m", "64")
        with Server(*args) as s:
            with s.client() as c:
                for i in range(100):
                    c.set(b"key%d" % i, b"value%d" % i)
            with Load(s):
                equal(s.end(signal.SIGUSR1), 0, "status")
        # It does not take a file of the second that it believes to be in.
        stopped = int(re.search(r"Kstop_time (\d+)", open(args[1] + ".meta").read()).group(1))
        wait_until(lambda: time.time() > stopped + 1, "the clock is past its end")
        with Server(*args) as s, s.client() as c:
            for i in range(100):
                equal(c.get(b"key%d" % i), value(b"key%d" % i, b"value%d" % i))
            with Load(s):
                equal(s.end(signal.SIGKILL), -signal.SIGKILL, "status")
        with Server(*args) as s, s.client() as c:
            equal(c.get(b"key1"), b"END\r\n")


@test
def no_descriptors():
    """out of descriptors: who is connected is served, who waits is served when one is free"""
    with Server() as s, s.client() as old:
        old.set(b"a", b"x")
        limits = resource.prlimit(s.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(s.pid, resource.RLIMIT_NOFILE, (s.fds() + 3, limits[1]))
        clients = [s.client()]
        while clients[-1].ask(b"mn", b"MN\r\n") and s.fds() < resource.prlimit(s.pid, resource.RLIMIT_NOFILE)[0]:
            clients.append(s.client())
        for _ in range(5):
            clients.append(s.client())
            clients[-1].send(b"get a\r\n")
            wait_until(lambda: b"accepting_conns 0" in old.ask(b"stats", b"END\r\n"), "it stops to accept")
            for _ in range(20):
                equal(old.get(b"a"), value(b"a", b"x"))
            clients.pop(0).close()
            equal(clients[-1].read_to(b"END\r\n"), value(b"a", b"x"))
        for c in clients:
            c.close()
        equal(s.end(signal.SIGTERM), 0, "status")


@test
def too_many_connections():
    """at the limit of -c a new client is told so, and served when another has gone"""
    limit = 40 + 40 * WORKERS
    with Server("-c", str(limit)) as s:
        clients, refused = [], None
        while refused is None:
            check(len(clients) < limit, "nobody is refused")
            c = s.client()
            try:
                answer = c.ask(b"mn")
            except (AssertionError, OSError):
                answer = b"closed"
            if answer == b"MN\r\n":
                clients.append(c)
            else:
                refused = answer
        check(refused in (b"closed", b"ERROR Too many open connections\r\n"), refused)
        equal(clients[0].ask(b"mn"), b"MN\r\n")
        for c in clients[1:]:
            c.close()
        wait_until(lambda: Client(s.port).ask(b"mn") == b"MN\r\n" if s.fds() < limit - 10 else False, "there is room")


@smp_test
def stuck():
    """while one callback is stuck, all other colors' connections are served, and new ones accepted"""
    if WORKERS == 1:
        return
    with tempfile.TemporaryDirectory() as tmp:
        shim = preload(tmp, "stuck")
        # The connection that gets stuck is each color's in turn, so each worker has one in turn.
        for turn in range(4):
            ours, its = socket.socketpair()
            env = {**shim, "STUCK_WORD": "s t u c k", "STUCK_FD": str(its.fileno())}
            with ours, its, Server(threads=4, env=env, fds=[its.fileno()]) as s:
                stuck_one(s, ours, turn)


def stuck_one(s, ours, turn):
    # Connection n is of color n mod 4, after the one that found that the server is up.
    clients = [s.client() for _ in range(8)]
    for c in clients:
        equal(c.ask(b"mn"), b"MN\r\n")
    clients[0].set(b"a", b"s t u c k")
    clients[turn].send(b"get a\r\n")
    equal(ours.recv(1), b"s", "the sign that it is stuck")
    mate = (turn + 4) % 8
    clients[mate].send(b"mn\r\n")
    for _ in range(50):
        for n, c in enumerate(clients):
            if n not in (turn, mate):
                equal(c.ask(b"mn"), b"MN\r\n")
    fresh = [s.client() for _ in range(4)]
    for n, c in enumerate(fresh):
        if n != turn:
            equal(c.ask(b"mn"), b"MN\r\n")
    clients[mate].socket.setblocking(False)
    try:
        check(not clients[mate].socket.recv(1), "two callbacks of a color overlap")
    except BlockingIOError:
        clients[mate].socket.setblocking(True)
    ours.sendall(b"g")
    equal(clients[turn].read_to(b"END\r\n"), value(b"a", b"s t u c k"))
    equal(clients[mate].read_to(b"\r\n"), b"MN\r\n")
    for c in clients + fresh:
        c.close()


main()
