"""forms_pairs - integers of 16 bits in pairs, .relu, cvt.pack, lop3 with a predicate, and the video instructions."""
from columns import COLUMNS, Numbers, column, spread

MASK = 0xFFFFFFFF


def signed(v, bits):
    return v - (1 << bits) if v >> bits - 1 & 1 else v


def halves(op):
    return lambda a, b: op(a & 0xFFFF, b & 0xFFFF) & 0xFFFF | (op(a >> 16, b >> 16) & 0xFFFF) << 16


def clamp(v, bits, is_signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(v, low), high)


def integers(add):
    cols = ("x32.a", "x32.b")
    for name, order in (("min", min), ("max", max)):
        add(f"{name}.u16x2", "{} d, a, b", cols, halves(order))
        add(f"{name}.s16x2", "{} d, a, b", cols, halves(lambda x, y, o=order: o(signed(x, 16), signed(y, 16))))
        add(f"{name}.relu.s16x2", "{} d, a, b", cols, halves(lambda x, y, o=order: max(0, o(signed(x, 16), signed(y, 16)))))
        add(f"{name}.relu.s32", "{} d, a, b", cols, lambda a, b, o=order: max(0, o(signed(a, 32), signed(b, 32))))
    for t in ("u16x2", "s16x2"):
        add(f"add.{t}", "{} d, a, b", cols, halves(lambda x, y: x + y))
    for bits in (2, 4, 8, 16):
        for kind in "us":
            def packed(a, b, c, n=bits, s=kind == "s"):
                two = (clamp(signed(a, 32), n, s) % (1 << n)) << n | clamp(signed(b, 32), n, s) % (1 << n)
                return (two | c << 2 * n) & MASK
            if bits == 16:
                add(f"cvt.pack.sat.{kind}16.s32", "{} d, a, b", ("pack.a", "pack.b"), lambda a, b, f=packed: f(a, b, 0))
            else:
                add(f"cvt.pack.sat.{kind}{bits}.s32.b32", "{} d, a, b, c", ("pack.a", "pack.b", "x32.c"), packed)
    for word, op in (("or", lambda p, q: p or q), ("and", lambda p, q: p and q)):
        add(f"lop3.{word}.b32", "{ .reg .b32 t; setp.ne.u32 q, c, 0; {} t|p, a, b, a, 0x66, q; }", ("x32.fa", "x32.fb", "yes"),
            lambda a, b, c, f=op: f((a ^ b) != 0, c != 0), "pred")
        add(f"lop3.{word}.b32", "setp.ne.u32 q, c, 0; {} d|p, a, b, c, 0x96, !q", ("x32.fa", "x32.fb", "yes"),
            lambda a, b, c, f=op: a ^ b ^ c)


# ---- video ----

SIMPLE = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min, "vmax": max,
          "vavrg": lambda a, b: a + b + 1 >> 1 if a + b >= 0 else a + b >> 1}
ORDER = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
         "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}
PARTS = {"": (32, 0), **{f".h{k}": (16, 16 * k) for k in range(2)}, **{f".b{k}": (8, 8 * k) for k in range(4)}}


def part(v, name, is_signed):
    bits, at = PARTS[name]
    v = v >> at & (1 << bits) - 1
    return signed(v, bits) if is_signed else v


def kinds(n):
    """All choices of signed and unsigned."""
    return [tuple("su"[i >> k & 1] for k in range(n)) for i in range(1 << n)]


def shifts():
    for wrap in (".clamp", ".wrap"):
        def count(b, w=wrap):
            return b & 31 if w == ".wrap" else min(b, 32)
        yield "vshl", wrap, lambda a, b, n=count: a << n(b)
        yield "vshr", wrap, lambda a, b, n=count: a >> n(b)


