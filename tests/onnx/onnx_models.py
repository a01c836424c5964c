# SPDX-License-Identifier: Apache-2.0
"""ONNX's tests of operators as whole models, through the importer: `onnx_models.py RUNNER [--least N] [NAMES]`.
Fails where one that is imported differs, or fewer than N agree. --list names each and why it has no op.
--known: all inputs are known at load. --symbolic: calls tell all dims of inputs, equal ones by one name.
--data DIR: tests of another release, such as /usr/share/libonnx-testdata/data of Debian 13. --tiers FILE: counts by
tier, from lines of `tier operator test` with tabs between.
HONE_TEST_TARGET says what to compile for, `cuda`."""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import importlib.util


# Expectations of release 1.17 that are wrong. Products of i8 about zero points leave 8 bits, and the results saturate;
# the files have them wrapped.
WRAPPED = "its results have wrapped, and QLinearMatMul saturates"
KNOWN_WRONG = {f"test_qlinearmatmul_{rank}D_int8_{kind}": WRAPPED for rank in (2, 3) for kind in ("float16", "float32")}
KNOWN_WRONG["test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True"] = \
    "its mean divides by taps behind the padding; release 1.18 divides by those inside"


def python_with_onnx():
    """Runs this script by a Python that has the modules: the distribution's, or none."""
    if importlib.util.find_spec("onnx"):
        return
    if os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3") or \
            not os.access("/usr/bin/python3", os.X_OK):
        print("skipped: no Python here has onnx (python3-onnx)")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


def data_of_python():
    import onnx
    return os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")


def folders(data, names):
    for suite in ("node", "simple", "pytorch-operator", "pytorch-converted"):
        path = os.path.join(data, suite)
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
            if not names or name in names:
                yield os.path.join(path, name)


def with_symbols(folder, to):
    """The same test in a folder below `to`, where each extent above 1 of an input is a dim `n<extent>`."""
    import onnx
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


def tiers_in(path):
    """The tier of each test that a file names."""
    with open(path) as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return {row[2]: row[0] for row in rows if len(row) > 2}


def run(options, data):
    """The runner's lines, and whether it came to its end."""
    with tempfile.TemporaryDirectory() as scratch:
        tests = folders(data, options.names)
        if options.symbolic:
            tests = [with_symbols(folder, scratch) for folder in tests]
        told = subprocess.run([options.runner, *["--known"] * options.known, *tests],
                              stdout=subprocess.PIPE, text=True)
    return told.stdout.splitlines(), told.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runner")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--symbolic", action="store_true")
    parser.add_argument("--data")
    parser.add_argument("--tiers")
    options = parser.parse_args()
    # Tests of a folder are run as they are.
    if not options.data or options.symbolic:
        python_with_onnx()
    lines, ended = run(options, options.data or data_of_python())
    tiers = tiers_in(options.tiers) if options.tiers else {}
    counts, wrong, by_tier = collections.Counter(), [], collections.defaultdict(collections.Counter)
    for line in lines:
        name, verdict, *why = line.split(" ", 2)
        if verdict == "FAIL" and name in KNOWN_WRONG:
            verdict = "known"
            print(f"{name}: known to be wrong: {KNOWN_WRONG[name]}")
        counts[verdict] += 1
        if name in tiers:
            by_tier[tiers[name]][verdict] += 1
        if verdict == "FAIL":
            wrong.append(line)
        if options.list or options.names:
            print(line)
    print("\n".join(wrong))
    for tier, own in sorted(by_tier.items()):
        print(f"tier {tier}: {own['pass']} of {sum(own.values())} agree")
    known = f", {counts['known']} have wrong expectations" if counts["known"] else ""
    print(f"{counts['pass']} agree, {counts['FAIL']} differ, {counts['none']} have no op here{known}")
    if not ended or wrong or counts["pass"] < options.least:
        sys.exit(1)


main()
