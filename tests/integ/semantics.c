/*
 * semantics.c - what CUDA documents of streams, events, copies and contexts, asked of the whole road: kernels that
 * take different device time, events behind them that tell when they ended. Run under gsbrun by programs.sh.
 *
 *   semantics          the cases below; prints "timeline NAME MS" for what must be the same in every run
 *   semantics healthy  those without a fault: where one is the end of the device for everybody
 *   semantics limit N  the tenant may have N bytes of device memory
 *   semantics figures  does a known amount of work, prints "ready", and ends with its standard input
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tests/unit/tenant.h"

#define assert_cu(call)		 assert_int_equal(call, CUDA_SUCCESS)
#define assert_cu_is(want, call) assert_int_equal(call, want)

#define LONG_SPINS 20000
#define N_LOG	   1024

/* mark: after so many turns of a loop, append id to the log: a count, then as many ids. */
static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry mark(.param .u64 log, .param .u32 id, .param .u32 spins)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %id, %n, %at;\n\t.reg .b64 %log, %to;\n"
	"\tld.param.u64 %log, [log];\n\tld.param.u32 %id, [id];\n\tld.param.u32 %n, [spins];\n"
	"SPIN:\n\tsetp.eq.u32 %p, %n, 0;\n\t@%p bra DONE;\n\tsub.u32 %n, %n, 1;\n\tbra SPIN;\n"
	"DONE:\n\tatom.global.add.u32 %at, [%log], 1;\n\tmul.wide.u32 %to, %at, 4;\n"
	"\tadd.u64 %to, %to, %log;\n\tst.global.u32 [%to+4], %id;\n\tret;\n}\n";

/*
 * rounds: as a grid barrier is compiled. Each block adds 1 to a word of its own and waits for all; after 3 rounds it
 * writes the word of the block behind it, which is 3 if nobody went on alone.
 */
static const char grid_ptx[] =
	".version 7.8\n.target sm_75\n.address_size 64\n"
	".visible .entry rounds(.param .u64 words, .param .u64 seen)\n{\n"
	"\t.reg .pred %p<3>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<12>;\n"
	"\tld.param.u64 %rd1, [words];\n\tld.param.u64 %rd2, [seen];\n"
	"\tmov.u32 %r1, %envreg1;\n\tmov.u32 %r2, %envreg2;\n\tmov.b64 %rd3, {%r2, %r1};\n"
	"\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r4, %nctaid.x;\n\tmul.wide.u32 %rd4, %r3, 4;\n"
	"\tadd.u64 %rd5, %rd1, %rd4;\n\tmov.u32 %r5, 0;\n"
	"\tsub.u32 %r6, 0x80000001, %r4;\n\tsetp.eq.u32 %p1, %r3, 0;\n"
	"\tselp.u32 %r6, %r6, 1, %p1;\n"
	"ROUND:\n\tadd.u32 %r5, %r5, 1;\n\tst.global.u32 [%rd5], %r5;\n\tmembar.gl;\n"
	"\tatom.add.release.gpu.u32 %r7, [%rd3+4], %r6;\n"
	"WAIT:\n\tld.acquire.gpu.u32 %r8, [%rd3+4];\n\txor.b32 %r9, %r7, %r8;\n"
	"\tsetp.ge.s32 %p2, %r9, 0;\n\t@%p2 bra WAIT;\n"
	"\tsetp.lt.u32 %p2, %r5, 3;\n\t@%p2 bra ROUND;\n"
	"\tadd.u32 %r10, %r3, 1;\n\trem.u32 %r10, %r10, %r4;\n\tmul.wide.u32 %rd6, %r10, 4;\n"
	"\tadd.u64 %rd6, %rd1, %rd6;\n\tld.global.u32 %r11, [%rd6];\n"
	"\tadd.u64 %rd7, %rd2, %rd4;\n\tst.global.u32 [%rd7], %r11;\n\tret;\n}\n";

static struct cu cu;
static CUcontext ctx;
static CUmodule module;
static CUfunction mark;
static CUdeviceptr device_log;

