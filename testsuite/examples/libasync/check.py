#!/usr/bin/env python3
"""Does an example print what it should?

usage: check.py PROGRAM      the name of the program says which example it is

Nothing here waits for a time: a program that hangs is killed after a minute.
"""
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

LIMIT = 60
PROGRAM = ""


class Failed(Exception):
    pass


def same(got, want, what="output"):
    if got != want:
        raise Failed(f"{what}: {got!r}, not {want!r}")


def output(*args, status=0):
    """What the program prints; errors go to the standard error as they are, and are returned too."""
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=LIMIT)
    sys.stderr.write(done.stderr)
    same(done.returncode, status, "status")
    return done.stdout, done.stderr


def can_lack_descriptors():
    """UBSan of clang asks through a pipe whether an object is what it should be. Without descriptors it takes each for none."""
    return os.environ.get("CAN_LACK_DESCRIPTORS") != "0"


def few_descriptors(number):
    """A preexec_fn: the program gets no more than these."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))


class Server:
    """A program that prints its port first."""

    def __init__(self, *args, workers=None, **options):
        env = dict(os.environ)
        if workers:
            env["EVENT_WORKERS"] = str(workers)
        self.process = subprocess.Popen([PROGRAM, *args], stdout=subprocess.PIPE, text=True, env=env, **options)
        self.killer = threading.Timer(LIMIT, self.process.kill)
        self.killer.start()

    def __enter__(self):
        word, port = self.line().split()
        same(word, "port")
        self.port = int(port)
        return self

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), LIMIT)

    def __exit__(self, kind, *_):
        early = self.process.poll()
        self.process.terminate()
        status = self.process.wait()
        self.killer.cancel()
        self.process.stdout.close()
        if kind is None and (early is not None or status != -signal.SIGTERM):
            raise Failed(f"the server ended with status {status}")


def receive(conn, size=None):
    """That many bytes, or all."""
    got = b""
    while size is None or len(got) < size:
        data = conn.recv(65536)
        if not data:
            break
        got += data
    return got


def in_parallel(number, function):
    """Call function(0), function(1), ... at the same time; the first failure is raised."""
    failures = []

    def call(n):
        try:
            function(n)
        except (Failed, OSError) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def echo():
    with Server() as server:

        def converse(n):
            with server.connect() as conn:
                for size in (1, 1000, 100000):
                    payload = bytes([n]) * size
                    sender = threading.Thread(target=conn.sendall, args=(payload,))
                    sender.start()
                    same(receive(conn, size) == payload, True, f"the echo of {size} bytes")
                    sender.join()
                conn.shutdown(socket.SHUT_WR)
                same(receive(conn), b"", "after the end")

        in_parallel(16, converse)
        for _ in range(16):
            same(server.line(), "client: 101001 bytes")


class Origin:
    """The server behind a proxy. It answers once as many requests are there as it expects."""

    def __init__(self, expected):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.expected = expected
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        conns = []
        for _ in range(self.expected):
            conn, _ = self.listener.accept()
            conn.settimeout(LIMIT)
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                request += conn.recv(65536)
            conns.append((conn, request.split()[1]))
        for conn, url in conns:
            conn.sendall(page_of(url))
            conn.close()
        self.listener.close()


def page_of(url):
    return b"HTTP/1.0 200 OK\r\n\r\n" + url * 5000


def check_proxy(workers):
    pages = 20
    origin = Origin(pages)
    with Server("127.0.0.1", str(origin.port), workers=workers) as server:

        def get(url, want):
            with server.connect() as conn:
                request = b"GET %s HTTP/1.0\r\nHost: test\r\n\r\n" % url
                conn.sendall(request[:9])
                conn.sendall(request[9:])
                same(receive(conn, len(want)) == want, True, f"the page {url}")

        def get_page(n):
            url = b"/page%d" % n
            get(url, page_of(url))

        for how in ("fetched", "cached"):
            in_parallel(pages, get_page)
            got = sorted(server.line() for _ in range(pages))
            same(got, sorted(f"{how} /page{n}" for n in range(pages)))
        origin.thread.join()
        get(b"/late", b"HTTP/1.0 502 Bad Gateway\r\n\r\n")
        same(server.line(), "failed /late: Connection refused")
        with server.connect() as conn:
            conn.sendall(b"GET")
        get_page(0)
        same(server.line(), "cached /page0")


def proxy():
    check_proxy(None)


def proxy_colored():
    for workers in (1, 2, 4):
        check_proxy(workers)


def retry():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        refused = "Connection refused\n"
        same(output("127.0.0.1", str(port), "3", status=1)[0], refused * 3 + "giving up\n")

        client = subprocess.Popen([PROGRAM, "127.0.0.1", str(port)], stdout=subprocess.PIPE, text=True)
        try:
            for _ in range(3):
                same(client.stdout.readline(), refused)
            listener.listen()
            listener.settimeout(LIMIT)
            conn, _ = listener.accept()
            hello = b"hello, port %d\n" % port
            same(receive(conn, len(hello)), hello)
            conn.sendall(b"good ")
            conn.sendall(b"morning\nand more\n")
            same(client.stdout.read().replace(refused, ""), "answer: good morning\n")
            same(client.wait(LIMIT), 0, "status")
            conn.close()
        finally:
            client.kill()
            client.wait()
            client.stdout.close()


def children():
    # The first one waits for the second, so they run at once.
    with tempfile.TemporaryDirectory() as folder:
        fifo = Path(folder, "fifo")
        os.mkfifo(fifo)
        first, second = f"cat {fifo}", f"echo hello >{fifo}; exit 7"
        large = "head -c 200000 /dev/zero | tr '\\0' x"
        killed = "kill -9 $$"
        got = output(first, second, large, killed, "cat; echo end")[0]
    want = f"{first}: 6 bytes, exit status 0\nhello\n{second}: 0 bytes, exit status 7\n"
    want += f"{large}: 200000 bytes, exit status 0\n{'x' * 200000}{killed}: 0 bytes, signal 9\n"
    same(got, want + "cat; echo end: 4 bytes, exit status 0\nend\n")


def timerwheel():
    # Timers 3 and 6 are stopped. 16 and 17 are one turn of the wheel, 40 more than two.
    want = [(1, 4), (1, 7), (2, 2), (16, 5), (17, 1), (40, 8)]
    got = output("17", "2", "1", "1", "16", "5", "1", "40")[0]
    same(got, "".join(f"tick {tick}: timer {number}\n" for tick, number in want))
    same(output("0", status=1)[0], "")
    same(output()[0], "")


def config():
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "test.conf"))

        def written(text, status=0):
            Path(path).write_text(text)
            return output(path, status=status)

        defaults = "port 80\nroot /srv\nkeepalive on\nload 0.50\n"
        same(written("")[0], defaults)
        text = 'Port 8080 # comment\nroot "/var/www/my pages"\nuser nobody\nkeepalive \\\n  off\nload .75\n'
        want = "port 8080\nroot /var/www/my pages\nkeepalive off\nload 0.75\nalias /a to /b\nalias /old to /new\n"
        same(written(text + "alias /old /new\nalias /a /b\n")[0], want)

        out, err = written("port 8080\nport 70000\ncolour red\nalias /a\n", status=1)
        same(out, "")
        for line in (2, 3, 4):
            same(f"{path}:{line}: " in err, True, f"the message for line {line}")
        same(f"{path}:1: " in err, False, "a message for line 1")


def lineserver():
    with Server() as server, contextlib.ExitStack() as stack:

        def client():
            conn = stack.enter_context(server.connect())
            return conn, stack.enter_context(conn.makefile("r"))

        def ask(one, question, answer):
            one[0].sendall(question)
            same(one[1].readline(), answer)

        alice, bob = client(), client()
        for one in (alice, bob):
            same(one[1].readline(), "hello\n")
        ask(alice, b"set color green\r\n", "ok\n")
        ask(bob, b"get color\n", "green\n")
        bob[0].sendall(b"ge")
        ask(bob, b"t size\nlist\n", "?\n")
        same(bob[1].readline(), "1 words\n")
        ask(bob, b"please  help me\n", 'what is "please help me"?\n')
        ask(alice, b"quit\n", "bye\n")
        same(alice[1].readline(), "")
        ask(bob, b"x" * 256, "")
        carol = client()
        same(carol[1].readline(), "hello\n")
        carol[0].sendall(b"list")
        carol[0].shutdown(socket.SHUT_WR)
        same(carol[1].read(), "1 words\n")


def wordcount():
    with tempfile.TemporaryDirectory() as folder:
        texts = {
            "a": "one two\nthree\n",
            "empty": "",
            "large": "word " * 40000 + "\n" * 10,
            "no newline": " x",
        }
        paths, want = [], ""
        for name, text in texts.items():
            path = Path(folder, name)
            path.write_text(text)
            paths += [str(path)] * 5
            numbers = f"{text.count(chr(10))} lines, {len(text.split())} words, {len(text)} bytes"
            want += f"{path}: {numbers}\n" * 5
        missing = str(Path(folder, "missing"))
        want += f"{missing}: No such file or directory\n{folder}: Is a directory\n"
        same(output(*paths, missing, folder)[0], want)


def whatever_workers(check):
    """As many as there are processors, 2 and 4: an uncolored program does the same with each."""
    for workers in (None, "2", "4"):
        if workers:
            os.environ["EVENT_WORKERS"] = workers
        check()


def main():
    global PROGRAM
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    PROGRAM = sys.argv[1]
    checks = (echo, proxy, proxy_colored, retry, children, timerwheel, config, lineserver, wordcount)
    check = {check.__name__: check for check in checks}[Path(PROGRAM).name.removeprefix("libasync_")]
    if check == proxy_colored:
        check()
    else:
        whatever_workers(check)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"failed: {failure}")
