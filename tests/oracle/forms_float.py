"""forms_float - floating-point arithmetic: ieee.py's exact operations in every rounding, with .ftz and .sat where PTX has them."""
from fractions import Fraction

import series
from ieee import F32, F64, RM, RN, RP, RZ

MODES = (RN, RZ, RM, RP)


def suffixes():
    """.ftz and .sat of single precision."""
    for ftz in (False, True):
        for sat in (False, True):
            yield (".ftz" if ftz else "") + (".sat" if sat else ""), ftz, sat


def add_arithmetic(add):
    two, three = ("f32.a", "f32.b"), ("f32.a", "f32.b", "f32.c")
    for mode in MODES:
        for words, ftz, sat in suffixes():
            for op in ("add", "sub", "mul"):
                add(f"{op}.{mode}{words}.f32", "{} d, a, b", two,
                    lambda a, b, f=getattr(F32, op), m=mode, z=ftz, s=sat: f(a, b, m, z, s))
            for op in ("fma", "mad"):
                add(f"{op}.{mode}{words}.f32", "{} d, a, b, c", three,
                    lambda a, b, c, m=mode, z=ftz, s=sat: F32.fma(a, b, c, m, z, s))
        for op in ("add", "sub", "mul", "div"):
            add(f"{op}.{mode}.f64", "{} d, a, b", ("f64.a", "f64.b"), lambda a, b, f=getattr(F64, op), m=mode: f(a, b, m), "b64")
        for op in ("fma", "mad"):
            add(f"{op}.{mode}.f64", "{} d, a, b, c", ("f64.a", "f64.b", "f64.c"), lambda a, b, c, m=mode: F64.fma(a, b, c, m), "b64")
        for words, ftz, sat in suffixes():
            if sat:
                continue
            add(f"div.{mode}{words}.f32", "{} d, a, b", two, lambda a, b, m=mode, z=ftz: F32.div(a, b, m, z))
            add(f"rcp.{mode}{words}.f32", "{} d, a", ("f32",), lambda a, m=mode, z=ftz: F32.div(F32.one, a, m, z))
            add(f"sqrt.{mode}{words}.f32", "{} d, a", ("f32",), lambda a, m=mode, z=ftz: F32.sqrt(a, m, z))
        add(f"rcp.{mode}.f64", "{} d, a", ("f64",), lambda a, m=mode: F64.div(F64.one, a, m), "b64")
        add(f"sqrt.{mode}.f64", "{} d, a", ("f64",), lambda a, m=mode: F64.sqrt(a, m), "b64")
    # what rounds to nearest when nothing is written
    for op in ("add", "sub", "mul"):
        add(f"{op}.f32", "{} d, a, b", two, getattr(F32, op))
        add(f"{op}.f64", "{} d, a, b", ("f64.a", "f64.b"), getattr(F64, op), "b64")


def add_signs(add):
    for f in (F32, F64):
        n, out = f.name, f"b{f.bits}"
        for words, ftz in (("", False), (".ftz", True))[:2 if f is F32 else 1]:
            add(f"abs{words}.{n}", "{} d, a", (n,), lambda a, f=f, z=ftz: f.abs(a, z), out)
            add(f"neg{words}.{n}", "{} d, a", (n,), lambda a, f=f, z=ftz: f.neg(a, z), out)
            for nan in (False, True)[:2 if f is F32 else 1]:
                for op in ("min", "max"):
                    add(f"{op}{words}{'.NaN' if nan else ''}.{n}", "{} d, a, b", (f"{n}.a", f"{n}.b"),
                        lambda a, b, f=f, op=op, nan=nan, z=ftz: f.minmax(a, b, op == "max", nan, z), out)
        add(f"copysign.{n}", "{} d, a, b", (f"{n}.a", f"{n}.b"), lambda a, b, f=f: a & f.sign | b & ~f.sign, out)
        tests = {"finite": lambda b, f: not f.is_nan(b) and not f.is_inf(b), "infinite": lambda b, f: f.is_inf(b),
                 "number": lambda b, f: not f.is_nan(b), "notanumber": lambda b, f: f.is_nan(b), "subnormal": lambda b, f: f.is_subnormal(b),
                 # a zero is normal, on hardware
                 "normal": lambda b, f: not (f.is_nan(b) or f.is_inf(b) or f.is_subnormal(b))}
        for name, test in tests.items():
            add(f"testp.{name}.{n}", "{} p, a", (n,), lambda a, f=f, test=test: test(a, f), "pred")


TABLE = "a table and an interpolation in hardware, a correctly rounded or library function here: PTX allows this much"
DIVISION = "by the reciprocal in hardware; PTX allows 2 ulp; beyond 2^126 the divisor's reciprocal is flushed and the quotient 0"
TURNS = ("PTX allows an absolute error of 2^-20.5 in [-pi, pi]; the angle is first brought to turns in single precision, truncated, "
         "so that the value expected for a large one is that of this angle")
LOGARITHM = "PTX allows 2^-22 absolute near 1 and 2^-22 relative elsewhere"
UPPER = "hardware gives the upper 32 bits of a result that is right to 2^-20"


