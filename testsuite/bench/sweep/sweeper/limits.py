# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""limits.tsv: the patterns that may need more than stock (in the mode colors: more than without colors)."""

import math

_HEAD = "# pattern\tmode\tmetric\thighest ratio; all that is not named here: 1.00\n"
_SLACK = {"plain": 1.01, "locks": 1.01, "colors": 1.05}  # colored work ends by the CPU's counter
_SPREAD = 0.0005  # what two runs may differ by


def read(path):
    found = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, mode, metric, limit = line.split("\t")
            found[pattern, mode, metric] = float(limit)
    return found


def write(path, rows):
    """Today's ratio and some slack, where it is above 1. What these rows do not tell about stays."""
    kept = read(path) if path.exists() else {}
    for row in rows:
        kept.pop((row.pattern, row.mode, row.metric), None)
        if row.ratio > 1 + _SPREAD:
            kept[row.pattern, row.mode, row.metric] = math.ceil(row.ratio * _SLACK[row.mode] * 1000) / 1000
    lines = ["\t".join(key) + f"\t{limit:.3f}\n" for key, limit in sorted(kept.items())]
    path.write_text(_HEAD + "".join(lines))


def check(path, rows):
    known, above = read(path), 0
    for row in sorted(rows, key=lambda row: -row.ratio):
        limit = known.get((row.pattern, row.mode, row.metric), 1.0)
        if row.ratio > limit + _SPREAD:
            above += 1
            print(
                f"{row.pattern}, {row.mode}: {row.ours:.1f} {row.metric} an operation, "
                f"{row.ratio:.4f} of {row.stock:.1f}; the limit is {limit:.3f}"
            )
    print(f"{len(rows)} rows, {above} above their limits")
    return 1 if above else 0
