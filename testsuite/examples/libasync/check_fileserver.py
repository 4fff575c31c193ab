#!/usr/bin/env python3
"""Does the file server give each client its files, and nobody else anything?

usage: check_fileserver.py PROGRAM CLIENT [WORKERS]...

Each number of workers is a run of its own; without one, it is as the program chooses. A relay between the client and
the server changes, repeats or leaves out a frame.
"""
import contextlib
import errno
import hashlib
import hmac
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import check
from check import LIMIT, Failed, Server, can_lack_descriptors, few_descriptors, in_parallel, receive, same

GREETING, TAG = 24, 32
SIZE = 1000003


class Files(Server):
    """It ends by SIGTERM, and prints what was done."""

    def expect(self, line):
        same(self.line(), line, "the server's line")

    def __exit__(self, kind, *_):
        if kind is None:
            self.process.send_signal(signal.SIGTERM)
            line = self.line()
            match = re.fullmatch(r"served (\d+) requests of (\d+) clients, (\d+) bytes", line)
            if not match:
                raise Failed(f"no totals: {line!r}")
            self.totals = tuple(int(number) for number in match.groups())
            same(self.process.wait(LIMIT), 0, "status")
        else:
            self.process.kill()
            self.process.wait()
        self.killer.cancel()
        self.process.stdout.close()


