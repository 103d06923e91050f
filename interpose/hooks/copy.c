/*
 * hooks/copy.c - copies and fills, in every direction, with CUDA's rules of when a call may return.
 *
 *   from        to          asynchronous form returns     synchronous form
 *   pageable    device      when the source is staged     waits for its stream first, then the same: up to 64 KiB
 *                                                         when complete: above
 *   device      pageable    when complete                 when complete
 *   pinned      device      at once                       when complete   (and the other way round)
 *   device      device      at once                       at once
 *   host        host        when complete                 when complete
 *   fill        device      at once                       at once
 *   fill        pinned      at once                       when complete
 *
 * A copy is two ends and a rectangle; one row is the ordinary case. Device memory and the pinned window are
 * named to the engine by address. Pageable memory passes through chunks of the staging memory, in pieces
 * that follow each other down the stream; what fits goes into the record itself. A copy of a graph reads and
 * writes pageable memory when its turn comes: there the library's own host functions fill and empty the chunks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/array.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/host_call.h"
#include "interpose/cu/registered.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/post.h"
#include "interpose/cu/staging.h"
#include "interpose/cu/stream.h"

#define PAGEABLE    GSB_N_PLACES /* an address of this process alone: never told to the engine */
#define N_IN_FLIGHT 8		 /* chunks that one copy to pageable memory may hold */
#define EARLY_MAX   65536 /* bytes that a synchronous copy from pageable memory leaves on their way */

struct end {
	enum gsb_place place;
	uint64_t addr, pitch;
};

struct copy {
	struct end dst, src;
	uint64_t width, height; /* bytes, rows */
	struct gsb_cu_stream_ref stream;
	uint64_t n_removals; /* of allocations, before the ends were checked */
	bool is_sync;
	bool is_later; /* of a graph: pageable memory is looked at in the stream's order */
};

/* A part of a copy's rectangle that fits a chunk: whole rows, or a part of one row. */
struct piece {
	uint64_t row, n_rows, column, width;
};

/* ---- ends ---- */

static struct end end_at(uint64_t addr, uint64_t pitch)
{
	enum gsb_place place = gsb_in_device_window(addr)	 ? GSB_PLACE_DEVICE
			       : gsb_in_host_window(addr)	 ? GSB_PLACE_HOST
			       : gsb_alloc_is_far_variable(addr) ? GSB_PLACE_DEVICE
								 : PAGEABLE;

	return (struct end){.place = place, .addr = addr, .pitch = pitch};
}

/* Bytes from the first to behind the last that a rectangle touches. */
static bool span_of(const struct copy *c, const struct end *e, uint64_t *span)
{
	return !gsb_mul_overflows(c->height - 1, e->pitch, span) &&
	       !gsb_add_overflows(*span, c->width, span);
}

static bool is_end_ok(const struct copy *c, const struct end *e)
{
	uint64_t span, last;

	if (e->place == GSB_PLACE_STAGING)
		return true; /* a chunk of our own */
	if (c->height > 1 && e->pitch < c->width)
		return false;
	if (!span_of(c, e, &span) || gsb_add_overflows(e->addr, span, &last))
		return false;
	return e->place == PAGEABLE ? e->addr != 0 : gsb_alloc_holds(e->addr, span, c->stream.wire);
}

/* Registered memory is pinned memory elsewhere, if all that is touched is registered. */
static void find_mirror(const struct copy *c, struct end *e)
{
	struct gsb_registered r;
	uint64_t span;

	if (e->place != PAGEABLE || !span_of(c, e, &span) ||
	    !gsb_registered_find(e->addr, span, &r))
		return;
	e->place = GSB_PLACE_HOST;
	e->addr = r.device + (e->addr - r.addr);
}

/* Both ends, when something was freed since n_removals. */
static bool is_still_ok(const struct copy *c)
{
	return c->n_removals == gsb_alloc_n_removals() ||
	       (is_end_ok(c, &c->dst) && is_end_ok(c, &c->src));
}

static bool is_host(const struct end *e)
{
	return e->place != GSB_PLACE_DEVICE;
}

/* ---- pieces ---- */

static struct piece first_piece(const struct copy *c, uint64_t bytes)
{
	uint64_t rows = bytes / c->width;

	return (struct piece){
		.n_rows = rows > c->height ? c->height
			  : rows	   ? rows
					   : 1,
		.width = rows ? c->width : bytes,
	};
}

