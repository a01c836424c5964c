# SPDX-License-Identifier: Apache-2.0
"""Meanings of layers with what follows them, and of lookups with weights and means."""
import numpy as np

from conversions import Converted, Rounded
from meanings import BAGS, INDEX, NUMBERS, TYPES, conv, conv_dims, conv_params, op, over_steps, pieces, product, \
    windows
from values import Val, widened


# --- layers ---

op("fc_residual", T=TYPES)(lambda p: {"Y": p.X + (product(p.A, p.W) + p.b[None])})


def channels(b):
    return b[None, :, None, None]


def conv2d(p):
    return conv(p, p.X[:, None], p.F[None])[:, 0]


def fused(name, f):
    op(name, dims=conv_dims, params=conv_params, T=NUMBERS)(lambda p: {"Y": f(p).maximum(0)})


fused("conv2d_relu", lambda p: conv2d(p) + channels(p.b))
fused("conv2d_batchnorm_relu", lambda p: conv2d(p) * channels(p.scale) + channels(p.shift))
fused("conv2d_add_relu", lambda p: p.Z + (conv2d(p) + channels(p.b)))


def conv_pool_params(random):
    return {"S": random.choice([1, 1, 2]), "P": random.choice([0, 1]), "A": random.choice([1, 2, 3]),
            "B": random.choice([1, 2]), "SP": random.choice([1, 2, 3])}


def conv_pool_dims(random, params):
    n = conv_dims(random, params)
    for size, window, pooled in (("H", "R", "A"), ("W", "Q", "B")):
        n[size] = max(n[size], n[window] + (params[pooled] - 1) * params["S"])
    return n


@op("conv2d_relu_max_pool", dims=conv_pool_dims, params=conv_pool_params, T=NUMBERS)
def conv2d_relu_max_pool(p):
    rows, columns = ((size + 2 * p.P - window) // p.S + 1 for size, window in ((p.H, p.R), (p.W, p.Q)))
    seen = windows(p.X[:, None], (rows, columns), (p.R, p.Q), p, 1, 0)
    terms = seen[:, :, None] * p.F[None, ..., None, None]
    t = (terms.sum((3, 4, 5))[:, 0] + channels(p.b)).maximum(0).cast(p.T)
    at = [np.arange(size)[:, None] + np.arange(count)[None] * p.SP
          for size, count in zip((p.A, p.B), p.out[-2:])]
    return {"Y": t[..., at[0][:, None, :, None], at[1][None, :, None, :]].max((2, 3))}


# --- lookups ---

def rows(p):
    return p.E[p.ids.v].cast("f32")


@op("embedding_bag_mean", T=TYPES, I=INDEX, data=BAGS)
def embedding_bag_mean(p):
    count = Val("i64", np.maximum(np.diff(p.offs.v.astype(np.int64)), 1)).cast("f32")
    return {"Y": pieces(rows(p), p.offs) / count[:, None]}


@op("embedding_bag_positional", T=TYPES, I=INDEX, data=BAGS)
def embedding_bag_positional(p):
    place = np.full(p.L, p.P)
    for a, b in zip(p.offs.v[:-1], p.offs.v[1:]):
        place[a:b] = np.minimum(np.arange(b - a), p.P)
    return {"Y": pieces(p.w.pad(((0, 1),), 0)[place][:, None] * rows(p), p.offs)}


@op("embedding_bag_known", T=NUMBERS, I=INDEX, data={**BAGS, "ids": ("any index", "R")})
def embedding_bag_known(p):
    inside = (p.ids.v >= 0) & (p.ids.v < p.R)
    table = p.E.pad(((0, 1), (0, 0)), 0).cast("f32")
    return {"Y": pieces(p.w[:, None] * table[np.where(inside, p.ids.v, p.R)], p.offs)}


@op("embedding_bag_u8_weighted", I=INDEX, data=BAGS)
def embedding_bag_u8_weighted(p):
    scale, bias = ((t[p.ids.v] * p.w)[:, None] for t in (p.scale, p.bias))
    return {"Y": pieces(rows(p) * scale + bias, p.offs)}


@op("lengths_to_offsets", I=NUMBERS)
def lengths_to_offsets(p):
    before = p.len.pad(((1, 0),), 0)
    if widened(p.I) == p.I:
        return {"offs": before.prefix_sums(0)}
    return {"offs": over_steps(before, p.I, lambda x, sum: x if sum is None else x + sum, False)}


@op("quantize_rows_u8", T=TYPES)
def quantize_rows_u8(p):
    x = p.X.cast("f32")
    low, high = x.min(1), x.max(1)
    steps = x.of(255) / (high - low + x.of(1e-8))
    return {"Q": Rounded((x - low[:, None]) * steps[:, None], "u8"), "scale": (high - low) / 255, "bias": low}


op("dequantize_rows_u8", T=TYPES)(
    lambda p: {"X": Converted(p.Q.cast("f32") * p.scale[:, None] + p.bias[:, None], p.T)})
