/*
 * isa.h - which build of the handlers this processor can execute.
 */
#ifndef GSB_DEVICE_EMU_EXEC_ISA_H
#define GSB_DEVICE_EMU_EXEC_ISA_H

#include "device/emu/exec/state.h"

/* The best that this processor has; constant. */
const struct gsb_emu_isa *gsb_emu_isa_best(void);
/* All that this processor can execute, for tests; NULL past the last. */
const struct gsb_emu_isa *gsb_emu_isa_nth(unsigned int i);

#endif
