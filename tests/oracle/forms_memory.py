"""forms_memory - moves, loads, stores and atomics by their values: width, extension, elements of vectors, what an atomic leaves and gives.

Each thread works on 16 bytes of its own, so that nothing depends on order; who sees what and when is tested elsewhere.
"""
from forms_int import signed
from ieee import BF16, F16, F32, F64

CLUSTER = ".shared::cluster"  # where a block is alone the same as .shared
PLACES = {"": "m", ".global": "m", ".shared": "s", ".local": "l", CLUSTER: "s"}
TYPES = [kind + width for width in ("8", "16", "32", "64") for kind in "bus"] + ["f32", "f64"]


def width(t):
    return int(t.lstrip("busf"))


def register(t):
    return max(width(t), 16)


def moves(add):
    for t in [t for t in TYPES if width(t) > 8]:
        add(f"mov.{t}", "{} d, a", (f"x{width(t)}.a",), lambda a: a, f"b{width(t)}")
    add("mov.b64", "{} d, {a, b}", ("x32.a", "x32.b"), lambda a, b: b << 32 | a, "b64")
    add("mov.b64", "{ .reg .b32 t; {} {t, d}, a; }", ("x64.a",), lambda a: a >> 32, "b32")
    add("mov.b64", "{ .reg .b32 t; {} {d, t}, a; }", ("x64.a",), lambda a: a, "b32")
    add("mov.b32", "{} d, {a, b}", ("x16.a", "x16.b"), lambda a, b: b << 16 | a, "b32")
    add("mov.b32", "{ .reg .b16 t; {} {t, d}, a; }", ("x32.a",), lambda a: a >> 16, "b16")
    add("mov.b64", "{} d, {a, b, c, a}", ("x16.a", "x16.b", "x16.c"), lambda a, b, c: a | b << 16 | c << 32 | a << 48, "b64")
    add("mov.b64", "{ .reg .b16 t<3>; {} {t0, t1, d, t2}, a; }", ("x64.a",), lambda a: a >> 32, "b16")
    pair = "{ .reg .b128 t, u; .reg .b64 v; {} t, {a, b}; mov.b128 u, t; mov.b128 {%s}, u; }"
    add("mov.b128", pair % "v, d", ("x64.a", "x64.b"), lambda a, b: b, "b64")
    add("mov.b128", pair % "d, v", ("x64.a", "x64.b"), lambda a, b: a, "b64")


def spaces(add):
    for space, at in ((".shared", "s"), (".local", "l"), (CLUSTER, "s")):
        add(f"cvta{space}.u64", f"{{ .reg .b64 t; {{}} t, {at}; cvta.to{space}.u64 t, t; st{space}.b64 [t], a; ld{space}.b64 d, [{at}]; }}",
            ("x64.a",), lambda a: a, "b64", covers=f"cvta{space}.u64 cvta.to{space}.u64")
        add(f"cvta{space}.u64", f"{{ .reg .b64 t; {{}} t, {at}; st.b64 [t], a; ld{space}.b64 d, [{at}]; }}",
            ("x64.a",), lambda a: a, "b64")
    add("cvta.global.u64", "{ .reg .b64 t; {} t, m; cvta.to.global.u64 t, t; st.b64 [t], a; ld.global.b64 d, [m]; }",
        ("x64.a",), lambda a: a, "b64", covers="cvta.global.u64 cvta.to.global.u64")
    for space in ("global", "shared", "local", "shared::cluster"):
        for of, at in (("global", "m"), ("shared", "s"), ("local", "l")):
            add(f"isspacep.{space}", f"{{ .reg .b64 t; cvta.{of}.u64 t, {at}; {{}} p, t; }}", ("yes",),
                lambda a, same=space.split(":")[0] == of: same, "pred")


