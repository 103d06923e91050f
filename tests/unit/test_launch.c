/*
 * test_launch.c - launches: what is refused, and what the engine is told.
 */
#include "base/compiler.h"
#include "tests/unit/interpose.h"

static CUfunction fn;

static CUresult launch(CUfunction f, unsigned gx, unsigned bx, unsigned smem, void **params)
{
	return cu.cuLaunchKernel(f, gx, 1, 1, bx, 1, 1, smem, NULL, params, NULL);
}

static void test_launch_posts_geometry_and_function(void **state)
{
	const struct gsb_rec_launch *body;
	void *params[1] = {NULL};

	assert_cu(cu.cuLaunchKernel(fn, 3, 4, 5, 32, 2, 1, 256, NULL, params, NULL));
	assert_int_equal(count(GSB_REC_LAUNCH), 1);
	body = last_body(LAUNCH, launch);
	assert_int_equal(body->function, (uint64_t)fn);
	assert_int_equal(body->grid[0], 3);
	assert_int_equal(body->grid[1], 4);
	assert_int_equal(body->grid[2], 5);
	assert_int_equal(body->block[0], 32);
	assert_int_equal(body->block[1], 2);
	assert_int_equal(body->smem_bytes, 256);
	assert_int_equal(body->flags, 0);
	assert_int_equal(body->params_bytes, 0);
}

/* (char, double, 24-byte struct, short) in natural C layout. */
static CUfunction function_with_params(void)
{
	static const struct gsb_param params[] = {{0, 1}, {8, 8}, {16, 24}, {40, 2}};
	CUfunction f;

	memcpy(engine->info.params, params, sizeof(params));
	engine->info.n_params = 4;
	engine->info.params_bytes = 42;
	f = load_function();
	engine->info.n_params = engine->info.params_bytes = 0;
	return f;
}

struct triple {
	uint64_t a, b, c;
};

static void test_launch_packs_parameters_at_their_offsets(void **state)
{
	char c = 'x';
	double d = 2.5;
	struct triple t = {1, 2, 3};
	short s = -7;
	void *params[] = {&c, &d, &t, &s};
	const uint8_t *block;

	assert_cu(launch(function_with_params(), 1, 32, 0, params));
	assert_int_equal(last_body(LAUNCH, launch)->params_bytes, 42);
	block = last(GSB_REC_LAUNCH)->body + sizeof(struct gsb_rec_launch);
	assert_int_equal(block[0], 'x');
	assert_memory_equal(block + 8, &d, 8);
	assert_memory_equal(block + 16, &t, 24);
	assert_memory_equal(block + 40, &s, 2);
}

static void test_launch_with_extra_takes_the_buffer_as_it_is(void **state)
{
	uint8_t buffer[42];
	size_t size = sizeof(buffer);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	CUfunction f = function_with_params();

	for (unsigned i = 0; i < sizeof(buffer); i++)
		buffer[i] = (uint8_t)i;
	assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	assert_memory_equal(last(GSB_REC_LAUNCH)->body + sizeof(struct gsb_rec_launch), buffer, 42);
	size = 41;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	extra[0] = (void *)0x7;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
}

