# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""Rounds of measurements, interleaved, and the tables made of them."""

import statistics
import sys
import time
from collections import defaultdict

from .programs import run_quietly

_HIGHER_IS_BETTER = ("1/s", "MB/s", "x")
_NO_RATIO = ("",)


class Results:
    """(section, case, metric) -> program -> round -> value."""

    def __init__(self):
        self.values = defaultdict(lambda: defaultdict(dict))
        self.units = {}
        self.excuses = defaultdict(dict)  # (section, case) -> program -> why
        self.failures = []
        self.noises = []
        self.rounds = 0

    def take(self, section, case, program, outcome, round_no):
        place = (section.key, case.name)
        if outcome.failed:
            self.failures.append(f"{section.key}, {case.name}, {program.name}: {outcome.failed}")
            self.excuses[place][program.name] = outcome.failed
        if outcome.skipped:
            self.excuses[place][program.name] = outcome.skipped
        for metric, (value, unit) in outcome.results.items():
            self.units[(*place, metric)] = unit
            self.values[(*place, metric)][program.name][round_no] = value
        if outcome.results:
            self.noises.append(outcome.noise)


def _missing(place, program):
    if not place.has(program.argv[0]):
        return "not built"
    if program.is_ours and not place.has_ours():
        return "not built"
    return ""


def measure(place, sections, limits, seconds=None):
    """Every program once, then every program once more, …: what disturbs, disturbs all. An interrupt
    ends it, and what was measured counts."""
    results = Results()
    try:
        _measure_rounds(place, sections, limits, seconds, results)
    except KeyboardInterrupt:
        print(f"interrupted after {results.rounds} full rounds", file=sys.stderr)
    return results


def _measure_rounds(place, sections, limits, seconds, results):
    end = time.monotonic() + (seconds or float("inf"))
    for round_no in range(limits.rounds):
        for section in sections:
            if section.rounds and round_no >= section.rounds:
                continue
            for case in section.cases:
                if time.monotonic() > end:
                    return
                _measure_case(place, section, case, results, round_no, limits)
            print(f"round {round_no + 1}: {section.title}", file=sys.stderr, flush=True)
        results.rounds = round_no + 1


def _measure_case(place, section, case, results, round_no, limits):
    excuses = results.excuses[(section.key, case.name)]
    for program in case.programs:
        if program.name in excuses and not _has_any(results, section, case, program):
            continue
        missing = _missing(place, program)
        if missing:
            excuses[program.name] = missing
            continue
        outcome = run_quietly(place, program, limits)
        results.take(section, case, program, outcome, round_no)


def _has_any(results, section, case, program):
    return any(
        program.name in columns
        for key, columns in results.values.items()
        if key[:2] == (section.key, case.name)
    )


# ---------------------------------------------------------------- tables


def number(value):
    for limit, divisor, suffix in ((1e8, 1e6, "M"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= limit:
            return f"{value / divisor:.{0 if value >= 100 * divisor else 1}f}{suffix}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values):
    """Median, and from where to where."""
    middle = number(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} [{number(min(values))}..{number(max(values))}]"


def ratio(ours, other, unit):
    """How many times better `ours` is, round by round."""
    ratios = []
    for round_no in ours.keys() & other.keys():
        a, b = ours[round_no], other[round_no]
        if unit in _HIGHER_IS_BETTER:
            a, b = b, a
        if a > 0:
            ratios.append(b / a)
    return spread(ratios) if ratios else ""


def _columns(section):
    names = []
    for case in section.cases:
        names += [p.name for p in case.programs if p.name not in names]
    return names


def _metrics(results, section, case):
    found = [key[2] for key in results.values if key[:2] == (section.key, case.name)]
    return found or [""]


def _row(results, section, case, metric, names):
    key = (section.key, case.name, metric)
    values, unit = results.values.get(key, {}), results.units.get(key, "")
    excuses = results.excuses[key[:2]]
    cells = [f"{case.name}: {metric}{f' ({unit})' if unit else ''}" if metric else case.name]
    for name in names:
        taken = values.get(name)
        cells.append(spread(list(taken.values())) if taken else excuses.get(name, ""))
    for ours, other in section.against:
        has_both = ours in values and other in values and unit not in _NO_RATIO
        cells.append(ratio(values[ours], values[other], unit) if has_both else "")
    return cells + [case.goal]


def _table(results, section):
    names = _columns(section)
    head = ["", *names, *(f"{ours} / {other}" for ours, other in section.against), "goal"]
    rows = [
        _row(results, section, case, metric, names)
        for case in section.cases
        for metric in _metrics(results, section, case)
    ]
    keep = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    lines = [f"## {section.title}", ""]
    for row in [head, ["---"] * len(head), *rows]:
        lines.append("| " + " | ".join(row[i] for i in keep) + " |")
    return lines + [""]


def _scale_table(results, section):
    """Each program's figures as multiples of its own in the case `scale_from`."""
    names = _columns(section)
    lines = [f"As multiples of its own with {section.scale_from}:", ""]
    rows = [["", *names], ["---"] * (len(names) + 1)]
    for case in section.cases[1:]:
        for metric in _metrics(results, section, case):
            values = results.values.get((section.key, case.name, metric), {})
            first = results.values.get((section.key, section.scale_from, metric), {})
            unit = results.units.get((section.key, case.name, metric), "")
            if not values or unit == "x":
                continue
            cells = [ratio(values.get(n, {}), first.get(n, {}), unit) for n in names]
            rows.append([f"{case.name}: {metric}", *cells])
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def tables(results, sections, facts, command):
    noisy = sum(noise > 0.15 for noise in results.noises)
    lines = ["# Benchmark results", "", f"Command: `{command}`", ""]
    lines += [f"* {fact}" for fact in facts]
    lines += [
        f"* full rounds: {results.rounds}; "
        f"others used more than 15 % of the machine in {noisy} of {len(results.noises)} runs",
        "",
        "Median [least..greatest]. Ratios are taken round by round; above 1 the first of the two "
        "is the better one, in time, rate or memory.",
        "",
    ]
    for section in sections:
        lines += _table(results, section)
        if section.scale_from:
            lines += _scale_table(results, section)
    if results.failures:
        lines += ["## Failures", ""] + [f"* {failure}" for failure in results.failures] + [""]
    return "\n".join(lines)


def raw(results):
    """One line a value, for other programs."""
    lines = ["section\tcase\tmetric\tunit\tprogram\tround\tvalue"]
    for key, columns in results.values.items():
        for name, taken in columns.items():
            for round_no, value in taken.items():
                fields = (*key, results.units[key], name, str(round_no), f"{value:.6g}")
                lines.append("\t".join(fields))
    return "\n".join(lines) + "\n"
