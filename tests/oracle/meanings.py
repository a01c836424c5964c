# SPDX-License-Identifier: Apache-2.0
"""What every op of the library means, written from what it is known for.

A meaning takes the op's tensors and scalars as `Val`s and its dims and parameters as numbers, by
name, and gives its outputs by name. An op of the library without an entry here fails the suite.
"""
import itertools
from types import SimpleNamespace

import numpy as np

from conversions import Converted, Rounded
from functions import call, known
from values import FLOATS, INTS, TYPES, WIDE, Val, largest, least, read, round_to, widened, wrap

FLOAT = list(FLOATS)
INDEX = list(INTS)
NUMBERS = FLOAT + INDEX
NARROW_FLOAT = [t for t in FLOAT if t != "f64"]
OPS = {}


def op(name, dims=None, params=None, data=None, stated="", **types):
    """Declares a meaning. `types` lists what each dtype parameter takes; `params(random)` gives
    integer parameters; `dims(random, params)` dims that hang together, the least that may be;
    `data` says which tensors are indices (`index`, into a dim) or ends of ranges (`ends`, of a dim);
    `stated` are dims that a problem says, since no proof holds for ranges of them."""
    def declare(f):
        OPS[name] = SimpleNamespace(meaning=f, types=types, dims=dims, params=params, data=data or {},
                                    stated=stated.split())
        return f
    return declare


def elementwise(name, f, *names, T=TYPES):
    op(name, T=T)(lambda p: {"Y": f(*(getattr(p, n) for n in names))})


# --- one element in, one element out ---

op("convert", T=TYPES, U=TYPES)(lambda p: {"Y": p.X.cast(p.U)})
elementwise("copy", lambda x: x, "X")
elementwise("add", lambda a, b: a + b, "A", "B")
elementwise("sub", lambda a, b: a - b, "A", "B")
elementwise("mul", lambda a, b: a * b, "A", "B")
elementwise("div", lambda a, b: a / b, "A", "B")
elementwise("average", lambda a, b: (a + b) / 2, "A", "B")
elementwise("mod", lambda a, b: a % b, "A", "B", T=[*INTS, "bool"])
elementwise("bitwise_and", lambda a, b: a & b, "A", "B", T=INDEX)
elementwise("bitwise_or", lambda a, b: a | b, "A", "B", T=INDEX)
elementwise("bitwise_xor", lambda a, b: a ^ b, "A", "B", T=INDEX)
elementwise("bitwise_not", lambda x: ~x, "X", T=INDEX)
elementwise("shift_left", lambda a, b: a << b, "A", "B", T=INDEX)
elementwise("shift_right", lambda a, b: a >> b, "A", "B", T=INDEX)
elementwise("maximum", lambda a, b: a.maximum(b), "A", "B")
elementwise("minimum", lambda a, b: a.minimum(b), "A", "B")
elementwise("where_greater", lambda a, b, x, z: a.compare(b, np.greater).where(x, z), "A", "B", "X", "Z")
elementwise("equal", lambda a, b: a.compare(b, np.equal), "A", "B")
elementwise("less", lambda a, b: a.compare(b, np.less), "A", "B")
elementwise("less_or_equal", lambda a, b: a.compare(b, np.less_equal), "A", "B")
for _name, _f in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
    op(f"logical_{_name}")(lambda p, _f=_f: {"Y": Val("bool", _f(p.A.v, p.B.v))})
op("logical_not")(lambda p: {"Y": Val("bool", np.logical_not(p.X.v))})
elementwise("choose", lambda c, x, z: c.where(x, z), "c", "X", "Z")
op("choose_rows", T=TYPES)(
    lambda p: {"Y": Val("bool", np.broadcast_to(p.c.v[:, None], p.X.shape)).where(p.X, p.v[None])})
elementwise("is_nan", lambda x: Val("bool", np.isnan(x.v)), "X")
elementwise("is_inf", lambda x: Val("bool", np.isinf(x.v)), "X", T=FLOAT)
elementwise("is_positive_inf", lambda x: Val("bool", x.v == np.inf), "X", T=FLOAT)
elementwise("is_negative_inf", lambda x: Val("bool", x.v == -np.inf), "X", T=FLOAT)
elementwise("sign", lambda x: Val(x.t, np.sign(x.v).astype(x.v.dtype)), "X", T=NUMBERS)
elementwise("reciprocal", lambda x: x.of(1) / x, "X")
elementwise("neg", lambda x: -x, "X")
elementwise("abs", lambda x: x.abs(), "X")
elementwise("relu", lambda x: x.maximum(0), "X")
elementwise("add_relu", lambda a, b: (a + b).maximum(0), "A", "B")
elementwise("scale", lambda x, alpha, beta: alpha * x + beta, "X", "alpha", "beta")
elementwise("axpy", lambda x, alpha, y: y + alpha * x, "X", "alpha", "Y")
elementwise("clamp", lambda x, low, high: x.maximum(low).minimum(high), "X", "low", "high")
elementwise("pow", lambda a, b: call("pow", a, b), "A", "B", T=FLOAT)
for _name in ("gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "erf",
              "sin", "cos", "tan", "round", "floor", "ceil", "asin", "acos", "atan", "sinh", "cosh",
              "asinh", "acosh", "atanh", "log10", "softplus"):
    elementwise(_name, lambda x, _name=_name: call(_name, x), "X", T=FLOAT)


