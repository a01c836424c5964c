# SPDX-License-Identifier: Apache-2.0
"""Meanings of ops that move elements: pieces, borders, places from data, patterns."""
import numpy as np

from conversions import Converted
from functions import call
from meanings import FLOAT, INDEX, NUMBERS, TYPES, added, last, op, scattered
from meanings_rows import few, power, unsure_where
from values import FLOATS, WIDE, Val, round_to, widened

op("pow_mixed", T=TYPES, U=TYPES)(lambda p: {"Y": Converted(power(p.A.cast("f64"), p.B.cast("f64")), p.T)})


@op("fmod", T=FLOAT)
def fmod(p):
    quotient = p.A / p.B
    with np.errstate(all="ignore"):
        unsure = np.trunc(quotient.v - quotient.e) != np.trunc(quotient.v + quotient.e)
    whole = Val(quotient.t, np.trunc(quotient.v))
    return {"Y": unsure_where(p.A - whole * p.B, unsure & (quotient.e > 0))}


@op("integer_fmod", T=[*INDEX, "bool"])
def integer_fmod(p):
    rest = p.A.abs() % p.B.abs()
    return {"Y": Val("bool", p.A.v < 0).where(-rest, p.A % p.B.abs())}


def joined(parts, axis):
    e = np.concatenate([x.e for x in parts], axis) if parts[0].is_float else None
    return Val(parts[0].t, np.concatenate([x.v for x in parts], axis), e)


op("permute", T=TYPES)(lambda p: {"Y": p.X})
op("split2", T=TYPES)(lambda p: {"Y": p.X[:, :p.N], "Z": p.X[:, p.N:]})
op("split3", T=TYPES)(lambda p: {"Y": p.X[:, :p.N], "Z": p.X[:, p.N:p.N + p.L], "V": p.X[:, p.N + p.L:]})
op("concat3", T=NUMBERS)(lambda p: {"Y": joined([p.A, p.B, p.C], 1)})


def slice_params(random):
    return {"FA": random.choice([0, 1, 2]), "FB": random.choice([0, 3]), "FC": random.choice([0, 1, 5]),
            "DA": random.choice([1, 1, 2]), "DB": random.choice([1, 2, 3]), "DC": random.choice([1, 1, -1])}


def slice_dims(random, p):
    n = {}
    for size, out, first, step in (("A", "I", "FA", "DA"), ("B", "J", "FB", "DB"), ("C", "K", "FC", "DC")):
        room = random.choice([1, 2, 5, 17])
        n[out] = min(room, p[first] + 1) if p[step] < 0 else room
        n[size] = p[first] + max(p[step], 0) * (n[out] - 1) + 1 + random.choice([0, 2])
    return n


@op("slice", T=TYPES, params=slice_params, dims=slice_dims, stated="A B C I J K")
def slice_(p):
    at = [f + d * np.arange(n) for f, d, n in ((p.FA, p.DA, p.I), (p.FB, p.DB, p.J), (p.FC, p.DC, p.K))]
    return {"Y": p.X[np.ix_(*at)]}


def border_params(random):
    return {k: random.choice([0, 0, 1, 2]) for k in ("PA", "PB", "PC", "PD")}


def border_dims(random, params):
    n = {k: random.choice([1, 2, 3, 5]) for k in "ABCD"}
    more = {out: n[k] + random.choice([0, 1, 3]) for out, k in zip("IJKL", "ABCD")}
    return {**n, **more}


def moved(p, f):
    """X at f(index less the padding, extent) for each dim; None is outside."""
    sizes = zip((p.I, p.J, p.K, p.L), (p.PA, p.PB, p.PC, p.PD), (p.A, p.B, p.C, p.D))
    return [f(np.arange(out) - first, n) for out, first, n in sizes]


def or_else(p, at, v):
    """X at four lists of places, `v` outside of it."""
    inside = np.ones((), bool)
    for d, (i, n) in enumerate(zip(at, p.X.shape)):
        good = (i >= 0) & (i < n)
        inside = inside & good.reshape([-1 if k == d else 1 for k in range(4)])
    there = p.X[np.ix_(*(np.clip(i, 0, n - 1) for i, n in zip(at, p.X.shape)))]
    return Val("bool", np.broadcast_to(inside, there.shape)).where(there, v)


def bool_value(v, x):
    return v if x.t == "bool" else x.of(v)


op("pad_constant", T=TYPES, params=border_params, dims=border_dims)(
    lambda p: {"Y": or_else(p, moved(p, lambda i, n: i), p.v)})
op("pad_edge", T=TYPES, params=border_params, dims=border_dims)(
    lambda p: {"Y": p.X[np.ix_(*moved(p, lambda i, n: np.clip(i, 0, n - 1)))]})
op("pad_reflect", T=NUMBERS, params=border_params, dims=border_dims)(
    lambda p: {"Y": or_else(p, moved(p, lambda i, n: n - 1 - np.abs(n - 1 - np.abs(i))), p.X.of(0))})


# --- places from data ---

ENDS = {"ids": ("either end", "R")}


def from_end(ids, n):
    return np.where(ids.v < 0, ids.v + n, ids.v)


