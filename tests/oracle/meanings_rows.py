# SPDX-License-Identifier: Apache-2.0
"""Meanings of reductions over any dims, losses, normalisations, distances and attention."""
import numpy as np

from conversions import Converted
from functions import OF_TWO, call
from meanings import FLOAT, INDEX, NUMBERS, TYPES, mean, op, product
from values import WIDE, Val, epsilon, least, round_to


# Of which no quotient is stored in fewer bits than it has.
UNROUNDED = [*FLOAT, "i64", "i32"]


def power(x, y):
    """x to the y, each of them known up to its error."""
    x, y = x.number(), x.of(y)
    v = OF_TWO["pow"](x.v, y.v)
    off = np.zeros(v.shape, WIDE)
    for a in (x.v - x.e, x.v + x.e):
        for b in (y.v - y.e, y.v + y.e):
            change = np.abs(OF_TWO["pow"](a, b) - v)
            off = np.maximum(off, np.where(np.isnan(change), np.inf, change))
    sure = (x.e == 0) & (y.e == 0)
    crosses = ~sure & (x.v - x.e <= 0)
    off = np.where(sure, 0, np.where(crosses, np.inf, off))
    room = 8 * epsilon(x.t) * np.abs(v) + 2 * least(x.t)
    return Val(x.t, v, np.where(np.isfinite(v), off + room, np.where(np.isfinite(off), 0, np.inf)).astype(WIDE))


def unsure_where(value, unsure):
    """Anything may come out there."""
    value.e = np.where(unsure, np.inf, value.e)
    return value


def few(names):
    return lambda random, params: {n: random.choice([1, 2, 3, 5]) for n in names.split()}


# --- over any dims ---

def over_dims(name, f, T=NUMBERS):
    def meaning(p):
        return {"Y": f(p, p.X.transpose(0, 2, 1, 3).reshape(p.A, p.B, p.R * p.S))}
    op(name, T=T)(meaning)


def log_sum_exp(x):
    m = x.max(-1)
    return call("log", call("exp", x - m[..., None]).sum(-1)) + m


over_dims("reduce_sum", lambda p, x: x.sum(2))
over_dims("reduce_mean", lambda p, x: mean(x, 2))
over_dims("reduce_max", lambda p, x: x.max(2))
over_dims("reduce_min", lambda p, x: x.min(2))
over_dims("reduce_prod", lambda p, x: x.prod(2))
over_dims("reduce_l1", lambda p, x: x.abs().sum(2), T=TYPES)
over_dims("reduce_l2", lambda p, x: call("sqrt", (x * x).sum(2)), T=FLOAT)
over_dims("reduce_sum_square", lambda p, x: (x * x).sum(2), T=TYPES)
over_dims("reduce_lp", lambda p, x: power(power(x.abs(), p.degree).sum(2), p.degree.of(1) / p.degree), T=FLOAT)
over_dims("reduce_log_sum", lambda p, x: call("log", x.sum(2)), T=FLOAT)
over_dims("reduce_log_sum_exp", lambda p, x: log_sum_exp(x), T=FLOAT)


@op("reduce_variance", T=UNROUNDED)
def reduce_variance(p):
    x = p.X.transpose(0, 2, 1, 3).reshape(p.A, p.B, p.R * p.S)
    u = mean(x, 2)
    centred = x - u[..., None]
    return {"Y": (centred * centred).sum(2) / (p.less.of(p.R * p.S) - p.less), "mean": u}


for _name, _sign in (("axis_argmax", 1), ("axis_argmin", -1)):
    op(_name, T=TYPES)(lambda p, _sign=_sign: {"Y": p.X.arg(1, _sign)})
    op(_name + "_last", T=TYPES)(
        lambda p, _sign=_sign: {"Y": -p.X[:, ::-1].arg(1, _sign) + (p.N - 1)})


def shifted(x):
    return x - x.max(1)[:, None]


@op("axis_softmax", T=FLOAT)
def axis_softmax(p):
    e = call("exp", shifted(p.X))
    return {"Y": e / e.sum(1)[:, None]}


op("axis_log_softmax", T=FLOAT)(
    lambda p: {"Y": shifted(p.X) - call("log", call("exp", shifted(p.X)).sum(1))[:, None]})


@op("axis_hardmax", T=NUMBERS)
def axis_hardmax(p):
    there = p.X.arg(1, 1).v[:, None] == np.arange(p.N)[None, :, None]
    return {"Y": Val(p.X.t, there.astype(WIDE if p.X.is_float else np.int64))}


# --- losses ---

