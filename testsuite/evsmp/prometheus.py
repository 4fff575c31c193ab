#!/usr/bin/env python3
"""usage: prometheus.py FILE

Is FILE in the text format of Prometheus, and do its names keep the conventions? Prints what is wrong.
https://prometheus.io/docs/instrumenting/exposition_formats/, https://prometheus.io/docs/practices/naming/
"""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? (-?[0-9.]+(?:e[-+]?[0-9]+)?|[-+]Inf|NaN)$")
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}

faults = []
types, helps, seen, values = {}, {}, set(), {}
current = None
finished = set()


def fault(number, what):
    faults.append(f"{sys.argv[1]}:{number}: {what}")


def family_of(name):
    for suffix in ("_bucket", "_sum", "_count"):
        if name.endswith(suffix) and types.get(name[: -len(suffix)]) == "histogram":
            return name[: -len(suffix)]
    return name


text = open(sys.argv[1], encoding="utf-8").read()
if not text.endswith("\n"):
    fault(0, "the last line does not end")
for number, line in enumerate(text.splitlines(), 1):
    if line.startswith("# HELP "):
        name, _, words = line[7:].partition(" ")
        if name in helps or not words:
            fault(number, f"HELP twice, or empty: {name}")
        helps[name] = words
        continue
    if line.startswith("# TYPE "):
        name, _, kind = line[7:].partition(" ")
        if name in types or kind not in TYPES or name not in helps:
            fault(number, f"TYPE of {name} is {kind}")
        types[name] = kind
        if not name.startswith("libevent_smp_"):
            fault(number, f"{name} has not the prefix")
        if (kind == "counter") != name.endswith("_total"):
            fault(number, f"{name}: counters end in _total, and only they")
        continue
    match = SAMPLE.match(line)
    if match is None:
        fault(number, f"no sample: {line}")
        continue
    name, labels, value = match.groups()
    family = family_of(name)
    if family not in types:
        fault(number, f"no TYPE of {name}")
    if family != current:
        if family in finished:
            fault(number, f"samples of {family} do not stand together")
        finished.add(current)
        current = family
    if (name, labels) in seen:
        fault(number, f"twice: {line}")
    seen.add((name, labels))
    values[name, labels] = float(value)
    if types.get(family) == "counter" and float(value) < 0:
        fault(number, f"a counter below 0: {line}")

for family in (name for name, kind in types.items() if kind == "histogram"):
    groups = {}
    for (name, labels), value in values.items():
        if name == family + "_bucket":
            rest, _, bound = labels.rpartition(',le="')
            groups.setdefault(rest, []).append((float(bound[:-1]), value))
    if not groups:
        faults.append(f"{family}: no buckets")
    for labels, buckets in groups.items():
        bounds = [bound for bound, _ in buckets]
        counts = [count for _, count in buckets]
        if bounds != sorted(set(bounds)) or counts != sorted(counts) or bounds[-1] != float("inf"):
            faults.append(f"{family}{{{labels}}}: buckets do not grow up to +Inf")
        if values.get((family + "_count", labels)) != counts[-1] or (family + "_sum", labels) not in values:
            faults.append(f"{family}{{{labels}}}: _count is not the last bucket, or there is no _sum")

for what in faults:
    print(what)
sys.exit(bool(faults))
