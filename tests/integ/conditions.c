/*
 * conditions.c - what a driver answers about conditional nodes of graphs, as lines of "case step answer", which conditions.expected
 * has, of an H200.
 *
 *   conditions            all cases, each in a process of its own
 *   conditions CASE       this one, here
 *   conditions --list     their names
 *
 * An answer is a CUresult, a count, or the order in which kernels have left their marks.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/integ/answers.h"
#include "tests/unit/tenant.h"

#define N_LOG 256

/*
 * mark: append id to the log: a count, then as many ids. set: the condition becomes value. down: a word is one less, and the
 * condition; the id is left, too.
 */
static const char ptx[] =
	".version 8.3\n.target sm_75\n.address_size 64\n"
	".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
	".visible .entry mark(.param .u64 log, .param .u32 id)\n{\n"
	"\t.reg .b32 %id, %at;\n\t.reg .b64 %log, %to;\n"
	"\tld.param.u64 %log, [log];\n\tld.param.u32 %id, [id];\n"
	"\tatom.global.add.u32 %at, [%log], 1;\n\tmul.wide.u32 %to, %at, 4;\n"
	"\tadd.u64 %to, %to, %log;\n\tst.global.u32 [%to+4], %id;\n\tret;\n}\n"
	".visible .entry set(.param .u64 handle, .param .u32 value)\n{\n"
	"\t.reg .b64 %h;\n\t.reg .b32 %v;\n\t.param .b64 a;\n\t.param .b32 b;\n"
	"\tld.param.u64 %h, [handle];\n\tld.param.u32 %v, [value];\n"
	"\tst.param.b64 [a], %h;\n\tst.param.b32 [b], %v;\n"
	"\tcall.uni cudaGraphSetConditional, (a, b);\n\tret;\n}\n"
	".visible .entry down(.param .u64 handle, .param .u64 word)\n{\n"
	"\t.reg .b64 %h, %w;\n\t.reg .b32 %v;\n\t.param .b64 a;\n\t.param .b32 b;\n"
	"\tld.param.u64 %h, [handle];\n\tld.param.u64 %w, [word];\n"
	"\tld.global.u32 %v, [%w];\n\tsub.u32 %v, %v, 1;\n\tst.global.u32 [%w], %v;\n"
	"\tst.param.b64 [a], %h;\n\tst.param.b32 [b], %v;\n"
	"\tcall.uni cudaGraphSetConditional, (a, b);\n\tret;\n}\n";

static struct cu cu;
static CUcontext ctx;
static CUmodule module;
static CUfunction mark, set, down;
static CUdeviceptr device_log, words;
static CUstream stream;

static void say(const char *step, long answer)
{
	printf("%s %s %ld\n", running, step, answer);
}

