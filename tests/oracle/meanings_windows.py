# SPDX-License-Identifier: Apache-2.0
"""Meanings of ops on windows and images: convolutions, pooling, other sizes."""
import numpy as np

from functions import call
from meanings import FLOAT, NUMBERS, TYPES, op
from meanings_rows import UNROUNDED, few, power, unsure_where
from values import WIDE, Val, widened


def patches(x, first, spec, value):
    """What windows see, of the dims from `first` on: each becomes the place of the window and that within it.
    `spec` has a window's (count, size, stride, dilation, padding) for each of these dims."""
    for k, (count, size, stride, dilation, pad) in enumerate(spec):
        axis = first + 2 * k
        at = np.arange(count)[:, None] * stride + np.arange(size)[None] * dilation - pad
        low, high = (int(at.min()), int(at.max())) if at.size else (0, 0)
        widths = [(0, 0)] * len(x.shape)
        widths[axis] = (max(0, -low), max(0, high + 1 - x.shape[axis]))
        x = x.pad(widths, value)[(slice(None),) * axis + (at + widths[axis][0],)]
    return x


def window_dims(*triples, names=""):
    """Dims by (size, window or its parameter, count), and `names` that windows have nothing to do with."""
    def dims(random, params):
        n = {k: random.choice([1, 2, 3]) for k in names.split()}
        for size, window, count in triples:
            if window not in params:
                n[window] = random.choice([1, 2, 3])
            n[size], n[count] = random.choice([1, 3, 5, 8]), random.choice([0, 1, 2, 5])
        return n
    return dims


def window_params(letters, sizes="", keys="SDP"):
    options = {"S": [1, 1, 2, 3], "D": [1, 1, 2], "P": [0, 1, 2]}

    def params(random):
        found = {k + letter: random.choice(options[k]) for k in keys for letter in letters}
        return {**found, **{size: random.choice([1, 2, 3]) for size in sizes}}
    return params


def spec(p, letters, counts, sizes):
    return [(getattr(p, c), getattr(p, s) if isinstance(s, str) else s, getattr(p, "S" + x), getattr(p, "D" + x, 1),
             getattr(p, "P" + x, 0)) for x, c, s in zip(letters, counts, sizes)]


def apply_filter(seen, f, b, rank, taken=True):
    """Of [N,G,C, place, within, ...] with f [G,O,C, within, ...]: sums over channels and windows.
    `taken` [place, within, ...]: terms that there are; others are none, whatever their factors."""
    shape = [1, *f.shape[:3]]
    for n in f.shape[3:]:
        shape += [1, n]
    axes = (3, *(5 + 2 * k for k in range(rank)))
    terms = seen[:, :, None] * f.reshape(*shape)
    e = np.where(taken, terms.e, 0) if terms.is_float else None
    terms = Val(terms.t, np.where(taken, terms.v, 0).astype(terms.v.dtype), e, terms.narrow)
    return terms.sum(axes) + b.reshape(1, *b.shape, *[1] * rank)


def stretched(x, axis, stride):
    """Zeros between the elements of a dim."""
    shape = list(x.shape)
    shape[axis] = max((shape[axis] - 1) * stride + 1, 0)
    at = (slice(None),) * axis + (slice(None, None, stride),)
    v, e = np.zeros(shape, x.v.dtype), np.zeros(shape, WIDE)
    v[at] = x.v
    if x.is_float:
        e[at] = x.e
    return Val(x.t, v, e if x.is_float else None, x.narrow)


