/*
 * hooks/copy_batch.c - copies in batches: ordinary ones in one stream, one behind the other. All are checked before the first
 * is queued. What is refused, and the codes, are as an H200's driver has them.
 *
 * CUDA lets a source say when it may be read. In the order of the stream is always right; only what must be read before the
 * call returns, and is not staged by then, has to be waited for.
 */
#include "base/checked.h"
#include "interpose/cu/array.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/copy.h"
#include "interpose/cu/registered.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* One copy of a batch, as the calls for one have it. */
struct copy {
	CUDA_MEMCPY3D params;
	bool is_read_now; /* its source must not be touched once the call has returned */
};

struct batch {
	size_t n;
	CUresult (*describe)(const struct batch *b, size_t i, struct copy *out);
	const void *args;
};

/* ---- the whole ---- */

/* The legacy stream takes none, and no node stands for one. */
static CUresult find_stream(CUstream stream, struct gsb_cu_stream_ref *s)
{
	CUresult result = stream && stream != CU_STREAM_LEGACY ? gsb_cu_stream_resolve(stream, s)
							       : CUDA_ERROR_INVALID_VALUE;

	if (result || !gsb_capture_any())
		return result;
	gsb_cu_graphs_lock();
	if (gsb_capture_of(s))
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	gsb_cu_graphs_unlock();
	return result;
}

/* Pageable memory is staged when a copy of it returns. */
static bool is_staged(const CUDA_MEMCPY3D *p)
{
	struct gsb_registered r;

	return p->srcMemoryType != CU_MEMORYTYPE_ARRAY &&
	       gsb_cu_end_at(p->srcDevice, 0).place == GSB_CU_PAGEABLE &&
	       !gsb_registered_find(p->srcDevice, 1, &r);
}

static CUresult check(const struct batch *b, bool *must_wait, size_t *fail)
{
	CUresult result = CUDA_SUCCESS;
	struct copy c;

	for (size_t i = 0; !result && i < b->n; i++) {
		result = b->describe(b, i, &c);
		if (!result)
			result = gsb_copy_check(&c.params);
		if (result && fail)
			*fail = i;
		*must_wait |= !result && c.is_read_now && !is_staged(&c.params);
	}
	return result;
}

/* fail, where it is asked for: the copy that is wrong, or SIZE_MAX. */
static CUresult run(const struct batch *b, CUstream stream, size_t *fail)
{
	struct gsb_cu_stream_ref s;
	CUresult result = b->n ? find_stream(stream, &s) : CUDA_ERROR_INVALID_VALUE;
	bool must_wait = false;
	struct copy c;

	if (result && fail)
		*fail = SIZE_MAX;
	if (!result)
		result = check(b, &must_wait, fail);
	for (size_t i = 0; !result && i < b->n; i++) {
		b->describe(b, i, &c);
		result = hook_cuMemcpy3DAsync(&c.params, stream);
		if (result && fail)
			*fail = i;
	}
	return result || !must_wait ? result : gsb_cu_stream_wait(&s);
}

static bool is_order_ok(CUmemcpySrcAccessOrder order)
{
	return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
	       order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

static bool is_flags_ok(unsigned flags)
{
	return !(flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
}

/* ---- rows ---- */

/* Attributes are for the copies from an index of their own to that of the next. */
static bool are_attrs_ok(const struct gsb_copy_batch *a)
{
	if (!a->attrs || !a->first || !a->n_attrs || a->n_attrs > a->n || a->first[0])
		return false;
	for (size_t i = 0; i < a->n_attrs; i++)
		if (!is_order_ok(a->attrs[i].srcAccessOrder) || !is_flags_ok(a->attrs[i].flags) ||
		    (i && a->first[i] <= a->first[i - 1]) || a->first[i] >= a->n)
			return false;
	return true;
}

/* Of the last one that begins at i or before it. */
static CUmemcpySrcAccessOrder order_of(const struct gsb_copy_batch *a, size_t i)
{
	size_t low = 0, high = a->n_attrs;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (a->first[mid] <= i)
			low = mid;
		else
			high = mid;
	}
	return a->attrs[low].srcAccessOrder;
}

static CUresult describe_row(const struct batch *b, size_t i, struct copy *out)
{
	const struct gsb_copy_batch *a = b->args;

	if (!a->sizes[i])
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct copy){
		.params = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			   .srcDevice = a->srcs[i],
			   .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			   .dstDevice = a->dsts[i],
			   .WidthInBytes = a->sizes[i],
			   .Height = 1,
			   .Depth = 1},
		.is_read_now = order_of(a, i) == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
	};
	return CUDA_SUCCESS;
}

