/*
 * test_device_code.c - images parsed once by content, and the queue of completions.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "device/code.h"
#include "device/done.h"
#include "model/gpu/arch.h"

static const char text[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
			   ".visible .global .align 4 .u32 a;\n"
			   ".visible .const .align 64 .b8 b[100];\n"
			   ".visible .entry k(.param .u64 p) { ret; }\n"
			   ".visible .entry wide(.param .u32 q) .maxntid 256, 1, 1 { ret; }\n";

static unsigned n_threads; /* that were started */

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	typeof(&pthread_create) next = dlsym(RTLD_NEXT, "pthread_create");

	n_threads++;
	return next(thread, attr, start, arg);
}

static struct gsb_code *get(struct gsb_code_cache *cache, const char *image)
{
	struct gsb_code *code = NULL;
	char log[512] = "";

	if (gsb_code_get(cache, image, strlen(image), &code, log, sizeof(log)))
		fail_msg("%s", log);
	return code;
}

static void test_code_get_same_bytes_is_parsed_once(void **state)
{
	struct gsb_code_cache *cache;
	struct gsb_code *a, *b, *c;
	char *copy = strdup(text), *other = strdup(text);

	assert_int_equal(gsb_code_cache_create(&cache), 0);
	other[strlen(other) - 1] = ' ';
	a = get(cache, text);
	b = get(cache, copy);
	c = get(cache, other);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	free(copy);
	free(other);
	gsb_code_put(a);
	gsb_code_put(b);
	gsb_code_put(c);
	assert_ptr_equal(get(cache, text), a); /* kept for a while */
	gsb_code_put(a);
	gsb_code_cache_destroy(cache);
}

/* The 17th that nobody uses pushes out the one that was used longest ago. */
static void test_code_put_keeps_sixteen_unused(void **state)
{
	struct gsb_code_cache *cache;
	struct gsb_code *held, *first;
	char image[sizeof(text) + 16];

	n_threads = 0;
	assert_int_equal(gsb_code_cache_create(&cache), 0);
	held = get(cache, text);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(image, sizeof(image), "%s// %u\n", text, i);
		first = get(cache, image);
		gsb_code_put(first);
	}
	assert_ptr_equal(get(cache, image), first);
	assert_ptr_equal(get(cache, text), held);
	assert_string_equal(gsb_code_module(held)->funcs[0]->name, "k");
	gsb_code_put(first);
	gsb_code_put(held);
	gsb_code_put(held);
	gsb_code_cache_destroy(cache);
	assert_int_equal(n_threads, 0);
}

/* What an image comes to in memory is its tenant's choice: 64 MiB are kept, and whoever gives the rest back does not free it. */
static void test_code_put_keeps_sixty_four_mib_unused(void **state)
{
	static const size_t sizes[] = {40 << 20, 41 << 20, 63 << 20, 1000};
	size_t max = (size_t)64 << 20;
	struct gsb_code_cache *cache;
	char *image = malloc(max * 2);

	n_threads = 0;
	assert_int_equal(gsb_code_cache_create(&cache), 0);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(sizes); i++) {
		memset(image, ' ', sizes[i]);
		memcpy(image, text, strlen(text));
		image[sizes[i]] = 0;
		gsb_code_put(get(cache, image));
		assert_in_range(gsb_code_cache_unused_bytes(cache), 1000, max);
	}
	free(image);
	assert_int_not_equal(n_threads, 0);
	gsb_code_cache_destroy(cache);
}

struct racer {
	struct gsb_code_cache *cache;
	struct gsb_code *code;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	char log[512];

	for (unsigned i = 0; i < 50; i++) {
		const struct gsb_code_kernel *k = NULL;

		if (gsb_code_get(r->cache, text, strlen(text), &r->code, log, sizeof(log)) ||
		    gsb_code_kernel(r->code, "k", &k) || !k)
			return NULL;
		gsb_code_put(r->code);
	}
	return r;
}

static void test_code_get_from_four_threads_gives_one(void **state)
{
	struct gsb_code_cache *cache;
	struct racer racers[4];
	pthread_t threads[4];
	void *res;

	assert_int_equal(gsb_code_cache_create(&cache), 0);
	for (unsigned i = 0; i < 4; i++) {
		racers[i].cache = cache;
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &res), 0);
		assert_ptr_equal(res, &racers[i]);
		assert_ptr_equal(racers[i].code, racers[0].code);
	}
	gsb_code_cache_destroy(cache);
}

static void test_code_lay_out_aligns_and_counts(void **state)
{
	struct gsb_code_cache *cache;
	struct gsb_code *code;
	struct gsb_code_sizes sizes = {9, 9};
	uint64_t offset[2] = {99, 99};
	char log[256];

	assert_int_equal(gsb_code_cache_create(&cache), 0);
	code = get(cache, text);
	assert_int_equal(gsb_code_lay_out(code, offset, &sizes, log, sizeof(log)), 0);
	assert_int_equal(offset[0], 0);
	assert_int_equal(offset[1], 64);
	assert_int_equal(sizes.device_bytes, 164);
	assert_int_equal(sizes.managed_bytes, 0);
	gsb_code_put(code);
	gsb_code_cache_destroy(cache);
}