static void say_log(const char *step)
{
	uint32_t log[N_LOG];

	must(cu.cuStreamSynchronize(stream));
	must(cu.cuMemcpyDtoH_v2(log, device_log, sizeof(log)));
	printf("%s %s", running, step);
	for (uint32_t i = 0; i < log[0] && i < N_LOG - 1; i++)
		printf(" %u", log[i + 1]);
	printf("\n");
	must(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	must(cu.cuCtxSynchronize());
}

static void set_up(void)
{
	cu_load(&cu);
	must(cu.cuInit(0));
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuModuleLoadData(&module, ptx));
	must(cu.cuModuleGetFunction(&mark, module, "mark"));
	must(cu.cuModuleGetFunction(&set, module, "set"));
	must(cu.cuModuleGetFunction(&down, module, "down"));
	must(cu.cuMemAlloc_v2(&device_log, 4 * N_LOG));
	must(cu.cuMemAlloc_v2(&words, 4 * N_LOG));
	must(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	must(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	must(cu.cuCtxSynchronize());
}

/* ---- tools ---- */

static CUgraph graph(void)
{
	CUgraph g;

	must(cu.cuGraphCreate(&g, 0));
	return g;
}

static CUgraphConditionalHandle handle_in(CUgraph g, unsigned initial, unsigned flags)
{
	CUgraphConditionalHandle h;

	must(cu.cuGraphConditionalHandleCreate(&h, g, ctx, initial, flags));
	return h;
}

static CUgraphNode kernel(CUgraph g, CUgraphNode after, CUfunction f, void **params)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	CUgraphNode node;

	p.kernel = (CUDA_KERNEL_NODE_PARAMS){.func = f,
					     .gridDimX = 1,
					     .gridDimY = 1,
					     .gridDimZ = 1,
					     .blockDimX = 1,
					     .blockDimY = 1,
					     .blockDimZ = 1,
					     .kernelParams = params};
	must(cu.cuGraphAddNode_v2(&node, g, after ? &after : NULL, NULL, !!after, &p));
	return node;
}

static CUgraphNode mark_in(CUgraph g, CUgraphNode after, uint32_t id)
{
	void *params[] = {&device_log, &id};

	return kernel(g, after, mark, params);
}

static CUgraphNode set_in(CUgraph g, CUgraphNode after, CUgraphConditionalHandle h, uint32_t value)
{
	void *params[] = {&h, &value};

	return kernel(g, after, set, params);
}

static CUgraphNode down_in(CUgraph g, CUgraphNode after, CUgraphConditionalHandle h, unsigned word)
{
	CUdeviceptr at = words + 4 * word;
	void *params[] = {&h, &at};

	return kernel(g, after, down, params);
}

struct choice {
	CUgraphConditionalHandle h;
	CUgraphConditionalNodeType type;
	unsigned size;
};

static CUresult try_choice(CUgraph g, CUgraphNode after, const struct choice *c, CUgraph *bodies,
			   CUgraphNode *node)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUresult result;

	p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
		.handle = c->h, .type = c->type, .size = c->size, .ctx = ctx};
	result = cu.cuGraphAddNode_v2(node, g, after ? &after : NULL, NULL, !!after, &p);
	for (unsigned i = 0; !result && i < c->size; i++)
		bodies[i] = p.conditional.phGraph_out[i];
	return result;
}

static CUgraphNode choice(CUgraph g, CUgraphNode after, CUgraphConditionalHandle h,
			  CUgraphConditionalNodeType type, unsigned size, CUgraph *bodies)
{
	const struct choice c = {h, type, size};
	CUgraphNode node;

	must(try_choice(g, after, &c, bodies, &node));
	return node;
}

static CUgraphExec instantiate(CUgraph g)
{
	CUgraphExec x;

	must(cu.cuGraphInstantiateWithFlags(&x, g, 0));
	return x;
}

static void run(const char *step, CUgraphExec x)
{
	CUresult result = cu.cuGraphLaunch(x, stream);

	if (result)
		say(step, result);
	say_log(step);
}

static void put(unsigned word, uint32_t value)
{
	must(cu.cuMemsetD32_v2(words + 4 * word, value, 1));
	must(cu.cuCtxSynchronize());
}

/* ---- cases ---- */

