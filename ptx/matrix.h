/*
 * matrix.h - the instructions of warp-wide matrices (wmma) by their spelling, which says more than the fields
 * of an instruction hold: two layouts, a shape, up to four types.
 */
#ifndef GSB_PTX_MATRIX_H
#define GSB_PTX_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gsb_ptx_matrix_what {
	GSB_PTX_MATRIX_LOAD_A,
	GSB_PTX_MATRIX_LOAD_B,
	GSB_PTX_MATRIX_LOAD_C,
	GSB_PTX_MATRIX_STORE_D,
	GSB_PTX_MATRIX_MMA,
};

enum gsb_ptx_matrix_type {
	GSB_PTX_MATRIX_NONE,
	GSB_PTX_MATRIX_F16,
	GSB_PTX_MATRIX_BF16,
	GSB_PTX_MATRIX_TF32,
	GSB_PTX_MATRIX_F32,
	GSB_PTX_MATRIX_F64,
	GSB_PTX_MATRIX_S32,
	GSB_PTX_MATRIX_U8,
	GSB_PTX_MATRIX_S8,
	GSB_PTX_MATRIX_U4,
	GSB_PTX_MATRIX_S4,
	GSB_PTX_MATRIX_B1,
	GSB_PTX_N_MATRIX_TYPES,
};

/* d = a * b + c, of m x n, m x k and k x n. A load or store has one of the types, and one of the layouts. */
struct gsb_ptx_matrix {
	uint64_t what : 3; /* enum gsb_ptx_matrix_what */
	uint64_t m : 6, n : 6, k : 8;
	uint64_t d : 4, a : 4, b : 4, c : 4; /* enum gsb_ptx_matrix_type; NONE: has no part in it */
	uint64_t col_a : 1, col_b : 1;	     /* column after column; col_a: of a load or store */
	uint64_t saturate : 1;
	uint64_t is_and : 1; /* .b1: and, not xor */
	uint64_t space : 3;  /* enum gsb_ptx_space */
};

/* One of the four: rows and columns, type, bits of an element, registers of a lane and their bytes. */
struct gsb_ptx_fragment {
	uint32_t rows, cols, type, bits, n_regs, reg_bytes;
};

/* False: it is none, or types, shape and layouts do not fit together. */
bool gsb_ptx_matrix_decode(const char *spelling, size_t len, struct gsb_ptx_matrix *out);

/* @which: 'a', 'b', 'c' or 'd' */
struct gsb_ptx_fragment gsb_ptx_matrix_fragment(const struct gsb_ptx_matrix *m, char which);

#endif
