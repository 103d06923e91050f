/*
 * send.c - see send.h. Copies and fills; launch.c has the rest.
 *
 * Nothing here waits for the device, but for one case: a copy of more than CUDA_BOUNCE_BYTES from or to memory
 * that the driver does not know goes through memory of the driver's own, and the call lasts as long as that. The engine
 * shares what it copies from, so that this is rare.
 */
#include "device/cuda/send.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "device/cuda/array.h"
#include "device/cuda/host.h"
#include "device/cuda/launch.h"
#include "device/cuda/place.h"

#define PITCH_MAX INT32_MAX /* of the driver's copies of rows */

/* ---- copies ---- */

static uint64_t extent(uint64_t width, uint64_t height, uint64_t pitch)
{
	return height > 1 ? (height - 1) * pitch + width : width;
}

static CUmemorytype memory_type(enum cuda_place place)
{
	return place == CUDA_PLACE_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUresult copy_rows(struct cuda_device *dev, CUstream stream, const struct gsb_cmd_copy *c,
			  CUmemorytype dst, CUmemorytype src)
{
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = src,
		.srcHost = (const void *)(uintptr_t)c->src,
		.srcDevice = c->src,
		.srcPitch = c->src_pitch,
		.dstMemoryType = dst,
		.dstHost = (void *)(uintptr_t)c->dst,
		.dstDevice = c->dst,
		.dstPitch = c->dst_pitch,
		.WidthInBytes = c->width,
		.Height = c->height,
	};

	return dev->cu.cuMemcpy2DAsync_v2(&copy, stream);
}

/* A program that grows its memory of the host maps one piece behind the other, and to the driver each is a registration of its own. */
static CUresult copy_row(struct cuda_device *dev, CUstream stream, uint64_t dst, uint64_t src,
			 uint64_t bytes)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t n;

	for (; !result && bytes; bytes -= n, dst += n, src += n) {
		n = cuda_piece(dev, src, cuda_piece(dev, dst, bytes));
		result = dev->cu.cuMemcpyAsync(dst, src, n, stream);
	}
	return result;
}

/* Rows further apart than the driver can, of which there is not memory for many. */
static CUresult copy_each_row(struct cuda_device *dev, CUstream stream,
			      const struct gsb_cmd_copy *c)
{
	CUresult result = CUDA_SUCCESS;

	for (uint64_t i = 0; !result && i < c->height; i++)
		result = copy_row(dev, stream, c->dst + i * c->dst_pitch, c->src + i * c->src_pitch,
				  c->width);
	return result;
}

/* So many of the rows are in one piece, from the first on. None: the first itself is in several. */
static uint64_t rows_of_piece(const struct cuda_device *dev, uint64_t addr, uint64_t width,
			      uint64_t height, uint64_t pitch)
{
	const uint64_t bytes = cuda_piece(dev, addr, extent(width, height, pitch));

	if (bytes < width)
		return 0;
	return height > 1 ? 1 + (bytes - width) / pitch : 1;
}

/* A row may be two bytes: one over a seam is copied by itself, and what lies between two seams in one call. */
static CUresult copy_pieces(struct gsb_space *space, CUstream stream, struct gsb_cmd_copy c)
{
	struct cuda_device *dev = space->dev;
	CUresult result = CUDA_SUCCESS;
	uint64_t left = c.height, n_src;

	for (; !result && left; left -= c.height) {
		c.height = rows_of_piece(dev, c.dst, c.width, left, c.dst_pitch);
		n_src = rows_of_piece(dev, c.src, c.width, left, c.src_pitch);
		c.height = n_src < c.height ? n_src : c.height;
		if (c.height > 1) {
			result = copy_rows(dev, stream, &c,
					   memory_type(cuda_place_of(space, c.dst, c.width)),
					   memory_type(cuda_place_of(space, c.src, c.width)));
		} else {
			c.height = 1;
			result = copy_row(dev, stream, c.dst, c.src, c.width);
		}
		c.dst += c.height * c.dst_pitch;
		c.src += c.height * c.src_pitch;
	}
	return result;
}

static bool is_one_piece(const struct cuda_device *dev, uint64_t addr, uint64_t bytes)
{
	return cuda_piece(dev, addr, bytes) == bytes;
}

static CUresult copy(struct gsb_space *space, CUstream stream, const struct gsb_cmd_copy *c,
		     enum cuda_place dst, enum cuda_place src)
{
	struct cuda_device *dev = space->dev;

