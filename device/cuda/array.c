/*
 * array.c - see array.h.
 *
 * A copy comes as rows of addresses. Most are rows of texels and one box to the driver; what is cut elsewhere, as pieces of
 * pageable copies are, falls into the rest of a row, rows, and the beginning of one.
 */
#include "device/cuda/array.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/array.h"
#include "base/checked.h"
#include "device/cuda/array_pool.h"
#include "device/cuda/memory.h"
#include "device/cuda/room.h"
#include "device/cuda/zero.h"

#define ALIGN_BYTES  512
#define TILE_WIDTH   64u /* bytes; texels lie in tiles, tiles in blocks, and blocks are whole */
#define TILE_HEIGHT  8u
#define BLOCK_HEIGHT 128u /* at most; a power of two */
#define BLOCK_DEPTH  32u
#define SMALL_BYTES  (128u << 10) /* smaller arrays share pages */
#define PAGE_BYTES   (64u << 10)
#define UNIT_BYTES   (8u << 10)
#define ZEROS_BYTES  (2u << 20) /* as much as the longest row */

/* ---- texels are copied ---- */

/* One end of a copy: memory, or texels of a level. */
struct end {
	const struct cuda_array *array; /* NULL: memory */
	uint64_t addr, pitch;
	CUmemorytype type;
	unsigned level;
	struct gsb_array_level lies;
	uint64_t x, y, z; /* bytes, rows, slices */
};

/* Where boxes go, and how many have gone. */
struct outlet {
	struct cuda_device *dev;
	CUstream stream;
	uint64_t n_sent;
};

static CUmemorytype type_of(enum cuda_place place)
{
	switch (place) {
	case CUDA_PLACE_ARRAY: return CU_MEMORYTYPE_ARRAY;
	case CUDA_PLACE_DEVICE: return CU_MEMORYTYPE_DEVICE;
	default: return CU_MEMORYTYPE_HOST;
	}
}

static void find_level(const struct cuda_array *a, uint64_t offset, struct end *e)
{
	unsigned n = gsb_array_n_levels(&a->is);
	struct gsb_array_level next;

	for (e->level = 0; e->level + 1 < n; e->level++) {
		gsb_array_find_level(&a->is, e->level + 1, &next);
		if (offset < next.offset)
			break;
	}
	gsb_array_find_level(&a->is, e->level, &e->lies);
}

/* Where the end's address is in its array. */
static void locate(struct end *e)
{
	uint64_t offset;

	if (!e->array)
		return;
	offset = e->addr - e->array->start;
	find_level(e->array, offset, e);
	offset -= e->lies.offset;
	e->z = offset / e->lies.slice_bytes;
	e->y = offset % e->lies.slice_bytes / e->lies.pitch_bytes;
	e->x = offset % e->lies.pitch_bytes;
}

static struct end end_of(struct gsb_space *space, uint64_t addr, uint64_t pitch,
			 enum cuda_place place)
{
	struct end e = {.addr = addr, .pitch = pitch, .type = type_of(place)};

	if (place == CUDA_PLACE_ARRAY)
		e.array = cuda_array_find(cuda_space_at(space, addr), addr, 1);
	locate(&e);
	return e;
}

static CUresult copy_box(struct outlet *o, const struct end *dst, const struct end *src,
			 uint64_t width, uint64_t n_rows)
{
	CUresult result;
	CUDA_MEMCPY3D c = {
		.srcXInBytes = src->x,
		.srcY = src->y,
		.srcZ = src->z,
		.srcMemoryType = src->type,
		.srcHost = (const void *)(uintptr_t)src->addr,
		.srcDevice = src->addr,
		.srcPitch = src->array ? 0 : src->pitch,
		.srcHeight = src->array ? 0 : n_rows,
		.dstXInBytes = dst->x,
		.dstY = dst->y,
		.dstZ = dst->z,
		.dstMemoryType = dst->type,
		.dstHost = (void *)(uintptr_t)dst->addr,
		.dstDevice = dst->addr,
		.dstPitch = dst->array ? 0 : dst->pitch,
		.dstHeight = dst->array ? 0 : n_rows,
		.WidthInBytes = width,
		.Height = n_rows,
		.Depth = 1,
	};

	if (src->array)
		c.srcArray = src->array->levels[src->level];
	if (dst->array)
		c.dstArray = dst->array->levels[dst->level];
	result = o->dev->cu.cuMemcpy3DAsync_v2(&c, o->stream);
	o->n_sent += !result;
	return result;
}

/* Whether rows of the copy are rows of texels, of one slice. */
static bool is_box(const struct end *e, uint64_t width, uint64_t n_rows)
{
	if (!e->array)
		return n_rows == 1 || e->pitch <= INT32_MAX;
	return gsb_range_ok(e->x, width, e->lies.row_bytes) &&
	       gsb_range_ok(e->y, n_rows, e->lies.n_rows) &&
	       (n_rows == 1 || e->pitch == e->lies.pitch_bytes);
}

