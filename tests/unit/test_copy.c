/*
 * test_copy.c - copies and fills: what the engine is told, what arrives, and when each call returns.
 */
#include "tests/unit/interpose.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define BIG (9u << 20) /* more than the staging memory of the test */

static CUdeviceptr dev; /* BIG bytes */
static uint8_t *host;	/* BIG bytes, pageable */
static uint8_t *pinned; /* 1 MiB */

static uint64_t sum_of(const uint8_t *bytes, uint64_t n)
{
	uint64_t sum = n;

	for (uint64_t i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static void fill_host(void)
{
	for (unsigned i = 0; i < BIG; i++)
		host[i] = (uint8_t)(i * 2654435761u >> 13);
}

static const struct gsb_rec_copy *copy_at(unsigned i)
{
	for (unsigned at = mark; at < engine->n_logged; at++)
		if (engine->log[at].rec.type == GSB_REC_COPY && !i--)
			return (const void *)engine->log[at].body;
	fail_msg("no such copy");
	return NULL;
}

/* ---- pageable to device ---- */

static void test_small_copy_to_device_travels_in_the_record(void **state)
{
	const struct gsb_rec_copy *body;

	fill_host();
	assert_cu(cu.cuMemcpyHtoDAsync_v2(dev + 8, host, GSB_INLINE_COPY_MAX, NULL));
	memset(host, 0, GSB_INLINE_COPY_MAX); /* the source is the caller's again */
	body = last_body(COPY, copy);
	assert_int_equal(body->src_place, GSB_PLACE_INLINE);
	assert_int_equal(body->dst_place, GSB_PLACE_DEVICE);
	assert_int_equal(body->dst, dev + 8);
	assert_int_equal(body->width, GSB_INLINE_COPY_MAX);
	fill_host();
	assert_memory_equal(body + 1, host, GSB_INLINE_COPY_MAX);
}

static void test_large_copy_to_device_arrives_whole_and_in_order(void **state)
{
	uint64_t at = 0;

	fill_host();
	assert_cu(cu.cuMemcpyHtoD_v2(dev, host, BIG));
	assert_cu(cu.cuCtxSynchronize());
	for (unsigned i = mark; i < engine->n_logged; i++) {
		const struct fake_record *r = &engine->log[i];
		const struct gsb_rec_copy *c = (const void *)r->body;

		if (r->rec.type != GSB_REC_COPY)
			continue;
		assert_int_equal(c->src_place, GSB_PLACE_STAGING);
		assert_int_equal(c->dst, dev + at);
		assert_int_equal(r->sum, sum_of(host + at, c->width));
		at += c->width;
	}
	assert_int_equal(at, BIG);
}

static void test_async_copy_from_pageable_returns_when_staged(void **state)
{
	const struct fake_record *r;
	uint64_t sum;

	fill_host();
	sum = sum_of(host, 30000);
	engine->hold = true;
	assert_cu(cu.cuMemcpyHtoDAsync_v2(dev, host, 30000, NULL));
	memset(host, 0xee, 30000);
	r = last(GSB_REC_COPY);
	assert_false(r->is_done);
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(NULL));
	assert_int_equal(r->sum, sum);
}

#define ALL_STAGING (8u << 20)
#define N_CHUNKS    16u
#define CHUNK	    (ALL_STAGING / N_CHUNKS)
#define N_IN_FLIGHT 12u /* chunks that one copy holds */

static CUresult call_htod_behind_all(void *arg)
{
	return cu.cuMemcpyHtoDAsync_v2(dev + ALL_STAGING, host + ALL_STAGING, CHUNK / 2, NULL);
}

/* The stream's word is one short of the first chunk's copy: none of them is free. */
static void test_staging_is_taken_again_only_when_its_copy_is_done(void **state)
{
	struct waiter w;

	fill_host();
	assert_int_equal(engine->staging_bytes, ALL_STAGING);
	assert_cu(cu.cuMemsetD8Async(dev, 1, 16, NULL));
	assert_cu(cu.cuStreamSynchronize(NULL));
	engine->hold = true;
	assert_cu(cu.cuMemcpyHtoDAsync_v2(dev, host, ALL_STAGING, NULL));
	await_nobody_blocked();
	waiter_start(&w, call_htod_behind_all, NULL);
	while (!engine->n_blocked && !w.is_back)
		sched_yield();
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_cu(cu.cuStreamSynchronize(NULL));
	assert_int_equal(count(GSB_REC_COPY), N_CHUNKS + 1);
	for (unsigned i = mark, n = 0; i < engine->n_logged; i++)
		if (engine->log[i].rec.type == GSB_REC_COPY) {
			assert_int_equal(
				engine->log[i].sum,
				sum_of(host + CHUNK * n, n < N_CHUNKS ? CHUNK : CHUNK / 2));
			n++;
		}
}

static CUresult call_htod(void *arg)
{
	return cu.cuMemcpyHtoD_v2(dev, host, 64);
}

static CUresult call_htod_of_two_chunks(void *arg)
{
	return cu.cuMemcpyHtoD_v2(dev, host, CHUNK + 1);
}

static void test_sync_copy_from_pageable_waits_for_its_stream_first(void **state)
{
	struct waiter w;

	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(dev, 1, 16, NULL));
	waiter_start(&w, call_htod, NULL);
	await_record(GSB_REC_FILL, 1);
	flush();
	assert_int_equal(fake_count(engine, mark, GSB_REC_COPY), 0);
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_int_equal(count(GSB_REC_COPY), 1);
}

/* Streams that wait for no other use it at once. */
static void test_sync_copy_from_pageable_above_64_kib_returns_when_complete(void **state)
{
	struct waiter w;

	engine->hold = true;
	assert_cu(cu.cuMemcpyHtoD_v2(dev, host, 65536));
	assert_false(last(GSB_REC_COPY)->is_done);
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(NULL));
	engine->hold = true;
	waiter_start(&w, call_htod_of_two_chunks, NULL);
	await_record(GSB_REC_COPY, 3);
	flush();
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_true(last(GSB_REC_COPY)->is_done);
}

