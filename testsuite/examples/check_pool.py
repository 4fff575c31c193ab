#!/usr/bin/env python3
"""The pool counts the primes right, with one worker and with several.

usage: check_pool.py POOL
"""
import os
import subprocess
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    for workers in ("1", "2", "4"):
        done = subprocess.run([sys.argv[1], "300000"], env={**os.environ, "EVENT_WORKERS": workers}, capture_output=True,
                              text=True)
        want = f"25997 primes below 300000, in 15 pieces, on {workers} workers\n"
        if done.returncode or done.stdout != want:
            sys.exit(f"status {done.returncode}: {done.stdout}{done.stderr}, not {want}")


main()
