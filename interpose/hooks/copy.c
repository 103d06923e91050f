/*
 * hooks/copy.c - copies in every direction, as the driver's interface names them: a row, rectangles and boxes, a part of an
 * array's row, and those of graphs. cu/copy.h has CUDA's rules of when a call may return.
 */
#include "base/checked.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/array.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/copy.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/pageable.h"
#include "interpose/cu/registered.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* ---- the whole ---- */

/* Registered memory is pinned memory elsewhere, if all that is touched is registered. */
static void find_mirror(const struct gsb_cu_copy *c, struct gsb_cu_end *e)
{
	struct gsb_registered r;
	uint64_t span;

	if (e->place != GSB_CU_PAGEABLE || !gsb_cu_copy_span(c, e, &span) ||
	    !gsb_registered_find(e->addr, span, &r))
		return;
	e->place = GSB_PLACE_HOST;
	e->addr = r.device + (e->addr - r.addr);
}

static CUresult copy_direct(const struct gsb_cu_copy *c)
{
	uint64_t number = 0;
	CUresult result = gsb_cu_copy_post(c, &number);

	if (result || !(gsb_cu_end_is_host(&c->dst) || gsb_cu_end_is_host(&c->src)))
		return result;
	if (!c->is_sync && !(gsb_cu_end_is_host(&c->dst) && gsb_cu_end_is_host(&c->src)))
		return result;
	return gsb_cu_stream_wait_for(&c->stream, number);
}

static void make_linear(struct gsb_cu_copy *c)
{
	if (c->height > 1 && c->dst.pitch == c->width && c->src.pitch == c->width) {
		c->width *= c->height;
		c->height = 1;
	}
	if (c->height == 1)
		c->dst.pitch = c->src.pitch = c->width;
}

static CUresult run(struct gsb_cu_copy *c, CUstream stream)
{
	CUresult result = gsb_cu_stream_resolve(stream, &c->stream);

	if (result || !c->width || !c->height)
		return result;
	if (c->height == 1)
		c->dst.pitch = c->src.pitch = c->width;
	c->n_removals = gsb_alloc_n_removals();
	find_mirror(c, &c->dst);
	find_mirror(c, &c->src);
	if (!gsb_cu_copy_is_end_ok(c, &c->dst) || !gsb_cu_copy_is_end_ok(c, &c->src))
		return CUDA_ERROR_INVALID_VALUE;
	make_linear(c);
	return c->dst.place == GSB_CU_PAGEABLE || c->src.place == GSB_CU_PAGEABLE
		       ? gsb_cu_copy_pageable(c)
		       : copy_direct(c);
}

/* ---- one row ---- */

static GSB_COLD bool is_captured(const CUDA_MEMCPY3D *p, CUstream stream, bool is_sync,
				 CUresult *result);

static CUDA_MEMCPY3D linear_params(struct gsb_cu_end dst, struct gsb_cu_end src, size_t n)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType =
			gsb_cu_end_is_host(&src) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = (const void *)src.addr,
		.srcDevice = src.addr,
		.dstMemoryType =
			gsb_cu_end_is_host(&dst) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = (void *)dst.addr,
		.dstDevice = dst.addr,
		.WidthInBytes = n,
		.Height = 1,
		.Depth = 1,
	};
}

static CUresult run_linear(struct gsb_cu_end dst, struct gsb_cu_end src, size_t n, CUstream stream,
			   bool is_sync)
{
	struct gsb_cu_copy c = {
		.dst = dst, .src = src, .width = n, .height = 1, .is_sync = is_sync};
	CUresult result;

	if (gsb_capture_any()) {
		const CUDA_MEMCPY3D p = linear_params(dst, src, n);

		if (is_captured(&p, stream, is_sync, &result))
			return result;
	}
	return run(&c, stream);
}