	if (c->height == 1)
		return copy_row(dev, stream, c->dst, c->src, c->width);
	if (c->dst_pitch > PITCH_MAX || c->src_pitch > PITCH_MAX)
		return copy_each_row(dev, stream, c);
	if (!is_one_piece(dev, c->dst, extent(c->width, c->height, c->dst_pitch)) ||
	    !is_one_piece(dev, c->src, extent(c->width, c->height, c->src_pitch)))
		return copy_pieces(space, stream, *c);
	return copy_rows(dev, stream, c, memory_type(dst), memory_type(src));
}

static void move_rows(uint8_t *dst, uint64_t dst_pitch, const uint8_t *src, uint64_t src_pitch,
		      const struct cuda_landing *l)
{
	for (uint64_t i = 0; i < l->height; i++)
		memcpy(dst + i * dst_pitch, src + i * src_pitch, l->width);
}

/* The copy with one end moved to memory that the driver knows, where rows lie close. False: there is no such memory. */
static bool bounce(struct cuda_device *dev, struct gsb_cmd_copy *c, bool to_device,
		   struct cuda_landing *landing)
{
	uint8_t *bytes;
	struct cuda_landing l = {.width = c->width, .height = c->height};

	if (c->width > CUDA_BOUNCE_BYTES || c->height > CUDA_BOUNCE_BYTES / c->width)
		return false;
	l.bounce = cuda_bounce_take(dev);
	if (!l.bounce)
		return false;
	bytes = l.bounce->bytes;
	if (to_device) {
		move_rows(bytes, c->width, (const uint8_t *)(uintptr_t)c->src, c->src_pitch, &l);
		c->src = (uint64_t)(uintptr_t)bytes;
		c->src_pitch = c->width;
	} else {
		l.dst = c->dst;
		l.pitch = c->dst_pitch;
		c->dst = (uint64_t)(uintptr_t)bytes;
		c->dst_pitch = c->width;
	}
	*landing = l;
	return true;
}

static bool is_of_device(enum cuda_place place)
{
	return place == CUDA_PLACE_DEVICE || place == CUDA_PLACE_ARRAY;
}

static int send_copy(struct cuda_device *dev, CUstream stream, const struct gsb_cmd *cmd,
		     struct cuda_landing *landing)
{
	struct gsb_cmd_copy c = cmd->copy;
	enum cuda_place src, dst;

	src = cuda_place_of(cmd->space, c.src, extent(c.width, c.height, c.src_pitch));
	dst = cuda_place_of(cmd->space, c.dst, extent(c.width, c.height, c.dst_pitch));
	if (src == CUDA_PLACE_NOWHERE || dst == CUDA_PLACE_NOWHERE)
		return -EFAULT;
	if (src == CUDA_PLACE_PLAIN && is_of_device(dst))
		bounce(dev, &c, true, landing);
	else if (dst == CUDA_PLACE_PLAIN && is_of_device(src))
		bounce(dev, &c, false, landing);
	if (src == CUDA_PLACE_ARRAY || dst == CUDA_PLACE_ARRAY)
		return cuda_array_copy(cmd->space, stream, &c, dst, src);
	return cuda_refusal(dev, copy(cmd->space, stream, &c, dst, src));
}

void cuda_land(struct cuda_device *dev, struct cuda_landing *l)
{
	if (!l->bounce)
		return;
	if (l->dst)
		move_rows((uint8_t *)(uintptr_t)l->dst, l->pitch, l->bounce->bytes, l->width, l);
	cuda_bounce_give(dev, l->bounce);
	l->bounce = NULL;
}

/* ---- fills ---- */

static CUresult fill_line(const struct cuda_driver *cu, CUstream stream,
			  const struct gsb_cmd_fill *f)
{
	switch (f->elem_bytes) {
	case 1: return cu->cuMemsetD8Async(f->dst, (unsigned char)f->value, f->width, stream);
	case 2: return cu->cuMemsetD16Async(f->dst, (unsigned short)f->value, f->width, stream);
	default: return cu->cuMemsetD32Async(f->dst, f->value, f->width, stream);
	}
}

static CUresult fill_rows(const struct cuda_driver *cu, CUstream stream,
			  const struct gsb_cmd_fill *f)
{
	switch (f->elem_bytes) {
	case 1:
		return cu->cuMemsetD2D8Async(f->dst, f->pitch, (unsigned char)f->value, f->width,
					     f->height, stream);
	case 2:
		return cu->cuMemsetD2D16Async(f->dst, f->pitch, (unsigned short)f->value, f->width,
					      f->height, stream);
	default:
		return cu->cuMemsetD2D32Async(f->dst, f->pitch, f->value, f->width, f->height,
					      stream);
	}
}

