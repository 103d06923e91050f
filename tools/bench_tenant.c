/*
 * bench_tenant.c - the inside of gsb-bench transport, memory and threads: a plain program of the driver API.
 *
 * It runs natively or under the preload without knowing which. It prints one line of name=value pairs,
 * which the part that runs it reads. Not for the user.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "gsb/cuabi.h"
#include "tools/bench.h"

#define THREADS_MAX 128

static const char kernel_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry bench(.param .u64 p, .param .u32 n, .param .f32 x)\n{\n\tret;\n}\n";

static struct {
	CUresult (*init)(unsigned);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*release)(CUdevice);
	CUresult (*set)(CUcontext);
	CUresult (*load)(CUmodule *, const void *);
	CUresult (*function)(CUfunction *, CUmodule, const char *);
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			   unsigned, CUstream, void **, void **);
	CUresult (*synchronize)(void);
	CUresult (*stream_create)(CUstream *, unsigned);
	CUresult (*stream_synchronize)(CUstream);
	CUresult (*name)(char *, int, CUdevice);
} cu;

static const struct {
	const char *symbol;
	void *slot;
} symbols[] = {
	{"cuInit", &cu.init},
	{"cuDevicePrimaryCtxRetain", &cu.retain},
	{"cuDevicePrimaryCtxRelease_v2", &cu.release},
	{"cuCtxSetCurrent", &cu.set},
	{"cuModuleLoadData", &cu.load},
	{"cuModuleGetFunction", &cu.function},
	{"cuLaunchKernel", &cu.launch},
	{"cuCtxSynchronize", &cu.synchronize},
	{"cuStreamCreate", &cu.stream_create},
	{"cuStreamSynchronize", &cu.stream_synchronize},
	{"cuDeviceGetName", &cu.name},
};

static int load_symbols(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		return -1;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(symbols); i++) {
		void *p = dlsym(lib, symbols[i].symbol);

		if (!p)
			return -1;
		memcpy(symbols[i].slot, &p, sizeof(p));
	}
	return 0;
}

/* Resident kilobytes of this process; mappings whose name holds `without` are left out. */
static unsigned long resident_kb(const char *without)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long sum = 0, kb, from, to;
	bool counts = true;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			counts = !without || !strstr(line, without);
		else if (counts && sscanf(line, "Rss: %lu", &kb) == 1)
			sum += kb;
	}
	if (f)
		fclose(f);
	return sum;
}

static CUcontext ctx;

static CUresult start(CUfunction *f)
{
	CUmodule module;
	CUresult r = cu.init(0);

	if (!r)
		r = cu.retain(&ctx, 0);
	if (!r)
		r = cu.set(ctx);
	if (!r)
		r = cu.load(&module, kernel_ptx);
	if (!r)
		r = cu.function(f, module, "bench");
	return r ? r : cu.synchronize();
}

static CUresult launch_many(CUfunction f, CUstream stream, unsigned long n)
{
	CUdeviceptr p = 0;
	unsigned count = 1;
	float x = 1;
	void *params[] = {&p, &count, &x};
	CUresult r = CUDA_SUCCESS;

	for (unsigned long i = 0; i < n && !r; i++)
		r = cu.launch(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
	return r;
}

static int measure(unsigned long n, unsigned burst)
{
	unsigned long before = resident_kb(NULL), after;
	uint64_t posted = 0, begin, t;
	char device[128] = "";
	CUfunction f;
	CUresult r = start(&f);

	if (!r)
		r = launch_many(f, NULL, burst); /* warm */
	if (!r)
		r = cu.synchronize();
	begin = gsb_clock_ns();
	/* Bursts that fit the ring: time in the call is then the call, not a wait for room. */
	for (unsigned long done = 0; done < n && !r; done += burst) {
		t = gsb_clock_ns();
		r = launch_many(f, NULL, burst);
		posted += gsb_clock_ns() - t;
		if (!r)
			r = cu.synchronize();
	}
	t = gsb_clock_ns() - begin;
	after = resident_kb("gsb-staging");
	cu.name(device, sizeof(device), 0);
	if (r) {
		fprintf(stderr, "gsb-bench: the driver answered %d\n", r);
		return 1;
	}
	n = (n + burst - 1) / burst * burst;
	printf("launches=%lu call_ns=%.1f total_ns=%.1f added_kb=%lu device=%s\n", n,
	       (double)posted / (double)n, (double)t / (double)n,
	       after > before ? after - before : 0, device);
	cu.release(0);
	return 0;
}

/* ---- threads ---- */

static struct {
	pthread_barrier_t begin;
	CUfunction f;
	unsigned long n_each;
} job;

/* Launch one, wait for it, and again. */
static void *launch_and_wait(void *arg)
{
	CUstream stream = NULL;
	CUresult r = cu.set(ctx);

	if (!r)
		r = cu.stream_create(&stream, 1);
	pthread_barrier_wait(&job.begin);
	for (unsigned long i = 0; i < job.n_each && !r; i++) {
		r = launch_many(job.f, stream, 1);
		if (!r)
			r = cu.stream_synchronize(stream);
	}
	return (void *)(intptr_t)r;
}

static int measure_threads(unsigned long n, unsigned n_threads)
{
	pthread_t threads[THREADS_MAX];
	void *result = (void *)(intptr_t)start(&job.f);
	int failed = result != NULL;
	uint64_t begin;

	job.n_each = (n + n_threads - 1) / n_threads;
	pthread_barrier_init(&job.begin, NULL, n_threads + 1);
	for (unsigned i = 0; i < n_threads; i++)
		if (failed || pthread_create(&threads[i], NULL, launch_and_wait, NULL))
			return 1;
	pthread_barrier_wait(&job.begin);
	begin = gsb_clock_ns();
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_join(threads[i], &result);
		failed |= result != NULL;
	}
	printf("launches=%lu total_ns=%llu\n", job.n_each * n_threads,
	       (unsigned long long)(gsb_clock_ns() - begin));
	return failed;
}

int gsb_bench_tenant(int argc, char **argv)
{
	unsigned long n = 100000, burst = 1000, n_threads = 0;
	int c;

	while ((c = getopt(argc, argv, "n:b:t:")) != -1)
		switch (c) {
		case 'n': n = strtoul(optarg, NULL, 10); break;
		case 'b': burst = strtoul(optarg, NULL, 10); break;
		case 't': n_threads = strtoul(optarg, NULL, 10); break;
		default: return 2;
		}
	if (!n || !burst || n_threads > THREADS_MAX)
		return 2;
	if (load_symbols()) /* the part that runs us says so */
		return 77;
	return n_threads ? measure_threads(n, (unsigned)n_threads) : measure(n, (unsigned)burst);
}
