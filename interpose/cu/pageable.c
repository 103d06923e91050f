/*
 * pageable.c - see pageable.h.
 */
#include "interpose/cu/pageable.h"

#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "interpose/core/crew.h"
#include "interpose/core/frame.h"
#include "interpose/cu/host_call.h"
#include "interpose/cu/staging.h"

#define N_IN_FLIGHT GSB_CREW_PARTS_MAX /* chunks that one copy may hold */
#define PIECE_LEAST \
	(256u << 10) /* below, what a record costs is more than what others would copy meanwhile */
#define N_PIECES  16 /* of a copy, for those who help, until they are as large as a chunk */
#define EARLY_MAX 65536 /* bytes that a synchronous copy from pageable memory leaves on their way */

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

/*
 * The source lies behind the body, linear. It is read before the ring is locked: where a fault is handled by the program, the
 * handler may call CUDA, or never come back.
 */
CUresult gsb_cu_copy_post_inline(const struct gsb_cu_copy *c, uint64_t *number)
{
	uint32_t bytes = (uint32_t)(c->width * c->height);
	const struct piece all = {.n_rows = c->height, .width = c->width};
	uint8_t source[GSB_INLINE_COPY_MAX];
	struct gsb_rec_copy *body;
	struct gsb_post p;
	CUresult result;

	copy_rows(source, c->width, (const uint8_t *)c->src.addr, c->src.pitch, &all);
	result = gsb_cu_copy_begin(c, &p, GSB_REC_COPY, sizeof(*body) + bytes);
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
	memcpy(body + 1, source, bytes);
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

/* ---- pieces on their way ---- */

/* A piece and its chunk. */
struct flight {
	struct gsb_crew_part part; /* that fills it, or empties it */
	const struct gsb_cu_copy *copy;
	struct gsb_chunk chunk;
	struct piece piece;
	uint64_t number; /* of the record that empties or fills it on the device's side */
};

/* Those of one copy that have a chunk and are not through, oldest first: a ring. The first n_given of them the crew has, or has done. */
struct flights {
	struct gsb_cu_copy copy;
	struct gsb_crew crew;
	uint64_t bytes;	 /* of a piece, at most */
	unsigned n_most; /* chunks */
	struct piece next;
	bool more; /* next is one */
	CUresult result;
	unsigned first, n, n_given;
	struct flight ring[N_IN_FLIGHT];
};

/*
 * Of the copy that has the crew. Not in its caller's stack: a handler for a fault in the program's
 * memory may leave the copy while others are at its parts.
 */
static struct flights with_crew;
static _Atomic uint32_t crew_holder; /* that copy's thread; 0: none */

static struct flight *flight_at(struct flights *f, unsigned i)
{
	return &f->ring[(f->first + i) % N_IN_FLIGHT];
}

/* Small ones spread a copy over more threads, large ones keep more bytes on their way with as many records. */
static uint64_t piece_bytes(uint64_t all)
{
	const uint64_t chunk = gsb_chunk_bytes();
	uint64_t bytes = all / N_PIECES & ~(uint64_t)63;

	if (bytes < PIECE_LEAST)
		bytes = PIECE_LEAST;
	return bytes < chunk ? bytes : chunk;
}

/* Return: where they are; own, without the crew. */
static struct flights *begin_flights(struct flights *own, const struct gsb_cu_copy *c)
{
	const unsigned n = gsb_chunks_of_one();
	struct gsb_crew crew;
	struct flights *f;

	gsb_crew_take(&crew, c->width * c->height, gsb_proc.spin.n_max);
	f = crew.is_there ? &with_crew : own;
	f->crew = crew;
	if (crew.is_there)
		atomic_store_explicit(&crew_holder, gsb_self.id, memory_order_relaxed);
	f->copy = *c;
	f->bytes = piece_bytes(c->width * c->height);
	f->n_most = n < N_IN_FLIGHT ? n : N_IN_FLIGHT;
	f->next = first_piece(c, f->bytes);
	f->more = true;
	f->result = CUDA_SUCCESS;
	f->first = f->n = f->n_given = 0;
	return f;
}

/* They may be another copy's as soon as the crew is given up. */
static CUresult end_flights(const struct flights *f)
{
	const CUresult result = f->result;
	struct gsb_crew crew = f->crew;

	if (crew.is_there)
		atomic_store_explicit(&crew_holder, 0, memory_order_relaxed);
	gsb_crew_release(&crew);
	return result;
}

static void note(struct flights *f, CUresult result)
{
	if (!f->result)
		f->result = result;
}

/*
 * A chunk for the next piece, if there may be more than so many. Only with nothing in flight does it wait for one: a holder that
 * waits could deadlock with another.
 */
static struct flight *take_next(struct flights *f, unsigned most)
{
	struct flight *next = flight_at(f, f->n);

	if (!f->more || f->result || f->n >= most)
		return NULL;
	if (f->n)
		return gsb_chunk_try_take(&next->chunk, gsb_self.id) ? next : NULL;
	note(f, gsb_chunk_take(&next->chunk, gsb_self.id));
	return f->result ? NULL : next;
}

static void add_next(struct flights *f, struct flight *next)
{
	next->copy = &f->copy;
	next->piece = f->next;
	f->more = next_piece(&f->copy, &f->next, f->bytes);
	f->n++;
}

/* end: the program's */
static void give_next(struct flights *f, const struct gsb_cu_end *end,
		      void (*run)(struct gsb_crew_part *part))
{
	struct flight *next = flight_at(f, f->n_given);
	const struct piece *p = &next->piece;

	next->part.run = run;
	next->part.at = (void *)piece_addr(end, p);
	next->part.bytes = (p->n_rows - 1) * end->pitch + p->width;
	next->part.writes = end == &f->copy.dst;
	gsb_crew_give(&f->crew, &next->part);
	f->n_given++;
}

static bool is_first_done(struct flights *f)
{
	return f->n_given && gsb_crew_has_done(&flight_at(f, 0)->part);
}

static void drop_first(struct flights *f)
{
	f->first = (f->first + 1) % N_IN_FLIGHT;
	f->n--;
	f->n_given--;
}

/* ---- pageable to device: filled by any, posted in order ---- */

static void fill_one(struct gsb_crew_part *part)
{
	const struct flight *f = gsb_container_of(part, struct flight, part);
	const struct gsb_cu_end *src = &f->copy->src;

	copy_rows(f->chunk.bytes, f->piece.width, (const uint8_t *)piece_addr(src, &f->piece),
		  src->pitch, &f->piece);
}

static void post_first(struct flights *f, uint64_t *number)
{
	struct flight *first = flight_at(f, 0);

	if (!f->result)
		f->result = post_piece(&f->copy, &first->piece, &first->chunk, number);
	if (f->result)
		gsb_chunk_give_back(&first->chunk);
	else
		gsb_chunk_lend(&first->chunk, &f->copy.stream, *number, false);
	drop_first(f);
}

/* Two for each that fills them, so that nobody waits for the next. */
static unsigned most_to_fill(const struct flights *f)
{
	unsigned n = 2 * gsb_crew_size(&f->crew) + 1;

	return n < f->n_most ? n : f->n_most;
}

static CUresult copy_out_pieces(const struct gsb_cu_copy *c, uint64_t *number)
{
	struct flights own, *f = begin_flights(&own, c);
	struct flight *next;

	while (f->n || (f->more && !f->result)) {
		if (is_first_done(f)) {
			post_first(f, number);
		} else if ((next = take_next(f, most_to_fill(f)))) {
			add_next(f, next);
			give_next(f, &f->copy.src, fill_one);
		} else if (f->n && !gsb_crew_help(&f->crew)) {
			gsb_crew_wait(&flight_at(f, 0)->part);
		}
	}
	return end_flights(f);
}

/* ---- device to pageable: posted ahead, emptied by any ---- */

static void empty_one(struct gsb_crew_part *part)
{
	const struct flight *f = gsb_container_of(part, struct flight, part);
	const struct gsb_cu_end *dst = &f->copy->dst;

	empty_rows((uint8_t *)piece_addr(dst, &f->piece), dst->pitch, f->chunk.bytes, &f->piece);
}

static void do_nothing(struct gsb_crew_part *part)
{
}

static void send_for(struct flights *f, struct flight *next)
{
	CUresult result = post_piece(&f->copy, &f->next, &next->chunk, &next->number);

	note(f, result);
	if (result) {
		gsb_chunk_give_back(&next->chunk);
		return;
	}
	gsb_chunk_lend(&next->chunk, &f->copy.stream, next->number, true);
	add_next(f, next);
}

/* Once it has come, or never will. */
static void empty_next(struct flights *f)
{
	CUresult result = gsb_cu_stream_wait_for(&f->copy.stream, flight_at(f, f->n_given)->number);

	note(f, result);
	give_next(f, &f->copy.dst, result ? do_nothing : empty_one);
}

static bool has_next_come(struct flights *f)
{
	return f->n_given < f->n && gsb_chunk_has_passed(&flight_at(f, f->n_given)->chunk);
}

static void give_back_first(struct flights *f)
{
	gsb_chunk_give_back(&flight_at(f, 0)->chunk);
	drop_first(f);
}

static CUresult copy_in(const struct gsb_cu_copy *c)
{
	struct flights own, *f = begin_flights(&own, c);
	struct flight *next;

	while (f->n || (f->more && !f->result)) {
		if (is_first_done(f))
			give_back_first(f);
		else if ((next = take_next(f, f->n_most)))
			send_for(f, next);
		else if (has_next_come(f))
			empty_next(f);
		else if (gsb_crew_help(&f->crew))
			continue;
		else if (f->n_given)
			gsb_crew_wait(&flight_at(f, 0)->part);
		else if (f->n)
			empty_next(f);
	}
	return end_flights(f);
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
		result = gsb_chunk_take(&chunk, 0); /* the host function's */
		if (!result)
			result = c->dst.place == GSB_CU_PAGEABLE ? empty_later(c, &p, &chunk)
								 : fill_later(c, &p, &chunk);
	} while (!result && next_piece(c, &p, bytes));
	return result;
}

