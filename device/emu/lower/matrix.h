/*
 * matrix.h - lowering of the matrices of a warp.
 */
#ifndef GSB_DEVICE_EMU_LOWER_MATRIX_H
#define GSB_DEVICE_EMU_LOWER_MATRIX_H

#include "device/emu/lower/lowering.h"

/* The instruction at hand, of class MATRIX. */
void gsb_emu_lower_matrix(struct gsb_emu_lowering *l);

#endif
