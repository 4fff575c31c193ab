"""Cases: what each returns is compared with what stock nginx answered."""
import contextlib
import hashlib
import io
import os
import socket
import ssl

from client import (ZIP, Handshake, brief, connect, curl, get, parse, read_all, request, talk,
                    tls_context, until)
from told import PORTS, VERSIONS, resumed
from world import text

CASES = []


def case(f):
    CASES.append((f.__name__, f))
    return f


@case
def static(n):
    return [brief(get(n, p)) for p in ("/0", "/1k", "/100k", "/1m", "/none", "/sub", "/../etc")]


@case
def ranges(n):
    return [brief(get(n, "/100k", Range=r)) for r in ("bytes=0-9", "bytes=-5", "bytes=102399-", "bytes=9-5", "bytes=102400-")] \
        + [get(n, "/100k", Range="bytes=0-1,5-6")[0]]


@case
def conditional(n):
    etag = get(n, "/1k")[1]["etag"]
    return [brief(get(n, "/1k", If_None_Match=etag)), brief(get(n, "/1k", If_Match='"x"'))]


@case
def keep_alive(n):
    with connect(n) as s, s.makefile("rb") as f:
        out = []
        for i in range(50):
            s.sendall(request(("/1k", "/gz/5k", "/none")[i % 3], close=False, **ZIP))
            out.append(brief(parse(f)))
        return out


@case
def pipelining(n):
    paths = ["/1k", "/gz/100k", "/0", "/proxygz/30000", "/gz/1m", "/fcgi/x", "/1k"] * 3
    data = b"".join(request(p, close=False, **ZIP) for p in paths)
    return [brief(r) for r in talk(n, data, count=len(paths))]


@case
def byte_by_byte(n):
    with connect(n) as s, s.makefile("rb") as f:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for b in request("/gz/5k", **ZIP):
            s.sendall(bytes([b]))
        return brief(parse(f))


@case
def compressed(n):
    return [brief(get(n, f"/{where}/{f}", **ZIP)) for where in ("gz", "small", "aiogz")
            for f in ("0", "1k", "5k", "100k", "1m")]


@case
def slow_reader(n):
    with connect(n) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(request("/gz/1m", **ZIP))
        total = b""
        while True:
            d = s.recv(1000 if len(total) < 100000 else 65536)
            if not d:
                break
            total += d
        return brief(parse(io.BytesIO(total)))


@case
def subrequests(n):
    return [brief(get(n, "/ssi/page", **ZIP)), brief(get(n, "/ssi/page"))]


@case
def files_in_threads(n):
    out = [brief(get(n, "/aio/" + f)) for f in ("1k", "100k", "1m", "none", "sub", "0")]
    out += [brief(get(n, "/aio/" + f, "tls", tls_context())) for f in ("1k", "1m", "none")]
    with connect(n) as s, s.makefile("rb") as f:
        paths = ["/aio/5k", "/aio/none", "/aiogz/100k", "/aio/0"] * 5
        s.sendall(b"".join(request(p, close=False, **ZIP) for p in paths))
        return out + [brief(parse(f)) for _ in paths]


@case
def proxied(n):
    out = [brief(get(n, f"/{where}/{p}", **ZIP)) for where in ("proxy", "proxygz", "flushgz", "tlsproxy")
           for p in (("100", "100000", "1000000", "slow/200000") if where != "tlsproxy" else ("1k", "1m", "gz/1m"))]
    out += [brief(talk(n, request("/proxy/x", "POST", text(k)))[0]) for k in (1, 5000, 300000)]
    return out + [get(n, "/gone")[0]]


@case
def upstream_cut(n):
    """The upstream breaks off; how much of it came through is a matter of timing."""
    return [(r[0], r[3]) for r in (get(n, "/proxygz/cut/300000", **ZIP), get(n, "/proxy/cut/300000"))]


@case
def fastcgi(n):
    return [brief(talk(n, request("/fcgi/a", "POST", text(k), **ZIP))[0]) for k in (1, 100, 200000)]


@case
def authorized(n):
    return [get(n, "/auth/1k", X_Code=c)[0] for c in ("200", "403", "401")]


@case
def real_ip(n):
    return get(n, "/ip", X_Real_IP="10.1.2.3")[2]


@case
def limits(n):
    out = [get(n, "/req/1k", X_Mark=f"a{i // 3}")[0] for i in range(6)]
    with connect(n) as s:
        s.sendall(request("/conn/100k", X_Mark="b"))
        s.recv(10)
        out.append(get(n, "/conn/1k", X_Mark="b")[0])
    return out + [brief(get(n, "/rate/1m", **ZIP))]


@case
def logged(n):
    get(n, "/100k", X_Mark="logged")
    get(n, "/1k", "tls", tls_context(), X_Mark="logged")
    log = n.dir + "/access.log"
    until(lambda: open(log).read().count("logged") == 2)
    return [line for line in open(log) if "logged" in line]


