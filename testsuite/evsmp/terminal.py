#!/usr/bin/env python3
"""usage: terminal.py EVSMP PID [several | PRELOAD]

`evsmp top` on a terminal: its keys, Ctrl-Z, and whether it leaves the terminal as it was. Between it and this test is a
shell of a few lines, as only a shell's jobs can be stopped by a key.

several: the process has two bases that turn. The first screen of a small terminal has the one with busy_callback, and
"n" is among its keys.
PRELOAD: a library with a ppoll that once tells of a key where none is.
"""
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios

ENTER, LEAVE = b"\033[?1049h", b"\033[?25h\033[?1049l"


def foreground(group):
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(1, group)
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)


def shell(is_with_keys):
    """Runs the job; says "stopped PID SAME" when it has stopped, continues it after a line, says "ended STATUS"."""
    before = termios.tcgetattr(1)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        foreground(os.getpgrp())
        if not is_with_keys:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.execv(sys.argv[1], [sys.argv[1], "top", sys.argv[2]])
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        foreground(os.getpgrp())
        same = termios.tcgetattr(1) == before
        if not os.WIFSTOPPED(status):
            os.write(1, b"ended %d %d.\n" % (os.waitstatus_to_exitcode(status), same))
            os._exit(0)
        termios.tcsetattr(1, termios.TCSANOW, before)
        os.write(1, b"stopped %d %d.\n" % (job, same))
        os.read(0, 100)
        foreground(job)
        os.killpg(job, signal.SIGCONT)


class Terminal:
    def __init__(self, is_with_keys=True, size=None):
        self.child, self.fd = pty.fork()
        if self.child == 0:
            if size:
                fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            shell(is_with_keys)
        self.seen = b""

    def wait_for(self, text):
        """Returns what was seen up to it."""
        while text not in self.seen:
            data = os.read(self.fd, 65536)
            assert data, self.seen
            self.seen += data
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, keys):
        os.write(self.fd, keys)

    def wait_end(self):
        self.wait_for(b"ended 0 1.")
        os.waitpid(self.child, 0)
        os.close(self.fd)


def check_several():
    t = Terminal(size=(24, 80))
    t.wait_for(ENTER)
    screen = t.wait_for(b"n next base")
    assert b"busy_callback" in screen and b"not turned since" in screen, screen
    number, = re.findall(rb"base (\d+) \(one of 3\)", screen)
    t.type(b"n")
    while number in re.findall(rb"base (\d+) \(one of 3\)", t.wait_for(b"n next base")):
        pass
    t.type(b"q")
    t.wait_for(LEAVE)
    t.wait_end()
    sys.exit()


def check_no_key():
    os.environ["LD_PRELOAD"] = sys.argv[3]
    t = Terminal()
    t.wait_for(b"ppoll lies")
    t.wait_for(b"WORKER")
    t.type(b"q")
    t.wait_for(LEAVE)
    t.wait_end()
    sys.exit()


if len(sys.argv) > 3 and sys.argv[3] == "several":
    check_several()
if len(sys.argv) > 3:
    check_no_key()
t = Terminal()
t.wait_for(ENTER)
t.wait_for(b"WORKER")
for key, text in ((b"c", b"sorted by calls"), (b"w", b"sorted by wait"), (b"l", b"sorted by longest"),
                  (b"o", b"sorted by color"), (b"b", b"sorted by busy"), (b"n", b"base 1"), (b"t", b"WORKER")):
    t.type(key)
    t.wait_for(text)

# Ctrl-Z: the shell has its terminal back, and then top is there again.
t.type(b"\x1a")
t.wait_for(LEAVE)
t.wait_for(b"stopped ")
job, same = t.wait_for(b".").split()
assert same == b"1", "the terminal is not as it was while top is stopped"
t.type(b"fg\n")
t.wait_for(ENTER)
t.wait_for(b"WORKER")
t.type(b"c")
t.wait_for(b"sorted by calls")

# It cannot know of SIGSTOP before, but it can after it.
os.kill(int(job), signal.SIGSTOP)
t.wait_for(b"stopped ")
t.type(b"fg\n")
t.wait_for(ENTER)
t.type(b"w")
t.wait_for(b"sorted by wait")
t.type(b"q")
t.wait_for(LEAVE)
t.wait_end()

# Without keys, it goes on until a signal comes.
t = Terminal(is_with_keys=False)
t.wait_for(ENTER)
t.wait_for(b"WORKER")
t.wait_for(b"Ctrl-C quits")
t.wait_for(b"WORKER")
t.type(b"\x03")
t.wait_for(LEAVE)
t.wait_end()
