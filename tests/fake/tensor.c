/*
 * tensor.c - tensor maps of the fake driver: an encoding of its own, in which each thing that is said has its place, so
 * that one that gets lost or takes another's is seen. It reads as many dimensions as it is told.
 */
#include <string.h>

#include "tests/fake/state.h"

#define WORD_OF_SHAPE 1
#define WORD_OF_BOX   2
#define WORD_OF_SIZES 5

static CUresult check(const void *addr)
{
	return (uintptr_t)addr % 16 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static void put(CUtensorMap *map, unsigned word, unsigned byte, uint64_t value)
{
	map->opaque[word] ^= value << 8 * byte;
}

static void put_sizes(CUtensorMap *map, cuuint32_t rank, const cuuint64_t *dims,
		      const cuuint64_t *strides, const cuuint32_t *element_strides)
{
	for (cuuint32_t i = 0; i < rank; i++) {
		put(map, WORD_OF_SIZES + i, 0, dims[i]);
		put(map, WORD_OF_SIZES + i, 7, element_strides[i]);
	}
	for (cuuint32_t i = 0; i + 1 < rank; i++)
		put(map, WORD_OF_SIZES + 5 + i, 0, strides[i]);
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				void *addr, const cuuint64_t *dims, const cuuint64_t *strides,
				const cuuint32_t *box, const cuuint32_t *element_strides,
				CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				CUtensorMapL2promotion l2_promotion,
				CUtensorMapFloatOOBfill oob_fill)
{
	CUresult result = fake_enter(__func__) ?: fake_leave(check(addr));

	if (result)
		return result;
	*map = (CUtensorMap){.opaque = {(uint64_t)(uintptr_t)addr, type | rank << 8}};
	put(map, WORD_OF_SHAPE, 2, interleave);
	put(map, WORD_OF_SHAPE, 3, swizzle);
	put(map, WORD_OF_SHAPE, 4, l2_promotion);
	put(map, WORD_OF_SHAPE, 5, oob_fill);
	for (cuuint32_t i = 0; i < rank; i++)
		put(map, WORD_OF_BOX, i, box[i]);
	put_sizes(map, rank, dims, strides, element_strides);
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				 void *addr, const cuuint64_t *dims, const cuuint64_t *strides,
				 const int *lower, const int *upper, cuuint32_t channels,
				 cuuint32_t pixels, const cuuint32_t *element_strides,
				 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				 CUtensorMapL2promotion l2_promotion,
				 CUtensorMapFloatOOBfill oob_fill)
{
	const cuuint32_t none[5] = {0};
	CUresult result =
		cuTensorMapEncodeTiled(map, type, rank, addr, dims, strides, none, element_strides,
				       interleave, swizzle, l2_promotion, oob_fill);

	if (!result)
		result = fake_enter(__func__) ?: fake_leave(CUDA_SUCCESS);
	if (result)
		return result;
	put(map, WORD_OF_BOX, 6, channels);
	put(map, WORD_OF_BOX, 7, pixels);
	for (cuuint32_t i = 0; i + 2 < rank; i++) {
		put(map, WORD_OF_BOX + 1, i, (uint8_t)lower[i]);
		put(map, WORD_OF_BOX + 2, i, (uint8_t)upper[i]);
	}
	return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *addr)
{
	CUresult result = fake_enter(__func__) ?: fake_leave(check(addr));

	if (!result)
		map->opaque[0] = (uint64_t)(uintptr_t)addr;
	return result;
}
