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

/* Another context of the tenant has this memory; not one that ends. */
static struct gsb_ctx *find_owner(const struct gsb_tenant *t, uint64_t addr, uint64_t bytes)
{
	for (uint32_t i = 0; i < GSB_N_CTXS; i++) {
		struct gsb_ctx *c = t->ctxs[i];

		if (c && c->handle && is_live(&c->device_live, addr, bytes))
			return c;
	}
	return NULL;
}

/* Addresses are the process's: a context's work may name memory of all of them. */
static bool is_device_live(struct gsb_memory_user *user, uint64_t addr, uint64_t bytes, bool write)
{
	const struct gsb_tenant *t = user->ctx->tenant;
	struct gsb_ctx *owner;

	if (is_live(&user->ctx->device_live, addr, bytes) ||
	    gsb_virtual_allows(t, addr, bytes, write))
		return true;
	owner = find_owner(t, addr, bytes);
	if (owner)
		user->owners[user->n_owners++] = owner;
	return owner;
}

/* One end of a copy as an address that the device may use. */
static int resolve(struct gsb_memory_user *user, uint32_t place, uint64_t *addr, uint64_t bytes,
		   bool write)
{
	struct gsb_tenant *t = user->ctx->tenant;

	switch (place) {
	case GSB_PLACE_DEVICE:
		if (is_device_live(user, *addr, bytes, write))
			return 0;
		return gsb_violation(t, "device range %#" PRIx64 "+%" PRIu64 " is not its own",
				     *addr, bytes);
	case GSB_PLACE_HOST:
		if (is_live(&t->host_live, *addr, bytes) ||
		    gsb_virtual_allows(t, *addr, bytes, write))
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

int gsb_memory_check_copy(struct gsb_memory_user *user, const struct gsb_rec_copy *body,
			  uint32_t bytes, struct gsb_cmd_copy *out)
{
	struct gsb_tenant *t = user->ctx->tenant;
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
		return gsb_violation(
			t, "copy of %" PRIu64 "x%" PRIu64 " bytes, pitch %" PRIu64 " to %" PRIu64,
			c.width, c.height, c.src_pitch, c.dst_pitch);
	if (body->src_place == GSB_PLACE_INLINE)
		err = check_inline(t, body, src_bytes, bytes);
	else
		err = resolve(user, body->src_place, &c.src, src_bytes, false);
	if (!err)
		err = resolve(user, body->dst_place, &c.dst, dst_bytes, true);
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

int gsb_memory_check_fill(struct gsb_memory_user *user, const struct gsb_rec_fill *body,
			  struct gsb_cmd_fill *out)
{
	struct gsb_tenant *t = user->ctx->tenant;
	uint64_t row, bytes;

	if (fill_extent(body, &row, &bytes))
		return gsb_violation(t,
				     "fill of %" PRIu64 "x%" PRIu64 " elements of %u bytes, pitch "
				     "%" PRIu64,
				     body->width, body->height, body->elem_bytes, body->pitch);
	if (body->dst % body->elem_bytes || (!is_live(&t->host_live, body->dst, bytes) &&
					     !is_device_live(user, body->dst, bytes, true)))
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
