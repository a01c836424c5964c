# SPDX-License-Identifier: Apache-2.0
"""What gradients of some ops of the library are, by hand from the mathematics.

A meaning takes the arguments of the gradient op as NumPy arrays of 80-bit floats and integers. It
gives each result as an array, or with the size of the terms that it is made of where these cancel.
"""
from types import SimpleNamespace

import numpy as np

from meanings import BAGS, conv_dims, conv_params
from values import Val, WIDE, epsilon, widened

# How many roundings a result may be off by, of its largest element or its terms. Chosen.
ROUNDINGS = {"f64": 100, "f32": 100, "f16": 20, "bf16": 20}
FLOAT = list(ROUNDINGS)
INDEX = ["i64", "i32", "i16", "i8", "u8"]
GRADIENTS = {}


def gradient(of, wrt="", take="", dims=None, params=None, data=None, **types):
    """Declares the gradient of an op. `wrt` and `take` are as those of `hone grad`; the rest is as of
    meanings of ops."""
    def declare(f):
        name = " ".join(["grad", of, *([f"take={take}"] if take else [])])
        GRADIENTS[name] = SimpleNamespace(
            meaning=lambda p: measured(f(plain(p)), p), request=f"{of} {wrt or '-'} {take or '-'}",
            types=types or {"T": FLOAT}, dims=dims, params=params, data=data or {}, stated=[],
            kinds=["tame"])
        return f
    return declare


def plain(p):
    """The same arguments without error bounds."""
    return SimpleNamespace(**{k: v.v if isinstance(v, Val) else v for k, v in vars(p).items()})


def measured(results, p):
    """Results with the errors that roundings may make of them."""
    out = {}
    for name, value in results.items():
        v, size = value if isinstance(value, tuple) else (value, 0)
        size = max(np.max(np.abs(v), initial=WIDE(0)), np.max(size, initial=WIDE(0)))
        e = np.full(np.shape(v), ROUNDINGS[p.T] * epsilon(p.T) * size, WIDE)
        out[name] = Val(widened(p.T), np.asarray(v, WIDE), e)
    return out


@gradient("matmul")
def matmul(p):
    return {"dA": p.dC @ p.B.T, "dB": p.A.T @ p.dC}


@gradient("conv2d", dims=conv_dims, params=conv_params)
def conv2d(p):
    n, c, h, w = p.X.shape
    height, width = p.dY.shape[2:]
    padded = np.pad(p.X, [(0, 0), (0, 0), (p.P, p.P), (p.P, p.P)])
    d_padded, d_f = np.zeros_like(padded), np.zeros_like(p.F)
    for r in range(p.R):
        for q in range(p.Q):
            at = (slice(None), slice(None), slice(r * p.D, r * p.D + (height - 1) * p.S + 1, p.S),
                  slice(q * p.D, q * p.D + (width - 1) * p.S + 1, p.S))
            d_f[:, :, r, q] = np.einsum("nohw,nchw->oc", p.dY, padded[at])
            d_padded[at] += np.einsum("nohw,oc->nchw", p.dY, p.F[:, :, r, q])
    return {"dX": d_padded[:, :, p.P:p.P + h, p.P:p.P + w], "dF": d_f, "db": p.dY.sum((0, 2, 3))}


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def through_softmax(y, dy):
    return y * (dy - (y * dy).sum(-1, keepdims=True))


@gradient("softmax")
def softmax(p):
    return {"dX": (through_softmax(softmax_of(p.X), p.dY), np.abs(p.dY))}


@gradient("layernorm")
def layernorm(p):
    centred = p.X - p.X.sum(1, keepdims=True) / p.N
    scale = 1 / np.sqrt((centred * centred).sum(1, keepdims=True) / p.N + p.eps)
    normal, dn = centred * scale, p.dY * p.g
    mean, along = dn.sum(1, keepdims=True) / p.N, (dn * normal).sum(1, keepdims=True) / p.N
    return {"dX": (scale * (dn - mean - normal * along), np.abs(scale * dn)),
            "dg": (p.dY * normal).sum(0), "db": p.dY.sum(0)}


def attention(p, seen):
    raw = np.einsum("bhid,bhjd->bhij", p.Q, p.K)
    probability = softmax_of(np.where(seen, raw * p.scale, -np.inf))
    dp = np.einsum("bhid,bhjd->bhij", p.dO, p.V)
    ds = through_softmax(probability, np.where(seen, dp, 0))
    dq, dk = np.einsum("bhij,bhjd->bhid", ds, p.K), np.einsum("bhij,bhid->bhjd", ds, p.Q)
    size = np.max(np.abs(dp * p.scale), initial=WIDE(0))
    return {"dQ": (dq * p.scale, size * np.abs(p.K)), "dK": (dk * p.scale, size * np.abs(p.Q)),
            "dV": np.einsum("bhij,bhid->bhjd", probability, p.dO),
            "dscale": ((ds * raw).sum(), np.max(np.abs(dp * raw), initial=WIDE(0)))}


