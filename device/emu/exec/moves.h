/*
 * moves.h - what block.c and flow.c take of moves.c, whose handlers state.h declares.
 */
#ifndef GSB_DEVICE_EMU_EXEC_MOVES_H
#define GSB_DEVICE_EMU_EXEC_MOVES_H

#include "device/emu/exec/state.h"

/* Write lanes of a row of constants. */
void gsb_emu_const_fill(char *r, const struct gsb_emu_const *c, uint32_t mask);

#endif
