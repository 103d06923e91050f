"""forms_convert - cvt between all types: integers cut or saturated, floats rounded once from the exact value.

A source is a register of at least its type's width, whose upper bits do not count; a result of 8 bits lies in 32, extended as its
type says. What NaNs become is hardware's choice: an integer of 0, or the top bit where 64 bits are on either side.
"""
from forms_int import signed
from ieee import BF16, F16, F32, F64, RM, RN, RP, RZ

INTEGERS = [kind + width for width in ("8", "16", "32", "64") for kind in "us"]
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}
MODES = (RN, RZ, RM, RP)


def bits_of(t):
    return FORMATS[t].bits if t in FORMATS else int(t[1:])


def register(t):
    return f"b{max(bits_of(t), 32) if bits_of(t) == 8 else bits_of(t)}"


def value(t):
    bits = bits_of(t)
    return (lambda a: signed(a, bits)) if t[0] == "s" else lambda a: a % (1 << bits)


def limits(t):
    bits = bits_of(t)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)


def cut(v, t):
    return signed(v, bits_of(t)) if t[0] == "s" else v % (1 << bits_of(t))


def integers(add):
    for to in INTEGERS:
        for of in INTEGERS:
            column, val, (low, high), (least, most) = (f"i{of[1:]}",), value(of), limits(to), limits(of)
            add(f"cvt.{to}.{of}", "{} d, a", column, lambda a, v=val, t=to: cut(v(a), t), register(to))
            if low <= least and most <= high:
                continue  # nothing to saturate: no such form
            add(f"cvt.sat.{to}.{of}", "{} d, a", column, lambda a, v=val, lo=low, hi=high: min(max(v(a), lo), hi), register(to))


def from_integers(add):
    for name, f in FORMATS.items():
        for of in INTEGERS[2:] if f is BF16 else INTEGERS:
            for mode in MODES:
                for words in ("", ".sat", ".ftz", ".sat.ftz")[:1 if f is BF16 else 4 if f is F32 else 2]:
                    sat = "sat" in words
                    add(f"cvt.{mode}{words}.{name}.{of}", "{} d, a", (f"i{of[1:]}",),
                        lambda a, f=f, v=value(of), m=mode, s=sat: f.done(f.from_int(v(a), m), False, s), register(name))


def to_integers(add):
    for name, f in FORMATS.items():
        for to in INTEGERS[2:] if f is BF16 else INTEGERS:
            wide = f is F64 or bits_of(to) == 64
            nan = cut(1 << bits_of(to) - 1, to) if wide else 0
            for mode in MODES:
                for words in ("", ".ftz", ".sat", ".ftz.sat") if f is F32 else ("", ".sat")[:1 if f is BF16 else 2]:
                    add(f"cvt.{mode}i{words}.{to}.{name}", "{} d, a", (f"{name}.cvt",),
                        lambda a, f=f, to=to, m=mode, n=nan, z="ftz" in words: f.to_int(
                            f.flush(a) if z else a, bits_of(to), to[0] == "s", m, n), register(to))


def nan_between(f, to, a, plain):
    """What is left of a NaN. plain: neither rounded to an integer nor flushed; then a float or double that stays one is only moved."""
    if f is to and plain:
        return a if f in (F32, F64) else to.nan
    # of a double, and of a half that becomes one: quiet, with the top of what it carries
    if f is F64 or (f is F16 and to is F64):
        carried = a & (1 << f.man) - 1
        carried = carried >> f.man - to.man if f.man > to.man else carried << to.man - f.man
        return to.zero(f.is_negative(a)) | to.inf | to.quiet | carried
    if to in (F16, BF16):
        return to.nan
    if f is to:
        return F32.nan
    # the other narrow format is the upper half of a single, and a half has lost what it carried there
    single = F32.nan if f is F16 or not plain else a << 16 if f is BF16 else a
    if to is F32:
        return single
    return (single & F32.sign) << 32 | 0x7FF << 52 | (single & (1 << 23) - 1 | F32.quiet) << 29


def float_to_float(f, to, mode, ftz, sat, integral):
    def give(a):
        if ftz and f is F32 and to is not F16:  # a half is made of what is there
            a = f.flush(a)
        if f.is_nan(a):
            return 0 if sat else nan_between(f, to, a, not ftz and not integral)
        if integral:
            a = f.to_integral(a, mode)
        r = f.convert(a, to, mode, ftz and to is F32)
        return to.done(r, ftz and to is F32, sat)
    return give


def floats(add):
    for of, f in FORMATS.items():
        for to, g in FORMATS.items():
            single = F32 in (f, g)
            flags = [z + s for z in ("", ".ftz")[:1 + single] for s in ("", ".sat")[:1 if BF16 in (f, g) else 2]]
            if f is g:
                modes = [("", RN)] + [(f".{m}i", m) for m in MODES]
            elif g.man < f.man or g.exp < f.exp:
                modes = [(f".{m}", m) for m in MODES]
            else:
                modes = [("", RN)]
            for word, mode in modes:
                for words in flags:
                    add(f"cvt{word}{words}.{to}.{of}", "{} d, a", (f"{of}.cvt",),
                        float_to_float(f, g, mode, "ftz" in words, "sat" in words, word.endswith("i")), register(to))


def forms(add):
    integers(add)
    from_integers(add)
    to_integers(add)
    floats(add)
