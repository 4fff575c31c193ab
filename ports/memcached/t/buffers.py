#!/usr/bin/env python3
"""Buffers for requests and replies: none is lost, whichever worker gives it back, and limits hold."""
from harness import WORKERS, Load, Server, check, equal, main, test, wait_until

LEN = 16384             # bytes of one
WORKER_FREE = 256       # that a worker keeps, at most


class Buffers:
    """What `stats` says of them."""

    def __init__(self, server):
        stats = server.stats()
        bytes_ = int(stats["read_buf_bytes"])
        self.count = int(stats["read_buf_count"])
        self.free = int(stats["read_buf_bytes_free"]) // LEN
        self.used = self.count - self.free
        self.replies = int(stats["response_obj_bytes"]) // LEN
        self.refused = int(stats["read_buf_oom"])
        equal(bytes_, self.count * LEN, "read_buf_bytes")
        check(0 <= self.free <= self.count, f"{self.free} free of {self.count}")

    def at_rest(self):
        """In use are that with the request for this, and what is kept for replies."""
        return self.used == 1 + self.replies


def hold(server, num):
    """Opens so many clients one after the other; those that are served, each of which keeps a buffer with half a request."""
    served = []
    for _ in range(num):
        c = server.client()
        c.send(b"mn\r\nget a ")
        try:
            equal(c.read_to(b"\r\n"), b"MN\r\n")
            served.append(c)
        except ConnectionResetError:
            c.close()
    return served


def let_go(clients):
    for c in clients:
        c.send(b"a\r\n")
    for c in clients:
        equal(c.read_to(b"END\r\n"), b"END\r\n")
        c.close()


@test
def add_up():
    """those in use and those free add up, after many were in use at once and under load; a worker keeps few, one of them for replies"""
    with Server() as s:
        for _ in range(2):
            clients = hold(s, 600)
            equal(len(clients), 600, "clients served")
            check(Buffers(s).used > 600, "each has a buffer")
            let_go(clients)
            wait_until(lambda: Buffers(s).at_rest(), "all are given back")
            with Load(s):
                for _ in range(20):
                    Buffers(s)
            wait_until(lambda: Buffers(s).at_rest(), "those of the load are, too")
        if WORKERS:
            b = Buffers(s)
            check(b.free <= WORKERS * WORKER_FREE, f"{b.free} are free")
            check(b.replies <= WORKERS, f"{b.replies} are kept for replies")


@test
def limit():
    """with read_buf_mem_limit each LIBEVENT_THREAD has its share: who comes later is refused, until one is free"""
    with Server("-o", "read_buf_mem_limit=1", threads=4) as s:
        share = 2**20 // LEN // 4
        for _ in range(2):
            # One of them is for replies.
            clients = hold(s, 4 * (share + 4))
            equal(len(clients), 4 * (share - 1), "clients served")
            let_go(clients)
            wait_until(lambda: Buffers(s).at_rest(), "all are given back")
            with Load(s):
                for _ in range(20):
                    b = Buffers(s)
                    check(b.count <= 4 * share, f"{b.count} buffers")
            wait_until(lambda: Buffers(s).at_rest(), "those of the load are given back")
        equal(Buffers(s).refused, 2 * 4 * 5, "refusals")


main()
