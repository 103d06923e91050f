/*
 * test_host_file.c - one descriptor for all that an owner has of a file, and none for what is another's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/host_file.h"
#include "tests/unit/descriptors.h"

#define N 100

static int make_file(off_t size)
{
	int fd = memfd_create("host", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static struct gsb_host_file *get(struct gsb_host_file **all, uint64_t owner, int fd)
{
	struct gsb_host_file *f = NULL;

	assert_int_equal(gsb_host_file_get(all, owner, fd, &f), 0);
	return f;
}

static off_t size_of(const struct gsb_host_file *f)
{
	struct stat st;

	assert_int_equal(fstat(f->fd, &st), 0);
	return st.st_size;
}

static void test_get_of_the_same_file_takes_one_descriptor(void **state)
{
	struct gsb_host_file *all = NULL, *f[N];
	int fd = make_file(1), other = dup(fd);
	unsigned before = count_descriptors();

	for (unsigned i = 0; i < N; i++)
		f[i] = get(&all, 1, i % 2 ? other : fd); /* as of messages: a number of its own */
	assert_int_equal(count_descriptors(), before + 1);
	for (unsigned i = 0; i < N; i++)
		gsb_host_file_put(f[i]);
	assert_int_equal(count_descriptors(), before);
	assert_null(all);
	close(fd);
	close(other);
}

static void test_file_lives_until_its_last_user_though_the_caller_closes_his(void **state)
{
	struct gsb_host_file *all = NULL, *first, *second;
	int fd = make_file(7);

	first = get(&all, 1, fd);
	second = get(&all, 1, fd);
	close(fd);
	gsb_host_file_put(first);
	assert_int_equal(size_of(second), 7);
	gsb_host_file_put(second);
}

static void test_get_of_two_files_gives_each_its_own(void **state)
{
	struct gsb_host_file *all = NULL, *a, *b;
	int fd[] = {make_file(1), make_file(2)};

	a = get(&all, 1, fd[0]);
	b = get(&all, 1, fd[1]);
	assert_int_equal(size_of(a), 1);
	assert_int_equal(size_of(b), 2);
	gsb_host_file_put(a);
	assert_int_equal(size_of(b), 2);
	gsb_host_file_put(b);
	close(fd[0]);
	close(fd[1]);
}

/* Before Linux 5.9 a number may be another's after four thousand million files. */
static void test_get_of_another_owner_is_another_file(void **state)
{
	struct gsb_host_file *all = NULL, *a, *b;
	int fd = make_file(1);

	a = get(&all, 1, fd);
	b = get(&all, 2, fd);
	assert_ptr_not_equal(a, b);
	assert_int_not_equal(a->fd, b->fd);
	gsb_host_file_put(a);
	gsb_host_file_put(b);
	close(fd);
}

static void test_get_without_a_descriptor_is_refused(void **state)
{
	struct gsb_host_file *all = NULL, *f = NULL;
	int fd = make_file(1);
	rlim_t was;

	assert_int_equal(gsb_host_file_get(&all, 1, -1, &f), -EINVAL);
	was = limit_descriptors((rlim_t)fd + 1);
	assert_int_equal(gsb_host_file_get(&all, 1, fd, &f), -ENOMEM);
	limit_descriptors(was);
	assert_null(f);
	assert_null(all);
	close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_of_the_same_file_takes_one_descriptor),
		cmocka_unit_test(test_file_lives_until_its_last_user_though_the_caller_closes_his),
		cmocka_unit_test(test_get_of_two_files_gives_each_its_own),
		cmocka_unit_test(test_get_of_another_owner_is_another_file),
		cmocka_unit_test(test_get_without_a_descriptor_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
