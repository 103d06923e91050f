/*
 * graphs.c - what a driver answers about graphs, stream capture and registered memory, as lines of "case step
 * answer". The same program runs natively on a GPU, whose answers are kept in graphs.expected, and under the library.
 *
 *   graphs             all cases, each in a process of its own, so that none is in another's context
 *   graphs CASE        this one, here
 *   graphs --list      their names
 *   graphs concurrency|refused|turn    what only the library says: branches run at once; what it does not register
 *
 * An answer is a CUresult, a count, or the order in which kernels have left their marks. Nothing that is printed
 * depends on addresses or on time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/answers.h"
#include "tests/unit/tenant.h"

#define N_LOG	   256
#define LONG_SPINS 20000
#define PAGE	   4096

/*
 * mark: after so many turns of a loop, append id to the log: a count, then as many ids. add: so much is added to a
 * word.
 */
static const char ptx[] =
	".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry mark(.param .u64 log, .param .u32 id, .param .u32 spins)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %id, %n, %at;\n\t.reg .b64 %log, %to;\n"
	"\tld.param.u64 %log, [log];\n\tld.param.u32 %id, [id];\n\tld.param.u32 %n, [spins];\n"
	"SPIN:\n\tsetp.eq.u32 %p, %n, 0;\n\t@%p bra DONE;\n\tsub.u32 %n, %n, 1;\n\tbra SPIN;\n"
	"DONE:\n\tatom.global.add.u32 %at, [%log], 1;\n\tmul.wide.u32 %to, %at, 4;\n"
	"\tadd.u64 %to, %to, %log;\n\tst.global.u32 [%to+4], %id;\n\tret;\n}\n"
	".visible .entry add(.param .u64 word, .param .u32 n)\n{\n"
	"\t.reg .b32 %n, %old;\n\t.reg .b64 %word;\n"
	"\tld.param.u64 %word, [word];\n\tld.param.u32 %n, [n];\n"
	"\tld.global.u32 %old, [%word];\n\tadd.u32 %old, %old, %n;\n"
	"\tst.global.u32 [%word], %old;\n\tret;\n}\n";

static struct cu cu;
static CUcontext ctx;
static CUmodule module;
static CUfunction mark, add;
static CUdeviceptr device_log;

static void say(const char *step, long answer)
{
	printf("%s %s %ld\n", running, step, answer);
}

/* ---- tools ---- */

static CUresult launch(CUstream s, uint32_t id, uint32_t spins)
{
	void *params[] = {&device_log, &id, &spins};

	return cu.cuLaunchKernel(mark, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

static void say_log(const char *step)
{
	uint32_t log[N_LOG];

	must(cu.cuCtxSynchronize());
	must(cu.cuMemcpyDtoH_v2(log, device_log, sizeof(log)));
	printf("%s %s", running, step);
	for (uint32_t i = 0; i < log[0] && i < N_LOG - 1; i++)
		printf(" %u", log[i + 1]);
	printf("\n");
	must(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	must(cu.cuCtxSynchronize());
}

/* Only what must be: of each pair of marks the first is before the second. */
static void say_pairs(const char *step, const uint32_t (*pairs)[2], uint32_t n)
{
	uint32_t log[N_LOG], place[16] = {0};

	must(cu.cuCtxSynchronize());
	must(cu.cuMemcpyDtoH_v2(log, device_log, sizeof(log)));
	printf("%s %s %u:", running, step, log[0]);
	for (uint32_t i = 0; i < log[0] && i < N_LOG - 1; i++)
		place[log[i + 1] % 16] = i + 1;
	for (uint32_t i = 0; i < n; i++)
		printf(" %u%s%u", pairs[i][0],
		       place[pairs[i][0]] && place[pairs[i][0]] < place[pairs[i][1]] ? "<" : "!",
		       pairs[i][1]);
	printf("\n");
	must(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	must(cu.cuCtxSynchronize());
}

#define say_order(step, ...)                                \
	say_pairs(step, (const uint32_t[][2]){__VA_ARGS__}, \
		  sizeof((const uint32_t[][2]){__VA_ARGS__}) / 8)

static CUstream stream(unsigned flags)
{
	CUstream s;

	must(cu.cuStreamCreate(&s, flags));
	return s;
}

static CUevent event(void)
{
	CUevent e;

	must(cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	return e;
}

static CUgraph graph(void)
{
	CUgraph g;

	must(cu.cuGraphCreate(&g, 0));
	return g;
}

/* A node that leaves a mark. */
struct mark_node {
	uint32_t id, spins;
	void *params[3];
	CUDA_KERNEL_NODE_PARAMS p;
};

static const CUDA_KERNEL_NODE_PARAMS *mark_params(struct mark_node *m, uint32_t id, uint32_t spins)
{
	*m = (struct mark_node){.id = id, .spins = spins};
	m->params[0] = &device_log;
	m->params[1] = &m->id;
	m->params[2] = &m->spins;
	m->p = (CUDA_KERNEL_NODE_PARAMS){.func = mark,
					 .gridDimX = 1,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 1,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = m->params};
	return &m->p;
}

static CUgraphNode mark_node(CUgraph g, uint32_t id, uint32_t spins, const CUgraphNode *deps,
			     size_t n)
{
	struct mark_node m;
	CUgraphNode node;

	must(cu.cuGraphAddKernelNode_v2(&node, g, deps, n, mark_params(&m, id, spins)));
	return node;
}

static CUgraphExec instantiate(CUgraph g)
{
	CUgraphExec x;

	must(cu.cuGraphInstantiateWithFlags(&x, g, 0));
	return x;
}

static void say_shape(const char *step, CUgraph g)
{
	size_t nodes = 0, edges = 0, roots = 0;

	must(cu.cuGraphGetNodes(g, NULL, &nodes));
	must(cu.cuGraphGetEdges_v2(g, NULL, NULL, NULL, &edges));
	must(cu.cuGraphGetRootNodes(g, NULL, &roots));
	printf("%s %s nodes %zu edges %zu roots %zu\n", running, step, nodes, edges, roots);
}

static void say_types(const char *step, CUgraph g)
{
	CUgraphNode nodes[32];
	size_t n = 32;

	must(cu.cuGraphGetNodes(g, nodes, &n));
	printf("%s %s", running, step);
	for (size_t i = 0; i < n && i < 32 && nodes[i]; i++) {
		CUgraphNodeType type;

		must(cu.cuGraphNodeGetType(nodes[i], &type));
		printf(" %d", (int)type);
	}
	printf("\n");
}

static CUstreamCaptureStatus status_of(CUstream s)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
	CUresult r = cu.cuStreamIsCapturing(s, &status);

	return r ? (CUstreamCaptureStatus)(1000 + r) : status;
}

static CUresult begin(CUstream s)
{
	return cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* How it ends, and whether there is a graph. */
static CUgraph say_end(const char *step, CUstream s)
{
	CUgraph g = (CUgraph)1;
	CUresult r = cu.cuStreamEndCapture(s, &g);

	printf("%s %s end %d graph %d\n", running, step, r, g == (CUgraph)1 ? -1 : g != NULL);
	return r ? NULL : g;
}

/* ---- graphs by hand ---- */

static void case_create(void)
{
	CUgraph g = graph(), other = graph();
	CUgraphNode a, b, c, nodes[3] = {(CUgraphNode)7, (CUgraphNode)7, (CUgraphNode)7};
	CUgraphNode pair[2];
	size_t n = 1;
	CUgraph none;

	say("flags", cu.cuGraphCreate(&none, 1));
	say("nowhere", cu.cuGraphCreate(NULL, 0));
	say("destroy-null", cu.cuGraphDestroy(NULL));
	must(cu.cuGraphAddEmptyNode(&a, g, NULL, 0));
	must(cu.cuGraphAddEmptyNode(&b, g, &a, 1));
	pair[0] = pair[1] = a;
	say("twice", cu.cuGraphAddEmptyNode(&c, g, pair, 2));
	say("deps-null", cu.cuGraphAddEmptyNode(&c, g, NULL, 1));
	say("deps-foreign", cu.cuGraphAddEmptyNode(&c, other, &a, 1));
	say("graph-null", cu.cuGraphAddEmptyNode(&c, NULL, NULL, 0));
	say_shape("after", g);
	say("few", cu.cuGraphGetNodes(g, nodes, &n));
	say("few-n", (long)n);
	say("few-first", nodes[0] == a);
	say("few-second", nodes[1] == (CUgraphNode)7);
	n = 3;
	say("many", cu.cuGraphGetNodes(g, nodes, &n));
	say("many-n", (long)n);
	say("many-rest", nodes[2] == NULL);
	say("count-null", cu.cuGraphGetNodes(g, nodes, NULL));
}

static void case_edges(void)
{
	CUgraph g = graph();
	CUgraphNode n[4], from[2], to[2];
	CUgraphExec x;
	CUgraphNode bad = NULL;
	char text[64];
	size_t k = 2;

	for (int i = 0; i < 4; i++)
		must(cu.cuGraphAddEmptyNode(&n[i], g, NULL, 0));
	from[0] = n[0], to[0] = n[1];
	say("add", cu.cuGraphAddDependencies_v2(g, from, to, NULL, 1));
	say("again", cu.cuGraphAddDependencies_v2(g, from, to, NULL, 1));
	to[0] = n[0];
	say("self", cu.cuGraphAddDependencies_v2(g, from, to, NULL, 1));
	from[0] = n[1], to[0] = n[0];
	say("cycle", cu.cuGraphAddDependencies_v2(g, from, to, NULL, 1));
	say_shape("cyclic", g);
	say("instantiate-cycle", cu.cuGraphInstantiate_v2(&x, g, &bad, text, sizeof(text)));
	say("remove", cu.cuGraphRemoveDependencies_v2(g, from, to, NULL, 1));
	say("remove-again", cu.cuGraphRemoveDependencies_v2(g, from, to, NULL, 1));
	from[0] = n[2], to[0] = n[3];
	from[1] = n[2], to[1] = n[3];
	say("pair-twice", cu.cuGraphAddDependencies_v2(g, from, to, NULL, 2));
	say_shape("after-pair", g);
	say("nothing", cu.cuGraphAddDependencies_v2(g, NULL, NULL, NULL, 0));
	say("dependencies", cu.cuGraphNodeGetDependencies_v2(n[1], from, NULL, &k));
	say("dependencies-n", (long)k);
	say("dependencies-is", from[0] == n[0]);
	k = 2;
	say("dependents", cu.cuGraphNodeGetDependentNodes_v2(n[0], to, NULL, &k));
	say("dependents-n", (long)k);
	say("destroy-node", cu.cuGraphDestroyNode(n[0]));
	say_shape("without", g);
}

static void case_nodes(void)
{
	CUgraph g = graph();
	struct mark_node m;
	CUgraphNode node;
	CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = device_log, .elementSize = 3, .width = 1, .height = 1};
	CUDA_HOST_NODE_PARAMS host = {0};
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = device_log,
			      .dstDevice = device_log + 512};
	CUDA_KERNEL_NODE_PARAMS p = *mark_params(&m, 1, 0);

	p.func = NULL;
	say("no-kernel", cu.cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p));
	p = *mark_params(&m, 1, 0);
	p.gridDimX = 0;
	say("no-grid", cu.cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p));
	p = *mark_params(&m, 1, 0);
	p.blockDimX = 2048;
	say("large-block", cu.cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p));
	p = *mark_params(&m, 1, 0);
	p.kernelParams = NULL;
	say("no-params", cu.cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p));
	say("element-3", cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, ctx));
	fill.elementSize = 4;
	say("memset", cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, ctx));
	say("memset-ctx-null", cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, NULL));
	fill.width = 0;
	say("memset-nothing", cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, ctx));
	fill.width = 1, fill.dst = 64;
	say("memset-nowhere", cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, ctx));
	say("memcpy-nothing", cu.cuGraphAddMemcpyNode(&node, g, NULL, 0, &copy, ctx));
	copy.WidthInBytes = 4, copy.Height = 1, copy.Depth = 1;
	say("memcpy", cu.cuGraphAddMemcpyNode(&node, g, NULL, 0, &copy, ctx));
	say("memcpy-ctx-null", cu.cuGraphAddMemcpyNode(&node, g, NULL, 0, &copy, NULL));
	copy.dstDevice = 64;
	say("memcpy-nowhere", cu.cuGraphAddMemcpyNode(&node, g, NULL, 0, &copy, ctx));
	say("host-null", cu.cuGraphAddHostNode(&node, g, NULL, 0, &host));
	say("event-null", cu.cuGraphAddEventRecordNode(&node, g, NULL, 0, NULL));
	say("child-null", cu.cuGraphAddChildGraphNode(&node, g, NULL, 0, NULL));
}