CUresult hook_cuMemcpyBatchAsync(const struct gsb_copy_batch *a, size_t *fail, CUstream stream)
{
	bool is_ok = a->dsts && a->srcs && a->sizes && are_attrs_ok(a);

	return run(&(struct batch){is_ok ? a->n : 0, describe_row, a}, stream, fail);
}

/* ---- boxes, whose lengths count elements ---- */

/* Bytes of an element; 0: of memory, which has those of the other end. */
static CUresult element_of(const CUmemcpy3DOperand *o, size_t *bytes)
{
	const struct gsb_cu_array *a;

	*bytes = 0;
	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
		return CUDA_SUCCESS;
	a = o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? gsb_cu_array_get(o->op.array.array) : NULL;
	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = a->lies.row_bytes / a->lies.width;
	return CUDA_SUCCESS;
}

struct box_end {
	CUmemorytype type;
	CUdeviceptr ptr;
	CUarray array;
	size_t x, y, z, pitch, height;
};

/* False: rows or layers are longer than their distance, or too long to count. */
static bool place_end(const CUmemcpy3DOperand *o, const CUextent3D *e, size_t element,
		      struct box_end *out)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		*out = (struct box_end){.type = CU_MEMORYTYPE_ARRAY,
					.array = o->op.array.array,
					.y = o->op.array.offset.y,
					.z = o->op.array.offset.z};
		return !gsb_mul_overflows(o->op.array.offset.x, element, &out->x);
	}
	*out = (struct box_end){.type = CU_MEMORYTYPE_UNIFIED,
				.ptr = o->op.ptr.ptr,
				.height = o->op.ptr.layerHeight};
	return (!o->op.ptr.rowLength || o->op.ptr.rowLength >= e->width) &&
	       (!o->op.ptr.layerHeight || o->op.ptr.layerHeight >= e->height) &&
	       !gsb_mul_overflows(o->op.ptr.rowLength, element, &out->pitch);
}

static bool place_box(const CUDA_MEMCPY3D_BATCH_OP *op, size_t element, CUDA_MEMCPY3D *out)
{
	struct box_end src, dst;

	if (!place_end(&op->src, &op->extent, element, &src) ||
	    !place_end(&op->dst, &op->extent, element, &dst))
		return false;
	*out = (CUDA_MEMCPY3D){
		.srcMemoryType = src.type,
		.srcDevice = src.ptr,
		.srcArray = src.array,
		.srcXInBytes = src.x,
		.srcY = src.y,
		.srcZ = src.z,
		.srcPitch = src.pitch,
		.srcHeight = src.height,
		.dstMemoryType = dst.type,
		.dstDevice = dst.ptr,
		.dstArray = dst.array,
		.dstXInBytes = dst.x,
		.dstY = dst.y,
		.dstZ = dst.z,
		.dstPitch = dst.pitch,
		.dstHeight = dst.height,
		.Height = op->extent.height,
		.Depth = op->extent.depth,
	};
	return !gsb_mul_overflows(op->extent.width, element, &out->WidthInBytes);
}

static CUresult describe_box(const struct batch *b, size_t i, struct copy *out)
{
	const CUDA_MEMCPY3D_BATCH_OP *op = (const CUDA_MEMCPY3D_BATCH_OP *)b->args + i;
	const CUextent3D *e = &op->extent;
	size_t src, dst;

	if (element_of(&op->src, &src) || element_of(&op->dst, &dst) ||
	    (src && dst && src != dst) || !e->width || !e->height || !e->depth ||
	    !is_order_ok(op->srcAccessOrder) || !is_flags_ok(op->flags) ||
	    !place_box(op,
		       src   ? src
		       : dst ? dst
			     : 1,
		       &out->params))
		return CUDA_ERROR_INVALID_VALUE;
	out->is_read_now = op->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	return CUDA_SUCCESS;
}

CUresult hook_cuMemcpy3DBatchAsync(size_t n, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail,
				   unsigned long long flags, CUstream stream)
{
	return run(&(struct batch){ops && !flags ? n : 0, describe_box, ops}, stream, fail);
}
