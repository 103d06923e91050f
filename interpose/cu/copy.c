/*
 * copy.c - see copy.h.
 */
#include "interpose/cu/copy.h"

#include "base/checked.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/virtual.h"

/* ---- ends ---- */

/* Of reserved addresses: the host's memory, where the device may not reach it, is as any other of the program. */
static enum gsb_place place_of_reserved(uint64_t addr)
{
	struct gsb_cu_virtual_place place;

	if (!gsb_cu_virtual_find(addr, &place))
		return GSB_CU_PAGEABLE;
	if (!place.is_of_host)
		return GSB_PLACE_DEVICE;
	return place.access ? GSB_PLACE_HOST : GSB_CU_PAGEABLE;
}

struct gsb_cu_end gsb_cu_end_at(uint64_t addr, uint64_t pitch)
{
	enum gsb_place place = gsb_in_device_window(addr)	 ? GSB_PLACE_DEVICE
			       : gsb_in_host_window(addr)	 ? GSB_PLACE_HOST
			       : gsb_alloc_is_far_variable(addr) ? GSB_PLACE_DEVICE
								 : place_of_reserved(addr);

	return (struct gsb_cu_end){.place = place, .addr = addr, .pitch = pitch};
}

bool gsb_cu_copy_span(const struct gsb_cu_copy *c, const struct gsb_cu_end *e, uint64_t *span)
{
	return !gsb_mul_overflows(c->height - 1, e->pitch, span) &&
	       !gsb_add_overflows(*span, c->width, span);
}

bool gsb_cu_copy_is_end_ok(const struct gsb_cu_copy *c, const struct gsb_cu_end *e)
{
	uint64_t span, last;

	if (e->place == GSB_PLACE_STAGING)
		return true; /* a chunk of our own */
	if (c->height > 1 && e->pitch < c->width)
		return false;
	if (!gsb_cu_copy_span(c, e, &span) || gsb_add_overflows(e->addr, span, &last))
		return false;
	if (e->place == GSB_CU_PAGEABLE)
		return e->addr != 0;
	return gsb_alloc_holds(e->addr, span) || gsb_cu_virtual_allows(e->addr, span, e == &c->dst);
}

/* Both ends, when something was freed since n_removals. */
static bool is_still_ok(const struct gsb_cu_copy *c)
{
	return c->n_removals == gsb_alloc_n_removals() ||
	       (gsb_cu_copy_is_end_ok(c, &c->dst) && gsb_cu_copy_is_end_ok(c, &c->src));
}

/* ---- records ---- */

/* Another thread may free what was checked: memory that a record names is the program's until its end is in the ring. */
CUresult gsb_cu_copy_begin(const struct gsb_cu_copy *c, struct gsb_post *p, enum gsb_rec_type type,
			   uint32_t bytes)
{
	CUresult result = gsb_cu_stream_begin(&c->stream, p, type, bytes);

	if (!result && !is_still_ok(c)) {
		gsb_post_cancel();
		return CUDA_ERROR_INVALID_VALUE;
	}
	return result;
}

CUresult gsb_cu_copy_post(const struct gsb_cu_copy *c, uint64_t *number)
{
	struct gsb_post p;
	CUresult result = gsb_cu_copy_begin(c, &p, GSB_REC_COPY, sizeof(struct gsb_rec_copy));

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