static void case_params(void)
{
	CUgraph g = graph();
	CUgraphNode node = mark_node(g, 3, 0, NULL, 0), empty;
	CUDA_KERNEL_NODE_PARAMS p;
	CUDA_HOST_NODE_PARAMS host;
	CUgraphExec x;
	CUstream s = stream(0);
	struct mark_node m;
	unsigned enabled = 7;

	must(cu.cuGraphAddEmptyNode(&empty, g, NULL, 0));
	must(cu.cuGraphKernelNodeGetParams_v2(node, &p));
	say("func", p.func == mark);
	say("grid", p.gridDimX);
	say("id", *(uint32_t *)p.kernelParams[1]);
	say("extra", p.extra != NULL);
	say("kind", cu.cuGraphHostNodeGetParams(node, &host));
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuGraphKernelNodeSetParams_v2(node, mark_params(&m, 4, 0)));
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuGraphExecKernelNodeSetParams_v2(x, node, mark_params(&m, 5, 0)));
	must(cu.cuGraphLaunch(x, s));
	say_log("values");
	m.p.gridDimX = 2;
	say("exec-grid", cu.cuGraphExecKernelNodeSetParams_v2(x, node, &m.p));
	must(cu.cuGraphLaunch(x, s));
	say_log("two-blocks");
	say("exec-wrong-kind", cu.cuGraphExecKernelNodeSetParams_v2(x, empty, &m.p));
	say("disable", cu.cuGraphNodeSetEnabled(x, node, 0));
	say("is", cu.cuGraphNodeGetEnabled(x, node, &enabled));
	say("enabled", enabled);
	must(cu.cuGraphLaunch(x, s));
	say_log("disabled");
	say("disable-empty", cu.cuGraphNodeSetEnabled(x, empty, 0));
	say("enable", cu.cuGraphNodeSetEnabled(x, node, 1));
	must(cu.cuGraphLaunch(x, s));
	say_log("enabled-again");
}

static void say_kernel(const char *step, CUgraphNode node, CUfunction function, CUkernel kernel)
{
	CUDA_KERNEL_NODE_PARAMS p;

	printf("%s %s: ", running, step);
	must(cu.cuGraphKernelNodeGetParams_v2(node, &p));
	printf("func %d kern %d none %d ctx %d\n", p.func == function, p.kern == kernel, !p.kern,
	       p.ctx == ctx);
}

static void say_captured(const char *step, CUfunction launched, CUfunction function,
			 CUkernel kernel)
{
	uint32_t id = 1, spins = 0;
	void *params[] = {&device_log, &id, &spins};
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUgraphNode node;
	CUgraph g;
	size_t n = 1;

	must(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	must(cu.cuLaunchKernel(launched, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	must(cu.cuStreamEndCapture(s, &g));
	must(cu.cuGraphGetNodes(g, &node, &n));
	say_kernel(step, node, function, kernel);
}

/* Of a launch by a kernel and by its function both are told. */
static void case_kernels(void)
{
	CUlibrary lib;
	CUkernel kernel;
	CUfunction function;

	must(cu.cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	must(cu.cuLibraryGetKernel(&kernel, lib, "mark"));
	must(cu.cuKernelGetFunction(&function, kernel));
	say_captured("by-kernel", (CUfunction)kernel, function, kernel);
	say_captured("by-its-function", function, function, kernel);
	say_captured("by-a-modules", mark, mark, NULL);
	must(cu.cuLibraryUnload(lib));
}

static void case_order(void)
{
	CUgraph g = graph();
	CUgraphNode a = mark_node(g, 1, LONG_SPINS, NULL, 0);
	CUgraphNode b = mark_node(g, 2, LONG_SPINS, &a, 1), c = mark_node(g, 3, 0, &a, 1);
	CUgraphNode join[2] = {b, c};
	CUgraphExec x;
	CUstream s = stream(0);

	mark_node(g, 4, 0, join, 2);
	x = instantiate(g);
	must(launch(s, 9, LONG_SPINS));
	must(cu.cuGraphLaunch(x, s));
	must(launch(s, 8, 0));
	say_order("diamond", {9, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 8});
	must(launch(NULL, 6, LONG_SPINS));
	must(cu.cuGraphLaunch(x, s));
	must(launch(NULL, 5, 0));
	say_order("legacy", {6, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5});
	must(cu.cuGraphLaunch(x, NULL));
	must(launch(s, 5, 0));
	say_order("in-legacy", {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5});
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuGraphExecDestroy(x));
	must(cu.cuGraphDestroy(g));
	say_order("destroyed", {1, 2}, {1, 3}, {2, 4}, {3, 4});
}

/* Launched again while it runs, in another stream: behind itself. */
static void case_itself(void)
{
	CUgraph g = graph();
	CUgraphNode a = mark_node(g, 1, LONG_SPINS, NULL, 0);
	CUgraphExec x;

	mark_node(g, 2, 0, &a, 1);
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, stream(CU_STREAM_NON_BLOCKING)));
	must(cu.cuGraphLaunch(x, stream(CU_STREAM_NON_BLOCKING)));
	must(cu.cuGraphLaunch(x, stream(CU_STREAM_NON_BLOCKING)));
	say_log("order");
}

/* Branches that belong together. */
static void case_branches(void)
{
	CUgraph g = graph();
	CUgraphNode a = mark_node(g, 1, LONG_SPINS, NULL, 0), b = mark_node(g, 2, 0, NULL, 0);
	CUgraphNode c = mark_node(g, 3, 0, &b, 1);

	mark_node(g, 4, 0, &a, 1);
	mark_node(g, 5, 0, &c, 1);
	must(cu.cuGraphLaunch(instantiate(g), stream(0)));
	say_order("order", {1, 4}, {2, 3}, {3, 5});
}

/* A long and a short branch, with events at their ends. */
static void add_branches(CUgraph g, CUevent ends[2])
{
	CUgraphNode long_one = mark_node(g, 1, LONG_SPINS, NULL, 0);
	CUgraphNode short_one = mark_node(g, 2, 0, NULL, 0), node;

	must(cu.cuEventCreate(&ends[0], 0));
	must(cu.cuEventCreate(&ends[1], 0));
	must(cu.cuGraphAddEventRecordNode(&node, g, &long_one, 1, ends[0]));
	must(cu.cuGraphAddEventRecordNode(&node, g, &short_one, 1, ends[1]));
}

/* Not of the driver's answers: whose branches run at once is its own affair. A long one is no obstacle to short ones. */
static void case_concurrency(void)
{
	CUgraph g = graph(), outer = graph();
	CUgraphNode node;
	CUevent ends[2];
	float ms = 0;

	add_branches(g, ends);
	must(cu.cuGraphLaunch(instantiate(g), stream(0)));
	must(cu.cuCtxSynchronize());
	must(cu.cuEventElapsedTime_v2(&ms, ends[1], ends[0]));
	say("short-is-first", ms > 0);
	must(cu.cuGraphAddChildGraphNode(&node, outer, NULL, 0, g));
	must(cu.cuGraphLaunch(instantiate(outer), stream(0)));
	must(cu.cuCtxSynchronize());
	must(cu.cuEventElapsedTime_v2(&ms, ends[1], ends[0]));
	say("in-child", ms > 0);
}

static void case_wide(void)
{
	CUgraph g = graph();
	CUgraphNode last[32];
	CUdeviceptr word;
	uint32_t sum, one = 1;
	void *params[] = {&word, &one};
	CUDA_KERNEL_NODE_PARAMS p = {.func = mark,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 1,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = params};
	CUgraphExec x;
	CUstream s = stream(0);

	must(cu.cuMemAlloc_v2(&word, 4 * 32));
	must(cu.cuMemsetD32_v2(word, 0, 32));
	p.func = add;
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 20; i++) {
			CUdeviceptr mine = word + 4 * (unsigned)lane;

			params[0] = &mine;
			must(cu.cuGraphAddKernelNode_v2(&last[lane], g, &last[lane], i > 0, &p));
		}
	mark_node(g, 1, 0, last, 32);
	x = instantiate(g);
	for (int i = 0; i < 3; i++)
		must(cu.cuGraphLaunch(x, s));
	say_log("join");
	for (unsigned lane = 0; lane < 32; lane += 31) {
		must(cu.cuMemcpyDtoH_v2(&sum, word + 4 * lane, 4));
		say("sum", sum);
	}
}

static void case_empty(void)
{
	CUgraph g = graph();
	CUstream s = stream(0);
	CUgraphExec x = instantiate(g);

	say("launch", cu.cuGraphLaunch(x, s));
	say("upload", cu.cuGraphUpload(x, s));
	say("null", cu.cuGraphLaunch(NULL, s));
	say("instantiate-null", cu.cuGraphInstantiateWithFlags(&x, NULL, 0));
	say("flags-16", cu.cuGraphInstantiateWithFlags(&x, g, 16));
	say("flags-upload", cu.cuGraphInstantiateWithFlags(&x, g, 2));
	say("flags-priority", cu.cuGraphInstantiateWithFlags(&x, g, 8));
}

static void case_child(void)
{
	CUgraph g = graph(), child = graph(), inner;
	CUgraphNode a = mark_node(g, 1, LONG_SPINS, NULL, 0), b, node;
	CUgraphExec x;
	CUstream s = stream(0);
	struct mark_node m;
	size_t n = 1;

	mark_node(child, 2, LONG_SPINS, NULL, 0);
	mark_node(child, 3, 0, NULL, 0);
	must(cu.cuGraphAddChildGraphNode(&b, g, &a, 1, child));
	mark_node(g, 4, 0, &b, 1);
	mark_node(child, 5, 0, NULL, 0); /* too late for g */
	must(cu.cuGraphChildGraphNodeGetGraph(b, &inner));
	say("own", inner != child);
	say_shape("inner", inner);
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, s));
	say_order("order", {1, 2}, {1, 3}, {2, 4}, {3, 4});
	must(cu.cuGraphGetRootNodes(inner, &node, &n));
	say("set-in-child",
	    cu.cuGraphExecKernelNodeSetParams_v2(x, node, mark_params(&m, 6, LONG_SPINS)));
	must(cu.cuGraphLaunch(x, s));
	say_order("changed", {1, 6}, {6, 4});
	say("destroy-inner", cu.cuGraphDestroy(inner));
}

static CUresult move(CUgraphNode *node, CUgraph g, const CUgraphNode *deps, size_t n, CUgraph child)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

	p.graph.graph = child;
	p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	return cu.cuGraphAddNode_v2(node, g, deps, NULL, n, &p);
}

/* Parameters stay as they were given; what is moved is the node's, under the handle that it had. */
static void case_moved(void)
{
	CUgraph g = graph(), child = graph(), other = graph(), inner;
	CUgraphNode a = mark_node(g, 1, 0, NULL, 0), b, node;
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

	mark_node(child, 2, 0, NULL, 0);
	p.graph.graph = child;
	must(cu.cuGraphAddNode_v2(&node, other, NULL, NULL, 0, &p));
	say("clone-as-given", p.graph.graph == child);
	p.graph.ownership = (CUgraphChildGraphNodeOwnership)2;
	say("no-ownership", cu.cuGraphAddNode_v2(&node, other, NULL, NULL, 0, &p));
	say("null", move(&node, g, NULL, 0, NULL));
	say("behind-another", move(&node, other, &a, 1, child));
	say("move", move(&b, g, &a, 1, child));
	must(cu.cuGraphChildGraphNodeGetGraph(b, &inner));
	say("own", inner == child);
}

