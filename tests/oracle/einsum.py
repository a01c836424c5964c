#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random texts of einsum against NumPy's: one to four operands, repeated letters, both forms of results.

    einsum.py RUNNER [--seed N] [--count N]
"""
import argparse
import os
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True  # the source tree stays as it is

from oracle import Runner  # noqa: E402, first: it looks for a Python that has NumPy

import numpy as np  # noqa: E402

TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
KNOWN = ["ij,jk->ik", "bhqd,bkhd->bhqk", "ii", "ii->i", "ij", "ba", "i,i", "i,j", "ij,ij->", ",ij", "i,ij,j->",
         "ij,jk,kl->il", "iij,jkk->ik", "aA,Ab->ab", "btd,bsd->bts", "ji->ij", "abc->", "ab , bc -> ca"]


def random_letters(rng):
    """A text of few letters, so that they meet."""
    letters = list(rng.permutation(list("abijktABT"))[:rng.integers(1, 6)])
    operands = ["".join(rng.choice(letters, rng.integers(0, 4))) for _ in range(rng.integers(1, 5))]
    text = ",".join(operands)
    if rng.integers(4):
        found = sorted(set(text) - {","})
        text += "->" + "".join(rng.permutation(found)[:rng.integers(0, len(found) + 1)] if found else "")
    return text


def dim(letter):
    return letter.upper() if letter.islower() else letter * 2


class Einsum:
    """A text with data: small integers, so that sums are exact in any order."""

    def __init__(self, letters, rng):
        parts = letters.replace(" ", "").split("->")
        self.type = str(rng.choice(list(TYPES)))
        sizes = {c: int(rng.integers(0, 7)) if rng.integers(8) else 0 for c in sorted(set(letters)) if c.isalpha()}
        operands = [rng.integers(-4, 5, [sizes[c] for c in part]).astype(TYPES[self.type])
                    for part in parts[0].split(",")]
        self.expected = np.asarray(np.einsum(letters, *operands), TYPES[self.type])
        result = np.full(self.expected.shape, 7, TYPES[self.type])
        kind = "TYPE" if "t" in parts[0] else "T"
        bindings = [f"{dim(c)}={n}" for c, n in sizes.items()] + [f"{kind}={self.type}"]
        self.text = " ".join(["einsum", letters, *bindings])
        self.tensors = [SimpleNamespace(name=f"X{i + 1}", memory=x, arg=SimpleNamespace(role="input"))
                        for i, x in enumerate(operands)]
        self.tensors.append(SimpleNamespace(name="Y1", memory=result, arg=SimpleNamespace(role="output")))

    def head(self, tensor):
        x = tensor.memory
        strides = [s // x.itemsize for s in np.empty(x.shape, x.dtype).strides] if x.size else [1] * x.ndim
        words = [tensor.name, self.type, "o" if tensor.arg.role == "output" else "-", 0, x.nbytes, x.ndim]
        return " ".join(map(str, ["tensor", *words, *x.shape, *strides]))

    def request(self, seed):
        data = f"problem {self.text}\nseed {seed}\n".encode()
        for t in self.tensors:
            data += self.head(t).encode() + b"\n" + t.memory.tobytes()
        return data + b"run\n"

    def wrong(self, outcomes):
        for way, outcome in outcomes:
            if isinstance(outcome, str):
                yield f"{way}{outcome}"
                continue
            got = np.frombuffer(outcome[0], TYPES[self.type])
            if not np.array_equal(got, self.expected.ravel()):
                yield f"{way}: {got} where NumPy has {self.expected.ravel()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("runner")
    parser.add_argument("--seed", type=int, default=1)
    few = {"smoke": 40, "quick": 120}.get(os.environ.get("HONE_TEST_EFFORT", "quick"), 1000)
    parser.add_argument("--count", type=int, default=few)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    runner, failures = Runner(options.runner), 0
    for i in range(options.count):
        case = Einsum(KNOWN[i] if i < len(KNOWN) else random_letters(rng), rng)
        wrong = list(case.wrong(runner.run(case, i + 1)))
        failures += bool(wrong)
        if wrong:
            print("\n  ".join([case.text, *wrong]))
    print(f"{options.count} texts of einsum, {failures} failures")
    return 1 if failures or not options.count else 0


if __name__ == "__main__":
    sys.exit(main())
