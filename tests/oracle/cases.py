# SPDX-License-Identifier: Apache-2.0
"""Problems of an op with data: dims, types, storage, and what each tensor holds."""
import glob
import os
import re
from dataclasses import dataclass, field

import numpy as np

from values import BYTE_FLOATS, FLOATS, INTS, PACKED, TYPES, Val, WIDE, decode, encode, largest, least, memory, \
    pack, read, round_to, size, unpack, widened

SIGNATURE = re.compile(r"^op (\w+)(?:<([^>]*)>)?\s*\(([^)]*)\)(?:\s*->\s*\(([^)]*)\))?", re.M)
ARGUMENT = re.compile(r"(inout )?\s*(\w+): (\w+)(?:\[([^\]]*)\])?")
# Extents by the number of dims of an op: powers of two, both sides of them, none at all.
EXTENTS = {1: [0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100, 133, 1037],
           2: [0, 1, 2, 3, 5, 8, 15, 16, 17, 33, 40, 70], 3: [0, 1, 2, 3, 5, 8, 13, 16, 17, 33],
           4: [0, 1, 2, 3, 4, 5, 7, 9]}
KINDS = ["small", "random", "sprinkled", "special"]
UNWRITTEN = 0xA5


@dataclass
class Argument:
    name: str
    type: str
    shape: list | None  # expressions; None: a scalar
    role: str  # "input", "inout" or "output"


@dataclass
class Signature:
    name: str
    text: str = ""  # how a problem begins: the name of an op of the library, or all of an op
    types: list = field(default_factory=list)  # dtype parameters
    numbers: list = field(default_factory=list)  # integer parameters
    args: list = field(default_factory=list)
    dims: list = field(default_factory=list)


def split_list(text):
    """At commas outside of parentheses."""
    return [s.strip() for s in re.split(r",(?![^()]*\))", text)] if text.strip() else []


def parse_signature(found):
    name, params, args, outs = found.groups()
    s = Signature(name, name)
    for key, value in (p.split("=") for p in split_list(params or "")):
        (s.types if value.strip() in TYPES else s.numbers).append(key.strip())
    for text, role in ((args, "input"), (outs or "", "output")):
        for inout, arg, dtype, shape in (m.groups() for m in ARGUMENT.finditer(text)):
            s.args.append(Argument(arg, dtype, None if shape is None else split_list(shape),
                                   "inout" if inout else role))
            for word in re.findall(r"[A-Za-z_]\w*", shape or ""):
                if word not in s.dims and word not in s.numbers:
                    s.dims.append(word)
    return s


def signatures(text):
    """Those of all ops in a text."""
    text = re.sub(r"\[[^\]]*\]", lambda m: m[0].replace("(", "{").replace(")", "}"), text)
    for m in SIGNATURE.finditer(text):
        s = parse_signature(m)
        for a in s.args:
            a.shape = a.shape and [e.replace("{", "(").replace("}", ")") for e in a.shape]
        yield s