/* The driver lets a graph be moved into itself, and makes nothing of it then. */
static void case_moved_on(void)
{
	CUgraph g = graph(), child = graph(), other = graph(), copy;
	CUgraphNode a = mark_node(g, 1, 0, NULL, 0), b, node;
	CUgraphExec x;
	CUstream s = stream(0);
	struct mark_node m;

	mark_node(child, 2, LONG_SPINS, NULL, 0);
	must(move(&b, g, &a, 1, child));
	mark_node(g, 4, 0, &b, 1);
	mark_node(child, 3, 0, NULL, 0); /* the node's, and in time */
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, s));
	say_order("order", {1, 2}, {1, 3}, {2, 4}, {3, 4});
	say("again", move(&node, g, NULL, 0, child));
	say("elsewhere", move(&node, other, NULL, 0, child));
	say("destroy", cu.cuGraphDestroy(child));
	must(cu.cuGraphClone(&copy, g));
	must(cu.cuGraphKernelNodeSetParams_v2(a, mark_params(&m, 7, 0)));
	must(cu.cuGraphLaunch(instantiate(copy), s));
	say_order("clone", {1, 2}, {1, 3}, {2, 4}, {3, 4});
	must(cu.cuGraphDestroyNode(b));
	must(cu.cuGraphLaunch(instantiate(g), s));
	say_log("without");
	say("gone", cu.cuGraphInstantiateWithFlags(&x, child, 0));
}

static void case_clone(void)
{
	CUgraph g = graph(), copy;
	CUgraphNode a = mark_node(g, 1, 0, NULL, 0), b = mark_node(g, 2, 0, &a, 1), found = NULL;
	struct mark_node m;

	must(cu.cuGraphClone(&copy, g));
	say_shape("shape", copy);
	say("find", cu.cuGraphNodeFindInClone(&found, b, copy));
	say("other", found != b);
	must(cu.cuGraphKernelNodeSetParams_v2(found, mark_params(&m, 7, 0)));
	say("find-itself", cu.cuGraphNodeFindInClone(&found, b, g));
	must(cu.cuGraphLaunch(instantiate(copy), stream(0)));
	say_log("copy");
	must(cu.cuGraphLaunch(instantiate(g), stream(0)));
	say_log("original");
	must(cu.cuGraphDestroyNode(b));
	say("find-gone", cu.cuGraphNodeFindInClone(&found, a, copy));
	say_shape("stays", copy);
}

static void case_update(void)
{
	CUgraph g = graph(), same = graph(), more = graph(), other = graph(), turned = graph();
	CUgraphNode a = mark_node(g, 1, 0, NULL, 0), node;
	CUgraphExecUpdateResultInfo info = {.result = (CUgraphExecUpdateResult)99};
	CUgraphExec x;
	CUstream s = stream(0);

	mark_node(g, 2, 0, &a, 1);
	x = instantiate(g);
	a = mark_node(same, 3, 0, NULL, 0);
	mark_node(same, 4, 0, &a, 1);
	say("same", cu.cuGraphExecUpdate_v2(x, same, &info));
	say("same-result", info.result);
	must(cu.cuGraphLaunch(x, s));
	say_log("same");
	a = mark_node(more, 5, 0, NULL, 0);
	a = mark_node(more, 6, 0, &a, 1);
	mark_node(more, 7, 0, &a, 1);
	say("more", cu.cuGraphExecUpdate_v2(x, more, &info));
	say("more-result", info.result);
	say("more-node", info.errorNode != NULL);
	a = mark_node(other, 5, 0, NULL, 0);
	must(cu.cuGraphAddEmptyNode(&node, other, &a, 1));
	say("other", cu.cuGraphExecUpdate_v2(x, other, &info));
	say("other-result", info.result);
	say("other-node", info.errorNode == node);
	mark_node(turned, 8, 0, NULL, 0);
	mark_node(turned, 9, 0, NULL, 0);
	say("turned", cu.cuGraphExecUpdate_v2(x, turned, &info));
	say("turned-result", info.result);
	must(cu.cuGraphLaunch(x, s));
	say_log("as-before");
}

/* A host function writes what a copy reads behind it, and another reads what a copy has written. */
static uint32_t host_words[3 * 65536];

static void write_words(void *data)
{
	for (size_t i = 0; i < 65536; i++)
		host_words[i] = (uint32_t)(i + (uintptr_t)data);
}

static void sum_words(void *data)
{
	uint64_t *sum = data;

	*sum = 0;
	for (size_t i = 0; i < 65536; i++)
		*sum += host_words[131072 + i];
}

static CUgraphNode copy_node(CUgraph g, CUgraphNode behind, CUdeviceptr device, void *host,
			     bool to_device)
{
	CUDA_MEMCPY3D c = {.WidthInBytes = 262144, .Height = 1, .Depth = 1};
	CUgraphNode node;

	c.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	c.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	c.srcHost = c.dstHost = host;
	c.srcDevice = c.dstDevice = device;
	must(cu.cuGraphAddMemcpyNode(&node, g, &behind, 1, &c, ctx));
	return node;
}

static void case_pageable(void)
{
	CUgraph g = graph();
	static uint64_t sum;
	CUDA_HOST_NODE_PARAMS host = {.fn = write_words, .userData = (void *)5};
	CUDA_MEMCPY3D c;
	CUdeviceptr device;
	CUgraphNode node;
	CUgraphExec x;
	CUstream s = stream(0);

	must(cu.cuMemAlloc_v2(&device, 262144));
	must(cu.cuGraphAddHostNode(&node, g, NULL, 0, &host));
	node = copy_node(g, node, device, host_words, true);
	node = copy_node(g, node, device, &host_words[131072], false);
	say("get", cu.cuGraphMemcpyNodeGetParams(node, &c));
	say("width", (long)c.WidthInBytes);
	host = (CUDA_HOST_NODE_PARAMS){.fn = sum_words, .userData = &sum};
	must(cu.cuGraphAddHostNode(&node, g, &node, 1, &host));
	x = instantiate(g);
	for (int i = 0; i < 3; i++) {
		must(cu.cuGraphLaunch(x, s));
		must(cu.cuStreamSynchronize(s));
		if (i) /* the driver may read pageable memory earlier, at the launch */
			say("sum", (long)sum);
		sum = 0;
	}
}

static void case_memory(void)
{
	CUgraph g = graph();
	CUDA_MEMSET_NODE_PARAMS fill = {
		.elementSize = 4, .value = 7, .width = 8, .height = 4, .pitch = 64};
	CUDA_MEMSET_NODE_PARAMS got;
	CUgraphNode node, copy;
	CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .WidthInBytes = 16,
			   .Height = 2,
			   .Depth = 2,
			   .srcPitch = 64,
			   .srcHeight = 2,
			   .dstPitch = 16,
			   .dstHeight = 2};
	uint32_t seen[64];
	CUgraphExec x;
	CUstream s = stream(0);
	long sum = 0;

	must(cu.cuMemAlloc_v2(&fill.dst, 4096));
	must(cu.cuMemsetD8_v2(fill.dst, 0, 4096));
	must(cu.cuGraphAddMemsetNode(&node, g, NULL, 0, &fill, ctx));
	c.srcDevice = fill.dst;
	c.dstDevice = fill.dst + 1024;
	must(cu.cuGraphAddMemcpyNode(&copy, g, &node, 1, &c, ctx));
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuCtxSynchronize());
	must(cu.cuMemcpyDtoH_v2(seen, fill.dst, 256));
	for (int i = 0; i < 64; i++)
		sum += seen[i];
	say("filled", sum);
	must(cu.cuMemcpyDtoH_v2(seen, fill.dst + 1024, 128));
	sum = 0;
	for (int i = 0; i < 32; i++)
		sum += seen[i];
	say("copied", sum);
	must(cu.cuGraphMemsetNodeGetParams(node, &got));
	say("pitch", (long)got.pitch);
	got.value = 9;
	say("set-value", cu.cuGraphExecMemsetNodeSetParams(x, node, &got, ctx));
	got.height = 2;
	say("set-height", cu.cuGraphExecMemsetNodeSetParams(x, node, &got, ctx));
	say("set-box", cu.cuGraphExecMemcpyNodeSetParams(x, copy, &c, ctx));
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuCtxSynchronize());
	must(cu.cuMemcpyDtoH_v2(seen, fill.dst, 4));
	say("first", seen[0]);
}

static void case_events(void)
{
	CUgraph g = graph();
	CUevent before = event(), inside = event(), got = NULL;
	CUgraphNode a, b, c;
	CUstream s = stream(CU_STREAM_NON_BLOCKING), other = stream(CU_STREAM_NON_BLOCKING);

	must(cu.cuGraphAddEventWaitNode(&a, g, NULL, 0, before));
	b = mark_node(g, 2, 0, &a, 1);
	must(cu.cuGraphAddEventRecordNode(&c, g, &b, 1, inside));
	mark_node(g, 4, LONG_SPINS, &c, 1);
	must(launch(other, 1, LONG_SPINS));
	must(cu.cuEventRecord(before, other));
	must(cu.cuGraphLaunch(instantiate(g), s));
	must(cu.cuStreamWaitEvent(other, inside, 0));
	must(launch(other, 3, 0));
	say_order("order", {1, 2}, {2, 3}, {2, 4});
	say("get", cu.cuGraphEventRecordNodeGetEvent(c, &got));
	say("is", got == inside);
	say("wrong-kind", cu.cuGraphEventWaitNodeGetEvent(c, &got));
}

static int n_destroyed;

static void count_destroyed(void *data)
{
	n_destroyed += *(int *)data;
}

