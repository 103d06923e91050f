"""forms_half - half precision and bfloat, one and two of them: arithmetic, comparison, and what floats of 8, 16 and 19 bits are made of."""
from fractions import Fraction

from columns import COLUMNS, column, spread
from forms_compare import COMBINE, FLOATS
from forms_compare import comparisons as other_comparisons
from forms_memory import CLUSTER
from ieee import BF16, F16, F32, Format

E5M2 = Format("e5m2", 5, 2, 0x7F)
TF32 = Format("tf32", 8, 10)
WHY = "an approximation by the unit for functions: PTX allows a relative error of 2^-9.9 for halves, 2^-7 for bfloats"


def pairs_of(f):
    """Two columns make one of pairs: each value meets another one above it."""
    for k in "abc":
        low = COLUMNS[f"{f.name}.{k}"][1]
        column(f"{f.name}x2.{k}", 32, [v | low[(i * 7 + 3) % len(low)] << 16 for i, v in enumerate(low)])
    one = COLUMNS[f.name][1]
    column(f"{f.name}x2", 32, [v | one[(i * 5 + 1) % len(one)] << 16 for i, v in enumerate(one)])
    column(f"{f.name}x2.fa", 32, spread(COLUMNS[f"{f.name}x2.a"][1], 24))
    column(f"{f.name}x2.fb", 32, spread(COLUMNS[f"{f.name}x2.b"][1], 24))


def both(op):
    """The same for the low and for the high halves."""
    def two(*v):
        return op(*(x & 0xFFFF for x in v)) | op(*(x >> 16 for x in v)) << 16
    return two


def relu(f, bits):
    return 0 if not f.is_nan(bits) and f.is_negative(bits) else bits


def xorsign(f, a, b, largest, nan, ftz):
    a, b = f.in_all(ftz, a, b)
    r = f.minmax(a & ~f.sign, b & ~f.sign, largest, nan)
    return r if f.is_nan(r) else r | (a ^ b) & f.sign


def halved(op, f, ftz, sat):
    """fma and its like, the flush as the interpreter's manual has it: tiny as rounded with no limit to the exponent."""
    return lambda *v: op(*v, ftz=ftz, sat=sat)


def arithmetic(add):
    for f in (F16, BF16):
        flags = [("", 0, 0), (".ftz", 1, 0), (".sat", 0, 1), (".ftz.sat", 1, 1)] if f is F16 else [("", 0, 0)]
        for name, op, cols in (("add", f.add, "ab"), ("sub", f.sub, "ab"), ("mul", f.mul, "ab"), ("fma", f.fma, "abc")):
            rnd = ".rn" if name == "fma" else ""
            text = "{} d, " + ", ".join(cols)
            for words, ftz, sat in flags:
                each(add, f, f"{name}{rnd}{words}", text, cols, halved(op, f, ftz, sat))
        for words, ftz, _ in flags[:2]:
            each(add, f, f"fma.rn{words}.relu", "{} d, a, b, c", "abc", lambda a, b, c, f=f, z=ftz: relu(f, f.fma(a, b, c, ftz=z)))
            each(add, f, f"abs{words}", "{} d, a", "", lambda a, f=f, z=ftz: f.abs(a, z))
            each(add, f, f"neg{words}", "{} d, a", "", lambda a, f=f, z=ftz: f.neg(a, z))
            for name in ("min", "max"):
                for nan in ("", ".NaN"):
                    each(add, f, f"{name}{words}{nan}", "{} d, a, b", "ab",
                         lambda a, b, f=f, n=name, m=bool(nan), z=ftz: f.minmax(a, b, n == "max", m, z))
                    each(add, f, f"{name}{words}{nan}.xorsign.abs", "{} d, a, b", "ab",
                         lambda a, b, f=f, n=name, m=bool(nan), z=ftz: xorsign(f, a, b, n == "max", m, z))
    for name in ("min", "max"):
        for words, nan, ftz in (("", 0, 0), (".ftz", 0, 1), (".NaN", 1, 0), (".ftz.NaN", 1, 1)):
            add(f"{name}{words}.xorsign.abs.f32", "{} d, a, b", ("f32.a", "f32.b"),
                lambda a, b, n=name, m=nan, z=ftz: xorsign(F32, a, b, n == "max", m, z))


