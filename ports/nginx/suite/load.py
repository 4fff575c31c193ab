"""Reloads, upgrades, ends and clients that leave, while others ask; each returns what is wrong."""
import contextlib
import os
import random
import signal
import socket
import struct
import threading

from client import LIMIT, ZIP, brief, connect, get, read_all, request, tls_context, until, wait_for


class Load:
    """Clients that ask over and over, each time anew; counts what was not as it should be."""

    PATHS = (("/1k", "http"), ("/gz/100k", "http"), ("/gz/100k", "tls"), ("/100k", "tls"), ("/1k", "stls"))

    def __init__(self, n):
        self.n, self.bad, self.good, self.over = n, [], 0, False
        self.threads = [threading.Thread(target=self.run, args=p) for p in self.PATHS]
        for t in self.threads:
            t.start()

    def run(self, path, port):
        want = open(self.n.world + "/www/" + path.split("/")[-1], "rb").read()
        ctx = tls_context() if port != "http" else None
        while not self.over:
            try:
                r = get(self.n, path, port, ctx, **ZIP)
                if r is None or r[0] != 200 or r[2] != want:
                    self.bad.append((path, port, r and r[0], r and len(r[2])))
            except Exception as e:      # whatever it is, it is reported
                self.bad.append((path, port, repr(e)))
            self.good += 1

    def some(self, count=20):
        end = self.good + count
        until(lambda: self.good >= end)

    def stop(self):
        self.over = True
        for t in self.threads:
            t.join()
        return self.bad[:3]


def reloads(n):
    load = Load(n)
    try:
        for _ in range(3):
            load.some()
            old = n.children()
            os.kill(n.pid(), signal.SIGHUP)
            until(lambda: n.children() and not set(old) & set(n.children()))
        os.kill(n.pid(), signal.SIGUSR1)
        load.some()
    finally:
        bad = load.stop()
    return bad


def upgrades(n):
    load = Load(n)
    try:
        load.some()
        old = n.pid()
        os.kill(old, signal.SIGUSR2)
        until(lambda: os.path.exists(n.dir + "/nginx.pid.oldbin") and os.path.exists(n.dir + "/nginx.pid"))
        until(lambda: n.pid() != old and n.children())
        load.some()
        os.kill(old, signal.SIGQUIT)
        until(lambda: not os.path.exists(f"/proc/{old}"))
        load.some()
    finally:
        bad = load.stop()
    return bad


def abort_one(n, rnd, ctx):
    port = rnd.choice(("http", "tls", "stls"))
    with contextlib.suppress(OSError):
        s = socket.create_connection(("127.0.0.1", n.ports[port]), LIMIT)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", rnd.randint(0, 1), 0))
        if port != "http":
            s = ctx.wrap_socket(s, do_handshake_on_connect=False)
            if rnd.random() < 0.3:
                s.settimeout(rnd.random() * 0.002 + 0.0001)
            s.do_handshake()
            s.settimeout(LIMIT)
        path = rnd.choice(("/gz/1m", "/gz/100k", "/1m", "/aio/1m", "/aio/1k", "/proxygz/300000", "/proxygz/slow/100000") +
                          (("/ssi/page", "/flushgz/slow/100000", "/aiogz/1m") if port == "http" else ()))
        s.sendall(request(path, **ZIP))
        for _ in range(rnd.randint(0, 3)):
            s.recv(rnd.choice((1, 1000, 100000)))
        s.close()


def aborts(n, count):
    """Clients that leave at any moment; then nothing is left of them, and all is as before."""
    def some(seed, count):
        rnd, ctx = random.Random(seed), tls_context()
        for _ in range(count):
            abort_one(n, rnd, ctx)
    threads = [threading.Thread(target=some, args=(i, count // 8)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if not wait_for(lambda: get(n, "/status")[2].split()[2] == b"1"):
        return "connections are left: " + get(n, "/status")[2].decode()
    return brief(get(n, "/gz/1m", **ZIP))[:1] != (200,)


def graceful(n):
    """Who asked before the end is still answered, and the worker ends then."""
    socks = [connect(n) for _ in range(6)]
    for s in socks:
        s.sendall(request("/rate/1m", **ZIP))
        s.recv(1)
    pids = n.children()
    os.kill(pids[0], signal.SIGQUIT)
    out = [len(read_all(s)) > 100000 for s in socks]
    for s in socks:
        s.close()
    return not (all(out) and wait_for(lambda: not os.path.exists(f"/proc/{pids[0]}")))


def terminated(n):
    """The same by SIGTERM: at once, with whatever is under way."""
    load = Load(n)
    load.some()
    bad = n.stop(signal.SIGTERM)
    load.stop()
    return bad
