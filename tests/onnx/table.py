# SPDX-License-Identifier: Apache-2.0
"""Which op of the library an ONNX operator is: a row an operator. A row makes of a node the op's name and
arguments; ranks beyond an op's are views, since neighbouring dims of a dense tensor are one."""
import math

import numpy as np

from calls import Changed
from nodes import Elsewhere

ROWS = {}
# Why an operator has no row, where that is more than that nobody wrote the op.
REASONS = {
    "values known before anything is computed: shapes, constants": ["Shape", "Size", "Constant"],
    "shapes that depend on data: functions of the host in models": [
        "Compress", "NonMaxSuppression", "NonZero", "Unique"],
    "shapes that depend on data": ["TfIdfVectorizer"],
    "random numbers": ["Bernoulli", "Multinomial", "RandomNormal", "RandomUniform", "RandomUniformLike"],
    "control flow, sequences and optional values": [
        "If", "Loop", "Scan", "SequenceMap", "SequenceInsert", "OptionalGetElement", "OptionalHasElement"],
    "text": ["StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch"],
}


def row(*operators):
    def declare(f):
        for operator in operators:
            ROWS[operator] = f
        return f
    return declare


class Use:
    """An op of the library by name, and its arguments. `rank`: an op over one dim is wanted over so many.
    `tolerance` of floats and `steps` of integers stand where the usual ones are not meant."""

    def __init__(self, op, tolerance=None, steps=0, **given):
        self.op, self.given, self.rank, self.tolerance, self.steps = op, given, None, tolerance, steps


def elementwise(op, given, result="Y"):
    """An op of one dim: on flat views, or over all dims where arrays are broadcast."""
    shape = given[result].shape
    arrays = {k: v for k, v in given.items() if isinstance(v, np.ndarray)}
    use = Use(op, **given)
    if any(v.shape != shape for v in arrays.values()):
        use.rank = len(shape)
        use.given.update({k: np.broadcast_to(v, shape) for k, v in arrays.items()})
    else:
        use.given.update({k: v.reshape(-1) for k, v in arrays.items()})
    return use


def need(condition, why):
    if not condition:
        raise Elsewhere(why)


def around(a, axis):
    """Three dims: those before an axis, the axis, those behind it."""
    axis %= max(a.ndim, 1)
    return a.reshape(math.prod(a.shape[:axis]), a.shape[axis], math.prod(a.shape[axis + 1:]))


def rows_from(a, axis):
    """Two dims: those before an axis, and it with those behind it."""
    axis %= max(a.ndim, 1)
    return a.reshape(math.prod(a.shape[:axis]), math.prod(a.shape[axis:]))


def of_rank(a, rank):
    """With dims of one element in front."""
    need(a.ndim <= rank, f"more than {rank} dims")
    return a.reshape((1,) * (rank - a.ndim) + a.shape)


def same(n, shape):
    return np.broadcast_to(np.asarray(n), shape)


# --- one element in, one element out ---

def binary(operator, op, a="A", b="B"):
    row(operator)(lambda n: elementwise(op, {a: n.input(0), b: n.input(1), "Y": n.y}))


for _operator, _op in (("Add", "add"), ("Sub", "sub"), ("Mul", "mul"), ("Div", "div"), ("And", "logical_and"),
                       ("Or", "logical_or"), ("Xor", "logical_xor"), ("Equal", "equal"), ("Less", "less"),
                       ("LessOrEqual", "less_or_equal"), ("BitwiseAnd", "bitwise_and"),
                       ("BitwiseOr", "bitwise_or"), ("BitwiseXor", "bitwise_xor")):
    binary(_operator, _op)
binary("Greater", "less", "B", "A")
binary("GreaterOrEqual", "less_or_equal", "B", "A")


def several(operator, op):
    """Of any number of inputs: the library has one or two."""
    @row(operator)
    def declare(n):
        need(len(n.inputs) <= 2, "three inputs or more")
        if len(n.inputs) == 1:
            return elementwise("copy", {"X": n.x, "Y": n.y})
        return elementwise(op, {"A": n.input(0), "B": n.input(1), "Y": n.y})


several("Max", "maximum")
several("Min", "minimum")
several("Sum", "add")
several("Mean", "average")


def unary(operator, op, **attributes):
    """`attributes`: scalars of the op, as the operator's attribute and its default."""
    row(operator)(lambda n: elementwise(
        op, {"X": n.x, "Y": n.y, **{k: n.take(*a) for k, a in attributes.items()}}))


for _op in ("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
            "Log", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
            "Softsign", "Sqrt", "Tan", "Tanh", "Mish"):
    unary(_op, _op.lower())
