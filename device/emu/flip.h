/*
 * flip.h - fault injection for tests: see flip.c for what it does.
 */
#ifndef GSB_DEVICE_EMU_FLIP_H
#define GSB_DEVICE_EMU_FLIP_H

#include "device/emu/device.h"

/* From here on the device issues by way of flip.c. "1" or "copy:N"; -EINVAL for anything else. */
int emu_flip_install(struct emu_device *dev, const char *spec);

#endif