static CUresult launch_mark(CUstream s, uint32_t id, uint32_t spins)
{
	void *params[] = {&device_log, &id, &spins};

	return cu.cuLaunchKernel(mark, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

static void expect_log(const uint32_t *ids, uint32_t n)
{
	uint32_t log[N_LOG];

	assert_cu(cu.cuCtxSynchronize());
	assert_cu(cu.cuMemcpyDtoH_v2(log, device_log, sizeof(log)));
	assert_int_equal(log[0], n);
	assert_memory_equal(log + 1, ids, n * sizeof(*ids));
}

#define expect_order(...)                           \
	expect_log((const uint32_t[]){__VA_ARGS__}, \
		   sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static CUstream stream(unsigned flags)
{
	CUstream s;

	assert_cu(cu.cuStreamCreate(&s, flags));
	return s;
}

static CUevent event(void)
{
	CUevent e;

	assert_cu(cu.cuEventCreate(&e, 0));
	return e;
}

static int begin(void **state)
{
	(void)state;
	assert_cu(cu.cuCtxSetCurrent(ctx));
	assert_cu(cu.cuMemsetD32_v2(device_log, 0, N_LOG));
	assert_cu(cu.cuCtxSynchronize());
	return 0;
}

/* ---- cooperative grids ---- */

#define MAX_GRID 4300

static CUresult launch_rounds(CUfunction f, uint32_t grid, bool extended, CUdeviceptr words,
			      CUdeviceptr seen)
{
	void *params[] = {&words, &seen};
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	CUlaunchConfig config = {.gridDimX = grid,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 1,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = &attr,
				 .numAttrs = 1};

	if (extended)
		return cu.cuLaunchKernelEx(&config, f, params, NULL);
	return cu.cuLaunchCooperativeKernel(f, grid, 1, 1, 1, 1, 1, 0, NULL, params);
}

/* Both calls; up to as many blocks as the occupancy allows, and not one more. */
/* Where a device has none, each block is a cluster. */
static void test_clusters_are_those_of_the_device(void **state)
{
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				  .value.clusterDim = {1, 1, 1}};
	CUlaunchConfig config = {.gridDimX = 4,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 1,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = &attr,
				 .numAttrs = 1};
	uint32_t id = 7, spins = 1;
	void *params[] = {&device_log, &id, &spins};
	int has = 0, n = 0, size = 0;
	CUresult want;

	assert_cu(cu.cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
	want = has ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
	assert_cu(cu.cuOccupancyMaxActiveClusters(&n, mark, &config));
	assert_in_range(n, 132, 132 * 32);
	assert_cu(cu.cuOccupancyMaxPotentialClusterSize(&size, mark, &config));
	assert_int_equal(size, has ? 8 : 1);
	attr.value.clusterDim.x = 2;
	assert_cu_is(want, cu.cuOccupancyMaxActiveClusters(&n, mark, &config));
	assert_cu_is(want, cu.cuLaunchKernelEx(&config, mark, params, NULL));
	attr.value.clusterDim.x = 1;
	if (!has)
		assert_cu(cu.cuLaunchKernelEx(&config, mark, params, NULL));
	expect_order(7, 7, 7, 7);
}

static void test_cooperative_grid_waits_for_all_its_blocks(void **state)
{
	static uint32_t got[MAX_GRID];
	int per_sm = 0, n_sms = 0, version = 0;
	CUdeviceptr words, seen;
	CUmodule m;
	CUfunction f;

	assert_cu(cu.cuModuleLoadData(&m, grid_ptx));
	assert_cu(cu.cuModuleGetFunction(&f, m, "rounds"));
	assert_cu(cu.cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
	assert_int_equal(version, 75);
	assert_cu(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, f, 1, 0));
	assert_cu(cu.cuDeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	assert_true(per_sm * n_sms < MAX_GRID);
	assert_cu(cu.cuMemAlloc_v2(&words, sizeof(got)));
	assert_cu(cu.cuMemAlloc_v2(&seen, sizeof(got)));
	for (int i = 0; i < 4; i++) {
		uint32_t grid = i < 2 ? 5 : (uint32_t)(per_sm * n_sms);

		assert_cu(cu.cuMemsetD32_v2(seen, 0, MAX_GRID));
		assert_cu(launch_rounds(f, grid, i & 1, words, seen));
		assert_cu(cu.cuMemcpyDtoH_v2(got, seen, sizeof(got)));
		for (uint32_t k = 0; k < MAX_GRID; k++)
			assert_int_equal(got[k], k < grid ? 3 : 0);
		assert_cu_is(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
			     launch_rounds(f, (uint32_t)(per_sm * n_sms) + 1, i & 1, words, seen));
	}
	assert_cu(cu.cuMemFree_v2(words));
	assert_cu(cu.cuMemFree_v2(seen));
	assert_cu(cu.cuModuleUnload(m));
}

/* ---- order ---- */

static void timeline(const char *name, float ms)
{
	printf("timeline %s %.6f\n", name, ms);
}

/* A launch and the event behind it: when it has ended, in device time. */
static CUevent launch_and_record(CUstream s, uint32_t id, uint32_t spins)
{
	CUevent e = event();

	assert_cu(launch_mark(s, id, spins));
	assert_cu(cu.cuEventRecord(e, s));
	return e;
}

/* The events were passed at later and later device times. Ends them. */
static void expect_later_and_later(CUevent *events, unsigned n)
{
	float ms;

	assert_cu(cu.cuCtxSynchronize());
	for (unsigned i = 1; i < n; i++) {
		assert_cu(cu.cuEventElapsedTime(&ms, events[i - 1], events[i]));
		timeline("step", ms);
		assert_true(ms > 0);
	}
	for (unsigned i = 0; i < n; i++)
		assert_cu(cu.cuEventDestroy_v2(events[i]));
}

static void test_legacy_stream_waits_for_blocking_streams_and_they_for_it(void **state)
{
	CUstream a = stream(CU_STREAM_DEFAULT), b = stream(CU_STREAM_DEFAULT);
	CUstream n = stream(CU_STREAM_NON_BLOCKING);
	CUevent e[4];

	(void)state;
	e[1] = launch_and_record(a, 1, LONG_SPINS);
	e[2] = launch_and_record(NULL, 2, LONG_SPINS / 2);
	e[3] = launch_and_record(b, 3, 0);
	e[0] = launch_and_record(n, 4, 0);
	expect_later_and_later(e, 4);
	assert_cu(cu.cuStreamDestroy_v2(a));
	assert_cu(cu.cuStreamDestroy_v2(b));
	assert_cu(cu.cuStreamDestroy_v2(n));
}

static void test_independent_streams_end_by_their_own_length(void **state)
{
	CUstream s[4];
	CUevent e[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		s[i] = stream(CU_STREAM_DEFAULT);
		e[3 - i] = launch_and_record(s[i], i, (4 - i) * LONG_SPINS);
	}
	expect_later_and_later(e, 4);
	for (int i = 0; i < 4; i++)
		assert_cu(cu.cuStreamDestroy_v2(s[i]));
}

static void test_wait_event_orders_two_streams(void **state)
{
	CUstream a = stream(CU_STREAM_NON_BLOCKING), b = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event();

	(void)state;
	assert_cu(launch_mark(a, 1, LONG_SPINS));
	assert_cu(cu.cuEventRecord(e, a));
	assert_cu(cu.cuStreamWaitEvent(b, e, 0));
	assert_cu(launch_mark(b, 2, 0));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuEventQuery(e));
	expect_order(1, 2);
	assert_cu(cu.cuEventQuery(e));
	assert_cu(cu.cuEventDestroy_v2(e));
	assert_cu(cu.cuStreamDestroy_v2(a));
	assert_cu(cu.cuStreamDestroy_v2(b));
}

static void test_per_thread_stream_is_a_blocking_one(void **state)
{
	uint32_t id = 1, spins = LONG_SPINS;
	void *params[] = {&device_log, &id, &spins};
	CUstream n = stream(CU_STREAM_NON_BLOCKING);
	CUevent e[3] = {NULL, event()};

	(void)state;
	assert_cu(cu.cuLaunchKernel_ptsz(mark, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(cu.cuEventRecord_ptsz(e[1], NULL));
	e[2] = launch_and_record(NULL, 2, 0);
	e[0] = launch_and_record(n, 3, 0);
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery_ptsz(NULL));
	assert_cu(cu.cuStreamSynchronize_ptsz(NULL));
	expect_later_and_later(e, 3);
	assert_cu(cu.cuStreamDestroy_v2(n));
}

/* ---- events ---- */

static void test_elapsed_times_are_sane_and_add_up(void **state)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUevent e[4];
	float ms[3], all;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		e[i] = event();
		assert_cu(cu.cuEventRecord(e[i], s));
		if (i < 3)
			assert_cu(launch_mark(s, i, (i + 1) * LONG_SPINS));
	}
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime(&all, e[0], e[3]));
	assert_cu(cu.cuEventSynchronize(e[3]));
	for (int i = 0; i < 3; i++) {
		assert_cu(cu.cuEventElapsedTime(&ms[i], e[i], e[i + 1]));
		timeline("kernel", ms[i]);
		assert_true(ms[i] > 0 && (!i || ms[i] > ms[i - 1]));
	}
	assert_cu(cu.cuEventElapsedTime(&all, e[0], e[3]));
	assert_true(all - (ms[0] + ms[1] + ms[2]) < 1e-3f &&
		    all - (ms[0] + ms[1] + ms[2]) > -1e-3f);
	timeline("all", all);
	for (int i = 0; i < 4; i++)
		assert_cu(cu.cuEventDestroy_v2(e[i]));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_kernels_side_by_side_take_the_time_of_one(void **state)
{
	CUstream s[8];
	CUevent from = event(), to = event(), end = event();
	float one, eight;

	(void)state;
	assert_cu(cu.cuEventRecord(from, NULL));
	assert_cu(launch_mark(NULL, 0, LONG_SPINS));
	assert_cu(cu.cuEventRecord(to, NULL));
	for (uint32_t i = 0; i < 8; i++) {
		s[i] = stream(CU_STREAM_DEFAULT);
		assert_cu(launch_mark(s[i], i, LONG_SPINS));
	}
	assert_cu(cu.cuEventRecord(end, NULL));
	assert_cu(cu.cuCtxSynchronize());
	assert_cu(cu.cuEventElapsedTime(&one, from, to));
	assert_cu(cu.cuEventElapsedTime(&eight, to, end));
	timeline("one", one);
	timeline("eight", eight);
	assert_true(eight < 2 * one);
	for (int i = 0; i < 8; i++)
		assert_cu(cu.cuStreamDestroy_v2(s[i]));
	assert_cu(cu.cuEventDestroy_v2(from));
	assert_cu(cu.cuEventDestroy_v2(to));
	assert_cu(cu.cuEventDestroy_v2(end));
}

/* ---- host functions ---- */

static struct {
	unsigned n;
	const uint32_t *pinned;
	uint32_t saw[3];
} host;

static void look(void *arg)
{
	host.saw[(uintptr_t)arg] = *host.pinned;
	host.n++;
}

static void called_back(CUstream s, CUresult status, void *arg)
{
	if (!status)
		look(arg);
	(void)s;
}

static void test_host_functions_see_what_came_before_and_nothing_after(void **state)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	void *pinned;

	(void)state;
	assert_cu(cu.cuMemAllocHost_v2(&pinned, 4));
	memset(pinned, 0, 4);
	host.pinned = pinned;
	for (uint32_t i = 0; i < 3; i++) {
		assert_cu(launch_mark(s, i, LONG_SPINS));
		assert_cu(cu.cuMemcpyDtoHAsync_v2(pinned, device_log, 4, s));
		if (i == 1)
			assert_cu(cu.cuStreamAddCallback(s, called_back, (void *)1, 0));
		else
			assert_cu(cu.cuLaunchHostFunc(s, look, (void *)(uintptr_t)i));
	}
	assert_cu(cu.cuStreamSynchronize(s));
	assert_int_equal(host.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(host.saw[i], i + 1);
	assert_cu(cu.cuMemFreeHost(pinned));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

#define MORE_THAN_IS_QUEUED \
	17000 /* records: what the engine keeps for one tenant, and some in the ring */

static _Atomic unsigned n_posted;

static void await_posts(void *arg)
{
	while (n_posted < MORE_THAN_IS_QUEUED)
		sched_yield();
	(void)arg;
}

/* The engine has stopped at a record that has no room before the stream moves, and the ring fills up. */
static void test_host_function_ends_with_the_ring_full_behind_it(void **state)
{
	(void)state;
	assert_cu(cu.cuLaunchHostFunc(NULL, await_posts, NULL));
	for (n_posted = 0; n_posted < 2 * MORE_THAN_IS_QUEUED; n_posted++)
		assert_cu(cu.cuMemsetD8Async(device_log + 4 * N_LOG - 1, 0, 1, NULL));
	assert_cu(launch_mark(NULL, 1, 0));
	expect_order(1);
}

static _Atomic unsigned n_failures_told, n_called;

static void tell_failure(CUstream s, CUresult status, void *arg)
{
	n_failures_told += status == CUDA_ERROR_ILLEGAL_ADDRESS;
	(void)s, (void)arg;
}

static void count_call(void *arg)
{
	n_called++;
	(void)arg;
}

/* A program may wait for its callback: it comes and says what went wrong. A host function does not come. */
static void
test_callback_behind_a_failed_kernel_is_told_and_a_host_function_is_not_called(void **state)
{
	CUdeviceptr nowhere = 16;
	uint32_t id = 1, spins = 0;
	void *params[] = {&nowhere, &id, &spins};
	CUcontext other;
	CUmodule m;
	CUfunction f;

	(void)state;
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuModuleLoadData(&m, ptx));
	assert_cu(cu.cuModuleGetFunction(&f, m, "mark"));
	assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(cu.cuStreamAddCallback(NULL, tell_failure, NULL, 0));
	assert_cu(cu.cuLaunchHostFunc(NULL, count_call, NULL));
	assert_cu(cu.cuStreamAddCallback(NULL, tell_failure, NULL, 0));
	assert_cu_is(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
	assert_int_equal(n_failures_told, 2);
	assert_int_equal(n_called, 0);
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_cu(cu.cuCtxSetCurrent(ctx));
}

/* ---- copies ---- */

#define W     37 /* of the rectangle */
#define H     11
#define PITCH 64
#define ROOM  (PITCH * (H + 4))

enum place { PAGEABLE, PINNED, DEVICE, N_PLACES };

struct side {
	enum place place;
	void *host;
	CUdeviceptr device;
};

static void make_side(struct side *s, enum place place, const uint8_t *bytes)
{
	s->place = place;
	if (place == DEVICE) {
		assert_cu(cu.cuMemAlloc_v2(&s->device, ROOM));
		assert_cu(cu.cuMemcpyHtoD_v2(s->device, bytes, ROOM));
		return;
	}
	if (place == PINNED)
		assert_cu(cu.cuMemAllocHost_v2(&s->host, ROOM));
	else
		assert_non_null(s->host = malloc(ROOM));
	memcpy(s->host, bytes, ROOM);
}

static void end_side(struct side *s, uint8_t *bytes)
{
	if (s->place == DEVICE) {
		assert_cu(cu.cuMemcpyDtoH_v2(bytes, s->device, ROOM));
		assert_cu(cu.cuMemFree_v2(s->device));
		return;
	}
	memcpy(bytes, s->host, ROOM);
	if (s->place == PINNED)
		assert_cu(cu.cuMemFreeHost(s->host));
	else
		free(s->host);
}

/* A rectangle at (5, 2) goes to (9, 1); what is around it stays. */
static void copy_rectangle(enum place from, enum place to, bool async)
{
	uint8_t a[ROOM], b[ROOM], want[ROOM], got[ROOM];
	struct side src = {0}, dst = {0};
	CUDA_MEMCPY2D c = {.srcXInBytes = 5,
			   .srcY = 2,
			   .srcPitch = PITCH,
			   .dstXInBytes = 9,
			   .dstY = 1,
			   .dstPitch = PITCH,
			   .WidthInBytes = W,
			   .Height = H};

	for (int i = 0; i < ROOM; i++) {
		a[i] = (uint8_t)(i * 7 + 1);
		b[i] = want[i] = (uint8_t)(i * 3);
	}
	for (int y = 0; y < H; y++)
		memcpy(want + (y + 1) * PITCH + 9, a + (y + 2) * PITCH + 5, W);
	make_side(&src, from, a);
	make_side(&dst, to, b);
	c.srcMemoryType = from == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	c.srcHost = src.host, c.srcDevice = src.device;
	c.dstMemoryType = to == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	c.dstHost = dst.host, c.dstDevice = dst.device;
	assert_cu(async ? cu.cuMemcpy2DAsync_v2(&c, NULL) : cu.cuMemcpy2D_v2(&c));
	assert_cu(cu.cuCtxSynchronize());
	end_side(&dst, got);
	assert_memory_equal(got, want, ROOM);
	end_side(&src, got);
	assert_memory_equal(got, a, ROOM);
}

static void test_rectangles_go_from_every_place_to_every_place(void **state)
{
	(void)state;
	for (int from = 0; from < N_PLACES; from++)
		for (int to = 0; to < N_PLACES; to++)
			for (int async = 0; async < 2; async++)
				copy_rectangle((enum place)from, (enum place)to, async);
}

/* Behind a long kernel, so that the copy cannot have been done when the call returns. */
static void test_pageable_source_may_be_overwritten_at_once(void **state)
{
	const size_t bytes = 3 << 20; /* more than is staged at a time */
	uint8_t *src = malloc(bytes), *back = malloc(bytes);
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr p;

	(void)state;
	assert_true(src && back);
	assert_cu(cu.cuMemAlloc_v2(&p, bytes));
	assert_cu(launch_mark(s, 1, LONG_SPINS));
	for (int round = 1; round < 4; round++) {
		memset(src, round, bytes);
		assert_cu(cu.cuMemcpyHtoDAsync_v2(p, src, bytes, s));
		memset(src, 99, bytes);
		assert_cu(cu.cuMemcpyDtoHAsync_v2(back, p, bytes, s));
		for (size_t i = 0; i < bytes; i++)
			if (back[i] != round)
				fail_msg("round %d, byte %zu: %u", round, i, back[i]);
	}
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuStreamDestroy_v2(s));
	free(src);
	free(back);
}

static void test_pinned_copy_returns_before_it_is_done(void **state)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t *pinned;
	void *p;

	(void)state;
	assert_cu(cu.cuMemAllocHost_v2(&p, 4));
	pinned = p;
	*pinned = 77;
	assert_cu(launch_mark(s, 1, LONG_SPINS));
	assert_cu(cu.cuMemcpyDtoHAsync_v2(pinned, device_log, 4, s));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
	assert_int_equal(*(volatile uint32_t *)pinned, 77);
	assert_cu(cu.cuStreamSynchronize(s));
	assert_int_equal(*(volatile uint32_t *)pinned, 1);
	assert_cu(cu.cuMemFreeHost(p));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_fills_of_every_width_and_shape(void **state)
{
	uint8_t want[ROOM], got[ROOM];
	CUdeviceptr p;

	(void)state;
	assert_cu(cu.cuMemAlloc_v2(&p, ROOM));
	memset(want, 0xa5, ROOM);
	assert_cu(cu.cuMemsetD8_v2(p, 0xa5, ROOM));
	for (int i = 0; i < 5; i++)
		memcpy(want + 2 + 2 * i, &(uint16_t){0x1234}, 2);
	assert_cu(cu.cuMemsetD16_v2(p + 2, 0x1234, 5));
	for (int i = 0; i < 3; i++)
		memcpy(want + 16 + 4 * i, &(uint32_t){0xdeadbeef}, 4);
	assert_cu(cu.cuMemsetD32_v2(p + 16, 0xdeadbeef, 3));
	for (int y = 0; y < 3; y++) {
		memset(want + (y + 1) * PITCH + 3, 0x11, 7);
		for (int i = 0; i < 5; i++) {
			memcpy(want + (y + 4) * PITCH + 2 * i, &(uint16_t){0xbeef}, 2);
			memcpy(want + (y + 8) * PITCH + 4 * i, &(uint32_t){0x01020304}, 4);
		}
	}
	assert_cu(cu.cuMemsetD2D8_v2(p + PITCH + 3, PITCH, 0x11, 7, 3));
	assert_cu(cu.cuMemsetD2D16_v2(p + 4 * PITCH, PITCH, 0xbeef, 5, 3));
	assert_cu(cu.cuMemsetD2D32_v2(p + 8 * PITCH, PITCH, 0x01020304, 5, 3));
	assert_cu(cu.cuMemcpyDtoH_v2(got, p, ROOM));
	assert_memory_equal(got, want, ROOM);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2(p, 0, ROOM + 512));
	assert_cu(cu.cuMemFree_v2(p));
}

/* Every place to every other in one batch, behind a kernel: what it wrote is what comes. */
static void test_batches_of_copies_are_copies_in_the_order_of_their_stream(void **state)
{
	CUmemcpyAttributes attrs = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t pageable[2] = {41, 42}, back[2] = {0}, *pinned, seen[3];
	CUdeviceptr p;
	size_t first = 0, sizes[4] = {8, 8, 4, 4};

	(void)state;
	assert_cu(cu.cuMemAlloc_v2(&p, 4096));
	assert_cu(cu.cuMemHostAlloc((void **)&pinned, 4096, 0));
	pinned[0] = 51;
	pinned[1] = 52;
	assert_cu(launch_mark(s, 9, LONG_SPINS));
	{
		CUdeviceptr srcs[] = {(CUdeviceptr)pageable, (CUdeviceptr)pinned, device_log,
				      device_log + 4};
		CUdeviceptr dsts[] = {p, p + 8, (CUdeviceptr)back, (CUdeviceptr)&pinned[16]};

		assert_cu(cu.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 4, &attrs, &first, 1, s));
	}
	pageable[0] = 0;
	assert_cu(cu.cuStreamSynchronize(s));
	assert_int_equal(back[0], 1);
	assert_int_equal(pinned[16], 9);
	assert_cu(cu.cuMemcpyDtoH_v2(seen, p, 12));
	assert_int_equal(seen[0], 41);
	assert_int_equal(seen[1], 42);
	assert_int_equal(seen[2], 51);
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuMemFreeHost(pinned));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

