#!/usr/bin/env python3
"""The HTTP server counts the requests of many connections right, and refuses what is no counter.

usage: check_httpapi.py HTTPAPI
"""
import http.client
import json
import subprocess
import sys
import threading

CONNS, ROUNDS, TIMEOUT = 16, 50, 60


def ask(conn, method, path):
    conn.request(method, path)
    response = conn.getresponse()
    body = response.read()
    return response.status, json.loads(body) if body else None


def count(port, errors):
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    last = 0
    try:
        for _ in range(ROUNDS):
            status, answer = ask(conn, "POST", "/counters/all")
            if status != 200 or answer["value"] <= last:
                raise ValueError(f"{status} {answer} after {last}")
            last = answer["value"]
    except Exception as error:  # noqa: BLE001 any: it fails the test
        errors.append(error)
    conn.close()


def check(port):
    errors = []
    threads = [threading.Thread(target=count, args=(port, errors)) for _ in range(CONNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        return f"{errors}"
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    for method, path, want in (
            ("GET", "/counters/all", (200, {"name": "all", "value": CONNS * ROUNDS})),
            ("POST", "/counters/Other1", (200, {"name": "Other1", "value": 1})),
            ("GET", "/counters", (200, {"counters": 2})),
            ("GET", "/counters/none", (404, {"error": "no such counter"})),
            ("POST", "/counters", (404, {"error": "no such counter"})),
            ("POST", "/counters/a%22b", (404, None)),
            ("POST", "/counters/" + "x" * 32, (404, None)),
            ("GET", "/countersall", (404, None)),
            ("GET", "/counters", (200, {"counters": 2}))):
        got = ask(conn, method, path)
        if got != want:
            return f"{method} {path}: {got}, not {want}"
    return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    server = subprocess.Popen([sys.argv[1], "0"], stdout=subprocess.PIPE, text=True)
    try:
        error = check(int(server.stdout.readline().split()[1]))
        server.terminate()
        status = server.wait(TIMEOUT)
    finally:
        server.kill()
        server.wait()
    sys.exit(error or (f"ended with status {status}" if status else 0))


main()
