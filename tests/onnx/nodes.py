# SPDX-License-Identifier: Apache-2.0
"""ONNX's operator tests, as Debian's libonnx-testdata has them: a model of one node, what it is given and
what it makes. Arrays of bf16 hold its bits as uint16, a type that the language has not."""
import os

import numpy as np
import onnx
from onnx import numpy_helper

FOLDER = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "node")
DTYPES = {"FLOAT": "f32", "DOUBLE": "f64", "FLOAT16": "f16", "BFLOAT16": "bf16", "INT64": "i64", "INT32": "i32",
          "INT16": "i16", "INT8": "i8", "UINT8": "u8", "BOOL": "bool"}


class Elsewhere(Exception):
    """Why a node has no op here."""


def dtype_of(number):
    """The language's name of one of ONNX's types."""
    name = onnx.TensorProto.DataType.Name(number)
    if name not in DTYPES:
        raise Elsewhere(f"dtype {name.lower()} is not in the language")
    return DTYPES[name]


def read_array(proto):
    if dtype_of(proto.data_type) == "bf16":
        bits = np.frombuffer(proto.raw_data, np.uint16) if proto.raw_data else np.array(proto.int32_data, np.uint16)
        return bits.reshape(tuple(proto.dims))
    return numpy_helper.to_array(proto)


class Node:
    """A node with what its test gives and expects. `take` names the attributes that a row of the table
    knows: a node that has others has no op here."""

    def __init__(self, name):
        model = onnx.load(os.path.join(FOLDER, name, "model.onnx"))
        graph = model.graph
        if len(graph.node) != 1:
            raise Elsewhere("several nodes")
        node, = graph.node
        self.name, self.operator = name, node.op_type
        self.version = {o.domain: o.version for o in model.opset_import}.get("", 1)
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        self.taken = set()
        self.node, self.graph = node, graph

    def read(self):
        """Reads the arrays, once it is clear that a row wants them."""
        files = {}
        for kind, values in (("input", self.graph.input), ("output", self.graph.output)):
            for i, value in enumerate(values):
                files[value.name] = self.read_file(f"{kind}_{i}.pb", value)
        self.inputs = [files.get(n) for n in self.node.input]
        self.outputs = [files.get(n) for n in self.node.output]

    def read_file(self, file, value):
        if not value.type.HasField("tensor_type"):
            raise Elsewhere("sequences and optional values are not in the language")
        proto = onnx.TensorProto()
        with open(os.path.join(FOLDER, self.name, "test_data_set_0", file), "rb") as stream:
            proto.ParseFromString(stream.read())
        return read_array(proto)

    def take(self, name, default=None):
        """The value of an attribute."""
        self.taken.add(name)
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def untaken(self):
        return sorted(set(self.attributes) - self.taken)

    def input(self, i):
        """An input's array; None where it is left out."""
        return self.inputs[i] if i < len(self.inputs) else None

    def output(self, i):
        return self.outputs[i] if i < len(self.outputs) else None

    x = property(lambda self: self.input(0))
    y = property(lambda self: self.output(0))


def node_names():
    return sorted(os.listdir(FOLDER)) if os.path.isdir(FOLDER) else []