def declare_convolutions():
    for name, letters, sizes, windows, counts in (
            ("conv1d", "L", "L", "R", "P"), ("conv2d_windows", "HW", "HW", "RQ", "PV"),
            ("conv3d", "DHW", "DHW", "KRQ", "UPV")):
        dims = window_dims(*zip(sizes, windows, counts), names="N G C O")

        def forward(p, letters=letters, counts=counts, windows=windows):
            seen = patches(p.X, 3, spec(p, letters, counts, windows), 0)
            return {"Y": apply_filter(seen, p.F, p.b, len(letters))}
        op(name, T=NUMBERS, dims=dims, params=window_params(letters))(forward)

        def back(p, letters=letters, counts=counts, windows=windows):
            x, turned, taken = p.X, [], np.ones((), bool)
            for k, (count, size, stride, dilation, pad) in enumerate(spec(p, letters, counts, windows)):
                x = stretched(x, 3 + k, stride)
                turned.append((count, size, 1, -dilation, -pad))
                at = np.arange(count)[:, None] + pad - np.arange(size)[None] * dilation
                taken = taken[..., None, None] & (at % stride == 0)
            f = p.F.transpose(0, 2, 1, *range(3, 3 + len(letters)))
            return {"Y": apply_filter(patches(x, 3, turned, 0), f, p.b, len(letters), taken)}
        op(f"conv_transpose{len(letters)}d", T=NUMBERS, dims=dims,
           params=window_params(letters, keys="SDP" if len(letters) < 3 else "SP"))(back)


declare_convolutions()

POOL = window_dims(("H", "A", "P"), ("W", "B", "V"), names="N")
POOL3 = window_dims(("D", "A", "U"), ("H", "B", "P"), ("W", "C", "V"), names="N")


def pooled(p, value, letters="HW", counts="PV", sizes="AB"):
    """[N, places..., elements of the window in row-major order]."""
    rank = len(letters)
    seen = patches(p.X, 1, spec(p, letters, counts, sizes), value)
    order = [0, *range(1, 1 + 2 * rank, 2), *range(2, 2 + 2 * rank, 2)]
    seen = seen.transpose(*order)
    return seen.reshape(*seen.shape[:1 + rank], int(np.prod(seen.shape[1 + rank:])))


op("max_pool2d_windows", T=FLOAT, dims=POOL, params=window_params("HW", "AB"))(
    lambda p: {"Y": pooled(p, -np.inf).max(3)})
op("max_pool3d", T=FLOAT, dims=POOL3, params=window_params("DHW", "ABC", "SP"))(
    lambda p: {"Y": pooled(p, -np.inf, "DHW", "UPV", "ABC").max(4)})
op("avg_pool2d_padded", T=NUMBERS, dims=POOL, params=window_params("HW", "AB", "SP"))(
    lambda p: {"Y": pooled(p, 0).sum(3) / (p.A * p.B)})
op("lp_pool2d", T=FLOAT, dims=POOL, params=window_params("HW", "AB", "SP"))(
    lambda p: {"Y": power(power(pooled(p, 0).abs(), p.degree).sum(3), p.degree.of(1) / p.degree)})