static void case_user(void)
{
	static int one = 1;
	CUuserObject o;
	CUgraph g = graph();
	CUgraphExec x;

	say("flags-0", cu.cuUserObjectCreate(&o, &one, count_destroyed, 1, 0));
	must(cu.cuUserObjectCreate(&o, &one, count_destroyed, 2,
				   CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	must(cu.cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	x = instantiate(g);
	must(cu.cuUserObjectRelease(o, 1));
	must(cu.cuGraphDestroy(g));
	say("exec-holds", n_destroyed);
	must(cu.cuGraphLaunch(x, NULL));
	must(cu.cuCtxSynchronize());
	must(cu.cuGraphExecDestroy(x));
	must(cu.cuCtxSynchronize());
	for (int i = 0; i < 1000 && !n_destroyed; i++)
		usleep(1000);
	say("destroyed", n_destroyed);
}

static CUuserObject user(void)
{
	static int one = 1;
	CUuserObject o;

	n_destroyed = 0;
	must(cu.cuUserObjectCreate(&o, &one, count_destroyed, 1,
				   CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	return o;
}

static CUgraph graph_with_user(void)
{
	CUgraph g = graph();

	must(cu.cuGraphRetainUserObject(g, user(), 1, CU_GRAPH_USER_OBJECT_MOVE));
	return g;
}

/* What no launch has used is destroyed when the call that gave the last reference back returns. */
static void case_user_now(void)
{
	CUuserObject o = user();
	CUgraph g;
	CUgraphExec x;

	must(cu.cuUserObjectRelease(o, 1));
	say("released", n_destroyed);
	must(cu.cuGraphDestroy(graph_with_user()));
	say("with-graph", n_destroyed);
	g = graph();
	o = user();
	must(cu.cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	must(cu.cuGraphReleaseUserObject(g, o, 1));
	say("by-graph", n_destroyed);
	g = graph_with_user();
	x = instantiate(g);
	must(cu.cuGraphDestroy(g));
	say("exec-holds", n_destroyed);
	must(cu.cuGraphExecDestroy(x));
	say("with-exec", n_destroyed);
}

/* ---- capture ---- */

/* The array of a capture's dependencies is there when it has ended. */
static void case_told(void)
{
	const CUgraphNode *deps;
	CUstream s = stream(0);
	CUstreamCaptureStatus status;
	CUgraphNode first;
	CUgraph g;

	must(begin(s));
	must(launch(s, 1, 0));
	must(cu.cuStreamGetCaptureInfo_v2(s, &status, NULL, NULL, &deps, NULL));
	first = deps[0];
	must(cu.cuStreamEndCapture(s, &g));
	say("after-end", deps[0] == first);
	must(launch(s, 2, 0));
	must(cu.cuStreamSynchronize(s));
	say("after-launch", deps[0] == first);
}

static void case_begin(void)
{
	CUstream s = stream(0);
	CUgraph g;

	say("null", begin(NULL));
	say("legacy", begin(CU_STREAM_LEGACY));
	say("mode-3", cu.cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)3));
	say("end-none", cu.cuStreamEndCapture(s, &g));
	say("status-none", status_of(s));
	say("begin", begin(s));
	say("status", status_of(s));
	say("again", begin(s));
	say("status-after", status_of(s));
	g = say_end("empty", s);
	if (g)
		say_shape("empty", g);
	say("status-ended", status_of(s));
	say("own", begin(CU_STREAM_PER_THREAD));
	say_end("own", CU_STREAM_PER_THREAD);
	must(begin(s));
	say("end-nowhere", cu.cuStreamEndCapture(s, NULL));
	say("status-nowhere", status_of(s));
}

static void case_kinds(void)
{
	CUstream s = stream(0);
	static uint32_t words[4];
	CUdeviceptr device;
	CUgraph g;

	must(cu.cuMemAlloc_v2(&device, 256));
	must(begin(s));
	must(launch(s, 1, 0));
	must(cu.cuMemsetD32Async(device, 3, 4, s));
	must(cu.cuMemcpyHtoDAsync_v2(device + 64, words, 16, s));
	must(cu.cuMemcpyDtoHAsync_v2(words, device, 16, s));
	must(cu.cuMemcpyDtoDAsync_v2(device + 128, device, 16, s));
	must(cu.cuLaunchHostFunc(s, write_words, NULL));
	say("callback", cu.cuStreamAddCallback(s, NULL, NULL, 0));
	say("nothing-copied", cu.cuMemcpyHtoDAsync_v2(device, words, 0, s));
	say("nothing-filled", cu.cuMemsetD32Async(device, 3, 0, s));
	g = say_end("kinds", s);
	say_types("kinds", g);
	say_shape("kinds", g);
	say("not-yet", words[0]);
	must(cu.cuGraphLaunch(instantiate(g), s));
	must(cu.cuStreamSynchronize(s));
	say("filled", words[0]);
	say_log("once");
}

static void case_fork(void)
{
	CUstream s = stream(0), t = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event(), f = event();
	CUgraph g;

	must(begin(s));
	must(launch(s, 1, LONG_SPINS));
	must(cu.cuEventRecord(e, s));
	say("join", cu.cuStreamWaitEvent(t, e, 0));
	say("status", status_of(t));
	must(launch(t, 2, LONG_SPINS));
	must(launch(s, 3, 0));
	must(cu.cuEventRecord(f, t));
	must(cu.cuStreamWaitEvent(s, f, 0));
	must(launch(s, 4, 0));
	g = say_end("fork", s);
	say_shape("fork", g);
	say("status-ended", status_of(t));
	must(launch(s, 9, 0));
	say_log("nothing-before");
	must(cu.cuGraphLaunch(instantiate(g), s));
	say_order("order", {1, 2}, {1, 3}, {2, 4}, {3, 4});
	say("query-after", cu.cuEventQuery(e));
	say("wait-after", cu.cuStreamWaitEvent(s, e, 0));
}

static void case_unjoined(void)
{
	CUstream s = stream(0), t = stream(0);
	CUevent e = event();

	must(begin(s));
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(t, e, 0));
	say_end("idle", s);
	say("idle-status", status_of(t));
	must(begin(s));
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(t, e, 0));
	must(launch(t, 1, 0));
	say_end("work", s);
	say("status", status_of(s));
	say("other-status", status_of(t));
	say("other-launch", launch(t, 2, 0));
}

static void case_unmatched(void)
{
	CUstream s = stream(0), t = stream(0);
	CUevent e = event();
	CUgraph g;

	must(begin(s));
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(t, e, 0));
	say("end", cu.cuStreamEndCapture(t, &g));
	say("status", status_of(s));
	say("launch", launch(s, 1, 0));
	say_end("own", s);
}

static void case_merge(void)
{
	CUstream s = stream(0), t = stream(0);
	CUevent e = event();

	must(begin(s));
	must(begin(t));
	must(cu.cuEventRecord(e, s));
	say("wait", cu.cuStreamWaitEvent(t, e, 0));
	say("status", status_of(s));
	say("other-status", status_of(t));
	say_end("first", s);
	say_end("second", t);
}

static void case_isolation(void)
{
	CUstream s = stream(0), t = stream(CU_STREAM_NON_BLOCKING);
	CUevent never = event(), e = event();

	must(launch(t, 1, 0));
	must(cu.cuEventRecord(e, t));
	must(begin(s));
	say("never", cu.cuStreamWaitEvent(s, never, 0));
	say("never-status", status_of(s));
	say_end("never", s);
	must(begin(s));
	say("outside", cu.cuStreamWaitEvent(s, e, 0));
	say("outside-status", status_of(s));
	say("launch", launch(s, 1, 0));
	say_end("outside", s);
}

static void case_external(void)
{
	CUstream s = stream(0), t = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event(), f = event();
	CUgraph g;

	must(launch(t, 1, LONG_SPINS));
	must(cu.cuEventRecord(e, t));
	must(begin(s));
	say("wait", cu.cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
	say("record", cu.cuEventRecordWithFlags(f, s, CU_EVENT_RECORD_EXTERNAL));
	g = say_end("external", s);
	if (g)
		say_types("external", g);
	say("wait-plain", cu.cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
	say("record-plain", cu.cuEventRecordWithFlags(f, s, CU_EVENT_RECORD_EXTERNAL));
}

static void case_waits(void)
{
	CUstream s = stream(0);
	CUevent e = event();

	must(begin(s));
	say("query", cu.cuStreamQuery(s));
	say("query-status", status_of(s));
	say("launch", launch(s, 1, 0));
	say_end("query", s);
	must(begin(s));
	say("synchronize", cu.cuStreamSynchronize(s));
	say_end("synchronize", s);
	must(begin(s));
	must(cu.cuEventRecord(e, s));
	say("event-query", cu.cuEventQuery(e));
	say("event-query-status", status_of(s));
	say_end("event-query", s);
	must(begin(s));
	must(cu.cuEventRecord(e, s));
	say("event-synchronize", cu.cuEventSynchronize(e));
	say_end("event-synchronize", s);
	say("event-after", cu.cuEventQuery(e));
	say("event-record", cu.cuEventRecord(e, s));
	say("event-synchronize-after", cu.cuEventSynchronize(e));
	must(begin(s));
	say("destroy-event", cu.cuEventDestroy_v2(e));
	say_end("destroy-event", s);
}

static void case_legacy(void)
{
	static uint32_t words[4];
	CUdeviceptr device;
	CUstream s = stream(0), t = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event();

	must(cu.cuMemAlloc_v2(&device, 256));
	must(begin(s));
	say("launch", launch(NULL, 1, 0));
	say("launch-status", status_of(s));
	say_end("launch", s);
	must(begin(s));
	say("capturing", status_of(NULL));
	say("capturing-status", status_of(s));
	say("synchronize", cu.cuStreamSynchronize(NULL));
	say_end("synchronize", s);
	must(begin(s));
	say("query", cu.cuStreamQuery(NULL));
	say_end("query", s);
	must(begin(s));
	say("copy", cu.cuMemcpyHtoD_v2(device, words, 16));
	say_end("copy", s);
	must(begin(s));
	say("record", cu.cuEventRecord(e, NULL));
	say_end("record", s);
	must(begin(s));
	say("blocking", launch(stream(0), 1, 0));
	say_end("blocking", s);
	must(begin(t));
	say("non-blocking-launch", launch(NULL, 1, 0));
	say("non-blocking-copy", cu.cuMemcpyHtoD_v2(device, words, 16));
	say("non-blocking-fill", cu.cuMemsetD32_v2(device, 1, 4));
	say("non-blocking-capturing", status_of(NULL));
	say("non-blocking-synchronize", cu.cuStreamSynchronize(NULL));
	say_end("non-blocking", t);
}

/* Calls that are, or are not, for a thread that captures: each in a capture of its own. */
enum unsafe {
	ALLOC,
	FREE,
	HOST_ALLOC,
	MODULE,
	CTX_SYNCHRONIZE,
	STREAM_CREATE,
	EVENT_CREATE,
	EVENT_QUERY,
	EVENT_SYNCHRONIZE,
	STREAM_QUERY,
	STREAM_SYNCHRONIZE,
	COPY,
	MEM_INFO,
	STREAM_DESTROY,
	ALLOC_ASYNC,
	INSTANTIATE,
	REGISTER,
	N_UNSAFE
};

static const char *const unsafe_names[N_UNSAFE] = {"alloc",
						   "free",
						   "host-alloc",
						   "module",
						   "ctx-synchronize",
						   "stream-create",
						   "event-create",
						   "event-query",
						   "event-synchronize",
						   "stream-query",
						   "stream-synchronize",
						   "copy",
						   "mem-info",
						   "stream-destroy",
						   "alloc-async",
						   "instantiate",
						   "register"};

struct unsafe_things {
	CUdeviceptr to_free, device;
	CUstream other, dying;
	CUevent recorded;
	CUgraph graph;
	void *memory;
};

static CUresult do_unsafe(enum unsafe what, struct unsafe_things *t)
{
	static uint32_t words[4];
	CUdeviceptr ptr;
	CUgraphExec x;
	CUmodule mod;
	CUstream s;
	CUevent e;
	void *host;
	size_t a, b;

	switch (what) {
	case ALLOC: return cu.cuMemAlloc_v2(&ptr, 256);
	case FREE: return cu.cuMemFree_v2(t->to_free);
	case HOST_ALLOC: return cu.cuMemHostAlloc(&host, 256, 0);
	case MODULE: return cu.cuModuleLoadData(&mod, ptx);
	case CTX_SYNCHRONIZE: return cu.cuCtxSynchronize();
	case STREAM_CREATE: return cu.cuStreamCreate(&s, 0);
	case EVENT_CREATE: return cu.cuEventCreate(&e, 0);
	case EVENT_QUERY: return cu.cuEventQuery(t->recorded);
	case EVENT_SYNCHRONIZE: return cu.cuEventSynchronize(t->recorded);
	case STREAM_QUERY: return cu.cuStreamQuery(t->other);
	case STREAM_SYNCHRONIZE: return cu.cuStreamSynchronize(t->other);
	case COPY: return cu.cuMemcpyHtoD_v2(t->device, words, 16);
	case MEM_INFO: return cu.cuMemGetInfo_v2(&a, &b);
	case STREAM_DESTROY: return cu.cuStreamDestroy_v2(t->dying);
	case ALLOC_ASYNC: return cu.cuMemAllocAsync(&ptr, 256, t->other);
	case INSTANTIATE: return cu.cuGraphInstantiateWithFlags(&x, t->graph, 0);
	case REGISTER: return cu.cuMemHostRegister_v2(t->memory, PAGE, 0);
	default: return CUDA_ERROR_UNKNOWN;
	}
}

static void prepare_unsafe(struct unsafe_things *t)
{
	must(cu.cuMemAlloc_v2(&t->to_free, 256));
	must(cu.cuMemAlloc_v2(&t->device, 256));
	t->other = stream(CU_STREAM_NON_BLOCKING);
	t->dying = stream(CU_STREAM_NON_BLOCKING);
	t->recorded = event();
	t->graph = graph();
	t->memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(cu.cuEventRecord(t->recorded, t->other));
	must(cu.cuStreamSynchronize(t->other));
}

static void say_unsafe(enum unsafe what, const char *where, CUresult result, CUstream s)
{
	CUgraph g = NULL;
	CUresult end = cu.cuStreamEndCapture(s, &g);

	printf("%s %s-%s %d end %d\n", running, unsafe_names[what], where, result, end);
}

/* In the capturing thread, in each of its modes. */
static void case_unsafe(void)
{
	static const char *const modes[] = {"global", "thread", "relaxed"};

	for (int what = 0; what < N_UNSAFE; what++)
		for (int mode = 0; mode < 3; mode++) {
			struct unsafe_things t;
			CUstream s = stream(CU_STREAM_NON_BLOCKING);

			prepare_unsafe(&t);
			must(cu.cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)mode));
			say_unsafe((enum unsafe)what, modes[mode], do_unsafe((enum unsafe)what, &t),
				   s);
		}
}

struct elsewhere {
	struct unsafe_things things;
	CUstream s;
	enum unsafe what;
	CUstreamCaptureMode mode; /* of the thread */
	CUresult result;
};

static void *do_elsewhere(void *arg)
{
	struct elsewhere *e = arg;

	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuThreadExchangeStreamCaptureMode(&e->mode));
	e->result = do_unsafe(e->what, &e->things);
	return NULL;
}

