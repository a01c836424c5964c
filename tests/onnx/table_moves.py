# SPDX-License-Identifier: Apache-2.0
"""Rows of operators that move elements: copies, pieces, borders, places from data, patterns."""
import math

import numpy as np

from calls import Changed
from nodes import dtype_of, read_array
from table import Use, around, need, of_rank, row, rows_from, same


@row("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")
def copy(n):
    for attribute in ("axis", "axes", "allowzero", "shape"):
        n.take(attribute)
    return Use("copy", X=n.x.reshape(-1), Y=n.y.reshape(-1))


@row("Dropout")
def dropout(n):
    n.take("seed")
    n.take("ratio")
    training = n.input(2) is not None and bool(n.input(2)) and float(n.input(1) if n.input(1) is not None else 0.5) > 0
    need(not training, "random numbers")
    need(n.output(1) is None, "a copy and a tensor of ones in one node")
    return copy(n)


@row("Transpose")
def transpose(n):
    order = n.take("perm", list(range(n.x.ndim))[::-1])
    return Use("permute", X=of_rank(n.x.transpose(order), 4), Y=of_rank(n.y, 4))


@row("Expand")
def expand(n):
    return Use("permute", X=of_rank(np.broadcast_to(n.x, n.y.shape), 4), Y=of_rank(n.y, 4))


@row("Tile")
def tile(n):
    return Use("tile", X=of_rank(n.x, 4), Y=of_rank(n.y, 4))


@row("Concat")
def concat(n):
    axis = n.take("axis")
    need(2 <= len(n.inputs) <= 3, "more than three pieces")
    parts = {name: rows_from(x, axis) for name, x in zip("ABC", n.inputs)}
    return Use("concat" if len(n.inputs) == 2 else "concat3", **parts, Y=rows_from(n.y, axis))


@row("Split")
def split(n):
    axis = n.take("axis", 0)
    n.take("num_outputs")
    need(2 <= len(n.outputs) <= 3, "more than three pieces")
    parts = {name: rows_from(y, axis) for name, y in zip("YZV", n.outputs)}
    return Use(f"split{len(n.outputs)}", X=rows_from(n.x, axis), **parts)


@row("Slice")
def slices(n):
    starts, ends = n.input(1), n.input(2)
    axes = range(len(starts)) if n.input(3) is None else [int(a) % n.x.ndim for a in n.input(3)]
    steps = np.ones(len(starts), int) if n.input(4) is None else n.input(4)
    ranges = {d: (0, 1) for d in range(n.x.ndim)}
    for a, start, end, step in zip(axes, starts, ends, steps):
        found = range(*slice(int(start), int(end), int(step)).indices(n.x.shape[a]))
        ranges[a] = (found.start, found.step) if len(found) else (0, 1)
    first = 3 - n.x.ndim
    words = {f"{letter}{'ABC'[first + d]}": v[i] for d, v in ranges.items() for i, letter in enumerate("FD")}
    return Use("slice", X=of_rank(n.x, 3), Y=of_rank(n.y, 3), **words)


@row("Pad")
def pad(n):
    need(n.input(3) is None, "axes of pads")
    mode, pads = n.take("mode", "constant"), n.input(1)
    op = {"constant": "pad_constant", "edge": "pad_edge", "reflect": "pad_reflect"}.get(mode)
    need(op, f"mode {mode}")
    first = 4 - n.x.ndim
    given = {"P" + "ABCD"[first + d]: pads[d] for d in range(n.x.ndim)}
    if mode == "constant":
        given["v"] = 0 if n.input(2) is None else n.input(2).reshape(())
    return Use(op, X=of_rank(n.x, 4), Y=of_rank(n.y, 4), **given)


@row("Gather")
def gather(n):
    axis = n.take("axis", 0)
    x, ids = around(n.x, axis), n.input(1).reshape(-1)
    return Use("gather_axis", X=x, ids=ids, Y=n.y.reshape(x.shape[0], ids.size, x.shape[2]))


def beside(n, axis, ids):
    """Views of tensors whose dims beside the axis are the same."""
    shape = [np.delete(t.shape, axis % n.x.ndim).tolist() for t in (n.x, ids)]
    need(shape[0] == shape[1], "fewer places than elements beside them")
    return around(n.x, axis), around(ids, axis)


