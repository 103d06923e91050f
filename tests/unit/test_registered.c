/*
 * test_registered.c - registered memory while other threads write to it: whether the kernel holds them or not, each
 * byte that they write is there afterwards. They count, in memory and by themselves. Then the stack of the thread that
 * registers it, and what a program does to registered memory without a word: it unmaps, moves and protects it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/cu/aside.h"
#include "interpose/cu/hold.h"
#include "interpose/cu/registered.h"
#include "interpose/cu/view.h"

#define PAGE	  4096u
#define N_PAGES	  100u /* more than one piece, and a last one that is shorter */
#define N_ROUNDS  300
#define N_WRITERS 2

static uint8_t *memory, *window;

/* As the kernel answers where a huge page would be torn. */
static bool is_huge;

void *__real_mremap(void *from, size_t old, size_t size, int flags, void *to);
void *__wrap_mremap(void *from, size_t old, size_t size, int flags, void *to);

void *__wrap_mremap(void *from, size_t old, size_t size, int flags, void *to)
{
	if (!is_huge)
		return __real_mremap(from, old, size, flags, to);
	errno = EINVAL;
	return MAP_FAILED;
}

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
	gsb_views_of(fd, (uint64_t)window, (size_t)N_PAGES * PAGE);
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

/* The mirror of it; where its ends lie already, *shared says. */
static void add_shared(uint64_t addr, uint64_t bytes, const uint8_t *mirror, uint64_t shared[2])
{
	const struct gsb_registered r = {.addr = addr, .size = bytes};

	assert_int_equal(gsb_registered_begin(&r, shared), CUDA_SUCCESS);
	assert_int_equal(gsb_registered_add(&r, (uint64_t)mirror), CUDA_SUCCESS);
}

static void add_at(uint64_t addr, uint64_t bytes)
{
	uint64_t shared[2];

	add_shared(addr, bytes, window, shared);
	assert_int_equal(shared[0], 0);
	assert_int_equal(shared[1], 0);
}

static unsigned end_some(uint64_t addr, uint64_t gone[GSB_MIRRORS_GONE])
{
	unsigned n = 77;

	assert_int_equal(gsb_registered_remove(addr, gone, &n), CUDA_SUCCESS);
	return n;
}

static void end_at(uint64_t addr)
{
	uint64_t gone[GSB_MIRRORS_GONE];

	assert_int_equal(end_some(addr, gone), 1);
	assert_int_equal(gone[0], (uint64_t)window);
	assert_int_equal(gsb_n_registered, 0);
}

static void add(uint64_t bytes)
{
	struct gsb_registered r;

	add_at((uint64_t)memory, bytes);
	assert_true(gsb_registered_find((uint64_t)memory, bytes, &r));
	assert_int_equal(r.device, (uint64_t)window);
}