/* In another thread, of its own mode, while this one captures. */
static void case_elsewhere(void)
{
	static const char *const modes[] = {"global", "thread", "relaxed"};

	for (int mode = 0; mode < 3; mode++)
		for (int its = 0; its < 3; its++) {
			struct elsewhere e = {.what = ALLOC, .mode = (CUstreamCaptureMode)its};
			char where[32];
			pthread_t thread;

			prepare_unsafe(&e.things);
			e.s = stream(CU_STREAM_NON_BLOCKING);
			must(cu.cuStreamBeginCapture_v2(e.s, (CUstreamCaptureMode)mode));
			if (pthread_create(&thread, NULL, do_elsewhere, &e))
				_exit(1);
			pthread_join(thread, NULL);
			snprintf(where, sizeof(where), "%s-in-%s", modes[mode], modes[its]);
			say_unsafe(e.what, where, e.result, e.s);
		}
}

static void *end_elsewhere(void *arg)
{
	struct elsewhere *e = arg;
	CUgraph g;

	must(cu.cuCtxSetCurrent(ctx));
	e->result = cu.cuStreamEndCapture(e->s, &g);
	return NULL;
}

static void *launch_elsewhere(void *arg)
{
	struct elsewhere *e = arg;

	must(cu.cuCtxSetCurrent(ctx));
	e->result = launch(e->s, 1, 0);
	return NULL;
}

static CUresult in_thread(void *(*body)(void *), struct elsewhere *e)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, e))
		_exit(1);
	pthread_join(thread, NULL);
	return e->result;
}

static void case_thread(void)
{
	struct elsewhere e = {.s = stream(0)};

	must(begin(e.s));
	say("launch", in_thread(launch_elsewhere, &e));
	say("end", in_thread(end_elsewhere, &e));
	say("status", status_of(e.s));
	say_end("own", e.s);
	must(cu.cuStreamBeginCapture_v2(e.s, CU_STREAM_CAPTURE_MODE_RELAXED));
	say("end-relaxed", in_thread(end_elsewhere, &e));
}

static void case_exchange(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr ptr;

	must(begin(s));
	say("exchange", cu.cuThreadExchangeStreamCaptureMode(&mode));
	say("was", mode);
	say("alloc", cu.cuMemAlloc_v2(&ptr, 256));
	say("back", cu.cuThreadExchangeStreamCaptureMode(&mode));
	say("back-was", mode);
	say_end("exchange", s);
}

static void case_destroy(void)
{
	CUstream s = stream(0), t = stream(0);
	CUevent e = event();

	must(begin(s));
	say("origin", cu.cuStreamDestroy_v2(s));
	s = stream(0);
	must(begin(s));
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(t, e, 0));
	say("joined", cu.cuStreamDestroy_v2(t));
	say("joined-status", status_of(s));
	say_end("joined", s);
}

