/*
 * test_stream.c - streams, events, host functions: their order, their numbers, and who waits for what.
 */
#include "tests/unit/interpose.h"

static CUdeviceptr dev;

static CUstream make_stream(unsigned flags)
{
	CUstream s;

	assert_cu(cu.cuStreamCreate(&s, flags));
	return s;
}

static CUevent make_event(unsigned flags)
{
	CUevent e;

	assert_cu(cu.cuEventCreate(&e, flags));
	return e;
}

/* ---- streams ---- */

static void test_stream_create_posts_its_shape(void **state)
{
	CUstream s;
	int priority, least, greatest;
	unsigned flags;

	assert_cu(cu.cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -100));
	assert_int_equal(last_body(STREAM_CREATE, stream_create)->stream, (uint64_t)s);
	assert_int_equal(last_body(STREAM_CREATE, stream_create)->flags, GSB_STREAM_NON_BLOCKING);
	assert_int_equal(last_body(STREAM_CREATE, stream_create)->priority, -5);
	assert_cu(cu.cuCtxGetStreamPriorityRange(&least, &greatest));
	assert_int_equal(least, 0);
	assert_int_equal(greatest, -5);
	assert_cu(cu.cuStreamGetPriority(s, &priority));
	assert_int_equal(priority, -5);
	assert_cu(cu.cuStreamGetFlags(s, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuStreamCreate(&s, 2));
	assert_cu(cu.cuStreamDestroy_v2(s));
	assert_int_equal(last_body(STREAM_DESTROY, object)->handle, (uint64_t)s);
}

static void test_stale_and_default_streams_cannot_be_destroyed(void **state)
{
	CUstream s = make_stream(0);

	assert_cu(cu.cuStreamDestroy_v2(s));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(s));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(NULL));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(CU_STREAM_LEGACY));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(CU_STREAM_PER_THREAD));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(s));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamQuery(s));
}

static void test_stream_index_is_not_used_again_while_it_has_work(void **state)
{
	CUstream s = make_stream(0), t;

	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, s));
	assert_cu(cu.cuStreamDestroy_v2(s));
	for (int i = 0; i < 100; i++) {
		t = make_stream(0);
		assert_int_not_equal(gsb_handle_index((uint64_t)t), gsb_handle_index((uint64_t)s));
		assert_cu(cu.cuStreamDestroy_v2(t));
	}
}

/* All indexes were in use once; the longest rested one has work, all others have none. */
static void test_stream_is_made_though_the_first_free_index_has_work(void **state)
{
	static CUstream s[GSB_N_STREAMS];
	CUstream busy = make_stream(CU_STREAM_NON_BLOCKING), fresh;
	unsigned n = 0;

	while (!cu.cuStreamCreate(&s[n], CU_STREAM_NON_BLOCKING))
		n++;
	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, busy));
	assert_cu(cu.cuStreamDestroy_v2(busy));
	while (n)
		assert_cu(cu.cuStreamDestroy_v2(s[--n]));
	assert_cu(cu.cuStreamCreate(&fresh, CU_STREAM_NON_BLOCKING));
	assert_int_not_equal(gsb_handle_index((uint64_t)fresh), gsb_handle_index((uint64_t)busy));
	assert_cu(cu.cuStreamDestroy_v2(fresh));
	engine->hold = false;
}

static void test_stream_handles_never_repeat(void **state)
{
	CUstream first = make_stream(0), s;

	assert_cu(cu.cuStreamDestroy_v2(first));
	for (int i = 0; i < 500; i++) {
		s = make_stream(0);
		assert_ptr_not_equal(s, first);
		assert_cu(cu.cuStreamDestroy_v2(s));
	}
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamQuery(first));
}

static void test_stream_query_tells_pending_from_done(void **state)
{
	CUstream s = make_stream(0);

	assert_cu(cu.cuStreamQuery(s));
	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, s));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(s));
	assert_cu(cu.cuStreamQuery(s));
}

static void test_legacy_stream_waits_for_blocking_streams_only(void **state)
{
	CUstream blocking = make_stream(0), free_stream = make_stream(CU_STREAM_NON_BLOCKING);

	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, free_stream));
	assert_cu(cu.cuStreamQuery(NULL));
	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, blocking));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(NULL));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(CU_STREAM_LEGACY));
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(NULL));
	assert_cu(cu.cuStreamQuery(blocking));
}

