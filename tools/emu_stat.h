/*
 * emu_stat.h - what was counted of a launch, under the names that Nsight Compute gives the figures.
 */
#ifndef GSB_TOOLS_EMU_STAT_H
#define GSB_TOOLS_EMU_STAT_H

#include "tools/emu_launch.h"

/* A table of metrics, in all and of a block; JSON if it was asked for. */
void emu_stat_show(struct emu_launch *l, const struct emu_options *o,
		   const struct gsb_emu_profile *p);

/* What the models ask about a kernel, as a table that gsb-model reads. */
void emu_stat_demands(struct emu_launch *l, const struct emu_options *o,
		      const struct gsb_emu_profile *p);

#endif
