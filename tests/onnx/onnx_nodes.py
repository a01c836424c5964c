#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's operator tests where one node is one op of the library: by its definition, by default kernels for
each instruction set, and by a random schedule. Says how many nodes have an op here, how many agree, and
why the rest have none.

    onnx_nodes.py RUNNER LIBRARY [--node NAME] [--list]

Integers and bools agree exactly. A float agrees within TOLERANCE of the greatest of 1, itself and what the
elements of its tensor average to. Rows of the table say where more is right, and why.
"""
import argparse
import importlib.util
import os
import sys
import time

SKIPPED = 77  # as Meson has it
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))


def python_with(*modules):
    """Goes on in an interpreter that has the modules: the distribution's, where another hides it."""
    missing = [m for m in modules if not importlib.util.find_spec(m)]
    if not missing:
        return
    if os.environ.get("HONE_ORACLE_PYTHON") or not os.access("/usr/bin/python3", os.X_OK):
        print(f"skipped: no Python here has {' and '.join(missing)} (python3-numpy, python3-onnx)")
        sys.exit(SKIPPED)
    os.environ["HONE_ORACLE_PYTHON"] = "1"
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


python_with("numpy", "onnx")

from collections import Counter, defaultdict  # noqa: E402

import numpy as np  # noqa: E402

import table_moves  # noqa: E402,F401  declares its rows
import table_windows  # noqa: E402,F401
from calls import Call, Library, Part  # noqa: E402
from nodes import Elsewhere, Node, node_names  # noqa: E402
from oracle import Runner  # noqa: E402
from table import REASONS, ROWS  # noqa: E402
from values import FLOATS, memory, decode  # noqa: E402

# Chosen as a few thousand roundings of the type: what sums in another order and functions may differ by.
TOLERANCE = {"f64": 1e-9, "f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}
LEAST = 400  # nodes that agree, of the tests that Debian 12 has


def call_of(name, ops):
    """The call that a node is; `Elsewhere` says why there is none."""
    node = Node(name)
    if node.operator not in ROWS:
        reason = next((r for r, names in REASONS.items() if node.operator in names), None)
        raise Elsewhere(reason or "operators that are no op of the library")
    node.read()
    use = ROWS[node.operator](node)
    if node.untaken():
        raise Elsewhere(f"attributes that no op has: {', '.join(node.untaken())}")
    signature = ops.signatures[use.op] if use.rank is None else ops.over_dims(use.op, use.rank)
    return use, Call(signature, use.given)


def differs(use, tensor, got):
    """What is wrong with a result; empty where nothing is."""
    have = np.frombuffer(got, memory(tensor.type)).reshape(tensor.shape)
    want = tensor.expected
    if isinstance(want, Part):
        have, want = have[want.where], want.array
    have = decode(have, tensor.type)
    want = decode(np.ascontiguousarray(want).view(memory(tensor.type)).reshape(have.shape), tensor.type)
    with np.errstate(all="ignore"):
        if tensor.type in FLOATS:
            finite = np.abs(want[np.isfinite(want)])
            room = np.maximum(np.abs(want), np.mean(finite) if finite.size else 0)
            good = np.abs(have - want) <= (use.tolerance or TOLERANCE[tensor.type]) * np.maximum(room, 1)
            good |= (have == want) | (np.isnan(have) & np.isnan(want))
        else:
            good = np.abs(have.astype(np.int64) - want) <= use.steps
    if np.all(good):
        return ""
    at = tuple(int(i) for i in np.argwhere(~good)[0])
    return f"{tensor.arg.name}{list(at)} is {have[at]}, not {want[at]}; {np.count_nonzero(~good)} of {good.size} differ"


def disagreements(use, call, outcomes):
    """What is wrong, a line each."""
    written = [t for t in call.tensors if t.arg.role != "input"]
    for way, outcome in outcomes:
        if isinstance(outcome, str):
            yield outcome
            continue
        for tensor, got in zip(written, outcome):
            wrong = "" if tensor.expected is None else differs(use, tensor, got)
            if wrong:
                yield f"{way}: {wrong}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runner")
    parser.add_argument("library")
    parser.add_argument("--node", help="this one alone")
    parser.add_argument("--list", action="store_true", help="names what has no op, and the problem of what has")
    options = parser.parse_args()
    begun, names = time.monotonic(), node_names()
    if not names:
        print("skipped: the tests of operators are not here (libonnx-testdata)")
        return SKIPPED
    ops, runner = Library(options.library), Runner(options.runner)
    agree, failed, used, elsewhere = 0, [], Counter(), defaultdict(list)
    for name in names:
        if options.node not in (None, name):
            continue
        try:
            use, call = call_of(name, ops)
        except Elsewhere as why:
            elsewhere[str(why)].append(name)
            continue
        used[call.signature.name] += 1
        if options.list:
            print(f"{name}: {call.text}")
        try:
            wrong = list(disagreements(use, call, runner.run(call, len(used))))
        except (RuntimeError, BrokenPipeError) as died:
            runner.start()
            wrong = [str(died)]
        agree += not wrong
        if wrong:
            failed.append("\n  ".join([name, call.text, *wrong]))
    for text in failed:
        print(text)
    for why, which in sorted(elsewhere.items(), key=lambda item: -len(item[1])):
        print(f"{len(which):4} {why}" + (": " + " ".join(which) if options.list else ""))
    print(f"{len(names)} nodes, {agree + len(failed)} of them one of {len(used)} ops here, {agree} agree, "
          f"{len(failed)} differ, {time.monotonic() - begun:.0f} s")
    return 1 if failed or (options.node is None and agree < LEAST) else 0


if __name__ == "__main__":
    sys.exit(main())
