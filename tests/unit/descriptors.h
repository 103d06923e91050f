/*
 * descriptors.h - how many descriptors this process may have, and has.
 */
#ifndef GSB_TESTS_UNIT_DESCRIPTORS_H
#define GSB_TESTS_UNIT_DESCRIPTORS_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

/* No more new ones; those that are there stay. Return: the limit that there was. */
static inline rlim_t limit_descriptors(rlim_t n)
{
	struct rlimit limit;
	rlim_t was;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	was = limit.rlim_cur;
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return was;
}

/* For comparison: what it takes to look is counted, too. */
static inline unsigned count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
