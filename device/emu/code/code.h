/*
 * code.h - a lowered kernel: what lower/ makes and exec/ executes.
 *
 * The idea: one operation is done for all 32 lanes of a warp at once. A register is a row of 32 lanes
 * of 4 or 8 bytes (16 for .b128) in the frame of its function, a predicate is a 32-bit mask there, and
 * an op names its operands by their byte offset in the frame. Constants are rows that never change.
 * Handlers come in two versions: one writes whole rows, for when no other living lane of the warp
 * could mind; the other writes the lanes of a mask.
 *
 * forms.def is the table of what an op can be.
 */
#ifndef GSB_DEVICE_EMU_CODE_CODE_H
#define GSB_DEVICE_EMU_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "ptx/kernel.h"

#define GSB_EMU_LANES	  32
#define GSB_EMU_ALL	  UINT32_MAX /* every lane */
#define GSB_EMU_NONE	  UINT32_MAX
#define GSB_EMU_CODE_STEP 16 /* between the addresses of two functions */

#define GSB_EMU_MAX_OPS	   ((uint32_t)1 << 23)
#define GSB_EMU_MAX_FRAME  ((uint32_t)32 << 20)	 /* rows of one function */
#define GSB_EMU_MAX_ROWS   ((uint32_t)64 << 20)	 /* rows of all active calls of one warp */
#define GSB_EMU_MAX_LOCAL  ((uint32_t)512 << 10) /* local memory of a thread */
#define GSB_EMU_MAX_SHARED ((uint32_t)1 << 20)
/*
 * What the system has of a block's shared memory lies before the program's. As on an H200 it uses the first bytes of it only:
 * the second of its two parts, where cooperative groups of several warps meet; the first is empty.
 */
#define GSB_EMU_RESERVED_SHARED 1024
#define GSB_EMU_RESERVED_USED	288
#define GSB_EMU_SHARED_UNIT	128 /* bytes that it is given out in, and a program is told of */
#define GSB_EMU_CALL_ALIGN	16  /* of each argument in local memory */
#define GSB_EMU_FRAME_ALIGN	64  /* of a frame there */

/* The shared memory of a block is so far behind that of the one before it in its cluster, as kernels have the addresses: a shift. */
#define GSB_EMU_RANK_SHIFT 24

/* Frame: this many bytes of scratch row for results that nobody wants, then the scratch predicates. */
#define GSB_EMU_SCRATCH_ROW  0
#define GSB_EMU_SCRATCH_ROW2 512
#define GSB_EMU_SCRATCH_PRED 1024
#define GSB_EMU_FRAME_FIRST  1088

#define GSB_EMU_N_SEEN 4 /* rows of addresses that are remembered at a time */

enum gsb_emu_form {
#define GSB_EMU_FORM(id) GSB_EMU_FORM_##id,
#include "device/emu/code/forms.def"
	GSB_EMU_N_FORMS,
};

/* What the coordinates of a texture or surface mean. */
enum gsb_emu_geometry {
	GSB_EMU_GEOM_1D,
	GSB_EMU_GEOM_2D,
	GSB_EMU_GEOM_3D,
	GSB_EMU_GEOM_A1D, /* layers of 1D */
	GSB_EMU_GEOM_A2D,
	GSB_EMU_GEOM_CUBE,
	GSB_EMU_GEOM_ACUBE,
	GSB_EMU_N_GEOMS
};

/* How a texture is read where it is not gathered. */
enum gsb_emu_tex {
	GSB_EMU_TEX_PLAIN = -1,
	GSB_EMU_TEX_LEVEL = -2,
	GSB_EMU_TEX_GRADIENT = -3,
};

/* What a query of a texture or surface asks for. */
enum gsb_emu_query {
	GSB_EMU_QUERY_WIDTH,
	GSB_EMU_QUERY_HEIGHT,
	GSB_EMU_QUERY_DEPTH,
	GSB_EMU_QUERY_LAYERS,
	GSB_EMU_QUERY_NORMALIZED,
	GSB_EMU_QUERY_LEVELS,
	GSB_EMU_N_QUERIES
};

/* Keys of forms.def: flags below, then rounding, then one more word; conversions add their types. */
#define GSB_EMU_KEY_RND(w)     ((uint64_t)(w) << 32)
#define GSB_EMU_KEY_WORD(w)    ((uint64_t)(w) << 40)
#define GSB_EMU_KEY_TO(type)   ((uint64_t)(type) << 48)
#define GSB_EMU_KEY_FROM(type) ((uint64_t)(type) << 56)