/* Pieces are whole units, and an element is in one. */
static CUresult fill_row(struct cuda_device *dev, CUstream stream, struct gsb_cmd_fill f)
{
	uint64_t left = f.width * f.elem_bytes, n;
	CUresult result = CUDA_SUCCESS;

	for (; !result && left; left -= n, f.dst += n) {
		n = cuda_piece(dev, f.dst, left);
		f.width = n / f.elem_bytes;
		result = fill_line(&dev->cu, stream, &f);
	}
	return result;
}

/* As copy_pieces(). */
static CUresult fill_pieces(struct cuda_device *dev, CUstream stream, struct gsb_cmd_fill f)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t left = f.height;

	for (; !result && left; left -= f.height, f.dst += f.height * f.pitch) {
		f.height = rows_of_piece(dev, f.dst, f.width * f.elem_bytes, left, f.pitch);
		if (f.height > 1) {
			result = fill_rows(&dev->cu, stream, &f);
		} else {
			f.height = 1;
			result = fill_row(dev, stream, f);
		}
	}
	return result;
}

static CUresult fill(struct cuda_device *dev, CUstream stream, const struct gsb_cmd_fill *f)
{
	if (f->height == 1)
		return fill_row(dev, stream, *f);
	if (!is_one_piece(dev, f->dst, extent(f->width * f->elem_bytes, f->height, f->pitch)))
		return fill_pieces(dev, stream, *f);
	return fill_rows(&dev->cu, stream, f);
}

static int send_fill(struct cuda_device *dev, CUstream stream, const struct gsb_cmd *cmd)
{
	const struct gsb_cmd_fill *f = &cmd->fill;
	enum cuda_place place;

	if (f->elem_bytes != 1 && f->elem_bytes != 2 && f->elem_bytes != 4)
		return -EINVAL;
	if (f->dst % f->elem_bytes || (f->height > 1 && f->pitch % f->elem_bytes))
		return -EINVAL;
	place = cuda_place_of(cmd->space, f->dst,
			      extent(f->width * f->elem_bytes, f->height, f->pitch));
	if (place == CUDA_PLACE_NOWHERE || place == CUDA_PLACE_ARRAY)
		return -EFAULT;
	return cuda_refusal(dev, fill(dev, stream, f));
}

/* ---- one word ---- */

static bool is_word(uint64_t addr, uint64_t bytes, uint64_t rows)
{
	return rows == 1 && (bytes == sizeof(uint32_t) || bytes == sizeof(uint64_t)) &&
	       !(addr % bytes);
}

static bool copies_a_word(struct gsb_space *space, const struct gsb_cmd_copy *c,
			  struct cuda_word *w)
{
	enum cuda_place src;

	if (!is_word(c->dst, c->width, c->height) ||
	    cuda_place_of(space, c->dst, c->width) != CUDA_PLACE_DEVICE)
		return false;
	src = cuda_place_of(space, c->src, c->width);
	if (src != CUDA_PLACE_HOST && src != CUDA_PLACE_PLAIN)
		return false;
	w->addr = c->dst;
	w->bytes = (unsigned)c->width;
	memcpy(&w->value, (const void *)(uintptr_t)c->src, c->width);
	return true;
}

static bool fills_a_word(struct gsb_space *space, const struct gsb_cmd_fill *f, struct cuda_word *w)
{
	const uint64_t bytes = f->width * f->elem_bytes;

	if (f->width > sizeof(uint64_t) || f->elem_bytes > sizeof(f->value) ||
	    !is_word(f->dst, bytes, f->height) ||
	    cuda_place_of(space, f->dst, bytes) != CUDA_PLACE_DEVICE)
		return false;
	w->addr = f->dst;
	w->bytes = (unsigned)bytes;
	for (unsigned i = 0; i < bytes; i += f->elem_bytes)
		memcpy((uint8_t *)&w->value + i, &f->value, f->elem_bytes);
	return true;
}

bool cuda_sets_a_word(const struct gsb_cmd *cmd, struct cuda_word *out)
{
	*out = (struct cuda_word){0};
	if (cmd->kind == GSB_CMD_COPY)
		return copies_a_word(cmd->space, &cmd->copy, out);
	return cmd->kind == GSB_CMD_FILL && fills_a_word(cmd->space, &cmd->fill, out);
}

int cuda_send(struct cuda_device *dev, CUstream stream, const struct gsb_cmd *cmd,
	      struct cuda_landing *landing)
{
	switch (cmd->kind) {
	case GSB_CMD_LAUNCH: return cuda_send_launch(dev, stream, &cmd->launch);
	case GSB_CMD_COPY: return send_copy(dev, stream, cmd, landing);
	case GSB_CMD_FILL: return send_fill(dev, stream, cmd);
	}
	return -EINVAL;
}