static void end(void)
{
	end_at((uint64_t)memory);
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

/* ---- blocks that share pages, as those of a heap do ---- */

#define BLOCK	  (5 * PAGE / 2)
#define MIRROR(i) (window + (i)*10 * PAGE)

/* One behind the other from the middle of the first page on, so that they end in the middle of one and at an end, in turn. */
static uint64_t block(unsigned i)
{
	return (uint64_t)memory + 16 + i * BLOCK;
}

static void fill_blocks(void)
{
	for (size_t i = 0; i < (size_t)N_PAGES * PAGE; i++)
		memory[i] = (uint8_t)(i * 7 + i / PAGE);
}

static void expect_blocks(void)
{
	for (size_t i = 0; i < (size_t)N_PAGES * PAGE; i++)
		if (memory[i] != (uint8_t)(i * 7 + i / PAGE))
			fail_msg("byte %zu has changed", i);
}

static bool is_in_window(const uint8_t *at, const uint8_t *in_window)
{
	uint8_t was = *at;
	bool is;

	(*(volatile uint8_t *)at)++;
	is = *(const volatile uint8_t *)in_window == (uint8_t)(was + 1);
	*(volatile uint8_t *)at = was;
	return is;
}

/* The page of both lies in the mirror of the first, and that stays as long as the second needs it. */
static void test_first_of_two_ends_first(void **state)
{
	uint64_t shared[2], gone[GSB_MIRRORS_GONE];
	struct gsb_registered r;

	(void)state;
	fill_blocks();
	add_shared(block(0), BLOCK, MIRROR(0), shared);
	add_shared(block(1), BLOCK, MIRROR(1), shared);
	assert_int_equal(shared[0], (uint64_t)MIRROR(0) + 2 * PAGE);
	assert_int_equal(shared[1], 0);
	assert_true(gsb_registered_find(block(1), BLOCK, &r));
	assert_int_equal(r.device, (uint64_t)MIRROR(1) + block(1) % PAGE);
	expect_blocks();
	assert_true(is_in_window(memory + 2 * PAGE, MIRROR(0) + 2 * PAGE));
	assert_true(is_in_window(memory + 3 * PAGE, MIRROR(1) + PAGE));
	assert_int_equal(end_some(block(0), gone), 0);
	assert_false(is_in_window(memory + PAGE, MIRROR(0) + PAGE));
	assert_true(is_in_window(memory + 2 * PAGE, MIRROR(0) + 2 * PAGE));
	assert_int_equal(end_some(block(1), gone), 2);
	assert_int_equal(gone[0], (uint64_t)MIRROR(1));
	assert_int_equal(gone[1], (uint64_t)MIRROR(0));
	assert_false(is_in_window(memory + 2 * PAGE, MIRROR(0) + 2 * PAGE));
	expect_blocks();
}

static void test_second_of_two_ends_first(void **state)
{
	uint64_t shared[2], gone[GSB_MIRRORS_GONE];

	(void)state;
	fill_blocks();
	add_shared(block(0), BLOCK, MIRROR(0), shared);
	add_shared(block(1), BLOCK, MIRROR(1), shared);
	assert_int_equal(end_some(block(1), gone), 1);
	assert_int_equal(gone[0], (uint64_t)MIRROR(1));
	assert_true(is_in_window(memory + 2 * PAGE, MIRROR(0) + 2 * PAGE));
	assert_false(is_in_window(memory + 3 * PAGE, MIRROR(1) + PAGE));
	add_shared(block(1), BLOCK, MIRROR(2), shared); /* once more */
	assert_int_equal(shared[0], (uint64_t)MIRROR(0) + 2 * PAGE);
	assert_int_equal(end_some(block(1), gone), 1);
	assert_int_equal(end_some(block(0), gone), 1);
	assert_int_equal(gone[0], (uint64_t)MIRROR(0));
	expect_blocks();
}

/* Two pages, and both are others'; then one page of several. */
static void test_block_between_two(void **state)
{
	uint64_t shared[2], gone[GSB_MIRRORS_GONE];

	(void)state;
	fill_blocks();
	add_shared((uint64_t)memory + 100, 2 * PAGE, MIRROR(0), shared);
	add_shared((uint64_t)memory + 4 * PAGE - 100, 300, MIRROR(1), shared);
	add_shared((uint64_t)memory + 2 * PAGE + 100, 2 * PAGE - 200, MIRROR(2), shared);
	assert_int_equal(shared[0], (uint64_t)MIRROR(0) + 2 * PAGE);
	assert_int_equal(shared[1], (uint64_t)MIRROR(1));
	add_shared((uint64_t)memory + 10, 20, MIRROR(3), shared);
	assert_int_equal(shared[0], (uint64_t)MIRROR(0));
	assert_int_equal(shared[1], 0);
	expect_blocks();
	assert_int_equal(end_some((uint64_t)memory + 100, gone), 0);
	assert_int_equal(end_some((uint64_t)memory + 4 * PAGE - 100, gone), 0);
	assert_int_equal(end_some((uint64_t)memory + 2 * PAGE + 100, gone), 2);
	assert_int_equal(gone[0], (uint64_t)MIRROR(2));
	assert_int_equal(gone[1], (uint64_t)MIRROR(1));
	assert_int_equal(end_some((uint64_t)memory + 10, gone), 2);
	assert_int_equal(gone[0], (uint64_t)MIRROR(3));
	assert_int_equal(gone[1], (uint64_t)MIRROR(0));
	expect_blocks();
}

/* What was begun and came to nothing holds nothing, and nobody finds it. */
static void test_what_is_not_made(void **state)
{
	const struct gsb_registered r = {.addr = block(1), .size = BLOCK};
	uint64_t shared[2], gone[GSB_MIRRORS_GONE];
	struct gsb_registered found;

	(void)state;
	fill_blocks();
	add_shared(block(0), BLOCK, MIRROR(0), shared);
	assert_int_equal(gsb_registered_begin(&r, shared), CUDA_SUCCESS);
	assert_false(gsb_registered_find(block(1), 1, &found));
	assert_false(gsb_registered_find_device(block(1) % PAGE, &found));
	assert_int_equal(gsb_registered_at(block(1), &found),
			 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	assert_int_equal(gsb_registered_begin(&r, shared),
			 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	assert_int_equal(end_some(block(0), gone), 0);
	assert_true(is_in_window(memory + 2 * PAGE, MIRROR(0) + 2 * PAGE));
	assert_int_equal(end_some(block(1), gone), 1);
	assert_int_equal(gone[0], (uint64_t)MIRROR(0));
	assert_int_equal(gsb_n_registered, 0);
	expect_blocks();
}

static _Atomic bool has_begun;

static void *begin_beside(void *arg)
{
	const struct gsb_registered r = {.addr = block(1), .size = BLOCK};

	gsb_registered_begin(&r, arg);
	has_begun = true;
	return NULL;
}

/* Where a page will lie is known when who registers it has done so, or has not. */
static void test_begins_when_others_are_made(void **state)
{
	const struct gsb_registered r = {.addr = block(0), .size = BLOCK};
	uint64_t shared[2], beside[2] = {0}, gone[GSB_MIRRORS_GONE];
	pthread_t other;

	(void)state;
	for (int is_made = 0; is_made < 2; is_made++) {
		has_begun = false;
		assert_int_equal(gsb_registered_begin(&r, shared), CUDA_SUCCESS);
		assert_int_equal(pthread_create(&other, NULL, begin_beside, beside), 0);
		usleep(20000);
		assert_false(has_begun);
		if (is_made)
			assert_int_equal(gsb_registered_add(&r, (uint64_t)MIRROR(0)), CUDA_SUCCESS);
		else
			end_some(block(0), gone);
		pthread_join(other, NULL);
		assert_int_equal(beside[0], is_made ? (uint64_t)MIRROR(0) + 2 * PAGE : 0);
		end_some(block(1), gone);
	}
	end_some(block(0), gone);
}

/* It ends when it has what it waits for, and keeps nobody from it. */
static void test_cancelled_while_others_are_made(void **state)
{
	const struct gsb_registered r = {.addr = block(0), .size = BLOCK};
	uint64_t shared[2], beside[2] = {0}, gone[GSB_MIRRORS_GONE];
	pthread_t other;

	(void)state;
	has_begun = false;
	assert_int_equal(gsb_registered_begin(&r, shared), CUDA_SUCCESS);
	assert_int_equal(pthread_create(&other, NULL, begin_beside, beside), 0);
	usleep(20000);
	pthread_cancel(other);
	usleep(20000);
	alarm(60);
	assert_int_equal(gsb_registered_add(&r, (uint64_t)MIRROR(0)), CUDA_SUCCESS);
	alarm(0);
	pthread_join(other, NULL);
	assert_true(has_begun);
	end_some(block(1), gone);
	end_some(block(0), gone);
}

static void test_page_of_another_context(void **state)
{
	const struct gsb_registered r = {.addr = block(1), .size = BLOCK, .wire = 5};
	uint64_t shared[2], gone[GSB_MIRRORS_GONE];

	(void)state;
	add_shared(block(0), BLOCK, MIRROR(0), shared);
	assert_int_equal(gsb_registered_begin(&r, shared), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(end_some(block(0), gone), 1);
	assert_int_equal(gsb_n_registered, 0);
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
	const struct gsb_registered r = {.addr = (uint64_t)memory, .size = (size_t)N_PAGES * PAGE};
	uint64_t shared[2];

	assert_int_equal(gsb_registered_begin(&r, shared), CUDA_ERROR_NOT_SUPPORTED);
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

/* ---- what has become of the pages meanwhile ---- */

/* A file of the program's, shared, in place of some pages. */
static void replace(unsigned page, unsigned n)
{
	int fd = memfd_create("other", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)n * PAGE), 0);
	assert_ptr_equal(mmap(memory + page * PAGE, (size_t)n * PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, fd, 0),
			 memory + page * PAGE);
	close(fd);
}

static bool is_mapped(const uint8_t *page)
{
	unsigned char in_core;

	return !mincore((void *)(uintptr_t)page, PAGE, &in_core);
}

/* Whether the kernel may read it for us. */
static bool is_readable(const uint8_t *page)
{
	int ends[2];
	bool is;

	assert_int_equal(pipe(ends), 0);
	is = write(ends[1], page, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return is;
}

static uint64_t page_of(const volatile void *p)
{
	return (uint64_t)p & ~(uint64_t)(PAGE - 1);
}

/* Other pages with the same bytes, in place of those that its caller does not stand on. The kernel copies: a sanitizer minds who reads all of a stack's page. */
static void put_another(void *page)
{
	void *other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct iovec to = {other, PAGE}, from = {page, PAGE};

	if (other == MAP_FAILED ||
	    syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) != (long)PAGE)
		return;
	(void)!mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page);
}

/* Freed and used again, by a program that forgets to end what it has registered: nothing of that is ours. */
static void test_pages_that_are_gone(void **state)
{
	(void)state;
	fill_blocks();
	add((uint64_t)N_PAGES * PAGE);
	munmap(memory + 10 * PAGE, (size_t)10 * PAGE);
	replace(30, 10);
	memory[35 * PAGE] = 7;
	end();
	assert_false(is_mapped(memory + 10 * PAGE));
	assert_true(is_mapped(memory + 9 * PAGE));
	assert_int_equal(memory[35 * PAGE], 7);
	for (unsigned page = 50; page < N_PAGES; page++)
		assert_int_equal(memory[page * PAGE], (uint8_t)(page * PAGE * 7 + page));
	assert_false(is_in_window(memory + 50 * PAGE, window + 50 * PAGE));
}

/* As realloc() moves a large block: its bytes are the program's where they are now. */
static void test_pages_that_moved(void **state)
{
	uint8_t *to = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	(void)state;
	fill_blocks();
	add((uint64_t)N_PAGES * PAGE);
	assert_ptr_equal(mremap(memory, (size_t)N_PAGES * PAGE, (size_t)N_PAGES * PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, to),
			 to);
	assert_true(is_in_window(to + 20 * PAGE, window + 20 * PAGE));
	end();
	assert_false(is_in_window(to + 20 * PAGE, window + 20 * PAGE));
	memory = to;
	expect_blocks();
}

static void protect(int access)
{
	assert_int_equal(mprotect(memory, (size_t)N_PAGES * PAGE, access), 0);
}

static void test_pages_that_are_protected(void **state)
{
	(void)state;
	fill_blocks();
	add((uint64_t)N_PAGES * PAGE);
	protect(PROT_NONE);
	end();
	assert_false(is_readable(memory));
	protect(PROT_READ | PROT_WRITE);
	expect_blocks();
	add((uint64_t)N_PAGES * PAGE);
	protect(PROT_READ);
	end();
	assert_true(is_readable(memory));
	expect_blocks();
}

/* Some are gone, some are others', some may not be read, and the rest is the child's own. */
static void test_child_of_pages_that_are_gone(void **state)
{
	int status = -1;
	pid_t child;

	(void)state;
	fill_blocks();
	add((uint64_t)N_PAGES * PAGE);
	munmap(memory + 10 * PAGE, (size_t)10 * PAGE);
	replace(30, 10);
	assert_int_equal(mprotect(memory + 50 * PAGE, (size_t)10 * PAGE, PROT_NONE), 0);
	child = fork();
	if (!child) {
		memory[0]++;
		memory[35 * PAGE] = 7;
		if (is_readable(memory + 50 * PAGE) ||
		    mprotect(memory + 50 * PAGE, (size_t)10 * PAGE, PROT_READ))
			_exit(1);
		_exit(memory[55 * PAGE] != (uint8_t)(55 * PAGE * 7 + 55));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(memory[0], 0);
	assert_int_equal(memory[35 * PAGE], 7);
	end();
}

/* A stack that was registered has ended, and another one is where it was. */
static void test_stack_of_fork_that_is_another(void **state)
{
	volatile uint8_t word = 3;
	uint8_t *page = (uint8_t *)page_of(&word);
	int status = -1;
	pid_t child;

	(void)state;
	add_at((uint64_t)&word, 1);
	assert_true(is_in_window((uint8_t *)&word, window + ((uint64_t)&word & (PAGE - 1))));
	gsb_call_aside((uint64_t)page, PAGE, put_another, page);
	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(is_in_window((uint8_t *)&word, window + ((uint64_t)&word & (PAGE - 1))));
	end_at((uint64_t)&word);
}

static void test_huge_pages(void **state)
{
	const struct gsb_registered r = {.addr = (uint64_t)memory, .size = (size_t)N_PAGES * PAGE};
	uint64_t shared[2], gone[GSB_MIRRORS_GONE];

	(void)state;
	fill_blocks();
	assert_int_equal(gsb_registered_begin(&r, shared), CUDA_SUCCESS);
	is_huge = true;
	assert_int_equal(gsb_registered_add(&r, (uint64_t)window), CUDA_ERROR_NOT_SUPPORTED);
	is_huge = false;
	end_some((uint64_t)memory, gone);
	expect_blocks();
}

/* What lies before it may have a name of any length: a line's end in one is four characters to who reads the maps. */
static void test_file_with_a_long_name(void **state)
{
	char name[240];
	void *before;
	int fd;

	(void)state;
	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	fd = memfd_create(name, MFD_CLOEXEC);
	assert_true(fd >= 0);
	before = mmap((void *)(uintptr_t)(PAGE * 256), PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(before, MAP_FAILED);
	assert_true((uint64_t)before < (uint64_t)memory);
	add((uint64_t)N_PAGES * PAGE);
	end();
	munmap(before, PAGE);
	close(fd);
}

static bool process_has_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool has = maps && getc(maps) != EOF;

	if (maps)
		fclose(maps);
	return has;
}

/* The pages come back with their bytes, and others may be registered. */
static void *outlive(void *main_thread)
{
	const struct gsb_registered r = {.addr = (uint64_t)memory, .size = PAGE};
	uint64_t shared[2], gone[GSB_MIRRORS_GONE];
	unsigned n = 0;

	pthread_join(*(pthread_t *)main_thread, NULL);
	while (process_has_maps())
		sched_yield();
	if (gsb_registered_remove((uint64_t)memory, gone, &n) || n != 1)
		_exit(1);
	memset(window, 0, (size_t)N_PAGES * PAGE);
	for (size_t i = 0; i < (size_t)N_PAGES * PAGE; i++)
		if (memory[i] != 7)
			_exit(2);
	_exit(gsb_registered_begin(&r, shared) ? 3 : 0);
}

/* What the kernel says of the process is what it says of that thread. */
static void test_first_thread_has_ended(void **state)
{
	static pthread_t self;
	pthread_t other;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		alarm(30);
		memset(memory, 7, (size_t)N_PAGES * PAGE);
		add((uint64_t)N_PAGES * PAGE);
		self = pthread_self();
		pthread_create(&other, NULL, outlive, &self);
		pthread_exit(NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* As where no /proc is. */
static bool is_unknown;

bool __real_gsb_views_read(struct gsb_views *out);
bool __wrap_gsb_views_read(struct gsb_views *out);

bool __wrap_gsb_views_read(struct gsb_views *out)
{
	return !is_unknown && __real_gsb_views_read(out);
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

static volatile uint32_t *in_window(const volatile uint32_t *p)
{
	return (volatile uint32_t *)(window + ((uint64_t)p & (PAGE - 1)));
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

static void test_stack_of_fork_without_proc(void **state)
{
	is_unknown = true;
	test_stack_of_fork(state);
	test_same_bytes(state);
	is_unknown = false;
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
		cmocka_unit_test_setup_teardown(test_first_of_two_ends_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_of_two_ends_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_block_between_two, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_made, setup, teardown),
		cmocka_unit_test_setup_teardown(test_begins_when_others_are_made, setup, teardown),
		cmocka_unit_test_setup_teardown(test_page_of_another_context, setup, teardown),
		cmocka_unit_test_setup_teardown(test_variables_of_the_only_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_variables_beside_a_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_that_is_shorter_than_its_mapping, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_pages_that_are_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pages_that_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pages_that_are_protected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_child_of_pages_that_are_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_of_fork_that_is_another, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_huge_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_with_a_long_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_thread_has_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancelled_while_others_are_made, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_of_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_of_fork_without_proc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_grows_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signals_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