static void test_code_lay_out_puts_managed_variables_together(void **state)
{
	static const char image[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
				    ".global .align 4 .b8 plain[8];\n"
				    ".global .attribute(.managed) .align 4 .b8 first[20];\n"
				    ".const .align 4 .b8 fixed[4];\n"
				    ".global .attribute(.managed) .align 256 .b8 second[6];\n"
				    ".visible .entry k() { ret; }\n";
	struct gsb_code_cache *cache;
	struct gsb_code_sizes sizes;
	struct gsb_code *code;
	uint64_t offset[4];
	char log[256];

	assert_int_equal(gsb_code_cache_create(&cache), 0);
	code = get(cache, image);
	assert_int_equal(gsb_code_lay_out(code, offset, &sizes, log, sizeof(log)), 0);
	assert_int_equal(offset[0], 0);
	assert_int_equal(offset[1], 0);
	assert_int_equal(offset[2], 16);
	assert_int_equal(offset[3], 256);
	assert_int_equal(sizes.device_bytes, 20);
	assert_int_equal(sizes.managed_bytes, 262);
	gsb_code_put(code);
	gsb_code_cache_destroy(cache);
}

static void test_code_lay_out_refuses_undefined_variable_by_name(void **state)
{
	static const char image[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
				    ".extern .global .align 4 .u32 elsewhere;\n"
				    ".visible .entry k() { ret; }\n";
	struct gsb_code_cache *cache;
	struct gsb_code *code;
	struct gsb_code_sizes sizes = {7, 7};
	uint64_t offset[1];
	char log[256] = "";

	assert_int_equal(gsb_code_cache_create(&cache), 0);
	code = get(cache, image);
	assert_int_equal(gsb_code_lay_out(code, offset, &sizes, log, sizeof(log)), -EILSEQ);
	assert_non_null(strstr(log, "elsewhere"));
	assert_int_equal(sizes.device_bytes, 7);
	gsb_code_put(code);
	gsb_code_cache_destroy(cache);
}

/* An estimate of registers never makes a block that cannot be launched. */
static void test_code_regs_fit_any_block(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	struct gsb_ptx_func entry = {0};
	struct gsb_code_kernel k = {.entry = &entry, .layout = {.regs = 200}};

	assert_int_equal(gsb_code_regs(&k, arch, 32), 200);
	assert_int_equal(gsb_code_regs(&k, arch, 1024), 64);
	assert_int_equal(gsb_code_regs(&k, arch, 1000), 64);
	k.layout.regs = 400;
	assert_int_equal(gsb_code_regs(&k, arch, 32), 255);
	entry.tuning.maxnreg = 40;
	assert_int_equal(gsb_code_regs(&k, arch, 32), 40);
}

static void test_done_gives_back_in_order_while_it_grows(void **state)
{
	struct gsb_done d = {0};
	struct gsb_completion out[7];
	uint64_t pushed = 0, popped = 0;

	for (unsigned round = 0; round < 500; round++) {
		unsigned n = round % 11;

		assert_int_equal(gsb_done_reserve(&d, n), 0);
		for (unsigned i = 0; i < n; i++)
			gsb_done_push(&d)->cookie = pushed++;
		n = gsb_done_pop(&d, out, GSB_ARRAY_LEN(out));
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(out[i].cookie, popped++);
	}
	while (gsb_done_pop(&d, out, 1))
		assert_int_equal(out[0].cookie, popped++);
	assert_int_equal(popped, pushed);
	gsb_done_finish(&d);
	gsb_done_finish(NULL);
}

/* What is said of an error comes with it, and not with what succeeds in its place later. */
static void test_done_says_of_an_error_what_was_said_of_it(void **state)
{
	struct gsb_done d = {0};
	struct gsb_completion *c, out[1];

	for (unsigned i = 0; i < 3; i++) {
		bool fails = i == 1;

		assert_int_equal(gsb_done_reserve(&d, 1), 0);
		c = gsb_done_push(&d);
		c->n_blocks = i;
		if (fails) {
			c->result = CUDA_ERROR_LAUNCH_FAILED;
			strcpy(c->detail, "of kernel k");
		}
		assert_int_equal(gsb_done_pop(&d, out, 1), 1);
		assert_int_equal(out[0].n_blocks, i);
		assert_int_equal(out[0].result, fails ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS);
		assert_string_equal(out[0].detail, fails ? "of kernel k" : "");
	}
	gsb_done_finish(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_get_same_bytes_is_parsed_once),
		cmocka_unit_test(test_code_put_keeps_sixteen_unused),
		cmocka_unit_test(test_code_put_keeps_sixty_four_mib_unused),
		cmocka_unit_test(test_code_get_from_four_threads_gives_one),
		cmocka_unit_test(test_code_lay_out_aligns_and_counts),
		cmocka_unit_test(test_code_lay_out_puts_managed_variables_together),
		cmocka_unit_test(test_code_lay_out_refuses_undefined_variable_by_name),
		cmocka_unit_test(test_code_regs_fit_any_block),
		cmocka_unit_test(test_done_gives_back_in_order_while_it_grows),
		cmocka_unit_test(test_done_says_of_an_error_what_was_said_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
