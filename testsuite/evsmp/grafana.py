#!/usr/bin/env python3
"""usage: grafana.py DASHBOARD METRICS

Does each expression of the dashboard ask for metrics and labels that `evsmp metrics` prints? Workers and colors have
numbers of their base: who groups by them groups by the base, too. A legend names all that is grouped by.
"""
import json
import re
import sys

GIVEN = {"instance", "job"}     # labels that Prometheus adds
SELECTOR = re.compile(r"(libevent_smp_\w+)(?:\{([^}]*)\})?")
GROUP = re.compile(r"\bby \(([^)]*)\)")

faults = []


def printed_labels(path):
    """The labels of each metric, and its type's suffixes with it."""
    labels = {}
    for line in open(path, encoding="utf-8"):
        if not line.startswith("#"):
            name, _, rest = line.partition("{")
            names = re.findall(r'(?:^|,)([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"', rest.rpartition("}")[0])
            labels.setdefault(name.split(" ")[0], set()).update(names)
    return labels


def names(text):
    return {word.strip() for word in text.split(",") if word.strip()}


def check(title, expression, legend, metrics):
    selectors = SELECTOR.findall(expression)
    if not selectors:
        faults.append(f"{title}: no metric in {expression}")
    grouped = set().union(*(names(text) for text in GROUP.findall(expression)))
    for metric, matchers in selectors:
        wanted = grouped | {word.split("=")[0].rstrip("!~") for word in names(matchers)}
        if metric not in metrics:
            faults.append(f"{title}: evsmp prints no {metric}")
        elif not wanted <= metrics[metric] | GIVEN:
            faults.append(f"{title}: {metric} has no label {', '.join(sorted(wanted - metrics[metric] - GIVEN))}")
    if grouped & {"worker", "color"} and "base" not in grouped:
        faults.append(f"{title}: adds workers or colors of different bases: {expression}")
    if legend is not None and set(re.findall(r"\{\{(\w+)\}\}", legend)) != grouped - {"le"}:
        faults.append(f"{title}: grouped by {', '.join(sorted(grouped))}, but the legend is {legend}")


def main():
    dashboard, metrics = json.load(open(sys.argv[1], encoding="utf-8")), printed_labels(sys.argv[2])
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(ids) != len(set(ids)) or not ids:
        faults.append("panels have no ids of their own")
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            check(panel["title"], target["expr"], target["legendFormat"], metrics)
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            check(variable["name"], variable["query"]["query"], None, metrics)
    print("\n".join(faults), end="\n" if faults else "")
    return bool(faults)


sys.exit(main())
