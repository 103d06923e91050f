/*
 * probe.c - the inside of the measurements on a device: a plain program of the driver's API, which runs natively, under MPS or under
 * a broker without knowing which. It prints a line "ROW VALUE" for each figure; rows.def says what they mean. Not for the user.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "gsb/cuabi.h"
#include "tools/bench.h"

#define BURST	      1000
#define N_BURSTS      20
#define N_SYNCS	      2000
#define N_SLEPT	      15 /* odd: the middle one is a median */
#define SLEEP_MS      200
#define MIXED_THREADS 64
#define N_SMALL	      500
#define N_LARGE	      4
#define LARGE_BYTES   (256u << 20)
#define N_ALLOCS      300
#define N_LATENCIES   3000
#define N_LONG	      (1 << 20)
#define LONG_US	      6e6
/* What rows.def says of who disturbs. */
#define IMAGE_BYTES  2000000
#define IMAGE_STEPS  200
#define PINNED_BYTES ((size_t)1 << 30)
#define TAKEN_BYTES  ((size_t)8 << 30)
#define LESS	     16
#define DISTURB_SIZE (64u << 20)

static const char kernel_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry bench(.param .u64 p, .param .u32 n, .param .f32 x)\n{\n\tret;\n}\n"
	".visible .entry add(.param .u64 p)\n{\n"
	"\t.reg .u32 %r<3>;\n\t.reg .u64 %d<4>;\n"
	"\tld.param.u64 %d1, [p];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %d2, %r1, 4;\n"
	"\tadd.u64 %d3, %d1, %d2;\n\tld.global.u32 %r2, [%d3];\n\tadd.u32 %r2, %r2, 1;\n"
	"\tst.global.u32 [%d3], %r2;\n\tret;\n}\n"
	".visible .entry none()\n{\n\tret;\n}\n";

/* With a variable: each load is one of its own. */
static const char module_ptx[] = ".version 6.4\n.target sm_50\n.address_size 64\n"
				 ".visible .global .u32 v;\n.visible .entry none()\n{\n\tret;\n}\n";

#define CALLS                                                                               \
	CALL(cuInit, (unsigned))                                                            \
	CALL(cuDeviceGetName, (char *, int, CUdevice))                                      \
	CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                             \
	CALL(cuCtxSetCurrent, (CUcontext))                                                  \
	CALL(cuCtxSynchronize, (void))                                                      \
	CALL(cuModuleLoadData, (CUmodule *, const void *))                                  \
	CALL(cuModuleUnload, (CUmodule))                                                    \
	CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                   \
	CALL(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, \
			      unsigned, unsigned, CUstream, void **, void **))              \
	CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                        \
	CALL(cuMemFree_v2, (CUdeviceptr))                                                   \
	CALL(cuMemHostAlloc, (void **, size_t, unsigned))                                   \
	CALL(cuMemFreeHost, (void *))                                                       \
	CALL(cuMemGetInfo_v2, (size_t *, size_t *))                                         \
	CALL(cuEventCreate, (CUevent *, unsigned))                                          \
	CALL(cuEventRecord, (CUevent, CUstream))                                            \
	CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))           \
	CALL(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                          \
	CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))

static struct {
#define CALL(name, parameters) CUresult(*name) parameters;
	CALLS
#undef CALL
} cu;

static CUcontext ctx;
static CUmodule module;
static CUfunction kernel;

static void need(const char *call, CUresult result)
{
	if (!result)
		return;
	fprintf(stderr, "gsb-bench: %s: the driver answered %d\n", call, (int)result);
	exit(1);
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		exit(77); /* who runs us says so */
#define CALL(name, parameters) *(void **)&cu.name = dlsym(library, #name);
	CALLS
#undef CALL
}

