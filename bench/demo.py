#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo: tunes two ops on this machine and shows default against tuned against the limit.

usage: demo.py PATH_OF_HONE [SECONDS_PER_OP]

A second run finds the tuned schedules in the cache and tunes nothing.
"""
import json
import subprocess
import sys

PROBLEMS = ["fc_gelu M=128 N=3072 K=768 const=W", "softmax M=64 N=1024"]


def row(hone, problem, *options):
    """The JSON object that `hone run` prints for a problem."""
    done = subprocess.run([hone, "run", problem, "--json", *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"hone run {problem!r} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def peers(hone, problem):
    """Rows of the libraries that this machine has, by name; none where the bench knows no peer."""
    done = subprocess.run([hone, "bench", "--problem", problem, "--peers", "--json"],
                          capture_output=True, text=True)
    rows = []
    for line in done.stdout.splitlines() if done.returncode == 0 else []:
        found = json.loads(line)
        if found.get("peer"):
            rows.append((found["peer"], found))
    return rows


def show(name, measured, reference):
    """One line of the table; times are medians, the share is of what this machine can do at best."""
    speed = measured["gflops"] if measured.get("bound") == "flops" else measured["gbps"]
    unit = "GFLOP/s" if measured.get("bound") == "flops" else "GB/s"
    times = reference["time_us"] / measured["time_us"]
    print(f"    {name:<12} {measured['time_us']:>10.1f} us {speed:>9.1f} {unit:<8}"
          f" {100 * measured['of_limit']:>5.0f}% of the limit   {times:>5.2f}x")


def demo(hone, problem, seconds):
    """Tunes one problem unless the cache has it, and prints its table."""
    print(f"\n{problem}")
    default = row(hone, problem, "--cache", ":memory:")
    best = row(hone, problem)
    if best["source"] == "tuned":
        print("    served from the cache, nothing to tune")
    else:
        subprocess.run([hone, "tune", problem, "--budget", f"{seconds}s"], check=True)
        best = row(hone, problem)
    show("default", default, default)
    show("tuned", best, default)
    for name, measured in peers(hone, problem):
        show(name, measured, default)
    print(f"    schedule     {best['schedule']}")


def main(hone, seconds="20"):
    for problem in PROBLEMS:
        demo(hone, problem, seconds)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