static bool next_piece(const struct copy *c, struct piece *p, uint64_t bytes)
{
	p->column += p->width;
	if (p->column == c->width) {
		p->column = 0;
		p->row += p->n_rows;
	}
	if (p->row == c->height)
		return false;
	if (p->n_rows > c->height - p->row)
		p->n_rows = c->height - p->row;
	p->width = c->width <= bytes ? c->width : bytes;
	if (p->width > c->width - p->column)
		p->width = c->width - p->column;
	return true;
}

static uint64_t piece_addr(const struct end *e, const struct piece *p)
{
	return e->addr + p->row * e->pitch + p->column;
}

static void copy_rows(uint8_t *dst, uint64_t dst_pitch, const uint8_t *src, uint64_t src_pitch,
		      const struct piece *p)
{
	if (dst_pitch == p->width && src_pitch == p->width) {
		memcpy(dst, src, p->width * p->n_rows);
		return;
	}
	for (uint64_t i = 0; i < p->n_rows; i++)
		memcpy(dst + i * dst_pitch, src + i * src_pitch, p->width);
}

/* ---- records ---- */

/* Another thread may free what was checked: memory that a record names is the program's until its end is in the ring. */
static CUresult begin(const struct copy *c, struct gsb_post *p, enum gsb_rec_type type,
		      uint32_t bytes)
{
	CUresult result = gsb_cu_stream_begin(&c->stream, p, type, bytes);

	if (!result && !is_still_ok(c)) {
		gsb_post_cancel();
		return CUDA_ERROR_INVALID_VALUE;
	}
	return result;
}

static CUresult post_direct(const struct copy *c, uint64_t *number)
{
	struct gsb_post p;
	CUresult result = begin(c, &p, GSB_REC_COPY, sizeof(struct gsb_rec_copy));

	if (result)
		return result;
	*(struct gsb_rec_copy *)p.body = (struct gsb_rec_copy){
		.dst = c->dst.addr,
		.src = c->src.addr,
		.width = c->width,
		.height = c->height,
		.dst_pitch = c->dst.pitch,
		.src_pitch = c->src.pitch,
		.dst_place = c->dst.place,
		.src_place = c->src.place,
	};
	gsb_post_end(&p);
	*number = p.number;
	return CUDA_SUCCESS;
}

/* The source lies behind the body, linear. */
static CUresult post_inline(const struct copy *c, uint64_t *number)
{
	uint32_t bytes = (uint32_t)(c->width * c->height);
	const struct piece all = {.n_rows = c->height, .width = c->width};
	struct gsb_rec_copy *body;
	struct gsb_post p;
	CUresult result = begin(c, &p, GSB_REC_COPY, sizeof(*body) + bytes);

	if (result)
		return result;
	body = p.body;
	*body = (struct gsb_rec_copy){
		.dst = c->dst.addr,
		.width = c->width,
		.height = c->height,
		.dst_pitch = c->dst.pitch,
		.src_pitch = c->width,
		.dst_place = c->dst.place,
		.src_place = GSB_PLACE_INLINE,
	};
	copy_rows((uint8_t *)(body + 1), c->width, (const uint8_t *)c->src.addr, c->src.pitch,
		  &all);
	gsb_post_end(&p);
	*number = p.number;
	return CUDA_SUCCESS;
}

static CUresult post_piece(const struct copy *c, const struct piece *p,
			   const struct gsb_chunk *chunk, uint64_t *number)
{
	struct copy part = *c;
	struct end *staged = c->src.place == PAGEABLE ? &part.src : &part.dst;

	part.src.addr = piece_addr(&c->src, p);
	part.dst.addr = piece_addr(&c->dst, p);
	*staged =
		(struct end){.place = GSB_PLACE_STAGING, .addr = chunk->offset, .pitch = p->width};
	part.width = p->width;
	part.height = p->n_rows;
	return post_direct(&part, number);
}

/* ---- pageable to device ---- */

static CUresult stage_out(const struct copy *c, const struct piece *p, uint64_t *number)
{
	struct gsb_chunk chunk;
	CUresult result = gsb_chunk_take(&chunk);

	if (result)
		return result;
	copy_rows(chunk.bytes, p->width, (const uint8_t *)piece_addr(&c->src, p), c->src.pitch, p);
	result = post_piece(c, p, &chunk, number);
	if (result)
		gsb_chunk_give_back(&chunk);
	else
		gsb_chunk_lend(&chunk, &c->stream, *number, false);
	return result;
}