class Client:
    """The client program."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def run(self, port, name, *options, key="key", status=0):
        command = [self.program, *options, str(port), str(self.folder / key), name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        if status == 0:
            sys.stderr.write(done.stderr)
        same(done.returncode != 0, status != 0, f"status {done.returncode} of the client: {done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def fetch(self, port, name, want, *options):
        out = self.folder / f"out.{threading.get_ident()}"
        said = self.run(port, name, "-o", str(out), *options)
        same(out.read_bytes() == want, True, f"the content of {name} ({options})")
        return said


class Relay:
    """Passes on what a client and the server say. In one direction, `edit` gets some frames, and returns others."""

    def __init__(self, port, direction, before, count, edit):
        self.server_port, self.direction, self.edit = port, direction, edit
        self.before, self.count = before, count
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        conn, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.server_port), LIMIT)
        conn.settimeout(LIMIT)
        pairs = {"up": (conn, server), "down": (server, conn)}
        threads = [threading.Thread(target=self.copy, args=(*pair, way)) for way, pair in pairs.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        conn.close()
        server.close()
        self.listener.close()

    def copy(self, source, target, way):
        """Frame by frame until `edit` has had its frames; then bytes as they come."""
        try:
            if way == self.direction:
                target.sendall(exactly(source, GREETING))
                for _ in range(self.before):
                    target.sendall(take_frame(source))
                for frame in self.edit([take_frame(source) for _ in range(self.count)]):
                    target.sendall(frame)
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        # The end of one side is that of the other.
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def take_frame(conn):
    head = exactly(conn, 4)
    return head + exactly(conn, struct.unpack(">I", head)[0] + TAG)


def exactly(conn, size):
    got = b""
    while len(got) < size:
        data = conn.recv(size - len(got))
        if not data:
            raise OSError("the end")
        got += data
    return got


def flip(at, frame=-1):
    def edit(frames):
        changed = bytearray(frames[frame])
        changed[at] ^= 1
        frames[frame] = bytes(changed)
        return frames

    return edit


# In which direction, how many frames pass before, how many are looked at, what becomes of them, and which side sees it.
ATTACKS = (
    ("up", 0, 1, flip(4), "server"),            # the first request
    ("up", 1, 2, flip(9), "server"),            # a later one
    ("up", 1, 2, flip(-1), "server"),           # its tag
    ("up", 1, 2, flip(-TAG), "server"),
    ("up", 1, 2, lambda f: [f[0], f[0], f[1]], "server"),        # repeated
    ("up", 1, 2, lambda f: [f[1], f[0]], "server"),              # moved
    ("up", 1, 2, lambda f: [f[1]], "server"),                    # left out
    ("up", 1, 1, lambda f: [b"\xff" + f[0][1:]], "server"),      # a length beyond all bounds
    ("up", 1, 1, lambda f: [f[0][:3] + bytes([f[0][3] - 1]) + f[0][4:]], "server"),    # one byte less
    ("down", 0, 1, flip(4), "client"),
    ("down", 1, 2, flip(5000), "client"),
    ("down", 1, 2, flip(-1), "client"),
    ("down", 1, 2, lambda f: [f[1], f[0]], "client"),
    ("down", 1, 2, lambda f: [f[0], f[0]], "client"),
)


# ---------------------------------------------------------------- the channel, written a second time


def chacha20(key, iv, data):
    """RFC 8439, 2.4, with the 16 bytes of counter and nonce as one."""
    out = bytearray()
    first = struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I4I", key + iv)

    def quarter(x, a, b, c, d):
        for to, with_, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = x[to] + x[with_] & 0xffffffff
            x[turned] ^= x[to]
            x[turned] = (x[turned] << bits | x[turned] >> 32 - bits) & 0xffffffff

    for block in range(0, len(data), 64):
        start = list(first)
        start[12] += block // 64
        x = list(start)
        for _ in range(10):
            for i in range(4):
                quarter(x, i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        stream = struct.pack("<16I", *(a + b & 0xffffffff for a, b in zip(x, start)))
        out += bytes(a ^ b for a, b in zip(data[block:block + 64], stream))
    return bytes(out)


class Seal:
    """One direction."""

    def __init__(self, key, name, greetings):
        def derive(purpose):
            return hmac.digest(key, purpose + b"\0" + name + b"\0" + greetings, hashlib.sha256)

        self.encrypt, self.authenticate = derive(b"encrypt"), derive(b"authenticate")
        self.number = 0

    def turn(self, length, text):
        """The number of the frame, and its text en- or decrypted."""
        number = struct.pack(">Q", self.number)
        self.number += 1
        return number + length, chacha20(self.encrypt, bytes(8) + number, text)

    def tag(self, head, text):
        return hmac.digest(self.authenticate, head + text, hashlib.sha256)

    def close(self, text):
        length = struct.pack(">I", len(text))
        head, text = self.turn(length, text)
        return length + text + self.tag(head, text)

    def open(self, conn):
        frame = take_frame(conn)
        head, text = self.turn(frame[:4], frame[4:-TAG])
        same(frame[-TAG:], self.tag(head, frame[4:-TAG]), "the tag")
        return text


class Channel:
    """A client that is no program of ours."""

    def __init__(self, server, key):
        self.conn = server.connect()
        greeting = b"libasyn1" + os.urandom(16)
        self.conn.sendall(greeting)
        greetings = greeting + exactly(self.conn, GREETING)
        self.to_server, self.from_server = (Seal(key, name, greetings) for name in (b"from client", b"to client"))

    def ask(self, operation, what, error=0):
        number = self.to_server.number
        self.conn.sendall(self.to_server.close(struct.pack(">IB", number, operation) + what))
        answer = self.from_server.open(self.conn)
        same(struct.unpack(">II", answer[:8]), (number, error), "number and error")
        return answer[8:]


OPEN, READ, CLOSE = 1, 2, 3


def check_requests(server, client, contents):
    channel = Channel(server, (client.folder / "key").read_bytes())

    def read(handle, pos, size, error=0):
        return channel.ask(READ, struct.pack(">IQI", handle, pos, size), error)

    for handle in range(64):
        got = struct.unpack(">IQQ", channel.ask(OPEN, b"small"))
        changed = (client.folder / "root/small").stat().st_mtime
        same(got, (handle, len(contents["small"]), int(changed)), "the file")
    channel.ask(OPEN, b"small", errno.EMFILE)
    same(read(63, 0, 65536), contents["small"])
    same(read(0, 1, 3), contents["small"][1:4])
    same(read(0, 2, 0), b"")
    for pos in (6, 7, 1 << 40, (1 << 63) - 65537):
        same(read(0, pos, 100), b"")
    read(0, 0, 65537, errno.EINVAL)
    read(0, 1 << 63, 1, errno.EINVAL)
    read(64, 0, 1, errno.EBADF)
    channel.ask(CLOSE, struct.pack(">I", 5))
    channel.ask(CLOSE, struct.pack(">I", 5), errno.EBADF)
    read(5, 0, 1, errno.EBADF)
    same(channel.ask(OPEN, b"file")[:4], struct.pack(">I", 5))
    same(read(5, 999999, 100), contents["file"][999999:])
    same(read(5, 70000, 5000), contents["file"][70000:75000])
    for operation, what in ((READ, b""), (READ, bytes(17)), (CLOSE, b""), (CLOSE, bytes(5)), (0, bytes(4)), (9, bytes(4))):
        channel.ask(operation, what, errno.EINVAL)
    channel.ask(CLOSE, struct.pack(">I", 5))
    channel.ask(OPEN, b"", errno.EACCES)
    channel.ask(OPEN, b"small\0", errno.EACCES)
    channel.conn.close()


# ---------------------------------------------------------------- others' programs


def check_attacks(server, client):
    for direction, before, count, edit, where in ATTACKS:
        relay = Relay(server.port, direction, before, count, edit)
        said = client.run(relay.port, "file", "-b", "16384", status=1)
        relay.thread.join()
        if where == "server":
            server.expect("client: refused frame")
            same("ended the connection" in said or "reset" in said or "Broken pipe" in said, True, f"it said {said!r}")
        else:
            same("refused frame" in said, True, f"it said {said!r}")


def check_strangers(server, client):
    """Who does not have the key gets nothing, whatever it says."""
    said = client.run(server.port, "file", key="other", status=1)
    same("the server ended the connection" in said or "reset" in said, True, f"it said {said!r}")
    server.expect("client: refused frame")

    def says(data, line):
        with server.connect() as conn:
            conn.sendall(data)
            conn.shutdown(socket.SHUT_WR)
            got = b""
            try:
                got = receive(conn)
            except ConnectionResetError:
                pass
            same(len(got) <= GREETING, True, "bytes for a stranger")
            if line:
                server.expect(line)

    greeting = b"libasyn1" + b"0" * 16
    says(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "client: no greeting")
    says(greeting[:10], None)
    says(greeting + b"\0\0", None)
    says(greeting + struct.pack(">I", 5) + b"x" * (5 + TAG), "client: refused frame")
    says(greeting + struct.pack(">I", 0) + b"x" * TAG, "client: refused frame")
    says(greeting + struct.pack(">I", 1 << 31) + b"x" * 1000, "client: refused frame")
    with server.connect() as conn:
        conn.sendall(greeting)
        same(len(receive(conn, GREETING)), GREETING, "bytes of the greeting")


def check_errors(server, client):
    for name, error in (("missing", "No such file"), ("sub", "Is a directory"), ("fifo", "Permission denied"),
                        ("../key", "Permission denied"), ("sub/../../key", "Permission denied"),
                        ("file/x", "Not a directory"), ("..", "Permission denied"), ("n" * 300, "name too long")):
        said = client.run(server.port, name, status=1)
        same(error in said, True, f"for {name}: {said!r}")


def check_reading(server, client, folder, contents):
    for name, body in contents.items():
        for options in ((), ("-b", "1000", "-w", "1"), ("-w", "64", "-b", "4096"), ("-r", "3", "-n", "2")):
            if len(body) > SIZE and "1000" in options:
                continue
            said = client.fetch(server.port, name, body, *options)
            times = 6 if "-r" in options else 1
            same(said, f"{len(body) * times} bytes\n")
    with open(folder / "root/file", "rb") as file:
        # What is not in memory any more is read by a thread, also if it begins within a request.
        os.posix_fadvise(file.fileno(), 5 * 4096, 0, os.POSIX_FADV_DONTNEED)
    client.fetch(server.port, "file", contents["file"])
    same(client.run(server.port, "file", "-n", "50", "-k"), f"{50 * SIZE} bytes\n")
    in_parallel(8, lambda n: client.fetch(server.port, "file", contents["file"], "-b", str(5000 + n)))


def check_gone(server, client):
    """Clients that ask for much and go."""
    for _ in range(5):
        load = subprocess.Popen([client.program, "-n", "20", "-r", "10000", "-k", str(server.port),
                                 str(client.folder / "key"), "file"], stdout=subprocess.DEVNULL)
        while len(os.listdir(f"/proc/{server.process.pid}/fd")) < 25:
            if load.poll() is not None:
                raise Failed("the client ended")
        load.kill()
        load.wait()


def check_descriptors(folder, client, workers):
    args = (str(folder / "key"), str(folder / "root"))
    with Files(*args, workers=workers, preexec_fn=few_descriptors(30)) as server:
        conns = [server.connect() for _ in range(60)]
        for conn in conns:
            conn.close()
        client.fetch(server.port, "small", b"small\n")


def run(folder, program, workers, contents):
    client = Client(program, folder)
    args = (str(folder / "key"), str(folder / "root"))
    with Files(*args, workers=workers) as server:
        check_reading(server, client, folder, contents)
        check_errors(server, client)
        check_requests(server, client, contents)
        check_strangers(server, client)
        check_attacks(server, client)
        check_gone(server, client)
        client.fetch(server.port, "small", contents["small"])
    with Files("-s", *args, workers=workers) as server:
        same(client.run(server.port, "file", "-n", "20", "-r", "2", "-b", "20000"), f"{40 * SIZE} bytes\n")
        client.fetch(server.port, "file", contents["file"], "-w", "1")
    requests = 20 * (1 + 2 * -(-SIZE // 20000)) + 1 + -(-SIZE // 65536)
    same(server.totals, (requests, 21, 41 * SIZE), "totals")
    if can_lack_descriptors():
        check_descriptors(folder, client, workers)


def main():
    check.PROGRAM, client = sys.argv[1:3]
    contents = {"file": os.urandom(SIZE), "empty": b"", "small": b"small\n", "sub/one block": os.urandom(65536)}
    for workers in sys.argv[3:] or [None]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for path, body in contents.items():
                file = folder / "root" / path
                file.parent.mkdir(parents=True, exist_ok=True)
                with open(file, "wb") as out:
                    out.write(body)
                    out.flush()
                    os.fsync(out.fileno())
            os.mkfifo(folder / "root/fifo")
            (folder / "key").write_bytes(os.urandom(32))
            (folder / "other").write_bytes(os.urandom(32))
            run(folder, client, workers, contents)


try:
    main()
except Failed as failure:
    sys.exit(f"failed: {failure}")
