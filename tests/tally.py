#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums what test runs left behind: Meson's testlog.json files, and logs with doctest summaries.

A program with doctest summaries counts by its cases, any other as one. The last line printed is
`N passed, N failed[, N skipped]`; the exit status is 1 if anything failed or nothing ran. What the
failed ones reported stands before it, since the run's own output may be long by then.
"""
import json
import re
import sys

SUMMARY = re.compile(
    r"\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed\s*\|\s*(\d+) skipped")


def cases(text):
    """Passed, failed and skipped of all summaries in `text`; None without one."""
    found = SUMMARY.findall(text)
    return [sum(map(int, column)) for column in zip(*found)] if found else None


def reported(text, most=60):
    """Of a program that failed: doctest's reports of its failed cases, or else its last lines."""
    reports = [part for part in re.split(r"^={20,}$", text, flags=re.M) if "ERROR:" in part]
    lines = [line for line in "\n".join(reports).splitlines() if line.strip()]
    return lines[:most] or text.splitlines()[-most // 3:]


def of_program(run):
    """The counts of one entry of a testlog.json."""
    result = run["result"]
    if result in ("SKIP", "IGNORED"):
        return [0, 0, 1]
    good = result in ("OK", "EXPECTEDFAIL")
    counts = cases(run.get("stdout") or "")
    if counts is None:
        return [1, 0, 0] if good else [0, 1, 0]
    if not good and counts[1] == 0:
        counts[1] = 1  # died, or ran out of time, after its summary or outside a case
    # Cases that the smoke runs leave out by filter are not skipped tests.
    return [counts[0], counts[1], 0]


def main(paths):
    total = [0, 0, 0]
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if path.endswith(".json"):
            runs = [json.loads(line) for line in text.splitlines() if line.strip()]
            rows = [(run["name"], of_program(run),
                     (run.get("stdout") or "") + (run.get("stderr") or "")) for run in runs]
        else:
            rows = [(path.rsplit("/", 1)[-1], cases(text) or [0, 1, 0], text)]
        for name, counts, output in rows:
            if counts[1]:
                print(f"failed: {path.rsplit('/', 1)[-1]}: {name}: {counts[1]}")
                for line in reported(output):
                    print(f"    {line}")
            total = [a + b for a, b in zip(total, counts)]
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
