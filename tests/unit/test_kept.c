/*
 * test_kept.c - memory that the program frees and has again: which records go, which addresses come, how much is kept, and
 * what happens when the engine takes it back.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/interpose.h"

#include "base/compiler.h"
#include "interpose/cu/kept.h"

#define MB (1ull << 20)

/* Nothing is kept from the test before. */
static void take_back(void)
{
	flush();
	engine->take_back = true;
	while (engine->take_back)
		sched_yield();
}

static int begin(void **state)
{
	set_up(state);
	take_back();
	mark = engine->n_logged;
	return 0;
}

static CUdeviceptr allocate(size_t bytes)
{
	CUdeviceptr p;

	assert_cu(cu.cuMemAlloc_v2(&p, bytes));
	return p;
}

static uint64_t buffer_id(CUdeviceptr p)
{
	uint64_t id;

	assert_cu(cu.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
	return id;
}

/* The first of a size asks, and then nobody is asked: not even whether the engine runs. */
static void test_pair_of_allocation_and_free_waits_for_nobody(void **state)
{
	CUdeviceptr a = allocate(65536), b = 0;

	flush();
	engine->ignore_ring = true;
	for (int i = 0; i < 1000; i++) {
		assert_cu(cu.cuMemFree_v2(a));
		assert_cu(cu.cuMemAlloc_v2(&b, 65536));
		assert_int_equal(b, a);
	}
	engine->ignore_ring = false;
	assert_int_equal(count(GSB_REC_MEM_ALLOC), 1);
	assert_int_equal(count(GSB_REC_MEM_KEEP), 1000);
	assert_int_equal(count(GSB_REC_MEM_TAKE), 1000);
	assert_int_equal(count(GSB_REC_MEM_FREE), 0);
	assert_cu(cu.cuMemFree_v2(b));
}

static void test_records_say_what_is_kept_and_taken(void **state)
{
	CUdeviceptr a = allocate(1000);
	struct gsb_rec_mem_keep keep;
	const struct gsb_rec_mem_keep *take;

	assert_cu(cu.cuMemFree_v2(a));
	keep = *last_body(MEM_KEEP, mem_keep);
	assert_int_equal(keep.addr, a);
	assert_int_equal(keep.ctx, last_body(MEM_ALLOC, mem_alloc)->ctx);
	assert_true(keep.number && !(keep.number & GSB_KEPT_GONE));
	assert_int_equal(allocate(1000), a);
	take = last_body(MEM_TAKE, mem_keep);
	assert_memory_equal(take, &keep, sizeof(keep));
	assert_cu(cu.cuMemFree_v2(a));
	assert_true(last_body(MEM_KEEP, mem_keep)->number != keep.number);
}

static void test_each_allocation_is_another_one(void **state)
{
	CUdeviceptr a = allocate(1000);
	uint64_t id = buffer_id(a), none;

	assert_cu(cu.cuMemFree_v2(a));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuPointerGetAttribute(&none, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(a));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2(a, 0, 1));
	assert_int_equal(allocate(1000), a);
	assert_true(buffer_id(a) != id);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(a + 4));
	assert_cu(cu.cuMemFree_v2(a));
}

static void test_other_sizes_ask(void **state)
{
	CUdeviceptr a = allocate(1000), b, c;

	assert_cu(cu.cuMemFree_v2(a));
	b = allocate(999);
	c = allocate(1001);
	assert_true(a != b && a != c);
	assert_int_equal(count(GSB_REC_MEM_TAKE), 0);
	assert_int_equal(count(GSB_REC_MEM_ALLOC), 3);
	assert_cu(cu.cuMemFree_v2(b));
	assert_cu(cu.cuMemFree_v2(c));
}

/* The free waits for its own context alone; what it frees may be in use from another one. */
static void test_free_beside_work_goes_to_the_engine(void **state)
{
	CUdeviceptr a = allocate(1000), b;
	CUstream busy;
	CUcontext other;

	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	assert_cu(cu.cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
	b = allocate(1000);
	flush();
	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(b, 1, 1000, busy));
	assert_cu(cu.cuMemFree_v2(a));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 0);
	assert_int_equal(last_body(MEM_FREE, mem_free)->addr, a);
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(busy));
	assert_cu(cu.cuMemFree_v2(b));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 1);
	assert_cu(cu.cuCtxDestroy_v2(other));
}

