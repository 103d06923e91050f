/*
 * test_context.c - the device, contexts, modules and libraries, functions, memory: all that is not a stream.
 */
#include "tests/unit/interpose.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define PTX ".version 8.0\n.target sm_75\n.address_size 64\n"

/* ---- the device ---- */

static void test_context_that_was_attached_ends_with_the_last_that_detaches(void **state)
{
	CUcontext ctx, same, other;

	assert_cu(cu.cuCtxCreate_v2(&ctx, 0, 0));
	assert_cu(cu.cuCtxAttach(&same, 0));
	assert_ptr_equal(same, ctx);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuCtxAttach(&same, 1));
	assert_cu(cu.cuCtxDetach(ctx));
	assert_cu(cu.cuCtxSynchronize());
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDetach(ctx)); /* not the current one */
	assert_cu(cu.cuCtxDetach(other));
	assert_cu(cu.cuCtxDetach(ctx));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDetach(ctx));
	assert_int_equal(count(GSB_REC_CTX_DESTROY), 2);
}

static void test_profiler_is_switched_for_nobody(void **state)
{
	CUcontext ctx;

	assert_cu(cu.cuCtxSetCurrent(NULL));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuProfilerStart());
	assert_cu(cu.cuCtxCreate_v2(&ctx, 0, 0));
	assert_cu(cu.cuProfilerStart());
	assert_cu(cu.cuProfilerStop());
	assert_cu(cu.cuCtxDestroy_v2(ctx));
}

static void test_device_queries_answer_from_the_welcome(void **state)
{
	int n, major, minor;
	char name[32], id[16];
	CUuuid uuid;
	size_t bytes;
	CUdevice d;

	assert_cu(cu.cuDeviceGetCount(&n));
	assert_int_equal(n, 1);
	assert_cu(cu.cuDeviceGet(&d, 0));
	assert_cu(cu.cuDeviceGetName(name, sizeof(name), d));
	assert_string_equal(name, "Fake device");
	assert_cu(cu.cuDeviceGetUuid(&uuid, d));
	assert_int_equal((uint8_t)uuid.bytes[15], 0xab);
	assert_cu(cu.cuDeviceTotalMem_v2(&bytes, d));
	assert_int_equal(bytes, 1ull << 33);
	assert_cu(cu.cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d));
	assert_int_equal(n, 32);
	assert_cu(cu.cuDeviceComputeCapability(&major, &minor, d));
	assert_int_equal(major, 9);
	assert_cu(cu.cuDeviceGetPCIBusId(id, sizeof(id), d));
	assert_string_equal(id, "0000:2A:00.0");
	assert_cu(cu.cuDeviceGetByPCIBusId(&d, id));
	assert_cu(cu.cuDeviceGetByPCIBusId(&d, "0000:2a:00.0"));
	assert_int_equal(engine->n_logged, mark);
}

static void test_device_has_no_peers(void **state)
{
	const CUdevice_P2PAttribute
		rank = CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
		last = CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED;
	const CUatomicOperation all[] = {0, CU_ATOMIC_OPERATION_MAX - 1, CU_ATOMIC_OPERATION_MAX};
	unsigned capabilities[3] = {9, 9, 9};
	int value = 9;

	assert_cu(cu.cuDeviceCanAccessPeer(&value, 0, 0));
	assert_int_equal(value, 0);
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceCanAccessPeer(&value, 0, 1));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetP2PAttribute(&value, rank, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetP2PAttribute(&value, last, 0, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetP2PAttribute(NULL, rank, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE,
		     cu.cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)(last + 1), 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE,
		     cu.cuDeviceGetP2PAtomicCapabilities(capabilities, all, 2, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuDeviceGetP2PAtomicCapabilities(capabilities, all, 3, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuDeviceGetP2PAtomicCapabilities(capabilities, all, 0, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuDeviceGetP2PAtomicCapabilities(capabilities, NULL, 2, 0, 0));
	assert_int_equal(value, 0);
	assert_int_equal(capabilities[0], 9);
}

static void test_context_has_no_peer_on_its_own_device(void **state)
{
	CUcontext other, gone;

	assert_cu(cu.cuCtxCreate_v2(&gone, 0, 0));
	assert_cu(cu.cuCtxDestroy_v2(gone));
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu_is(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cu.cuCtxEnablePeerAccess(other, 0));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxEnablePeerAccess(gone, 0));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxEnablePeerAccess(NULL, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuCtxEnablePeerAccess(context, 1));
	assert_cu_is(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cu.cuCtxEnablePeerAccess(context, 0));
	assert_cu_is(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cu.cuCtxDisablePeerAccess(context));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDisablePeerAccess(gone));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDisablePeerAccess(NULL));
	assert_cu(cu.cuCtxSetCurrent(NULL));
	assert_cu(cu.cuCtxSetCurrent(NULL)); /* that below it */
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxEnablePeerAccess(other, 0));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDisablePeerAccess(other));
	assert_cu(cu.cuCtxDestroy_v2(other));
}

static void test_device_queries_refuse_what_is_not_there(void **state)
{
	CUdevice d;
	int n;

	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&d, 1));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&d, -1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetAttribute(&n, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetAttribute(&n, 100000, 0));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetAttribute(&n, 1, 7));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetCount(NULL));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetByPCIBusId(&d, "0000:01:00.0"));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetByPCIBusId(&d, "nonsense"));
}

/* ---- contexts ---- */

static CUcontext current(void)
{
	CUcontext ctx;

	assert_cu(cu.cuCtxGetCurrent(&ctx));
	return ctx;
}

static void test_created_context_is_pushed_and_popped(void **state)
{
	CUcontext a, b, popped;

	assert_cu(cu.cuCtxCreate_v2(&a, 0, 0));
	assert_cu(cu.cuCtxCreate_v4(&b, NULL, 0, 0));
	assert_ptr_equal(current(), b);
	assert_cu(cu.cuCtxPopCurrent_v2(&popped));
	assert_ptr_equal(popped, b);
	assert_ptr_equal(current(), a);
	assert_cu(cu.cuCtxPushCurrent_v2(b));
	assert_cu(cu.cuCtxSetCurrent(a)); /* replaces the top */
	assert_cu(cu.cuCtxPopCurrent_v2(NULL));
	assert_ptr_equal(current(), a);
	assert_cu(cu.cuCtxDestroy_v2(b));
	assert_cu(cu.cuCtxDestroy_v2(a)); /* pops itself */
	assert_ptr_equal(current(), context);
	assert_int_equal(count(GSB_REC_CTX_DESTROY), 2);
}

static void test_destroyed_context_is_stale_everywhere(void **state)
{
	CUdeviceptr ptr;
	CUcontext a;
	CUstream s;
	CUevent e;

	assert_cu(cu.cuCtxCreate_v2(&a, 0, 0));
	assert_cu(cu.cuStreamCreate(&s, 0));
	assert_cu(cu.cuEventCreate(&e, 0));
	assert_cu(cu.cuMemAlloc_v2(&ptr, 100));
	assert_cu(cu.cuCtxPushCurrent_v2(context));
	assert_cu(cu.cuCtxDestroy_v2(a));
	assert_cu_is(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxDestroy_v2(a));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(s));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(e));
	assert_cu_is(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuEventDestroy_v2(e));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(ptr));
	assert_cu(cu.cuCtxPopCurrent_v2(NULL));
	assert_ptr_equal(current(), a);
	assert_cu_is(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuMemAlloc_v2(&ptr, 100));
	assert_cu(cu.cuCtxSetCurrent(context));
	assert_cu(cu.cuEventCreate(&e, 0));
	assert_cu(cu.cuEventDestroy_v2(e));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuEventDestroy_v2(e)); /* its context is there */
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSetCurrent((CUcontext)e));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDestroy_v2((CUcontext)e));
	assert_cu(cu.cuCtxPushCurrent_v2(a)); /* may be made current all the same */
	assert_ptr_equal(current(), a);
	assert_cu_is(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuMemAlloc_v2(&ptr, 100));
}

static CUresult destroy_context(void *arg)
{
	return cu.cuCtxDestroy_v2(arg);
}

/* The engine still has them: it waits for the context's work first. */
static void test_indexes_of_a_context_are_taken_again_only_when_it_has_ended(void **state)
{
	struct waiter w;
	CUstream s, fresh;
	CUevent e, fresh_e;
	CUcontext a;

	assert_cu(cu.cuCtxCreate_v2(&a, 0, 0));
	assert_cu(cu.cuStreamCreate(&s, 0));
	assert_cu(cu.cuEventCreate(&e, 0));
	assert_cu(cu.cuCtxSetCurrent(context));
	flush();
	await_nobody_blocked();
	engine->ignore_ring = true;
	waiter_start(&w, destroy_context, a);
	while (engine->n_blocked < 1)
		sched_yield();
	for (int i = 0; i < 2; i++) { /* the context's legacy stream, and s */
		assert_cu(cu.cuStreamCreate(&fresh, 0));
		assert_int_not_equal(gsb_handle_index((uint64_t)fresh),
				     gsb_handle_index((uint64_t)s));
	}
	assert_cu(cu.cuEventCreate(&fresh_e, 0));
	assert_int_not_equal(gsb_handle_index((uint64_t)fresh_e), gsb_handle_index((uint64_t)e));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(s));
	engine->ignore_ring = false;
	assert_cu(waiter_join(&w));
	assert_int_equal(count(GSB_REC_STREAM_DESTROY), 0);
}

static CUresult create_context(void *arg)
{
	return cu.cuCtxCreate_v2(arg, 0, 0);
}

/* Both wait for the engine: one that waited for the other would hold up the virtual time that this one needs. */
static void test_context_is_made_while_another_one_ends(void **state)
{
	CUcontext a, b;
	struct waiter w[2];

	assert_cu(cu.cuCtxCreate_v2(&a, 0, 0));
	assert_cu(cu.cuCtxSetCurrent(context));
	flush();
	await_nobody_blocked();
	engine->ignore_ring = true;
	waiter_start(&w[0], destroy_context, a);
	waiter_start(&w[1], create_context, &b);
	while (engine->n_blocked < 2)
		sched_yield();
	engine->ignore_ring = false;
	assert_cu(waiter_join(&w[0]));
	assert_cu(waiter_join(&w[1]));
	assert_cu(cu.cuCtxDestroy_v2(b));
}

/* Destroy the context and make others until one has its place. */
static CUresult replace_context(void *arg)
{
	CUcontext *ctx = arg;
	uint32_t index = gsb_handle_index((uint64_t)*ctx);
	CUresult r;

	do {
		r = cu.cuCtxDestroy_v2(*ctx);
		r = r ? r : cu.cuCtxCreate_v2(ctx, 0, 0);
	} while (!r && gsb_handle_index((uint64_t)*ctx) != index);
	return r;
}