/* Between an array, whose elements are of 4 bytes, and pitched memory. */
static void test_batches_of_boxes_count_the_elements_of_their_arrays(void **state)
{
	CUDA_MEMCPY3D_BATCH_OP ops[2] = {{.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER},
					  .dst = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY},
					  .extent = {3, 2, 1},
					  .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
	const CUDA_ARRAY_DESCRIPTOR desc = {8, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1};
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t from[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, to[2][3] = {{0}};
	CUarray array;

	(void)state;
	assert_cu(cu.cuArrayCreate_v2(&array, &desc));
	ops[0].src.op.ptr.ptr = (CUdeviceptr)from;
	ops[0].src.op.ptr.rowLength = 4;
	ops[0].dst.op.array.array = array;
	ops[0].dst.op.array.offset = (CUoffset3D){5, 2, 0};
	assert_cu(cu.cuMemcpy3DBatchAsync_v2(1, ops, 0, s));
	ops[1] = ops[0];
	ops[1].src = ops[0].dst;
	ops[1].dst = ops[0].src;
	ops[1].dst.op.ptr.ptr = (CUdeviceptr)to;
	ops[1].dst.op.ptr.rowLength = 0;
	assert_cu(cu.cuMemcpy3DBatchAsync_v2(1, &ops[1], 0, s));
	assert_cu(cu.cuStreamSynchronize(s));
	for (int y = 0; y < 2; y++)
		for (int x = 0; x < 3; x++)
			assert_int_equal(to[y][x], from[y][x]);
	ops[1].src.op.array.offset.x = 6;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy3DBatchAsync_v2(1, &ops[1], 0, s));
	assert_cu(cu.cuArrayDestroy(array));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

/* A kernel before it, a copy behind it; words of both widths, on the device and in pinned and registered memory. */
static void test_words_are_written_in_the_order_of_their_stream(void **state)
{
	static uint64_t registered[512] __attribute__((aligned(4096)));
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr p, r;
	uint64_t *pinned, wide = 0;
	uint32_t n = 0;

	(void)state;
	assert_cu(cu.cuMemAlloc_v2(&p, 64));
	assert_cu(cu.cuMemHostAlloc((void **)&pinned, 4096, 0));
	assert_cu(cu.cuMemHostRegister_v2(registered, sizeof(registered), 0));
	assert_cu(cu.cuMemHostGetDevicePointer_v2(&r, registered, 0));
	*pinned = 0;
	assert_cu(launch_mark(s, 9, LONG_SPINS));
	assert_cu(cu.cuStreamWriteValue32_v2(s, device_log, 77, 0));
	assert_cu(cu.cuStreamWriteValue64_v2(s, p + 8, 0x0123456789abcdef, 0));
	assert_cu(cu.cuStreamWriteValue64_v2(s, (CUdeviceptr)pinned, 0xfedcba9876543210, 0));
	assert_cu(cu.cuStreamWriteValue32_v2(s, r + 8, 88, 0));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
	assert_cu(cu.cuMemcpyDtoHAsync_v2(&n, device_log, 4, s));
	assert_cu(cu.cuMemcpyDtoHAsync_v2(&wide, p + 8, 8, s));
	assert_cu(cu.cuStreamSynchronize(s));
	assert_int_equal(n, 77);
	assert_int_equal(wide, 0x0123456789abcdef);
	assert_int_equal(*pinned, 0xfedcba9876543210);
	assert_int_equal(registered[1], 88);
	assert_cu(cu.cuMemHostUnregister(registered));
	assert_cu(cu.cuMemFreeHost(pinned));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

/* A rectangle may not leave its pitch, nor a box its slice, where those are said; as an H200's driver answers. */
static void test_rectangles_end_within_their_pitch(void **state)
{
	static const struct {
		size_t x, y, pitch, n_rows, height;
		CUresult flat, box;
	} rows[] = {
		{0, 0, 16, 4, 2, CUDA_SUCCESS, CUDA_SUCCESS},
		{12, 0, 16, 4, 2, CUDA_SUCCESS, CUDA_SUCCESS},
		{13, 0, 16, 4, 2, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE},
		{13, 0, 16, 4, 1, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE},
		{0, 0, 3, 4, 1, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE},
		{1, 0, 0, 4, 2, CUDA_SUCCESS, CUDA_SUCCESS},
		{0, 2, 16, 4, 2, CUDA_SUCCESS, CUDA_SUCCESS},
		{0, 3, 16, 4, 2, CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE},
		{0, 0, 16, 1, 2, CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE},
		{0, 1, 16, 0, 2, CUDA_SUCCESS, CUDA_SUCCESS},
	};
	static uint8_t bytes[ROOM];
	CUdeviceptr p;

	(void)state;
	assert_cu(cu.cuMemAlloc_v2(&p, ROOM));
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const bool is_dst = i % 2;
		CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				      .srcHost = bytes,
				      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				      .dstDevice = p,
				      .WidthInBytes = 4,
				      .Height = rows[i / 2].height};
		CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				     .srcHost = bytes,
				     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				     .dstDevice = p,
				     .WidthInBytes = 4,
				     .Height = rows[i / 2].height,
				     .Depth = 1};

		*(is_dst ? &flat.dstXInBytes : &flat.srcXInBytes) = rows[i / 2].x;
		*(is_dst ? &flat.dstY : &flat.srcY) = rows[i / 2].y;
		*(is_dst ? &flat.dstPitch : &flat.srcPitch) = rows[i / 2].pitch;
		*(is_dst ? &box.dstXInBytes : &box.srcXInBytes) = rows[i / 2].x;
		*(is_dst ? &box.dstY : &box.srcY) = rows[i / 2].y;
		*(is_dst ? &box.dstPitch : &box.srcPitch) = rows[i / 2].pitch;
		*(is_dst ? &box.dstHeight : &box.srcHeight) = rows[i / 2].n_rows;
		assert_cu_is(rows[i / 2].flat, cu.cuMemcpy2D_v2(&flat));
		assert_cu_is(rows[i / 2].box, cu.cuMemcpy3D_v2(&box));
	}
	assert_cu(cu.cuMemFree_v2(p));
}

