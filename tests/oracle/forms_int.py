"""forms_int - integer arithmetic, logic, shifts and bits, as the PTX manual's pseudo-code says, on Python's unbounded integers.

Where the manual leaves a result open (division by zero, positions beyond a byte) it is what an H200 gives.
"""


def signed(v, bits):
    v %= 1 << bits
    return v - (1 << bits) if v >> bits - 1 else v


def typed(name):
    """Width of a type like s32, and what a value of that many bits means in it."""
    bits = int(name[1:])
    return bits, (lambda v: signed(v, bits)) if name[0] == "s" else (lambda v: v % (1 << bits))


def clamp(v, low, high):
    return min(max(v, low), high)


def quotient(a, b):
    """Toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def columns_of(bits, n):
    return tuple(f"x{bits}.{c}" for c in "abc"[:n])


def bit_field(a, pos, length, bits, is_signed):
    """bfe, bit by bit."""
    sign = 0
    if is_signed and length:
        sign = a >> min(pos + length - 1, bits - 1) & 1
    return sum((a >> pos + i & 1 if i < length and pos + i < bits else sign) << i for i in range(bits))


def insert_field(a, b, pos, length, bits):
    for i in range(min(length, bits)):
        if pos + i < bits:
            b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i
    return b


def top_bit(a, bits, is_signed):
    """Number of the highest bit that is not the sign's; -1: none."""
    sign = a >> bits - 1 & 1 if is_signed else 0
    return max((i for i in range(bits) if a >> i & 1 != sign), default=-1)


def permute(a, b, selector):
    source, out = b << 32 | a, 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source >> 8 * (nibble & 7) & 255
        out |= (255 * (byte >> 7) if nibble & 8 else byte) << 8 * i
    return out


PERMUTATIONS = {  # bytes taken, lowest first, by the low two bits of the third operand
    "f4e": ["0123", "1234", "2345", "3456"], "b4e": ["0765", "1076", "2107", "3210"],
    "rc8": ["0000", "1111", "2222", "3333"], "ecl": ["0123", "1123", "2223", "3333"],
    "ecr": ["0000", "0111", "0122", "0123"], "rc16": ["0101", "2323", "0101", "2323"],
}


def named_permutation(mode):
    def give(a, b, c):
        source = b << 32 | a
        return sum((source >> 8 * int(k) & 255) << 8 * i for i, k in enumerate(PERMUTATIONS[mode][c & 3]))
    return give


def find_nth(mask, base, offset):
    offset = signed(offset, 32)
    if offset == -(1 << 31):
        return 0
    if base > 31:
        return -1
    if offset == 0:
        return base if mask >> base & 1 else -1
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [i for i in order if mask >> i & 1]
    return found[abs(offset) - 1] if abs(offset) <= len(found) else -1


def dot(parts_a, parts_b, c):
    return sum(x * y for x, y in zip(parts_a, parts_b)) + c


def parts(v, first, n, bits, is_signed):
    pieces = [v >> bits * (first + i) & (1 << bits) - 1 for i in range(n)]
    return [signed(p, bits) for p in pieces] if is_signed else pieces


