#!/usr/bin/env python3
"""usage: terminal.py EVSMP PID

`evsmp top` on a terminal: its keys, and whether it leaves the terminal as it was.
"""
import os
import pty
import sys
import termios

child, fd = pty.fork()
if child == 0:
    os.execv(sys.argv[1], [sys.argv[1], "top", sys.argv[2]])
before = termios.tcgetattr(fd)
seen = b""


def wait_for(text):
    global seen
    while text not in seen:
        data = os.read(fd, 65536)
        assert data, seen
        seen += data
    seen = seen[seen.index(text) + len(text):]


wait_for(b"\033[?1049h")
wait_for(b"WORKER")
for key, text in ((b"c", b"sorted by calls"), (b"w", b"sorted by wait"), (b"l", b"sorted by longest"),
                  (b"o", b"sorted by color"), (b"b", b"sorted by busy"), (b"n", b"base 1"), (b"t", b"WORKER")):
    os.write(fd, key)
    wait_for(text)
os.write(fd, b"q")
wait_for(b"\033[?25h\033[?1049l")
assert termios.tcgetattr(fd) == before
_, status = os.waitpid(child, 0)
assert status == 0, status
