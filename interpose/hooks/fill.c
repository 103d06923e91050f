/*
 * hooks/fill.c - fills: areas of device or pinned memory. cu/copy.h has CUDA's rules of when a call may return.
 */
#include "base/checked.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/copy.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

static CUresult post_fill(const struct gsb_cu_copy *area, const struct gsb_fill *f,
			  uint64_t *number)
{
	struct gsb_post p;
	CUresult result = gsb_cu_copy_begin(area, &p, GSB_REC_FILL, sizeof(struct gsb_rec_fill));

	if (result)
		return result;
	*(struct gsb_rec_fill *)p.body = (struct gsb_rec_fill){
		.dst = f->dst,
		.width = f->width,
		.height = f->height,
		.pitch = area->dst.pitch,
		.value = f->value,
		.elem_bytes = f->elem_bytes,
	};
	gsb_post_end(&p);
	*number = p.number;
	return CUDA_SUCCESS;
}

static bool fill_area(const struct gsb_fill *f, struct gsb_cu_copy *area)
{
	uint64_t pitch = f->height > 1 ? f->pitch : f->width * f->elem_bytes;

	*area = (struct gsb_cu_copy){.height = f->height,
				     .dst = gsb_cu_end_at(f->dst, pitch),
				     .src = {.place = GSB_PLACE_STAGING},
				     .n_removals = gsb_alloc_n_removals()};
	return !gsb_mul_overflows(f->width, f->elem_bytes, &area->width) &&
	       area->dst.place != GSB_CU_PAGEABLE && !(f->dst % f->elem_bytes) &&
	       !(f->height > 1 && f->pitch % f->elem_bytes) &&
	       gsb_cu_copy_is_end_ok(area, &area->dst);
}

CUresult gsb_fill_check(const struct gsb_fill *f)
{
	struct gsb_cu_copy area;

	return !f->width || !f->height || fill_area(f, &area) ? CUDA_SUCCESS
							      : CUDA_ERROR_INVALID_VALUE;
}

static CUresult capture_fill(struct gsb_capture_member *m, const struct gsb_fill *f)
{
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
					    .fill = {.dst = f->dst,
						     .pitch = f->pitch,
						     .value = f->value,
						     .elementSize = f->elem_bytes,
						     .width = f->width,
						     .height = f->height}};
	CUresult result = gsb_capture_check(m);

	if (result || !f->width || !f->height)
		return result;
	result = gsb_fill_check(f);
	if (result)
		gsb_capture_invalidate(m->capture);
	return result ? result : gsb_capture_add(m, &work);
}

static GSB_COLD bool is_fill_captured(const struct gsb_fill *f, const struct gsb_cu_stream_ref *s,
				      bool is_sync, CUresult *result)
{
	struct gsb_capture_member *m;

	gsb_cu_graphs_lock();
	m = gsb_capture_of(s);
	*result = !m	    ? gsb_capture_implicit(s, false)
		  : is_sync ? gsb_capture_no_wait(s)
			    : capture_fill(m, f);
	gsb_cu_graphs_unlock();
	return m || *result;
}

/* Its area as the copy of nothing; the synchronous forms fill pinned memory before they return, as CUDA documents it. */
static CUresult fill(const struct gsb_fill *f, CUstream stream, bool is_sync)
{
	struct gsb_cu_stream_ref s;
	struct gsb_cu_copy area;
	uint64_t number = 0;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result || (gsb_capture_any() && is_fill_captured(f, &s, is_sync, &result)))
		return result;
	if (!f->width || !f->height)
		return CUDA_SUCCESS;
	if (!fill_area(f, &area))
		return CUDA_ERROR_INVALID_VALUE;
	area.stream = s;
	result = post_fill(&area, f, &number);
	if (result || !is_sync || area.dst.place != GSB_PLACE_HOST)
		return result;
	return gsb_cu_stream_wait_for(&area.stream, number);
}

CUresult hook_cuMemset(const struct gsb_fill *f, CUstream stream)
{
	return fill(f, stream, true);
}

CUresult hook_cuMemsetAsync(const struct gsb_fill *f, CUstream stream)
{
	return fill(f, stream, false);
}