static CUresult device_end(CUdeviceptr addr, struct gsb_cu_end *out)
{
	*out = gsb_cu_end_at(addr, 0);
	return out->place == GSB_CU_PAGEABLE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* What a program calls memory of the host may be the device's, as the driver has it: an address says where it lies. */
static CUresult htod(CUdeviceptr dst, const void *src, size_t n, CUstream stream, bool is_sync)
{
	struct gsb_cu_end d = {0}; /* not looked at when there is nothing to copy */

	if (n && device_end(dst, &d))
		return CUDA_ERROR_INVALID_VALUE;
	return run_linear(d, gsb_cu_end_at((uint64_t)src, 0), n, stream, is_sync);
}

static CUresult dtoh(void *dst, CUdeviceptr src, size_t n, CUstream stream, bool is_sync)
{
	struct gsb_cu_end s = {0}; /* not looked at when there is nothing to copy */

	if (n && device_end(src, &s))
		return CUDA_ERROR_INVALID_VALUE;
	return run_linear(gsb_cu_end_at((uint64_t)dst, 0), s, n, stream, is_sync);
}

CUresult hook_cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n, CUstream stream)
{
	return htod(dst, src, n, stream, true);
}

CUresult hook_cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream stream)
{
	return htod(dst, src, n, stream, false);
}

CUresult hook_cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n, CUstream stream)
{
	return dtoh(dst, src, n, stream, true);
}

CUresult hook_cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream stream)
{
	return dtoh(dst, src, n, stream, false);
}

/* Pinned memory has device addresses too, so either end may lie there. */
CUresult hook_cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	struct gsb_cu_end d = {0}, s = {0}; /* not looked at when there is nothing to copy */

	if (n && (device_end(dst, &d) || device_end(src, &s)))
		return CUDA_ERROR_INVALID_VALUE;
	return run_linear(d, s, n, stream, false);
}

CUresult hook_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	return run_linear(gsb_cu_end_at(dst, 0), gsb_cu_end_at(src, 0), n, stream, true);
}

CUresult hook_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	return run_linear(gsb_cu_end_at(dst, 0), gsb_cu_end_at(src, 0), n, stream, false);
}

/* ---- rectangles and boxes ---- */

struct rect_end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z;
	size_t pitch,
		n_rows; /* n_rows: from slice to slice; 0: as wide, as high as what is copied */
};

struct box {
	struct rect_end dst, src;
	size_t width, height, depth; /* bytes, rows, slices */
};

static CUresult array_end(const struct box *b, const struct rect_end *r, struct gsb_cu_end *out)
{
	const struct gsb_cu_array *a = gsb_cu_array_get(r->array);

	if (!a)
		return r->array ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	if (!gsb_range_ok(r->x, b->width, a->lies.row_bytes) ||
	    !gsb_range_ok(r->y, b->height, a->lies.n_rows) || r->z >= a->lies.n_slices)
		return CUDA_ERROR_INVALID_VALUE;
	*out = gsb_cu_end_at(a->addr + r->z * a->lies.slice_bytes + r->y * a->lies.pitch_bytes +
				     r->x,
			     a->lies.pitch_bytes);
	return CUDA_SUCCESS;
}

/* Rows end within their pitch, and slices within their rows, where that is said. */
static bool is_inside(const struct box *b, const struct rect_end *r)
{
	return (!r->pitch || gsb_range_ok(r->x, b->width, r->pitch)) &&
	       (!r->n_rows || gsb_range_ok(r->y, b->height, r->n_rows));
}

/* Bytes from the base to where it begins; false: they are too many to count. */
static bool offset_of(const struct box *b, const struct rect_end *r, size_t pitch, uint64_t *offset)
{
	return !gsb_mul_overflows(r->z, r->n_rows ? r->n_rows : b->height, offset) &&
	       !gsb_add_overflows(*offset, r->y, offset) &&
	       !gsb_mul_overflows(*offset, pitch, offset) &&
	       !gsb_add_overflows(*offset, r->x, offset);
}