def ties(add):
    """Products halfway between two bfloats, and an addend so far below them that only it decides: a double does not hold both."""
    products = [(7, 37), (9, 29), (5, 53), (3, 89), (7, 73), (-7, 37), (-3, 89), (5, 51)]
    addends = [Fraction(s) * Fraction(2) ** e for e in (-60, -126, -45) for s in (1, -1)] + [Fraction(0), Fraction(1, 4)]
    rows = [(BF16.round(Fraction(a)), BF16.round(Fraction(b)), BF16.round(c)) for a, b in products for c in addends]
    for i, k in enumerate("abc"):
        column(f"bf16.t{k}", 16, [r[i] for r in rows])
        column(f"bf16x2.t{k}", 32, [r[i] << 16 | rows[n * 5 % len(rows)][i] for n, r in enumerate(rows)])
    add("fma.rn.bf16", "{} d, a, b, c", ("bf16.ta", "bf16.tb", "bf16.tc"), BF16.fma, "b16")
    add("fma.rn.bf16x2", "{} d, a, b, c", ("bf16x2.ta", "bf16x2.tb", "bf16x2.tc"), both(BF16.fma))


def each(add, f, form, text, letters, op):
    """One, and the pair."""
    cols = tuple(f".{k}" for k in letters) or ("",)
    add(f"{form}.{f.name}", text, tuple(f.name + c for c in cols), op, "b16")
    add(f"{form}.{f.name}x2", text, tuple(f"{f.name}x2{c}" for c in cols), both(op))


def comparisons(add):
    for f in (F16, BF16):
        for name in FLOATS:
            for ftz in ("", ".ftz") if f is F16 else ("",):
                def test(a, b, f=f, name=name, z=bool(ftz)):
                    return f.compare(name, a, b, z)
                one, two, cols = f.name, f.name + "x2", (f"{f.name}.fa", f"{f.name}.fb")
                wide = (f"{two}.fa", f"{two}.fb")
                add(f"setp.{name}{ftz}.{one}", "{} p, a, b", cols, test, "pred")
                add(f"setp.{name}{ftz}.{two}", "{} p|q, a, b", wide, lambda a, b, t=test: t(a & 0xFFFF, b & 0xFFFF), "pred")
                add(f"setp.{name}{ftz}.{two}", "{} q|p, a, b", wide, lambda a, b, t=test: t(a >> 16, b >> 16), "pred")
                sets(add, f, f"{name}{ftz}", test, cols, wide, None)
                for word, combine in COMBINE.items():
                    add(f"setp.{name}.{word}{ftz}.{one}", "setp.ne.u32 q, c, 0; {} p, a, b, q", (*cols, "yes"),
                        lambda a, b, c, t=test, g=combine: g(t(a, b), c != 0), "pred")
                    # the predicate that is combined is also a result
                    add(f"setp.{name}.{word}{ftz}.{two}", "setp.ne.u32 q, c, 0; {} q|p, a, b, !q", (*wide, "yes"),
                        lambda a, b, c, t=test, g=combine: g(t(a >> 16, b >> 16), c == 0), "pred")
                    sets(add, f, f"{name}.{word}{ftz}", test, cols, wide, combine)


def sets(add, f, words, test, cols, wide, combine):
    """set of one and of two, to each type that it may give."""
    text = "setp.ne.u32 q, c, 0; {} d, a, b, q" if combine else "{} d, a, b"
    more = ("yes",) if combine else ()

    def value(true):
        return lambda a, b, c=0: true if (combine(test(a, b), c != 0) if combine else test(a, b)) else 0

    for to, true in ((f.name, f.one), ("u16", 0xFFFF), ("s16", 0xFFFF), ("u32", 0xFFFFFFFF), ("s32", 0xFFFFFFFF)):
        add(f"set.{words}.{to}.{f.name}", text, (*cols, *more), value(true), "b32" if to[1:] == "32" else "b16")
    for to, true in ((f.name + "x2", f.one), ("u32", 0xFFFF), ("s32", 0xFFFF)):
        one = value(true)
        add(f"set.{words}.{to}.{f.name}x2", text, (*wide, *more),
            lambda a, b, c=0, one=one: one(a & 0xFFFF, b & 0xFFFF, c) | one(a >> 16, b >> 16, c) << 16)