def unless_negative(x, x_there, x_else):
    """`x_else` where x is below 0."""
    return Val("bool", ~(x.v < 0)).where(x_there, x_else)


elementwise("leaky_relu", lambda x, alpha: unless_negative(x, x, alpha * x), "X", "alpha", T=NUMBERS)
op("prelu", T=NUMBERS)(lambda p: {"Y": unless_negative(p.X, p.X, p.slope[None, :, None] * p.X)})
elementwise("elu", lambda x, alpha: unless_negative(x, x, alpha * call("expm1", x)), "X", "alpha", T=FLOAT)
elementwise("selu", lambda x: unless_negative(x, x, call("expm1", x) * 1.6732632423543772) * 1.0507009873554805,
            "X", T=FLOAT)


def celu(x, alpha):
    """Of alpha 0 it has none: anything may come out."""
    y = x.maximum(0) + (alpha * call("expm1", x / alpha)).minimum(0)
    return y if alpha.v != 0 else Val(y.t, y.v, np.full(y.shape, np.inf, WIDE))


elementwise("celu", celu, "X", "alpha", T=FLOAT)
elementwise("mish", lambda x: x * call("tanh", call("softplus", x)), "X", T=FLOAT)
elementwise("softsign", lambda x: x / (x.abs() + 1), "X")
elementwise("hard_sigmoid", lambda x, alpha, beta: (x * alpha + beta).minimum(1).maximum(0), "X", "alpha", "beta")
elementwise("hard_swish", lambda x: x * (x / 6 + 0.5).minimum(1).maximum(0), "X", T=FLOAT)
elementwise("thresholded_relu", lambda x, alpha: x.compare(alpha, np.greater).where(x, x.of(0)), "X", "alpha",
            T=NUMBERS)
elementwise("shrink", lambda x, bias, lam: x.compare(-lam, np.less).where(
    x + bias, x.compare(lam, np.greater).where(x - bias, x.of(0))), "X", "bias", "lambda")
# Every scalar function of the language, as an op of its own.
for _name, _arity in known():
    elementwise(f"{_name}()", lambda *x, _name=_name: call(_name, *x), *["X", "Z"][:_arity],
                T=TYPES if _name == "abs" else FLOAT)
op("add_rows", T=TYPES)(lambda p: {"Y": p.X + p.b[None]})
op("bias_gelu", T=FLOAT)(lambda p: {"Y": call("gelu", p.X + p.b[None])})


# --- products ---

def product(a, b):
    """Of matrices, whatever stands before their last two dims."""
    return (a[..., :, :, None] * b[..., None, :, :]).sum(-2)


def spread(names, x, every):
    """`x` with the axes `names` among the axes `every`."""
    order = sorted(range(len(names)), key=lambda d: every.index(names[d]))
    return x.transpose(*order)[tuple(slice(None) if n in names else None for n in every)]


def met(terms, keep):
    """The product of named terms, summed over what is not kept."""
    every = "".join(dict.fromkeys("".join(names for names, _ in terms)))
    value = spread(*terms[0], every)
    for names, x in terms[1:]:
        value = value * spread(names, x, every)
    kept = "".join(n for n in every if n in keep)
    axes = tuple(every.index(n) for n in every if n not in keep)
    return kept, value.sum(axes) if axes else value


def all_orders(terms, out):
    """What pairs of the terms come to, one after the other, in every order."""
    if len(terms) == 1:
        yield spread(*terms[0], out)
    for a, b in itertools.combinations(range(len(terms)), 2):
        rest = [t for i, t in enumerate(terms) if i not in (a, b)]
        keep = out + "".join(names for names, _ in rest)
        yield from all_orders([met([terms[a], terms[b]], keep), *rest], out)


def contraction(p, tensors, spec):
    """A sum of products, as einsum writes it. Factors may meet in any order: where orders differ in
    what is infinite or NaN, anything may come out."""
    ins, out = spec.split("->")
    return in_any_order([(names, getattr(p, t)) for t, names in zip(tensors, ins.split(","))], out)


def in_any_order(terms, out):
    value = spread(*met(terms, out), out)
    if value.is_float:
        for other in all_orders(terms, out):
            same = (np.isfinite(value.v) & np.isfinite(other.v)) | (value.v == other.v)
            same |= np.isnan(value.v) & np.isnan(other.v)
            value.e = np.where(same & (other.e < np.inf), value.e, np.inf)
    return value


def declare_products():
    for name in ("matmul", "matmul_acc"):
        inout = name == "matmul_acc"
        op(name, T=TYPES)(lambda p, inout=inout:
                          {"C": p.C + product(p.A, p.B) if inout else product(p.A, p.B)})
    for name in ("matmul_i8", "matmul_u8i8", "matmul_i16"):
        op(name)(lambda p: {"C": product(p.A, p.B)})