/* What is set stays for the function's launches, and is nobody else's. */
static void test_launch_in_pieces_posts_what_was_set(void **state)
{
	CUfunction f = function_with_params();
	struct triple t = {1, 2, 3};
	const uint8_t *block;
	double d = 2.5;

	assert_cu(cu.cuFuncSetBlockShape(f, 8, 4, 2));
	assert_cu(cu.cuFuncSetSharedSize(f, 256));
	assert_cu(cu.cuParamSeti(f, 0, 'x'));
	assert_cu(cu.cuParamSetf(f, 4, 1.5f));
	assert_cu(cu.cuParamSetv(f, 8, &d, sizeof(d)));
	assert_cu(cu.cuParamSetv(f, 16, &t, sizeof(t)));
	assert_cu(cu.cuParamSetSize(f, 42));
	assert_cu(cu.cuFuncSetBlockShape(fn, 1, 1, 1));
	assert_cu(cu.cuLaunchGrid(f, 5, 6));
	assert_cu(cu.cuLaunch(f));
	assert_int_equal(count(GSB_REC_LAUNCH), 2);
	assert_int_equal(last_body(LAUNCH, launch)->grid[0], 1);
	assert_int_equal(last_body(LAUNCH, launch)->grid[1], 1);
	assert_cu(cu.cuLaunchGridAsync(f, 7, 9, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->grid[0], 7);
	assert_int_equal(last_body(LAUNCH, launch)->grid[1], 9);
	assert_int_equal(last_body(LAUNCH, launch)->block[0], 8);
	assert_int_equal(last_body(LAUNCH, launch)->block[1], 4);
	assert_int_equal(last_body(LAUNCH, launch)->block[2], 2);
	assert_int_equal(last_body(LAUNCH, launch)->smem_bytes, 256);
	block = last(GSB_REC_LAUNCH)->body + sizeof(struct gsb_rec_launch);
	assert_int_equal(block[0], 'x');
	assert_int_equal(block[7], 0x3f); /* of 1.5f */
	assert_memory_equal(block + 8, &d, 8);
	assert_memory_equal(block + 16, &t, 24);
}

static void test_launch_in_pieces_refuses_what_the_driver_does(void **state)
{
	CUfunction f = function_with_params();
	CUmodule module = load_module();
	CUfunction stale;
	char bytes[8] = "";

	assert_cu(cu.cuModuleGetFunction(&stale, module, FAKE_KERNEL));
	assert_cu(cu.cuFuncSetBlockShape(stale, 2, 1, 1));
	assert_cu(cu.cuModuleUnload(module));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunch(stale));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuFuncSetBlockShape(stale, 2, 1, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetBlockShape(f, 0, 1, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetBlockShape(f, 1, -1, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuParamSetSize(f, 4097));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuParamSetv(f, 4089, bytes, 8));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuParamSetv(f, -1, bytes, 8));
	assert_cu(cu.cuParamSetv(f, 4088, bytes, 8));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchGrid(f, 0, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuLaunch(f)); /* no size: no parameters */
	assert_cu(cu.cuParamSetSize(f, 42));
	assert_cu(cu.cuLaunch(f));
	assert_int_equal(count(GSB_REC_LAUNCH), 1);
}

static void test_launch_without_or_with_both_parameter_forms_is_refused(void **state)
{
	CUfunction f = function_with_params();
	void *params[4] = {0}, *extra[] = {CU_LAUNCH_PARAM_END};

	assert_cu_is(CUDA_ERROR_INVALID_VALUE, launch(f, 1, 1, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra));
	assert_int_equal(count(GSB_REC_LAUNCH), 0);
}

static void test_launch_with_bad_geometry_is_refused_with_the_drivers_code(void **state)
{
	static const unsigned bad[][6] = {
		{0, 1, 1, 1, 1, 1},	      {1, 0, 1, 1, 1, 1},     {1, 1, 0, 1, 1, 1},
		{1, 1, 1, 0, 1, 1},	      {1, 1, 1, 1, 0, 1},     {1, 1, 1, 1, 1, 0},
		{0x80000000u, 1, 1, 1, 1, 1}, {1, 65536, 1, 1, 1, 1}, {1, 1, 65536, 1, 1, 1},
		{1, 1, 1, 1025, 1, 1},	      {1, 1, 1, 1, 1025, 1},  {1, 1, 1, 1, 1, 65},
		{1, 1, 1, 1024, 2, 1},	      {1, 1, 1, 32, 32, 2},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const unsigned *g = bad[i];

		assert_cu_is(CUDA_ERROR_INVALID_VALUE,
			     cu.cuLaunchKernel(fn, g[0], g[1], g[2], g[3], g[4], g[5], 0, NULL,
					       NULL, NULL));
	}
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, launch(fn, 1, 1, 49153, NULL));
	assert_int_equal(count(GSB_REC_LAUNCH), 0);
	assert_cu(launch(fn, 0x7fffffff, 1024, 49152, NULL));
}