def add_arithmetic(add):
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        bits, val = typed(t)
        cols, out = columns_of(bits, 2), f"b{bits}"
        add(f"add.{t}", "{} d, a, b", cols, lambda a, b: a + b, out)
        add(f"sub.{t}", "{} d, a, b", cols, lambda a, b: a - b, out)
        add(f"mul.lo.{t}", "{} d, a, b", cols, lambda a, b: a * b, out)
        add(f"mul.hi.{t}", "{} d, a, b", cols, lambda a, b, val=val, bits=bits: val(a) * val(b) >> bits, out)
        add(f"div.{t}", "{} d, a, b", cols, lambda a, b, val=val: quotient(val(a), val(b)) if b else -1, out)
        add(f"rem.{t}", "{} d, a, b", cols,
            lambda a, b, val=val: val(a) - quotient(val(a), val(b)) * val(b) if b else -1, out)
        add(f"min.{t}", "{} d, a, b", cols, lambda a, b, val=val: min(val(a), val(b)), out)
        add(f"max.{t}", "{} d, a, b", cols, lambda a, b, val=val: max(val(a), val(b)), out)
        cols = columns_of(bits, 3)
        add(f"mad.lo.{t}", "{} d, a, b, c", cols, lambda a, b, c: a * b + c, out)
        add(f"mad.hi.{t}", "{} d, a, b, c", cols, lambda a, b, c, val=val, bits=bits: (val(a) * val(b) >> bits) + c, out)
        add(f"sad.{t}", "{} d, a, b, c", cols, lambda a, b, c, val=val: c + abs(val(a) - val(b)), out)
        if bits < 64:
            wide = f"b{2 * bits}"
            add(f"mul.wide.{t}", "{} d, a, b", cols[:2], lambda a, b, val=val: val(a) * val(b), wide)
            add(f"mad.wide.{t}", "{} d, a, b, c", (cols[0], cols[1], f"x{2 * bits}.c"),
                lambda a, b, c, val=val: val(a) * val(b) + c, wide)
        if t[0] == "s":
            add(f"abs.{t}", "{} d, a", cols[:1], lambda a, val=val: abs(val(a)), out)
            add(f"neg.{t}", "{} d, a", cols[:1], lambda a: -a, out)
    low, high = -(1 << 31), (1 << 31) - 1
    cols = columns_of(32, 3)
    add("add.sat.s32", "{} d, a, b", cols[:2], lambda a, b: clamp(signed(a, 32) + signed(b, 32), low, high))
    add("sub.sat.s32", "{} d, a, b", cols[:2], lambda a, b: clamp(signed(a, 32) - signed(b, 32), low, high))
    add("mad.hi.sat.s32", "{} d, a, b, c", cols,
        lambda a, b, c: clamp((signed(a, 32) * signed(b, 32) >> 32) + signed(c, 32), low, high))


def add_24(add):
    cols = columns_of(32, 3)
    for t in ("u32", "s32"):
        def product(a, b, t=t):
            return signed(a, 24) * signed(b, 24) if t == "s32" else (a & 0xFFFFFF) * (b & 0xFFFFFF)
        for half, shift in (("lo", 0), ("hi", 16)):
            add(f"mul24.{half}.{t}", "{} d, a, b", cols[:2], lambda a, b, f=product, s=shift: f(a, b) >> s)
            add(f"mad24.{half}.{t}", "{} d, a, b, c", cols, lambda a, b, c, f=product, s=shift: (f(a, b) >> s) + c)
    add("mad24.hi.sat.s32", "{} d, a, b, c", cols, lambda a, b, c: clamp(
        signed(signed(a, 24) * signed(b, 24) >> 16, 32) + signed(c, 32), -(1 << 31), (1 << 31) - 1))


def add_dots(add):
    cols = columns_of(32, 3)
    for ta in "us":
        for tb in "us":
            sa, sb = ta == "s", tb == "s"
            add(f"dp4a.{ta}32.{tb}32", "{} d, a, b, c", cols,
                lambda a, b, c, sa=sa, sb=sb: dot(parts(a, 0, 4, 8, sa), parts(b, 0, 4, 8, sb), c))
            for half, first in (("lo", 0), ("hi", 2)):
                add(f"dp2a.{half}.{ta}32.{tb}32", "{} d, a, b, c", cols,
                    lambda a, b, c, sa=sa, sb=sb, first=first: dot(parts(a, 0, 2, 16, sa), parts(b, first, 2, 8, sb), c))