static void test_memory_of_a_context_is_kept_for_it(void **state)
{
	CUdeviceptr a = allocate(1000), b;
	CUcontext other;

	assert_cu(cu.cuMemFree_v2(a));
	assert_cu(cu.cuCtxCreate_v2(&other, 0, 0));
	b = allocate(1000);
	assert_true(a != b);
	assert_cu(cu.cuMemFree_v2(b));
	assert_cu(cu.cuCtxDestroy_v2(other));
	assert_int_equal(allocate(1000), a);
	assert_cu(cu.cuMemFree_v2(a));
	assert_int_equal(count(GSB_REC_MEM_TAKE), 1);
}

static void test_engine_takes_back_what_it_wants(void **state)
{
	CUdeviceptr a[3], b;
	unsigned n;

	for (int i = 0; i < 3; i++)
		a[i] = allocate(1000);
	for (int i = 0; i < 3; i++)
		assert_cu(cu.cuMemFree_v2(a[i]));
	take_back();
	n = count(GSB_REC_MEM_TAKE);
	b = allocate(1000);
	assert_int_equal(count(GSB_REC_MEM_TAKE), n);
	assert_cu(cu.cuMemFree_v2(b)); /* where one of those was */
	assert_true(last_body(MEM_KEEP, mem_keep)->index < 3);
	assert_int_equal(allocate(1000), b);
	assert_cu(cu.cuMemFree_v2(b));
}

static void test_what_is_kept_has_a_largest_size(void **state)
{
	CUdeviceptr a = allocate(GSB_KEPT_SIZE_MAX), b = allocate(GSB_KEPT_SIZE_MAX + 1);

	assert_cu(cu.cuMemFree_v2(a));
	assert_cu(cu.cuMemFree_v2(b));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 1);
	assert_int_equal(count(GSB_REC_MEM_FREE), 1);
}

static void test_what_is_kept_has_most_bytes(void **state)
{
	const unsigned most = GSB_KEPT_BYTES_MAX / GSB_KEPT_SIZE_MAX;
	CUdeviceptr a[8];

	assert_true(most + 2 <= 8);
	for (unsigned i = 0; i < most + 2; i++)
		a[i] = allocate(GSB_KEPT_SIZE_MAX);
	for (unsigned i = 0; i < most + 1; i++)
		assert_cu(cu.cuMemFree_v2(a[i]));
	assert_int_equal(count(GSB_REC_MEM_KEEP), most);
	assert_int_equal(count(GSB_REC_MEM_FREE), 1);
	assert_int_equal(allocate(GSB_KEPT_SIZE_MAX), a[0]); /* which makes room */
	assert_cu(cu.cuMemFree_v2(a[most + 1]));
	assert_int_equal(count(GSB_REC_MEM_KEEP), most + 1);
	assert_cu(cu.cuMemFree_v2(a[0]));
	take_back(); /* and so does this */
	assert_cu(cu.cuMemFree_v2(allocate(GSB_KEPT_SIZE_MAX)));
	assert_int_equal(count(GSB_REC_MEM_KEEP), most + 2);
}

/* However little of it has a place before what is gone as well: that is taken again and again. */
static void test_what_the_engine_has_taken_back_is_not_counted(void **state)
{
	const unsigned most = GSB_KEPT_BYTES_MAX / GSB_KEPT_SIZE_MAX;
	CUdeviceptr a[9];
	unsigned n;

	assert_true(most + 1 <= 9);
	a[0] = allocate(512);
	for (unsigned i = 1; i <= most; i++)
		a[i] = allocate(GSB_KEPT_SIZE_MAX - (i == most ? 512 : 0));
	for (unsigned i = 0; i <= most; i++)
		assert_cu(cu.cuMemFree_v2(a[i]));
	assert_int_equal(count(GSB_REC_MEM_KEEP), most + 1);
	take_back();
	n = count(GSB_REC_MEM_KEEP);
	for (unsigned i = 0; i < 4; i++)
		assert_cu(cu.cuMemFree_v2(allocate(GSB_KEPT_SIZE_MAX)));
	assert_int_equal(count(GSB_REC_MEM_KEEP), n + 4);
}

