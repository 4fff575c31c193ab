# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""What the machine is, and how busy it is with other things."""

import os
import resource
from pathlib import Path


def _cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return os.uname().machine


def cpus():
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def facts():
    """Lines for the head of a result; no names of hosts or folders."""
    uname = os.uname()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"CPU: {_cpu_model()}, {cpus()} of {os.cpu_count()} usable",
        f"kernel: {uname.sysname} {uname.release}",
        f"memory: {memory:.0f} GiB",
    ]


class Noise:
    """The share of the machine that others used while something ran; 0 where it cannot be told."""

    def __init__(self):
        self._others = self._others_seconds()

    def share(self, wall):
        used = self._others_seconds() - self._others
        return max(0.0, used) / max(wall, 0.05) / (os.cpu_count() or 1)

    @staticmethod
    def _others_seconds():
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        user, nice, system, _, _, irq, softirq, steal = map(int, fields)
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        ours = 0.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            usage = resource.getrusage(who)
            ours += usage.ru_utime + usage.ru_stime
        return busy - ours
