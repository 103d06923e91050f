/*
 * quads.h - vectors of four words, of all lanes of a warp, between memory and four rows: eight lanes at a time, in
 * registers. One lane's 16 bytes are one access (single.h). Included by mem.h only.
 */
#ifndef GSB_DEVICE_EMU_EXEC_QUADS_H
#define GSB_DEVICE_EMU_EXEC_QUADS_H

#include "device/emu/exec/glance.h"
#include "device/emu/exec/single.h"

typedef uint32_t quad __attribute__((vector_size(16)));

#define IS_QUAD(M, L, op) (sizeof(VAL_##M) == 4 && sizeof(LANE_##L) == 4 && (op)->e == 4)

#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (run_of_u32){__VA_ARGS__})
#endif

/* In each half, of four lanes: what was lane j of v[i] becomes lane i of v[j]. */
static inline void turn_quads(run_of_u32 v[4])
{
	const run_of_u32 ab0 = SHUFFLE(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13);
	const run_of_u32 ab2 = SHUFFLE(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
	const run_of_u32 cd0 = SHUFFLE(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13);
	const run_of_u32 cd2 = SHUFFLE(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);

	v[0] = SHUFFLE(ab0, cd0, 0, 1, 8, 9, 4, 5, 12, 13);
	v[1] = SHUFFLE(ab0, cd0, 2, 3, 10, 11, 6, 7, 14, 15);
	v[2] = SHUFFLE(ab2, cd2, 0, 1, 8, 9, 4, 5, 12, 13);
	v[3] = SHUFFLE(ab2, cd2, 2, 3, 10, 11, 6, 7, 14, 15);
}

static inline run_of_u32 quad_pair(single_vector low, single_vector high)
{
#if defined(__AVX2__)
	return (run_of_u32)_mm256_set_m128i((__m128i)high, (__m128i)low);
#else
	single_vector both[2] = {low, high};
	run_of_u32 v;

	memcpy(&v, both, sizeof(v));
	return v;
#endif
}

static inline single_vector half_of(run_of_u32 v, unsigned int i)
{
#if defined(__AVX2__)
	return (single_vector)(i ? _mm256_extracti128_si256((__m256i)v, 1)
				 : _mm256_castsi256_si128((__m256i)v));
#else
	single_vector both[2];

	memcpy(both, &v, sizeof(v));
	return both[i];
#endif
}

/* Words 0 to 3 of the lanes of a run; @step: from lane to lane. */
static inline void take_run(const struct runs *runs, unsigned int k, uint64_t step, run_of_u32 v[4])
{
	const unsigned char *p = runs->p[k];

	v[0] = quad_pair(single_load_vector(p), single_load_vector(p + 4 * step));
	v[1] = quad_pair(single_load_vector(p + step), single_load_vector(p + 5 * step));
	v[2] = quad_pair(single_load_vector(p + 2 * step), single_load_vector(p + 6 * step));
	v[3] = quad_pair(single_load_vector(p + 3 * step), single_load_vector(p + 7 * step));
	turn_quads(v);
}

/* False: nothing has been done. */
static GSB_NOINLINE bool load_quads(struct gsb_emu_exec *x, const struct gsb_emu_op *op, char *r,
				    uint32_t mask)
{
	const uint32_t *list = x->block->code->lists + op->d;
	struct runs runs;
	const enum glance how = glance(x, op, r, mask, sizeof(quad), &runs);
	const uint64_t step = how == GLANCE_IN_ORDER ? sizeof(quad) : 0;

	if (how == GLANCE_NO)
		return false;
	for (unsigned int k = 0; k < N_RUNS; k += 2) {
		const size_t at = k * RUN_LANES * sizeof(uint32_t);
		run_of_u32 v[4], w[4];

		take_run(&runs, k, step, v);
		take_run(&runs, k + 1, step, w);
		put_runs_u32((void *)(r + list[0] + at), v[0], w[0]);
		put_runs_u32((void *)(r + list[1] + at), v[1], w[1]);
		put_runs_u32((void *)(r + list[2] + at), v[2], w[2]);
		put_runs_u32((void *)(r + list[3] + at), v[3], w[3]);
	}
	return true;
}

/* Lane after lane, so that at one place the last one's stays. */
static inline void give_run(const struct runs *runs, unsigned int k, uint64_t step, run_of_u32 v[4])
{
	unsigned char *p = runs->p[k];

	turn_quads(v);
	single_store_vector(p, half_of(v[0], 0));
	single_store_vector(p + step, half_of(v[1], 0));
	single_store_vector(p + 2 * step, half_of(v[2], 0));
	single_store_vector(p + 3 * step, half_of(v[3], 0));
	single_store_vector(p + 4 * step, half_of(v[0], 1));
	single_store_vector(p + 5 * step, half_of(v[1], 1));
	single_store_vector(p + 6 * step, half_of(v[2], 1));
	single_store_vector(p + 7 * step, half_of(v[3], 1));
}

static GSB_NOINLINE bool store_quads(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
				     const char *r, uint32_t mask)
{
	const uint32_t *list = x->block->code->lists + op->d;
	struct runs runs;
	const enum glance how = glance(x, op, r, mask, sizeof(quad), &runs);
	const uint64_t step = how == GLANCE_IN_ORDER ? sizeof(quad) : 0;

	if (how == GLANCE_NO)
		return false;
	for (unsigned int k = 0; k < N_RUNS; k++) {
		const size_t at = k * sizeof(run_of_u32);
		run_of_u32 v[4] = {
			*(const run_of_u32 *)(const void *)(r + list[0] + at),
			*(const run_of_u32 *)(const void *)(r + list[1] + at),
			*(const run_of_u32 *)(const void *)(r + list[2] + at),
			*(const run_of_u32 *)(const void *)(r + list[3] + at),
		};

		give_run(&runs, k, step, v);
	}
	return true;
}

#endif
