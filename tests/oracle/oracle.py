#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every op of the library, every scalar function, and some gradients, against NumPy: all its types, special values,
storage orders, strides, constants and dims of the call. Judges the definition and kernels alike; shares
no code with them.

    oracle.py RUNNER LIBRARY [--op NAME] [--seed N] [--count N]
"""
import argparse
import importlib.util
import os
import sys

SKIPPED = 77  # as Meson has it
sys.dont_write_bytecode = True  # the source tree stays as it is


def python_with_numpy():
    """Goes on in an interpreter that has NumPy: the one of the distribution, where another hides it."""
    if importlib.util.find_spec("numpy"):
        return
    if os.environ.get("HONE_ORACLE_PYTHON") or not os.access("/usr/bin/python3", os.X_OK):
        print("skipped: no Python here has NumPy (python3-numpy)")
        sys.exit(SKIPPED)
    os.environ["HONE_ORACLE_PYTHON"] = "1"
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


python_with_numpy()

import itertools  # noqa: E402
import multiprocessing  # noqa: E402
import subprocess  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

from cases import KINDS, Case, library, of_function, of_gradient  # noqa: E402
from gradients import GRADIENTS  # noqa: E402
import meanings_fused  # noqa: E402,F401  they declare theirs
import meanings_moves  # noqa: E402,F401
import meanings_rows  # noqa: E402,F401
import meanings_steps  # noqa: E402,F401
import meanings_windows  # noqa: E402,F401
from meanings import OPS  # noqa: E402
from values import FLOATS, TYPES, memory  # noqa: E402

BAD_DATA = 4  # hone::ErrorCode::kBounds
MEANS_NOTHING = 2  # hone::ErrorCode::kSemantic


class Runner:
    """The program that runs problems, and what it said of the last one."""

    def __init__(self, program):
        self.program = program
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """Ends the program, which a sanitizer may then say something of."""
        self.process.communicate()
        if kind is None and self.process.returncode != 0:
            raise RuntimeError(f"the runner ended with {self.process.returncode}")

    def functions(self):
        """The signatures of the language's scalar functions, by name."""
        self.process.stdin.write(b"functions\n")
        self.process.stdin.flush()
        found = {}
        while (line := self.process.stdout.readline().decode().rstrip("\n")) != "done":
            _, name, arity = line.split()
            s = of_function(name, int(arity))
            found[s.name] = s
        return found

    def gradients(self):
        """Signatures of the gradients that have a meaning, by name."""
        found = {}
        for name, entry in GRADIENTS.items():
            self.process.stdin.write(f"gradient {entry.request}\n".encode())
            self.process.stdin.flush()
            text = self.process.stdout.readline().decode().rstrip("\n")
            if not text.startswith("op "):
                raise RuntimeError(f"{name}: {text}")
            found[name] = of_gradient(name, text)
        return found

    def run(self, case, seed):
        """Pairs of a way and its outcome: an error's text, or the memory of each output."""
        self.process.stdin.write(case.request(seed))
        self.process.stdin.flush()
        outputs = [t for t in case.tensors if t.arg.role != "input"]
        outcomes = []
        while True:
            line = self.process.stdout.readline().decode().rstrip("\n")
            if line == "done":
                return outcomes
            word, _, rest = line.partition(" ")
            if word == "ok":
                got = [self.process.stdout.read(t.memory.nbytes) for t in outputs]
                outcomes.append((rest, got))
            elif word == "error":
                outcomes.append(("", rest))
            elif word != "refused":
                raise RuntimeError(f"the runner died after {[w for w, _ in outcomes]}")


def difference(tensor, got, low, high):
    """What is wrong with one output, empty: nothing; and how many of its elements may be anything."""
    found = np.frombuffer(got, memory(tensor.type))
    if not tensor.is_clean_around(found):
        return "memory between its elements was written", 0
    raw, have = tensor.raw(found), tensor.values(found)
    low, high = np.broadcast_to(low, have.shape), np.broadcast_to(high, have.shape)
    with np.errstate(all="ignore"):
        free = (low == -np.inf) & (high == np.inf) & (tensor.type in FLOATS)
        good = free | (low <= have) & (have <= high)
        if tensor.type in FLOATS:
            good |= np.isnan(have) & np.isnan(low)
        if tensor.type == "bool":
            good &= raw <= 1
    if np.all(good):
        return "", np.count_nonzero(free)
    at = tuple(int(i) for i in np.argwhere(~good)[0])
    where = ",".join(map(str, at))
    return (f"{tensor.arg.name}[{where}] is {have[at]} where {low[at]} to {high[at]} is right; "
            f"{np.count_nonzero(~good)} of {good.size} differ"), 0


