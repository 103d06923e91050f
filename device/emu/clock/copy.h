/*
 * copy.h - copies and fills in device time, each on a copy engine. With the clock's lock held.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_COPY_H
#define GSB_DEVICE_EMU_CLOCK_COPY_H

#include "device/emu/clock/state.h"

/* One that is free. */
bool emu_copy_find_engine(const struct emu_clock *c, unsigned *engine);

void emu_copy_start(struct emu_clock *c, struct emu_cmd *cmd);

void emu_copy_cancel(struct emu_clock *c, struct emu_cmd *cmd);

#endif
