"""What nginx is asked for: files, certificates, and servers behind it."""
import contextlib
import http.server
import os
import random
import socket
import struct
import subprocess
import threading

PORTS = ("http", "tls", "hrr", "mtls", "stls", "splain", "proxy", "fcgi", "sid", "builtin", "sidlong", "sidmtls")


class Backend(http.server.BaseHTTPRequestHandler):
    """/N: N bytes of text; /slow/N: in ten pieces; /cut/N: half of them. POST: what was sent."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        *how, n = self.path.strip("/").split("/")
        body = text(int(n))
        if how == ["slow"]:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            step = max(1, len(body) // 10)
            for i in range(0, len(body), step):
                piece = body[i:i + step]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2] if how == ["cut"] else body)
        self.close_connection = how == ["cut"]

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024       # else the kernel drops what comes at once, for seconds

    def handle_error(self, *_):
        """nginx leaves when its client does."""


def fastcgi_serve(listener):
    """Answers each request with its parameters and its body."""
    while True:
        try:
            s, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=fastcgi_answer, args=(s,), daemon=True).start()


def fastcgi_answer(s):
    with s, s.makefile("rb") as f:
        streams = {4: b"", 5: b""}
        while True:
            head = f.read(8)
            if len(head) < 8:
                return
            _, kind, ident, length, pad = struct.unpack("!BBHHBx", head)
            data = f.read(length)
            f.read(pad)
            if kind in streams:
                streams[kind] += data
                if kind == 5 and not data:
                    break
        out = b"Content-Type: text/plain\r\n\r\n" + streams[4] + b"\n" + streams[5]
        packed = b""
        for i in range(0, len(out), 32768):
            piece = out[i:i + 32768]
            packed += struct.pack("!BBHHBx", 1, 6, ident, len(piece), 0) + piece
        packed += struct.pack("!BBHHBx", 1, 6, ident, 0, 0) + struct.pack("!BBHHBx", 1, 3, ident, 8, 0) + bytes(8)
        with contextlib.suppress(OSError):
            s.sendall(packed)


TEXT = b""


def text(n):
    return (TEXT * (n // len(TEXT) + 1))[:n]


def make_world(d):
    global TEXT
    rnd = random.Random(1)
    words = ["%x" % rnd.getrandbits(32) for _ in range(4000)]
    TEXT = " ".join(rnd.choice(words) for _ in range(60000)).encode()
    os.makedirs(d + "/www/sub")
    os.makedirs(d + "/certs")
    for name, n in (("0", 0), ("1k", 1024), ("5k", 5000), ("100k", 102400), ("1m", 1 << 20)):
        with open(f"{d}/www/{name}", "wb") as f:
            f.write(text(n))
        os.utime(f"{d}/www/{name}", (1e9, 1e9))
    with open(d + "/www/page", "w") as f:
        f.write('head <!--#include virtual="/100k" --> middle <!--#include virtual="/proxy/50000" -->'
                ' <!--#include virtual="/gone" --> <!--#include virtual="/aio/5k" --> <!--#include virtual="/aio/none" --> tail')
    for name, cn in (("one", "localhost"), ("two", "two.test"), ("other", "stranger")):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={cn}",
                        "-keyout", f"{d}/certs/{name}.key", "-out", f"{d}/certs/{name}.crt"],
                       check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["chmod", "-R", "a+rX", d], check=True)


def free_ports():
    """Each server of a run binds them anew, so they are none that the system deals out meanwhile."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        end = int(f.read().split()[0])
    ports, candidates = {}, list(range(end // 2, end))
    random.shuffle(candidates)
    for port in candidates:
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("127.0.0.1", port))
            ports[PORTS[len(ports)]] = port
        if len(ports) == len(PORTS):
            break
    return ports