def sets_of_others(add):
    """A half or a bfloat that says what a comparison of another type gave."""
    for name, ftz, t, cols, test in other_comparisons():
        for f in (F16, BF16) if not ftz else (F16,):
            few = tuple(c[:-1] + "f" + c[-1] for c in cols)
            add(f"set.{name}{ftz}.{f.name}.{t}", "{} d, a, b", few, lambda a, b, g=test, f=f: f.one if g(a, b) else 0, "b16")
            for word, combine in COMBINE.items():
                add(f"set.{name}.{word}{ftz}.{f.name}.{t}", "setp.ne.u32 q, c, 0; {} d, a, b, q", (*few, "yes"),
                    lambda a, b, c, g=test, f=f, h=combine: f.one if h(g(a, b), c != 0) else 0, "b16")
    for name in FLOATS:
        cols = ("f16.fa", "f16.fb")
        add(f"set.{name}.bf16.f16", "{} d, a, b", cols, lambda a, b, n=name: BF16.one if F16.compare(n, a, b) else 0, "b16")
        for word, combine in COMBINE.items():
            add(f"set.{name}.{word}.bf16.f16", "setp.ne.u32 q, c, 0; {} d, a, b, q", (*cols, "yes"),
                lambda a, b, c, n=name, h=combine: BF16.one if h(F16.compare(n, a, b), c != 0) else 0, "b16")


def bytes_of_bfloats(add):
    for mode in ("rn", "rz", "rm", "rp"):
        for t in "us":
            add(f"cvt.{mode}.bf16.{t}8", "{ .reg .b8 x; cvt.u8.u32 x, a; {} d, x; }", ("i8",),
                lambda a, m=mode, s=t == "s": BF16.from_int((a & 255) - (a & 128) * 2 * s, m), "b16")
            add(f"cvt.{mode}i.{t}8.bf16", f"{{ .reg .b8 x; {{}} x, a; cvt.u32.{t}8 d, x; }}", ("bf16.cvt",),
                lambda a, m=mode, s=t == "s": BF16.to_int(a, 8, s, m, 0) & 0xFFFFFFFF)


def near(add):
    for f in (F16, BF16):
        column(f"{f.name}.fn", 16, [f.one, f.one | f.sign, 0, f.sign, f.one + (1 << f.man), f.one - (1 << f.man), f.inf, f.inf | f.sign, f.inf | f.quiet,
                                    f.round(Fraction(-13, 8)), f.round(Fraction(3))])
        exact = {0: 0, f.sign: 0, f.one: 1, f.one | f.sign: -1, f.one + (1 << f.man): 2, f.one - (1 << f.man): Fraction(1, 2)}
        ex2 = {f.inf: f.inf, f.inf | f.sign: 0, f.inf | f.quiet: f.nan, f.round(Fraction(3)): f.round(Fraction(8)),
               f.round(Fraction(-13, 8)): f.round(Fraction(324210, 1000000))}
        ex2.update({b: f.round(Fraction(2) ** v if v != Fraction(1, 2) else Fraction(1414214, 1000000)) for b, v in exact.items()})
        tanh = {f.inf: f.one, f.inf | f.sign: f.one | f.sign, f.inf | f.quiet: f.nan, 0: 0, f.sign: f.sign}
        for b, v in ((f.one, 761594), (f.one | f.sign, -761594), (f.one + (1 << f.man), 964028), (f.one - (1 << f.man), 462117),
                     (f.round(Fraction(3)), 995055), (f.round(Fraction(-13, 8)), -925369)):
            tanh[b] = f.round(Fraction(v, 1000000))
        ftz = "" if f is F16 else ".ftz"
        add(f"ex2.approx{ftz}.{f.name}", "{} d, a", (f"{f.name}.fn",), lambda a, t=ex2: t[a], "b16", ulp=2, why=WHY)
        add(f"tanh.approx.{f.name}", "{} d, a", (f"{f.name}.fn",), lambda a, t=tanh: t[a], "b16", ulp=2, why=WHY)
        pair = f"{{ .reg .b32 t; .reg .b16 u; mov.b32 t, {{a, a}}; {{}} t, t; mov.b32 {{u, d}}, t; }}"
        add(f"ex2.approx{ftz}.{f.name}x2", pair, (f"{f.name}.fn",), lambda a, t=ex2: t[a], "b16", ulp=2, why=WHY)
        add(f"tanh.approx.{f.name}x2", pair, (f"{f.name}.fn",), lambda a, t=tanh: t[a], "b16", ulp=2, why=WHY)


# ---- conversions ----

def e4m3(bits):
    """The value of 8 bits that have no infinity, and one NaN of each sign."""
    exp, man = bits >> 3 & 15, bits & 7
    v = Fraction(man + 8, 8) * Fraction(2) ** (exp - 7) if exp else Fraction(man, 8) * Fraction(2) ** -6
    return None if bits & 0x7F == 0x7F else -v if bits >> 7 else v