static CUresult call_htod_to(void *arg)
{
	return cu.cuMemcpyHtoD_v2(*(CUdeviceptr *)arg, host, 64);
}

static CUresult call_free(void *arg)
{
	return cu.cuMemFree_v2(*(CUdeviceptr *)arg);
}

/* Another thread frees the destination while the copy waits for its stream, for which the free waits as well. */
static void test_copy_to_memory_that_is_freed_meanwhile_is_refused(void **state)
{
	struct waiter w, w_free;
	CUdeviceptr freed, base;
	size_t size;

	assert_cu(cu.cuMemAlloc_v2(&freed, 4096));
	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(dev, 1, 16, NULL));
	await_nobody_blocked();
	waiter_start(&w, call_htod_to, &freed);
	while (!engine->n_blocked && !w.is_back)
		sched_yield();
	assert_false(w.is_back);
	waiter_start(&w_free, call_free, &freed);
	while (!cu.cuMemGetAddressRange_v2(&base, &size, freed))
		sched_yield();
	engine->hold = false;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, waiter_join(&w));
	assert_cu(waiter_join(&w_free));
	assert_int_equal(count(GSB_REC_COPY), 0);
}

static void test_rectangle_from_pageable_is_gathered(void **state)
{
	const CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				 .srcHost = host,
				 .srcPitch = 1000,
				 .srcXInBytes = 3,
				 .srcY = 2,
				 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				 .dstDevice = dev,
				 .dstPitch = 512,
				 .WidthInBytes = 100,
				 .Height = 50};
	uint8_t packed[5000];
	const struct gsb_rec_copy *body;

	fill_host();
	for (int y = 0; y < 50; y++)
		memcpy(packed + y * 100, host + (y + 2) * 1000 + 3, 100);
	assert_cu(cu.cuMemcpy2D_v2(&c));
	assert_cu(cu.cuCtxSynchronize());
	body = last_body(COPY, copy);
	assert_int_equal(body->dst_pitch, 512);
	assert_int_equal(body->width, 100);
	assert_int_equal(body->height, 50);
	assert_int_equal(last(GSB_REC_COPY)->sum, sum_of(packed, sizeof(packed)));
}

static void test_rows_wider_than_a_chunk_are_cut(void **state)
{
	const CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				 .srcDevice = dev,
				 .srcPitch = 900000,
				 .dstMemoryType = CU_MEMORYTYPE_HOST,
				 .dstHost = host,
				 .dstPitch = 850000,
				 .WidthInBytes = 800001,
				 .Height = 3};

	memset(host, 0, BIG);
	assert_cu(cu.cuMemcpy2D_v2(&c));
	for (unsigned y = 0; y < 3; y++)
		for (unsigned x = 0; x < 850000; x++)
			if (host[y * 850000 + x] !=
			    (x < 800001 ? fake_byte(dev + y * 900000 + x) : 0))
				fail_msg("wrong byte at %u, %u", y, x);
}

/* ---- device to pageable ---- */

static void test_copy_to_pageable_brings_every_byte(void **state)
{
	memset(host, 0, BIG);
	assert_cu(cu.cuMemcpyDtoHAsync_v2(host + 1, dev + 5, BIG - 7, NULL));
	assert_int_equal(host[0], 0);
	for (unsigned i = 0; i < BIG - 7; i++)
		if (host[1 + i] != fake_byte(dev + 5 + i))
			fail_msg("wrong byte at %u", i);
	assert_int_equal(host[BIG - 6], 0);
}

static CUresult call_dtoh_of_all(void *arg)
{
	return cu.cuMemcpyDtoH_v2(arg, dev, BIG);
}

/* The threads that help are given what has come, and nothing else; and all chunks come back. */
static void test_large_copy_to_pageable_takes_what_has_come(void **state)
{
	struct waiter w;

	memset(host, 0, BIG);
	await_nobody_blocked();
	engine->hold = true;
	waiter_start(&w, call_dtoh_of_all, host);
	while (!engine->n_blocked)
		sched_yield();
	assert_int_equal(count(GSB_REC_COPY), N_IN_FLIGHT);
	engine->hold_after = 1;
	engine->hold = false;
	await_record(GSB_REC_COPY, N_IN_FLIGHT + 1); /* one is emptied, and sent for again */
	assert_int_equal(host[CHUNK - 1], fake_byte(dev + CHUNK - 1));
	engine->hold = false;
	assert_cu(waiter_join(&w));
	for (unsigned i = 0; i < BIG; i++)
		if (host[i] != fake_byte(dev + i))
			fail_msg("wrong byte at %u", i);
	engine->hold = true;
	assert_cu(cu.cuMemcpyHtoDAsync_v2(dev, host, ALL_STAGING, NULL));
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(NULL));
}

/* So that the threads that help have something to do, but with no more records than that takes. */
static void test_pieces_are_smaller_the_smaller_a_copy_is(void **state)
{
	static const struct {
		unsigned bytes, n, width;
	} copies[] = {
		{200000, 1, 200000},
		{1u << 20, 4, 1u << 18},
		{6u << 20, 16, 6u << 16},
		{BIG, BIG / CHUNK, CHUNK},
	};

	for (unsigned i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		mark = engine->n_logged;
		assert_cu(cu.cuMemcpyDtoH_v2(host, dev, copies[i].bytes));
		assert_int_equal(count(GSB_REC_COPY), copies[i].n);
		assert_int_equal(copy_at(0)->width, copies[i].width);
	}
}

/* A second copy has chunks, whatever the first one has. */
static void test_copy_leaves_chunks_for_another_thread(void **state)
{
	struct waiter w;

	engine->hold = true;
	waiter_start(&w, call_dtoh_of_all, host);
	await_record(GSB_REC_COPY, N_IN_FLIGHT);
	for (unsigned i = 0; i < N_CHUNKS - N_IN_FLIGHT; i++)
		assert_cu(cu.cuMemcpyHtoDAsync_v2(dev, host, CHUNK / 4, CU_STREAM_PER_THREAD));
	assert_int_equal(count(GSB_REC_COPY), N_CHUNKS);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_cu(cu.cuCtxSynchronize());
}

