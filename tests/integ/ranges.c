/*
 * ranges.c - a tenant that marks its work by NVTX: three queries, each of as many scans as its number, in a range "build" of
 * domain db, and one join; and a join that is of no query. Built twice: with an NVTX of the tests' own, and where there is a
 * CUDA toolkit with NVIDIA's header, which a program has compiled in.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/tenant.h"

#ifdef GSB_TEST_NVTX3
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain;

static void begin(void)
{
	domain = nvtxDomainCreateA("db");
}

static void push_build(void)
{
	nvtxEventAttributes_t a = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
		.message.registered = nvtxDomainRegisterStringA(domain, "build"),
	};

	nvtxDomainRangePushEx(domain, &a);
}

static void pop_build(void)
{
	nvtxDomainRangePop(domain);
}

static uint64_t start_query(const char *name)
{
	return nvtxRangeStartA(name);
}

static void end_query(uint64_t id)
{
	nvtxRangeEnd(id);
}
#else
#include "tests/unit/nvtx.h"

static void *domain;
static bool is_there;

static void begin(void)
{
	is_there = nvtx_open(getenv("NVTX_INJECTION64_PATH"));
	domain = is_there ? nvtx_domain("db") : NULL;
}

static void push_build(void)
{
	const struct nvtx_attributes a =
		nvtx_message(3, is_there ? nvtx_register(domain, "build") : NULL);

	if (is_there)
		nvtx_domain_push(domain, &a);
}

static void pop_build(void)
{
	if (is_there)
		nvtx_domain_pop(domain);
}

static uint64_t start_query(const char *name)
{
	return is_there ? nvtx_start(name) : 0;
}

static void end_query(uint64_t id)
{
	if (is_there)
		nvtx_end(id);
}
#endif

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry scan()\n{\n\tret;\n}\n"
			  ".visible .entry join()\n{\n\tret;\n}\n";

static struct cu cu;

static void need(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "ranges: %s: %d\n", what, (int)r);
	exit(1);
}

static CUfunction kernel(CUmodule module, const char *name)
{
	CUfunction fn;

	need(cu.cuModuleGetFunction(&fn, module, name), "cuModuleGetFunction");
	return fn;
}

static void launch(CUfunction fn)
{
	need(cu.cuLaunchKernel(fn, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
}

static void query(unsigned number, CUfunction scan, CUfunction join)
{
	char name[8];
	uint64_t id;

	snprintf(name, sizeof(name), "q%u", number);
	id = start_query(name);
	push_build();
	for (unsigned i = 0; i < number; i++)
		launch(scan);
	pop_build();
	launch(join);
	need(cu.cuCtxSynchronize(), "cuCtxSynchronize");
	end_query(id);
}

int main(void)
{
	CUfunction scan, join;
	CUcontext context;
	CUmodule module;

	cu_load(&cu);
	need(cu.cuInit(0), "cuInit");
	need(cu.cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
	need(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	begin();
	scan = kernel(module, "scan");
	join = kernel(module, "join");
	for (unsigned i = 1; i <= 3; i++)
		query(i, scan, join);
	launch(join);
	need(cu.cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
