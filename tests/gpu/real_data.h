/*
 * real_data.h - what lies in the arrays of the kernels of real_kernels.cu: no pattern that a cache or a bank could like.
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

#endif
