"""A memcached server under test, clients of it, and results as `prove` reads them.

MEMCACHED_BIN names the server; SMP_WORKERS, if set, how many workers it is to have: then our
libraries are those it loads. The arguments of a program of tests are the tests to run (default: all).
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

BINARY = os.environ["MEMCACHED_BIN"]
WORKERS = int(os.environ.get("SMP_WORKERS") or 0)
HERE = os.path.dirname(os.path.abspath(__file__))
CERTS = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "t")
TLS = f"ssl_chain_cert={CERTS}/server_crt.pem,ssl_key={CERTS}/server_key.pem"      # for -o, beside -Z
PATIENCE = 60           # seconds until what must happen counts as not happening

_tests = []


def test(fn):
    """Marks a function as a test; its first line of documentation says what it shows."""
    if len(sys.argv) < 2 or fn.__name__ in sys.argv[1:]:
        _tests.append(fn)
    return fn


def smp_test(fn):
    """The same, if there are workers."""
    return test(fn) if WORKERS else fn


def main():
    failed = 0
    print(f"1..{len(_tests)}")
    for n, fn in enumerate(_tests, 1):
        try:
            fn()
            print(f"ok {n} - {fn.__doc__.splitlines()[0]}")
        except Exception as e:          # also of sockets: a server that is gone fails the test
            failed += 1
            print(f"not ok {n} - {fn.__doc__.splitlines()[0]}")
            print(f"# {type(e).__name__}: {str(e)[:1000]}")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


def check(is_true, message):
    if not is_true:
        raise AssertionError(message)


def equal(got, want, what="answer"):
    check(got == want, f"{what}: {got!r:.400} instead of {want!r:.400}")


def wait_until(condition, what):
    """For what another process does in its own time."""
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, f"waited in vain until {what}")
        time.sleep(0.01)


def preload(tmp, name):
    """What makes a server load t/NAME.c, built in the directory `tmp`, before its libraries: for its environment."""
    shim = os.path.join(tmp, name + ".so")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", shim,
                    os.path.join(HERE, name + ".c"), "-ldl"], check=True)
    return {"LD_PRELOAD": shim}


class Server:
    """Use as `with Server(...) as s`. Threads as asked for, workers if there are any."""

    def __init__(self, *args, threads=None, env=None, smp=True, fds=()):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        argv = [BINARY, "-l", "127.0.0.1", "-p", str(self.port), "-U", "0"]
        if os.getuid() == 0:
            argv += ["-u", "root"]
        if WORKERS and smp:
            argv += ["-o", f"smp_workers={WORKERS}"]
        if threads:
            argv += ["-t", str(threads)]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv + list(args), stdout=subprocess.DEVNULL, stderr=self.log,
                                        env=dict(os.environ, **(env or {})), pass_fds=fds)
        self.pid = self.process.pid

    def __enter__(self):
        wait_until(self.is_up, "the server listens")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def is_up(self):
        check(self.process.poll() is None, f"the server does not start: {self.text()}")
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def text(self):
        """What it said on stderr."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def client(self):
        return Client(self.port)

    def stats(self, kind=b""):
        with self.client() as c:
            lines = c.ask(b"stats " + kind if kind else b"stats", b"END\r\n").decode().splitlines()
        return dict(line.split(None, 2)[1:] for line in lines if line.startswith("STAT "))

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def end(self, number):
        """Sends a signal; the exit status."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self):
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError("the server does not end") from None


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def add(self, data):
        if not data:
            raise ConnectionResetError(f"the server closed the connection after {self.rest[-200:]!r}")
        self.rest += data

    def read(self, num):
        while len(self.rest) < num:
            self.add(self.socket.recv(65536))
        data, self.rest = self.rest[:num], self.rest[num:]
        return data

    def read_to(self, end):
        """Up to and with `end`."""
        from_ = 0
        while (at := self.rest.find(end, from_)) < 0:
            from_ = max(0, len(self.rest) - len(end))
            self.add(self.socket.recv(65536))
        return self.read(at + len(end))

    def read_all(self):
        """Until the server closes."""
        while data := self.socket.recv(65536):
            self.rest += data
        data, self.rest = self.rest, b""
        return data

    def ask(self, request, end=b"\r\n"):
        self.send(request + b"\r\n")
        return self.read_to(end)

    def set(self, key, value):
        self.send(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
        equal(self.read_to(b"\r\n"), b"STORED\r\n")

    def get(self, key):
        return self.ask(b"get " + key, b"END\r\n")


# A client that never stops: prints a line when it has been answered for the first time.
LOAD = """
import socket, sys
connections = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(10)]
n = 0
try:
    while True:
        for c in connections:
            c.sendall(b"set l%d 0 0 100\\r\\n%s\\r\\nget l%d l1 l2 l3\\r\\nmn\\r\\n" % (n % 1000, b"x" * 100, n % 1000))
        for c in connections:
            got = b""
            while not got.endswith(b"MN\\r\\n"):
                data = c.recv(65536)
                if not data:
                    sys.exit(0)
                got += data
        n += 1
        if n == 1:
            print("loaded", flush=True)
except OSError:
    sys.exit(0)
"""


class Load:
    """Processes that put a load on a server."""

    def __init__(self, server, num=2):
        self.all = [subprocess.Popen([sys.executable, "-c", LOAD, str(server.port)], stdout=subprocess.PIPE)
                    for _ in range(num)]

    def __enter__(self):
        for p in self.all:
            equal(p.stdout.readline(), b"loaded\n")
        return self

    def __exit__(self, *_):
        for p in self.all:
            p.kill()
            p.wait()
            p.stdout.close()


def value(key, data):
    """The answer to a get."""
    return b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(data), data)


def run_refused(*args, env=None):
    """Starts a server that is expected to refuse to; what it says."""
    argv = [BINARY, "-l", "127.0.0.1", "-p", "0", "-U", "0"] + (["-u", "root"] if os.getuid() == 0 else [])
    r = subprocess.run(argv + list(args), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                       timeout=PATIENCE, env=dict(os.environ, **(env or {})))
    check(r.returncode > 0, f"status {r.returncode}: {r.stderr}")
    return r.stderr


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
