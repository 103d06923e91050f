/*
 * glance.h - accesses that a glance is enough for, as most are: every lane of the warp takes part, and each run of
 * eight lanes lies lane after lane or at one place, in shared memory or where the device's memory is. So are rows,
 * constants, and the tiles of 8, 16 and 32 columns. Weak accesses alone: they may be moved by whole vectors.
 *
 * The glance is taken in each handler, with the size of its elements known, and nothing of it is written down. What
 * it does not take, for its shape or for being wrong, is for reach(), which asks again from the start; so what is
 * counted must be the same there. Included by handlers.c only, built once for each instruction set.
 */
#ifndef GSB_DEVICE_EMU_EXEC_GLANCE_H
#define GSB_DEVICE_EMU_EXEC_GLANCE_H

#include "device/emu/exec/reach.h"
#include "device/emu/exec/single.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#if defined(__clang__)
#define EACH_RUN(k) _Pragma("clang loop unroll(full)") for (unsigned int k = 0; k < N_RUNS; k++)
#else
#define EACH_RUN(k) _Pragma("GCC unroll 4") for (unsigned int k = 0; k < N_RUNS; k++)
#endif

enum glance {
	GLANCE_NO,	 /* nothing has been done, and reach() is to be asked */
	GLANCE_IN_ORDER, /* the lanes of each run follow its first */
	GLANCE_ONE_PLACE,
};

/* The first lane of each run. */
struct runs {
	unsigned char *p[N_RUNS];
};

/* Of runs at one place: whether it is the same one. */
static inline bool is_one(const struct runs *runs)
{
	return runs->p[0] == runs->p[1] && runs->p[1] == runs->p[2] && runs->p[2] == runs->p[3];
}

/* One line, with the same way from run to run. */
static inline bool is_line_of_runs(const uint64_t *at, uint64_t way)
{
	return at[1] - at[0] == way && at[2] - at[1] == way && at[3] - at[2] == way;
}

/* As count_sectors(): changes of sector from lane to lane, one more. @ahead: from a run's first lane to its last. */
static inline uint64_t count_glance(const uint64_t *at, uint64_t ahead, bool line)
{
	uint64_t n = 1;

	if (line)
		return 1 + sector_of(at[N_RUNS - 1] + ahead) - sector_of(at[0]);
	EACH_RUN(k)
	{
		n += sector_of(at[k] + ahead) - sector_of(at[k]);
		n += k && sector_of(at[k]) != sector_of(at[k ? k - 1 : 0] + ahead);
	}
	return n;
}

static GSB_COLD void count_glance_path(struct gsb_emu_paths *n, enum glance how, bool line)
{
	*(!line ? &n->runs : how == GLANCE_IN_ORDER ? &n->in_order : &n->one_place) += 1;
}

static ALWAYS_INLINE void count_all(struct gsb_emu_block *b, bool shared, const uint64_t *at,
				    uint64_t ahead, enum glance how, bool line)
{
	if (shared) {
		b->stats.n_shared++;
	} else {
		b->stats.n_mem_insns++;
		b->stats.n_sectors += count_glance(at, ahead, line);
	}
	if (gsb_unlikely(b->count_paths))
		count_glance_path(&b->paths, how, line);
}

/* Starts that are @ahead and @len bytes from the end of shared memory, at least, and aligned. */
static inline bool glance_shared(const struct gsb_emu_block *b, uint64_t *at, uint64_t ahead,
				 uint32_t len, struct runs *runs)
{
	const uint64_t last = b->shared_bytes - ahead - len; /* the system's part has room */
	uint64_t low = 0;

	EACH_RUN(k)
	{
		at[k] = (uint32_t)at[k];
		if (at[k] > last)
			return false;
		low |= at[k];
		runs->p[k] = b->shared + at[k];
	}
	return !(low & (len - 1));
}

/* Whether the thread holds something of a run, perhaps. */
static bool may_be_held(const struct gsb_emu_exec *x, const uint64_t *at, uint64_t len)
{
	bool near = false;

	EACH_RUN(k) near |= gsb_emu_combiner_is_near(x->combined, at[k], len);
	return near;
}

static inline bool glance_range(const struct gsb_emu_range *range, const uint64_t *at,
				uint64_t ahead, uint32_t len, struct runs *runs)
{
	const uint64_t last = range->size - ahead - len;
	uint64_t low = 0;

	if (range->size < ahead + len)
		return false;
	EACH_RUN(k)
	{
		if (at[k] - range->base > last)
			return false;
		low |= at[k] - range->base;
		runs->p[k] = (void *)(uintptr_t)at[k];
	}
	return !(low & (len - 1));
}