static void case_info(void)
{
	CUstream s = stream(0);
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
	cuuint64_t id = 0, later = 0;
	CUgraph g = NULL, made;
	const CUgraphNode *deps = NULL;
	CUgraphNode node;
	size_t n = 77;

	say("none", cu.cuStreamGetCaptureInfo_v2(s, &status, &id, &g, &deps, &n));
	say("none-status", status);
	say("nowhere", cu.cuStreamGetCaptureInfo_v2(s, NULL, &id, &g, &deps, &n));
	must(begin(s));
	say("begun", cu.cuStreamGetCaptureInfo_v2(s, &status, &id, &g, &deps, &n));
	say("begun-status", status);
	say("begun-id", id != 0);
	say("begun-n", (long)n);
	must(launch(s, 1, 0));
	say("launched", cu.cuStreamGetCaptureInfo_v2(s, &status, &later, &g, &deps, &n));
	say("same-id", id == later);
	say("launched-n", (long)n);
	must(cu.cuGraphAddEmptyNode(&node, g, deps, n));
	say("update-add",
	    cu.cuStreamUpdateCaptureDependencies(s, &node, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	must(cu.cuStreamGetCaptureInfo_v2(s, &status, &later, &g, &deps, &n));
	say("added-n", (long)n);
	say("update-set",
	    cu.cuStreamUpdateCaptureDependencies(s, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	must(cu.cuStreamGetCaptureInfo_v2(s, &status, &later, &g, &deps, &n));
	say("set-n", (long)n);
	say("update-flags", cu.cuStreamUpdateCaptureDependencies(s, &node, 1, 2));
	must(launch(s, 2, 0));
	made = say_end("info", s);
	say("same-graph", made == g);
	say_shape("info", made);
	say("update-none", cu.cuStreamUpdateCaptureDependencies(s, NULL, 0, 0));
}

static void case_into(void)
{
	CUstream s = stream(0);
	CUgraph g = graph(), got;
	CUgraphNode a = mark_node(g, 1, LONG_SPINS, NULL, 0);

	say("begin",
	    cu.cuStreamBeginCaptureToGraph(s, g, &a, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	must(launch(s, 2, 0));
	got = say_end("into", s);
	say("same", got == g);
	say_shape("into", g);
	must(cu.cuGraphLaunch(instantiate(g), s));
	say_log("order");
	say("begin-null",
	    cu.cuStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void case_nested(void)
{
	CUstream s = stream(0);
	CUgraph g = graph();
	CUgraphExec x;

	mark_node(g, 2, 0, NULL, 0);
	x = instantiate(g);
	must(begin(s));
	say("launch", cu.cuGraphLaunch(x, s));
	say("launch-status", status_of(s));
	say_end("launch", s);
	must(begin(s));
	say("upload", cu.cuGraphUpload(x, s));
	say_end("upload", s);
}

/* What is set up for two streams, and what a member that is destroyed leaves behind. */
static void case_members(void)
{
	CUstream s = stream(0), t = stream(0), u = stream(0);
	CUevent e = event(), f = event();

	must(begin(s));
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(t, e, 0));
	must(launch(t, 1, 0));
	say("destroy-worker", cu.cuStreamDestroy_v2(t));
	say_end("destroy-worker", s);
	must(begin(s));
	must(cu.cuEventRecord(e, s));
	must(cu.cuStreamWaitEvent(u, e, 0));
	must(launch(u, 1, 0));
	must(cu.cuEventRecord(f, u));
	must(cu.cuEventRecord(e, u)); /* again: it stands for the later work */
	must(cu.cuStreamWaitEvent(s, f, 0));
	must(launch(s, 2, 0));
	say("member-begin", begin(u));
	say_shape("joined", say_end("joined", s));
	say("elapsed", cu.cuEventElapsedTime_v2(&(float){0}, e, f));
	say("legacy-joins", begin(s));
	must(cu.cuEventRecord(e, s));
	say("legacy-join", cu.cuStreamWaitEvent(NULL, e, 0));
	say_end("legacy-join", s);
	must(begin(s));
	say("free-async", cu.cuMemFreeAsync(0, s));
	say_end("free-async", s);
	say("kept-event", cu.cuStreamWaitEvent(u, e, 0));
}

static void case_invalid(void)
{
	CUstream s = stream(0);
	CUevent e = event();
	CUdeviceptr device;
	CUgraph g;
	struct mark_node m;

	must(cu.cuMemAlloc_v2(&device, 256));
	must(begin(s));
	mark_params(&m, 1, 0);
	say("bad-launch", cu.cuLaunchKernel(mark, 0, 1, 1, 1, 1, 1, 0, s, m.params, NULL));
	say("bad-launch-status", status_of(s));
	say("copy", cu.cuMemcpyDtoDAsync_v2(device, device + 64, 16, s));
	say("copy-status", status_of(s));
	say("sync", cu.cuStreamSynchronize(s));
	say("launch", launch(s, 1, 0));
	say("record", cu.cuEventRecord(e, s));
	say("info", cu.cuStreamUpdateCaptureDependencies(s, NULL, 0, 0));
	say("query", cu.cuStreamQuery(s));
	say("begin", begin(s));
	say_end("invalid", s);
	say("end-again", cu.cuStreamEndCapture(s, &g));
}

/* ---- registered memory ---- */

static uint8_t *pages(size_t n)
{
	uint8_t *p =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; p != MAP_FAILED && i < n * PAGE; i++)
		p[i] = (uint8_t)(i * 7 + i / PAGE);
	return p;
}

static bool is_kept(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n * PAGE; i++)
		if (p[i] != (uint8_t)(i * 7 + i / PAGE))
			return false;
	return true;
}

static void case_register(void)
{
	uint8_t *p = pages(8);
	unsigned flags = 77, type = 0;
	CUdeviceptr device = 0;
	uint32_t one = 1, word;
	void *params[] = {&device, &one};

	say("unregister-none", cu.cuMemHostUnregister(p));
	say("null", cu.cuMemHostRegister_v2(NULL, PAGE, 0));
	say("nothing", cu.cuMemHostRegister_v2(p, 0, 0));
	say("flags-16", cu.cuMemHostRegister_v2(p, PAGE, 16));
	say("register", cu.cuMemHostRegister_v2(p, 4 * PAGE, CU_MEMHOSTREGISTER_DEVICEMAP));
	say("kept", is_kept(p, 8));
	say("again", cu.cuMemHostRegister_v2(p, 4 * PAGE, 0));
	say("inside", cu.cuMemHostRegister_v2(p + PAGE, PAGE, 0));
	say("over", cu.cuMemHostRegister_v2(p + 3 * PAGE, 2 * PAGE, 0));
	say("behind", cu.cuMemHostRegister_v2(p + 4 * PAGE, PAGE, CU_MEMHOSTREGISTER_PORTABLE));
	say("flags", cu.cuMemHostGetFlags(&flags, p));
	say("flags-are", flags);
	say("flags-behind", cu.cuMemHostGetFlags(&flags, p + 4 * PAGE));
	say("flags-behind-are", flags);
	say("type",
	    cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)p));
	say("type-is", type);
	say("pointer", cu.cuMemHostGetDevicePointer_v2(&device, p + 8, 0));
	memset(p + 8, 0, 4);
	must(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	must(cu.cuCtxSynchronize());
	memcpy(&word, p + 8, 4);
	say("written", word);
	say("unregister-inside", cu.cuMemHostUnregister(p + PAGE));
	say("free", cu.cuMemFreeHost(p));
	say("unregister", cu.cuMemHostUnregister(p));
	say("unregister-again", cu.cuMemHostUnregister(p));
	memcpy(&word, p + 8, 4);
	say("stays", word);
	say("pointer-after", cu.cuMemHostGetDevicePointer_v2(&device, p, 0));
	say("unregister-behind", cu.cuMemHostUnregister(p + 4 * PAGE));
}

static void case_register_parts(void)
{
	uint8_t *p = pages(4);

	say("part", cu.cuMemHostRegister_v2(p + 100, 200, 0));
	say("same-page", cu.cuMemHostRegister_v2(p + 400, 200, 0));
	say("unregister-page", cu.cuMemHostUnregister(p));
	say("unregister", cu.cuMemHostUnregister(p + 100));
	say("unregister-second", cu.cuMemHostUnregister(p + 400));
	say("kept", is_kept(p, 4));
	say("hole",
	    cu.cuMemHostRegister_v2(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				    PAGE, 0));
	munmap(p + PAGE, PAGE);
	say("unmapped", cu.cuMemHostRegister_v2(p, 3 * PAGE, 0));
	say("read-only-flag",
	    cu.cuMemHostRegister_v2(p + 2 * PAGE, PAGE, CU_MEMHOSTREGISTER_READ_ONLY));
	say("io-flag", cu.cuMemHostRegister_v2(p + 3 * PAGE, PAGE, CU_MEMHOSTREGISTER_IOMEMORY));
}

static void case_register_copies(void)
{
	uint8_t *p = pages(64), *q = pages(64);
	CUstream s = stream(0);
	CUdeviceptr device;

	must(cu.cuMemAlloc_v2(&device, 64 * PAGE));
	must(cu.cuMemHostRegister_v2(p, 64 * PAGE, 0));
	must(cu.cuMemHostRegister_v2(q + 10, 63 * PAGE, 0));
	must(cu.cuMemcpyHtoDAsync_v2(device, p, 64 * PAGE, s));
	must(cu.cuMemsetD8Async(device + 5, 0, 1, s));
	memset(q, 1, 64 * PAGE);
	must(cu.cuMemcpyDtoHAsync_v2(q, device, 64 * PAGE,
				     s)); /* begins before what is registered */
	must(cu.cuStreamSynchronize(s));
	say("zero", q[5]);
	q[5] = p[5];
	say("copied", is_kept(q, 64));
	must(cu.cuMemHostUnregister(p));
	must(cu.cuMemHostUnregister(q + 10));
	say("still", is_kept(p, 64) && is_kept(q, 64));
}

static uint32_t n_turns;

static void write_turn(void *data)
{
	n_turns++;
	write_words((void *)(uintptr_t)n_turns);
}

/* Pageable memory is read when the copy's turn comes, which the driver does not promise: each launch has its values. */
static void case_turn(void)
{
	CUgraph g = graph();
	static uint64_t sum;
	CUDA_HOST_NODE_PARAMS write = {.fn = write_turn},
			      add_up = {.fn = sum_words, .userData = &sum};
	CUdeviceptr device;
	CUgraphNode node;
	CUgraphExec x;

	must(cu.cuMemAlloc_v2(&device, 262144));
	must(cu.cuGraphAddHostNode(&node, g, NULL, 0, &write));
	node = copy_node(g, node, device, host_words, true);
	node = copy_node(g, node, device, &host_words[131072], false);
	must(cu.cuGraphAddHostNode(&node, g, &node, 1, &add_up));
	x = instantiate(g);
	for (uint32_t i = 1; i <= 3; i++) {
		must(cu.cuGraphLaunch(x, NULL));
		must(cu.cuCtxSynchronize());
		say("sum", (long)(sum - 65536ull * 65535 / 2) / 65536);
	}
}

static bool is_drawn(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

/* Names of kernels and directions of copies are drawn always, which is documented; how, is not. */
static void case_drawn(void)
{
	char path[] = "/tmp/gsb-drawn-XXXXXX", text[4096] = "";
	CUdeviceptr device; /* nothing runs */
	CUgraph g = graph();
	CUgraphNode node;
	int fd = mkstemp(path);

	must(cu.cuMemAlloc_v2(&device, 262144));
	node = mark_node(g, 1, 0, NULL, 0);
	copy_node(g, node, device, host_words, true);
	say("print", cu.cuGraphDebugDotPrint(g, path, 0));
	if (read(fd, text, sizeof(text) - 1) < 0)
		_exit(1);
	say("kernel", is_drawn(text, "mark"));
	say("copy", is_drawn(text, "HtoD"));
	say("other-way", is_drawn(text, "DtoH"));
	close(fd);
	unlink(path);
}

static uint8_t variable[2 * PAGE] = {1};

static void *register_beside(void *unused)
{
	must(cu.cuCtxSetCurrent(ctx));
	say("variable-beside-a-thread", cu.cuMemHostRegister_v2(variable, sizeof(variable), 0));
	return unused;
}

/* A program's variables are private pages of its file. They are taken where nobody else may write to what lies beside them. */
static void register_variable(void)
{
	CUdeviceptr device;
	pthread_t other;

	if (pthread_create(&other, NULL, register_beside, NULL))
		_exit(1);
	pthread_join(other, NULL);
	say("variable", cu.cuMemHostRegister_v2(variable, sizeof(variable), 0));
	must(cu.cuMemHostGetDevicePointer_v2(&device, variable, 0));
	must(cu.cuMemsetD8_v2(device + PAGE, 7, PAGE));
	must(cu.cuCtxSynchronize());
	say("variable-kept", variable[0]);
	say("variable-written", variable[PAGE + 5]);
	say("variable-unregister", cu.cuMemHostUnregister(variable));
	say("variable-stays", variable[PAGE + 5]);
}

/* What the driver takes and the library does not: memory that is somebody else's, too. The stack it runs on it takes. */
static void case_refused(void)
{
	uint8_t *p = pages(4), *stack = __builtin_alloca(8 * PAGE);
	int fd = memfd_create("shared", 0);
	CUdeviceptr device;
	pid_t child;
	int status;

	if (ftruncate(fd, PAGE))
		_exit(1);
	say("shared",
	    cu.cuMemHostRegister_v2(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
				    PAGE, 0));
	say("file", cu.cuMemHostRegister_v2(
			    mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), PAGE, 0));
	register_variable();
	say("stack", cu.cuMemHostRegister_v2(stack, 4 * PAGE, 0));
	must(cu.cuMemHostRegister_v2(p, 2 * PAGE, 0));
	must(cu.cuMemHostRegister_v2(p + 2 * PAGE, 100, 0));
	must(cu.cuMemAlloc_v2(&device, 2 * PAGE));
	say("over-the-end",
	    cu.cuMemcpyDtoH_v2(p + 2 * PAGE, device, PAGE + 200)); /* more than is registered */
	memcpy(p, pages(4), 4 * PAGE);
	child = fork();
	if (!child) {
		memset(p, 0, 4 * PAGE); /* its own, as all of a child's memory */
		_exit(p[0]);
	}
	waitpid(child, &status, 0);
	say("child", status);
	say("kept", is_kept(p, 4));
	must(cu.cuDevicePrimaryCtxReset_v2(0));
	say("kept-after-reset", is_kept(p, 4));
	p[0]++;
	say("unregister-after-reset", cu.cuMemHostUnregister(p));
}

#define N_BLOCKS    6
#define BLOCK_BYTES 10000u
#define BLOCK_WORDS (BLOCK_BYTES / 4)

/* Parts of one piece of memory, each with words of its own: i at the first, and so on. As malloc's small ones lie. */
static uint32_t *block(uint32_t *heap, unsigned i)
{
	return heap + 4 + (size_t)i * (BLOCK_WORDS + 4);
}

static bool are_registered(uint32_t *heap, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (cu.cuMemHostRegister_v2(block(heap, i), BLOCK_BYTES, 0))
			return false;
	return true;
}

/* The device adds to its first word and its last one, and all of it goes there and back. */
static void use_block(uint32_t *words, CUdeviceptr there)
{
	CUdeviceptr at, last;
	uint32_t n = 1000;
	void *first_params[] = {&at, &n}, *last_params[] = {&last, &n};

	must(cu.cuMemHostGetDevicePointer_v2(&at, words, 0));
	last = at + BLOCK_BYTES - 4;
	must(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, first_params, NULL));
	must(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, last_params, NULL));
	must(cu.cuMemcpyHtoDAsync_v2(there, words, BLOCK_BYTES, NULL));
	must(cu.cuMemsetD8Async(at, 0, BLOCK_BYTES, NULL));
	must(cu.cuMemcpyDtoHAsync_v2(words, there, BLOCK_BYTES, NULL));
	must(cu.cuCtxSynchronize());
}

static unsigned n_right(uint32_t *heap, uint32_t added)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N_BLOCKS; i++) {
		const uint32_t *w = block(heap, i);
		unsigned k = 1;

		while (k < BLOCK_WORDS - 1 && w[k] == i * 10000 + k)
			k++;
		n += k == BLOCK_WORDS - 1 && w[0] == i * 10000 + added &&
		     w[k] == i * 10000 + k + added && w[k + 1] == 77;
	}
	return n;
}

/* Blocks of a heap are registered one by one, and share the pages between them. */
static void case_register_heap(void)
{
	uint32_t *heap = (uint32_t *)pages(N_BLOCKS * (BLOCK_BYTES + 16) / PAGE + 1);
	CUdeviceptr there, at;
	unsigned n = 0;

	must(cu.cuMemAlloc_v2(&there, BLOCK_BYTES));
	for (unsigned i = 0; i < N_BLOCKS; i++) {
		for (unsigned k = 0; k < BLOCK_WORDS; k++)
			block(heap, i)[k] = i * 10000 + k;
		block(heap, i)[BLOCK_WORDS] = 77; /* beside it */
	}
	say("register", are_registered(heap, N_BLOCKS));
	for (unsigned i = 0; i < N_BLOCKS; i++)
		use_block(block(heap, i), there);
	say("right", n_right(heap, 1000));
	for (unsigned i = 1; i < N_BLOCKS; i += 2)
		n += !cu.cuMemHostUnregister(block(heap, i));
	say("unregister", n);
	say("other-way", !cu.cuMemHostGetDevicePointer_v2(&at, block(heap, 1), 0));
	for (unsigned i = 1; i < N_BLOCKS; i += 2)
		n += !cu.cuMemHostRegister_v2(block(heap, i), BLOCK_BYTES, 0);
	say("again", n);
	for (unsigned i = 0; i < N_BLOCKS; i++)
		use_block(block(heap, i), there);
	say("right-again", n_right(heap, 2000));
	for (unsigned i = 0; i < N_BLOCKS; i++)
		n += !cu.cuMemHostUnregister(block(heap, i));
	say("unregister-all", n);
	say("right-behind", n_right(heap, 2000));
	for (n = 0; n < 1000 && are_registered(heap, 2);
	     n++) { /* the page between them is the first one's */
		must(cu.cuMemHostUnregister(block(heap, 0)));
		must(cu.cuMemHostUnregister(block(heap, 1)));
	}
	say("rounds", n);
	say("window-is-whole", cu.cuMemAllocHost_v2((void **)&heap, 200 * PAGE));
	memset(heap, 0, 200 * PAGE);
	must(cu.cuMemHostGetDevicePointer_v2(&at, heap, 0));
	must(cu.cuMemsetD8_v2(at, 5, 200 * PAGE));
	must(cu.cuCtxSynchronize());
	for (n = 0; n < 200 * PAGE / 4 && heap[n] == 0x05050505; n++)
		;
	say("words-of-it", n);
}

/* ---- the whole ---- */

/* ---- memory of graphs: what graphs.expected has of it is from the documentation, not from a driver ---- */

#define MEMORY_BYTES 65536

static CUDA_MEM_ALLOC_NODE_PARAMS memory_params(void)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
		.bytesize = MEMORY_BYTES,
	};
}

static CUgraphNode alloc_node(CUgraph g, CUdeviceptr *ptr)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = memory_params();
	CUgraphNode node;

	must(cu.cuGraphAddMemAllocNode(&node, g, NULL, 0, &p));
	*ptr = p.dptr;
	return node;
}

static CUgraphNode free_node(CUgraph g, CUgraphNode behind, CUdeviceptr ptr)
{
	CUgraphNode node;

	must(cu.cuGraphAddMemFreeNode(&node, g, &behind, behind != NULL, ptr));
	return node;
}