@case
def timeouts(n):
    """Who says nothing, or begins no handshake, is left after client_header_timeout."""
    with connect(n) as a, connect(n, "tls") as b, connect(n, "tls", tls_context()) as c, connect(n, "stls") as d:
        return [read_all(s) for s in (a, b, c, d)]


@case
def tls_stalls(n):
    """Handshakes that stop after a ClientHello: they go on with the client, or end with it, or with the timeout."""
    out = []
    with contextlib.ExitStack() as stack:
        silent = []
        for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for port in ("tls", "hrr", "mtls", "stls"):
                with Handshake(n, port, v) as h:
                    h.hear()
                    with Handshake(n, port, v), Handshake(n, port, v) as heard:
                        heard.hear()
                    h.go_on(h.tls.do_handshake)
                    h.go_on(h.tls.write, request("/1k"))
                    out.append(h.go_on(h.tls.read, 12))
                silent.append(stack.enter_context(Handshake(n, port, v)))
        for h in silent:
            read_all(h.socket)
    until(lambda: get(n, "/status")[2].split()[2] == b"1")
    return out


@case
def tls_versions(n):
    out = []
    for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for port in ("tls", "hrr"):
            ctx = tls_context(minimum_version=v, maximum_version=v)
            with connect(n, port, ctx) as s, s.makefile("rb") as f:
                s.sendall(request("/1m"))
                out.append((s.version(), s.cipher(), brief(parse(f))))
    return out


@case
def tls_names(n):
    out = []
    for name in (None, "localhost", "two.test", "none.test"):
        with connect(n, "tls", tls_context(), name) as s:
            out.append(hashlib.sha1(s.getpeercert(True)).hexdigest())
    return out


@case
def tls_resumption(n):
    out = []
    for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        ctx, session = tls_context(minimum_version=v, maximum_version=v), None
        for _ in range(3):
            with connect(n, "tls", ctx, session=session) as s, s.makefile("rb") as f:
                s.sendall(request("/p"))
                out.append((s.session_reused, parse(f)[2]))
                session = s.session
    return out


@case
def tls_resumption_by_number(n):
    """Without tickets, so that what the server does not know yet is not resumed."""
    return [(port, v.name, clients, resumed(n, port, v, clients, 50)) for port in PORTS for v in VERSIONS for clients in (1, 10)]


@case
def tls_refused_certificate(n):
    """Its session is not resumed, and its request not answered."""
    out = []
    for v in VERSIONS:
        ctx, session = tls_context(minimum_version=v, maximum_version=v), None
        ctx.load_cert_chain(f"{n.world}/certs/other.crt", f"{n.world}/certs/other.key")
        for _ in range(3):
            with connect(n, "sidmtls", ctx, session=session) as s, s.makefile("rb") as f:
                s.sendall(request("/1k"))
                out.append((v.name, s.session_reused, parse(f)[0]))
                session = s.session
    return out


@case
def tls_client_certificates(n):
    out = []
    for name in (None, "one", "other"):
        for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            ctx = tls_context(maximum_version=v)
            if name:
                ctx.load_cert_chain(f"{n.world}/certs/{name}.crt", f"{n.world}/certs/{name}.key")
            r = get(n, "/", "mtls", ctx)
            out.append((r[0], r[2]))
    return out


@case
def tls_nonsense(n):
    out = []
    for junk in (b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x01\xff\xff" + bytes(100)):
        with connect(n, "tls") as s:
            s.sendall(junk)
            s.shutdown(socket.SHUT_WR)
            out.append(read_all(s)[:12])
    with contextlib.suppress(ssl.SSLError):
        connect(n, "tls", tls_context(maximum_version=ssl.TLSVersion.TLSv1_1)).close()
        out.append("TLS 1.1")
    return out


@case
def tls_keep_alive(n):
    with connect(n, "tls", tls_context()) as s, s.makefile("rb") as f:
        out = []
        for i in range(20):
            s.sendall(request(("/1k", "/gz/1m", "/1m", "/gz/100k")[i % 4], close=False, **ZIP))
            out.append(brief(parse(f)))
        return out


@case
def http2(n):
    base = f"https://127.0.0.1:{n.ports['tls']}"
    one = [curl(n, "--http2", *z, f"{base}{p}") for z in ((), ("--compressed",)) for p in ("/1k", "/1m", "/gz/1m", "/proxygz/500000", "/none")]
    many = curl(n, "--http2", "--compressed", "-Z", "--parallel-max", "20", *[f"{base}/gz/100k?{i}" for i in range(40)])
    return one, many[:2]


@case
def streams(n):
    out = []
    for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        ctx = tls_context(minimum_version=v, maximum_version=v)
        out += [brief(get(n, p, "stls", ctx, **ZIP)) for p in ("/1k", "/1m", "/gz/1m")]
    return out + [brief(get(n, p, "splain", **ZIP)) for p in ("/1k", "/1m", "/gz/1m")]