#define PITCH 65536u
#define ROWS  128u
#define WIDTH 40000u /* eight rows are a piece */

static pthread_t copier;
static _Atomic unsigned n_faults, n_faults_elsewhere;

static void allow_page(int signal, siginfo_t *info, void *where)
{
	const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;

	n_faults++;
	n_faults_elsewhere += !pthread_equal(pthread_self(), copier);
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

/* Of each piece all rows but the first may only be read, until the program's handler has been told. */
static void test_program_that_handles_faults_handles_those_of_its_own_thread(void **state)
{
	const struct sigaction action = {.sa_sigaction = allow_page, .sa_flags = SA_SIGINFO};
	struct sigaction before;
	uint8_t *to = mmap(NULL, PITCH * ROWS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	const CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				 .srcDevice = dev,
				 .srcPitch = PITCH,
				 .dstMemoryType = CU_MEMORYTYPE_HOST,
				 .dstHost = to,
				 .dstPitch = PITCH,
				 .WidthInBytes = WIDTH,
				 .Height = ROWS};

	assert_true(to != MAP_FAILED);
	copier = pthread_self();
	sigaction(SIGSEGV, &action, &before);
	for (unsigned i = 0; i < 20; i++) {
		memset(to, 0, PITCH * ROWS);
		for (unsigned y = 0; y < ROWS; y++)
			if (y % 8)
				mprotect(to + y * PITCH, PITCH, PROT_READ);
		n_faults = 0;
		assert_cu(cu.cuMemcpy2D_v2(&c));
		assert_int_not_equal(n_faults, 0);
		assert_int_equal(n_faults_elsewhere, 0);
		mprotect(to, PITCH * ROWS, PROT_READ | PROT_WRITE);
		for (unsigned y = 0; y < ROWS; y++)
			assert_int_equal(to[y * PITCH + WIDTH - 1],
					 fake_byte(dev + y * PITCH + WIDTH - 1));
	}
	sigaction(SIGSEGV, &before, NULL);
	munmap(to, PITCH * ROWS);
}

/* ---- handlers that leave a copy, or copy themselves ---- */

#define LEFT_BYTES (4u << 20)
#define FAR_PAGE   (2u << 20) /* the page that is not there, in memory of LEFT_BYTES */

static __thread sigjmp_buf probe;

static void leave_copy(int signal)
{
	siglongjmp(probe, signal);
}

static uint8_t *memory_without_a_page(uint64_t at)
{
	uint8_t *memory =
		mmap(NULL, LEFT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	memset(memory, 0x5a, LEFT_BYTES);
	assert_int_equal(mprotect(memory + at, 4096, PROT_NONE), 0);
	return memory;
}

/* As a program does that asks whether memory is there. Return: whether it was left. */
static bool leave_one(uint8_t *memory, uint64_t n, bool is_to_device)
{
	if (sigsetjmp(probe, 1))
		return true;
	if (is_to_device)
		cu.cuMemcpyHtoD_v2(dev, memory, n);
	else
		cu.cuMemcpyDtoH_v2(memory, dev, n);
	return false;
}

static void handle_faults(void (*handler)(int signal), int flags, struct sigaction *before)
{
	const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	assert_int_equal(sigaction(SIGSEGV, &action, before), 0);
}

static CUresult call_big_dtoh(void *arg)
{
	return cu.cuMemcpyDtoH_v2(host, dev, BIG);
}

static void expect_copies_of_another_thread(void)
{
	struct waiter w;

	memset(host, 0, BIG);
	waiter_start(&w, call_big_dtoh, NULL);
	assert_cu(waiter_join(&w));
	for (unsigned i = 0; i < BIG; i += 4099)
		assert_int_equal(host[i], fake_byte(dev + i));
}

static void test_copy_that_a_handler_leaves_keeps_nothing(void **state)
{
	uint8_t *memory = memory_without_a_page(FAR_PAGE);
	struct sigaction before;

	handle_faults(leave_copy, 0, &before);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(leave_one(memory, LEFT_BYTES, i % 2));
		assert_false(leave_one(memory, FAR_PAGE, i % 4 < 2));
		expect_copies_of_another_thread();
	}
	sigaction(SIGSEGV, &before, NULL);
	munmap(memory, LEFT_BYTES);
}

static void test_small_copy_that_a_handler_leaves_does_not_lock_the_ring(void **state)
{
	uint8_t *memory = memory_without_a_page(0);
	struct sigaction before;

	handle_faults(leave_copy, 0, &before);
	assert_true(leave_one(memory, 64, true));
	expect_copies_of_another_thread();
	sigaction(SIGSEGV, &before, NULL);
	munmap(memory, LEFT_BYTES);
}

static CUresult call_that_is_left(void *memory)
{
	return leave_one(memory, LEFT_BYTES, false) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static void test_thread_that_ends_after_it_left_a_copy_keeps_nothing(void **state)
{
	uint8_t *memory = memory_without_a_page(FAR_PAGE);
	struct sigaction before;
	struct waiter w;

	handle_faults(leave_copy, 0, &before);
	for (unsigned i = 0; i < 4; i++) {
		waiter_start(&w, call_that_is_left, memory);
		assert_cu(waiter_join(&w));
	}
	expect_copies_of_another_thread();
	sigaction(SIGSEGV, &before, NULL);
	munmap(memory, LEFT_BYTES);
}

#define NESTED_BYTES 9001u

static __thread uint8_t *without_page, nested[NESTED_BYTES];
static pthread_barrier_t
	in_handlers; /* all of them are there: none waits for what another one interrupted */

static void copy_in_handler(int signal)
{
	pthread_barrier_wait(&in_handlers);
	if (cu.cuMemcpyDtoH_v2(nested, dev + 77, NESTED_BYTES) ||
	    cu.cuMemcpyHtoD_v2(dev + BIG / 2, nested, NESTED_BYTES))
		_exit(98);
	pthread_barrier_wait(&in_handlers);
	if (mprotect(without_page + FAR_PAGE, 4096, PROT_READ | PROT_WRITE))
		_exit(99);
}

static CUresult copy_with_handler(uint8_t *memory)
{
	CUresult result;

	without_page = memory;
	memset(nested, 0, sizeof(nested));
	result = cu.cuMemcpyDtoH_v2(memory, dev, LEFT_BYTES);
	for (unsigned i = 0; !result && i < LEFT_BYTES; i += 61)
		if (memory[i] != fake_byte(dev + i))
			result = CUDA_ERROR_UNKNOWN;
	for (unsigned i = 0; !result && i < NESTED_BYTES; i++)
		if (nested[i] != fake_byte(dev + 77 + i))
			result = CUDA_ERROR_UNKNOWN;
	return result;
}

/* The alternate stack lies above the copy's frame, as the frame of one would that is called when that one was left. */
static CUresult call_with_handler(void *memory)
{
	uint8_t above[1 << 16];
	const stack_t s = {.ss_sp = above, .ss_size = sizeof(above)},
		      none = {.ss_flags = SS_DISABLE};
	CUresult result;

	if (sigaltstack(&s, NULL))
		return CUDA_ERROR_UNKNOWN;
	result = copy_with_handler(memory);
	sigaltstack(&none, NULL);
	return result;
}

static void expect_copies_in_handlers(int flags)
{
	uint8_t *memory[2] = {memory_without_a_page(FAR_PAGE), memory_without_a_page(FAR_PAGE)};
	struct sigaction before;
	struct waiter w[2];

	pthread_barrier_init(&in_handlers, NULL, 2);
	handle_faults(copy_in_handler, flags, &before);
	for (unsigned i = 0; i < 2; i++)
		waiter_start(&w[i], call_with_handler, memory[i]);
	for (unsigned i = 0; i < 2; i++)
		assert_cu(waiter_join(&w[i]));
	sigaction(SIGSEGV, &before, NULL);
	pthread_barrier_destroy(&in_handlers);
	for (unsigned i = 0; i < 2; i++)
		munmap(memory[i], LEFT_BYTES);
}

static void test_handlers_in_the_middle_of_copies_copy(void **state)
{
	expect_copies_in_handlers(0);
	expect_copies_in_handlers(SA_ONSTACK);
	expect_copies_of_another_thread();
}

static CUresult call_dtoh_async(void *arg)
{
	return cu.cuMemcpyDtoHAsync_v2(arg, dev, 64, NULL);
}

static void test_async_copy_to_pageable_returns_when_complete(void **state)
{
	struct waiter w;

	engine->hold = true;
	waiter_start(&w, call_dtoh_async, host);
	await_record(GSB_REC_COPY, 1);
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_true(last(GSB_REC_COPY)->is_done);
	assert_int_equal(host[63], fake_byte(dev + 63));
}

/* ---- pinned, device to device, host to host ---- */

static void test_async_copy_of_pinned_memory_goes_direct_and_returns_at_once(void **state)
{
	const struct gsb_rec_copy *body;

	engine->hold = true;
	assert_cu(cu.cuMemcpyHtoDAsync_v2(dev, pinned + 16, 1 << 19, NULL));
	assert_cu(cu.cuMemcpyDtoHAsync_v2(pinned, dev, 1 << 19, NULL));
	assert_int_equal(count(GSB_REC_COPY), 2);
	body = copy_at(0);
	assert_int_equal(body->src_place, GSB_PLACE_HOST);
	assert_int_equal(body->src, (uint64_t)pinned + 16);
	assert_int_equal(copy_at(1)->dst_place, GSB_PLACE_HOST);
	assert_false(last(GSB_REC_COPY)->is_done);
}

static CUresult call_pinned_htod(void *arg)
{
	return cu.cuMemcpyHtoD_v2(dev, pinned, 4);
}

static void test_sync_copy_of_pinned_memory_returns_when_complete(void **state)
{
	struct waiter w;

	engine->hold = true;
	waiter_start(&w, call_pinned_htod, NULL);
	await_record(GSB_REC_COPY, 1);
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_true(last(GSB_REC_COPY)->is_done);
}

static void test_device_to_device_is_asynchronous_in_both_forms(void **state)
{
	engine->hold = true;
	assert_cu(cu.cuMemcpyDtoD_v2(dev, dev + 4096, 4096));
	assert_cu(cu.cuMemcpyDtoDAsync_v2(dev, dev + 4096, 4096, NULL));
	assert_cu(cu.cuMemcpy(dev, dev + 4096, 4096));
	assert_int_equal(count(GSB_REC_COPY), 3);
	assert_false(engine->log[engine->n_logged - 2].is_done);
	assert_int_equal(copy_at(0)->src_place, GSB_PLACE_DEVICE);
}

static void test_unified_copy_finds_out_its_direction(void **state)
{
	assert_cu(cu.cuMemcpy((CUdeviceptr)host, dev, 100));
	assert_int_equal(host[99], fake_byte(dev + 99));
	assert_int_equal(copy_at(0)->dst_place, GSB_PLACE_STAGING);
	assert_cu(cu.cuMemcpy((CUdeviceptr)host + 100, (CUdeviceptr)host, 100));
	assert_int_equal(host[199], fake_byte(dev + 99));
	assert_int_equal(count(GSB_REC_COPY), 1); /* host to host is ours alone */
}

static void test_per_thread_form_uses_the_threads_stream(void **state)
{
	assert_cu(cu.cuMemcpyDtoD_v2_ptds(dev, dev + 64, 64));
	assert_int_equal(count(GSB_REC_STREAM_CREATE), 1);
	assert_int_equal(last(GSB_REC_COPY)->rec.stream,
			 last_body(STREAM_CREATE, stream_create)->stream);
	assert_cu(cu.cuMemcpyDtoD_v2(dev, dev + 64, 64));
	assert_int_not_equal(last(GSB_REC_COPY)->rec.stream,
			     last_body(STREAM_CREATE, stream_create)->stream);
	assert_int_equal(count(GSB_REC_STREAM_CREATE), 1);
}

/* ---- in batches ---- */

static CUdeviceptr srcs[4], dsts[4];
static size_t sizes[4], first[4];
static CUmemcpyAttributes attrs[4];
static CUstream batch_stream;

/* Four copies, of device and pinned memory, of one attribute. */
static void fill_batch(void)
{
	for (unsigned i = 0; i < 4; i++) {
		srcs[i] = i % 2 ? (CUdeviceptr)pinned + 64 * i : dev + 4096 * i;
		dsts[i] = dev + 65536 + 64 * i;
		sizes[i] = 16 + i;
		first[i] = i;
		attrs[i] =
			(CUmemcpyAttributes){.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	}
	if (!batch_stream)
		assert_cu(cu.cuStreamCreate(&batch_stream, CU_STREAM_NON_BLOCKING));
}

static CUresult batch(size_t n, size_t n_attrs)
{
	return cu.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, n, attrs, first, n_attrs, batch_stream);
}

static void test_batch_is_its_copies_in_the_stream(void **state)
{
	fill_batch();
	engine->hold = true;
	assert_cu(batch(4, 1));
	assert_int_equal(count(GSB_REC_COPY), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(copy_at(i)->src, srcs[i]);
		assert_int_equal(copy_at(i)->dst, dsts[i]);
		assert_int_equal(copy_at(i)->width, sizes[i]);
	}
	assert_int_equal(last(GSB_REC_COPY)->rec.stream, (uint64_t)batch_stream);
	assert_cu(cu.cuMemcpyBatchAsync_v2_ptsz(dsts, srcs, sizes, 1, attrs, first, 1, NULL));
	assert_int_not_equal(last(GSB_REC_COPY)->rec.stream, (uint64_t)batch_stream);
}

/* As an H200's driver has it. */
static void test_batch_that_is_wrong_anywhere_copies_nothing(void **state)
{
	const CUresult bad = CUDA_ERROR_INVALID_VALUE;
	CUdeviceptr gone;
	size_t fail = 7;

	fill_batch();
	assert_cu_is(bad, batch(0, 1));
	assert_cu_is(bad, batch(4, 0));
	assert_cu_is(bad, batch(2, 3));
	assert_cu_is(bad, cu.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, attrs, first, 1, NULL));
	assert_cu_is(bad, cu.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, attrs, first, 1,
						   CU_STREAM_LEGACY));
	assert_cu_is(bad,
		     cu.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, NULL, first, 1, batch_stream));
	assert_cu_is(bad, cu.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, attrs, first + 1, 1,
						   batch_stream));
	first[1] = 0;
	assert_cu_is(bad, batch(2, 2));
	first[1] = 2;
	assert_cu_is(bad, batch(2, 2));
	fill_batch();
	attrs[1].srcAccessOrder = 0;
	assert_cu_is(bad, batch(2, 2));
	attrs[1].srcAccessOrder = 4;
	assert_cu_is(bad, batch(2, 2));
	fill_batch();
	attrs[0].flags = 2;
	assert_cu_is(bad, batch(2, 1));
	fill_batch();
	sizes[3] = 0;
	assert_cu_is(bad, batch(4, 1));
	fill_batch();
	srcs[3] = dev + BIG - 4;
	assert_cu_is(bad, cu.cuMemcpyBatchAsync(dsts, srcs, sizes, 4, attrs, first, 1, &fail,
						batch_stream));
	assert_int_equal(fail, 3);
	assert_cu_is(bad, cu.cuMemcpyBatchAsync(dsts, srcs, sizes, 4, attrs, first, 9, &fail,
						batch_stream));
	assert_int_equal(fail, SIZE_MAX);
	assert_cu(cu.cuMemAlloc_v2(&gone, 64));
	assert_cu(cu.cuMemFree_v2(gone));
	fill_batch();
	dsts[2] = gone;
	assert_cu_is(bad, batch(4, 1));
	assert_int_equal(count(GSB_REC_COPY), 0);
}