/* Beside what the thread holds: then nothing is open, so that nobody else pays for the question. */
static GSB_NOINLINE bool glance_beside(const struct gsb_emu_exec *x, const uint64_t *at,
				       uint64_t ahead, uint32_t len, struct runs *runs)
{
	return glance_range(&x->block->launch->memory->device, at, ahead, len, runs) &&
	       !may_be_held(x, at, ahead + len);
}

static inline bool glance_device(const struct gsb_emu_block *b, const uint64_t *at, uint64_t ahead,
				 uint32_t len, struct runs *runs)
{
	return glance_range(&b->x.open, at, ahead, len, runs) ||
	       (gsb_unlikely(b->x.combined) && glance_beside(&b->x, at, ahead, len, runs));
}

static ALWAYS_INLINE bool glance_fits(struct gsb_emu_block *b, bool shared, uint64_t *at,
				      uint32_t len, enum glance how, struct runs *runs)
{
	const uint64_t ahead = how == GLANCE_IN_ORDER ? (RUN_LANES - 1) * len : 0;
	bool line;

	if (shared ? !glance_shared(b, at, ahead, len, runs)
		   : !glance_device(b, at, ahead, len, runs))
		return false;
	line = is_line_of_runs(at, how == GLANCE_IN_ORDER ? RUN_LANES * len : 0);
	count_all(b, shared, at, ahead, how, line);
	return true;
}

/* ---- accesses by the same row, again ---- */

/* For those behind this one: found in memory from @base on, so that two of its addresses are less than 2^32 apart. */
static GSB_NOINLINE void remember(struct gsb_emu_seen *seen, const uint64_t *at, uint64_t imm,
				  uint64_t base, uint32_t len, enum glance how)
{
	*seen = (struct gsb_emu_seen){.low = at[0] - imm, .high = at[0] - imm, .len = len};
	for (unsigned int k = 0; k < N_RUNS; k++) {
		seen->at[k] = at[k] - imm;
		seen->low = seen->at[k] < seen->low ? seen->at[k] : seen->low;
		seen->high = seen->at[k] > seen->high ? seen->at[k] : seen->high;
		seen->bits |= seen->at[k] - base;
	}
	seen->line = is_line_of_runs(at, how == GLANCE_IN_ORDER ? RUN_LANES * len : 0);
	seen->how = (seen->high - seen->low) >> 32 ? GLANCE_NO : how;
}

/* @device: what is open of it; all of it with @beside, a constant. */
static ALWAYS_INLINE enum glance glance_again_in(struct gsb_emu_exec *x,
						 const struct gsb_emu_op *op, uint32_t len,
						 const struct gsb_emu_range *device, bool beside,
						 struct runs *runs)
{
	const struct gsb_emu_seen *seen = &x->seen[op->b - 1];
	struct gsb_emu_block *b = x->block;
	const bool shared = op->n == GSB_PTX_SPACE_SHARED;
	const uint64_t imm = (uint64_t)op->imm, base = shared ? 0 : device->base;
	const uint64_t size = shared ? b->shared_bytes : device->size;
	const uint64_t host = (shared ? (uintptr_t)b->shared : 0) + imm;
	const uint64_t ahead = seen->how == GLANCE_IN_ORDER ? (RUN_LANES - 1) * len : 0;
	const uint64_t last = size - ahead - len;
	uint64_t at[N_RUNS];

	if (seen->how == GLANCE_NO || seen->len != len || size < ahead + len ||
	    seen->low + imm - base > last || seen->high + imm - base > last ||
	    (seen->bits | imm) & (len - 1))
		return GLANCE_NO;
	EACH_RUN(k) runs->p[k] = (void *)(uintptr_t)(seen->at[k] + host);
	EACH_RUN(k) at[k] = seen->at[k] + imm;
	if (beside && may_be_held(x, at, ahead + len))
		return GLANCE_NO;
	count_all(b, shared, at, ahead, seen->how, seen->line);
	return seen->how;
}

static GSB_NOINLINE enum glance glance_again_beside(struct gsb_emu_exec *x,
						    const struct gsb_emu_op *op, uint32_t len,
						    struct runs *runs)
{
	return glance_again_in(x, op, len, &x->block->launch->memory->device, true, runs);
}

static ALWAYS_INLINE enum glance glance_again(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					      uint32_t len, struct runs *runs)
{
	enum glance how = glance_again_in(x, op, len, &x->open, false, runs);

	if (gsb_unlikely(how == GLANCE_NO && x->combined && op->n != GSB_PTX_SPACE_SHARED))
		return glance_again_beside(x, op, len, runs);
	return how;
}

/* ---- the glance ---- */