static CUresult copy_out(const struct copy *c, uint64_t *number)
{
	uint64_t bytes = gsb_chunk_bytes();
	struct piece p = first_piece(c, bytes);
	CUresult result;

	if (c->width * c->height <= GSB_INLINE_COPY_MAX)
		return post_inline(c, number);
	do
		result = stage_out(c, &p, number);
	while (!result && next_piece(c, &p, bytes));
	return result;
}

/*
 * By CUDA's programming guide the host is not held up by a copy of 64 KiB or less. Programs take a longer one to be
 * complete, and use it in streams that wait for no other.
 */
static CUresult copy_out_sync(const struct copy *c)
{
	uint64_t number = 0;
	CUresult result = gsb_cu_stream_wait(&c->stream);

	if (!result)
		result = copy_out(c, &number);
	if (result || c->width * c->height <= EARLY_MAX)
		return result;
	return gsb_cu_stream_wait_for(&c->stream, number);
}

/* ---- device to pageable: posted ahead, emptied in order ---- */

struct inbound {
	struct gsb_chunk chunk;
	struct piece piece;
	uint64_t number;
};

static CUresult send_for(const struct copy *c, const struct piece *p, struct inbound *in)
{
	CUresult result;

	in->piece = *p;
	result = post_piece(c, p, &in->chunk, &in->number);
	if (result)
		gsb_chunk_give_back(&in->chunk);
	else
		gsb_chunk_lend(&in->chunk, &c->stream, in->number, true);
	return result;
}

static CUresult empty(const struct copy *c, const struct inbound *in)
{
	const struct piece *p = &in->piece;
	CUresult result = gsb_cu_stream_wait_for(&c->stream, in->number);

	if (!result)
		copy_rows((uint8_t *)piece_addr(&c->dst, p), c->dst.pitch, in->chunk.bytes,
			  p->width, p);
	gsb_chunk_give_back(&in->chunk);
	return result;
}

/* Only with nothing in flight does it wait for a chunk: a holder that waits could deadlock with another. */
static CUresult copy_in(const struct copy *c)
{
	uint64_t bytes = gsb_chunk_bytes();
	struct piece p = first_piece(c, bytes);
	struct inbound flight[N_IN_FLIGHT];
	unsigned first = 0, n = 0;
	bool more = true;
	CUresult result = CUDA_SUCCESS, r;

	while (n || (more && !result)) {
		struct inbound *in = &flight[(first + n) % N_IN_FLIGHT];
		bool have = false;

		if (more && !result && n < N_IN_FLIGHT)
			have = n ? gsb_chunk_try_take(&in->chunk)
				 : !(result = gsb_chunk_take(&in->chunk));
		if (have) {
			result = send_for(c, &p, in);
			n += !result;
			more = next_piece(c, &p, bytes);
		} else if (n) {
			r = empty(c, &flight[first]);
			result = result ? result : r;
			first = (first + 1) % N_IN_FLIGHT;
			n--;
		}
	}
	return result;
}

/* ---- pageable memory in the stream's order ---- */

/* Rows that a host function copies; then the chunk is free. */
struct later {
	uint8_t *dst;
	const uint8_t *src;
	uint64_t dst_pitch, src_pitch;
	struct piece piece;
	struct gsb_chunk chunk;
	bool gives_back;
};

/* As a callback, which is called after an error, too: the chunk comes back in any case. */
static void run_later(CUstream stream, CUresult status, void *data)
{
	struct later *l = data;

	if (!status)
		copy_rows(l->dst, l->dst_pitch, l->src, l->src_pitch, &l->piece);
	if (l->gives_back)
		gsb_chunk_give_back(&l->chunk);
	free(l);
}

static CUresult post_later(const struct copy *c, const struct later *l)
{
	struct later *copy = malloc(sizeof(*copy));
	CUresult result;

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*copy = *l;
	result = gsb_host_call_post(&c->stream,
				    &(struct gsb_host_call){.callback = run_later, .data = copy});
	if (result)
		free(copy);
	return result;
}

static CUresult fill_later(const struct copy *c, const struct piece *p,
			   const struct gsb_chunk *chunk)
{
	uint64_t number;
	CUresult result = post_later(c, &(struct later){
						.dst = chunk->bytes,
						.dst_pitch = p->width,
						.src = (const uint8_t *)piece_addr(&c->src, p),
						.src_pitch = c->src.pitch,
						.piece = *p,
					});

	/* Once posted it will be written to, whatever becomes of the copy: then the chunk is lost. */
	if (result)
		gsb_chunk_give_back(chunk);
	else
		result = post_piece(c, p, chunk, &number);
	if (!result)
		gsb_chunk_lend(chunk, &c->stream, number, false);
	return result;
}