unary("IsNaN", "is_nan")
unary("Not", "logical_not")
unary("BitwiseNot", "bitwise_not")
unary("HardSwish", "hard_swish")
unary("LeakyRelu", "leaky_relu", alpha=("alpha", 0.01))
unary("Elu", "elu", alpha=("alpha", 1.0))
unary("Celu", "celu", alpha=("alpha", 1.0))
unary("ThresholdedRelu", "thresholded_relu", alpha=("alpha", 1.0))
unary("HardSigmoid", "hard_sigmoid", alpha=("alpha", 0.2), beta=("beta", 0.5))
unary("Shrink", "shrink", bias=("bias", 0.0), **{"lambda": ("lambd", 0.5)})


@row("Gelu")
def gelu(n):
    return elementwise("gelu_tanh" if n.take("approximate", "none") == "tanh" else "gelu", {"X": n.x, "Y": n.y})


@row("IsInf")
def is_inf(n):
    low, high = n.take("detect_negative", 1), n.take("detect_positive", 1)
    need(low or high, "nothing is detected")
    op = "is_inf" if low and high else "is_negative_inf" if low else "is_positive_inf"
    return elementwise(op, {"X": n.x, "Y": n.y})


@row("Pow")
def power(n):
    a, b = n.input(0), n.input(1)
    op = "pow" if a.dtype == b.dtype and a.dtype.kind == "f" else "pow_mixed"
    return elementwise(op, {"A": a, "B": b, "Y": n.y})


@row("Mod")
def mod(n):
    fmod, kind = n.take("fmod", 0), n.x.dtype.kind
    op = "mod" if not fmod else "fmod" if kind == "f" else "integer_fmod"
    return elementwise(op, {"A": n.input(0), "B": n.input(1), "Y": n.y})


@row("BitShift")
def bit_shift(n):
    op = {"LEFT": "shift_left", "RIGHT": "shift_right"}[n.take("direction")]
    return elementwise(op, {"A": n.input(0), "B": n.input(1), "Y": n.y})


@row("Where")
def where(n):
    return elementwise("choose", {"c": n.input(0), "X": n.input(1), "Z": n.input(2), "Y": n.y})


@row("Clip")
def clip(n):
    edges = np.iinfo(n.x.dtype) if n.x.dtype.kind in "iu" else None
    low, high = (edges.min, edges.max) if edges else (-np.inf, np.inf)
    low, high = (edge if n.input(i) is None else n.input(i).item() for i, edge in ((1, low), (2, high)))
    return elementwise("clamp", {"X": n.x, "Y": n.y, "low": low, "high": high})


@row("PRelu")
def prelu(n):
    x, slope = n.x, n.input(1)
    if slope.shape == x.shape:
        return Use("prelu", X=x.reshape(1, -1, 1), slope=slope.reshape(-1), Y=n.y.reshape(1, -1, 1))
    need(slope.ndim == 1 and slope.shape[0] == x.shape[-1], "slopes of several dims, broadcast")
    return Use("prelu", X=x.reshape(-1, slope.size, 1), slope=slope, Y=n.y.reshape(-1, slope.size, 1))


@row("Cast", "CastLike")
def cast(n):
    n.take("to")
    return elementwise("convert", {"X": n.x, "Y": n.y})


# --- reductions ---

def collapsed(a, axes):
    """Dims A, R, B, S in turns: kept, reduced, kept, reduced. And the shape of what is kept."""
    groups = []
    for d, n in enumerate(a.shape):
        if n == 1:
            continue
        if groups and groups[-1][0] == (d in axes):
            groups[-1][1] *= n
        else:
            groups.append([d in axes, n])
    sizes = []
    for reduced, n in groups:
        if (len(sizes) % 2 == 1) != reduced:
            sizes.append(1)
        sizes.append(n)
    need(len(sizes) <= 4, "dims reduced and kept in more than four turns")
    return a.reshape(sizes + [1] * (4 - len(sizes)))


def axes_of(n):
    """As an input or an attribute; all of them by default."""
    axes = n.input(1) if len(n.inputs) > 1 else n.take("axes")
    if axes is None or len(axes) == 0:
        return () if n.take("noop_with_empty_axes", 0) else tuple(range(n.x.ndim))
    n.take("noop_with_empty_axes")
    return tuple(int(a) % n.x.ndim for a in axes)


def reduction(operator, op):
    @row(operator)
    def declare(n):
        n.take("keepdims")
        x = collapsed(n.x, axes_of(n))
        return Use(op, X=x, Y=n.y.reshape(x.shape[0], x.shape[2]))


