/*
 * tensor.c - see tensor.h.
 *
 * The driver reads as many dimensions as it is told and looks numbers up in tables of its own: what is out of range of CUDA's
 * header never comes to it.
 */
#include "device/cuda/tensor.h"

#include <string.h>

#include "device/cuda/device.h"

static bool is_known(const struct gsb_tensor_map *m)
{
	return m->form < GSB_N_TENSOR_FORMS && m->type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B &&
	       m->interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
	       m->swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
	       m->l2_promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
	       m->oob_fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
}

static bool is_rank_ok(const struct gsb_tensor_map *m)
{
	uint32_t least = m->form == GSB_TENSOR_IM2COL ? 3 : 1;

	return m->form == GSB_TENSOR_MOVED || (m->rank >= least && m->rank <= GSB_TENSOR_RANK_MAX);
}

static CUresult encode(const struct cuda_driver *cu, const struct gsb_tensor_map *m,
		       CUtensorMap *out)
{
	CUtensorMapDataType type = (CUtensorMapDataType)m->type;
	CUtensorMapInterleave interleave = (CUtensorMapInterleave)m->interleave;
	CUtensorMapSwizzle swizzle = (CUtensorMapSwizzle)m->swizzle;
	CUtensorMapL2promotion l2 = (CUtensorMapL2promotion)m->l2_promotion;
	CUtensorMapFloatOOBfill fill = (CUtensorMapFloatOOBfill)m->oob_fill;
	void *addr = (void *)(uintptr_t)m->addr;

	switch ((enum gsb_tensor_form)m->form) {
	case GSB_TENSOR_TILED:
		return cu->cuTensorMapEncodeTiled(out, type, m->rank, addr, m->dims, m->strides,
						  m->box, m->element_strides, interleave, swizzle,
						  l2, fill);
	case GSB_TENSOR_IM2COL:
		return cu->cuTensorMapEncodeIm2col(
			out, type, m->rank, addr, m->dims, m->strides, m->lower, m->upper,
			m->channels, m->pixels, m->element_strides, interleave, swizzle, l2, fill);
	default: return cu->cuTensorMapReplaceAddress(out, addr);
	}
}

int cuda_tensor_map(struct gsb_device *base, uint64_t owner, const struct gsb_tensor_map *m,
		    uint64_t *words)
{
	struct cuda_device *dev = to_cuda(base);
	CUtensorMap map;
	int err;

	if (!is_known(m) || !is_rank_ok(m))
		return -EINVAL;
	memcpy(map.opaque, m->encoded, sizeof(map.opaque));
	err = cuda_refusal(dev, encode(&dev->cu, m, &map));
	if (!err)
		memcpy(words, map.opaque, sizeof(map.opaque));
	return err;
}
