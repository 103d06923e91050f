/*
 * tensor.h - lowering of copies of tensors and of what changes tensor maps.
 */
#ifndef GSB_DEVICE_EMU_LOWER_TENSOR_H
#define GSB_DEVICE_EMU_LOWER_TENSOR_H

#include "device/emu/lower/lowering.h"

/* The instruction at hand: TENSOR_COPY to TENSORMAP_COPY. */
void gsb_emu_lower_tensor(struct gsb_emu_lowering *l);

#endif
