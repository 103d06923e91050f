/*
 * test_registered.c - registered memory while other threads write to it: whether the kernel holds them or not, each
 * byte that they write is there afterwards. They count, in memory and by themselves.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/cu/hold.h"
#include "interpose/cu/registered.h"

#define PAGE	  4096u
#define N_PAGES	  100u /* more than one piece, and a last one that is shorter */
#define N_ROUNDS  300
#define N_WRITERS 2

static uint8_t *memory, *window;

static void *map(int flags, int fd)
{
	void *p = mmap(NULL, (size_t)N_PAGES * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static int setup(void **state)
{
	int fd = memfd_create("window", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)N_PAGES * PAGE), 0);
	memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	window = map(MAP_SHARED, fd);
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap(memory, (size_t)N_PAGES * PAGE);
	munmap(window, (size_t)N_PAGES * PAGE);
	return 0;
}

static void add(uint64_t bytes)
{
	struct gsb_registered r = {.addr = (uint64_t)memory, .size = bytes};

	assert_int_equal(gsb_registered_join(&r), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(gsb_registered_add(&r, (uint64_t)window), CUDA_SUCCESS);
	assert_int_equal(r.device, (uint64_t)window);
}

static void end(void)
{
	struct gsb_mirror gone;

	assert_int_equal(gsb_registered_remove((uint64_t)memory, &gone), CUDA_SUCCESS);
	assert_int_equal(gone.mirror, (uint64_t)window);
	assert_int_equal(gsb_n_registered, 0);
}

static void test_same_bytes(void **state)
{
	(void)state;
	memset(memory, 3, (size_t)N_PAGES * PAGE);
	add((uint64_t)N_PAGES * PAGE);
	assert_memory_equal(memory, window, (size_t)N_PAGES * PAGE);
	window[5 * PAGE] = 9;
	assert_int_equal(memory[5 * PAGE], 9);
	memory[99 * PAGE] = 8;
	assert_int_equal(window[99 * PAGE], 8);
	end();
	assert_int_equal(memory[5 * PAGE], 9);
	window[5 * PAGE] = 1;
	assert_int_equal(memory[5 * PAGE], 9);
	assert_int_equal(memory[99 * PAGE], 8);
}

struct writer {
	pthread_t thread;
	unsigned index;
	_Atomic bool *stop;
	uint64_t counts[N_PAGES];
};

static _Atomic uint64_t *word(unsigned page, unsigned index)
{
	return (_Atomic uint64_t *)(memory + (size_t)page * PAGE) + index;
}

/* In turn over the pages, so that whichever is being copied has just been written, or is. */
static void *write_on(void *arg)
{
	struct writer *w = arg;

	for (unsigned page = 0; !atomic_load(w->stop); page = (page + 1) % N_PAGES) {
		atomic_fetch_add_explicit(word(page, w->index), 1, memory_order_relaxed);
		w->counts[page]++;
	}
	return NULL;
}

static bool holds(void)
{
	struct gsb_hold h;
	bool is_held;

	gsb_hold_begin(&h);
	is_held = gsb_hold_writers(&h, (uint64_t)memory, PAGE);
	gsb_hold_end(&h);
	return is_held;
}

static void test_writers(void **state)
{
	struct writer writers[N_WRITERS] = {0};
	_Atomic bool stop = false;

	(void)state;
	if (!holds())
		skip(); /* the kernel has no write protection by userfaultfd, or does not permit it */
	for (unsigned i = 0; i < N_WRITERS; i++) {
		writers[i].index = i;
		writers[i].stop = &stop;
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_on, &writers[i]),
				 0);
	}
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		add((uint64_t)N_PAGES * PAGE);
		end();
	}
	atomic_store(&stop, true);
	for (unsigned i = 0; i < N_WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	for (unsigned i = 0; i < N_WRITERS; i++)
		for (unsigned page = 0; page < N_PAGES; page++)
			assert_int_equal(*word(page, i), writers[i].counts[page]);
}

/* A handler that wrote to a held page of its own thread would never return. */
static void test_signals_wait(void **state)
{
	struct gsb_hold h;
	sigset_t before, within, after;

	(void)state;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	gsb_hold_begin(&h);
	pthread_sigmask(SIG_BLOCK, NULL, &within);
	gsb_hold_end(&h);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	assert_false(sigismember(&before, SIGPROF));
	assert_true(sigismember(&within, SIGPROF));
	assert_false(sigismember(&after, SIGPROF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signals_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
