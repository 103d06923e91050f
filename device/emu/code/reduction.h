/*
 * reduction.h - how a bulk reduction combines, as an op's number: made by lower/, read by exec/.
 */
#ifndef GSB_DEVICE_EMU_CODE_REDUCTION_H
#define GSB_DEVICE_EMU_CODE_REDUCTION_H

#include "ptx/ptx.h"

/* Operation and type; not 0. */
static inline uint32_t gsb_emu_reduction(enum gsb_ptx_word sub, enum gsb_ptx_type type)
{
	return (uint32_t)sub << 8 | (uint32_t)type;
}

#endif
