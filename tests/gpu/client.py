#!/usr/bin/env python3
"""client.py - clients that nobody here wrote, step by step, on a real GPU (cuda-check's part `clients`).

Usage: client.py CLIENT          CLIENT: cupy, torch, numba, pycuda, cuda.core
       client.py CLIENT STEP     one step, in this process
       client.py CLIENT --list   the names of its steps

Each step prints one line, "CLIENT STEP ok" or "CLIENT STEP failed: REASON". Without STEP each has a process of its own, and
LIMIT_S seconds: what fails or hangs takes nothing else with it. JOBS of them run at once.
"""
import os
import signal
import subprocess
import sys
import tempfile

LIMIT_S = int(os.environ.get("LIMIT_S", 60))
JOBS = int(os.environ.get("JOBS", 1))


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

    def fused():
        @cp.fuse()
        def length(x, y):
            return cp.sqrt(x * x + y * y) + 1

        return float(length(cp.full(1000, 3.0), cp.full(1000, 4.0)).sum()) == 6000

    def own_kernels():
        twice = cp.ElementwiseKernel("T x", "T y", "y = x * 2", "twice")
        norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
        return float(norm(twice(cp.full(10000, 2.0)))) == 400

    def raw_module():
        m = cp.RawModule(code=r"""
            __constant__ int step; __device__ int count;
            template <class T> __global__ void scale(T *x) { x[threadIdx.x] *= step; atomicAdd(&count, 1); }""",
                         options=("-std=c++17",), name_expressions=("scale<double>",))
        step = cp.ndarray(1, cp.int32, m.get_global("step"))
        count = cp.ndarray(1, cp.int32, m.get_global("count"))
        step[0], count[0] = 3, 0
        x = cp.ones(64)
        m.get_function("scale<double>")((1,), (64,), (x,))
        return float(x.sum()) == 192 and int(count[0]) == 64

    def generators():  # cuRAND: normal, Poisson and a state of its own
        g = cp.random.default_rng(7)
        means = float(g.standard_normal(100000).mean()), float(cp.random.poisson(4, 100000).mean())
        return abs(means[0]) < 0.05 and abs(means[1] - 4) < 0.1

    def fft_plan():
        from cupyx.scipy import fftpack

        x = cp.random.random((16, 1000)).astype(cp.complex64)
        plan = fftpack.get_fft_plan(x, axes=1)
        y = fftpack.ifft(fftpack.fft(x, axis=1, plan=plan), axis=1, plan=plan)
        return float(abs(x - y).max()) < 1e-5

    def fft_real_3d():
        x = cp.random.random((30, 42, 54))
        return float(abs(cp.fft.irfftn(cp.fft.rfftn(x), s=x.shape) - x).max()) < 1e-10

    def spmm():
        from cupyx.scipy import sparse as sp

        a = sp.random(500, 500, density=0.05, format="csr", dtype=cp.float64)
        dense = a.toarray()
        return bool(cp.allclose(a @ cp.ones((500, 8)), dense @ cp.ones((500, 8)))) and \
            bool(cp.allclose((a @ a).toarray(), dense @ dense))

    def scan():  # CUB and thrust
        x = cp.arange(1, 100001)
        u, n = cp.unique(x % 1000, return_counts=True)
        return int(cp.cumsum(x)[-1]) == 5000050000 and u.size == 1000 and int(n.sum()) == 100000 and \
            int(cp.argsort(-x)[0]) == 99999 and int(cp.partition(x, 5)[0]) == 1

    def histogram():
        n = cp.histogram(cp.arange(10000) % 10, bins=10)[0]
        return int(cp.bincount(cp.arange(10000) % 7)[0]) == 1429 and int(n.min()) == 1000

    def pinned():
        import cupyx

        h = cupyx.empty_pinned(100000, dtype=cp.float64)
        h[:] = 1
        s = cp.cuda.Stream(non_blocking=True)
        d = cp.empty(100000)
        d.set(h, stream=s)
        with s:
            d += 1
        back = d.get(stream=s, out=cupyx.empty_pinned(100000, dtype=cp.float64))
        s.synchronize()
        return float(back.sum()) == 200000

    def factorize():  # cuSOLVER
        a = cp.random.random((64, 64))
        a = a @ a.T + 64 * cp.eye(64)
        q, r = cp.linalg.qr(a)
        l, (w, v) = cp.linalg.cholesky(a), cp.linalg.eigh(a)
        return all(bool(cp.allclose(x, a)) for x in (q @ r, l @ l.T, v * w @ v.T)) and \
            bool(cp.allclose(cp.linalg.inv(a) @ a, cp.eye(64))) and \
            bool(cp.allclose(a @ cp.linalg.lstsq(a, cp.ones(64), rcond=None)[0], 1))

    def image():
        from cupyx.scipy import ndimage

        x = cp.zeros((64, 64))
        x[32, 32] = 1
        return abs(float(ndimage.gaussian_filter(x, 2).sum()) - 1) < 1e-6 and int(ndimage.label(x)[1]) == 1

    def solve_sparse():
        from cupyx.scipy.sparse import diags
        from cupyx.scipy.sparse.linalg import cg

        a = diags([-1, 4, -1], [-1, 0, 1], shape=(1000, 1000), format="csr")
        x, status = cg(a, cp.ones(1000))
        return status == 0 and bool(cp.allclose(a @ x, 1, atol=1e-3))

    def jit_kernel():
        from cupyx import jit

        @jit.rawkernel()
        def scale(x, n):
            i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
            if i < n:
                x[i] *= 3

        x = cp.ones(1000)
        scale((8,), (128,), (x, 1000))
        return float(x.sum()) == 3000

    def cooperative():
        k = cp.RawKernel(r"""
            #include <cooperative_groups.h>
            extern "C" __global__ void f(int *x) {
                x[blockIdx.x] = 1;
                cooperative_groups::this_grid().sync();
                if (!threadIdx.x) atomicAdd(x + gridDim.x, x[gridDim.x - 1 - blockIdx.x]);
            }""", "f", enable_cooperative_groups=True)
        x = cp.zeros(65, dtype=cp.int32)
        k((64,), (32,), (x,))
        return int(x[64]) == 64

    def large_shared_memory():
        k = cp.RawKernel(r"""extern "C" __global__ void f(int *x, int n) {
                extern __shared__ int s[];
                for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;
                __syncthreads();
                if (!threadIdx.x) *x = s[n - 1];
            }""", "f")
        k.max_dynamic_shared_size_bytes = 200 << 10
        x = cp.zeros(1, dtype=cp.int32)
        k((1,), (256,), (x, 50 << 10), shared_mem=200 << 10)
        return int(x[0]) == (50 << 10) - 1

    def tensor_map():  # one copy of the TMA unit
        import ctypes

        import numpy as np

        x, y = cp.arange(64 * 8, dtype=cp.float32).reshape(8, 64), cp.zeros(64, dtype=cp.float32)
        room = np.zeros(256, np.uint8)
        room = room[-room.ctypes.data % 128:][:128]
        words = [np.array(v, t) for v, t in (([64, 8], np.uint64), ([256], np.uint64), ([16, 4], np.uint32), ([1, 1], np.uint32))]
        error = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
            ctypes.c_void_p(room.ctypes.data), 7, 2, ctypes.c_void_p(x.data.ptr),
            *(ctypes.c_void_p(w.ctypes.data) for w in words), 0, 0, 0, 0)
        if error:
            raise RuntimeError(f"cuTensorMapEncodeTiled returns {error}")
        k = cp.RawKernel(r"""struct alignas(64) map { char bytes[128]; };
            extern "C" __global__ void f(const __grid_constant__ map m, float *y) {
                __shared__ alignas(128) float tile[64];
                __shared__ alignas(8) unsigned long long bar;
                unsigned b = __cvta_generic_to_shared(&bar), t = __cvta_generic_to_shared(tile), done = 0;
                if (!threadIdx.x) {
                    asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async;" :: "r"(b));
                    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(b));
                    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                                 " [%0], [%1, {%2, %3}], [%4];"
                                 :: "r"(t), "l"(&m), "r"(32), "r"(2), "r"(b) : "memory");
                }
                __syncthreads();
                while (!done)
                    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                                 : "=r"(done) : "r"(b) : "memory");
                y[threadIdx.x] = tile[threadIdx.x];
            }""", "f", options=("-arch=sm_90",), backend="nvrtc")
        k((1,), (64,), (room.view(np.dtype((np.void, 128)))[0], y))
        return bool((y.reshape(4, 16) == x[2:6, 32:48]).all())

    def host_callback():
        s, seen = cp.cuda.Stream(non_blocking=True), []
        with s:
            x = cp.arange(1000).sum()
            s.launch_host_func(seen.append, 7)
            s.synchronize()
        return seen == [7] and int(x) == 499500

    def threads():
        import threading

        sums = [0] * 4

        def work(i):
            with cp.cuda.Stream(non_blocking=True):
                a = cp.full((128, 128), i + 1.0)
                sums[i] = float((a @ a).sum())

        all_of = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [t.start() for t in all_of], [t.join() for t in all_of]
        return sums == [(i + 1.0) ** 2 * 128**3 for i in range(4)]

    def volumes():
        x = cp.arange(4 * 5 * 6).reshape(4, 5, 6)
        y = cp.empty((4, 5, 6), dtype=x.dtype)
        y[:, 1:4, ::2] = x[:, 1:4, ::2]
        return bool((y[:, 1:4, ::2] == x[:, 1:4, ::2]).all()) and int(x.transpose(2, 0, 1).copy()[5, 3, 4]) == 119

    def signal():
        from cupyx.scipy import signal as sg, special

        x = cp.cos(cp.arange(1000) * 0.1)
        return float(abs(sg.fftconvolve(x, cp.ones(5), "same") - sg.convolve(x, cp.ones(5), "same")).max()) < 1e-9 and \
            abs(float(special.gamma(cp.array(5.0))) - 24) < 1e-9

    def no_memory():
        try:
            cp.cuda.runtime.malloc(1 << 50)
        except cp.cuda.runtime.CUDARuntimeError as e:
            return "MemoryAllocation" in str(e) and int(cp.arange(1000).sum()) == 499500
        return False

    def texture_object():
        from cupy.cuda import texture as tx

        channel = tx.ChannelFormatDescriptor(32, 0, 0, 0, cp.cuda.runtime.cudaChannelFormatKindFloat)
        array = tx.CUDAarray(channel, 64, 64)
        array.copy_from(cp.ones((64, 64), dtype=cp.float32))
        tx.TextureObject(tx.ResourceDescriptor(cp.cuda.runtime.cudaResourceTypeArray, cuArr=array), tx.TextureDescriptor())
        return True

    def shared_array():  # an allocation and an event of another process
        return run_again("import multiprocessing as mp, cupy as cp\n"
                         "from cupy.cuda import runtime as rt\n"
                         "def f(m, e, q):\n"
                         "    at = rt.ipcOpenMemHandle(m); e = rt.ipcOpenEventHandle(e)\n"
                         "    memory = cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(at, 4000, None), 0)\n"
                         "    x = cp.ndarray(1000, dtype=cp.float32, memptr=memory)\n"
                         "    s = cp.cuda.Stream(non_blocking=True); rt.streamWaitEvent(s.ptr, e)\n"
                         "    with s: x += cp.arange(1000, dtype=cp.float32)\n"
                         "    rt.eventRecord(e, s.ptr); s.synchronize(); q.put(1); rt.ipcCloseMemHandle(at)\n"
                         "if __name__ == '__main__':\n"
                         "    c = mp.get_context('spawn'); q = c.Queue(); x = cp.ones(1000, dtype=cp.float32)\n"
                         "    e = rt.eventCreateWithFlags(2 | 4); rt.eventRecord(e, 0)\n"
                         "    p = c.Process(target=f, args=(rt.ipcGetMemHandle(x.data.ptr), rt.ipcGetEventHandle(e), q))\n"
                         "    p.start(); q.get(timeout=60); p.join(); rt.eventSynchronize(e)\n"
                         "    assert float(x.sum()) == 1000 + 499500, x")

    def printing():  # from machine code alone, as NVRTC makes it
        import ctypes
        import os
        import tempfile

        f = cp.RawKernel('extern "C" __global__ void f(int n) { printf("thread %d of %d\\n", threadIdx.x, n); }', "f")
        f.compile()
        with tempfile.TemporaryFile() as out:
            before = os.dup(1)
            os.dup2(out.fileno(), 1)
            try:
                f((1,), (2,), (7,))
                cp.cuda.Device().synchronize()
                ctypes.CDLL(None).fflush(None)
            finally:
                os.dup2(before, 1)
            out.seek(0)
            return out.read() == b"thread 0 of 7\nthread 1 of 7\n"

    def managed():
        cp.cuda.set_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc)
        return int(cp.arange(1000).sum()) == 499500

    return [elementwise, reduction, raw_kernel, sort, streams, random, matmul, matmul_half, matmul_double,
            matmul_batched, fft, fft_2d, sparse, solve, decompose, async_pool, graph, texture, fused, own_kernels, raw_module,
            generators, fft_plan, fft_real_3d, spmm, scan, histogram, pinned, factorize, image, solve_sparse, managed,
            jit_kernel, cooperative, large_shared_memory, tensor_map, host_callback, threads, volumes, signal, no_memory,
            texture_object, shared_array, printing]


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

    def learn(model, x, y, loss_of, steps=10, scaler=None, kind=None):
        """Whether some steps of Adam make the loss smaller; with a scaler in mixed precision."""
        optimizer, losses = torch.optim.Adam(model.parameters(), 0.01), []
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=kind, enabled=kind is not None):
                loss = loss_of(model(x), y)
            losses.append(float(loss))
            if scaler:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
        return losses[-1] < losses[0]

    def convolution_training():
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                                  torch.nn.Flatten(), torch.nn.Dropout(0.1), torch.nn.Linear(8 * 15 * 15, 10)).cuda()
        x, y = torch.randn(16, 3, 32, 32, device="cuda"), torch.arange(16, device="cuda") % 10
        return learn(net, x, y, torch.nn.functional.cross_entropy)

    def mixed_half():
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 8)).cuda()
        x, y = torch.randn(128, 256, device="cuda"), torch.arange(128, device="cuda") % 8
        return learn(net, x, y, torch.nn.functional.cross_entropy, scaler=torch.amp.GradScaler("cuda"), kind=torch.float16)

    def mixed_bfloat16():
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
                                  torch.nn.Linear(16 * 16 * 16, 8)).cuda()
        x, y = torch.randn(32, 3, 16, 16, device="cuda"), torch.arange(32, device="cuda") % 8
        return learn(net, x, y, torch.nn.functional.cross_entropy, kind=torch.bfloat16)

    def transformer():
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Embedding(100, 64), torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True),
                                  torch.nn.LayerNorm(64), torch.nn.Linear(64, 100)).cuda()
        x = torch.randint(0, 100, (8, 32), device="cuda")
        return learn(net, x, x, lambda out, y: torch.nn.functional.cross_entropy(out.flatten(0, 1), y.flatten()))

    def recurrent():
        torch.manual_seed(1)
        net = torch.nn.LSTM(16, 16, 2, batch_first=True).cuda()
        x = torch.randn(8, 20, 16, device="cuda")
        return learn(net, x, x.cumsum(1).tanh(), lambda out, y: ((out[0] - y) ** 2).mean())

    def attention_kinds():
        from torch.nn.attention import SDPBackend, sdpa_kernel

        q = torch.randn(2, 4, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        results = []
        for kind in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            with sdpa_kernel(kind):
                results.append(torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True))
            results[-1].sum().backward()
        return all(torch.allclose(results[0], r, atol=3e-2) for r in results)

    def graph_training():
        net, x = torch.nn.Linear(64, 64).cuda(), torch.randn(32, 64, device="cuda")
        optimizer = torch.optim.Adam(net.parameters(), 0.01, capturable=True)

        def step():
            optimizer.zero_grad(set_to_none=False)
            loss = ((net(x) - x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            first = float([step() for _ in range(3)][0])
        torch.cuda.current_stream().wait_stream(s)
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            loss = step()
        for _ in range(20):
            g.replay()
        return float(loss) < first

    def scan():
        x = torch.arange(1, 100001, device="cuda")
        return int(x.cumsum(0)[-1]) == 5000050000 and x.topk(3)[0].tolist() == [100000, 99999, 99998] and \
            (x % 1000).unique().numel() == 1000 and int(torch.bincount(x % 7)[0]) == 14285 and \
            int((x % 3 == 0).nonzero().numel()) == 33333 and int(x.kthvalue(5)[0]) == 5 and \
            int(torch.searchsorted(x, torch.tensor(77, device="cuda"))) == 76

    def index():
        x = torch.zeros(1000, device="cuda")
        i = torch.arange(10000, device="cuda") % 1000
        x.scatter_add_(0, i, torch.ones(10000, device="cuda"))
        x.index_add_(0, i[:1000], torch.ones(1000, device="cuda"))
        return float(x.sum()) == 11000 and float(x.gather(0, i).sum()) == 110000

    def fft_nd():
        x = torch.randn(30, 42, 54, device="cuda")
        return torch.allclose(torch.fft.irfftn(torch.fft.rfftn(x), s=x.shape), x, atol=1e-5)

    def factorize():  # cuSOLVER
        torch.manual_seed(1)
        a = torch.randn(64, 64, device="cuda", dtype=torch.float64)
        a = a @ a.T + 64 * torch.eye(64, device="cuda", dtype=torch.float64)
        u, s, v = torch.linalg.svd(a)
        q, r = torch.linalg.qr(a)
        l, (w, e) = torch.linalg.cholesky(a), torch.linalg.eigh(a)
        return all(torch.allclose(x, a) for x in (u * s @ v, q @ r, l @ l.T, e * w @ e.T))

    def solve_many():
        a = torch.eye(32, device="cuda") * 2 + torch.rand(16, 32, 32, device="cuda") * 0.01
        b = torch.ones(16, 32, 2, device="cuda")
        x, y = torch.linalg.solve(a, b), torch.linalg.lstsq(a, b)[0]
        return torch.allclose(a @ x, b, atol=1e-4) and torch.allclose(x, y, atol=1e-4) and \
            torch.allclose(torch.linalg.inv(a) @ a, torch.eye(32, device="cuda").expand(16, 32, 32), atol=1e-4)

    def spmm():  # cuSPARSE
        a = (torch.rand(300, 300, device="cuda") < 0.05).double()
        s = a.to_sparse_csr()
        return torch.allclose(s @ a, a @ a) and torch.allclose((s @ s).to_dense(), a @ a)

    def large_matmul():
        a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16) / 64
        b, c = a.float() @ a.float().T, (a @ a.T).float()
        torch.backends.cuda.matmul.allow_tf32 = True
        d = a.float() @ a.float().T
        return torch.allclose(b, c, atol=1e-2) and torch.allclose(b, d, atol=1e-2)

    def matmul_int8():
        a = torch.ones(64, 128, device="cuda", dtype=torch.int8)
        return int(torch._int_mm(a, a.T.contiguous())[3, 4]) == 128

    def matmul_fp8():
        a, one = torch.ones(128, 256, device="cuda"), torch.ones((), device="cuda")
        b = a.to(torch.float8_e4m3fn)
        return float(torch._scaled_mm(b, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)[3, 4]) == 256

    def linear_gelu():  # cuBLASLt with an epilogue
        x, net = torch.randn(64, 256, device="cuda", dtype=torch.float16), torch.nn.Linear(256, 512).cuda().half()
        y = torch._addmm_activation(net.bias, x, net.weight.t(), use_gelu=True)
        return torch.allclose(y, torch.nn.functional.gelu(net(x), approximate="tanh"), atol=1e-2)

    def many_streams():
        streams = [torch.cuda.Stream(priority=-(i % 2)) for i in range(8)]
        sums = []
        for i, s in enumerate(streams):
            with torch.cuda.stream(s):
                a = torch.full((256, 256), float(i), device="cuda")
                sums.append((a @ torch.ones(256, 256, device="cuda")).sum())
        torch.cuda.synchronize()
        return [float(x) for x in sums] == [i * 256.0**3 for i in range(8)]

    def events():
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        torch.randn(2048, 2048, device="cuda") @ torch.randn(2048, 2048, device="cuda")
        end.record()
        end.synchronize()
        return start.elapsed_time(end) > 0

    def processes():
        ends = []
        for _ in range(2):
            pid = os.fork()
            if not pid:
                torch.manual_seed(1)
                x = torch.randn(512, 512, device="cuda")
                os._exit(not torch.allclose(x @ x.T, (x @ x.T).T, atol=1e-2))
            ends.append(pid)
        return not any(os.waitpid(pid, 0)[1] for pid in ends)

    def memory():
        x = torch.empty(1 << 28, dtype=torch.uint8, device="cuda").fill_(1)
        free, total = torch.cuda.mem_get_info()
        used = torch.cuda.memory_allocated()
        del x
        torch.cuda.empty_cache()
        return total > free > 0 and used >= 1 << 28 and torch.cuda.memory_reserved() == 0

    def random_kinds():
        g = torch.Generator("cuda").manual_seed(1)
        n = torch.randn(100000, device="cuda", generator=g)
        g.manual_seed(1)
        return torch.equal(n, torch.randn(100000, device="cuda", generator=g)) and abs(float(n.std()) - 1) < 0.02 and \
            0.45 < float(torch.full((100000,), 0.5, device="cuda").bernoulli().mean()) < 0.55 and \
            torch.randperm(10000, device="cuda").sort()[0][77] == 77

    def complex_values():
        a = torch.randn(64, 64, device="cuda", dtype=torch.complex64)
        return torch.allclose(torch.linalg.inv(a) @ a, torch.eye(64, device="cuda", dtype=a.dtype), atol=1e-2)

    def resample():
        x = torch.rand(1, 3, 16, 16, device="cuda", requires_grad=True)
        y = torch.nn.functional.interpolate(x, scale_factor=2, mode="bicubic")
        y = torch.nn.functional.grid_sample(y, torch.zeros(1, 8, 8, 2, device="cuda"), align_corners=False)
        y.sum().backward()
        return bool(x.grad.isfinite().all())

    def fused_optimizer():
        torch.manual_seed(1)
        net, x = torch.nn.Linear(64, 64).cuda(), torch.randn(32, 64, device="cuda")
        optimizer, losses = torch.optim.AdamW(net.parameters(), 0.01, fused=True), []
        for _ in range(10):
            optimizer.zero_grad()
            losses.append(((net(x) - x) ** 2).mean())
            losses[-1].backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1)
            optimizer.step()
        return bool(losses[-1] < losses[0])

    def image_layers():
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2, groups=1), torch.nn.GroupNorm(2, 8), torch.nn.SiLU(),
                                  torch.nn.ConvTranspose2d(8, 3, 3, stride=2, output_padding=1), torch.nn.AvgPool2d(2)).cuda()
        x = torch.randn(4, 3, 32, 32, device="cuda")
        return learn(net.to(memory_format=torch.channels_last), x, x, lambda out, y: ((out - y[:, :, ::2, ::2]) ** 2).mean())

    def volume_layers():
        x = torch.ones(1, 2, 8, 8, 8, device="cuda", requires_grad=True)
        y = torch.nn.functional.max_pool3d(torch.nn.functional.conv3d(x, torch.ones(3, 2, 3, 3, 3, device="cuda")), 2)
        y.sum().backward()
        return abs(float(y[0, 0, 0, 0, 0]) - 54) < 1e-3 and bool(x.grad.isfinite().all())

    def jiterator():  # NVRTC
        f = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x, T y) { return x * y + 1; }")
        return float(f(torch.full((100,), 3.0, device="cuda"), torch.full((100,), 2.0, device="cuda")).sum()) == 700

    def script():
        @torch.jit.script
        def f(x, y):
            return torch.relu(x * y + 1) * 2

        x = torch.ones(1000, device="cuda")
        return [float(f(x, x).sum()) for _ in range(3)] == [4000.0] * 3

    def triton_kernel():
        return run_again("import torch, triton, triton.language as tl\n"
                         "@triton.jit\ndef double(x, n, B: tl.constexpr):\n"
                         "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
                         "    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)\n"
                         "x = torch.ones(1000, device='cuda'); double[(8,)](x, 1000, B=128)\n"
                         "assert float(x.sum()) == 2000")

    def compiled():
        f = torch.compile(lambda x: torch.nn.functional.softmax(x * 2 + 1, -1))
        x = torch.randn(64, 256, device="cuda")
        return torch.allclose(f(x), torch.nn.functional.softmax(x * 2 + 1, -1), atol=1e-5)

    def collective():  # NCCL, of one process
        import torch.distributed as dist

        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000))
        dist.init_process_group("nccl", rank=0, world_size=1)
        x = torch.ones(1000, device="cuda")
        dist.all_reduce(x)
        torch.cuda.synchronize()
        dist.destroy_process_group()
        return float(x.sum()) == 1000

    def pool_allocator():
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
        return run_again("import torch; x = torch.ones(1000, device='cuda'); del x; assert float(torch.ones(9, device='cuda').sum()) == 9")

    def growing_segments():
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        return run_again("import torch; x = torch.ones(1 << 24, device='cuda'); assert float(x.sum()) == 1 << 24")

    def segments_again():  # given back and taken again, by two streams, and until there is no memory
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        return run_again("import torch\n"
                         "free = torch.cuda.mem_get_info()[0]\n"
                         "for turn in range(4):\n"
                         "    xs = [torch.full(((1 << 18) * (i + 1),), i, device='cuda') for i in range(40)]\n"
                         "    with torch.cuda.stream(torch.cuda.Stream()):\n"
                         "        y = torch.ones(1 << 26, device='cuda') * 3; z = float(y.sum())\n"
                         "    assert z == 3 << 26 and all(int(x[-1]) == i for i, x in enumerate(xs))\n"
                         "    big = torch.cat(xs[20:]); assert int(big[-1]) == 39\n"
                         "    del xs[::2]; torch.cuda.empty_cache(); assert int(xs[3][0]) == 7\n"
                         "    del xs, y, big; torch.cuda.synchronize(); torch.cuda.empty_cache()\n"
                         "kept = []\n"
                         "try:\n"
                         "    while True: kept.append(torch.empty(1 << 32, dtype=torch.uint8, device='cuda'))\n"
                         "except torch.cuda.OutOfMemoryError: pass\n"
                         "assert len(kept) >= free // (1 << 32) - 2\n"
                         "del kept; torch.cuda.empty_cache()\n"
                         "assert float(torch.ones(1 << 24, device='cuda').sum()) == 1 << 24")

    def shared_tensor():  # IPC
        return run_again("import torch, torch.multiprocessing as mp\n"
                         "def f(q, r):\n    x = q.get(); x += 1; torch.cuda.synchronize(); r.put(1)\n"
                         "if __name__ == '__main__':\n"
                         "    c = mp.get_context('spawn'); q, r = c.Queue(), c.Queue()\n"
                         "    p = c.Process(target=f, args=(q, r)); p.start()\n"
                         "    x = torch.zeros(100, device='cuda'); q.put(x); r.get(timeout=30); p.join()\n"
                         "    assert float(x.sum()) == 100")

    def shared_both_ways():  # many of all sizes, there and back, in use while others come
        return run_again("import torch, torch.multiprocessing as mp\n"
                         "def f(q, r, end):\n"
                         "    kept = []\n"
                         "    for i in range(40):\n"
                         "        x = q.get(); y = x * 2 + i; kept.append(y); r.put(y); del x\n"
                         "    end.wait()\n"
                         "if __name__ == '__main__':\n"
                         "    c = mp.get_context('spawn'); q, r, end = c.Queue(), c.Queue(), c.Event()\n"
                         "    p = c.Process(target=f, args=(q, r, end)); p.start()\n"
                         "    xs = [torch.full((1 + 7 * i * i * i,), float(i), device='cuda') for i in range(40)]\n"
                         "    for x in xs: q.put(x)\n"
                         "    for i in range(40):\n"
                         "        y = r.get(timeout=60); assert y.numel() == xs[i].numel() and bool((y == 3 * i).all()); del y\n"
                         "    end.set(); p.join(); assert p.exitcode == 0")

    def shared_model():  # several processes train one model
        return run_again("import torch, torch.multiprocessing as mp\n"
                         "def f(net, i):\n"
                         "    torch.manual_seed(i); o = torch.optim.SGD(net.parameters(), lr=0.05)\n"
                         "    for _ in range(100):\n"
                         "        x = torch.randn(64, 8, device='cuda'); o.zero_grad()\n"
                         "        loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean(); loss.backward(); o.step()\n"
                         "    torch.cuda.synchronize()\n"
                         "if __name__ == '__main__':\n"
                         "    c = mp.get_context('spawn'); net = torch.nn.Linear(8, 1).cuda(); net.share_memory()\n"
                         "    ps = [c.Process(target=f, args=(net, i)) for i in range(3)]\n"
                         "    [p.start() for p in ps]; [p.join() for p in ps]; assert all(p.exitcode == 0 for p in ps)\n"
                         "    x = torch.randn(64, 8, device='cuda')\n"
                         "    assert float(((net(x) - x.sum(1, keepdim=True)) ** 2).mean()) < 1e-3")

    def profiler():
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
            (torch.ones(256, 256, device="cuda") @ torch.ones(256, 256, device="cuda")).sum().item()
        return any("gemm" in e.key.lower() or "kernel" in e.key.lower() for e in p.key_averages())

    def no_memory():
        try:
            torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError:
            return float(torch.ones(1000, device="cuda").sum()) == 1000
        return False

    def threads():
        import threading

        sums = [0] * 4

        def work(i):
            with torch.cuda.stream(torch.cuda.Stream()):
                a = torch.full((128, 128), i + 1.0, device="cuda", requires_grad=True)
                (a @ a).sum().backward()
                sums[i] = float(a.grad.sum())

        all_of = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [t.start() for t in all_of], [t.join() for t in all_of]
        return sums == [(i + 1.0) * 2 * 128**3 for i in range(4)]

    def graphed_callables():
        net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda()
        x = torch.randn(32, 64, device="cuda", requires_grad=True)
        with torch.no_grad():
            plain = net(x)
        graphed = torch.cuda.make_graphed_callables(net, (x,))
        y = graphed(x)
        y.sum().backward()
        return torch.allclose(plain, y, atol=1e-5) and bool(x.grad.isfinite().all())

    return [elementwise, reduction, sort, streams, pinned, matmul, matmul_half, matmul_batched, training, convolution,
            attention, fft, solve, sparse, random, graph, loader, convolution_training, mixed_half, mixed_bfloat16, transformer,
            recurrent, attention_kinds, graph_training, scan, index, fft_nd, factorize, solve_many, spmm, large_matmul,
            matmul_int8, matmul_fp8, linear_gelu, many_streams, events, processes, memory, random_kinds, complex_values, resample,
            fused_optimizer, image_layers, volume_layers, jiterator, script, triton_kernel, compiled, collective, pool_allocator,
            growing_segments, segments_again, shared_tensor, shared_both_ways, shared_model, profiler, no_memory, threads, graphed_callables]


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


