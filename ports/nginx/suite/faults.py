"""Faults: each in a server of its own, which is to stand it; returns what is wrong."""
import contextlib
import fcntl
import os
import resource
import signal
import socket
import ssl
import subprocess
import time

from client import LIMIT, ZIP, Handshake, connect, get, parse, request, tls_context, until, wait_for
from load import Load
from world import text

FAULTS = []


def fault(f):
    FAULTS.append((f.__name__, f))
    return f


def cpu_time(pid):
    """Seconds that a process has run."""
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_sanitized(start):
    """A sanitizer has threads and memory of its own."""
    return "san-" in start.side.binary


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def descriptors_at_rest(pid):
    """When the last clients have left, too: that they got all does not say that their ends are closed."""
    least = descriptors(pid)
    for _ in range(25):
        time.sleep(0.02)
        least = min(least, descriptors(pid))
    return least


def is_answered(n, path="/gz/1m", size=1 << 20, port="http", ctx=None):
    r = get(n, path, port, ctx, **ZIP)
    return r is not None and r[0] == 200 and r[2] == text(size)


def is_idle(n):
    """Nobody is connected but who asks."""
    return wait_for(lambda: get(n, "/status")[2].split()[2] == b"1")


def answers_again(n):
    def well():
        with contextlib.suppress(OSError):
            return is_answered(n)
        return False
    return wait_for(well)


@fault
def descriptors_exhausted(start):
    """No spinning, and when there are some again, all is as before."""
    n = start("worker_rlimit_nofile 60;")
    pid, wrong = n.children()[0], []
    # what is made at the first use is there then
    if not (is_answered(n) and is_answered(n, port="tls", ctx=tls_context()) and is_idle(n)):
        wrong.append("does not serve")
    before = descriptors_at_rest(pid)
    with contextlib.ExitStack() as stack:
        early = stack.enter_context(connect(n))
        early.sendall(request("/1k", close=False))
        f = early.makefile("rb")
        parse(f)

        def refused():
            return open(n.dir + "/error.log", errors="replace").read().count("accept4() failed (24")
        crowd = [stack.enter_context(connect(n, ("http", "tls")[i % 2])) for i in range(100)]
        until(lambda: refused() >= 1)
        ran, began = cpu_time(pid), time.monotonic()
        until(lambda: refused() >= 3)
        ran, took = cpu_time(pid) - ran, time.monotonic() - began
        if ran > took / 2:
            wrong.append(f"ran {ran} s of {took} s")
        early.sendall(request("/gz/1m", close=False, **ZIP))
        status = parse(f)[0]
        if status != 500:
            wrong.append(f"without descriptors: {status}")
        for s in crowd:
            s.close()
        if not answers_again(n):
            wrong.append("does not recover")
        if not is_idle(n):
            wrong.append("connections are left")
        if not wait_for(lambda: descriptors(pid) == before):
            wrong.append(f"{before} descriptors before, {descriptors(pid)} after")
    return wrong + n.stop(expected="24: Too many open files")


@fault
def memory_exhausted(start):
    """Allocations fail in the loop and in tasks: who asks then may get nothing, but the process stays, and all is as before when
    there is memory again. A sanitizer ends a program that has none."""
    if is_sanitized(start):
        return []
    n = start()
    pid, wrong = n.children()[0], []
    if not (is_answered(n) and is_answered(n, port="tls", ctx=tls_context())):
        wrong.append("does not serve")
    for more in (0, 1 << 18, 1 << 20):
        with open(f"/proc/{pid}/statm") as f:
            size = int(f.read().split()[0]) * resource.getpagesize()
        resource.prlimit(pid, resource.RLIMIT_AS, (size + more, resource.RLIM_INFINITY))
        load = Load(n)
        load.some(100)
        load.stop()
        resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if n.children() != [pid]:
            wrong.append(f"{more} bytes more: the process has ended")
            break
        if not (answers_again(n) and is_answered(n, port="tls", ctx=tls_context())):
            wrong.append(f"{more} bytes more: does not recover")
    if not is_idle(n):
        wrong.append("connections are left")
    return wrong + n.stop(expected="12: Cannot allocate memory|could not allocate|malloc failure")


