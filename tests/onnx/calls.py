# SPDX-License-Identifier: Apache-2.0
"""Calls of the library's ops by arrays: dims, types and strides of a problem are those of its arrays."""
import glob
import os
import re

import numpy as np

from cases import SIGNATURE, library, parse_signature
from values import FLOATS, MEMORY, SIZES, memory

OF_NUMPY = {np.dtype(m): t for t, m in MEMORY.items()}
OF_NUMPY[np.dtype(bool)] = "bool"
OF_NUMPY[np.dtype(np.uint8)] = "u8"


class Library:
    """The ops of the .hone files of a folder."""

    def __init__(self, folder):
        self.signatures = library(folder)
        self.texts = {}
        for path in glob.glob(os.path.join(folder, "*.hone")):
            with open(path, encoding="utf-8") as file:
                for text in re.findall(r"^op .*?\}$", file.read(), re.M | re.S):
                    self.texts[re.match(r"op (\w+)", text)[1]] = text

    def over_dims(self, name, rank):
        """An op over one dim N as the same over `rank` dims: of arrays that are broadcast."""
        text = self.texts[name]
        for one, letter in (("[N]", "N"), ("[i]", "i")):
            text = text.replace(one, "[" + ",".join(f"{letter}{d}" for d in range(rank)) + "]")
        s = parse_signature(SIGNATURE.search(text))
        s.text = text
        return s


class Changed:
    """What an inout holds before and after."""

    def __init__(self, before, after):
        self.before, self.after = before, after


class Part:
    """What a part of a result is."""

    def __init__(self, where, array):
        self.where, self.array = where, array


def dense(shape):
    """Strides of a dense tensor, in elements."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, step)
        step *= n
    return strides


class Held:
    """A tensor of a call. An array's strides are the problem's: broadcast dims have stride 0."""

    def __init__(self, arg, array, expected):
        self.arg, self.expected = arg, expected
        self.type = OF_NUMPY[array.dtype]
        self.shape = array.shape
        size = array.itemsize
        self.strides = [s // size if n > 1 else 0 for s, n in zip(array.strides, array.shape)]
        usual = dense(array.shape)
        self.plain = array.size == 0 or all(n <= 1 or s == u for n, s, u in zip(array.shape, self.strides, usual))
        if self.plain or arg.role != "input":
            self.plain, self.strides = True, usual
            self.memory = np.ascontiguousarray(array).reshape(-1)
        else:
            span = sum((n - 1) * s for n, s in zip(self.shape, self.strides)) + 1
            self.memory = np.lib.stride_tricks.as_strided(array, (span,), (size,)).copy()

    def head(self):
        flags = "-" if self.arg.role == "input" else "o"
        numbers = [0, self.memory.nbytes, len(self.shape), *self.shape, *self.strides]
        return f"tensor {self.arg.name} {self.type} {flags} " + " ".join(map(str, numbers))

    def word(self):
        return [] if self.plain else [f"{self.arg.name}.stride=({','.join(map(str, self.strides))})"]


class Call:
    """An op with its arguments and parameters by name. Results are given as what is expected of them, and
    left out where nothing is."""

    def __init__(self, signature, given):
        self.signature, self.dims, self.tensors, self.scalars = signature, {}, [], []
        self.types = {p: given[p] for p in signature.types if p in given}
        for arg in signature.args:
            if arg.shape is not None and given.get(arg.name) is not None:
                self.learn(arg, given[arg.name])
        for arg in sorted(signature.args, key=lambda a: a.role == "output"):
            value = given.get(arg.name)
            if arg.shape is None:
                self.scalars.append((self.types.get(arg.type, arg.type), value))
            elif isinstance(value, Changed):
                self.tensors.append(Held(arg, np.array(value.before), value.after))
            elif arg.role == "output" and (value is None or isinstance(value, Part)):
                shape = [int(eval(e.replace("/", "//"), {}, {**self.dims, **given})) for e in arg.shape]
                self.tensors.append(Held(arg, np.zeros(shape, memory(self.types.get(arg.type, arg.type))), value))
            else:
                self.tensors.append(Held(arg, np.asarray(value), value))
        words = [f"{d}={n}" for d, n in self.dims.items()] + [f"{p}={t}" for p, t in self.types.items()]
        words += [f"{p}={int(given[p])}" for p in signature.numbers if p in given]
        unknown = set(given) - {a.name for a in signature.args} - set(signature.numbers) - set(signature.types)
        assert not unknown, f"{signature.name} has no {unknown}"
        self.text = " ".join([signature.text, *words, *(w for t in self.tensors for w in t.word())])

    def learn(self, arg, value):
        """Dims and dtype parameters that an argument tells."""
        if isinstance(value, Part):
            return
        array = np.asarray(value.before if isinstance(value, Changed) else value)
        if arg.type in self.signature.types:
            found = self.types.setdefault(arg.type, OF_NUMPY[array.dtype])
            assert found == OF_NUMPY[array.dtype], f"{arg.name} of {self.signature.name} is {array.dtype}"
        assert array.ndim == len(arg.shape), f"{arg.name} of {self.signature.name} has the shape {array.shape}"
        for extent, n in zip(arg.shape, array.shape):
            if extent.isidentifier() and extent not in self.signature.numbers:
                found = self.dims.setdefault(extent, n)
                assert found == n, f"{extent} of {self.signature.name} is {found} and {n}"

    def request(self, seed):
        """As the oracle's runner reads it."""
        lines = [f"problem {self.text}", f"seed {seed}"]
        for t, v in self.scalars:
            lines.append(f"real {float(v)!r}" if t in FLOATS else f"integer {int(v)}")
        data = "".join(line + "\n" for line in lines).encode()
        for t in self.tensors:
            memory = t.memory if t.arg.role != "output" else np.full(t.memory.nbytes, 0xA5, np.uint8)
            data += t.head().encode() + b"\n" + memory.tobytes()
        return data + b"run\n"