def scalar_ops():
    """(opcode, words, types' letters, the function)"""
    for name, op in SIMPLE.items():
        if name != "vavrg":
            for k in kinds(3):
                yield name, "", k, op
    for name, wrap, op in shifts():
        for k in kinds(2):
            yield name, wrap, (*k, "u"), op
    for name, op in ORDER.items():
        for k in kinds(2):
            yield "vset", "." + name, ("", *k), op


# A GPU of today has none of these: its assembler makes them of other instructions, and what stands here about scalar forms is what
# these give, where that is not what the manual prints. doc/emulated-device.md has both.


def saturated(name, t, bits, is_signed):
    """A shift does not heed what part is written, of a part everything outside of 0 and the greatest becomes the greatest, and
    32 unsigned bits have no upper end."""
    if name == "vshl":
        t = signed(t % (1 << 34), 34)
    if name in ("vshl", "vshr") or is_signed and bits == 32:
        return clamp(t, 32, is_signed)
    most = (1 << bits - is_signed) - 1
    return max(t, 0) if bits == 32 else t if 0 <= t <= most else most


def secondary(name, which, t, c, sat, is_signed):
    """Operands of 64 bits are compared: c of the result's type, and t either whole or its 32 bits, which then have a sign."""
    if which == ".add":
        return t + c & MASK
    if name in ("vadd", "vsub") or sat and name in ("vshl", "vshr"):
        t = signed(t & MASK, 32)
    x, y = (signed(t % (1 << 64), 64), signed(c, 32)) if is_signed else (t % (1 << 64), c)
    return (min if which == ".min" else max)(x, y) & MASK


def merged(t, c, name):
    """The upper half is written with the upper half of t."""
    bits, at = PARTS[name]
    field = (1 << bits) - 1 << at
    return c & ~field | (t if name == ".h1" else t << at) & field


def scalar(add):
    """Each combination with parts taken in turn: of the sources, and of the result where it is merged. And .sat of whole registers."""
    sel = Numbers(5)

    def any_part():
        return list(PARTS)[sel.bits(16) % len(PARTS)]

    def one(name, words, types, op, sat, second, pa, pb, pd):
        kd, ka, kb = types
        is_signed = (kd or ka) == "s"

        def value(a, b, c=0):
            t = int(op(part(a, pa, ka == "s"), part(b, pb, kb == "s")))
            if sat:
                t = saturated(name, t, PARTS[pd][0], is_signed)
            if second == "merge":
                return merged(t, c, pd)
            return secondary(name, second, t, c, sat, is_signed) if second else t & MASK

        cols = ("video.a", "video.n" if name in ("vshl", "vshr") else "video.b")
        form = f"{name}{''.join(f'.{k}32' for k in types if k)}{sat}{words}{second if second != 'merge' else ''}"
        if second:
            add(form, f"{{}} d{pd}, a{pa}, b{pb}, c", (*cols, "video.c"), value)
        else:
            add(form, f"{{}} d, a{pa}, b{pb}", cols, value)

    for name, words, types, op in scalar_ops():
        for sat in ("", ".sat") if types[0] else ("",):
            for second in ("", ".add", ".min", ".max", "merge"):
                pa, pb = any_part(), "" if name in ("vshl", "vshr") else any_part()
                pd = [p for p in PARTS if p][sel.bits(16) % 6] if second == "merge" else ""
                one(name, words, types, op, sat, second, pa, pb, pd)
                if sat and second != ".add" and (pa or pb):
                    one(name, words, types, op, sat, second, "", "", pd)


