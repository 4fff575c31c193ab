#!/usr/bin/env python3
"""usage: replay_rules.py SOURCE

Has evsmp/replay.c, which simulates the scheduler, the same limits as the scheduler?
"""
import re
import sys
from pathlib import Path

SOURCE = Path(sys.argv[1])
# What replay.c calls it, where the engine has it, and what it is called there.
RULES = (
    ("BUDGET_NS", "core/sched/run.h", "EC_RUN_NS"),
    ("BUDGET_CALLS", "core/sched/run.c", "BUDGET"),
    ("STUCK_NS", "core/sched/steal.c", "STUCK_NS"),
    ("TAKE_MAX", "core/sched/steal.c", "TAKE_MAX"),
    ("AWAY", "core/sched/steal.c", "AWAY"),
    ("MOVE_AT", "core/sched/steal.c", "MOVE_AT"),
    (".rescue_ns", "core/io/polling.c", "RESCUE_NS"),
    (".poll_every_ns", "core/sched/run.h", "EC_RUN_NS"),
)


def value(path, name):
    found = re.findall(rf"^\s*{re.escape(name)} = ([^,;/]+),", (SOURCE / path).read_text(encoding="utf-8"), re.M)
    if len(found) != 1:
        sys.exit(f"{path} has {len(found)} values of {name}")
    return found[0].strip()


faults = [f"{name} is {value('evsmp/replay.c', name)}, but {there} of {path} is {value(path, there)}"
          for name, path, there in RULES if value("evsmp/replay.c", name) != value(path, there)]
sys.exit("\n".join(faults) or 0)
