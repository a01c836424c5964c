#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `hone show --halide` prints for ops of the library, compiled with Halide, against NumPy.

    programs.py HONE LIBRARY --flags FLAGS [--op NAME] [--seed N] [--count N]
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

from oracle import difference  # noqa: E402, first: it looks for a Python that has NumPy

import numpy as np  # noqa: E402

from cases import Case, library  # noqa: E402
from meanings import OPS  # noqa: E402


def problems(options):
    """Cases of ops without scalar arguments, in an order that the seed gives."""
    signatures = library(options.library)
    names = [n for n in OPS if n in signatures and options.op in (None, n)]
    np.random.default_rng(options.seed).shuffle(names)
    for name in names:
        signature, entry = signatures[name], OPS[name]
        types = {p: "f32" if "f32" in entry.types[p] else entry.types[p][0] for p in signature.types}
        rng = np.random.default_rng([options.seed, *name.encode()])
        case = Case(signature, entry, types, rng, plain=True, kind="small")
        if not case.scalars and all(0 not in t.shape for t in case.tensors):
            yield name, case


def said(command):
    """The output of a program; what it complains of where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr


def wrong(options, case, folder):
    """What is wrong with the program of a case, empty: nothing; None where there is no program."""
    code, text = said([options.hone, "show", "--halide", case.text])
    if code:
        return None if "halide: " in text else text
    source, program = os.path.join(folder, "program.cpp"), os.path.join(folder, "program")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    code, text = said([os.environ.get("CXX", "g++"), "-std=c++17", source, "-o", program, *options.flags.split()])
    if code:
        return "\n".join(text.splitlines()[:12])
    for tensor in case.tensors:
        tensor.memory.tofile(os.path.join(folder, tensor.arg.name))
    code, text = said([program, folder])
    if code:
        return f"the program ends with {code}: {text[:400]}"
    expected = case.expected()
    for tensor in case.tensors:
        if tensor.arg.role == "input":
            continue
        with open(os.path.join(folder, tensor.arg.name), "rb") as file:
            problem, _ = difference(tensor, file.read(), *expected[tensor.arg.name])
        if problem:
            return problem
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("hone")
    parser.add_argument("library")
    parser.add_argument("--flags", default="-lHalide", help="what programs compile and link with")
    parser.add_argument("--op", help="this one alone")
    parser.add_argument("--seed", type=int, default=2)
    few = {"smoke": 6, "quick": 12}.get(os.environ.get("HONE_TEST_EFFORT", "quick"), 1000)
    parser.add_argument("--count", type=int, default=few, help="programs at most")
    options = parser.parse_args()
    good, refused, failed = 0, 0, 0
    for name, case in problems(options):
        if good + failed == options.count:
            break
        with tempfile.TemporaryDirectory() as folder:
            text = wrong(options, case, folder)
        if text:
            failed += 1
            print(f"{name}: {case.text}\n  {text}")
        elif text is None:
            refused += 1
        else:
            good += 1
    print(f"{good} programs compute what NumPy does, {failed} do not, {refused} refused")
    return 1 if failed or not good else 0


if __name__ == "__main__":
    sys.exit(main())
