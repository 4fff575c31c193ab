# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""The places of programs and libraries, and how one program is started."""

import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from .machine import Noise

SKIPPED = 77
LOADER = "ld.so"
NEW = "NEW"  # the value of a variable of a program: a path where no file is

# What is ours to set, and what would change what is measured, is not taken from the caller.
_UNWANTED = re.compile(r"(EVENT_|BENCH_|LD_LIBRARY_PATH$|GOMAXPROCS$|MALLOC_)")


@dataclass(frozen=True)
class Program:
    """One column of a table: who is measured, and how."""

    name: str
    argv: tuple
    env: dict = field(default_factory=dict)
    is_ours: bool = False  # runs on our libraries


@dataclass
class Outcome:
    results: dict  # metric -> (value, unit)
    skipped: str = ""  # why there is nothing, or not all
    failed: str = ""
    noise: float = 0.0


class Place:
    """A build tree, or a bundle that pack.py made: there the loader is called by name."""

    def __init__(self, build, libdir=None):
        self.build = build
        self.is_bundle = (build / "lib" / LOADER).exists()
        self.libdir = libdir or build / "libdir"
        self.bin = build / "bin" if self.is_bundle else build / "testsuite" / "bench"
        self._steps = None

    def has(self, program):
        return (self.bin / program).exists()

    def has_ours(self):
        return (self.libdir / "libevent_smp.so.1").exists()

    def command(self, program, prefix=()):
        """The argument list and the environment."""
        env = {k: v for k, v in os.environ.items() if not _UNWANTED.match(k)}
        env.update(program.env, BENCH_NAME=program.name, BENCH_STEPS_PER_US=self._steps_per_us())
        paths = [str(self.libdir)] if program.is_ours else []
        path = self.bin / program.argv[0]
        argv = [str(path), *map(str, program.argv[1:])]
        if self.is_bundle and not _is_static(path):
            paths.append(str(self.build / "lib"))
            argv[:0] = [str(self.build / "lib" / LOADER), "--library-path", ":".join(paths)]
        elif paths:
            env["LD_LIBRARY_PATH"] = ":".join(paths)
        return [*prefix, *argv], env

    def _steps_per_us(self):
        """The length of work, measured once for all programs."""
        if self._steps is None:
            self._steps = "0"
            argv, env = self.command(Program("calibrate", ("calibrate",)))
            self._steps = subprocess.run(
                argv, env=env, capture_output=True, text=True, check=True
            ).stdout.strip()
        return self._steps


def _is_static(path):
    """Scripts and programs without an interpreter need no loader of ours."""
    head = path.read_bytes()[:8192]
    return not head.startswith(b"\x7fELF") or b"ld-linux" not in head


@dataclass(frozen=True)
class Limits:
    rounds: int
    noise_max: float  # the share of the machine that others may use
    tries: int  # runs, at most, until it is that quiet
    run_s: int  # seconds for one run


def run_once(place, program, limit_s):
    with tempfile.TemporaryDirectory() as folder:
        return _run_in(place, program, limit_s, folder)


def with_paths(env, folder):
    """Each that is NEW has a path of its own."""
    return {name: f"{folder}/{name}" if value == NEW else value for name, value in env.items()}


def _run_in(place, program, limit_s, folder):
    argv, env = place.command(program)
    env = with_paths(env, folder)
    noise, begin = Noise(), time.monotonic()
    try:
        done = subprocess.run(
            argv, env=env, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome({}, failed=f"no end within {limit_s} s")
    share = noise.share(time.monotonic() - begin)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    results = _parse(done.stdout)
    if done.returncode == SKIPPED:
        return Outcome(results, skipped=last, noise=share)
    if done.returncode != 0 or not results:
        return Outcome({}, failed=f"status {done.returncode} {last}".strip())
    return Outcome(results, noise=share)


def _parse(text):
    """Lines of: shape, name, metric, value, unit."""
    results = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            results[fields[2]] = (float(fields[3]), fields[4])
    return results


def run_quietly(place, program, limits):
    """Again while others disturb; the least disturbed one counts."""
    best = None
    for _ in range(limits.tries):
        outcome = run_once(place, program, limits.run_s)
        if not outcome.results:
            return outcome
        if best is None or outcome.noise < best.noise:
            best = outcome
        if best.noise <= limits.noise_max:
            break
    return best