/* A program with a stream for each of its many threads, say. */
static void test_program_that_had_many_streams_keeps_memory(void **state)
{
	CUstream streams[600];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(streams); i++)
		assert_cu(cu.cuStreamCreate(&streams[i], 0));
	for (unsigned i = 0; i < GSB_ARRAY_LEN(streams); i++)
		assert_cu(cu.cuStreamDestroy_v2(streams[i]));
	flush();
	assert_cu(cu.cuMemFree_v2(allocate(1000)));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 1);
}

static void test_what_is_kept_is_so_many_at_most(void **state)
{
	static CUdeviceptr a[GSB_N_KEPT + 1];

	for (unsigned i = 0; i <= GSB_N_KEPT; i++)
		a[i] = allocate(512);
	for (unsigned i = 0; i <= GSB_N_KEPT; i++)
		assert_cu(cu.cuMemFree_v2(a[i]));
	assert_int_equal(count(GSB_REC_MEM_KEEP), GSB_N_KEPT);
	assert_int_equal(count(GSB_REC_MEM_FREE), 1);
}

static void test_arrays_are_not_kept(void **state)
{
	CUDA_ARRAY_DESCRIPTOR is = {
		.Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUarray array;

	assert_cu(cu.cuArrayCreate_v2(&array, &is));
	assert_cu(cu.cuArrayDestroy(array));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 0);
	assert_int_equal(count(GSB_REC_MEM_FREE), 1);
}

static void test_pitched_memory_and_pools_take_what_is_kept(void **state)
{
	CUdeviceptr a, b;
	size_t pitch;

	assert_cu(cu.cuMemAllocPitch_v2(&a, &pitch, 700, 10, 4));
	assert_cu(cu.cuMemFree_v2(a));
	assert_cu(cu.cuMemAllocAsync(&b, pitch * 10, NULL));
	assert_int_equal(b, a);
	assert_cu(cu.cuMemFreeAsync(b, NULL));
	assert_int_equal(last_body(MEM_FREE_ASYNC, mem_free)->addr, a);
	assert_cu(cu.cuMemAllocAsync(&b, 1000, NULL));
	assert_cu(cu.cuMemFree_v2(b)); /* which is allowed, too */
	assert_int_equal(last_body(MEM_KEEP, mem_keep)->addr, b);
}

/* ---- threads, against a model ---- */

#define N_THREADS 4
#define N_HELD	  8
#define N_STEPS	  3000

/* What is allocated by anybody, whose memory may not meet another's. */
static pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	CUdeviceptr addr;
	size_t bytes;
} model[N_THREADS * N_HELD];
static unsigned n_model;

static void model_add(CUdeviceptr addr, size_t bytes)
{
	pthread_mutex_lock(&model_lock);
	for (unsigned i = 0; i < n_model; i++)
		assert_true(addr + bytes <= model[i].addr ||
			    model[i].addr + model[i].bytes <= addr);
	model[n_model].addr = addr;
	model[n_model++].bytes = bytes;
	pthread_mutex_unlock(&model_lock);
}

static void model_remove(CUdeviceptr addr)
{
	unsigned i = 0;

	pthread_mutex_lock(&model_lock);
	while (i < n_model && model[i].addr != addr)
		i++;
	assert_true(i < n_model);
	model[i] = model[--n_model];
	pthread_mutex_unlock(&model_lock);
}

static void *allocate_at_random(void *arg)
{
	static const size_t sizes[] = {512, 1000, 1024, 65536};
	unsigned seed = *(unsigned *)arg;
	CUdeviceptr held[N_HELD] = {0};

	cu.cuCtxSetCurrent(context);
	for (int i = 0; i < N_STEPS; i++) {
		CUdeviceptr *p = &held[rand_r(&seed) % N_HELD];
		size_t bytes = sizes[rand_r(&seed) % 4];

		if (*p) {
			model_remove(*p);
			assert_cu(cu.cuMemFree_v2(*p));
			*p = 0;
			continue;
		}
		assert_cu(cu.cuMemAlloc_v2(p, bytes));
		model_add(*p, bytes);
		if (rand_r(&seed) % 16 == 0)
			assert_cu(cu.cuMemsetD8Async(*p, 1, bytes, CU_STREAM_PER_THREAD));
		if (rand_r(&seed) % 256 == 0)
			engine->take_back = true;
	}
	for (unsigned i = 0; i < N_HELD; i++)
		if (held[i]) {
			model_remove(held[i]);
			assert_cu(cu.cuMemFree_v2(held[i]));
		}
	return NULL;
}

