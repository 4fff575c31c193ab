"""check_replays.py PROGRAM...: each runs in the same way the second time, for each seed, and by its schedule.

Compared are the choices that the engine writes, the exit status, and all that the program says: many of them fail with
some seeds. EXPLORE_SEEDS=N tries N seeds of each program (default: 10).
"""
import os, subprocess, sys, tempfile

seeds = int(os.environ.get("EXPLORE_SEEDS", "10"))
policies = ["random", "pct:3:200"]


def run(program, out, **settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith("EVENT_")}
    env.update({"EVENT_SMP_TIME": "virtual", "EVENT_SMP_SCHEDULE_OUT": out}, **settings)
    done = subprocess.run([program], env=env, capture_output=True, text=True, timeout=60)
    with open(out, encoding="utf-8") as file:
        choices = [text for text in file.read().splitlines() if not text.startswith("#")]
    os.unlink(out)
    return done.returncode, done.stdout, done.stderr, choices


def replay(program, seed, folder):
    """What became of it."""
    policy = policies[seed % len(policies)]
    out, kept = os.path.join(folder, "out"), os.path.join(folder, "kept")
    before = run(program, out, EVENT_SMP_SEED=str(seed), EVENT_SMP_POLICY=policy)
    again = run(program, out, EVENT_SMP_SEED=str(seed), EVENT_SMP_POLICY=policy)
    with open(kept, "w", encoding="utf-8") as file:
        file.write("\n".join(before[3]) + "\n")
    listed = run(program, out, EVENT_SMP_SCHEDULE=kept)
    if before != again or before[:3] != listed[:3] or before[3][1:] != listed[3][1:]:
        sys.exit(f"{program}, seed {seed} ({policy}): another run:\n{before}\n{again}\n{listed}")
    return before[0] != 0, tuple(before[3])


with tempfile.TemporaryDirectory() as folder:
    for program in sys.argv[1:]:
        seen = [replay(program, seed, folder) for seed in range(1, seeds + 1)]
        print(f"{os.path.basename(program):22} {seeds} of {seeds} seeds replay exactly: {len({c for _, c in seen})} "
              f"schedules, {sum(failed for failed, _ in seen)} failures")
