/*
 * reduce.h - runs of elements combined with what is in memory, as a bulk reduction does it: each element by itself, as an
 * atomic of its own.
 */
#ifndef GSB_DEVICE_EMU_EXEC_REDUCE_H
#define GSB_DEVICE_EMU_EXEC_REDUCE_H

#include <stdint.h>

#include "device/emu/code/reduction.h"

/* @reduction: gsb_emu_reduction(). @n bytes, whole elements; both aligned to them. Other threads may be at the same elements of @to. */
void gsb_emu_reduce(unsigned char *to, const unsigned char *from, uint32_t n, uint32_t reduction);

#endif
