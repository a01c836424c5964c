# SPDX-License-Identifier: Apache-2.0
"""Meanings of steps of training, and of ops on 8-bit numbers."""
import numpy as np

from conversions import Converted, Rounded, Shifted, either
from functions import call
from meanings import FLOAT, IDS, INDEX, NUMBERS, TYPES, added, bent, conv_dims, cumulative_meaning, network
from meanings import op, scattered
from meanings_windows import patches
from values import FLOATS, INTS, WIDE, Val, round_to, widened, wrap

SOME_FLOAT = [t for t in FLOATS if t != "f64"]
# Types whose arithmetic is that of i32.
IN_I32 = [t for t in INTS if t != "i64"] + ["bool"]


# --- steps of training ---

def one_less(x):
    return x.of(1) - x


def root(x):
    return call("sqrt", x)


op("sgd", T=TYPES)(lambda p: {"W": p.W - p.rate * (p.G + p.decay * p.W)})


@op("momentum", T=TYPES)
def momentum(p):
    v = (p.alpha * p.V + p.beta * (p.G + p.decay * p.W)).cast(p.T)
    return {"V": v, "Z": p.W - p.rate * v}


@op("nesterov", T=TYPES)
def nesterov(p):
    g = p.G + p.decay * p.W
    v = (p.alpha * p.V + p.beta * g).cast(p.T)
    return {"V": v, "Z": p.W - p.rate * (g + p.alpha * v)}


@op("adagrad", T=FLOAT)
def adagrad(p):
    g = p.G + p.decay * p.W
    h = (p.H + g * g).cast(p.T)
    return {"H": h, "Z": p.W - p.rate * g / (root(h) + p.eps)}


def moments(p, g, t):
    return ((p.alpha * p.V + one_less(p.alpha) * g).cast(t), (p.beta * p.H + one_less(p.beta) * g * g).cast(t))


@op("adam", T=FLOAT)
def adam(p):
    v, h = moments(p, p.G + p.decay * p.W, p.T)
    return {"V": v, "H": h, "Z": p.W - p.rate * v / (root(h) + p.eps)}


def adam_direction(p, v, h):
    return v / p.first / (root(h / p.second) + p.eps) + p.decay * p.W


@op("adamw", T=FLOAT)
def adamw(p):
    v, h = moments(p, p.G, p.T)
    return {"V": v, "H": h, "W": p.W - p.rate * adam_direction(p, v, h)}


@op("adamw_mixed", T=TYPES)
def adamw_mixed(p):
    v, h = moments(p, p.G.cast("f32") * p.scale, "f32")
    w = p.W - p.rate * adam_direction(p, v, h)
    return {"V": v, "H": h, "W": w, "C": Converted(w, p.T)}


@op("lamb", T=FLOAT)
def lamb(p):
    v, h = moments(p, p.G, p.T)
    u = adam_direction(p, v, h)
    w, q = root((p.W * p.W).sum()), root((u * u).sum())
    both = Val("bool", (w.v > 0) & (q.v > 0))
    unsure = any(not np.isnan(x.v) and abs(x.v) <= x.e for x in (w, q))
    trust = both.where(w / q, w.of(1))
    if unsure:
        trust.e = np.asarray(WIDE(np.inf))
    return {"V": v, "H": h, "Z": p.W - p.rate * trust * u}


@op("unscale", T=TYPES)
def unscale(p):
    y = p.G.cast("f32") * p.scale
    return {"Y": y, "overflow": Val("bool", ~np.isfinite(round_to(y.v, "f32"))).any(None)}


@op("add_sum_square", T=TYPES)
def add_sum_square(p):
    g = p.G.cast("f32")
    return {"S": p.S + (g * g).sum()}


op("clip_by_norm", T=FLOAT)(lambda p: {"G": p.G * (p.limit / root(p.S)).minimum(1)})


@op("adagrad_rows_exact", T=FLOAT, I=INDEX, data=IDS)
def adagrad_rows_exact(p):
    h = scattered(p.G * p.G, p.ids.v, p.R, added, p.H).cast(p.T)
    steps = -p.rate * p.G / (root(h[p.ids.v]) + p.eps)
    return {"H": h, "W": scattered(steps, p.ids.v, p.R, added, p.W)}


op("axpy_from", T=TYPES)(lambda p: {"Y": p.Y + p.alpha * p.X.cast("f32")})


# --- sums of what stands before, and a recurrent network ---

def exclusive(name, backward):
    """Each sum as it is stored, in turn: of the elements before."""
    def meaning(p):
        x = p.X.pad(((0, 0), (0, 1) if backward else (1, 0)), 0)
        x = x[:, 1:] if backward else x[:, :-1]
        if widened(p.T) == p.T:
            y = x[:, ::-1].prefix_sums(1)[:, ::-1] if backward else x.prefix_sums(1)
            return {"Y": y}
        shifted = type("Scope", (), {"X": x, "T": p.T})()
        return cumulative_meaning("row", lambda a, b: a + b, backward)(shifted)
    op(name, T=NUMBERS)(meaning)


