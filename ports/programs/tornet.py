"""A tor network on loopback, for ports/programs/bench: three authorities, which are relays and exits too, a client, and
an echo server behind the exits. A request is 400 bytes, one cell, through the client and three relays and back.
"""
import asyncio
import glob
import os
import re
import socket
import subprocess
import sys
import threading
import time

REQUEST = 400           # bytes: within the 498 that a cell carries
STREAMS = 64
START_LIMIT = 100       # seconds; a network votes for its first minute
TRIES = 4               # one network in eight stays without a circuit, on either library

COMMON = """TestingTorNetwork 1
DataDirectory {folder}
Log notice file {folder}/log
"""
AUTHORITY = """Nickname authority{i}
Address 127.0.0.1
ORPort 127.0.0.1:{orport}
DirPort 127.0.0.1:{dirport}
SocksPort 0
AuthoritativeDirectory 1
V3AuthoritativeDirectory 1
ContactInfo none@example.test
ExitRelay 1
ExitPolicy accept 127.0.0.0/8:*
ExitPolicyRejectPrivate 0
TestingV3AuthInitialVotingInterval 20
TestingV3AuthInitialVoteDelay 4
TestingV3AuthInitialDistDelay 4
V3AuthVotingInterval 300
V3AuthVoteDelay 4
V3AuthDistDelay 4
TestingDirAuthVoteExit *
TestingDirAuthVoteHSDir *
TestingDirAuthVoteGuard *
TestingMinExitFlagThreshold 0
AssumeReachable 1
ServerDNSAllowBrokenConfig 1
ServerDNSDetectHijacking 0
"""


class Echo:
    """A thread that sends back what comes."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    @staticmethod
    def serve(s):
        with s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                try:
                    got = s.recv(65536)
                    if not got:
                        return
                    s.sendall(got)
                except OSError:
                    return


async def connect(socks_port, port):
    """A stream to that port of loopback, by SOCKS 5 (RFC 1928)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", socks_port)
    writer.write(b"\5\1\0")
    await reader.readexactly(2)
    writer.write(b"\5\1\0\1\x7f\0\0\1" + port.to_bytes(2, "big"))
    answer = await reader.readexactly(10)
    if answer[1] != 0:
        writer.close()
        raise ConnectionError(f"SOCKS says {answer[1]}")
    return reader, writer


async def ask(reader, writer, end):
    """Requests until that time, one after the other: how many."""
    num = 0
    while time.monotonic() < end:
        writer.write(b"x" * REQUEST)
        await reader.readexactly(REQUEST)
        num += 1
    return num


class Network:
    """The processes are children of one, so that their use of the CPU is one figure."""

    def __init__(self, tor, gencert, free_port, folder, env, echo):
        self.tor, self.folder, self.env, self.echo = tor, folder, env, echo
        os.makedirs(folder)
        self.socks = free_port()
        names = [f"a{i}" for i in (1, 2, 3)]
        authorities = "".join([self.authority(i, gencert, free_port) for i in (1, 2, 3)])
        names.append("client")
        self.write("client", f"SocksPort 127.0.0.1:{self.socks}\n", mode="w")
        for name in names:
            self.write(name, authorities)
        commands = [f"'{tor}' --hush -f '{folder}/{n}/torrc' --defaults-torrc /dev/null" for n in names]
        self.process = subprocess.Popen(["sh", "-c", "trap 'kill 0' TERM\n" + " &\n".join(commands) + " &\nwait"], env=env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)

    def write(self, name, lines, mode="a"):
        os.makedirs(f"{self.folder}/{name}", mode=0o700, exist_ok=True)
        with open(f"{self.folder}/{name}/torrc", mode) as f:
            if mode == "w":
                f.write(COMMON.format(folder=f"{self.folder}/{name}"))
            f.write(lines)

    def authority(self, i, gencert, free_port):
        """Makes its keys and its configuration; the line that makes it known to all."""
        keys = f"{self.folder}/a{i}/keys"
        ports = {"orport": free_port(), "dirport": free_port()}
        self.write(f"a{i}", AUTHORITY.format(i=i, **ports), mode="w")
        os.makedirs(keys, mode=0o700)
        self.run([gencert, "--create-identity-key", "--passphrase-fd", "0", "-m", "12", "-a", f"127.0.0.1:{ports['dirport']}",
                  "-i", keys + "/authority_identity_key", "-s", keys + "/authority_signing_key",
                  "-c", keys + "/authority_certificate"], input="secret\n")
        said = self.run([self.tor, "--list-fingerprint", "--hush", "-f", f"{self.folder}/a{i}/torrc", "--defaults-torrc", "/dev/null",
                         "--DirAuthority", "none 127.0.0.1:1 " + "0" * 39 + "1"])
        fingerprint = re.search(r"^authority\d (.*)", said, re.M)[1].replace(" ", "")
        with open(keys + "/authority_certificate") as f:
            identity = re.search(r"^fingerprint (\S+)", f.read(), re.M)[1]
        return (f"DirAuthority authority{i} orport={ports['orport']} no-v2 v3ident={identity} "
                f"127.0.0.1:{ports['dirport']} {fingerprint}\n")

    def run(self, argv, **how):
        return subprocess.run(argv, env=self.env, check=True, capture_output=True, text=True, **how).stdout

    def wait(self):
        """Until a stream goes through, or START_LIMIT: None, or why not."""
        end = time.monotonic() + START_LIMIT
        while True:
            try:
                asyncio.run(self.requests(0.1, 1))
                return None
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as e:
                if time.monotonic() > end or self.process.poll() is not None:
                    return repr(e)
                time.sleep(0.5)

    def logs(self):
        """The end of each."""
        ends = []
        for path in sorted(glob.glob(self.folder + "/*/log")):
            with open(path) as f:
                ends.append(path + ":\n" + "".join(f.readlines()[-10:]))
        return "".join(ends)

    async def requests(self, secs, streams):
        opened = await asyncio.wait_for(asyncio.gather(*(connect(self.socks, self.echo.port) for _ in range(streams))), 30)
        try:
            start = time.monotonic()
            nums = await asyncio.gather(*(ask(r, w, start + secs) for r, w in opened))
            return sum(nums) / (time.monotonic() - start)
        finally:
            for _, w in opened:
                w.close()

    def stop(self):
        """It goes on, for the next sample."""

    def close(self):
        self.process.terminate()
        self.process.wait()


class Tor:
    """A network for each side, which stays; only the side that is asked works."""

    def __init__(self, tool, free_port, folder, secs):
        self.tool, self.free_port, self.folder, self.secs = tool, free_port, folder, secs
        self.echo = Echo()
        self.networks = {}

    def start(self, env):
        side = env.get("LD_LIBRARY_PATH", "")
        if side not in self.networks:
            self.networks[side] = self.start_network(env)
        self.network = self.networks[side]
        return self.network

    def start_network(self, env):
        for i in range(TRIES):
            n = Network(self.tool("tor", "tor"), self.tool("tor-gencert", "tor"), self.free_port,
                        f"{self.folder}/{len(self.networks)}.{i}", env, self.echo)
            why = n.wait()
            if why is None:
                return n
            n.close()
        sys.exit(f"bench: the tor network did not start: {why}\n" + n.logs())

    def load(self):
        return asyncio.run(self.network.requests(self.secs, STREAMS))

    def close(self):
        for n in self.networks.values():
            n.close()
