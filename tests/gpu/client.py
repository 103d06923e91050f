#!/usr/bin/env python3
"""client.py - clients that nobody here wrote, step by step, on a real GPU (cuda-check's part `clients`).

Usage: client.py CLIENT          CLIENT: cupy, torch, numba
       client.py CLIENT STEP     one step, in this process
       client.py CLIENT --list   the names of its steps

Each step prints one line, "CLIENT STEP ok" or "CLIENT STEP failed: REASON". Without STEP each has a process of its own, and
LIMIT_S seconds: what fails or hangs takes nothing else with it.
"""
import os
import signal
import sys

LIMIT_S = int(os.environ.get("LIMIT_S", 60))


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

    def random():  # cuRAND
        return 0.4 < float(cp.random.random(100000).mean()) < 0.6

    def matmul():  # cuBLAS
        a = cp.ones((256, 256), dtype=cp.float32)
        return float((a @ a)[3, 4]) == 256

    def matmul_half():
        a = cp.ones((1024, 1024), dtype=cp.float16)
        return float((a @ a)[3, 4]) == 1024

    def matmul_double():
        a = cp.ones((512, 512))
        return float((a @ a)[3, 4]) == 512

    def matmul_batched():
        a = cp.ones((8, 64, 64), dtype=cp.float32)
        return float(cp.matmul(a, a)[7, 3, 4]) == 64

    def fft():  # cuFFT
        return abs(float(cp.fft.fft(cp.ones(1024))[0].real) - 1024) < 1e-6

    def fft_2d():
        return abs(float(cp.fft.fft2(cp.ones((64, 96)))[0, 0].real) - 6144) < 1e-6

    def sparse():  # cuSPARSE
        from cupyx.scipy import sparse as sp

        return float((sp.identity(1000, format="csr") * 3 @ cp.ones(1000)).sum()) == 3000

    def solve():  # cuSOLVER
        x = cp.linalg.solve(cp.eye(64) * 2, cp.ones(64))
        return abs(float(x.sum()) - 32) < 1e-9

    def decompose():
        return abs(float(cp.linalg.svd(cp.eye(32) * 3)[1][0]) - 3) < 1e-9

    def async_pool():
        cp.cuda.set_allocator(cp.cuda.MemoryAsyncPool().malloc)
        return int(cp.arange(1000).sum()) == 499500

    def graph():
        s = cp.cuda.Stream(non_blocking=True)
        x = cp.zeros(100)
        with s:
            x + 1
            s.begin_capture()
            x += 1
            g = s.end_capture()
            for _ in range(3):
                g.launch(s)
            s.synchronize()
        return float(x.sum()) == 300

    def texture():
        from cupyx.scipy import ndimage

        return float(ndimage.zoom(cp.ones((8, 8)), 2).sum()) > 0

    return [elementwise, reduction, raw_kernel, sort, streams, random, matmul, matmul_half, matmul_double,
            matmul_batched, fft, fft_2d, sparse, solve, decompose, async_pool, graph, texture]


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

    def matmul_half():
        a = torch.ones(2048, 2048, device="cuda", dtype=torch.bfloat16)
        return float((a @ a)[3, 4]) == 2048

    def matmul_batched():
        a = torch.ones(8, 64, 64, device="cuda")
        return float(torch.bmm(a, a)[7, 3, 4]) == 64

    def training():
        torch.manual_seed(1)
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

    def convolution():  # cuDNN
        x = torch.ones(2, 3, 32, 32, device="cuda")
        y = torch.nn.functional.conv2d(x, torch.ones(4, 3, 3, 3, device="cuda"))
        return abs(float(y[0, 0, 5, 5]) - 27) < 1e-3

    def attention():
        q = torch.ones(2, 4, 128, 64, device="cuda", dtype=torch.float16)
        y = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        return abs(float(y[0, 0, 0, 0]) - 1) < 1e-2

    def fft():
        return abs(float(torch.fft.fft(torch.ones(1024, device="cuda"))[0].real) - 1024) < 1e-3

    def solve():
        a = torch.eye(64, device="cuda", dtype=torch.float64) * 2
        return abs(float(torch.linalg.solve(a, torch.ones(64, device="cuda", dtype=torch.float64)).sum()) - 32) < 1e-9

    def sparse():
        i = torch.arange(100, device="cuda")
        a = torch.sparse_coo_tensor(torch.stack([i, i]), torch.ones(100, device="cuda"), (100, 100)).to_sparse_csr()
        return float((a @ torch.ones(100, 1, device="cuda")).sum()) == 100

    def random():
        return 0.4 < float(torch.rand(100000, device="cuda").mean()) < 0.6

    def graph():
        x, g, s = torch.zeros(100, device="cuda"), torch.cuda.CUDAGraph(), torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            x += 0
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(g):
            x += 1
        for _ in range(3):
            g.replay()
        return float(x.sum()) == 300

    def loader():
        data = torch.utils.data.TensorDataset(torch.arange(1000.0))
        total = 0.0
        for (x,) in torch.utils.data.DataLoader(data, 100, pin_memory=True, num_workers=2):
            total += float(x.to("cuda", non_blocking=True).sum())
        return total == 499500

    return [elementwise, reduction, sort, streams, pinned, matmul, matmul_half, matmul_batched, training, convolution,
            attention, fft, solve, sparse, random, graph, loader]


def numba_steps():
    import numpy as np

    if not hasattr(np, "row_stack"):  # an older numba asks for it
        np.row_stack = np.vstack
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


CLIENTS = {"cupy": cupy_steps, "torch": torch_steps, "numba": numba_steps}


def run_here(name, step):
    try:
        reason = "" if step() else "a wrong result"
    except Exception as e:  # whatever a client makes of a refusal
        reason = f"{type(e).__name__}: {e}".splitlines()[0]
    print(name, step.__name__, f"failed: {reason}" if reason else "ok", flush=True)
    return bool(reason)


def run_apart(name, step):
    pid = os.fork()  # nothing of CUDA has begun in this process
    if not pid:
        signal.alarm(LIMIT_S)
        os._exit(run_here(name, step))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == -signal.SIGALRM:
        print(name, step.__name__, f"failed: not done after {LIMIT_S} s", flush=True)
    elif status < 0:
        print(name, step.__name__, f"failed: died of {signal.Signals(-status).name}", flush=True)
    return status != 0


def main():
    name, which = sys.argv[1], sys.argv[2:]
    try:
        steps = CLIENTS[name]()
    except ImportError as e:
        print(f"{name} import failed: {e}", flush=True)
        return 77
    if which == ["--list"]:
        print(*(step.__name__ for step in steps))
        return 0
    if which:
        return run_here(name, next(step for step in steps if step.__name__ == which[0]))
    return any([run_apart(name, step) for step in steps])


sys.exit(main())
