/*
 * matrix.h - the instructions of warp-wide matrices (wmma, mma, ldmatrix, stmatrix, movmatrix) by their spelling,
 * which says more than the fields of an instruction hold: two layouts, a shape, up to four types.
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
	GSB_PTX_MATRIX_LOAD_TILES,  /* ldmatrix */
	GSB_PTX_MATRIX_STORE_TILES, /* stmatrix */
	GSB_PTX_MATRIX_TRANSPOSE,   /* movmatrix */
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
	GSB_PTX_MATRIX_E4M3,
	GSB_PTX_MATRIX_E5M2,
	GSB_PTX_MATRIX_B16, /* of tiles: any two bytes */
	GSB_PTX_N_MATRIX_TYPES,
};

/* Which lane has which element of a fragment. */
enum gsb_ptx_matrix_layout {
	/* Of wmma, where nobody may ask: row after row, one to each lane in turn. */
	GSB_PTX_LAYOUT_FLAT,
	/* Of mma.sync and of tiles: lane l has, of line l / 4 in each group of 8 lines, the (l % 4)th of runs. Lines
	 * are rows, but of b columns; a run fills a register of factors, and is two sums. */
	GSB_PTX_LAYOUT_GROUPS,
	/* Of mma.sync.m8n8k4 with .f16: four products, each of eight lanes, 4 i to 4 i + 3 and 16 more. */
	GSB_PTX_LAYOUT_QUADS,
};

enum gsb_ptx_matrix_rnd {
	GSB_PTX_MATRIX_RN,
	GSB_PTX_MATRIX_RZ,
	GSB_PTX_MATRIX_RM,
	GSB_PTX_MATRIX_RP,
};

/*
 * d = a * b + c, of m x n, m x k and k x n. A load or store has one of the types, and one of the layouts.
 * Tiles are 8 x 8, one after another by their rows: m is 8 a tile.
 */
struct gsb_ptx_matrix {
	uint64_t what : 3; /* enum gsb_ptx_matrix_what */
	uint64_t m : 6, n : 6, k : 9;
	uint64_t d : 4, a : 4, b : 4, c : 4; /* enum gsb_ptx_matrix_type; NONE: has no part in it */
	uint64_t col_a : 1, col_b : 1;	     /* column after column; col_a: of a load or store */
	uint64_t saturate : 1;
	uint64_t is_and : 1; /* .b1: and, not xor */
	uint64_t space : 3;  /* enum gsb_ptx_space */
	uint64_t layout : 2; /* enum gsb_ptx_matrix_layout */
	uint64_t rnd : 2;    /* enum gsb_ptx_matrix_rnd, of .f64 */
	uint64_t trans : 1;  /* each tile on its way */
};

/*
 * One of the four: rows and columns, type, bits of an element, registers of a lane and their bytes. The elements
 * of .b1 are words of 32 of them, along the rows of a and the columns of b: in_word says how many.
 */
struct gsb_ptx_fragment {
	uint32_t rows, cols, type, bits, in_word, n_regs, reg_bytes;
	uint32_t lines, run; /* GROUPS: how many lines, and elements of a run */
	bool lines_are_cols;
};

/* False: it is none, or types, shape and layouts do not fit together. */
bool gsb_ptx_matrix_decode(const char *spelling, size_t len, struct gsb_ptx_matrix *out);

/* @which: 'a', 'b', 'c' or 'd'; of tiles 'd' */
struct gsb_ptx_fragment gsb_ptx_matrix_fragment(const struct gsb_ptx_matrix *m, char which);

/* False: it works in registers alone. */
bool gsb_ptx_matrix_has_memory(const struct gsb_ptx_matrix *m);

#endif
