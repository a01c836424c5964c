# SPDX-License-Identifier: Apache-2.0
"""Rows of operators on images and sequences: convolutions, pooling, other sizes, recurrent networks."""
import math
from fractions import Fraction

import numpy as np

from calls import Part
from table import Use, need, row, same


def windows(n, rank, sizes):
    """Strides, dilations and the paddings before the first element."""
    strides = n.take("strides", [1] * rank)
    dilations = n.take("dilations", [1] * rank)
    how, pads = n.take("auto_pad", "NOTSET"), n.take("pads", [0] * 2 * rank)[:rank]
    n.take("kernel_shape")
    if how.startswith("SAME"):
        pads = []
        for size, out, k, s, d in zip(n.x.shape[2:], n.y.shape[2:], sizes, strides, dilations):
            total = max((out - 1) * s + (k - 1) * d + 1 - size, 0)
            pads.append(total // 2 if how == "SAME_UPPER" else total - total // 2)
    return strides, dilations, pads


def named(letters, **by_dim):
    """Parameters S, D and P of each dim: `SH`, and so on."""
    return {key + letter: v for key, values in by_dim.items() for letter, v in zip(letters, values)}


LETTERS = {1: "L", 2: "HW", 3: "DHW"}


@row("Conv")
def conv(n):
    x, f, groups, rank = n.x, n.input(1), n.take("group", 1), n.x.ndim - 2
    need(rank in LETTERS, "more than three dims of an image")
    s, d, p = windows(n, rank, f.shape[2:])
    bias = np.zeros((), x.dtype) if n.input(2) is None else n.input(2)
    f = f.reshape(groups, -1, *f.shape[1:])
    op = {1: "conv1d", 2: "conv2d_windows", 3: "conv3d"}[rank]
    return Use(op, X=x.reshape(x.shape[0], groups, -1, *x.shape[2:]), F=f, b=same(bias, f.shape[:2]),
               Y=n.y.reshape(x.shape[0], groups, -1, *n.y.shape[2:]), **named(LETTERS[rank], S=s, D=d, P=p))


@row("ConvTranspose")
def conv_transpose(n):
    x, f, groups, rank = n.x, n.input(1), n.take("group", 1), n.x.ndim - 2
    n.take("kernel_shape")
    s, d = n.take("strides", [1] * rank), n.take("dilations", [1] * rank)
    more, how = n.take("output_padding", [0] * rank), n.take("auto_pad", "NOTSET")
    p = n.take("pads", [0] * 2 * rank)[:rank]
    if n.take("output_shape") is not None or how.startswith("SAME"):
        total = [t * (i - 1) + e + (k - 1) * q + 1 - o for t, i, e, k, q, o in
                 zip(s, x.shape[2:], more, f.shape[2:], d, n.y.shape[2:])]
        p = [t // 2 if how == "SAME_UPPER" else t - t // 2 for t in total]
    f = f.reshape(groups, -1, *f.shape[1:])
    bias = np.zeros((), x.dtype) if n.input(2) is None else n.input(2).reshape(groups, -1)
    given = named(LETTERS[rank], S=s, P=p) if rank == 3 else named(LETTERS[rank], S=s, D=d, P=p)
    need(rank < 3 or set(d) == {1}, "dilations of three dims")
    return Use(f"conv_transpose{rank}d", X=x.reshape(x.shape[0], groups, -1, *x.shape[2:]), F=f,
               b=same(bias, (groups, f.shape[2])), Y=n.y.reshape(x.shape[0], groups, -1, *n.y.shape[2:]), **given)


def images(a, rank):
    """Without channels: an image each, of two dims at least."""
    return a.reshape(math.prod(a.shape[:2]), *[1] * (2 - rank), *a.shape[2:])


@row("MaxPool")
def max_pool(n):
    rank, sizes = n.x.ndim - 2, n.take("kernel_shape")
    need(n.x.dtype.kind == "f", "max_pool of integers")
    need(n.take("storage_order", 0) == 0 or n.output(1) is None, "places in column-major order")
    n.take("ceil_mode")
    s, d, p = windows(n, rank, sizes)
    x, y = images(n.x, rank), images(n.y, rank)
    if rank == 3:
        need(set(d) == {1} and n.output(1) is None, "dilations of three dims")
        return Use("max_pool3d", X=x, Y=y, **dict(zip("ABC", sizes)), **named("DHW", S=s, P=p))
    sizes, s, d, p = ([v] * (rank == 1) + list(t) for t, v in ((sizes, 1), (s, 1), (d, 1), (p, 0)))
    given = {"X": x, "Y": y, **dict(zip("AB", sizes)), **named("HW", S=s, D=d, P=p)}
    if n.output(1) is not None:
        return Use("max_pool2d_places", I=images(n.output(1), rank), **given)
    return Use("max_pool2d_windows", **given)


@row("AveragePool")
def average_pool(n):
    rank, sizes = n.x.ndim - 2, n.take("kernel_shape")
    n.take("ceil_mode")
    padded = n.take("count_include_pad", 0)
    s, d, p = windows(n, rank, sizes)
    need(set(d) == {1}, "dilations of averages")
    x, y = images(n.x, rank), images(n.y, rank)
    if rank == 3:
        need(set(p) == {0}, "padding of averages of three dims")
        return Use("avg_pool3d", X=x, Y=y, **dict(zip("ABC", sizes)), **named("DHW", S=s))
    sizes, s, p = ([v] * (rank == 1) + list(t) for t, v in ((sizes, 1), (s, 1), (p, 0)))
    return Use("avg_pool2d_padded" if padded else "avg_pool2d_windows", X=x, Y=y, **dict(zip("AB", sizes)),
               **named("HW", S=s, P=p))


@row("LpPool")
def lp_pool(n):
    sizes, degree = n.take("kernel_shape"), n.take("p", 2)
    n.take("ceil_mode")
    s, d, p = windows(n, 2, sizes)
    need(n.x.ndim == 4 and set(d) == {1}, "other windows")
    return Use("lp_pool2d", X=images(n.x, 2), Y=images(n.y, 2), degree=degree, A=sizes[0], B=sizes[1],
               **named("HW", S=s, P=p))


# --- other sizes ---

def places(how, size, out, scale, roi):
    """Element i of the result lies at a*i + b of what is resized, as fractions."""
    if how == "asymmetric":
        return 1 / scale, Fraction(0)
    if how == "align_corners":  # of the size before it is rounded
        return (size - 1) / (scale * size - 1) if scale * size != 1 else Fraction(0), Fraction(0)
    if how == "tf_half_pixel_for_nn":
        return 1 / scale, 1 / scale / 2
    if how == "tf_crop_and_resize":
        begin, end = roi
        step = (end - begin) * (size - 1) / (out - 1) if out > 1 else Fraction(0)
        return step, begin * (size - 1) if out > 1 else (begin + end) / 2 * (size - 1)
    if how == "pytorch_half_pixel" and out == 1:
        return Fraction(0), Fraction(0)
    need(how in ("half_pixel", "pytorch_half_pixel"), f"coordinates {how}")
    return 1 / scale, 1 / scale / 2 - Fraction(1, 2)


def nearest(how, a, b):
    """The same where the floor is the nearest place: all ways to round are that of a/d with another b."""
    d = math.lcm(a.denominator, b.denominator, 2)
    shift = {"floor": Fraction(0), "ceil": Fraction(d - 1, d), "round_prefer_ceil": Fraction(1, 2),
             "round_prefer_floor": Fraction(d // 2 - 1, d)}[how]
    return a, b + shift


def words(letter, a, b):
    d = math.lcm(a.denominator, b.denominator)
    return {f"{letter}A": int(a * d), f"{letter}B": int(b * d), f"{letter}D": d}


def resized(n, mode, how, scales, roi):
    need(n.x.ndim == 4 and n.x.shape[:2] == n.y.shape[:2], "sizes of other dims than two")
    rounding, given = n.take("nearest_mode", "round_prefer_floor"), {}
    bend, inside = n.take("cubic_coeff_a", -0.75), n.take("exclude_outside", 0)
    outside = n.take("extrapolation_value", 0.0)
    for letter, d in (("R", 2), ("C", 3)):
        scale = Fraction(n.y.shape[d], n.x.shape[d]) if scales is None else \
            Fraction(float(scales[d])).limit_denominator(1000)
        edges = None if roi is None else [Fraction(float(roi[e])).limit_denominator(1000) for e in (d, 4 + d)]
        a, b = places(how, n.x.shape[d], n.y.shape[d], scale, edges)
        given |= words(letter, *(nearest(rounding, a, b) if mode == "nearest" else (a, b)))
    given |= {"X": images(n.x, 2), "Y": images(n.y, 2)}
    if mode == "nearest":
        need(how != "tf_crop_and_resize", "crops by the nearest pixel")
        return Use("resize_nearest", **given)
    if mode == "cubic":
        need(how != "tf_crop_and_resize", "crops by cubic curves")
        return Use("resize_cubic_inside" if inside else "resize_cubic", bend=bend, **given)
    need(not inside, "linear ones of the inside alone")
    if how == "tf_crop_and_resize":
        return Use("resize_linear_crop", outside=outside, **given)
    return Use("resize_linear", **given)


@row("Resize")
def resize(n):
    need(n.take("antialias", 0) == 0, "antialiasing")
    need(n.take("axes") is None and n.take("keep_aspect_ratio_policy", "stretch") == "stretch", "axes of sizes")
    scales, roi = n.input(2), n.input(1)
    return resized(n, n.take("mode", "nearest"), n.take("coordinate_transformation_mode", "half_pixel"),
                   None if scales is None or scales.size == 0 else scales, None if roi is None or roi.size == 0 else roi)


@row("Upsample")
def upsample(n):
    n.taken |= {"nearest_mode"}
    n.attributes.setdefault("nearest_mode", "floor")
    return resized(n, n.take("mode", "nearest"), "asymmetric", n.input(1), None)


@row("GridSample")
def grid_sample(n):
    mode = n.take("mode", "bilinear")
    need(n.take("align_corners", 0) == 0, "corners as places")
    need(n.take("padding_mode", "zeros") == "zeros", "places beyond the border")
    op = {"bilinear": "grid_sample", "linear": "grid_sample", "nearest": "grid_sample_nearest"}.get(mode)
    need(op, f"mode {mode}")
    return Use(op, X=n.x, G=n.input(1), Y=n.y)


# --- recurrent networks ---

def network(n, gates):
    """Arguments that the networks share; states and weights of one direction, the gates in the library's order."""
    need(n.take("direction", "forward") == "forward", "other directions than forward")
    need(n.take("activations") is None and n.take("clip") is None, "other functions")
    size, batch_first = n.take("hidden_size"), n.take("layout", 0)
    x, w, u = n.x, n.input(1)[0], n.input(2)[0]
    x = x.transpose(1, 0, 2) if batch_first else x
    bias = np.zeros(2 * len(gates) * size, x.dtype) if n.input(3) is None else n.input(3)[0]
    order = list(gates) if len(gates) > 1 else 0
    w, u = (t.reshape(len(gates), size, -1)[order] for t in (w, u))
    halves = [b.reshape(len(gates), size)[order] for b in np.split(bias, 2)]
    zeros = np.zeros((), x.dtype)
    states = [zeros if n.input(i) is None else n.input(i)[:, 0] if batch_first else n.input(i)[0] for i in (5, 6)]
    h0, c0 = (same(s, (x.shape[1], size)) for s in states)
    y, last = n.output(0), n.output(1)
    if y is not None:
        y = y[:, :, 0].transpose(1, 0, 2) if batch_first else y[:, 0]
        result = np.ascontiguousarray(y)
    else:
        result = Part(-1, last[:, 0] if batch_first else last[0])
    return {"X": x, "W": w, "U": u, "h0": h0, "h": result}, halves, c0


@row("RNN")
def rnn(n):
    need(n.input(4) is None, "lengths of plain networks")
    given, bias, _ = network(n, [0])
    return Use("rnn", bias=bias[0] + bias[1], **given)


@row("LSTM")
def lstm(n):
    need(n.input(7) is None, "peepholes")
    need(n.take("input_forget", 0) == 0, "coupled gates")
    given, bias, c0 = network(n, [0, 2, 3, 1])
    if n.input(4) is not None:
        return Use("lstm_lengths", bias=bias[0] + bias[1], c0=c0, len=n.input(4).astype(np.int64), **given)
    return Use("lstm", bias=bias[0] + bias[1], c0=c0, **given)


@row("GRU")
def gru(n):
    need(n.input(4) is None, "lengths of gated networks")
    given, (bias, inner), _ = network(n, [1, 0, 2])
    if n.take("linear_before_reset", 0):
        bias = bias + np.stack([inner[0], inner[1], np.zeros_like(inner[2])])
        return Use("gru", bias=bias, u=inner[2], **given)
    return Use("gru_reset_first", bias=bias + inner, **given)
