"""What is under way in a task when its client leaves, or nginx is told to reload or to end: each in a server of its own."""
import contextlib
import os
import signal
import socket
import struct

from client import ZIP, Handshake, connect, get, request, tls_context, until, wait_for
from faults import descriptors_at_rest, is_idle, is_sanitized
from server import POOL
from sent import CCS, DATA, HANDSHAKE, HELD, Sent
from told import VERSIONS, context, has_tasks

TASKS_NICE = 10  # the module's default
EVERY_RECORD = [("task", what) for what in (CCS, HANDSHAKE, DATA)]


def reset(s):
    """The client leaves without a word to the kernel of what it has not read."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def leave_in_handshake(n, sent, port, version, how, leave):
    """A handshake that is held up after the server's flight; `how` far the client has come when it leaves."""
    h = Handshake(n, port, version, context(n, port, version), HELD)
    stopped = sent.next(h.socket) if sent else None
    if how != "flight":
        data = h.answer()
        h.socket.sendall(data[:len(data) // 2] if how == "half" else data)
        if how == "request" and h.attempt(h.tls.do_handshake):
            h.attempt(h.tls.write, request("/gz/1m", **ZIP))
            h.socket.sendall(h.going.read())
    leave(h.socket)
    if stopped:
        stopped.close()


def leave_in_answer(n, sent, leave):
    """An answer whose first record is held up."""
    s = connect(n, "tls", context(n, "tls", VERSIONS[0]), source=HELD)
    s.sendall(request("/1m"))
    stopped = sent.next(s) if sent else s.recv(1)
    leave(s)
    if sent:
        stopped.close()


def clients_leave_tasks(start):
    """Clients that leave at each step of a handshake and in an answer, by a reset or an end, while a task is at it."""
    sent, sent_data = Sent(start.world, *EVERY_RECORD), Sent(start.world, ("task", DATA))
    n, wrong = start(**sent.env), []
    pid = n.children()[0]
    for port in ("tls", "sid", "sidmtls"):
        get(n, "/1k", port, context(n, port, VERSIONS[1]))
    before = descriptors_at_rest(pid) if is_idle(n) else None
    for leave in (reset, socket.socket.close):
        for version in VERSIONS:
            for port in ("tls", "sid", "sidlong", "sidmtls"):
                for how in ("flight", "half", "answered", "request"):
                    with sent:
                        leave_in_handshake(n, has_tasks(start) and sent, port, version, how, leave)
        with sent_data:
            leave_in_answer(n, has_tasks(start) and sent_data, leave)
    if not is_idle(n):
        wrong.append("connections are left")
    if not wait_for(lambda: descriptors_at_rest(pid) == before):
        wrong.append(f"{before} descriptors before, {descriptors_at_rest(pid)} after")
    return wrong + n.stop()


def reload_in_handshakes(start):
    """A reload while tasks are at handshakes: these go on, and the old process ends after them."""
    sent = Sent(start.world, *EVERY_RECORD)
    n, wrong = start(**sent.env), []
    old = n.children()
    with contextlib.ExitStack() as stack:
        stack.enter_context(sent)
        hands = [stack.enter_context(Handshake(n, port, version, context(n, port, version), HELD))
                 for port in ("sid", "sidmtls") for version in VERSIONS]
        stopped = [sent.next() for _ in range(min(start.threads, len(hands)))] if has_tasks(start) else []
        for h in hands[:len(stopped)] if stopped else hands:
            h.hear()
        os.kill(n.pid(), signal.SIGHUP)
        until(lambda: n.children() and set(n.children()) - set(old))
        sent.held = ()
        for s in stopped:
            s.close()
        for h in hands:
            h.go_on(h.tls.do_handshake)
            h.go_on(h.tls.write, request("/1k"))
            if h.go_on(h.tls.read, 12) != b"HTTP/1.1 200":
                wrong.append("is not answered")
    until(lambda: not set(old) & set(n.children()))
    if get(n, "/1k", "sid", tls_context())[0] != 200:
        wrong.append("the new process does not serve")
    return wrong + n.stop()


def threads_from_the_start(start):
    """Workers are there before there is work for them: not only if there are memory and descriptors then."""
    if not has_tasks(start) or is_sanitized(start):
        return []
    n, wrong = start(), []
    pid = n.children()[0]
    expected = start.threads + POOL + 1
    if not wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) == expected):
        wrong.append(f"{len(os.listdir(f'/proc/{pid}/task'))} threads instead of {expected}")
    return wrong + n.stop()


def niceness(pid, thread):
    """Field 19 of /proc/PID/task/TID/stat, counted behind the name, which may have blanks."""
    with open(f"/proc/{pid}/task/{thread}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[16])


def each_worker_has_the_niceness_asked_for(start):
    """Whichever thread starts a worker: one that is nice already must not make it nicer."""
    if not has_tasks(start) or is_sanitized(start):
        return []
    n, wrong = start(), []
    pid = n.children()[0]
    own = niceness(pid, pid)
    expected = sorted([own] * (POOL + 1) + [min(own + TASKS_NICE, 19)] * start.threads)

    def seen():
        return sorted(niceness(pid, thread) for thread in os.listdir(f"/proc/{pid}/task"))

    if not wait_for(lambda: seen() == expected):
        wrong.append(f"the threads' niceness is {seen()} instead of {expected}")
    return wrong + n.stop()


def the_loop_interrupts_nobody(start):
    """Beside workers it wakes up for each step of a handshake, often on the CPU of the client that sent it."""
    if is_sanitized(start):
        return []
    n, wrong = start(), []
    pid = n.children()[0]
    own = niceness(pid, pid)

    def seen():
        nicer = [thread for thread in os.listdir(f"/proc/{pid}/task") if niceness(pid, thread) > own]
        return os.sched_getscheduler(pid), {os.sched_getscheduler(int(thread)) for thread in nicer}

    expected = (os.SCHED_BATCH, {os.SCHED_OTHER}) if has_tasks(start) else (os.SCHED_OTHER, set())
    if not wait_for(lambda: seen() == expected):
        wrong.append(f"the policies of the loop and of the workers are {seen()} instead of {expected}")
    return wrong + n.stop()


FAULTS = [(f.__name__, f) for f in (clients_leave_tasks, reload_in_handshakes, threads_from_the_start,
                                    each_worker_has_the_niceness_asked_for, the_loop_interrupts_nobody)]
