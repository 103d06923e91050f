/*
 * reexec.c - a tenant that executes itself again and again: the same process, another program each time.
 *
 *   reexec N MIB [PROGRAM ARG...]
 *      N times; each allocates so many MiB and leaves with a kernel running that never ends. After the last,
 *      PROGRAM is executed in the same way.
 *
 * Prints "generation G: RESULT" when a call fails and exits 1, "all generations served" at the end.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tenant.h"

static const char kernel_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry spin(.param .u64 p)\n{\n\t.reg .b64 %a;\n"
	"\tld.param.u64 %a, [p];\n\tst.volatile.global.u32 [%a], 1;\nL:\n\tbra L;\n}\n";

static struct cu cu;
static int generation;

static void need(CUresult r)
{
	const char *name = "?";

	if (!r)
		return;
	cu.cuGetErrorName(r, &name);
	printf("generation %d: %s\n", generation, name);
	exit(1);
}

static void live(size_t bytes)
{
	CUcontext ctx;
	CUmodule module;
	CUfunction spin;
	CUdeviceptr p;
	volatile uint32_t *started;
	void *host, *params[] = {&host};

	need(cu.cuInit(0));
	need(cu.cuCtxCreate_v2(&ctx, 0, 0));
	need(cu.cuMemAlloc_v2(&p, bytes));
	need(cu.cuMemHostAlloc(&host, 4096, 0));
	started = host;
	need(cu.cuModuleLoadData(&module, kernel_ptx));
	need(cu.cuModuleGetFunction(&spin, module, "spin"));
	need(cu.cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	while (!*started)
		sched_yield();
}

int main(int argc, char **argv)
{
	char next[16];

	if (argc < 3)
		return 2;
	generation = atoi(argv[1]);
	if (!generation) {
		printf("all generations served\n");
		return 0;
	}
	cu_load(&cu);
	live(strtoul(argv[2], NULL, 10) << 20);
	snprintf(next, sizeof(next), "%d", generation - 1);
	if (generation == 1 && argv[3]) {
		execv(argv[3], argv + 3);
	} else {
		argv[1] = next;
		execv("/proc/self/exe", argv);
	}
	perror("execv");
	return 1;
}
