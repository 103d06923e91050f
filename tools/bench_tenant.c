/*
 * bench_tenant.c - the inside of gsb-bench transport and memory: a plain program of the driver API.
 *
 * It runs natively or under the preload without knowing which. It prints one line of name=value pairs,
 * which bench_transport.c reads. Not for the user.
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

#define THREADS_MAX 64

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

static CUresult start(CUcontext *ctx, CUfunction *f)
{
	CUmodule module;
	CUresult r = cu.init(0);

	if (!r)
		r = cu.retain(ctx, 0);
	if (!r)
		r = cu.set(*ctx);
	if (!r)
		r = cu.load(&module, kernel_ptx);
	if (!r)
		r = cu.function(f, module, "bench");
	return r ? r : cu.synchronize();
}

/* One of the threads that launch: with a stream of its own, or the only one and the default stream. */
struct launcher {
	pthread_t thread;
	CUcontext ctx;
	CUfunction function;
	CUstream stream;
	unsigned long n;
	unsigned burst;
	uint64_t posted_ns; /* in cuLaunchKernel */
	CUresult result;
};

static CUresult launch_many(const struct launcher *l)
{
	CUdeviceptr p = 0;
	unsigned count = 1;
	float x = 1;
	void *params[] = {&p, &count, &x};
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < l->burst && !r; i++)
		r = cu.launch(l->function, 1, 1, 1, 32, 1, 1, 0, l->stream, params, NULL);
	return r;
}

static CUresult wait_for(const struct launcher *l)
{
	return l->stream ? cu.stream_synchronize(l->stream) : cu.synchronize();
}

/* Bursts that fit the ring: time in the call is then the call, not a wait for room. */
static void launch_bursts(struct launcher *l)
{
	for (unsigned long done = 0; done < l->n && !l->result; done += l->burst) {
		uint64_t t = gsb_clock_ns();

		l->result = launch_many(l);
		l->posted_ns += gsb_clock_ns() - t;
		if (!l->result)
			l->result = wait_for(l);
	}
}

static void *launcher_main(void *arg)
{
	struct launcher *l = arg;

	l->result = cu.set(l->ctx);
	launch_bursts(l);
	return NULL;
}

/* Warm, and with its stream if there are several. */
static CUresult prepare(struct launcher *l, bool several)
{
	CUresult r = several ? cu.stream_create(&l->stream, 1) : CUDA_SUCCESS;

	if (!r)
		r = launch_many(l);
	return r ? r : wait_for(l);
}

static CUresult run_threads(struct launcher *l, unsigned n_threads)
{
	CUresult r = CUDA_SUCCESS;

	if (n_threads == 1) {
		launch_bursts(l);
		return l->result;
	}
	for (unsigned i = 0; i < n_threads; i++)
		if (pthread_create(&l[i].thread, NULL, launcher_main, &l[i]))
			abort();
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_join(l[i].thread, NULL);
		r = r ? r : l[i].result;
	}
	return r;
}

static int measure(unsigned long n, unsigned burst, unsigned n_threads)
{
	static struct launcher l[THREADS_MAX];
	unsigned long before = resident_kb(NULL), after;
	uint64_t posted = 0, t;
	char device[128] = "";
	CUfunction f;
	CUcontext ctx;
	CUresult r = start(&ctx, &f);

	n = (n / n_threads + burst - 1) / burst * burst; /* of each */
	for (unsigned i = 0; i < n_threads && !r; i++) {
		l[i] = (struct launcher){.ctx = ctx, .function = f, .n = n, .burst = burst};
		r = prepare(&l[i], n_threads > 1);
	}
	t = gsb_clock_ns();
	if (!r)
		r = run_threads(l, n_threads);
	t = gsb_clock_ns() - t;
	after = resident_kb("gsb-staging");
	cu.name(device, sizeof(device), 0);
	if (r) {
		fprintf(stderr, "gsb-bench: the driver answered %d\n", r);
		return 1;
	}
	for (unsigned i = 0; i < n_threads; i++)
		posted += l[i].posted_ns;
	n *= n_threads;
	printf("launches=%lu call_ns=%.1f total_ns=%.1f added_kb=%lu device=%s\n", n,
	       (double)posted / (double)n, (double)t / (double)n,
	       after > before ? after - before : 0, device);
	cu.release(0);
	return 0;
}

int gsb_bench_tenant(int argc, char **argv)
{
	unsigned long n = 100000, burst = 1000, n_threads = 1;
	int c;

	while ((c = getopt(argc, argv, "n:b:t:")) != -1)
		switch (c) {
		case 'n': n = strtoul(optarg, NULL, 10); break;
		case 'b': burst = strtoul(optarg, NULL, 10); break;
		case 't': n_threads = strtoul(optarg, NULL, 10); break;
		default: return 2;
		}
	if (!n || !burst || !n_threads || n_threads > THREADS_MAX)
		return 2;
	if (load_symbols()) /* the part that runs us says so */
		return 77;
	return measure(n, (unsigned)burst, (unsigned)n_threads);
}