/* Behind it a word of the memory is set to 5 and gets 7 more. */
static CUgraphNode use_node(CUgraph g, CUgraphNode behind, CUdeviceptr ptr)
{
	CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = ptr, .value = 5, .elementSize = 4, .width = 1, .height = 1};
	uint32_t n = 7;
	void *params[] = {&ptr, &n};
	CUDA_KERNEL_NODE_PARAMS p = {.func = add,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 1,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = params};
	CUgraphNode node;

	must(cu.cuGraphAddMemsetNode(&node, g, &behind, 1, &fill, ctx));
	must(cu.cuGraphAddKernelNode_v2(&node, g, &node, 1, &p));
	return node;
}

/* Into the second word of the log, whose first says that there is one. */
static CUgraphNode tell_node(CUgraph g, CUgraphNode behind, CUdeviceptr ptr)
{
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = ptr,
			      .dstDevice = device_log + 4,
			      .WidthInBytes = 4,
			      .Height = 1,
			      .Depth = 1};
	CUDA_MEMSET_NODE_PARAMS one = {
		.dst = device_log, .value = 1, .elementSize = 4, .width = 1, .height = 1};
	CUgraphNode node;

	must(cu.cuGraphAddMemcpyNode(&node, g, &behind, 1, &copy, ctx));
	must(cu.cuGraphAddMemsetNode(&node, g, &node, 1, &one, ctx));
	return node;
}

static void say_word(const char *step, CUdeviceptr ptr)
{
	uint32_t word = 0;

	must(cu.cuMemcpyDtoH_v2(&word, ptr, sizeof(word)));
	say(step, word);
}

static void case_memory_nodes(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = memory_params(), got;
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUgraph g = graph(), other = graph();
	CUgraphNode node, freed;
	CUdeviceptr plain, told = 0;

	say("alloc", cu.cuGraphAddMemAllocNode(&node, g, NULL, 0, &p));
	say("address", p.dptr != 0);
	say("get", cu.cuGraphMemAllocNodeGetParams(node, &got));
	say("get-address", got.dptr == p.dptr);
	say("get-bytes", (long)got.bytesize);
	say("get-type", got.poolProps.allocType);
	say("get-access", (long)got.accessDescCount);
	say("get-null", cu.cuGraphMemAllocNodeGetParams(node, NULL));
	say("get-as-free", cu.cuGraphMemFreeNodeGetParams(node, &told));
	say("free-nothing", cu.cuGraphAddMemFreeNode(&freed, g, &node, 1, 0));
	say("free-inside", cu.cuGraphAddMemFreeNode(&freed, g, &node, 1, p.dptr + 4));
	must(cu.cuMemAlloc_v2(&plain, 4096));
	say("free-plain", cu.cuGraphAddMemFreeNode(&freed, g, &node, 1, plain));
	say("free", cu.cuGraphAddMemFreeNode(&freed, g, &node, 1, p.dptr));
	say("free-get", cu.cuGraphMemFreeNodeGetParams(freed, &told));
	say("free-address", told == p.dptr);
	say("free-again", cu.cuGraphAddMemFreeNode(&node, g, &freed, 1, p.dptr));
	say("free-elsewhere", cu.cuGraphAddMemFreeNode(&node, other, NULL, 0, p.dptr));
	say_types("types", g);
	say("null", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, NULL));
	say("graph-null", cu.cuGraphAddMemAllocNode(&node, NULL, NULL, 0, &p));
	p = memory_params();
	p.bytesize = 0;
	say("no-bytes", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, &p));
	p.bytesize = SIZE_MAX;
	say("huge", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, &p));
	p = memory_params();
	p.poolProps.allocType = (CUmemAllocationType)0;
	say("no-type", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, &p));
	p = memory_params();
	p.poolProps.location.type = (CUmemLocationType)0;
	say("no-place", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, &p));
	p = memory_params();
	p.poolProps.location.id = 99;
	say("no-device", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, &p));
	p = memory_params();
	p.accessDescs = &access;
	p.accessDescCount = 1;
	say("access", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, &p));
	must(cu.cuGraphMemAllocNodeGetParams(node, &got));
	say("access-n", (long)got.accessDescCount);
	say("access-flags", got.accessDescs->flags);
	p.accessDescCount = 99;
	say("access-many", cu.cuGraphAddMemAllocNode(&node, other, NULL, 0, &p));
	any.alloc = memory_params();
	say("any", cu.cuGraphAddNode_v2(&node, other, NULL, NULL, 0, &any));
	say("any-address", any.alloc.dptr != 0);
	say("any-set", cu.cuGraphNodeSetParams(node, &any));
	told = any.alloc.dptr;
	any = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {told}};
	say("any-free", cu.cuGraphAddNode_v2(&node, other, &node, NULL, 1, &any));
	say_types("any-types", other);
}

/* Memory of a graph goes with it where it is moved, and is used at each launch anew. */
/* The driver takes such a one, and falls over it later. */
static void case_moved_round(void)
{
	CUgraph g = graph(), child = graph();
	CUgraphNode a = mark_node(g, 1, 0, NULL, 0), node;

	mark_node(child, 2, 0, NULL, 0);
	say("itself", move(&node, g, NULL, 0, g));
	must(move(&node, g, &a, 1, child));
	say("into-itself", move(&node, child, NULL, 0, g));
	must(cu.cuGraphLaunch(instantiate(g), stream(0)));
	say_order("order", {1, 2});
}

/* What a node has, whether it came to be its by a copy or as it was: of it alone only a copy does anything. */
static void say_alone(CUgraph inner)
{
	CUgraph other = graph(), like = graph(), copy;
	CUgraphExecUpdateResultInfo info;
	CUgraphExec x;
	CUgraphNode node;

	say("alone", cu.cuGraphInstantiateWithFlags(&x, inner, 0));
	say("as-clone", cu.cuGraphAddChildGraphNode(&node, other, NULL, 0, inner));
	say("move", move(&node, other, NULL, 0, inner));
	mark_node(like, 5, 0, NULL, 0);
	x = instantiate(like);
	say("update", cu.cuGraphExecUpdate_v2(x, inner, &info));
	must(cu.cuGraphClone(&copy, inner));
	say("copy-into-other", cu.cuGraphAddChildGraphNode(&node, other, NULL, 0, copy));
	say("copy-updates", cu.cuGraphExecUpdate_v2(x, copy, &info));
}

static void case_inner(void)
{
	CUgraph g = graph(), child = graph(), other = graph(), copy, inner;
	CUgraphNode a = mark_node(g, 1, 0, NULL, 0), moved, cloned;
	CUgraphExec x;

	mark_node(child, 2, 0, NULL, 0);
	must(cu.cuGraphAddChildGraphNode(&cloned, g, &a, 1, child));
	must(move(&moved, g, &cloned, 1, child));
	say_alone(child);
	must(cu.cuGraphChildGraphNodeGetGraph(cloned, &inner));
	say_alone(inner);
	must(cu.cuGraphClone(&copy, g));
	must(cu.cuGraphNodeFindInClone(&cloned, moved, copy));
	must(cu.cuGraphChildGraphNodeGetGraph(cloned, &inner));
	say_alone(inner);
	x = instantiate(g);
	say("set-own", cu.cuGraphExecChildGraphNodeSetParams(x, moved, child));
	say("set-empty", cu.cuGraphExecChildGraphNodeSetParams(x, moved, other));
	mark_node(other, 5, 0, NULL, 0);
	say("set-like", cu.cuGraphExecChildGraphNodeSetParams(x, moved, other));
	mark_node(other, 6, 0, NULL, 0);
	say("set-more", cu.cuGraphExecChildGraphNodeSetParams(x, moved, other));
	say("set-null", cu.cuGraphExecChildGraphNodeSetParams(x, moved, NULL));
	must(cu.cuGraphLaunch(x, stream(0)));
	say_log("set");
}

static void case_moved_memory(void)
{
	CUgraph g = graph(), child = graph(), other = graph(), around = graph(), lent = graph(),
		copy;
	CUgraphNode a = mark_node(g, 1, 0, NULL, 0), b, node;
	CUgraphExec x, y;
	CUdeviceptr kept, ptr;
	CUstream s = stream(0);

	node = alloc_node(child, &ptr);
	free_node(child, use_node(child, node, ptr), ptr);
	say("as-clone", cu.cuGraphAddChildGraphNode(&node, g, NULL, 0, child));
	y = instantiate(child);
	say("while-it-runs-alone", move(&node, g, &a, 1, child));
	must(cu.cuGraphExecDestroy(y));
	must(move(&b, g, &a, 1, child));
	say("alone", cu.cuGraphInstantiateWithFlags(&y, child, 0));
	say("clone", cu.cuGraphClone(&copy, g));
	say("destroy-node", cu.cuGraphDestroyNode(b));
	say("more", cu.cuGraphAddMemFreeNode(&node, child, NULL, 0, ptr));
	say("freed-twice", cu.cuGraphAddMemFreeNode(&node, g, &b, 1, ptr));
	node = alloc_node(other, &kept);
	use_node(other, node, kept);
	must(move(&node, g, &b, 1, other));
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuStreamSynchronize(s));
	say_word("kept", kept);
	say("again-before-it-is-freed", cu.cuGraphLaunch(x, s));
	must(cu.cuMemFree_v2(kept));
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuStreamSynchronize(s));
	say_word("kept-again", kept);
	must(cu.cuMemFree_v2(kept));
	must(cu.cuGraphExecDestroy(x));
	must(cu.cuGraphDestroy(g));
	say("gone", cu.cuMemsetD32_v2(kept, 0, 1));
	node = alloc_node(lent, &ptr);
	use_node(lent, node, ptr);
	must(move(&node, around, NULL, 0, lent));
	free_node(around, node, ptr);
	x = instantiate(around);
	say("freed-around", cu.cuGraphLaunch(x, s));
	say("freed-around-again", cu.cuGraphLaunch(x, s));
	must(cu.cuStreamSynchronize(s));
}

static void case_memory_rules(void)
{
	CUgraph g = graph(), parent = graph(), copy, like;
	CUgraphExecUpdateResultInfo info;
	CUgraphNode a, b, e, node;
	CUgraphExec x, y;
	CUdeviceptr ptr;

	a = alloc_node(g, &ptr);
	must(cu.cuGraphAddEmptyNode(&e, g, &a, 1));
	b = free_node(g, e, ptr);
	say("clone", cu.cuGraphClone(&copy, g));
	say("child", cu.cuGraphAddChildGraphNode(&node, parent, NULL, 0, g));
	say("destroy-node", cu.cuGraphDestroyNode(b));
	say("destroy-other", cu.cuGraphDestroyNode(e));
	say("remove-edge", cu.cuGraphRemoveDependencies_v2(g, &a, &e, NULL, 1));
	say("add-edge", cu.cuGraphAddDependencies_v2(g, &a, &b, NULL, 1));
	say_shape("after", g);
	say("instantiate", cu.cuGraphInstantiateWithFlags(&x, g, 0));
	say("second", cu.cuGraphInstantiateWithFlags(&y, g, 0));
	say("update", cu.cuGraphExecUpdate_v2(x, g, &info));
	say("update-result", info.result);
	like = graph();
	a = alloc_node(like, &ptr);
	must(cu.cuGraphAddEmptyNode(&e, like, &a, 1));
	free_node(like, e, ptr);
	say("update-by-another", cu.cuGraphExecUpdate_v2(x, like, &info));
	say("update-by-another-result", info.result);
	must(cu.cuGraphDestroy(like));
	must(cu.cuGraphExecDestroy(x));
	say("after-destroy", cu.cuGraphInstantiateWithFlags(&y, g, 0));
	must(cu.cuGraphDestroy(g));
	say("alone", cu.cuGraphLaunch(y, NULL));
	must(cu.cuGraphAddEmptyNode(&e, parent, NULL, 0));
	g = graph();
	must(cu.cuGraphAddChildGraphNode(&node, g, NULL, 0, parent));
	must(cu.cuGraphChildGraphNodeGetGraph(node, &copy));
	{
		CUDA_MEM_ALLOC_NODE_PARAMS p = memory_params();

		say("in-child", cu.cuGraphAddMemAllocNode(&node, copy, NULL, 0, &p));
	}
	must(cu.cuCtxSynchronize());
}