def add_carries(add):
    """The one flag is what a sum carries; a difference is the sum with the complement, and 1 borrowed from nowhere."""
    for bits in (32, 64):
        full, out = (1 << bits) - 1, f"b{bits}"
        cols = columns_of(bits, 3)
        for t in (f"u{bits}", f"s{bits}"):
            val = typed(t)[1]
            starts = {f"add.cc.{t}": lambda a, b: a + b, f"sub.cc.{t}": lambda a, b: a + (full - b) + 1}
            for first, total in starts.items():
                def flag(a, b, total=total):
                    return total(a, b) >> bits
                # the first sum itself, and each instruction that takes the flag, with what it leaves in it
                add(first, "{} d, a, b", cols[:2], lambda a, b, f=total: f(a, b), out)
                for second, more in ((f"addc.{t}", lambda c, a, f: c + a + f), (f"subc.{t}", lambda c, a, f: c + (full - a) + f)):
                    with_cc = second.replace("c.", "c.cc.", 1)
                    add(second, f"{first} d, a, b; {second} d, c, a", cols,
                        lambda a, b, c, f=flag, g=more: g(c, a, f(a, b)), out, covers=f"{first} {second}")
                    add(with_cc, f"{first} d, a, b; {with_cc} d, c, a; addc.{t} d, d, 0", cols,
                        lambda a, b, c, f=flag, g=more: (lambda s: s % (full + 1) + (s >> bits))(g(c, a, f(a, b))),
                        out, covers=f"{with_cc} addc.{t}")
                    # an instruction without .cc leaves the flag as it is
                    add(second, f"{first} d, a, b; {second} d, c, a; addc.{t} d, d, 0", cols,
                        lambda a, b, c, f=flag, g=more: g(c, a, f(a, b)) + f(a, b), out)
            for half in ("lo", "hi"):
                def term(a, b, half=half, val=val):
                    return a * b % (full + 1) if half == "lo" else (val(a) * val(b) >> bits) % (full + 1)
                add(f"mad.{half}.cc.{t}", f"{{}} d, a, b, c; addc.{t} d, d, 0", cols,
                    lambda a, b, c, f=term: (f(a, b) + c) % (full + 1) + (f(a, b) + c >> bits), out)
                add(f"madc.{half}.{t}", f"add.cc.{t} d, b, c; {{}} d, a, b, c", cols,
                    lambda a, b, c, f=term: f(a, b) + c + (b + c >> bits), out)
                add(f"madc.{half}.cc.{t}", f"add.cc.{t} d, b, c; {{}} d, a, b, c; addc.{t} d, d, 0", cols,
                    lambda a, b, c, f=term: (lambda s: s % (full + 1) + (s >> bits))(f(a, b) + c + (b + c >> bits)), out)
                add(f"madc.{half}.{t}", f"add.cc.{t} d, b, c; {{}} d, a, b, c; addc.{t} d, d, 0", cols,
                    lambda a, b, c, f=term: f(a, b) + c + 2 * (b + c >> bits), out)


def add_logic(add):
    for bits in (16, 32, 64):
        t, out, full = f"b{bits}", f"b{bits}", (1 << bits) - 1
        cols = columns_of(bits, 2)
        add(f"and.{t}", "{} d, a, b", cols, lambda a, b: a & b, out)
        add(f"or.{t}", "{} d, a, b", cols, lambda a, b: a | b, out)
        add(f"xor.{t}", "{} d, a, b", cols, lambda a, b: a ^ b, out)
        add(f"not.{t}", "{} d, a", cols[:1], lambda a, full=full: full - a, out)
        add(f"cnot.{t}", "{} d, a", cols[:1], lambda a: a == 0, out)
    cols = columns_of(32, 3)
    for table in (0x00, 0xE8, 0x1D, 0x96, 0xCA, 0x80, 0xFE, 0x01, 0x2B):
        add("lop3.b32", f"{{}} d, a, b, c, {table}", cols,
            lambda a, b, c, table=table: sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32)))
    both = "setp.lt.u32 p, a, b; setp.lt.u32 q, b, 9; {} p, p, q"
    for op, f in (("and", lambda x, y: x and y), ("or", lambda x, y: x or y), ("xor", lambda x, y: x != y)):
        add(f"{op}.pred", both, cols[:2], lambda a, b, f=f: f(a < b, b < 9), "pred")
    add("not.pred", "setp.lt.u32 q, a, b; {} p, q", cols[:2], lambda a, b: a >= b, "pred")
    add("mov.pred", "setp.lt.u32 q, a, b; {} p, q", cols[:2], lambda a, b: a < b, "pred")


