/*
 * test_registered.c - registered memory while other threads write to it: whether the kernel holds them or not, each
 * byte that they write is there afterwards. They count, in memory and by themselves. Then the stack of the thread that
 * registers it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

/* As a program's variables lie in its file. */
static void put_into_file(uint32_t n_pages)
{
	int fd = memfd_create("program", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)n_pages * PAGE), 0);
	munmap(memory, (size_t)N_PAGES * PAGE);
	memory = map(MAP_PRIVATE, fd);
	close(fd);
}

static void expect_refused(void)
{
	struct gsb_registered r = {.addr = (uint64_t)memory, .size = (size_t)N_PAGES * PAGE};

	assert_int_equal(gsb_registered_join(&r), CUDA_ERROR_NOT_SUPPORTED);
}

static void test_variables_of_the_only_thread(void **state)
{
	put_into_file(N_PAGES);
	test_same_bytes(state);
}

/* The kernel would not hold it while its page is copied. */
static void *register_beside(void *unused)
{
	expect_refused();
	return unused;
}

static void test_variables_beside_a_thread(void **state)
{
	pthread_t thread;

	(void)state;
	put_into_file(N_PAGES);
	assert_int_equal(pthread_create(&thread, NULL, register_beside, NULL), 0);
	pthread_join(thread, NULL);
}

static void test_file_that_is_shorter_than_its_mapping(void **state)
{
	(void)state;
	put_into_file(N_PAGES - 1);
	expect_refused();
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

static uint64_t page_of(const volatile void *p)
{
	return (uint64_t)p & ~(uint64_t)(PAGE - 1);
}

static volatile uint32_t *in_window(const volatile uint32_t *p)
{
	return (volatile uint32_t *)(window + ((uint64_t)p & (PAGE - 1)));
}

static void add_at(uint64_t addr, uint64_t bytes)
{
	struct gsb_registered r = {.addr = addr, .size = bytes};

	assert_int_equal(gsb_registered_join(&r), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(gsb_registered_add(&r, (uint64_t)window), CUDA_SUCCESS);
}

static void end_at(uint64_t addr)
{
	struct gsb_mirror gone;

	assert_int_equal(gsb_registered_remove(addr, &gone), CUDA_SUCCESS);
	assert_int_equal(gsb_n_registered, 0);
}

/* The page has the frames of this test, and those of what it calls. */
static void test_own_stack(void **state)
{
	volatile uint32_t word = 0;

	(void)state;
	for (uint32_t i = 1; i < N_ROUNDS; i++) {
		add_at((uint64_t)&word, sizeof(word));
		word++;
		assert_int_equal(*in_window(&word), 2 * i - 1);
		(*in_window(&word))++;
		assert_int_equal(word, 2 * i);
		end_at((uint64_t)&word);
		assert_int_equal(word, 2 * i);
	}
}

struct device {
	pthread_t thread;
	volatile uint32_t *word;
	_Atomic bool stop;
	uint32_t count;
};

static void *write_as_device(void *arg)
{
	struct device *d = arg;

	for (; !atomic_load(&d->stop); d->count++)
		(*d->word)++;
	return NULL;
}

/* Either process returns on its own pages, and what the device writes to the parent's while it forks is not lost. */
static void test_stack_of_fork(void **state)
{
	volatile uint32_t words[2] = {0};
	struct device *device = calloc(1, sizeof(*device));
	int status = 0;

	(void)state;
	add_at((uint64_t)words, sizeof(words));
	device->word = in_window(&words[1]);
	assert_int_equal(pthread_create(&device->thread, NULL, write_as_device, device), 0);
	for (uint32_t i = 0; i < N_ROUNDS && !status; i++) {
		pid_t child = fork();

		if (!child) {
			words[0] = 1000000;
			_exit(*in_window(&words[0]) != i || gsb_n_registered);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		words[0]++;
		assert_int_equal(*in_window(&words[0]), i + 1);
	}
	atomic_store(&device->stop, true);
	pthread_join(device->thread, NULL);
	assert_int_equal(status, 0);
	assert_int_equal(words[1], device->count);
	end_at((uint64_t)words);
	free(device);
}

/* Pages that were registered part it, so it is several regions, one behind the other. */
static uint64_t lowest_of_stack(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t lowest = 0, begin, end = 0, last = 0;
	char line[512] = "";

	assert_non_null(maps);
	while (!strstr(line, "[stack]") && fgets(line, sizeof(line), maps) &&
	       sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) == 2) {
		if (begin != last)
			lowest = begin;
		last = end;
	}
	fclose(maps);
	return lowest;
}

static void use_stack(unsigned pages)
{
	volatile uint8_t page[PAGE];

	page[0] = (uint8_t)pages;
	if (pages)
		use_stack(pages - 1);
	assert_int_equal(page[0], (uint8_t)pages);
}

static void test_stack_grows_on(void **state)
{
	volatile uint8_t here = 0;
	uint64_t lowest = lowest_of_stack();

	(void)state;
	add_at(lowest, 1);
	use_stack((unsigned)((page_of(&here) - lowest) / PAGE + N_PAGES));
	end_at(lowest);
	use_stack((unsigned)((page_of(&here) - lowest) / PAGE + 2 * N_PAGES));
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
		cmocka_unit_test_setup_teardown(test_variables_of_the_only_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_variables_beside_a_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_that_is_shorter_than_its_mapping, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_of_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_grows_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signals_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
