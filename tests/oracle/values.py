# SPDX-License-Identifier: Apache-2.0
"""Numbers of the language in NumPy: storage types, and arithmetic that knows how far it may be off.

A `Val` is an array in a type of arithmetic: f64, f32, i64, i32 or bool. Integers are exact. Floats
are held in 80 bits with a bound `e` of what rounding in their type, in any order, may change.
Infinity as a bound says that anything may come out.
"""
import numpy as np

WIDE = np.longdouble
# Of each float type: bits of precision, exponent of the largest power of two, of the least normal.
FLOATS = {"f64": (53, 1023, -1022), "f32": (24, 127, -126), "f16": (11, 15, -14), "bf16": (8, 127, -126),
          "f8e4m3": (4, 8, -6), "f8e5m2": (3, 15, -14)}
INTS = {"i64": (-2**63, 2**63 - 1), "i32": (-2**31, 2**31 - 1), "i16": (-2**15, 2**15 - 1),
        "i8": (-128, 127), "u8": (0, 255), "i4": (-8, 7), "u4": (0, 15), "i2": (-2, 1), "u2": (0, 3), "u1": (0, 1)}
TYPES = [*FLOATS, *INTS, "bool"]
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2}  # all others: 1
# Elements that share a byte, the first in its low bits.
PACKED = {"i4": 2, "u4": 2, "i2": 4, "u2": 4, "u1": 8}
# How NumPy holds an element in memory; bf16 and 8-bit floats as their bits.
MEMORY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i64": np.int64,
          "i32": np.int32, "i16": np.int16, "i8": np.int8}  # all others: bytes


def size(t):
    return SIZES.get(t, 1)


def memory(t):
    return MEMORY.get(t, np.uint8)


def widened(t):
    """The type that values of storage type `t` are computed in."""
    if t in FLOATS:
        return t if t == "f64" else "f32"
    return t if t in ("i64", "i32", "bool") else "i32"


def largest(t):
    if t == "f8e4m3":
        return WIDE(448)  # all bits set are its NaN
    bits, top, _ = FLOATS[t]
    return (2 - WIDE(2)**(1 - bits)) * WIDE(2)**top


def least(t):
    """The smallest positive value."""
    bits, _, low = FLOATS[t]
    return WIDE(2)**(low - bits + 1)


def epsilon(t):
    return WIDE(2)**(1 - FLOATS[t][0])


def round_to(x, t):
    """To the nearest value of float type `t`, ties to even; beyond the largest, infinity, or where there
    is none, the largest."""
    x = np.asarray(x, WIDE)
    if t == "f64":
        return x.astype(np.float64).astype(WIDE)
    bits, top, low = FLOATS[t]
    finite = np.isfinite(x) & (x != 0)
    safe = np.where(finite, x, 1)
    exponent = np.maximum(np.frexp(safe)[1] - 1, low)
    step = np.ldexp(WIDE(1), exponent - bits + 1)
    near = np.rint(safe / step) * step
    near = np.where(np.abs(near) > largest(t), np.copysign(WIDE(np.inf), near), near)
    near = np.where(finite, near, x)
    return np.clip(near, -largest(t), largest(t)) if t == "f8e4m3" else near


def byte_floats(t):
    """The values of all 256 codes of an 8-bit float type: a sign, an exponent, a fraction."""
    bits, top, low = FLOATS[t]
    fractions = 2**(bits - 1)
    out = []
    for code in range(256):
        exponent, fraction = divmod(code % 128, fractions)
        value = (fraction + (fractions if exponent else 0)) * WIDE(2)**(max(exponent, 1) - 1 + low - bits + 1)
        if t == "f8e4m3" and code % 128 == 127 or t == "f8e5m2" and code % 128 > 124:
            value = WIDE(np.nan)
        elif t == "f8e5m2" and code % 128 == 124:
            value = WIDE(np.inf)
        out.append(-value if code >= 128 else value)
    return np.array(out, WIDE)


BYTE_FLOATS = {t: byte_floats(t) for t in ("f8e4m3", "f8e5m2")}


