/*
 * pageable.c - see pageable.h.
 */
#include "interpose/cu/pageable.h"

#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "interpose/core/crew.h"
#include "interpose/cu/host_call.h"
#include "interpose/cu/staging.h"

#define N_IN_FLIGHT 16	       /* chunks that one copy to pageable memory may hold */
#define CREW_BYTES  (8u << 20) /* a copy to pageable memory of so many is for several threads */
#define EARLY_MAX   65536 /* bytes that a synchronous copy from pageable memory leaves on their way */

/* A part of a copy's rectangle that fits a chunk: whole rows, or a part of one row. */
struct piece {
	uint64_t row, n_rows, column, width;
};

/* ---- pieces ---- */

static struct piece first_piece(const struct gsb_cu_copy *c, uint64_t bytes)
{
	uint64_t rows = bytes / c->width;

	return (struct piece){
		.n_rows = rows > c->height ? c->height
			  : rows	   ? rows
					   : 1,
		.width = rows ? c->width : bytes,
	};
}

static bool next_piece(const struct gsb_cu_copy *c, struct piece *p, uint64_t bytes)
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

static uint64_t piece_addr(const struct gsb_cu_end *e, const struct piece *p)
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

/* Out of a chunk: the program's memory is mostly larger than the cache, and the chunk is to stay there. */
static void empty_rows(uint8_t *dst, uint64_t pitch, const uint8_t *src, const struct piece *p)
{
	if (pitch == p->width) {
		gsb_bulk_copy(dst, src, p->width * p->n_rows);
		return;
	}
	for (uint64_t i = 0; i < p->n_rows; i++)
		gsb_bulk_copy(dst + i * pitch, src + i * p->width, p->width);
}

/* ---- records ---- */

/* The source lies behind the body, linear. */
CUresult gsb_cu_copy_post_inline(const struct gsb_cu_copy *c, uint64_t *number)
{
	uint32_t bytes = (uint32_t)(c->width * c->height);
	const struct piece all = {.n_rows = c->height, .width = c->width};
	struct gsb_rec_copy *body;
	struct gsb_post p;
	CUresult result = gsb_cu_copy_begin(c, &p, GSB_REC_COPY, sizeof(*body) + bytes);

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

static CUresult post_piece(const struct gsb_cu_copy *c, const struct piece *p,
			   const struct gsb_chunk *chunk, uint64_t *number)
{
	struct gsb_cu_copy part = *c;
	struct gsb_cu_end *staged = c->src.place == GSB_CU_PAGEABLE ? &part.src : &part.dst;

	part.src.addr = piece_addr(&c->src, p);
	part.dst.addr = piece_addr(&c->dst, p);
	*staged = (struct gsb_cu_end){
		.place = GSB_PLACE_STAGING, .addr = chunk->offset, .pitch = p->width};
	part.width = p->width;
	part.height = p->n_rows;
	return gsb_cu_copy_post(&part, number);
}

/* ---- pageable to device ---- */

static CUresult stage_out(const struct gsb_cu_copy *c, const struct piece *p, uint64_t *number)
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

static CUresult copy_out(const struct gsb_cu_copy *c, uint64_t *number)
{
	uint64_t bytes = gsb_chunk_bytes();
	struct piece p = first_piece(c, bytes);
	CUresult result;

	if (c->width * c->height <= GSB_INLINE_COPY_MAX)
		return gsb_cu_copy_post_inline(c, number);
	do
		result = stage_out(c, &p, number);
	while (!result && next_piece(c, &p, bytes));
	return result;
}

/*
 * By CUDA's programming guide the host is not held up by a copy of 64 KiB or less. Programs take a longer one to be
 * complete, and use it in streams that wait for no other.
 */
static CUresult copy_out_sync(const struct gsb_cu_copy *c)
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
	const struct gsb_cu_copy *copy;
	struct gsb_chunk chunk;
	struct piece piece;
	uint64_t number;
};

static CUresult send_for(const struct gsb_cu_copy *c, const struct piece *p, struct inbound *in)
{
	CUresult result;

	in->copy = c;
	in->piece = *p;
	result = post_piece(c, p, &in->chunk, &in->number);
	if (result)
		gsb_chunk_give_back(&in->chunk);
	else
		gsb_chunk_lend(&in->chunk, &c->stream, in->number, true);
	return result;
}