/* Attributes are for the copies from their index on: that of the second copy. */
static CUresult call_batch(void *arg)
{
	return batch(2, 2);
}

static void test_batch_waits_for_sources_that_are_to_be_read_before_it_returns(void **state)
{
	struct waiter w;

	fill_batch();
	engine->hold = true;
	attrs[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	waiter_start(&w, call_batch, NULL);
	await_record(GSB_REC_COPY, 2);
	flush();
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_true(last(GSB_REC_COPY)->is_done);
}

/* It is staged: whoever waited for its stream could wait for himself. */
static void test_batch_does_not_wait_for_pageable_sources(void **state)
{
	fill_host();
	fill_batch();
	engine->hold = true;
	srcs[1] = (CUdeviceptr)host;
	attrs[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
	attrs[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	assert_cu(batch(2, 2));
	assert_int_equal(count(GSB_REC_COPY), 2);
	assert_int_equal(copy_at(1)->src_place, GSB_PLACE_INLINE);
	assert_false(last(GSB_REC_COPY)->is_done);
}

static CUDA_MEMCPY3D_BATCH_OP box_op(void)
{
	CUDA_MEMCPY3D_BATCH_OP op = {
		.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER},
		.dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER},
		.extent = {4, 3, 2},
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	};

	op.src.op.ptr.ptr = dev;
	op.dst.op.ptr.ptr = dev + 65536;
	return op;
}

static void test_boxes_of_a_batch_lie_at_their_lengths(void **state)
{
	CUDA_MEMCPY3D_BATCH_OP ops[2] = {box_op(), box_op()};

	fill_batch();
	ops[0].src.op.ptr.rowLength = 32;
	ops[0].src.op.ptr.layerHeight = 5;
	ops[1].dst.op.ptr.rowLength = 8;
	assert_cu(cu.cuMemcpy3DBatchAsync_v2(2, ops, 0, batch_stream));
	assert_int_equal(count(GSB_REC_COPY), 4); /* a slice each */
	assert_int_equal(copy_at(0)->src_pitch, 32);
	assert_int_equal(copy_at(0)->height, 3);
	assert_int_equal(copy_at(1)->src, dev + 32 * 5);
	assert_int_equal(copy_at(1)->dst, dev + 65536 + 4 * 3);
	assert_int_equal(copy_at(3)->dst, dev + 65536 + 8 * 3);
}

static void test_boxes_of_a_batch_that_are_wrong_are_refused(void **state)
{
	const CUresult bad = CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D_BATCH_OP ops[2];
	size_t fail = 7;

	fill_batch();
#define REFUSED(change)                                                             \
	ops[0] = ops[1] = box_op();                                                 \
	ops[1].change;                                                              \
	assert_cu_is(bad, cu.cuMemcpy3DBatchAsync(2, ops, &fail, 0, batch_stream)); \
	assert_int_equal(fail, 1);
	REFUSED(extent.width = 0)
	REFUSED(extent.depth = 0)
	REFUSED(src.op.ptr.rowLength = 3)
	REFUSED(src.op.ptr.layerHeight = 2)
	REFUSED(src.op.ptr.ptr = 0)
	REFUSED(srcAccessOrder = 0)
	REFUSED(flags = 2)
	REFUSED(src.type = 3)
	REFUSED(src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY)
#undef REFUSED
	assert_cu_is(bad, cu.cuMemcpy3DBatchAsync_v2(1, ops, 1, batch_stream));
	assert_cu_is(bad, cu.cuMemcpy3DBatchAsync_v2(0, ops, 0, batch_stream));
	assert_cu_is(bad, cu.cuMemcpy3DBatchAsync_v2(1, ops, 0, NULL));
	assert_int_equal(count(GSB_REC_COPY), 0);
}

/* No node stands for one: it is refused, and the capture goes on. */
static void test_batch_is_refused_while_its_stream_captures(void **state)
{
	const CUDA_MEMCPY3D_BATCH_OP op = box_op();
	CUgraph graph;

	fill_batch();
	assert_cu(cu.cuStreamBeginCapture_v2(batch_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_cu_is(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, batch(1, 1));
	assert_cu_is(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
		     cu.cuMemcpy3DBatchAsync_v2(1, (CUDA_MEMCPY3D_BATCH_OP *)&op, 0, batch_stream));
	assert_cu(cu.cuStreamEndCapture(batch_stream, &graph));
	assert_cu(cu.cuGraphDestroy(graph));
	assert_int_equal(count(GSB_REC_COPY), 0);
}

/* ---- words ---- */

static void test_written_word_travels_in_the_record_and_nobody_waits(void **state)
{
	const uint64_t wide = 0x0123456789abcdef;
	const uint32_t word = 0x89abcdef;
	CUdeviceptr at;

	fill_batch();
	engine->hold = true;
	assert_cu(cu.cuStreamWriteValue64_v2(batch_stream, dev + 8, wide, 0));
	assert_int_equal(last_body(COPY, copy)->width, 8);
	assert_int_equal(last_body(COPY, copy)->dst, dev + 8);
	assert_memory_equal(last_body(COPY, copy) + 1, &wide, 8);
	assert_cu(cu.cuMemHostGetDevicePointer_v2(&at, pinned, 0));
	assert_cu(cu.cuStreamWriteValue32_v2(batch_stream, at + 4, word, 0));
	assert_int_equal(last_body(COPY, copy)->width, 4);
	assert_int_equal(last_body(COPY, copy)->dst_place, GSB_PLACE_HOST);
	assert_memory_equal(last_body(COPY, copy) + 1, &word, 4);
	assert_int_equal(last(GSB_REC_COPY)->rec.stream, (uint64_t)batch_stream);
	assert_false(last(GSB_REC_COPY)->is_done);
}

static void test_words_that_cannot_be_written_are_refused(void **state)
{
	const CUresult bad = CUDA_ERROR_INVALID_VALUE;
	CUdeviceptr managed;

	fill_batch();
	assert_cu(cu.cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	assert_cu_is(bad, cu.cuStreamWriteValue32_v2(batch_stream, dev + 2, 7, 0));
	assert_cu_is(bad, cu.cuStreamWriteValue64_v2(batch_stream, dev + 4, 7, 0));
	assert_cu_is(bad, cu.cuStreamWriteValue32_v2(batch_stream, dev, 7, 1));
	assert_cu_is(bad, cu.cuStreamWriteValue32_v2(batch_stream, 0, 7, 0));
	assert_cu_is(bad, cu.cuStreamWriteValue32_v2(batch_stream, managed, 7, 0));
	assert_cu_is(bad, cu.cuStreamWriteValue32_v2(batch_stream, (CUdeviceptr)host, 7, 0));
	assert_cu_is(bad, cu.cuStreamWriteValue32_v2(batch_stream, dev + BIG, 7, 0));
	assert_int_equal(count(GSB_REC_COPY), 0);
	assert_cu(cu.cuMemFree_v2(managed));
}

/* All or nothing; a wait for a word is nothing that the engine could order by. */
static void test_memory_operations_of_a_batch_are_writes_and_barriers(void **state)
{
	CUstreamBatchMemOpParams ops[257] = {0};

	fill_batch();
	for (unsigned i = 0; i < 257; i++)
		ops[i].writeValue = (struct CUstreamMemOpWriteValueParams_st){
			.operation = i % 2 ? CU_STREAM_MEM_OP_WRITE_VALUE_64
					   : CU_STREAM_MEM_OP_WRITE_VALUE_32,
			.address = dev + 8,
			.value64 = i};
	assert_cu(cu.cuStreamBatchMemOp_v2(batch_stream, 2, ops, 0));
	assert_int_equal(count(GSB_REC_COPY), 2);
	assert_int_equal(copy_at(0)->width, 4);
	assert_int_equal(copy_at(1)->width, 8);
	assert_cu(cu.cuStreamBatchMemOp_v2(batch_stream, 0, NULL, 0));
	ops[1].operation = CU_STREAM_MEM_OP_BARRIER;
	ops[1].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
	assert_cu(cu.cuStreamBatchMemOp_v2(batch_stream, 2, ops, 0));
	assert_int_equal(count(GSB_REC_COPY), 3);
	ops[1].memoryBarrier.flags = 2;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuStreamBatchMemOp_v2(batch_stream, 2, ops, 0));
	ops[1].operation = 7;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuStreamBatchMemOp_v2(batch_stream, 2, ops, 0));
	ops[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	assert_cu_is(CUDA_ERROR_NOT_SUPPORTED, cu.cuStreamBatchMemOp_v2(batch_stream, 2, ops, 0));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuStreamBatchMemOp_v2(batch_stream, 1, ops, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuStreamBatchMemOp_v2(batch_stream, 257, ops, 0));
	assert_int_equal(count(GSB_REC_COPY), 3);
}

static void test_word_is_not_written_while_its_stream_captures(void **state)
{
	CUgraph graph;

	fill_batch();
	assert_cu(cu.cuStreamBeginCapture_v2(batch_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_cu_is(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
		     cu.cuStreamWriteValue32_v2(batch_stream, dev, 7, 0));
	assert_cu_is(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
		     cu.cuStreamEndCapture(batch_stream, &graph));
	assert_int_equal(count(GSB_REC_COPY), 0);
}

/* ---- refusals ---- */

static void test_copies_with_bad_pointers_are_refused_at_once(void **state)
{
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD_v2(dev + BIG - 4, host, 8));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD_v2(dev - 4, host, 8));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD_v2((CUdeviceptr)host, host, 8));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD_v2(0, host, 8));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(NULL, dev, 8));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(host, dev + BIG, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoD_v2(dev, dev, SIZE_MAX));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(pinned + (1 << 20) - 4, dev, 8));
	assert_int_equal(count(GSB_REC_COPY), 0);
	assert_cu(cu.cuMemcpyHtoD_v2(0, NULL, 0));
}

