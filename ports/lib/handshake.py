"""A client of TLS that goes on only as far as it is told to."""
import contextlib
import socket
import ssl

IP_BIND_ADDRESS_NO_PORT = 24        # ip(7); Python has no name for it before 3.12


def connection(port, limit, source=""):
    """To loopback. From `source`, if it is given: only then is the socket bound, and its port free for other addresses."""
    sock = socket.socket()
    try:
        sock.settimeout(limit)
        if source:
            sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            sock.bind((source, 0))
        sock.connect(("127.0.0.1", port))
    except OSError:
        sock.close()
        raise
    return sock


class Handshake:
    """Says hello, on a socket that is connected, and nothing more by itself."""

    def __init__(self, connected, ctx):
        self.socket = connected
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.coming, self.going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = ctx.wrap_bio(self.coming, self.going)
        self.attempt(self.tls.do_handshake)
        self.socket.sendall(self.going.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def attempt(self, f, *args):
        """None: it wants more of what is coming."""
        with contextlib.suppress(ssl.SSLWantReadError):
            return f(*args) or True

    def hear(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.coming.write(data)

    def answer(self):
        """To the server's flight; it is for the caller to send."""
        while self.attempt(self.tls.do_handshake) is None and not self.going.pending:
            self.hear()
        return self.going.read()

    def go_on(self, f, *args):
        """What there is to say is said byte by byte."""
        while True:
            done = self.attempt(f, *args)
            for byte in self.going.read():
                self.socket.sendall(bytes([byte]))
            if done:
                return done
            self.hear()
