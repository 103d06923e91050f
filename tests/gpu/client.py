#!/usr/bin/env python3
"""client.py - a client that nobody here wrote, step by step, on a real GPU (cuda-check's part `clients`).

Usage: client.py cupy|torch|numba

Each step prints one line, "NAME STEP ok" or "NAME STEP failed: REASON". The first that fails ends it: what comes
behind would fail for the same reason, or hang.
"""
import sys


def cupy_steps():
    import cupy as cp

    def elementwise():
        x = cp.arange(100000, dtype=cp.float32)
        return float((x * 2 + 1).get()[99999]) == 199999

    def reduction():
        return int(cp.arange(100000).sum()) == 4999950000

    def raw_kernel():
        k = cp.RawKernel(r'extern "C" __global__ void f(float *x) { x[threadIdx.x] = threadIdx.x * 2; }', "f")
        x = cp.zeros(64, dtype=cp.float32)
        k((1,), (64,), (x,))
        return float(x.sum()) == 4032

    def sort():
        return int(cp.sort(cp.arange(100000)[::-1].copy())[7]) == 7

    def streams():
        with cp.cuda.Stream(non_blocking=True) as s:
            x = cp.ones(1000) + 1
            s.synchronize()
        return float(x.sum()) == 2000

    def random():
        return 0.4 < float(cp.random.random(100000).mean()) < 0.6

    def matmul():
        a = cp.ones((256, 256), dtype=cp.float32)
        return float((a @ a)[3, 4]) == 256

    def fft():
        return abs(float(cp.fft.fft(cp.ones(1024))[0].real) - 1024) < 1e-6

    return [elementwise, reduction, raw_kernel, sort, streams, random, matmul, fft]


def torch_steps():
    import torch

    def elementwise():
        x = torch.arange(100000, device="cuda", dtype=torch.float32)
        return float((x * 2 + 1)[99999]) == 199999

    def reduction():
        return int(torch.arange(100000, device="cuda").sum()) == 4999950000

    def sort():
        return int(torch.arange(100000, device="cuda").flip(0).sort()[0][7]) == 7

    def streams():
        s, e = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(s):
            x = torch.ones(1000, device="cuda") + 1
            e.record()
        e.synchronize()
        return float(x.sum()) == 2000

    def pinned():
        x = torch.ones(1000).pin_memory().to("cuda", non_blocking=True)
        return float(x.sum()) == 1000

    def matmul():
        a = torch.ones(256, 256, device="cuda")
        return float((a @ a)[3, 4]) == 256

    def training():
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).cuda()
        x = torch.randn(64, 8, device="cuda")
        y, first = x.sum(1, keepdim=True), None
        step = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(50):
            loss = ((model(x) - y) ** 2).mean()
            first = first or float(loss)
            step.zero_grad()
            loss.backward()
            step.step()
        return float(loss) < first

    return [elementwise, reduction, sort, streams, pinned, matmul, training]


def numba_steps():
    import numpy as np
    from numba import cuda

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    def kernel():
        x = np.arange(1000.0)
        double[8, 128](x)
        return x[999] == 1998

    def streams():
        s = cuda.stream()
        d = cuda.to_device(np.arange(1000.0), stream=s)
        double[8, 128, s](d)
        return d.copy_to_host(stream=s)[999] == 1998

    def reduction():
        return cuda.reduce(lambda a, b: a + b)(np.arange(1000.0)) == 499500

    return [kernel, streams, reduction]


def main():
    name = sys.argv[1]
    try:
        steps = {"cupy": cupy_steps, "torch": torch_steps, "numba": numba_steps}[name]()
    except ImportError as e:
        print(f"{name} import failed: {e}", flush=True)
        return 77
    for step in steps:
        try:
            reason = "" if step() else "a wrong result"
        except Exception as e:  # whatever a client makes of a refusal
            reason = f"{type(e).__name__}: {e}".splitlines()[0]
        print(f"{name} {step.__name__}", f"failed: {reason}" if reason else "ok", flush=True)
        if reason:
            return 1
    return 0


sys.exit(main())