@op("max_pool2d_places", T=FLOAT, dims=POOL, params=window_params("HW", "AB"))
def max_pool2d_places(p):
    seen = pooled(p, -np.inf)
    m = seen.arg(3, 1).v
    n, h, w = np.indices(m.shape)
    places = (n * p.H + h * p.SH + m // p.B * p.DH - p.PH) * p.W + w * p.SW + m % p.B * p.DW - p.PW
    return {"Y": seen.max(3), "I": Val("i64", places)}


@op("avg_pool2d_windows", T=UNROUNDED, dims=POOL, params=window_params("HW", "AB", "SP"))
def avg_pool2d_windows(p):
    def inside(count, size, stride, pad, n):
        first = np.arange(count) * stride - pad
        count = np.maximum(np.minimum(first + size, n) - np.maximum(first, 0), 0)
        return Val("i64", count).cast(widened(p.T))
    rows, columns = inside(p.P, p.A, p.SH, p.PH, p.H), inside(p.V, p.B, p.SW, p.PW, p.W)
    return {"Y": pooled(p, 0).sum(3) / (rows[None, :, None] * columns[None, None])}


def pool3_dims(random, params):
    n = {"N": random.choice([1, 2])}
    for size, window, count, stride in (("D", "A", "U", "SD"), ("H", "B", "P", "SH"), ("W", "C", "V", "SW")):
        n[count] = random.choice([1, 2, 4])
        n[size] = (n[count] - 1) * params[stride] + params[window] + random.choice([0, 1])
    return n


op("avg_pool3d", T=NUMBERS, dims=pool3_dims, params=window_params("DHW", "ABC", "S"), stated="D H W U P V")(
    lambda p: {"Y": pooled(p, 0, "DHW", "UPV", "ABC").sum(4) / (p.A * p.B * p.C)})


@op("adaptive_avg_pool2d", T=UNROUNDED, dims=few("N H W P V"))
def adaptive_avg_pool2d(p):
    def bins(n, count):
        return [(i * n // count, ((i + 1) * n + count - 1) // count) for i in range(count)]
    rows = []
    for h0, h1 in bins(p.H, p.P):
        for w0, w1 in bins(p.W, p.V):
            rows.append(p.X[:, h0:h1, w0:w1].sum((1, 2)) / ((h1 - h0) * (w1 - w0)))
    v = np.stack([r.v for r in rows], 1).reshape(p.N, p.P, p.V)
    e = np.stack([r.e for r in rows], 1).reshape(p.N, p.P, p.V) if p.X.is_float else None
    return {"Y": Val(p.X.t, v, e)}


IM2COL = {"S": [1, 2, 3], "P": [0, 1, 2]}


def im2col_dims(random, params):
    n = {"N": random.choice([0, 1, 2]), "C": random.choice([1, 2, 3])}
    for size, window in (("H", "R"), ("W", "Q")):
        n[window] = random.choice([1, 2, 3])
        n[size] = max(n[window] - 2 * params["P"], 0) + random.choice([0, 1, 4])
    return n


@op("im2col", T=NUMBERS, dims=im2col_dims, params=lambda random: {
    "R": random.choice([1, 2, 3]), "Q": random.choice([1, 2, 3]), **{k: random.choice(v) for k, v in IM2COL.items()}})
def im2col(p):
    counts = p.out[1:3]
    seen = patches(p.X, 2, [(counts[0], p.R, p.S, 1, p.P), (counts[1], p.Q, p.S, 1, p.P)], 0)
    return {"Y": seen.transpose(0, 2, 4, 1, 3, 5)}


# --- other sizes ---

def size_params(random):
    found = {}
    for letter in "RC":
        found |= {letter + "A": random.choice([1, 2, 3, 0]), letter + "B": random.choice([0, -1, 2]),
                  letter + "D": random.choice([1, 2, 4, 6])}
    return found


def places(a, b, d, count):
    """The whole part of (a*i + b)/d, and what it leaves of d."""
    n = a * np.arange(count) + b
    return n // d, n % d


def near(x, rows, columns):
    """Pixels, those of the border beyond it."""
    rows, columns = (np.clip(at, 0, n - 1) for at, n in zip((rows, columns), x.shape[1:]))
    return x[:, rows[..., :, None], columns[..., None, :]]


def fractions(p):
    """Whole places and fractions, of rows and of columns."""
    i, v = places(p.RA, p.RB, p.RD, p.P)
    j, u = places(p.CA, p.CB, p.CD, p.Q)
    return i, j, Val("i64", v).cast(p.T) / p.RD, Val("i64", u).cast(p.T) / p.CD


op("resize_nearest", T=TYPES, dims=few("N H W P Q"), params=size_params)(
    lambda p: {"Y": near(p.X, places(p.RA, p.RB, p.RD, p.P)[0], places(p.CA, p.CB, p.CD, p.Q)[0])})


def between(four, v, u):
    """Of four neighbours, by the fractions of rows and columns."""
    one = v.of(1)
    return (one - v) * ((one - u) * four[0] + u * four[1]) + v * ((one - u) * four[2] + u * four[3])


@op("resize_linear", T=UNROUNDED, dims=few("N H W P Q"), params=size_params)
def resize_linear(p):
    i, j, v, u = fractions(p)
    four = [near(p.X, i + a, j + b) for a in (0, 1) for b in (0, 1)]
    return {"Y": between(four, v[None, :, None], u[None, None])}


def or_zero(x, rows, columns):
    padded = x.pad(((0, 0), (1, 1), (1, 1)), 0)
    return near(padded, rows + 1, columns + 1)


@op("resize_linear_crop", T=UNROUNDED, dims=few("N H W P Q"), params=size_params)
def resize_linear_crop(p):
    i, j, v, u = fractions(p)
    four = [or_zero(p.X, i + a, j + b) for a in (0, 1) for b in (0, 1)]
    y = between(four, v[None, :, None], u[None, None])
    rows, columns = p.RA * np.arange(p.P) + p.RB, p.CA * np.arange(p.Q) + p.CB
    inside = ((rows >= 0) & (rows <= (p.H - 1) * p.RD))[:, None] & ((columns >= 0) & (columns <= (p.W - 1) * p.CD))
    return {"Y": Val("bool", np.broadcast_to(inside, y.shape)).where(y, p.outside)}


def cubic(fraction, bend, t):
    """Weights of the four neighbours, by Keys' kernel."""
    x = ((fraction + 1)[:, None] - Val("i64", np.arange(4)).cast(t)).abs()
    inner = (((bend + 2) * x - (bend + 3)) * x) * x + 1
    outer = ((bend * x - bend * 5) * x + bend * 8) * x - bend * 4
    return Val("bool", x.v <= 1).where(inner, outer)


def by_cubic(p, shared):
    i, j, v, u = fractions(p)
    a, b = cubic(v, p.bend, p.T), cubic(u, p.bend, p.T)
    four = np.arange(4) - 1
    if shared:
        a = Val("bool", (i[:, None] + four >= 0) & (i[:, None] + four < p.H)).where(a, a.of(0))
        b = Val("bool", (j[:, None] + four >= 0) & (j[:, None] + four < p.W)).where(b, b.of(0))
    rows, columns = (np.clip(k[:, None] + four, 0, n - 1) for k, n in ((i, p.H), (j, p.W)))
    x = p.X[:, rows[:, None, :, None], columns[None, :, None, :]]
    y = (a[None, :, None, :, None] * b[None, None, :, None, :] * x).sum((3, 4))
    if shared:
        y = y / (a.sum(1)[None, :, None] * b.sum(1)[None, None])
    return {"Y": y}


op("resize_cubic", T=UNROUNDED, dims=few("N H W P Q"), params=size_params)(lambda p: by_cubic(p, False))
op("resize_cubic_inside", T=UNROUNDED, dims=few("N H W P Q"), params=size_params)(lambda p: by_cubic(p, True))


def sampled_at(p):
    """Rows and columns that the grid means."""
    return [((p.G[..., k] + 1) * n - 1) / 2 for k, n in ((1, p.H), (0, p.W))]


def whole(x, f):
    """f(x), of which only whole numbers come, as an index; and where another one may come."""
    low, high = f(x.v - x.e), f(x.v + x.e)
    return Val(x.t, f(x.v)).cast("i64").v, ~((low == high) | (np.isnan(x.v) & (x.e == 0)) | (x.e == 0))


def pixels(p, rows, columns):
    """[N,C,P,Q] at [N,P,Q], 0 outside."""
    inside = (rows >= 0) & (rows < p.H) & (columns >= 0) & (columns < p.W)
    padded = p.X.pad(((0, 0), (0, 0), (0, 1), (0, 1)), 0)
    n, c = np.arange(p.N)[:, None, None, None], np.arange(p.C)[None, :, None, None]
    rows, columns = (np.where(inside, at, k)[:, None] for at, k in ((rows, p.H), (columns, p.W)))
    return padded[n, c, rows, columns]


@op("grid_sample", T=FLOAT, dims=few("N C H W P Q"))
def grid_sample(p):
    y, x = sampled_at(p)
    (i, other), (j, another) = whole(y, np.floor), whole(x, np.floor)
    v, u = y - Val(y.t, np.floor(y.v)), x - Val(x.t, np.floor(x.v))
    with np.errstate(over="ignore"):
        four = [pixels(p, i + a, j + b) for a in (0, 1) for b in (0, 1)]
    value = between(four, v[:, None], u[:, None])
    return {"Y": unsure_where(value, np.broadcast_to((other | another)[:, None], value.shape))}


@op("grid_sample_nearest", T=FLOAT, dims=few("N C H W P Q"))
def grid_sample_nearest(p):
    (i, other), (j, another) = (whole(x, np.rint) for x in sampled_at(p))
    value = pixels(p, i, j)
    unsure = np.broadcast_to((other | another)[:, None], value.shape)
    return {"Y": unsure_where(value, unsure)}
