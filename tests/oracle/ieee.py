"""ieee - binary floating point by its definition (IEEE 754-2019), on bits and exact rationals.

The one idea: a finite number is a Fraction, an operation is done exactly, and the result is rounded once.
The host's floats are never used, and nothing here was made by reading the interpreter that it judges.
What IEEE 754 leaves to the maker (which NaN, when a tiny result counts as tiny) is what an H200 was seen
to do: doc/emulated-device.md lists it.
"""
from fractions import Fraction
from math import isqrt

RN, RZ, RM, RP = "rn", "rz", "rm", "rp"


def round_int(v, mode):
    """The integer that a Fraction is rounded to; ties to even."""
    down = v.numerator // v.denominator
    rest = v - down
    if rest == 0 or mode == RM:
        return down
    if mode == RP:
        return down + 1
    if mode == RZ:
        return down if v > 0 else down + 1
    if rest == Fraction(1, 2):
        return down + (down & 1)
    return down + (rest > Fraction(1, 2))


def log2_floor(v):
    """The exponent e with 2^e <= v < 2^(e + 1), of a Fraction above 0."""
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if v >= Fraction(2) ** e else e - 1


class Format:
    """A binary interchange format: one sign bit, exp bits of exponent, man bits of fraction.

    Operations take and give bits. nan: the pattern that arithmetic makes; None: operands' NaNs are passed on,
    and an invalid operation gives the negative quiet one without payload.
    """

    def __init__(self, name, exp, man, nan=None):
        self.name, self.exp, self.man, self.nan = name, exp, man, nan
        self.bits = 1 + exp + man
        self.bias = (1 << (exp - 1)) - 1
        self.inf = ((1 << exp) - 1) << man
        self.sign = 1 << (exp + man)
        self.one = self.bias << man
        self.least_normal = Fraction(2) ** (1 - self.bias)
        self.quiet = 1 << (man - 1)
        self.largest = self.inf - 1

    # ---- what bits are ----
    def is_nan(self, b):
        return b & ~self.sign > self.inf

    def is_inf(self, b):
        return b & ~self.sign == self.inf

    def is_zero(self, b):
        return b & ~self.sign == 0

    def is_subnormal(self, b):
        return 0 < b & ~self.sign < 1 << self.man

    def is_negative(self, b):
        return bool(b & self.sign)

    def value(self, b):
        """The number, as a Fraction; not of NaN and infinity."""
        exp, man = b >> self.man & (1 << self.exp) - 1, b & (1 << self.man) - 1
        if exp:
            man += 1 << self.man
        else:
            exp = 1
        v = man * Fraction(2) ** (exp - self.bias - self.man)
        return -v if self.is_negative(b) else v

    # ---- rounding ----
    def zero(self, negative=False):
        return self.sign if negative else 0

    def infinity(self, negative=False):
        return self.inf | self.zero(negative)

    def flush(self, b):
        return b & self.sign if self.is_subnormal(b) else b

    def round(self, v, mode=RN, zero_negative=False, ftz=False):
        """Bits of an exact result. zero_negative: which zero an exact 0 is. ftz: tiny, as rounded without
        limit to its exponent, becomes zero of its sign."""
        if v == 0:
            return self.zero(zero_negative)
        negative, mag = v < 0, abs(v)
        toward = {RM: RP, RP: RM}.get(mode, mode) if negative else mode
        e = log2_floor(mag)
        if ftz:
            free = round_int(mag / Fraction(2) ** (e - self.man), toward) * Fraction(2) ** (e - self.man)
            if free < self.least_normal:
                return self.zero(negative)
        e = max(e, 1 - self.bias)
        n = round_int(mag / Fraction(2) ** (e - self.man), toward)
        out = n if n < 1 << self.man else n + ((e + self.bias - 1) << self.man)
        if out >= self.inf:
            out = self.inf if toward in (RN, RP) else self.largest
        return out | self.zero(negative)

    # ---- NaNs ----
    def nan_from(self, *operands):
        """The NaN of an operation: the first of the operands, in the order of their right to be the result."""
        if self.nan is not None:
            return self.nan
        for b in operands:
            if self.is_nan(b):
                return b | self.quiet
        return self.sign | self.inf | self.quiet

    # ---- arithmetic ----
    def done(self, b, ftz=False, sat=False):
        """.sat to [0, 1], a NaN to +0; then .ftz."""
        if sat:
            if self.is_nan(b) or self.is_negative(b):
                return 0
            b = min(b, self.one)
        return self.flush(b) if ftz else b

    def in_all(self, ftz, *operands):
        return [self.flush(b) for b in operands] if ftz else list(operands)

    def add(self, a, b, mode=RN, ftz=False, sat=False):
        a, b = self.in_all(ftz, a, b)
        return self.done(self._add(a, b, mode), ftz, sat)

    def sub(self, a, b, mode=RN, ftz=False, sat=False):
        return self.add(a, b if self.is_nan(b) else b ^ self.sign, mode, ftz, sat)

    def _add(self, a, b, mode):
        if self.is_nan(a) or self.is_nan(b):
            return self.nan_from(b, a)
        if self.is_inf(a) or self.is_inf(b):
            if self.is_inf(a) and self.is_inf(b) and a != b:
                return self.nan_from()
            return a if self.is_inf(a) else b
        if self.is_zero(a) and self.is_zero(b):
            return self.zero(self._zero_of_sum(self.is_negative(a), self.is_negative(b), mode))
        return self.round(self.value(a) + self.value(b), mode, mode == RM)

    @staticmethod
    def _zero_of_sum(a_negative, b_negative, mode):
        return a_negative if a_negative == b_negative else mode == RM

    def mul(self, a, b, mode=RN, ftz=False, sat=False):
        a, b = self.in_all(ftz, a, b)
        negative = self.is_negative(a) != self.is_negative(b)
        if self.is_nan(a) or self.is_nan(b):
            r = self.nan_from(b, a)
        elif self.is_inf(a) or self.is_inf(b):
            r = self.nan_from() if self.is_zero(a) or self.is_zero(b) else self.infinity(negative)
        else:
            r = self.round(self.value(a) * self.value(b), mode, negative, ftz)
        return self.done(r, ftz, sat)

    def div(self, a, b, mode=RN, ftz=False):
        a, b = self.in_all(ftz, a, b)
        negative = self.is_negative(a) != self.is_negative(b)
        if self.is_nan(a) or self.is_nan(b):
            r = self.nan_from(a, b)
        elif self.is_inf(a) or self.is_inf(b):
            both = self.is_inf(a) and self.is_inf(b)
            r = self.nan_from() if both else self.infinity(negative) if self.is_inf(a) else self.zero(negative)
        elif self.is_zero(b):
            r = self.nan_from() if self.is_zero(a) else self.infinity(negative)
        else:
            r = self.round(self.value(a) / self.value(b), mode, negative, ftz)
        return self.done(r, ftz)

    def fma(self, a, b, c, mode=RN, ftz=False, sat=False):
        a, b, c = self.in_all(ftz, a, b, c)
        negative = self.is_negative(a) != self.is_negative(b)
        if self.is_nan(a) or self.is_nan(b) or self.is_nan(c):
            r = self.nan_from(b, c, a)
        elif self.is_inf(a) or self.is_inf(b):
            if self.is_zero(a) or self.is_zero(b) or (self.is_inf(c) and self.is_negative(c) != negative):
                r = self.nan_from()
            else:
                r = self.infinity(negative)
        elif self.is_inf(c):
            r = c
        else:
            exact = self.value(a) * self.value(b) + self.value(c)
            if self.value(a) * self.value(b) == 0 and self.is_zero(c):
                r = self.zero(self._zero_of_sum(negative, self.is_negative(c), mode))
            else:
                r = self.round(exact, mode, mode == RM, ftz)
        return self.done(r, ftz, sat)

    def sqrt(self, a, mode=RN, ftz=False):
        (a,) = self.in_all(ftz, a)
        if self.is_nan(a) or (self.is_negative(a) and not self.is_zero(a)):
            return self.nan_from(a) if self.is_nan(a) else self.nan_from()
        if self.is_inf(a) or self.is_zero(a):
            return a
        return self.done(self.round(sqrt_near(self.value(a)), mode), ftz)

    # ---- sign, order ----
    def signed(self, a, b):
        """abs and neg are operations, too: of a NaN they give what others give."""
        return self.nan_from(a) if self.is_nan(a) else b

    def abs(self, a, ftz=False):
        (a,) = self.in_all(ftz, a)
        return self.signed(a, a & ~self.sign)

    def neg(self, a, ftz=False):
        (a,) = self.in_all(ftz, a)
        return self.signed(a, a ^ self.sign)

    def less(self, a, b):
        return self.value_or_inf(a) < self.value_or_inf(b)

    def value_or_inf(self, b):
        if self.is_inf(b):
            return (-1 if self.is_negative(b) else 1) * Fraction(2) ** (2 * self.bias)
        return self.value(b)

    def minmax(self, a, b, largest, nan=False, ftz=False):
        """-0 is below 0; of a number and a NaN the number, but with nan the NaN."""
        a, b = self.in_all(ftz, a, b)
        if self.is_nan(a) or self.is_nan(b):
            if nan or (self.is_nan(a) and self.is_nan(b)):
                return self.nan_from(b, a)
            return b if self.is_nan(a) else a
        if self.is_zero(a) and self.is_zero(b):
            return a & b if largest else a | b
        return a if self.less(a, b) != largest else b

    def compare(self, op, a, b, ftz=False):
        a, b = self.in_all(ftz, a, b)
        unordered = self.is_nan(a) or self.is_nan(b)
        if op in ("num", "nan"):
            return unordered == (op == "nan")
        if unordered:
            return len(op) == 3
        x, y = self.value_or_inf(a), self.value_or_inf(b)
        return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[op[:2]]

    # ---- conversion ----
    def from_int(self, v, mode=RN):
        return self.round(Fraction(v), mode)

    def to_integral(self, a, mode):
        """A float rounded to an integer, as a float of the same sign."""
        if self.is_nan(a) or self.is_inf(a):
            return self.nan_from(a) if self.is_nan(a) else a
        return self.round(Fraction(round_int(self.value(a), mode)), RN, self.is_negative(a))

    def to_int(self, a, bits, signed, mode, nan):
        """Saturates; a NaN is what the caller says."""
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if self.is_nan(a):
            return nan
        if self.is_inf(a):
            return low if self.is_negative(a) else high
        return min(max(round_int(self.value(a), mode), low), high)

    def convert(self, a, to, mode=RN, ftz=False):
        """To another format; NaNs apart."""
        if self.is_inf(a):
            return to.infinity(self.is_negative(a))
        return to.round(self.value(a), mode, self.is_negative(a), ftz)


def sqrt_near(v, bits=200):
    """A Fraction on the same side of every rounding boundary as the root of v: exact, or cut and made odd."""
    shift = bits + max(0, -log2_floor(v))
    n = (v.numerator << 2 * shift) // v.denominator
    root = isqrt(n)
    exact = root * root == n and n * v.denominator == v.numerator << 2 * shift
    return Fraction(2 * root + (not exact), 2 << shift)


F16 = Format("f16", 5, 10, 0x7FFF)
BF16 = Format("bf16", 8, 7, 0x7FFF)
F32 = Format("f32", 8, 23, 0x7FFFFFFF)
F64 = Format("f64", 11, 52)
