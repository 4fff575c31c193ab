#!/usr/bin/env python3
"""TLS with -o smp_workers: sessions, handshakes that are cut anywhere, clients that leave in the middle."""
import contextlib
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile

from harness import PATIENCE, TLS, WORKERS, Server, check, equal, main, preload, smp_test, wait_until

sys.path.insert(0, os.environ["PORTS_LIB"])
from handshake import Handshake, connection  # noqa: E402
from sent import CCS, DATA, HANDSHAKE, HELD, Sent  # noqa: E402

OPTIONS = TLS + ",ssl_session_cache"
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


def context(version):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    c.minimum_version = c.maximum_version = version
    if version == VERSIONS[0]:
        c.options |= ssl.OP_NO_TICKET
    return c


def plain(s, source=""):
    return connection(s.port, PATIENCE, source)


def connect(s, ctx, session=None, source=""):
    return ctx.wrap_socket(plain(s, source), session=session)


def tls_server(*args, **kw):
    return Server("-Z", "-o", OPTIONS, *args, **kw)


def stats(s):
    with connect(s, context(VERSIONS[1])) as c, c.makefile("rb") as f:
        c.sendall(b"stats\r\n")
        return dict(line.decode().split()[1:] for line in iter(f.readline, b"END\r\n"))


def resumed(s, version, count):
    """How many of `count` come again at once, while the first connection is there, and find their session."""
    ctx, found = context(version), 0
    for _ in range(count):
        with connect(s, ctx) as first:
            equal(talk(first), b"MN\r\n")
            with connect(s, ctx, first.session) as again:
                equal(talk(again), b"MN\r\n")
                found += again.session_reused
    return found


def talk(c):
    c.sendall(b"mn\r\n")
    return c.recv(100)


@smp_test
def resumption():
    """every session is resumed, by number (TLS 1.2) and by ticket"""
    with tls_server() as s:
        for version in VERSIONS:
            equal(resumed(s, version, 100), 100, version.name)


@smp_test
def resumed_at_once():
    """a session is resumed though the worker that made it has done nothing since it told the client"""
    if WORKERS == 1:
        return
    with tempfile.TemporaryDirectory() as tmp:
        sent = Sent(tmp, ("loop", CCS), ("task", CCS))
        with tls_server(threads=4, env=sent.env) as s:
            ctx = context(VERSIONS[0])
            with sent, connect(s, ctx, source=HELD) as first:
                stopped = sent.next(first)
                with connect(s, ctx, first.session) as again:
                    equal(talk(again), b"MN\r\n")
                    check(again.session_reused, "not resumed")
                stopped.close()
                equal(talk(first), b"MN\r\n")


@smp_test
def byte_by_byte():
    """a handshake, and a request with it, may come in any pieces"""
    with tls_server() as s:
        for version in VERSIONS:
            with Handshake(plain(s), context(version)) as h:
                h.go_on(h.tls.do_handshake)
                h.go_on(h.tls.write, b"set a 0 0 3\r\nabc\r\nget a\r\nmn\r\n")
                got = b""
                while not got.endswith(b"MN\r\n"):
                    got += h.go_on(h.tls.read, 100)
                equal(got, b"STORED\r\nVALUE a 0 3\r\nabc\r\nEND\r\nMN\r\n")
            with Handshake(plain(s), context(version)) as h:    # all that is left in one piece
                last = h.answer()
                if h.attempt(h.tls.do_handshake):       # TLS 1.3
                    h.attempt(h.tls.write, b"mn\r\n")
                    h.socket.sendall(last + h.going.read())
                    equal(h.go_on(h.tls.read, 100), b"MN\r\n")


def reset(c):
    """Leaves without a word to the kernel of what it has not read."""
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()


