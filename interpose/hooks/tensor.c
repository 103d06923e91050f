/*
 * hooks/tensor.c - tensor maps. How the 128 bytes of one are made is the secret of the driver or of the emulated device, which make
 * them where they are: in the engine.
 */
#include <string.h>

#include "base/log.h"
#include "interpose/core/post.h"
#include "interpose/cu/ctx.h"
#include "interpose/hooks/hooks.h"

#define MAP_ALIGN 64 /* bytes, as CUDA documents */

/* By name the first time, as every call that is not carried. */
static CUresult refuse(bool all)
{
	static _Atomic bool said[2];

	if (!atomic_exchange(&said[all], true))
		gsb_log_say(
			"tensor maps%s are not carried on this device: cuTensorMap calls return "
			"CUDA_ERROR_NOT_SUPPORTED; use a path of the program without %s",
			all ? "" : " with an interleaved layout",
			all ? "TMA" : "CU_TENSOR_MAP_INTERLEAVE_16B and _32B");
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* Whoever encodes knows all of it; interleaved layouts are what the emulated device leaves out. */
static CUresult ask(CUtensorMap *map, const struct gsb_rec_tensor_map *body)
{
	struct gsb_reply_tensor_map reply;
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result && !gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED])
		result = refuse(true);
	if (result)
		return result;
	result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_TENSOR_MAP,
						  .guard = gsb_cu_wire_guard(life.wire),
						  .body = body,
						  .body_bytes = sizeof(*body)},
			       &reply, sizeof(reply));
	if (result == CUDA_ERROR_NOT_SUPPORTED)
		refuse(false);
	if (!result)
		memcpy(map->opaque, reply.words, sizeof(map->opaque));
	return result;
}

static bool is_map(const CUtensorMap *map)
{
	return map && !((uintptr_t)map % MAP_ALIGN);
}

/* What all forms say. least: dimensions that the form has at least. */
static CUresult read_tensor(const struct gsb_tensor *t, uint32_t least, struct gsb_tensor_map *out)
{
	if (t->rank < least || t->rank > GSB_TENSOR_RANK_MAX || !t->dims || !t->element_strides ||
	    (t->rank > 1 && !t->strides))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct gsb_tensor_map){
		.type = t->type,
		.rank = t->rank,
		.interleave = t->interleave,
		.swizzle = t->swizzle,
		.l2_promotion = t->l2,
		.oob_fill = t->fill,
		.addr = (uint64_t)(uintptr_t)t->addr,
	};
	memcpy(out->dims, t->dims, t->rank * sizeof(*t->dims));
	if (t->rank > 1)
		memcpy(out->strides, t->strides, (t->rank - 1) * sizeof(*t->strides));
	memcpy(out->element_strides, t->element_strides, t->rank * sizeof(*t->element_strides));
	return CUDA_SUCCESS;
}

CUresult hook_cuTensorMapEncodeTiled(CUtensorMap *map, const struct gsb_tensor *t,
				     const cuuint32_t *box)
{
	struct gsb_rec_tensor_map body = {0};
	CUresult result =
		is_map(map) && box ? read_tensor(t, 1, &body.map) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	body.map.form = GSB_TENSOR_TILED;
	memcpy(body.map.box, box, t->rank * sizeof(*box));
	return ask(map, &body);
}

/* A box of pixels has no channels and no images: two dimensions less. */
CUresult hook_cuTensorMapEncodeIm2col(CUtensorMap *map, const struct gsb_tensor *t,
				      const int *lower, const int *upper, cuuint32_t channels,
				      cuuint32_t pixels)
{
	struct gsb_rec_tensor_map body = {0};
	CUresult result = is_map(map) && lower && upper ? read_tensor(t, 3, &body.map)
							: CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	body.map.form = GSB_TENSOR_IM2COL;
	memcpy(body.map.lower, lower, (t->rank - 2) * sizeof(*lower));
	memcpy(body.map.upper, upper, (t->rank - 2) * sizeof(*upper));
	body.map.channels = channels;
	body.map.pixels = pixels;
	return ask(map, &body);
}

CUresult hook_cuTensorMapReplaceAddress(CUtensorMap *map, void *addr)
{
	struct gsb_rec_tensor_map body = {
		.map = {.form = GSB_TENSOR_MOVED, .addr = (uint64_t)(uintptr_t)addr}};

	if (!is_map(map))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(body.map.encoded, map->opaque, sizeof(body.map.encoded));
	return ask(map, &body);
}