static CUresult rect_end(const struct box *b, const struct rect_end *r, struct gsb_cu_end *out)
{
	size_t pitch = r->pitch ? r->pitch : b->width;
	uint64_t offset, base;

	if (r->type == CU_MEMORYTYPE_ARRAY)
		return array_end(b, r, out);
	if (r->type < CU_MEMORYTYPE_HOST || r->type > CU_MEMORYTYPE_UNIFIED || !is_inside(b, r) ||
	    !offset_of(b, r, pitch, &offset))
		return CUDA_ERROR_INVALID_VALUE;
	base = r->type == CU_MEMORYTYPE_HOST ? (uint64_t)r->host : r->device;
	if (!base || gsb_add_overflows(base, offset, &base))
		return CUDA_ERROR_INVALID_VALUE;
	*out = gsb_cu_end_at(base, pitch);
	if ((r->type == CU_MEMORYTYPE_DEVICE && out->place == GSB_CU_PAGEABLE) ||
	    (r->type == CU_MEMORYTYPE_HOST && out->place == GSB_PLACE_DEVICE))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* The slice that is z from the first one. */
static CUresult slice_of(const struct box *b, size_t z, struct gsb_cu_copy *c)
{
	struct rect_end dst = b->dst, src = b->src;
	CUresult result;

	if (gsb_add_overflows(dst.z, z, &dst.z) || gsb_add_overflows(src.z, z, &src.z))
		return CUDA_ERROR_INVALID_VALUE;
	c->width = b->width;
	c->height = b->height;
	result = rect_end(b, &src, &c->src);
	return result ? result : rect_end(b, &dst, &c->dst);
}

/* The last slice is looked at first: a box that does not fit copies nothing. */
static CUresult run_box_now(const struct box *b, CUstream stream, bool is_sync, bool is_later)
{
	struct gsb_cu_copy c = {.is_sync = is_sync, .is_later = is_later};
	CUresult result;

	if (!b->width || !b->height || !b->depth)
		return run(&c, stream);
	result = slice_of(b, b->depth - 1, &c);
	for (size_t z = 0; !result && z < b->depth; z++) {
		result = slice_of(b, z, &c);
		if (!result)
			result = run(&c, stream);
	}
	return result;
}

static CUDA_MEMCPY3D params_of(const struct box *b)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = b->src.x,
		.srcY = b->src.y,
		.srcZ = b->src.z,
		.srcMemoryType = b->src.type,
		.srcHost = b->src.host,
		.srcDevice = b->src.device,
		.srcArray = b->src.array,
		.srcPitch = b->src.pitch,
		.srcHeight = b->src.n_rows,
		.dstXInBytes = b->dst.x,
		.dstY = b->dst.y,
		.dstZ = b->dst.z,
		.dstMemoryType = b->dst.type,
		.dstHost = (void *)b->dst.host,
		.dstDevice = b->dst.device,
		.dstArray = b->dst.array,
		.dstPitch = b->dst.pitch,
		.dstHeight = b->dst.n_rows,
		.WidthInBytes = b->width,
		.Height = b->height,
		.Depth = b->depth,
	};
}

static CUresult run_box(const struct box *b, CUstream stream, bool is_sync)
{
	CUresult result;

	if (gsb_capture_any()) {
		const CUDA_MEMCPY3D p = params_of(b);

		if (is_captured(&p, stream, is_sync, &result))
			return result;
	}
	return run_box_now(b, stream, is_sync, false);
}

static CUresult run_rect(const CUDA_MEMCPY2D *copy, CUstream stream, bool is_sync)
{
	struct box b;

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	b = (struct box){
		.width = copy->WidthInBytes,
		.height = copy->Height,
		.depth = 1,
		.src = {.type = copy->srcMemoryType,
			.host = copy->srcHost,
			.device = copy->srcDevice,
			.array = copy->srcArray,
			.x = copy->srcXInBytes,
			.y = copy->srcY,
			.pitch = copy->srcPitch},
		.dst = {.type = copy->dstMemoryType,
			.host = copy->dstHost,
			.device = copy->dstDevice,
			.array = copy->dstArray,
			.x = copy->dstXInBytes,
			.y = copy->dstY,
			.pitch = copy->dstPitch},
	};
	return run_box(&b, stream, is_sync);
}

CUresult hook_cuMemcpy2D(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	return run_rect(copy, stream, true);
}

CUresult hook_cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	return run_rect(copy, stream, false);
}