def unpack(raw, t):
    """The elements of less than a byte in an array of bytes, those of each byte from its low bits up."""
    width = 8 // PACKED[t]
    bits = np.unpackbits(raw, bitorder="little").reshape(-1, width).astype(np.int64)
    return wrap((bits << np.arange(width)).sum(1), t)


def pack(values, t):
    """The bytes of as many elements as fill them."""
    width = 8 // PACKED[t]
    bits = (values[:, None] >> np.arange(width)) & 1
    return np.packbits(bits.astype(np.uint8).ravel(), bitorder="little")


def wrap(x, t):
    """An int64 array, wrapped to integer type `t`."""
    if t == "i64":
        return x
    low, high = INTS[t]
    return ((x - low) & (high - low)) + low


def decode(raw, t):
    """Elements in memory as values: 80-bit floats, int64 or bool."""
    if t == "bf16":
        return np.asarray(raw.astype(np.uint32) * np.uint32(1 << 16), np.uint32).view(np.float32).astype(WIDE)
    if t in BYTE_FLOATS:
        return BYTE_FLOATS[t][raw]
    if t in FLOATS:
        return raw.astype(WIDE)
    return raw != 0 if t == "bool" else raw.astype(np.int64)


def encode(v, t):
    """Values, already rounded or wrapped to `t`, as elements in memory."""
    if t == "bf16":
        return np.asarray(np.asarray(v, np.float32).view(np.uint32) >> 16, np.uint16)
    if t in BYTE_FLOATS:
        magnitudes = BYTE_FLOATS[t][:127]  # in order, of f8e5m2 with infinity and two NaN at the end
        code = np.searchsorted(magnitudes[:125 if t == "f8e5m2" else 127], np.abs(v))
        code = np.where(np.isnan(v), 127, code)
        return np.asarray(code + np.where(np.signbit(v), 128, 0), np.uint8)
    return np.asarray(v).astype(memory(t))


def read(v, t):
    """What a program sees of elements of storage type `t`."""
    if t not in FLOATS:
        return Val(widened(t), v)
    return Val(widened(t), v, narrow=t == "bf16")


