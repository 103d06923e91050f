/*
 * real_data.h - what lies in the arrays of the kernels of real_kernels.cu, without a pattern that a cache or a bank could like; and
 * which three of them are drawn.
 */
#ifndef GSB_TESTS_GPU_REAL_DATA_H
#define GSB_TESTS_GPU_REAL_DATA_H

#include <stdint.h>

static inline uint32_t real_word(uint32_t i)
{
	i = (i ^ i >> 16) * 0x7feb352du;
	i = (i ^ i >> 15) * 0x846ca68bu;
	return i ^ i >> 16;
}

/* 0 .. 1 */
static inline float real_number(uint32_t i)
{
	return (float)(real_word(i + 0x9e3779b9u) >> 8) / 16777216.0f;
}

/* Which three of n kernels, all different: the same for who predicts and who measures. */
#define REAL_TRIPLES 50
#define REAL_SEED    20261125u

static inline void real_draw(uint32_t *state, uint32_t n, uint32_t drawn[3])
{
	do
		for (int i = 0; i < 3; i++) {
			*state = real_word(*state + 1);
			drawn[i] = *state % n;
		}
	while (drawn[0] == drawn[1] || drawn[1] == drawn[2] || drawn[0] == drawn[2]);
}

#endif
