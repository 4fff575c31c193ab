"""Holds up a server whose threads send TLS records, after they have sent them (sent.c): what a client is told then, it may act on."""
import contextlib
import os
import queue
import socket
import subprocess
import threading

CCS, HANDSHAKE, DATA = 20, 22, 23       # types of records
HELD = "127.0.0.2"      # address of the client that the server is held up for
PATIENCE = 60


class Sent:
    """Threads of the server that have sent records: `held` ones, to the client HELD, wait until they are let go, but for the
    first few. A pair of `held` is who, `loop` (the main thread) or `task`, and the type of the first record."""

    def __init__(self, scratch, *held, but=0):
        self.path, self.held, self.but, self.waiting = scratch + "/sent", held, but, queue.Queue()
        shim = scratch + "/sent.so"
        if not os.path.exists(shim):
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sent.c")
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
        self.env = {"LD_PRELOAD": shim, "SENT_TO": self.path,
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def __enter__(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen(100)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()
        return self

    def listen(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            with s.makefile() as f:
                line = f.readline()
            if not line:                # it could not write
                s.close()
                continue
            who, what, to, port = line.split()
            if to != HELD or (who, int(what)) not in self.held:
                s.close()
            elif self.but > 0:
                self.but -= 1
                s.close()
            else:
                self.waiting.put((s, int(port)))

    def next(self, client=None):
        """The next one that waits, to be closed. With the socket of a client, the one that has sent to it: others,
        which sent to clients that have left, go on."""
        while True:
            s, port = self.waiting.get(timeout=PATIENCE)
            if client is None or port == client.getsockname()[1]:
                return s
            s.close()

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        while not self.waiting.empty():
            self.waiting.get()[0].close()
