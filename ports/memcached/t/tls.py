#!/usr/bin/env python3
"""TLS with -o smp_workers: what a client is told in a handshake it may act on at once."""
import os
import socket
import ssl
import sys
import tempfile

from harness import BINARY, PATIENCE, WORKERS, Server, check, equal, main, smp_test

sys.path.insert(0, os.environ["PORTS_LIB"])
from sent import CCS, HELD, Sent  # noqa: E402

CERTS = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "t")
OPTIONS = f"ssl_chain_cert={CERTS}/server_crt.pem,ssl_key={CERTS}/server_key.pem,ssl_session_cache"
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


def context(version):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    c.minimum_version = c.maximum_version = version
    if version == VERSIONS[0]:
        c.options |= ssl.OP_NO_TICKET
    return c


def connect(s, ctx, session=None, source=""):
    c = socket.create_connection(("127.0.0.1", s.port), PATIENCE, (source, 0))
    return ctx.wrap_socket(c, session=session)


def tls_server(**kw):
    return Server("-Z", "-o", OPTIONS, **kw)


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
                stopped = sent.next()
                with connect(s, ctx, first.session) as again:
                    equal(talk(again), b"MN\r\n")
                    check(again.session_reused, "not resumed")
                stopped.close()
                equal(talk(first), b"MN\r\n")


main()