static void test_context_that_another_thread_has_destroyed_stays_current(void **state)
{
	CUcontext a, b, popped;
	struct waiter w;
	size_t n;

	assert_cu(cu.cuCtxCreate_v2(&a, 0, 0));
	b = a;
	waiter_start(&w, replace_context, &b);
	assert_cu(waiter_join(&w));
	assert_int_equal(gsb_handle_index((uint64_t)a), gsb_handle_index((uint64_t)b));
	assert_ptr_equal(current(), a);
	assert_cu_is(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuMemGetInfo_v2(&n, &n));
	assert_cu(cu.cuCtxDestroy_v2(b));
	assert_ptr_equal(current(), a);
	assert_cu(cu.cuCtxPopCurrent_v2(&popped));
	assert_ptr_equal(popped, a);
	assert_ptr_equal(current(), context);
}

static CUresult call_alloc(void *arg)
{
	CUdeviceptr ptr;

	cu.cuCtxSetCurrent(NULL);
	return cu.cuMemAlloc_v2(&ptr, 16);
}

static void test_current_context_is_the_threads_own(void **state)
{
	struct waiter w;

	waiter_start(&w, call_alloc, NULL);
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, waiter_join(&w));
	assert_ptr_equal(current(), context);
}

static void test_primary_context_keeps_its_handle_and_counts(void **state)
{
	CUcontext a, b;
	unsigned flags;
	int active;

	assert_cu(cu.cuDevicePrimaryCtxSetFlags_v2(0, 4));
	assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 0);
	assert_int_equal(flags, 4);
	assert_cu(cu.cuDevicePrimaryCtxRetain(&a, 0));
	assert_cu(cu.cuDevicePrimaryCtxRetain(&b, 0));
	assert_ptr_equal(a, b);
	assert_int_equal(count(GSB_REC_CTX_CREATE), 1);
	assert_cu(cu.cuDevicePrimaryCtxRelease_v2(0));
	assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 1);
	assert_cu(cu.cuDevicePrimaryCtxRelease(0));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease_v2(0));
	assert_int_equal(count(GSB_REC_CTX_DESTROY), 1);
	assert_cu(cu.cuDevicePrimaryCtxRetain(&b, 0));
	assert_ptr_equal(a, b);
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDestroy_v2(a));
	assert_cu(cu.cuDevicePrimaryCtxRelease_v2(0));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuDevicePrimaryCtxRetain(&a, 1));
}

/* CUDA: "Resetting the primary context does not release it." */
static void test_reset_of_the_primary_context_keeps_its_references(void **state)
{
	unsigned flags;
	CUcontext a;
	int active;

	assert_cu(cu.cuDevicePrimaryCtxRetain(&a, 0));
	assert_cu(cu.cuDevicePrimaryCtxReset_v2(0));
	assert_cu(cu.cuDevicePrimaryCtxReset_v2(0)); /* of what is not active: nothing */
	assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 0);
	assert_int_equal(count(GSB_REC_CTX_DESTROY), 1);
	assert_cu(cu.cuDevicePrimaryCtxRetain(&a, 0)); /* another user of it */
	assert_int_equal(count(GSB_REC_CTX_CREATE), 2);
	assert_cu(cu.cuDevicePrimaryCtxRelease_v2(0)); /* the first one, who does not know */
	assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 1);
	assert_cu(cu.cuDevicePrimaryCtxRelease_v2(0));
	assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 0);
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease_v2(0));
}

static void test_failed_context_leaves_nothing_behind(void **state)
{
	CUcontext a = NULL;

	engine->fail_type = GSB_REC_CTX_CREATE;
	engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuCtxCreate_v2(&a, 0, 0));
	assert_null(a);
	assert_ptr_equal(current(), context);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuCtxCreate_v2(&a, 0x100, 0));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuCtxCreate_v2(&a, 0, 1));
}

static void expect_hint(CUlimit limit, size_t asked, size_t had)
{
	size_t value;

	assert_cu(cu.cuCtxSetLimit(limit, asked));
	assert_cu(cu.cuCtxGetLimit(&value, limit));
	assert_int_equal(value, had);
}

static void test_context_limits_are_honest(void **state)
{
	unsigned version;
	CUdevice d = -1;
	size_t value;

	assert_cu(cu.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5000));
	assert_cu(cu.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
	assert_true(value >= 5000);
	assert_cu(cu.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 4090));
	assert_cu(cu.cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
	assert_int_equal(value, 4096); /* as the engine says */
	engine->fail_type = GSB_REC_KERNEL_MEMORY;
	engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY,
		     cu.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, (size_t)1 << 40));
	assert_cu(cu.cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
	assert_int_equal(value, 4096);
	assert_cu_is(CUDA_ERROR_UNSUPPORTED_LIMIT,
		     cu.cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, (size_t)1 << 40));
	expect_hint(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 100, 100);
	expect_hint(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128, 128);
	assert_int_equal(cu.cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129),
			 CUDA_ERROR_INVALID_VALUE);
	expect_hint(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 4096, 4096);
	assert_int_equal(cu.cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, (size_t)1 << 40),
			 CUDA_ERROR_INVALID_VALUE);
	expect_hint(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1 << 20, 1 << 20);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuCtxGetLimit(&value, (CUlimit)99));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuCtxSetLimit((CUlimit)99, 0));
	assert_cu_is(CUDA_ERROR_UNSUPPORTED_LIMIT, cu.cuCtxGetLimit(&value, (CUlimit)7));
	assert_cu(cu.cuCtxGetLimit(&value, CU_LIMIT_CIG_ENABLED));
	assert_int_equal(value, 0);
	assert_cu(cu.cuCtxGetApiVersion(NULL, &version));
	assert_cu(cu.cuCtxGetDevice_v2(&d, context));
	assert_int_equal(d, 0);
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxGetDevice_v2(&d, (CUcontext)0x1234));
}

/* ---- modules ---- */

static uint64_t image_sum(const void *bytes, uint64_t n)
{
	uint64_t sum = n;

	for (uint64_t i = 0; i < n; i++)
		sum = sum * 31 + ((const uint8_t *)bytes)[i];
	return sum;
}

static void test_module_image_arrives_byte_by_byte(void **state)
{
	size_t size = 600000; /* more than a chunk */
	char *text = malloc(size + 1);
	CUmodule mod;

	memset(text, '\n', size);
	memcpy(text, PTX, strlen(PTX));
	for (size_t i = strlen(PTX); i < size; i += 7)
		text[i] = (char)('a' + i % 26);
	text[size] = 0;
	assert_cu(cu.cuModuleLoadData(&mod, text));
	assert_int_equal(engine->image_bytes, size);
	assert_int_equal(engine->image_sum, image_sum(text, size));
	assert_true(count(GSB_REC_IMAGE_PART) > 1);
	assert_cu(cu.cuModuleUnload(mod));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(mod));
	free(text);
}

static void test_module_from_a_wrapped_fatbin_is_sent_without_wrapper(void **state)
{
	struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t bytes;
		uint8_t rest[64];
	} fatbin = {.magic = 0xba55ed50, .version = 1, .header = 16, .bytes = 64};
	const struct {
		uint32_t magic, version;
		const void *data;
		void *more;
	} wrapper = {0x466243b1, 1, &fatbin, NULL};
	CUmodule mod;

	assert_cu(cu.cuModuleLoadFatBinary(&mod, &wrapper));
	assert_int_equal(engine->image_bytes, sizeof(fatbin));
	assert_int_equal(engine->image_sum, image_sum(&fatbin, sizeof(fatbin)));
}

static void test_module_load_fills_the_logs(void **state)
{
	char info[64] = "?", error[8] = "?";
	CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
				  CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {info, (void *)sizeof(info), error, (void *)sizeof(error)};
	CUmodule mod;

	strcpy(engine->log_text, "line 3: no such opcode");
	assert_cu(cu.cuModuleLoadDataEx(&mod, PTX, 4, options, values));
	assert_string_equal(info, "line 3: no such opcode");
	assert_string_equal(error, "");
	assert_int_equal((size_t)values[1], strlen(info) + 1);
	assert_int_equal((size_t)values[3], 0);

	values[1] = (void *)sizeof(info);
	values[3] = (void *)sizeof(error);
	engine->fail_type = GSB_REC_MODULE_LOAD;
	engine->fail_result = CUDA_ERROR_INVALID_PTX;
	assert_cu_is(CUDA_ERROR_INVALID_PTX, cu.cuModuleLoadDataEx(&mod, PTX, 4, options, values));
	assert_string_equal(error, "line 3:"); /* cut, with its NUL */
	assert_string_equal(info, "");
	engine->log_text[0] = 0;
	options[0] = (CUjit_option)1000;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuModuleLoadDataEx(&mod, PTX, 4, options, values));
}

static void test_module_images_that_are_none_are_refused_here(void **state)
{
	char *huge = malloc((2 << 20) + 1);
	CUmodule mod;

	memset(huge, ' ', 2 << 20);
	memcpy(huge, PTX, strlen(PTX));
	huge[2 << 20] = 0;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuModuleLoadData(&mod, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_IMAGE,
		     cu.cuModuleLoadData(&mod, "\x01\x02\x03\x04 rubbish"));
	assert_cu_is(CUDA_ERROR_INVALID_IMAGE,
		     cu.cuModuleLoadData(&mod, huge)); /* over the limit */
	assert_cu_is(CUDA_ERROR_FILE_NOT_FOUND, cu.cuModuleLoad(&mod, "/no/such/file"));
	assert_int_equal(count(GSB_REC_MODULE_LOAD), 0);
	free(huge);
}

