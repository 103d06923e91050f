/*
 * test_tensor_map.c - tensor maps: what the engine is asked, and what never comes to it.
 */
#include "base/compiler.h"
#include "tests/unit/interpose.h"

static const cuuint64_t dims[] = {64, 32, 16, 8, 4}, strides[] = {256, 8192, 131072, 1048576};
static const cuuint32_t ones[] = {1, 2, 3, 4, 5}, box[] = {32, 16, 8, 4, 2};
static void *const tensor = (void *)0x300000001000;

static CUresult encode(CUtensorMap *map, cuuint32_t rank, const cuuint64_t *d, const cuuint64_t *s,
		       const cuuint32_t *b, const cuuint32_t *e)
{
	return cu.cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, tensor, d, s,
					 b, e, (CUtensorMapInterleave)1, (CUtensorMapSwizzle)2,
					 (CUtensorMapL2promotion)3, (CUtensorMapFloatOOBfill)1);
}

static void test_tiled_map_is_the_engines_answer(void **state)
{
	const struct gsb_tensor_map *m;
	CUtensorMap map;

	assert_cu(encode(&map, 5, dims, strides, box, ones));
	m = &last_body(TENSOR_MAP, tensor_map)->map;
	assert_int_equal(m->form, GSB_TENSOR_TILED);
	assert_int_equal(m->type, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
	assert_int_equal(m->rank, 5);
	assert_int_equal(m->addr, (uint64_t)tensor);
	assert_memory_equal(m->dims, dims, sizeof(dims));
	assert_memory_equal(m->strides, strides, sizeof(strides));
	assert_memory_equal(m->box, box, sizeof(box));
	assert_memory_equal(m->element_strides, ones, sizeof(ones));
	assert_int_equal(m->interleave, 1);
	assert_int_equal(m->swizzle, 2);
	assert_int_equal(m->l2_promotion, 3);
	assert_int_equal(m->oob_fill, 1);
	for (unsigned i = 0; i < GSB_TENSOR_MAP_WORDS; i++)
		assert_int_equal(map.opaque[i], (uint64_t)tensor + i);
}

/* A program's arrays are as long as its rank. */
static void test_no_more_is_read_than_the_rank_says(void **state)
{
	const struct gsb_tensor_map *m;
	CUtensorMap map;

	assert_cu(encode(&map, 2, dims, strides, box, ones));
	m = &last_body(TENSOR_MAP, tensor_map)->map;
	assert_int_equal(m->dims[1], 32);
	assert_int_equal(m->dims[2], 0);
	assert_int_equal(m->strides[0], 256);
	assert_int_equal(m->strides[1], 0);
	assert_int_equal(m->box[2], 0);
	assert_int_equal(m->element_strides[2], 0);
	assert_cu(encode(&map, 1, dims, NULL, box, ones));
}

static void test_map_of_an_image_has_corners_channels_and_pixels(void **state)
{
	static const int lower[] = {-1, -2, -3}, upper[] = {1, 2, 3};
	const struct gsb_tensor_map *m;
	CUtensorMap map;

	assert_cu(cu.cuTensorMapEncodeIm2col(
		&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, tensor, dims, strides, lower, upper, 16,
		128, ones, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0,
		(CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0));
	m = &last_body(TENSOR_MAP, tensor_map)->map;
	assert_int_equal(m->form, GSB_TENSOR_IM2COL);
	assert_memory_equal(m->lower, ((int[]){-1, -2, 0}), sizeof(m->lower));
	assert_memory_equal(m->upper, ((int[]){1, 2, 0}), sizeof(m->upper));
	assert_int_equal(m->channels, 16);
	assert_int_equal(m->pixels, 128);
	assert_int_equal(map.opaque[0], (uint64_t)tensor);
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     cu.cuTensorMapEncodeIm2col(
			     &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, tensor, dims, strides, lower,
			     upper, 16, 128, ones, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0,
			     (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0));
}

static void test_map_is_moved_with_all_else_that_it_says(void **state)
{
	CUtensorMap map = {.opaque = {1, 2, 3}};
	const struct gsb_tensor_map *m;

	assert_cu(cu.cuTensorMapReplaceAddress(&map, tensor));
	m = &last_body(TENSOR_MAP, tensor_map)->map;
	assert_int_equal(m->form, GSB_TENSOR_MOVED);
	assert_int_equal(m->addr, (uint64_t)tensor);
	assert_memory_equal(m->encoded, ((uint64_t[]){1, 2, 3, 0}), 4 * sizeof(uint64_t));
	assert_int_equal(map.opaque[1], (uint64_t)tensor + 1);
}

static void test_what_can_be_no_map_never_comes_to_the_engine(void **state)
{
	CUtensorMap map;

	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(NULL, 2, dims, strides, box, ones));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE,
		     encode((CUtensorMap *)((char *)&map + 32), 2, dims, strides, box, ones));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(&map, 0, dims, strides, box, ones));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(&map, 6, dims, strides, box, ones));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, NULL, strides, box, ones));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, dims, NULL, box, ones));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, dims, strides, NULL, ones));
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, dims, strides, box, NULL));
	assert_int_equal(count(GSB_REC_TENSOR_MAP), 0);
	cu.cuCtxSetCurrent(NULL);
	assert_cu_is(CUDA_ERROR_INVALID_CONTEXT, encode(&map, 2, dims, strides, box, ones));
}

static void test_map_that_is_refused_leaves_the_programs_alone(void **state)
{
	CUtensorMap map = {.opaque = {7}};

	engine->fail_type = GSB_REC_TENSOR_MAP;
	engine->fail_result = CUDA_ERROR_INVALID_VALUE;
	assert_cu_is(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, dims, strides, box, ones));
	assert_int_equal(map.opaque[0], 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_tiled_map_is_the_engines_answer, set_up),
		cmocka_unit_test_setup(test_no_more_is_read_than_the_rank_says, set_up),
		cmocka_unit_test_setup(test_map_of_an_image_has_corners_channels_and_pixels,
				       set_up),
		cmocka_unit_test_setup(test_map_is_moved_with_all_else_that_it_says, set_up),
		cmocka_unit_test_setup(test_what_can_be_no_map_never_comes_to_the_engine, set_up),
		cmocka_unit_test_setup(test_map_that_is_refused_leaves_the_programs_alone, set_up),
	};

	start_tenant();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
