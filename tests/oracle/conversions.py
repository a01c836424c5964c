# SPDX-License-Identifier: Apache-2.0
"""Values of floats, known up to an error, as integers: whatever the error leaves room for may come out."""
import numpy as np

from values import FLOATS, INTS, WIDE, Val, epsilon


def ends(low, high, x, t, anything=False):
    """The least and greatest value of type `t` that conversions of what is between `low` and `high` give,
    where `x` is known to its error."""
    anything = ~(x.e < np.inf) | anything
    low, high = (Val(x.t, v).cast(t).v for v in (low, high))
    if t == "bool":
        unsure = anything | (low != high) | ((x.e > 0) & (x.v - x.e <= 0) & (x.v + x.e >= 0))
        return low & ~unsure, high | unsure
    least, greatest = INTS.get(t, (-np.inf, np.inf))
    return np.where(anything, least, low), np.where(anything, greatest, high)


class Converted:
    """A value of floats converted to type `t`."""

    def __init__(self, x, t):
        self.x, self.t = x.number(), t

    def stored(self, t):
        assert t == self.t
        if t in FLOATS:
            return self.x.cast(t).stored(t)
        with np.errstate(all="ignore"):
            return ends(self.x.v - self.x.e, self.x.v + self.x.e, self.x, t)


def either(x, t):
    """x in float type `t`, or as exact as the definition may have it."""
    near = x.cast(t)
    exact = x.v.astype(WIDE)
    return Val(near.t, near.v, near.e + np.where(np.isfinite(exact), np.abs(near.v - exact), 0))


class Rounded(Converted):
    """The same of the nearest whole number, plus `more`, not below `low`: at halves either is nearest."""

    def __init__(self, x, t, more=None, low=None):
        super().__init__(x, t)
        self.more, self.low = more, low

    def stored(self, t):
        with np.errstate(all="ignore"):
            lost = [~(z.e < np.inf) for z in (self.more, self.low) if z is not None]
            return ends(self.rounded(-1), self.rounded(1), self.x, t, np.any(np.broadcast_arrays(False, *lost), 0))

    def rounded(self, sign):
        """The least (-1) or the greatest (1) that it may be."""
        v, eps = np.rint(self.x.v + sign * self.x.e), epsilon(self.x.t)
        if self.more is not None:
            v = v + self.more.v + sign * self.more.e
            v = v + sign * np.where(np.isfinite(v) & ((np.abs(v) * eps >= 1) | (v != np.rint(v))), eps * np.abs(v), 0)
        return v if self.low is None else np.maximum(v, self.low.v + sign * self.low.e)


class Shifted:
    """u8 of round(x) + z, where z lies between two numbers."""

    def __init__(self, x, low, high):
        self.x, self.low, self.high = x, low, high

    def stored(self, t):
        with np.errstate(all="ignore"):
            low, high = (np.rint(self.x.v + sign * self.x.e) + z for sign, z in ((-1, self.low), (1, self.high)))
            return ends(low, high, self.x, t)