class Val:
    """An array of the language's arithmetic, with error bounds where it is of floats."""
    __array_ufunc__ = None

    def __init__(self, t, v, e=None, narrow=False):
        self.t, self.v, self.e, self.narrow = t, np.asarray(v), e, narrow
        if t in FLOATS and e is None:
            self.e = np.zeros(self.v.shape, WIDE)

    is_float = property(lambda self: self.t in FLOATS)
    shape = property(lambda self: self.v.shape)

    def __getitem__(self, at):
        return Val(self.t, self.v[at], self.e[at] if self.is_float else None, self.narrow)

    def _moved(self, f):
        return Val(self.t, f(self.v), f(self.e) if self.is_float else None, self.narrow)

    def transpose(self, *order):
        return self._moved(lambda a: a.transpose(*order))

    def reshape(self, *shape):
        return self._moved(lambda a: a.reshape(*shape))

    def pad(self, widths, value):
        """With `value`, a number of the language, around."""
        v = np.pad(self.v, widths, constant_values=value)
        return Val(self.t, v, np.pad(self.e, widths) if self.is_float else None, self.narrow)

    # --- arithmetic ---

    def of(self, x):
        """`x` as an operand beside this: a number takes this one's type; a bool counts as i32."""
        if not isinstance(x, Val):
            t = "i32" if self.t == "bool" else self.t
            return Val(t, round_to(x, t) if t in FLOATS else np.int64(x))
        return x.number()

    def number(self):
        if self.t == "bool":
            return Val("i32", self.v.astype(np.int64))
        if self.is_float:  # what has left the type's range may be infinite by now, or not
            e = np.where(np.isfinite(self.v) & (np.abs(self.v) > largest(self.t)), WIDE(np.inf), self.e)
            return Val(self.t, self.v, e, self.narrow)
        return self

    def _pair(self, x):
        a, b = self.number(), self.of(x)
        assert a.t == b.t, f"{a.t} meets {b.t}"
        return a, b

    def rounded(self, v, carried, times=1):
        """`v` with what its operands' errors and `times` roundings make of it. Whole numbers come out
        of whole numbers exactly, and infinity or NaN of what is certain is certain."""
        eps = epsilon(self.t)
        exact = (carried == 0) & (np.abs(v) <= 2 / eps) & (v == np.rint(v))
        e = np.where(exact, 0, carried + times * (eps * np.abs(v) + least(self.t)))
        e = np.where(np.isfinite(v), e, np.where(np.isfinite(carried), 0, np.inf))
        return Val(self.t, v, np.where(np.isnan(e), np.inf, e).astype(WIDE))

    def __add__(self, x):
        a, b = self._pair(x)
        if not a.is_float:
            return Val(a.t, wrap(a.v + b.v, a.t))
        return a.rounded(a.v + b.v, a.e + b.e)

    def __neg__(self):
        a = self.number()
        return Val(a.t, -a.v, a.e) if a.is_float else Val(a.t, wrap(-a.v, a.t))

    def __sub__(self, x):
        a, b = self._pair(x)
        if not a.is_float:
            return Val(a.t, wrap(a.v - b.v, a.t))
        return a.rounded(a.v - b.v, a.e + b.e)

    def __mul__(self, x):
        a, b = self._pair(x)
        if not a.is_float:
            return Val(a.t, wrap(a.v * b.v, a.t))
        v = a.v * b.v

        def part(n, e):  # of an infinity beside what is certain, nothing
            return np.where(e == 0, 0, np.abs(n) * e)
        carried = part(a.v, b.e) + part(b.v, a.e) + part(a.e, b.e)
        unsure = ((a.e > 0) & (np.abs(a.v) <= a.e) & ~np.isfinite(b.v)) | \
                 ((b.e > 0) & (np.abs(b.v) <= b.e) & ~np.isfinite(a.v))
        carried = np.where(~np.isfinite(v) & (a.e < np.inf) & (b.e < np.inf) & ~unsure, 0, carried)
        out = a.rounded(v, np.where(unsure, np.inf, carried))
        if a.narrow and b.narrow:  # dot product instructions take denormals for zero
            normal = WIDE(2)**-126
            flushed = ((np.abs(a.v) < normal) & (a.v != 0)) | ((np.abs(b.v) < normal) & (b.v != 0))
            out.e = out.e + np.where(flushed, np.where(v == v, np.abs(v), 0), np.minimum(np.abs(v), normal))
            out.e = np.where(np.isnan(out.e), 0, np.where(np.isinf(v) & ~flushed, 0, out.e))
            out.narrow = True
        return out

    def __truediv__(self, x):
        a, b = self._pair(x)
        if not a.is_float:
            safe = np.where((b.v == 0) | (b.v == -1), 1, b.v)
            v = np.where(b.v == 0, 0, np.where(b.v == -1, wrap(-a.v, a.t), a.v // safe))
            return Val(a.t, v)
        v = a.v / b.v
        room = np.abs(b.v) - b.e
        carried = np.where((a.e == 0) & (b.e == 0), 0, (a.e + np.abs(v) * b.e) / np.where(room > 0, room, 1))
        carried = np.where(~np.isfinite(v) & (a.e < np.inf) & (b.e == 0), 0, carried)
        carried = np.where((b.e > 0) & ~(room > 0), np.inf, carried)
        return a.rounded(v, np.where(np.isnan(carried), np.inf, carried))

    def __mod__(self, x):
        a, b = self._pair(x)
        safe = np.where((b.v == 0) | (b.v == -1), 1, b.v)
        return Val(a.t, np.where((b.v == 0) | (b.v == -1), 0, a.v - safe * (a.v // safe)))

    # --- bits ---

    def _bits(self, x, f):
        a, b = self._pair(x)
        return Val(a.t, f(a.v, b.v))

    def __and__(self, x):
        return self._bits(x, np.bitwise_and)

    def __or__(self, x):
        return self._bits(x, np.bitwise_or)

    def __xor__(self, x):
        return self._bits(x, np.bitwise_xor)

    def __invert__(self):
        return Val(self.t, -1 - self.v)

    def __lshift__(self, x):
        return self._shifted(x, lambda v, n: v * 2**n, lambda v: 0)

    def __rshift__(self, x):
        return self._shifted(x, lambda v, n: v // 2**n, lambda v: -1 if v < 0 else 0)

    def _shifted(self, x, inside, outside):
        """By Python's integers, which have no width."""
        a, b = self._pair(x)
        width = 8 * size(a.t)

        def one(v, n):
            out = (inside(v, n) if 0 <= n < width else outside(v)) % 2**width
            return out - 2**width if out >= 2**(width - 1) else out
        v, n = np.broadcast_arrays(a.v, b.v)
        out = [one(int(i), int(k)) for i, k in zip(v.ravel(), n.ravel())]
        return Val(a.t, np.array(out, np.int64).reshape(v.shape))

    def minimum(self, x):
        return self._extreme(x, np.minimum)

    def maximum(self, x):
        return self._extreme(x, np.maximum)

    def _extreme(self, x, f):
        a, b = self._pair(x)
        return Val(a.t, f(a.v, b.v), np.maximum(a.e, b.e) if a.is_float else None)

    def compare(self, x, f):
        """A bool; operands must be certain."""
        both_bools = isinstance(x, Val) and self.t == x.t == "bool"
        a, b = (self, x) if both_bools else self._pair(x)
        return Val("bool", f(a.v, b.v))

    def where(self, a, b):
        """This bool chooses between two values."""
        e = np.where(self.v, a.e, b.e) if a.is_float else None
        return Val(a.t, np.where(self.v, a.v, b.v), e)

    def abs(self):
        a = self.number()
        return Val(a.t, np.abs(a.v), a.e) if a.is_float else Val(a.t, wrap(np.abs(a.v), a.t))

    # --- reductions, over one axis or several ---

    def sum(self, axis=None):
        a = self.number()
        if not a.is_float:
            return Val(a.t, wrap(np.sum(a.v, axis), a.t))
        v = np.sum(a.v, axis)
        terms = np.prod(a.v.shape, dtype=np.int64) // max(np.prod(np.shape(v), dtype=np.int64), 1)
        finite = np.where(np.isfinite(a.v), np.abs(a.v), 0)
        size, carried = np.sum(finite, axis), np.sum(a.e, axis)
        eps = epsilon(a.t)
        whole = np.all(a.v == np.rint(a.v), axis) & (carried == 0) & (size <= 2 / eps)
        loose = min(terms, 8 + 4 * np.sqrt(terms)) * (eps * size + least(a.t))
        e = np.where(whole, 0, carried + loose + (terms * WIDE(2)**-126 if a.narrow else 0))
        e = np.where(size > largest(a.t), np.inf, e)
        certain = np.isnan(v) | (size <= largest(a.t))
        return Val(a.t, v, np.where(~np.isfinite(v) & np.isfinite(carried) & certain, 0, e))

    def prefix_sums(self, axis):
        """Sums of the first elements, in this type: of floats each is rounded a few times more than one
        by one, as lanes of a vector add neighbours to one another first."""
        v = np.cumsum(self.v, axis)
        if not self.is_float:
            return Val(self.t, wrap(v, self.t))
        magnitude = np.where(np.isfinite(self.v), np.abs(self.v), 0)
        size, carried, eps = np.cumsum(magnitude, axis), np.cumsum(self.e, axis), epsilon(self.t)
        whole = np.logical_and.accumulate((self.v == np.rint(self.v)) & (self.e == 0), axis) & (size <= 2 / eps)
        totals = np.cumsum(np.where(np.isfinite(v), np.abs(v), 0), axis)
        steps = np.cumsum(np.ones(v.shape), axis)
        e = np.where(whole, 0, carried + eps * (totals + 4 * size) + steps * least(self.t))
        unsure = np.logical_or.accumulate(size > largest(self.t), axis)
        certain = ~np.isfinite(v) & np.isfinite(carried) & ~unsure
        return Val(self.t, v, np.where(certain, 0, np.where(unsure, np.inf, e)))

    def prod(self, axis):
        a = self.number()
        if not a.is_float:
            return Val(a.t, wrap(np.prod(a.v, axis), a.t))
        v = np.prod(a.v, axis)
        size = np.abs(a.v)
        # Products of some of the factors, in any order: the largest and the smallest.
        logs = np.log2(np.where((size > 0) & np.isfinite(size), size, 1))
        high, low = np.sum(np.maximum(logs, 0), axis), np.sum(np.minimum(logs, 0), axis)
        _, top, bottom = FLOATS[a.t]
        whole = np.all(a.v == np.rint(a.v), axis) & (2.0**high <= 2 / epsilon(a.t))
        e = np.where(whole, 0, a.v.shape[axis] * epsilon(a.t) * np.abs(v))
        e = np.where((high > top - 1) | (low < bottom + 1), np.inf, e)
        e = np.where(np.isnan(v) & np.any(np.isnan(a.v), axis), 0, e)
        return Val(a.t, v, np.where(np.sum(a.e, axis) > 0, np.inf, e))

    def max(self, axis):
        return self._most(axis, np.max, -np.inf, 0)

    def min(self, axis):
        return self._most(axis, np.min, np.inf, 1)

    def _most(self, axis, f, empty, end):
        a = self.number()
        if a.is_float:
            return Val(a.t, f(a.v, axis, initial=WIDE(empty)), np.max(a.e, axis, initial=0))
        return Val(a.t, f(a.v, axis, initial=INTS[a.t][end]))

    def arg(self, axis, sign):
        """The lowest index of the greatest (sign 1) or least (-1); NaN is either."""
        a = self.number()
        if a.v.shape[axis] == 0:
            return Val("i64", np.full(np.delete(a.v.shape, axis), 2**63 - 1))
        best = a.max(axis) if sign > 0 else a.min(axis)
        here = a.v == np.expand_dims(best.v, axis)
        if a.is_float:
            here |= np.isnan(a.v)
        return Val("i64", np.argmax(here, axis))

    def any(self, axis):
        return Val("bool", np.any(self.v, axis))

    def all(self, axis):
        return Val("bool", np.all(self.v, axis))

    # --- conversions ---

    def cast(self, t):
        """As `cast<t>(x)` has it, seen as a program sees a value of that type."""
        if t == "bool":
            return Val("bool", self.v != 0)
        if t in FLOATS:
            v, e = self.v.astype(WIDE), self.e if self.is_float else None
            near = round_to(v, t)
            if e is not None:
                # What overflows at one end of its bound and not at the other may be anything from here on.
                low, high = round_to(v - e, t), round_to(v + e, t)
                torn = (np.isinf(low) | np.isinf(high)) & (low != high) & np.isfinite(v)
                e = np.where(e == 0, 0, e + epsilon(t) * np.abs(v) + least(t))
                e = np.where(torn, WIDE(np.inf), e)
            return Val(widened(t), near, e)
        if not self.is_float:
            return Val(widened(t), wrap(self.v.astype(np.int64), t))
        low, high = INTS[t]
        v = np.where(np.isnan(self.v), WIDE(0), np.trunc(self.v))
        inside = np.clip(v, WIDE(low), WIDE(high))
        return Val(widened(t), inside.astype(np.int64))

    def stored(self, t):
        """What an element of type `t` may hold: the lowest and the highest value."""
        if t == "bool":
            return (self.v != 0,) * 2
        if t in INTS:
            v = wrap(self.v.astype(np.int64), t)
            return v, v
        with np.errstate(all="ignore"):
            low = np.where(self.e == 0, self.v, self.v - self.e)
            high = np.where(self.e == 0, self.v, self.v + self.e)
            anything = ~(self.e < np.inf)
            low, high = round_to(low, t), round_to(high, t)
        return np.where(anything, -np.inf, low), np.where(anything, np.inf, high)
