/*
 * launches.c - geometry and parameters: what is refused at once, and with which code.
 */
#include "rules.h"

static CUresult grid(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		     unsigned bz, unsigned shared)
{
	CUdeviceptr w = 0;
	uint32_t n = 0;

	return cu.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, NULL, (void *[]){&w, &n}, NULL);
}

/* A kernel that does nothing, so that any grid may run. */
static CUfunction nothing(void)
{
	static const char text[] =
		".version 6.4\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n"
		".visible .entry narrow()\n.maxntid 64, 1, 1\n{\n\tret;\n}\n"
		".visible .entry fixed()\n.reqntid 32, 2, 1\n{\n\tret;\n}\n";
	CUfunction f;

	must(cu.cuModuleLoadData(&module, text));
	must(cu.cuModuleGetFunction(&f, module, "nothing"));
	return f;
}

PROGRAM(launch_geometry)
{
	CUfunction f = nothing();

	say("0-blocks", grid(f, 0, 1, 1, 1, 1, 1, 0));
	say("0-blocks-y", grid(f, 1, 0, 1, 1, 1, 1, 0));
	say("0-blocks-z", grid(f, 1, 1, 0, 1, 1, 1, 0));
	say("0-threads", grid(f, 1, 1, 1, 0, 1, 1, 0));
	say("0-threads-z", grid(f, 1, 1, 1, 1, 1, 0, 0));
	say("1024", grid(f, 1, 1, 1, 1024, 1, 1, 0));
	say("1025", grid(f, 1, 1, 1, 1025, 1, 1, 0));
	say("32x33", grid(f, 1, 1, 1, 32, 33, 1, 0));
	say("z-64", grid(f, 1, 1, 1, 1, 1, 64, 0));
	say("z-65", grid(f, 1, 1, 1, 1, 1, 65, 0));
	say("grid-y-65535", grid(f, 1, 65535, 1, 1, 1, 1, 0));
	say("grid-y-65536", grid(f, 1, 65536, 1, 1, 1, 1, 0));
	say("grid-z-65536", grid(f, 1, 1, 65536, 1, 1, 1, 0));
	say("grid-x-2^31", grid(f, 1u << 31, 1, 1, 1, 1, 1, 0));
	ask("after", cuCtxSynchronize());
}

