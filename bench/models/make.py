# SPDX-License-Identifier: Apache-2.0
"""Makes models of ONNX of known architectures with random weights: `make.py FOLDER [NAMES]`.
Weights are scaled by their fan-in, so that values neither vanish nor overflow from layer to layer."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Fixed by: all nodes here exist in it as they are written.
OPSET = 13


class Net:
    """A graph under construction. Values are names; `shape` knows those of images."""

    def __init__(self, name, seed=1):
        self.name, self.random = name, np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.channels = {}

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, shape):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, *shape, fan=None):
        scale = 1 / np.sqrt(fan or np.prod(shape[1:]))
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def node(self, kind, *reads, makes=1, name=None, **attributes):
        names = [name] if name else [f"v{len(self.nodes)}" + ("" if i == 0 else f"_{i}") for i in range(makes)]
        self.nodes.append(helper.make_node(kind, list(reads), names, **attributes))
        return names[0] if makes == 1 else names

    def save(self, folder):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        onnx.save(model, os.path.join(folder, self.name + ".onnx"))

    # Layers of images

    def image(self, channels, side):
        x = self.input("x", [1, channels, side, side])
        self.channels[x] = channels
        return x

    def conv(self, x, out, kernel, stride=1, pad=None, group=1, bias=False):
        pad = kernel // 2 if pad is None else pad
        into = self.channels[x]
        reads = [x, self.weight(out, into // group, kernel, kernel)]
        if bias:
            reads.append(self.weight(out, fan=100))
        y = self.node("Conv", *reads, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)
        self.channels[y] = out
        return y

    def norm(self, x):
        c = self.channels[x]
        near_one = self.constant((1 + 0.1 * self.random.standard_normal(c)).astype(np.float32))
        stats = [self.weight(c, fan=100), self.weight(c, fan=100),
                 self.constant((1 + 0.1 * self.random.random(c)).astype(np.float32))]
        return self.like(x, "BatchNormalization", x, near_one, *stats)

    def like(self, x, kind, *reads, **attributes):
        y = self.node(kind, *reads, **attributes)
        self.channels[y] = self.channels[x]
        return y

    def relu(self, x):
        return self.like(x, "Relu", x)

    def pool(self, x, kernel, stride, pad=0, kind="MaxPool"):
        return self.like(x, kind, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def concat(self, *xs):
        y = self.node("Concat", *xs, axis=1)
        self.channels[y] = sum(self.channels[x] for x in xs)
        return y

    # Layers of rows

    def linear(self, x, into, out, bias=True):
        y = self.node("MatMul", x, self.weight(into, out, fan=into))
        return self.node("Add", y, self.weight(out, fan=100)) if bias else y

    def layernorm(self, x, width, centred=True):
        scale = self.constant(np.ones(width, np.float32))
        two, eps = self.constant(np.float32(2)), self.constant(np.float32(1e-5))
        if centred:
            x = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        variance = self.node("ReduceMean", self.node("Pow", x, two), axes=[-1])
        y = self.node("Div", x, self.node("Sqrt", self.node("Add", variance, eps)))
        y = self.node("Mul", y, scale)
        return self.node("Add", y, self.weight(width, fan=100)) if centred else y

    def gelu(self, x):
        half, one, root = (self.constant(np.float32(v)) for v in (0.5, 1, np.sqrt(2)))
        erf = self.node("Erf", self.node("Div", x, root))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, one)), half)

    def reshape(self, x, *shape):
        return self.node("Reshape", x, self.constant(np.array(shape, np.int64)))

    def heads(self, x, batch, rows, heads, width, keys=False):
        y = self.reshape(x, batch, rows, heads, width // heads)
        return self.node("Transpose", y, perm=[0, 2, 3, 1] if keys else [0, 2, 1, 3])

    def weighed(self, q, k, v, width, mask=None):
        """Attention of heads of `width`; keys are turned."""
        scores = self.node("Div", self.node("MatMul", q, k), self.constant(np.float32(np.sqrt(width))))
        if mask is not None:
            scores = self.node("Add", scores, mask)
        return self.node("MatMul", self.node("Softmax", scores, axis=-1), v)

    def merged(self, y, batch, rows, width):
        """Heads beside one another again."""
        return self.reshape(self.node("Transpose", y, perm=[0, 2, 1, 3]), batch, rows, width)

    def attention(self, x, batch, rows, heads, width, mask=None):
        q, k, v = (self.linear(x, width, width) for _ in range(3))
        q, v = self.heads(q, batch, rows, heads, width), self.heads(v, batch, rows, heads, width)
        k = self.heads(k, batch, rows, heads, width, keys=True)
        y = self.weighed(q, k, v, width // heads, mask)
        return self.linear(self.merged(y, batch, rows, width), width, width)

    def local(self, x):
        return self.like(x, "LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0)

    def perceptron(self, x, *widths):
        """Dense layers with relu between them, the last one the output."""
        for into, out in zip(widths, widths[1:-1]):
            x = self.node("Relu", self.node("Gemm", x, self.weight(out, into), self.weight(out, fan=100), transB=1))
        into, out = widths[-2:]
        self.node("Gemm", x, self.weight(out, into), self.weight(out, fan=100), transB=1, name="y")
        self.output("y", [1, out])


def classifier(net, x, into, out=1000):
    x = net.node("Flatten", net.node("GlobalAveragePool", x))
    net.node("Gemm", x, net.weight(out, into), net.weight(out, fan=100), transB=1, name="y")
    net.output("y", [1, out])


def resnet50():
    net = Net("resnet50")
    x = net.pool(net.relu(net.norm(net.conv(net.image(3, 224), 64, 7, 2))), 3, 2, 1)
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            step = stride if i == 0 else 1
            y = net.relu(net.norm(net.conv(x, width, 1)))
            y = net.relu(net.norm(net.conv(y, width, 3, step)))
            y = net.norm(net.conv(y, 4 * width, 1))
            if i == 0:
                x = net.norm(net.conv(x, 4 * width, 1, step))
            x = net.relu(net.like(x, "Add", x, y))
    classifier(net, x, 2048)
    return net


def mobilenetv2():
    net = Net("mobilenetv2")

    def clip(x):
        low, high = net.constant(np.float32(0)), net.constant(np.float32(6))
        return net.like(x, "Clip", x, low, high)

    x = clip(net.norm(net.conv(net.image(3, 224), 32, 3, 2)))
    for expand, out, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                        (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(blocks):
            into = net.channels[x]
            step = stride if i == 0 else 1
            y = clip(net.norm(net.conv(x, into * expand, 1))) if expand > 1 else x
            y = clip(net.norm(net.conv(y, into * expand, 3, step, group=into * expand)))
            y = net.norm(net.conv(y, out, 1))
            x = net.like(x, "Add", x, y) if step == 1 and into == out else y
    classifier(net, clip(net.norm(net.conv(x, 1280, 1))), 1280)
    return net


def squeezenet():
    net = Net("squeezenet")
    x = net.pool(net.relu(net.conv(net.image(3, 224), 64, 3, 2, 0, bias=True)), 3, 2)
    for i, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256),
                                           (64, 256))):
        if i in (2, 4):
            x = net.pool(x, 3, 2)
        s = net.relu(net.conv(x, squeeze, 1, bias=True))
        x = net.concat(net.relu(net.conv(s, expand, 1, bias=True)), net.relu(net.conv(s, expand, 3, bias=True)))
    x = net.node("GlobalAveragePool", net.relu(net.conv(x, 1000, 1, bias=True)))
    net.node("Flatten", x, name="y")
    net.output("y", [1, 1000])
    return net


def alexnet():
    net = Net("alexnet")
    x = net.pool(net.local(net.relu(net.conv(net.image(3, 224), 96, 11, 4, 2, bias=True))), 3, 2)
    x = net.pool(net.local(net.relu(net.conv(x, 256, 5, group=2, bias=True))), 3, 2)
    x = net.relu(net.conv(x, 384, 3, bias=True))
    x = net.relu(net.conv(x, 384, 3, group=2, bias=True))
    x = net.node("Flatten", net.pool(net.relu(net.conv(x, 256, 3, group=2, bias=True)), 3, 2))
    net.perceptron(x, 9216, 4096, 4096, 1000)
    return net


def zfnet512():
    net = Net("zfnet512")
    x = net.pool(net.local(net.relu(net.conv(net.image(3, 224), 96, 7, 2, 1, bias=True))), 3, 2)
    x = net.pool(net.local(net.relu(net.conv(x, 256, 5, 2, 0, bias=True))), 3, 2)
    for width in (512, 1024, 512):
        x = net.relu(net.conv(x, width, 3, bias=True))
    net.perceptron(net.node("Flatten", net.pool(x, 3, 2)), 512 * 5 * 5, 4096, 4096, 1000)
    return net


def vgg19():
    net = Net("vgg19")
    x = net.image(3, 224)
    for width, count in ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)):
        for _ in range(count):
            x = net.relu(net.conv(x, width, 3, bias=True))
        x = net.pool(x, 2, 2)
    net.perceptron(net.node("Flatten", x), 25088, 4096, 4096, 1000)
    return net


def densenet121():
    net = Net("densenet121")

    def active(x):
        return net.relu(net.norm(x))

    x = net.pool(net.relu(net.norm(net.conv(net.image(3, 224), 64, 7, 2))), 3, 2, 1)
    for blocks in (6, 12, 24, 16):
        if blocks > 6:
            x = net.pool(net.conv(active(x), net.channels[x] // 2, 1), 2, 2, kind="AveragePool")
        for _ in range(blocks):
            x = net.concat(x, net.conv(active(net.conv(active(x), 128, 1)), 32, 3))
    classifier(net, active(x), 1024)
    return net


def inception_v1():
    net = Net("inception_v1")

    def conv(x, *words, **named):
        return net.relu(net.conv(x, *words, bias=True, **named))

    x = net.local(net.pool(conv(net.image(3, 224), 64, 7, 2), 3, 2, 1))
    x = net.pool(net.local(conv(conv(x, 64, 1), 192, 3)), 3, 2, 1)
    for widths in ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None, (192, 96, 208, 16, 48, 64),
                   (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
                   (256, 160, 320, 32, 128, 128), None, (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)):
        if not widths:
            x = net.pool(x, 3, 2, 1)
            continue
        one, three_in, three, five_in, five, pooled = widths
        x = net.concat(conv(x, one, 1), conv(conv(x, three_in, 1), three, 3), conv(conv(x, five_in, 1), five, 5),
                       conv(net.pool(x, 3, 1, 1), pooled, 1))
    classifier(net, x, 1024)
    return net


def shufflenet():
    net = Net("shufflenet")
    groups = 3

    def shuffled(x, side):
        c = net.channels[x]
        y = net.node("Transpose", net.reshape(x, 1, groups, c // groups, side, side), perm=[0, 2, 1, 3, 4])
        y = net.reshape(y, 1, c, side, side)
        net.channels[y] = c
        return y

    x, side = net.pool(net.relu(net.norm(net.conv(net.image(3, 224), 24, 3, 2))), 3, 2, 1), 56
    for width, units in ((240, 4), (480, 8), (960, 4)):
        for i in range(units):
            into, step = net.channels[x], 2 if i == 0 else 1
            out = width - into if i == 0 else width
            y = shuffled(net.relu(net.norm(net.conv(x, width // 4, 1, group=1 if into == 24 else groups))), side)
            y = net.norm(net.conv(y, width // 4, 3, step, group=width // 4))
            y = net.norm(net.conv(y, out, 1, group=groups))
            if i == 0:
                side //= 2
                x = net.relu(net.concat(net.pool(x, 3, 2, 1, kind="AveragePool"), y))
            else:
                x = net.relu(net.like(x, "Add", x, y))
    classifier(net, x, 960)
    return net


def unet():
    net = Net("unet")

    def twice(x, out):
        return net.relu(net.norm(net.conv(net.relu(net.norm(net.conv(x, out, 3))), out, 3)))

    x, left = net.image(3, 128), []
    for width in (16, 32, 64):
        x = twice(x, width)
        left.append(x)
        x = net.pool(x, 2, 2)
    x = twice(x, 128)
    for width in (64, 32, 16):
        weight = net.weight(net.channels[x], width, 2, 2, fan=net.channels[x])
        up = net.node("ConvTranspose", x, weight, kernel_shape=[2, 2], strides=[2, 2])
        net.channels[up] = width
        x = twice(net.concat(up, left.pop()), width)
    net.node("Conv", x, net.weight(2, 16, 1, 1), kernel_shape=[1, 1], name="y")
    net.output("y", [1, 2, 128, 128])
    return net


def encoder(name, rows, layers=2, width=768, heads=12, causal=False):
    net = Net(name)
    x = net.input("x", [1, rows, width])
    mask = None
    if causal:
        mask = net.constant(np.triu(np.full((1, 1, rows, rows), -1e9, np.float32), 1))
    for _ in range(layers):
        if causal:
            x = net.node("Add", x, net.attention(net.layernorm(x, width), 1, rows, heads, width, mask))
            y = net.linear(net.gelu(net.linear(net.layernorm(x, width), width, 4 * width)), 4 * width, width)
            x = net.node("Add", x, y)
        else:
            x = net.layernorm(net.node("Add", x, net.attention(x, 1, rows, heads, width)), width)
            y = net.linear(net.gelu(net.linear(x, width, 4 * width)), 4 * width, width)
            x = net.layernorm(net.node("Add", x, y), width)
    net.node("Identity", x, name="y")
    net.output("y", [1, rows, width])
    return net


def decoder(layers=2, past=127, width=768, heads=12):
    """GPT-2's layers on one row, behind rows whose keys and values are given."""
    net = Net("gpt2_decode")
    x = net.input("x", [1, 1, width])
    for i in range(layers):
        y = net.layernorm(x, width)
        q, k, v = (net.heads(net.linear(y, width, width), 1, 1, heads, width) for _ in range(3))
        rows = []
        for name, new in (("k", k), ("v", v)):
            before = net.input(f"past_{name}{i}", [1, heads, past, width // heads])
            rows.append(net.node("Concat", before, new, axis=2, name=f"{name}{i}"))
            net.output(f"{name}{i}", [1, heads, past + 1, width // heads])
        y = net.weighed(q, net.node("Transpose", rows[0], perm=[0, 1, 3, 2]), rows[1], width // heads)
        x = net.node("Add", x, net.linear(net.merged(y, 1, 1, width), width, width))
        y = net.linear(net.gelu(net.linear(net.layernorm(x, width), width, 4 * width)), 4 * width, width)
        x = net.node("Add", x, y)
    net.node("Identity", x, name="y")
    net.output("y", [1, 1, width])
    return net


def llama(rows=64, width=2048, heads=16, hidden=5632):
    """A block of Llama: norms by root mean squares, turned queries and keys, a gated perceptron."""
    net = Net("llama")
    head = width // heads
    x = net.input("x", [1, rows, width])
    angles = np.outer(np.arange(rows), 10000.0 ** (-np.arange(0, head, 2) / head))
    angles = np.concatenate([angles, angles], axis=1)
    cosine, sine = (net.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    axis, zero, half, end = (net.constant(np.array([v], np.int64)) for v in (3, 0, head // 2, head))

    def turned(y):
        first, second = net.node("Slice", y, zero, half, axis), net.node("Slice", y, half, end, axis)
        across = net.node("Concat", net.node("Neg", second), first, axis=3)
        return net.node("Add", net.node("Mul", y, cosine), net.node("Mul", across, sine))

    def dense(y, into, out):
        return net.linear(y, into, out, bias=False)

    y = net.layernorm(x, width, centred=False)
    q, k, v = (net.heads(dense(y, width, width), 1, rows, heads, width) for _ in range(3))
    mask = net.constant(np.triu(np.full((1, 1, rows, rows), -1e9, np.float32), 1))
    y = net.weighed(turned(q), net.node("Transpose", turned(k), perm=[0, 1, 3, 2]), v, head, mask)
    x = net.node("Add", x, dense(net.merged(y, 1, rows, width), width, width))
    y = net.layernorm(x, width, centred=False)
    gate, up = dense(y, width, hidden), dense(y, width, hidden)
    y = dense(net.node("Mul", net.node("Mul", gate, net.node("Sigmoid", gate)), up), hidden, width)
    net.node("Add", x, y, name="y")
    net.output("y", [1, rows, width])
    return net


def lstm(rows=64, width=256, layers=2):
    """Layers in both directions, one sequence."""
    net = Net("lstm")
    x, into = net.input("x", [rows, 1, width]), width
    for _ in range(layers):
        y, _, _ = net.node("LSTM", x, net.weight(2, 4 * width, into, fan=into),
                           net.weight(2, 4 * width, width, fan=width), net.weight(2, 8 * width, fan=100), makes=3,
                           hidden_size=width, direction="bidirectional")
        into = 2 * width
        x = net.reshape(net.node("Transpose", y, perm=[0, 2, 1, 3]), rows, 1, into)
    net.node("Identity", x, name="y")
    net.output("y", [rows, 1, into])
    return net


def dlrm():
    net = Net("dlrm")
    batch, tables, rows, width, bag = 128, 26, 10000, 64, 4
    x = net.input("x", [batch, 13])
    for into, out in ((13, 512), (512, 256), (256, width)):
        x = net.node("Relu", net.linear(x, into, out))
    features = [x]
    for t in range(tables):
        ids = net.input(f"ids{t}", [batch, bag], TensorProto.INT64)
        rows_of = net.node("Gather", net.weight(rows, width, fan=width), ids, axis=0)
        features.append(net.node("ReduceSum", rows_of, net.constant(np.array([1], np.int64)), keepdims=0))
    both = net.reshape(net.node("Concat", *features, axis=1), batch, tables + 1, width)
    pairs = net.node("MatMul", both, net.node("Transpose", both, perm=[0, 2, 1]))
    flat = net.reshape(pairs, batch, (tables + 1) ** 2)
    first, second = np.tril_indices(tables + 1, -1)
    flat = net.node("Gather", flat, net.constant((first * (tables + 1) + second).astype(np.int64)), axis=1)
    x = net.node("Concat", x, flat, axis=1)
    for into, out in ((width + len(first), 512), (512, 256)):
        x = net.node("Relu", net.linear(x, into, out))
    net.node("Sigmoid", net.linear(x, 256, 1), name="y")
    net.output("y", [batch, 1])
    return net


def mlp(batch):
    net = Net(f"mlp{batch}")
    x = net.input("x", [batch, 784])
    for into, out in ((784, 512), (512, 256)):
        x = net.node("Relu", net.node("Gemm", x, net.weight(into, out, fan=into), net.weight(out, fan=100)))
    net.node("Gemm", x, net.weight(256, 10, fan=256), net.weight(10, fan=100), name="y")
    net.output("y", [batch, 10])
    return net


MODELS = {
    "resnet50": resnet50, "mobilenetv2": mobilenetv2, "squeezenet": squeezenet, "shufflenet": shufflenet,
    "densenet121": densenet121, "inception_v1": inception_v1, "alexnet": alexnet, "unet": unet,
    "bert": lambda: encoder("bert", 128), "gpt2": lambda: encoder("gpt2", 128, causal=True), "gpt2_decode": decoder,
    "llama": llama, "dlrm": dlrm, "lstm": lstm, "mlp1": lambda: mlp(1), "mlp7": lambda: mlp(7),
    "mlp64": lambda: mlp(64),
}
# Hundreds of MB each: made where they are named.
LARGE = {"vgg19": vgg19, "zfnet512": zfnet512}


def main():
    folder, *names = sys.argv[1:] or sys.exit(__doc__)
    os.makedirs(folder, exist_ok=True)
    for name in names or MODELS:
        (MODELS | LARGE)[name]().save(folder)


main()