def at_labels(x, labels, axis=1):
    """Elements along the axis that labels name; 0 where they name none."""
    inside = (labels >= 0) & (labels < x.shape[axis])
    padded = x.pad([(0, 0)] * axis + [(0, 1)] + [(0, 0)] * (len(x.shape) - axis - 1), 0)
    at = np.where(inside, labels, x.shape[axis])
    if axis == 0:
        return padded[at]
    n, d = np.indices(labels.shape)
    return padded[n, at, d]


def picked(p, x):
    """What each label costs, and what it counts."""
    counts = Val("bool", p.labels.v != p.ignore.v)
    nothing = x.of(0)
    weight = at_labels(p.weight, p.labels.v, 0)
    return counts.where(x * weight, nothing), counts.where(weight, nothing)


def declare_loss(name, T):
    def losses(p, x):
        each, weight = picked(p, x)
        total = each.sum((0, 1))
        return {"": each, "_sum": total, "_mean": total / weight.sum((0, 1))}

    for how in ("", "_sum", "_mean"):
        def meaning(p, how=how):
            if name == "nll_loss":
                found = losses(p, -at_labels(p.X, p.labels.v))
                each = found[""].cast(p.T)
                return {"Y": each.sum((0, 1)) if how == "_sum" else found[how], "L": each}
            m = p.X.max(1)
            z = call("log", call("exp", p.X - m[:, None]).sum(1)) + m
            return {"Y": losses(p, z - at_labels(p.X, p.labels.v))[how], "P": p.X - z[:, None]}
        op(name + how, T=UNROUNDED if how == "_mean" and T == NUMBERS else T, I=INDEX, data={"labels": ("any index", "C")})(meaning)


declare_loss("nll_loss", NUMBERS)
declare_loss("cross_entropy", FLOAT)


# --- normalisations ---

def many(x, axes):
    return int(np.prod([x.shape[d] for d in axes]))


def kept(x, axes, value):
    return value.reshape(*(1 if d in axes else n for d, n in enumerate(x.shape)))


def moments(x, axes):
    """x less its mean, the mean and the variance, with the axes as dims of one element."""
    u = kept(x, axes, x.sum(axes) / many(x, axes))
    c = x - u
    return c, u, kept(x, axes, (c * c).sum(axes) / many(x, axes))


@op("layernorm_stats", T=FLOAT)
def layernorm_stats(p):
    c, u, v = moments(p.X, (1,))
    s = call("sqrt", v + p.eps)
    r = s.of(1) / s
    return {"Y": c * r * p.g[None] + p.b[None], "mean": u[:, 0], "inverse": r[:, 0]}


@op("group_norm", T=FLOAT)
def group_norm(p):
    c, _, v = moments(p.X, (2, 3))
    return {"Y": c * call("rsqrt", v + p.eps) * p.g[None, :, :, None] + p.b[None, :, :, None]}


@op("batchnorm_train", T=FLOAT)
def batchnorm_train(p):
    c, u, v = moments(p.X, (0, 2))
    y = c * call("rsqrt", v + p.eps) * p.g[None, :, None] + p.b[None, :, None]
    u, v = (t[0, :, 0] for t in (u, v))
    rest = p.momentum.of(1) - p.momentum
    return {"Y": y, "mean": p.momentum * p.u0 + rest * u, "variance": p.momentum * p.v0 + rest * v}


@op("mean_variance_norm", T=FLOAT)
def mean_variance_norm(p):
    c, _, v = moments(p.X, (0, 2))
    return {"Y": c / (call("sqrt", v) + p.eps)}


@op("local_response_norm", T=FLOAT, params=lambda random: {"R": random.choice([1, 3, 5]), "B": random.choice([0, 1, 2])})
def local_response_norm(p):
    x = p.X.pad(((0, 0), (p.B, p.R), (0, 0)), 0)
    near = x[:, np.arange(p.C)[:, None] + np.arange(p.R)[None]]
    q = (near * near).sum(2)
    return {"Y": p.X / power(p.bias + p.alpha / p.R * q, p.beta)}


op("l2_normalize", T=FLOAT)(
    lambda p: {"Y": p.X / call("sqrt", (p.X * p.X).sum(1)).maximum(p.eps)[:, None]})


@op("add_layernorm", T=FLOAT)
def add_layernorm(p):
    s = p.X + p.R
    c, _, v = moments(s, (1,))
    return {"Y": c * call("rsqrt", v + p.eps) * p.g[None] + p.b[None], "S": s}


@op("add_rmsnorm", T=FLOAT)
def add_rmsnorm(p):
    s = p.X + p.R
    return {"Y": s * call("rsqrt", mean(s * s, 1) + p.eps)[:, None] * p.g[None], "S": s}


def turned(first, second, p):
    c, s = p.cosine[None, :, None], p.sine[None, :, None]
    first, second = first.cast("f32"), second.cast("f32")
    return [first * c - second * s, first * s + second * c]


def pair(values, axis):
    return Val(values[0].t, np.stack([x.v for x in values], axis), np.stack([x.e for x in values], axis))