static void test_allocation_of_nothing_is_nothing(void **state)
{
	CUdeviceptr p = 77;
	CUmemoryPool pool;

	(void)state;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc_v2(&p, 0));
	assert_cu(cu.cuMemAllocAsync(&p, 0, NULL));
	assert_int_equal(p, 0);
	p = 77;
	assert_cu(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	assert_cu(cu.cuMemAllocFromPoolAsync(&p, 0, pool, NULL));
	assert_int_equal(p, 0);
	assert_cu(cu.cuMemFreeAsync(p, NULL));
}

/* Of one device and one context it is a copy as any other; a context that is none is said to be. */
static void test_peer_copies_are_copies(void **state)
{
	uint8_t in[ROOM], out[ROOM];
	CUDA_MEMCPY3D_PEER box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				  .dstMemoryType = CU_MEMORYTYPE_HOST,
				  .srcContext = ctx,
				  .dstContext = ctx,
				  .srcPitch = PITCH,
				  .srcHeight = 2,
				  .srcXInBytes = 3,
				  .srcY = 1,
				  .dstHost = out,
				  .dstPitch = 5,
				  .dstHeight = 2,
				  .WidthInBytes = 5,
				  .Height = 1,
				  .Depth = 3};
	CUdeviceptr p, q;

	(void)state;
	for (int i = 0; i < ROOM; i++)
		in[i] = (uint8_t)(i * 7);
	assert_cu(cu.cuMemAlloc_v2(&p, ROOM));
	assert_cu(cu.cuMemAlloc_v2(&q, ROOM));
	assert_cu(cu.cuMemcpyHtoD_v2(p, in, ROOM));
	assert_cu(cu.cuMemcpyPeer(q, ctx, p, ctx, ROOM / 2));
	assert_cu(cu.cuMemcpyPeerAsync(q + ROOM / 2, ctx, p + ROOM / 2, ctx, ROOM / 2, NULL));
	assert_cu(cu.cuMemcpyDtoH_v2(out, q, ROOM));
	assert_memory_equal(in, out, ROOM);
	box.srcDevice = q;
	assert_cu(cu.cuMemcpy3DPeer(&box));
	for (int z = 0; z < 3; z++)
		assert_memory_equal(out + z * 10, in + (2 * z + 1) * PITCH + 3, 5);
	box.srcY = 0;
	assert_cu(cu.cuMemcpy3DPeerAsync(&box, NULL));
	assert_cu(cu.cuStreamSynchronize(NULL));
	assert_memory_equal(out + 10, in + 2 * PITCH + 3, 5);
	box.srcContext = (CUcontext)
		module; /* no context; none at all is fine, for addresses say what is meant */
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuMemcpy3DPeer(&box));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, cu.cuMemcpyPeer(q, (CUcontext)module, p, ctx, 4));
	assert_cu(cu.cuMemcpyPeer(q, NULL, p, ctx, 4));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuMemFree_v2(q));
}

