#!/usr/bin/env python3
"""The echo server answers many connections at once, and counts them right.

usage: check_echo.py ECHO
"""
import socket
import subprocess
import sys
import threading

CONNS, ROUNDS, SIZE = 32, 50, 1000


def converse(port, number, wrong):
    payload = bytes([number]) * SIZE
    with socket.create_connection(("127.0.0.1", port), 30) as conn:
        for _ in range(ROUNDS):
            conn.sendall(payload)
            got = b""
            while len(got) < SIZE:
                data = conn.recv(SIZE - len(got))
                if not data:
                    wrong.append(number)
                    return
                got += data
            if got != payload:
                wrong.append(number)
                return


def check(server):
    port = int(server.stdout.readline().split()[1])
    wrong = []
    threads = [threading.Thread(target=converse, args=(port, n, wrong)) for n in range(CONNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        return f"wrong answers on connections {wrong}"
    lines = [server.stdout.readline().strip() for _ in range(CONNS)]
    want = f"{CONNS} connections, {CONNS * ROUNDS * SIZE} bytes"
    if lines[-1] != want:
        return f"counted {lines[-1]!r}, not {want!r}"
    server.terminate()
    status = server.wait(30)
    return f"ended with status {status}" if status else None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    server = subprocess.Popen([sys.argv[1], "0"], stdout=subprocess.PIPE, text=True)
    try:
        sys.exit(check(server))
    finally:
        server.kill()
        server.wait()


main()