NUMBERS = sorted((e4m3(b), b) for b in range(0x7F))


def to_e4m3(v, negative):
    """The nearest of all 127, of two as near the even one; saturated."""
    v = min(abs(v), Fraction(448))
    least = min(abs(v - n) for n, _ in NUMBERS)
    found = [b for n, b in NUMBERS if abs(v - n) == least]
    return (found[0] if len(found) == 1 or not found[0] & 1 else found[1]) | negative << 7


def away(f, v):
    """To nearest, ties away from zero: what lies half a unit further, cut."""
    b = f.round(abs(v), "rz")
    limit = f.value(b) + (f.value(b) - f.value(b - 1) if b == f.largest else f.value(b + 1) - f.value(b)) / 2
    return b + (abs(v) >= limit)


def narrow(f, source, a, mode, finite, cut):
    """One value to format f; what has no format here is e4m3."""
    if source.is_nan(a) and mode == "rna":  # cut, even to an infinity; one less where that and more is to be finite
        return (a >> 13) - finite
    if source.is_nan(a):
        return 0x7F if f is None else 0x7FFFFFFF >> 13 if f is TF32 else f.nan
    negative = source.is_negative(a)
    if cut and negative:
        return 0
    v = Fraction(2) ** 200 * (-1 if negative else 1) if source.is_inf(a) else source.value(a)
    if f is None:
        return to_e4m3(v, negative)
    if source.is_inf(a):
        r = f.infinity(negative)
    elif mode == "rna":
        r = away(f, v) | f.zero(negative)
    else:
        r = f.round(v, mode, negative)
    return r - 1 if finite and r & ~f.sign == f.inf else r


def conversions(add):
    column("f32.small", 32, small_singles())
    column("f32.small2", 32, spread(COLUMNS["f32.small"][1], len(COLUMNS["f32.small"][1])))
    one, two = ("f32.small",), ("f32.small", "f32.small2")
    for f in (F16, BF16):
        for mode in ("rn", "rz"):
            for words, finite, cut in (("", 0, 0), (".relu", 0, 1), (".satfinite", 1, 0), (".relu.satfinite", 1, 1)):
                def op(a, f=f, m=mode, s=finite, c=cut):
                    return narrow(f, F32, a, m, s, c)
                if words:
                    add(f"cvt.{mode}{words}.{f.name}.f32", "{} d, a", one, op, "b16")
                add(f"cvt.{mode}{words}.{f.name}x2.f32", "{} d, a, b", two, lambda a, b, op=op: op(a) << 16 | op(b))
    for words, mode, finite, cut in ((".rn", "rn", 0, 0), (".rz", "rz", 0, 0), (".rn.relu", "rn", 0, 1), (".rz.relu", "rz", 0, 1),
                                     (".rna", "rna", 0, 0), (".rna.satfinite", "rna", 1, 0)):
        add(f"cvt{words}.tf32.f32", "{ .reg .b32 t; {} t, a; and.b32 d, t, 0xffffe000; }", one,
            lambda a, m=mode, s=finite, c=cut: narrow(TF32, F32, a, m, s, c) << 13)
    column("f16x2.all", 32, [v << 16 | (v * 0x9E37 + 0x79B9) % 0x10000 for v in range(0, 0x10000, 0x1F3)] + COLUMNS["f16x2"][1])
    column("b8x2", 16, [v << 8 | (v * 7 + 5) % 256 for v in range(256)])
    for name, f, read in (("e4m3", None, None), ("e5m2", E5M2, E5M2)):
        for words, cut in ((".satfinite", 0), (".relu.satfinite", 1)):
            add(f"cvt.rn{words}.{name}x2.f32", "{} d, a, b", two,
                lambda a, b, f=f, c=cut: narrow(f, F32, a, "rn", 1, c) << 8 | narrow(f, F32, b, "rn", 1, c), "b16")
            add(f"cvt.rn{words}.{name}x2.f16x2", "{} d, a", ("f16x2.all",),
                lambda a, f=f, c=cut: narrow(f, F16, a >> 16, "rn", 1, c) << 8 | narrow(f, F16, a & 0xFFFF, "rn", 1, c), "b16")
        for words, cut in (("", 0), (".relu", 1)):
            def half(b, f=f, c=cut):
                if f is not None:
                    return narrow(F16, f, b, "rn", 0, c)
                v = e4m3(b)
                return F16.nan if v is None else 0 if c and b >> 7 else F16.round(v, "rn", b >> 7)
            add(f"cvt.rn{words}.f16x2.{name}x2", "{} d, a", ("b8x2",), lambda a, h=half: h(a >> 8) << 16 | h(a & 0xFF))


