"""A client of TLS that goes on only as far as it is told to."""
import contextlib
import socket
import ssl


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
