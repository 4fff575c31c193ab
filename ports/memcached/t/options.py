#!/usr/bin/env python3
"""-o smp_workers: what it takes, what it refuses and what it shows; and that without it all is as ever."""
import os

from harness import (TLS, WORKERS, Server, check, equal, main, run_refused, smp_test, test, wait_until)


@test
def off():
    """without the options: no trace of them in `stats settings`, and no `stats smp`"""
    with Server(smp=False) as s, s.client() as c:
        settings = s.stats(b"settings")
        equal([k for k in settings if "smp" in k or "batch" in k], [])
        equal(settings["num_threads"], "4")
        equal(c.ask(b"stats smp"), c.ask(b"stats nothing"))


@test
def plain_libevent():
    """on plain libevent smp_workers is refused, in so many words; on ours it is not"""
    if WORKERS:
        with Server() as s:
            equal(s.stats(b"settings")["smp_workers"], str(WORKERS))
    else:
        text = run_refused("-o", "smp_workers=2")
        check(text.startswith("smp_workers needs libevent-smp, but this is plain libevent 2.1"), text)


@smp_test
def numbers():
    """what is no number of workers is refused"""
    for bad in ("smp_workers", "smp_workers=", "smp_workers=x", "smp_workers=-1", "smp_workers=2x"):
        text = run_refused("-o", bad)
        check(text.startswith("smp_workers needs a number"), f"{bad}: {text}")
    text = run_refused("-o", "smp_workers=4000")
    check(text.startswith("Can't make an event base with smp_workers=4000"), text)


@smp_test
def privileges():
    """drop_privileges is refused, whichever comes first"""
    for options in ("smp_workers=2,drop_privileges", "drop_privileges,smp_workers=2"):
        text = run_refused("-o", options)
        check(text.startswith("smp_workers cannot be used with drop_privileges"), text)


@test
def handshake_niceness():
    """ssl_handshake_nice: what it takes, and what it needs; the niceness of the threads of handshakes"""
    for bad in ("ssl_handshake_nice", "ssl_handshake_nice=x", "ssl_handshake_nice=-1", "ssl_handshake_nice=21"):
        text = run_refused("-o", bad)
        check(text.startswith("ssl_handshake_nice needs a number from 0 to 20"), f"{bad}: {text}")
    for args in [("-Z", "-o", TLS)] + ([("-o", f"smp_workers={WORKERS}")] if WORKERS else []):
        text = run_refused(*args, "-o", "ssl_handshake_nice=1")
        check(text.startswith("ssl_handshake_nice needs smp_workers and TLS"), text)
    if not WORKERS:
        return
    for option, policy, nice in (((), os.SCHED_OTHER, 19), (("ssl_handshake_nice=3",), os.SCHED_OTHER, 3),
                                 (("ssl_handshake_nice=20",), os.SCHED_IDLE, 0)):
        with Server("-Z", "-o", ",".join((TLS,) + option)) as s:
            wait_until(lambda: threads_of(s, "mc-handshake") == {(policy, nice)}, option)
            equal(schedule(s.pid), (os.SCHED_OTHER, 0), "the main thread's")


def schedule(tid):
    """A thread's policy, and its niceness on top of ours."""
    return os.sched_getscheduler(tid), os.getpriority(os.PRIO_PROCESS, tid) - os.getpriority(os.PRIO_PROCESS, 0)


def threads_of(s, name):
    """What the threads of that name have, each once."""
    found = set()
    for tid in os.listdir(f"/proc/{s.pid}/task"):
        with open(f"/proc/{s.pid}/task/{tid}/comm") as f:
            if f.read().strip() == name:
                found.add(schedule(int(tid)))
    return found


@smp_test
def too_few_connections():
    """descriptors of colors and workers are reserved; -c that leaves none for clients is refused"""
    text = run_refused("-o", f"smp_workers={WORKERS}", "-c", str(19 * WORKERS))
    check("Maxconns setting is too low" in text, text)


@smp_test
def colors():
    """8 colors for each worker, or as many as -t says; EVENT_WORKERS overrides the workers"""
    for threads, env, workers, colors_num in ((None, None, WORKERS, 8 * WORKERS), (3, None, WORKERS, 3),
                                              (None, {"EVENT_WORKERS": "1"}, 1, 8)):
        with Server(threads=threads, env=env) as s:
            settings = s.stats(b"settings")
            equal((settings["smp_workers"], settings["num_threads"]), (str(workers), str(colors_num)))


@smp_test
def stats_smp():
    """`stats smp`: a row for each worker and, if there are several, each color; and they add up"""
    with Server(threads=4) as s:
        clients = [s.client() for _ in range(4)]
        for c in clients:
            for _ in range(100):
                equal(c.get(b"none"), b"END\r\n")
        stats = s.stats(b"smp")
        for c in clients:
            c.close()
    workers = {k.split(":")[1] for k in stats if k.startswith("worker:")}
    equal(workers, {str(i) for i in range(WORKERS)})
    if WORKERS == 1:        # one worker keeps no figures of colors: to it they are but a name
        check(int(stats["worker:0:callbacks"]) >= 400, stats)
        return
    threads = {k.split(":")[1] for k in stats if k.startswith("thread:")}
    equal(threads, {"0", "1", "2", "3"})
    per_thread = [int(stats[f"thread:{i}:callbacks"]) for i in range(4)]
    check(all(n >= 100 for n in per_thread), f"callbacks of colors: {per_thread}")
    total = sum(int(stats[f"worker:{w}:callbacks"]) for w in workers)
    check(total >= sum(per_thread), f"workers ran {total}, colors {sum(per_thread)}")


main()