@gradient("attention", wrt="Q,K,V,scale")
def full_attention(p):
    return attention(p, np.ones((p.S, p.L), bool))


@gradient("causal_attention", wrt="Q,K,V,scale")
def causal_attention(p):
    return attention(p, np.tril(np.ones((p.S, p.S), bool)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_states(p):
    """h and c of all steps."""
    h, c = [p.h0], [p.c0]
    for x in p.X:
        i, f, g, o = gates(p, x, h[-1])
        c.append(f * c[-1] + i * g)
        h.append(o * np.tanh(c[-1]))
    return h[1:], c[1:]


def gates(p, x, h):
    z = p.bias[:, None] + np.einsum("qjk,bk->qbj", p.W, x) + np.einsum("qjk,bk->qbj", p.U, h)
    return sigmoid(z[0]), sigmoid(z[1]), np.tanh(z[2]), sigmoid(z[3])


@gradient("lstm", take="h,c", T=["f64", "f32", "bf16"])
@gradient("lstm", T=["f64", "f32"])
def lstm(p):
    """Back through time, step by step; states that the caller has kept may be anything."""
    h, c = (p.h, p.c) if hasattr(p, "h") else lstm_states(p)
    out = {"dX": np.zeros_like(p.X), "dW": np.zeros_like(p.W), "dU": np.zeros_like(p.U),
           "dbias": np.zeros_like(p.bias)}
    dh, dc = np.zeros_like(p.h0), np.zeros_like(p.c0)
    for t in reversed(range(p.L)):
        before, memory = (h[t - 1], c[t - 1]) if t else (p.h0, p.c0)
        i, f, g, o = gates(p, p.X[t], before)
        tanh = np.tanh(c[t])
        dh = dh + p.dh[t]
        dc = dc + p.dc[t] + dh * o * (1 - tanh * tanh)
        dz = np.stack([dc * g * i * (1 - i), dc * memory * f * (1 - f), dc * i * (1 - g * g),
                       dh * tanh * o * (1 - o)])
        out["dX"][t] = np.einsum("qbj,qjk->bk", dz, p.W)
        out["dW"] += np.einsum("qbj,bk->qjk", dz, p.X[t])
        out["dU"] += np.einsum("qbj,bk->qjk", dz, before)
        out["dbias"] += dz.sum(1)
        dh, dc = np.einsum("qbj,qjk->bk", dz, p.U), dc * f
    return {**out, "dh0": dh, "dc0": dc}


def bags(p):
    """Each place in a bag: its number and the bag's."""
    return [(j, b) for b in range(p.B) for j in range(p.offs[b], p.offs[b + 1])]


@gradient("embedding_bag", data=BAGS, T=["f32", "f16", "bf16"], I=INDEX)
def embedding_bag(p):
    d_e = np.zeros((p.R, p.D), WIDE)
    for j, b in bags(p):
        d_e[p.ids[j]] += p.dY[b]
    return {"dE": d_e}


@gradient("embedding_bag_weighted", data=BAGS, T=["f32", "f16", "bf16"], I=INDEX)
def embedding_bag_weighted(p):
    d_e, d_w = np.zeros((p.R, p.D), WIDE), np.zeros(p.L, WIDE)
    for j, b in bags(p):
        d_e[p.ids[j]] += p.dY[b] * p.w[j]
        d_w[j] += (p.dY[b] * p.E[p.ids[j]]).sum()
    return {"dE": d_e, "dw": d_w}


@gradient("scatter_max_rows", data={"ids": ("index", "R")}, T=FLOAT, I=INDEX)
def scatter_max_rows(p):
    """The first of the greatest."""
    d_v = np.zeros_like(p.V)
    for r in np.unique(p.ids):
        rows = np.flatnonzero(p.ids == r)
        first = rows[np.argmax(p.V[rows], 0)]
        d_v[first, np.arange(p.D)] = p.dY[r]
    return {"dV": d_v}


@gradient("put_rows", data={"ids": ("index", "R")}, T=FLOAT, I=INDEX)
def put_rows(p):
    """Of equal rows the last; the old row where there is none."""
    d_v, d_old = np.zeros((p.N, p.D), WIDE), p.dY.copy()
    for r in np.unique(p.ids):
        d_v[np.flatnonzero(p.ids == r)[-1]] = p.dY[r]
        d_old[r] = 0
    return {"dV": d_v, "dY_old": d_old}