static CUresult call_ctx_synchronize(void *arg)
{
	return cu.cuCtxSynchronize();
}

static void test_ctx_synchronize_waits_for_destroyed_streams_too(void **state)
{
	CUstream s = make_stream(CU_STREAM_NON_BLOCKING);
	struct waiter w;

	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, s));
	assert_cu(cu.cuStreamDestroy_v2(s));
	waiter_start(&w, call_ctx_synchronize, NULL);
	flush();
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_true(last(GSB_REC_FILL)->is_done);
}

static CUresult use_own_stream(void *arg)
{
	return cu.cuMemsetD8Async_ptsz(dev, 0, 4, NULL);
}

static void test_per_thread_streams_differ_and_end_with_their_thread(void **state)
{
	struct waiter w;
	uint64_t mine;

	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, CU_STREAM_PER_THREAD));
	mine = last(GSB_REC_FILL)->rec.stream;
	waiter_start(&w, use_own_stream, NULL);
	assert_cu(waiter_join(&w));
	assert_int_not_equal(last(GSB_REC_FILL)->rec.stream, mine);
	assert_int_equal(last_body(STREAM_DESTROY, object)->handle, last(GSB_REC_FILL)->rec.stream);
	assert_cu(cu.cuMemsetD8Async_ptsz(dev, 0, 4, NULL));
	assert_int_equal(last(GSB_REC_FILL)->rec.stream, mine);
}

static pthread_key_t late_key;
static CUresult late_results[2];

/* Of a program's own key, which is younger than the library's, so that its turn comes later. */
static void destroy_late(void *stream)
{
	CUcontext ctx = NULL;

	late_results[0] = cu.cuCtxGetCurrent(&ctx) || ctx != context;
	late_results[1] = cu.cuStreamDestroy_v2(stream);
}

static CUresult leave_a_stream(void *arg)
{
	CUstream s;
	CUresult result = cu.cuStreamCreate(&s, 0);

	return result ? result : (CUresult)pthread_setspecific(late_key, s);
}

static void test_thread_that_ends_may_use_its_context_until_its_keys_are_gone(void **state)
{
	struct waiter w;

	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, CU_STREAM_PER_THREAD));
	assert_int_equal(pthread_key_create(&late_key, destroy_late), 0);
	late_results[0] = late_results[1] = CUDA_ERROR_UNKNOWN;
	waiter_start(&w, leave_a_stream, NULL);
	assert_cu(waiter_join(&w));
	assert_cu(late_results[0]);
	assert_cu(late_results[1]);
	pthread_key_delete(late_key);
}

static void fill_late(void *unused)
{
	late_results[0] = cu.cuCtxSetCurrent(context);
	late_results[1] = cu.cuMemsetD8Async(dev, 0, 4, NULL);
}

static CUresult leave_a_key(void *arg)
{
	return (CUresult)pthread_setspecific(late_key, arg);
}

/* As the engine sees them now. */
static unsigned count_threads(void)
{
	await_look();
	return engine->n_threads;
}

/* Virtual time would wait for such a thread, and a process has only so many. */
static void test_thread_whose_keys_call_first_is_gone_behind_them(void **state)
{
	struct waiter w;
	unsigned had;

	assert_int_equal(pthread_key_create(&late_key, fill_late), 0);
	assert_cu(cu.cuCtxSynchronize()); /* this thread has its slot */
	had = count_threads();
	for (unsigned i = 0; i < 3; i++) {
		late_results[0] = late_results[1] = CUDA_ERROR_UNKNOWN;
		waiter_start(&w, leave_a_key, &w);
		assert_cu(waiter_join(&w));
		assert_cu(late_results[0]);
		assert_cu(late_results[1]);
	}
	assert_int_equal(count_threads(), had);
	pthread_key_delete(late_key);
}

