/*
 * print.h - what a kernel says.
 */
#ifndef GSB_DEVICE_EMU_EXEC_PRINT_H
#define GSB_DEVICE_EMU_EXEC_PRINT_H

#include "device/emu/exec/state.h"

const struct gsb_emu_op *gsb_emu_print(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
				       uint32_t mask);
const struct gsb_emu_op *gsb_emu_assert_fail(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					     uint32_t mask);

#endif
