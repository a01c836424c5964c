#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone from Python by its C interface and the standard library alone: python3 softmax.py libhone.so"""
import array
import ctypes
import sys

hone = ctypes.CDLL(sys.argv[1])
hone.hone_engine_target.restype = ctypes.c_char_p
F32, TENSOR = 1, 0


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("read_only", ctypes.c_int32)]


class Arg(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("tensor", Tensor), ("real", ctypes.c_double),
                ("integer", ctypes.c_int64)]


def check(status, error):
    if status:
        sys.exit(f"status {status}: {(error.value or b'').decode()}")


def tensor(memory, *shape):
    data = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return Arg(TENSOR, Tensor(data, F32, len(shape), (ctypes.c_int64 * len(shape))(*shape)))


engine, kernel, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char_p()
check(hone.hone_engine_create(None, ctypes.byref(engine), ctypes.byref(error)), error)
check(hone.hone_engine_compile(engine, b"softmax M=2 N=5", None, ctypes.byref(kernel), ctypes.byref(error)), error)
x = bytearray(array.array("f", [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]))
y = bytearray(len(x))
check(hone.hone_kernel_call(kernel, (Arg * 2)(tensor(x, 2, 5), tensor(y, 2, 5)), ctypes.c_size_t(2), None,
                            ctypes.byref(error)), error)
print(hone.hone_engine_target(engine).decode(), [round(v, 4) for v in array.array("f", bytes(y))])
assert abs(sum(array.array("f", bytes(y))) - 2) < 1e-6
