/*
 * combine.h - which kernels' reductions may be kept back for a while.
 */
#ifndef GSB_DEVICE_EMU_LOWER_COMBINE_H
#define GSB_DEVICE_EMU_LOWER_COMBINE_H

#include "device/emu/code/code.h"

/*
 * Sets code->may_combine: there are reductions of global memory, and nothing by which a thread could tell another, of another
 * block, that one of its own has been done. That takes a fence, or an access with semantics of its own; a kernel that has neither
 * has no release pattern (PTX ISA, Memory Consistency Model), so what its threads do is ordered with what other blocks
 * see by nothing but its end, and by each thread's own accesses of the same place. All functions of the kernel count.
 */
void gsb_emu_find_combining(struct gsb_emu_code *code);

#endif
