/*
 * sizes.h - how large everything is at a given scale.
 *
 * Scale 1 is the size of the benchmark in Li, Tu, Zeng (2019), Table 1; README.md says what follows
 * the scale linearly and what by its square root. Everything that depends on the scale is decided
 * here, so that generator, queries and reference agree by construction.
 */
#ifndef GPU_DB_SIZES_H
#define GPU_DB_SIZES_H

#include <stdint.h>

#define SCALE_MIN     (1.0 / 1024)
#define SCALE_MAX     16.0
#define SCALE_DEFAULT (1.0 / 256)

#define JOIN_CHUNKS  5	  /* S and Z are read in this many chunks */
#define MD5_MESSAGES 4096 /* threads of the md5 kernel, one message each */

struct sizes {
	double scale;
	uint32_t r_rows;     /* rows of R, the table that is built */
	uint32_t key_range;  /* keys are in [0, key_range) */
	uint32_t chunk_rows; /* rows of a chunk of S, and of Z */
	uint32_t buckets;    /* of a hash table; a power of two */
	uint32_t md5_words;  /* 32-bit words in all; each message is a whole number of md5 blocks */
	uint32_t matrix_n;   /* side of the square matrices; a multiple of 16 */
	uint32_t atoms;
	uint32_t repeats; /* of the distance calculation, inside the kernel */
};

/**
 * sizes_of() - the sizes at a scale
 * Context: pure.
 * Return:  0, -ERANGE when the scale is not in [SCALE_MIN, SCALE_MAX].
 */
int sizes_of(double scale, struct sizes *out);

#endif