for _operator, _op in (("Sum", "sum"), ("Mean", "mean"), ("Max", "max"), ("Min", "min"), ("Prod", "prod"),
                       ("L1", "l1"), ("L2", "l2"), ("SumSquare", "sum_square"), ("LogSum", "log_sum"),
                       ("LogSumExp", "log_sum_exp")):
    reduction("Reduce" + _operator, "reduce_" + _op)


def of_images(operator, op):
    row(operator)(lambda n: Use(op, X=n.x.reshape(math.prod(n.x.shape[:2]), -1, 1, 1), Y=n.y.reshape(-1, 1)))


of_images("GlobalAveragePool", "reduce_mean")
of_images("GlobalMaxPool", "reduce_max")


def place(operator, op):
    @row(operator)
    def declare(n):
        n.take("keepdims")
        x = around(n.x, n.take("axis", 0))
        last = "_last" if n.take("select_last_index", 0) else ""
        return Use(op + last, X=x, Y=n.y.reshape(x.shape[0], x.shape[2]))


place("ArgMax", "axis_argmax")
place("ArgMin", "axis_argmin")


def along(operator, op):
    @row(operator)
    def declare(n):
        axis = n.take("axis", -1)
        return Use(op, X=around(n.x, axis), Y=around(n.y, axis))


along("Softmax", "axis_softmax")
along("LogSoftmax", "axis_log_softmax")
along("Hardmax", "axis_hardmax")


@row("CumSum")
def cumsum(n):
    axis = int(n.input(1).reshape(())) % n.x.ndim
    word = ("_exclusive" if n.take("exclusive", 0) else "") + ("_backward" if n.take("reverse", 0) else "")
    x, y = around(n.x, axis), around(n.y, axis)
    if x.shape[2] == 1:
        return Use("row_cumsum" + word, X=x[..., 0], Y=y[..., 0])
    need(x.shape[0] == 1 and not word, "cumulative sums of a middle dim")
    return Use("column_cumsum", X=x[0], Y=y[0])


# --- normalisations and losses ---

@row("LayerNormalization")
def layer_normalization(n):
    axis = n.take("axis", -1) % n.x.ndim
    n.take("stash_type")
    x = rows_from(n.x, axis)
    mean, inverse = (None if n.output(i) is None else n.output(i).reshape(-1) for i in (1, 2))
    shift = same(np.zeros((), x.dtype), x.shape[1]) if n.input(2) is None else n.input(2).reshape(-1)
    return Use("layernorm_stats", X=x, g=n.input(1).reshape(-1), b=shift, eps=n.take("epsilon", 1e-5),
               Y=rows_from(n.y, axis), mean=mean, inverse=inverse)


@row("InstanceNormalization")
def instance_normalization(n):
    view = (*n.x.shape[:2], 1, -1)
    return Use("group_norm", X=n.x.reshape(view), g=n.input(1)[:, None], b=n.input(2)[:, None],
               eps=n.take("epsilon", 1e-5), Y=n.y.reshape(view))


