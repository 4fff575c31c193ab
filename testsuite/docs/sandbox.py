"""A place to run the commands of documents: the tree, an installed copy, and a network that is only loopback."""
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 120                     # seconds for a block
TREE = ("COPYING", "README.md", "compat", "core", "docs", "man", "meson.build", "meson_options.txt", "patches", "ports",
        "scripts", "testsuite")
FOREIGN = ("EVENT_", "EVSMP_", "LD_", "PKG_CONFIG", "DESTDIR", "MESON")    # settings that would change what is tested
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def enter_network():
    """Start again in a network of our own, where the system allows it. Commands run as an ordinary user there, or as root."""
    if os.environ.get("DOCS_NETWORK"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            request = fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
            flags = struct.unpack("16sH14x", request)[1]
            fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
        return
    enter = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-r", "-n"]
    if shutil.which("unshare") is None or subprocess.run([*enter, "true"], stderr=subprocess.DEVNULL).returncode:
        print("this system allows no network of our own: using that of the system")
        return
    os.environ["DOCS_NETWORK"] = "root" if os.geteuid() == 0 else "user"
    os.execvp(enter[0], [*enter, sys.executable, *sys.argv])


def script(path, *lines):
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


class Sandbox:
    def __init__(self, source, build, prefix):
        self.work = Path(tempfile.mkdtemp(prefix="docs-"))
        self.work.chmod(0o755)
        self.source, self.build = Path(source), Path(build)
        stage = self.work / "stage"
        done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild"], env={**os.environ, "DESTDIR": str(stage)},
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"meson install fails:\n{done.stdout}{done.stderr}")
        self.prefix = stage / prefix.lstrip("/")
        tools = self.work / "tools"
        tools.mkdir()
        # What is installed for staging names the place where it will be.
        files = next(self.prefix.rglob("libevent-smp.pc")).parent
        script(tools / "pkg-config", f'PKG_CONFIG_PATH={files} exec {shutil.which("pkg-config")} '
               f'--define-variable=prefix={self.prefix} "$@"')
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self.env.update(PATH=f"{tools}:{self.prefix}/bin:{os.environ['PATH']}", HOME=str(self.work),
                        CMAKE_PREFIX_PATH=str(self.prefix), MANPATH=f"{self.prefix}/share/man", PYTHONDONTWRITEBYTECODE="1")
        as_user = ["unshare", "-U", "--map-user=1000", "--map-group=1000"]
        self.enter = as_user if os.environ.get("DOCS_NETWORK") == "user" else []
        self.servers = []

    def close(self):
        self.stop_servers()
        shutil.rmtree(self.work)

    def folder(self, name):
        """An empty clone of the tree, built in `build`, for the commands of one document."""
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.work))
        for entry in TREE:
            (place / entry).symlink_to(self.source / entry)
        (place / "build").symlink_to(self.build)
        return place

    def has(self, command):
        return shutil.which(command, path=self.env["PATH"]) is not None

    def start(self, text, place, output):
        return subprocess.Popen([*self.enter, "bash", "-eu", "-o", "pipefail", "-c", text], cwd=place, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, text, place):
        """Status and output of a block. Processes that it leaves behind end with it."""
        with tempfile.TemporaryFile("w+") as output:
            process = self.start(text, place, output)
            try:
                status = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                status = f"no end within {LIMIT} seconds"
            end_session(process)
            output.seek(0)
            return status, output.read()

    def serve(self, text, place):
        """Start a block that ends in a server, and wait until that listens. An error, or None."""
        self.stop_servers()
        output = tempfile.TemporaryFile("w+")
        process = self.start(text, place, output)
        self.servers.append(process)
        end = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < end:
            if listens(process.pid):
                return None
            time.sleep(0.02)
        output.seek(0)
        return f"listens on no port:\n{output.read()}"

    def stop_servers(self):
        while self.servers:
            end_session(self.servers.pop())


def members(session):
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[3]) == session:
            yield entry


def listens(session):
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
            listening.update(f"socket:[{row[9]}]" for row in rows if row[3] == "0A")
    for entry in members(session):
        try:
            if any(os.readlink(fd) in listening for fd in (entry / "fd").iterdir()):
                return True
        except OSError:
            continue
    return False


def end_session(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        for entry in members(process.pid):
            try:
                os.kill(int(entry.name), number)
            except OSError:
                pass
        if number == signal.SIGTERM:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                pass
    process.wait()
