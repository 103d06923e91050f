/* What a program asks about the device, in two ways that must agree; versions; the driver's functions by name. */
#include <cstring>
#include <cuda.h>

#include "check.h"

static int attribute(cudaDeviceAttr a)
{
	int value = -1;

	CHECK(cudaDeviceGetAttribute(&value, a, 0));
	return value;
}

static void properties()
{
	cudaDeviceProp p;
	size_t room, total;

	memset(&p, 0xee, sizeof(p));
	CHECK(cudaGetDeviceProperties(&p, 0));
	EXPECT(strlen(p.name) > 0);
	EXPECT(p.major == attribute(cudaDevAttrComputeCapabilityMajor));
	EXPECT(p.minor == attribute(cudaDevAttrComputeCapabilityMinor));
	EXPECT(p.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount));
	EXPECT(p.warpSize == 32 && p.maxThreadsPerBlock == attribute(cudaDevAttrMaxThreadsPerBlock));
	EXPECT(p.maxThreadsDim[2] == attribute(cudaDevAttrMaxBlockDimZ));
	EXPECT(p.maxGridSize[0] == attribute(cudaDevAttrMaxGridDimX));
	EXPECT(p.sharedMemPerBlock == (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlock));
	EXPECT(p.sharedMemPerBlockOptin == (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
	EXPECT(p.regsPerMultiprocessor == attribute(cudaDevAttrMaxRegistersPerMultiprocessor));
	EXPECT(p.l2CacheSize == attribute(cudaDevAttrL2CacheSize));
	EXPECT(p.memoryPoolsSupported == attribute(cudaDevAttrMemoryPoolsSupported));
	EXPECT(p.cooperativeLaunch == 1 && p.unifiedAddressing == 1);
	CHECK(cudaMemGetInfo(&room, &total));
	EXPECT(room > 0 && room <= total && total <= p.totalGlobalMem);
}

static void the_rest()
{
	int n = 0, runtime = 0, driver = 0, device = -1;
	cudaDriverEntryPointQueryResult found;
	CUresult (*get_count)(int *) = NULL;
	char id[32];

	CHECK(cudaGetDeviceCount(&n));
	EXPECT(n == 1);
	CHECK(cudaRuntimeGetVersion(&runtime));
	CHECK(cudaDriverGetVersion(&driver));
	EXPECT(runtime == CUDART_VERSION / 1000 * 1000 && driver >= runtime);
	CHECK(cudaDeviceGetPCIBusId(id, sizeof(id), 0));
	CHECK(cudaDeviceGetByPCIBusId(&device, id));
	EXPECT(device == 0);
	CHECK(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", (void **)&get_count, 12000, cudaEnableDefault, &found));
	EXPECT(found == cudaDriverEntryPointSuccess && get_count && !get_count(&n) && n == 1);
	CHECK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", (void **)&get_count, 12000, cudaEnableDefault, &found));
	EXPECT(found == cudaDriverEntryPointSymbolNotFound && !get_count);
}

/* Host memory is mapped in the contexts that the runtime makes, whether it is asked for or not, as long as they are there. */
static void flags()
{
	unsigned now = 99;

	CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
	CHECK(cudaGetDeviceFlags(&now));
	EXPECT(now == (cudaDeviceScheduleBlockingSync | cudaDeviceMapHost));
	CHECK(cudaDeviceReset());
	CHECK(cudaGetDeviceFlags(&now));
	EXPECT(!(now & cudaDeviceMapHost)); /* as an H200 has it */
	CHECK(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
}

/* Hints of the L2 cache: taken, and no more than they may be. */
static void limits()
{
	size_t now = 0;

	CHECK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 128));
	CHECK(cudaDeviceGetLimit(&now, cudaLimitMaxL2FetchGranularity));
	EXPECT(now == 128);
	CHECK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 32));
	CHECK(cudaDeviceGetLimit(&now, cudaLimitMaxL2FetchGranularity));
	EXPECT(now == 32);
	CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20));
}