static void test_module_from_a_file(void **state)
{
	char path[TEMP_PATH_MAX];
	int fd;
	CUlibrary lib;
	CUmodule mod;

	temp_path(path, "gsb-module-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, PTX, strlen(PTX)), strlen(PTX));
	close(fd);
	assert_cu(cu.cuModuleLoad(&mod, path));
	assert_int_equal(engine->image_sum, image_sum(PTX, strlen(PTX)));
	assert_cu(cu.cuLibraryLoadFromFile(&lib, path, NULL, NULL, 0, NULL, NULL, 0));
	assert_cu(cu.cuLibraryUnload(lib));
	unlink(path);
	errno = 4711;
	assert_cu_is(CUDA_ERROR_FILE_NOT_FOUND, cu.cuModuleLoad(&mod, path));
	assert_int_equal(errno, 4711);
}

static void test_module_functions_and_globals_by_name(void **state)
{
	CUmodule mod = load_module(), owner;
	CUfunction f, again, list[4] = {0};
	CUdeviceptr ptr;
	const char *name;
	unsigned n;
	size_t bytes;

	assert_cu(cu.cuModuleGetFunction(&f, mod, FAKE_KERNEL));
	assert_cu(cu.cuModuleGetFunction(&again, mod, FAKE_KERNEL));
	assert_ptr_equal(f, again);
	assert_int_equal(count(GSB_REC_FUNCTION_GET), 1);
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(&f, mod, "no such"));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuModuleGetFunction(&f, (CUmodule)f, FAKE_KERNEL));
	assert_cu(cu.cuModuleGetFunctionCount(&n, mod));
	assert_int_equal(n, 1);
	assert_cu(cu.cuModuleEnumerateFunctions(list, 4, mod));
	assert_ptr_equal(list[0], again);
	assert_cu(cu.cuFuncGetName(&name, again));
	assert_string_equal(name, FAKE_KERNEL);
	assert_cu(cu.cuFuncGetModule(&owner, again));
	assert_ptr_equal(owner, mod);

	assert_cu(cu.cuModuleGetGlobal_v2(&ptr, &bytes, mod, FAKE_GLOBAL));
	assert_int_equal(bytes, 64);
	assert_cu(cu.cuMemsetD8_v2(ptr, 0, 64)); /* a variable is a place to copy to, */
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(ptr)); /* but not to free */
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetGlobal_v2(&ptr, &bytes, mod, "no such"));
	assert_cu(cu.cuModuleUnload(mod));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2(ptr, 0, 64));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuFuncGetName(&name, again));
}

/* ---- functions ---- */

static CUresult get_function(void *arg)
{
	CUfunction f;
	CUresult result = cu.cuModuleGetFunction(&f, *(CUmodule *)arg, FAKE_KERNEL);

	*(void **)arg = f;
	return result;
}

static uint32_t index_in(const struct fake_record *r)
{
	return gsb_handle_index(((const struct gsb_rec_function_get *)r->body)->function);
}

/* The engine knows a function under the handles of all threads that asked before one had the answer. */
static void test_function_that_two_threads_fetch_is_one_and_no_index_is_used_twice(void **state)
{
	CUmodule mod = load_module();
	void *got[2] = {mod, mod};
	struct waiter w[2];
	uint32_t index[3] = {0};
	unsigned n = 0;

	flush();
	await_nobody_blocked();
	engine->ignore_ring = true;
	for (int i = 0; i < 2; i++)
		waiter_start(&w[i], get_function, &got[i]);
	while (engine->n_blocked < 2)
		sched_yield();
	engine->ignore_ring = false;
	assert_cu(waiter_join(&w[0]));
	assert_cu(waiter_join(&w[1]));
	assert_ptr_equal(got[0], got[1]);
	load_function();
	assert_int_equal(count(GSB_REC_FUNCTION_GET), 3);
	for (unsigned i = mark; n < 3; i++)
		if (engine->log[i].rec.type == GSB_REC_FUNCTION_GET)
			index[n++] = index_in(&engine->log[i]);
	assert_true(index[0] != index[1] && index[0] != index[2] && index[1] != index[2]);
	assert_cu(cu.cuModuleUnload(mod));
}

static void test_function_attributes_and_parameters_come_with_it(void **state)
{
	size_t offset, size;
	CUfunction f;
	int value;

	engine->info.n_params = 2;
	engine->info.params_bytes = 12;
	engine->info.params[0] = (struct gsb_param){0, 8};
	engine->info.params[1] = (struct gsb_param){8, 4};
	f = load_function();
	engine->info.n_params = engine->info.params_bytes = 0;
	flush();
	mark = engine->n_logged;
	assert_cu(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	assert_int_equal(value, 1024);
	assert_cu(cu.cuFuncGetParamInfo(f, 1, &offset, &size));
	assert_int_equal(offset, 8);
	assert_int_equal(size, 4);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuFuncGetParamInfo(f, 2, &offset, &size));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuFuncGetAttribute(&value, 16, f));
	assert_int_equal(engine->n_logged, mark);
}

static void test_function_attribute_is_set_here_and_posted(void **state)
{
	CUfunction f = load_function();
	int value;

	assert_cu(
		cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
	assert_cu(
		cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	assert_int_equal(value, 100000);
	assert_int_equal(last_body(FUNCTION_SET, function_set)->attribute, 8);
	assert_int_equal(last_body(FUNCTION_SET, function_set)->value, 100000);
	assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 100000, NULL, NULL, NULL));
	assert_cu_is(
		CUDA_ERROR_INVALID_VALUE,
		cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1));
}

/* cuBLAS sets it for all of its kernels, those that it never launches in clusters, too. */
static void test_function_attribute_of_clusters_is_kept_here(void **state)
{
	CUfunction f = load_function();
	unsigned logged = engine->n_logged;
	int value = 0;

	assert_cu(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	assert_cu(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
					f));
	assert_int_equal(value, 1);
	assert_cu_is(
		CUDA_ERROR_INVALID_VALUE,
		cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2));
	assert_cu(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
					2));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuFuncSetAttribute(
			     f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3));
	assert_cu(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, 64));
	assert_int_equal(engine->n_logged, logged + 1); /* nothing was posted before */
}

static void test_occupancy_is_the_engines_answer(void **state)
{
	CUfunction f = load_function();
	int blocks, grid, block;
	size_t smem;

	assert_cu(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 64));
	assert_int_equal(blocks, 2);
	assert_int_equal(last_body(OCCUPANCY, occupancy)->block, 128);
	assert_int_equal(last_body(OCCUPANCY, occupancy)->smem, 64);
	assert_cu(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 2048, 0));
	assert_int_equal(blocks, 0);
	assert_cu(cu.cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
	assert_int_equal(block, 1024); /* two of any size fit, so the largest wins */
	assert_int_equal(grid, 8);
	assert_cu(cu.cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 100));
	assert_int_equal(block, 100);
	assert_cu(cu.cuOccupancyAvailableDynamicSMemPerBlock(&smem, f, 1, 32));
	assert_int_equal(last_body(OCCUPANCY, occupancy)->what, GSB_OCC_AVAILABLE_SMEM);
}

/* ---- libraries ---- */

static CUlibrary load_library(void)
{
	CUlibrary lib;

	assert_cu(cu.cuLibraryLoadData(&lib, PTX, NULL, NULL, 0, NULL, NULL, 0));
	return lib;
}

static void test_library_kernel_launches_in_every_context(void **state)
{
	CUlibrary lib = load_library(), owner;
	CUkernel kernel, again;
	CUfunction here, there;
	CUcontext other;

	assert_cu(cu.cuLibraryGetKernel(&kernel, lib, FAKE_KERNEL));
	assert_cu(cu.cuLibraryGetKernel(&again, lib, FAKE_KERNEL));
	assert_ptr_equal(kernel, again);
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuLibraryGetKernel(&again, lib, "no such"));
	assert_cu(cu.cuKernelGetLibrary(&owner, kernel));
	assert_ptr_equal(owner, lib);
	assert_cu(cu.cuKernelGetFunction(&here, kernel));
	assert_cu(cu.cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->function, (uint64_t)here);
	assert_int_equal(count(GSB_REC_MODULE_LOAD), 1);

	assert_cu(cu.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000,
					  kernel, 0));
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 60000, NULL, NULL, NULL));
	assert_cu(cu.cuKernelGetFunction(&there, kernel));
	assert_int_equal(last_body(LAUNCH, launch)->function, (uint64_t)there);
	assert_ptr_not_equal(here, there);
	assert_int_equal(count(GSB_REC_MODULE_LOAD), 2);
	assert_int_equal(last_body(FUNCTION_SET, function_set)->function, (uint64_t)there);
	assert_cu(cu.cuCtxDestroy_v2(other));

	assert_cu(cu.cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(last_body(LAUNCH, launch)->function, (uint64_t)here);
	assert_cu(cu.cuLibraryUnload(lib));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuLibraryUnload(lib));
	assert_int_equal(count(GSB_REC_MODULE_UNLOAD), 1);
}

static void test_managed_variable_of_a_module_goes_with_it(void **state)
{
	unsigned managed = 9, n_freed;
	CUdeviceptr d, base;
	CUcontext owner;
	CUmodule mod;
	size_t bytes;

	engine->managed_bytes = 100;
	assert_cu(cu.cuModuleLoadData(&mod, PTX));
	assert_int_equal(last_body(HOST_ALLOC, mem_alloc)->size, 100);
	assert_int_equal(last_body(HOST_ALLOC, mem_alloc)->flags & GSB_HOST_OF_PROCESS, 0);
	assert_int_equal(last_body(MODULE_PLACE, module_place)->module, (uint64_t)mod);
	assert_int_equal(last_body(MODULE_PLACE, module_place)->initialise, 1);
	assert_cu(cu.cuModuleGetGlobal_v2(&d, &bytes, mod, FAKE_MANAGED));
	assert_int_equal(d, engine->managed + 16);
	assert_int_equal(bytes, 32);
	assert_cu(cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, d + 31));
	assert_int_equal(managed, 1);
	assert_cu(cu.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, d));
	assert_ptr_equal(owner, context);
	assert_cu(cu.cuMemGetAddressRange_v2(&base, &bytes, d + 5));
	assert_int_equal(base, d);
	assert_int_equal(bytes, 32);
	assert_cu(cu.cuMemAdvise(d, 32, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(d));
	assert_cu(cu.cuModuleGetGlobal_v2(&d, &bytes, mod, FAKE_GLOBAL));
	assert_cu(cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, d));
	assert_int_equal(managed, 0);
	n_freed = count(GSB_REC_HOST_FREE);
	assert_cu(cu.cuModuleUnload(mod));
	assert_int_equal(count(GSB_REC_HOST_FREE), n_freed + 1);
	assert_int_equal(last_body(HOST_FREE, mem_free)->addr, engine->managed);
	assert_int_equal(last_body(HOST_FREE, mem_free)->ctx,
			 last_body(HOST_ALLOC, mem_alloc)->ctx);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
					      engine->managed + 16));
	engine->managed_bytes = 0;
}