enum gsb_emu_op_flag {
	GSB_EMU_F_NEGATED = 1 << 0, /* predicate operand is !p */
	GSB_EMU_F_ADDR64 = 1 << 1,  /* address row has 64-bit lanes */
	GSB_EMU_F_FRAME = 1 << 2,   /* address counts from the function's local frame */
	GSB_EMU_F_STRONG = 1 << 3,  /* volatile, relaxed, acquire, release: each lane one access */
	GSB_EMU_F_NO_RESULT = 1 << 4, /* red: as atom, the old value is not wanted */
	GSB_EMU_F_WARP = 1 << 5,      /* warp-wide without .sync: members are the active lanes */
	GSB_EMU_F_PSEUDO = 1 << 6,    /* not an instruction of its own in the PTX */
	GSB_EMU_F_AGAIN = 1 << 7,     /* its row of addresses has been seen: lower/again.h */
};

struct gsb_emu_op {
	uint16_t form; /* enum gsb_emu_form */
	uint8_t n;     /* elements of a vector; number of a special register; word of a mode */
	uint8_t flags;
	uint32_t d, a, b, c; /* byte offsets in the frame; forms say when they are something else */
	uint32_t e;
	int64_t imm;
};

/*
 * Instructions, once a warp: all, and those of pipes that do not take one each time (ptx/unit.h; of products those of whole numbers).
 * Their numbers stand in one vector, for they are counted together.
 */
enum gsb_emu_tally_kind {
	GSB_EMU_TALLY_INSNS,
	GSB_EMU_TALLY_ALU,
	GSB_EMU_TALLY_IMUL,
	GSB_EMU_TALLY_SFU,
	GSB_EMU_TALLY_FP64,
};
typedef uint32_t gsb_emu_tally __attribute__((vector_size(32), aligned(16)));

/* A row that holds one value in all its lanes. */
struct gsb_emu_const {
	uint64_t value;
	uint32_t row;
	uint32_t bytes; /* of a lane: 4, 8; 0 = a predicate */
};

struct gsb_emu_func {
	const struct gsb_ptx_func *ptx;
	uint32_t entry;	      /* op */
	uint32_t frame_bytes; /* rows */
	uint32_t
		local_bytes; /* local memory: area of results and arguments, variables, .param locals */
	uint32_t first_const, n_consts;
};

/* Constant once made: any number of blocks on any threads use it. */
struct gsb_emu_code {
	struct gsb_arena arena; /* all of it */
	const struct gsb_ptx_module *module;
	struct gsb_ptx_kernel kernel;
	struct gsb_emu_op *ops;
	const struct gsb_ptx_insn **origin; /* by op */
	gsb_emu_tally *before; /* by op, and one more: of all that stand before it: lower/tally.h */
	uint32_t n_ops;
	struct gsb_emu_func *funcs; /* the entry first */
	uint32_t n_funcs;
	uint32_t *func_of; /* by index in the module: number in funcs, or NONE */
	struct gsb_emu_const *consts;
	uint32_t n_consts;
	uint32_t *lists; /* operand lists of vectors: rows */
	uint32_t n_lists;
	uint32_t chain_local_bytes;	/* local memory that is enough without recursion */
	uint32_t tail_local_bytes;	/* of that, for calls of built-ins */
	uint64_t const_base, const_end; /* .const variables of the module lie in here */
	uint32_t least_insns;		/* that a warp executes, unless it fails: least.h */
	bool grows;			/* recursion, alloca: the launch's stack comes on top */
	bool uses_heap;			/* malloc, free */
	bool uses_stack;		/* alloca */
	bool knows_cluster; /* asks for other blocks of its cluster, or which one it is */
	bool knows_place;   /* reads its SM, or the time */
	bool may_combine;   /* reductions may be kept back: lower/combine.h */
};

size_t gsb_emu_code_bytes(const struct gsb_emu_code *code);

/* No block of it is left. NULL is fine. */
void gsb_emu_code_destroy(struct gsb_emu_code *code);

/* What goes into memory for a pointer to @func (relocations of initialisers). */
uint64_t gsb_emu_func_address(const struct gsb_ptx_func *func);

#endif
