/*
 * test_engine_upload.c - module images on their way: as many at once as a program has threads, and never more bytes
 * than the engine keeps for one tenant.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "broker/engine/code/upload.h"
#include "tests/unit/engine_kit.h"

#define IMAGE	  "good code"
#define N_IMAGES  64
#define N_ROUNDS  5
#define MAX_BYTES (1u << 20) /* of one image */

struct fixture {
	struct kit_engine k;
	struct kit_tenant t, other;
};

static int setup(void **state)
{
	struct gsb_tenant_limits limits = {.image_max_bytes = MAX_BYTES};
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, false);
	kit_tenant_init(&f->t, &f->k, &limits);
	kit_tenant_init(&f->other, &f->k, &limits);
	memcpy(f->t.staging, IMAGE, sizeof(IMAGE));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->t);
	kit_tenant_finish(&f->other);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* What one thread of the tenant would post for its image: one half, and the other. */
static void post_half(struct fixture *f, uint64_t image, bool second)
{
	uint64_t half = sizeof(IMAGE) / 2;
	struct gsb_rec_image_part b = {
		.image = image,
		.total = sizeof(IMAGE),
		.offset = second ? half : 0,
		.length = second ? sizeof(IMAGE) - half : half,
		.staging_offset = second ? half : 0,
	};

	kit_post_call(&f->t, GSB_REC_IMAGE_PART, &b, sizeof(b), NULL, 0);
}

static void post_load(struct fixture *f, uint32_t module, uint64_t image)
{
	struct gsb_rec_module_load b = {
		.module = kit_module(module), .ctx = kit_ctx(0), .image = image};

	kit_post_call(&f->t, GSB_REC_MODULE_LOAD, &b, sizeof(b), NULL, 0);
}

/* Numbers out of order, as threads that race for them would send them. */
static uint64_t number(uint32_t round, uint32_t i)
{
	return 1 + (uint64_t)round * N_IMAGES + (i * 37) % N_IMAGES;
}

static void test_sixty_four_images_at_once_are_all_loaded(void **state)
{
	struct fixture *f = *state;

	for (uint32_t round = 0; round < N_ROUNDS; round++) {
		for (uint32_t i = 0; i < N_IMAGES; i++)
			post_half(f, number(round, i), false);
		kit_settle(&f->k);
		for (uint32_t i = 0; i < N_IMAGES; i++)
			post_half(f, number(round, i), true);
		kit_settle(&f->k);
		for (uint32_t i = 0; i < N_IMAGES; i++)
			post_load(f, round * N_IMAGES + i, number(round, i));
		kit_settle(&f->k);
	}
	assert_int_equal(f->t.t->stats.n_modules, N_ROUNDS * N_IMAGES);
	assert_int_equal(f->t.t->uploads->n_items, 0);
	assert_int_equal(f->t.t->uploads->counted_bytes, 0);
}

static CUresult begin_image(struct fixture *f, uint64_t image, uint64_t total)
{
	struct gsb_rec_image_part b = {.image = image, .length = 1, .total = total};

	return kit_call(&f->t, GSB_REC_IMAGE_PART, &b, sizeof(b), NULL, 0);
}

/* Begun and never finished, until one is refused; how many were not. */
static unsigned flood(struct fixture *f, uint64_t total)
{
	uint64_t n = 0;

	while (begin_image(f, 1 + n, total) == CUDA_SUCCESS)
		n++;
	assert_int_equal(begin_image(f, 1 + n, total), CUDA_ERROR_OUT_OF_MEMORY);
	return (unsigned)n;
}

static void expect_other_loads(struct fixture *f)
{
	assert_int_equal(kit_load(&f->other, 0, 0, IMAGE, sizeof(IMAGE)), CUDA_SUCCESS);
	assert_int_equal(f->k.engine->n_cut, 0);
}

static void test_flood_of_large_images_is_refused_at_the_limit(void **state)
{
	struct fixture *f = *state;
	unsigned small = (unsigned)(GSB_N_THREADS * GSB_UPLOAD_SMALL_BYTES / MAX_BYTES);

	assert_int_equal(flood(f, MAX_BYTES), GSB_UPLOADS_LARGE + small);
	assert_int_equal(begin_image(f, 1000, 1), CUDA_ERROR_OUT_OF_MEMORY);
	expect_other_loads(f);
}

static void test_flood_of_tiny_images_is_refused_at_the_limit(void **state)
{
	struct fixture *f = *state;
	unsigned large = (unsigned)(GSB_UPLOADS_LARGE * MAX_BYTES / GSB_UPLOAD_SMALL_BYTES);

	assert_int_equal(flood(f, 2), GSB_N_THREADS + large);
	expect_other_loads(f);
}

/* What is loaded, or turns out to be no module, makes room. */
static void test_finished_upload_makes_room_for_the_next(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_image_part rest = {.image = 1, .offset = 1, .length = 1, .total = 2};
	unsigned n = flood(f, 2);

	assert_int_equal(kit_call(&f->t, GSB_REC_IMAGE_PART, &rest, sizeof(rest), NULL, 0),
			 CUDA_SUCCESS);
	post_load(f, 0, 1);
	kit_settle(&f->k);
	assert_int_equal(begin_image(f, 1 + n, 2), CUDA_SUCCESS);
	assert_int_equal(begin_image(f, 2 + n, 2), CUDA_ERROR_OUT_OF_MEMORY);
}

#define upload_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		upload_test(test_sixty_four_images_at_once_are_all_loaded),
		upload_test(test_flood_of_large_images_is_refused_at_the_limit),
		upload_test(test_flood_of_tiny_images_is_refused_at_the_limit),
		upload_test(test_finished_upload_makes_room_for_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
