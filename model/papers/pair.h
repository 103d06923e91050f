/*
 * pair.h - which kernels run side by side, and what that costs the later one.
 *
 * Seed: Cruz et al., "Analyzing and Estimating the Performance of Concurrent Kernels Execution on
 * GPUs" (here: Cruz), Algorithms 1 and 2, eq. 1-3, made general: n kernels in the order of
 * submission, each with the blocks that it has not ended yet. What only counts resources is here;
 * issue slots and memory bandwidth are in contend.h.
 */
#ifndef GSB_MODEL_PAPERS_PAIR_H
#define GSB_MODEL_PAPERS_PAIR_H

#include "model/placement/place.h"

enum gsb_case {
	GSB_CASE_A, /* runs beside the earlier kernels from the beginning */
	GSB_CASE_B, /* may start while an earlier kernel is in its last round */
	GSB_CASE_C, /* starts when all earlier kernels have ended */
};

/* A fraction as the paper has it; not reduced. */
struct gsb_ratio {
	uint64_t num, den;
};

static inline double gsb_ratio_value(struct gsb_ratio r)
{
	return (double)r.num / (double)r.den;
}

struct gsb_coreside {
	struct gsb_block_need need;
	enum gsb_case when;
	uint64_t resident;     /* blocks on the GPU at once now */
	uint64_t capacity;     /* blocks that would fit beside the earlier kernels */
	uint64_t full_gpu;     /* blocks that fit when alone */
	uint64_t rounds_alone; /* Cruz, eq. 1 */
	uint64_t rounds;       /* Cruz, eq. 3; 0 unless Case A */
};

/**
 * gsb_coreside() - who of n kernels is resident, and when the others start
 * @kernels: in order of submission; n_blocks = blocks not yet placed     @n: 1 ..
 * GSB_PLACE_KERNELS_MAX
 * @out:     n results; written only on success
 *
 * Source:  Cruz, Algorithms 1 and 2. For two kernels and gsb_rules_printed, to the letter. A kernel
 * is Case B when it fits beside the last round of at least one earlier kernel. Context: pure, any
 * thread, no allocation. Return:  0; -EINVAL: bad arch, kernel or n; -ENOSPC: a kernel of which no
 * block fits an empty SM.
 */
int gsb_coreside(const struct gsb_arch *arch, const struct gsb_rules *rules,
		 const struct gsb_kernel *kernels, uint32_t n, struct gsb_coreside *out);

/**
 * gsb_slowdown() - how many times longer k2 takes beside k1
 * @k1, @k2: needs per block and grid size; k1 is submitted first
 * @arch:    the GPU            @out: >= 1, no unit; written only on success
 *
 * Source:  Cruz, eq. 2 and 3: rounds with the room that k1 leaves, over rounds alone. k1 is taken
 * to outlast k2 and not to suffer; contend.h drops both. Context: pure, any thread, no allocation.
 * Return:  0; -EINVAL; -ENOSPC: a kernel that fits no SM; -EAGAIN: not Case A, the paper has no
 * figure.
 */
int gsb_slowdown(const struct gsb_arch *arch, const struct gsb_rules *rules,
		 const struct gsb_kernel *k1, const struct gsb_kernel *k2, struct gsb_ratio *out);

/* Case of k2 with the launch overhead of Algorithm 1: a k1 that is over before k2 arrives is Case
 * C. */
enum gsb_case gsb_case_with_launch(enum gsb_case when, double k1_ns, double launch_ns);

#endif
