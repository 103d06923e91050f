/*
 * gpu.c - see gpu.h.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define ATTR_SMEM	1 /* CUfunction_attribute */
#define ATTR_REGS	4
#define ATTR_DYNAMIC	8
#define ATTR_CARVE	9
#define JIT_ERROR_LOG	5 /* CUjit_option */
#define JIT_ERROR_BYTES 6
#define DEVICE_NAME_MAX 128
#define SMS_MAX		1024

#define DRIVER_FUNCTIONS(X)                                                                        \
	X(cuInit, (unsigned))                                                                      \
	X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                       \
	X(cuCtxSetCurrent, (CUcontext))                                                            \
	X(cuDeviceGetName, (char *, int, CUdevice))                                                \
	X(cuDeviceGetAttribute, (int *, int, CUdevice))                                            \
	X(cuDriverGetVersion, (int *))                                                             \
	X(cuModuleLoadData, (CUmodule *, const void *))                                            \
	X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, int *, void **))                \
	X(cuModuleUnload, (CUmodule))                                                              \
	X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                             \
	X(cuFuncGetAttribute, (int *, int, CUfunction))                                            \
	X(cuFuncSetAttribute, (CUfunction, int, int))                                              \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, CUfunction, int, size_t))           \
	X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                  \
	X(cuMemFree_v2, (CUdeviceptr))                                                             \
	X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                    \
	X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                          \
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))                     \
	X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))                           \
	X(cuMemHostAlloc, (void **, size_t, unsigned))                                             \
	X(cuStreamCreate, (CUstream *, unsigned))                                                  \
	X(cuStreamQuery, (CUstream))                                                               \
	X(cuStreamSynchronize, (CUstream))                                                         \
	X(cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned))                     \
	X(cuEventCreate, (CUevent *, unsigned))                                                    \
	X(cuEventRecord, (CUevent, CUstream))                                                      \
	X(cuEventSynchronize, (CUevent))                                                           \
	X(cuEventElapsedTime, (float *, CUevent, CUevent))                                         \
	X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, CUstream, void **, void **))

#define X(name, parameters) static CUresult(*name) parameters;
DRIVER_FUNCTIONS(X)
#undef X

static const struct {
	const char *name;
	void *slot;
} driver_functions[] = {
#define X(name, parameters) {#name, &name},
	DRIVER_FUNCTIONS(X)
#undef X
};

int gpu_n_sms;
static CUstream streams[2];
static CUevent begin, end;
static volatile unsigned *started; /* pinned: the device writes here */
static volatile unsigned *go;	   /* pinned: the device waits here */
static CUdeviceptr data, out;

static void check(CUresult r, const char *what)
{
	if (r) {
		fprintf(stderr, "gpu: %s: driver error %d\n", what, r);
		exit(1);
	}
}

static void load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "gpu: no libcuda.so.1: this needs a GPU and its driver\n");
		exit(77);
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(driver_functions); i++) {
		void *p = dlsym(lib, driver_functions[i].name);

		if (!p) {
			fprintf(stderr, "gpu: no %s\n", driver_functions[i].name);
			exit(1);
		}
		memcpy(driver_functions[i].slot, &p, sizeof(p));
	}
}

void gpu_start(const char *header)
{
	CUcontext ctx;
	char name[DEVICE_NAME_MAX];
	int version;

	load_driver();
	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
	check(cuCtxSetCurrent(ctx), "context");
	check(cuDeviceGetAttribute(&gpu_n_sms, 16, 0), "number of SMs");
	check(cuDeviceGetName(name, sizeof(name), 0), "name");
	check(cuDriverGetVersion(&version), "version");
	if (header)
		printf("# %s, %d SMs, driver API %d\n%s", name, gpu_n_sms, version, header);
}

void gpu_start_memory(void)
{
	size_t bytes = GPU_FLOATS * sizeof(float);
	float *host = malloc(bytes);
	void *flag;

	if (!host)
		exit(1);
	for (unsigned i = 0; i < GPU_FLOATS; i++)
		host[i] = (float)(i * 2654435761u >> 8) / 16777216.0f;
	check(cuMemAlloc_v2(&data, bytes), "memory");
	check(cuMemAlloc_v2(&out, bytes), "memory");
	check(cuMemcpyHtoD_v2(data, host, bytes), "copy");
	check(cuMemcpyHtoD_v2(out, host, bytes), "copy");
	free(host);
	check(cuMemHostAlloc(&flag, 4096, 2), "pinned memory");
	started = flag;
	go = started + 16;
	for (int i = 0; i < 2; i++)
		check(cuStreamCreate(&streams[i], 1), "stream");
	check(cuEventCreate(&begin, 0), "event");
	check(cuEventCreate(&end, 0), "event");
}