static struct box box_of(const CUDA_MEMCPY3D *copy)
{
	return (struct box){
		.width = copy->WidthInBytes,
		.height = copy->Height,
		.depth = copy->Depth,
		.src = {.type = copy->srcMemoryType,
			.host = copy->srcHost,
			.device = copy->srcDevice,
			.array = copy->srcArray,
			.x = copy->srcXInBytes,
			.y = copy->srcY,
			.z = copy->srcZ,
			.pitch = copy->srcPitch,
			.n_rows = copy->srcHeight},
		.dst = {.type = copy->dstMemoryType,
			.host = copy->dstHost,
			.device = copy->dstDevice,
			.array = copy->dstArray,
			.x = copy->dstXInBytes,
			.y = copy->dstY,
			.z = copy->dstZ,
			.pitch = copy->dstPitch,
			.n_rows = copy->dstHeight},
	};
}

/* Memory has no levels, and the driver does not look at which is asked for. */
static bool names_level(const CUDA_MEMCPY3D *p)
{
	return (p->srcLOD && p->srcMemoryType == CU_MEMORYTYPE_ARRAY) ||
	       (p->dstLOD && p->dstMemoryType == CU_MEMORYTYPE_ARRAY);
}

static CUresult run_copy3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool is_sync)
{
	struct box b;

	if (!copy || names_level(copy))
		return CUDA_ERROR_INVALID_VALUE;
	b = box_of(copy);
	return run_box(&b, stream, is_sync);
}

/* ---- copies of graphs ---- */

static bool are_ends_ok(const struct gsb_cu_copy *slice)
{
	struct gsb_cu_copy c = *slice;

	if (c.height == 1)
		c.dst.pitch = c.src.pitch = c.width;
	return gsb_cu_copy_is_end_ok(&c, &c.dst) && gsb_cu_copy_is_end_ok(&c, &c.src);
}

CUresult gsb_copy_check(const CUDA_MEMCPY3D *p)
{
	struct box b = box_of(p);
	struct gsb_cu_copy first = {0}, last = {0};
	CUresult result;

	if (names_level(p))
		return CUDA_ERROR_INVALID_VALUE;
	if (!b.width || !b.height || !b.depth)
		return CUDA_SUCCESS;
	result = slice_of(&b, 0, &first);
	if (!result)
		result = slice_of(&b, b.depth - 1, &last);
	if (!result && (!are_ends_ok(&first) || !are_ends_ok(&last)))
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

CUresult gsb_copy_later(const CUDA_MEMCPY3D *p, CUstream stream)
{
	struct box b = box_of(p);

	return run_box_now(&b, stream, false, true);
}

static CUresult capture_copy(struct gsb_capture_member *m, const CUDA_MEMCPY3D *p)
{
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = *p};
	CUresult result = gsb_capture_check(m);

	if (result || !p->WidthInBytes || !p->Height || !p->Depth)
		return result;
	result = gsb_copy_check(p);
	if (result)
		gsb_capture_invalidate(m->capture);
	return result ? result : gsb_capture_add(m, &work);
}

/* False: the stream does not capture, and no other's capture forbids the copy. */
static GSB_COLD bool is_captured(const CUDA_MEMCPY3D *p, CUstream stream, bool is_sync,
				 CUresult *result)
{
	struct gsb_capture_member *m = NULL;
	struct gsb_cu_stream_ref s;

	*result = gsb_cu_stream_resolve(stream, &s);
	if (*result)
		return true;
	gsb_cu_graphs_lock();
	m = gsb_capture_of(&s);
	*result = !m	    ? gsb_capture_implicit(&s, false)
		  : is_sync ? gsb_capture_no_wait(&s)
			    : capture_copy(m, p);
	gsb_cu_graphs_unlock();
	return m || *result;
}

CUresult hook_cuMemcpy3D(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	return run_copy3d(copy, stream, true);
}

CUresult hook_cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	return run_copy3d(copy, stream, false);
}

/* ---- between contexts, of which both are on the one device: whichever is named, the addresses say what is meant ---- */

static bool is_none_or_context(CUcontext ctx)
{
	return !ctx || gsb_cu_ctx_find(ctx);
}

static CUresult check_contexts(CUcontext dst, CUcontext src)
{
	return is_none_or_context(dst) && is_none_or_context(src) ? CUDA_SUCCESS
								  : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult hook_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
			   size_t n, CUstream stream)
{
	CUresult result = check_contexts(dst_ctx, src_ctx);

	return result ? result : hook_cuMemcpyDtoD(dst, src, n, stream);
}