@row("GatherElements")
def gather_elements(n):
    axis = n.take("axis", 0)
    x, ids = beside(n, axis, n.input(1))
    return Use("gather_elements", X=x, ids=ids, Y=around(n.y, axis))


@row("ScatterElements", "Scatter")
def scatter_elements(n):
    axis, how = n.take("axis", 0), n.take("reduction", "none")
    op = {"none": "scatter_elements", "add": "scatter_add_elements"}.get(how)
    need(op, f"reduction {how}")
    x, ids = beside(n, axis, n.input(1))
    return Use(op, V=around(n.input(2), axis), ids=ids, Y=Changed(x, around(n.y, axis)))


@row("ScatterND")
def scatter_nd(n):
    ids, how = n.input(1), n.take("reduction", "none")
    op = {"none": "scatter_elements", "add": "scatter_add_elements"}.get(how)
    need(op, f"reduction {how}")
    need(ids.shape[-1] == 1, "places of several dims")
    x = n.x.reshape(1, n.x.shape[0], -1)
    v = n.input(2).reshape(1, -1, x.shape[2])
    return Use(op, V=v, ids=np.broadcast_to(ids.reshape(1, -1, 1), v.shape), Y=Changed(x, n.y.reshape(x.shape)))


@row("GatherND")
def gather_nd(n):
    ids = n.input(1)
    need(ids.shape[-1] == 1 and n.take("batch_dims", 0) == 0, "places of several dims")
    x = n.x.reshape(1, n.x.shape[0], -1)
    return Use("gather_axis", X=x, ids=ids.reshape(-1), Y=n.y.reshape(1, -1, x.shape[2]))


@row("OneHot")
def one_hot(n):
    ids, (off, on) = n.input(0), n.input(2)
    axis = n.take("axis", -1) % n.y.ndim
    view = around(n.y, axis)
    return Use("one_hot_axis", ids=ids.astype(np.int64).reshape(view.shape[0], view.shape[2]), on=on, off=off, Y=view)


@row("Trilu")
def trilu(n):
    x = n.x.reshape(math.prod(n.x.shape[:-2]), *n.x.shape[-2:])
    k = 0 if n.input(1) is None else int(n.input(1))
    return Use("triu" if n.take("upper", 1) else "tril", X=x, Y=n.y.reshape(x.shape), K=k)


@row("EyeLike")
def eye_like(n):
    n.take("dtype")
    return Use("eye", Y=n.y, K=n.take("k", 0))


@row("ConstantOfShape")
def constant_of_shape(n):
    value = n.take("value")
    v = 0 if value is None else read_array(value).reshape(())
    return Use("fill", v=v, Y=n.y.reshape(-1))


@row("Range")
def arange(n):
    return Use("arange", first=n.input(0), step=n.input(2), Y=n.y)


@row("HannWindow", "HammingWindow", "BlackmanWindow")
def window(n):
    need(dtype_of(n.take("output_datatype", 1)) == "f32", "windows of other types")
    a, b, c = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0),
               "BlackmanWindow": (0.42, 0.5, 0.08)}[n.operator]
    # What is expected was made with 3.1415 for pi.
    return Use("cosine_window", tolerance=2e-4, a=a, b=b, c=c, PERIODIC=n.take("periodic", 1), Y=n.y)


def blocks(a, size):
    """With the place in a block as dims of their own."""
    return a.reshape(a.shape[0], size, size, -1, *a.shape[2:])


@row("DepthToSpace")
def depth_to_space(n):
    size = n.take("blocksize")
    if n.take("mode", "DCR") == "CRD":
        return Use("pixel_shuffle", X=n.x, Y=n.y, S=size)
    return Use("depth_to_space", X=blocks(n.x, size), Y=n.y, S=size)


@row("SpaceToDepth")
def space_to_depth(n):
    size = n.take("blocksize")
    return Use("space_to_depth", X=n.x, Y=blocks(n.y, size), S=size)


