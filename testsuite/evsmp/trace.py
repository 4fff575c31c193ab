#!/usr/bin/env python3
"""usage: trace.py FORMAT FILE

Checks what `evsmp trace` wrote, by rules that hold for each trace of that format, and prints what is in it, in words
that are the same for all formats:

  workers: 2
  callbacks: 40 tick, 100 work
  colors: 0 1 2
  arrows: 100 post, 3 wake-up

FORMAT is json (Chrome's trace format), perfetto (a message Trace of protobuf), html, or svg.
"""
import collections
import json
import re
import sys
import xml.etree.ElementTree


class Summary:
    def __init__(self):
        self.workers, self.callbacks, self.colors, self.arrows = set(), collections.Counter(), set(), collections.Counter()

    def __str__(self):
        def counts(counter):
            return ", ".join(f"{num} {name}" for name, num in sorted(counter.items())) or "none"

        return "\n".join((f"workers: {len(self.workers)}", f"callbacks: {counts(self.callbacks)}",
                          f"colors: {' '.join(map(str, sorted(self.colors)))}", f"arrows: {counts(self.arrows)}"))


def need(condition, what):
    if not condition:
        sys.exit(f"{sys.argv[2]}: {what}")


# ---------------------------------------------------------------- Chrome's trace format

# By phase: the members that an event has beside ph, pid and tid, and their types.
MEMBERS = {
    "M": {"ts": float, "name": str, "args": dict},
    "X": {"ts": float, "dur": float, "name": str, "cat": str},
    "i": {"ts": float, "name": str, "cat": str, "s": str, "args": dict},
    "C": {"ts": float, "name": str, "args": dict},
    "s": {"ts": float, "name": str, "cat": str, "id": int},
    "f": {"ts": float, "name": str, "cat": str, "id": int, "bp": str},
}
ARGUMENTS = {"color": int, "kind": str, "wait_ns": int, "fd": int, "results": int, "priority": int, "running": bool}


def check_types(values, types, what):
    for name, value in values.items():
        need(name in types, f"{what}: what is {name}?")
        need(isinstance(value, types[name]), f"{what}: {name} is {value!r}")


def check_nesting(spans, what):
    """Each span [begin, end) is within the one around it."""
    ends = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while ends and ends[-1] <= begin:
            ends.pop()
        need(not ends or end <= ends[-1], f"{what}: {begin} to {end} is half within another")
        ends.append(end)


def check_event(event):
    need(event.get("ph") in MEMBERS, f"an event of phase {event.get('ph')!r}")
    members = dict(MEMBERS[event["ph"]], ph=str, pid=int, tid=int)
    missing = members.keys() - event.keys()
    need(not missing, f"{event}: no {', '.join(missing)}")
    if event["ph"] == "X":
        members["args"] = dict
        need(event["dur"] >= 0, f"{event}: it ends before it begins")
        check_types(event.get("args", {}), ARGUMENTS, str(event))
    check_types({k: v for k, v in event.items() if k != "ts" and k != "dur"}, members, str(event))
    need(isinstance(event["ts"], (int, float)) and event["ts"] >= 0, f"{event}: when?")


def read_json(path):
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    summary, spans, flows = Summary(), collections.defaultdict(list), collections.defaultdict(list)
    need(set(data) == {"displayTimeUnit", "traceEvents"}, f"it has {set(data)}")
    for event in data["traceEvents"]:
        check_event(event)
        if event["ph"] == "M" and event["name"] == "thread_name":
            summary.workers.add((event["pid"], event["tid"]))
        if event["ph"] == "X":
            begin, end = round(event["ts"] * 1000), round(event["ts"] * 1000) + round(event["dur"] * 1000)
            spans[event["pid"], event["tid"]].append((begin, end))
        if event["ph"] == "X" and event["cat"] == "callback":
            summary.callbacks[event["name"]] += 1
            summary.colors.add(event["args"]["color"])
        if event["ph"] in "sf":
            flows[event["id"]].append(event)
    for thread, its in spans.items():
        need(thread in summary.workers, f"thread {thread} has no name")
        check_nesting(its, f"thread {thread}")
    for its in flows.values():
        need([event["ph"] for event in its] == ["s", "f"], f"{its}: an arrow has two ends")
        summary.arrows[its[0]["name"]] += 1
    return summary


# ---------------------------------------------------------------- protobuf

def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a number is cut off")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """(number, value) of a message: numbers, and bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        need(wire in (0, 1, 2), f"wire type {wire}")
        if wire == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if wire == 1 else varint(data, at)
            need(at + size <= len(data), "a message is cut off")
            value, at = data[at:at + size], at + size
            if wire == 1:
                value = int.from_bytes(value, "little")
        yield key >> 3, value


def message(data, known):
    """{name: [values]} by {number: name}; other numbers are an error."""
    values = collections.defaultdict(list)
    for number, value in fields(data):
        need(number in known, f"field {number}, not one of {known}")
        values[known[number]].append(value)
    return values


