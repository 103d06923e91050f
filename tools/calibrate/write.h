/*
 * write.h - a calibration as the text of a GPU, for `gsb-model --arch=FILE` and emu:/FILE.
 */
#ifndef GSB_TOOLS_CALIBRATE_WRITE_H
#define GSB_TOOLS_CALIBRATE_WRITE_H

#include <stdio.h>

#include "model/gpu/arch.h"
#include "tools/calibrate/measure.h"

struct cal_text {
	const char *device, *gpu, *command;
	struct cal_plan plan;
	struct gsb_arch arch;
	struct gsb_interference law; /* of it, with what was measured */
	struct cal_result result;
};

/* "NVIDIA H200" is "nvidia-h200". */
void cal_short_name(const char *name, char *out, size_t size);

/* What is still buffered may fail. 0, -errno. */
int cal_write(FILE *f, const struct cal_text *t);

#endif