op("rope", T=TYPES, dims=few("B S H D"))(
    lambda p: {"Y": Converted(pair(turned(p.X[..., 0], p.X[..., 1], p), 4), p.T)})
op("rope_halves", T=TYPES, dims=few("B S H D"))(
    lambda p: {"Y": Converted(pair(turned(p.X[:, :, :, 0], p.X[:, :, :, 1], p), 3), p.T)})


# --- distances ---

def apart(p):
    return p.A[:, None] - p.B[None]


op("squared_distances", T=TYPES)(lambda p: {"Y": (apart(p) * apart(p)).sum(2)})
op("euclidean_distances", T=FLOAT)(lambda p: {"Y": call("sqrt", (apart(p) * apart(p)).sum(2))})
op("manhattan_distances", T=TYPES)(lambda p: {"Y": apart(p).abs().sum(2)})


@op("cosine_similarity", T=FLOAT)
def cosine_similarity(p):
    a, b = (call("sqrt", (x * x).sum(1)) for x in (p.A, p.B))
    return {"Y": product(p.A, p.B.transpose(1, 0)) / (a[:, None] * b[None])}


@op("covariance", T=UNROUNDED)
def covariance(p):
    x, z = (moments(t, (0,))[0] for t in (p.X, p.Z))
    return {"Y": product(x.transpose(1, 0), z) / (p.less.of(p.M) - p.less)}


@op("correlation", T=FLOAT)
def correlation(p):
    x, z = (moments(t, (0,))[0] for t in (p.X, p.Z))
    a, b = (call("sqrt", (t * t).sum(0)) for t in (x, z))
    return {"Y": product(x.transpose(1, 0), z) / (a[:, None] * b[None])}


# --- attention ---

def attend(p, scores, v, seen):
    """Values weighed by the softmax of scores, of those that are seen."""
    seen = np.broadcast_to(seen, scores.shape)
    lowest = Val(scores.t, round_to(np.full(scores.shape, -np.inf), scores.t))
    m = Val("bool", seen).where(scores, lowest).max(-1)
    nothing = Val(scores.t, np.zeros(scores.shape, WIDE))
    e = Val("bool", seen).where(call("exp", scores - m[..., None]), nothing)
    weighed = Val("bool", np.broadcast_to(seen[..., None], (*seen.shape, v.shape[-1]))).where(
        e.cast(p.T)[..., None] * v[..., None, :, :], nothing[..., None])
    return {"O": weighed.sum(-2) / e.sum(-1)[..., None]}


def scores_of(p):
    return product(p.Q, p.K.transpose(0, 1, 3, 2))


def before(n, width=None):
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    return (j <= i) & ((j > i - width) if width else True)


op("attention_masked", T=FLOAT)(lambda p: attend(p, scores_of(p) * p.scale + p.mask, p.V, True))
op("attention_window", T=FLOAT, params=lambda random: {"W": random.choice([1, 2, 4])})(
    lambda p: attend(p, scores_of(p) * p.scale, p.V, before(p.S, p.W)))


@op("attention_alibi", T=FLOAT)
def attention_alibi(p):
    back = np.arange(p.S)[:, None] - np.arange(p.S)[None]
    bias = p.slope[None, :, None, None] * Val("i64", back).cast(p.T)
    return attend(p, scores_of(p) * p.scale - bias, p.V, before(p.S))


@op("grouped_attention", T=FLOAT, dims=few("B H G S D"))
def grouped_attention(p):
    scores = product(p.Q, p.K.transpose(0, 1, 3, 2)[:, :, None]) * p.scale
    return attend(p, scores, p.V[:, :, None], before(p.S))


def of_cache(p, k, v, room):
    """Queries [B,H,G,D] to the first rows of keys and values [B,H,room,D]; other rows have weight 0."""
    scores = product(p.Q, k.transpose(0, 1, 3, 2)) * p.scale
    there = np.arange(room)[None] < p.len.v[:, None]
    lowest = Val(scores.t, np.full(scores.shape, WIDE(-np.inf)))
    scores = Val("bool", np.broadcast_to(there[:, None, None], scores.shape)).where(scores, lowest)
    return attend(p, scores, v, True)


op("attention_decode", T=FLOAT, dims=few("B H G L D"), data={"len": ("any index", "L")})(
    lambda p: of_cache(p, p.K, p.V, p.L))


@op("attention_paged", T=FLOAT, dims=few("B H G N P C D"), data={"pages": ("index", "N"), "len": ("any index", "P")})
def attention_paged(p):
    k, v = (t[p.pages.v].reshape(p.B, p.C * p.P, p.H, p.D).transpose(0, 2, 1, 3) for t in (p.K, p.V))
    return of_cache(p, k, v, p.C * p.P)
