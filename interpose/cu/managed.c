/*
 * managed.c - see managed.h.
 */
#include "interpose/cu/managed.h"

#include "interpose/core/post.h"
#include "interpose/cu/ctx.h"

static CUresult allocate(uint64_t wire, bool is_library, uint64_t bytes,
			 struct gsb_cu_managed *place)
{
	const struct gsb_rec_mem_alloc body = {
		.ctx = wire,
		.size = bytes,
		.flags = CU_MEMHOSTALLOC_PORTABLE | (is_library ? GSB_HOST_OF_PROCESS : 0),
	};
	struct gsb_reply_range range;
	CUresult result = gsb_proc.host_bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	if (!result)
		result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_HOST_ALLOC,
							  .guard = gsb_cu_wire_guard(wire),
							  .body = &body,
							  .body_bytes = sizeof(body)},
				       &range, sizeof(range));
	if (!result)
		*place = (struct gsb_cu_managed){
			.addr = range.addr, .bytes = bytes, .wire = is_library ? 0 : wire};
	return result;
}

static CUresult tell(uint64_t module, uint64_t wire, uint64_t addr, bool initialise)
{
	const struct gsb_rec_module_place body = {
		.module = module, .addr = addr, .initialise = initialise};

	return gsb_call(&(struct gsb_call){.type = GSB_REC_MODULE_PLACE,
					   .guard = gsb_cu_wire_guard(wire),
					   .body = &body,
					   .body_bytes = sizeof(body)},
			NULL);
}

CUresult gsb_cu_managed_place(uint64_t module, uint64_t wire, bool is_library, uint64_t bytes,
			      struct gsb_cu_managed *place)
{
	bool is_new = !place->bytes;
	CUresult result = is_new ? allocate(wire, is_library, bytes, place) : CUDA_SUCCESS;

	if (result)
		return result;
	result = tell(module, wire, place->addr, is_new);
	if (result && is_new)
		gsb_cu_managed_free(place);
	return result;
}

void gsb_cu_managed_free(struct gsb_cu_managed *place)
{
	static const struct gsb_guard none;
	const struct gsb_rec_mem_free body = {.ctx = place->wire, .addr = place->addr};

	if (place->bytes)
		gsb_call(&(struct gsb_call){.type = GSB_REC_HOST_FREE,
					    .guard = place->wire ? gsb_cu_wire_guard(place->wire)
								 : none,
					    .body = &body,
					    .body_bytes = sizeof(body)},
			 NULL);
	*place = (struct gsb_cu_managed){0};
}