def pycuda_steps():
    import numpy as np
    import pycuda.driver as drv
    from pycuda.compiler import SourceModule

    DOUBLE = "__global__ void twice(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }"

    def begin():
        import pycuda.autoprimaryctx  # noqa: F401

    def source_module():
        begin()
        x = np.arange(1000, dtype=np.float32)
        SourceModule(DOUBLE).get_function("twice")(drv.InOut(x), np.int32(1000), block=(128, 1, 1), grid=(8, 1))
        return x[999] == 1998

    def own_context():
        drv.init()
        ctx = drv.Device(0).make_context()
        try:
            x = np.arange(1000, dtype=np.float32)
            SourceModule(DOUBLE).get_function("twice")(drv.InOut(x), np.int32(1000), block=(128, 1, 1), grid=(8, 1))
            return x[999] == 1998 and drv.Context.get_device().name() != ""
        finally:
            ctx.pop()
            ctx.detach()

    def prepared_call():
        begin()
        f = SourceModule(DOUBLE).get_function("twice").prepare("Pi")
        x = drv.to_device(np.arange(1000, dtype=np.float32))
        f.prepared_call((8, 1), (128, 1, 1), x, 1000)
        return drv.from_device(x, (1000,), np.float32)[999] == 1998 and f.num_regs > 0

    def gpu_array():
        begin()
        from pycuda import gpuarray

        x = gpuarray.to_gpu(np.arange(1000, dtype=np.float32))
        return float((2 * x + 1).get()[999]) == 1999 and float(gpuarray.sum(x).get()) == 499500

    def elementwise():
        begin()
        from pycuda import gpuarray
        from pycuda.elementwise import ElementwiseKernel

        x = gpuarray.arange(0, 1000, 1, dtype=np.float32)
        ElementwiseKernel("float *x, float a", "x[i] = a * x[i]", "scale")(x, np.float32(3))
        return float(x.get()[999]) == 2997

    def reduction_and_scan():
        begin()
        from pycuda import gpuarray
        from pycuda.reduction import ReductionKernel
        from pycuda.scan import InclusiveScanKernel

        x = gpuarray.arange(0, 100000, 1, dtype=np.int64)
        largest = ReductionKernel(np.int64, neutral="0", reduce_expr="max(a, b)", map_expr="x[i]", arguments="long *x")(x)
        return int(largest.get()) == 99999 and int(InclusiveScanKernel(np.int64, "a+b")(x).get()[99999]) == 4999950000

    def streams_and_events():
        begin()
        s, a, b = drv.Stream(), drv.Event(), drv.Event()
        x = drv.pagelocked_zeros(1 << 20, dtype=np.float32)
        d = drv.mem_alloc(x.nbytes)
        x[:] = 5
        a.record(s)
        drv.memcpy_htod_async(d, x, s)
        f = SourceModule(DOUBLE).get_function("twice")
        f(d, np.int32(1 << 20), block=(256, 1, 1), grid=(4096, 1), stream=s)
        drv.memcpy_dtoh_async(x, d, s)
        b.record(s)
        b.synchronize()
        return float(x[-1]) == 10 and a.time_till(b) > 0

    def memory_pool():
        begin()
        from pycuda import gpuarray, tools

        pool = tools.DeviceMemoryPool()
        for _ in range(100):
            x = gpuarray.zeros(10000, dtype=np.float32, allocator=pool.allocate) + 1
        return float(x.get()[9999]) == 1 and pool.held_blocks >= 0

    def arrays():
        begin()
        x = np.arange(64, dtype=np.float32).reshape(8, 8)
        a = drv.matrix_to_array(x, "C")
        out = np.zeros((8, 8), dtype=np.float32)
        copy = drv.Memcpy2D()
        copy.set_src_array(a)
        copy.set_dst_host(out)
        copy.width_in_bytes, copy.height = 32, 8
        copy(aligned=True)
        return bool((out == x).all())

    def module_globals():
        begin()
        m = SourceModule("__constant__ int factor; __device__ int sum;"
                         "__global__ void add(int x) { atomicAdd(&sum, factor * x); }")
        drv.memcpy_htod(m.get_global("factor")[0], np.array([3], dtype=np.int32))
        m.get_function("add")(np.int32(7), block=(32, 1, 1), grid=(1, 1))
        out = np.zeros(1, dtype=np.int32)
        drv.memcpy_dtoh(out, m.get_global("sum")[0])
        return int(out[0]) == 672

    def errors():
        begin()
        try:
            SourceModule(DOUBLE).get_function("nobody")
        except drv.LogicError as e:
            return "named symbol not found" in str(e)
        return False

    return [source_module, own_context, prepared_call, gpu_array, elementwise, reduction_and_scan, streams_and_events, memory_pool,
            arrays, module_globals, errors]