def nibbles(w, count, t):
    """The first `count` rows of 4-bit numbers that bytes hold, the lower half of each first, less 8."""
    rows = np.stack([w.v % 16, w.v // 16], 1).reshape(2 * w.shape[0], w.shape[1])[:count]
    out = Val("i32", rows - 8).cast(t)
    out.narrow = t == "bf16"
    return out


def in_groups(p, w):
    """Rows of weights, each G of a row with a scale of their own."""
    if p.K and p.K % p.G == 0:  # the terms of a group may be added before they are scaled
        x, w = p.X.reshape(p.M, p.K // p.G, p.G), w.reshape(p.N, p.K // p.G, p.G)
        return {"Y": in_any_order([("mgr", x), ("ngr", w), ("ng", p.S)], "mn")}
    scales = p.S[:, np.arange(p.K) // p.G]
    return {"Y": in_any_order([("mk", p.X), ("nk", w), ("nk", scales)], "mn")}


def weights(w, t):
    out = w.cast(t)
    out.narrow = t == "bf16"
    return out


GROUPS = {"params": lambda random: {"G": random.choice([1, 2, 8, 32])}}
op("matmul_i4", T=TYPES, **GROUPS)(lambda p: in_groups(p, weights(p.W, p.T)))
op("matmul_i2", T=TYPES, **GROUPS)(lambda p: in_groups(p, weights(p.W, p.T)))
op("matmul_u4_zero", T=TYPES, **GROUPS)(
    lambda p: in_groups(p, weights(p.W - p.Z[:, np.arange(p.K) // p.G], p.T)))
op("matmul_i8_weights", T=TYPES)(
    lambda p: {"Y": in_any_order([("mk", p.X), ("nk", weights(p.W, p.T)), ("n", p.s)], "mn")})
op("matmul_f8", T=TYPES, F=TYPES)(
    lambda p: {"Y": in_any_order([("mk", p.X), ("nk", weights(p.W, p.T)), ("n", p.s)], "mn")})


@op("quantize_rows_i4", T=FLOAT)
def _(p):
    a = p.X.abs().max(1)
    factor = a.compare(0, np.greater).where(a.of(7) / a, a.of(0))
    # A value near a half may be rounded to either side.
    return {"Q": Rounded(p.X * factor[:, None], "i4"), "s": a.maximum(0) * (a.of(1.0) / a.of(7))}


op("quantize_f8", T=TYPES, F=TYPES)(
    lambda p: {"Y": Converted(p.X * p.s, p.F) if p.X.is_float else (p.X * p.s).cast(p.F)})
op("dequantize_rows_i4", T=TYPES)(lambda p: {"X": weights(p.Q, p.T) * p.s[:, None]})
declare_products()
op("matmul_u4", T=[*FLOAT, "i64", "i32", "bool"])(lambda p: {"C": product(p.A, nibbles(p.W, p.K, p.T)) * p.s[None]})
for _name, _spec in (("matmul_chain", "ABC ij,jk,kl->il"), ("bilinear", "XWZ ni,oij,nj->no"),
                     ("matmul_scaled", "sABt m,mk,kn,n->mn"), ("cp_tensor", "ABC ir,jr,kr->ijk"),
                     ("mttkrp", "XBC ijk,jr,kr->ir"), ("tucker", "GABC pqs,ip,jq,ks->ijk")):
    op(_name, T=TYPES)(lambda p, _spec=_spec: {"Y": contraction(p, *_spec.split())})
op("gemm", T=TYPES)(lambda p: {"C": p.alpha * product(p.A, p.B) + p.beta * p.C})
op("gemm_bias", T=TYPES)(lambda p: {"Y": p.alpha * product(p.A, p.B) + p.beta * p.C})
op("batched_matmul", T=TYPES)(lambda p: {"C": product(p.A, p.W)})
op("matvec", T=TYPES)(lambda p: {"y": (p.A * p.x[None]).sum(1)})
op("dot", T=TYPES)(lambda p: {"s": (p.x * p.y).sum()})
op("outer", T=TYPES)(lambda p: {"C": p.x[:, None] * p.y[None]})
op("fc", T=TYPES)(lambda p: {"Y": product(p.A, p.W) + p.b[None]})
op("fc_relu", T=TYPES)(lambda p: {"Y": (product(p.A, p.W) + p.b[None]).maximum(0)})
op("fc_gelu", T=FLOAT)(lambda p: {"Y": call("gelu", product(p.A, p.W) + p.b[None])})
op("fc_swiglu", T=FLOAT)(lambda p: {"Y": call("silu", product(p.A, p.W)) * product(p.A, p.V)})


# --- reductions ---

def reduces(name, f, T=NUMBERS):
    """Over the last dim of rows, the first of columns."""
    axis = 0 if name.startswith("column") else 1
    op(name, T=T)(lambda p: {"Y": f(p.X, axis)})


def mean(x, axis):
    return x.sum(axis) / x.shape[axis]


def logsumexp(x, axis):
    m = x.max(axis)
    return call("log", call("exp", x - m[:, None]).sum(axis)) + m


for _name in ("row", "column"):
    reduces(_name + "_sum", lambda x, axis: x.sum(axis))
    reduces(_name + "_max", lambda x, axis: x.max(axis))
    reduces(_name + "_mean", mean)
    reduces(_name + "_argmax", lambda x, axis: x.arg(axis, 1), T=TYPES)
reduces("row_min", lambda x, axis: x.min(axis))
reduces("row_prod", lambda x, axis: x.prod(axis))
reduces("row_argmin", lambda x, axis: x.arg(axis, -1), T=TYPES)
reduces("row_all_finite", lambda x, axis: Val("bool", np.isfinite(x.v)).all(axis), T=FLOAT)
reduces("row_any_nan", lambda x, axis: x.compare(x, np.not_equal).any(axis), T=TYPES)
reduces("row_norm", lambda x, axis: call("sqrt", (x * x).sum(axis)), T=FLOAT)
reduces("row_logsumexp", logsumexp, T=FLOAT)
op("sum_all", T=NUMBERS)(lambda p: {"Y": p.X.sum()})
op("count_equal", T=TYPES)(lambda p: {"Y": p.X.compare(p.v, np.equal).sum()})


# --- normalisations and attention ---

def rows_over(e):
    return e / e.sum(-1)[..., None]


op("softmax", T=FLOAT)(lambda p: {"Y": rows_over(call("exp", p.X - p.X.max(1)[:, None]))})


@op("log_softmax", T=FLOAT)
def log_softmax(p):
    shifted = p.X - p.X.max(1)[:, None]
    return {"Y": shifted - call("log", call("exp", shifted).sum(1))[:, None]}


@op("layernorm", T=FLOAT)
def layernorm(p):
    centred = p.X - mean(p.X, 1)[:, None]
    r = call("rsqrt", mean(centred * centred, 1) + p.eps.cast(p.T))
    return {"Y": centred * r[:, None] * p.g[None] + p.b[None]}


@op("rmsnorm", T=FLOAT)
def rmsnorm(p):
    r = call("rsqrt", mean(p.X * p.X, 1) + p.eps.cast(p.T))
    return {"Y": p.X * r[:, None] * p.g[None]}


@op("batchnorm", T=FLOAT)
def batchnorm(p):
    u, v, g, b = (t[None, :, None, None] for t in (p.u, p.v, p.g, p.b))
    return {"Y": (p.X - u) * call("rsqrt", v + p.eps.cast(p.T)) * g + b}


def attention(p, seen):
    """Where `seen` is false the scores are those of no column at all."""
    scores = product(p.Q, p.K.transpose(0, 1, 3, 2)) * p.scale
    lowest = Val(scores.t, round_to(np.full(scores.shape, -np.inf), scores.t))
    m = Val("bool", seen).where(scores, lowest).max(-1)
    e = call("exp", scores - m[..., None])
    nothing = Val(e.t, np.zeros(e.shape, e.v.dtype))
    e = Val("bool", seen).where(e, nothing)
    v = p.V[..., None, :, :]
    rounded = e.cast(p.T)
    weighed = Val("bool", seen[..., None]).where(rounded[..., None] * v, nothing[..., None])
    return {"O": weighed.sum(-2) / e.sum(-1)[..., None]}


op("attention", T=FLOAT)(
    lambda p: attention(p, np.ones((p.B, p.H, p.S, p.L), bool)))
op("causal_attention", T=FLOAT)(
    lambda p: attention(p, np.tril(np.ones((p.B, p.H, p.S, p.S), bool))))


# --- windows ---

def windows(x, counts, sizes, p, dilation, value):
    """Elements that each window of the last two dims sees, as dims before them: [..., r, q, h, w]."""
    pad = [(0, 0)] * (len(x.shape) - 2) + [(p.P, p.P)] * 2
    x = x.pad(pad, value)
    at = [np.arange(size)[:, None] * dilation + np.arange(count)[None] * p.S
          for size, count in zip(sizes, counts)]
    return x[..., at[0][:, None, :, None], at[1][None, :, None, :]]


def conv_params(random):
    return {"S": random.choice([1, 1, 2, 3]), "P": random.choice([0, 1, 2]), "D": random.choice([1, 1, 2])}


def conv_dims(random, params):
    d = params.get("D", 1)
    n = {k: random.choice([1, 2, 3, 5]) for k in "NGCO"}
    n["C"] = random.choice([0, 1, 2, 3, 4, 9])
    n["N"] = random.choice([0, 1, 1, 2])
    n["O"] = random.choice([1, 2, 5, 16, 17])
    for size, window in (("H", "R"), ("W", "Q")):
        n[window] = random.choice([1, 2, 3])
        n[size] = max(d * (n[window] - 1) + 1 - 2 * params["P"], 0) + random.choice([0, 1, 2, 5, 9])
    return n


def conv(p, x, f):
    """x[n,g,c,h,w] with f[g,o,c,r,q], as [n,g,o,h,w]."""
    seen = windows(x, p.out[-2:], (p.R, p.Q), p, getattr(p, "D", 1), 0)
    terms = seen[:, :, None] * f[None, ..., None, None]
    return terms.sum((3, 4, 5))


op("conv2d", dims=conv_dims, params=conv_params, T=NUMBERS)(
    lambda p: {"Y": conv(p, p.X[:, None], p.F[None])[:, 0] + p.b[None, :, None, None]})
op("group_conv2d", dims=conv_dims, params=conv_params, T=NUMBERS)(
    lambda p: {"Y": conv(p, p.X, p.F) + p.b[None, :, :, None, None]})
op("depthwise_conv2d", dims=conv_dims, T=NUMBERS,
   params=lambda random: {k: v for k, v in conv_params(random).items() if k != "D"})(
    lambda p: {"Y": conv(p, p.X[:, :, None], p.F[:, None, None])[:, :, 0] + p.b[None, :, None, None]})


def pool_params(random):
    return {"A": random.choice([1, 2, 3]), "B": random.choice([1, 2, 3]), "S": random.choice([1, 2, 3]),
            "P": random.choice([0, 0, 1, 2])}


def pool_dims(random, params):
    return {"N": random.choice([1, 2]), "C": random.choice([0, 1, 3]),
            "H": max(params["A"] - 2 * params["P"], 0) + random.choice([0, 1, 4, 9]),
            "W": max(params["B"] - 2 * params["P"], 0) + random.choice([0, 1, 7, 17])}


op("max_pool2d", dims=pool_dims, params=pool_params, T=FLOAT)(
    lambda p: {"Y": windows(p.X, p.out[-2:], (p.A, p.B), p, 1, -np.inf).max((2, 3))})
op("avg_pool2d", dims=pool_dims, params=pool_params, T=NUMBERS)(
    lambda p: {"Y": windows(p.X, p.out[-2:], (p.A, p.B), p, 1, 0).sum((2, 3)) / (p.A * p.B)})
op("global_avg_pool", T=NUMBERS)(lambda p: {"Y": p.X.sum((2, 3)) / (p.H * p.W)})


# --- the same elements elsewhere ---

op("transpose", T=TYPES)(lambda p: {"Y": p.X.transpose(1, 0)})
op("nchw_to_nhwc", T=TYPES)(lambda p: {"Y": p.X.transpose(0, 2, 3, 1)})
op("nhwc_to_nchw", T=TYPES)(lambda p: {"Y": p.X.transpose(0, 3, 1, 2)})
op("split_heads", T=TYPES)(lambda p: {"Y": p.X.transpose(0, 2, 1, 3)})
op("reverse", T=TYPES)(lambda p: {"Y": p.X[::-1]})


@op("pad", T=TYPES, params=lambda random: {"P": random.choice([0, 1, 2, 5])})
def pad(p):
    return {"Y": p.X.pad(((0, 0), (p.P, p.P)), p.v.v)}


@op("concat", T=NUMBERS)
def concat(p):
    e = np.concatenate([p.A.e, p.B.e], 1) if p.A.is_float else None
    return {"Y": Val(p.A.t, np.concatenate([p.A.v, p.B.v], 1), e)}


@op("pixel_shuffle", T=TYPES, params=lambda random: {"S": random.choice([1, 2, 3])})
def pixel_shuffle(p):
    x = p.X.reshape(p.N, p.C, p.S, p.S, p.H, p.W).transpose(0, 1, 4, 2, 5, 3)
    return {"Y": x.reshape(p.N, p.C, p.H * p.S, p.W * p.S)}


# --- recurrences ---

def joined(steps, axis, shape):
    """Values of one step after the other, along a new axis; of no step, one of that shape."""
    t = steps[0].t if steps else "f32"
    v = np.stack([s.v for s in steps], axis) if steps else np.zeros(shape)
    e = np.stack([s.e for s in steps], axis) if t in FLOATS and steps else None
    return Val(t, v, e)


def over_steps(x, t, step, backward=False):
    """`step(x_i, before)` along the first axis, as stored in type `t`; `before` is None at first."""
    out, before = [], None
    count = x.shape[0]
    for i in reversed(range(count)) if backward else range(count):
        before = step(x[i], before).cast(t)
        out.append(before)
    return joined(out[::-1] if backward else out, 0, x.shape)


def cumulative_meaning(name, f, backward=False):
    """Along the last axis of rows, the first of columns."""
    def meaning(p):
        x = p.X if name.startswith("column") else p.X.transpose(1, 0)
        y = over_steps(x, p.T, lambda x, before: x if before is None else f(x, before), backward)
        return {"Y": y if name.startswith("column") else y.transpose(1, 0)}
    return meaning


def cumulative(name, f, T=NUMBERS, backward=False):
    op(name, T=T)(cumulative_meaning(name, f, backward))


def cumulative_sum(name, axis, backward=False):
    """A narrow type rounds each sum as it is stored, the others may be summed in another order."""
    by_steps = cumulative_meaning(name, lambda x, y: x + y, backward)

    def meaning(p):
        if widened(p.T) != p.T:
            return by_steps(p)
        return {"Y": p.X[:, ::-1].prefix_sums(axis)[:, ::-1] if backward else p.X.prefix_sums(axis)}
    op(name, T=NUMBERS)(meaning)


cumulative_sum("row_cumsum", 1)
cumulative_sum("column_cumsum", 0)
for _name in ("row", "column"):
    cumulative(_name + "_cumprod", lambda x, y: x * y)
    cumulative(_name + "_cummax", lambda x, y: x.maximum(y), T=TYPES)
cumulative_sum("row_cumsum_backward", 1, backward=True)


# --- order within rows ---

def ascending(x):
    """Places of a row in order, NaNs last, of equal ones the lower place first."""
    return np.argsort(x, axis=1, kind="stable")


def descending(x):
    """The same for the greatest first, a NaN being infinity."""
    x = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x
    return x.shape[1] - 1 - np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1]


def placed(p, order):
    return Val("i32", np.argsort(order, axis=1, kind="stable"))


op("rank_rows", T=TYPES)(lambda p: {"R": placed(p, ascending(p.X.v))})
op("argsort_rows", T=TYPES)(lambda p: {"P": Val("i64", ascending(p.X.v))})
op("sort_rows", T=TYPES)(lambda p: {"Y": p.X[np.arange(p.M)[:, None], ascending(p.X.v)]})


@op("topk_rows", T=NUMBERS, params=lambda rng: {"S": rng.choice([1, 3, 8, 256])})
def topk_rows(p):
    there = min(p.K, p.N)
    places = np.full((p.M, p.K), p.N)
    places[:, :there] = descending(p.X.v)[:, :there]
    lowest = -np.inf if p.T in FLOATS else INTS[p.T][0]
    row = np.concatenate([p.X.v, np.full((p.M, 1), lowest, p.X.v.dtype)], axis=1)
    return {"P": Val("i64", places), "V": Val(p.X.t, row[np.arange(p.M)[:, None], places], narrow=p.X.narrow)}


# --- drawn at random ---

def philox(seed, counters):
    """The first word of Philox4x32-10 for each counter."""
    low = np.uint64(2**32 - 1)
    key = [np.uint64(int(seed) % 2**64) & low, np.uint64(int(seed) % 2**64) >> np.uint64(32)]
    c = [counters.astype(np.uint64) & low, counters.astype(np.uint64) >> np.uint64(32),
         np.zeros(counters.shape, np.uint64), np.zeros(counters.shape, np.uint64)]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ key[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ key[1], a & low]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    return c[0].astype(np.int64)


def uniform(seed, counters):
    return WIDE(philox(seed, counters) >> 8) / 2**24


op("random_bits")(lambda p: {"Y": Val("i64", philox(p.seed.v, np.arange(p.N)))})
op("random_uniform")(lambda p: {"Y": Val("f32", uniform(p.seed.v, np.arange(p.N)))})


@op("dropout", T=FLOAT)
def dropout(p):
    drawn = Val("f32", uniform(p.seed.v, np.arange(p.M * p.N)).reshape(p.M, p.N))
    kept = p.X * (p.rate.of(1) / (p.rate.of(1) - p.rate))
    return {"Y": drawn.compare(p.rate.cast("f32"), np.less).where(kept.of(0), kept)}


@op("round_stochastic")
def round_stochastic(p):
    """Between the neighbours in bf16, found by their bits; what is as small as denormals, or greater than
    the largest bf16, may be anything."""
    x = p.X.v.astype(np.float32)
    low = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    high = ((x.view(np.uint32) & np.uint32(0xFFFF0000)) + np.uint32(0x10000)).view(np.float32)
    near = round_to(x, "bf16")
    other = np.where(near == low, high, low)
    drawn = uniform(p.seed.v, np.arange(p.N))
    moved = drawn * np.abs(WIDE(other) - near) < np.abs(WIDE(x) - near)
    free = ((np.abs(x) < 2.0**-100) & (x != 0)) | (np.isfinite(x) & (np.abs(x) > largest("bf16")))
    exact = ~np.isfinite(x) | (x == near)
    return {"Y": Val("f32", np.where(exact, WIDE(x), np.where(moved, other, near)), np.where(free, WIDE(np.inf), 0))}


def scanned(y, factors, terms, first, axis):
    """The states y = factor*y + term, which a scan multiplies out: where its products or their sum overflow,
    anything comes out from there on."""
    if not y.is_float:
        return y
    product, size, torn, most = WIDE(1), np.abs(first), False, np.maximum(np.abs(first), 1)
    e = np.moveaxis(y.e.copy(), axis, 0)
    for i, (factor, term) in enumerate(zip(np.moveaxis(factors, axis, 0), np.moveaxis(terms, axis, 0))):
        product = np.maximum(product, 1) * np.abs(factor)
        size = size * np.abs(factor) + np.abs(term)
        torn = torn | ~(np.maximum(product, size) <= largest(y.t))
        most = np.maximum(most, np.abs(term))
        below = 2 * (i + 1) * least(y.t) * np.maximum(product, 1) * most  # what products lose that are denormal
        e[i] = np.where(torn, WIDE(np.inf), np.where(e[i] == 0, 0, e[i] + below))
    return Val(y.t, y.v, np.moveaxis(e, 0, axis), y.narrow)


@op("moving_average", T=TYPES)
def moving_average(p):
    kept = p.alpha.of(1) - p.alpha
    y = over_steps(p.X, p.T, lambda x, y: p.alpha * x + kept * (x if y is None else y))
    first = p.X.v[0] if p.L else p.X.v
    return {"Y": scanned(y, np.broadcast_to(kept.v, y.shape), (p.alpha * p.X).v, first, 0)}


@op("gated_sum", T=TYPES)
def gated_sum(p):
    steps, before = [], p.h
    for t in range(p.L):
        before = (p.A[:, t] * before + p.X[:, t]).cast(p.T)
        steps.append(before)
    return {"Y": scanned(joined(steps, 1, p.X.shape), p.A.v, p.X.v, p.h.v, 1)}


@op("biquad", T=NUMBERS)
def biquad(p):
    zero = Val(p.X.t, np.zeros(p.M, p.X.v.dtype))
    steps = []
    for t in range(p.N):
        back = [p.X[:, t - k] if t >= k else zero for k in range(3)]
        value = p.b[0] * back[0] + p.b[1] * back[1] + p.b[2] * back[2]
        for k in range(2):
            value = value - p.a[k] * (steps[t - 1 - k] if t > k else zero)
        steps.append(value.cast(p.T))
    return {"Y": joined(steps, 1, p.X.shape)}


@op("edit_distance", I=TYPES)
def edit_distance(p):
    d = np.zeros((p.M + 1, p.N + 1), np.int64)
    for i, j in itertools.product(range(p.M + 1), range(p.N + 1)):
        if i == 0 or j == 0:
            d[i, j] = max(i, j)
        else:
            ways = d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + int(p.A.v[i - 1] != p.B.v[j - 1])
            d[i, j] = min(ways)
    return {"D": Val("i32", d)}


@op("local_alignment", I=TYPES)
def local_alignment(p):
    h = np.zeros((p.M + 1, p.N + 1), np.int64)
    for i, j in itertools.product(range(p.M), range(p.N)):
        pair = p.same.v if p.A.v[i] == p.B.v[j] else p.other.v
        gaps = wrap(np.int64(max(h[i, j + 1], h[i + 1, j])) - p.gap.v, "i32")
        h[i + 1, j + 1] = max(0, int(wrap(h[i, j] + np.int64(pair), "i32")), int(gaps))
    return {"H": Val("i32", h[1:, 1:])}


@op("affine_gaps", I=TYPES)
def affine_gaps(p):
    least = np.int64(-1000000)
    h = np.zeros((p.M + 1, p.N + 1), np.int64)
    right, down = np.full((p.M + 1, p.N + 1), least), np.full((p.M + 1, p.N + 1), least)

    def less(a, b):
        return int(wrap(np.int64(a) - b, "i32"))
    for i, j in itertools.product(range(1, p.M + 1), range(1, p.N + 1)):
        right[i, j] = max(less(right[i, j - 1], p.more.v), less(h[i, j - 1], p.start.v))
        down[i, j] = max(less(down[i - 1, j], p.more.v), less(h[i - 1, j], p.start.v))
        pair = p.same.v if p.A.v[i - 1] == p.B.v[j - 1] else p.other.v
        h[i, j] = max(0, int(wrap(h[i - 1, j - 1] + np.int64(pair), "i32")), right[i, j], down[i, j])
    return {"H": Val("i32", h[1:, 1:])}


# --- recurrent networks ---

def network(name, step, states="h", backward=False, **more):
    """An op of weights W, U and a bias: `step(p, x, before, t)` gives the states of step t, in T, from
    what it takes of the inputs, and the states before."""
    def meaning(p):
        before = [getattr(p, s + "0") for s in states]
        steps = []
        for t in reversed(range(p.L)) if backward else range(p.L):
            x = p.X[t][:, None] if p.W.v.ndim == 2 else p.X[t][:, None, None]
            taken = p.bias[None] + (p.W[None] * x).sum(-1)
            before = [s.cast(p.T) for s in step(p, taken, before, t)]
            steps.append(before)
        steps = steps[::-1] if backward else steps
        return {s: joined([each[i] for each in steps], 0, (p.L, p.B, p.N)) for i, s in enumerate(states)}
    op(name, T=FLOAT, **more)(meaning)


def bent(function, x):
    """A function of bounded values. Of what may be infinite, and so perhaps NaN, anything may come out."""
    y = call(function, x)
    y.e = np.where(np.isinf(x.e), np.inf, y.e)
    return y


def from_state(p, h):
    """The sums of the weights U times a state, per gate."""
    return (p.U[None] * (h[:, None] if p.U.v.ndim == 2 else h[:, None, None])).sum(-1)


def rnn_step(p, x, before, t):
    return [bent("tanh", x + from_state(p, before[0]))]


def lstm_step(p, x, before, t):
    h, c = before
    g = x + from_state(p, h)
    i, f, new, o = (g[:, q] for q in range(4))
    c = (bent("sigmoid", f) * c + bent("sigmoid", i) * bent("tanh", new))
    return [bent("sigmoid", o) * bent("tanh", c.cast(p.T)), c]


def of_lengths(step):
    """The same step of sequences of several lengths: past the end of one its states stay."""
    def go_on(p, x, before, t):
        goes_on = Val("bool", np.broadcast_to((t < p.len.v)[:, None], (p.B, p.N)))
        return [goes_on.where(new.cast(p.T), old) for new, old in zip(step(p, x, before, t), before)]
    return go_on


def gru_step(p, x, before, t):
    h, = before
    g = from_state(p, h)
    r, z = (bent("sigmoid", x[:, q] + g[:, q]) for q in range(2))
    n = bent("tanh", x[:, 2] + r * (g[:, 2] + p.u[None]))
    return [(-z + 1) * n + z * h]


for _name, _backward in (("", False), ("_backward", True)):
    for _kind, _step, _states in ("rnn", rnn_step, "h"), ("lstm", lstm_step, "hc"), ("gru", gru_step, "h"):
        network(_kind + _name, _step, _states, backward=_backward)
        network(_kind + "_lengths" + _name, of_lengths(_step), _states, backward=_backward)


@op("lstm_unit", T=FLOAT, I=TYPES, params=lambda random: {"DROP": random.choice([0, 1])})
def lstm_unit(p):
    goes_on = Val("bool", np.broadcast_to((p.t.v < p.len.v)[:, None], (p.B, p.N)))
    i, f, o, new = (p.G[:, q] for q in range(4))
    c = bent("sigmoid", f + p.forget_bias) * p.c + bent("sigmoid", i) * bent("tanh", new)
    h = bent("sigmoid", o) * bent("tanh", c)
    zero = Val(p.c.t, np.zeros((p.B, p.N), p.c.v.dtype))
    kept = [zero if p.DROP else s for s in (p.h, p.c)]
    return {"H": goes_on.where(h.cast(p.T), kept[0]), "C": goes_on.where(c.cast(p.T), kept[1])}


@op("selective_scan", T=FLOAT)
def selective_scan(p):
    h, steps = None, []
    for t in range(p.L):
        x, dt = p.X[:, t], p.dt[:, t]
        taken = (dt * x)[..., None] * p.P[:, t][:, None]
        before = Val(p.X.t, np.zeros((p.B, p.C, p.S), p.X.v.dtype)) if h is None else h
        h = (call("exp", dt[..., None] * p.A[None]) * before + taken).cast(p.T)
        steps.append(p.skip[None] * x + (h * p.Q[:, t][:, None]).sum(-1))
    return {"Y": joined(steps, 1, (p.B, p.L, p.C))}


# --- places that data says ---

IDS = {"ids": ("index", "R")}
BAGS = {"ids": ("index", "R"), "offs": ("ends", "L")}


def pieces(terms, offs):
    """Sums over the first dim, from each of `offs` to the next."""
    sums = [terms[a:b].sum(0) for a, b in zip(offs.v[:-1], offs.v[1:])]
    shape = (len(sums), *terms.shape[1:])
    return Val(terms.t, np.reshape([s.v for s in sums], shape),
               np.reshape([s.e for s in sums], shape) if terms.is_float else None)


op("gather_rows", T=TYPES, I=INDEX, data=IDS)(lambda p: {"Y": p.E[p.ids.v]})


@op("gather_rows_or_zero", T=NUMBERS, I=INDEX, data={"ids": ("any index", "R")})
def gather_rows_or_zero(p):
    inside = (p.ids.v >= 0) & (p.ids.v < p.R)
    table = p.E.pad(((0, 1), (0, 0)), 0)  # so that there is a row
    return {"Y": table[np.where(inside, p.ids.v, p.R)]}


op("embedding_bag", T=NARROW_FLOAT, I=INDEX, data=BAGS)(
    lambda p: {"Y": pieces(p.E[p.ids.v], p.offs)})
op("embedding_bag_weighted", T=NARROW_FLOAT, I=INDEX, data=BAGS)(
    lambda p: {"Y": pieces(p.w[:, None] * p.E[p.ids.v], p.offs)})
for bag in ("embedding_bag_u8", "embedding_bag_u4", "embedding_bag_u2"):
    op(bag, I=INDEX, data=BAGS)(
        lambda p: {"Y": pieces(p.E.cast("f32")[p.ids.v] * p.scale[p.ids.v][:, None]
                               + p.bias[p.ids.v][:, None], p.offs)})
op("segment_sum", T=NUMBERS, I=INDEX, data={"offs": ("ends", "L")})(
    lambda p: {"Y": pieces(p.X, p.offs)})


def scattered(terms, at, n, combine, old=None):
    """What `combine` makes of the terms that go to each of `n` rows, in their order, after what was there."""
    rows = []
    for r in range(n):
        mine = terms[at == r]
        if old is not None:
            mine = Val(terms.t, np.concatenate([old.v[r:r + 1], mine.v]),
                       np.concatenate([old.e[r:r + 1], mine.e]) if terms.is_float else None)
        rows.append(combine(mine))
    shape = (n, *terms.shape[1:])
    return Val(terms.t, np.reshape([row.v for row in rows], shape),
               np.reshape([row.e for row in rows], shape) if terms.is_float else None)


def added(terms):
    return terms.any(0) if terms.t == "bool" else terms.sum(0)


def greatest(terms):
    return terms.any(0) if terms.t == "bool" else terms.max(0)


def last(terms):
    return terms[-1]


op("scatter_add_rows", T=TYPES, I=INDEX, data=IDS)(
    lambda p: {"Y": scattered(p.V, p.ids.v, p.R, added)})
op("scatter_add_known_rows", T=TYPES, I=INDEX, data={"ids": ("any index", "R")})(
    lambda p: {"Y": scattered(p.V, p.ids.v, p.R, added)})
op("scatter_max_rows", T=TYPES, I=INDEX, data=IDS)(
    lambda p: {"Y": scattered(p.V, p.ids.v, p.R, greatest)})
op("put_rows", T=TYPES, I=INDEX, data=IDS)(
    lambda p: {"Y": scattered(p.V, p.ids.v, p.R, last, p.Y)})
op("histogram", T=INDEX, C=NUMBERS, data={"X": ("index", "K")})(
    lambda p: {"H": scattered(Val(widened(p.C), np.ones(p.N, WIDE if p.C in FLOATS else np.int64)),
                              p.X.v, p.K, added)})
op("bincount", T=TYPES, I=INDEX, data={"X": ("index", "K")})(
    lambda p: {"H": scattered(p.w, p.X.v, p.K, added)})
op("one_hot", T=NUMBERS, I=INDEX, data={"ids": ("index", "K")})(
    lambda p: {"Y": Val(widened(p.T), (p.ids.v[:, None] == np.arange(p.K)[None]).astype(
        WIDE if p.T in FLOATS else np.int64))})
op("sgd_rows", T=NUMBERS, I=INDEX, data=IDS)(
    lambda p: {"W": scattered(-p.rate * p.G, p.ids.v, p.R, added, p.W)})


@op("embedding_bag_gradient", T=TYPES, I=INDEX, data=BAGS)
def embedding_bag_gradient(p):
    bags = np.repeat(np.arange(p.B), np.diff(p.offs.v))
    return {"dE": scattered(p.V[bags], p.ids.v[p.offs.v[0]:p.offs.v[-1]], p.R, added)}


@op("adagrad_rows", T=FLOAT, I=INDEX, data=IDS)
def adagrad_rows(p):
    squares = (p.G * p.G).sum(1) / p.D
    moments = scattered(squares, p.ids.v, p.R, added, p.M).cast(p.T)
    steps = -p.rate * p.G / (call("sqrt", moments[p.ids.v]) + p.eps)[:, None]
    return {"M": moments, "W": scattered(steps, p.ids.v, p.R, added, p.W)}
