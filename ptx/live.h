/*
 * live.h - which registers hold a value that may still be read, per block; and what a compiler
 * would need: an estimate of the hardware registers.
 *
 * Bitsets are arrays of 64-bit words, bit r for register r. A guarded write does not end the life
 * of what was there before.
 */
#ifndef GSB_PTX_LIVE_H
#define GSB_PTX_LIVE_H

#include "ptx/cfg.h"

/* Words of bitsets looked at, for one function and for all of a kernel; a second or two. */
#define GSB_PTX_MAX_FLOW_STEPS ((uint64_t)1 << 30)

struct gsb_ptx_live {
	uint64_t n_steps;   /* that it took */
	uint32_t n_words;   /* of one bitset */
	const uint64_t *in; /* of block b: in + b * n_words */
	const uint64_t *out;
};

/**
 * gsb_ptx_live_build() - live registers at the ends of each block
 * Context: pure. Return: 0, -ENOMEM, -E2BIG (over GSB_PTX_MAX_FLOW_STEPS: made to be slow).
 */
int gsb_ptx_live_build(const struct gsb_ptx_cfg *cfg, struct gsb_arena *arena,
		       struct gsb_ptx_live *out);

/* The registers that a function's caller reads when it returns. */
void gsb_ptx_each_result(const struct gsb_ptx_func *f, gsb_ptx_reg_fn *fn, void *ctx);

static inline bool gsb_ptx_live_test(const uint64_t *set, uint32_t reg)
{
	return set[reg / 64] >> (reg % 64) & 1;
}

/*
 * The most 32-bit registers live at one place (predicates apart), rounded up to 8; what
 * cuFuncGetAttribute would call the register count, as an estimate. At least 8. *out is written
 * only on success.
 */
int gsb_ptx_live_pressure(const struct gsb_ptx_cfg *cfg, const struct gsb_ptx_live *live,
			  struct gsb_arena *arena, uint32_t *out);

#endif
