#!/usr/bin/env python3
"""Does the web server answer as it should?

usage: check_webserver.py PROGRAM [WORKERS]...

Each number of workers is a run of its own; without one, it is as the program chooses. Nothing here waits for a time,
but for an answer that must come.
"""
import contextlib
import os
import re
import signal
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

import check
from check import Failed, Server, can_lack_descriptors, few_descriptors, in_parallel, same

FILES = {
    "index.html": b"<p>index\n",
    "empty.txt": b"",
    "one.css": b"x",
    "hundred.js": b"h" * 100,
    "page.html": b"0123456789" * 1640,
    "photo.jpg": os.urandom(100000),
    "full.bin": os.urandom(1 << 20),
    "large.bin": os.urandom((1 << 20) + 1),
    "huge.tar": os.urandom(6000000),
    "sub/index.html": b"in a folder\n",
    "sub/with space.txt": b"decoded\n",
    "sub/.../x.txt": b"three dots\n",
}
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".jpg": "image/jpeg",
         ".txt": "text/plain", ".bin": "application/octet-stream", ".tar": "application/x-tar"}


class Answer:
    """One answer, read from a file of a connection."""

    def __init__(self, stream, is_head=False):
        line = stream.readline().decode()
        match = re.fullmatch(r"HTTP/1\.1 (\d+) [A-Za-z ]+\r\n", line)
        if not match:
            raise Failed(f"no status line: {line!r}")
        self.status = int(match[1])
        self.fields = {}
        while (line := stream.readline()) != b"\r\n":
            name, value = line.decode().rstrip("\r\n").split(": ", 1)
            same(name in self.fields, False, f"two fields {name}")
            self.fields[name] = value
        has_body = not is_head and self.status != 304
        self.body = stream.read(int(self.fields["Content-Length"])) if has_body else b""
        if has_body:
            same(len(self.body), int(self.fields["Content-Length"]), "bytes of the body")


class Client:
    def __init__(self, server):
        self.conn = server.connect()
        self.stream = self.conn.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.conn.close()

    def send(self, data):
        self.conn.sendall(data)

    def get(self, path, *fields, method="GET", version="1.1"):
        self.send(query(path, *fields, method=method, version=version))
        return Answer(self.stream, method == "HEAD")

    def expect_end(self):
        same(self.stream.read(1), b"", "after the end")


def query(path, *fields, method="GET", version="1.1"):
    lines = [f"{method} {path} HTTP/{version}", "Host: test", *fields]
    return "".join(line + "\r\n" for line in lines + [""]).encode()


def name_of(path):
    return "/" + path.replace(" ", "%20")


def expect(answer, status, body=None):
    same(answer.status, status, "status")
    if body is not None:
        same(answer.body == body, True, f"the body, {len(answer.body)} bytes of {len(body)},")


def check_files(server):
    with Client(server) as client:
        for _ in range(2):
            for path, body in FILES.items():
                answer = client.get(name_of(path))
                expect(answer, 200, body)
                same(answer.fields["Content-Type"], TYPES[Path(path).suffix], "type")
                head = client.get(name_of(path), method="HEAD")
                expect(head, 200, b"")
                same(head.fields["Content-Length"], str(len(body)), "length for HEAD")
                for field in ("Date", "Last-Modified", "ETag"):
                    same(field in head.fields, True, field)
        expect(client.get("/"), 200, FILES["index.html"])
        expect(client.get("/sub/?query=/../x"), 200, FILES["sub/index.html"])
        expect(client.get("//sub/./with%20space.t%78t"), 200, FILES["sub/with space.txt"])
        expect(client.get(f"http://test:{server.port}/one.css"), 200, b"x")
        answer = client.get("/sub")
        expect(answer, 301)
        same(answer.fields["Location"], "/sub/", "Location")
        for path in ("/nothing", "/one.css/x", "/nothing/", "/" + "n" * 300):
            expect(client.get(path), 404)
        expect(client.get("/fifo"), 403)
        expect(client.get("/one.css"), 200, b"x")


