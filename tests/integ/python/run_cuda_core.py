"""run_cuda_core.py - cuda.core: what NVRTC and the linkers make of a program in two parts is launched."""

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

CALLER = r"""extern "C" __device__ int twice(int);
extern "C" __global__ void run(int *p) { p[threadIdx.x] = twice(threadIdx.x); }"""
CALLED = r"""extern "C" __device__ int twice(int x) { return 2 * x; }"""

device = Device()
device.set_current()
stream = device.create_stream()
arch = "sm_%d%d" % tuple(device.compute_capability)


def compiled(source, kind):
    is_lto = kind == "ltoir"
    options = ProgramOptions(arch=arch, link_time_optimization=is_lto, relocatable_device_code=None if is_lto else True)
    return Program(source, "c++", options).compile(kind)


def expect_doubles(module):
    memory = device.allocate(128, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=32), module.get_kernel("run"), memory)
    stream.sync()
    values = np.zeros(32, np.int32)
    driver.cuMemcpyDtoH(values.ctypes.data, int(memory.handle), 128)
    assert (values == 2 * np.arange(32)).all()


def linked(caller, called):
    options = LinkerOptions(arch=arch, link_time_optimization="ltoir" in (caller, called))
    return Linker(compiled(CALLER, caller), compiled(CALLED, called), options=options).link("cubin")


for kind in ("ptx", "cubin"):
    expect_doubles(compiled(CALLED + CALLER, kind))
    print("program as", kind, flush=True)
for kinds in (("ptx", "ptx"), ("cubin", "cubin"), ("ltoir", "ltoir"), ("ltoir", "ptx")):
    expect_doubles(linked(*kinds))
    print("link of", *kinds, flush=True)
try:
    expect_doubles(Linker(compiled(CALLER, "ptx"), options=LinkerOptions(arch=arch)).link("cubin"))
except Exception as error:
    assert "twice" in str(error), error
else:
    raise AssertionError("a function that is nowhere was called")
print("missing function", flush=True)