/* What a call takes for memory of the host may be the device's: an address says where it lies. */
static void test_end_that_is_called_the_hosts_may_be_the_devices(void **state)
{
	assert_cu(cu.cuMemcpyHtoD_v2(dev, (void *)(dev + 64), 8));
	assert_int_equal(last_body(COPY, copy)->src_place, GSB_PLACE_DEVICE);
	assert_cu(cu.cuMemcpyDtoHAsync_v2((void *)(dev + 64), dev, 8, NULL));
	assert_int_equal(last_body(COPY, copy)->dst_place, GSB_PLACE_DEVICE);
	assert_int_equal(last_body(COPY, copy)->dst, dev + 64);
	assert_int_equal(count(GSB_REC_COPY), 2);
}

/* Addresses are the process's; but a stream frees what is of its own context. */
static void test_memory_of_another_context_may_be_copied_and_filled(void **state)
{
	CUdeviceptr pool;
	CUcontext other;

	assert_cu(cu.cuMemAllocAsync(&pool, 64, NULL));
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuMemcpyHtoDAsync_v2(dev, host, 4, NULL));
	assert_cu(cu.cuMemcpyPeerAsync(dev + 8, NULL, dev, other, 4, NULL));
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT,
		     cu.cuMemcpyPeerAsync(dev + 8, (CUcontext)dev, dev, other, 4, NULL));
	assert_cu(cu.cuMemsetD8_v2(dev, 0, 4));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(pool, NULL));
	assert_cu(cu.cuMemsetD8_v2((CUdeviceptr)pinned, 0, 4));
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_int_equal(count(GSB_REC_MEM_FREE_ASYNC), 0);
	assert_int_equal(count(GSB_REC_COPY), 2);
	assert_int_equal(count(GSB_REC_FILL), 2);
	assert_cu(cu.cuMemFreeAsync(pool, NULL));
}

