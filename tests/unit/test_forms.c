/*
 * test_forms.c - the forms of a call that share a hook: with the legacy default stream or the thread's own, of the
 * first interface version or a later one. Each must reach its record, on the right stream.
 */
#include "tests/unit/interpose.h"

static CUdeviceptr dev;
static uint8_t host[4096];
static CUfunction fn;
static CUevent event;
static uint64_t legacy, own; /* the two default streams */

static uint64_t stream_of_last(enum gsb_rec_type type, CUresult result)
{
	assert_cu(result);
	assert_true(count(type) > 0);
	return last(type)->rec.stream;
}

/* Both forms of a call, each with a record of its own. */
#define FORMS(TYPE, symbol, suffix, ...)                                                          \
	do {                                                                                      \
		mark = engine->n_logged;                                                          \
		assert_int_equal(stream_of_last(GSB_REC_##TYPE, cu.symbol(__VA_ARGS__)), legacy); \
		mark = engine->n_logged;                                                          \
		assert_int_equal(stream_of_last(GSB_REC_##TYPE, cu.symbol##suffix(__VA_ARGS__)),  \
				 own);                                                            \
	} while (0)

static void test_launches_of_both_forms_use_their_default_stream(void **state)
{
	const CUlaunchConfig config = {.gridDimX = 1,
				       .gridDimY = 1,
				       .gridDimZ = 1,
				       .blockDimX = 1,
				       .blockDimY = 1,
				       .blockDimZ = 1};

	FORMS(LAUNCH, cuLaunchKernel, _ptsz, fn, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	FORMS(LAUNCH, cuLaunchKernelEx, _ptsz, &config, fn, NULL, NULL);
	FORMS(LAUNCH, cuLaunchCooperativeKernel, _ptsz, fn, 1, 1, 1, 1, 1, 1, 0, NULL, NULL);
}

static void test_copies_of_both_forms_use_their_default_stream(void **state)
{
	const CUDA_MEMCPY2D rect = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				    .srcDevice = dev,
				    .srcPitch = 64,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = dev + 2048,
				    .dstPitch = 64,
				    .WidthInBytes = 32,
				    .Height = 4};

	FORMS(COPY, cuMemcpy, _ptds, dev, dev + 64, 64);
	FORMS(COPY, cuMemcpyAsync, _ptsz, dev, dev + 64, 64, NULL);
	FORMS(COPY, cuMemcpyHtoD_v2, _ptds, dev, host, 64);
	FORMS(COPY, cuMemcpyHtoDAsync_v2, _ptsz, dev, host, 64, NULL);
	FORMS(COPY, cuMemcpyDtoH_v2, _ptds, host, dev, 64);
	FORMS(COPY, cuMemcpyDtoHAsync_v2, _ptsz, host, dev, 64, NULL);
	FORMS(COPY, cuMemcpyDtoD_v2, _ptds, dev, dev + 64, 64);
	FORMS(COPY, cuMemcpyDtoDAsync_v2, _ptsz, dev, dev + 64, 64, NULL);
	FORMS(COPY, cuMemcpy2D_v2, _ptds, &rect);
	FORMS(COPY, cuMemcpy2DUnaligned_v2, _ptds, &rect);
	FORMS(COPY, cuMemcpy2DAsync_v2, _ptsz, &rect, NULL);
}

static void test_fills_of_both_forms_use_their_default_stream(void **state)
{
	FORMS(FILL, cuMemsetD8_v2, _ptds, dev, 1, 8);
	FORMS(FILL, cuMemsetD16_v2, _ptds, dev, 1, 8);
	FORMS(FILL, cuMemsetD32_v2, _ptds, dev, 1, 8);
	FORMS(FILL, cuMemsetD8Async, _ptsz, dev, 1, 8, NULL);
	FORMS(FILL, cuMemsetD16Async, _ptsz, dev, 1, 8, NULL);
	FORMS(FILL, cuMemsetD32Async, _ptsz, dev, 1, 8, NULL);
	FORMS(FILL, cuMemsetD2D8_v2, _ptds, dev, 64, 1, 8, 2);
	FORMS(FILL, cuMemsetD2D16_v2, _ptds, dev, 64, 1, 8, 2);
	FORMS(FILL, cuMemsetD2D32_v2, _ptds, dev, 64, 1, 8, 2);
	FORMS(FILL, cuMemsetD2D8Async, _ptsz, dev, 64, 1, 8, 2, NULL);
	FORMS(FILL, cuMemsetD2D16Async, _ptsz, dev, 64, 1, 8, 2, NULL);
	FORMS(FILL, cuMemsetD2D32Async, _ptsz, dev, 64, 1, 8, 2, NULL);
}

static void on_host_func(void *data)
{
	++*(_Atomic int *)data;
}

static void on_callback(CUstream stream, CUresult status, void *data)
{
	++*(_Atomic int *)data;
}

static void test_events_and_host_functions_of_both_forms_use_their_default_stream(void **state)
{
	_Atomic int n = 0;

	FORMS(EVENT_RECORD, cuEventRecord, _ptsz, event, NULL);
	FORMS(EVENT_RECORD, cuEventRecordWithFlags, _ptsz, event, NULL, 0);
	FORMS(STREAM_WAIT_EVENT, cuStreamWaitEvent, _ptsz, NULL, event, 0);
	FORMS(HOST_FUNC, cuLaunchHostFunc, _ptsz, NULL, on_host_func, &n);
	FORMS(HOST_FUNC, cuStreamAddCallback, _ptsz, NULL, on_callback, &n, 0);
	assert_cu(cu.cuStreamSynchronize_ptsz(NULL));
	assert_cu(cu.cuStreamSynchronize(NULL));
	assert_int_equal(n, 4);
	assert_cu(cu.cuStreamQuery_ptsz(NULL));
}

static CUdeviceptr from_pool(CUresult (*alloc)(CUdeviceptr *, size_t, CUstream))
{
	CUdeviceptr p;

	assert_cu(alloc(&p, 256, NULL));
	return p;
}

static void test_pool_memory_of_both_forms_is_freed_in_its_default_stream(void **state)
{
	CUmemoryPool pool;
	CUdeviceptr p;

	assert_int_equal(stream_of_last(GSB_REC_MEM_FREE_ASYNC,
					cu.cuMemFreeAsync(from_pool(cu.cuMemAllocAsync), NULL)),
			 legacy);
	assert_int_equal(
		stream_of_last(GSB_REC_MEM_FREE_ASYNC,
			       cu.cuMemFreeAsync_ptsz(from_pool(cu.cuMemAllocAsync_ptsz), NULL)),
		own);
	assert_cu(cu.cuDeviceGetMemPool(&pool, 0));
	assert_cu(cu.cuMemAllocFromPoolAsync(&p, 64, pool, NULL));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuMemAllocFromPoolAsync_ptsz(&p, 64, pool, NULL));
	assert_cu(cu.cuMemFree_v2(p));
}

static void test_stream_queries_of_the_per_thread_form_mean_the_threads_stream(void **state)
{
	unsigned long long id, id_own, id_legacy;
	CUstreamCaptureStatus status;
	CUcontext ctx;
	CUdevice d = -1;
	unsigned flags = 9;
	int priority = 9;

	assert_cu(cu.cuStreamGetId_ptsz(NULL, &id));
	assert_cu(cu.cuStreamGetId(CU_STREAM_PER_THREAD, &id_own));
	assert_cu(cu.cuStreamGetId_ptsz(CU_STREAM_LEGACY, &id_legacy));
	assert_int_equal(id, id_own);
	assert_int_not_equal(id, id_legacy);
	assert_cu(cu.cuStreamGetCtx_ptsz(NULL, &ctx));
	assert_ptr_equal(ctx, context);
	assert_cu(cu.cuStreamGetDevice_ptsz(NULL, &d));
	assert_cu(cu.cuStreamGetFlags_ptsz(NULL, &flags));
	assert_cu(cu.cuStreamGetPriority_ptsz(NULL, &priority));
	assert_cu(cu.cuStreamIsCapturing_ptsz(NULL, &status));
	assert_int_equal(d | (int)flags | priority | (int)status, 0);
}

static void test_first_versions_with_the_present_form_do_the_same(void **state)
{
	CUcontext ctx, popped;
	CUstream s;
	CUevent e;
	void *p;

	assert_cu(cu.cuCtxCreate_v3(&ctx, NULL, 0, 0, 0));
	assert_cu(cu.cuCtxSynchronize_v2(ctx));
	assert_cu(cu.cuCtxPopCurrent(&popped));
	assert_ptr_equal(popped, ctx);
	assert_cu(cu.cuCtxPushCurrent(ctx));
	assert_cu(cu.cuStreamCreate(&s, 0));
	assert_cu(cu.cuStreamDestroy(s));
	assert_int_equal(last_body(STREAM_DESTROY, object)->handle, (uint64_t)s);
	assert_cu(cu.cuEventCreate(&e, 0));
	assert_cu(cu.cuEventDestroy(e));
	assert_int_equal(last_body(EVENT_DESTROY, object)->handle, (uint64_t)e);
	assert_cu(cu.cuCtxDestroy(ctx));
	assert_cu(cu.cuCtxCreate(&ctx, 0, 0));
	assert_cu(cu.cuCtxDestroy(ctx));
	assert_cu(cu.cuMemAllocHost_v2(&p, 100));
	assert_cu(cu.cuMemFreeHost(p));
	assert_cu(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	assert_cu(cu.cuDevicePrimaryCtxSetFlags(0, 1));
	assert_cu(cu.cuDevicePrimaryCtxReset(0));
	assert_cu(cu.cuDevicePrimaryCtxRelease(0));
	assert_int_equal(count(GSB_REC_CTX_DESTROY), 3);
}

static size_t smem_of(int block)
{
	return (size_t)block * 4;
}

static void test_occupancy_with_flags_takes_the_size_of_shared_memory_from_a_function(void **state)
{
	int blocks, grid, block;

	assert_cu(cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, fn, 64, 0, 1));
	assert_cu_is(
		CUDA_ERROR_INVALID_VALUE,
		cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, fn, 64, 0, 2));
	assert_cu(
		cu.cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, fn, smem_of, 0, 64, 0));
	assert_int_equal(block, 64);
	assert_int_equal(last_body(OCCUPANCY, occupancy)->smem,
			 32 * 4); /* the smallest comes last */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_launches_of_both_forms_use_their_default_stream,
				       set_up),
		cmocka_unit_test_setup(test_copies_of_both_forms_use_their_default_stream, set_up),
		cmocka_unit_test_setup(test_fills_of_both_forms_use_their_default_stream, set_up),
		cmocka_unit_test_setup(
			test_events_and_host_functions_of_both_forms_use_their_default_stream,
			set_up),
		cmocka_unit_test_setup(
			test_pool_memory_of_both_forms_is_freed_in_its_default_stream, set_up),
		cmocka_unit_test_setup(
			test_stream_queries_of_the_per_thread_form_mean_the_threads_stream, set_up),
		cmocka_unit_test_setup(test_first_versions_with_the_present_form_do_the_same,
				       set_up),
		cmocka_unit_test_setup(
			test_occupancy_with_flags_takes_the_size_of_shared_memory_from_a_function,
			set_up),
	};

	start_tenant();
	fn = load_function();
	if (cu.cuMemAlloc_v2(&dev, 4096) || cu.cuEventCreate(&event, 0) ||
	    cu.cuEventRecord(event, NULL) || cu.cuEventRecord_ptsz(event, NULL))
		return 1;
	own = last(GSB_REC_EVENT_RECORD)->rec.stream;
	cu.cuEventRecord(event, NULL);
	legacy = last(GSB_REC_EVENT_RECORD)->rec.stream;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