/* ---- in the middle of another copy of this thread ---- */

/*
 * A handler for a signal, or for a fault in the program's memory, that copies. What it interrupted holds chunks and perhaps the
 * crew, and goes on only after it. So it waits for no chunk that another copy holds, and holds none where another handler may begin.
 */

static struct gsb_cu_copy part_of(const struct gsb_cu_copy *c, const struct piece *p)
{
	struct gsb_cu_copy part = *c;

	part.dst.addr = piece_addr(&c->dst, p);
	part.src.addr = piece_addr(&c->src, p);
	part.width = p->width;
	part.height = p->n_rows;
	return part;
}

static CUresult copy_out_inline(const struct gsb_cu_copy *c, uint64_t *number)
{
	struct piece p = first_piece(c, GSB_INLINE_COPY_MAX);
	CUresult result;

	do {
		const struct gsb_cu_copy part = part_of(c, &p);

		result = gsb_cu_copy_post_inline(&part, number);
	} while (!result && next_piece(c, &p, GSB_INLINE_COPY_MAX));
	return result;
}

/* bytes: p's, linear */
static CUresult fetch_piece(const struct gsb_cu_copy *c, const struct piece *p, uint8_t *bytes)
{
	struct gsb_chunk chunk;
	uint64_t number;
	CUresult result = gsb_chunk_take_last(&chunk);

	if (result)
		return result;
	result = post_piece(c, p, &chunk, &number);
	if (!result) {
		gsb_chunk_lend(&chunk, &c->stream, number, true);
		result = gsb_cu_stream_wait_for(&c->stream, number);
	}
	if (!result)
		memcpy(bytes, chunk.bytes, p->width * p->n_rows);
	gsb_chunk_give_back(&chunk);
	return result;
}

