# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""Runs the programs on either library, counts, and keeps stock's figures."""

import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PLAIN, LOCKS, COLORS = "plain", "locks", "colors"
INSTRUCTIONS = "instructions"

_COLLECTED = re.compile(r"==(\d+)== Collected : (\d+)")
_LOADED = re.compile(r"(\S+) => (/\S+)")
_MARK = re.compile(r'(\d+) +write\(-1, "sweep (begin|end)"')
_CALL = re.compile(r"(\d+) +([a-z_0-9]+)\(")
_OPTIONS = {PLAIN: (), LOCKS: ("--locks",), COLORS: ("--colors",)}


class Unable(Exception):
    """What is missing here."""


@dataclass(frozen=True)
class Pattern:
    name: str
    ops: int
    flags: frozenset

    def has(self, mode):
        if mode == COLORS:
            return "colors" in self.flags
        return mode == LOCKS or "locks" not in self.flags


@dataclass(frozen=True)
class Row:
    """One figure for an operation. In the mode colors, `stock` is ours without colors."""

    pattern: str
    mode: str
    metric: str
    stock: float
    ours: float

    @property
    def ratio(self):
        if self.stock == 0:
            return 1.0 if self.ours == 0 else float("inf")
        return self.ours / self.stock


class Machine:
    def __init__(self, build, libdir, jobs):
        self.folder = build / "testsuite" / "bench" / "sweep"
        self.libdir = libdir or build / "libdir"
        self.jobs = jobs
        self.cache = build / "sweep-cache"
        if not (self.folder / "patterns").exists():
            raise Unable("no programs in this build: stock libevent or valgrind's headers are missing")
        self._check_libraries()

    def _environment(self, is_ours, mode):
        """Nothing is taken from the caller, so that the figures do not depend on it."""
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LD_BIND_NOW": "1", "LC_ALL": "C"}
        if is_ours:
            env["LD_LIBRARY_PATH"] = str(self.libdir)
        if mode == COLORS:
            env["EVENT_WORKERS"] = "1"
        return env

    def _loaded(self, program, is_ours):
        env = {**self._environment(is_ours, PLAIN), "LD_TRACE_LOADED_OBJECTS": "1"}
        done = subprocess.run([program], env=env, capture_output=True, text=True, check=True)
        return dict(_LOADED.findall(done.stdout))

    def _check_libraries(self):
        ours = self._loaded(self.folder / "patterns", True)
        stock = self._loaded(self.folder / "patterns", False)
        name = next((name for name in ours if name.startswith("libevent_core")), None)
        if name is None or Path(ours[name]).resolve().parent != self.libdir.resolve():
            raise Unable(f"our libraries are not in {self.libdir}")
        if name not in stock or "libevent_smp.so.1" in stock:
            raise Unable("stock libevent is not where the loader looks")
        self._stock = stock

    def patterns(self, globs, is_fast):
        done = subprocess.run(
            [self.folder / "patterns", "--list"],
            env=self._environment(False, PLAIN),
            capture_output=True,
            text=True,
            check=True,
        )
        found = []
        for line in done.stdout.splitlines():
            name, ops, flags = line.split("\t")
            pattern = Pattern(name, int(ops), frozenset(flags.rstrip("-").split(",")) - {""})
            is_wanted = any(fnmatch.fnmatch(name, glob) for glob in globs.split(","))
            if is_wanted and not (is_fast and pattern.flags & {"slow", "uneven"}):
                found.append(pattern)
        return found

    def _fixed(self):
        """The same addresses in each run, if this process may ask for them."""
        setarch = shutil.which("setarch")
        if setarch and subprocess.run([setarch, "-R", "true"], capture_output=True, check=False).returncode == 0:
            return [setarch, "-R"]
        return []

    def _instructions(self, patterns, is_ours, mode):
        argv = [*self._fixed(), "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        argv += [self.folder / "patterns", *_OPTIONS[mode], *(pattern.name for pattern in patterns)]
        done = subprocess.run(
            argv, env=self._environment(is_ours, mode), capture_output=True, text=True, check=False
        )
        collected = dict(_COLLECTED.findall(done.stderr))
        counts = {}
        for line in done.stdout.splitlines():
            name, pid, ops = line.split("\t")
            if pid in collected:
                counts[name] = {INSTRUCTIONS: int(collected[pid]) / int(ops)}
        return self._complete(counts, patterns, is_ours, mode, done.stderr)

    def _calls(self, patterns, is_ours, mode):
        argv = [self.folder / "patterns-calls", *_OPTIONS[mode], *(pattern.name for pattern in patterns)]
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "strace"
            has_strace = shutil.which("strace") is not None
            if has_strace:
                argv = ["strace", "-f", "-s", "12", "-o", log, *argv]
            done = subprocess.run(
                argv, env=self._environment(is_ours, mode), capture_output=True, text=True, check=False
            )
            system_calls = _count_calls(log) if has_strace and log.exists() else {}
        counts = {}
        for line in done.stdout.splitlines():
            name, pid, ops, allocs, _frees, asked, reads = line.split("\t")
            found = {"allocations": allocs, "bytes allocated": asked, "clock reads": reads}
            if pid in system_calls:
                found["system calls"] = system_calls[pid]
            counts[name] = {metric: int(value) / int(ops) for metric, value in found.items()}
        return self._complete(counts, patterns, is_ours, mode, done.stderr)

    @staticmethod
    def _complete(counts, patterns, is_ours, mode, errors):
        missing = [pattern.name for pattern in patterns if pattern.name not in counts]
        if missing:
            lines = [line for line in errors.splitlines() if not line.startswith("==")]
            who = "ours" if is_ours else "stock"
            raise SystemExit(f"{who}, {mode}: no figure for {', '.join(missing)}\n" + "\n".join(lines[-20:]))
        return counts

    def _key(self, what, mode):
        """Of all that stock's figures depend on."""
        known = hashlib.sha256(f"{what} {mode} {self._fixed()}".encode())
        program = self.folder / ("patterns" if what == INSTRUCTIONS else "patterns-calls")
        for path in (program, *sorted(self._stock.values()), shutil.which("valgrind")):
            known.update(Path(path).read_bytes())
        return known.hexdigest()[:24]

    def _stock_counts(self, count, what, patterns, mode, is_cached):
        path = self.cache / f"{self._key(what, mode)}.json"
        known = json.loads(path.read_text()) if is_cached and path.exists() else {}
        missing = [pattern for pattern in patterns if pattern.name not in known]
        if missing:
            known.update(count(missing, False, mode))
            self.cache.mkdir(exist_ok=True)
            path.write_text(json.dumps(known, indent=1, sort_keys=True))
        return known

    def rows(self, what, patterns, modes, is_cached):
        """The modes run beside each other; each of them is one process for each library."""
        count = self._instructions if what == INSTRUCTIONS else self._calls
        wanted = {mode: [p for p in patterns if p.has(mode)] for mode in modes}
        wanted = {mode: some for mode, some in wanted.items() if some}
        with ThreadPoolExecutor(self.jobs) as pool:
            ours = {mode: pool.submit(count, some, True, mode) for mode, some in wanted.items()}
            if COLORS in wanted and PLAIN not in wanted:
                ours[PLAIN] = pool.submit(count, wanted[COLORS], True, PLAIN)
            stock = {
                mode: pool.submit(self._stock_counts, count, what, some, mode, is_cached)
                for mode, some in wanted.items()
                if mode != COLORS
            }
            if COLORS in wanted:
                stock[COLORS] = ours[PLAIN]
            found = []
            for mode, some in wanted.items():
                found += _compare(some, mode, stock[mode].result(), ours[mode].result())
        return found

    def memory(self, mode, globs):
        """
        Lines of sweep --memory: (name, count) to five figures, for stock and ours, and what could not be measured.
        """
        sides, failures = [], []
        for is_ours in (False, True):
            done = subprocess.run(
                [self.folder / "patterns", "--memory", *_OPTIONS[mode], *globs.split(",")],
                env=self._environment(is_ours, mode),
                capture_output=True,
                text=True,
                check=False,
            )
            rows = {}
            for line in done.stdout.splitlines():
                name, num, *figures = line.split("\t")
                rows[name, int(num)] = [int(figure) for figure in figures]
            sides.append(rows)
            who = "ours" if is_ours else "stock"
            failures += [f"{who}, {mode}: {line}" for line in done.stderr.splitlines()]
            if done.returncode != 0 and not done.stderr:
                failures.append(f"{who}, {mode}: status {done.returncode}")
        return sides, failures

    def profile(self, name, mode):
        beside = ("ours without colors", True, PLAIN) if mode == COLORS else ("stock", False, mode)
        for who, is_ours, mode in (beside, ("ours", True, mode)):
            with tempfile.TemporaryDirectory() as folder:
                argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/%p"]
                argv += [self.folder / "patterns", "--clean", *_OPTIONS[mode], name]
                done = subprocess.run(
                    argv, env=self._environment(is_ours, mode), capture_output=True, text=True, check=False
                )
                if "\t" not in done.stdout:
                    raise SystemExit(done.stderr)
                pid = done.stdout.split("\t")[1]
                print(f"== {who}, {mode}: {name}, {done.stdout.split()[-1]} operations and the end", flush=True)
                _drop_begun_calls(Path(folder) / pid)
                subprocess.run(["callgrind_annotate", f"{folder}/{pid}"], check=False)
        return 0


def _drop_begun_calls(profile):
    """Calls that began before the count have the number 0, and callgrind_annotate adds them up as the callers' own."""
    profile.write_text(re.sub(r"^calls=0 .*\n.*\n", "", profile.read_text(), flags=re.MULTILINE))


def _count_calls(log):
    """System calls of all threads between the two marks of a pattern, by its process."""
    counts, current, parent = {}, None, None
    with log.open(errors="replace") as lines:
        for line in lines:
            parent = parent or line.split()[0]
            mark = _MARK.match(line)
            if mark:
                current = mark.group(1) if mark.group(2) == "begin" else None
                if current:
                    counts[current] = 0
            elif current and _CALL.match(line) and line.split()[0] != parent:
                counts[current] += 1
    return counts


def _compare(patterns, mode, stock, ours):
    found = []
    for pattern in patterns:
        one, other = stock[pattern.name], ours[pattern.name]
        found += [
            Row(pattern.name, mode, metric, one[metric], other[metric]) for metric in one if metric in other
        ]
    return found