/* @how the lanes lie is for the next one to say, and so a constant in all that follows. */
#define GLANCE(T)                                                                                 \
	static ALWAYS_INLINE bool glance_as_##T(struct gsb_emu_block *b, const T *row,            \
						const struct gsb_emu_op *op, bool shared,         \
						uint32_t len, enum glance how, struct runs *runs) \
	{                                                                                         \
		const run_##T lanes = {0, 1, 2, 3, 4, 5, 6, 7}, *run = (const void *)row;         \
		const run_##T way = lanes * (T)(how == GLANCE_IN_ORDER ? len : 0);                \
		const run_##T off = (run[0] ^ (row[0] + way)) |                                   \
				    (run[1] ^ (row[RUN_LANES] + way)) |                           \
				    (run[2] ^ (row[2 * RUN_LANES] + way)) |                       \
				    (run[3] ^ (row[3 * RUN_LANES] + way));                        \
		const uint64_t imm = (uint64_t)op->imm;                                           \
		uint64_t at[N_RUNS];                                                              \
                                                                                                  \
		if (any_##T(&off))                                                                \
			return false;                                                             \
		EACH_RUN(k) at[k] = row[k * RUN_LANES] + imm;                                     \
		if (!glance_fits(b, shared, at, len, how, runs))                                  \
			return false;                                                             \
		if (op->b)                                                                        \
			remember(&b->x.seen[op->b - 1], at, imm,                                  \
				 shared ? 0 : b->launch->memory->device.base, len, how);          \
		return true;                                                                      \
	}                                                                                         \
	static ALWAYS_INLINE enum glance glance_##T(struct gsb_emu_block *b,                      \
						    const struct gsb_emu_op *op, const T *row,    \
						    bool shared, uint32_t len, struct runs *runs) \
	{                                                                                         \
		enum glance how = row[1] - row[0] == len ? GLANCE_IN_ORDER : GLANCE_ONE_PLACE;    \
                                                                                                  \
		if (how == GLANCE_IN_ORDER)                                                       \
			return glance_as_##T(b, row, op, shared, len, GLANCE_IN_ORDER, runs)      \
				       ? how                                                      \
				       : GLANCE_NO;                                               \
		return row[1] == row[0] && glance_as_##T(b, row, op, shared, len,                 \
							 GLANCE_ONE_PLACE, runs)                  \
			       ? how                                                              \
			       : GLANCE_NO;                                                       \
	}
GLANCE(uint32_t)
GLANCE(uint64_t)
#undef GLANCE

/* For @len bytes of each lane, a power of two that is known when the handler is built. */
static ALWAYS_INLINE enum glance glance(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					const char *r, uint32_t mask, uint32_t len,
					struct runs *runs)
{
	const bool wide = op->flags & GSB_EMU_F_ADDR64;
	const void *row = r + op->a;

	if (op->flags & GSB_EMU_F_AGAIN)
		return glance_again(x, op, len, runs);
	if (op->b)
		x->seen[op->b - 1].how = GLANCE_NO;
	if (mask != GSB_EMU_ALL || op->flags & GSB_EMU_F_STRONG)
		return GLANCE_NO;
	if (op->n == GSB_PTX_SPACE_SHARED)
		return wide ? glance_uint64_t(x->block, op, row, true, len, runs)
			    : glance_uint32_t(x->block, op, row, true, len, runs);
	if (wide && op->n != GSB_PTX_SPACE_LOCAL && op->n != GSB_PTX_SPACE_PARAM)
		return glance_uint64_t(x->block, op, row, false, len, runs);
	return GLANCE_NO;
}

/* ---- eight lanes as a vector ---- */

/*
 * Two runs of a row. Handlers of arithmetic read a row by the largest vectors there are, and a processor waits when
 * what it reads was written in smaller pieces a moment ago: so it is written as it is read.
 */
#define RUN_OF(T) \
	typedef LANE_##T run_of_##T __attribute__((vector_size(RUN_LANES * sizeof(LANE_##T))))
#define PUT_BOTH(T)                                                                         \
	static inline void put_runs_##T(LANE_##T *row, run_of_##T first, run_of_##T second) \
	{                                                                                   \
		memcpy(row, &first, sizeof(first));                                         \
		memcpy(row + RUN_LANES, &second, sizeof(second));                           \
	}
#if defined(__AVX512F__)
#define PUT_AT_ONCE(T)                                                                      \
	static inline void put_runs_##T(LANE_##T *row, run_of_##T first, run_of_##T second) \
	{                                                                                   \
		__m512i both = _mm512_castsi256_si512((__m256i)first);                      \
                                                                                            \
		_mm512_store_si512(row, _mm512_inserti64x4(both, (__m256i)second, 1));      \
	}
#else
#define PUT_AT_ONCE(T) PUT_BOTH(T)
#endif
RUN_OF(u32);
RUN_OF(s32);
RUN_OF(u64);
RUN_OF(s64);
RUN_OF(u128);
PUT_AT_ONCE(u32)
PUT_AT_ONCE(s32)
PUT_BOTH(u64)
PUT_BOTH(s64)
PUT_BOTH(u128)

#endif