/* ---- memory ---- */

static void test_free_waits_for_the_work_before_it(void **state)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr p;

	(void)state;
	assert_cu(cu.cuMemAlloc_v2(&p, 4096));
	assert_cu(launch_mark(s, 1, LONG_SPINS));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuStreamQuery(s));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(p));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_async_memory_lives_in_the_order_of_its_stream(void **state)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t word = 0;
	CUdeviceptr p, q;

	(void)state;
	assert_cu(launch_mark(s, 1, LONG_SPINS));
	assert_cu(cu.cuMemAllocAsync(&p, 1 << 20, s));
	assert_cu(cu.cuMemsetD32Async(p, 5, 1 << 18, s));
	assert_cu(cu.cuMemcpyDtoHAsync_v2(&word, p + (1 << 20) - 4, 4, s));
	assert_cu(cu.cuMemFreeAsync(p, s));
	assert_cu(cu.cuMemAllocAsync(&q, 1 << 20, s));
	assert_cu(cu.cuMemFreeAsync(q, s));
	assert_cu(cu.cuStreamSynchronize(s));
	assert_int_equal(word, 5);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(p, s));
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_mem_info_falls_and_comes_back(void **state)
{
	size_t before, now, total;
	CUdeviceptr p;

	(void)state;
	assert_cu(cu.cuMemGetInfo_v2(&before, &total));
	assert_true(before <= total);
	assert_cu(cu.cuMemAlloc_v2(&p, 64 << 20));
	assert_cu(cu.cuMemGetInfo_v2(&now, &total));
	assert_true(before - now >= 64 << 20);
	assert_cu(cu.cuMemFree_v2(p));
	assert_cu(cu.cuMemGetInfo_v2(&now, &total));
	assert_int_equal(now, before);
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, total + 1));
}