static CUresult empty_later(const struct copy *c, const struct piece *p,
			    const struct gsb_chunk *chunk)
{
	uint64_t number;
	CUresult result = post_piece(c, p, chunk, &number);

	if (result) {
		gsb_chunk_give_back(chunk);
		return result;
	}
	gsb_chunk_lend(chunk, &c->stream, number, true);
	result = post_later(c, &(struct later){
				       .dst = (uint8_t *)piece_addr(&c->dst, p),
				       .dst_pitch = c->dst.pitch,
				       .src = chunk->bytes,
				       .src_pitch = p->width,
				       .piece = *p,
				       .chunk = *chunk,
				       .gives_back = true,
			       });
	if (result)
		gsb_chunk_lend(chunk, &c->stream, number, false);
	return result;
}

static CUresult copy_later(const struct copy *c)
{
	uint64_t bytes = gsb_chunk_bytes();
	struct piece p = first_piece(c, bytes);
	struct gsb_chunk chunk;
	CUresult result;

	if (is_host(&c->dst) && is_host(&c->src)) {
		p = (struct piece){.n_rows = c->height, .width = c->width};
		return post_later(c, &(struct later){.dst = (uint8_t *)c->dst.addr,
						     .dst_pitch = c->dst.pitch,
						     .src = (const uint8_t *)c->src.addr,
						     .src_pitch = c->src.pitch,
						     .piece = p});
	}
	do {
		result = gsb_chunk_take(&chunk);
		if (!result)
			result = c->dst.place == PAGEABLE ? empty_later(c, &p, &chunk)
							  : fill_later(c, &p, &chunk);
	} while (!result && next_piece(c, &p, bytes));
	return result;
}

/* ---- the whole ---- */

static CUresult copy_pageable(const struct copy *c)
{
	const struct piece all = {.n_rows = c->height, .width = c->width};
	uint64_t number;
	CUresult result;

	if (c->is_later)
		return copy_later(c);
	if (is_host(&c->dst) && is_host(&c->src)) {
		result = gsb_cu_stream_wait(&c->stream);
		if (!result)
			copy_rows((uint8_t *)c->dst.addr, c->dst.pitch,
				  (const uint8_t *)c->src.addr, c->src.pitch, &all);
		return result;
	}
	if (c->dst.place == PAGEABLE)
		return copy_in(c);
	return c->is_sync ? copy_out_sync(c) : copy_out(c, &number);
}

static CUresult copy_direct(const struct copy *c)
{
	uint64_t number = 0;
	CUresult result = post_direct(c, &number);

	if (result || !(is_host(&c->dst) || is_host(&c->src)))
		return result;
	if (!c->is_sync && !(is_host(&c->dst) && is_host(&c->src)))
		return result;
	return gsb_cu_stream_wait_for(&c->stream, number);
}

static void make_linear(struct copy *c)
{
	if (c->height > 1 && c->dst.pitch == c->width && c->src.pitch == c->width) {
		c->width *= c->height;
		c->height = 1;
	}
	if (c->height == 1)
		c->dst.pitch = c->src.pitch = c->width;
}

static CUresult run(struct copy *c, CUstream stream)
{
	CUresult result = gsb_cu_stream_resolve(stream, &c->stream);

	if (result || !c->width || !c->height)
		return result;
	if (c->height == 1)
		c->dst.pitch = c->src.pitch = c->width;
	c->n_removals = gsb_alloc_n_removals();
	find_mirror(c, &c->dst);
	find_mirror(c, &c->src);
	if (!is_end_ok(c, &c->dst) || !is_end_ok(c, &c->src))
		return CUDA_ERROR_INVALID_VALUE;
	make_linear(c);
	return c->dst.place == PAGEABLE || c->src.place == PAGEABLE ? copy_pageable(c)
								    : copy_direct(c);
}

/* ---- one row ---- */

static GSB_COLD bool is_captured(const CUDA_MEMCPY3D *p, CUstream stream, bool is_sync,
				 CUresult *result);

static CUDA_MEMCPY3D linear_params(struct end dst, struct end src, size_t n)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = is_host(&src) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = (const void *)src.addr,
		.srcDevice = src.addr,
		.dstMemoryType = is_host(&dst) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = (void *)dst.addr,
		.dstDevice = dst.addr,
		.WidthInBytes = n,
		.Height = 1,
		.Depth = 1,
	};
}