static void test_rectangles_with_bad_shapes_are_refused(void **state)
{
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			   .srcDevice = dev,
			   .srcPitch = 64,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstDevice = dev + 65536,
			   .dstPitch = 128,
			   .WidthInBytes = 100,
			   .Height = 4};

	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy2D_v2(&c)); /* rows overlap */
	c.srcPitch = 1ull << 62;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy2D_v2(&c));
	c.srcPitch = 128;
	c.srcY = 1ull << 61;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy2D_v2(&c));
	c.srcY = 0;
	c.srcMemoryType = (CUmemorytype)9;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy2D_v2(&c));
	c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy2D_v2(&c));
	c.srcArray = (CUarray)host;
	assert_cu_is(CUDA_ERROR_INVALID_HANDLE, cu.cuMemcpy2D_v2(&c));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy2D_v2(NULL));
	c.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
	assert_cu(cu.cuMemcpy2DAsync_v2(&c, NULL));
	assert_int_equal(count(GSB_REC_COPY), 1);
}

/* ---- fills ---- */

static void test_fills_post_value_size_and_shape(void **state)
{
	const struct gsb_rec_fill *body;

	assert_cu(cu.cuMemsetD32_v2(dev, 0xdeadbeef, 100));
	body = last_body(FILL, fill);
	assert_int_equal(body->value, 0xdeadbeef);
	assert_int_equal(body->elem_bytes, 4);
	assert_int_equal(body->width, 100);
	assert_int_equal(body->height, 1);
	assert_cu(cu.cuMemsetD2D16Async(dev, 512, 0x1234, 10, 20, NULL));
	body = last_body(FILL, fill);
	assert_int_equal(body->elem_bytes, 2);
	assert_int_equal(body->pitch, 512);
	assert_int_equal(body->height, 20);
	assert_cu(cu.cuMemsetD8_v2_ptds(dev, 7, BIG));
	assert_int_equal(last_body(FILL, fill)->width, BIG);
}