PACKET = {8: "timestamp", 10: "sequence", 11: "event", 60: "track"}
TRACK = {1: "uuid", 2: "name", 3: "process", 4: "thread", 5: "parent", 8: "counter"}
EVENT = {4: "annotation", 9: "type", 11: "track", 22: "category", 23: "name", 30: "counter", 47: "flow", 48: "flow_end"}
ANNOTATION = {4: "int", 6: "string", 10: "name"}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Perfetto:
    def __init__(self):
        self.summary, self.kinds, self.open = Summary(), {}, collections.defaultdict(list)
        self.starts, self.ends = {}, {}

    def track(self, data):
        track = message(data, TRACK)
        kind = next(kind for kind in ("process", "thread", "counter") if track[kind])
        uuid, = track["uuid"]
        need(uuid not in self.kinds, f"track {uuid} is there twice")
        need(kind == "process" or track["parent"][0] in self.kinds, f"track {uuid} has no parent")
        self.kinds[uuid] = kind
        if kind == "thread":
            self.summary.workers.add(uuid)

    def begin(self, track, event, at):
        name, = event["name"]
        annotations = [message(data, ANNOTATION) for data in event["annotation"]]
        values = {a["name"][0].decode(): (a["int"] + a["string"])[0] for a in annotations}
        if event["category"] == [b"callback"]:
            self.summary.callbacks[name.decode()] += 1
            self.summary.colors.add(values["color"])
            need({"kind", "results"} <= values.keys(), f"{values}: a callback has more to tell")
        self.open[track].append(at)

    def event(self, data, at):
        event = message(data, EVENT)
        (kind,), (track,) = event["type"], event["track"]
        need(self.kinds.get(track) == ("counter" if kind == COUNTER else "thread"), f"track {track} of an event")
        if kind == BEGIN:
            self.begin(track, event, at)
        elif kind == END:
            need(self.open[track], f"track {track}: nothing ends there")
            need(self.open[track].pop() <= at, f"track {track}: it ends before it begins")
        for flow in event["flow"]:
            need(flow not in self.starts, f"arrow {flow} begins twice")
            self.starts[flow] = event["name"][0].decode()
        for flow in event["flow_end"]:
            need(flow not in self.ends, f"arrow {flow} ends twice")
            self.ends[flow] = True

    def packet(self, data):
        packet = message(data, PACKET)
        need(len(packet["sequence"]) == 1, "a packet without a sequence")
        need(len(packet["event"]) + len(packet["track"]) == 1, "a packet with nothing in it, or too much")
        for track in packet["track"]:
            self.track(track)
        for event in packet["event"]:
            self.event(event, packet["timestamp"][0])


def read_perfetto(path):
    with open(path, "rb") as f:
        data = f.read()
    perfetto = Perfetto()
    for packet in message(data, {1: "packet"})["packet"]:
        perfetto.packet(packet)
    need(not any(perfetto.open.values()), "something does not end")
    need(perfetto.starts.keys() == perfetto.ends.keys(), "arrows with one end")
    for name in perfetto.starts.values():
        perfetto.summary.arrows["steal" if name == "stolen" else name] += 1
    return perfetto.summary


# ---------------------------------------------------------------- pages

SLICE, FLOW, COLOR = 9, 5, 12
FLOWS = {5: "steal", 6: "post", 7: "wake-up"}


def read_html(path):
    with open(path, encoding="utf-8") as f:
        page = f.read()
    need(page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), "it is no whole page")
    need(not re.search(r"(src|href)\s*=|@import|https?:", page), "it needs another file")
    found = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    need(len(found) == 1, "where is its data?")
    data, summary = json.loads(found[0]), Summary()
    for number, band in enumerate(data["bands"]):
        for row in band["rows"]:
            slices = [row["slices"][i:i + SLICE] for i in range(0, len(row["slices"]), SLICE)]
            need(all(len(s) == SLICE for s in slices), "a slice is cut off")
            need(all(s[0] >= 0 for s in slices[1:]), "slices are not in order")
            summary.workers.add((number, row["name"]))
            summary.callbacks.update(data["names"][s[2]] for s in slices if s[7] == 0)
            summary.colors.update(s[3] for s in slices if s[7] == 0)
        need(len(band["flows"]) % FLOW == 0, "an arrow is cut off")
        summary.arrows.update(FLOWS[kind] for kind in band["flows"][FLOW - 1::FLOW])
    need(data["delays"] == sorted(data["delays"], key=lambda d: -d["wait"]), "delays are not in order")
    need(len(data["delays"]) <= 20, "more than 20 delays")
    need(data["advice"], "no advice")
    for color in data["colors"]:
        need(len(color) == COLOR, "a color is cut off")
        need(max(color[6], color[9]) < len(data["names"]) and color[8] < len(data["bands"]), "a color of nothing")
    return summary


def read_svg(path):
    """Callbacks that are narrower than a pixel are left out."""
    root, summary = xml.etree.ElementTree.parse(path).getroot(), Summary()
    need(root.tag == "{http://www.w3.org/2000/svg}svg", f"it is {root.tag}")
    for title in root.iter("{http://www.w3.org/2000/svg}title"):
        found = re.match(r"(.*), color ([^ ,]+), ", title.text)
        if found:
            summary.callbacks[found[1]] += 1
            summary.colors.add(found[2])
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        if re.fullmatch(r"(base \d+, )?worker \d+", text.text or ""):
            summary.workers.add(text.text)
    return summary


print({"json": read_json, "perfetto": read_perfetto, "html": read_html, "svg": read_svg}[sys.argv[1]](sys.argv[2]))