static void test_managed_variable_of_a_library_is_one_in_all_contexts(void **state)
{
	CUdeviceptr first, again, there;
	CUcontext other, owner = context;
	CUlibrary lib;
	size_t bytes;

	engine->managed_bytes = 100;
	lib = load_library();
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuLibraryGetManaged(&first, &bytes, lib, FAKE_MANAGED));
	assert_int_equal(bytes, 32);
	assert_true(last_body(HOST_ALLOC, mem_alloc)->flags & GSB_HOST_OF_PROCESS);
	assert_cu(cu.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, first));
	assert_null(owner);
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_cu(cu.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, first));
	assert_cu(cu.cuLibraryGetManaged(&again, NULL, lib, FAKE_MANAGED));
	assert_int_equal(again, first);
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuLibraryGetManaged(&there, NULL, lib, FAKE_MANAGED));
	assert_int_equal(there, first);
	assert_int_equal(last_body(MODULE_PLACE, module_place)->initialise, 0);
	assert_int_equal(count(GSB_REC_MODULE_PLACE), 3);
	assert_int_equal(count(GSB_REC_HOST_ALLOC), 1);
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuLibraryGetManaged(&there, NULL, lib, FAKE_GLOBAL));
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuLibraryGetManaged(&there, NULL, lib, "no such"));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuLibraryGetManaged(NULL, NULL, lib, FAKE_MANAGED));
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_int_equal(count(GSB_REC_HOST_FREE), 0);
	assert_cu(cu.cuLibraryUnload(lib));
	assert_int_equal(count(GSB_REC_HOST_FREE), 1);
	assert_int_equal(last_body(HOST_FREE, mem_free)->ctx, 0);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, first));
	engine->managed_bytes = 0;
}

static void test_module_without_room_for_its_managed_variables_is_not_loaded(void **state)
{
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	char error[256] = "";
	void *values[] = {error, (void *)sizeof(error)};
	CUmodule mod;

	engine->managed_bytes = 100;
	engine->fail_type = GSB_REC_HOST_ALLOC;
	engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY,
		     cu.cuModuleLoadDataEx(&mod, PTX, 2, options, values));
	assert_non_null(strstr(error, "100 bytes of pinned memory"));
	assert_non_null(strstr(error, "host_memory"));
	assert_int_equal(count(GSB_REC_MODULE_UNLOAD), 1);
	engine->fail_type = GSB_REC_MODULE_PLACE;
	engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuModuleLoadData(&mod, PTX));
	assert_int_equal(count(GSB_REC_MODULE_UNLOAD), 2);
	assert_int_equal(count(GSB_REC_HOST_FREE), 1);
	engine->managed_bytes = 0;
}

static void test_library_without_a_context_uses_the_primary_one(void **state)
{
	unsigned flags, n;
	CUkernel kernel, list[2] = {0};
	CUmodule mod;
	CUlibrary lib;
	size_t bytes;
	int active;

	while (!cu.cuCtxPopCurrent_v2(NULL))
		;
	lib = load_library();
	assert_int_equal(engine->n_logged, mark);
	assert_cu(cu.cuLibraryGetKernel(&kernel, lib, FAKE_KERNEL));
	assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 1);
	assert_cu(cu.cuLibraryGetKernelCount(&n, lib));
	assert_int_equal(n, 1);
	assert_cu(cu.cuLibraryEnumerateKernels(list, 2, lib));
	assert_ptr_equal(list[0], kernel);
	assert_cu(cu.cuLibraryGetModule(&mod, lib));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(mod)); /* the library's own */
	assert_cu(cu.cuDevicePrimaryCtxReset_v2(0));
	assert_cu(cu.cuLibraryGetGlobal(NULL, &bytes, lib, FAKE_GLOBAL)); /* makes it anew */
	assert_cu(cu.cuLibraryUnload(lib));
	assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 0);
	assert_cu(cu.cuCtxSetCurrent(context));
}

static void test_library_copies_an_image_that_is_not_preserved(void **state)
{
	char text[] = PTX;
	CUcontext other;
	CUkernel kernel;
	CUlibrary lib;

	assert_cu(cu.cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
	memset(text, 'x', sizeof(text) - 1);
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuLibraryGetKernel(&kernel, lib, FAKE_KERNEL));
	assert_int_equal(engine->image_sum, image_sum(PTX, strlen(PTX)));
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_cu(cu.cuLibraryUnload(lib));
}

/* As cuBLAS loads: an option, and no array of values. */
static void test_library_option_without_a_value_leaves_the_image_to_be_copied(void **state)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	char text[] = PTX;
	CUcontext other;
	CUkernel kernel;
	CUlibrary lib;

	assert_cu(cu.cuLibraryLoadData(&lib, text, NULL, NULL, 0, &option, NULL, 1));
	memset(text, 'x', sizeof(text) - 1);
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuLibraryGetKernel(&kernel, lib, FAKE_KERNEL));
	assert_int_equal(engine->image_sum, image_sum(PTX, strlen(PTX)));
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_cu(cu.cuLibraryUnload(lib));
	option = CU_LIBRARY_NUM_OPTIONS;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuLibraryLoadData(&lib, PTX, NULL, NULL, 0, &option, NULL, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuLibraryLoadData(&lib, PTX, NULL, NULL, 0, NULL, NULL, 1));
}

/* ---- memory ---- */

static void test_memory_is_allocated_found_and_freed(void **state)
{
	CUdeviceptr a, b, base;
	size_t size, pitch;

	assert_cu(cu.cuMemAlloc_v2(&a, 1000));
	assert_int_equal(last_body(MEM_ALLOC, mem_alloc)->size, 1000);
	assert_cu(cu.cuMemGetAddressRange_v2(&base, &size, a + 999));
	assert_int_equal(base, a);
	assert_int_equal(size, 1000);
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuMemGetAddressRange_v2(&base, &size, a + 1000));
	assert_cu(cu.cuMemAllocPitch_v2(&b, &pitch, 700, 10, 4));
	assert_true(pitch >= 700 && pitch % 512 == 0);
	assert_int_equal(last_body(MEM_ALLOC, mem_alloc)->size, pitch * 10);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocPitch_v2(&b, &pitch, 700, 10, 3));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(a + 4));
	assert_cu(cu.cuMemFree_v2(a));
	assert_int_equal(last_body(MEM_FREE, mem_free)->addr, a);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(a));
	assert_cu(cu.cuMemFree_v2(b));
	assert_cu(cu.cuMemFree_v2(0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc_v2(&a, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc_v2(NULL, 4));
}

static void test_free_waits_for_no_answer(void **state)
{
	CUdeviceptr a;

	assert_cu(cu.cuMemAlloc_v2(&a, 1000));
	engine->ignore_ring = true;
	assert_cu(cu.cuMemFree_v2(a));
	engine->ignore_ring = false;
	assert_int_equal(last_body(MEM_FREE, mem_free)->addr, a);
	assert_int_equal(last(GSB_REC_MEM_FREE)->rec.call, 0);
}

static CUresult free_memory(void *arg)
{
	return cu.cuMemFree_v2(*(CUdeviceptr *)arg);
}

static void test_free_waits_for_the_work_of_its_context(void **state)
{
	CUdeviceptr a, b;
	struct waiter w;

	assert_cu(cu.cuMemAlloc_v2(&a, 1000));
	assert_cu(cu.cuMemAlloc_v2(&b, 1000));
	await_nobody_blocked();
	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(b, 1, 1000, CU_STREAM_PER_THREAD));
	waiter_start(&w, free_memory, &a);
	while (engine->n_blocked < 1 && !w.is_back)
		sched_yield();
	assert_false(w.is_back);
	assert_int_equal(fake_count(engine, mark, GSB_REC_MEM_FREE), 0);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_int_equal(last_body(MEM_FREE, mem_free)->addr, a);
	assert_cu(cu.cuMemFree_v2(b));
}

static void test_allocation_that_fails_changes_nothing(void **state)
{
	CUdeviceptr a = 77;

	engine->fail_type = GSB_REC_MEM_ALLOC;
	engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&a, 1000));
	assert_int_equal(a, 77);
}

static void test_pool_memory_is_freed_in_its_stream(void **state)
{
	CUmemoryPool pool;
	uint64_t used;
	CUdeviceptr a;

	assert_cu(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	assert_cu(cu.cuMemAllocAsync(&a, 4096, NULL));
	assert_cu(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 4096);
	engine->hold = true;
	assert_cu(cu.cuMemFreeAsync(a, NULL));
	assert_int_equal(last_body(MEM_FREE_ASYNC, mem_free)->addr, a);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(a, NULL));
	assert_cu(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	assert_cu(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
	assert_int_equal(used, 4096);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemAllocFromPoolAsync(&a, 16, (CUmemoryPool)&a, NULL));
}

static uint64_t used_of(CUmemoryPool pool)
{
	uint64_t used = 0;

	assert_cu(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	return used;
}

static const CUmemPoolProps pool_props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
					  .maxSize = 8192};

static void test_pool_counts_what_is_its_own_up_to_its_limit(void **state)
{
	CUmemoryPool of_device, pool, found;
	uint64_t before, threshold = 1;
	CUdeviceptr a, b;

	assert_cu(cu.cuDeviceGetDefaultMemPool(&of_device, 0));
	before = used_of(of_device);
	assert_cu(cu.cuMemPoolCreate(&pool, &pool_props));
	assert_cu(cu.cuMemAllocFromPoolAsync(&a, 4096, pool, NULL));
	assert_int_equal(used_of(pool), 4096);
	assert_int_equal(used_of(of_device), before);
	assert_cu(cu.cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	assert_ptr_equal(found, pool);
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&b, 4097, pool, NULL));
	assert_int_equal(used_of(pool), 4096);
	engine->fail_type = GSB_REC_MEM_ALLOC;
	engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&b, 16, pool, NULL));
	assert_int_equal(used_of(pool), 4096);
	assert_cu(cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	assert_cu(
		cu.cuMemPoolGetAttribute(of_device, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	assert_int_equal(threshold, 0);
	assert_cu(cu.cuMemFreeAsync(a, NULL));
	assert_int_equal(used_of(pool), 0);
	assert_cu(cu.cuMemPoolDestroy(pool));
}

static void test_pool_that_ends_leaves_its_memory_and_the_device_with_another(void **state)
{
	CUmemoryPool of_device, pool, now;
	CUdeviceptr a;

	assert_cu(cu.cuDeviceGetDefaultMemPool(&of_device, 0));
	assert_cu(cu.cuMemPoolCreate(&pool, &pool_props));
	assert_cu(cu.cuDeviceSetMemPool(0, pool));
	assert_cu(cu.cuMemAllocAsync(&a, 64, NULL));
	assert_int_equal(used_of(pool), 64);
	assert_cu(cu.cuMemPoolDestroy(pool));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolDestroy(pool));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceSetMemPool(0, pool));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolTrimTo(pool, 0));
	assert_cu(cu.cuDeviceGetMemPool(&now, 0));
	assert_ptr_equal(now, of_device);
	assert_cu(cu.cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	assert_null(now);
	assert_cu(cu.cuMemFreeAsync(a, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolDestroy(of_device));
}

static void test_pool_of_a_place_is_that_of_the_device(void **state)
{
	const CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
	CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	CUmemoryPool of_device, pool, now;

	assert_cu(cu.cuDeviceGetDefaultMemPool(&of_device, 0));
	assert_cu(cu.cuMemGetDefaultMemPool(&now, &here, pinned));
	assert_ptr_equal(now, of_device);
	assert_cu(cu.cuMemPoolCreate(&pool, &pool_props));
	assert_cu(cu.cuMemSetMemPool(&here, pinned, pool));
	assert_cu(cu.cuDeviceGetMemPool(&now, 0));
	assert_ptr_equal(now, pool);
	assert_cu(cu.cuMemGetMemPool(&now, &here, pinned));
	assert_ptr_equal(now, pool);
	assert_cu(cu.cuMemGetDefaultMemPool(&now, &here, pinned));
	assert_ptr_equal(now, of_device);
	assert_cu(cu.cuMemPoolDestroy(pool));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemSetMemPool(&here, pinned, pool));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemSetMemPool(&here, pinned, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemGetMemPool(NULL, &here, pinned));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemGetMemPool(&now, NULL, pinned));
	here.id = 1;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemGetMemPool(&now, &here, pinned));
}

