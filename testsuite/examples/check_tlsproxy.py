#!/usr/bin/env python3
"""The TLS proxy passes on all bytes of many clients, both ways, also when one side ends early.

usage: check_tlsproxy.py TLSPROXY
"""
import select
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading

CLIENTS, SIZE, TIMEOUT = 16, 1_000_000, 60


class Echo(socketserver.StreamRequestHandler):
    """Sends back what it gets, and `bye` when asked to, with the end of the connection behind it."""

    def handle(self):
        while data := self.request.recv(65536):
            if data == b"bye":
                self.request.sendall(b"bye" * 100_000)
                return
            self.request.sendall(data)


class Backend(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = CLIENTS


def exchange(sock, payload):
    """Sends and receives at the same time, in one thread: an SSL object is not for two. Ends with as many bytes, or EOF."""
    sock.setblocking(False)
    sent, got = 0, bytearray()
    while len(got) < len(payload):
        is_stuck = True
        try:
            if sent < len(payload):
                sent += sock.send(payload[sent : sent + 65536])
                is_stuck = False
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        try:
            data = sock.recv(65536)
            if not data:
                break
            got += data
            is_stuck = False
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        if is_stuck and not any(select.select([sock], [sock] if sent < len(payload) else [], [], TIMEOUT)):
            break
    sock.settimeout(TIMEOUT)
    return bytes(got)


def converse(port, tls, number, errors):
    payload = bytes([number]) * SIZE
    try:
        with tls.wrap_socket(socket.create_connection(("127.0.0.1", port), TIMEOUT)) as sock:
            got = exchange(sock, payload)
            if got != payload:
                errors.append(f"client {number}: {len(got)} bytes came back")
            sock.sendall(b"bye")
            end = b""
            while data := sock.recv(65536):
                end += data
            if end != b"bye" * 100_000:
                errors.append(f"client {number}: {len(end)} bytes at the end")
    except OSError as error:
        errors.append(f"client {number}: {error}")


def certificate(place):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-keyout", f"{place}/key.pem", "-out", f"{place}/cert.pem"],
                   check=True, capture_output=True)
    with open(f"{place}/both.pem", "w") as both:
        for part in ("cert", "key"):
            both.write(open(f"{place}/{part}.pem").read())
    tls = ssl.create_default_context(cafile=f"{place}/cert.pem")
    tls.check_hostname = False
    # The proxy closes without close_notify, as many servers do.
    tls.options |= getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return tls


def check(program, place, backend):
    tls = certificate(place)
    proxy = subprocess.Popen([program, f"{place}/both.pem", str(backend.server_address[1]), "0"], stdout=subprocess.PIPE,
                             text=True)
    try:
        port = int(proxy.stdout.readline().split()[1])
        errors = []
        threads = [threading.Thread(target=converse, args=(port, tls, n, errors)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        proxy.terminate()
        status = proxy.wait(TIMEOUT)
        return "\n".join(errors) or (f"ended with status {status}" if status else 0)
    finally:
        proxy.kill()
        proxy.wait()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    if shutil.which("openssl") is None:
        print("openssl is not here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as place, Backend(("127.0.0.1", 0), Echo) as backend:
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        error = check(sys.argv[1], place, backend)
        backend.shutdown()
    sys.exit(error)


main()