static CUresult run_linear(struct end dst, struct end src, size_t n, CUstream stream, bool is_sync)
{
	struct copy c = {.dst = dst, .src = src, .width = n, .height = 1, .is_sync = is_sync};
	CUresult result;

	if (gsb_capture_any()) {
		const CUDA_MEMCPY3D p = linear_params(dst, src, n);

		if (is_captured(&p, stream, is_sync, &result))
			return result;
	}
	return run(&c, stream);
}

static CUresult device_end(CUdeviceptr addr, struct end *out)
{
	*out = end_at(addr, 0);
	return out->place == PAGEABLE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult host_end(const void *addr, struct end *out)
{
	*out = end_at((uint64_t)addr, 0);
	return out->place == GSB_PLACE_DEVICE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult htod(CUdeviceptr dst, const void *src, size_t n, CUstream stream, bool is_sync)
{
	struct end d = {0}, s = {0}; /* not looked at when there is nothing to copy */

	if (n && (device_end(dst, &d) || host_end(src, &s)))
		return CUDA_ERROR_INVALID_VALUE;
	return run_linear(d, s, n, stream, is_sync);
}

static CUresult dtoh(void *dst, CUdeviceptr src, size_t n, CUstream stream, bool is_sync)
{
	struct end d = {0}, s = {0}; /* not looked at when there is nothing to copy */

	if (n && (host_end(dst, &d) || device_end(src, &s)))
		return CUDA_ERROR_INVALID_VALUE;
	return run_linear(d, s, n, stream, is_sync);
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
	struct end d = {0}, s = {0}; /* not looked at when there is nothing to copy */

	if (n && (device_end(dst, &d) || device_end(src, &s)))
		return CUDA_ERROR_INVALID_VALUE;
	return run_linear(d, s, n, stream, false);
}

CUresult hook_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	return run_linear(end_at(dst, 0), end_at(src, 0), n, stream, true);
}

CUresult hook_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
	return run_linear(end_at(dst, 0), end_at(src, 0), n, stream, false);
}

/* ---- rectangles and boxes ---- */

struct rect_end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z, pitch, n_rows; /* n_rows: from slice to slice */
};

struct box {
	struct rect_end dst, src;
	size_t width, height, depth; /* bytes, rows, slices */
};

static CUresult array_end(const struct box *b, const struct rect_end *r, struct end *out)
{
	const struct gsb_cu_array *a = gsb_cu_array_get(r->array);

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!gsb_range_ok(r->x, b->width, a->row_bytes) ||
	    !gsb_range_ok(r->y, b->height, a->n_rows) || r->z >= a->n_slices)
		return CUDA_ERROR_INVALID_VALUE;
	*out = end_at(a->addr + r->z * a->slice_bytes + r->y * a->pitch_bytes + r->x,
		      a->pitch_bytes);
	return CUDA_SUCCESS;
}

/* Bytes from the base to where it begins; false: they are too many to count. */
static bool offset_of(const struct rect_end *r, size_t pitch, uint64_t *offset)
{
	return !gsb_mul_overflows(r->z, r->n_rows, offset) &&
	       !gsb_add_overflows(*offset, r->y, offset) &&
	       !gsb_mul_overflows(*offset, pitch, offset) &&
	       !gsb_add_overflows(*offset, r->x, offset);
}

static CUresult rect_end(const struct box *b, const struct rect_end *r, struct end *out)
{
	size_t pitch = r->pitch ? r->pitch : b->width;
	uint64_t offset, base;

	if (r->type == CU_MEMORYTYPE_ARRAY)
		return array_end(b, r, out);
	if (r->type < CU_MEMORYTYPE_HOST || r->type > CU_MEMORYTYPE_UNIFIED ||
	    !offset_of(r, pitch, &offset))
		return CUDA_ERROR_INVALID_VALUE;
	base = r->type == CU_MEMORYTYPE_HOST ? (uint64_t)r->host : r->device;
	if (!base || gsb_add_overflows(base, offset, &base))
		return CUDA_ERROR_INVALID_VALUE;
	*out = end_at(base, pitch);
	if ((r->type == CU_MEMORYTYPE_DEVICE && out->place == PAGEABLE) ||
	    (r->type == CU_MEMORYTYPE_HOST && out->place == GSB_PLACE_DEVICE))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* The slice that is z from the first one. */
static CUresult slice_of(const struct box *b, size_t z, struct copy *c)
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
	struct copy c = {.is_sync = is_sync, .is_later = is_later};
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
			.n_rows = copy->srcHeight ? copy->srcHeight : copy->Height},
		.dst = {.type = copy->dstMemoryType,
			.host = copy->dstHost,
			.device = copy->dstDevice,
			.array = copy->dstArray,
			.x = copy->dstXInBytes,
			.y = copy->dstY,
			.z = copy->dstZ,
			.pitch = copy->dstPitch,
			.n_rows = copy->dstHeight ? copy->dstHeight : copy->Height},
	};
}

