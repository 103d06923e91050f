"""forms_compare - setp, set, selp, slct: every comparison of every type, alone and with each boolean operation, both results."""
from forms_int import typed
from ieee import F32, F64

ORDER = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
         "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
FLOATS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
COMBINE = {"and": lambda t, c: t and c, "or": lambda t, c: t or c, "xor": lambda t, c: t != c}
TYPES = [kind + width for width in ("16", "32", "64") for kind in "bus"]


def comparisons():
    """(words with the comparison, flags, type, the columns, the function)."""
    for t in TYPES:
        bits, val = typed(t)
        names = ("eq", "ne") if t[0] == "b" else (*ORDER, *UNSIGNED) if t[0] == "u" else tuple(ORDER)
        for name in names:
            f = ORDER[UNSIGNED.get(name, name)]
            yield name, "", t, (f"x{bits}.a", f"x{bits}.b"), lambda a, b, f=f, val=val: f(val(a), val(b))
    for name in FLOATS:
        for words, fmt, ftz in (("", F32, False), (".ftz", F32, True), ("", F64, False)):
            yield (name, words, fmt.name, (f"{fmt.name}.a", f"{fmt.name}.b"),
                   lambda a, b, fmt=fmt, name=name, z=ftz: fmt.compare(name, a, b, z))


def forms(add):
    for name, ftz, t, cols, test in comparisons():
        add(f"setp.{name}{ftz}.{t}", "{} p, a, b", cols, test, "pred")
        for to, true in (("u32", 0xFFFFFFFF), ("s32", 0xFFFFFFFF), ("f32", F32.one)):
            add(f"set.{name}{ftz}.{to}.{t}", "{} d, a, b", cols, lambda a, b, f=test, v=true: v if f(a, b) else 0)
        cols = tuple(c[:-1] + "f" + c[-1] for c in cols)
        for word, both in COMBINE.items():
            form = f"setp.{name}.{word}{ftz}.{t}"
            if word != "xor":
                add(form, "setp.ne.u32 q, c, 0; {} p, a, b, q", (*cols, "yes"),
                    lambda a, b, c, f=test, g=both: g(f(a, b), c != 0), "pred")
            else:
                add(form, "setp.ne.u32 q, c, 0; {} q|p, a, b, !q", (*cols, "yes"),
                    lambda a, b, c, f=test, g=both: g(not f(a, b), c == 0), "pred")
            for to, true in (("u32", 0xFFFFFFFF), ("s32", 0xFFFFFFFF), ("f32", F32.one)):
                add(f"set.{name}.{word}{ftz}.{to}.{t}", "setp.ne.u32 q, c, 0; {} d, a, b, q", (*cols, "yes"),
                    lambda a, b, c, f=test, g=both, v=true: v if g(f(a, b), c != 0) else 0)
    add("setp.lt.u32", "{} q|p, a, b", ("x32.a", "x32.b"), lambda a, b: a >= b, "pred")
    for t in [*TYPES, "f32", "f64"]:
        bits = int(t[1:])
        cols, out = (f"x{bits}.a", f"x{bits}.b"), f"b{bits}"
        add(f"selp.{t}", "setp.ne.u32 p, c, 0; {} d, a, b, p", (*cols, "yes"), lambda a, b, c: a if c else b, out)
        add(f"selp.{t}", "setp.ne.u32 p, c, 0; {} d, a, b, !p", (*cols, "yes"), lambda a, b, c: b if c else a, out)
        add(f"slct.{t}.s32", "{} d, a, b, c", (*cols, "x32.c"), lambda a, b, c: b if c >> 31 else a, out)
        # a negative zero and what is flushed to it are not below zero; a NaN takes the second
        for words, ftz in (("", False), (".ftz", True)):
            add(f"slct{words}.{t}.f32", "{} d, a, b, c", (*cols, "f32"),
                lambda a, b, c, z=ftz: a if F32.compare("ge", c, 0, z) else b, out)