def multiply(add):
    """32 bits of a, b and c have a sign, whatever is said of them."""
    sel = Numbers(11)
    for ka, kb in kinds(2):
        for kd in "us":
            for scale, down in (("", 0), (".shr7", 7), (".shr15", 15)):
                for sat in ("", ".sat"):
                    for signs in ("", "ab", "c", ".po"):
                        pa, pb = (list(PARTS)[sel.bits(16) % 7] for _ in range(2))

                        def value(a, b, c, ka=ka, kb=kb, down=down, sat=sat, signs=signs, pa=pa, pb=pb):
                            final = "s" in (ka, kb) or signs in ("ab", "c")
                            product = signed(part(a, pa, ka == "s") & MASK, 32) * signed(part(b, pb, kb == "s") & MASK, 32)
                            addend = signed(c ^ MASK, 32) + 1 if signs == "c" else signed(c, 32)
                            t = (-product if signs == "ab" else product) + addend + (signs == ".po")
                            t = (t if final or not down else t % (1 << 64)) >> down
                            return (clamp(t, 32, final) if sat else t) & MASK

                        po = signs if signs == ".po" else ""
                        minus = ("-" if signs == "ab" else "", "-" if signs == "c" else "")
                        add(f"vmad.{kd}32.{ka}32.{kb}32{po}{sat}{scale}", f"{{}} d, {minus[0]}a{pa}, b{pb}, {minus[1]}c",
                            ("video.a", "video.b", "video.c"), value)


def simd(add):
    """Elements of both sources, chosen in turn; the first of each form takes what is chosen when nothing is said."""
    sel = Numbers(7)
    ops = [(name, "", k, op) for name, op in SIMPLE.items() for k in kinds(3)]
    ops += [("vset", "." + name, ("", *k), op) for name, op in ORDER.items() for k in kinds(2)]
    for n, letter in ((2, "h"), (4, "b")):
        bits = 32 // n
        for name, words, (kd, ka, kb), op in ops:
            types = "".join(f".{k}32" for k in (kd, ka, kb) if k)
            for extra in ("", ".sat", ".add") if kd else ("", ".add"):
                for plain in (True, False):
                    at = [[sel.bits(16) % (2 * n) for _ in range(n)] for _ in "ab"]
                    mask = sel.bits(16) % ((1 << n) - 1) + 1
                    if plain:
                        at, mask = [list(range(n)), list(range(n, 2 * n))], (1 << n) - 1

                    def value(a, b, c, op=op, n=n, bits=bits, at=at, mask=mask, ka=ka, kb=kb, kd=kd, extra=extra):
                        pair, d = b << 32 | a, c
                        for i in range(n):
                            x, y = (pair >> bits * w[i] & (1 << bits) - 1 for w in at)
                            t = int(op(signed(x, bits) if ka == "s" else x, signed(y, bits) if kb == "s" else y))
                            if extra == ".sat":
                                t = clamp(t, bits, kd == "s")
                            if mask >> i & 1 and extra == ".add":
                                d += t
                            elif mask >> i & 1:
                                field = (1 << bits) - 1 << bits * i
                                d = d & ~field | t << bits * i & field
                        return d & MASK

                    digits = ["." + letter + "".join(str(k) for k in reversed(w)) for w in (*at, [i for i in range(n) if mask >> i & 1])]
                    pa, pb, pd = ("", "", "") if plain else digits
                    add(f"{name}{n}{types}{extra}{words}", f"{{}} d{pd}, a{pa}, b{pb}, c", ("video.a", "video.b", "video.c"), value)


def forms(add):
    near = [v % (1 << 32) for v in (0, 1, -1, 2, -2, 3, 4, -3, 7, 8, -8, -9, 15, 16, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 65535,
                                    65536, 0x7FFFFFFF, 0x80000000)]
    column("pack.a", 32, near)
    column("pack.b", 32, spread(near, len(near)))
    rng = Numbers(3)
    edges = [0, MASK, 0x80008000, 0x7FFF7FFF, 0x80808080, 0x7F7F7F7F, 0x00FF00FF, 0x01020304, 0x80000000, 0x7FFFFFFF]
    values = edges + [rng.bits(32) for _ in range(14)]
    column("video.a", 32, values)
    column("video.b", 32, spread(values, len(values)))
    column("video.c", 32, spread(spread(values, len(values)), len(values) - 1))
    column("video.n", 32, [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x80000000, MASK, 5, 24])
    integers(add)
    scalar(add)
    multiply(add)
    simd(add)


assert "x32.fa" in COLUMNS
