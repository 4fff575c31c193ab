#!/usr/bin/env python3
"""Chat servers pass on each line to all clients, in order, also while clients come and go.

usage: check_chat.py [--ticks] [--tls] [--stats] CHAT

--ticks, --tls, --stats: this server has a clock and idle limits; speaks TLS; prints counters at its end.
"""
import argparse
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

CLIENTS, LINES, LEAVERS = 16, 100, 8
TIMEOUT = 60


class Failed(Exception):
    pass


class Client:
    def __init__(self, port, tls=None):
        self.sock = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        if tls:
            self.sock = tls.wrap_socket(self.sock)
        self.lines = self.sock.makefile("r", newline="\n")
        self.name = self.until(lambda line: line.endswith(" joins")).split()[1]

    def say(self, text):
        self.sock.sendall(text.encode() + b"\n")

    def read(self):
        """A line, or None: the server closed the connection."""
        line = self.lines.readline()
        return line.rstrip("\n") if line else None

    def until(self, wanted):
        while (line := self.read()) is not None:
            if wanted(line):
                return line
        raise Failed("the server closed a connection")

    def close(self):
        self.lines.close()
        self.sock.close()


class Server:
    def __init__(self, program, *args):
        self.process = subprocess.Popen([program, "0", *args], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])

    def stop(self):
        """It closes all connections, ends by itself, and has printed this."""
        self.process.terminate()
        printed = self.process.communicate(timeout=TIMEOUT)[0]
        if self.process.returncode:
            raise Failed(f"ended with status {self.process.returncode}")
        return printed


def together(functions):
    """Runs each in a thread; raises what one of them raised."""
    errors = []

    def run(function):
        try:
            function()
        except Exception as error:  # noqa: BLE001 any: it fails the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def talk(client):
    """Says all its lines at once, and hears those of all talkers, each talker's in order."""
    client.sock.sendall("".join(f"line {n}\n" for n in range(LINES)).encode())
    heard = {}
    while len(heard) < CLIENTS or min(heard.values()) < LINES:
        name, _, text = client.until(lambda line: ": line " in line).partition(": line ")
        if int(text) != heard.setdefault(name, 0):
            raise Failed(f"{client.name} heard line {text} of {name}, not {heard[name]}")
        heard[name] += 1


def come_and_go(port, tls):
    """Leaves without a word, with unread lines."""
    for _ in range(LEAVERS):
        client = Client(port, tls)
        client.say("hello")
        client.close()


def check_lines(server, tls):
    clients = [Client(server.port, tls) for _ in range(CLIENTS)]
    together([lambda client=client: talk(client) for client in clients] +
             [lambda: come_and_go(server.port, tls) for _ in range(2)])
    clients[0].say("/nick Ann")
    for client in clients:
        client.until(lambda line: line == f"* {clients[0].name} is now Ann")
    clients[0].close()
    clients[1].until(lambda line: line == "* Ann leaves")
    try:
        clients[1].sock.sendall(b"x" * 100000)      # a line that is too long
    except OSError:
        pass
    clients[2].until(lambda line: line == f"* {clients[1].name} leaves")
    return clients[2:]


def check_ticks(program):
    server = Server(program, "100")
    silent, talker = Client(server.port), Client(server.port)

    def chatter():
        line = ""
        while " here" not in line:
            talker.say("x")
            line = talker.read()

    together([chatter])
    while silent.read() is not None:
        talker.say("x")
    talker.until(lambda line: line == f"* {silent.name} leaves")
    server.stop()


def check_tls(program, place):
    pem = f"{place}/both.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-keyout", f"{place}/key.pem", "-out", f"{place}/cert.pem"],
                   check=True, capture_output=True)
    with open(pem, "w") as both:
        for part in ("cert", "key"):
            both.write(open(f"{place}/{part}.pem").read())
    tls = ssl.create_default_context(cafile=f"{place}/cert.pem")
    tls.check_hostname = False
    server = Server(program, "60000", pem)
    check_lines(server, tls)
    server.stop()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    for name in ("--ticks", "--tls", "--stats"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("chat")
    args = parser.parse_args()
    server = Server(args.chat)
    try:
        rest = check_lines(server, None)
        printed = server.stop()
        for client in rest:
            while client.read() is not None:
                pass
    finally:
        server.process.kill()
    if args.stats and "worker 0: " not in printed:
        raise Failed(f"no counters: {printed}")
    if args.ticks:
        check_ticks(args.chat)
    if args.tls and shutil.which("openssl"):
        with tempfile.TemporaryDirectory() as place:
            check_tls(args.chat, place)


try:
    main()
except Failed as error:
    sys.exit(f"check_chat: {error}")