/* The log as an engine reads it: an index is empty when something is kept there, unless the engine took that back. */
static void check_log(unsigned from)
{
	static struct gsb_rec_mem_keep at[GSB_N_KEPT];
	unsigned n_taken = 0;

	memset(at, 0, sizeof(at));
	for (unsigned i = from; i < engine->n_logged; i++) {
		const struct fake_record *r = &engine->log[i];
		const struct gsb_rec_mem_keep *b = (const struct gsb_rec_mem_keep *)r->body;

		if (r->rec.type == GSB_REC_MEM_KEEP) {
			assert_true(b->index < GSB_N_KEPT && b->number > at[b->index].number);
			at[b->index] = *b;
		} else if (r->rec.type == GSB_REC_MEM_TAKE) {
			assert_memory_equal(&at[b->index], b, sizeof(*b));
			at[b->index].addr = 0; /* not twice */
			n_taken++;
		}
	}
	assert_true(n_taken > N_STEPS / 4);
}

static void test_random_threads_never_have_the_same_memory(void **state)
{
	unsigned seeds[N_THREADS], from = engine->n_logged;
	pthread_t threads[N_THREADS];

	for (unsigned i = 0; i < N_THREADS; i++) {
		seeds[i] = i + 1;
		assert_int_equal(pthread_create(&threads[i], NULL, allocate_at_random, &seeds[i]),
				 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(n_model, 0);
	flush();
	check_log(from);
}

/* ---- pinned memory ---- */

static void *pin(size_t bytes)
{
	void *p;

	assert_cu(cu.cuMemHostAlloc(&p, bytes, 0));
	return p;
}

static void test_pinned_memory_is_had_again_without_asking_and_is_zero(void **state)
{
	char *a = pin(1000);

	flush();
	engine->ignore_ring = true;
	for (int i = 0; i < 100; i++) {
		memset(a, 7, 1000);
		assert_cu(cu.cuMemFreeHost(a));
		assert_ptr_equal(pin(1000), a);
		for (int k = 0; k < 1000; k++)
			assert_int_equal(a[k], 0);
	}
	engine->ignore_ring = false;
	assert_int_equal(count(GSB_REC_HOST_ALLOC), 1);
	assert_int_equal(count(GSB_REC_MEM_KEEP), 100);
	assert_int_equal(count(GSB_REC_MEM_TAKE), 100);
	assert_int_equal(count(GSB_REC_HOST_FREE), 0);
	assert_cu(cu.cuMemFreeHost(a));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost(a));
}

static void test_pinned_memory_and_the_devices_are_not_taken_for_each_other(void **state)
{
	CUdeviceptr device = allocate(4096);
	void *host = pin(4096);

	assert_cu(cu.cuMemFree_v2(device));
	assert_ptr_not_equal(pin(4096), (void *)device);
	assert_cu(cu.cuMemFreeHost(host));
	assert_int_equal(allocate(4096), device);
	assert_ptr_equal(pin(4096), host);
}

static void test_pinned_memory_that_is_kept_counts_by_pages(void **state)
{
	static const size_t sizes[] = {16 * MB, 16 * MB, 16 * MB, 15 * MB};
	CUdeviceptr large[GSB_ARRAY_LEN(sizes)], one = allocate(1);
	void *p = pin(MB - 4095);

	for (unsigned i = 0; i < GSB_ARRAY_LEN(sizes); i++)
		large[i] = allocate(sizes[i]);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(sizes); i++)
		assert_cu(cu.cuMemFree_v2(large[i]));
	assert_cu(cu.cuMemFreeHost(p));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 5);
	assert_cu(cu.cuMemFree_v2(one));
	assert_int_equal(count(GSB_REC_MEM_FREE), 1);
	assert_ptr_equal(pin(MB - 4095), p);
	one = allocate(1);
	assert_cu(cu.cuMemFree_v2(one)); /* there is room again */
	assert_int_equal(count(GSB_REC_MEM_FREE), 1);
}

