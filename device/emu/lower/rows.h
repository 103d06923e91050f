/*
 * rows.h - where the registers of a function live in its frame.
 */
#ifndef GSB_DEVICE_EMU_LOWER_ROWS_H
#define GSB_DEVICE_EMU_LOWER_ROWS_H

#include "base/arena.h"
#include "ptx/cfg.h"

/**
 * gsb_emu_rows_assign() - give each register of a function a row of its frame
 * @rows: by register: offset in the frame; NONE for one that is never alive
 * @end:  where free bytes of the frame begin, before and after
 *
 * Registers whose lives do not touch share a row. What is needed on the way comes from @arena.
 *
 * Return: 0, -E2BIG (more than GSB_EMU_MAX_FRAME), -ENOMEM; errors of gsb_ptx_live_build().
 */
int gsb_emu_rows_assign(const struct gsb_ptx_func *func, const struct gsb_ptx_cfg *cfg,
			struct gsb_arena *arena, uint32_t *rows, uint32_t *end);

/* By register: whether any instruction reads it, or the caller. @is_read is all false before. */
void gsb_emu_find_read(const struct gsb_ptx_func *func, bool *is_read);

/* Lane bytes of a register's row: 4, 8, 16; 0 for a predicate. */
uint32_t gsb_emu_lane_bytes(enum gsb_ptx_type type);

#endif