static void test_stream_knows_context_device_and_id(void **state)
{
	CUstream s = make_stream(0);
	unsigned long long id, legacy;
	CUcontext ctx;
	CUdevice d = -1;
	CUstreamCaptureStatus status;

	assert_cu(cu.cuStreamGetCtx(s, &ctx));
	assert_ptr_equal(ctx, context);
	assert_cu(cu.cuStreamGetDevice(s, &d));
	assert_int_equal(d, 0);
	assert_cu(cu.cuStreamGetId(s, &id));
	assert_cu(cu.cuStreamGetId(NULL, &legacy));
	assert_int_not_equal(id, legacy);
	assert_cu(cu.cuStreamIsCapturing(s, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

/* ---- events ---- */

/* ---- attributes ---- */

static int sync_of(CUstream s)
{
	CUstreamAttrValue v;

	assert_cu(cu.cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	return (int)v.syncPolicy;
}

static int domain_of(CUstream s)
{
	CUstreamAttrValue v;

	assert_cu(cu.cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
	return (int)v.memSyncDomain;
}

static void test_stream_attributes_begin_as_a_drivers_do(void **state)
{
	CUstream s = make_stream(CU_STREAM_NON_BLOCKING);
	CUstreamAttrValue v;

	memset(&v, 0x55, sizeof(v));
	assert_cu(cu.cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v));
	assert_int_equal(v.memSyncDomainMap.default_, 0);
	assert_int_equal(v.memSyncDomainMap.remote, 1);
	assert_int_equal(v.pad[2], 0x55); /* no more than the attribute's own bytes */
	assert_cu(cu.cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
	assert_int_equal(v.accessPolicyWindow.num_bytes, 0);
	assert_int_equal(sync_of(s), -1);
	assert_int_equal(domain_of(NULL), CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT);
	for (int id = 0; id < 18; id++)
		if (id != 1 && id != 3 && (id < 8 || id > 10)) {
			assert_cu_is(CUDA_ERROR_INVALID_VALUE,
				     cu.cuStreamGetAttribute(s, (CUstreamAttrID)id, &v));
			assert_cu_is(CUDA_ERROR_INVALID_VALUE,
				     cu.cuStreamSetAttribute(s, (CUstreamAttrID)id, &v));
		}
	assert_cu(cu.cuStreamDestroy_v2(s));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
}

static CUresult set_window(CUstream s, size_t bytes, float ratio, CUaccessProperty miss)
{
	const CUstreamAttrValue v = {
		.accessPolicyWindow = {.base_ptr = (void *)dev,
				       .num_bytes = bytes,
				       .hitRatio = ratio,
				       .hitProp = CU_ACCESS_PROPERTY_PERSISTING,
				       .missProp = miss}};

	return cu.cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
}

static void test_stream_attributes_out_of_range_are_refused_and_change_nothing(void **state)
{
	const CUaccessProperty miss = CU_ACCESS_PROPERTY_STREAMING;
	CUstream s = make_stream(0);
	CUstreamAttrValue v;

	assert_cu(set_window(s, 1 << 27, 0.5f, miss));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, set_window(s, (1 << 27) + 1, 0.5f, miss));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, set_window(s, 64, 1.5f, miss));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, set_window(s, 64, -1, miss));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     set_window(s, 64, 0.5f, CU_ACCESS_PROPERTY_PERSISTING));
	assert_cu(cu.cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
	assert_int_equal(v.accessPolicyWindow.num_bytes, 1 << 27);
	assert_ptr_equal(v.accessPolicyWindow.base_ptr, (void *)dev);
	for (int i = 0; i < 6; i++) {
		v.syncPolicy = (CUsynchronizationPolicy)i;
		assert_cu_is(
			i >= 1 && i <= 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
			cu.cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
		v.memSyncDomain = (CUlaunchMemSyncDomain)i;
		assert_cu_is(i < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
			     cu.cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
		v.memSyncDomainMap.default_ = (unsigned char)i;
		v.memSyncDomainMap.remote = (unsigned char)(5 - i);
		assert_cu_is(
			i == 2 || i == 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
			cu.cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v));
	}
	assert_int_equal(sync_of(s), CU_SYNC_POLICY_BLOCKING_SYNC);
	assert_int_equal(domain_of(s), CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static CUresult set_priority(CUstream s, int priority)
{
	const CUstreamAttrValue v = {.priority = priority};

	return cu.cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v);
}

static int priority_of(CUstream s)
{
	int priority;

	assert_cu(cu.cuStreamGetPriority(s, &priority));
	return priority;
}

/* Clamped, as where a stream is made; the engine hears of what is new, in the stream. */
static void test_stream_priority_that_is_set_is_the_engines_too(void **state)
{
	CUstream s = make_stream(0);

	assert_cu(set_priority(s, -3));
	assert_int_equal(last_body(STREAM_PRIORITY, stream_priority)->priority, -3);
	assert_int_equal(last(GSB_REC_STREAM_PRIORITY)->rec.stream, (uint64_t)s);
	assert_cu(set_priority(s, -100));
	assert_int_equal(last_body(STREAM_PRIORITY, stream_priority)->priority, -5);
	assert_cu(set_priority(s, -77));
	assert_int_equal(count(GSB_REC_STREAM_PRIORITY), 2);
	assert_int_equal(priority_of(s), -5);
	assert_cu(set_priority(s, 9));
	assert_int_equal(priority_of(s), 0);
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_stream_attributes_are_copied_all_at_once(void **state)
{
	const CUstreamAttrValue sync = {.syncPolicy = CU_SYNC_POLICY_YIELD};
	CUstream a = make_stream(0), b = make_stream(0);

	assert_cu(set_priority(a, -2));
	assert_cu(cu.cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &sync));
	assert_cu(cu.cuStreamCopyAttributes(b, a));
	assert_int_equal(sync_of(b), CU_SYNC_POLICY_YIELD);
	assert_int_equal(priority_of(b), -2);
	assert_int_equal(last(GSB_REC_STREAM_PRIORITY)->rec.stream, (uint64_t)b);
	assert_cu(cu.cuStreamCopyAttributes(a, a));
	assert_cu(cu.cuStreamDestroy_v2(a));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamCopyAttributes(b, a));
	assert_cu(cu.cuStreamDestroy_v2(b));
}

/* An index is used again: the next stream is not told what was said of the last one. */
static void test_stream_attributes_are_not_those_of_a_stream_before(void **state)
{
	const CUstreamAttrValue sync = {.syncPolicy = CU_SYNC_POLICY_SPIN};

	for (int i = 0; i < GSB_N_STREAMS + 2; i++) {
		CUstream s = make_stream(0);

		assert_int_equal(sync_of(s), -1);
		assert_cu(cu.cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
						  &sync));
		assert_cu(cu.cuStreamDestroy_v2(s));
	}
}

static void test_stream_attributes_of_the_per_thread_form_are_the_threads_streams(void **state)
{
	const CUstreamAttrValue sync = {.syncPolicy = CU_SYNC_POLICY_SPIN};
	CUstreamAttrValue v;

	assert_cu(cu.cuStreamSetAttribute_ptsz(NULL, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
					       &sync));
	assert_int_equal(sync_of(CU_STREAM_PER_THREAD), CU_SYNC_POLICY_SPIN);
	assert_int_equal(sync_of(NULL), -1);
	assert_cu(
		cu.cuStreamGetAttribute_ptsz(NULL, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	assert_int_equal(v.syncPolicy, CU_SYNC_POLICY_SPIN);
	assert_cu(cu.cuStreamCopyAttributes_ptsz(CU_STREAM_LEGACY, NULL));
	assert_int_equal(sync_of(NULL), CU_SYNC_POLICY_SPIN);
}

static void test_stream_is_of_a_context_and_of_no_green_one(void **state)
{
	CUgreenCtx green = (CUgreenCtx)&green;
	CUstream s = make_stream(0);
	CUcontext ctx = NULL;

	assert_cu(cu.cuStreamGetCtx_v2(s, &ctx, &green));
	assert_ptr_equal(ctx, context);
	assert_null(green);
	assert_cu(cu.cuStreamGetCtx_v2_ptsz(NULL, &ctx, NULL));
	assert_ptr_equal(ctx, context);
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_event_that_was_never_recorded_is_complete(void **state)
{
	CUevent e = make_event(0);

	assert_cu(cu.cuEventQuery(e));
	assert_cu(cu.cuEventSynchronize(e));
	assert_cu(cu.cuStreamWaitEvent(NULL, e, 0));
	assert_int_equal(count(GSB_REC_STREAM_WAIT_EVENT), 0);
}

#define SHARED (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)

/* Their order with those of other programs is by their stamps. */
static void test_records_about_events_of_several_programs_are_stamped(void **state)
{
	CUevent e = make_event(SHARED), own = make_event(0);

	assert_cu(cu.cuEventRecord(own, NULL));
	assert_int_equal(last(GSB_REC_EVENT_RECORD)->rec.stamp, 0);
	assert_cu(cu.cuEventRecord(e, NULL));
	assert_int_not_equal(last(GSB_REC_EVENT_RECORD)->rec.stamp, 0);
	assert_cu(cu.cuStreamWaitEvent(NULL, own, 0));
	assert_int_equal(last(GSB_REC_STREAM_WAIT_EVENT)->rec.stamp, 0);
	assert_cu(cu.cuStreamWaitEvent(NULL, e, 0));
	assert_int_not_equal(last(GSB_REC_STREAM_WAIT_EVENT)->rec.stamp, 0);
	assert_cu(cu.cuEventSynchronize(e));
	assert_int_not_equal(last(GSB_REC_EVENT_AWAIT)->rec.stamp, 0);
}

/* It may have been recorded elsewhere. */
static void test_event_of_several_programs_is_asked_of_the_engine(void **state)
{
	CUevent e = make_event(SHARED);

	assert_cu(cu.cuStreamWaitEvent(NULL, e, 0));
	assert_int_equal(count(GSB_REC_STREAM_WAIT_EVENT), 1);
	engine->fail_type = GSB_REC_EVENT_AWAIT;
	engine->fail_result = CUDA_ERROR_NOT_READY;
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuEventQuery(e));
	assert_int_equal(last_body(EVENT_AWAIT, event_await)->event, (uint64_t)e);
	assert_true(last_body(EVENT_AWAIT, event_await)->only_ask);
	assert_cu(cu.cuEventQuery(e));
	assert_cu(cu.cuEventSynchronize(e));
	assert_false(last_body(EVENT_AWAIT, event_await)->only_ask);
	assert_int_equal(count(GSB_REC_EVENT_AWAIT), 3);
}

static void test_event_that_cannot_be_opened_leaves_nothing(void **state)
{
	CUipcEventHandle handle = {{0}};
	CUevent e = NULL;

	engine->fail_type = GSB_REC_EVENT_OPEN;
	engine->fail_result = CUDA_ERROR_MAP_FAILED;
	assert_cu_is(CUDA_ERROR_MAP_FAILED, cu.cuIpcOpenEventHandle(&e, handle));
	assert_null(e);
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuEventQuery((CUevent)last_body(EVENT_OPEN, event_open)->event));
	assert_cu(cu.cuIpcOpenEventHandle(&e, handle));
	assert_int_equal(last_body(EVENT_OPEN, event_open)->event, (uint64_t)e);
	assert_cu(cu.cuEventDestroy_v2(e));
}

static void test_event_handle_is_what_the_engine_says(void **state)
{
	CUevent e = make_event(SHARED);
	CUipcEventHandle handle;

	assert_cu_is(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, cu.cuIpcGetEventHandle(&handle, e));
	assert_int_equal(last_body(EVENT_EXPORT, object)->handle, (uint64_t)e);
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuIpcGetEventHandle(&handle, make_event(0)));
	assert_int_equal(count(GSB_REC_EVENT_EXPORT), 1);
}

static void test_event_of_several_programs_is_refused_by_an_engine_that_has_none(void **state)
{
	CUipcEventHandle handle = {{0}};
	CUevent e;

	engine->minor = 2;
	flush();
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuEventCreate(&e, SHARED));
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuIpcOpenEventHandle(&e, handle));
	engine->minor = GSB_WIRE_MINOR;
	flush();
}