static void case_handles(void)
{
	CUgraph g = graph();
	CUgraphConditionalHandle h, other;

	say("flag", cu.cuGraphConditionalHandleCreate(&h, g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	say("none", cu.cuGraphConditionalHandleCreate(&other, g, ctx, 1, 0));
	say("differ", h != other);
	say("current", cu.cuGraphConditionalHandleCreate(&h, g, NULL, 1, 0));
	say("flags", cu.cuGraphConditionalHandleCreate(&h, g, ctx, 1, 2));
	say("nowhere", cu.cuGraphConditionalHandleCreate(NULL, g, ctx, 1, 0));
	say("no-graph", cu.cuGraphConditionalHandleCreate(&h, NULL, ctx, 1, 0));
}

static void case_params(void)
{
	static const struct {
		const char *name;
		CUgraphConditionalNodeType type;
		unsigned size;
	} rows[] = {
		{"if-0", CU_GRAPH_COND_TYPE_IF, 0},
		{"if-1", CU_GRAPH_COND_TYPE_IF, 1},
		{"if-2", CU_GRAPH_COND_TYPE_IF, 2},
		{"if-3", CU_GRAPH_COND_TYPE_IF, 3},
		{"while-0", CU_GRAPH_COND_TYPE_WHILE, 0},
		{"while-1", CU_GRAPH_COND_TYPE_WHILE, 1},
		{"while-2", CU_GRAPH_COND_TYPE_WHILE, 2},
		{"switch-0", CU_GRAPH_COND_TYPE_SWITCH, 0},
		{"switch-1", CU_GRAPH_COND_TYPE_SWITCH, 1},
		{"switch-5", CU_GRAPH_COND_TYPE_SWITCH, 5},
		{"other", (CUgraphConditionalNodeType)3, 1},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CUgraph g = graph(), bodies[8];
		const struct choice c = {handle_in(g, 1, 1), rows[i].type, rows[i].size};
		CUgraphNode node;

		say(rows[i].name, try_choice(g, NULL, &c, bodies, &node));
	}
}

static void case_nodes(void)
{
	CUgraph g = graph(), body, got;
	CUgraphNode node = choice(g, NULL, handle_in(g, 1, 1), CU_GRAPH_COND_TYPE_IF, 1, &body);
	CUgraphNodeType type;
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	size_t n = 99;

	say("type", cu.cuGraphNodeGetType(node, &type));
	say("which", (long)type);
	say("child", cu.cuGraphChildGraphNodeGetGraph(node, &got));
	mark_in(body, mark_in(body, NULL, 1), 2);
	say("count", cu.cuGraphGetNodes(body, NULL, &n));
	say("n", (long)n);
	say("count", cu.cuGraphGetNodes(g, NULL, &n));
	say("n", (long)n);
	say("destroy-body", cu.cuGraphDestroy(body));
	p.conditional.size = 1;
	say("set", cu.cuGraphNodeSetParams(node, &p));
	say("remove", cu.cuGraphDestroyNode(node));
	say("count", cu.cuGraphGetNodes(g, NULL, &n));
	say("n", (long)n);
	say("destroy", cu.cuGraphDestroy(g));
}

static void if_with(const char *step, unsigned initial)
{
	CUgraph g = graph(), body;
	CUgraphNode first = mark_in(g, NULL, 1);
	CUgraphNode node =
		choice(g, first, handle_in(g, initial, 1), CU_GRAPH_COND_TYPE_IF, 1, &body);
	CUgraphExec x;

	mark_in(body, mark_in(body, NULL, 2), 3);
	mark_in(g, node, 4);
	x = instantiate(g);
	run(step, x);
	run(step, x);
	say("end", cu.cuGraphExecDestroy(x));
	say("end", cu.cuGraphDestroy(g));
}

static void case_if(void)
{
	if_with("true", 1);
	if_with("false", 0);
	if_with("more", 77);
}

static void else_with(const char *step, uint32_t value)
{
	CUgraph g = graph(), bodies[2];
	CUgraphConditionalHandle h = handle_in(g, 0, 0);
	CUgraphNode node =
		choice(g, set_in(g, NULL, h, value), h, CU_GRAPH_COND_TYPE_IF, 2, bodies);

	mark_in(bodies[0], NULL, 1);
	mark_in(bodies[1], NULL, 2);
	mark_in(g, node, 3);
	run(step, instantiate(g));
}

static void case_else(void)
{
	else_with("true", 5);
	else_with("false", 0);
}

static void case_while(void)
{
	CUgraph g = graph(), body;
	CUgraphConditionalHandle h = handle_in(g, 1, 1);
	CUgraphNode node = choice(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	CUgraphExec x;

	down_in(body, mark_in(body, NULL, 7), h, 0);
	mark_in(g, node, 8);
	x = instantiate(g);
	put(0, 5);
	run("five", x);
	put(0, 1);
	run("one", x);
	put(0, 3);
	must(cu.cuGraphLaunch(x, stream));
	put(1, 0); /* on another stream, meanwhile */
	say_log("three");
}

static void case_switch(void)
{
	for (uint32_t value = 0; value < 5; value++) {
		CUgraph g = graph(), bodies[3];
		CUgraphConditionalHandle h = handle_in(g, 9, 1);
		CUgraphNode node = choice(g, set_in(g, NULL, h, value), h,
					  CU_GRAPH_COND_TYPE_SWITCH, 3, bodies);

		for (uint32_t i = 0; i < 3; i++)
			mark_in(bodies[i], NULL, 10 + i);
		mark_in(g, node, 20);
		run("case", instantiate(g));
	}
}

/* A loop, in it another one and a choice, with handles of the body and of the whole. */
static void case_nested(void)
{
	CUgraph g = graph(), outer, inner, then;
	CUgraphConditionalHandle h = handle_in(g, 1, 1), loop, sometimes;
	CUgraphNode node, last;
	CUgraphExec x;

	choice(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &outer);
	loop = handle_in(outer, 1, 1);
	sometimes = handle_in(outer, 0, 1);
	node = choice(outer, mark_in(outer, NULL, 1), loop, CU_GRAPH_COND_TYPE_WHILE, 1, &inner);
	down_in(inner, mark_in(inner, NULL, 2), loop, 1);
	last = choice(outer, node, sometimes, CU_GRAPH_COND_TYPE_IF, 1, &then);
	mark_in(then, NULL, 3);
	down_in(outer, last, h, 0);
	x = instantiate(g);
	put(0, 1);
	put(1, 3);
	run("once", x);
	put(0, 1);
	put(1, 1);
	run("again", x);
}

/* Whether the words of a body are set again each time that it runs. */
static void case_defaults(void)
{
	CUgraph g = graph(), outer, then;
	CUgraphConditionalHandle h = handle_in(g, 1, 1), inner;
	CUgraphNode node;

	choice(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &outer);
	inner = handle_in(outer, 1, 1);
	node = choice(outer, NULL, inner, CU_GRAPH_COND_TYPE_IF, 1, &then);
	set_in(then, mark_in(then, NULL, 1), inner, 0);
	down_in(outer, mark_in(outer, node, 2), h, 0);
	put(0, 3);
	run("three", instantiate(g));
}

static void do_nothing(void *data)
{
}

static void case_bodies(void)
{
	CUgraph g = graph(), body, child = graph();
	CUgraphNode node = choice(g, NULL, handle_in(g, 1, 1), CU_GRAPH_COND_TYPE_IF, 1, &body), n;
	CUDA_MEMSET_NODE_PARAMS fill = {words, 0, 42, 4, 3, 1};
	CUDA_HOST_NODE_PARAMS host = {do_nothing, NULL};
	CUevent event;
	uint32_t got[3];
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = words,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = words + 40,
			      .WidthInBytes = 12,
			      .Height = 1,
			      .Depth = 1};

	must(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	mark_in(child, mark_in(child, NULL, 5), 6);
	say("fill", cu.cuGraphAddMemsetNode(&n, body, NULL, 0, &fill, ctx));
	say("copy", cu.cuGraphAddMemcpyNode(&n, body, &n, 1, &copy, ctx));
	say("child", cu.cuGraphAddChildGraphNode(&n, body, &n, 1, child));
	say("empty", cu.cuGraphAddEmptyNode(&n, body, &n, 1));
	mark_in(body, n, 7);
	mark_in(g, node, 8);
	run("run", instantiate(g));
	must(cu.cuMemcpyDtoH_v2(got, words + 40, sizeof(got)));
	say("copied", got[0] == 42 && got[2] == 42);
	say("host", cu.cuGraphAddHostNode(&n, body, NULL, 0, &host));
	say("record", cu.cuGraphAddEventRecordNode(&n, body, NULL, 0, event));
}

static void case_order(void)
{
	CUgraph g = graph(), body;
	CUgraphConditionalHandle h = handle_in(g, 1, 1);
	CUgraphExec x;
	uint32_t id = 1;
	void *params[] = {&device_log, &id};

	choice(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	down_in(body, mark_in(body, NULL, 2), h, 0);
	x = instantiate(g);
	put(0, 2);
	must(cu.cuLaunchKernel(mark, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	must(cu.cuGraphLaunch(x, stream));
	id = 3;
	must(cu.cuLaunchKernel(mark, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	say_log("between");
}

static void case_captured(void)
{
	CUgraph g = graph(), body, got;
	CUgraphConditionalHandle h = handle_in(g, 1, 1);
	CUgraphExec x;
	CUstream s;
	uint32_t id = 4;
	void *params[] = {&device_log, &id};

	choice(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
	must(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	say("begin",
	    cu.cuStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
	say("launch", cu.cuLaunchKernel(mark, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	say("end", cu.cuStreamEndCapture(s, &got));
	say("same", got == body);
	x = instantiate(g);
	run("run", x);
}

/* The first word of a process, asked for while a stream is captured, which forbids allocations of the program's own. */
static void case_fresh(void)
{
	CUgraphConditionalHandle h;
	CUstreamCaptureStatus status;
	CUgraph g, body, got;
	const CUgraphNode *deps;
	cuuint64_t id;
	size_t n;

	must(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	must(cu.cuStreamGetCaptureInfo_v2(stream, &status, &id, &g, &deps, &n));
	say("handle", cu.cuGraphConditionalHandleCreate(&h, g, ctx, 1, 1));
	choice(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
	mark_in(body, NULL, 7);
	say("end", cu.cuStreamEndCapture(stream, &got));
	run("run", instantiate(got));
}

static void case_changed(void)
{
	CUgraph g = graph(), body;
	CUgraphNode node, inner;
	CUgraphExec x;
	uint32_t id = 9;
	void *params[] = {&device_log, &id};
	CUDA_KERNEL_NODE_PARAMS p = {.func = mark,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 1,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = params};

	node = choice(g, NULL, handle_in(g, 1, 1), CU_GRAPH_COND_TYPE_IF, 1, &body);
	inner = mark_in(body, NULL, 1);
	mark_in(g, node, 2);
	x = instantiate(g);
	run("before", x);
	say("set", cu.cuGraphExecKernelNodeSetParams_v2(x, inner, &p));
	run("after", x);
	say("off", cu.cuGraphNodeSetEnabled(x, inner, 0));
	run("without", x);
}

static CUgraph loop_of(uint32_t id, unsigned initial)
{
	CUgraph g = graph(), body;
	CUgraphConditionalHandle h = handle_in(g, initial, 1);

	choice(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	down_in(body, mark_in(body, NULL, id), h, 0);
	return g;
}

static void case_update(void)
{
	CUgraphExec x = instantiate(loop_of(1, 1));
	CUgraphExecUpdateResultInfo info = {0};
	CUgraph other = graph(), body;

	put(0, 2);
	run("before", x);
	say("update", cu.cuGraphExecUpdate_v2(x, loop_of(5, 1), &info));
	say("result", (long)info.result);
	put(0, 2);
	run("after", x);
	put(0, 1);
	run("once-more", x);
	choice(other, NULL, handle_in(other, 1, 1), CU_GRAPH_COND_TYPE_IF, 1, &body);
	down_in(body, mark_in(body, NULL, 3), handle_in(other, 1, 1), 0);
	say("other-type", cu.cuGraphExecUpdate_v2(x, other, &info));
	say("result", (long)info.result);
}

static void case_limits(void)
{
	CUgraph g = loop_of(1, 1), copy, around = graph();
	CUgraphNode node;
	CUgraphExec x, y;

	say("clone", cu.cuGraphClone(&copy, g));
	say("child", cu.cuGraphAddChildGraphNode(&node, around, NULL, 0, g));
	say("first", cu.cuGraphInstantiateWithFlags(&x, g, 0));
	say("second", cu.cuGraphInstantiateWithFlags(&y, g, 0));
}

/* ---- what only the library says ---- */

/* NVIDIA's driver follows it. */
static void case_refused(void)
{
	static const uint64_t wrong[] = {0, 8, 0x123456789abc, UINT64_MAX};
	CUgraph g = graph(), bodies[1];
	CUgraphConditionalHandle h = handle_in(g, 1, 1);
	CUgraphNode node;

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct choice c = {wrong[i], CU_GRAPH_COND_TYPE_IF, 1};

		say("no-handle", try_choice(g, NULL, &c, bodies, &node));
	}
	say("inside",
	    try_choice(g, NULL, &(struct choice){h + 1, CU_GRAPH_COND_TYPE_IF, 1}, bodies, &node));
	say("next",
	    try_choice(g, NULL, &(struct choice){h + 4, CU_GRAPH_COND_TYPE_IF, 1}, bodies, &node));
	say("handle",
	    try_choice(g, NULL, &(struct choice){h, CU_GRAPH_COND_TYPE_IF, 1}, bodies, &node));
}

/* Handles of graphs that are gone are given again: there is no end of them. */
static void case_many(void)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < 20000 && !result; i++) {
		CUgraphConditionalHandle h;
		CUgraph g = graph();

		result = cu.cuGraphConditionalHandleCreate(&h, g, ctx, 0, 0);
		must(cu.cuGraphDestroy(g));
	}
	say("handles", result);
}

static void *launch_endless(void *exec)
{
	must(cu.cuCtxSetCurrent(ctx));
	return (void *)(uintptr_t)cu.cuGraphLaunch(exec, NULL);
}

/* A launch waits in a loop without end, and another thread ends its graph. */
static void case_destroyed(void)
{
	const struct timespec a_while = {0, 200000000};
	CUgraph g = graph(), body;
	CUgraphExec x;
	pthread_t thread;
	void *result;

	choice(g, NULL, handle_in(g, 1, 1), CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	x = instantiate(g);
	if (pthread_create(&thread, NULL, launch_endless, x))
		abort();
	nanosleep(&a_while, NULL);
	say("destroy", cu.cuGraphExecDestroy(x));
	pthread_join(thread, &result);
	say("launch", (long)(uintptr_t)result);
}

/* Until somebody ends it. */
static void case_endless(void)
{
	CUgraph g = graph(), body;
	CUgraphConditionalHandle h = handle_in(g, 1, 1);

	choice(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	set_in(body, NULL, h, 1);
	printf("begins\n");
	fflush(stdout);
	say("launch", cu.cuGraphLaunch(instantiate(g), NULL));
	say("after", cu.cuCtxSynchronize());
}

static CUgraph loop_in(CUcontext its, CUgraphConditionalHandle *h)
{
	CUgraph g = graph(), body;

	must(cu.cuGraphConditionalHandleCreate(h, g, its, 1, 0));
	choice(g, NULL, *h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	return g;
}

/* The words go with the context that they were made in: a loop on one does not turn any more, and it is no handle, whatever lies there then. */
static void case_context(void)
{
	CUgraphConditionalHandle h;
	CUcontext its;
	CUgraph g, body, other = graph();
	CUgraphNode node;
	CUgraphExec x;

	must(cu.cuCtxCreate_v2(&its, 0, 0));
	g = loop_in(its, &h);
	must(cu.cuCtxSetCurrent(ctx));
	x = instantiate(g);
	say("destroy", cu.cuCtxDestroy_v2(its));
	say("launch", cu.cuGraphLaunch(x, NULL));
	say("node",
	    try_choice(other, NULL, &(struct choice){h, CU_GRAPH_COND_TYPE_IF, 1}, &body, &node));
}

/* The address of a word that is gone is given again: it is the program's now, and a launch leaves it alone. */
static void case_stale(void)
{
	enum { N = 64 };
	uint32_t *pages[N];
	CUgraphConditionalHandle h;
	CUcontext its;
	CUgraph g = graph(), body;
	CUgraphExec x;
	unsigned n = 0, n_changed = 0;

	must(cu.cuCtxCreate_v2(&its, 0, 0));
	must(cu.cuGraphConditionalHandleCreate(&h, g, its, 0x1234, 1));
	choice(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
	must(cu.cuCtxSetCurrent(ctx));
	x = instantiate(g);
	must(cu.cuCtxDestroy_v2(its));
	while (n < N && !cu.cuMemHostAlloc((void **)&pages[n], 4096, 0))
		memset(pages[n++], 0x77, 4096);
	say("none-left", n < N);
	say("launch", cu.cuGraphLaunch(x, stream));
	must(cu.cuStreamSynchronize(stream));
	for (unsigned i = 0; i < n; i++)
		n_changed += pages[i][0] != 0x77777777;
	say("changed", n_changed);
}

static CUgraph loop_once(void)
{
	CUgraph g = graph(), body;
	CUgraphConditionalHandle h = handle_in(g, 1, 1);

	choice(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	set_in(body, NULL, h, 0);
	return g;
}

/* Of graphs that are gone their words go, when others have come in their place. */
static void case_updates(void)
{
	enum { N_WARM = 100, N = 12000 };
	CUgraphExec x = instantiate(loop_once());
	CUgraphExecUpdateResultInfo info;
	size_t before = 0;

	for (unsigned i = 0; i < N_WARM + N; i++) {
		CUgraph g = loop_once();

		must(cu.cuGraphExecUpdate_v2(x, g, &info));
		must(cu.cuGraphDestroy(g));
		if (i % 10 == 0)
			must(cu.cuGraphLaunch(x, stream));
		must(cu.cuStreamSynchronize(stream));
		if (i == N_WARM)
			before = mallinfo2().uordblks;
	}
	say("kibibytes", (long)(mallinfo2().uordblks - before) / 1024 / 64 * 64);
}

static void use_context(bool outlives)
{
	CUgraphConditionalHandle h;
	CUcontext its;
	CUgraph g;

	must(cu.cuCtxCreate_v2(&its, 0, 0));
	g = loop_in(its, &h);
	if (!outlives)
		must(cu.cuGraphDestroy(g));
	must(cu.cuCtxDestroy_v2(its));
	if (outlives)
		must(cu.cuGraphDestroy(g));
}

/* Nothing is kept of contexts that are gone, and of graphs that outlive theirs. */
static void case_contexts(void)
{
	enum { N_WARM = 50, N = 500 };
	size_t before = 0;

	for (unsigned i = 0; i < N_WARM + N; i++) {
		use_context(i % 2);
		if (i == N_WARM)
			before = mallinfo2().uordblks;
	}
	say("kibibytes", (long)(mallinfo2().uordblks - before) / 1024 / 64 * 64);
}

static const struct answers_case others[] = {
	{"refused", case_refused}, {"many", case_many},	      {"destroyed", case_destroyed},
	{"endless", case_endless}, {"context", case_context}, {"stale", case_stale},
	{"updates", case_updates}, {"fresh", case_fresh},     {"contexts", case_contexts}};

static const struct answers_case cases[] = {
	{"handles", case_handles}, {"params", case_params}, {"nodes", case_nodes},
	{"if", case_if},	   {"else", case_else},	    {"while", case_while},
	{"switch", case_switch},   {"nested", case_nested}, {"defaults", case_defaults},
	{"bodies", case_bodies},   {"order", case_order},   {"captured", case_captured},
	{"changed", case_changed}, {"update", case_update}, {"limits", case_limits},
};

int main(int argc, char **argv)
{
	static const struct answers all = {.set_up = set_up,
					   .cases = cases,
					   .others = others,
					   .n_others = sizeof(others) / sizeof(others[0]),
					   .n_cases = sizeof(cases) / sizeof(cases[0])};

	return answers_main(&all, argc, argv);
}
