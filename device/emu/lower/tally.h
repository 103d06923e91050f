/*
 * tally.h - what stands before each op of a code: instructions, and those of each kind that is counted.
 */
#ifndef GSB_DEVICE_EMU_LOWER_TALLY_H
#define GSB_DEVICE_EMU_LOWER_TALLY_H

#include "device/emu/code/code.h"

/* So what a run of ops costs is a difference of two, whatever its length. Sets code->before. Return: 0, -ENOMEM. */
int gsb_emu_find_tally(struct gsb_emu_code *code);

#endif