static void test_event_records_count_up_and_complete(void **state)
{
	CUstream s = make_stream(0);
	CUevent e = make_event(0);
	uint64_t first;

	assert_cu(cu.cuEventRecord(e, s));
	first = last_body(EVENT_RECORD, event_record)->number;
	engine->hold = true;
	assert_cu(cu.cuEventRecord(e, s));
	assert_int_equal(last_body(EVENT_RECORD, event_record)->number, first + 1);
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuEventQuery(e));
	assert_cu(cu.cuStreamWaitEvent(NULL, e, 0));
	assert_int_equal(last_body(STREAM_WAIT_EVENT, object)->handle, (uint64_t)e);
	engine->hold = false;
	assert_cu(cu.cuEventSynchronize(e));
	assert_cu(cu.cuEventQuery(e));
}

static void test_event_numbers_go_on_when_an_index_is_used_again(void **state)
{
	uint64_t seen = 0, index = 0;

	for (int i = 0; i < 50; i++) {
		CUevent e = make_event(0);
		const struct gsb_rec_event_record *body;

		assert_cu(cu.cuEventQuery(e)); /* the former owner's records are not its own */
		assert_cu(cu.cuEventRecord(e, NULL));
		assert_cu(cu.cuEventSynchronize(e));
		body = last_body(EVENT_RECORD, event_record);
		if (gsb_handle_index(body->event) == index)
			assert_true(body->number > seen);
		index = gsb_handle_index(body->event);
		seen = body->number;
		assert_cu(cu.cuEventDestroy_v2(e));
		assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(e));
	}
}