@row("GroupNormalization")
def group_normalization(n):
    groups = n.take("num_groups")
    n.take("stash_type")
    view = (n.x.shape[0], groups, n.x.shape[1] // groups, -1)
    need(n.input(1).size == n.x.shape[1], "a scale for each group, no longer in ONNX")
    return Use("group_norm", X=n.x.reshape(view), g=n.input(1).reshape(groups, -1),
               b=n.input(2).reshape(groups, -1), eps=n.take("epsilon", 1e-5), Y=n.y.reshape(view))


@row("BatchNormalization")
def batch_normalization(n):
    eps, momentum = n.take("epsilon", 1e-5), n.take("momentum", 0.9)
    g, b, u, v = (n.input(i) for i in range(1, 5))
    if n.take("training_mode", 0):
        view = (*n.x.shape[:2], -1)
        return Use("batchnorm_train", X=n.x.reshape(view), g=g, b=b, u0=u, v0=v, eps=eps, momentum=momentum,
                   Y=n.y.reshape(view), mean=n.output(1), variance=n.output(2))
    view = (*n.x.shape[:2], 1, -1)
    return Use("batchnorm", X=n.x.reshape(view), u=u, v=v, g=g, b=b, eps=eps, Y=n.y.reshape(view))


@row("MeanVarianceNormalization")
def mean_variance_normalization(n):
    need(sorted(n.take("axes", [0, 2, 3])) == [0, *range(2, n.x.ndim)], "axes other than all but the channels")
    view = (*n.x.shape[:2], -1)
    return Use("mean_variance_norm", X=n.x.reshape(view), eps=1e-9, Y=n.y.reshape(view))


@row("LRN")
def lrn(n):
    size, view = n.take("size"), (*n.x.shape[:2], -1)
    return Use("local_response_norm", X=n.x.reshape(view), alpha=n.take("alpha", 1e-4), beta=n.take("beta", 0.75),
               bias=n.take("bias", 1.0), R=size, B=(size - 1) // 2, Y=n.y.reshape(view))


@row("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(n):
    nll = n.operator == "NegativeLogLikelihoodLoss"
    how = n.take("reduction", "mean")
    view = (*n.x.shape[:2], math.prod(n.x.shape[2:]))
    labels = n.input(1)
    given = {"X": n.x.reshape(view), "labels": labels.reshape(view[0], view[2]),
             "weight": same(np.ones((), n.x.dtype), view[1]) if n.input(2) is None else n.input(2),
             "ignore": n.take("ignore_index", int(np.iinfo(labels.dtype).min)),
             "Y": n.y.reshape(view[0], view[2]) if how == "none" else n.y.reshape(())}
    if not nll and n.output(1) is not None:
        given["P"] = n.output(1).reshape(view)
    # Thousands of terms, one after the other.
    return Use(("nll_loss" if nll else "cross_entropy") + ("" if how == "none" else "_" + how),
               tolerance=1e-4 if how != "none" else None, **given)


# --- products ---

@row("MatMul")
def matmul(n):
    a, b = n.input(0), n.input(1)
    need(a.ndim == b.ndim >= 2 and a.shape[:-2] == b.shape[:-2], "products of vectors, broadcast batches")
    if a.ndim == 2:
        return Use("matmul", A=a, B=b, C=n.y)
    a, b, c = (t.reshape(-1, *t.shape[-2:]) for t in (a, b, n.y))
    return Use("batched_matmul", A=a, W=b, C=c)


@row("Gemm")
def gemm(n):
    a, b = n.input(0), n.input(1)
    bias = np.zeros((), a.dtype) if n.input(2) is None else n.input(2)
    return Use("gemm_bias", A=a.T if n.take("transA", 0) else a, B=b.T if n.take("transB", 0) else b,
               C=same(bias, n.y.shape), alpha=n.take("alpha", 1.0), beta=n.take("beta", 1.0), Y=n.y)


@row("Einsum")
def einsum(n):
    equation = n.take("equation").replace(" ", "")
    a, b = n.input(0), n.input(1)
    if equation == "bij,bjk->bik":
        return Use("batched_matmul", A=a, W=b, C=n.y)
    if equation == "ij->ji":
        return Use("transpose", X=a, Y=n.y)
    if equation == "ij->i":
        return Use("row_sum", X=a, Y=n.y)
    if equation == "i,i":
        return Use("dot", x=a, y=b, s=n.y)
    raise Elsewhere("other equations of einsum")


# --- steps of training ---

@row("Momentum")
def momentum(n):
    rate, step, x, g, v = (n.input(i) for i in range(5))
    need(len(n.inputs) == 5, "several tensors in one node")
    beta = n.take("beta")
    beta = beta if int(step) > 0 else 1.0
    op = {"standard": "momentum", "nesterov": "nesterov"}[n.take("mode")]
    return Use(op, G=g, rate=rate, decay=n.take("norm_coefficient"), alpha=n.take("alpha"), beta=beta,
               V=Changed(v, n.output(1)), W=x, Z=n.output(0))


@row("Adagrad")
def adagrad(n):
    rate, step, x, g, h = (n.input(i) for i in range(5))
    need(len(n.inputs) == 5, "several tensors in one node")
    rate = float(rate) / (1 + int(step) * n.take("decay_factor", 0.0))
    return Use("adagrad", G=g, rate=rate, decay=n.take("norm_coefficient", 0.0), eps=n.take("epsilon", 1e-6),
               H=Changed(h, n.output(1)), W=x, Z=n.output(0))


@row("Adam")
def adam(n):
    rate, step, x, g, v, h = (n.input(i) for i in range(6))
    need(len(n.inputs) == 6, "several tensors in one node")
    need(n.take("norm_coefficient_post", 0.0) == 0, "decay after the step")
    alpha, beta, t = n.take("alpha", 0.9), n.take("beta", 0.999), int(step)
    rate = float(rate) * (np.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else 1)
    return Use("adam", G=g, rate=rate, decay=n.take("norm_coefficient", 0.0), alpha=alpha, beta=beta,
               eps=n.take("epsilon", 1e-6), V=Changed(v, n.output(1)), H=Changed(h, n.output(2)), W=x, Z=n.output(0))