def of_real(f, function, domain=None):
    """An approximation's expected value: the exact function of a finite value, rounded to nearest."""
    def give(a):
        v = f.value(a)
        return f.nan_from() if domain and not domain(v) else f.round(function(v), RN, f.is_negative(a))
    return give


def flushed(ftz, f, give):
    return lambda a: f.done(give(f.flush(a) if ftz else a), ftz)


def rsqrt(f):
    def give(a):
        if f.is_nan(a):
            return f.nan_from(a)
        if f.is_zero(a):
            return f.infinity(f.is_negative(a))
        if f.is_negative(a):
            return f.nan_from()
        if f.is_inf(a):
            return 0
        return f.round(1 / sqrt_of(f.value(a)), RN)
    return give


def sqrt_of(v):
    from ieee import sqrt_near
    return sqrt_near(v)


def turns(a):
    """The angle that the instruction sees, as a Fraction of whole turns: a times 1 / (2 pi) in single precision, truncated; below the
    least normal number nothing."""
    factor = F32.round(Fraction(series.ONE, 2 * series.PI))
    return F32.value(F32.mul(a, factor, RZ, True))


def sine(which):
    def give(a):
        if F32.is_nan(a) or F32.is_inf(a):
            return F32.nan_from()
        t = turns(a)
        t -= int(t)
        return F32.round(series.sin_cos(t * 2 * Fraction(series.PI, series.ONE))[which], RN, which == 0 and F32.is_negative(a))
    return give


def log2(a):
    if F32.is_nan(a) or (F32.is_negative(a) and not F32.is_zero(a)):
        return F32.nan_from()
    if F32.is_zero(a):
        return F32.infinity(True)
    return a if F32.is_inf(a) else F32.round(series.log2(F32.value(a)))


def exp2(a):
    if F32.is_nan(a):
        return F32.nan_from()
    if F32.is_inf(a):
        return 0 if F32.is_negative(a) else a
    v = F32.value(a)
    return F32.round(series.exp2(max(min(v, Fraction(1000)), Fraction(-1000))))


def tanh(a):
    if F32.is_nan(a):
        return F32.nan_from()
    if F32.is_inf(a):
        return F32.one | a & F32.sign
    # so small that it is its own tangent
    v = F32.value(a)
    return a if abs(v) < Fraction(1, 1 << 20) else F32.round(series.tanh(v))


def div_near(a, b, ftz):
    if ftz:
        a, b = F32.flush(a), F32.flush(b)
    if not (F32.is_nan(a) or F32.is_nan(b) or F32.is_inf(b)) and abs(F32.value(b)) > Fraction(2) ** 126:
        return F32.nan_from() if F32.is_inf(a) else F32.zero(F32.is_negative(a) != F32.is_negative(b))
    return F32.done(F32.div(a, b), ftz)


def upper(b):
    """Only the upper half is read and given; a subnormal is zero, and a NaN without a bit there an infinity."""
    b = b >> 32 << 32
    return 0x7FFFFFFF00000000 if F64.is_nan(b) else F64.flush(b)


def add_approximations(add):
    for words, ftz in (("", False), (".ftz", True)):
        two = ("f32.a", "f32.b")
        add(f"div.approx{words}.f32", "{} d, a, b", two, lambda a, b, z=ftz: div_near(a, b, z), ulp=2, why=DIVISION)
        add(f"div.full{words}.f32", "{} d, a, b", two, lambda a, b, z=ftz: F32.div(a, b, RN, z), ulp=2, why=TABLE)
        for name, give, bound in (
                ("rcp", lambda a: F32.div(F32.one, a), dict(ulp=1, why=TABLE)),
                ("sqrt", F32.sqrt, dict(ulp=1, why=TABLE)),
                ("rsqrt", rsqrt(F32), dict(ulp=2, why=TABLE)),
                ("sin", sine(0), dict(ulp=2, absolute=Fraction(1, 1 << 21), why=TURNS)),
                ("cos", sine(1), dict(ulp=2, absolute=Fraction(1, 1 << 21), why=TURNS)),
                ("lg2", log2, dict(ulp=2, absolute=Fraction(1, 1 << 22), why=LOGARITHM)),
                ("ex2", exp2, dict(ulp=2, why=TABLE))):
            add(f"{name}.approx{words}.f32", "{} d, a", ("f32",), flushed(ftz, F32, give), **bound)
    add("tanh.approx.f32", "{} d, a", ("f32",), tanh, ulp=2, why="PTX allows 2^-11 relative; here it is the library's")
    # one unit of the upper half
    add("rcp.approx.ftz.f64", "{} d, a", ("f64",), lambda a: upper(F64.div(F64.one, upper(a))), "b64", ulp=1 << 32, why=UPPER)
    add("rsqrt.approx.ftz.f64", "{} d, a", ("f64",), lambda a: upper(rsqrt(F64)(upper(a))), "b64", ulp=1 << 32, why=UPPER)
    add("rsqrt.approx.f64", "{} d, a", ("f64",), rsqrt(F64), "b64", ulp=2, why=TABLE)


def forms(add):
    add_arithmetic(add)
    add_signs(add)
    add_approximations(add)
