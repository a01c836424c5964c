#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the C symbols that a library exports with a list: c_symbols.py LIBRARY LIST

With HONE_ACCEPT set, writes the list instead."""
import os
import re
import subprocess
import sys

library, path = sys.argv[1:]
said = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
found = sorted(set(re.findall(r" T (hone_\w+)$", said, re.MULTILINE)))
if os.environ.get("HONE_ACCEPT"):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(found) + "\n")
with open(path, encoding="utf-8") as file:
    wanted = file.read().split()
for name in wanted:
    if name not in found:
        print(f"gone: {name}")
for name in found:
    if name not in wanted:
        print(f"new: {name}")
sys.exit(found != wanted)