static CUresult copy_in_nested(const struct gsb_cu_copy *c)
{
	struct piece p = first_piece(c, GSB_INLINE_COPY_MAX);
	uint8_t bytes[GSB_INLINE_COPY_MAX];
	CUresult result;

	do {
		result = fetch_piece(c, &p, bytes);
		if (!result)
			copy_rows((uint8_t *)piece_addr(&c->dst, &p), c->dst.pitch, bytes, p.width,
				  &p);
	} while (!result && next_piece(c, &p, GSB_INLINE_COPY_MAX));
	return result;
}

/* ---- the whole ---- */

/* What a copy of this thread that was left has. No part of it is being done when its chunks come back. */
static void reclaim(void)
{
	if (atomic_load_explicit(&crew_holder, memory_order_relaxed) == gsb_self.id) {
		struct gsb_crew crew = with_crew.crew;

		gsb_crew_abandon_parts(&crew);
		atomic_store_explicit(&crew_holder, 0, memory_order_relaxed);
		gsb_crew_release(&crew);
	}
	gsb_chunks_give_back_of(gsb_self.id);
	gsb_self.copy_frame = 0;
}

void gsb_cu_copy_end_thread(void)
{
	if (gsb_self.copy_frame)
		reclaim();
}

/*
 * Through chunks.
 * @frame: of the call; those of two calls one in the other differ
 */
static CUresult copy_staged(const struct gsb_cu_copy *c, uintptr_t frame, uint64_t *number)
{
	const bool is_in = c->dst.place == GSB_CU_PAGEABLE;
	CUresult result = gsb_self_enter();

	if (result)
		return result;
	if (gsb_self.copy_frame && !gsb_frame_is_left(gsb_self.copy_frame, frame))
		return is_in ? copy_in_nested(c) : copy_out_inline(c, number);
	if (gsb_self.copy_frame)
		reclaim();
	gsb_self.copy_frame = frame;
	result = is_in ? copy_in(c) : copy_out_pieces(c, number);
	gsb_self.copy_frame = 0;
	return result;
}

static CUresult copy_out(const struct gsb_cu_copy *c, uintptr_t frame, uint64_t *number)
{
	if (c->width * c->height <= GSB_INLINE_COPY_MAX)
		return gsb_cu_copy_post_inline(c, number);
	return copy_staged(c, frame, number);
}

/*
 * By CUDA's programming guide the host is not held up by a copy of 64 KiB or less. Programs take a longer one to be
 * complete, and use it in streams that wait for no other.
 */
static CUresult copy_out_sync(const struct gsb_cu_copy *c, uintptr_t frame)
{
	uint64_t number = 0;
	CUresult result = gsb_cu_stream_wait(&c->stream);

	if (!result)
		result = copy_out(c, frame, &number);
	if (result || c->width * c->height <= EARLY_MAX)
		return result;
	return gsb_cu_stream_wait_for(&c->stream, number);
}

CUresult gsb_cu_copy_pageable(const struct gsb_cu_copy *c)
{
	const struct piece all = {.n_rows = c->height, .width = c->width};
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
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
		return copy_staged(c, frame, &number);
	return c->is_sync ? copy_out_sync(c, frame) : copy_out(c, frame, &number);
}