def cuda_core_steps():
    import numpy as np
    from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

    DOUBLE = r"""extern "C" __global__ void twice(float *x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }"""

    def begin():
        device = Device()
        device.set_current()
        return device, device.create_stream(), "sm_%d%d" % tuple(device.compute_capability)

    def host(device, stream, n, dtype):
        from cuda.core import LegacyPinnedMemoryResource

        memory = LegacyPinnedMemoryResource().allocate(n * np.dtype(dtype).itemsize, stream=stream)
        return memory, np.from_dlpack(memory).view(dtype=dtype)

    def run(kind):
        device, stream, arch = begin()
        kernel = Program(DOUBLE, "c++", ProgramOptions(arch=arch)).compile(kind).get_kernel("twice")
        memory, x = host(device, stream, 1000, np.float32)
        there = device.allocate(4000, stream=stream)
        x[:] = np.arange(1000)
        there.copy_from(memory, stream=stream)
        launch(stream, LaunchConfig(grid=8, block=128), kernel, there, np.int32(1000))
        there.copy_to(memory, stream=stream)
        stream.sync()
        return x[999] == 1998

    def ptx():
        return run("ptx")

    def cubin():
        return run("cubin")

    def linked():
        device, stream, arch = begin()
        parts = [Program(text, "c++", ProgramOptions(arch=arch, relocatable_device_code=True)).compile("cubin") for text in (
            'extern "C" __device__ int twice(int); extern "C" __global__ void run(int *p) { p[threadIdx.x] = twice(threadIdx.x); }',
            'extern "C" __device__ int twice(int x) { return 2 * x; }')]
        kernel = Linker(*parts, options=LinkerOptions(arch=arch)).link("cubin").get_kernel("run")
        memory, x = host(device, stream, 32, np.int32)
        launch(stream, LaunchConfig(grid=1, block=32), kernel, memory)
        stream.sync()
        return bool((x == 2 * np.arange(32)).all())

    def events():
        from cuda.core import EventOptions

        _, stream, _ = begin()
        a = stream.record(options=EventOptions(timing_enabled=True))
        b = stream.record(options=EventOptions(timing_enabled=True))
        b.sync()
        return b - a >= 0 and b.is_done

    def two_streams():
        device, stream, arch = begin()
        other = device.create_stream()
        kernel = Program(DOUBLE, "c++", ProgramOptions(arch=arch)).compile("cubin").get_kernel("twice")
        memory, x = host(device, stream, 1000, np.float32)
        x[:] = 1
        launch(stream, LaunchConfig(grid=8, block=128), kernel, memory, np.int32(1000))
        other.wait(stream)
        launch(other, LaunchConfig(grid=8, block=128), kernel, memory, np.int32(1000))
        other.sync()
        return bool((x == 4).all())

    def graph():
        device, stream, arch = begin()
        kernel = Program(DOUBLE, "c++", ProgramOptions(arch=arch)).compile("cubin").get_kernel("twice")
        memory, x = host(device, stream, 1000, np.float32)
        x[:] = 1
        builder = device.create_graph_builder().begin_building()
        for _ in range(3):
            launch(builder, LaunchConfig(grid=8, block=128), kernel, memory, np.int32(1000))
        whole = builder.end_building().complete()
        whole.launch(stream)
        whole.launch(stream)
        stream.sync()
        return bool((x == 64).all())

    def properties():
        device, _, _ = begin()
        p = device.properties
        return p.multiprocessor_count > 0 and p.max_threads_per_block == 1024 and device.name != ""

    return [ptx, cubin, linked, events, two_streams, graph, properties]