def check_kept(server):
    with Client(server) as client:
        expect(client.get("/one.css"), 200, b"x")
        expect(client.get("/one.css", "Connection: close"), 200, b"x")
        client.expect_end()
    with Client(server) as client:
        expect(client.get("/one.css", version="1.0"), 200, b"x")
        client.expect_end()
    with Client(server) as client:
        for _ in range(2):
            answer = client.get("/one.css", "Connection: Keep-Alive", version="1.0")
            same(answer.fields["Connection"], "keep-alive", "Connection")
        client.send(b"GET /one.css HTTP/1.0\r\n\r\n")
        expect(Answer(client.stream), 200, b"x")
        client.expect_end()


def check_pipelined(server):
    paths = [*FILES, "nothing"] * 3 + ["hundred.js"] * 2000
    with Client(server) as client:
        data = b"".join(query(name_of(path)) for path in paths)

        def send(_):
            client.send(data)

        def read(_):
            for path in paths:
                expect(Answer(client.stream), 200 if path in FILES else 404, FILES.get(path))

        in_parallel(2, lambda n: (send, read)[n](n))
        # A request in pieces of one byte, with the next one behind its last byte.
        for byte in query("/one.css") * 2:
            client.send(bytes([byte]))
        for _ in range(2):
            expect(Answer(client.stream), 200, b"x")
        client.send(query("/one.css") + query("/hundred.js")[:20])
        expect(Answer(client.stream), 200, b"x")
        client.send(query("/hundred.js")[20:])
        expect(Answer(client.stream), 200, b"h" * 100)


def check_conditions(server):
    with Client(server) as client:
        for path in ("page.html", "huge.tar"):
            first = client.get(name_of(path), method="HEAD")
            modified, etag = first.fields["Last-Modified"], first.fields["ETag"]
            for field in (f"If-Modified-Since: {modified}", f"If-None-Match: {etag}", "If-None-Match: *",
                          f'If-None-Match: "a", {etag}', "if-modified-since:   Fri, 01 Jan 2100 00:00:00 GMT  "):
                answer = client.get(name_of(path), field)
                expect(answer, 304, b"")
                same(answer.fields["ETag"], etag, "ETag")
            for field in ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 'If-None-Match: "a"',
                          "If-Modified-Since: yesterday"):
                expect(client.get(name_of(path), field), 200, FILES[path])
            expect(client.get(name_of(path), 'If-None-Match: "a"', f"If-Modified-Since: {modified}"), 200)


