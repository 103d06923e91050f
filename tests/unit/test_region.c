/*
 * test_region.c - sealed regions, and what is refused as one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/region.h"

static void test_region_create_then_attach_shows_the_same_bytes(void **state)
{
	struct gsb_region *a, *b;
	int fd;

	assert_int_equal(gsb_region_create(GSB_FEATURE_STAGING, &a, &fd), 0);
	assert_int_equal(gsb_region_attach(fd, &b), 0);
	assert_int_equal(b->header.features, GSB_FEATURE_STAGING);
	atomic_store(&a->streams[17], 4711);
	assert_int_equal(atomic_load(&b->streams[17]), 4711);
	munmap(a, sizeof(*a));
	munmap(b, sizeof(*b));
	close(fd);
}

static void test_region_is_sealed_against_resizing(void **state)
{
	struct gsb_region *a;
	int fd;

	assert_int_equal(gsb_region_create(0, &a, &fd), 0);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 1 << 24), -1);
	munmap(a, sizeof(*a));
	close(fd);
}

static void test_attach_of_unsealed_or_short_memfd_is_eproto(void **state)
{
	struct gsb_region *a, *r = NULL;
	int sealed, fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* All of it is right but the seals. */
	assert_int_equal(gsb_region_create(0, &a, &sealed), 0);
	assert_int_equal(ftruncate(fd, sizeof(struct gsb_region)), 0);
	assert_int_equal(pwrite(fd, &a->header, sizeof(a->header), 0), sizeof(a->header));
	assert_int_equal(gsb_region_attach(fd, &r), -EPROTO);
	munmap(a, sizeof(*a));
	close(sealed);
	close(fd);
	assert_int_equal(gsb_memfd_create("t", 4096, &fd), 0);
	assert_int_equal(gsb_region_attach(fd, &r), -EPROTO);
	close(fd);
	assert_null(r);
}

static void test_attach_of_other_version_or_magic_is_refused(void **state)
{
	struct gsb_region *a, *b = NULL;
	int fd;

	assert_int_equal(gsb_region_create(0, &a, &fd), 0);
	a->header.major++;
	assert_int_equal(gsb_region_attach(fd, &b), -EPROTONOSUPPORT);
	a->header.major--;
	a->header.magic ^= 1;
	assert_int_equal(gsb_region_attach(fd, &b), -EPROTO);
	munmap(a, sizeof(*a));
	close(fd);
}

static void test_window_lies_at_its_base_and_never_over_another(void **state)
{
	uint64_t base = gsb_host_window_base(3);
	int fd;

	assert_int_equal(gsb_memfd_create("t", 1 << 20, &fd), 0);
	assert_int_equal(gsb_window_map(fd, base, 1 << 20), 0);
	*(volatile char *)(uintptr_t)base = 7;
	assert_int_equal(gsb_window_map(fd, base, 1 << 20), -EEXIST);
	assert_int_equal(gsb_window_block(base + 4096, 4096), -EEXIST);
	gsb_window_unmap(base, 1 << 20);
	assert_int_equal(gsb_window_block(gsb_device_window_base(3), GSB_DEVICE_WINDOW_SIZE), 0);
	gsb_window_unmap(gsb_device_window_base(3), GSB_DEVICE_WINDOW_SIZE);
	close(fd);
}

static void test_window_is_not_inherited_by_a_forked_child(void **state)
{
	uint64_t base = gsb_host_window_base(4);
	int fd, status;
	pid_t pid;

	assert_int_equal(gsb_memfd_create("t", 4096, &fd), 0);
	assert_int_equal(gsb_window_map(fd, base, 4096), 0);
	pid = fork();
	if (!pid) /* in the child the range is free again */
		_exit(gsb_window_block(base, 4096) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	gsb_window_unmap(base, 4096);
	close(fd);
}

static struct {
	bool fails, has_failed;
	unsigned n_unmapped; /* since then */
} moving;

void *mremap(void *at, size_t size, size_t new_size, int flags, ...)
{
	va_list args;
	void *to;

	va_start(args, flags);
	to = va_arg(args, void *);
	va_end(args);
	moving.has_failed = moving.fails;
	errno = ENOMEM;
	return moving.fails ? MAP_FAILED
			    : (void *)syscall(SYS_mremap, at, size, new_size, flags, to);
}

int munmap(void *at, size_t size)
{
	moving.n_unmapped += moving.has_failed;
	return (int)syscall(SYS_munmap, at, size);
}

static void test_window_that_moves_has_its_pages_and_no_numbers(void **state)
{
	uint64_t base = gsb_host_window_base(4);
	uint32_t *moved;
	int fd;

	assert_int_equal(gsb_memfd_create("t", 1 << 22, &fd), 0);
	assert_int_equal(gsb_window_map(fd, base, 1 << 22), 0);
	*(uint32_t *)(uintptr_t)base = 4711;
	moved = gsb_window_move(base, 1 << 22);
	assert_non_null(moved);
	assert_int_equal(*moved, 4711);
	assert_int_equal(gsb_window_block(base, 1 << 22), 0);
	gsb_window_unmap(base, 1 << 22);
	munmap(moved, 1 << 22);
	close(fd);
}

/* Other threads map, too: where it would have gone there may be something of theirs. */
static void test_window_that_cannot_move_unmaps_nothing(void **state)
{
	uint64_t base = gsb_host_window_base(4);
	int fd;

	assert_int_equal(gsb_memfd_create("t", 4096, &fd), 0);
	assert_int_equal(gsb_window_map(fd, base, 4096), 0);
	moving.fails = true;
	assert_null(gsb_window_move(base, 4096));
	moving.fails = moving.has_failed = false;
	assert_int_equal(moving.n_unmapped, 0);
	assert_int_equal(gsb_window_block(base, 4096), -EEXIST);
	gsb_window_unmap(base, 4096);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_region_create_then_attach_shows_the_same_bytes),
		cmocka_unit_test(test_region_is_sealed_against_resizing),
		cmocka_unit_test(test_attach_of_unsealed_or_short_memfd_is_eproto),
		cmocka_unit_test(test_attach_of_other_version_or_magic_is_refused),
		cmocka_unit_test(test_window_lies_at_its_base_and_never_over_another),
		cmocka_unit_test(test_window_is_not_inherited_by_a_forked_child),
		cmocka_unit_test(test_window_that_moves_has_its_pages_and_no_numbers),
		cmocka_unit_test(test_window_that_cannot_move_unmaps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