/* ---- many ---- */

static void test_two_hundred_streams_at_once(void **state)
{
	CUstream s[200];
	uint32_t log[N_LOG];
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		s[i] = stream(i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
		assert_cu(launch_mark(s[i], i, 100 + i));
	}
	for (uint32_t i = 0; i < 200; i++)
		assert_cu(launch_mark(s[i], 1000, 0));
	assert_cu(cu.cuCtxSynchronize());
	assert_cu(cu.cuMemcpyDtoH_v2(log, device_log, sizeof(log)));
	assert_int_equal(log[0], 400);
	for (int i = 1; i <= 400; i++)
		sum += log[i];
	assert_int_equal(sum, 199 * 200 / 2 + 200 * 1000);
	for (int i = 0; i < 200; i++)
		assert_cu(cu.cuStreamDestroy_v2(s[i]));
}

/* Allocates, fills, launches, copies back in streams of its own; the number of what went wrong. */
static void *one_thread(void *arg)
{
	uintptr_t bad = 0, id = (uintptr_t)arg;
	uint8_t back[5000];
	CUdeviceptr p;
	CUstream s;

	bad += cu.cuCtxSetCurrent(ctx) || cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	for (unsigned round = 0; !bad && round < 25; round++) {
		bad += cu.cuMemAlloc_v2(&p, sizeof(back)) != 0;
		bad += cu.cuMemsetD8Async(p, (uint8_t)(id + round), sizeof(back), s) != 0;
		bad += launch_mark(s, (uint32_t)id, 10) != 0;
		bad += cu.cuMemcpyDtoHAsync_v2(back, p, sizeof(back), s) != 0;
		for (size_t i = 0; i < sizeof(back); i++)
			bad += back[i] != (uint8_t)(id + round);
		bad += cu.cuMemFree_v2(p) != 0;
	}
	bad += cu.cuStreamDestroy_v2(s) != 0;
	return (void *)bad;
}

static void test_eight_threads_at_once(void **state)
{
	pthread_t threads[8];
	uint32_t n;
	void *bad;

	(void)state;
	for (uintptr_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, one_thread, (void *)i), 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_null(bad);
	}
	assert_cu(cu.cuMemcpyDtoH_v2(&n, device_log, 4));
	assert_int_equal(n, 200);
}

