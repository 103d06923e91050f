"""series - functions that no finite fraction gives, to 2^-160 and better, by integers alone.

They serve the approximate instructions: the expected value is the exact one, rounded to nearest, and a row says how
far from it a result may lie.
"""
from fractions import Fraction

BITS = 256
ONE = 1 << BITS


def fixed(v):
    return (v.numerator << BITS) // v.denominator


def exp_fixed(x):
    """e^x of a small fixed-point number, by its power series."""
    term = total = ONE
    n = 1
    while term:
        term = term * x // (n << BITS)
        total += term
        n += 1
        if abs(term) <= 1:
            break
    return total


def log_fixed(v):
    """ln v of a Fraction in [1/2, 2]: 2 artanh((v - 1) / (v + 1))."""
    z = fixed((v - 1) / (v + 1))
    square = z * z >> BITS
    term, total, n = z, 0, 1
    while abs(term) > 1:
        total += term // n
        term = term * square >> BITS
        n += 2
    return 2 * total


LN2 = log_fixed(Fraction(2))


def exp2(v):
    whole = v.numerator // v.denominator
    rest = fixed(v - whole)
    return Fraction(exp_fixed(rest * LN2 >> BITS), ONE) * Fraction(2) ** whole


def log2(v):
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return Fraction(log_fixed(v / Fraction(2) ** e), LN2) + e


def atan_inverse(n):
    """arctan(1 / n)"""
    term, total, k, sign = ONE // n, 0, 1, 1
    while term:
        total += sign * (term // k)
        term //= n * n
        k, sign = k + 2, -sign
    return total


PI = 4 * (4 * atan_inverse(5) - atan_inverse(239))


def sin_cos(v):
    """Of a Fraction, of any size that single precision has."""
    # as many more bits of pi as the number has before its point would be needed; turns are cut to one by exact halving
    x = fixed(v)
    turn = 2 * PI
    x -= (x // turn) * turn
    sin, cos, term, n = 0, 0, ONE, 0
    while abs(term) > 1 or n < 8:
        if n % 2:
            sin += term if n % 4 == 1 else -term
        else:
            cos += term if n % 4 == 0 else -term
        n += 1
        term = term * x // (n << BITS)
    return Fraction(sin, ONE), Fraction(cos, ONE)


def tanh(v):
    if abs(v) > 64:
        return Fraction(1 if v > 0 else -1)
    a = exp2(2 * v * Fraction(ONE, LN2))
    return (a - 1) / (a + 1)
