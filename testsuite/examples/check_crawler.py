#!/usr/bin/env python3
"""The crawler finds all pages of a web of many hosts, each once, by its own nameserver.

usage: check_crawler.py CRAWLER
"""
import http.server
import socketserver
import struct
import subprocess
import sys
import threading

HOSTS, PAGES, TIMEOUT = 8, 6, 100


def page_of(host, number, port):
    """Links to the next pages of this host, to all other hosts, and to one that does not exist."""
    links = [f"http://h{host}.test:{port}/{number + 1}"] if number + 1 < PAGES else []
    links += [f"http://h{other}.test:{port}/0" for other in range(HOSTS)]
    links += [f"http://gone.test:{port}/"]
    return "".join(f'<a href="{link}">x</a>\n' for link in links).encode() + b"-" * (host * 10000)


class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        host = int(self.headers["Host"].split(".")[0][1:])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page_of(host, int(self.path[1:]), self.server.server_address[1]))

    def log_message(self, *_):
        pass


class WebServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = HOSTS * PAGES


class Names(socketserver.BaseRequestHandler):
    """hN.test is 127.0.0.1; no other name exists. The question comes back as it was written."""

    def handle(self):
        query, sock = self.request
        end = query.index(b"\0", 12) + 5
        is_known = query[13:14].lower() == b"h"
        answer = query[:2] + struct.pack(">HHHHH", 0x8180 if is_known else 0x8183, 1, is_known, 0, 0) + query[12:end]
        if is_known:
            answer += b"\xc0\x0c" + struct.pack(">HHIH4B", 1, 1, 60, 4, 127, 0, 0, 1)
        sock.sendto(answer, self.client_address)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    with WebServer(("127.0.0.1", 0), Web) as web, socketserver.UDPServer(("127.0.0.1", 0), Names) as names:
        for server in (web, names):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        port = web.server_address[1]
        done = subprocess.run([sys.argv[1], "-n", f"127.0.0.1:{names.server_address[1]}", f"http://h0.test:{port}/0",
                               "nonsense", "http://[x/"], capture_output=True, text=True, timeout=TIMEOUT)
        web.shutdown()
        names.shutdown()
    lines = sorted(done.stdout.splitlines())
    found = [line.split()[0] for line in lines if line.endswith(" bytes")]
    want = sorted(f"http://h{host}.test:{port}/{number}" for host in range(HOSTS) for number in range(PAGES))
    failed = [line for line in lines if not line.endswith(" bytes")]
    if done.returncode or found != want:
        sys.exit(f"status {done.returncode}: {done.stdout}{done.stderr}")
    if len(failed) != 3 or failed[0] != "http://[x/ is no URL" or failed[2] != "nonsense is no URL":
        sys.exit(f"failed: {failed}")


main()