static CUresult call_pinned_fill(void *arg)
{
	return cu.cuMemsetD8_v2((CUdeviceptr)pinned, 1, 64);
}

static void test_fill_of_pinned_memory_returns_at_once_only_in_the_async_form(void **state)
{
	struct waiter w;

	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async((CUdeviceptr)pinned, 0, 64, NULL));
	assert_cu(cu.cuMemsetD2D32Async_ptsz((CUdeviceptr)pinned, 64, 0, 4, 4, NULL));
	waiter_start(&w, call_pinned_fill, NULL);
	await_record(GSB_REC_FILL, 3);
	assert_false(w.is_back);
	engine->hold = false;
	assert_cu(waiter_join(&w));
	assert_true(last(GSB_REC_FILL)->is_done);
}

static void test_fills_with_bad_targets_are_refused(void **state)
{
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2(dev, 0, BIG + 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD32_v2(dev + 2, 0, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD32_v2(dev, 0, 1ull << 62));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2((CUdeviceptr)host, 0, 1));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD2D8_v2(dev, 8, 0, 16, 2));
	assert_int_equal(count(GSB_REC_FILL), 0);
}

/* More copies than there are chunks, from several threads, while the engine is slow. */
static CUresult copy_many(void *arg)
{
	uint8_t *mine = malloc(200000);

	for (int i = 0; i < 20; i++) {
		if (cu.cuMemcpyDtoH_v2(mine, dev + 1000u * (unsigned)i, 200000) ||
		    mine[199999] != fake_byte(dev + 1000u * (unsigned)i + 199999) ||
		    cu.cuMemcpyHtoDAsync_v2(dev, mine, 200000, CU_STREAM_PER_THREAD)) {
			free(mine);
			return CUDA_ERROR_UNKNOWN;
		}
	}
	free(mine);
	return CUDA_SUCCESS;
}