@row("ReverseSequence")
def reverse_sequence(n):
    batch, time = n.take("batch_axis", 1), n.take("time_axis", 0)
    view = n.x.reshape(*n.x.shape[:2], -1)
    y = n.y.reshape(view.shape)
    need((batch, time) in ((1, 0), (0, 1)), "other axes")
    if time == 1:
        return Use("reverse_sequence", X=view.transpose(1, 0, 2), len=n.input(1),
                   Y=np.ascontiguousarray(y.transpose(1, 0, 2)))
    return Use("reverse_sequence", X=view, len=n.input(1), Y=y)


@row("MaxUnpool")
def max_unpool(n):
    need(n.input(2) is None, "another shape than that which places are of")
    for attribute in ("kernel_shape", "strides", "pads"):
        n.take(attribute)
    return Use("max_unpool", X=n.x.reshape(-1), I=n.input(1).reshape(-1), Y=n.y.reshape(-1))


# --- quantized ---

def channels(n, axis):
    """Dims before, of and behind the channels: all in one where the scale is a scalar."""
    if n.input(1).ndim == 0:
        return (1, 1, -1)
    return around(n.x, axis).shape


@row("QuantizeLinear", "DequantizeLinear")
def quantize(n):
    view = channels(n, n.take("axis", 1))
    narrow = n.y if n.operator == "QuantizeLinear" else n.x
    zero = np.zeros(1, narrow.dtype) if n.input(2) is None else n.input(2).reshape(-1)
    return Use("quantize" if narrow is n.y else "dequantize", X=n.x.reshape(view), scale=n.input(1).reshape(-1),
               zero=zero, Y=n.y.reshape(view))


@row("DynamicQuantizeLinear")
def dynamic_quantize(n):
    return Use("dynamic_quantize", steps=1, X=n.x.reshape(-1), Y=n.y.reshape(-1), scale=n.output(1), zero=n.output(2))


@row("MatMulInteger")
def matmul_integer(n):
    a, b = n.input(0), n.input(1)
    need(a.ndim == 2 and b.ndim == 2, "batches")
    za = 0 if n.input(2) is None else n.input(2).reshape(-1)
    need(np.size(za) == 1, "a zero for each row")
    zb = np.zeros((), b.dtype) if n.input(3) is None else n.input(3).reshape(-1)
    return Use("matmul_integer", A=a, B=b, za=int(np.max(za)), zb=same(zb, b.shape[1]), Y=n.y)


def scalar(array):
    need(array.size == 1, "scales by rows")
    return array.reshape(())[()]


@row("QLinearMatMul")
def qlinear_matmul(n):
    a, sa, za, b, sb, zb, sy, zy = (n.input(i) for i in range(8))
    a, b, y = (t.reshape(-1, *t.shape[-2:]) for t in (a, b, n.y))
    return Use("qlinear_matmul", A=a, sa=scalar(sa), za=scalar(za), C=b, sc=scalar(sb), zc=scalar(zb), sy=scalar(sy),
               zy=scalar(zy), Y=y)


def square(n, kernel):
    """The one stride and padding that the op has for both dims."""
    strides, pads = n.take("strides", [1, 1]), n.take("pads", [0] * 4)
    need(n.take("auto_pad", "NOTSET") == "NOTSET" and n.take("dilations", [1, 1]) == [1, 1]
         and n.take("group", 1) == 1 and len(set(pads)) == 1 and len(set(strides)) == 1, "other windows")
    n.take("kernel_shape")
    return {"S": strides[0], "P": pads[0]}


@row("ConvInteger")
def conv_integer(n):
    zx, zf = (0 if n.input(i) is None else scalar(n.input(i)) for i in (2, 3))
    return Use("conv_integer", X=n.x, F=n.input(1), zx=zx, zf=zf, Y=n.y, **square(n, n.input(1)))


@row("QLinearConv")
def qlinear_conv(n):
    x, sx, zx, f, sf, zf, sy, zy = (n.input(i) for i in range(8))
    o = f.shape[0]
    bias = np.zeros((), np.int32) if n.input(8) is None else n.input(8)
    return Use("qlinear_conv", X=x, sx=scalar(sx), zx=scalar(zx), F=f, sf=same(sf.reshape(-1), o),
               zf=same(zf.reshape(-1), o), bias=same(bias, o), sy=scalar(sy), zy=scalar(zy), Y=n.y, **square(n, f))
