/*
 * check.c - every address that a record of a copy or a fill names, checked before it becomes a command.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/checked.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/virtual.h"
#include "broker/engine/tenant/tenant.h"

/* Bytes from the first of the first row to the last of the last. */
static int extent(uint64_t width, uint64_t height, uint64_t pitch, uint64_t *out)
{
	uint64_t rows;

	if (height == 1) {
		*out = width;
		return 0;
	}
	if (pitch < width || gsb_mul_overflows(height - 1, pitch, &rows) ||
	    gsb_add_overflows(rows, width, out))
		return -EPROTO;
	return 0;
}

static bool is_live(const struct gsb_ranges *live, uint64_t addr, uint64_t bytes)
{
	const struct gsb_range *r = gsb_ranges_find(live, addr);

	return r && gsb_range_ok(addr - r->start, bytes, r->size);
}

bool gsb_memory_is_pinned(const struct gsb_tenant *t, uint64_t addr, uint64_t bytes)
{
	return is_live(&t->host_live, addr, bytes);
}

/* One end of a copy as an address that the device may use. */
static int resolve(struct gsb_ctx *ctx, uint32_t place, uint64_t *addr, uint64_t bytes, bool write)
{
	struct gsb_tenant *t = ctx->tenant;

	switch (place) {
	case GSB_PLACE_DEVICE:
		if (is_live(&ctx->device_live, *addr, bytes) ||
		    gsb_virtual_allows(t, *addr, bytes, write))
			return 0;
		return gsb_violation(t, "device range %#" PRIx64 "+%" PRIu64 " is not its own",
				     *addr, bytes);
	case GSB_PLACE_HOST:
		if (is_live(&t->host_live, *addr, bytes))
			return 0;
		return gsb_violation(t, "pinned range %#" PRIx64 "+%" PRIu64 " is not its own",
				     *addr, bytes);
	case GSB_PLACE_STAGING:
		if (!gsb_range_ok(*addr, bytes, t->limits.staging_bytes))
			return gsb_violation(t,
					     "staging range %#" PRIx64 "+%" PRIu64 " is not in it",
					     *addr, bytes);
		*addr += (uint64_t)(uintptr_t)t->staging;
		return 0;
	default: return gsb_violation(t, "copy with place %u, which there is not", place);
	}
}

/* extent: of the rows in the record, which holds so many bytes behind the body. */
static int check_inline(struct gsb_tenant *t, const struct gsb_rec_copy *body, uint64_t extent,
			uint32_t bytes)
{
	if (body->src || extent > GSB_INLINE_COPY_MAX || extent > bytes)
		return gsb_violation(
			t, "inline copy of %" PRIu64 "x%" PRIu64 " bytes with %u in the record",
			body->width, body->height, bytes);
	return 0;
}

static bool is_ours(uint32_t place)
{
	return place == GSB_PLACE_STAGING || place == GSB_PLACE_INLINE;
}

int gsb_memory_check_copy(struct gsb_ctx *ctx, const struct gsb_rec_copy *body, uint32_t bytes,
			  struct gsb_cmd_copy *out)
{
	struct gsb_cmd_copy c = {
		.dst = body->dst,
		.src = body->src,
		.width = body->width,
		.height = body->height,
		.dst_pitch = body->dst_pitch,
		.src_pitch = body->src_pitch,
		.dst_is_ours = is_ours(body->dst_place),
		.src_is_ours = is_ours(body->src_place),
	};
	uint64_t dst_bytes, src_bytes;
	int err;

	if (extent(c.width, c.height, c.dst_pitch, &dst_bytes) ||
	    extent(c.width, c.height, c.src_pitch, &src_bytes))
		return gsb_violation(ctx->tenant,
				     "copy of %" PRIu64 "x%" PRIu64 " bytes, pitch %" PRIu64
				     " to %" PRIu64,
				     c.width, c.height, c.src_pitch, c.dst_pitch);
	if (body->src_place == GSB_PLACE_INLINE)
		err = check_inline(ctx->tenant, body, src_bytes, bytes);
	else
		err = resolve(ctx, body->src_place, &c.src, src_bytes, false);
	if (!err)
		err = resolve(ctx, body->dst_place, &c.dst, dst_bytes, true);
	if (!err)
		*out = c;
	return err;
}

static int fill_extent(const struct gsb_rec_fill *f, uint64_t *row, uint64_t *bytes)
{
	if (f->elem_bytes != 1 && f->elem_bytes != 2 && f->elem_bytes != 4)
		return -EPROTO;
	if (!f->width || !f->height || gsb_mul_overflows(f->width, f->elem_bytes, row))
		return -EPROTO;
	return extent(*row, f->height, f->pitch, bytes);
}

int gsb_memory_check_fill(struct gsb_ctx *ctx, const struct gsb_rec_fill *body,
			  struct gsb_cmd_fill *out)
{
	struct gsb_tenant *t = ctx->tenant;
	uint64_t row, bytes;

	if (fill_extent(body, &row, &bytes))
		return gsb_violation(t,
				     "fill of %" PRIu64 "x%" PRIu64 " elements of %u bytes, pitch "
				     "%" PRIu64,
				     body->width, body->height, body->elem_bytes, body->pitch);
	if (body->dst % body->elem_bytes || (!is_live(&ctx->device_live, body->dst, bytes) &&
					     !is_live(&t->host_live, body->dst, bytes) &&
					     !gsb_virtual_allows(t, body->dst, bytes, true)))
		return gsb_violation(t, "fill of range %#" PRIx64 "+%" PRIu64 ", not its own",
				     body->dst, bytes);
	*out = (struct gsb_cmd_fill){
		.dst = body->dst,
		.width = body->width,
		.height = body->height,
		.pitch = body->pitch,
		.value = body->value,
		.elem_bytes = body->elem_bytes,
	};
	return 0;
}