static void test_elapsed_time_comes_from_the_device(void **state)
{
	CUevent a = make_event(0), b = make_event(0);
	float ms = -1;

	assert_cu(cu.cuEventRecord(a, NULL));
	assert_cu(cu.cuEventRecord(b, NULL));
	assert_cu(cu.cuEventSynchronize(b));
	assert_cu(cu.cuEventElapsedTime(&ms, a, b));
	assert_true(ms == 1.5f); /* each completion takes the test's engine that long */
	assert_cu(cu.cuEventElapsedTime_v2(&ms, b, a));
	assert_true(ms == -1.5f);
}

static void test_elapsed_time_of_unfit_events_is_refused(void **state)
{
	CUevent a = make_event(0), b = make_event(0), quick = make_event(CU_EVENT_DISABLE_TIMING);
	float ms;

	assert_cu(cu.cuEventRecord(a, NULL));
	assert_cu(cu.cuEventRecord(quick, NULL));
	assert_cu(cu.cuCtxSynchronize());
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, a, b));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, a, quick));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(NULL, a, a));
	engine->hold = true;
	assert_cu(cu.cuEventRecord(b, NULL));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime(&ms, a, b));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuEventCreate(&a, 8));
}

static void test_event_of_another_context_cannot_be_recorded(void **state)
{
	CUevent e = make_event(0);
	CUcontext other;

	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(e, NULL));
	assert_cu(cu.cuEventRecord(make_event(0), NULL));
	assert_cu(cu.cuStreamWaitEvent(NULL, e, 0)); /* waiting across contexts is allowed */
	assert_cu(cu.cuCtxDestroy_v2(other));
}