static void test_pinned_memory_beside_work_goes_to_the_engine(void **state)
{
	CUdeviceptr a = allocate(1000);
	void *beside = pin(1000), *behind = pin(1000);
	CUstream busy;

	assert_cu(cu.cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
	flush();
	engine->hold = true;
	assert_cu(cu.cuMemsetD8Async(a, 1, 1000, busy));
	assert_cu(cu.cuMemFreeHost(beside));
	assert_int_equal(last_body(HOST_FREE, mem_free)->addr, (uintptr_t)beside);
	engine->hold = false;
	assert_cu(cu.cuStreamSynchronize(busy));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 0);
	assert_cu(cu.cuMemFreeHost(behind));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 1);
}

/* It keeps memory of the device alone. */
static void test_pinned_memory_goes_to_an_older_engine(void **state)
{
	CUdeviceptr a = allocate(1000);
	void *p = pin(1000);

	engine->minor = 5;
	flush();
	assert_cu(cu.cuMemFreeHost(p));
	assert_int_equal(count(GSB_REC_HOST_FREE), 1);
	assert_int_equal(count(GSB_REC_MEM_KEEP), 0);
	assert_cu(cu.cuMemFree_v2(a));
	assert_int_equal(count(GSB_REC_MEM_KEEP), 1);
	engine->minor = GSB_WIRE_MINOR;
	flush();
}

/* ---- an engine without ---- */

/* In a process of its own, for a process has one engine. */
static int free_under_an_engine_that_keeps_nothing(void)
{
	CUdeviceptr a;

	engine = fake_engine_create();
	start_tenant();
	mark = engine->n_logged;
	if (cu.cuMemAlloc_v2(&a, 1000) || cu.cuMemFree_v2(a))
		return 1;
	return count(GSB_REC_MEM_FREE) != 1 || count(GSB_REC_MEM_KEEP);
}

static int run_apart(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(run());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int apart;

static void test_nothing_is_kept_where_the_engine_does_not_agree(void **state)
{
	assert_int_equal(apart, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_kept_where_the_engine_does_not_agree),
		cmocka_unit_test_setup(test_pair_of_allocation_and_free_waits_for_nobody, begin),
		cmocka_unit_test_setup(test_records_say_what_is_kept_and_taken, begin),
		cmocka_unit_test_setup(test_each_allocation_is_another_one, begin),
		cmocka_unit_test_setup(test_other_sizes_ask, begin),
		cmocka_unit_test_setup(test_free_beside_work_goes_to_the_engine, begin),
		cmocka_unit_test_setup(test_memory_of_a_context_is_kept_for_it, begin),
		cmocka_unit_test_setup(test_engine_takes_back_what_it_wants, begin),
		cmocka_unit_test_setup(test_what_is_kept_has_a_largest_size, begin),
		cmocka_unit_test_setup(test_what_is_kept_has_most_bytes, begin),
		cmocka_unit_test_setup(test_what_the_engine_has_taken_back_is_not_counted, begin),
		cmocka_unit_test_setup(test_what_is_kept_is_so_many_at_most, begin),
		cmocka_unit_test_setup(test_program_that_had_many_streams_keeps_memory, begin),
		cmocka_unit_test_setup(test_arrays_are_not_kept, begin),
		cmocka_unit_test_setup(test_pitched_memory_and_pools_take_what_is_kept, begin),
		cmocka_unit_test_setup(test_pinned_memory_is_had_again_without_asking_and_is_zero,
				       begin),
		cmocka_unit_test_setup(
			test_pinned_memory_and_the_devices_are_not_taken_for_each_other, begin),
		cmocka_unit_test_setup(test_pinned_memory_that_is_kept_counts_by_pages, begin),
		cmocka_unit_test_setup(test_pinned_memory_beside_work_goes_to_the_engine, begin),
		cmocka_unit_test_setup(test_pinned_memory_goes_to_an_older_engine, begin),
		cmocka_unit_test_setup(test_random_threads_never_have_the_same_memory, begin),
	};

	apart = run_apart(free_under_an_engine_that_keeps_nothing);
	engine = fake_engine_create();
	engine->keeps = true;
	start_tenant();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