CUmodule gpu_load(const char *text)
{
	CUmodule module;

	check(cuModuleLoadData(&module, text), "module");
	return module;
}

CUmodule gpu_load_file(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f) {
		fprintf(stderr, "gpu: cannot read %s\n", path);
		exit(2);
	}
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	return gpu_load(text);
}

void gpu_unload(CUmodule module)
{
	check(cuModuleUnload(module), "unload");
}

void gpu_find(struct grid *g, CUmodule module)
{
	check(cuModuleGetFunction(&g->function, module, g->name), g->name);
	check(cuFuncGetAttribute(&g->regs, ATTR_REGS, g->function), "registers");
	check(cuFuncGetAttribute(&g->static_smem, ATTR_SMEM, g->function), "shared memory");
	/* One split of L1 and shared memory for all: a small one first would keep the second kernel out. */
	check(cuFuncSetAttribute(g->function, ATTR_CARVE, 100), "carve-out");
	check(cuFuncSetAttribute(g->function, ATTR_DYNAMIC, GPU_SMEM_OPTIN - g->static_smem),
	      "limit");
}

int gpu_occupancy(const struct grid *g, unsigned threads, unsigned smem)
{
	int blocks;
	CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, g->function, (int)threads,
								 smem);

	return r ? -(int)r : blocks;
}

static void launch(const struct grid *g, int stream, volatile unsigned *flag)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)flag;
	unsigned n = GPU_FLOATS, work = g->work;
	void *synth[] = {&at, &out, &work}, *other[] = {&at, &data, &out, &n, &work};

	check(cuLaunchKernel(g->function, g->blocks, 1, 1, g->threads, 1, 1, g->smem,
			     streams[stream], strcmp(g->name, "synth") ? other : synth, NULL),
	      g->name);
}

void gpu_run(const struct grid *g)
{
	launch(g, 0, NULL);
	check(cuStreamSynchronize(streams[0]), g->name);
}

/* All is in the stream before any of it runs: else the CPU's way to the launch would be timed too. */
double gpu_time(const struct grid *g)
{
	float ms;

	*go = 0;
	check(cuStreamWaitValue32_v2(streams[1], (CUdeviceptr)(uintptr_t)go, 1, 1), "wait");
	check(cuEventRecord(begin, streams[1]), "event");
	launch(g, 1, NULL);
	check(cuEventRecord(end, streams[1]), "event");
	*go = 1;
	check(cuEventSynchronize(end), g->name);
	check(cuEventElapsedTime(&ms, begin, end), "time");
	return ms * 1e3;
}

bool gpu_time_beside(const struct grid *k1, const struct grid *k2, double *us)
{
	bool outlasts;

	*started = 0;
	launch(k1, 0, started);
	while (!*started)
		gsb_cpu_relax();
	*us = gpu_time(k2);
	outlasts = cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY;
	check(cuStreamSynchronize(streams[0]), k1->name);
	return outlasts;
}

void gpu_spread(const struct grid *g, unsigned *least, unsigned *most)
{
	unsigned *sm_of_block = malloc(g->blocks * sizeof(*sm_of_block));
	unsigned on_sm[SMS_MAX] = {0};

	if (!sm_of_block)
		exit(1);
	gpu_time(g);
	check(cuMemcpyDtoH_v2(sm_of_block, out, g->blocks * sizeof(*sm_of_block)), "copy");
	for (unsigned i = 0; i < g->blocks; i++)
		on_sm[sm_of_block[i] % SMS_MAX]++;
	free(sm_of_block);
	*least = *most = on_sm[0];
	for (int i = 1; i < gpu_n_sms; i++) {
		*least = on_sm[i] < *least ? on_sm[i] : *least;
		*most = on_sm[i] > *most ? on_sm[i] : *most;
	}
}

