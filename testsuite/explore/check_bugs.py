"""check_bugs.py EVSMP LIBDIR POLICY BUG...: each bug is found within 1000 seeds, shrunk, and found again."""
import os, re, subprocess, sys, tempfile

evsmp, libdir, policy, *bugs = sys.argv[1:]
env = {name: value for name, value in os.environ.items() if not name.startswith("EVENT_")}
env["EVSMP_LIBDIR"] = libdir


def run(*words, **settings):
    return subprocess.run(words, env={**env, **settings}, capture_output=True, text=True, timeout=300)


def switches(path):
    with open(path, encoding="utf-8") as file:
        return sum(1 for text in file.read().splitlines()[1:] if not text.startswith("#"))


def check(bug, out):
    name = os.path.basename(bug)
    done = run(evsmp, "explore", "--seeds", "1..1000", "--policy", policy, "--out", out, bug)
    if done.returncode != 1:
        sys.exit(f"{name}: status {done.returncode}, not 1: {done.stdout}{done.stderr}")
    seed = re.search(r"^seed (\d+) \(", done.stdout, re.M)
    shrunk = re.search(r"^shrunk from (\d+) to (\d+) switch", done.stdout, re.M)
    if not seed or not shrunk or "10 of 10 replays" not in done.stdout:
        sys.exit(f"{name}: it does not say what it found: {done.stdout}")
    before, after = int(shrunk[1]), int(shrunk[2])
    if not 1 <= after <= before or switches(out) != after:
        sys.exit(f"{name}: {before} switches became {after}, and {switches(out)} are in the file")
    # What it says to run fails, and the order without a switch does not.
    if run(evsmp, "run", "--", bug, EVENT_SMP_SCHEDULE=out, EVENT_SMP_TIME="virtual").returncode == 0:
        sys.exit(f"{name}: it passes with the schedule that was found")
    if run(evsmp, "run", "--", bug, EVENT_SMP_SEED="0", EVENT_SMP_POLICY="order", EVENT_SMP_TIME="virtual").returncode:
        sys.exit(f"{name}: it fails in the plain order")
    print(f"{name:22} seed {seed[1]:>3}, {before:>3} switches, shrunk to {after}")


with tempfile.TemporaryDirectory() as folder:
    for number, path in enumerate(bugs):
        check(path, os.path.join(folder, str(number)))