op("gather_axis", T=TYPES, I=INDEX, data=ENDS)(lambda p: {"Y": p.X[:, from_end(p.ids, p.R)]})


@op("gather_elements", T=TYPES, I=INDEX, data=ENDS)
def gather_elements(p):
    a, _, b = np.indices(p.ids.shape)
    return {"Y": p.X[a, from_end(p.ids, p.R), b]}


def scatter_along(name, combine, T):
    @op(name, T=T, I=INDEX, data=ENDS)
    def meaning(p):
        a, _, b = np.indices(p.ids.shape)
        at = np.ravel_multi_index((a, from_end(p.ids, p.R), b), (p.A, p.R, p.B)) if p.ids.v.size else p.ids.v
        y = scattered(p.V.reshape(-1), at.reshape(-1), p.A * p.R * p.B, combine, p.Y.reshape(-1))
        return {"Y": y.reshape(p.A, p.R, p.B)}


scatter_along("scatter_elements", last, TYPES)
scatter_along("scatter_add_elements", added, TYPES)


@op("one_hot_axis", T=TYPES, I=TYPES, data={"ids": ("either end", "K")})
def one_hot_axis(p):
    ids = p.ids.cast("i64").v
    there = np.where(ids < 0, ids + p.K, ids)[:, None] == np.arange(p.K)[None, :, None]
    on, off = (Val(x.t, np.broadcast_to(x.v, there.shape), np.zeros(there.shape, WIDE) if x.is_float else None)
               for x in (p.on, p.off))
    return {"Y": Val("bool", there).where(on, off)}


# --- patterns ---

def triangle(name, inside):
    @op(name, T=NUMBERS, params=lambda random: {"K": random.choice([0, 1, 3, -2])})
    def meaning(p):
        keep = inside(np.arange(p.N)[None], np.arange(p.M)[:, None] + p.K)
        return {"Y": Val("bool", np.broadcast_to(keep, p.X.shape)).where(
            p.X, Val(p.X.t, np.zeros((), p.X.v.dtype)))}


triangle("tril", np.less_equal)
triangle("triu", np.greater_equal)


def ones_where(there, t):
    return Val(widened(t), there.astype(WIDE if t in FLOATS else np.int64))


op("eye", T=NUMBERS, params=lambda random: {"K": random.choice([0, 1, 3, -2])})(
    lambda p: {"Y": ones_where(np.arange(p.N)[None] == np.arange(p.M)[:, None] + p.K, p.T)})


@op("fill", T=TYPES)
def fill(p):
    e = np.zeros(p.N, WIDE) if p.v.is_float else None
    return {"Y": Val(p.v.t, np.broadcast_to(p.v.v, p.N), e)}


@op("arange", T=TYPES)
def arange(p):
    i = Val("i64", np.arange(p.N)).cast(p.T)
    return {"Y": p.first + i * p.step}


@op("cosine_window", T=FLOAT, params=lambda random: {"PERIODIC": random.choice([0, 1])})
def cosine_window(p):
    i = Val("i64", np.arange(p.N)).cast(p.T)
    pi = Val(i.t, round_to(WIDE("6.283185307179586"), i.t))
    x = pi * i / max(1, p.N - 1 + p.PERIODIC)
    return {"Y": p.a - p.b * call("cos", x) + p.c * call("cos", x * 2)}


op("space_to_depth", T=TYPES, dims=few("N C H W"), params=lambda random: {"S": random.choice([1, 2, 3])})(
    lambda p: {"Y": p.X.reshape(p.N, p.C, p.H, p.S, p.W, p.S).transpose(0, 3, 5, 1, 2, 4)})
op("depth_to_space", T=TYPES, dims=few("N C H W"), params=lambda random: {"S": random.choice([1, 2, 3])})(
    lambda p: {"Y": p.X.transpose(0, 3, 4, 1, 5, 2).reshape(p.N, p.C, p.H * p.S, p.W * p.S)})
op("tile", T=TYPES, dims=border_dims)(
    lambda p: {"Y": p.X[np.ix_(*(np.arange(out) % n for out, n in zip((p.I, p.J, p.K, p.L), p.X.shape)))]})
op("repeat", T=TYPES, params=lambda random: {"U": random.choice([1, 2, 3])})(
    lambda p: {"Y": p.X[:, np.arange(p.N * p.U) // p.U]})


@op("reverse_sequence", T=NUMBERS, data={"len": ("any index", "L")})
def reverse_sequence(p):
    t = np.arange(p.L)[:, None]
    at = np.where(t < p.len.v[None], p.len.v[None] - 1 - t, t)
    inside = (at >= 0) & (at < p.L)
    rows = p.X.pad(((0, 1), (0, 0), (0, 0)), 0)[np.where(inside, at, p.L), np.arange(p.B)[None]]
    return {"Y": rows}


op("max_unpool", T=TYPES, data={"I": ("index", "K")})(
    lambda p: {"Y": scattered(p.X, p.I.v, p.K, lambda terms: terms[-1] if terms.shape[0] else Val(
        terms.t, np.zeros((), terms.v.dtype)))})