def small_singles():
    """Singles on and beside the numbers of the narrow formats, the ties between them, and the ends of their ranges."""
    out = [0, 0x80000000, 1, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFF800005, 0xFFC47FFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000]
    for f in (F16, BF16, E5M2, TF32):
        for b in (1, 2, 3, (1 << f.man) - 1, 1 << f.man, f.one + 1, f.one + 2, f.largest, f.largest - 1):
            here, above = F32.round(f.value(b)), F32.round(f.value(b) + (f.value(b) - f.value(b - 1)) / 2)
            out += [here, above, above + 1, above - 1, above | 0x80000000]
    for v in (448, 464, 463, 465, 480, 57344, 61440, 61439, 65520, 65519, Fraction(1, 512), Fraction(1, 1024), Fraction(3, 1024), Fraction(15, 8)):
        out += [F32.round(Fraction(v)), F32.round(Fraction(v)) | 0x80000000, F32.round(Fraction(v)) + 1]
    return list(dict.fromkeys(out))


# ---- vectors in memory ----

def vectors(add):
    """One element, the last, is looked at: what it becomes, and what it was. The others are another value; sources are results, too."""
    def single(a, b):
        return F32.add(a, b, ftz=True)

    kinds = [("f32", 4, 32, {"add": single})]
    for f in (F16, BF16):
        ops = {"add": f.add, "min": lambda a, b, f=f: f.minmax(a, b, False), "max": lambda a, b, f=f: f.minmax(a, b, True)}
        kinds.append((f.name, 8, 16, ops))
        kinds.append((f.name + "x2", 4, 32, {name: both(op) for name, op in ops.items()}))
    for t, most, bits, ops in kinds:
        for name, op in ops.items():
            for n in (2, 4, 8):
                for space in ("", ".global"):
                    if n > most:
                        continue
                    at = bits // 8 * (n - 1)
                    words = f"{space}.{name}{'' if t == 'f32' else '.noftz'}.v{n}.{t}"
                    cols = (f"{t}.fa", f"{t}.fb")
                    source = ", ".join(["a"] * (n - 1) + ["b"])
                    olds = ", ".join(f"t{i}" for i in range(n - 2)) + ", " * (n > 2) + "b, d"
                    fill = "".join(f"st.global.b{bits} [m+{bits // 8 * i}], {'b' if i < n - 1 else 'a'}; " for i in range(n))
                    temps = f".reg .b{bits} t<8>; "
                    out = f"b{bits}"
                    add("red" + words, f"{fill}{{}} [m], {{{source}}}; ld.global.b{bits} d, [m+{at}]", cols, op, out)
                    add("atom" + words, f"{{ {temps}{fill}{{}} {{{olds}}}, [m], {{{source}}}; ld.global.b{bits} d, [m+{at}]; }}", cols, op, out)
                    add("atom" + words, f"{{ {temps}{fill}{{}} {{{olds}}}, [m], {{{source}}}; }}", cols, lambda a, b: a, out)


def added_pairs(add):
    """The two of a pair are added as two, wherever they lie."""
    for f in (F16, BF16):
        t, cols, op = f.name + "x2", (f"{f.name}x2.fa", f"{f.name}x2.fb"), both(f.add)
        for space, at in (("", "m"), (".global", "m"), (".shared", "s"), (CLUSTER, "s")):
            put, get = f"st{space}.b32 [{at}], a; ", f"ld{space}.b32 d, [{at}]"
            add(f"red{space}.add.noftz.{t}", f"{put}{{}} [{at}], b; {get}", cols, op)
            add(f"atom{space}.add.noftz.{t}", f"{{ .reg .b32 t; {put}{{}} t, [{at}], b; {get}; }}", cols, op)
            add(f"atom{space}.add.noftz.{t}", f"{put}{{}} d, [{at}], b", cols, lambda old, b: old)


def forms(add):
    for f in (F16, BF16):
        pairs_of(f)
    arithmetic(add)
    ties(add)
    comparisons(add)
    sets_of_others(add)
    near(add)
    conversions(add)
    bytes_of_bfloats(add)
    vectors(add)
    added_pairs(add)
