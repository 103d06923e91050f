/*
 * unit.h - which pipeline of an SM an instruction goes to.
 */
#ifndef GSB_DEVICE_EMU_EXEC_UNIT_H
#define GSB_DEVICE_EMU_EXEC_UNIT_H

#include "device/emu/exec/profile.h"
#include "ptx/ptx.h"

/*
 * Source: "Pipelines" in the documentation of Nsight Compute, for compute capability 9.0; of what an assembler
 * makes several instructions of (division, 64-bit integers) the pipeline of the most. Pure.
 */
enum gsb_emu_unit gsb_emu_unit_of(const struct gsb_ptx_insn *in);

#endif