/* ---- host functions ---- */

struct call {
	_Atomic int n;
	pthread_t thread;
	CUresult inside, status;
	CUstream stream;
};

static void on_host_func(void *data)
{
	struct call *c = data;
	CUdeviceptr ptr;

	c->thread = pthread_self();
	c->inside = cu.cuMemAlloc_v2(&ptr, 16);
	c->n++;
}

static void on_callback(CUstream stream, CUresult status, void *data)
{
	struct call *c = data;

	c->stream = stream;
	c->status = status;
	c->n++;
}

static void test_host_function_runs_once_on_another_thread_in_stream_order(void **state)
{
	CUstream s = make_stream(0);
	unsigned before = engine->n_host_funcs_done;
	struct call c = {0};

	engine->hold = true;
	assert_cu(cu.cuLaunchHostFunc(s, on_host_func, &c));
	assert_cu(cu.cuMemsetD8Async(dev, 0, 4, s));
	flush();
	assert_int_equal(c.n, 0);
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(s));
	assert_int_equal(c.n, 1);
	assert_false(pthread_equal(c.thread, pthread_self()));
	assert_int_equal(c.inside, CUDA_ERROR_NOT_PERMITTED);
	assert_int_equal(engine->n_host_funcs_done, before + 1);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchHostFunc(s, NULL, &c));
}

static void test_callback_gets_stream_and_status(void **state)
{
	CUstream s = make_stream(0);
	struct call c = {.status = CUDA_ERROR_UNKNOWN};

	assert_cu(cu.cuStreamAddCallback(s, on_callback, &c, 0));
	assert_cu(cu.cuStreamSynchronize(s));
	assert_int_equal(c.n, 1);
	assert_ptr_equal(c.stream, s);
	assert_int_equal(c.status, CUDA_SUCCESS);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuStreamAddCallback(s, on_callback, &c, 1));
}

