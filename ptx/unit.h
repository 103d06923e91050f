/*
 * unit.h - which pipeline of an SM an instruction goes to.
 */
#ifndef GSB_PTX_UNIT_H
#define GSB_PTX_UNIT_H

#include "ptx/ptx.h"

/* The pipelines of an SM that PTX instructions go to. */
enum gsb_ptx_unit {
	GSB_PTX_UNIT_ALU,  /* integer and logic, comparisons, moves, votes */
	GSB_PTX_UNIT_FMA,  /* fp32 and fp16 arithmetic, integer multiplication, dot products */
	GSB_PTX_UNIT_FP64, /* fp64 arithmetic */
	GSB_PTX_UNIT_XU,   /* transcendental functions, conversions of floats, counts of bits */
	GSB_PTX_UNIT_LSU,  /* loads, stores, atomics, shuffles */
	GSB_PTX_UNIT_TEX,  /* textures and surfaces */
	GSB_PTX_UNIT_ADU,  /* block barriers, constant loads, parameters */
	GSB_PTX_UNIT_CBU,  /* branches, calls, exits, barriers of a warp */
	GSB_PTX_UNIT_OTHER,
	GSB_PTX_N_UNITS,
};

/*
 * Source: "Pipelines" in the documentation of Nsight Compute, for compute capability 9.0; of what an assembler
 * makes several instructions of (division, 64-bit integers) the pipeline of the most. Pure.
 */
enum gsb_ptx_unit gsb_ptx_unit_of(const struct gsb_ptx_insn *in);

/* It multiplies whole numbers: GSB_PTX_UNIT_FMA takes fewer of these than of floats. Pure. */
bool gsb_ptx_multiplies_integers(const struct gsb_ptx_insn *in);

#endif
