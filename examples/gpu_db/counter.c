/*
 * counter.c - `gpu_db counter`: see run.h. Uses a context of its own (cuCtxCreate), no stream.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

#include "images.h"

static CUcontext open_context(void)
{
	CUcontext context = NULL;
	CUdevice device = 0;

	cu_open();
	CU(cuInit, (0), "starting the driver");
	CU(cuDeviceGet, (&device, 0), "taking device 0");
	CU(cuCtxCreate_v2, (&context, 0, device), "making a context");
	return context;
}

static void count(const struct program *p, uint64_t n, unsigned batch)
{
	struct kernel k = program_kernel(p, "count_up");

	for (uint64_t done = 0; done < n; done += batch) {
		unsigned threads = n - done < batch ? (unsigned)(n - done) : batch;

		CU(cuLaunchKernel, (k.function, 1, 1, 1, threads, 1, 1, 0, NULL, NULL, NULL),
		   "launching %s, after %llu increments", k.name, (unsigned long long)done);
	}
}

static uint64_t read_counter(const struct program *p)
{
	CUdeviceptr address = 0;
	uint64_t value = 0;
	size_t bytes = 0;

	CU(cuModuleGetGlobal_v2, (&address, &bytes, p->module, "counter"), "finding the counter");
	if (bytes != sizeof(value))
		die("the counter has %zu bytes, expected %zu", bytes, sizeof(value));
	CU(cuMemcpyDtoH_v2, (&value, address, bytes), "reading the counter");
	return value;
}

int counter_main(uint64_t n, unsigned batch)
{
	struct session s = {.options = {.image = "ptx"}};
	CUcontext context = open_context();
	struct program program;
	uint64_t value;

	session_load(&s, &program, "counter", LOAD_MODULE);
	count(&program, n, batch);
	value = read_counter(&program);
	session_unload(&program);
	CU(cuCtxDestroy_v2, (context), "ending the context");
	if (value != n) {
		printf("counter FAILED: %llu after %llu increments\n", (unsigned long long)value,
		       (unsigned long long)n);
		return EXIT_FAILURE;
	}
	printf("counter %llu\n", (unsigned long long)value);
	return EXIT_SUCCESS;
}