exclusive("row_cumsum_exclusive", False)
exclusive("row_cumsum_exclusive_backward", True)


def gru_reset_first(p, x, before, t):
    h, = before
    r, z = (bent("sigmoid", x[:, q] + (p.U[q][None] * h[:, None]).sum(-1)) for q in (0, 1))
    reset = (r * h).cast("f32" if p.T in SOME_FLOAT else p.T)
    n = bent("tanh", x[:, 2] + (p.U[2][None] * reset[:, None]).sum(-1))
    return [(-z + 1) * n + z * h]


network("gru_reset_first", gru_reset_first)


# --- 8-bit numbers ---

@op("quantize", T=FLOAT, U=TYPES)
def quantize(p):
    return {"Y": Rounded(p.X / p.scale[None, :, None], p.U, either(p.zero, p.T)[None, :, None])}


op("dequantize", T=TYPES, U=TYPES)(
    lambda p: {"Y": (p.X.cast("i32") - p.zero.cast("i32")[None, :, None]).cast(p.T) * p.scale[None, :, None]})


@op("dynamic_quantize")
def dynamic_quantize(p):
    low, high = p.X.min(0).minimum(0), p.X.max(0).maximum(0)
    step = (high - low) / 255
    z = (-low / step).minimum(255).maximum(0)
    zero = Rounded(z, "u8")
    z_low, z_high = (np.rint(v) for v in (z.v - z.e, z.v + z.e))
    if not z.e < np.inf:
        z_low, z_high = WIDE(0), WIDE(255)
    return {"Y": Shifted(p.X / step, z_low, z_high), "scale": step, "zero": zero}


@op("dynamic_quantize_rows", T=TYPES)
def dynamic_quantize_rows(p):
    x = p.X.cast("f32")
    step = x.abs().max(1) / 127
    positive = np.broadcast_to((step.v > 0)[:, None], x.shape)
    return {"Y": Rounded(Val("bool", positive).where(x / step[:, None], x.of(0)), "i8"), "scale": step}


def matmul_less_zeros(p):
    """Exact, since i32 wraps the same in any order."""
    a, b = p.A - p.za, p.B - p.zb[None]
    return (a[:, :, None] * b[None]).sum(1)


op("matmul_integer", U=IN_I32, V=IN_I32)(lambda p: {"Y": matmul_less_zeros(p)})


@op("qlinear", U=IN_I32, V=IN_I32)
def qlinear(p):
    s = (matmul_less_zeros(p) + p.bias[None]).cast("f32")
    return {"Y": Rounded(s * p.scale[None], p.U, either(p.zero, "f32"), either(p.low, "f32"))}


@op("qlinear_matmul", U=IN_I32, V=IN_I32)
def qlinear_matmul(p):
    a, c = p.A - p.za, p.C - p.zc
    s = (a[..., None] * c[:, None]).sum(2).cast("f32")
    return {"Y": Rounded(s * (p.sa * p.sc / p.sy), p.U, either(p.zy, "f32"))}


def conv_integers(p, x, zx, f, zf, counts):
    """What stands beyond the border is an element of X: the zero in its type."""
    beyond = zx.v if p.U == "bool" else wrap(zx.v, p.U)
    seen = patches(x, 2, [(counts[0], p.R, p.S, 1, p.P), (counts[1], p.Q, p.S, 1, p.P)], beyond) - zx
    f = (f - zf)[None, :, :, None, :, None]
    return (seen[:, None] * f).sum((2, 4, 6))


def integer_conv_dims(width):
    def dims(random, params):
        n = conv_dims(random, {**params, "D": 1})
        n.pop("G")
        if width != "W":
            n[width] = n.pop("W")
        return n
    return dims


CONV = {"params": lambda random: {"S": random.choice([1, 2, 3]), "P": random.choice([0, 1, 2])}}


op("conv_integer", U=IN_I32, V=IN_I32, dims=integer_conv_dims("W"), **CONV)(
    lambda p: {"Y": conv_integers(p, p.X, p.zx, p.F, p.zf, p.out[2:])})


@op("qlinear_conv", U=IN_I32, V=IN_I32, dims=integer_conv_dims("L"), **CONV)
def qlinear_conv(p):
    s = conv_integers(p, p.X, p.zx, p.F, p.zf[:, None, None, None], p.out[2:]) + p.bias[None, :, None, None]
    factor = p.sx * p.sf / p.sy
    return {"Y": Rounded(s.cast("f32") * factor[None, :, None, None], p.U, either(p.zy, "f32"))}


op("requantize", U=TYPES)(
    lambda p: {"Y": Rounded(p.X.cast("f32") * p.scale[None], p.U, either(p.zero, "f32"))})


@op("quantized_add", U=TYPES)
def quantized_add(p):
    a = (p.A - p.za).cast("f32") * p.sa
    b = (p.B - p.zb).cast("f32") * p.sb
    return {"Y": Rounded((a + b) / p.sy, p.U, either(p.zy, "f32"))}


op("quantized_relu", U=TYPES)(lambda p: {"Y": p.X.maximum(p.zero)})