PROGRAM(launch_shared_memory)
{
	CUfunction f = nothing();

	say("48-kib", grid(f, 1, 1, 1, 1, 1, 1, 48 << 10));
	say("over-48-kib", grid(f, 1, 1, 1, 1, 1, 1, (48 << 10) + 1));
	ask("allow-64",
	    cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
	say("64-kib", grid(f, 1, 1, 1, 1, 1, 1, 64 << 10));
	say("over-64-kib", grid(f, 1, 1, 1, 1, 1, 1, (64 << 10) + 1));
	say("1-gib", grid(f, 1, 1, 1, 1, 1, 1, 1u << 30));
	ask("after", cuCtxSynchronize());
}

PROGRAM(launch_bounds)
{
	CUfunction f;

	nothing();
	must(cu.cuModuleGetFunction(&f, module, "narrow"));
	say("64", grid(f, 1, 1, 1, 64, 1, 1, 0));
	say("65", grid(f, 1, 1, 1, 65, 1, 1, 0));
	say("1x64", grid(f, 1, 1, 1, 1, 64, 1, 0));
	must(cu.cuModuleGetFunction(&f, module, "fixed"));
	say("required", grid(f, 1, 1, 1, 32, 2, 1, 0));
	say("same-count", grid(f, 1, 1, 1, 64, 1, 1, 0));
	say("fewer", grid(f, 1, 1, 1, 32, 1, 1, 0));
	ask("after", cuCtxSynchronize());
}

PROGRAM(launch_parameters)
{
	CUdeviceptr w = words(1);
	struct {
		CUdeviceptr w;
		uint32_t n;
		char rest[52];
	} packed = {.w = w, .n = 5};
	size_t bytes = 12, small = 8, large = 64;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};
	void *params[] = {&w, &packed.n};

	ask("extra", cuLaunchKernel(k_add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	ask("both", cuLaunchKernel(k_add, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra));
	extra[3] = &small;
	ask("small", cuLaunchKernel(k_add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	extra[3] = &large;
	ask("large", cuLaunchKernel(k_add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	ask("after", cuCtxSynchronize());
}

PROGRAM(launch_without_parameters)
{
	ask("none", cuLaunchKernel(k_add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	ask("no-function", cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	ask("after", cuCtxSynchronize());
}

/* The parameters are the program's again when the call returns. */
PROGRAM(launch_parameters_overwritten)
{
	CUdeviceptr w = words(2), to = w;
	uint32_t n = 5;
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	hold(s);
	must(launch(k_add, s, (void *[]){&to, &n}));
	to = w + 4, n = 6;
	let_go();
	settle();
	say_n("first", word(w));
	say_n("second", word(w + 4));
}

PROGRAM(launch_cooperative)
{
	CUfunction f = nothing();
	int n = 0, sms = 0;

	must(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 0));
	must(cu.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	ask("fits",
	    cuLaunchCooperativeKernel(f, (unsigned)(n * sms), 1, 1, 64, 1, 1, 0, NULL, NULL));
	ask("one-more",
	    cuLaunchCooperativeKernel(f, (unsigned)(n * sms) + 1, 1, 1, 64, 1, 1, 0, NULL, NULL));
	ask("nothing", cuLaunchCooperativeKernel(f, 0, 1, 1, 64, 1, 1, 0, NULL, NULL));
	ask("after", cuCtxSynchronize());
}

PROGRAM(launch_by_configuration)
{
	CUfunction f = nothing();
	CUlaunchAttribute a = {.id = (CUlaunchAttributeID)999};
	CUlaunchConfig c = {.gridDimX = 1,
			    .gridDimY = 1,
			    .gridDimZ = 1,
			    .blockDimX = 1,
			    .blockDimY = 1,
			    .blockDimZ = 1};

	ask("plain", cuLaunchKernelEx(&c, f, NULL, NULL));
	ask("no-config", cuLaunchKernelEx(NULL, f, NULL, NULL));
	ask("no-function", cuLaunchKernelEx(&c, NULL, NULL, NULL));
	c.attrs = &a, c.numAttrs = 1;
	ask("no-such-attribute", cuLaunchKernelEx(&c, f, NULL, NULL));
	a.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
	ask("ignore", cuLaunchKernelEx(&c, f, NULL, NULL));
	a.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, a.value.priority = -99;
	ask("priority", cuLaunchKernelEx(&c, f, NULL, NULL));
	a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	a.value.clusterDim.x = 3, a.value.clusterDim.y = 1, a.value.clusterDim.z = 1;
	ask("cluster-of-3-in-1", cuLaunchKernelEx(&c, f, NULL, NULL));
	c.gridDimX = 0;
	ask("no-blocks", cuLaunchKernelEx(&c, f, NULL, NULL));
	ask("after", cuCtxSynchronize());
}

PROGRAM(launch_in_order)
{
	CUdeviceptr w = words(1);
	CUstream s = stream(0);

	for (int i = 0; i < 2000; i++)
		must(add(s, w, 1));
	ask("synchronize", cuStreamSynchronize(s));
	say_n("sum", word(w));
}

PROGRAM(launch_of_old_forms)
{
	CUdeviceptr w = words(1);

	ask("shape", cuFuncSetBlockShape(k_add, 1, 1, 1));
	ask("shape-0", cuFuncSetBlockShape(k_add, 0, 1, 1));
	ask("size", cuParamSetSize(k_add, 12));
	ask("pointer", cuParamSetv(k_add, 0, &w, 8));
	ask("number", cuParamSeti(k_add, 8, 3));
	ask("launch", cuLaunch(k_add));
	ask("grid", cuLaunchGrid(k_add, 1, 1));
	ask("grid-0", cuLaunchGrid(k_add, 0, 1));
	settle();
	say_n("is", word(w));
}

PROGRAM(occupancy_misuse)
{
	CUfunction f = nothing();
	int n = -1;

	ask("32", cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 32, 0));
	say_n("blocks", n);
	ask("0", cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 0, 0));
	ask("negative", cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, -1, 0));
	ask("2048", cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 2048, 0));
	ask("shared-huge", cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 32, 1 << 30));
	say_n("then", n);
	ask("nowhere", cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, f, 32, 0));
	ask("no-function", cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 32, 0));
}
