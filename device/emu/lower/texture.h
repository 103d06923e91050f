/*
 * texture.h - lowering of what reads textures, and reads and writes surfaces.
 */
#ifndef GSB_DEVICE_EMU_LOWER_TEXTURE_H
#define GSB_DEVICE_EMU_LOWER_TEXTURE_H

#include "device/emu/lower/lowering.h"

void gsb_emu_lower_texture(struct gsb_emu_lowering *l);

#endif