static void set_up(void)
{
	open_driver();
	need("cuInit", cu.cuInit(0));
	need("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	need("cuCtxSetCurrent", cu.cuCtxSetCurrent(ctx));
	need("cuModuleLoadData", cu.cuModuleLoadData(&module, kernel_ptx));
	need("cuModuleGetFunction", cu.cuModuleGetFunction(&kernel, module, "bench"));
}

static void launch_one(CUfunction f, unsigned threads, void **params)
{
	need("cuLaunchKernel", cu.cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
}

static void launch(void)
{
	CUdeviceptr p = 0;
	unsigned count = 1;
	float x = 1;
	void *params[] = {&p, &count, &x};

	launch_one(kernel, 32, params);
}

static void wait_for_all(void)
{
	need("cuCtxSynchronize", cu.cuCtxSynchronize());
}

static void warm_up(void)
{
	for (int i = 0; i < BURST; i++)
		launch();
	wait_for_all();
}

static double us_since(uint64_t from)
{
	return (double)(gsb_clock_ns() - from) / 1e3;
}

static void tell(const char *row, double value)
{
	printf("%s %.3f\n", row, value);
}

/* What a loop that feeds its kernel does. */
static void measure_mixed(void)
{
	CUdeviceptr device;
	CUevent event;
	uint64_t from;
	void *word;

	need("cuMemAlloc", cu.cuMemAlloc_v2(&device, 4));
	need("cuMemHostAlloc", cu.cuMemHostAlloc(&word, 4, 0));
	need("cuEventCreate", cu.cuEventCreate(&event, 0));
	from = gsb_clock_ns();
	for (int i = 0; i < N_BURSTS; i++) {
		for (int k = 0; k < BURST / 4; k++) {
			launch();
			need("cuMemcpyHtoDAsync", cu.cuMemcpyHtoDAsync_v2(device, word, 4, NULL));
			need("cuEventRecord", cu.cuEventRecord(event, NULL));
		}
		wait_for_all();
	}
	tell("mixed_each", us_since(from) / (N_BURSTS * BURST / 4.0));
}

/* Three kernels in turn, one of which adds to memory, and nobody waits before the last. */
static void measure_kernels_in_turn(void)
{
	CUfunction add, none;
	CUdeviceptr words;
	void *params[] = {&words};
	uint64_t from;

	need("cuModuleGetFunction", cu.cuModuleGetFunction(&add, module, "add"));
	need("cuModuleGetFunction", cu.cuModuleGetFunction(&none, module, "none"));
	need("cuMemAlloc", cu.cuMemAlloc_v2(&words, MIXED_THREADS * 4));
	launch_one(add, MIXED_THREADS, params);
	launch_one(none, 1, NULL);
	wait_for_all();
	from = gsb_clock_ns();
	for (int i = 0; i < N_BURSTS * BURST; i += 3) {
		launch();
		launch_one(add, MIXED_THREADS, params);
		launch_one(none, 1, NULL);
	}
	wait_for_all();
	tell("launch_mixed", us_since(from) / (N_BURSTS * BURST));
}

static void measure_launch(void)
{
	uint64_t from = gsb_clock_ns();
	double posted = 0;

	for (int i = 0; i < N_BURSTS; i++) {
		uint64_t burst = gsb_clock_ns();

		for (int k = 0; k < BURST; k++)
			launch();
		posted += us_since(burst);
		wait_for_all();
	}
	tell("launch_call", posted / (N_BURSTS * BURST));
	tell("launch_each", us_since(from) / (N_BURSTS * BURST));
	measure_mixed();
	measure_kernels_in_turn();
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double launch_and_wait(void)
{
	uint64_t from = gsb_clock_ns();

	launch();
	wait_for_all();
	return us_since(from);
}

/* Who waits for work may have gone to sleep by then, and so may the GPU. */
static void measure_slept(void)
{
	const struct timespec pause = {.tv_nsec = SLEEP_MS * 1000000};
	double us[N_SLEPT];

	for (int i = 0; i < N_SLEPT; i++) {
		nanosleep(&pause, NULL);
		us[i] = launch_and_wait();
	}
	qsort(us, N_SLEPT, sizeof(us[0]), by_value);
	tell("sync_slept", us[N_SLEPT / 2]);
}

static void measure_sync(void)
{
	uint64_t from = gsb_clock_ns();

	for (int i = 0; i < N_SYNCS; i++) {
		launch();
		wait_for_all();
	}
	tell("sync", us_since(from) / N_SYNCS);
	measure_slept();
}

/* The second of two passes over the same memory, both ways: GB a second. */
static void measure_large(const char *in, const char *out, CUdeviceptr device, void *host)
{
	double us[2];

	for (int i = 0; i < 2; i++) {
		uint64_t from = gsb_clock_ns();

		for (int k = 0; k < N_LARGE; k++)
			need("cuMemcpyHtoD", cu.cuMemcpyHtoD_v2(device, host, LARGE_BYTES));
		wait_for_all();
		us[0] = us_since(from);
		from = gsb_clock_ns();
		for (int k = 0; k < N_LARGE; k++)
			need("cuMemcpyDtoH", cu.cuMemcpyDtoH_v2(host, device, LARGE_BYTES));
		us[1] = us_since(from);
	}
	tell(in, (double)LARGE_BYTES * N_LARGE / us[0] / 1e3);
	tell(out, (double)LARGE_BYTES * N_LARGE / us[1] / 1e3);
}

/* What a program waits for where nothing else is on its stream: us. */
static double call_of_word(CUdeviceptr device)
{
	uint32_t word = 1;
	double us = 0;

	for (int i = 0; i < N_SMALL; i++) {
		uint64_t from = gsb_clock_ns();

		need("cuMemcpyHtoD", cu.cuMemcpyHtoD_v2(device, &word, sizeof(word)));
		us += us_since(from);
		wait_for_all();
	}
	return us / N_SMALL;
}

static void measure_small(CUdeviceptr device)
{
	uint64_t from = gsb_clock_ns();
	uint32_t word = 1;

	for (int i = 0; i < N_SMALL; i++)
		need("cuMemcpyHtoD", cu.cuMemcpyHtoD_v2(device, &word, sizeof(word)));
	tell("copy_word_in", us_since(from) / N_SMALL);
	wait_for_all();
	tell("copy_word_call", call_of_word(device));
	from = gsb_clock_ns();
	for (int i = 0; i < N_SMALL; i++)
		need("cuMemcpyDtoH", cu.cuMemcpyDtoH_v2(&word, device, sizeof(word)));
	tell("copy_word_out", us_since(from) / N_SMALL);
}

static void measure_copy(void)
{
	void *pinned, *pageable = malloc(LARGE_BYTES);
	CUdeviceptr device;

	if (!pageable)
		exit(1);
	memset(pageable, 1, LARGE_BYTES);
	need("cuMemAlloc", cu.cuMemAlloc_v2(&device, LARGE_BYTES));
	need("cuMemHostAlloc", cu.cuMemHostAlloc(&pinned, LARGE_BYTES, 0));
	measure_large("copy_pinned_in", "copy_pinned_out", device, pinned);
	measure_large("copy_pageable_in", "copy_pageable_out", device, pageable);
	measure_small(device);
	free(pageable);
}

static double allocate_and_free(size_t bytes)
{
	uint64_t from = gsb_clock_ns();
	CUdeviceptr p;

	for (int i = 0; i < N_ALLOCS; i++) {
		need("cuMemAlloc", cu.cuMemAlloc_v2(&p, bytes));
		need("cuMemFree", cu.cuMemFree_v2(p));
	}
	return us_since(from) / N_ALLOCS;
}

static void measure_alloc(void)
{
	allocate_and_free(4096);
	tell("alloc_small", allocate_and_free(65536));
	tell("alloc_large", allocate_and_free(1 << 20));
}

static void tell_latencies(const char *row, double *us, unsigned n)
{
	char key[32];

	qsort(us, n, sizeof(us[0]), by_value);
	snprintf(key, sizeof(key), "%s_median", row);
	tell(key, us[n / 2]);
	snprintf(key, sizeof(key), "%s_p99", row);
	tell(key, us[(size_t)n * 99 / 100]);
	snprintf(key, sizeof(key), "%s_most", row);
	tell(key, us[n - 1]);
}

static void measure_latency(void)
{
	static double us[N_LATENCIES];

	for (int i = 0; i < N_LATENCIES; i++)
		us[i] = launch_and_wait();
	tell_latencies("beside", us, N_LATENCIES);
}

/* So long that the other does everything meanwhile. */
static void measure_long(const char *row)
{
	static double us[N_LONG];
	uint64_t from = gsb_clock_ns();
	unsigned n = 0;

	while (n < N_LONG && us_since(from) < LONG_US)
		us[n++] = launch_and_wait();
	tell_latencies(row, us, n);
}

static void measure_beside_large(void)
{
	measure_long("large");
}

static void measure_beside_less(void)
{
	measure_long("less");
}

/* What a program does while it starts, again and again, until it is killed. */
static void disturb(void)
{
	CUmodule other;
	CUdeviceptr p;

	printf("ready\n");
	fflush(stdout);
	for (;;) {
		need("cuModuleLoadData", cu.cuModuleLoadData(&other, module_ptx));
		need("cuMemAlloc", cu.cuMemAlloc_v2(&p, DISTURB_SIZE));
		need("cuMemFree", cu.cuMemFree_v2(p));
		need("cuModuleUnload", cu.cuModuleUnload(other));
	}
}

/* ---- one that disturbs as much as a program can ---- */

/* IMAGE_BYTES of kernels, and another variable each time, as nth says: nobody has compiled them before, nor keeps them from then. */
static char *make_image(unsigned nth)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		exit(1);
	fprintf(f,
		".version 6.4\n.target sm_50\n.address_size 64\n.visible .global .u32 v = 1%06u;\n",
		nth);
	for (unsigned k = 0; ftell(f) < IMAGE_BYTES; k++) {
		fprintf(f, ".visible .entry k%u(.param .u64 p)\n{\n", k);
		fprintf(f, "\t.reg .u32 %%r;\n\t.reg .u64 %%d;\n\tld.param.u64 %%d, [p];\n");
		for (unsigned i = 0; i < IMAGE_STEPS; i++)
			fprintf(f,
				"\tld.global.u32 %%r, [%%d+%u];\n\txor.b32 %%r, %%r, %u;\n"
				"\tst.global.u32 [%%d+%u], %%r;\n",
				8 * i, k + i + 1, 8 * i + 4);
		fprintf(f, "\tret;\n}\n");
	}
	fclose(f);
	return text;
}

static void pin_and_take(size_t part)
{
	CUdeviceptr p;
	void *host;

	need("cuMemHostAlloc", cu.cuMemHostAlloc(&host, PINNED_BYTES / part, 0));
	need("cuMemFreeHost", cu.cuMemFreeHost(host));
	need("cuMemAlloc", cu.cuMemAlloc_v2(&p, TAKEN_BYTES / part));
	need("cuMemFree", cu.cuMemFree_v2(p));
}

static void *be_who_loads(void *arg)
{
	CUmodule other;

	need("cuCtxSetCurrent", cu.cuCtxSetCurrent(ctx));
	for (;;) {
		char *image = make_image((unsigned)(gsb_clock_ns() / 1000 % 1000000));

		need("cuModuleLoadData", cu.cuModuleLoadData(&other, image));
		need("cuModuleUnload", cu.cuModuleUnload(other));
		free(image);
	}
	return arg;
}

/* Two threads, until it is killed: a load natively takes seconds, and memory is to be taken meanwhile. */
static void disturb_much(void)
{
	size_t unused, total, part;
	pthread_t thread;

	need("cuMemGetInfo", cu.cuMemGetInfo_v2(&unused, &total));
	part = unused < 2 * TAKEN_BYTES ? LESS : 1;
	pin_and_take(part);
	if (pthread_create(&thread, NULL, be_who_loads, NULL))
		exit(1);
	printf("%s\n", part == 1 ? "large" : "less"); /* which of the two rows this is */
	fflush(stdout);
	for (;;)
		pin_and_take(part);
}

static void do_nothing(void)
{
	launch();
	wait_for_all();
}

static void say_name(void)
{
	char name[128];

	need("cuDeviceGetName", cu.cuDeviceGetName(name, sizeof(name), 0));
	printf("%s\n", name);
}

static const struct {
	const char *name;
	void (*run)(void);
	bool warm;
} probes[] = {
	{"launch", measure_launch, true},      {"sync", measure_sync, true},
	{"copy", measure_copy, true},	       {"alloc", measure_alloc, true},
	{"latency", measure_latency, true},    {"disturb", disturb, false},
	{"once", do_nothing, false},	       {"name", say_name, false},
	{"disturb_much", disturb_much, false}, {"large", measure_beside_large, true},
	{"less", measure_beside_less, true},

};

int gsb_bench_probe(int argc, char **argv)
{
	for (unsigned i = 0; argc == 2 && i < GSB_ARRAY_LEN(probes); i++) {
		if (strcmp(probes[i].name, argv[1]))
			continue;
		set_up();
		if (probes[i].warm)
			warm_up();
		probes[i].run();
		return 0;
	}
	return 2;
}
