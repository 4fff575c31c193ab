#!/usr/bin/env python3
"""-o batch_replies: the same answers, in fewer calls, and none that waits for what need not come."""
import random
import socket
import struct

from harness import Server, check, equal, main, test, value, wait_until

R = 128                         # requests of one connection in a turn, unless -R is given
R_STOCK = 20
TCPI_DATA_SEGS_IN = 152         # where struct tcp_info has it


def batching(*args, **kw):
    return Server("-o", "batch_replies", *args, **kw)


def segments(c):
    """TCP segments with data that the client has received."""
    info = c.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=I", info, TCPI_DATA_SEGS_IN)[0]


@test
def calls():
    """gets that arrive together and are no more than two turns are answered in 2 or 3 segments"""
    with batching() as s, s.client() as c:
        equal(s.stats(b"settings").get("batch_replies"), "yes")
        c.set(b"a", b"x")
        before = segments(c)
        want = value(b"a", b"x") * 2 * R
        c.send(b"get a\r\n" * 2 * R)
        equal(c.read(len(want)), want)
        check(segments(c) - before <= 3, f"{segments(c) - before} segments")


@test
def turns():
    """a turn has more requests with the option, unless -R says how many"""
    for args, want in (((), R), (("-R", "20"), 20), (("-R", "7"), 7)):
        with batching(*args) as s:
            equal(int(s.stats(b"settings")["reqs_per_event"]), want)
    with Server() as s:
        equal(int(s.stats(b"settings")["reqs_per_event"]), R_STOCK)


def script(rng, requests_num):
    """Requests of all kinds, valid and not, and how their bytes are cut."""
    def key():
        return b"k%d" % rng.randrange(20)

    def request():
        data = b"x" * rng.choice((0, 1, 50, 3000))
        return rng.choice((
            b"get %s\r\n" % key(), b"get %s %s none\r\n" % (key(), key()), b"gat 0 %s\r\n" % key(),
            b"mg %s v t\r\n" % key(), b"mn\r\n", b"incr n 1\r\n", b"delete %s\r\n" % key(),
            b"touch %s 0\r\n" % key(), b"set %s 0 0 %d\r\n%s\r\n" % (key(), len(data), data),
            b"append  %s 0 0 %d\r\n%s\r\n" % (key(), len(data), data), b"ms %s %d T0\r\n%s\r\n" % (key(), len(data), data),
            b"set %s 0 0 %d noreply\r\n%s\r\n" % (key(), len(data), data), b"set n 0 0 1\r\n1\r\n",
            b"verbosity 0\r\n", b"nonsense\r\n", b"set k 0 0\r\n", b"set k 0 0 -1\r\n", b"get\r\n", b"version\n",
            b"mn\r\nget " + b"l" * 300 + b"\r\n", b"set %s 0 0 2\r\nxyz\r\n" % key()))

    data = b"".join(request() for _ in range(requests_num)) + b"\r\nset the-end 0 0 5\r\nfinis\r\nget the-end\r\n"
    cuts = sorted(rng.randrange(len(data)) for _ in range(requests_num // 10))
    return [data[i:j] for i, j in zip([0] + cuts, cuts + [len(data)])]


@test
def same_answers():
    """3000 mixed requests, cut anywhere, are answered byte for byte as without the option"""
    for seed in range(3):
        pieces = script(random.Random(seed), 1000)
        answers = []
        for server in (Server(smp=False), batching(smp=False), batching()):
            with server as s, s.client() as c:
                for piece in pieces:
                    c.send(piece)
                answers.append(c.read_to(value(b"the-end", b"finis")))
        equal(answers[1], answers[0], f"seed {seed}")
        equal(answers[2], answers[0], f"seed {seed}, with workers")


@test
def waits_for_no_data():
    """a reply does not wait for the value of the next request, nor for the end of its line"""
    with batching() as s, s.client() as c:
        c.set(b"a", b"x")
        for rest, completion in ((b"set b 0 0 10\r\n01234", b"56789\r\n"), (b"ms b 10\r\n0123456789", b"\r\n"),
                                 (b"set b 0 0 10\r\n0123456789\r", b"\n"), (b"ge", b"t none\r\n"),
                                 (b"set big 0 0 100000000\r\n01", b"x" * 99999998 + b"\r\n")):
            c.send(b"get a\r\n" + rest)
            equal(c.read(len(value(b"a", b"x"))), value(b"a", b"x"), rest)
            c.send(completion)
            c.ask(b"mn", b"MN\r\n")


@test
def hand_on():
    """a reply leaves before its connection goes to the logger, or ends"""
    with batching("-A") as s:
        with s.client() as c:
            c.send(b"get none\r\nwatch evictions\r\n")
            equal(c.read_to(b"OK\r\n"), b"END\r\nOK\r\n")
        with s.client() as c:
            c.set(b"a", b"x")
            c.send(b"get none\r\nlru_crawler metadump all\r\n")
            # The dump itself is not asked for: beside other load, one of twenty never comes, from stock memcached, too.
            equal(c.read_to(b"\r\n"), b"END\r\n")
        with s.client() as c:
            c.send(b"get none\r\nget none\r\nquit\r\nget none\r\n")
            equal(c.read_all(), b"END\r\n" * 2)
        with s.client() as c:
            c.send(b"get none\r\nshutdown\r\n")
            equal(c.read_all(), b"END\r\n")
        equal(s.ended(), 0, "status")


@test
def slow_reader():
    """who does not read holds replies of one turn at most, others are served, and all comes in the end"""
    data = b"v" * 200000
    with batching("-m", "64") as s, s.client() as slow, s.client() as other:
        other.set(b"big", data)
        slow.send(b"get big\r\n" * 500)
        wait_until(lambda: int(s.stats()["cmd_get"]) >= R, "its first turn has been")
        equal(other.get(b"none"), b"END\r\n")
        held = int(s.stats()["response_obj_count"])
        check(held <= R + 2, f"{held} responses are held")      # 2: who asks for the statistics
        want = value(b"big", data)
        for _ in range(500):
            equal(slow.read(len(want)), want)
        equal(slow.ask(b"mn"), b"MN\r\n")


@test
def memory_limit():
    """read_buf_mem_limit holds: who exceeds it is closed or told so, and memory comes back"""
    data = b"v" * 400000
    with batching("-o", "read_buf_mem_limit=1", threads=1) as s, s.client() as c:
        def stat(*names, refused):
            try:
                stats = s.stats()
            except ConnectionError:     # the limit closes who asks, too
                return refused
            return sum(int(stats[name]) for name in names)

        def refusals():
            return stat("response_obj_oom", "read_buf_oom", refused=1)

        c.set(b"big", data)
        slow = [s.client() for _ in range(100)]
        for one in slow:
            try:
                one.send(b"get big\r\n" * 2 * R)
            except ConnectionError:     # closed before all of it was sent
                pass
        wait_until(refusals, "the limit is reached")
        check(stat("response_obj_bytes", refused=0) <= 1 << 20, "too much memory")
        for one in slow:
            one.close()
        wait_until(lambda: stat("response_obj_count", refused=R) <= 1, "all is given back")
        stats = s.stats()
        check(int(stats["response_obj_oom"]) + int(stats["read_buf_oom"]) > 0, "nobody was refused")
        equal(c.get(b"big"), value(b"big", data))


main()