def check_ranges(server):
    with Client(server) as client:
        for path in ("page.html", "huge.tar"):
            body = FILES[path]
            size = len(body)
            for text, begin, end in (("0-0", 0, 1), ("5-9", 5, 10), ("100-", 100, size), ("-7", size - 7, size),
                                     (f"10-{size * 2}", 10, size), (f"-{size * 2}", 0, size)):
                answer = client.get(name_of(path), f"Range: bytes={text}")
                expect(answer, 206, body[begin:end])
                same(answer.fields["Content-Range"], f"bytes {begin}-{end - 1}/{size}", "Content-Range")
            for text in (f"{size}-", "-0"):
                answer = client.get(name_of(path), f"Range: bytes={text}")
                expect(answer, 416, b"")
                same(answer.fields["Content-Range"], f"bytes */{size}", "Content-Range")
            for text in ("bytes=9-5", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=0-0,5-6", "bytes=99999999999999999999-"):
                expect(client.get(name_of(path), f"Range: {text}"), 200, body)
            expect(client.get(name_of(path), "Range: bytes=0-0", 'If-Range: "a"'), 200, body)
            head = client.get(name_of(path), "Range: bytes=0-0", method="HEAD")
            expect(head, 200)
            same(head.fields["Content-Length"], str(size), "length for HEAD")


def check_refused(server, outside):
    def refuses(data, status):
        with Client(server) as client:
            client.send(data)
            answer = Answer(client.stream)
            expect(answer, status)
            same(answer.fields["Connection"], "close", "Connection")
            client.expect_end()

    for path in ("/..", "/../", "/sub/../../" + outside, "/%2e%2e/" + outside, "/sub/%2E%2e%2f..%2f" + outside,
                 "/./../" + outside, "//..//" + outside, "/sub/..", "/.%2e/" + outside):
        refuses(query(path), 403)
    for line in (b"GET", b"GET /", b" / HTTP/1.1", b"GET one.css HTTP/1.1", b"GET /%zz HTTP/1.1", b"GET /%2 HTTP/1.1",
                 b"GET /%00 HTTP/1.1", b"GET / FTP/1.1", b"GET / HTTP/1.1 x", b"\0\1\2", b"GET http://x HTTP/1.1"):
        refuses(line + b"\r\nHost: x\r\n\r\n", 505 if line.endswith(b" x") else 400)
    refuses(b"GET / HTTP/1.1\r\n\r\n", 400)
    for field in ("no colon", ": no name", " folded: x", "space : x", "Host: again", "Content-Length: x",
                  "Content-Length: 1\r\nContent-Length: 2"):
        refuses(query("/", field), 400)
    refuses(query("/", "Transfer-Encoding: chunked"), 501)
    refuses(query("/", "Content-Length: 5") + b"GET /", 413)
    refuses(query("/", method="POST"), 501)
    refuses(query("/", version="2.0"), 505)
    refuses(query("/" + "n" * 5000), 414)
    refuses(query("/" + "n" * 40000), 414)
    refuses(query("/", "X: " + "y" * 20000), 431)
    refuses(query("/", *["X: y"] * 10000), 431)
    # What was sent behind it does not keep the client from reading the answer.
    refuses(b"BAD\r\n\r\n" + b"z" * 300000, 400)
    with Client(server) as client:
        client.send(query("/one.css") + b"BAD\r\n\r\n")
        expect(Answer(client.stream), 200, b"x")
        expect(Answer(client.stream), 400)
        client.expect_end()


def check_half_closed(server):
    paths = ["one.css", "huge.tar", "nothing", "page.html"]
    with Client(server) as client:
        client.send(b"".join(query(name_of(path)) for path in paths) + b"GET /half")
        client.conn.shutdown(socket.SHUT_WR)
        for path in paths:
            expect(Answer(client.stream), 200 if path in FILES else 404, FILES.get(path))
        client.expect_end()
    for data in (b"", b"GET"):
        with Client(server) as client:
            client.send(data)
            client.conn.shutdown(socket.SHUT_WR)
            client.expect_end()


def check_gone(server):
    """Clients that do not read what they asked for, and reset the connection."""
    for read in (0, 100000):
        with Client(server) as client:
            client.send(query("/huge.tar") * 5)
            same(len(client.stream.read(read)), read, "bytes")
            client.conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def check_many(server):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(300)]
        for path in ("hundred.js", "large.bin", "page.html"):
            for client in clients[::10 if path == "large.bin" else 1]:
                client.send(query(name_of(path)))
            for client in clients[::10 if path == "large.bin" else 1]:
                expect(Answer(client.stream), 200, FILES[path])

    def load(n):
        names = list(FILES)
        for i in range(10):
            with Client(server) as client:
                for j in range(4):
                    path = names[(n + i * 5 + j) % len(names)]
                    expect(client.get(name_of(path)), 200, FILES[path])

    in_parallel(16, load)


def totals(line):
    match = re.fullmatch(r"served (\d+) requests of (\d+) connections, (\d+) bytes", line)
    if not match:
        raise Failed(f"no totals: {line!r}")
    return tuple(int(number) for number in match.groups())


class Web(Server):
    """It ends by SIGTERM when its clients have gone, and prints what was done."""

    def __exit__(self, kind, *_):
        if kind is None:
            self.process.send_signal(signal.SIGTERM)
            self.totals = totals(self.line())
            same(self.process.wait(check.LIMIT), 0, "status")
        else:
            self.process.kill()
            self.process.wait()
        self.killer.cancel()
        self.process.stdout.close()