static CUresult run_copy3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool is_sync)
{
	struct box b;

	if (!copy || copy->srcLOD || copy->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	b = box_of(copy);
	return run_box(&b, stream, is_sync);
}

/* ---- copies of graphs ---- */

static bool are_ends_ok(const struct copy *slice, uint64_t wire)
{
	struct copy c = *slice;

	c.stream.wire = wire;
	if (c.height == 1)
		c.dst.pitch = c.src.pitch = c.width;
	return is_end_ok(&c, &c.dst) && is_end_ok(&c, &c.src);
}

CUresult gsb_copy_check(const CUDA_MEMCPY3D *p, uint64_t wire)
{
	struct box b = box_of(p);
	struct copy first = {0}, last = {0};
	CUresult result;

	if (p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	if (!b.width || !b.height || !b.depth)
		return CUDA_SUCCESS;
	result = slice_of(&b, 0, &first);
	if (!result)
		result = slice_of(&b, b.depth - 1, &last);
	if (!result && (!are_ends_ok(&first, wire) || !are_ends_ok(&last, wire)))
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

CUresult gsb_copy_later(const CUDA_MEMCPY3D *p, CUstream stream)
{
	struct box b = box_of(p);

	return run_box_now(&b, stream, false, true);
}

static CUresult capture_copy(struct gsb_capture_member *m, const CUDA_MEMCPY3D *p, uint64_t wire)
{
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = *p};
	CUresult result = gsb_capture_check(m);

	if (result || !p->WidthInBytes || !p->Height || !p->Depth)
		return result;
	result = gsb_copy_check(p, wire);
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
			    : capture_copy(m, p, s.wire);
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

/* ---- fills ---- */

static CUresult post_fill(const struct copy *area, const struct gsb_fill *f, uint64_t *number)
{
	struct gsb_post p;
	CUresult result = begin(area, &p, GSB_REC_FILL, sizeof(struct gsb_rec_fill));

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

static bool fill_area(const struct gsb_fill *f, uint64_t wire, struct copy *area)
{
	uint64_t pitch = f->height > 1 ? f->pitch : f->width * f->elem_bytes;

	*area = (struct copy){.height = f->height,
			      .dst = end_at(f->dst, pitch),
			      .src = {.place = GSB_PLACE_STAGING},
			      .n_removals = gsb_alloc_n_removals(),
			      .stream = {.wire = wire}};
	return !gsb_mul_overflows(f->width, f->elem_bytes, &area->width) &&
	       area->dst.place != PAGEABLE && !(f->dst % f->elem_bytes) &&
	       !(f->height > 1 && f->pitch % f->elem_bytes) && is_end_ok(area, &area->dst);
}

CUresult gsb_fill_check(const struct gsb_fill *f, uint64_t wire)
{
	struct copy area;

	return !f->width || !f->height || fill_area(f, wire, &area) ? CUDA_SUCCESS
								    : CUDA_ERROR_INVALID_VALUE;
}

static CUresult capture_fill(struct gsb_capture_member *m, const struct gsb_fill *f, uint64_t wire)
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
	result = gsb_fill_check(f, wire);
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
			    : capture_fill(m, f, s->wire);
	gsb_cu_graphs_unlock();
	return m || *result;
}

/* Its area as the copy of nothing; the synchronous forms fill pinned memory before they return, as CUDA documents it. */
static CUresult fill(const struct gsb_fill *f, CUstream stream, bool is_sync)
{
	struct gsb_cu_stream_ref s;
	struct copy area;
	uint64_t number = 0;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result || (gsb_capture_any() && is_fill_captured(f, &s, is_sync, &result)))
		return result;
	if (!f->width || !f->height)
		return CUDA_SUCCESS;
	if (!fill_area(f, s.wire, &area))
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
