# SPDX-License-Identifier: Apache-2.0
"""ONNX's tests of operators as whole models, through the importer: `onnx_models.py RUNNER [--least N] [NAMES]`.
Fails where one that is imported differs, or fewer than N agree. --list names each and why it has no op.
--known: all inputs are known at load. --symbolic: calls tell all dims of inputs, equal ones by one name.
HONE_TEST_TARGET says what to compile for, `cuda`."""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import importlib.util


def python_with_onnx():
    """Runs this script by a Python that has the modules: the distribution's, or none."""
    if importlib.util.find_spec("onnx"):
        return
    if os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3") or \
            not os.access("/usr/bin/python3", os.X_OK):
        print("skipped: no Python here has onnx (python3-onnx)")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


python_with_onnx()
import onnx  # noqa: E402

FOLDER = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")


def folders(names):
    for suite in ("node", "simple", "pytorch-operator", "pytorch-converted"):
        path = os.path.join(FOLDER, suite)
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
            if not names or name in names:
                yield os.path.join(path, name)


def with_symbols(folder, to):
    """The same test in a folder below `to`, where each extent above 1 of an input is a dim `n<extent>`."""
    made = os.path.join(to, os.path.basename(folder))
    os.mkdir(made)
    os.symlink(os.path.join(folder, "test_data_set_0"), os.path.join(made, "test_data_set_0"))
    model = onnx.load(os.path.join(folder, "model.onnx"))
    weights = {t.name for t in model.graph.initializer}
    for v in model.graph.input:
        dims = v.type.tensor_type.shape.dim if v.type.HasField("tensor_type") and v.name not in weights else []
        for d in dims:
            if d.dim_value > 1:
                d.dim_param = f"n{d.dim_value}"
    for v in (*model.graph.output, *model.graph.value_info):
        v.type.tensor_type.ClearField("shape")
    onnx.save(model, os.path.join(made, "model.onnx"))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runner")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--symbolic", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tests = folders(options.names)
        if options.symbolic:
            tests = [with_symbols(folder, scratch) for folder in tests]
        told = subprocess.run([options.runner, *["--known"] * options.known, *tests],
                              stdout=subprocess.PIPE, text=True)
    counts, wrong = collections.Counter(), []
    for line in told.stdout.splitlines():
        name, verdict, *why = line.split(" ", 2)
        counts[verdict] += 1
        if verdict == "FAIL":
            wrong.append(line)
        if options.list or options.names:
            print(line)
    print("\n".join(wrong))
    print(f"{counts['pass']} agree, {counts['FAIL']} differ, {counts['none']} have no op here")
    if told.returncode != 0 or wrong or counts["pass"] < options.least:
        sys.exit(1)


main()