def check_changes(root, workers):
    """With -f 0, each answer is that of the file as it is now; otherwise SIGHUP makes it so."""
    path = Path(root, "changing.txt")

    def write(text):
        path.with_suffix(".new").write_bytes(text)
        os.replace(path.with_suffix(".new"), path)

    with Web("-f", "0", root, workers=workers) as server, Client(server) as client:
        for text in (b"old", b"new", b"", b"longer than before", b"y" * 3000000, b"small"):
            write(text)
            for _ in range(3):
                expect(client.get("/changing.txt"), 200, text)
        path.unlink()
        expect(client.get("/changing.txt"), 404)
    write(b"first")
    with Web("-f", "100000", "-t", "0", root, workers=workers) as server:
        with Client(server) as client:
            expect(client.get("/changing.txt"), 200, b"first")
            write(b"second")
            expect(client.get("/changing.txt"), 200, b"first")
            server.process.send_signal(signal.SIGHUP)
            same(server.line(), "cleared")
            expect(client.get("/changing.txt"), 200, b"second")
    path.unlink()


def check_small_cache(root, workers):
    """More files than the cache may have."""
    folder = Path(root, "set")
    folder.mkdir()
    bodies = {f"/set/{n}": bytes([n]) * 45000 for n in range(200)}
    for name, body in bodies.items():
        Path(root + name).write_bytes(body)
    with Web("-c", "1", root, workers=workers) as server:

        def load(n):
            with Client(server) as client:
                for i in range(150):
                    name = f"/set/{(i * 7 + n * 13) % 200}"
                    expect(client.get(name), 200, bodies[name])

        in_parallel(8, load)
    same(server.totals, (8 * 150, 8, 8 * 150 * 45000), "totals")


def check_log(root, workers):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with Web("-l", str(log), root, workers=workers) as server:

            def load(_):
                with Client(server) as client:
                    for _ in range(100):
                        client.get("/one.css")
                    client.get("/nothing", method="HEAD")
                    client.send(b"BAD\r\n\r\n")
                    Answer(client.stream)

            in_parallel(8, load)
        lines = log.read_text().splitlines()
    same(server.totals[:2], (8 * 102, 8), "totals")
    same(len(lines), 8 * 102, "lines of the log")
    for line in lines:
        same(bool(re.fullmatch(r'... \d\d ... \d{4} [\d:]{8} GMT 127.0.0.1 "(GET|HEAD) \S+" \d{3} \d+',
                               line[:3] + line[4:])), True, line)
    same(sum('"HEAD /nothing" 404 0' in line for line in lines), 8, "lines of HEAD")


def check_silent(root, workers):
    """The server ends the connection of a client that asks nothing, and of one that reads nothing."""
    with Web("-t", "1", root, workers=workers) as server, Client(server) as first, Client(server) as second:
        expect(first.get("/one.css"), 200, b"x")
        second.send(query("/huge.tar") * 10)
        first.expect_end()
        try:
            while second.stream.read(100000):
                pass
        except ConnectionResetError:
            pass


def check_descriptors(root, workers):
    """Without descriptors, clients wait until others have gone."""
    with Web(root, workers=workers, preexec_fn=few_descriptors(40)) as server:
        clients = [Client(server) for _ in range(80)]
        for client in clients:
            client.send(query("/hundred.js", "Connection: close"))
        for client in clients:
            with client:
                expect(Answer(client.stream), 200, FILES["hundred.js"])
                client.expect_end()


def run(root, workers):
    with Web(root, workers=workers) as server:
        check_files(server)
        check_kept(server)
        check_pipelined(server)
        check_conditions(server)
        check_ranges(server)
        check_refused(server, Path(root).name + ".secret")
        check_half_closed(server)
        check_gone(server)
        check_many(server)
    check_changes(root, workers)
    check_log(root, workers)
    check_silent(root, workers)
    if can_lack_descriptors():
        check_descriptors(root, workers)


def main():
    check.PROGRAM = sys.argv[1]
    for workers in sys.argv[2:] or [None]:
        with tempfile.TemporaryDirectory() as folder:
            root = str(Path(folder, "root"))
            for path, body in FILES.items():
                file = Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(body)
            Path(folder, "root.secret").write_text("secret")
            os.mkfifo(Path(root, "fifo"))
            begin = time.monotonic()
            run(root, workers)
            print(f"{workers or 'default'} workers: {time.monotonic() - begin:.1f} s")
            check_small_cache(root, workers)


try:
    main()
except Failed as failure:
    sys.exit(f"failed: {failure}")