/* All that an allocation is for happens in the graph. */
static void case_memory_inside(void)
{
	CUgraph g = graph();
	CUgraphNode node;
	CUgraphExec x;
	CUdeviceptr first, second;
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	node = alloc_node(g, &first);
	node = use_node(g, node, first);
	node = free_node(g, tell_node(g, node, first), first);
	{
		CUDA_MEM_ALLOC_NODE_PARAMS p = memory_params();

		must(cu.cuGraphAddMemAllocNode(&node, g, &node, 1, &p));
		second = p.dptr;
	}
	free_node(g, use_node(g, node, second), second);
	x = instantiate(g);
	say("launch", cu.cuGraphLaunch(x, s));
	say_log("word");
	say("again", cu.cuGraphLaunch(x, s));
	say("and-again", cu.cuGraphLaunch(x, s));
	say_log("word");
	say("free", cu.cuMemFree_v2(first));
	say("free-async", cu.cuMemFreeAsync(first, s));
	must(cu.cuGraphExecDestroy(x));
	must(cu.cuGraphDestroy(g));
	say("free-after", cu.cuMemFree_v2(first));
}

/* It stays after the launch, until somebody frees it. */
static void case_memory_left(void)
{
	CUgraph g = graph(), other = graph();
	CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
	CUgraphNode node;
	CUgraphExec x, y;
	CUdeviceptr ptr, base = 0;
	size_t bytes = 0;

	node = alloc_node(g, &ptr);
	use_node(g, node, ptr);
	x = instantiate(g);
	say("free-unlaunched", cu.cuMemFree_v2(ptr));
	say("free-async-unlaunched", cu.cuMemFreeAsync(ptr, s));
	say("launch", cu.cuGraphLaunch(x, s));
	say("again", cu.cuGraphLaunch(x, s));
	must(cu.cuStreamSynchronize(s));
	say_word("word", ptr);
	say("range", cu.cuMemGetAddressRange_v2(&base, &bytes, ptr + 8));
	say("range-base", base == ptr);
	say("range-bytes", (long)bytes);
	say("free", cu.cuMemFree_v2(ptr));
	say("free-again", cu.cuMemFree_v2(ptr));
	say("launch-after-free", cu.cuGraphLaunch(x, s));
	say("free-async", cu.cuMemFreeAsync(ptr, s));
	say("free-async-again", cu.cuMemFreeAsync(ptr, s));
	say("launch-elsewhere", cu.cuGraphLaunch(x, t));
	must(cu.cuStreamSynchronize(t));
	say_word("word-elsewhere", ptr);
	say("node-elsewhere", cu.cuGraphAddMemFreeNode(&node, other, NULL, 0, ptr));
	say("node-here", cu.cuGraphAddMemFreeNode(&node, g, NULL, 0, ptr));
	y = instantiate(other);
	say("free-launch", cu.cuGraphLaunch(y, t));
	say("free-launch-again", cu.cuGraphLaunch(y, t));
	say("launch-once-more", cu.cuGraphLaunch(x, t));
	must(cu.cuStreamSynchronize(t));
	must(cu.cuGraphExecDestroy(x));
	must(cu.cuGraphExecDestroy(y));
	must(cu.cuGraphDestroy(g));
	must(cu.cuGraphDestroy(other));
	say_word("word-alone", ptr);
	say("free-alone", cu.cuMemFreeAsync(ptr, t));
	must(cu.cuCtxSynchronize());
}

/* What frees it may be far behind when it is allocated again. */
static void case_memory_order(void)
{
	CUgraph g = graph();
	CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
	CUgraphNode node;
	CUgraphExec x;
	CUdeviceptr ptr;
	CUevent freed, end;
	float ms = 0;

	must(cu.cuEventCreate(&freed, 0));
	must(cu.cuEventCreate(&end, 0));
	node = alloc_node(g, &ptr);
	mark_node(g, 2, 0, &node, 1);
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, s));
	must(cu.cuCtxSynchronize());
	must(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	must(cu.cuCtxSynchronize());
	must(launch(s, 1, LONG_SPINS));
	must(cu.cuMemFreeAsync(ptr, s));
	must(cu.cuEventRecord(freed, s));
	must(cu.cuGraphLaunch(x, t));
	must(cu.cuEventRecord(end, t));
	say_order("order", {1, 2});
	must(cu.cuEventElapsedTime_v2(&ms, freed, end));
	say("freed-is-first", ms > 0);
}

static void case_memory_auto_free(void)
{
	CUgraph g = graph();
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUgraphNode node;
	CUgraphExec x;
	CUdeviceptr ptr;

	node = alloc_node(g, &ptr);
	use_node(g, node, ptr);
	must(cu.cuGraphInstantiateWithFlags(&x, g,
					    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	say("launch", cu.cuGraphLaunch(x, s));
	say("again", cu.cuGraphLaunch(x, s));
	must(cu.cuStreamSynchronize(s));
	say_word("word", ptr);
	say("free", cu.cuMemFree_v2(ptr));
	say("free-again", cu.cuMemFree_v2(ptr));
	say("once-more", cu.cuGraphLaunch(x, s));
	must(cu.cuCtxSynchronize());
}

static void case_memory_captured(void)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr plain, ptr = 0, left = 0, none = 7;
	uint32_t n = 7;
	void *params[] = {&ptr, &n};
	CUmemoryPool pool;
	CUgraphExec x;
	CUgraph g;

	must(cu.cuMemAllocAsync(&plain, 4096, s));
	must(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	must(begin(s));
	say("alloc", cu.cuMemAllocAsync(&ptr, MEMORY_BYTES, s));
	say("address", ptr != 0);
	must(cu.cuMemsetD32Async(ptr, 5, 1, s));
	must(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	must(cu.cuMemcpyDtoDAsync_v2(device_log + 4, ptr, 4, s));
	must(cu.cuMemsetD32Async(device_log, 1, 1, s));
	say("free", cu.cuMemFreeAsync(ptr, s));
	say("from-pool", cu.cuMemAllocFromPoolAsync(&left, MEMORY_BYTES, pool, s));
	must(cu.cuMemsetD32Async(left, 9, 1, s));
	say("status", status_of(s));
	g = say_end("memory", s);
	say_types("types", g);
	x = instantiate(g);
	say("launch", cu.cuGraphLaunch(x, s));
	say_log("word");
	say_word("word-left", left);
	say("free-left", cu.cuMemFreeAsync(left, s));
	say("launch-again", cu.cuGraphLaunch(x, t));
	say_log("word-again");
	must(begin(s));
	say("free-captured", cu.cuMemFreeAsync(left, s));
	say("free-captured-again", cu.cuMemFreeAsync(left, s));
	say("status-again", status_of(s));
	g = say_end("freeing", s);
	must(begin(s));
	say("free-plain", cu.cuMemFreeAsync(plain, s));
	say("status-plain", status_of(s));
	say_end("plain", s);
	must(begin(s));
	say("no-bytes", cu.cuMemAllocAsync(&none, 0, s));
	say("status-no-bytes", status_of(s));
	say_end("no-bytes", s);
	must(begin(s));
	must(cu.cuMemAllocAsync(&left, MEMORY_BYTES, s));
	say("forgotten", cu.cuStreamEndCapture(s, NULL));
	must(cu.cuMemFreeAsync(plain, s));
	must(cu.cuCtxSynchronize());
}

static void case_memory_asked(void)
{
	CUgraph g = graph();
	CUgraphExec x;
	CUdeviceptr ptr;
	CUcontext of = (CUcontext)7;
	CUmemoryPool pool = (CUmemoryPool)7;
	cuuint64_t value = 7;
	unsigned type = 0;

	alloc_node(g, &ptr);
	x = instantiate(g);
	must(cu.cuGraphLaunch(x, NULL));
	must(cu.cuCtxSynchronize());
	say("type", cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr));
	say("type-is", type);
	say("context", cu.cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, ptr));
	say("context-null", of == NULL);
	say("pool", cu.cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, ptr));
	say("pool-null", pool == NULL);
	say("used", cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
	say("used-some", value >= MEMORY_BYTES);
	must(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &value));
	say("reserved-some", value >= MEMORY_BYTES);
	must(cu.cuMemFree_v2(ptr));
	must(cu.cuGraphExecDestroy(x));
	must(cu.cuGraphDestroy(g));
	say("trim", cu.cuDeviceGraphMemTrim(0));
	must(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
	say("used-after", (long)value);
	must(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &value));
	say("reserved-after", (long)value);
	must(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
	say("high-after", value >= MEMORY_BYTES);
	value = 1;
	say("set-high-1",
	    cu.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
	value = 0;
	say("set-high",
	    cu.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
	value = 7;
	must(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
	say("high-reset", (long)value);
	value = 0;
	say("set-current",
	    cu.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
	say("no-attribute", cu.cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)9, &value));
	say("no-value",
	    cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, NULL));
	say("no-device",
	    cu.cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
	say("trim-no-device", cu.cuDeviceGraphMemTrim(99));
}

static const struct answers_case cases[] = {
	{"create", case_create},
	{"edges", case_edges},
	{"nodes", case_nodes},
	{"params", case_params},
	{"kernels", case_kernels},
	{"order", case_order},
	{"itself", case_itself},
	{"branches", case_branches},
	{"wide", case_wide},
	{"empty", case_empty},
	{"child", case_child},
	{"moved", case_moved},
	{"moved-on", case_moved_on},
	{"moved-memory", case_moved_memory},
	{"inner", case_inner},
	{"clone", case_clone},
	{"update", case_update},
	{"pageable", case_pageable},
	{"memory", case_memory},
	{"events", case_events},
	{"user", case_user},
	{"user-now", case_user_now},
	{"told", case_told},
	{"begin", case_begin},
	{"kinds", case_kinds},
	{"fork", case_fork},
	{"unjoined", case_unjoined},
	{"unmatched", case_unmatched},
	{"merge", case_merge},
	{"isolation", case_isolation},
	{"external", case_external},
	{"waits", case_waits},
	{"legacy", case_legacy},
	{"unsafe", case_unsafe},
	{"elsewhere", case_elsewhere},
	{"thread", case_thread},
	{"exchange", case_exchange},
	{"destroy", case_destroy},
	{"info", case_info},
	{"into", case_into},
	{"nested", case_nested},
	{"members", case_members},
	{"invalid", case_invalid},
	{"memory-nodes", case_memory_nodes},
	{"memory-rules", case_memory_rules},
	{"memory-inside", case_memory_inside},
	{"memory-left", case_memory_left},
	{"memory-order", case_memory_order},
	{"memory-auto-free", case_memory_auto_free},
	{"memory-captured", case_memory_captured},
	{"memory-asked", case_memory_asked},
	{"register", case_register},
	{"register-parts", case_register_parts},
	{"register-copies", case_register_copies},
};

/* Not among all, for they say what only an emulated device has to do, what the driver does wrong, or what none was asked. */
static const struct answers_case others[] = {
	{"concurrency", case_concurrency},
	{"drawn", case_drawn},
	{"moved-round", case_moved_round},
	{"refused", case_refused},
	{"turn", case_turn},
	{"register-heap", case_register_heap},
};

static void set_up(void)
{
	cu_load(&cu);
	must(cu.cuInit(0));
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuModuleLoadData(&module, ptx));
	must(cu.cuModuleGetFunction(&mark, module, "mark"));
	must(cu.cuModuleGetFunction(&add, module, "add"));
	must(cu.cuMemAlloc_v2(&device_log, 4 * N_LOG));
	must(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	must(launch(NULL, 0, 0)); /* loaded now, not inside a capture */
	must(cu.cuCtxSynchronize());
	must(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	must(cu.cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct answers all = {
		.set_up = set_up,
		.cases = cases,
		.others = others,
		.n_cases = sizeof(cases) / sizeof(cases[0]),
		.n_others = sizeof(others) / sizeof(others[0]),
	};

	return answers_main(&all, argc, argv);
}