def library(folder):
    """Signatures of all ops in the .hone files of a folder, by name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.hone"))):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"#.*", "", file.read())
        found.update((s.name, s) for s in signatures(text))
    return found


def of_gradient(name, text):
    """The signature of a gradient, which problems have in full."""
    s = next(signatures(text))
    s.name, s.text = name, text
    return s


def of_function(name, arity):
    """The signature of an op of one scalar function."""
    inputs = ["X", "Z"][:arity]
    args = ", ".join(f"{x}: T[N]" for x in inputs)
    values = ", ".join(f"{x}[i]" for x in inputs)
    text = f"op of_{name}<T=f32>({args}) -> (Y: T[N]) {{ Y[i] = {name}({values}) }}"
    s = parse_signature(SIGNATURE.search(text))
    s.name, s.text = f"{name}()", text
    return s


class Tensor:
    """A tensor in memory: `memory` is its bytes, gaps and all. Strides count elements, of less than a
    byte too: then rows begin at whole bytes."""

    def __init__(self, arg, dtype, shape):
        self.arg, self.type, self.shape = arg, dtype, tuple(shape)
        self.in_byte = PACKED.get(dtype, 1)
        self.strides = self.dense(shape, range(len(shape)))
        self.words, self.open, self.constant, self.offset = [], {}, False, 0

    def dense(self, shape, order):
        strides, step = [0] * len(shape), 1
        for d in reversed(list(order)):
            strides[d] = step
            step *= shape[d]
            if strides[d] == 1 and d == list(order)[-1]:
                step = -(-step // self.in_byte) * self.in_byte
        return strides

    def lay_out(self):
        empty = 0 in self.shape
        last = 0 if empty else sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        span = 0 if empty else last // self.in_byte + 1
        self.memory = np.full(span * size(self.type), UNWRITTEN, np.uint8).view(memory(self.type))

    def _own(self, elements):
        step = elements.itemsize
        return np.lib.stride_tricks.as_strided(elements, self.shape, [s * step for s in self.strides])

    def raw(self, memory):
        """Its elements as they lie in memory; of less than a byte, their values."""
        if self.type in PACKED:
            memory = unpack(memory, self.type)
        return self._own(memory).copy() if len(memory) else np.zeros(self.shape, memory.dtype)

    def values(self, memory):
        return self.raw(memory) if self.type in PACKED else decode(self.raw(memory), self.type)

    def put(self, values):
        if 0 in self.shape:
            return
        if self.type not in PACKED:
            self._own(self.memory)[...] = encode(values, self.type)
            return
        elements = unpack(self.memory, self.type)
        self._own(elements)[...] = values
        self.memory[...] = pack(elements, self.type)

    def fill(self, values):
        self.lay_out()
        if values is not None:
            self.put(values)
        return self.values(self.memory)

    def is_clean_around(self, memory):
        """Is the memory that is not its own as it was? What fills up its last bytes is 0."""
        own = np.zeros(len(memory) * self.in_byte, bool)
        if len(own):
            self._own(own)[...] = True
        own = own.reshape(-1, self.in_byte)
        touched = own.any(1)
        if not np.all(memory[~touched].view(np.uint8) == UNWRITTEN):
            return False
        if self.type not in PACKED:
            return True
        return np.all(unpack(memory, self.type).reshape(own.shape)[touched[:, None] & ~own] == 0)

    def head(self):
        flags = "c" if self.constant else "-" if self.arg.role == "input" else "o"
        numbers = [self.offset, self.memory.nbytes, len(self.shape), *self.shape, *self.strides]
        return f"tensor {self.arg.name} {self.type} {flags} " + " ".join(map(str, numbers))


def specials(t):
    tiny = least(t)
    big = largest(t)
    return np.array([0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, tiny, -tiny, 3 * tiny,
                     big, -big, big / 3, 127, 128, -128.5, 255, 256, 2**31, -2**31, 2**62, -2**63, 1e30,
                     2.0**FLOATS[t][2], 89, -104, 1e-5], WIDE)


def values_of(rng, t, shape, kind):
    if t == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if t in INTS:
        low, high = INTS[t]
        small = rng.integers(max(low, -4), min(high, 4), shape, endpoint=True)
        if kind == "small":
            return small
        edges = np.array([low, low + 1, high, high - 1, 0, 1, min(2, high), -1 if low else high, high // 2])
        edges = rng.choice(edges, shape)
        if kind == "special":
            return edges
        full = rng.integers(low, high, shape, endpoint=True)
        return full if kind == "random" else np.where(rng.random(shape) < 0.1, edges, full)
    if kind == "small":
        return rng.integers(-4, 5, shape).astype(WIDE)
    if kind == "tame":
        return round_to(rng.normal(size=shape) / 2, t)
    wide = rng.normal(size=shape) * 10.0**rng.choice([-2, -1, 0, 0, 1])
    if rng.random() < 0.2:
        wide = wide * 10.0**rng.uniform(-3, 3, shape)
    edges = rng.choice(BYTE_FLOATS[t] if t in BYTE_FLOATS else specials(t), shape)
    if kind == "sprinkled":
        wide = np.where(rng.random(shape) < 3 / max(np.prod(shape), 30), edges, wide)
    return round_to(edges if kind == "special" else wide, t)


class Case:
    """A problem and its data. `types` binds the dtype parameters; the rest is drawn."""

    def __init__(self, signature, entry, types, rng, plain, kind, bad=False):
        self.signature, self.entry, self.types, self.rng, self.kind = signature, entry, types, rng, kind
        numbers = entry.params(Choices(rng)) if entry.params else {}
        dims = entry.dims(Choices(rng), numbers) if entry.dims else {}
        extents = EXTENTS[min(len(signature.dims), 4)]
        self.numbers, self.bad = numbers, None
        self.dims = {d: int(dims.get(d, rng.choice(extents))) for d in signature.dims}
        if bad:
            self.dims = {d: max(n, 2) for d, n in self.dims.items()}
        # An index needs a row to look up.
        for tensor, (how, dim) in entry.data.items():
            if how in ("index", "either end") and self.dims[dim] == 0:
                self.dims[dim] = 3
        self.ranged = {d for d in self.dims if not plain and rng.random() < 0.15}
        if entry.dims:  # windows must fit, whatever the call's dims
            self.ranged -= {"R", "Q"}
        self.ranged -= set(entry.stated)
        words = [self.dim_word(d, n) for d, n in self.dims.items()]
        words += [f"{k}={v}" for k, v in [*types.items(), *numbers.items()]]
        self.tensors, self.scalars = [], {}
        self.inputs = {}
        for arg in sorted(signature.args, key=lambda a: a.role == "output"):
            t = types.get(arg.type, arg.type)
            if arg.shape is None:
                self.add_scalar(arg, widened(t) if arg.type in types else t)
            else:
                self.add_tensor(arg, t, plain)
        if bad:
            self.spoil()
        self.text = " ".join([signature.text, *words, *(w for t in self.tensors for w in t.words)])

    def dim_word(self, d, n):
        if d not in self.ranged:
            return f"{d}={n}"
        high = n + int(self.rng.integers(0, 40))
        at = f" at {max(n, 1)}" if self.rng.random() < 0.3 and 1 <= n <= high else ""
        low = n if self.entry.dims else int(self.rng.integers(0, n + 1))
        return f"{d}={low}..{high}{at}"

    def add_scalar(self, arg, t):
        kind = self.kind if arg.name in ("v", "low", "high", "alpha", "beta") else "small"
        v = values_of(self.rng, t, (), kind)
        if arg.name == "eps" and t in FLOATS:
            v = round_to(WIDE("1e-5"), t)
        if t in INTS and kind != "small":
            v = np.clip(v, -2**53, 2**53)
        self.scalars[arg.name] = (t, v)
        self.inputs[arg.name] = read(np.asarray(v), t)

    def add_tensor(self, arg, t, plain):
        env = {**self.dims, **self.numbers}
        shape = [int(eval(e.replace("/", "//"), {}, env)) for e in arg.shape]
        tensor = Tensor(arg, t, shape)
        if not plain:
            self.choose_layout(tensor)
        values = None
        if arg.role != "output":
            how, dim = self.entry.data.get(arg.name, (None, None))
            values = self.places(how, self.dims[dim], shape, t) if how else \
                values_of(self.rng, t, shape, self.kind)
            if 0 in tensor.strides and 0 not in shape:  # elements that share memory
                values = values[tuple(slice(0, 1) if s == 0 else slice(None) for s in tensor.strides)]
        held = tensor.fill(values)
        if arg.role != "output":
            self.inputs[arg.name] = read(held, t)
        self.tensors.append(tensor)

    def places(self, how, n, shape, t):
        """Indices into `n` rows, or ends of ranges of `n` elements."""
        low, high = INTS.get(t, (0, 1) if t == "bool" else (-128, 127))
        if how == "any index":
            return np.clip(self.rng.integers(-3, n + 4, shape), low, high)
        if how == "either end":  # below 0 from the end
            return np.clip(self.rng.integers(-n, n, shape), low, high)
        if how == "index":
            return self.rng.integers(0, min(n, high + 1), shape)
        return np.sort(self.rng.integers(0, min(n, high) + 1, shape))

    def choose_layout(self, tensor):
        rng, rank, arg = self.rng, len(tensor.shape), tensor.arg
        way = rng.random()
        if way < 0.25 and rank > 1:
            order = [int(d) for d in rng.permutation(rank)]
            tensor.strides = tensor.dense(tensor.shape, order)
            tensor.words = [f"{arg.name}@" + ",".join(self.dim_name(arg, d) for d in order)]
        elif way < 0.4 and rank > 0:
            order = [int(d) for d in rng.permutation(rank)]
            roomy = [n + int(rng.integers(0, 4)) for n in tensor.shape]
            tensor.strides = tensor.dense([max(n, 1) for n in roomy], order)
            if tensor.strides.count(1) > 1 and tensor.in_byte > 1:
                return  # one dim has stride 1
            if arg.role == "input" and rng.random() < 0.2 and (tensor.in_byte == 1 or rank > 1):
                tensor.strides[order[0]] = 0
            self.state_strides(tensor)
        names = {word for e in arg.shape for word in re.findall(r"[A-Za-z_]\w*", e)}
        known = not tensor.open and not names & self.ranged  # a constant has a shape that is known
        if rng.random() < 0.2 and arg.role == "input" and known:
            tensor.constant = True
            tensor.words.append(f"const={arg.name}")
        if rng.random() < 0.1:
            tensor.words.append(f"{arg.name}.align=64")
        else:
            tensor.offset = size(tensor.type) * int(rng.integers(0, 9))

    def state_strides(self, tensor):
        words = []
        for d, s in enumerate(tensor.strides):
            # A stride that may be 0 at a call is not said to be open.
            if s and self.rng.random() < 0.2 and tensor.in_byte == 1 and f"{tensor.arg.name}.stride{d}" not in self.dims:
                tensor.open[f"{tensor.arg.name}.stride{d}"] = s
                words.append("?")
            else:
                words.append(str(s))
        tensor.words = [f"{tensor.arg.name}.stride=({','.join(words)})"]

    def dim_name(self, arg, d):
        """The declared name where it is one symbol and unique in the tensor; else `d0`, `d1`."""
        e = arg.shape[d]
        return e if e.isidentifier() and arg.shape.count(e) == 1 else f"d{d}"

    def spoil(self):
        """Puts an index that no check accepts into one tensor: `bad` is its name and position."""
        for tensor in self.tensors:
            how, dim = self.entry.data.get(tensor.arg.name, (None, None))
            if how != "index" or self.bad or tensor.constant or 0 in tensor.shape:
                continue
            at = int(self.rng.integers(0, tensor.shape[0]))
            wrong = [-1, self.dims[dim], INTS[tensor.type][0], INTS[tensor.type][1]]
            low, high = INTS[tensor.type]
            wrong = [w for w in wrong if not 0 <= w < self.dims[dim] and low <= w <= high]
            if not wrong:
                continue
            values = tensor.values(tensor.memory)
            values[at if tensor.strides[0] else slice(None)] = self.rng.choice(wrong)
            tensor.put(values)
            row = int(np.prod(tensor.shape[1:]))
            self.bad = (tensor.arg.name, (at if tensor.strides[0] else 0) * row)

    def expected(self):
        """The lowest and the highest value of every element of what is written, by name."""
        scope = type("Scope", (), {})()
        outputs = [t for t in self.tensors if t.arg.role != "input"]
        for names in (self.dims, self.numbers, self.types, self.inputs):
            for key, value in names.items():
                setattr(scope, key, value)
        scope.out = outputs[-1].shape
        with np.errstate(all="ignore"):
            results = self.entry.meaning(scope)
            return {t.arg.name: results[t.arg.name].stored(t.type) for t in outputs}

    def request(self, seed):
        """As the runner reads it."""
        lines = [f"problem {self.text}", f"seed {seed}"]
        lines += [f"dim {d} {n}" for d, n in self.dims.items()]
        lines += [f"dim {d} {n}" for t in self.tensors for d, n in t.open.items()]
        for t, v in self.scalars.values():
            lines.append(f"real {float(v)!r}" if t in FLOATS else f"integer {int(v)}")
        data = "".join(line + "\n" for line in lines).encode()
        for t in self.tensors:
            data += t.head().encode() + b"\n" + t.memory.tobytes()
        return data + b"run\n"


class Choices:
    """What meanings draw from."""

    def __init__(self, rng):
        self.rng = rng

    def choice(self, items):
        return items[int(self.rng.integers(0, len(items)))]