/* Errors as an H200's driver gives them: doc/results/2026-11-22-launch-bounds-h200.txt. */
static void test_launch_over_what_registers_allow_is_out_of_resources(void **state)
{
	int32_t *attrs = engine->info.attrs, was = attrs[CU_FUNC_ATTRIBUTE_NUM_REGS];
	CUfunction f;

	attrs[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 512;
	attrs[CU_FUNC_ATTRIBUTE_NUM_REGS] = 126;
	f = load_function();
	attrs[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
	attrs[CU_FUNC_ATTRIBUTE_NUM_REGS] = was;
	assert_cu(launch(f, 1, 512, 0, NULL));
	assert_cu_is(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, launch(f, 1, 1024, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, launch(f, 1, 1056, 0, NULL));
}

static void test_launch_over_its_bounds_is_an_invalid_value(void **state)
{
	int32_t *attrs = engine->info.attrs, was = attrs[CU_FUNC_ATTRIBUTE_NUM_REGS];
	CUfunction f;

	attrs[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 128;
	attrs[CU_FUNC_ATTRIBUTE_NUM_REGS] = 126;
	f = load_function();
	attrs[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
	attrs[CU_FUNC_ATTRIBUTE_NUM_REGS] = was;
	assert_cu(launch(f, 1, 128, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, launch(f, 1, 160, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, launch(f, 1, 1024, 0, NULL));
}

static void test_launch_of_other_than_required_block_is_refused(void **state)
{
	CUfunction f;

	engine->info.reqntid[0] = 64;
	engine->info.reqntid[1] = engine->info.reqntid[2] = 1;
	f = load_function();
	memset(engine->info.reqntid, 0, sizeof(engine->info.reqntid));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, launch(f, 1, 32, 0, NULL));
	assert_cu(launch(f, 1, 64, 0, NULL));
}

static void test_launch_of_stale_or_foreign_handles_is_invalid(void **state)
{
	CUmodule mod = load_module();
	CUfunction f;
	CUstream s;

	assert_cu(cu.cuModuleGetFunction(&f, mod, FAKE_KERNEL));
	assert_cu(cu.cuStreamCreate(&s, 0));
	assert_cu(launch(f, 1, 1, 0, NULL));
	assert_cu(cu.cuModuleUnload(mod));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, launch(f, 1, 1, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, launch(NULL, 1, 1, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, launch((CUfunction)s, 1, 1, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, launch((CUfunction)&f, 1, 1, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, (CUstream)fn, NULL, NULL));
	assert_cu(cu.cuStreamDestroy_v2(s));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	assert_int_equal(count(GSB_REC_LAUNCH), 1);
}

static void test_launch_of_another_contexts_function_is_invalid(void **state)
{
	CUcontext other;

	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, launch(fn, 1, 1, 0, NULL));
	assert_cu(cu.cuCtxDestroy_v2(other));
}

static void test_cooperative_launch_must_be_resident(void **state)
{
	/* The engine answers 2 blocks an SM, and has 4 SMs. */
	assert_cu(cu.cuLaunchCooperativeKernel(fn, 8, 1, 1, 64, 1, 1, 0, NULL, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->flags, GSB_LAUNCH_COOPERATIVE);
	assert_cu_is(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
		     cu.cuLaunchCooperativeKernel(fn, 9, 1, 1, 64, 1, 1, 0, NULL, NULL));
}

static void test_launch_ex_reads_attributes(void **state)
{
	CUlaunchAttribute attrs[2] = {
		{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY},
		{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1}};
	CUlaunchConfig config = {.gridDimX = 2,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = attrs,
				 .numAttrs = 2};

	assert_cu(cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->flags, GSB_LAUNCH_COOPERATIVE);
	attrs[0] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				       .value.clusterDim = {1, 1, 1}};
	assert_cu(cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->flags,
			 GSB_LAUNCH_COOPERATIVE | GSB_LAUNCH_CLUSTER(1, 1, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernelEx(NULL, fn, NULL, NULL));
}

/* One that could not be recorded is found before the kernel runs. */
static void test_launch_with_a_wrong_event_does_not_run(void **state)
{
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT};
	CUlaunchConfig config = {.gridDimX = 1,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = &attr,
				 .numAttrs = 1};
	CUevent event;

	assert_cu(cu.cuEventCreate(&event, 0));
	attr.value.launchCompletionEvent.event = event;
	assert_cu(cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	flush();
	assert_int_equal(count(GSB_REC_LAUNCH), 1);
	attr.value.launchCompletionEvent.flags = 2;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	attr.value.launchCompletionEvent.flags = 0;
	assert_cu(cu.cuEventDestroy_v2(event));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	attr.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
	attr.value.programmaticEvent.event = event;
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	flush();
	assert_int_equal(count(GSB_REC_LAUNCH), 1);
}

static CUlaunchConfig in_clusters(CUlaunchAttribute *attr, unsigned grid, unsigned x, unsigned y)
{
	*attr = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				    .value.clusterDim = {x, y, 1}};
	return (CUlaunchConfig){.gridDimX = grid,
				.gridDimY = 2,
				.gridDimZ = 1,
				.blockDimX = 32,
				.blockDimY = 1,
				.blockDimZ = 1,
				.attrs = attr,
				.numAttrs = 1};
}

static void test_launch_in_clusters_says_of_how_many_blocks(void **state)
{
	CUlaunchAttribute attr;
	CUlaunchConfig config = in_clusters(&attr, 8, 4, 2);

	assert_cu(cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->flags, GSB_LAUNCH_CLUSTER(4, 2, 1));
	config = in_clusters(&attr, 8, 1, 1);
	assert_cu(cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->flags, GSB_LAUNCH_CLUSTER(1, 1, 1));
}

/* The only node of a graph: a launch in clusters of 4 x 2 blocks. */
static CUgraphNode capture_in_clusters(CUstream s, CUgraph *graph)
{
	CUlaunchAttribute attr;
	CUlaunchConfig config = in_clusters(&attr, 8, 4, 2);
	CUgraphNode node;
	size_t n = 1;

	config.hStream = s;
	assert_cu(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_cu(cu.cuLaunchKernelEx(&config, fn, NULL, NULL));
	assert_cu(cu.cuStreamEndCapture(s, graph));
	assert_int_equal(count(GSB_REC_LAUNCH), 0);
	assert_cu(cu.cuGraphGetNodes(*graph, &node, &n));
	assert_int_equal(n, 1);
	return node;
}

static void expect_graph_launches_in(CUgraph graph, CUstream s, uint32_t clusters)
{
	CUgraphExec exec;

	assert_cu(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_cu(cu.cuGraphLaunch(exec, s));
	assert_int_equal(last_body(LAUNCH, launch)->flags, clusters);
	assert_cu(cu.cuGraphExecDestroy(exec));
}

static void test_launch_in_clusters_keeps_them_in_a_graph(void **state)
{
	const CUkernelNodeAttrID id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	CUkernelNodeAttrValue value;
	CUgraph graph;
	CUgraphNode node;
	CUstream s;

	assert_cu(cu.cuStreamCreate(&s, 0));
	node = capture_in_clusters(s, &graph);
	expect_graph_launches_in(graph, s, GSB_LAUNCH_CLUSTER(4, 2, 1));
	assert_cu(cu.cuGraphKernelNodeGetAttribute(node, id, &value));
	assert_int_equal(value.clusterDim.x, 4);
	value.clusterDim.x = 2;
	assert_cu(cu.cuGraphKernelNodeSetAttribute(node, id, &value));
	expect_graph_launches_in(graph, s, GSB_LAUNCH_CLUSTER(2, 2, 1));
	value.clusterDim.x = 0x100;
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE,
		     cu.cuGraphKernelNodeSetAttribute(node, id, &value));
	assert_cu(cu.cuGraphDestroy(graph));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

/* Eight blocks each GPU takes in one cluster; sixteen are for a function that says so; more are for none. */
static void test_clusters_that_a_gpu_has_not_are_refused(void **state)
{
	static const struct {
		unsigned grid, x, y;
		CUresult plain, allowed;
	} rows[] = {
		{8, 8, 1, CUDA_SUCCESS, CUDA_SUCCESS},
		{12, 8, 1, CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{16, 8, 2, CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_SUCCESS},
		{16, 16, 1, CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_SUCCESS},
		{32, 16, 2, CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{8, 0, 2, CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{8, 0x100, 2, CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE},
	};
	CUfunction f = load_function();
	CUlaunchAttribute attr;

	for (unsigned allowed = 0; allowed < 2; allowed++) {
		for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++) {
			CUlaunchConfig config =
				in_clusters(&attr, rows[i].grid, rows[i].x, rows[i].y);

			assert_cu_is(allowed ? rows[i].allowed : rows[i].plain,
				     cu.cuLaunchKernelEx(&config, f, NULL, NULL));
		}
		assert_cu(cu.cuFuncSetAttribute(
			f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	}
}

static void test_room_for_clusters_is_the_engines_answer(void **state)
{
	CUlaunchAttribute attr;
	CUlaunchConfig config = in_clusters(&attr, 8, 4, 2);
	const struct gsb_rec_occupancy *body;
	int n = 0;

	config.blockDimY = 3;
	config.sharedMemBytes = 64;
	assert_cu(cu.cuOccupancyMaxActiveClusters(&n, fn, &config));
	assert_int_equal(n, engine->occupancy);
	body = last_body(OCCUPANCY, occupancy);
	assert_int_equal(body->what, GSB_OCC_CLUSTERS);
	assert_int_equal(body->block, 96);
	assert_int_equal(body->smem, 64);
	assert_memory_equal(body->cluster, ((uint8_t[]){4, 2, 1}), 3);
	attr.value.clusterDim.x = 8;
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE,
		     cu.cuOccupancyMaxActiveClusters(&n, fn, &config));
	config.blockDimX = 1024;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuOccupancyMaxPotentialClusterSize(&n, fn, &config));
}

/* Compiled for clusters of four: each launch is in them. */
static void test_grid_that_does_not_fit_the_kernels_clusters_is_refused(void **state)
{
	CUlaunchAttribute attr;
	CUlaunchConfig config;
	CUfunction f;

	engine->info.attrs[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = 4;
	f = load_function();
	engine->info.attrs[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = 0;
	assert_cu(launch(f, 8, 32, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(f, 6, 32, 0, NULL));
	assert_cu(launch(f, 8, 32, 0, NULL));
	config = in_clusters(&attr, 8, 4, 1);
	assert_cu(cu.cuLaunchKernelEx(&config, f, NULL, NULL));
	config = in_clusters(&attr, 8, 2, 1);
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE, cu.cuLaunchKernelEx(&config, f, NULL, NULL));
}

/* Each launch is in clusters then, and the engine is told so by it. */
static void test_cluster_that_a_program_sets_is_of_each_launch(void **state)
{
	const CUfunction_attribute width = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
	CUfunction f = load_function();
	CUlaunchAttribute attr;
	CUlaunchConfig config = in_clusters(&attr, 8, 2, 1);

	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetAttribute(f, width, -1));
	assert_cu(cu.cuFuncSetAttribute(f, width, 4));
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(f, 8, 32, 0, NULL));
	for (int i = 1; i < 3; i++)
		assert_cu(cu.cuFuncSetAttribute(f, (CUfunction_attribute)(width + i), 1));
	assert_cu(launch(f, 8, 32, 0, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->flags, GSB_LAUNCH_CLUSTER(4, 1, 1));
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(f, 6, 32, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE, cu.cuLaunchKernelEx(&config, f, NULL, NULL));
	for (int i = 0; i < 3; i++) /* and that may be changed */
		assert_cu(cu.cuFuncSetAttribute(f, (CUfunction_attribute)(width + i), 0));
	assert_cu(launch(f, 6, 32, 0, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->flags, 0);
	engine->info.attrs[width] = 4;
	f = load_function();
	engine->info.attrs[width] = 0;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetAttribute(f, width, 2));
	assert_cu(cu.cuFuncSetAttribute(f, width, 4)); /* as it is */
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetAttribute(f, width, 2));
}

/* Compiled for clusters of which each launch says how large they are. */
static void test_launch_of_a_kernel_that_has_to_be_told_its_clusters(void **state)
{
	CUlaunchAttribute attr;
	CUlaunchConfig config = in_clusters(&attr, 8, 4, 1);
	CUfunction f;

	engine->info.attrs[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] = 1;
	f = load_function();
	engine->info.attrs[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] = 0;
	assert_cu_is(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(f, 8, 32, 0, NULL));
	assert_cu(cu.cuLaunchKernelEx(&config, f, NULL, NULL));
}

/* What a function is not allowed it cannot be launched with, whatever the device has. */
static void test_largest_cluster_is_the_functions(void **state)
{
	CUlaunchAttribute attr;
	CUlaunchConfig config = in_clusters(&attr, 8, 4, 2);
	CUfunction f = load_function();
	uint32_t was = engine->occupancy;
	int n = 0;

	engine->occupancy = 16;
	assert_cu(cu.cuOccupancyMaxPotentialClusterSize(&n, f, &config));
	assert_int_equal(last_body(OCCUPANCY, occupancy)->what, GSB_OCC_CLUSTER_SIZE);
	assert_int_equal(n, 8);
	assert_cu(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	assert_cu(cu.cuOccupancyMaxPotentialClusterSize(&n, f, &config));
	assert_int_equal(n, 16);
	config = in_clusters(&attr, 64, 32,
			     1); /* more than any GPU has: it is the device that says 0 */
	engine->occupancy = 0;
	assert_cu(cu.cuOccupancyMaxActiveClusters(&n, f, &config));
	assert_int_equal(n, 0);
	engine->occupancy = was;
}

static void test_launch_after_a_fault_returns_it_until_the_context_is_gone(void **state)
{
	CUcontext primary;
	CUdeviceptr ptr;

	assert_cu(cu.cuDevicePrimaryCtxRetain(&primary, 0));
	assert_cu(cu.cuCtxSetCurrent(primary));
	engine->launch_error =
		CUDA_ERROR_ILLEGAL_ADDRESS; /* the engine gives it to context 0, the primary */
	assert_cu(launch(load_function(), 1, 1, 0, NULL));
	assert_cu_is(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
	assert_cu_is(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemAlloc_v2(&ptr, 16));
	assert_cu(cu.cuCtxSetCurrent(context));
	assert_cu(cu.cuMemAlloc_v2(&ptr, 16)); /* another context goes on */
	assert_cu(cu.cuDevicePrimaryCtxReset_v2(0));
	assert_cu(cu.cuDevicePrimaryCtxRetain(&primary, 0));
	assert_cu(cu.cuCtxSetCurrent(primary));
	assert_cu(cu.cuMemAlloc_v2(&ptr, 16));
	assert_cu(cu.cuDevicePrimaryCtxRelease_v2(0));
	assert_cu(cu.cuDevicePrimaryCtxRelease_v2(0));
}

/* ---- threads and order ---- */

#define N_THREADS  4
#define N_LAUNCHES 500

static void *launch_many(void *arg)
{
	cu.cuCtxSetCurrent(context);
	for (int i = 0; i < N_LAUNCHES; i++)
		if (launch(fn, (unsigned)i + 1, 1, 0, NULL))
			return arg;
	return NULL;
}

static void test_launches_of_many_threads_all_arrive_in_each_threads_order(void **state)
{
	unsigned seen[GSB_N_THREADS] = {0};
	pthread_t threads[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, launch_many, &engine);
	for (int i = 0; i < N_THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(count(GSB_REC_LAUNCH), N_THREADS * N_LAUNCHES);
	for (unsigned i = mark; i < engine->n_logged; i++) {
		const struct fake_record *r = &engine->log[i];

		if (r->rec.type == GSB_REC_LAUNCH)
			assert_int_equal(((const struct gsb_rec_launch *)r->body)->grid[0] - 1,
					 seen[r->rec.thread]++ % N_LAUNCHES);
	}
}

static void test_launch_asks_once_whether_the_device_can_run_the_kernel(void **state)
{
	CUfunctionLoadingState loading;
	void *params[1] = {NULL};
	CUfunction f = load_function();

	engine->fail_type = GSB_REC_FUNCTION_PREPARE;
	engine->fail_result = CUDA_ERROR_NOT_SUPPORTED;
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, launch(f, 1, 32, 0, params));
	assert_int_equal(count(GSB_REC_LAUNCH), 0);
	assert_cu(cu.cuFuncIsLoaded(&loading, f));
	assert_int_equal(loading, CU_FUNCTION_LOADING_STATE_UNLOADED);
	assert_cu(cu.cuFuncLoad(f));
	assert_cu(cu.cuFuncIsLoaded(&loading, f));
	assert_int_equal(loading, CU_FUNCTION_LOADING_STATE_LOADED);
	assert_cu(launch(f, 1, 32, 0, params));
	assert_cu(launch(f, 1, 32, 0, params));
	assert_int_equal(count(GSB_REC_LAUNCH), 2);
	assert_int_equal(count(GSB_REC_FUNCTION_PREPARE), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_launch_posts_geometry_and_function, set_up),
		cmocka_unit_test_setup(test_launch_packs_parameters_at_their_offsets, set_up),
		cmocka_unit_test_setup(test_launch_with_extra_takes_the_buffer_as_it_is, set_up),
		cmocka_unit_test_setup(test_launch_in_pieces_posts_what_was_set, set_up),
		cmocka_unit_test_setup(test_launch_in_pieces_refuses_what_the_driver_does, set_up),
		cmocka_unit_test_setup(test_launch_without_or_with_both_parameter_forms_is_refused,
				       set_up),
		cmocka_unit_test_setup(
			test_launch_with_bad_geometry_is_refused_with_the_drivers_code, set_up),
		cmocka_unit_test_setup(test_launch_over_what_registers_allow_is_out_of_resources,
				       set_up),
		cmocka_unit_test_setup(test_launch_over_its_bounds_is_an_invalid_value, set_up),
		cmocka_unit_test_setup(test_launch_of_other_than_required_block_is_refused, set_up),
		cmocka_unit_test_setup(test_launch_of_stale_or_foreign_handles_is_invalid, set_up),
		cmocka_unit_test_setup(test_launch_of_another_contexts_function_is_invalid, set_up),
		cmocka_unit_test_setup(test_launch_asks_once_whether_the_device_can_run_the_kernel,
				       set_up),
		cmocka_unit_test_setup(test_cooperative_launch_must_be_resident, set_up),
		cmocka_unit_test_setup(test_launch_ex_reads_attributes, set_up),
		cmocka_unit_test_setup(test_launch_with_a_wrong_event_does_not_run, set_up),
		cmocka_unit_test_setup(test_launch_in_clusters_says_of_how_many_blocks, set_up),
		cmocka_unit_test_setup(test_launch_in_clusters_keeps_them_in_a_graph, set_up),
		cmocka_unit_test_setup(test_clusters_that_a_gpu_has_not_are_refused, set_up),
		cmocka_unit_test_setup(test_room_for_clusters_is_the_engines_answer, set_up),
		cmocka_unit_test_setup(test_grid_that_does_not_fit_the_kernels_clusters_is_refused,
				       set_up),
		cmocka_unit_test_setup(test_cluster_that_a_program_sets_is_of_each_launch, set_up),
		cmocka_unit_test_setup(test_launch_of_a_kernel_that_has_to_be_told_its_clusters,
				       set_up),
		cmocka_unit_test_setup(test_largest_cluster_is_the_functions, set_up),
		cmocka_unit_test_setup(
			test_launch_after_a_fault_returns_it_until_the_context_is_gone, set_up),
		cmocka_unit_test_setup(
			test_launches_of_many_threads_all_arrive_in_each_threads_order, set_up),
	};

	start_tenant();
	fn = load_function();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