static void test_many_threads_share_the_staging_memory(void **state)
{
	struct waiter w[6];

	for (int i = 0; i < 6; i++)
		waiter_start(&w[i], copy_many, NULL);
	for (int i = 0; i < 6; i++)
		assert_cu(waiter_join(&w[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_small_copy_to_device_travels_in_the_record, set_up),
		cmocka_unit_test_setup(test_large_copy_to_device_arrives_whole_and_in_order,
				       set_up),
		cmocka_unit_test_setup(test_async_copy_from_pageable_returns_when_staged, set_up),
		cmocka_unit_test_setup(test_staging_is_taken_again_only_when_its_copy_is_done,
				       set_up),
		cmocka_unit_test_setup(
			test_sync_copy_from_pageable_above_64_kib_returns_when_complete, set_up),
		cmocka_unit_test_setup(test_sync_copy_from_pageable_waits_for_its_stream_first,
				       set_up),
		cmocka_unit_test_setup(test_copy_to_memory_that_is_freed_meanwhile_is_refused,
				       set_up),
		cmocka_unit_test_setup(test_rectangle_from_pageable_is_gathered, set_up),
		cmocka_unit_test_setup(test_rows_wider_than_a_chunk_are_cut, set_up),
		cmocka_unit_test_setup(test_copy_to_pageable_brings_every_byte, set_up),
		cmocka_unit_test_setup(test_large_copy_to_pageable_takes_what_has_come, set_up),
		cmocka_unit_test_setup(test_async_copy_to_pageable_returns_when_complete, set_up),
		cmocka_unit_test_setup(
			test_async_copy_of_pinned_memory_goes_direct_and_returns_at_once, set_up),
		cmocka_unit_test_setup(test_sync_copy_of_pinned_memory_returns_when_complete,
				       set_up),
		cmocka_unit_test_setup(test_device_to_device_is_asynchronous_in_both_forms, set_up),
		cmocka_unit_test_setup(test_unified_copy_finds_out_its_direction, set_up),
		cmocka_unit_test_setup(test_per_thread_form_uses_the_threads_stream, set_up),
		cmocka_unit_test_setup(test_batch_is_its_copies_in_the_stream, set_up),
		cmocka_unit_test_setup(test_batch_that_is_wrong_anywhere_copies_nothing, set_up),
		cmocka_unit_test_setup(
			test_batch_waits_for_sources_that_are_to_be_read_before_it_returns, set_up),
		cmocka_unit_test_setup(test_batch_does_not_wait_for_pageable_sources, set_up),
		cmocka_unit_test_setup(test_boxes_of_a_batch_lie_at_their_lengths, set_up),
		cmocka_unit_test_setup(test_boxes_of_a_batch_that_are_wrong_are_refused, set_up),
		cmocka_unit_test_setup(test_batch_is_refused_while_its_stream_captures, set_up),
		cmocka_unit_test_setup(test_written_word_travels_in_the_record_and_nobody_waits,
				       set_up),
		cmocka_unit_test_setup(test_words_that_cannot_be_written_are_refused, set_up),
		cmocka_unit_test_setup(test_memory_operations_of_a_batch_are_writes_and_barriers,
				       set_up),
		cmocka_unit_test_setup(test_word_is_not_written_while_its_stream_captures, set_up),
		cmocka_unit_test_setup(test_copies_with_bad_pointers_are_refused_at_once, set_up),
		cmocka_unit_test_setup(test_end_that_is_called_the_hosts_may_be_the_devices,
				       set_up),
		cmocka_unit_test_setup(test_memory_of_another_context_may_be_copied_and_filled,
				       set_up),
		cmocka_unit_test_setup(test_rectangles_with_bad_shapes_are_refused, set_up),
		cmocka_unit_test_setup(test_fills_post_value_size_and_shape, set_up),
		cmocka_unit_test_setup(
			test_fill_of_pinned_memory_returns_at_once_only_in_the_async_form, set_up),
		cmocka_unit_test_setup(test_fills_with_bad_targets_are_refused, set_up),
		cmocka_unit_test_setup(test_pieces_are_smaller_the_smaller_a_copy_is, set_up),
		cmocka_unit_test_setup(test_copy_leaves_chunks_for_another_thread, set_up),
		cmocka_unit_test_setup(
			test_program_that_handles_faults_handles_those_of_its_own_thread, set_up),
		cmocka_unit_test_setup(test_copy_that_a_handler_leaves_keeps_nothing, set_up),
		cmocka_unit_test_setup(test_small_copy_that_a_handler_leaves_does_not_lock_the_ring,
				       set_up),
		cmocka_unit_test_setup(test_thread_that_ends_after_it_left_a_copy_keeps_nothing,
				       set_up),
		cmocka_unit_test_setup(test_handlers_in_the_middle_of_copies_copy, set_up),
		cmocka_unit_test_setup(test_many_threads_share_the_staging_memory, set_up),
	};
	int failed;

	start_tenant();
	host = malloc(BIG);
	if (cu.cuMemAlloc_v2(&dev, BIG) || cu.cuMemHostAlloc((void **)&pinned, 1 << 20, 0))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(host);
	return failed;
}