def judge(case, outcomes, seen):
    """What is wrong with the outcomes of a case, a line each. Adds to `seen`: elements looked at, and
    those of them that may be anything."""
    outputs = [t for t in case.tensors if t.arg.role != "input"]
    wanted = None if case.bad else case.expected()
    for way, outcome in outcomes:
        if isinstance(outcome, str):
            code, _, text = outcome.partition(" ")
            if not case.bad or int(code) != BAD_DATA or not names_place(text, case.bad):
                yield text
            continue
        if case.bad:
            yield f"{way}: {case.bad[0]}[{case.bad[1]}] is no place, and the call goes through"
            continue
        for tensor, got in zip(outputs, outcome):
            wrong, free = difference(tensor, got, *wanted[tensor.arg.name])
            seen += np.array([np.prod(tensor.shape, dtype=int), free])
            if wrong:
                yield f"{way}: {wrong}"


def names_place(text, bad):
    """True where an error names the bad tensor and position: the definition's own, or a call's."""
    name, at = bad
    names = text.partition(f" element {at} of ")[2].partition(" is out of range")[0].split(" or ")
    return text.endswith(f": {name} {at}") or name in names


def type_choices(entry, signature):
    """Bindings of the dtype parameters that the op takes."""
    lists = [entry.types[p] for p in signature.types]
    return [dict(zip(signature.types, choice)) for choice in itertools.product(*lists)]


def plan(name, signature, entry, count):
    """(types, number of the case) of what is tried; fewer where combinations are many."""
    choices = type_choices(entry, signature)
    if count == 0:  # smoke: every third
        first = sum(map(ord, name)) % 3
        return [(t, i) for i, t in enumerate(choices[first % len(choices)::3][:12])]
    rounds = max(1, count if len(choices) <= 10 else count // 2)
    if len(signature.types) > 1 and entry.data:  # types of indices go round, not across
        rounds = max(1, count // 2)
    return [(t, r * len(choices) + i) for r in range(rounds) for i, t in enumerate(choices)]


def refused(runner, signature, entry, rng):
    """Types that the op takes and no meaning knows of."""
    for param in signature.types:
        for t in TYPES:
            if t in entry.types[param]:
                continue
            types = {p: entry.types[p][0] for p in signature.types}
            case = Case(signature, entry, {**types, param: t}, rng, plain=True, kind="small")
            for way, outcome in runner.run(case, 1):
                if way:
                    yield f"{case.text}\n  {way}: takes {param}={t}, which tests/oracle does not know"
                elif int(outcome.split()[0]) != MEANS_NOTHING:
                    yield f"{case.text}\n  {outcome}"


def try_op(job):
    """All cases of an op: how many, the elements seen, and what is wrong."""
    name, signature, options = job
    entry = {**OPS, **GRADIENTS}[name]
    failures, cases, seen = [], 0, np.zeros(2, int)
    with Runner(options.runner) as runner:
        for types, number in plan(name, signature, entry, options.count):
            seed = options.seed * 1000003 + number
            rng = np.random.default_rng([seed, *name.encode()])
            kinds = getattr(entry, "kinds", KINDS)
            choices = max(len(type_choices(entry, signature)), 1)
            kind = kinds[(number + number // choices) % len(kinds)]
            case = Case(signature, entry, types, rng, plain=number % 5 == 0, kind=kind,
                        bad=bool(entry.data) and number % 6 == 5)
            cases += 1
            try:
                wrong = list(judge(case, runner.run(case, seed), seen))
            except (RuntimeError, BrokenPipeError) as died:
                runner.start()
                wrong = [str(died)]
            if wrong:
                title = f"{case.text}   ({kind} data, case {number})"
                failures.append("\n  ".join([title, *wrong]))
            if len(failures) >= 5:
                break
        if name in OPS:
            failures += refused(runner, signature, entry, np.random.default_rng(1))
    return name, cases, seen, failures


def main():
    effort = os.environ.get("HONE_TEST_EFFORT", "quick")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runner")
    parser.add_argument("library")
    parser.add_argument("--op", help="this one alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default={"smoke": 0, "quick": 2}.get(effort, 4),
                        help="cases of each choice of types; 0: a few in all")
    options = parser.parse_args()
    begun = time.monotonic()
    with Runner(options.runner) as runner:
        signatures = {**library(options.library), **runner.functions()}
        gradients = runner.gradients()
    failed = [f"{n}: no meaning in tests/oracle/meanings.py" for n in signatures if n not in OPS]
    failed += [f"{n}: has a meaning and is neither an op of the library nor a function"
               for n in OPS if n not in signatures]
    signatures.update(gradients)
    names = [n for n in signatures if n in {**OPS, **GRADIENTS} and options.op in (None, n)]
    cases, seen = 0, np.zeros(2, int)
    with multiprocessing.Pool(min(4, len(os.sched_getaffinity(0)))) as pool:
        jobs = [(n, signatures[n], options) for n in names]
        for name, count, elements, failures in pool.imap_unordered(try_op, jobs):
            cases, seen = cases + count, seen + elements
            failed += [f"{name}: {text}" for text in failures]
    for text in failed:
        print(text)
    print(f"{len(names)} ops, {cases} problems, {seen[0]} elements ({seen[1]} may be anything), "
          f"{len(failed)} failures, {time.monotonic() - begun:.0f} s")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