@fault
def slow_readers(start):
    """A hundred that ask for much and read nothing: others are served, and nobody spins."""
    n = start()
    pid, wrong, ctx = n.children()[0], [], tls_context()
    with contextlib.ExitStack() as stack:
        for i in range(100):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(LIMIT)
            port = ("http", "tls", "stls")[i % 3]
            s.connect(("127.0.0.1", n.ports[port]))
            s = stack.enter_context(ctx.wrap_socket(s) if port != "http" else s)
            s.sendall(request(("/gz/1m", "/1m", "/proxygz/1000000")[i // 3 % 3], **ZIP))
            s.recv(1)
        if not all([is_answered(n), is_answered(n, port="tls", ctx=ctx), is_answered(n, "/1k", 1024)]):
            wrong.append("others are not served")

        def rests():
            ran, began = cpu_time(pid), time.monotonic()
            time.sleep(0.3)
            return cpu_time(pid) - ran < (time.monotonic() - began) / 4
        if not wait_for(rests):
            wrong.append("spins")
    if not is_idle(n):
        wrong.append("connections are left")
    return wrong + n.stop()


class Gate:
    """Closed: who reads the file `stuck`, or opens `late`, waits at it (stuck.c)."""

    def __init__(self, world):
        self.file, shim = world + "/gate", world + "/stuck.so"
        if not os.path.exists(shim):
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stuck.c")
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
            for name in ("stuck", "late"):
                with open(f"{world}/www/{name}", "wb") as f:
                    f.write(text(102400))
        self.held = open(self.file, "w")
        fcntl.flock(self.held, fcntl.LOCK_EX)
        # where a sanitizer's library wants to be the first
        self.env = {"LD_PRELOAD": shim, "STUCK_GATE": self.file,
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def until_waiting(self, count=1):
        inode = f":{os.fstat(self.held.fileno()).st_ino} "
        until(lambda: sum("->" in line and inode in line for line in open("/proc/locks")) == count)

    def open(self):
        self.held.close()


@fault
def task_stuck(start):
    """A file that does not come holds up neither the loop nor, while there are threads, other tasks."""
    gate = Gate(start.world)
    n = start(**gate.env)
    wrong, ctx = [], tls_context()
    try:
        with connect(n) as s, s.makefile("rb") as f:
            s.sendall(request("/aio/stuck"))
            gate.until_waiting()
            if not all([is_answered(n, "/1k", 1024) for _ in range(20)]):
                wrong.append("light requests wait")
            if start.threads > 1:
                if not all([is_answered(n) for _ in range(5)]):
                    wrong.append("gzip waits")
                if not all([is_answered(n, "/aio/100k", 102400) for _ in range(5)]):
                    wrong.append("other files wait")
                if not all([is_answered(n, "/1k", 1024, "tls", ctx) for _ in range(5)]):
                    wrong.append("handshakes wait")
            wrong += answer_at(gate, s, f)
    finally:
        gate.open()
    if not is_idle(n):
        wrong.append("connections are left")
    return wrong + n.stop()


def answer_at(gate, s, f):
    """What is wrong with the answer that waits at the gate, and comes when that opens."""
    wrong = ["it did not wait"] if parse_soon(s) else []
    gate.open()
    return wrong + ([] if parse(f)[2] == text(102400) else ["is not answered in the end"])


def answer_at_the_end(n, gate, s, f):
    """The same while nginx ends gracefully; its processes, too."""
    pids = n.tell(signal.SIGQUIT)
    until(lambda: not n.is_listening())
    return pids, answer_at(gate, s, f)


def parse_soon(s):
    """Whether anything has come; without waiting for it."""
    s.setblocking(False)
    try:
        return s.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return b""
    finally:
        s.settimeout(LIMIT)


@fault
def task_stuck_at_the_end(start):
    """Who leaves while its task is stuck, and a graceful end meanwhile: both go on when the task does."""
    gate = Gate(start.world)
    n = start(**gate.env)
    try:
        with connect(n) as stays, stays.makefile("rb") as f:
            stays.sendall(request("/aio/stuck"))
            with connect(n) as leaves:
                leaves.sendall(request("/aio/stuck"))
                gate.until_waiting(min(2, start.threads))
            pids, wrong = answer_at_the_end(n, gate, stays, f)
    finally:
        gate.open()
    return wrong + n.ended(pids)


@fault
def file_late_at_the_end(start):
    """A graceful end while a task opens a file and nothing else is under way: who asked for it is answered. Without
    workers the loop opens files, and hears of no end meanwhile."""
    if not start.side.name.startswith("workers="):
        return []
    gate = Gate(start.world)
    n = start(**gate.env)
    try:
        with connect(n) as s, s.makefile("rb") as f:
            s.sendall(request("/aio/late"))
            gate.until_waiting()
            pids, wrong = answer_at_the_end(n, gate, s, f)
    finally:
        gate.open()
    return wrong + n.ended(pids)


@fault
def worker_killed(start):
    """kill -9 under load: the master starts another, which serves."""
    n, wrong, killed = start(), [], []
    for _ in range(3):
        load = Load(n)
        load.some()
        old = n.children()
        os.kill(old[0], signal.SIGKILL)
        killed.append(str(old[0]))
        until(lambda: n.children() and not set(old) & set(n.children()))
        load.some()
        load.stop()
        if not answers_again(n):
            wrong.append("is not served again")
    # It may have held the lock of a shared memory zone; the master says so, and unlocks it.
    return wrong + n.stop(expected=rf"exited on signal 9|was locked by (?:{'|'.join(killed)})\b")


@fault
def ended_under_load(start):
    """SIGQUIT while many ask: it ends by itself."""
    n = start()
    load = Load(n)
    load.some()
    wrong = n.stop()
    load.stop()
    return wrong


@fault
def shutdown_timeout(start):
    """Who reads nothing, or is in the middle of a handshake, is left after worker_shutdown_timeout."""
    n = start("worker_shutdown_timeout 1s;")
    ctx, pid = tls_context(), n.children()[0]
    with contextlib.ExitStack() as stack:
        for port, path in (("http", "/gz/1m"), ("http", "/aiogz/1m"), ("http", "/proxygz/slow/1000000"), ("http", "/ssi/page"),
                           ("tls", "/1m"), ("tls", "/gz/1m"), ("stls", "/gz/1m")) * 3:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(LIMIT)
            s.connect(("127.0.0.1", n.ports[port]))
            s = stack.enter_context(ctx.wrap_socket(s) if port != "http" else s)
            s.sendall(request(path, **ZIP))
            s.recv(1)
        for port in ("tls", "stls"):
            stack.enter_context(connect(n, port)).sendall(b"\x16\x03\x01\x02\x00\x01")
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                stack.enter_context(Handshake(n, port, version)).hear()
        began = time.monotonic()
        os.kill(pid, signal.SIGQUIT)
        until(lambda: not os.path.exists(f"/proc/{pid}"))
        took = time.monotonic() - began
    return ([f"took {took:.0f} s"] if took > 20 else []) + n.stop()