CLIENTS = {"cupy": cupy_steps, "torch": torch_steps, "numba": numba_steps, "pycuda": pycuda_steps, "cuda.core": cuda_core_steps}


def run_again(program):
    """Whether a Python program ends well: of settings that count only before an import."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(program)
        f.flush()
        done = subprocess.run([sys.executable, f.name], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return True


def run_here(name, step):
    try:
        reason = "" if step() else "a wrong result"
    except Exception as e:  # whatever a client makes of a refusal
        reason = f"{type(e).__name__}: {e}".splitlines()[0]
    end = f"failed: {reason}" if reason else "ok"
    sys.stdout.write(f"{name} {step.__name__} {end}\n")  # in one piece: others write meanwhile
    sys.stdout.flush()
    return bool(reason)


def start(name, step):
    pid = os.fork()  # nothing of CUDA has begun in this process
    if not pid:
        signal.alarm(LIMIT_S)
        os._exit(run_here(name, step))
    return pid


def say_end(name, step, status):
    if status == -signal.SIGALRM:
        print(name, step, f"failed: not done after {LIMIT_S} s", flush=True)
    elif status < 0:
        print(name, step, f"failed: died of {signal.Signals(-status).name}", flush=True)
    return status != 0


def run_apart(name, steps):
    running, failed = {}, 0
    for step in [*steps, *[None] * JOBS]:  # behind the last one, waits for those that still run
        if running and (not step or len(running) == JOBS):
            pid, status = os.wait()
            failed += say_end(name, running.pop(pid), os.waitstatus_to_exitcode(status))
        if step:
            running[start(name, step)] = step.__name__
    return bool(failed)


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
    return run_apart(name, steps)


sys.exit(main())
