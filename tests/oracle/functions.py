# SPDX-License-Identifier: Apache-2.0
"""Scalar functions of the language, from NumPy's 80-bit ones and Python's erf."""
import math

import numpy as np

from values import Val, WIDE, epsilon, least

_erf = np.vectorize(math.erf, otypes=[WIDE])
_erfc = np.vectorize(math.erfc, otypes=[WIDE])


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _half(f):
    """x * f(x), whose limit at minus infinity is 0."""
    return lambda x: np.where(x == -np.inf, WIDE(0), x * f(np.where(x == -np.inf, WIDE(0), x)))


def _tanh_form(x):
    return _sigmoid(2 * np.sqrt(2 / WIDE(np.pi)) * (x + WIDE("0.044715") * x * x * x))


def _pow(x, y):
    """Numbers from 2^53 up are even, where the C library's long pow of -inf loses its way at -2^63."""
    return np.power(np.where(np.abs(y) >= 2**53, np.abs(x), x), y)


EXACT = {"abs": np.abs, "ceil": np.ceil, "floor": np.floor, "round": np.rint, "trunc": np.trunc}
SMOOTH = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cbrt": np.cbrt, "cos": np.cos, "cosh": np.cosh,
    "erf": _erf, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh,
    "gelu": _half(lambda x: _erfc(-x / np.sqrt(WIDE(2))) / 2), "gelu_tanh": _half(_tanh_form),
    "silu": _half(_sigmoid),
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}
OF_TWO = {"atan2": np.arctan2, "pow": _pow}
# Products with the argument, and sums of it: so is their error.
SCALED = {"gelu", "gelu_tanh", "silu", "softplus"}
# Results below twice the least normal number may be 0.
FLUSHED = {"exp", "exp2", "sigmoid"}


def known():
    """Each function and how many arguments it takes."""
    return [(name, 2 if name in OF_TWO else 1) for name in sorted([*EXACT, *SMOOTH, *OF_TWO])]


def call(name, x, y=None):
    """`name(x)` or `name(x, y)`."""
    x = x.number()
    if name == "abs":
        return x.abs()
    assert x.is_float, name
    if name in EXACT:
        assert not np.any(x.e), name
        return Val(x.t, EXACT[name](x.v), x.e)
    f = SMOOTH[name] if y is None else OF_TWO[name]
    others = [] if y is None else [y.number().v]
    assert y is None or not (np.any(x.e) or np.any(y.e)), name
    v = f(x.v, *others)
    off = np.zeros(v.shape, WIDE)
    for at in (x.v - x.e, x.v + x.e):
        change = np.abs(f(at, *others) - v)
        off = np.maximum(off, np.where(np.isnan(change), np.inf, change))
    off = np.where(x.e == 0, 0, off)
    eps = epsilon(x.t)
    room = (4 if x.t == "f32" else 8) * eps * np.abs(v) + 2 * least(x.t)
    if name in SCALED:
        room = room + eps * np.abs(x.v)
    if name in FLUSHED:
        flushed = WIDE(2.0**-125 if x.t == "f32" else 2.0**-1021)
        room = room + np.where(np.abs(v) - off < flushed, flushed, 0)
    e = np.where(np.isfinite(v), off + room, np.where(np.isfinite(off), 0, np.inf))
    return Val(x.t, v, e.astype(WIDE))
