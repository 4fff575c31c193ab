"""What a client is told it may act on at once, however late the thread is that told it: TLS sessions can be resumed, and
requests that were answered are over."""
import os
import ssl
import threading

from client import Handshake, connect, get, parse, request, tls_context
from sent import CCS, DATA, HANDSHAKE, HELD, Sent
from world import text

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
# by number: kept by all processes, by one, after a long key exchange, after a client's certificate
PORTS = ("sid", "builtin", "sidlong", "sidmtls")
SSL_BUFFER, SSL_RECORD = 65536, 16384


def context(n, port, version):
    ctx = tls_context(minimum_version=version, maximum_version=version)
    if port == "sidlong":
        ctx.set_ecdh_curve("secp384r1")         # else the server asks for it, by one flight more
    if port == "sidmtls":
        ctx.load_cert_chain(f"{n.world}/certs/one.crt", f"{n.world}/certs/one.key")
    return ctx


def ask(n, port, ctx, session=None):
    """A connection with one request: resumed or not, and its session, for the next one."""
    with connect(n, port, ctx, session=session) as s, s.makefile("rb") as f:
        if s.version() == "TLSv1.3":    # which tells of sessions later
            s.sendall(request("/1k"))
            parse(f)
        return s.session_reused, s.session


def resumed(n, port, version, clients, count):
    """How many of `count` come back at once and find their session; `clients` at a time."""
    found = []

    def come_and_come_again():
        ctx = context(n, port, version)
        for _ in range(count // clients):
            found.append(ask(n, port, ctx, ask(n, port, ctx)[1])[0])
    threads = [threading.Thread(target=come_and_come_again) for _ in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found.count(True)


def has_tasks(start):
    return start.side.name.startswith("workers=")


def come_while_held(n, sent, port, version, is_task):
    """Its handshake's last flight comes; whoever sent it does nothing more until all is over. Is it resumed?"""
    ctx = context(n, port, version)
    with Handshake(n, port, version, ctx, HELD) as h:
        flight = sent.next(h.socket) if is_task else None
        h.socket.sendall(h.answer())    # before the task looks for it
        if flight:
            flight.close()
        h.go_on(h.tls.do_handshake)
        while not (h.tls.session and h.tls.session.id and (version == VERSIONS[0] or h.tls.session.has_ticket)):
            h.hear()
            h.attempt(h.tls.read, 1)
        return ask(n, port, ctx, h.tls.session)[0]


def session_is_kept_before_it_is_told(start):
    """A task that is not back from a handshake when the client comes again."""
    sent = Sent(start.world, ("task", HANDSHAKE), ("task", CCS), ("task", DATA))
    n, wrong = start(**sent.env), []
    for port in PORTS:
        for version in VERSIONS:
            with sent:
                if not come_while_held(n, sent, port, version, has_tasks(start)):
                    wrong.append(f"{port}, {version.name}: not resumed")
    return wrong + n.stop()


def session_is_kept_for_other_processes(start):
    """The same where another process is asked, and the first one's loop is late. Stock nginx keeps it only then."""
    if not has_tasks(start):
        return []
    sent = Sent(start.world, ("loop", CCS), ("task", CCS))
    n, wrong = start(processes=2, **sent.env), []
    for port in ("sid", "sidlong", "sidmtls"):
        with sent:
            if not come_while_held(n, sent, port, VERSIONS[0], False):
                wrong.append(f"{port}: not resumed")
    return wrong + n.stop()


def sessions_of_processes(start):
    """Several processes, one cache, many clients. Of stock nginx some come too early."""
    if not has_tasks(start):
        return []
    n, wrong = start(processes=3), []
    for version in VERSIONS:
        for clients in (1, 10):
            count = resumed(n, "sid", version, clients, 300)
            if count != 300:
                wrong.append(f"{version.name}, {clients} clients: {count} of 300 resumed")
    return wrong + n.stop()


def make_full(n):
    """A file whose answer is SSL_BUFFER bytes with its head. True: it is."""
    name, head = n.world + "/www/full", 500
    for _ in range(2):
        with open(name, "wb") as f:
            f.write(text(SSL_BUFFER - head))
        os.utime(name, (1e9, 1e9))
        with connect(n, "tls", tls_context()) as s, s.makefile("rb") as f:
            s.sendall(request("/full", close=False))
            before, head = head, sum(len(line) for line in iter(f.readline, b"\r\n")) + 2
    return head == before


def answer_is_over_when_it_is_there(start):
    """The last bytes of an answer are a task's whole buffer, and that is not back when the client asks again, where only one
    request at a time is allowed."""
    sent = Sent(start.world, ("task", DATA), but=SSL_BUFFER // SSL_RECORD - 1)
    n, wrong = start(**sent.env), []
    if not make_full(n):
        wrong.append("the answer does not fill the buffer")
    with sent, connect(n, "tls", context(n, "tls", VERSIONS[0]), source=HELD) as s, s.makefile("rb") as f:
        s.sendall(request("/one/full", close=False, X_Mark="m"))
        parse(f)
        status = get(n, "/one/full", "tls", tls_context(), X_Mark="m")[0]
        if status != 200:
            wrong.append(f"asked again: {status}")
    return wrong + n.stop()


FAULTS = [(f.__name__, f) for f in (session_is_kept_before_it_is_told, session_is_kept_for_other_processes, sessions_of_processes,
                                 answer_is_over_when_it_is_there)]
