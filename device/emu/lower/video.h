/* video.h - lowering of the video instructions. */
#ifndef GSB_DEVICE_EMU_LOWER_VIDEO_H
#define GSB_DEVICE_EMU_LOWER_VIDEO_H

#include <stdbool.h>

#include "device/emu/lower/lowering.h"

bool gsb_emu_is_video(const struct gsb_ptx_insn *in);
void gsb_emu_lower_video(struct gsb_emu_lowering *l);

#endif