static CUresult run_peer3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool is_sync)
{
	CUresult result = copy ? check_contexts(copy->dstContext, copy->srcContext)
			       : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	return run_copy3d(
		&(CUDA_MEMCPY3D){
			.srcXInBytes = copy->srcXInBytes,
			.srcY = copy->srcY,
			.srcZ = copy->srcZ,
			.srcLOD = copy->srcLOD,
			.srcMemoryType = copy->srcMemoryType,
			.srcHost = copy->srcHost,
			.srcDevice = copy->srcDevice,
			.srcArray = copy->srcArray,
			.srcPitch = copy->srcPitch,
			.srcHeight = copy->srcHeight,
			.dstXInBytes = copy->dstXInBytes,
			.dstY = copy->dstY,
			.dstZ = copy->dstZ,
			.dstLOD = copy->dstLOD,
			.dstMemoryType = copy->dstMemoryType,
			.dstHost = copy->dstHost,
			.dstDevice = copy->dstDevice,
			.dstArray = copy->dstArray,
			.dstPitch = copy->dstPitch,
			.dstHeight = copy->dstHeight,
			.WidthInBytes = copy->WidthInBytes,
			.Height = copy->Height,
			.Depth = copy->Depth,
		},
		stream, is_sync);
}

CUresult hook_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
	return run_peer3d(copy, stream, true);
}

CUresult hook_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
	return run_peer3d(copy, stream, false);
}

/* ---- a part of an array's row ---- */

static struct rect_end in_array(CUarray array, size_t offset)
{
	return (struct rect_end){.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}

static CUresult run_row(struct rect_end dst, struct rect_end src, size_t n, CUstream stream,
			bool is_sync)
{
	const struct box b = {.dst = dst, .src = src, .width = n, .height = 1, .depth = 1};

	return run_box(&b, stream, is_sync);
}

CUresult hook_cuMemcpyAtoA(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t n,
			   CUstream stream)
{
	return run_row(in_array(dst, dst_offset), in_array(src, src_offset), n, stream, true);
}

CUresult hook_cuMemcpyAtoD(CUdeviceptr dst, CUarray src, size_t offset, size_t n, CUstream stream)
{
	return run_row((struct rect_end){.type = CU_MEMORYTYPE_DEVICE, .device = dst},
		       in_array(src, offset), n, stream, true);
}

CUresult hook_cuMemcpyDtoA(CUarray dst, size_t offset, CUdeviceptr src, size_t n, CUstream stream)
{
	return run_row(in_array(dst, offset),
		       (struct rect_end){.type = CU_MEMORYTYPE_DEVICE, .device = src}, n, stream,
		       true);
}

static CUresult atoh(void *dst, CUarray src, size_t offset, size_t n, CUstream stream, bool is_sync)
{
	return run_row((struct rect_end){.type = CU_MEMORYTYPE_HOST, .host = dst},
		       in_array(src, offset), n, stream, is_sync);
}

static CUresult htoa(CUarray dst, size_t offset, const void *src, size_t n, CUstream stream,
		     bool is_sync)
{
	return run_row(in_array(dst, offset),
		       (struct rect_end){.type = CU_MEMORYTYPE_HOST, .host = src}, n, stream,
		       is_sync);
}

CUresult hook_cuMemcpyAtoH(void *dst, CUarray src, size_t offset, size_t n, CUstream stream)
{
	return atoh(dst, src, offset, n, stream, true);
}

CUresult hook_cuMemcpyAtoHAsync(void *dst, CUarray src, size_t offset, size_t n, CUstream stream)
{
	return atoh(dst, src, offset, n, stream, false);
}

CUresult hook_cuMemcpyHtoA(CUarray dst, size_t offset, const void *src, size_t n, CUstream stream)
{
	return htoa(dst, offset, src, n, stream, true);
}

CUresult hook_cuMemcpyHtoAAsync(CUarray dst, size_t offset, const void *src, size_t n,
				CUstream stream)
{
	return htoa(dst, offset, src, n, stream, false);
}
