"""columns - the inputs: lists of bits by name, which the forms share.

x32.a, x32.b, x32.c (and x16, x64): integers for operations of two or three; the first two hold all pairs of edge values, then numbers of all
sizes. f32.a, f32.b, f32.c, f32 (and f64, f16, bf16): the same for floats, and for operations of one: zeros, infinities, NaNs with payloads,
subnormals, halfway cases, overflow, and what is just below the least normal number. .fa and .fb: few pairs. i8 .. i64 and
f32.cvt: for conversions. n32, m32: counts and positions, beyond every width; pos and len: all pairs of them.
"""
from ieee import BF16, F16, F32, F64


class Numbers:
    """A fixed sequence that looks random: the files must come out the same everywhere and forever."""

    def __init__(self, seed):
        self.state = seed

    def bits(self, n):
        out = 0
        for _ in range((n + 15) // 16):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            out = out << 16 | self.state >> 48
        return out % (1 << n)

    def sized(self, n):
        """Of any magnitude, of either sign."""
        v = self.bits(n) >> self.bits(16) % n
        return v if self.bits(16) & 1 else ~v % (1 << n)


COLUMNS = {}


def column(name, bits, values):
    COLUMNS[name] = (bits, [v % (1 << bits) for v in values])


def spread(values, n):
    """n of the values in turn, by steps that meet all of them."""
    step = next(s for s in (7, 5, 11, 3) if len(values) % s)
    return [values[i * step % len(values)] for i in range(n)]


def integer_columns(bits):
    rng = Numbers(bits)
    top = 1 << bits - 1
    core = [0, 1, 2, top - 1, top, top + 1, 2 * top - 1]
    pairs = [(a, b) for a in core for b in core] + [(rng.sized(bits), rng.sized(bits)) for _ in range(23)]
    more = core + [3, 7, 0x80FF7F01, 0x55, rng.bits(bits), rng.sized(bits), 2 * top - 2]
    column(f"x{bits}.a", bits, [a for a, _ in pairs])
    column(f"x{bits}.b", bits, [b for _, b in pairs])
    column(f"x{bits}.c", bits, spread(more, len(pairs)))


def one_integer(bits, reg):
    """For conversions: the edges of all narrower types, and where single and double precision round."""
    edges = {0, 1, 2, 100, 200}
    for width in (7, 8, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64):
        if width <= bits:
            edges |= {(1 << width) - 1, 1 << width & (1 << bits) - 1, -(1 << width) % (1 << bits)}
    for v in (0xFFFFFF80, 0x01000001, 0x01000003, (1 << 53) + 1, (1 << 53) + 3, 0x7FFFFFBFFFFFFFFF, 0x8000008000000000,
              0x8000008000000001, 0x123456789ABCDEF0, 0xFFFFFFFFFFFFFC00, 2049, 2051, 65519, 65520, 257, 259):
        if v < 1 << bits:
            edges.add(v)
    # a narrow type in a wider register: what lies above must not count
    high = 0 if reg == bits else 0xA5 << bits
    column(f"i{bits}", reg, [v | (high if i % 3 else 0) for i, v in enumerate(sorted(edges))])


def exact(f, *numbers):
    """Bits of numbers written as (mantissa, exponent of 2)."""
    from fractions import Fraction
    return [f.round(Fraction(m) * Fraction(2) ** e) for m, e in numbers]


def float_edges(f):
    p = f.man
    least, big = 1 - f.bias, f.bias
    out = [0, f.sign, f.one, f.one | f.sign, f.inf, f.inf | f.sign, f.inf | f.quiet, f.sign | f.inf | f.quiet | 5, f.inf | 3]
    out += [1, f.sign | 1, (1 << p) - 1, 1 << p, f.sign | 1 << p, (1 << p) + 1, f.largest, f.largest | f.sign]
    out += exact(f, (3, -1), (-5, -1), (1, -1), (-1, -1), (1, -2), (7, -1), (-3, -2), ((1 << p) - 1, -p), ((1 << p) + 1, -p),
                 (1, big - 1), (-1, big), (1, least + 1), (3, least - 2), (1, -p), (1, -p - 1), (1, p), ((1 << p + 1) - 1, -1), (5, p - 3))
    return [b for b in out if b < 1 << f.bits]


def float_columns(f):
    rng = Numbers(f.bits + f.exp)
    p = f.man
    core = [0, f.sign, f.one, f.sign | f.one | 1 << (p - 1), f.inf, f.sign | f.inf, f.inf | f.quiet | 9, 1]
    pairs = [(a, b) for a in core for b in core]
    ulp = f.one + 1
    pairs += [(f.sign | f.inf | f.quiet | 7, f.inf | 3), (f.inf | 5, f.one), (f.one, f.sign | f.inf | 1)]
    # halfway, above and below it; overflow at the last bit; cancellation; just below the least normal number
    half = exact(f, (1, -p - 1))[0]
    pairs += [(f.one, half), (ulp, half), (f.one, half + 1), (f.one, half | f.sign), (ulp, ulp), (ulp, ulp | f.sign),
              (f.largest, f.largest), (f.largest, exact(f, (1, f.bias - p - 1))[0]), (f.largest, exact(f, (1, f.bias - p - 1))[0] - 1),
              (f.one - 1, 1 << p), (f.one - 1, f.sign | 1 << p), ((1 << p) + 1, f.one - 2), (1 << p, f.one >> 1),
              (f.sign | 1 << p, 1 << p | 1), (3, f.one - (1 << p)), (f.one - (1 << p), 3), (f.largest, 1), (1, f.largest),
              (f.one, exact(f, (3, f.bias - 2))[0]), (f.largest, exact(f, (-3, f.bias - 2))[0]), (ulp, exact(f, (1, f.bias - 1))[0])]
    for _ in range(20):
        near = f.one + ((rng.bits(16) % 40 - 20) << p)
        pairs.append((near | rng.bits(p) | rng.bits(1) * f.sign, near | rng.bits(p) | rng.bits(1) * f.sign))
    for _ in range(8):
        pairs.append((rng.bits(f.bits), rng.bits(f.bits)))
    # the addend of fma: specials, the product taken away but for its last bits, and anything
    addends = spread(core + [f.sign | 1, 1 << p, f.largest, f.inf | f.quiet | 2], 64)
    for a, b in pairs[64:]:
        product = f.mul(a, b)
        addends.append([product ^ f.sign, rng.bits(f.bits), (product ^ f.sign) + 1 & (1 << f.bits) - 1][rng.bits(16) % 3])
    for a, b in ((f.one - 1, 1 << p), (f.one - 1, f.sign | 1 << p), (f.one - 2, 1 << p), (f.one + 1, (1 << p) - 1)):
        pairs += [(a, b), (a, b)]
        addends += [0, f.sign | 1]
    name = f.name
    column(f"{name}.a", f.bits, [a for a, _ in pairs])
    column(f"{name}.b", f.bits, [b for _, b in pairs])
    column(f"{name}.c", f.bits, addends)
    extra = [rng.bits(f.bits) for _ in range(4)]
    extra += [f.one + ((rng.bits(16) % 12 - 6) << p) | rng.bits(p) | rng.bits(1) * f.sign for _ in range(8)]
    column(name, f.bits, float_edges(f) + extra)


def for_conversion(f):
    """Around the edges of the integer types and of the narrower formats."""
    points = [0, f.sign, f.one, f.inf, f.sign | f.inf, f.inf | f.quiet | 1, f.sign | f.inf | 5, 1, f.sign | 1, f.largest, f.largest | f.sign]
    points += exact(f, (1, -1), (-1, -1), (3, -1), (5, -1), (-5, -1), (7, -2), (-1, -2))
    if f.exp > 5:
        for e in (7, 8, 15, 16, 31, 32, 63, 64):
            points += exact(f, ((1 << 11) - 1, e - 11), ((1 << e + 1) - 1, -1), (1, e), (-1, e), (-(1 << e) * 2 - 1, -1))
        points += exact(f, (65519, 0), (-65520, 0), (1, -24), (-3, -25), (1, -25), (0x1FFD, -37), (2049, -11), (4099, -12), (257, -8), (259, -8))
    if f.man > 23:
        points += exact(f, ((1 << 25) - 1, 103), ((1 << 26) - 1, 102), (1, 128), (-1, -126), ((1 << 25) - 1, -151), ((1 << 24) - 1, -150), (3, -150), (1, -150),
                        ((1 << 24) + 1, -24), ((1 << 24) + 3, -24), ((1 << 54) + 1, -54), ((1 << 53) - 1, 11))
    seen = []
    for b in points:
        if b not in seen:
            seen.append(b)
    column(f"{f.name}.cvt", max(f.bits, 16), seen)


def few(name, bits, values):
    """All pairs of five values, for forms that differ in what they do with a result."""
    column(f"{name}.fa", bits, [a for a in values for _ in values])
    column(f"{name}.fb", bits, [b for _ in values for b in values])


for width in (16, 32, 64):
    integer_columns(width)
    few(f"x{width}", width, [0, 1, (1 << width - 1) - 1, 1 << width - 1, (1 << width) - 1])
for width in (8, 16, 32, 64):
    one_integer(width, max(width, 32) if width == 8 else width)
column("n32", 32, [0, 1, 4, 5, 8, 15, 16, 17, 30, 31, 32, 33, 47, 63, 64, 65, 127, 128, 255, 256, 257, 0x80000000, 0xFFFFFFFF])
column("m32", 32, [0, 3, 1, 31, 9, 32, 64, 33, 7, 255, 16, 63, 300, 0xFFFFFFFE, 8, 24, 2, 12, 0x7FFFFFFF, 0x104, 0x10000207])
POSITIONS, LENGTHS = (0, 1, 5, 16, 30, 31, 32, 33, 255, 256), (0, 1, 8, 31, 32, 33, 64, 0x104, 0xFFFFFFFF)
column("pos", 32, [p for p in POSITIONS for _ in LENGTHS])
column("len", 32, [n for _ in POSITIONS for n in LENGTHS])
column("yes", 32, [1, 0, 5, 0, 0, 0xFFFFFFFF, 0x80000000])
for fmt in (F32, F64, F16, BF16):
    float_columns(fmt)
    for_conversion(fmt)
    few(fmt.name, fmt.bits, [fmt.sign, 1, fmt.sign | fmt.one, fmt.inf, fmt.inf | fmt.quiet, fmt.sign | fmt.inf | 2])
