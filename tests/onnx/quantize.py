#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hone quantize` on small models: the files it writes, its figures and its errors.

    quantize.py PROGRAM
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77  # as Meson has it
sys.dont_write_bytecode = True  # the source tree stays as it is


def python_with_onnx():
    """Goes on in an interpreter that has NumPy and ONNX: the one of the distribution, where another hides it."""
    if importlib.util.find_spec("numpy") and importlib.util.find_spec("onnx"):
        return
    if os.environ.get("HONE_ORACLE_PYTHON") or not os.access("/usr/bin/python3", os.X_OK):
        print("skipped: no Python here has NumPy and ONNX (python3-onnx)")
        sys.exit(SKIPPED)
    os.environ["HONE_ORACLE_PYTHON"] = "1"
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


python_with_onnx()

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROGRAM = sys.argv[1]
random = np.random.default_rng(1)
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAILED:", what)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def model(nodes, weights, x, y, opset=13):
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
        [numpy_helper.from_array(a, name) for name, a in weights.items()],
        value_info=[helper.make_tensor_value_info("h", TensorProto.FLOAT, None)])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("own.domain", 3)])
    m.ir_version, m.doc_string, m.graph.doc_string = 7, "of the model", "of the graph"
    m.metadata_props.add(key="kept", value="by all")
    # A field that no version of the format has.
    return m.SerializeToString() + b"\xca\x3e\x05hello"


def perceptron(opset=13, more=()):
    weights = {"a": floats(96, 64), "ab": floats(64), "b": floats(10, 64), "bb": floats(10)}
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h0"], name="first"), helper.make_node("Add", ["h0", "ab"], ["h1"]),
             helper.make_node("Relu", ["h1"], ["h"]), *more,
             helper.make_node("Gemm", ["h", "b", "bb"], ["y"], name="last", transB=1)]
    return model(nodes, weights, [8, 96], [8, 10], opset), weights


def images():
    weights = {"f": floats(16, 3, 3, 3), "g": floats(32, 16, 1, 1), "gb": floats(32), "d": floats(32, 1, 3, 3),
               "s": 1 + floats(16) / 10, "t": floats(16), "m": floats(16), "v": 1 + np.abs(floats(16))}
    nodes = [helper.make_node("Conv", ["x", "f"], ["c"], name="wide", pads=[1] * 4, strides=[2, 2], kernel_shape=[3, 3]),
             helper.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"], epsilon=1e-3),
             helper.make_node("Relu", ["n"], ["h"]),
             helper.make_node("Conv", ["h", "g", "gb"], ["p"], name="point"),
             helper.make_node("Conv", ["p", "d"], ["y"], name="deep", pads=[1] * 4, group=32)]
    return model(nodes, weights, [1, 3, 14, 14], [1, 32, 7, 7]), weights