/* A context that the program has made itself with the driver's calls is the one that the runtime works in. */
static void beside_the_driver()
{
	CUcontext own, now;
	unsigned flags = 99;
	void *x;

	EXPECT(!cuInit(0));
#if CUDA_VERSION >= 13000
	EXPECT(!cuCtxCreate(&own, NULL, CU_CTX_SCHED_YIELD, 0));
#else
	EXPECT(!cuCtxCreate(&own, CU_CTX_SCHED_YIELD, 0));
#endif
	CHECK(cudaGetDeviceFlags(&flags));
	EXPECT((flags & ~cudaDeviceMapHost) == cudaDeviceScheduleYield);
	CHECK(cudaMalloc(&x, 64));
	EXPECT(!cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)x) && now == own);
	EXPECT(!cuCtxDestroy(own));
	CHECK(cudaMalloc(&x, 64));
	EXPECT(!cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)x) && now != own);
}

/* As whoever starts the program wants it; a driver's own way is the lazy one. */
static void loading_mode()
{
	const char *wanted = getenv("CUDA_MODULE_LOADING");
	CUmoduleLoadingMode mode;

	EXPECT(!cuModuleGetLoadingMode(&mode));
	EXPECT(mode == (wanted && !strcmp(wanted, "EAGER") ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING));
}

__device__ int word;

__global__ void set(int *to)
{
	*to = ++word;
}

/* The program has given the runtime's reference to the primary context back as if it were its own: the next call takes another. */
static void given_back()
{
	CUcontext was, now;
	unsigned flags;
	int active = 1, *x, got = 0;

	EXPECT(!cuCtxGetCurrent(&was) && !cuCtxSetCurrent(NULL));
	for (int i = 0; active && i < 3; i++)
		EXPECT(!cuDevicePrimaryCtxRelease(0) && !cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT(!active);
	CHECK(cudaMalloc(&x, 64));
	EXPECT(!cuCtxGetCurrent(&now) && now == was);
	set<<<1, 1>>>(x);
	CHECK(cudaMemcpy(&got, x, sizeof(got), cudaMemcpyDeviceToHost));
	EXPECT(got == 1);
}

/* A device that is alone. What is refused is not what the next call finds. */
static void peers()
{
	int can = 9, value = 9;

	CHECK(cudaDeviceCanAccessPeer(&can, 0, 0));
	EXPECT(can == 0);
	EXPECT(cudaDeviceCanAccessPeer(&can, 0, 1) == cudaErrorInvalidDevice);
	EXPECT(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
	EXPECT(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice);
	EXPECT(cudaDeviceEnablePeerAccess(0, 1) == cudaErrorInvalidValue);
	EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
	EXPECT(cudaDeviceDisablePeerAccess(0) == cudaErrorPeerAccessNotEnabled);
	EXPECT(cudaDeviceDisablePeerAccess(1) == cudaErrorInvalidDevice);
	EXPECT(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0) == cudaErrorInvalidDevice);
	EXPECT(cudaDeviceGetP2PAttribute(&value, (cudaDeviceP2PAttr)77, 0, 0) == cudaErrorInvalidDevice);
	EXPECT(cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 0) == cudaErrorInvalidValue);
	EXPECT(value == 9);
#if CUDART_VERSION >= 13000
	unsigned capabilities = 9;
	cudaAtomicOperation add = cudaAtomicOperationIntegerAdd;

	EXPECT(cudaDeviceGetP2PAtomicCapabilities(&capabilities, &add, 1, 0, 0) == cudaErrorInvalidDevice);
	EXPECT(cudaDeviceGetP2PAtomicCapabilities(&capabilities, &add, 0, 0, 0) == cudaErrorInvalidValue);
#endif
	cudaGetLastError();
}

/* Before there is any: "implicit for the runtime", as CUDA documents. */
static void flags_to_come()
{
	unsigned now = 0;

	CHECK(cudaGetDeviceFlags(&now));
	EXPECT(now == cudaDeviceMapHost);
}

int main()
{
	flags_to_come();
	properties();
	peers();
	the_rest();
	flags();
	limits();
	beside_the_driver();
	loading_mode();
	given_back();
}
