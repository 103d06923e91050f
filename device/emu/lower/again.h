/*
 * again.h - accesses whose addresses an access before them has seen already.
 */
#ifndef GSB_DEVICE_EMU_LOWER_AGAIN_H
#define GSB_DEVICE_EMU_LOWER_AGAIN_H

#include "device/emu/code/code.h"

/*
 * Loops that were unrolled and structures go through memory by one register and many offsets. Marks such accesses
 * with GSB_EMU_F_AGAIN, and gives them and the one that is to remember where the lanes lie the same place to do so
 * (op->b, from 1). Without memory nothing is marked, which is always right.
 */
void gsb_emu_find_again(struct gsb_emu_code *code);

#endif