/* Loads and unloads the module; how many loads failed. */
static void *one_loader(void *arg)
{
	uintptr_t bad = cu.cuCtxSetCurrent(ctx) != CUDA_SUCCESS;
	CUmodule m;

	(void)arg;
	for (unsigned round = 0; round < 5; round++)
		if (cu.cuModuleLoadData(&m, ptx) || cu.cuModuleUnload(m))
			bad++;
	return (void *)bad;
}

static void test_sixty_four_threads_load_modules_at_once(void **state)
{
	pthread_t threads[64];
	uintptr_t n_bad = 0;
	void *bad;

	(void)state;
	for (int i = 0; i < 64; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, one_loader, NULL), 0);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(pthread_join(threads[i], &bad), 0);
		n_bad += (uintptr_t)bad;
	}
	assert_int_equal(n_bad, 0);
}

/* ---- contexts and modules ---- */

static void test_contexts_do_not_share_handles(void **state)
{
	uint32_t id = 1, spins = 0;
	void *params[] = {&device_log, &id, &spins};
	CUcontext other, top;
	CUstream s;

	(void)state;
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	s = stream(CU_STREAM_NON_BLOCKING);
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuLaunchKernel(mark, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	assert_cu(cu.cuCtxPopCurrent_v2(&top));
	assert_ptr_equal(top, other);
	assert_cu(cu.cuCtxSetCurrent(ctx));
	assert_cu(launch_mark(NULL, 1, 0));
	expect_order(1);
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamQuery(s));
}

static void test_legacy_streams_of_two_contexts_are_independent(void **state)
{
	CUcontext other;

	(void)state;
	/* Nothing between launch and queries waits for an answer: virtual time may pass in a wait. */
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuCtxSetCurrent(ctx));
	assert_cu(launch_mark(NULL, 1, LONG_SPINS));
	assert_cu(cu.cuCtxSetCurrent(other));
	assert_cu(cu.cuStreamQuery(NULL));
	assert_cu(cu.cuCtxSetCurrent(ctx));
	assert_cu_is(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(NULL));
	expect_order(1);
	assert_cu(cu.cuCtxDestroy_v2(other));
}

/* Memory, module and stream of each are its own; all work at once. */
static void test_many_contexts_work_side_by_side(void **state)
{
	enum { N = 6 };
	uint32_t id = 1, spins = 100, seen[N];
	CUdeviceptr p[N];
	CUcontext c[N];
	CUmodule m;
	CUfunction f;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		void *params[] = {&p[i], &id, &spins};

		assert_cu(cu.cuCtxCreate_v2(&c[i], 0, 0));
		assert_cu(cu.cuModuleLoadData(&m, ptx));
		assert_cu(cu.cuModuleGetFunction(&f, m, "mark"));
		assert_cu(cu.cuMemAlloc_v2(&p[i], N_LOG * 4));
		assert_cu(cu.cuMemsetD32_v2(p[i], 0, N_LOG));
		for (unsigned k = 0; k <= i; k++)
			assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	}
	for (unsigned i = 0; i < N; i++) {
		assert_cu(cu.cuCtxSetCurrent(c[i]));
		assert_cu(cu.cuMemcpyDtoH_v2(&seen[i], p[i], 4));
		assert_int_equal(seen[i], i + 1);
	}
	for (unsigned i = 0; i < N; i++)
		assert_cu(cu.cuCtxDestroy_v2(c[i]));
	assert_cu(cu.cuCtxSetCurrent(ctx));
	assert_cu(launch_mark(NULL, 1, 0));
	expect_order(1);
}

struct doomed {
	CUcontext ctx;
	CUstream stream;
	CUevent event;
	pthread_barrier_t working;
};

/* Until a call is refused; a stream of the thread's own is left behind. */
static void *work_until_refused(void *arg)
{
	struct doomed *d = arg;
	CUresult r = cu.cuCtxSetCurrent(d->ctx);

	r = r ? r : cu.cuEventRecord_ptsz(d->event, NULL);
	pthread_barrier_wait(&d->working);
	while (!r)
		r = cu.cuEventRecord(d->event, d->stream);
	return NULL;
}

/* What the other thread's next call returns is its own affair; the process must live on. */
static void test_context_may_end_while_another_thread_works_in_it(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		struct doomed d;
		pthread_t thread;

		assert_cu(cu.cuCtxCreate_v2(&d.ctx, 0, 0));
		assert_cu(cu.cuStreamCreate(&d.stream, 0));
		d.event = event();
		pthread_barrier_init(&d.working, NULL, 2);
		assert_int_equal(pthread_create(&thread, NULL, work_until_refused, &d), 0);
		pthread_barrier_wait(&d.working);
		assert_cu(cu.cuCtxDestroy_v2(d.ctx));
		assert_int_equal(pthread_join(thread, NULL), 0);
		pthread_barrier_destroy(&d.working);
	}
	assert_cu(cu.cuCtxSetCurrent(ctx));
	assert_cu(launch_mark(NULL, 1, 0));
	expect_order(1);
}

/* More than the tenant may have at once, had it to free all itself. */
static void test_pinned_memory_ends_with_its_context(void **state)
{
	CUcontext other;
	void *pinned;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
		assert_cu(cu.cuMemHostAlloc(&pinned, 256 << 20, 0));
		assert_cu(cu.cuCtxDestroy_v2(other));
	}
	assert_cu(cu.cuCtxSetCurrent(ctx));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost(pinned));
}

static void test_unload_waits_for_the_kernels_of_the_module(void **state)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);
	uint32_t id = 8, spins = LONG_SPINS;
	void *params[] = {&device_log, &id, &spins};
	CUmodule again;
	CUfunction f;

	(void)state;
	assert_cu(cu.cuModuleLoadData(&again, ptx));
	assert_cu(cu.cuModuleGetFunction(&f, again, "mark"));
	assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	assert_cu(cu.cuModuleUnload(again));
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE,
		     cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	expect_order(8);
	assert_cu(cu.cuStreamDestroy_v2(s));
}

