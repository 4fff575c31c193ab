"""What the benchmarks of the ports share: who used how much CPU, and who is measured when.

The servers that are compared take turns (AB, BA, AB, ...), so that a machine whose speed
drifts treats them alike; ratios are of neighbours in time.
"""
import glob
import os
import statistics
import sys

HZ = os.sysconf("SC_CLK_TCK")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBDIR_HELP = "our libraries (default: build-release/libdir, else build/libdir)"


def find_libdir(libdir):
    """The absolute path of our libraries; None: those of a build here."""
    folders = [libdir] if libdir else [os.path.join(ROOT, build, "libdir") for build in ("build-release", "build")]
    for folder in folders:
        if os.path.exists(os.path.join(folder, "libevent-2.1.so.7")):
            return os.path.abspath(folder)
    sys.exit("bench: no libevent-2.1.so.7 in " + " or ".join(folders) + "; --libdir names our libraries")


def take_priority(nice):
    """In the child. Where the scheduler groups by session, niceness counts within one alone: so
    it has a session, and that has the niceness, too."""
    os.setsid()
    if nice:
        os.nice(nice)
        try:
            with open("/proc/self/autogroup", "w") as f:
                f.write(str(nice))
        except OSError:
            pass                # it does not group


def busy_time():
    """CPU seconds that anything used or that the hypervisor took, since boot."""
    v = list(map(int, open("/proc/stat").readline().split()[1:]))
    return (v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / HZ


def run_time(pid):
    """CPU seconds of all threads of the process and of its children."""
    total = 0
    for task in glob.glob(f"/proc/{pid}/task/*"):
        try:
            total += int(open(task + "/schedstat").read().split()[0])
            children = open(task + "/children").read().split()
        except (OSError, IndexError):
            continue            # the thread has just ended
        total += sum(run_time(child) * 1e9 for child in children)
    return total / 1e9


class Usage:
    """CPU use from its making to end(), of a server and of what is neither that nor a child of ours
    that has ended by then, nor one of `beside`."""
    beside = []             # processes of ours that run all the time

    def __init__(self, pid):
        self.pid = pid
        self.at = busy_time(), run_time(pid), self.own(), os.times().elapsed

    @classmethod
    def own(cls):
        t = os.times()
        return t.user + t.system + t.children_user + t.children_system + sum(run_time(p.pid) for p in cls.beside)

    def end(self):
        """CPUs in use: by the server, by others."""
        busy, run, own, start = self.at
        seconds = os.times().elapsed - start
        run = run_time(self.pid) - run
        other = busy_time() - busy - run - (self.own() - own)
        return run / seconds, max(0, other) / seconds


def interleave(sides, rounds, sample):
    """sample(side) for each side in each round: a list for each side."""
    samples = [[] for _ in sides]
    for n in range(rounds):
        order = range(len(sides))
        for i in order if n % 2 == 0 else reversed(order):
            samples[i].append(sample(sides[i]))
    return samples


def spread(values):
    """min, median, max"""
    return min(values), statistics.median(values), max(values)


def ratios(samples, base, key):
    """Of neighbours in time."""
    return [s[key] / max(b[key], 1e-9) for s, b in zip(samples, base)]