/* By place and kind: what no driver has, and what is not carried. */
static void test_pools_of_other_places_are_refused_as_wrong_or_as_not_carried(void **state)
{
	enum { OK = CUDA_SUCCESS, BAD = CUDA_ERROR_INVALID_VALUE, NO = CUDA_ERROR_NOT_SUPPORTED };
	static const int want[6][4] = {
		{BAD, BAD, NO, BAD}, {BAD, OK, NO, BAD}, {BAD, NO, NO, BAD},
		{BAD, NO, NO, BAD},  {NO, NO, NO, NO},	 {NO, NO, NO, NO},
	};
	CUmemoryPool pool;

	assert_cu(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	for (int place = 0; place < 6; place++)
		for (int kind = 0; kind < 4; kind++) {
			CUmemLocation where = {(CUmemLocationType)place, 0};
			CUmemAllocationType type = (CUmemAllocationType)kind;
			CUmemoryPool found = pool;

			assert_cu_is(want[place][kind],
				     cu.cuMemGetDefaultMemPool(&found, &where, type));
			assert_cu_is(want[place][kind], cu.cuMemGetMemPool(&found, &where, type));
			assert_cu_is(want[place][kind], cu.cuMemSetMemPool(&where, type, found));
		}
}

static void test_pool_is_of_the_device_and_for_it(void **state)
{
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
				  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemPoolProps bad = pool_props;
	CUmemAccess_flags flags;
	CUmemoryPool pool;

	bad.location.id = 1;
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuMemPoolCreate(&pool, &bad));
	bad.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemPoolCreate(&pool, &bad));
	bad = pool_props;
	bad.handleTypes = (CUmemAllocationHandleType)2;
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemPoolCreate(&pool, &bad));
	bad.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_cu(cu.cuMemPoolCreate(&pool, &bad));
	assert_cu(cu.cuMemPoolDestroy(pool));
	assert_cu(cu.cuMemPoolCreate(&pool, &pool_props));
	assert_cu(cu.cuMemPoolSetAccess(pool, &access, 1));
	assert_cu(cu.cuMemPoolGetAccess(&flags, pool, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	access.location.id = 1;
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuMemPoolSetAccess(pool, &access, 1));
	access = (CUmemAccessDesc){.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuMemPoolSetAccess(pool, &access, 1));
	assert_cu(cu.cuMemPoolDestroy(pool));
}

static void test_pinned_memory_has_one_address_on_both_sides(void **state)
{
	unsigned char *p;
	CUdeviceptr d;
	unsigned flags;

	assert_cu(cu.cuMemHostAlloc((void **)&p, 8192, CU_MEMHOSTALLOC_PORTABLE));
	p[8191] = 42;
	assert_cu(cu.cuMemHostGetDevicePointer_v2(&d, p + 5, 0));
	assert_int_equal(d, (CUdeviceptr)p + 5);
	assert_cu(cu.cuMemHostGetFlags(&flags, p));
	assert_int_equal(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2((CUdeviceptr)p));
	assert_cu(cu.cuMemFreeHost(p));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost(p));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostAlloc((void **)&p, 4096, 0x80));
}

/* What is written to stderr until it is given back, in a file without a name. */
static int take_stderr(int *file)
{
	int was = dup(2);

	*file = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(was >= 0 && *file >= 0 && dup2(*file, 2) == 2);
	return was;
}

static void give_back_stderr(int was, int file, char *text, size_t size)
{
	ssize_t n = pread(file, text, size - 1, 0);

	assert_int_equal(dup2(was, 2), 2);
	close(was);
	close(file);
	text[n > 0 ? n : 0] = 0;
}

static void test_pinned_memory_beyond_the_limit_names_the_limit_once(void **state)
{
	char text[2][512];
	void *p;

	engine->fail_type = GSB_REC_HOST_ALLOC;
	for (int i = 0; i < 2; i++) {
		int file, was = take_stderr(&file);
		CUresult result;

		engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
		result = cu.cuMemHostAlloc(&p, 12345, 0);
		give_back_stderr(was, file, text[i], sizeof(text[i]));
		assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, result);
	}
	assert_non_null(strstr(text[0], "12345 bytes"));
	assert_non_null(strstr(text[0], "host_memory in gsbroker.conf"));
	assert_string_equal(text[1], "");
}

static void test_managed_memory_is_host_memory_that_is_freed_as_device_memory(void **state)
{
	unsigned managed = 0xaaaaaaaa;
	unsigned char *p;
	CUdeviceptr d, again;
	CUcontext other;
	unsigned type;

	assert_cu(cu.cuMemAllocManaged(&d, 8192, CU_MEM_ATTACH_GLOBAL));
	p = (unsigned char *)d;
	p[8191] = 42;
	assert_cu(cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, d + 1));
	assert_int_equal(managed, 1);
	assert_cu(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_cu(cu.cuPointerGetAttribute(&p, CU_POINTER_ATTRIBUTE_HOST_POINTER, d + 7));
	assert_ptr_equal(p, (void *)(d + 7));
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuMemsetD8_v2(d, 3, 8192));
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost((void *)d));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(d, NULL));
	assert_cu(cu.cuMemFree_v2(d));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(d));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocManaged(&d, 0, CU_MEM_ATTACH_GLOBAL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocManaged(&d, 64, CU_MEM_ATTACH_SINGLE));
	assert_cu(cu.cuMemAllocManaged(&again, 64, CU_MEM_ATTACH_HOST));
	assert_cu(cu.cuMemFree_v2(again));
}