/* How many of n bytes in a line lie in one row of texels. */
static uint64_t rest_of_row(const struct end *e, uint64_t n)
{
	return e->array && n > e->lies.row_bytes - e->x ? e->lies.row_bytes - e->x : n;
}

/* How many rows of n bytes are rows of texels that have nothing between them; 1 at least. */
static uint64_t rows_of_line(const struct end *e, uint64_t row, uint64_t n)
{
	uint64_t rows = n / row, rest = e->lies.n_rows - e->y;

	if (!e->array)
		return rows;
	if (row != e->lies.row_bytes || row != e->lies.pitch_bytes)
		return 1;
	return rows < rest ? rows : rest;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void step(struct end *e, uint64_t bytes)
{
	e->addr += bytes;
	locate(e);
}

/* Between rows of texels and between levels there is nothing to be copied. */
static bool is_line(const struct end *e, uint64_t n)
{
	uint64_t from = e->z * e->lies.slice_bytes + e->y * e->lies.pitch_bytes + e->x;

	if (!e->array || gsb_range_ok(e->x, n, e->lies.row_bytes))
		return true;
	return e->lies.row_bytes == e->lies.pitch_bytes &&
	       gsb_range_ok(from, n, e->lies.slice_bytes * e->lies.n_slices);
}

static CUresult copy_line(struct outlet *o, struct end dst, struct end src, uint64_t n)
{
	while (n) {
		uint64_t row = lesser(rest_of_row(&dst, n), rest_of_row(&src, n));
		uint64_t rows = lesser(rows_of_line(&dst, row, n), rows_of_line(&src, row, n));
		CUresult result;

		dst.pitch = src.pitch = row;
		result = copy_box(o, &dst, &src, row, rows);
		if (result)
			return result;
		step(&dst, row * rows);
		step(&src, row * rows);
		n -= row * rows;
	}
	return CUDA_SUCCESS;
}

static void go_to_row(const struct gsb_cmd_copy *c, uint64_t i, struct end *dst, struct end *src)
{
	dst->addr = c->dst + i * c->dst_pitch;
	src->addr = c->src + i * c->src_pitch;
	locate(dst);
	locate(src);
}

/* All rows are looked at before the first goes: what is refused must not have begun. */
static CUresult copy_rows(struct outlet *o, const struct gsb_cmd_copy *c, struct end dst,
			  struct end src)
{
	CUresult result = CUDA_SUCCESS;

	for (uint64_t i = 0; i < c->height; i++) {
		go_to_row(c, i, &dst, &src);
		if (!is_line(&dst, c->width) || !is_line(&src, c->width))
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (uint64_t i = 0; !result && i < c->height; i++) {
		go_to_row(c, i, &dst, &src);
		result = copy_line(o, dst, src, c->width);
	}
	return result;
}

int cuda_array_copy(struct gsb_space *space, CUstream stream, const struct gsb_cmd_copy *c,
		    enum cuda_place dst, enum cuda_place src)
{
	struct end to = end_of(space, c->dst, c->height > 1 ? c->dst_pitch : c->width, dst);
	struct end from = end_of(space, c->src, c->height > 1 ? c->src_pitch : c->width, src);
	struct outlet o = {space->dev, stream, 0};
	CUresult result = is_box(&to, c->width, c->height) && is_box(&from, c->width, c->height)
				  ? copy_box(&o, &to, &from, c->width, c->height)
				  : copy_rows(&o, c, to, from);

	return result && o.n_sent ? cuda_io_error(space->dev, result)
				  : cuda_refusal(space->dev, result);
}

/* ---- zeroing ---- */

static int make_zeros(struct cuda_device *dev)
{
	const struct cuda_driver *cu = &dev->cu;
	CUdeviceptr at;
	CUresult result;

	if (dev->zeros)
		return 0;
	result = cu->cuMemAlloc_v2(&at, ZEROS_BYTES);
	if (result)
		return cuda_refusal(dev, result);
	result = cu->cuMemsetD8Async(at, 0, ZEROS_BYTES, dev->zero_stream);
	if (result)
		cu->cuMemFree_v2(at);
	else
		dev->zeros = at;
	return cuda_refusal(dev, result);
}

static CUresult zero_slice(struct outlet *o, struct end *to)
{
	struct end from = {
		.addr = o->dev->zeros, .pitch = to->lies.row_bytes, .type = CU_MEMORYTYPE_DEVICE};
	uint64_t most = ZEROS_BYTES / to->lies.row_bytes;
	CUresult result = CUDA_SUCCESS;

	for (to->y = 0; !result && to->y < to->lies.n_rows; to->y += most)
		result = copy_box(o, to, &from, to->lies.row_bytes,
				  lesser(most, to->lies.n_rows - to->y));
	return result;
}

static CUresult zero_levels(struct cuda_device *dev, const struct cuda_array *a)
{
	struct end to = {.array = a, .type = CU_MEMORYTYPE_ARRAY};
	struct outlet o = {dev, dev->zero_stream, 0};
	CUresult result = CUDA_SUCCESS;

	for (to.level = 0; to.level < gsb_array_n_levels(&a->is); to.level++) {
		gsb_array_find_level(&a->is, to.level, &to.lies);
		for (to.z = 0; !result && to.z < to.lies.n_slices; to.z++)
			result = zero_slice(&o, &to);
	}
	return result;
}

/* ---- allocations ---- */

static uint64_t in_blocks(uint64_t n, uint64_t least, uint64_t most)
{
	uint64_t block = least;

	while (block < n && block < most)
		block *= 2;
	return gsb_round_up(n, block);
}

/*
 * What it takes for an array the driver does not say. On an H200 it is not more than this, for nineteen shapes, and not less than
 * two thirds of it where arrays are not small (doc/results/2026-11-23-arrays-h200.txt).
 */
uint64_t cuda_array_bytes(struct gsb_device *dev, const struct gsb_array *is)
{
	const bool layers = is->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	struct gsb_array_level l;
	uint64_t bytes = 0, plain = gsb_array_bytes(is);

	for (unsigned i = 0; i < gsb_array_n_levels(is); i++) {
		gsb_array_find_level(is, i, &l);
		bytes += gsb_round_up(l.row_bytes, TILE_WIDTH) *
			 in_blocks(l.n_rows, TILE_HEIGHT, BLOCK_HEIGHT) *
			 (layers ? l.n_slices : in_blocks(l.n_slices, 1, BLOCK_DEPTH));
	}
	bytes = bytes < SMALL_BYTES ? gsb_round_up(bytes + UNIT_BYTES / 2, UNIT_BYTES)
				    : gsb_round_up(bytes, PAGE_BYTES);
	return cuda_mem_cost(dev, bytes > plain ? bytes : plain);
}

static int may_have(const struct gsb_space *space, uint64_t bytes)
{
	const struct cuda_device *dev = space->dev;

	if (bytes > dev->info.total_mem_bytes - dev->used_bytes)
		return -ENOMEM;
	if (space->used_bytes > space->limit_bytes ||
	    bytes > space->limit_bytes - space->used_bytes)
		return -EDQUOT;
	return 0;
}

static int zero(struct gsb_space *space, const struct cuda_array *a)
{
	struct cuda_device *dev = space->dev;
	int err = make_zeros(dev);

	if (!err)
		err = cuda_refusal(dev, zero_levels(dev, a));
	if (!err)
		err = cuda_zero_mark(dev);
	cuda_zero_note(dev, space->owner);
	return err;
}

int cuda_array_alloc(struct gsb_space *space, const struct gsb_array *is, uint64_t *addr)
{
	struct cuda_device *dev = space->dev;
	uint64_t bytes = cuda_array_bytes(&dev->base, is);
	struct cuda_array *a;
	struct gsb_range was;
	int err = may_have(space, bytes);

	if (!err)
		err = cuda_array_make(dev, is, &a);
	if (err == -ENOMEM && cuda_room_make(dev))
		err = cuda_array_make(dev, is, &a);
	if (err)
		return err;
	a->space = space;
	a->size = bytes;
	err = gsb_ranges_alloc(&space->window, bytes, ALIGN_BYTES, CUDA_CHUNK_BYTES, &a->start);
	if (err)
		goto err_range;
	err = zero(space, a);
	if (err)
		goto err_zero;
	HASH_ADD(hh, space->arrays, start, sizeof(a->start), a);
	space->used_bytes += bytes;
	dev->used_bytes += bytes;
	*addr = a->start;
	return 0;
err_zero:
	gsb_ranges_remove(&space->window, a->start, &was);
err_range:
	cuda_array_keep(dev, a);
	return err;
}

uint64_t cuda_array_free(struct cuda_array *a)
{
	struct gsb_space *space = a->space;
	uint64_t bytes = a->size;
	struct gsb_range was;

	gsb_ranges_remove(&space->window, a->start, &was);
	HASH_DELETE(hh, space->arrays, a);
	cuda_array_keep(space->dev, a);
	return bytes;
}

void cuda_arrays_free(struct gsb_space *space)
{
	while (space->arrays)
		cuda_array_free(space->arrays);
}

/* ---- who asks ---- */

struct cuda_array *cuda_array_at(struct gsb_space *space, uint64_t addr)
{
	struct cuda_array *a;

	HASH_FIND(hh, space->arrays, &addr, sizeof(addr), a);
	return a;
}

struct cuda_array *cuda_array_find(struct gsb_space *space, uint64_t addr, uint64_t bytes)
{
	const struct gsb_range *r = gsb_ranges_find(&space->window, addr);
	struct cuda_array *a = NULL;

	if (r)
		HASH_FIND(hh, space->arrays, &r->start, sizeof(r->start), a);
	return a && gsb_range_ok(addr - a->start, bytes, gsb_array_bytes(&a->is)) ? a : NULL;
}

CUarray cuda_array_level(const struct cuda_array *a, uint64_t addr)
{
	struct end e = {.array = a, .addr = addr};

	locate(&e);
	return addr == a->start + e.lies.offset ? a->levels[e.level] : NULL;
}

CUmipmappedArray cuda_array_mipmap(const struct cuda_array *a, uint64_t addr)
{
	return addr == a->start ? a->mipmap : NULL;
}