void gpu_warm(CUmodule module)
{
	struct grid g = {.name = "synth", .blocks = 1056, .threads = 256, .work = 100000};
	double us = 0;

	gpu_find(&g, module);
	while (us < 3e5)
		us += gpu_time(&g);
}

/* ---- kernels beside each other ---- */

static struct {
	CUstream stream;
	CUevent begin, end;
} slots[GPU_SLOTS];
static CUstream looking;
static CUevent stamps[2];

void gpu_start_slots(void)
{
	for (unsigned i = 0; i < GPU_SLOTS; i++) {
		check(cuStreamCreate(&slots[i].stream, 1), "stream");
		check(cuEventCreate(&slots[i].begin, 0), "event");
		check(cuEventCreate(&slots[i].end, 0), "event");
	}
	check(cuStreamCreate(&looking, 1), "stream");
	for (unsigned i = 0; i < 2; i++)
		check(cuEventCreate(&stamps[i], 0), "event");
}

void *gpu_pinned(size_t bytes)
{
	void *p;

	check(cuMemHostAlloc(&p, bytes, 0), "pinned memory");
	memset(p, 0, bytes);
	return p;
}

CUdeviceptr gpu_alloc(size_t bytes)
{
	CUdeviceptr p;

	check(cuMemAlloc_v2(&p, bytes), "memory");
	return p;
}

void gpu_slot_launch(unsigned slot, const struct grid *g, void **args)
{
	check(cuLaunchKernel(g->function, g->blocks, 1, 1, g->threads, 1, 1, g->smem,
			     slots[slot].stream, args, NULL),
	      g->name);
}

void gpu_slot_wait(unsigned slot)
{
	check(cuStreamSynchronize(slots[slot].stream), "a kernel");
}

void gpu_slot_begin(unsigned slot)
{
	check(cuEventRecord(slots[slot].begin, slots[slot].stream), "event");
}

void gpu_slot_end(unsigned slot)
{
	check(cuEventRecord(slots[slot].end, slots[slot].stream), "event");
}

double gpu_slots_us(unsigned begun, unsigned ended)
{
	float ms;

	check(cuEventElapsedTime(&ms, slots[begun].begin, slots[ended].end), "time");
	return ms * 1e3;
}

void gpu_look(void *to, CUdeviceptr from, size_t bytes)
{
	check(cuMemcpyDtoHAsync_v2(to, from, bytes, looking), "copy");
	check(cuStreamSynchronize(looking), "copy");
}

void gpu_put(CUdeviceptr to, const void *from, size_t bytes)
{
	check(cuMemcpyHtoDAsync_v2(to, from, bytes, looking), "copy");
	check(cuStreamSynchronize(looking), "copy");
}

void gpu_stamp(unsigned which)
{
	check(cuEventRecord(stamps[which], looking), "event");
}

double gpu_stamps_us(void)
{
	float ms;

	check(cuEventSynchronize(stamps[1]), "time");
	check(cuEventElapsedTime(&ms, stamps[0], stamps[1]), "time");
	return ms * 1e3;
}

bool gpu_compile(const char *text, CUmodule *module, char *log, size_t size)
{
	int options[] = {JIT_ERROR_LOG, JIT_ERROR_BYTES};
	void *values[] = {log, (void *)(uintptr_t)size};

	log[0] = 0;
	return !cuModuleLoadDataEx(module, text, GSB_ARRAY_LEN(options), options, values);
}

CUdeviceptr gpu_copy_in(const void *from, size_t bytes)
{
	CUdeviceptr p;

	check(cuMemAlloc_v2(&p, bytes), "memory");
	check(cuMemcpyHtoD_v2(p, from, bytes), "copy");
	return p;
}

void gpu_copy_out(void *to, CUdeviceptr p, size_t bytes)
{
	check(cuMemcpyDtoH_v2(to, p, bytes), "copy");
	gpu_free(p);
}

void gpu_free(CUdeviceptr p)
{
	check(cuMemFree_v2(p), "memory");
}

void gpu_call(CUmodule module, const struct gpu_call *c)
{
	CUfunction f;

	check(cuModuleGetFunction(&f, module, c->kernel), c->kernel);
	check(cuLaunchKernel(f, c->grid[0], c->grid[1], 1, c->block[0], c->block[1], 1, c->smem,
			     NULL, c->args, NULL),
	      c->kernel);
	check(cuStreamSynchronize(NULL), c->kernel);
}
