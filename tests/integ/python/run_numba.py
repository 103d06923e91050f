"""run_numba.py - numba-cuda on whatever device the driver reports; each result is checked against NumPy's."""

import math

import numpy as np
from numba import cuda, float32, int32, vectorize


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def arrays_streams_and_events():
    x = np.arange(1000, dtype=np.float32)
    streams = [cuda.stream() for _ in range(3)]
    first, last = cuda.event(), cuda.event()
    first.record(streams[0])
    on_device = [(cuda.to_device(x, stream=s), cuda.to_device(np.ones_like(x), stream=s)) for s in streams]
    for s, (dx, dy) in zip(streams, on_device):
        saxpy[8, 128, s](np.float32(2), dx, dy)
    last.record(streams[0])
    cuda.synchronize()
    assert cuda.event_elapsed_time(first, last) >= 0
    for _, dy in on_device:
        assert (dy.copy_to_host() == 1 + 2 * x).all()


@cuda.jit
def product(a, b, c):
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for i in range(a.shape[1] // 16):
        sa[tx, ty] = a[x, ty + i * 16]
        sb[tx, ty] = b[tx + i * 16, y]
        cuda.syncthreads()
        for j in range(16):
            total += sa[tx, j] * sb[j, ty]
        cuda.syncthreads()
    c[x, y] = total


def shared_memory():
    a = np.arange(64 * 64).reshape(64, 64).astype(np.float32) % 7
    c = np.zeros_like(a)
    product[(4, 4), (16, 16)](a, a.T.copy(), c)
    assert (c == a @ a.T).all()


@cuda.jit
def count(histogram, total, largest):
    i = cuda.grid(1)
    cuda.atomic.add(histogram, i % 10, 1)
    cuda.atomic.add(total, 0, 1.5)
    cuda.atomic.max(largest, 0, i)


def atomics():
    histogram, total, largest = np.zeros(10, np.int32), np.zeros(1), np.zeros(1, np.int64)
    count[10, 100](histogram, total, largest)
    assert (histogram == 100).all() and total[0] == 1500 and largest[0] == 999


def reduction_and_ufunc():
    x = np.arange(10000, dtype=np.float64)
    assert cuda.reduce(lambda a, b: a + b)(x) == x.sum()

    @vectorize(["float64(float64, float64)"], target="cuda")
    def f(a, b):
        return math.sin(a) + math.exp(b) + math.erf(a) * math.pow(b, 1.5)

    a = np.linspace(0, 1, 500)
    want = np.sin(a) + np.exp(a) + np.vectorize(math.erf)(a) * a**1.5
    assert np.allclose(f(a, a), want, rtol=1e-14)


@cuda.jit
def rounds(m):
    column = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for row in range(1, m.shape[0]):
        m[row, column] = m[row - 1, m.shape[1] - column - 1] + 1
        grid.sync()


def barriers_of_a_grid():
    m = np.zeros((20, 256), np.int32)
    rounds[4, 64](m)
    assert (m[-1] == 19).all()


@cuda.jit
def halves(x, y):
    i = cuda.grid(1)
    y[i] = cuda.fp16.hsqrt(x[i] * x[i] + x[i])


def float16():
    x = np.arange(32).astype(np.float16)
    y = np.zeros_like(x)
    halves[1, 32](x, y)
    assert np.allclose(y, np.sqrt((x * x + x).astype(np.float32)), rtol=2e-3)


PTX = b""".version 7.0
.target sm_75
.address_size 64
.visible .func (.param .b32 error) five_times(.param .b64 to, .param .b32 x)
{
    .reg .b32 %x;
    .reg .b64 %to;
    ld.param.b32 %x, [x];
    ld.param.b64 %to, [to];
    mul.lo.s32 %x, %x, 5;
    st.b32 [%to], %x;
    st.param.b32 [error], 0;
    ret;
}
"""


def linked_code():
    source = 'extern "C" __device__ int thrice(int *to, int x) { *to = 3 * x; return 0; }'
    thrice = cuda.declare_device("thrice", "int32(int32)", link=cuda.CUSource(source))
    five_times = cuda.declare_device("five_times", "int32(int32)", link=cuda.PTXSource(PTX))

    @cuda.jit
    def both(x):
        i = cuda.grid(1)
        x[i] = thrice(x[i]) + five_times(x[i])

    x = np.arange(32, dtype=np.int32)
    both[1, 32](x)
    assert (x == 8 * np.arange(32)).all()


def exceptions():
    @cuda.jit(debug=True, opt=False)
    def divide(x, y):
        i = cuda.threadIdx.x
        x[i] = int32(10) // y[i]

    x = np.zeros(4, np.int32)
    divide[1, 4](x, np.array([1, 2, 5, 10], np.int32))
    assert list(x) == [10, 5, 2, 1]
    try:
        divide[1, 4](x, np.array([1, 0, 5, 10], np.int32))
    except ZeroDivisionError:
        return
    raise AssertionError("a division by zero went unseen")


for case in (
    arrays_streams_and_events,
    shared_memory,
    atomics,
    reduction_and_ufunc,
    barriers_of_a_grid,
    float16,
    linked_code,
    exceptions,
):
    case()
    print(case.__name__, flush=True)
