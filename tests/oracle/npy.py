#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors that `hone run` reads from .npy files and writes to such, against NumPy: npy.py HONE"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

from oracle import difference  # noqa: E402, F401, first: it looks for a Python that has NumPy

import numpy as np  # noqa: E402

TYPES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<u2", "i64": "<i8", "i32": "<i4", "i16": "<i2",
         "i8": "|i1", "u8": "|u1", "bool": "|b1", "f8e4m3": "|u1", "f8e5m2": "|u1", "u4": "|u1"}
SHAPES = [(), (1,), (7,), (0, 3), (2, 3), (3, 1, 5), (4, 3, 2, 5)]
FAILED = []


def check(right, what):
    if not right:
        FAILED.append(what)
        print("WRONG", what)


def run(hone, graph, folder, *words):
    path = os.path.join(folder, "g.graph")
    with open(path, "w", encoding="utf-8") as file:
        file.write(graph)
    command = [hone, "run", path, "--no-check", "--no-time", "--threads", "1", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "HONE_CACHE": os.path.join(folder, "cache.db")})
    return "" if done.returncode == 0 else done.stdout + done.stderr


def identity(type_name, shape):
    """A graph whose result is its input; its dims are D0, D1 and so on."""
    dims, at = ",".join(f"D{i}" for i in range(len(shape))), ",".join("ijklm"[:len(shape)])
    if type_name == "u4" and shape:  # two in a byte: a row's bytes do not tell its elements
        dims = ",".join([*(f"D{i}" for i in range(len(shape) - 1)), str(2 * shape[-1])])
    names = ",".join("ABCDE"[:len(shape)])
    op = f"op same(X: {type_name}[{names}]) -> (Y: {type_name}[{names}]) {{ Y[{at}] = X[{at}] }}\n"
    return op + f"graph g(x: {type_name}[{dims}]) -> (y) {{ y = same(x) }}\n"


def save(path, array, version):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def moves(hone, folder, rng):
    """Arrays of each type go through a model unchanged, whatever their version and order."""
    x, y = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
    for name, descr in TYPES.items():
        for number, shape in enumerate(SHAPES):
            if name == "u4" and not shape:
                continue
            kind = np.dtype(descr)
            bits = rng.integers(0, 2 if name == "bool" else 120, size=shape)
            array = np.asarray(bits, kind) if kind.kind != "f" else np.asarray(rng.standard_normal(shape), kind)
            save(x, np.asfortranarray(array) if number % 2 else array, [(1, 0), (2, 0), (3, 0)][number % 3])
            if os.path.exists(y):
                os.remove(y)
            said = run(hone, identity(name, shape), folder, "--input", f"x={x}", "--output", f"y={y}")
            check(not said, f"{name}{shape}: {said}")
            if said:
                continue
            back = np.load(y)
            check(back.dtype == kind and back.shape == shape and back.tobytes() == array.tobytes(),
                  f"{name}{shape}: {back.dtype}{back.shape} came back, or other elements")


def perceptron(hone, folder, rng):
    """A model of given weights computes what NumPy does."""
    graph = ("graph g(x: f32[B,37], const w: f32[37,11], const b: f32[11]) -> (y, z) {\n"
             "  h = fc_relu(x, w, b)\n  y = softmax(h)\n  z = relu(h)\n}\n")
    arrays = {"x": rng.standard_normal((5, 37)), "w": rng.standard_normal((37, 11)), "b": rng.standard_normal(11)}
    words = []
    for name, array in arrays.items():
        arrays[name] = array.astype(np.float32)
        path = os.path.join(folder, name + ".npy")
        np.save(path, np.asfortranarray(arrays[name]) if name == "w" else arrays[name])
        words += ["--input", f"{name}={path}"]
    for name in "yz":
        words += ["--output", f"{name}={os.path.join(folder, name + '.npy')}"]
    for dims in ([], ["--dim", "B=1..9"], ["B=5"]):
        said = run(hone, graph, folder, *words, *dims)
        check(not said, said)
        if said:
            continue
        h = np.maximum(arrays["x"].astype(np.float64) @ arrays["w"] + arrays["b"], 0)
        e = np.exp(h - h.max(axis=1, keepdims=True))
        for name, want in (("y", e / e.sum(axis=1, keepdims=True)), ("z", h)):
            got = np.load(os.path.join(folder, name + ".npy"))
            check(got.dtype == np.float32 and got.shape == want.shape and np.allclose(got, want, rtol=1e-4, atol=1e-5),
                  f"{name} of a perceptron differs from NumPy's by {dims}")


def main():
    rng = np.random.default_rng(20261130)
    with tempfile.TemporaryDirectory() as folder:
        moves(sys.argv[1], folder, rng)
        perceptron(sys.argv[1], folder, rng)
    print(f"{len(FAILED)} of {len(TYPES) * len(SHAPES) - 1 + 3} runs are wrong")
    sys.exit(1 if FAILED else 0)


main()