/* Of those that are sent for: a ring. */
struct inbounds {
	struct inbound flight[N_IN_FLIGHT];
	unsigned first, n;
};

static struct inbound *inbound_at(struct inbounds *in, unsigned i)
{
	return &in->flight[(in->first + i) % N_IN_FLIGHT];
}

static void empty_one(void *job)
{
	const struct inbound *in = job;
	const struct gsb_cu_end *dst = &in->copy->dst;

	empty_rows((uint8_t *)piece_addr(dst, &in->piece), dst->pitch, in->chunk.bytes, &in->piece);
}

/* The first, and as many of those behind it as have come already and there are hands for. */
static CUresult empty(const struct gsb_cu_copy *c, struct inbounds *in, unsigned n_hands)
{
	void *jobs[1 + GSB_CREW_MAX] = {inbound_at(in, 0)};
	CUresult result = gsb_cu_stream_wait_for(&c->stream, inbound_at(in, 0)->number);
	unsigned n = 1;

	for (; !result && n <= n_hands && n < in->n; n++) {
		if (!gsb_chunk_has_passed(&inbound_at(in, n)->chunk))
			break;
		jobs[n] = inbound_at(in, n);
	}
	if (!result)
		gsb_crew_run(empty_one, jobs, n);
	for (unsigned i = 0; i < n; i++)
		gsb_chunk_give_back(&inbound_at(in, i)->chunk);
	in->first = (in->first + n) % N_IN_FLIGHT;
	in->n -= n;
	return result;
}

/* No more than there are processors, without the one of this thread. */
static unsigned hire(const struct gsb_cu_copy *c)
{
	if (c->width * c->height < CREW_BYTES || !gsb_proc.spin.n_max)
		return 0;
	return gsb_crew_hire(gsb_proc.spin.n_max);
}

/* Only with nothing in flight does it wait for a chunk: a holder that waits could deadlock with another. */
static CUresult copy_in(const struct gsb_cu_copy *c)
{
	uint64_t bytes = gsb_chunk_bytes();
	struct piece p = first_piece(c, bytes);
	struct inbounds all = {0};
	unsigned n_hands = hire(c);
	bool more = true;
	CUresult result = CUDA_SUCCESS, r;

	while (all.n || (more && !result)) {
		struct inbound *in = inbound_at(&all, all.n);
		bool have = false;

		if (more && !result && all.n < N_IN_FLIGHT)
			have = all.n ? gsb_chunk_try_take(&in->chunk)
				     : !(result = gsb_chunk_take(&in->chunk));
		if (have) {
			result = send_for(c, &p, in);
			all.n += !result;
			more = next_piece(c, &p, bytes);
		} else if (all.n) {
			r = empty(c, &all, n_hands);
			result = result ? result : r;
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

static CUresult post_later(const struct gsb_cu_copy *c, const struct later *l)
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

static CUresult fill_later(const struct gsb_cu_copy *c, const struct piece *p,
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

static CUresult empty_later(const struct gsb_cu_copy *c, const struct piece *p,
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

static CUresult copy_later(const struct gsb_cu_copy *c)
{
	uint64_t bytes = gsb_chunk_bytes();
	struct piece p = first_piece(c, bytes);
	struct gsb_chunk chunk;
	CUresult result;

	if (gsb_cu_end_is_host(&c->dst) && gsb_cu_end_is_host(&c->src)) {
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
			result = c->dst.place == GSB_CU_PAGEABLE ? empty_later(c, &p, &chunk)
								 : fill_later(c, &p, &chunk);
	} while (!result && next_piece(c, &p, bytes));
	return result;
}

/* ---- the whole ---- */

CUresult gsb_cu_copy_pageable(const struct gsb_cu_copy *c)
{
	const struct piece all = {.n_rows = c->height, .width = c->width};
	uint64_t number;
	CUresult result;

	if (c->is_later)
		return copy_later(c);
	if (gsb_cu_end_is_host(&c->dst) && gsb_cu_end_is_host(&c->src)) {
		result = gsb_cu_stream_wait(&c->stream);
		if (!result)
			copy_rows((uint8_t *)c->dst.addr, c->dst.pitch,
				  (const uint8_t *)c->src.addr, c->src.pitch, &all);
		return result;
	}
	if (c->dst.place == GSB_CU_PAGEABLE)
		return copy_in(c);
	return c->is_sync ? copy_out_sync(c) : copy_out(c, &number);
}
