"""Clients, on plain sockets, so that what a server sends is seen as it is."""
import contextlib
import gzip
import hashlib
import socket
import ssl
import subprocess
import time

import handshake

LIMIT = 60              # seconds that anything may take
ZIP = {"Accept_Encoding": "gzip"}


def wait_for(f):
    end = time.monotonic() + LIMIT
    while not f():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def until(f):
    if not wait_for(f):
        raise AssertionError("waited in vain")


def tls_context(**kw):
    c = ssl.create_default_context()
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    for k, v in kw.items():
        setattr(c, k, v)
    return c


def connect(n, port="http", ctx=None, name=None, session=None, source=""):
    s = handshake.connection(n.ports[port], LIMIT, source)
    return ctx.wrap_socket(s, server_hostname=name, session=session) if ctx else s


class Handshake(handshake.Handshake):
    def __init__(self, n, port, version, ctx=None, source=""):
        super().__init__(connect(n, port, source=source), ctx or tls_context(minimum_version=version, maximum_version=version))


def read_all(s):
    out = b""
    with contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
        while True:
            d = s.recv(65536)
            if not d:
                break
            out += d
    return out


def parse(f):
    """One response: (status, headers, body as a client sees it, whole or not)."""
    line = f.readline()
    if not line:
        return None
    status = int(line.split()[1])
    head = {}
    for line in f:
        if line == b"\r\n":
            break
        k, _, v = line.decode().partition(":")
        head[k.lower()] = v.strip()
    whole, body = True, b""
    if head.get("transfer-encoding") == "chunked":
        while True:
            size = f.readline()
            n = int(size, 16) if size.strip() else -1
            if n <= 0:
                whole = n == 0
                f.readline()
                break
            body += f.read(n)
            f.readline()
    elif "content-length" in head:
        body = f.read(int(head["content-length"]))
        whole = len(body) == int(head["content-length"])
    elif status != 304:
        body = f.read()
    if head.get("content-encoding") == "gzip" and whole:
        body = gzip.decompress(body)
    for k in ("date", "server"):
        head.pop(k, None)
    return status, head, body, whole


def request(path, method="GET", body=b"", close=True, **headers):
    out = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if close:
        out += "Connection: close\r\n"
    if body:
        out += f"Content-Length: {len(body)}\r\n"
    for k, v in headers.items():
        out += f"{k.replace('_', '-')}: {v}\r\n"
    return out.encode() + b"\r\n" + body


def talk(n, data, port="http", ctx=None, name=None, count=1):
    with connect(n, port, ctx, name) as s, s.makefile("rb") as f:
        s.sendall(data)
        return [parse(f) for _ in range(count)]


def get(n, path, port="http", ctx=None, **headers):
    return talk(n, request(path, **headers), port, ctx)[0]


def brief(r):
    """What two servers are compared by."""
    if r is None:
        return None
    status, head, body, whole = r
    return status, sorted(head.items()), len(body), hashlib.sha1(body).hexdigest(), whole


def curl(n, *args):
    r = subprocess.run(["curl", "-sk", "--max-time", str(LIMIT)] + list(args), capture_output=True)
    return r.returncode, len(r.stdout), hashlib.sha1(r.stdout).hexdigest()
