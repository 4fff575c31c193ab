"""check_replay.py ORDERS: a seed stands for one order of callbacks, and so does the schedule that it writes.

EXPLORE_SEEDS=N tries N seeds (default: 100).
"""
import os, subprocess, sys, tempfile

orders = sys.argv[1]
seeds = int(os.environ.get("EXPLORE_SEEDS", "100"))
policies = ["random", "pct:3:200", "random", "pct:8:400"]


def run(**settings):
    """What the program prints, with the times of its callbacks as differences."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("EVENT_")}
    env.update({"EVENT_SMP_TIME": "virtual"}, **settings)
    done = subprocess.run([orders], env=env, capture_output=True, text=True, timeout=60)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{settings}: status {done.returncode}: {done.stderr}")
    words = [text.rsplit(" at ", 1) for text in done.stdout.splitlines()]
    first = int(words[0][1])
    return [(what, (int(at) - first) % 1000000) for what, at in words]


def replay(seed, schedule):
    policy = policies[seed % len(policies)]
    before = run(EVENT_SMP_SEED=str(seed), EVENT_SMP_POLICY=policy, EVENT_SMP_SCHEDULE_OUT=schedule)
    again = run(EVENT_SMP_SEED=str(seed), EVENT_SMP_POLICY=policy)
    listed = run(EVENT_SMP_SCHEDULE=schedule)
    os.unlink(schedule)
    if before != again or before != listed:
        sys.exit(f"seed {seed} ({policy}): another order the second time, or by its schedule")
    return tuple(before)


with tempfile.TemporaryDirectory() as folder:
    seen = {replay(seed, os.path.join(folder, "schedule")) for seed in range(1, seeds + 1)}
print(f"{seeds} of {seeds} seeds replay exactly: {len(seen)} orders")
if len(seen) < seeds * 9 // 10:
    sys.exit("too few orders for so many seeds")
