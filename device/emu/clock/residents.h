/*
 * residents.h - which launches have blocks on which SM: the company that a block is placed into. With the clock's lock held.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_RESIDENTS_H
#define GSB_DEVICE_EMU_CLOCK_RESIDENTS_H

#include "device/emu/clock/state.h"

int emu_residents_init(struct emu_residents *r, const struct gsb_arch *arch);
void emu_residents_finish(struct emu_residents *r);

/* A block of the launch is placed on the SM, or ends there. */
void emu_residents_add(struct emu_residents *r, struct emu_cmd *cmd, uint32_t sm);
void emu_residents_remove(struct emu_residents *r, struct emu_cmd *cmd, uint32_t sm);

/* Sets the company of a job that stands on its SM. @before: one whose company was found in the same instant, or NULL. */
void emu_residents_find_company(struct emu_clock *c, struct emu_job *job,
				const struct emu_job *before);

#endif