def leave(s, sent, version, how, end):
    """Goes `how` far in a handshake whose worker is held up, and leaves then."""
    h = Handshake(plain(s, HELD), context(version))
    stopped = sent.next(h.socket)
    if how != "flight":
        data = h.answer()
        h.socket.sendall(data[:len(data) // 2] if how == "half" else data)
        if how == "request" and h.attempt(h.tls.do_handshake):
            h.attempt(h.tls.write, b"get a b c\r\n" * 100)
            h.socket.sendall(h.going.read())
    end(h.socket)
    stopped.close()


@smp_test
def clients_leave():
    """clients that leave at any step of a handshake that a worker is at leave nothing behind"""
    with tempfile.TemporaryDirectory() as tmp:
        sent = Sent(tmp, *[(who, what) for who in ("loop", "task") for what in (CCS, DATA, HANDSHAKE)])
        with tls_server(env=sent.env) as s:
            equal(stats(s)["curr_connections"], "1")
            wait_until(lambda: stats(s)["curr_connections"] == "1", "the first are gone")
            fds = s.fds()
            for version in VERSIONS:
                for how in ("flight", "half", "answered", "request"):
                    for end in (socket.socket.close, reset):
                        with sent:
                            leave(s, sent, version, how, end)
            wait_until(lambda: stats(s)["curr_connections"] == "1", "all are gone")
            wait_until(lambda: s.fds() <= fds, "their descriptors are closed")


@contextlib.contextmanager
def steps_held(s, sent, count):
    """While that many threads are at a step of a handshake each."""
    with contextlib.ExitStack() as held:
        for _ in range(count):
            h = held.enter_context(Handshake(plain(s, HELD), context(VERSIONS[1])))
            held.enter_context(sent.next(h.socket))
        yield


@contextlib.contextmanager
def holding_server(*args):
    """A server for steps_held, and a connection whose handshake is done."""
    with tempfile.TemporaryDirectory() as tmp:
        sent = Sent(tmp, ("task", HANDSHAKE))
        with tls_server(*args, env=sent.env) as s, sent, connect(s, context(VERSIONS[1])) as c:
            equal(talk(c), b"MN\r\n")
            yield s, sent, c


@smp_test
def handshakes_everywhere():
    """while all threads of handshakes are at one, requests are served, and connections accepted"""
    with holding_server() as (s, sent, c):
        with steps_held(s, sent, WORKERS):
            late = Handshake(plain(s), context(VERSIONS[1]))
            for _ in range(50):
                equal(talk(c), b"MN\r\n")
        with late:
            late.go_on(late.tls.do_handshake)
            late.go_on(late.tls.write, b"mn\r\n")
            equal(late.go_on(late.tls.read, 100), b"MN\r\n")


@smp_test
def idle_in_handshake():
    """the idle timeout closes a connection whose handshake is at a step when that ends"""
    if WORKERS == 1:        # `later` and `stats` want one, too
        return
    with holding_server("-o", "idle_timeout=1") as (s, sent, c):
        held = Handshake(plain(s, HELD), context(VERSIONS[1]))
        with held, sent.next(held.socket), connect(s, context(VERSIONS[1])) as later:
            for other in (c, later):        # the timeout looks at them in the order of their descriptors
                equal(other.recv(1), b"", "what comes before the end")
            equal(stats(s)["curr_connections"], "2")
        wait_until(lambda: stats(s)["curr_connections"] == "1", "it is closed")
        equal(stats(s)["idle_kicks"], "3")


@smp_test
def ends_in_handshakes():
    """a server that is told to end lets the steps of handshakes end, and begins none"""
    for number in (signal.SIGTERM, signal.SIGUSR1):
        for count in (0, WORKERS):
            with holding_server() as (s, sent, c):
                with steps_held(s, sent, count), Handshake(plain(s), context(VERSIONS[1])):
                    s.process.send_signal(number)
                equal(s.ended(), 0, f"status, {count} steps")


@smp_test
def no_memory():
    """without memory to hand a step to another thread, it runs where it is"""
    with tempfile.TemporaryDirectory() as tmp:
        with tls_server(env=preload(tmp, "no_post")) as s:
            for version in VERSIONS:
                equal(resumed(s, version, 5), 5, version.name)
            equal(s.end(signal.SIGTERM), 0, "status")


@smp_test
def full():
    """a handshake whose flight does not fit into the socket goes on when there is room"""
    with tempfile.TemporaryDirectory() as tmp, tls_server(env=preload(tmp, "full")) as s:
        for version in VERSIONS:
            for _ in range(10):
                with connect(s, context(version)) as c:
                    equal(talk(c), b"MN\r\n", version.name)


@smp_test
def new_keys():
    """keys may change between requests, and in a connection that watches"""
    with tls_server() as s:
        argv = ["openssl", "s_client", "-tls1_3", "-connect", f"127.0.0.1:{s.port}"]
        p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        with p:
            for request, reply in ((b"mn\r\n", b"MN\r\n"), (b"mn\r\n", b"MN\r\n"), (b"watch connevents\r\n", b"OK\r\n")):
                p.stdin.write(request)
                read_to(p.stdout, reply)
                p.stdin.write(b"K\n")       # a new key, and a request for another
                read_to(p.stderr, b"KEYUPDATE\n")
            for _ in range(3):
                with connect(s, context(VERSIONS[1])) as c:
                    equal(talk(c), b"MN\r\n")
                read_to(p.stdout, b"type=conn_close")
                p.stdin.write(b"K\n")
                read_to(p.stderr, b"KEYUPDATE\n")
            p.stdin.close()
        wait_until(lambda: stats(s)["curr_connections"] == "1", "it is gone")


def read_to(pipe, end):
    got = b""
    while end not in got:
        data = pipe.read(4096)
        check(data, f"the end after {got[-200:]!r}")
        got += data


@smp_test
def silent():
    """clients that say nothing, or nonsense, or half a hello hold up nobody"""
    with tls_server("-c", "200") as s:
        hello = bytes.fromhex("1603010200010001fc0303")
        for said in (b"", b"\x16", hello, b"mn\r\n" * 5, b"\x16\x03\x01\xff\xff" + bytes(100)):
            crowd = [plain(s) for _ in range(10)]
            for c in crowd:
                c.sendall(said)
            for version in VERSIONS:
                with connect(s, context(version)) as c:
                    equal(talk(c), b"MN\r\n")
            for c in crowd:
                c.close()
        wait_until(lambda: stats(s)["curr_connections"] == "1", "all are gone")


@smp_test
def slow_readers():
    """clients that read late get all of it in order, with and without batches, and hold up nobody"""
    data = bytes(range(256)) * 400
    want = b"VALUE a 0 %d\r\n%s\r\nEND\r\n" % (len(data), data)
    for options in ((), ("-o", "batch_replies")):
        with tls_server(*options, threads=2) as s:
            ctx = context(VERSIONS[1])
            with connect(s, ctx) as c:
                c.sendall(b"set a 0 0 %d\r\n%s\r\n" % (len(data), data))
                equal(c.recv(100), b"STORED\r\n")
            crowd = []
            for _ in range(8):
                crowd.append(connect(s, ctx))
                crowd[-1].sendall(b"get a\r\n" * 60 + b"mn\r\n")
            with connect(s, ctx) as c:
                for _ in range(20):
                    equal(talk(c), b"MN\r\n")
            for c in crowd:
                with c, c.makefile("rb") as f:
                    for _ in range(60):
                        check(f.read(len(want)) == want, "a value is not what it was")
                    equal(f.read(4), b"MN\r\n")


main()
