/*
 * device.c - what is asked of the driver, the device and the limits of a context; what works before cuInit.
 */
#include "rules.h"

PROGRAM(before_init)
{
	const char *text = NULL;
	CUcontext c = NULL;
	int n = 0;

	ask("version", cuDriverGetVersion(&n));
	ask("count", cuDeviceGetCount(&n));
	ask("device", cuDeviceGet(&n, 0));
	ask("name", cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
	ask("create", cuCtxCreate_v2(&c, 0, 0));
	ask("retain", cuDevicePrimaryCtxRetain(&c, 0));
	ask("current", cuCtxGetCurrent(&c));
	ask("alloc", cuMemAlloc_v2(&(CUdeviceptr){0}, 4));
	ask("stream", cuStreamCreate(&(CUstream){0}, 0));
	ask("null", cuStreamQuery(NULL));
	ask("init-flags", cuInit(1));
	ask("init", cuInit(0));
	ask("init-again", cuInit(0));
	ask("then", cuDeviceGetCount(&n));
}

PROGRAM(devices)
{
	CUdevice d = 9;
	char name[4] = "xxx";
	int major, minor;

	ask("0", cuDeviceGet(&d, 0));
	say_n("is", d);
	ask("99", cuDeviceGet(&d, 99));
	ask("negative", cuDeviceGet(&d, -1));
	ask("nowhere", cuDeviceGet(NULL, 0));
	ask("count-nowhere", cuDeviceGetCount(NULL));
	ask("name-short", cuDeviceGetName(name, 3, 0));
	say_n("ends", name[2] == 0);
	ask("name-0", cuDeviceGetName(name, 0, 0));
	ask("name-nowhere", cuDeviceGetName(NULL, 4, 0));
	ask("name-of-99", cuDeviceGetName(name, 4, 99));
	ask("memory", cuDeviceTotalMem_v2(NULL, 0));
	ask("memory-of-99", cuDeviceTotalMem_v2(&(size_t){0}, 99));
	ask("capability", cuDeviceComputeCapability(&major, &minor, 0));
	ask("capability-of-99", cuDeviceComputeCapability(&major, &minor, 99));
	ask("uuid-nowhere", cuDeviceGetUuid(NULL, 0));
	ask("bus-id-short", cuDeviceGetPCIBusId(name, 4, 0));
	ask("by-bus-id", cuDeviceGetByPCIBusId(&d, "nonsense"));
	ask("by-none", cuDeviceGetByPCIBusId(&d, NULL));
	ask("version-nowhere", cuDriverGetVersion(NULL));
}

PROGRAM(device_attributes)
{
	static const struct {
		const char *step;
		CUdevice_attribute a;
	} all[] = {{"threads-a-block", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
		   {"block-x", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
		   {"block-z", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
		   {"grid-x", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
		   {"grid-y", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
		   {"shared", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
		   {"constants", CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
		   {"warp", CU_DEVICE_ATTRIBUTE_WARP_SIZE},
		   {"pitch", CU_DEVICE_ATTRIBUTE_MAX_PITCH},
		   {"registers", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
		   {"texture-alignment", CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT},
		   {"overlap", (CUdevice_attribute)15},
		   {"timeout", (CUdevice_attribute)17},
		   {"integrated", (CUdevice_attribute)18},
		   {"map-host", (CUdevice_attribute)19},
		   {"compute-mode", (CUdevice_attribute)20},
		   {"surface-alignment", (CUdevice_attribute)30},
		   {"concurrent", (CUdevice_attribute)31},
		   {"tcc", (CUdevice_attribute)35},
		   {"threads-an-sm", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
		   {"copy-engines-many", (CUdevice_attribute)40},
		   {"unified", (CUdevice_attribute)41},
		   {"priorities", (CUdevice_attribute)78},
		   {"managed", (CUdevice_attribute)83},
		   {"cooperative", CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
		   {"memory-pools", (CUdevice_attribute)115}};
	int v;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		v = -1;
		must(cu.cuDeviceGetAttribute(&v, all[i].a, 0));
		say_n(all[i].step, v);
	}
	ask("0", cuDeviceGetAttribute(&v, (CUdevice_attribute)0, 0));
	ask("9999", cuDeviceGetAttribute(&v, (CUdevice_attribute)9999, 0));
	ask("nowhere", cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	ask("of-99", cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99));
}

static void say_limit(const char *step, CUlimit limit, size_t value)
{
	size_t is = 7;

	say(step, cu.cuCtxSetLimit(limit, value));
	must(cu.cuCtxGetLimit(&is, limit));
	say_n("is", (long long)is);
}

PROGRAM(limits)
{
	size_t v = 7;

	ask("stack", cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
	say_n("stack-is", (long long)v);
	ask("printf", cuCtxGetLimit(&v, CU_LIMIT_PRINTF_FIFO_SIZE));
	say_n("printf-is", (long long)v);
	ask("heap", cuCtxGetLimit(&v, CU_LIMIT_MALLOC_HEAP_SIZE));
	say_n("heap-is", (long long)v);
	say_limit("set-stack", CU_LIMIT_STACK_SIZE, 2048);
	say_limit("set-stack-odd", CU_LIMIT_STACK_SIZE, 2049);
	say_limit("set-stack-huge", CU_LIMIT_STACK_SIZE, (size_t)1 << 40);
	say_limit("set-printf", CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20);
	say_limit("set-heap", CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20);
	ask("depth", cuCtxGetLimit(&v, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
	ask("fetch", cuCtxGetLimit(&v, CU_LIMIT_MAX_L2_FETCH_GRANULARITY));
	ask("no-such", cuCtxGetLimit(&v, (CUlimit)99));
	ask("set-no-such", cuCtxSetLimit((CUlimit)99, 1));
	ask("nowhere", cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
}

PROGRAM(cache_configuration)
{
	CUfunc_cache cache = (CUfunc_cache)9;
	CUsharedconfig config = (CUsharedconfig)9;

	ask("get", cuCtxGetCacheConfig(&cache));
	say_n("is", (int)cache);
	ask("set", cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_EQUAL));
	must(cu.cuCtxGetCacheConfig(&cache));
	say_n("then", (int)cache);
	ask("set-9", cuCtxSetCacheConfig((CUfunc_cache)9));
	ask("nowhere", cuCtxGetCacheConfig(NULL));
	ask("shared", cuCtxGetSharedMemConfig(&config));
	say_n("shared-is", (int)config);
	ask("set-shared", cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	must(cu.cuCtxGetSharedMemConfig(&config));
	say_n("shared-then", (int)config);
	ask("set-shared-9", cuCtxSetSharedMemConfig((CUsharedconfig)9));
}

PROGRAM(error_names)
{
	const char *text = "untouched";

	ask("name", cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	printf("%s.is = %s\n", running, text);
	ask("string", cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	printf("%s.says = %s\n", running, text);
	ask("no-such", cuGetErrorName((CUresult)12345, &text));
	say_n("none", text == NULL);
	ask("nowhere", cuGetErrorName(CUDA_SUCCESS, NULL));
	ask("string-nowhere", cuGetErrorString(CUDA_SUCCESS, NULL));
}

PROGRAM(proc_addresses)
{
	CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)9;
	void *p = &p;

	ask("known", cuGetProcAddress_v2("cuMemAlloc", &p, 12000, 0, &found));
	say_n("found", (int)found);
	ask("unknown", cuGetProcAddress_v2("cuNothing", &p, 12000, 0, &found));
	say_n("missing", (int)found);
	say_n("null", p == NULL);
	ask("too-old", cuGetProcAddress_v2("cuLaunchKernelEx", &p, 10000, 0, &found));
	say_n("version", (int)found);
	ask("unknown-v1", cuGetProcAddress("cuNothing", &p, 12000, 0));
	ask("flags", cuGetProcAddress_v2("cuMemAlloc", &p, 12000, 8, &found));
	ask("name-null", cuGetProcAddress_v2(NULL, &p, 12000, 0, &found));
	ask("nowhere", cuGetProcAddress_v2("cuMemAlloc", NULL, 12000, 0, &found));
	ask("found-null", cuGetProcAddress_v2("cuMemAlloc", &p, 12000, 0, NULL));
}

PROGRAM(interprocess_events)
{
	CUevent e;

	ask("event", cuEventCreate(&e, CU_EVENT_INTERPROCESS));
	ask("event-untimed", cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
}