def loads(add):
    both = ("x64.a", "x64.b")
    for words, at in PLACES.items():
        space = words
        fill = f"st{space}.b64 [{at}], a; st{space}.b64 [{at}+8], b; "
        for t in TYPES:
            bits = width(t)
            extend = (lambda v, b=bits: signed(v, b)) if t[0] == "s" else (lambda v, b=bits: v % (1 << b))
            reg = register(t)
            for offset in {0, 16 - bits // 8}:
                add(f"ld{words}.{t}", f"{fill}{{}} d, [{at}+{offset}]", both,
                    lambda a, b, o=offset, f=extend: f((b << 64 | a) >> 8 * o), f"b{max(reg, 32) if bits == 8 else reg}")
            if bits < 64:
                add(f"ld{words}.{t}", f"{fill}{{}} d, [{at}+4]", both, lambda a, b, f=extend: f((b << 64 | a) >> 32), "b64")
            for n in (2, 4):
                if n * bits > 128:
                    continue
                names = [f"t{i}" for i in range(n)]
                for k in {0, n - 1}:
                    used = ", ".join("d" if i == k else names[i] for i in range(n))
                    add(f"ld{words}.v{n}.{t}", f"{{ .reg .b{reg} t<{n}>; {fill}{{}} {{{used}}}, [{at}]; }}", both,
                        lambda a, b, k=k, f=extend, bits=bits: f((b << 64 | a) >> k * bits), f"b{reg}")
        add(f"ld{words}.b128", f"{{ .reg .b128 t; .reg .b64 u; {fill}{{}} t, [{at}]; mov.b128 {{u, d}}, t; }}", both, lambda a, b: b, "b64")


def constant_loads(add):
    """.nc is of memory that the kernel does not write: [i], the thread's value of the last column."""
    for t in TYPES:
        bits, reg = width(t), register(t)
        extend = (lambda v, b=bits: signed(v, b)) if t[0] == "s" else (lambda v, b=bits: v % (1 << b))
        last = 8 - bits // 8
        add(f"ld.global.nc.{t}", f"{{}} d, [i+{last}]", ("x64.a",), lambda a, o=last, f=extend: f(a >> 8 * o),
            f"b{max(reg, 32) if bits == 8 else reg}")
        for n in (2, 4):
            if n * bits <= 64:
                names = ", ".join([f"t{k}" for k in range(n - 1)] + ["d"])
                add(f"ld.global.nc.v{n}.{t}", f"{{ .reg .b{reg} t<{n}>; {{}} {{{names}}}, [i]; }}", ("x64.a",),
                    lambda a, n=n, f=extend, bits=bits: f(a >> (n - 1) * bits), f"b{reg}")


def stores(add):
    for space, at in PLACES.items():
        fill = f"st{space}.b64 [{at}], a; st{space}.b64 [{at}+8], a; "
        for t in TYPES:
            bits = width(t)
            cols = ("x64.a", f"x{max(register(t), 32) if bits == 8 else register(t)}.b")
            for offset in {0, 8 - bits // 8}:
                def after(a, b, bits=bits, offset=offset):
                    mask = (1 << bits) - 1 << 8 * offset
                    return a & ~mask | b << 8 * offset & mask
                add(f"st{space}.{t}", f"{fill}{{}} [{at}+{offset}], b; ld{space}.b64 d, [{at}]", cols, after, "b64")
            for n in (2, 4):
                if n * bits > 128:
                    continue
                cols = ("x64.a", f"x{register(t)}.b", f"x{register(t)}.c")
                used = ", ".join("bc"[i % 2] for i in range(n))
                for half in {0, (n * bits - 1) // 64}:
                    def element(a, b, c, n=n, bits=bits, half=half):
                        whole = a << 64 | a
                        for i in range(n):
                            mask = (1 << bits) - 1 << bits * i
                            whole = whole & ~mask | (c if i % 2 else b) << bits * i & mask
                        return whole >> 64 * half
                    add(f"st{space}.v{n}.{t}", f"{fill}{{}} [{at}], {{{used}}}; ld{space}.b64 d, [{at}+{8 * half}]", cols, element, "b64")
        add(f"st{space}.b128", f"{{ .reg .b128 t; mov.b128 t, {{a, b}}; {{}} [{at}], t; ld{space}.b64 d, [{at}+8]; }}",
            ("x64.a", "x64.b"), lambda a, b: b, "b64")


def integer_atomics():
    for bits in (32, 64):
        for kind in "us":
            val = (lambda v, b=bits: signed(v, b)) if kind == "s" else lambda v: v
            t = f"{kind}{bits}"
            if (kind, bits) != ("s", 64):
                yield "add", t, lambda old, b: old + b
            yield "min", t, lambda old, b, f=val: min(f(old), f(b))
            yield "max", t, lambda old, b, f=val: max(f(old), f(b))
        yield "and", f"b{bits}", lambda old, b: old & b
        yield "or", f"b{bits}", lambda old, b: old | b
        yield "xor", f"b{bits}", lambda old, b: old ^ b
    yield "inc", "u32", lambda old, b: 0 if old >= b else old + 1
    yield "dec", "u32", lambda old, b: b if old == 0 or old > b else old - 1


def add_doubles(shared):
    """Of two NaNs shared memory's is left, quiet; at global memory the operand's, as it stands."""
    def give(old, b):
        for nan in (old, b) if shared else (b, old):
            if F64.is_nan(nan):
                return nan | F64.quiet if shared else nan
        return F64.add(old, b)
    return give


def atomics(add):
    for space in ("", ".global", ".shared", CLUSTER):
        at = PLACES[space]
        # in global memory single precision is flushed, in shared memory not
        flush = not space.startswith(".shared")
        floats = [("add", "f32", lambda old, b, z=flush: F32.add(old, b, ftz=z)), ("add", "f64", add_doubles(not flush)),
                  ("add.noftz", "f16", F16.add), ("add.noftz", "bf16", BF16.add)]
        for op, t, f in [*integer_atomics(), *floats]:
            bits = width(t)
            name = t if t[0] in "fb" and "f" in t else f"x{bits}"
            cols = (f"{name}.fa", f"{name}.fb") if "f" in t else (f"x{bits}.a", f"x{bits}.b")
            put, get = f"st{space}.b{bits} [{at}], a; ", f"ld{space}.b{bits} d, [{at}]"
            add(f"red{space}.{op}.{t}", f"{put}{{}} [{at}], b; {get}", cols, f, f"b{bits}")
            add(f"atom{space}.{op}.{t}", f"{{ .reg .b{bits} t; {put}{{}} t, [{at}], b; {get}; }}", cols, f, f"b{bits}")
            add(f"atom{space}.{op}.{t}", f"{put}{{}} d, [{at}], b", cols, lambda old, b: old, f"b{bits}")
        for bits in (16, 32, 64):
            put, get = f"st{space}.b{bits} [{at}], a; ", f"ld{space}.b{bits} d, [{at}]"
            cols = tuple(f"x{bits}.{c}" for c in "abc")
            swap = f"{{ .reg .b{bits} t; {put}{{}} t, [{at}], b, c; {get}; }}"
            add(f"atom{space}.cas.b{bits}", swap, cols, lambda old, b, c: c if old == b else old, f"b{bits}")
            add(f"atom{space}.cas.b{bits}", f"{put}{{}} d, [{at}], b, c", cols, lambda old, b, c: old, f"b{bits}")
            if bits > 16:
                add(f"atom{space}.exch.b{bits}", f"{{ .reg .b{bits} t; {put}{{}} t, [{at}], b; {get}; }}", cols[:2], lambda old, b: b, f"b{bits}")
                add(f"atom{space}.exch.b{bits}", f"{put}{{}} d, [{at}], b", cols[:2], lambda old, b: old, f"b{bits}")


def forms(add):
    moves(add)
    spaces(add)
    loads(add)
    constant_loads(add)
    stores(add)
    atomics(add)