/* As when the ring is full behind the function, or its next record has to wait for room in a queue. */
static void test_end_of_a_host_function_needs_no_room_in_the_ring(void **state)
{
	unsigned before = engine->n_host_funcs_done;
	struct call c = {0};

	engine->hold = true;
	assert_cu(cu.cuLaunchHostFunc(NULL, on_host_func, &c));
	flush();
	engine->ignore_ring = true;
	engine->hold = false;
	while (engine->n_host_funcs_done == before)
		sched_yield();
	engine->ignore_ring = false;
	assert_cu(cu.cuCtxSynchronize());
	assert_int_equal(c.n, 1);
}

static void test_many_host_functions_all_run(void **state)
{
	struct call c = {0};

	for (int i = 0; i < 200; i++)
		assert_cu(cu.cuLaunchHostFunc(NULL, on_host_func, &c));
	assert_cu(cu.cuCtxSynchronize());
	assert_int_equal(c.n, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_stream_create_posts_its_shape, set_up),
		cmocka_unit_test_setup(test_stale_and_default_streams_cannot_be_destroyed, set_up),
		cmocka_unit_test_setup(test_stream_index_is_not_used_again_while_it_has_work,
				       set_up),
		cmocka_unit_test_setup(test_stream_is_made_though_the_first_free_index_has_work,
				       set_up),
		cmocka_unit_test_setup(test_stream_handles_never_repeat, set_up),
		cmocka_unit_test_setup(test_stream_query_tells_pending_from_done, set_up),
		cmocka_unit_test_setup(test_legacy_stream_waits_for_blocking_streams_only, set_up),
		cmocka_unit_test_setup(test_ctx_synchronize_waits_for_destroyed_streams_too,
				       set_up),
		cmocka_unit_test_setup(test_per_thread_streams_differ_and_end_with_their_thread,
				       set_up),
		cmocka_unit_test_setup(
			test_thread_that_ends_may_use_its_context_until_its_keys_are_gone, set_up),
		cmocka_unit_test_setup(test_thread_whose_keys_call_first_is_gone_behind_them,
				       set_up),
		cmocka_unit_test_setup(test_stream_knows_context_device_and_id, set_up),
		cmocka_unit_test_setup(test_stream_attributes_begin_as_a_drivers_do, set_up),
		cmocka_unit_test_setup(
			test_stream_attributes_out_of_range_are_refused_and_change_nothing, set_up),
		cmocka_unit_test_setup(test_stream_priority_that_is_set_is_the_engines_too, set_up),
		cmocka_unit_test_setup(test_stream_attributes_are_copied_all_at_once, set_up),
		cmocka_unit_test_setup(test_stream_attributes_are_not_those_of_a_stream_before,
				       set_up),
		cmocka_unit_test_setup(
			test_stream_attributes_of_the_per_thread_form_are_the_threads_streams,
			set_up),
		cmocka_unit_test_setup(test_stream_is_of_a_context_and_of_no_green_one, set_up),
		cmocka_unit_test_setup(test_event_that_was_never_recorded_is_complete, set_up),
		cmocka_unit_test_setup(test_records_about_events_of_several_programs_are_stamped,
				       set_up),
		cmocka_unit_test_setup(test_event_of_several_programs_is_asked_of_the_engine,
				       set_up),
		cmocka_unit_test_setup(test_event_that_cannot_be_opened_leaves_nothing, set_up),
		cmocka_unit_test_setup(test_event_handle_is_what_the_engine_says, set_up),
		cmocka_unit_test_setup(
			test_event_of_several_programs_is_refused_by_an_engine_that_has_none,
			set_up),
		cmocka_unit_test_setup(test_event_records_count_up_and_complete, set_up),
		cmocka_unit_test_setup(test_event_numbers_go_on_when_an_index_is_used_again,
				       set_up),
		cmocka_unit_test_setup(test_elapsed_time_comes_from_the_device, set_up),
		cmocka_unit_test_setup(test_elapsed_time_of_unfit_events_is_refused, set_up),
		cmocka_unit_test_setup(test_event_of_another_context_cannot_be_recorded, set_up),
		cmocka_unit_test_setup(
			test_host_function_runs_once_on_another_thread_in_stream_order, set_up),
		cmocka_unit_test_setup(test_callback_gets_stream_and_status, set_up),
		cmocka_unit_test_setup(test_end_of_a_host_function_needs_no_room_in_the_ring,
				       set_up),
		cmocka_unit_test_setup(test_many_host_functions_all_run, set_up),
	};

	start_tenant();
	if (cu.cuMemAlloc_v2(&dev, 4096))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