static void test_hints_on_managed_memory_are_checked(void **state)
{
	CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, none = {0},
		      other = {CU_MEM_LOCATION_TYPE_DEVICE, 1},
		      node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
		      bad_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, -1};
	int32_t where[3] = {9, 9, 9};
	CUdeviceptr d, plain;

	assert_cu(cu.cuMemAllocManaged(&d, 8192, CU_MEM_ATTACH_GLOBAL));
	assert_cu(cu.cuMemAlloc_v2(&plain, 64));
	assert_cu(cu.cuMemPrefetchAsync(d, 8192, 0, NULL));
	assert_cu(cu.cuMemPrefetchAsync(d + 4096, 4096, CU_DEVICE_CPU, NULL));
	assert_cu(cu.cuMemPrefetchAsync_v2(d, 1, device, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemPrefetchAsync(d + 1, 8192, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemPrefetchAsync(plain, 64, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemPrefetchAsync(d, 0, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuMemPrefetchAsync(d, 8192, 1, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE, cu.cuMemPrefetchAsync_v2(d, 1, other, 0, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemPrefetchAsync_v2(d, 1, none, 0, NULL));
	assert_cu(cu.cuMemAdvise(d, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, 77));
	assert_cu(cu.cuMemAdvise_v2(d, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemAdvise(d, 8192, (CUmem_advise)7, 0));
	assert_cu_is(CUDA_ERROR_INVALID_DEVICE,
		     cu.cuMemAdvise(d, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
	assert_cu(cu.cuMemAdvise(d, 8192, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 77));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemAdvise_v2(d, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, node));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemAdvise_v2(d, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, bad_node));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemRangeGetAttribute(where, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, d, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemRangeGetAttribute(where, 4, (CUmem_range_attribute)0, d, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemRangeGetAttribute(where, 4, (CUmem_range_attribute)9, d, 1));
	assert_cu_is(
		CUDA_ERROR_INVALID_VALUE,
		cu.cuMemRangeGetAttribute(where, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, d, 8193));
	assert_cu_is(
		CUDA_ERROR_INVALID_VALUE,
		cu.cuMemRangeGetAttribute(where, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemRangeGetAttribute(where, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, d, 1));
	assert_cu(cu.cuStreamAttachMemAsync(NULL, d, 0, CU_MEM_ATTACH_HOST));
	assert_cu(cu.cuStreamAttachMemAsync(NULL, d, 8192, CU_MEM_ATTACH_GLOBAL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuStreamAttachMemAsync(NULL, d, 4096, CU_MEM_ATTACH_GLOBAL));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuStreamAttachMemAsync(NULL, d, 0, CU_MEM_ATTACH_SINGLE));
	assert_cu(cu.cuMemFree_v2(d));
	assert_cu(cu.cuMemFree_v2(plain));
}

static int32_t said(CUmem_range_attribute what, CUdeviceptr d, size_t n)
{
	int32_t value = 99;

	assert_cu(cu.cuMemRangeGetAttribute(&value, sizeof(value), what, d, n));
	return value;
}

#define MOSTLY	       CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY
#define PREFERRED      CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION
#define PREFERRED_TYPE CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
#define PREFERRED_ID   CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID
#define FETCHED	       CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
#define FETCHED_TYPE   CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE
#define FETCHED_ID     CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID

/* What holds for all of the pages that are asked about; a hint is about whole pages. */
static void test_advice_is_told_where_it_holds_for_all(void **state)
{
	CUdeviceptr d;

	assert_cu(cu.cuMemAllocManaged(&d, 16384, CU_MEM_ATTACH_GLOBAL));
	assert_int_equal(said(MOSTLY, d, 16384), 0);
	assert_int_equal(said(PREFERRED, d, 16384), CU_DEVICE_INVALID);
	assert_int_equal(said(FETCHED, d, 16384), CU_DEVICE_INVALID);
	assert_cu(cu.cuMemAdvise(d + 5000, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	assert_int_equal(said(MOSTLY, d + 4096, 4096), 1);
	assert_int_equal(said(MOSTLY, d + 4095, 2), 0);
	assert_int_equal(said(MOSTLY, d + 8191, 2), 0);
	assert_cu(cu.cuMemAdvise(d, 16384, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	assert_int_equal(said(MOSTLY, d, 16384), 1);
	assert_cu(cu.cuMemAdvise(d + 8192, 4096, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
	assert_int_equal(said(MOSTLY, d, 8192), 1);
	assert_int_equal(said(MOSTLY, d, 8193), 0);
	assert_int_equal(said(MOSTLY, d + 12288, 4096), 1);
	assert_cu(cu.cuMemAdvise(d, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
	assert_cu(cu.cuMemAdvise(d + 8192, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
				 CU_DEVICE_CPU));
	assert_int_equal(said(PREFERRED, d, 8192), 0);
	assert_int_equal(said(PREFERRED, d + 8192, 8192), CU_DEVICE_CPU);
	assert_int_equal(said(PREFERRED, d, 16384), CU_DEVICE_INVALID);
	assert_cu(cu.cuMemAdvise(d, 16384, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
	assert_int_equal(said(PREFERRED, d, 8192), CU_DEVICE_INVALID);
	assert_cu(cu.cuMemPrefetchAsync(d, 16384, CU_DEVICE_CPU, NULL));
	assert_cu(cu.cuMemPrefetchAsync(d, 4096, 0, NULL));
	assert_int_equal(said(FETCHED, d, 1), 0);
	assert_int_equal(said(FETCHED, d + 4096, 12288), CU_DEVICE_CPU);
	assert_int_equal(said(FETCHED, d, 16384), CU_DEVICE_INVALID);
	assert_int_equal(said(MOSTLY, d, 8192), 1);
	assert_cu(cu.cuMemFree_v2(d));
}

static void test_advice_by_location_keeps_nodes_of_the_host_apart(void **state)
{
	const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
			    host = {CU_MEM_LOCATION_TYPE_HOST, 7},
			    node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 3},
			    here = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 9};
	int32_t type = 99, id = 99, mostly = 99;
	CUmem_range_attribute ids[] = {PREFERRED_TYPE, PREFERRED_ID, MOSTLY};
	void *data[] = {&type, &id, &mostly};
	size_t sizes[] = {4, 4, 4};
	CUdeviceptr d;

	assert_cu(cu.cuMemAllocManaged(&d, 8192, CU_MEM_ATTACH_GLOBAL));
	assert_int_equal(said(PREFERRED_TYPE, d, 8192), CU_MEM_LOCATION_TYPE_NONE);
	assert_cu(cu.cuMemAdvise_v2(d, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
	assert_cu(cu.cuMemAdvise_v2(d + 4096, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
	assert_cu(cu.cuMemRangeGetAttributes(data, sizes, ids, 3, d, 4096));
	assert_int_equal(type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
	assert_int_equal(id, 3);
	assert_int_equal(mostly, 0);
	assert_int_equal(said(PREFERRED, d, 4096), CU_DEVICE_CPU);
	assert_int_equal(said(PREFERRED_TYPE, d + 4096, 4096), CU_MEM_LOCATION_TYPE_HOST);
	assert_int_equal(said(PREFERRED_TYPE, d, 8192), CU_MEM_LOCATION_TYPE_NONE);
	assert_cu(cu.cuMemPrefetchAsync_v2(d, 8192, here, 0, NULL));
	assert_int_equal(said(FETCHED_TYPE, d, 8192), CU_MEM_LOCATION_TYPE_HOST_NUMA);
	assert_true(said(FETCHED_ID, d, 8192) >= 0);
	assert_cu(cu.cuMemPrefetchAsync_v2(d, 8192, device, 0, NULL));
	assert_int_equal(said(FETCHED_TYPE, d, 8192), CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(said(FETCHED_ID, d, 8192), 0);
	sizes[2] = 8;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemRangeGetAttributes(data, sizes, ids, 3, d, 4096));
	assert_cu(cu.cuMemFree_v2(d));
}

static void expect_accessors(CUdeviceptr d, size_t n, int32_t a, int32_t b)
{
	int32_t by[3] = {99, 99, 99};

	assert_cu(cu.cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, d,
					    n));
	assert_int_equal(by[0], a);
	assert_int_equal(by[1], b);
	assert_int_equal(by[2], CU_DEVICE_INVALID);
}

static void test_advice_lists_who_accesses_all_of_it(void **state)
{
	int32_t first[2] = {99, 99};
	CUdeviceptr d;

	assert_cu(cu.cuMemAllocManaged(&d, 8192, CU_MEM_ATTACH_GLOBAL));
	expect_accessors(d, 8192, CU_DEVICE_INVALID, CU_DEVICE_INVALID);
	assert_cu(cu.cuMemAdvise(d, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
	assert_cu(cu.cuMemAdvise(d, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
	expect_accessors(d, 4096, 0, CU_DEVICE_CPU);
	expect_accessors(d, 8192, CU_DEVICE_CPU, CU_DEVICE_INVALID);
	assert_cu(cu.cuMemRangeGetAttribute(first, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, d, 1));
	assert_int_equal(first[0], 0);
	assert_int_equal(first[1], 99);
	assert_cu(cu.cuMemAdvise(d, 1, CU_MEM_ADVISE_UNSET_ACCESSED_BY, CU_DEVICE_CPU));
	expect_accessors(d, 1, 0, CU_DEVICE_INVALID);
	expect_accessors(d + 4096, 1, CU_DEVICE_CPU, CU_DEVICE_INVALID);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemRangeGetAttribute(first, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, d, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuMemRangeGetAttribute(first, 0, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, d, 1));
	assert_cu(cu.cuMemFree_v2(d));
}

/* The fake engine gives no address twice, so the same one is made to come again. */
static void test_advice_goes_with_its_allocation(void **state)
{
	CUdeviceptr d, again;

	assert_cu(cu.cuMemAllocManaged(&d, 8192, CU_MEM_ATTACH_GLOBAL));
	assert_cu(cu.cuMemAdvise(d, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	assert_cu(cu.cuMemFree_v2(d));
	engine->host_at = d;
	assert_cu(cu.cuMemAllocManaged(&again, 8192, CU_MEM_ATTACH_GLOBAL));
	assert_int_equal(again, d);
	assert_int_equal(said(MOSTLY, d, 8192), 0);
	assert_cu(cu.cuMemFree_v2(again));
}

#define N_PAGES	       24
#define N_BYTES(pages) ((pages)*4096 - 100) /* of which the last page is no whole one */

struct said_of_page {
	int mostly, preferred, fetched;
};

struct hint {
	unsigned first, n, kind; /* pages */
	CUdevice device;
};

static struct hint draw_hint(uint32_t *seed)
{
	struct hint h;

	*seed = *seed * 1664525 + 1013904223;
	h.first = (*seed >> 8) % N_PAGES;
	h.n = 1 + (*seed >> 13) % (N_PAGES - h.first);
	h.kind = (*seed >> 20) % 5;
	h.device = *seed >> 28 & 1 ? CU_DEVICE_CPU : 0;
	return h;
}

static void give_hint(CUdeviceptr d, const struct hint *h, struct said_of_page *pages)
{
	static const CUmem_advise advice[] = {
		CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY,
		CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION};
	CUdeviceptr at = d + h->first * 4096;

	if (h->kind < 4)
		assert_cu(cu.cuMemAdvise(at, N_BYTES(h->n), advice[h->kind], h->device));
	else
		assert_cu(cu.cuMemPrefetchAsync(at, N_BYTES(h->n), h->device, NULL));
	for (unsigned p = h->first; p < h->first + h->n; p++) {
		switch (h->kind) {
		case 0:
		case 1: pages[p].mostly = h->kind == 0; break;
		case 2: pages[p].preferred = h->device; break;
		case 3: pages[p].preferred = CU_DEVICE_INVALID; break;
		default: pages[p].fetched = h->device; break;
		}
	}
}

static void expect_said(CUdeviceptr d, const struct hint *h, const struct said_of_page *pages)
{
	struct said_of_page all = pages[h->first];
	CUdeviceptr at = d + h->first * 4096;

	for (unsigned p = h->first; p < h->first + h->n; p++) {
		all.mostly &= pages[p].mostly;
		if (pages[p].preferred != all.preferred)
			all.preferred = CU_DEVICE_INVALID;
		if (pages[p].fetched != all.fetched)
			all.fetched = CU_DEVICE_INVALID;
	}
	assert_int_equal(said(MOSTLY, at, N_BYTES(h->n)), all.mostly);
	assert_int_equal(said(PREFERRED, at, N_BYTES(h->n)), all.preferred);
	assert_int_equal(said(FETCHED, at, N_BYTES(h->n)), all.fetched);
}

/* Against the simplest thing that is right: what is said of each page. */
static void test_advice_of_random_ranges_is_that_of_their_pages(void **state)
{
	struct said_of_page pages[N_PAGES];
	uint32_t seed = 12345;
	CUdeviceptr d;

	assert_cu(cu.cuMemAllocManaged(&d, N_BYTES(N_PAGES), CU_MEM_ATTACH_GLOBAL));
	for (unsigned p = 0; p < N_PAGES; p++)
		pages[p] = (struct said_of_page){0, CU_DEVICE_INVALID, CU_DEVICE_INVALID};
	for (unsigned i = 0; i < 3000; i++) {
		struct hint given = draw_hint(&seed), asked = draw_hint(&seed);

		give_hint(d, &given, pages);
		expect_said(d, &given, pages);
		expect_said(d, &asked, pages);
	}
	assert_cu(cu.cuMemFree_v2(d));
}

static void test_pointer_attributes_tell_the_kinds_apart(void **state)
{
	CUpointer_attribute ids[] = {
		CU_POINTER_ATTRIBUTE_CONTEXT,	     CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	unsigned type = 9;
	CUcontext ctx;
	CUdeviceptr a, dp;
	void *hp = &a, *p;
	unsigned managed = 0xaaaaaaaa; /* all of it is read */
	int ordinal = 9;
	void *data[] = {&ctx, &type, &dp, &hp, &managed, &ordinal};

	assert_cu(cu.cuMemAlloc_v2(&a, 64));
	assert_cu(cu.cuPointerGetAttributes(6, ids, data, a + 3));
	assert_ptr_equal(ctx, context);
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(dp, a + 3);
	assert_null(hp);
	assert_int_equal(managed, 0);
	assert_int_equal(ordinal, 0);
	assert_cu(cu.cuMemHostAlloc(&p, 64, 0));
	assert_cu(cu.cuPointerGetAttributes(6, ids, data, (CUdeviceptr)p));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	assert_ptr_equal(hp, p);
	assert_cu(cu.cuPointerGetAttributes(6, ids, data, (CUdeviceptr)&type));
	assert_int_equal(type, 0);
	assert_null(ctx);
	assert_ptr_equal(hp, &type);
	assert_int_equal(ordinal, -2);
	managed = 0xaaaaaaaa;
	assert_cu(cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_MAPPED, a));
	assert_int_equal(managed, 1);
	assert_cu(cu.cuMemAllocAsync(&dp, 64, NULL));
	assert_cu(cu.cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, dp));
	assert_null(ctx); /* a pool's */
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					      (CUdeviceptr)&type));
}

static uint64_t attribute_of(CUdeviceptr ptr, CUpointer_attribute attr)
{
	uint64_t value = 0;

	assert_cu(cu.cuPointerGetAttribute(&value, attr, ptr));
	return value;
}

/* As an H200's driver tells, which came to know them with 12.8. */
static void test_pointer_attributes_of_mappings_and_blocks(void **state)
{
	CUdeviceptr a, b, pooled;
	uint64_t value;
	void *pinned;

	assert_cu(cu.cuMemAlloc_v2(&a, 64));
	assert_cu(cu.cuMemAlloc_v2(&b, 64));
	assert_cu(cu.cuMemAllocAsync(&pooled, 64, NULL));
	assert_cu(cu.cuMemHostAlloc(&pinned, 64, 0));
	assert_int_equal(attribute_of(a, CU_POINTER_ATTRIBUTE_MAPPING_SIZE), 0);
	assert_int_equal(attribute_of(a, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR), 0);
	assert_int_not_equal(attribute_of(a, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID),
			     attribute_of(b, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID));
	assert_int_equal(attribute_of(a + 8, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE), 1);
	assert_int_equal(attribute_of(pooled, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE), 0);
	assert_int_equal(
		attribute_of((CUdeviceptr)pinned, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE),
		0);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID,
					      (CUdeviceptr)&value));
}

/* ---- memory of graphs ---- */

static CUdeviceptr add_graph_memory(CUgraph g, CUgraphNode *node)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {.poolProps = pool_props, .bytesize = 4096};

	assert_cu(cu.cuGraphAddMemAllocNode(node, g, NULL, 0, &p));
	return p.dptr;
}

static uint64_t graph_bytes(CUgraphMem_attribute attr)
{
	uint64_t bytes = 7;

	assert_cu(cu.cuDeviceGetGraphMemAttribute(0, attr, &bytes));
	return bytes;
}

static void test_graph_memory_is_there_from_its_node_until_nothing_names_it(void **state)
{
	CUgraphNode node;
	CUgraphExec x;
	CUgraph g;
	CUdeviceptr a;

	assert_cu(cu.cuGraphCreate(&g, 0));
	a = add_graph_memory(g, &node);
	assert_int_equal(last_body(MEM_ALLOC, mem_alloc)->size, 4096);
	assert_int_equal(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 4096);
	assert_cu(cu.cuGraphInstantiateWithFlags(&x, g, 0));
	assert_cu(cu.cuGraphDestroy(g));
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 0);
	assert_cu(cu.cuGraphExecDestroy(x));
	assert_int_equal(last_body(MEM_FREE_ASYNC, mem_free)->addr, a);
	assert_int_equal(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	assert_int_equal(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 4096);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(a));
}

static void test_graph_memory_that_is_not_added_is_given_back(void **state)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {.poolProps = pool_props, .bytesize = 4096, .dptr = 5};
	CUgraphNode node;
	CUgraph g;

	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuGraphAddMemAllocNode(&node, NULL, NULL, 0, &p));
	assert_int_equal(p.dptr, 5);
	assert_int_equal(count(GSB_REC_MEM_ALLOC), 1);
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 1);
	assert_cu(cu.cuGraphCreate(&g, 0));
	engine->fail_type = GSB_REC_MEM_ALLOC;
	engine->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuGraphAddMemAllocNode(&node, g, NULL, 0, &p));
	assert_int_equal(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	assert_cu(cu.cuGraphDestroy(g));
}

/* The stream of the free may be far behind. */
static void test_graph_memory_ends_behind_the_stream_that_frees_it(void **state)
{
	CUgraphNode node;
	CUgraphExec x;
	CUstream s;
	CUgraph g;
	CUdeviceptr a;
	uint64_t event;

	assert_cu(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	assert_cu(cu.cuGraphCreate(&g, 0));
	a = add_graph_memory(g, &node);
	assert_cu(cu.cuGraphInstantiateWithFlags(&x, g, 0));
	assert_cu(cu.cuGraphLaunch(x, s));
	assert_cu(cu.cuGraphDestroy(g));
	assert_cu(cu.cuGraphExecDestroy(x));
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 0); /* it is in use */
	assert_cu(cu.cuMemFreeAsync(a, s));
	assert_int_equal(last(GSB_REC_EVENT_RECORD)->rec.stream, (uint64_t)s);
	event = last_body(EVENT_RECORD, event_record)->event;
	assert_int_equal(last_body(MEM_FREE_ASYNC, mem_free)->addr, a);
	assert_int_equal(last_body(STREAM_WAIT_EVENT, object)->handle, event);
	assert_int_equal(last(GSB_REC_STREAM_WAIT_EVENT)->rec.stream,
			 last(GSB_REC_MEM_FREE_ASYNC)->rec.stream);
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_graph_memory_freed_by_a_call_waits_for_all_work(void **state)
{
	CUgraphNode node;
	CUgraphExec x;
	CUgraph g;
	CUdeviceptr a;

	assert_cu(cu.cuGraphCreate(&g, 0));
	a = add_graph_memory(g, &node);
	assert_cu(cu.cuGraphInstantiateWithFlags(&x, g, 0));
	assert_cu(cu.cuGraphLaunch(x, NULL));
	assert_cu(cu.cuMemFree_v2(a));
	assert_int_equal(count(GSB_REC_MEM_FREE) + count(GSB_REC_MEM_FREE_ASYNC), 0);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(a));
	assert_cu(cu.cuGraphExecDestroy(x));
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 0);
	assert_cu(cu.cuGraphDestroy(g));
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 1);
}

/* A user object has the executable graph end in a host function, where nothing can be posted. */
static void on_object_gone(void *object)
{
}

static void test_graph_memory_ends_beside_a_user_object(void **state)
{
	CUuserObject object;
	CUgraphNode node;
	CUgraphExec x;
	CUgraph g;
	CUdeviceptr a;

	assert_cu(cu.cuGraphCreate(&g, 0));
	a = add_graph_memory(g, &node);
	assert_cu(cu.cuGraphAddMemFreeNode(&node, g, &node, 1, a));
	assert_cu(cu.cuUserObjectCreate(&object, NULL, on_object_gone, 1,
					CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	assert_cu(cu.cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	assert_cu(cu.cuGraphInstantiateWithFlags(&x, g, 0));
	assert_cu(cu.cuGraphLaunch(x, NULL));
	assert_cu(cu.cuGraphDestroy(g));
	assert_cu(cu.cuGraphExecDestroy(x));
	assert_int_equal(last_body(MEM_FREE_ASYNC, mem_free)->addr, a);
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 1);
	assert_cu(cu.cuCtxSynchronize());
}

/* A context takes its graphs' memory along, and what is at its address later is another's. */
static void test_graph_memory_goes_with_its_context(void **state)
{
	CUcontext other;
	CUgraphNode node;
	CUgraph g;
	CUdeviceptr a, base;

	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuGraphCreate(&g, 0));
	a = add_graph_memory(g, &node);
	assert_int_equal(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 4096);
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_int_equal(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	assert_cu_is(CUDA_ERROR_NOT_FOUND, cu.cuMemGetAddressRange_v2(&base, NULL, a));
	assert_cu(cu.cuCtxSetCurrent(context));
	assert_cu(cu.cuGraphDestroy(g));
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 0);
}

/* ---- what a runtime keeps with a context ---- */

typedef CUresult set_fn(CUcontext, void *, void *, void (*)(CUcontext, void *, void *));
typedef CUresult remove_fn(CUcontext, void *);
typedef CUresult get_fn(void **, CUcontext, void *);

static int n_dtors;

static void on_dtor(CUcontext ctx, void *key, void *value)
{
	n_dtors++;
}

static void test_context_storage_keeps_values_until_the_context_ends(void **state)
{
	const CUuuid id = {{(char)0xc6, (char)0x93, 0x33, 0x6e, 0x11, 0x21, (char)0xdf, 0x11,
			    (char)0xa8, (char)0xc3, 0x68, (char)0xf3, 0x55, (char)0xd8, (char)0x95,
			    (char)0x93}};
	const void *const *table;
	void *value = &value, *key = &n_dtors;
	CUcontext other;

	assert_cu(cu.cuGetExportTable((const void **)&table, &id));
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, ((get_fn *)table[2])(&value, NULL, key));
	assert_null(value);
	assert_cu(((set_fn *)table[0])(NULL, key, &other, on_dtor));
	assert_cu(((get_fn *)table[2])(&value, other, key));
	assert_ptr_equal(value, &other);
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, ((get_fn *)table[2])(&value, context, key));
	assert_cu(((set_fn *)table[0])(NULL, &key, &other, on_dtor));
	assert_cu(((remove_fn *)table[1])(other, &key));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, ((remove_fn *)table[1])(other, &key));
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_int_equal(n_dtors, 1);
}

/* ---- what cuFFT asks for ---- */

typedef int visitor(void *user, CUfunction fn, const char *name);
typedef int visit_fn(CUcontext, CUmodule, visitor *, void *user);

static int keep_function(void *user, CUfunction fn, const char *name)
{
	assert_string_equal(name, FAKE_KERNEL);
	*(CUfunction *)user = fn;
	return 3; /* a count of its own */
}

static void test_module_table_shows_each_function_with_its_name(void **state)
{
	const CUuuid id = {{0x6e, 0x16, 0x3f, (char)0xbe, (char)0xb9, 0x58, 0x44, 0x4d, (char)0x83,
			    0x5c, (char)0xe1, (char)0x82, (char)0xaf, (char)0xf1, (char)0x99,
			    0x1e}};
	CUfunction found = NULL, named;
	CUmodule mod = load_module();
	const void *const *table;
	visit_fn *visit;

	assert_cu(cu.cuGetExportTable((const void **)&table, &id));
	assert_int_equal((uintptr_t)table[0], 99 * sizeof(void *));
	visit = (visit_fn *)table[7];
	assert_int_equal(visit(context, mod, keep_function, &found), 1);
	assert_cu(cu.cuModuleGetFunction(&named, mod, FAKE_KERNEL));
	assert_ptr_equal(found, named);
	found = NULL;
	assert_int_equal(visit(context, (CUmodule)named, keep_function, &found), 0);
	assert_null(found);
}

/* ---- what cuBLAS and cuSOLVER ask for ---- */

typedef CUresult current_fn(CUcontext *);
typedef CUresult ctx_id_fn(CUcontext, unsigned long long *);
typedef CUresult stream_fn(CUcontext, CUstream, CUstream *);
typedef CUresult stream_id_fn(CUcontext, CUstream, uint64_t *);

static void test_tool_table_knows_the_current_context(void **state)
{
	const CUuuid id = {{0x42, (char)0xd8, 0x5a, (char)0x81, 0x23, (char)0xf6, (char)0xcb, 0x47,
			    (char)0x82, (char)0x98, (char)0xf6, (char)0xe7, (char)0x8a, 0x3a,
			    (char)0xec, (char)0xdc}};
	const void *const *table;
	CUcontext here = NULL;

	assert_cu(cu.cuGetExportTable((const void **)&table, &id));
	assert_cu(((current_fn *)table[2])(&here));
	assert_ptr_equal(here, context);
	assert_cu(cu.cuCtxSetCurrent(NULL));
	assert_cu(((current_fn *)table[2])(&here));
	assert_null(here);
}

static uint64_t tool_id(const void *const *table, CUstream stream)
{
	uint64_t id = 0;
	CUstream tool;

	assert_cu(((stream_fn *)table[51])(context, stream, &tool));
	assert_non_null(tool);
	assert_cu(((stream_id_fn *)table[39])(context, tool, &id));
	return id;
}

static void test_tool_table_tells_contexts_and_streams_apart(void **state)
{
	const CUuuid id = {{0x21, 0x31, (char)0x8c, 0x60, (char)0x97, 0x14, 0x32, 0x48, (char)0x8c,
			    (char)0xa6, 0x41, (char)0xff, 0x73, 0x24, (char)0xc8, (char)0xf2}};
	const void *const *table;
	unsigned long long number, id_of_ctx = 0;
	CUstream stream;

	assert_cu(cu.cuGetExportTable((const void **)&table, &id));
	assert_int_equal((uintptr_t)table[0], 93 * sizeof(void *));
	assert_cu(cu.cuCtxGetId(context, &number));
	assert_cu(((ctx_id_fn *)table[4])(context, &id_of_ctx));
	assert_int_equal(id_of_ctx, number);
	assert_cu(cu.cuStreamCreate(&stream, 0));
	assert_cu(cu.cuStreamGetId(stream, &number));
	assert_int_equal(tool_id(table, stream), number);
	assert_cu(cu.cuStreamGetId(NULL, &number));
	assert_int_equal(tool_id(table, NULL), number);
	assert_int_not_equal(tool_id(table, NULL), tool_id(table, stream));
	assert_cu(cu.cuStreamDestroy_v2(stream));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     ((stream_id_fn *)table[39])(context, stream, &(uint64_t){0}));
}

/* Who asks calls without a look: each word has to be a function. */
static void test_table_of_places_answers_in_each_of_its_slots(void **state)
{
	const CUuuid id = {{0x17, 0x34, (char)0xdc, 0x26, (char)0x80, 0x0d, 0x47, 0x45, (char)0x87,
			    0x26, (char)0xc0, (char)0xf1, (char)0xe7, (char)0xdd, (char)0x8b,
			    (char)0xca}};
	const void *const *table;

	assert_cu(cu.cuGetExportTable((const void **)&table, &id));
	assert_int_equal((uintptr_t)table[0], 17 * sizeof(void *));
	for (unsigned i = 1; i < 17; i++)
		assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, ((CUresult(*)(void))table[i])());
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(test_profiler_is_switched_for_nobody, set_up),
	cmocka_unit_test_setup(test_context_that_was_attached_ends_with_the_last_that_detaches,
			       set_up),
	cmocka_unit_test_setup(test_device_queries_answer_from_the_welcome, set_up),
	cmocka_unit_test_setup(test_device_has_no_peers, set_up),
	cmocka_unit_test_setup(test_context_has_no_peer_on_its_own_device, set_up),
	cmocka_unit_test_setup(test_device_queries_refuse_what_is_not_there, set_up),
	cmocka_unit_test_setup(test_created_context_is_pushed_and_popped, set_up),
	cmocka_unit_test_setup(test_destroyed_context_is_stale_everywhere, set_up),
	cmocka_unit_test_setup(test_indexes_of_a_context_are_taken_again_only_when_it_has_ended,
			       set_up),
	cmocka_unit_test_setup(test_context_is_made_while_another_one_ends, set_up),
	cmocka_unit_test_setup(test_context_that_another_thread_has_destroyed_stays_current,
			       set_up),
	cmocka_unit_test_setup(test_current_context_is_the_threads_own, set_up),
	cmocka_unit_test_setup(test_primary_context_keeps_its_handle_and_counts, set_up),
	cmocka_unit_test_setup(test_reset_of_the_primary_context_keeps_its_references, set_up),
	cmocka_unit_test_setup(test_failed_context_leaves_nothing_behind, set_up),
	cmocka_unit_test_setup(test_context_limits_are_honest, set_up),
	cmocka_unit_test_setup(test_module_image_arrives_byte_by_byte, set_up),
	cmocka_unit_test_setup(test_module_from_a_wrapped_fatbin_is_sent_without_wrapper, set_up),
	cmocka_unit_test_setup(test_module_load_fills_the_logs, set_up),
	cmocka_unit_test_setup(test_module_images_that_are_none_are_refused_here, set_up),
	cmocka_unit_test_setup(test_module_from_a_file, set_up),
	cmocka_unit_test_setup(test_module_functions_and_globals_by_name, set_up),
	cmocka_unit_test_setup(
		test_function_that_two_threads_fetch_is_one_and_no_index_is_used_twice, set_up),
	cmocka_unit_test_setup(test_function_attributes_and_parameters_come_with_it, set_up),
	cmocka_unit_test_setup(test_function_attribute_is_set_here_and_posted, set_up),
	cmocka_unit_test_setup(test_function_attribute_of_clusters_is_kept_here, set_up),
	cmocka_unit_test_setup(test_occupancy_is_the_engines_answer, set_up),
	cmocka_unit_test_setup(test_library_kernel_launches_in_every_context, set_up),
	cmocka_unit_test_setup(test_managed_variable_of_a_module_goes_with_it, set_up),
	cmocka_unit_test_setup(test_managed_variable_of_a_library_is_one_in_all_contexts, set_up),
	cmocka_unit_test_setup(test_module_without_room_for_its_managed_variables_is_not_loaded,
			       set_up),
	cmocka_unit_test_setup(test_library_without_a_context_uses_the_primary_one, set_up),
	cmocka_unit_test_setup(test_library_copies_an_image_that_is_not_preserved, set_up),
	cmocka_unit_test_setup(test_library_option_without_a_value_leaves_the_image_to_be_copied,
			       set_up),
	cmocka_unit_test_setup(test_memory_is_allocated_found_and_freed, set_up),
	cmocka_unit_test_setup(test_free_waits_for_no_answer, set_up),
	cmocka_unit_test_setup(test_free_waits_for_the_work_of_its_context, set_up),
	cmocka_unit_test_setup(test_allocation_that_fails_changes_nothing, set_up),
	cmocka_unit_test_setup(test_pool_memory_is_freed_in_its_stream, set_up),
	cmocka_unit_test_setup(test_pool_counts_what_is_its_own_up_to_its_limit, set_up),
	cmocka_unit_test_setup(test_pool_that_ends_leaves_its_memory_and_the_device_with_another,
			       set_up),
	cmocka_unit_test_setup(test_graph_memory_is_there_from_its_node_until_nothing_names_it,
			       set_up),
	cmocka_unit_test_setup(test_graph_memory_that_is_not_added_is_given_back, set_up),
	cmocka_unit_test_setup(test_graph_memory_ends_behind_the_stream_that_frees_it, set_up),
	cmocka_unit_test_setup(test_graph_memory_freed_by_a_call_waits_for_all_work, set_up),
	cmocka_unit_test_setup(test_graph_memory_ends_beside_a_user_object, set_up),
	cmocka_unit_test_setup(test_graph_memory_goes_with_its_context, set_up),
	cmocka_unit_test_setup(test_pool_of_a_place_is_that_of_the_device, set_up),
	cmocka_unit_test_setup(test_pools_of_other_places_are_refused_as_wrong_or_as_not_carried,
			       set_up),
	cmocka_unit_test_setup(test_pool_is_of_the_device_and_for_it, set_up),
	cmocka_unit_test_setup(test_pinned_memory_has_one_address_on_both_sides, set_up),
	cmocka_unit_test_setup(test_pinned_memory_beyond_the_limit_names_the_limit_once, set_up),
	cmocka_unit_test_setup(test_managed_memory_is_host_memory_that_is_freed_as_device_memory,
			       set_up),
	cmocka_unit_test_setup(test_advice_is_told_where_it_holds_for_all, set_up),
	cmocka_unit_test_setup(test_advice_by_location_keeps_nodes_of_the_host_apart, set_up),
	cmocka_unit_test_setup(test_advice_lists_who_accesses_all_of_it, set_up),
	cmocka_unit_test_setup(test_advice_goes_with_its_allocation, set_up),
	cmocka_unit_test_setup(test_advice_of_random_ranges_is_that_of_their_pages, set_up),
	cmocka_unit_test_setup(test_hints_on_managed_memory_are_checked, set_up),
	cmocka_unit_test_setup(test_pointer_attributes_tell_the_kinds_apart, set_up),
	cmocka_unit_test_setup(test_pointer_attributes_of_mappings_and_blocks, set_up),
	cmocka_unit_test_setup(test_tool_table_knows_the_current_context, set_up),
	cmocka_unit_test_setup(test_tool_table_tells_contexts_and_streams_apart, set_up),
	cmocka_unit_test_setup(test_table_of_places_answers_in_each_of_its_slots, set_up),
	cmocka_unit_test_setup(test_module_table_shows_each_function_with_its_name, set_up),
	cmocka_unit_test_setup(test_context_storage_keeps_values_until_the_context_ends, set_up),
};

int main(void)
{
	start_tenant();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