static void test_primary_context_goes_with_its_work_and_comes_back(void **state)
{
	uint32_t id = 1, spins = LONG_SPINS;
	unsigned flags;
	int active;
	CUcontext primary;
	CUmodule m;
	CUfunction f;
	CUdeviceptr p;
	void *params[] = {&p, &id, &spins};

	(void)state;
	for (int round = 0; round < 3; round++) {
		assert_cu(cu.cuDevicePrimaryCtxRetain(&primary, 0));
		assert_cu(cu.cuCtxSetCurrent(primary));
		assert_cu(cu.cuModuleLoadData(&m, ptx));
		assert_cu(cu.cuModuleGetFunction(&f, m, "mark"));
		assert_cu(cu.cuMemAlloc_v2(&p, 4096));
		assert_cu(cu.cuMemsetD32_v2(p, 0, 1024));
		assert_cu(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		if (round == 1)
			assert_cu(cu.cuDevicePrimaryCtxReset_v2(0));
		assert_cu(cu.cuDevicePrimaryCtxRelease_v2(0));
		assert_cu(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
		assert_int_equal(active, 0);
		assert_cu(cu.cuCtxSetCurrent(ctx));
		assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(m));
	}
	assert_cu(launch_mark(NULL, 3, 0));
	expect_order(3);
}

/* ---- the other commands ---- */

static size_t limit_bytes;

static void test_tenant_gets_its_limit_and_lives_on_after_it(void **state)
{
	CUdeviceptr p[64], more;
	size_t free_bytes, total, piece = 1 << 20;
	unsigned n = 0;

	(void)state;
	assert_cu(cu.cuMemGetInfo_v2(&free_bytes, &total));
	assert_int_equal(total, limit_bytes);
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&more, limit_bytes));
	while (n < 64 && !cu.cuMemAlloc_v2(&p[n], piece))
		n++;
	assert_in_range(n, limit_bytes / piece - 1, limit_bytes / piece);
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&more, piece));
	assert_cu_is(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocAsync(&more, piece, NULL));
	assert_cu(cu.cuMemFree_v2(p[--n]));
	assert_cu(cu.cuMemAlloc_v2(&more, piece));
	assert_cu(cu.cuMemFree_v2(more));
	while (n)
		assert_cu(cu.cuMemFree_v2(p[--n]));
	assert_cu(launch_mark(NULL, 1, 0));
	expect_order(1);
}

/* 10 launches, 1 MiB in one allocation, 3000 bytes in and 2000 bytes out, in one stream more. */
static int do_figures(void)
{
	static uint8_t bytes[3000];
	CUdeviceptr p;
	CUstream s;
	CUresult r = cu.cuStreamCreate(&s, 0);
	char c; /* one, unbuffered: others may read the same pipe */

	r = r ? r : cu.cuMemAlloc_v2(&p, 1 << 20);
	for (uint32_t i = 0; !r && i < 10; i++)
		r = launch_mark(s, i, 10);
	r = r ? r : cu.cuMemcpyHtoD_v2(p, bytes, 3000);
	r = r ? r : cu.cuMemcpyDtoH_v2(bytes, p, 2000);
	r = r ? r : cu.cuCtxSynchronize();
	puts(r ? "failed" : "ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
	return r != CUDA_SUCCESS;
}

static int set_up(void)
{
	CUresult r = cu.cuInit(0);

	if (!r)
		r = cu.cuCtxCreate_v2(&ctx, 0, 0);
	if (!r)
		r = cu.cuModuleLoadData(&module, ptx);
	if (!r)
		r = cu.cuModuleGetFunction(&mark, module, "mark");
	if (!r)
		r = cu.cuMemAlloc_v2(&device_log, N_LOG * 4);
	if (!r)
		r = cu.cuMemsetD32_v2(device_log, 0, N_LOG);
	if (r)
		fprintf(stderr, "semantics: set-up failed with %d\n", r);
	return (int)r;
}

#define SEMANTICS(test) cmocka_unit_test_setup(test, begin)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SEMANTICS(test_legacy_stream_waits_for_blocking_streams_and_they_for_it),
		SEMANTICS(test_independent_streams_end_by_their_own_length),
		SEMANTICS(test_wait_event_orders_two_streams),
		SEMANTICS(test_per_thread_stream_is_a_blocking_one),
		SEMANTICS(test_elapsed_times_are_sane_and_add_up),
		SEMANTICS(test_kernels_side_by_side_take_the_time_of_one),
		SEMANTICS(test_host_functions_see_what_came_before_and_nothing_after),
		SEMANTICS(test_host_function_ends_with_the_ring_full_behind_it),
		SEMANTICS(test_rectangles_go_from_every_place_to_every_place),
		SEMANTICS(test_pageable_source_may_be_overwritten_at_once),
		SEMANTICS(test_pinned_copy_returns_before_it_is_done),
		SEMANTICS(test_fills_of_every_width_and_shape),
		SEMANTICS(test_batches_of_copies_are_copies_in_the_order_of_their_stream),
		SEMANTICS(test_batches_of_boxes_count_the_elements_of_their_arrays),
		SEMANTICS(test_words_are_written_in_the_order_of_their_stream),
		SEMANTICS(test_free_waits_for_the_work_before_it),
		SEMANTICS(test_async_memory_lives_in_the_order_of_its_stream),
		SEMANTICS(test_mem_info_falls_and_comes_back),
		SEMANTICS(test_two_hundred_streams_at_once),
		SEMANTICS(test_eight_threads_at_once),
		SEMANTICS(test_sixty_four_threads_load_modules_at_once),
		SEMANTICS(test_rectangles_end_within_their_pitch),
		SEMANTICS(test_allocation_of_nothing_is_nothing),
		SEMANTICS(test_peer_copies_are_copies),
		SEMANTICS(test_contexts_do_not_share_handles),
		SEMANTICS(test_legacy_streams_of_two_contexts_are_independent),
		SEMANTICS(test_many_contexts_work_side_by_side),
		SEMANTICS(test_context_may_end_while_another_thread_works_in_it),
		SEMANTICS(test_pinned_memory_ends_with_its_context),
		SEMANTICS(test_unload_waits_for_the_kernels_of_the_module),
		SEMANTICS(test_primary_context_goes_with_its_work_and_comes_back),
		SEMANTICS(test_clusters_are_those_of_the_device),
		SEMANTICS(test_cooperative_grid_waits_for_all_its_blocks),
		/* The last: behind a fault the process has no context that works. */
		SEMANTICS(
			test_callback_behind_a_failed_kernel_is_told_and_a_host_function_is_not_called),
	};
	const struct CMUnitTest limit[] = {
		SEMANTICS(test_tenant_gets_its_limit_and_lives_on_after_it),
	};

	cu_load(&cu);
	if (set_up())
		return 2;
	if (argc == 2 && !strcmp(argv[1], "figures"))
		return do_figures();
	if (argc == 3 && !strcmp(argv[1], "limit")) {
		limit_bytes = strtoul(argv[2], NULL, 10);
		return cmocka_run_group_tests(limit, NULL, NULL);
	}
	if (argc == 2 && !strcmp(argv[1], "healthy"))
		cmocka_set_skip_filter("*behind_a_failed_kernel*");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