def add_shifts(add):
    for bits in (16, 32, 64):
        out, cols = f"b{bits}", (f"x{bits}.a", "n32")
        add(f"shl.b{bits}", "{} d, a, b", cols, lambda a, n: a << min(n, 64), out)
        for kind in "bus":
            val = typed(("s" if kind == "s" else "u") + str(bits))[1]
            add(f"shr.{kind}{bits}", "{} d, a, b", cols, lambda a, n, val=val: val(a) >> min(n, 64), out)
    for mode, count in (("wrap", lambda n: n & 31), ("clamp", lambda n: min(n, 32))):
        add(f"shf.l.{mode}.b32", "{} d, a, b, c", ("x32.a", "x32.b", "n32"), lambda a, b, n, f=count: (b << 32 | a) << f(n) >> 32)
        add(f"shf.r.{mode}.b32", "{} d, a, b, c", ("x32.a", "x32.b", "n32"), lambda a, b, n, f=count: (b << 32 | a) >> f(n))
        add(f"bmsk.{mode}.b32", "{} d, a, b", ("pos", "len"),
            lambda pos, n, f=count: ((1 << f(n)) - 1 << f(pos)) if f(pos) < 32 else 0)
        for t in ("u32", "s32"):
            add(f"szext.{mode}.{t}", "{} d, a, b", ("x32.a", "n32"),
                lambda a, n, f=count, t=t: bit_field(a, 0, f(n), 32, t == "s32"))


def add_bits(add):
    for bits in (32, 64):
        out, byte = f"b{bits}", 0xFF if bits == 32 else 0xFFFFFFFF
        for kind in "us":
            t = f"{kind}{bits}"
            add(f"bfe.{t}", "{} d, a, b, c", (f"x{bits}.a", "n32", "m32"),
                lambda a, pos, n, k=kind, bits=bits, byte=byte: bit_field(a, pos & byte, n & byte, bits, k == "s"), out)
            add(f"bfind.{t}", "{} d, a", (f"x{bits}.a",), lambda a, k=kind, bits=bits: top_bit(a, bits, k == "s"))
            add(f"bfind.shiftamt.{t}", "{} d, a", (f"x{bits}.a",),
                lambda a, k=kind, bits=bits: bits - 1 - top_bit(a, bits, k == "s") if top_bit(a, bits, k == "s") >= 0 else -1)
        add(f"bfi.b{bits}", "{} d, a, b, c, e", (f"x{bits}.a", f"x{bits}.b", "n32", "m32"),
            lambda a, b, pos, n, bits=bits, byte=byte: insert_field(a, b, pos & byte, n & byte, bits), out)
        add(f"brev.b{bits}", "{} d, a", (f"x{bits}.a",), lambda a, bits=bits: int(f"{a:0{bits}b}"[::-1], 2), out)
        add(f"clz.b{bits}", "{} d, a", (f"x{bits}.a",), lambda a, bits=bits: bits - a.bit_length())
        add(f"popc.b{bits}", "{} d, a", (f"x{bits}.a",), lambda a: bin(a).count("1"))
    cols = columns_of(32, 3)
    add("prmt.b32", "{} d, a, b, c", ("x32.b", "x32.a", "x32.c"), permute)
    add("prmt.b32", "{} d, a, b, 0x9c3e", cols[:2], lambda a, b: permute(a, b, 0x9C3E))
    add("bfe.s32", "{} d, 0x80ff7f01, a, b", ("pos", "len"), lambda pos, n: bit_field(0x80FF7F01, pos & 255, n & 255, 32, True))
    add("bfe.u64", "{} d, 0x80ff7f0180ff7f01, a, b", ("pos", "len"), lambda pos, n: bit_field(0x80FF7F0180FF7F01, pos, n, 64, False), "b64")
    add("bfi.b32", "{} d, 0x80ff7f01, 0x5a5aa5a5, a, b", ("pos", "len"),
        lambda pos, n: insert_field(0x80FF7F01, 0x5A5AA5A5, pos & 255, n & 255, 32))
    for mode in PERMUTATIONS:
        add(f"prmt.b32.{mode}", "{} d, a, b, c", cols, named_permutation(mode))
    add("fns.b32", "{} d, a, b, c", ("x32.a", "n32", "m32"), find_nth)
    add("fns.b32", "{} d, a, b, c", ("x32.c", "m32", "n32"), find_nth)
    add("fns.b32", "{ .reg .b32 t; neg.s32 t, c; {} d, a, b, t; }", ("x32.b", "n32", "m32"), lambda a, b, c: find_nth(a, b, -c))


def forms(add):
    add_arithmetic(add)
    add_24(add)
    add_dots(add)
    add_carries(add)
    add_logic(add)
    add_shifts(add)
    add_bits(add)