def quantize(folder, name, *words):
    args = [PROGRAM, "quantize", f"{folder}/{name}.onnx", "--data", f"{folder}/data", "-o", f"{folder}/{name}.int8.onnx",
            "--json", "--threads", "1", *words]
    done = subprocess.run(args, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else done.stderr


def put(folder, name, data):
    with open(f"{folder}/{name}.onnx", "wb") as f:
        f.write(data)


def samples(folder, shape, count=3, as_pb=False):
    os.makedirs(f"{folder}/data")
    out = []
    for i in range(count):
        x = floats(*shape)
        at = f"{folder}/data/{'test_data_set_' if as_pb else 'sample'}{i}"
        os.makedirs(at)
        if as_pb:
            with open(f"{at}/input_0.pb", "wb") as f:
                f.write(numpy_helper.from_array(x, "x").SerializeToString())
        else:
            np.save(f"{at}/x.npy", x)
        out.append(x)
    return out


def check_file(folder, name, before):
    """The written file is valid, and what was not to change has not."""
    path = f"{folder}/{name}.int8.onnx"
    m, was = onnx.load(path), onnx.load_from_string(before)
    onnx.checker.check_model(m, full_check=True)
    check(m.doc_string == was.doc_string and m.graph.doc_string == was.graph.doc_string, f"{name}: doc strings stay")
    check(m.metadata_props == was.metadata_props, f"{name}: metadata stay")
    check(m.graph.value_info == was.graph.value_info, f"{name}: value infos stay")
    check(m.graph.input == was.graph.input and m.graph.output == was.graph.output, f"{name}: inputs and outputs stay")
    check([o.domain for o in m.opset_import] == ["", "own.domain"], f"{name}: domains stay")
    with open(path, "rb") as f:
        check(b"\xca\x3e\x05hello" in f.read(), f"{name}: unknown fields stay")
    done = subprocess.run([PROGRAM, "run", path, "--threads", "1", "--json"], capture_output=True, text=True)
    check(done.returncode == 0, f"{name}: hone run {done.stdout[-300:]} {done.stderr}")
    return m, {t.name: numpy_helper.to_array(t) for t in m.graph.initializer}


def node_of(m, name):
    return next(n for n in m.graph.node if n.name == name)


def maker(m, value):
    return next(n for n in m.graph.node if value in n.output)


def check_weights(m, arrays, name, float_weights, axis):
    """Integers are the nearest ones by a scale of each channel's largest."""
    dequantize = maker(m, node_of(m, name).input[1])
    q, scale = arrays[dequantize.input[0]], arrays[dequantize.input[1]]
    shape = [-1 if i == axis else 1 for i in range(q.ndim)]
    largest = np.abs(float_weights).max(axis=tuple(i for i in range(q.ndim) if i != axis))
    check(q.dtype == np.int8 and q.shape == float_weights.shape, f"{name}: weights are i8")
    check(dequantize.attribute[0].i == axis, f"{name}: the axis is {axis}")
    check(np.allclose(scale, largest / 127, rtol=1e-5), f"{name}: scales are those of channels")
    apart = np.abs(q * scale.reshape(shape) - float_weights) / scale.reshape(shape)
    check(apart.max() <= 0.501, f"{name}: weights are the nearest, within {apart.max()}")
    return q * scale.reshape(shape)


def ratio(want, got):
    return 10 * np.log10((want**2).sum() / ((want - got)**2).sum())


def rounded(x, row):
    """Values through the 8 bits that a row of the report says."""
    return (np.clip(np.rint(x / row["scale"]) + row["zero_point"], 0, 255) - row["zero_point"]) * row["scale"]


def test_perceptron(folder):
    data, w = perceptron()
    put(folder, "perceptron", data)
    xs = np.concatenate(samples(folder, (8, 96)))
    for choice in ("minmax", "mse", "percentile"):
        code, said = quantize(folder, "perceptron", "--range", choice)
        check(code == 0, f"perceptron: {said}")
        m, arrays = check_file(folder, "perceptron", data)
        first, last = said["nodes"]
        check(first["quantized"] and last["quantized"], "perceptron: both products are quantized")
        a, b = check_weights(m, arrays, "first", w["a"], 1), check_weights(m, arrays, "last", w["b"], 0)
        if choice == "minmax":
            low, high = min(xs.min(), 0), xs.max()
            check(abs(first["scale"] - (high - low) / 255) < 1e-5, "perceptron: the range is that of the samples")
        hidden = np.maximum(xs @ w["a"] + w["ab"], 0)
        for row, x, float_weights, weights in ((first, xs, w["a"], a), (last, hidden, w["b"].T, b.T)):
            bias = w["bb"] if row is last else 0
            want = ratio(x @ float_weights + bias, rounded(x, row) @ weights + bias)
            check(abs(want - row["snr_db"]) < 0.3, f"perceptron: {row['name']} is {row['snr_db']} dB, not {want}")
        made = rounded(np.maximum(rounded(xs, first) @ a + w["ab"], 0), last) @ b.T + w["bb"]
        want = ratio(hidden @ w["b"].T + w["bb"], made)
        check(abs(want - said["outputs"][0]["snr_db"]) < 0.3, f"perceptron: y is {said['outputs'][0]} dB, not {want}")
        check(want > 25, f"perceptron: y is near that of floats, {want} dB")
    check(said["bytes"] < said["bytes_before"] * 0.4, "perceptron: the file is smaller")
    code, said = quantize(folder, "perceptron", "--least-snr", "200")
    check(code == 0 and not any(n["quantized"] for n in said["nodes"]), "perceptron: nodes stay float by --least-snr")
    check(said["outputs"][0]["snr_db"] is None, "perceptron: the float model stays exact")


def test_images(folder):
    data, w = images()
    put(folder, "images", data)
    samples(folder, (1, 3, 14, 14), as_pb=True)
    code, said = quantize(folder, "images")
    check(code == 0, f"images: {said}")
    m, arrays = check_file(folder, "images", data)
    check([n.op_type for n in m.graph.node].count("BatchNormalization") == 0, "images: the normalisation is in weights")
    check(all(n["snr_db"] > 20 for n in said["nodes"]), f"images: {said['nodes']}")
    check(said["outputs"][0]["snr_db"] > 20, f"images: {said['outputs']}")
    by = w["s"] / np.sqrt(w["v"] + 1e-3)
    check_weights(m, arrays, "wide", w["f"] * by.reshape(-1, 1, 1, 1), 0)
    check_weights(m, arrays, "point", w["g"], 0)
    check_weights(m, arrays, "deep", w["d"], 0)
    bias = maker(m, node_of(m, "wide").input[2])
    check(arrays[bias.input[0]].dtype == np.int32, "images: biases are i32")
    made = arrays[bias.input[0]] * arrays[bias.input[1]]
    check(np.allclose(made, w["t"] - w["m"] * by, atol=1e-3), "images: the bias has the normalisation in it")


def test_older(folder):
    data, _ = perceptron(11)
    put(folder, "older", data)
    samples(folder, (8, 96), 1)
    code, said = quantize(folder, "older")
    check(code == 0, f"older: {said}")
    m, _ = check_file(folder, "older", data)
    check(m.opset_import[0].version == 13, "older: the set of operators is raised")


def fails(folder, name, words, *args):
    code, said = quantize(folder, name, *args)
    told = said.get("message", "") if isinstance(said, dict) else said
    check(code == 2 and all(w in told for w in words), f"{name}: {code} {told}")


def test_errors(folder):
    data, _ = perceptron()
    put(folder, "good", data)
    fails(folder, "good", ["data", "is no folder"])
    samples(folder, (8, 95), 1)
    fails(folder, "good", ["x.npy", "(8, 95)", "(8, 96)"])
    x = floats(8, 96)
    np.save(f"{folder}/data/sample0/x.npy", x.astype(np.float64))
    fails(folder, "good", ["x.npy", "<f8", "<f4"])
    x[3, 4] = np.nan
    np.save(f"{folder}/data/sample0/x.npy", x)
    fails(folder, "good", ["sample0", "NaN", "`x`"])
    with open(f"{folder}/data/sample0/x.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01")
    fails(folder, "good", ["x.npy"])
    os.remove(f"{folder}/data/sample0/x.npy")
    fails(folder, "good", ["x.npy", "input_0.pb", "`x`"])
    with open(f"{folder}/data/sample0/input_0.pb", "wb") as f:
        f.write(b"\x08")
    fails(folder, "good", ["input_0.pb"])
    os.remove(f"{folder}/data/sample0/input_0.pb")
    np.save(f"{folder}/data/sample0/x.npy", floats(8, 96))
    put(folder, "ninth", perceptron(9)[0])
    fails(folder, "ninth", ["set 9", "QuantizeLinear"])
    softmax = helper.make_node("Softmax", ["h"], ["unread"], name="soft")
    put(folder, "softmax", perceptron(11, [softmax])[0])
    fails(folder, "softmax", ["set 11", "Softmax", "soft"])
    check(quantize(folder, "good")[0] == 0, "good: is quantized")
    os.rename(f"{folder}/good.int8.onnx", f"{folder}/again.onnx")
    fails(folder, "again", ["quantized already"])
    put(folder, "cut", data[:100])
    fails(folder, "cut", ["cut.onnx"])
    fails(folder, "good", ["another one"], "-o", f"{folder}/good.onnx")
    fails(folder, "good", ["cannot write"], "-o", f"{folder}/nowhere/good.onnx")


for test in (test_perceptron, test_images, test_older, test_errors):
    with tempfile.TemporaryDirectory() as folder:
        test(folder)
print(f"{failures} failures")
sys.exit(1 if failures else 0)
